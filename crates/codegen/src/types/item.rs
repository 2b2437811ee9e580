//! An item of the types crate.

use contract::model::{Keywords, SchemaKind};
use proc_macro2::TokenStream;
use quote::quote;
use serde_json::Value;

use super::attributes::{self, Arguments, text_literal};
use crate::ir::{
    Additional, Api, Array, Enumeration, Field, JsonText, Map, Object, Primitive, Scalar,
    Selection, Trial, TypeDef, TypeKind, TypeRef, Union,
};
use crate::tokens::{docs, ident, primitive_tokens, type_tokens};

/// Returns the macro of `api-macros` that an item uses, if it uses one.
pub(super) fn macro_of(def: &TypeDef) -> Option<&'static str> {
    if def.as_text().is_some() {
        return Some("text");
    }
    Some(match &def.kind {
        TypeKind::Alias(_) => return None,
        TypeKind::Object(_) => "Object",
        TypeKind::Scalar(_) => "Scalar",
        TypeKind::Array(_) => "Array",
        TypeKind::Map(_) => "Map",
        TypeKind::Enumeration(_) => "Enumeration",
        TypeKind::Union(_) => "Union",
        TypeKind::Json { .. } => "Json",
    })
}

/// Generates an item with its doc comment and attributes.
pub(super) fn item(api: &Api<'_>, def: &TypeDef) -> TokenStream {
    let head = Head::of(api, def);
    let name = ident(&def.name);
    if let Some(scalar) = def.as_text() {
        let own = scalar_arguments(scalar).attribute("text");
        let Head {
            docs,
            deprecated,
            schema,
        } = head;
        // The full path, because the contract may call a type `Text`.
        return quote! { #docs #deprecated #own #schema pub type #name = api_runtime::Text; };
    }
    match &def.kind {
        // An alias has no derives: checks and schema are those of its target.
        TypeKind::Alias(target) => {
            let Head {
                docs, deprecated, ..
            } = head;
            let target = rust(api, target);
            quote! { #docs #deprecated pub type #name = #target; }
        }
        TypeKind::Object(object) => {
            let own = object_arguments(object).attribute("object");
            let head = head.with(&quote!(Clone, Debug, PartialEq, Object), own.as_ref());
            let fields = object.fields.iter().map(|field| field_tokens(api, field));
            let additional = additional(api, &object.additional);
            // A property that is added to the contract should not break those who build the struct.
            quote! {
                #head
                #[non_exhaustive]
                pub struct #name { #(#fields,)* #additional }
            }
        }
        TypeKind::Scalar(scalar) => {
            let own = scalar_arguments(scalar).attribute("scalar");
            let head = head.with(&scalar_derives(scalar.inner), own.as_ref());
            let inner = primitive_tokens(scalar.inner);
            quote! { #head pub struct #name(#inner); }
        }
        TypeKind::Array(array) => {
            // No `Eq`, `Hash` and `Ord`, here and for other forms that hold types: floats would not
            // allow them, and a type that gains a float would lose them.
            let own = array_arguments(array).attribute("array");
            let head = head.with(&quote!(Clone, Debug, PartialEq, Array), own.as_ref());
            let items = rust(api, &array.items);
            quote! { #head pub struct #name(Vec<#items>); }
        }
        TypeKind::Map(map) => {
            let own = map_arguments(map).attribute("map");
            let head = head.with(&quote!(Clone, Debug, PartialEq, Map), own.as_ref());
            let values = rust(api, &map.values);
            quote! { #head pub struct #name(std::collections::BTreeMap<String, #values>); }
        }
        TypeKind::Enumeration(enumeration) => enumeration_tokens(&name, enumeration, head),
        TypeKind::Union(union) => {
            let own = union_arguments(union).attribute("union");
            let head = head.with(&quote!(Clone, Debug, PartialEq, Union), own.as_ref());
            let variants = union_variants(api, union);
            quote! { #head pub enum #name { #(#variants,)* } }
        }
        TypeKind::Json { check } => {
            let mut arguments = Arguments::default();
            arguments.text("check", check.as_deref());
            let own = arguments.attribute("json");
            let head = head.with(&quote!(Clone, Debug, PartialEq, Json), own.as_ref());
            quote! { #head pub struct #name(serde_json::Value); }
        }
    }
}

/// The doc comment and the attributes that every form of item has.
struct Head {
    docs: TokenStream,
    deprecated: Option<TokenStream>,
    schema: Option<TokenStream>,
}

impl Head {
    /// Returns the doc comment and the attributes that the item's schema gives it.
    fn of(api: &Api<'_>, def: &TypeDef) -> Self {
        let keywords = match &api.contract.schema(def.schema).kind {
            SchemaKind::Object(keywords) => Some(&**keywords),
            SchemaKind::Bool(_) => None,
        };
        Self {
            docs: description(keywords),
            deprecated: keywords
                .filter(|keywords| keywords.deprecated)
                .map(|_| quote!(#[deprecated])),
            schema: attributes::of_item(api, def),
        }
    }

    /// Returns the doc comment and the attributes, with `#[derive(…)]` and, if given, the attribute
    /// `own` of our own derive, such as `#[array(…)]`.
    fn with(self, derives: &TokenStream, own: Option<&TokenStream>) -> TokenStream {
        let Self {
            docs,
            deprecated,
            schema,
        } = self;
        quote! {
            #docs
            #deprecated
            #[derive(#derives)]
            #schema
            #own
        }
    }
}

/// Returns a type as the types crate itself names it. Items of other modules are imported.
fn rust(api: &Api<'_>, ty: &TypeRef) -> TokenStream {
    type_tokens(ty, &quote!(serde_json::Value), &|id| {
        let name = ident(&api.type_def(id).name);
        quote!(#name)
    })
}

/// Returns the description of a schema as a doc comment.
fn description(keywords: Option<&Keywords>) -> TokenStream {
    keywords
        .and_then(|keywords| keywords.description.as_deref())
        .map(docs)
        .unwrap_or_default()
}

/// Returns the arguments of `#[object(…)]`.
fn object_arguments(object: &Object) -> Arguments {
    let mut arguments = Arguments::default();
    arguments.flag("closed", matches!(object.additional, Additional::Closed));
    arguments.count("min_properties", object.min_properties);
    arguments.count("max_properties", object.max_properties);
    arguments.json("dependent_required", object.dependent_required.as_ref());
    arguments.text("check", object.check.as_deref());
    arguments.name("fields", object.fields_name.as_deref());
    arguments
}

/// Generates a field of a struct.
fn field_tokens(api: &Api<'_>, field: &Field) -> TokenStream {
    let keywords = match &api.contract.schema(field.schema).kind {
        SchemaKind::Object(keywords) => Some(&**keywords),
        SchemaKind::Bool(_) => None,
    };
    let docs = description(keywords);
    let deprecated = keywords
        .filter(|keywords| keywords.deprecated)
        .map(|_| quote!(#[deprecated]));
    let mut arguments = Arguments::default();
    // The derive takes the name of the field if none is written, as most properties need none.
    if field.name.trim_start_matches("r#") != field.wire {
        arguments.text("name", Some(&field.wire));
    }
    arguments.flag("optional", !field.required && field.default.is_none());
    arguments.flag("nullable", field.nullable);
    arguments.json("default", field.default.as_ref());
    if let Some(JsonText { media_type }) = &field.json_text {
        arguments.text("json_text", media_type.as_deref());
        arguments.flag("json_text", media_type.is_none());
    }
    let own = arguments.attribute("field");
    let schema = attributes::of_field(api, field);
    let name = ident(&field.name);
    // Absent and null are different values: a field that can be both is an `Option<Option<T>>`.
    let mut ty = rust(api, &field.ty);
    if field.nullable {
        ty = quote!(Option<#ty>);
    }
    if !field.required && field.default.is_none() {
        ty = quote!(Option<#ty>);
    }
    quote! { #docs #deprecated #own #schema pub #name: #ty }
}

/// Generates the field that keeps undeclared properties, if the struct has one.
fn additional(api: &Api<'_>, additional: &Additional) -> Option<TokenStream> {
    let Additional::Kept { ty, field } = additional else {
        return None;
    };
    let name = ident(field);
    let ty = rust(api, ty);
    Some(quote! {
        /// The properties that the schema does not declare.
        #[field(additional)]
        pub #name: std::collections::BTreeMap<String, #ty>,
    })
}

/// Returns the derives of a newtype over a primitive. Floats have no total order, and strings
/// cannot be copied.
pub(super) fn scalar_derives(inner: Primitive) -> TokenStream {
    match inner {
        Primitive::F32 | Primitive::F64 => quote!(Clone, Copy, PartialEq, PartialOrd, Scalar),
        Primitive::String => quote!(Clone, PartialEq, Eq, Hash, PartialOrd, Ord, Scalar),
        Primitive::Bool
        | Primitive::I8
        | Primitive::I16
        | Primitive::I32
        | Primitive::I64
        | Primitive::U8
        | Primitive::U16
        | Primitive::U32
        | Primitive::U64
        | Primitive::Ipv4Addr
        | Primitive::Ipv6Addr => quote!(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Scalar),
    }
}

/// Returns the arguments of `#[scalar(…)]`.
fn scalar_arguments(scalar: &Scalar) -> Arguments {
    let mut arguments = Arguments::default();
    arguments.count("min_length", scalar.min_length);
    arguments.count("max_length", scalar.max_length);
    arguments.text("pattern", scalar.pattern.as_deref());
    let format = scalar.format.as_deref();
    arguments.text(
        "format",
        format.filter(|_| attributes::documented_format(scalar).is_none()),
    );
    arguments.number("minimum", scalar.minimum.as_ref());
    arguments.number("maximum", scalar.maximum.as_ref());
    arguments.number("exclusive_minimum", scalar.exclusive_minimum.as_ref());
    arguments.number("exclusive_maximum", scalar.exclusive_maximum.as_ref());
    arguments.number("multiple_of", scalar.multiple_of.as_ref());
    arguments.flag("secret", scalar.secret);
    arguments.text("check", scalar.check.as_deref());
    arguments
}

/// Returns the arguments of `#[array(…)]`.
fn array_arguments(array: &Array) -> Arguments {
    let mut arguments = Arguments::default();
    arguments.count("min_items", array.min_items);
    arguments.count("max_items", array.max_items);
    arguments.flag("unique_items", array.unique_items);
    arguments.text("check", array.check.as_deref());
    arguments
}

/// Returns the arguments of `#[map(…)]`.
fn map_arguments(map: &Map) -> Arguments {
    let mut arguments = Arguments::default();
    arguments.count("min_properties", map.min_properties);
    arguments.count("max_properties", map.max_properties);
    arguments.text("check", map.check.as_deref());
    arguments
}

/// Returns the derives of an enumeration.
pub(super) fn enumeration_derives(enumeration: &Enumeration) -> TokenStream {
    // An unlisted value is a `String`, which is not `Copy`, and has no order among the listed ones.
    if enumeration.unlisted.is_some() {
        quote!(Clone, Debug, PartialEq, Eq, Hash, Enumeration)
    } else {
        quote!(
            Clone,
            Copy,
            Debug,
            PartialEq,
            Eq,
            Hash,
            PartialOrd,
            Ord,
            Enumeration
        )
    }
}

/// Generates an enumeration.
fn enumeration_tokens(
    name: &proc_macro2::Ident,
    enumeration: &Enumeration,
    head: Head,
) -> TokenStream {
    let mut arguments = Arguments::default();
    arguments.flag("extensible", enumeration.unlisted.is_some());
    arguments.flag("json", !enumeration.strings);
    let derives = enumeration_derives(enumeration);
    let head = head.with(&derives, arguments.attribute("enumeration").as_ref());
    let variants = enumeration.variants.iter().map(|(variant, value)| {
        let variant = ident(variant);
        match value {
            Value::String(text) if enumeration.strings => {
                let text = text_literal(text);
                quote!(#[value(#text)] #variant)
            }
            other => {
                let json = text_literal(&other.to_string());
                quote!(#[value(json = #json)] #variant)
            }
        }
    });
    let (open, unlisted) = match &enumeration.unlisted {
        None => (None, None),
        Some(unlisted) => {
            let unlisted = ident(unlisted);
            let variant = quote! {
                /// A value that this version of the contract does not list.
                #[unlisted]
                #unlisted(String),
            };
            (Some(quote!(#[non_exhaustive])), Some(variant))
        }
    };
    quote! { #head #open pub enum #name { #(#variants,)* #unlisted } }
}

/// Returns the arguments of `#[union(…)]`.
fn union_arguments(union: &Union) -> Arguments {
    let mut arguments = Arguments::default();
    match &union.selection {
        Selection::Tag(property) => arguments.text("tag", Some(property)),
        Selection::OptionalTag(property, trial) => {
            arguments.text("tag", Some(property));
            arguments.flag(trial_flag(*trial), true);
        }
        Selection::Trial(trial) => arguments.flag(trial_flag(*trial), true),
    }
    arguments.text("check", union.check.as_deref());
    arguments
}

fn trial_flag(trial: Trial) -> &'static str {
    match trial {
        Trial::OneOf => "one_of",
        Trial::AnyOf => "any_of",
    }
}

/// Generates the variants of a union.
fn union_variants<'a>(
    api: &'a Api<'_>,
    union: &'a Union,
) -> impl Iterator<Item = TokenStream> + 'a {
    union.variants.iter().map(|variant| {
        let tags = variant.tags.iter().map(|tag| text_literal(tag));
        let tags = (!variant.tags.is_empty()).then(|| quote!(tag(#(#tags),*)));
        let default = variant.is_default.then(|| quote!(default));
        let from = variant.from.then(|| quote!(from));
        let arguments = tags.into_iter().chain(default).chain(from);
        let arguments: Vec<_> = arguments.collect();
        let attribute = (!arguments.is_empty()).then(|| quote!(#[variant(#(#arguments),*)]));
        let name = ident(&variant.name);
        let ty = rust(api, &variant.ty);
        quote! { #attribute #name(#ty) }
    })
}
