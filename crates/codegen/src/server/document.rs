//! The module that derives the OpenAPI document again, from the operations that the router serves.
//!
//! Tests compare it with the contract, and so find what was lost on the way into Rust. The words
//! that Rust does not enforce, such as descriptions, are in a file beside the module, see `words`.

use std::collections::BTreeMap;

use contract::model::StatusKey;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::names::{fixed, types_crate};
use crate::ir::Api;
use crate::tokens::{foreign_type, ident, inner_docs};

/// Generates `openapi.rs`.
pub(super) fn module(api: &Api<'_>) -> TokenStream {
    let title = inner_docs(
        "The document, re-derived from the operations that the router serves.\n\n\
         A test compares it with the contract: a difference is something that was lost on the way into Rust. \
         What is served and published is the contract itself.",
    );
    let types = types_crate(api);
    let rejections = rejections(api);
    let request_id = request_id(api);
    quote! {
        #title
        use api_runtime::server::openapi::Document;
        /// Returns the document in utoipa's model.
        ///
        /// # Errors
        ///
        /// If the document has something that utoipa cannot hold; [`json`] loses nothing.
        pub fn openapi() -> Result<api_runtime::utoipa::openapi::OpenApi, api_runtime::serde_json::Error> {
            document().into_openapi()
        }
        /// Returns the document as JSON.
        pub fn json() -> api_runtime::serde_json::Value {
            document().into_json()
        }
        fn document() -> Document {
            let mut document = Document::new(include_str!("words.json"));
            document.components(#types::schemas::COMPONENTS);
            #rejections
            #request_id
            for operation in crate::OPERATIONS {
                document.operation(operation);
            }
            document
        }
    }
}

/// Generates the statements that describe the rejections, which operations name by their statuses.
fn rejections(api: &Api<'_>) -> TokenStream {
    let module = ident(&fixed(api, "responses"));
    let responses = api
        .operations
        .iter()
        .flat_map(|operation| &operation.responses)
        .filter(|response| response.is_rejection);
    let all: BTreeMap<u16, &str> = responses
        .filter_map(|response| match response.status {
            StatusKey::Code(code) => Some((code, response.component.as_deref()?)),
            StatusKey::Range(_) | StatusKey::Default => None,
        })
        .collect();
    let statements = all.iter().map(|(code, component)| {
        let (code, component) = (Literal::u16_unsuffixed(*code), ident(component));
        quote!(document.rejection::<crate::#module::#component>(#code);)
    });
    quote!(#(#statements)*)
}

/// Generates the statement that adds the header with the id of the request to all responses.
fn request_id(api: &Api<'_>) -> Option<TokenStream> {
    let id = api.request_id.as_ref()?;
    let (name, ty) = (&id.wire, foreign_type(api, &id.ty));
    Some(quote!(document.header::<#ty>(#name);))
}
