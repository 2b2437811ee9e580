//! The attributes of parameters and headers.

use contract::model::{Location, ParameterEncoding, SchemaKind, Style};
use proc_macro2::{Literal, TokenStream};
use quote::quote;
use serde_json::Value;

use crate::ir::{Additional, Api, Parameter, TypeKind, TypeRef};

/// Returns the arguments of `#[parameter(…)]` after the location, or all those of `#[header(…)]`. A
/// required one is marked `required` only if `may_be_absent` is set.
pub(super) fn parameter_items(
    api: &Api<'_>,
    parameter: &Parameter,
    may_be_absent: bool,
) -> Vec<TokenStream> {
    let wire = &parameter.wire;
    let mut items = Vec::new();
    if *wire != parameter.name.trim_start_matches("r#") {
        items.push(quote!(name = #wire));
    }
    if parameter.required && may_be_absent {
        items.push(quote!(required));
    }
    items.extend(parameter.default.as_ref().map(default));
    items.extend(style(parameter));
    if parameter.is_whole_query {
        items.push(quote!(whole_query));
    }
    // An exploded object is spread over the query, where only its properties tell which keys are
    // its own.
    if let Some((properties, is_open)) = property_names(api, &parameter.ty) {
        if !properties.is_empty() {
            items.push(quote!(properties(#(#properties),*)));
        }
        if is_open {
            items.push(quote!(open));
        }
    }
    items
}

/// Returns the argument for a default: `default = 10`, or `default_json = "[10]"` if Rust has no
/// literal for the value.
fn default(value: &Value) -> TokenStream {
    match value {
        Value::String(text) => quote!(default = #text),
        Value::Bool(value) => quote!(default = #value),
        // `-1` is an expression in Rust and not a literal. A float stays the text that it was in
        // JSON.
        Value::Number(number) if number.is_u64() => {
            let number = Literal::u64_unsuffixed(number.as_u64().unwrap_or_default());
            quote!(default = #number)
        }
        other => {
            let json = other.to_string();
            quote!(default_json = #json)
        }
    }
}

/// Returns the argument for the encoding of a parameter: `json` for content, which is JSON, else its
/// style. Returns `None` for the default style of the parameter's location.
fn style(parameter: &Parameter) -> Option<TokenStream> {
    let (style, explode) = match &parameter.encoding {
        ParameterEncoding::Content(_) => return Some(quote!(json)),
        ParameterEncoding::Style { style, explode, .. } => (*style, *explode),
    };
    let usual = match parameter.location {
        Location::Path | Location::Header => (Style::Simple, false),
        Location::Query | Location::Cookie => (Style::Form, true),
    };
    if (style, explode) == usual {
        return None;
    }
    let style = match style {
        Style::Simple => "simple",
        Style::Label => "label",
        Style::Matrix => "matrix",
        Style::Form => "form",
        Style::SpaceDelimited => "spaceDelimited",
        Style::PipeDelimited => "pipeDelimited",
        Style::DeepObject => "deepObject",
        Style::Cookie => "cookie",
    };
    let explode = explode.then(|| quote!(, explode));
    Some(quote!(style = #style #explode))
}

/// Returns the property names of an object, and whether it accepts other names. Returns `None` for
/// a type that is not an object.
#[must_use]
pub fn property_names(api: &Api<'_>, ty: &TypeRef) -> Option<(Vec<String>, bool)> {
    let id = match ty {
        TypeRef::Named(id) => *id,
        TypeRef::Map(_) => return Some((Vec::new(), true)),
        TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => return property_names(api, inner),
        TypeRef::Primitive(_) | TypeRef::Vec(_) | TypeRef::Any => return None,
    };
    let def = api.type_def(id);
    match &def.kind {
        TypeKind::Alias(target) => property_names(api, target),
        TypeKind::Object(object) => {
            let names = object
                .fields
                .iter()
                .map(|field| field.wire.clone())
                .collect();
            Some((names, matches!(object.additional, Additional::Kept { .. })))
        }
        TypeKind::Map(_) => Some((Vec::new(), true)),
        TypeKind::Union(union) => {
            let variants: Vec<_> = union
                .variants
                .iter()
                .filter_map(|variant| property_names(api, &variant.ty))
                .collect();
            let open = variants.iter().any(|(_, open)| *open);
            let mut names: Vec<String> =
                variants.into_iter().flat_map(|(names, _)| names).collect();
            // Variants often have properties in common.
            names.sort();
            names.dedup();
            (open || !names.is_empty()).then_some((names, open))
        }
        // The item has no fields, so only its schema has the names.
        TypeKind::Json { .. } => match &api.contract.schema(def.schema).kind {
            SchemaKind::Object(keywords) if !keywords.properties.is_empty() => {
                Some((keywords.properties.keys().cloned().collect(), false))
            }
            _ => None,
        },
        TypeKind::Scalar(_) | TypeKind::Array(_) | TypeKind::Enumeration(_) => None,
    }
}
