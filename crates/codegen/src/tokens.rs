//! Rust that every pass writes: types, doc comments and whole formatted files.

mod doc_lines;

use proc_macro2::{Ident, Span, TokenStream};
use quote::quote;
use syn::visit_mut::{self, VisitMut};

use crate::ir::{Api, Operation, Primitive, Tag, TypeId, TypeRef};
use doc_lines::doc_lines;
pub(crate) use doc_lines::is_deceptive;

/// Marks a blank line in a syntax tree, until the tree is text.
///
/// A syntax tree holds no blank lines, and prettyplease writes none. No doc comment of the contract
/// can hold this character, since [`doc_lines`] replaces it.
const BLANK: &str = "\u{1}";

/// Returns the attribute `path` for the module of a tag whose file has another name.
pub(crate) fn file_attribute(tag: &Tag) -> Option<TokenStream> {
    let file = format!("{}.rs", tag.file);
    (tag.file != tag.module).then(|| quote!(#[path = #file]))
}

/// Returns an identifier, which is raw if the name begins with `r#`.
pub(crate) fn ident(name: &str) -> Ident {
    match name.strip_prefix("r#") {
        Some(raw) => Ident::new_raw(raw, Span::call_site()),
        None => Ident::new(name, Span::call_site()),
    }
}

/// Returns the attribute `deprecated` of a method, if the operation is deprecated, with since when
/// and until when as far as the contract says so.
pub(crate) fn deprecated(operation: &Operation) -> Option<TokenStream> {
    let since = operation.deprecation.map(|since| format!("since {since}"));
    let sunset = operation.sunset.map(|sunset| format!("sunset on {sunset}"));
    let note: Vec<String> = since.into_iter().chain(sunset).collect();
    // Not as `since`, which is a version.
    let note = (!note.is_empty()).then(|| note.join(", "));
    let note = note.map(|note| quote!((note = #note)));
    operation.deprecated.then(|| quote!(#[deprecated #note]))
}

/// Returns a type as tokens. `named` returns the path of an item of the types crate. `any` is the
/// path of the type of any JSON value.
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

/// Returns a type as the client and the server name it: `api_types::Vm`.
pub(crate) fn foreign_type(api: &Api<'_>, ty: &TypeRef) -> TokenStream {
    let krate = ident(&api.names.krate("types"));
    let any = quote!(api_runtime::serde_json::Value);
    type_tokens(ty, &any, &|id| {
        let name = ident(&api.type_def(id).name);
        quote!(#krate::#name)
    })
}

/// Returns a type as a crate names it that depends on the types crate and on the run time as
/// `api_runtime`: `Vec < api_types :: Vm >`.
#[must_use]
pub fn type_path(api: &Api<'_>, ty: &TypeRef) -> String {
    foreign_type(api, ty).to_string()
}

/// Returns a type of the standard library as tokens.
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

/// Returns the attribute that lets a crate use names outside ASCII, if the contract has some.
///
/// The compiler warns of such names, because they can be typing errors in another script. Here they
/// are the contract's.
pub(crate) fn letters(api: &Api<'_>) -> Option<TokenStream> {
    api.has_non_ascii_names().then(
        || quote!(#![allow(confusable_idents, mixed_script_confusables, uncommon_codepoints, reason = "names are the contract's own")]),
    )
}

/// Returns a string of the contract as a doc comment, one attribute for each line. rustdoc compiles
/// no code block in it.
pub(crate) fn docs(text: &str) -> TokenStream {
    let lines = doc_lines(text);
    quote!(#(#[doc = #lines])*)
}

/// Returns a string of the contract as an inner doc comment, for the top of a file. rustdoc
/// compiles no code block in it.
pub(crate) fn inner_docs(text: &str) -> TokenStream {
    let lines = doc_lines(text);
    quote!(#(#![doc = #lines])*)
}

/// Formats a file: a line that names the command which makes it, then the items with blank lines
/// between them.
///
/// # Panics
///
/// Panics if the tokens are not Rust, which is a fault of the pass that made them.
pub(crate) fn rust_file(tokens: TokenStream) -> String {
    let mut file = RustFile::new();
    file.add(tokens);
    file.finish()
}

/// A file that is formatted part by part.
///
/// Only one part at a time is a syntax tree, which takes far more memory than its text.
pub(crate) struct RustFile {
    text: String,
    /// The group of the last item.
    previous: Option<Group>,
}

impl RustFile {
    /// Creates a file with nothing but its first line.
    pub(crate) fn new() -> Self {
        Self {
            text: format!("{GENERATED}\n"),
            previous: None,
        }
    }

    /// Creates the text that follows the items of another file.
    pub(crate) fn rest() -> Self {
        Self {
            text: String::new(),
            previous: Some(Group::Other),
        }
    }

    /// Adds inner doc comments and items.
    ///
    /// # Panics
    ///
    /// Panics if the tokens are not Rust, which is a fault of the pass that made them.
    pub(crate) fn add(&mut self, tokens: TokenStream) {
        self.add_tree(syn::parse2(tokens).expect("a pass only makes tokens that are Rust"));
    }

    /// Adds a syntax tree as formatted text.
    fn add_tree(&mut self, mut tree: syn::File) {
        // Inner doc comments stand apart from the first item.
        if !tree.attrs.is_empty() {
            self.previous = Some(Group::Other);
        }
        self.previous = Layout::items(&mut tree.items, self.previous);
        Layout.visit_file_mut(&mut tree);
        let marker = format!("///{BLANK}");
        for line in prettyplease::unparse(&tree).lines() {
            // The marker's own line is kept, empty.
            if line.trim_start() != marker {
                self.text.push_str(line);
            }
            self.text.push('\n');
        }
    }

    /// Returns the text of the file.
    pub(crate) fn finish(self) -> String {
        self.text
    }
}

/// The first line of every generated file.
pub(crate) const GENERATED: &str =
    "// @generated by `codegen` of Stratus from the contract; change the contract, not this file.";

/// Marks the blank lines between items and between methods, and shortens `client: client` to
/// `client`.
struct Layout;

impl Layout {
    /// Puts the mark of a blank line before an item.
    fn mark(attributes: &mut Vec<syn::Attribute>) {
        attributes.insert(0, syn::parse_quote!(#[doc = #BLANK]));
    }

    /// Marks the blank lines between items and returns the group of the last one.
    ///
    /// Imports stay together, and so do module declarations; every other item stands apart.
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
    /// Shortens `client: client` to `client`, as a person writes it.
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
        // The first method follows the brace.
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

/// The groups of items for blank lines: consecutive imports have none between them, nor have
/// consecutive module declarations.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Group {
    Use,
    Module,
    Other,
}

impl Group {
    /// Returns the group of an item.
    fn of(item: &syn::Item) -> Self {
        match item {
            syn::Item::Use(item) if matches!(item.vis, syn::Visibility::Inherited) => Self::Use,
            // A re-export stands beside the module that it is from.
            syn::Item::Use(_) => Self::Module,
            syn::Item::Mod(item) if item.content.is_none() => Self::Module,
            _ => Self::Other,
        }
    }
}

/// Returns the attributes of an item, if it is of a kind that the passes write.
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
