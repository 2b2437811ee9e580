//! The request of an operation: a struct whose attributes say where each field is in the request.

use contract::model::{Location, ParameterEncoding, SchemaKind, Style};
use proc_macro2::{Ident, Literal, TokenStream};
use quote::{format_ident, quote};
use serde_json::Value;

use super::payload::{self, media_attribute};
use super::tag::{method_and_path, type_names, upgrades};
use crate::ir::{Additional, Api, Body, Media, MediaKind, Operation, Parameter, TypeKind, TypeRef};
use crate::tokens::{docs, foreign_type, ident};

/// Returns whether a JSON body is read somewhere, so that the schemas of the types crate are needed.
pub(super) fn has_json_body(api: &Api<'_>) -> bool {
    api.operations
        .iter()
        .filter_map(|operation| operation.body.as_ref())
        .flat_map(|body| &body.media)
        .any(|media| media.kind == MediaKind::Json)
}

/// Writes the struct of a request, and the enum of its body's media types if there are several.
pub(super) fn items(api: &Api<'_>, operation: &Operation) -> TokenStream {
    let [name, _, _] = type_names(operation);
    let words = docs(&format!("The request of {}.", method_and_path(operation)));
    let is_clone = is_clone(operation).then(|| quote!(Clone,));
    let parameters = operation
        .parameters
        .iter()
        .map(|parameter| field(api, parameter));
    let upgrade = upgrades(operation).then(|| {
        let field = upgrade_field(operation);
        quote! {
            /// What the handler needs to take over the connection.
            #[upgrade]
            pub #field: server::Upgrade,
        }
    });
    let body = operation
        .body
        .as_ref()
        .filter(|body| !body.media.is_empty());
    let body_field = body.map(|body| {
        let words = docs(body.description.as_deref().unwrap_or("The body."));
        let attribute = body_attribute(api, body);
        let ty = body_type(api, operation, body);
        quote!(#words #attribute pub body: #ty,)
    });
    let choices = body
        .filter(|body| body.media.len() > 1)
        .map(|body| choices(api, operation, body));
    quote! {
        #words
        #[derive(Debug, #is_clone server::Request)]
        pub struct #name {
            #(#parameters)*
            #upgrade
            #body_field
        }
        #choices
    }
}

