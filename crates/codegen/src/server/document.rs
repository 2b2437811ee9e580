//! The module that derives the OpenAPI document again, from the operations that the router serves.
//!
//! Tests compare it with the contract, and so find what was lost on the way into Rust. The words
//! that Rust does not enforce, such as descriptions, are in a file beside the module, see `words`.

use std::collections::{BTreeMap, BTreeSet};

use contract::model::StatusKey;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::names::{fixed, types_crate};
use super::payload::gate;
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
    let mut all: BTreeMap<u16, (&str, BTreeSet<usize>)> = BTreeMap::new();
    for operation in &api.operations {
        for response in operation
            .responses
            .iter()
            .filter(|found| found.is_rejection)
        {
            if let (StatusKey::Code(code), Some(component)) = (response.status, &response.component)
            {
                let (_, tags) = all.entry(code).or_insert((component, BTreeSet::new()));
                tags.insert(operation.tag);
            }
        }
    }
    let statements = all.iter().map(|(code, (component, tags))| {
        let (code, component) = (Literal::u16_unsuffixed(*code), ident(component));
        // As the component is, if only operations of one tag list it.
        let gate = gate(api, tags);
        quote!(#gate document.rejection::<crate::#module::#component>(#code);)
    });
    quote!(#(#statements)*)
}

/// Generates the statement that adds the header with the id of the request to all responses.
fn request_id(api: &Api<'_>) -> Option<TokenStream> {
    let id = api.request_id.as_ref()?;
    let (name, ty) = (&id.wire, foreign_type(api, &id.ty));
    Some(quote!(document.header::<#ty>(#name);))
}
