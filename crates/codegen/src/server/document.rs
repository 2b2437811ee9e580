//! The closed loop: code that derives the document again from what the other files enforce.
//!
//! The words that no Rust enforces are in a file beside it, see `words`.

use proc_macro2::{Ident, TokenStream};
use quote::quote;

use super::payload::{self, Payload};
use super::tag::type_names;
use super::{constant, request, response, types_crate};
use crate::ir::{Api, Media, MediaKind, Operation, Response};
use crate::tokens::{RustFile, ident, inner_docs};

pub(super) fn module(api: &Api<'_>) -> TokenStream {
    let title = inner_docs(
        "The document, derived again from the code that serves requests.\n\n\
         A test compares it with the contract: what differs was lost on the way into Rust. \
         What is served and published is the contract itself.",
    );
    let modules = api.tags.iter().map(|tag| {
        let feature = &tag.feature;
        let module = ident(&tag.module);
        quote!(#[cfg(feature = #feature)] mod #module;)
    });
    let calls = api.tags.iter().map(|tag| {
        let feature = &tag.feature;
        let module = ident(&tag.module);
        quote!(#[cfg(feature = #feature)] #module::describe(&mut document);)
    });
    let components = components(api);
    quote! {
        #title
        use api_runtime::server::openapi::Document;
        #(#modules)*
        /// The document as utoipa has it.
        ///
        /// # Errors
        ///
        /// If it says something that utoipa cannot hold; [`json`] loses nothing.
        pub fn openapi() -> Result<api_runtime::utoipa::openapi::OpenApi, api_runtime::server::serde_json::Error> {
            document().into_openapi()
        }
        /// The document as JSON.
        pub fn json() -> api_runtime::server::serde_json::Value {
            document().into_json()
        }
        #[allow(unused_mut, reason = "without any tag there may be nothing to add")]
        fn document() -> Document {
            let mut document = Document::new(include_str!("words.json"));
            #components
            #(#calls)*
            document
        }
    }
}

/// Every component schema, as its type says it.
fn components(api: &Api<'_>) -> TokenStream {
    let krate = types_crate(api);
    let components = api.types.iter().filter_map(|def| {
        let component = def.component.as_deref()?;
        let name = ident(&def.name);
        if api.names.is_reversed && def.tags.len() == 1 {
            // It belongs to operations of the other direction, whose features are not ours.
            return None;
        }
        let gate = (def.tags.len() == 1).then(|| {
            let tag = def.tags.first().expect("there is one");
            let feature = &api.tags[*tag].feature;
            quote!(#[cfg(feature = #feature)])
        });
        Some(quote!(#gate document.component::<#krate::#name>(#component);))
    });
    quote!(#(#components)*)
}

pub(super) fn tag_file(api: &Api<'_>, tag: usize) -> String {
    let title = inner_docs(&match &api.tags[tag].name {
        Some(name) => format!("Operations tagged `{name}`, derived again."),
        None => "Operations without a tag, derived again.".to_owned(),
    });
    let module = ident(&api.tags[tag].module);
    let operations: Vec<&Operation> = api.operations_of(tag).collect();
    let calls = operations.iter().map(|operation| {
        let name = function(operation);
        quote!(#name(document);)
    });
    let uses_responses = operations
        .iter()
        .flat_map(|operation| &operation.responses)
        .any(|response| response.component.is_some());
    let responses = uses_responses.then(|| super::import(api, "responses"));
    let mut file = RustFile::new();
    file.add(quote! {
        #title
        use api_runtime::server::openapi;
        #responses
        use crate::#module as tag;
        /// Adds every operation of the tag.
        pub(super) fn describe(document: &mut openapi::Document) {
            #(#calls)*
        }
    });
    for operation in operations {
        file.add(describe(operation));
    }
    file.finish()
}

/// The function of an operation, which cannot be called like that of the tag.
fn function(operation: &Operation) -> Ident {
    ident(if operation.name == "describe" {
        "describe_"
    } else {
        &operation.name
    })
}

fn describe(operation: &Operation) -> TokenStream {
    let name = function(operation);
    let static_name = constant(&operation.name);
    let [request, _, _] = type_names(operation);
    let parameters = operation.parameters.iter().map(|parameter| {
        let constant = constant(&parameter.name);
        let field = ident(&parameter.name);
        quote! {
            .parameter(&tag::#request::#constant, openapi::field(|request: &tag::#request| &request.#field))
        }
    });
    let body = request_body(operation);
    let responses = operation
        .responses
        .iter()
        .map(|response| response_calls(operation, response));
    quote! {
        fn #name(document: &mut openapi::Document) {
            document.operation(&tag::#static_name)
                #(#parameters)*
                #body
                #(#responses)*
                .end();
        }
    }
}

fn request_body(operation: &Operation) -> Option<TokenStream> {
    let body = operation
        .body
        .as_ref()
        .filter(|_| request::has_body(operation))?;
    let [request, _, _] = type_names(operation);
    let names = payload::media_names(&body.media);
    let contents = body.media.iter().zip(&names).map(|(media, variant)| {
        let slot = if is_opaque(media) {
            quote!(openapi::opaque())
        } else if body.media.len() == 1 {
            quote!(openapi::field(|request: &tag::#request| &request.body))
        } else {
            let choices = quote::format_ident!("{}Body", operation.pascal);
            quote!(openapi::variant(tag::#choices::#variant))
        };
        content(media, &slot)
    });
    let is_optional = !body.required;
    Some(quote!(.body(&tag::#request::BODY, #is_optional) #(#contents)*))
}

pub(super) fn is_opaque(media: &Media) -> bool {
    matches!(
        media.kind,
        MediaKind::Bytes | MediaKind::EventStream | MediaKind::Multipart
    )
}

fn content(media: &Media, slot: &TokenStream) -> TokenStream {
    let name = &media.name;
    quote!(.content(#name, #slot))
}

fn response_calls(operation: &Operation, listed: &Response) -> TokenStream {
    let [_, success, error] = type_names(operation);
    let owner = if listed.is_success() { success } else { error };
    let constant = response::listed_constant(listed);
    let payload = Payload::of(&operation.pascal, listed);
    let holder = match &payload {
        Payload::Struct(name, true) => Some(quote!(responses::#name)),
        Payload::Struct(name, false) => Some(quote!(tag::#name)),
        Payload::Nothing | Payload::Body(_) | Payload::Handshake => None,
    };
    let names = payload::media_names(&listed.media);
    let contents = listed.media.iter().zip(&names).map(|(media, variant)| {
        let slot = response_slot(&owner, listed, &payload, holder.as_ref(), media, variant);
        content(media, &slot)
    });
    let headers = listed.headers.iter().map(|header| {
        let constant = super::constant(&header.name);
        let field = ident(&header.name);
        quote!(.header(&#holder::#constant, openapi::field(|response: &#holder| &response.#field)))
    });
    // A change of protocol has neither.
    let (contents, headers): (Vec<_>, Vec<_>) = match payload {
        Payload::Handshake => (Vec::new(), Vec::new()),
        _ => (contents.collect(), headers.collect()),
    };
    quote!(.response(&tag::#owner::#constant) #(#contents)* #(#headers)*)
}

fn response_slot(
    owner: &proc_macro2::Ident,
    listed: &Response,
    payload: &Payload,
    holder: Option<&TokenStream>,
    media: &Media,
    choice: &proc_macro2::Ident,
) -> TokenStream {
    if is_opaque(media) {
        return quote!(openapi::opaque());
    }
    let variant = response::variant_name(listed);
    match (payload, holder) {
        (Payload::Struct(name, is_shared), Some(holder)) if listed.media.len() > 1 => {
            let choices = payload::choices_name(name);
            let _ = holder;
            let path = if *is_shared {
                quote!(responses::#choices)
            } else {
                quote!(tag::#choices)
            };
            quote!(openapi::variant(#path::#choice))
        }
        (_, Some(holder)) => quote!(openapi::field(|response: &#holder| &response.body)),
        _ if response::is_dynamic(listed) => {
            quote!(openapi::variant_with_status(|status, body| tag::#owner::#variant { status, body }))
        }
        _ => quote!(openapi::variant(tag::#owner::#variant)),
    }
}
