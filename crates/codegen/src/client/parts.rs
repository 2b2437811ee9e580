//! Pieces of Rust that builders share, whoever wrote them.

use proc_macro2::TokenStream;
use quote::quote;

use super::names::ClientNames;
use super::responses::{Body, Side};
use crate::ir::{Api, Operation, TypeRef};
use crate::tokens::{foreign_type, ident};

/// A type of the contract, as the client's files name it.
pub(super) fn type_of(api: &Api<'_>, ty: &TypeRef) -> TokenStream {
    match ty {
        TypeRef::Any => quote!(runtime::serde_json::Value),
        TypeRef::Vec(items) => {
            let items = type_of(api, items);
            quote!(Vec<#items>)
        }
        TypeRef::Map(values) => {
            let values = type_of(api, values);
            quote!(std::collections::BTreeMap<String, #values>)
        }
        TypeRef::Nullable(inner) => {
            let inner = type_of(api, inner);
            quote!(Option<#inner>)
        }
        TypeRef::Boxed(inner) => {
            let inner = type_of(api, inner);
            quote!(Box<#inner>)
        }
        TypeRef::Named(_) | TypeRef::Primitive(_) => foreign_type(api, ty),
    }
}

/// The type of a body.
pub(super) fn body_type(api: &Api<'_>, body: &Body) -> TokenStream {
    match body {
        Body::Empty => quote!(()),
        Body::Json(ty) | Body::Text(ty) => type_of(api, ty),
        Body::Bytes => quote!(runtime::ByteStream),
        Body::Events => quote!(runtime::EventStream),
        Body::Upgrade => quote!(runtime::reqwest::Upgraded),
    }
}

/// The type of a side: its only body, or the enum of several.
pub(super) fn side_type(api: &Api<'_>, side: &Side, enumeration: &str) -> TokenStream {
    if let Some(body) = side.single() {
        return body_type(api, body);
    }
    let name = ident(enumeration);
    quote!(#name)
}

/// What the transport must know of an operation.
pub(super) fn operation_info(
    api: &Api<'_>,
    names: &ClientNames,
    operation: &Operation,
) -> syn::Expr {
    let id = &operation.id;
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
    syn::parse_quote!(runtime::OperationInfo { operation_id: #id, security: &[#(#alternatives),*] })
}
