//! The request of an operation: a struct whose attributes say where in the HTTP request each field
//! is.

use contract::model::Location;
use proc_macro2::{Ident, TokenStream};
use quote::{format_ident, quote};

use super::names::{method_and_path, type_names};
use super::parameter::parameter_items;
use super::payload::{self, Holder, is_handshake, media_attribute};
use crate::ir::{Api, Body, Media, MediaKind, Operation, Parameter, TypeRef};
use crate::positions;
use crate::tokens::{docs, foreign_type, ident};

/// Returns whether an operation reads a JSON body, so that the crate needs the schemas of the types
/// crate.
pub(super) fn has_json_body(api: &Api<'_>) -> bool {
    has_body(api, MediaKind::Json)
}

/// Returns whether an operation reads a multipart body, so that the crate needs that feature of the
/// run time.
pub(super) fn has_multipart_body(api: &Api<'_>) -> bool {
    has_body(api, MediaKind::Multipart)
}

/// Returns whether an operation reads a body of `kind`.
fn has_body(api: &Api<'_>, kind: MediaKind) -> bool {
    api.operations
        .iter()
        .filter_map(|operation| operation.body.as_ref())
        .flat_map(|body| &body.media)
        .any(|media| media.kind == kind)
}

/// Returns whether an operation has a header parameter.
pub(super) fn has_header(api: &Api<'_>, name: &str) -> bool {
    let mut operations = api.operations.iter();
    operations.any(|operation| header(operation, name).is_some())
}

/// Returns the header parameter of an operation that has a name, in any case.
fn header<'o>(operation: &'o Operation, name: &str) -> Option<&'o Parameter> {
    operation.parameters.iter().find(|parameter| {
        parameter.location == Location::Header && parameter.wire.eq_ignore_ascii_case(name)
    })
}

/// Generates the struct of a request, and the enum of its bodies if there are several media types.
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
        let attribute = body_attribute(api, &name, body);
        let ty = body_type(api, operation, body);
        quote!(#words #attribute pub body: #ty,)
    });
    let choices = body
        .filter(|body| body.media.len() > 1)
        .map(|body| choices(api, operation, body));
    let own = body.map_or(&[][..], |body| &body.media).iter();
    let own = own.filter(|_| choices.is_none());
    let encodings = payload::encodings(api, &name, None, own.map(|media| (None, media)));
    let conditions = conditions(operation);
    quote! {
        #words
        #[derive(Debug, #is_clone server::Request)]
        pub struct #name {
            #(#parameters)*
            #upgrade
            #body_field
        }
        #conditions
        #encodings
        #choices
    }
}

