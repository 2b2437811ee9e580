//! The head of a tag's file: the trait with a method per operation.

use proc_macro2::TokenStream;
use quote::quote;

use super::names::ClientNames;
use super::{parts, text};
use crate::ir::{Api, Operation};
use crate::tokens::{deprecated, docs, ident, inner_docs};

/// Returns the part of a tag's file before the builders: its docs, its imports and its trait. `at`
/// is the index of the tag; the builders name types of the types crate if `names_types` is true.
pub(super) fn head(
    api: &Api<'_>,
    names: &ClientNames,
    at: usize,
    names_types: bool,
) -> TokenStream {
    let tag = &api.tags[at];
    let name = ident(&tag.client_trait);
    let sealed = ident(&names.modules[3]);
    let head = inner_docs(&match (&tag.name, tag.description.as_deref()) {
        (_, Some(description)) => description.to_owned(),
        (Some(name), None) => format!("The operations of `{name}`."),
        (None, None) => "The operations without a tag.".to_owned(),
    });
    let trait_docs = docs(&match &tag.name {
        Some(name) => {
            format!("The operations of `{name}`, as methods of [`Client`](crate::Client).")
        }
        None => "The operations without a tag, as methods of [`Client`](crate::Client).".to_owned(),
    });
    let methods = api
        .operations_of(at)
        .map(|operation| method(api, operation));
    // The trait of the setters' values, if an operation of the tag has a setter.
    let has_setters = api
        .operations_of(at)
        .any(|operation| !operation.parameters.is_empty() || parts::body_of(operation).is_some());
    let runtime = if has_setters {
        quote!(
            use api_runtime::client::{self as runtime, Value};
        )
    } else {
        quote!(
            use api_runtime::client as runtime;
        )
    };
    let types = ident(&names.modules[0]);
    let types = names_types.then(|| quote!(use crate::#types;));
    quote! {
        #head

        #runtime
        #types

        #trait_docs
        pub trait #name: crate::#sealed::Sealed {
            #(#methods)*
        }

        impl #name for crate::Client {}
    }
}

/// Returns the method of an operation, which makes its builder.
fn method(api: &Api<'_>, operation: &Operation) -> TokenStream {
    let (method, builder) = (ident(&operation.name), ident(&operation.pascal));
    let docs = docs(&text::operation(api, operation));
    let deprecated = deprecated(operation);
    quote! {
        #docs
        #deprecated
        fn #method(&self) -> #builder<'_> {
            #builder::new(self.transport())
        }
    }
}
