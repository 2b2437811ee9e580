//! Enumerations of strings, which may be extensible.

use proc_macro2::TokenStream;
use quote::quote;
use syn::{Ident, Result};

use super::listed::Enumeration;
use crate::schema::{self, Annotations};

/// Expands `#[derive(Enumeration)]` for an enumeration of strings.
pub(super) fn expand(enumeration: &Enumeration<'_>) -> Result<TokenStream> {
    let ident = &enumeration.input.ident;
    let annotations = Annotations::read_to_describe(&enumeration.input.attrs)?;
    let texts: Vec<&String> = enumeration
        .listed
        .iter()
        .map(|listed| &listed.value)
        .collect();
    let names = enumeration.listed.iter().map(|listed| &listed.ident);
    let described = schema::described(enumeration.input, &annotations, || {
        let keywords = quote! {
            ::api_runtime::described::with(json!({"type": "string"}), &[
                ("enum", ::core::iter::FromIterator::from_iter([#(#texts),*])),
            ])
        };
        (keywords, Vec::new())
    });
    let unlisted = enumeration
        .unlisted
        .as_ref()
        .map(|unlisted: &Ident| quote!(unlisted #unlisted));
    Ok(quote! {
        ::api_runtime::__enumeration! { #ident { #(#names #texts)* } #unlisted }
        #described
    })
}
