//! The file of a tag: its trait, and for each operation the request, the responses, the description
//! and the route.

use contract::model::{Method, StatusKey};
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use super::names::{constant, import, method_and_path, type_names};
use super::{payload, request, response, security};
use crate::ir::{Api, Operation};
use crate::tokens::{RustFile, deprecated, docs, ident, inner_docs};

/// Generates the file of a tag.
pub(super) fn file(api: &Api<'_>, tag: usize) -> String {
    let operations: Vec<&Operation> = api.operations_of(tag).collect();
    let mut file = RustFile::new();
    file.add(head(api, tag, &operations));
    // Operation by operation, since the syntax tree of a large tag would take too much memory.
    for operation in &operations {
        let request = request::items(api, operation);
        let responses = response::items(api, operation);
        let description = description(api, operation);
        file.add(quote!(#request #responses #description));
    }
    file.add(routes(api, tag, &operations));
    file.finish()
}

/// Generates the start of a tag's file: its docs, its imports and its trait.
fn head(api: &Api<'_>, tag: usize, operations: &[&Operation]) -> TokenStream {
    let title = inner_docs(&match &api.tags[tag].name {
        Some(name) => {
            format!(
                "Operations tagged `{name}`: their requests and responses, and the trait to implement."
            )
        }
        None => {
            "Operations without a tag: their requests and responses, and the trait to implement."
                .to_owned()
        }
    });
    let trait_definition = trait_definition(api, tag, operations);
    let uses_responses = operations
        .iter()
        .flat_map(|operation| &operation.responses)
        .any(|response| payload::is_shared(response) && !response.is_rejection);
    let responses = uses_responses.then(|| import(api, "responses"));
    let security = is_secured(api, tag).then(|| import(api, "security"));
    quote! {
        #title
        use api_runtime::server::{self, Responses as _};
        #responses
        #security
        #trait_definition
    }
}

/// Returns whether an operation of a tag asks for credentials, so that its trait has a parameter
/// for the principal.
pub(crate) fn is_secured(api: &Api<'_>, tag: usize) -> bool {
    api.operations_of(tag)
        .any(|operation| security::is_secured(&operation.security))
}

/// Generates the trait of a tag, which has a method for each operation.
fn trait_definition(api: &Api<'_>, tag: usize, operations: &[&Operation]) -> TokenStream {
    let definition = &api.tags[tag];
    let name = ident(&definition.server_trait);
    let words = docs(match &definition.description {
        Some(description) if !description.trim().is_empty() => description,
        _ => "The operations, one method each.",
    });
    // The principal is a parameter only where an operation gets one, so that an implementation of
    // an open tag does not have to name a type that it never sees.
    let (generics, words) = if is_secured(api, tag) {
        let more = docs(
            "`P` is the principal, which the implementation of `Security` makes of a credential.",
        );
        (quote!(<P>), quote!(#words #[doc = ""] #more))
    } else {
        (quote!(), words)
    };
    let methods = operations.iter().map(|operation| handler(operation));
    let module = ident(&definition.module);
    quote! {
        #words
        #[server::api(#module)]
        pub trait #name #generics: Send + Sync + 'static {
            #(#methods)*
        }
    }
}

/// Generates the method of a tag's trait for an operation.
fn handler(operation: &Operation) -> TokenStream {
    let mut words = format!("{}\n\n{}", operation.docs, method_and_path(operation));
    let principal = principal_type(operation, &quote!(P)).map(|ty| quote!(principal: #ty,));
    let body = if let Some(first) = &operation.served_by {
        let first = first.replace('`', "'");
        words.push_str(&format!(
            "\n\nNo request comes here: `{first}` is the same request, and is served."
        ));
        let principal = principal.is_some().then(|| quote!(let _ = principal;));
        quote! {
            {
                let _ = request;
                #principal
                server::not_implemented().await
            }
        }
    } else {
        quote!(;)
    };
    let words = docs(&words);
    let deprecated = deprecated(operation);
    let method = ident(&operation.name);
    let [request, response, error] = type_names(operation);
    quote! {
        #words
        #deprecated
        async fn #method(&self, #principal request: #request) -> Result<#response, #error> #body
    }
}

/// Generates the trait of an operation's tag with the method of this operation alone.
pub(super) fn excerpt(api: &Api<'_>, operation: &Operation) -> TokenStream {
    let name = ident(&api.tags[operation.tag].server_trait);
    let generics = is_secured(api, operation.tag).then(|| quote!(<P>));
    let method = handler(operation);
    quote! {
        pub trait #name #generics: Send + Sync + 'static {
            #method
        }
    }
}

/// Returns the type that an operation gets as the principal, if it asks for credentials: `principal`,
/// or an `Option` of it if it can be called without any.
pub(crate) fn principal_type(
    operation: &Operation,
    principal: &TokenStream,
) -> Option<TokenStream> {
    let security = &operation.security;
    security::is_secured(security).then(|| {
        if security::is_optional(security) {
            quote!(Option<#principal>)
        } else {
            principal.clone()
        }
    })
}

/// Generates the description of an operation, from which `api-runtime` routes, reads and documents
/// it.
fn description(api: &Api<'_>, operation: &Operation) -> TokenStream {
    let words = docs(&format!("{}.", method_and_path(operation)));
    let name = constant(&operation.name);
    let [request, response, error] = type_names(operation);
    let id = &operation.id;
    let method = method(&operation.method);
    let path = &operation.path;
    let rejections = operation
        .responses
        .iter()
        .filter(|response| response.is_rejection);
    let rejections = rejections.filter_map(|response| match response.status {
        StatusKey::Code(code) => Some(Literal::u16_unsuffixed(code)),
        StatusKey::Range(_) | StatusKey::Default => None,
    });
    let mut rejections = rejections.peekable();
    let rejections = rejections
        .peek()
        .is_some()
        .then(|| quote!(rejections: &[#(#rejections),*],));
    let deprecation = operation.deprecation.map(|since| {
        let since = format!("@{}", since.seconds());
        quote!(deprecation: Some(#since),)
    });
    let sunset = operation.sunset.map(|end| {
        let end = end.http_date();
        quote!(sunset: Some(#end),)
    });
    let security = security::requirement(api, &operation.security);
    let security = security.map(|requirement| quote!(security: #requirement,));
    let tag = &api.tags[operation.tag].name;
    let tag = tag.as_ref().map(|tag| quote!(tag: Some(#tag),));
    quote! {
        #words
        pub static #name: server::Operation = server::Operation {
            id: #id,
            method: #method,
            path: #path,
            #tag
            responses: #response::LISTED,
            errors: #error::LISTED,
            #rejections
            #deprecation
            #sunset
            #security
            ..server::Operation::of::<#request>()
        };
    }
}

/// Returns the expression of a method, such as `server::Method::GET`.
fn method(method: &Method) -> TokenStream {
    let name = method.as_str();
    if let Method::Other(_) = method {
        return quote!(server::Method::new(#name));
    }
    let constant = ident(name);
    quote!(server::Method::#constant)
}

/// Generates the function that returns the routes of a tag.
fn routes(api: &Api<'_>, tag: usize, operations: &[&Operation]) -> TokenStream {
    let count = Literal::usize_unsuffixed(operations.len());
    let definition = &api.tags[tag];
    let name = ident(&definition.server_trait);
    let bounds = if is_secured(api, tag) {
        quote!(A: #name<S::Principal>, S: security::Security)
    } else {
        quote!(A: #name, S: Send + Sync + 'static)
    };
    let routes = operations.iter().map(|operation| route(api, operation));
    quote! {
        /// Returns the route of each operation: checks credentials, reads the request, calls the handler.
        pub(crate) fn routes<A, S>() -> [server::Route<server::App<A, S>>; #count]
        where #bounds
        {
            [#(#routes),*]
        }
    }
}

/// Generates the route of an operation.
fn route(api: &Api<'_>, operation: &Operation) -> TokenStream {
    let name = constant(&operation.name);
    let method = ident(&operation.name);
    let [request, _, _] = type_names(operation);
    // Credentials are checked before the request is read, so that a caller without any learns
    // nothing about what the request should be like.
    let (authenticate, principal) = if security::is_secured(&operation.security) {
        let check = security::check_name(api, &operation.security);
        let authenticate = quote!(let principal = security::#check(&app.security, &call).await?;);
        (Some(authenticate), Some(quote!(principal,)))
    } else {
        (None, None)
    };
    quote! {
        #name.route(|app, mut call| Box::pin(async move {
            #authenticate
            let request = call.read::<#request>().await?;
            call.respond(app.api.#method(#principal request).await)
        }))
    }
}
