//! The root of the crate: the mock, and what its server needs beside the operations.

use proc_macro2::TokenStream;
use quote::{format_ident, quote};

use crate::ir::{Api, TypeRef};
use crate::manifest::error_statements;
use crate::server;
use crate::tokens::{file_attribute, foreign_type, ident, inner_docs, letters, rust_file};

/// Returns whether the mock can write the contract's error for a rejection. It cannot if a required
/// part of the error can hold none of the status and the message; then the test gives a renderer.
pub(crate) fn makes_errors(api: &Api<'_>) -> bool {
    let Some(error) = &api.error else {
        return true;
    };
    statements(api, error).is_some()
}

/// Returns the statements that make the contract's error.
fn statements(api: &Api<'_>, error: &TypeRef) -> Option<TokenStream> {
    let text = error_statements(api, &api.names.krate("types"), error)?;
    Some(text.parse().expect("the statements are Rust"))
}

/// Generates `lib.rs`.
pub(super) fn file(api: &Api<'_>) -> String {
    let title = inner_docs(&format!(
        "Stands in for the server of {} in tests of its callers.",
        api.contract.info.title
    ));
    let text = inner_docs(
        "# Parts\n\n\
         Start at [`Mock`], which has a method for each operation, and at [`Expectation`], which says what such a method begins.",
    );
    let letters = letters(api);
    let operations = operations(api);
    let (krate, types) = (
        ident(&api.names.krate("server")),
        ident(&api.names.krate("types")),
    );
    let mock = mock(api);
    let service = service(api);
    rust_file(quote! {
        #title
        #![doc = include_str!("../README.md")]
        #text
        #![allow(deprecated)]
        #![allow(missing_docs, reason = "the contract does not describe everything")]
        #![allow(rustdoc::all, reason = "descriptions are the contract's own words")]
        #![allow(clippy::all, clippy::pedantic, reason = "names and shapes are the contract's own")]
        #letters

        #operations

        use std::io;
        use api_runtime::mock::{Errors, Expectations, Responder};
        use api_runtime::server;

        pub use api_runtime::mock::{Credential, Expectation, Expected, Received, Sequence, Times, Unmet};
        pub use #krate;
        pub use #types as types;

        #mock
        #service
    })
}