/// Generates the methods that return the conditions of a request, if it may have any: parsed, where
/// the fields have the texts of the headers.
fn conditions(operation: &Operation) -> Option<TokenStream> {
    let [name, _, _] = type_names(operation);
    let conditions = [
        (
            "If-Match",
            "IfMatch",
            "Returns the condition that the resource has one of the entity tags in `If-Match`.",
        ),
        (
            "If-None-Match",
            "IfNoneMatch",
            "Returns the condition that the resource has none of the entity tags in `If-None-Match`.",
        ),
    ];
    let methods: Vec<TokenStream> = conditions
        .into_iter()
        .filter_map(|(wire, ty, words)| {
            let field = ident(&header(operation, wire)?.name);
            let (ty, words) = (ident(ty), docs(words));
            Some(quote! {
                #words
                #[must_use]
                pub fn #field(&self) -> server::#ty {
                    server::#ty::of(&self.#field)
                }
            })
        })
        .collect();
    (!methods.is_empty()).then(|| quote!(impl #name { #(#methods)* }))
}

/// Generates the field of a parameter.
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
    // A path parameter is part of the route, so it is never absent and is not marked `required`.
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

/// Returns whether the field of a parameter is an `Option`. It is not if the parameter is in the
/// path, which is never absent, or has a default.
pub(super) fn is_optional(parameter: &Parameter) -> bool {
    !parameter.required && parameter.location != Location::Path && parameter.default.is_none()
}

/// Returns the attribute of the body, such as `#[body(json, required)]`. It has no media type if
/// there are several, which the enum of bodies lists.
fn body_attribute(api: &Api<'_>, owner: &Ident, body: &Body) -> TokenStream {
    let holder = Holder {
        owner,
        variant: None,
    };
    let mut items = match body.media.as_slice() {
        [only] => request_media(api, only, &holder),
        _ => Vec::new(),
    };
    items.extend(body.required.then(|| quote!(required)));
    if items.is_empty() {
        quote!(#[body])
    } else {
        quote!(#[body(#(#items),*)])
    }
}

/// Returns the arguments of `#[body(…)]` for a media type of a request.
fn request_media(api: &Api<'_>, media: &Media, holder: &Holder<'_>) -> Vec<TokenStream> {
    // The run time parses no events from a client, so the handler gets their bytes.
    let kind = match media.kind {
        MediaKind::EventStream => MediaKind::Bytes,
        kind => kind,
    };
    let mut items = vec![media_attribute(kind, media, holder)];
    // The type stops at the first value that does not fit; with the schema the run time can list
    // all that is wrong.
    if let Some(schema) = media.schema.filter(|_| media.kind == MediaKind::Json) {
        let pointer = contract::bundle::schema_pointer(api.contract, api.contract.resolve(schema));
        items.push(quote!(schema = #pointer));
    }
    // A receiver may be older than the API that calls it.
    items.extend(api.names.is_reversed.then(|| quote!(lenient)));
    items
}

/// Returns the type of a request body of one media type.
fn media_type(api: &Api<'_>, media: &Media) -> TokenStream {
    match media.kind {
        MediaKind::Json | MediaKind::Form | MediaKind::Text => {
            foreign_type(api, media.ty.as_ref().unwrap_or(&TypeRef::Any))
        }
        MediaKind::Multipart => quote!(server::Multipart),
        MediaKind::EventStream | MediaKind::Bytes => quote!(server::ByteStream),
        MediaKind::Items | MediaKind::TypedEvents => {
            let item = payload::item_type(api, media);
            quote!(server::ItemStream<#item>)
        }
        MediaKind::Parts => payload::parts_type(api, media, positions::whole_type),
        MediaKind::PartStream => {
            let part = payload::parts_type(api, media, positions::item_type);
            quote!(server::PartStream<#part>)
        }
    }
}

/// Returns the type of the field of the body.
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

/// Returns the name of the enum of bodies.
fn choices_name(operation: &Operation) -> Ident {
    format_ident!("{}Body", operation.pascal)
}

/// Generates the enum of the bodies that a request can have, a variant for each media type.
fn choices(api: &Api<'_>, operation: &Operation, body: &Body) -> TokenStream {
    let name = choices_name(operation);
    let words = docs(&format!(
        "The body of {}, by its media type.",
        method_and_path(operation)
    ));
    let is_clone = is_clone(operation).then(|| quote!(Clone,));
    let names = payload::media_names(&body.media);
    let variants = names.iter().zip(&body.media).map(|(variant, media)| {
        let words = docs(&format!("`{}`", media.name));
        let holder = Holder {
            owner: &name,
            variant: Some(variant),
        };
        let items = request_media(api, media, &holder);
        let ty = media_type(api, media);
        quote!(#words #[body(#(#items),*)] #variant(#ty))
    });
    let bodies = names.iter().map(Some).zip(&body.media);
    let encodings = payload::encodings(api, &name, None, bodies);
    quote! {
        #words
        #[derive(Debug, #is_clone server::RequestBody)]
        pub enum #name { #(#variants),* }
        #encodings
    }
}

/// Returns whether a request can be cloned, which it cannot if its body is a stream or if it takes
/// over the connection.
pub(super) fn is_clone(operation: &Operation) -> bool {
    let media = operation.body.iter().flat_map(|body| &body.media);
    !upgrades(operation) && !media.into_iter().any(payload::is_opaque)
}

/// Returns the name of the field for the connection: `upgrade`, or `upgrade_` if a parameter has
/// that name.
pub(super) fn upgrade_field(operation: &Operation) -> Ident {
    let is_taken = operation
        .parameters
        .iter()
        .any(|parameter| parameter.name == "upgrade");
    ident(if is_taken { "upgrade_" } else { "upgrade" })
}

/// Returns whether an operation lists a response 101, after which the connection uses another
/// protocol.
pub(super) fn upgrades(operation: &Operation) -> bool {
    operation.responses.iter().any(is_handshake)
}
