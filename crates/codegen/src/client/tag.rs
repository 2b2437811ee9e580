//! The file of a tag: a trait with a method per operation and its implementation, before the builders.

use proc_macro2::TokenStream;
use quote::quote;

use super::names::ClientNames;
use super::text;
use crate::ir::{Api, Operation};
use crate::tokens::{docs, ident, inner_docs};

/// The file of the tag at `at` as far as the builders.
pub(super) fn head(api: &Api<'_>, names: &ClientNames, at: usize) -> TokenStream {
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
    let declared = api
        .operations_of(at)
        .map(|operation| declaration(api, operation));
    let written = api.operations_of(at).map(|operation| {
        let (method, builder) = (ident(&operation.name), ident(&operation.pascal));
        quote! {
            fn #method(&self) -> #builder<'_> {
                #builder::new(self.transport())
            }
        }
    });
    quote! {
        #head

        use api_runtime::client as runtime;

        #trait_docs
        pub trait #name: crate::#sealed::Sealed {
            #(#declared)*
        }

        impl #name for crate::Client {
            #(#written)*
        }
    }
}

fn declaration(api: &Api<'_>, operation: &Operation) -> TokenStream {
    let (method, builder) = (ident(&operation.name), ident(&operation.pascal));
    let docs = docs(&text::operation(api, operation));
    let deprecated = operation.deprecated.then(|| quote!(#[deprecated]));
    quote! {
        #docs
        #deprecated
        fn #method(&self) -> #builder<'_>;
    }
}