/// Generates the modules of the tags. They are apart, so that none has the name of something else.
fn operations(api: &Api<'_>) -> Option<TokenStream> {
    let tags = api.tags.iter().map(|tag| {
        let feature = &tag.feature;
        let (module, file) = (ident(&tag.module), file_attribute(tag));
        quote!(#[cfg(feature = #feature)] #file mod #module;)
    });
    (!api.tags.is_empty()).then(|| quote!(mod operations { #(#tags)* }))
}

/// Generates the mock, with all its methods but those of the operations.
fn mock(api: &Api<'_>) -> TokenStream {
    let krate = ident(&api.names.krate("server"));
    let (body, create, errors) = creation(api);
    let security = (!api.security.is_empty()).then(|| quote!(service.clone(),));
    quote! {
        /// A server for tests, which responds as its expectations say.
        ///
        /// Requests are routed, checked and read as by the generated server.
        /// A request that no expectation accepts has the response 501.
        /// Dropping the mock verifies the expectations, and panics if they are not met or if such a request has come.
        #[derive(Debug)]
        pub struct Mock {
            expectations: Expectations,
            errors: Errors<#body>,
        }

        impl Mock {
            #create

            /// Serves the mock on a free port of 127.0.0.1 and returns its URL. The server ends when the mock is dropped.
            ///
            /// # Errors
            ///
            /// Returns an error if no port can be bound.
            pub async fn serve(&self) -> io::Result<String> {
                self.expectations.serve(self.router()).await
            }

            /// Returns the server without a socket, as a service for `tower::ServiceExt::oneshot` and the like.
            pub fn router(&self) -> server::Router {
                self.router_with(server::Config::default())
            }

            /// Returns the server with settings, such as the size of the largest body.
            pub fn router_with(&self, config: server::Config) -> server::Router {
                let service = Service(self.expectations.responder());
                #krate::router(#security service, self.errors.clone(), config)
            }

            /// Sets the check of credentials.
            ///
            /// Without one, all are accepted that have the form of their scheme, and none or a malformed one has the response 401.
            pub fn check_credentials(
                &self,
                check: impl Fn(&[Credential], &'static server::Operation) -> Result<(), server::AuthError> + Send + Sync + 'static,
            ) {
                self.expectations.check_credentials(check);
            }

            /// Lets the verification succeed in spite of requests without an expectation.
            pub fn allow_unexpected(&self) {
                self.expectations.allow_unexpected();
            }

            /// Returns the requests that were received, in their order; the first 1,000, if there are more.
            pub fn received(&self) -> Vec<Received> {
                self.expectations.received()
            }

            /// Returns what is not as expected so far.
            ///
            /// # Errors
            ///
            /// Returns an error if an expectation has had another number of requests than it says, or if a request has met no expectation.
            pub fn check(&self) -> Result<(), Unmet> {
                self.expectations.check()
            }

            /// Verifies the expectations, as dropping the mock does.
            ///
            /// # Panics
            ///
            /// If [`check`](Self::check) returns an error.
            #[track_caller]
            pub fn verify(&self) {
                self.expectations.verify();
            }
        }
        #errors
    }
}

/// Returns the type of the bodies of rejections, the functions that create a mock, and the items
/// that they need.
fn creation(api: &Api<'_>) -> (TokenStream, TokenStream, Option<TokenStream>) {
    let Some(error) = &api.error else {
        let create = quote! {
            /// Creates a mock without expectations. The contract's operations share no error, so rejections are problem details (RFC 9457).
            pub fn new() -> Self {
                let expectations = Expectations::new();
                let errors = expectations.errors(server::Problem);
                Self { expectations, errors }
            }
        };
        return (quote!(server::ProblemBody), create, Some(by_default()));
    };
    let body = foreign_type(api, error);
    let with_errors = quote! {
        /// Creates a mock without expectations, whose rejections have bodies of your own, such as those of your server.
        pub fn with_errors(errors: impl server::RenderRejection<Body = #body>) -> Self {
            let expectations = Expectations::new();
            let errors = expectations.errors(errors);
            Self { expectations, errors }
        }
    };
    let Some(statements) = statements(api, error) else {
        return (body, with_errors, None);
    };
    let create = quote! {
        /// Creates a mock without expectations, whose rejections have their status and message in the contract's error.
        pub fn new() -> Self {
            Self::with_errors(ContractErrors)
        }

        #with_errors
    };
    let default = by_default();
    // The contract's error may have no place for the status and the message of the rejection.
    let is_used = statements.to_string().contains("rejection .");
    let rejection = if is_used {
        quote!(rejection)
    } else {
        quote!(_)
    };
    let errors = quote! {
        #default

        /// Writes the contract's error for what the server rejects.
        struct ContractErrors;

        impl server::RenderRejection for ContractErrors {
            type Body = #body;

            fn render(&self, #rejection: &server::Rejection) -> Self::Body {
                #statements
            }
        }
    };
    (body, create, Some(errors))
}

fn by_default() -> TokenStream {
    quote! {
        impl Default for Mock {
            fn default() -> Self {
                Self::new()
            }
        }
    }
}

/// Generates the implementation of the server's traits, except for those of the tags.
fn service(api: &Api<'_>) -> TokenStream {
    let krate = ident(&api.names.krate("server"));
    let security = (!api.security.is_empty()).then(|| {
        let checks = server::checks(api);
        let checks = checks.iter().map(check);
        quote! {
            impl #krate::Security for Service {
                type Principal = ();
                #(#checks)*
            }
        }
    });
    quote! {
        /// Implements the server's traits by the expectations.
        #[derive(Debug, Clone)]
        #[allow(dead_code, reason = "without any tag nothing is asked")]
        struct Service(Responder);

        #security
    }
}

/// Generates the check of one alternative of credentials.
fn check(check: &server::Check) -> TokenStream {
    let method = ident(&check.name);
    let is_one = check.arguments.len() == 1;
    let name = |at: usize| {
        if is_one {
            format_ident!("credential")
        } else {
            format_ident!("credential{}", at + 1)
        }
    };
    let names: Vec<_> = (0..check.arguments.len()).map(name).collect();
    let arguments = check.arguments.iter().zip(&names);
    let arguments = arguments.map(|((ty, has_scopes), name)| {
        let ty = ident(ty);
        let scopes = has_scopes.then(|| quote!(_: &'static [&'static str],));
        quote!(#name: server::#ty, #scopes)
    });
    quote! {
        async fn #method(
            &self,
            #(#arguments)*
            operation: &'static server::Operation,
        ) -> Result<(), server::AuthError> {
            self.0.authenticate(&[#(#names.into()),*], operation)
        }
    }
}
