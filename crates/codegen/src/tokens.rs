//! Pieces of Rust that every pass writes: types, docs, whole formatted files.

mod doc_lines;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::visit_mut::{self, VisitMut};

use crate::ir::{Api, Primitive, TypeId, TypeRef};
use doc_lines::doc_lines;
pub(crate) use doc_lines::is_deceptive;

/// Stands for a blank line until the file is text; no doc comment can hold it, see [`doc_lines`].
const BLANK: &str = "\u{1}";

/// An identifier, `r#` understood.
pub(crate) fn ident(name: &str) -> Ident {
    match name.strip_prefix("r#") {
        Some(raw) => Ident::new_raw(raw, Span::call_site()),
        None => Ident::new(name, Span::call_site()),
    }
}

/// A type, with `named` writing the path of an item of the types crate and `any` that of a JSON value.
pub(crate) fn type_tokens(
    ty: &TypeRef,
    any: &TokenStream,
    named: &dyn Fn(TypeId) -> TokenStream,
) -> TokenStream {
    match ty {
        TypeRef::Named(id) => named(*id),
        TypeRef::Primitive(primitive) => primitive_tokens(*primitive),
        TypeRef::Vec(items) => {
            let items = type_tokens(items, any, named);
            quote!(Vec<#items>)
        }
        TypeRef::Map(values) => {
            let values = type_tokens(values, any, named);
            quote!(std::collections::BTreeMap<String, #values>)
        }
        TypeRef::Nullable(inner) => {
            let inner = type_tokens(inner, any, named);
            quote!(Option<#inner>)
        }
        TypeRef::Boxed(inner) => {
            let inner = type_tokens(inner, any, named);
            quote!(Box<#inner>)
        }
        TypeRef::Any => any.clone(),
    }
}

/// A type as other crates name it: `api_types::Vm`.
pub(crate) fn foreign_type(api: &Api<'_>, ty: &TypeRef) -> TokenStream {
    let krate = ident(&api.names.krate("types"));
    let any = quote!(api_runtime::serde_json::Value);
    type_tokens(ty, &any, &|id| {
        let name = ident(&api.type_def(id).name);
        quote!(#krate::#name)
    })
}

/// One of Rust's own types.
pub(crate) fn primitive_tokens(primitive: Primitive) -> TokenStream {
    match primitive {
        Primitive::Bool => quote!(bool),
        Primitive::I8 => quote!(i8),
        Primitive::I16 => quote!(i16),
        Primitive::I32 => quote!(i32),
        Primitive::I64 => quote!(i64),
        Primitive::U8 => quote!(u8),
        Primitive::U16 => quote!(u16),
        Primitive::U32 => quote!(u32),
        Primitive::U64 => quote!(u64),
        Primitive::F32 => quote!(f32),
        Primitive::F64 => quote!(f64),
        Primitive::String => quote!(String),
        Primitive::Ipv4Addr => quote!(std::net::Ipv4Addr),
        Primitive::Ipv6Addr => quote!(std::net::Ipv6Addr),
    }
}

/// For the root of a crate: leave to the contract names that the compiler takes for typing errors in another script.
pub(crate) fn letters(api: &Api<'_>) -> Option<TokenStream> {
    api.has_other_letters().then(
        || quote!(#![allow(mixed_script_confusables, uncommon_codepoints, reason = "names are the contract's own")]),
    )
}

/// A text of the contract as doc comments, one attribute a line.
pub(crate) fn docs(text: &str) -> TokenStream {
    let lines = doc_lines(text);
    quote!(#(#[doc = #lines])*)
}

/// A text of the contract as inner doc comments, for the top of a file.
pub(crate) fn inner_docs(text: &str) -> TokenStream {
    let lines = doc_lines(text);
    quote!(#(#![doc = #lines])*)
}

/// A text of ours as inner doc comments, whose examples are compiled.
pub(crate) fn inner_docs_with_examples(text: &str) -> TokenStream {
    let lines = text.lines().map(|line| {
        if line.is_empty() {
            String::new()
        } else {
            format!(" {line}")
        }
    });
    quote!(#(#![doc = #lines])*)
}

/// A whole file: the line that names the command which makes it, then the items, a blank line between each two.
///
/// # Panics
///
/// If the tokens are no Rust, which is a fault of the pass that made them.
pub(crate) fn rust_file(tokens: TokenStream) -> String {
    let mut file = RustFile::new();
    file.add(tokens);
    file.finish()
}

/// A file that is written part by part: only one of them is a syntax tree at a time, which takes far more memory than
/// its text.
pub(crate) struct RustFile {
    text: String,
    /// What the last item was.
    previous: Option<Group>,
}

impl RustFile {
    /// A file with nothing but its first line.
    pub(crate) fn new() -> Self {
        Self {
            text: format!("{GENERATED}\n"),
            previous: None,
        }
    }

    /// Adds inner docs and items.
    ///
    /// # Panics
    ///
    /// If the tokens are no Rust, which is a fault of the pass that made them.
    pub(crate) fn add(&mut self, tokens: TokenStream) {
        self.add_tree(syn::parse2(tokens).expect("a pass writes Rust"));
    }

    fn add_tree(&mut self, mut tree: syn::File) {
        if !tree.attrs.is_empty() {
            self.previous = Some(Group::Other);
        }
        self.previous = Layout::items(&mut tree.items, self.previous);
        Layout.visit_file_mut(&mut tree);
        let marker = format!("///{BLANK}");
        for line in prettyplease::unparse(&tree).lines() {
            if line.trim_start() != marker {
                self.text.push_str(line);
            }
            self.text.push('\n');
        }
    }

    /// The text.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// The first line of every generated file.
pub(crate) const GENERATED: &str =
    "// @generated by `cargo xtask codegen` from the contract; change that and run it again.";

/// Marks the places for blank lines, between items, methods and trait items, and takes out what is said twice.
struct Layout;

impl Layout {
    fn mark(attributes: &mut Vec<syn::Attribute>) {
        attributes.insert(0, syn::parse_quote!(#[doc = #BLANK]));
    }

    /// Imports and module declarations stay together; everything else stands apart. Gives the last group.
    fn items(items: &mut [syn::Item], mut previous: Option<Group>) -> Option<Group> {
        for item in items {
            let group = Group::of(item);
            if let Some(attributes) = item_attributes(item)
                && previous.is_some_and(|previous| previous == Group::Other || previous != group)
            {
                Self::mark(attributes);
            }
            previous = Some(group);
        }
        previous
    }
}

impl VisitMut for Layout {
    /// `client: client` is `client`, as a person writes it.
    fn visit_field_value_mut(&mut self, field: &mut syn::FieldValue) {
        if let (syn::Member::Named(name), syn::Expr::Path(value)) = (&field.member, &field.expr)
            && value.path.is_ident(name)
        {
            field.colon_token = None;
        }
        visit_mut::visit_field_value_mut(self, field);
    }

    fn visit_item_mod_mut(&mut self, item: &mut syn::ItemMod) {
        if let Some((_, items)) = &mut item.content {
            Self::items(items, None);
        }
        visit_mut::visit_item_mod_mut(self, item);
    }

    fn visit_item_impl_mut(&mut self, item: &mut syn::ItemImpl) {
        for member in item.items.iter_mut().skip(1) {
            if let syn::ImplItem::Fn(function) = member {
                Self::mark(&mut function.attrs);
            }
        }
        visit_mut::visit_item_impl_mut(self, item);
    }

    fn visit_item_trait_mut(&mut self, item: &mut syn::ItemTrait) {
        for member in item.items.iter_mut().skip(1) {
            if let syn::TraitItem::Fn(function) = member {
                Self::mark(&mut function.attrs);
            }
        }
        visit_mut::visit_item_trait_mut(self, item);
    }
}

/// Items that read as one paragraph.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Use,
    Module,
    Other,
}

impl Group {
    fn of(item: &syn::Item) -> Self {
        match item {
            syn::Item::Use(item) if matches!(item.vis, syn::Visibility::Inherited) => Self::Use,
            syn::Item::Use(_) => Self::Module,
            syn::Item::Mod(item) if item.content.is_none() => Self::Module,
            _ => Self::Other,
        }
    }
}

fn item_attributes(item: &mut syn::Item) -> Option<&mut Vec<syn::Attribute>> {
    Some(match item {
        syn::Item::Const(item) => &mut item.attrs,
        syn::Item::Enum(item) => &mut item.attrs,
        syn::Item::Fn(item) => &mut item.attrs,
        syn::Item::Impl(item) => &mut item.attrs,
        syn::Item::Mod(item) => &mut item.attrs,
        syn::Item::Static(item) => &mut item.attrs,
        syn::Item::Struct(item) => &mut item.attrs,
        syn::Item::Trait(item) => &mut item.attrs,
        syn::Item::Type(item) => &mut item.attrs,
        syn::Item::Use(item) => &mut item.attrs,
        syn::Item::Macro(item) => &mut item.attrs,
        _ => return None,
    })
}
