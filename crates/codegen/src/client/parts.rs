//! Expressions and types that several files of the client pass write.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::names::ClientNames;
use super::responses::{Body, Side};
use crate::ir::{self, Api, Operation, PartList, TypeRef};
use crate::positions::{self, Words};
use crate::tokens::{ident, type_tokens};

/// Returns a type as the files of the client crate name it, such as `types::Vm`.
pub(super) fn type_of(api: &Api<'_>, names: &ClientNames, ty: &TypeRef) -> TokenStream {
    let types = ident(&names.modules[0]);
    let any = quote!(runtime::serde_json::Value);
    type_tokens(ty, &any, &|id| {
        let name = ident(&api.type_def(id).name);
        quote!(#types::#name)
    })
}

/// Returns the type of an argument: `Option<T>` unless it is required.
pub(super) fn optional(ty: &TokenStream, required: bool) -> TokenStream {
    if required {
        ty.clone()
    } else {
        quote!(Option<#ty>)
    }
}

/// Returns the expression that converts `value` into the type of an argument.
///
/// `convert` is the method of the call that does it, `argument` or `optional`, and `transport` the
/// builder's field that has the call.
pub(super) fn argument(transport: &Ident, convert: &str, name: &str) -> TokenStream {
    let (convert, name) = (ident(convert), name.trim_start_matches("r#"));
    quote!(self.#transport.#convert(#name, value))
}

/// Returns the expression `Some(text)` or `None`.
pub(super) fn option(text: Option<&String>) -> TokenStream {
    text.map_or_else(|| quote!(None), |text| quote!(Some(#text)))
}

/// Returns the request body of an operation, if it has a media type.
pub(super) fn body_of(operation: &Operation) -> Option<&ir::Body> {
    operation
        .body
        .as_ref()
        .filter(|body| !body.media.is_empty())
}

/// Returns the Rust type of a response body.
pub(super) fn body_type(api: &Api<'_>, names: &ClientNames, body: &Body) -> TokenStream {
    match body {
        Body::Empty => quote!(()),
        Body::Json(ty) | Body::Text(ty) => type_of(api, names, ty),
        Body::Bytes => quote!(runtime::ByteStream),
        Body::Events => quote!(runtime::EventStream),
        Body::Items(ty) => {
            let ty = type_of(api, names, ty);
            quote!(runtime::ItemStream<#ty>)
        }
        Body::TypedEvents(ty) => {
            let ty = type_of(api, names, ty);
            quote!(runtime::ItemStream<runtime::TypedEvent<#ty>>)
        }
        Body::Parts(list) => positioned(api, names, list, positions::whole_type),
        Body::PartStream(list) => {
            let part = positioned(api, names, list, positions::item_type);
            quote!(runtime::PartStream<#part>)
        }
        Body::Upgrade => quote!(runtime::reqwest::Upgraded),
    }
}

/// Returns what `write` does of parts with positions.
pub(super) fn positioned(
    api: &Api<'_>,
    names: &ClientNames,
    parts: &PartList,
    write: fn(&PartList, &Words<'_>) -> TokenStream,
) -> TokenStream {
    let ty = |ty: &TypeRef| type_of(api, names, ty);
    let words = Words {
        root: quote!(runtime),
        ty: &ty,
    };
    write(parts, &words)
}

/// Returns the type of the successes or the errors: that of their body, or the enum `enumeration`
/// if the bodies have several types.
pub(super) fn side_type(
    api: &Api<'_>,
    names: &ClientNames,
    side: &Side,
    enumeration: &str,
) -> TokenStream {
    if let Some(body) = side.single() {
        return body_type(api, names, body);
    }
    let name = ident(enumeration);
    quote!(#name)
}

/// Returns the security requirements of an operation: alternatives, each a list of constants of
/// security schemes.
pub(super) fn security(api: &Api<'_>, names: &ClientNames, operation: &Operation) -> TokenStream {
    let module = ident(&names.modules[2]);
    let alternatives = operation.security.iter().map(|alternative| {
        let schemes = alternative.schemes.iter().filter_map(|(name, _)| {
            let at = api
                .security
                .iter()
                .position(|scheme| scheme.wire == *name)?;
            let constant = ident(&names.schemes[at]);
            Some(quote!(crate::#module::#constant))
        });
        quote!(&[#(#schemes),*])
    });
    quote!(&[#(#alternatives),*])
}
