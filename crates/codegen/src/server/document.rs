//! The module that derives the OpenAPI document again, from the operations that the router serves.
//!
//! Tests compare it with the contract, and so find what was lost on the way into Rust. The words
//! that Rust does not enforce, such as descriptions, are in a file beside the module, see `words`.

use proc_macro2::TokenStream;
use quote::quote;

use super::names::types_crate;
use crate::ir::Api;
use crate::tokens::inner_docs;

/// Generates `openapi.rs`.
pub(super) fn module(api: &Api<'_>) -> TokenStream {
    let title = inner_docs(
        "The document, re-derived from the operations that the router serves.\n\n\
         A test compares it with the contract: a difference is something that was lost on the way into Rust. \
         What is served and published is the contract itself.",
    );
    let types = types_crate(api);
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
            for operation in crate::OPERATIONS {
                document.operation(operation);
            }
            document
        }
    }
}