fn field(api: &Api<'_>, parameter: &Parameter) -> TokenStream {
    let location = match parameter.location {
        Location::Path => "path",
        Location::Query => "query",
        Location::Header => "header",
        Location::Cookie => "cookie",
    };
    let fallback = format!("The {location} parameter `{}`.", parameter.wire);
    let words = docs(
        parameter
            .description
            .as_deref()
            .filter(|text| !text.trim().is_empty())
            .unwrap_or(&fallback),
    );
    let deprecated = parameter.deprecated.then(|| quote!(#[deprecated]));
    let location = ident(location);
    let items = parameter_items(api, parameter, parameter.location != Location::Path);
    let name = ident(&parameter.name);
    let ty = foreign_type(api, &parameter.ty);
    let ty = if is_optional(parameter) {
        quote!(Option<#ty>)
    } else {
        ty
    };
    quote!(#words #deprecated #[parameter(#location #(, #items)*)] pub #name: #ty,)
}

/// Returns whether the implementation sees the absence of a parameter.
fn is_optional(parameter: &Parameter) -> bool {
    !parameter.required && parameter.location != Location::Path && parameter.default.is_none()
}

/// Returns what `#[parameter(…)]` and `#[header(…)]` say besides the location.
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
    if let Some((properties, is_open)) = properties(api, &parameter.ty) {
        if !properties.is_empty() {
            items.push(quote!(properties(#(#properties),*)));
        }
        if is_open {
            items.push(quote!(open));
        }
    }
    items
}

/// `default = 10`, or `default_json = "[10]"` where Rust has no literal for the value.
fn default(value: &Value) -> TokenStream {
    match value {
        Value::String(text) => quote!(default = #text),
        Value::Bool(value) => quote!(default = #value),
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

/// The style, where it is not the usual one of the location.
fn style(parameter: &Parameter) -> Option<TokenStream> {
    let (style, explode) = match &parameter.encoding {
        ParameterEncoding::Content(media) => return media.contains("json").then(|| quote!(json)),
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
    };
    let explode = explode.then(|| quote!(, explode));
    Some(quote!(style = #style #explode))
}

/// Returns the property names of an object, and whether it takes others too; none for what is no object.
fn properties(api: &Api<'_>, ty: &TypeRef) -> Option<(Vec<String>, bool)> {
    let id = match ty {
        TypeRef::Named(id) => *id,
        TypeRef::Map(_) => return Some((Vec::new(), true)),
        TypeRef::Nullable(inner) | TypeRef::Boxed(inner) => return properties(api, inner),
        TypeRef::Primitive(_) | TypeRef::Vec(_) | TypeRef::Any => return None,
    };
    let def = api.type_def(id);
    match &def.kind {
        TypeKind::Alias(target) => properties(api, target),
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
                .filter_map(|variant| properties(api, &variant.ty))
                .collect();
            let open = variants.iter().any(|(_, open)| *open);
            let mut names: Vec<String> =
                variants.into_iter().flat_map(|(names, _)| names).collect();
            names.sort();
            names.dedup();
            (open || !names.is_empty()).then_some((names, open))
        }
        TypeKind::Json { .. } => match &api.contract.schema(def.schema).kind {
            SchemaKind::Object(keywords) if !keywords.properties.is_empty() => {
                Some((keywords.properties.keys().cloned().collect(), false))
            }
            _ => None,
        },
        TypeKind::Scalar(_) | TypeKind::Array(_) | TypeKind::Enumeration(_) => None,
    }
}

/// `#[body(json, required)]`, or `#[body(required)]` where the type of the field lists several media types.
fn body_attribute(api: &Api<'_>, body: &Body) -> TokenStream {
    let mut items = match body.media.as_slice() {
        [only] => request_media(api, only),
        _ => Vec::new(),
    };
    items.extend(body.required.then(|| quote!(required)));
    if items.is_empty() {
        quote!(#[body])
    } else {
        quote!(#[body(#(#items),*)])
    }
}

/// Returns what `#[body(…)]` says on a media type of a request.
fn request_media(api: &Api<'_>, media: &Media) -> Vec<TokenStream> {
    // A request of events is handed over as bytes.
    let kind = match media.kind {
        MediaKind::EventStream => MediaKind::Bytes,
        kind => kind,
    };
    let mut items = vec![media_attribute(kind, &media.name)];
    if let Some(schema) = media.schema.filter(|_| media.kind == MediaKind::Json) {
        let pointer = contract::bundle::schema_pointer(api.contract, api.contract.resolve(schema));
        items.push(quote!(schema = #pointer));
    }
    // A receiver may be older than the API that calls it.
    items.extend(api.names.is_reversed.then(|| quote!(lenient)));
    items
}

/// The type of one kind of body.
fn media_type(api: &Api<'_>, media: &Media) -> TokenStream {
    match media.kind {
        MediaKind::Json | MediaKind::Form | MediaKind::Text => {
            foreign_type(api, media.ty.as_ref().unwrap_or(&TypeRef::Any))
        }
        MediaKind::Multipart => quote!(server::Multipart),
        MediaKind::EventStream | MediaKind::Bytes => quote!(server::ByteStream),
    }
}

fn body_type(api: &Api<'_>, operation: &Operation, body: &Body) -> TokenStream {
    let ty = if let [only] = body.media.as_slice() {
        media_type(api, only)
    } else {
        let choices = choices_name(operation);
        quote!(#choices)
    };
    if body.required {
        ty
    } else {
        quote!(Option<#ty>)
    }
}

fn choices_name(operation: &Operation) -> Ident {
    format_ident!("{}Body", operation.pascal)
}

/// Writes the media types of a body, as an enum.
fn choices(api: &Api<'_>, operation: &Operation, body: &Body) -> TokenStream {
    let name = choices_name(operation);
    let words = docs(&format!(
        "The body of {}, by its media type.",
        method_and_path(operation)
    ));
    let is_clone = is_clone(operation).then(|| quote!(Clone,));
    let variants = payload::media_names(&body.media)
        .into_iter()
        .zip(&body.media)
        .map(|(variant, media)| {
            let words = docs(&format!("`{}`", media.name));
            let items = request_media(api, media);
            let ty = media_type(api, media);
            quote!(#words #[body(#(#items),*)] #variant(#ty))
        });
    quote! {
        #words
        #[derive(Debug, #is_clone server::RequestBody)]
        pub enum #name { #(#variants),* }
    }
}

/// Returns whether the request can be cloned: what arrives as a stream cannot.
fn is_clone(operation: &Operation) -> bool {
    let is_stream = |media: &Media| {
        matches!(
            media.kind,
            MediaKind::Multipart | MediaKind::EventStream | MediaKind::Bytes
        )
    };
    let media = operation.body.iter().flat_map(|body| &body.media);
    !upgrades(operation) && !media.into_iter().any(is_stream)
}

/// Returns the field of the connection, which a parameter may be called like.
fn upgrade_field(operation: &Operation) -> Ident {
    let is_taken = operation
        .parameters
        .iter()
        .any(|parameter| parameter.name == "upgrade");
    ident(if is_taken { "upgrade_" } else { "upgrade" })
}
