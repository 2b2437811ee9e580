//! The file of a tag: the expectation of each operation, and its response.

use proc_macro2::TokenStream;
use quote::quote;

use crate::ir::{Api, Operation};
use crate::server::{self, constant, method_and_path, principal_type, type_names};
use crate::tokens::{deprecated, docs, ident, inner_docs, rust_file};

/// Generates the file of a tag.
pub(super) fn file(api: &Api<'_>, tag: usize) -> String {
    let definition = &api.tags[tag];
    let operations: Vec<&Operation> = api.operations_of(tag).collect();
    let title = inner_docs(&match &definition.name {
        Some(name) => format!("Operations tagged `{name}`: their expectations and responses."),
        None => "Operations without a tag: their expectations and responses.".to_owned(),
    });
    let (krate, module) = (ident(&api.names.krate("server")), ident(&definition.module));
    let name = ident(&definition.server_trait);
    let generics = server::is_secured(api, tag).then(|| quote!(<()>));
    let expectations = operations.iter().map(|one| expectation(api, one));
    let responses = operations.iter().map(|one| response(one));
    rust_file(quote! {
        #title
        use api_runtime::mock::Expectation;
        use #krate::#module::*;
        use crate::{Mock, Service};

        impl Mock {
            #(#expectations)*
        }

        impl #name #generics for Service {
            #(#responses)*
        }
    })
}

/// Generates the method that begins an expectation of an operation.
fn expectation(api: &Api<'_>, operation: &Operation) -> TokenStream {
    let words = docs(&format!(
        "{}\n\n{}",
        operation.docs,
        method_and_path(operation)
    ));
    let deprecated = deprecated(operation);
    let method = ident(&super::method(api, operation));
    let description = constant(&operation.name);
    let [request, response, error] = type_names(operation);
    quote! {
        #words
        #deprecated
        pub fn #method(&self) -> Expectation<'_, #request, #response, #error> {
            self.expectations.of(&#description)
        }
    }
}

/// Generates the method of the tag's trait for an operation.
fn response(operation: &Operation) -> TokenStream {
    let method = ident(&operation.name);
    let principal = principal_type(operation, &quote!(())).map(|ty| quote!(_: #ty,));
    let description = constant(&operation.name);
    let [request, response, error] = type_names(operation);
    quote! {
        async fn #method(&self, #principal request: #request) -> Result<#response, #error> {
            self.0.respond(&#description, request).await
        }
    }
}
