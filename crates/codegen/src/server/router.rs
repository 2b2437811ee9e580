//! All tags together: one trait, one list of operations, one router.

use std::collections::HashMap;

use contract::model::PathPart;
use proc_macro2::TokenStream;
use quote::quote;

use super::names::{constant, fixed, import, types_crate};
use super::{security, tag};
use crate::ir::Api;
use crate::tokens::{docs, foreign_type, ident, inner_docs};

/// Generates `router.rs`.
pub(super) fn module(api: &Api<'_>) -> TokenStream {
    let title = inner_docs(
        "The whole API: all traits as one, every operation, and the router that serves them.",
    );
    let traits = whole(api);
    let operations = operations(api);
    let router = router(api);
    let imports = imports(api);
    let absent = absent(api);
    quote! {
        #title
        use api_runtime::server;
        #imports
        #traits
        #operations
        #router
        #absent
    }
}

/// Returns whether some operation asks for credentials.
fn is_secured(api: &Api<'_>) -> bool {
    (0..api.tags.len()).any(|at| tag::is_secured(api, at))
}

/// Generates an import for the trait of each tag. If the feature of the tag is off, an empty trait
/// is imported under the same name.
fn imports(api: &Api<'_>) -> TokenStream {
    // Rust has no `#[cfg]` for a single bound, so every trait that `Api` names has to exist.
    let traits = api.tags.iter().enumerate().map(|(at, definition)| {
        let feature = &definition.feature;
        let module = ident(&definition.module);
        let name = ident(&definition.server_trait);
        let absent = if tag::is_secured(api, at) {
            quote!(AbsentSecured)
        } else {
            quote!(Absent)
        };
        quote! {
            #[cfg(feature = #feature)]
            use crate::#module::#name;
            #[cfg(not(feature = #feature))]
            use self::absent::#absent as #name;
        }
    });
    let security = (!api.security.is_empty()).then(|| {
        let module = ident(&fixed(api, "security"));
        quote!(use crate::#module::Security;)
    });
    let checks = security::guards_unknown_routes(api).then(|| import(api, "security"));
    quote!(#(#traits)* #security #checks)
}

/// Generates the empty traits that are imported in place of the traits of tags whose features are
/// off.
fn absent(api: &Api<'_>) -> TokenStream {
    let secured = (0..api.tags.len()).any(|at| tag::is_secured(api, at));
    let open = (0..api.tags.len()).any(|at| !tag::is_secured(api, at));
    let secured = secured.then(|| {
        quote! {
            /// The trait of a tag whose operations ask for credentials.
            pub trait AbsentSecured<P> {}
            impl<T, P> AbsentSecured<P> for T {}
        }
    });
    let open = open.then(|| {
        quote! {
            /// The trait of a tag whose operations are open.
            pub trait Absent {}
            impl<T> Absent for T {}
        }
    });
    quote! {
        /// The traits of tags that are switched off, which every type implements.
        #[allow(dead_code, reason = "used when a feature is off")]
        mod absent {
            #secured
            #open
        }
    }
}

/// Generates `Api`, the trait of everything that implements the trait of each tag.
fn whole(api: &Api<'_>) -> TokenStream {
    let bounds: Vec<TokenStream> = (0..api.tags.len())
        .map(|at| {
            let name = ident(&api.tags[at].server_trait);
            if tag::is_secured(api, at) {
                quote!(#name<P>)
            } else {
                quote!(#name)
            }
        })
        .collect();
    let (generics, with_type) = if is_secured(api) {
        (quote!(<P>), quote!(<T, P>))
    } else {
        (quote!(), quote!(<T>))
    };
    quote! {
        /// The whole API, for every type that implements the trait of each tag.
        ///
        /// An operation that is added to the contract is a compile error in every implementation until it is written.
        pub trait Api #generics where Self: #(#bounds +)* Send + Sync + 'static {}
        impl #with_type Api #generics for T where T: #(#bounds +)* Send + Sync + 'static {}
    }
}

/// Generates `OPERATIONS`, the list of every operation whose feature is on.
fn operations(api: &Api<'_>) -> TokenStream {
    let operations = api.operations.iter().map(|operation| {
        let tag = &api.tags[operation.tag];
        let feature = &tag.feature;
        let module = ident(&tag.module);
        let name = constant(&operation.name);
        quote!(#[cfg(feature = #feature)] &crate::#module::#name)
    });
    quote! {
        /// Every operation, in the contract's order.
        pub static OPERATIONS: &[&server::Operation] = &[#(#operations),*];
    }
}

/// Generates the function `router`.
fn router(api: &Api<'_>) -> TokenStream {
    let has_security = !api.security.is_empty();
    let secured = is_secured(api);
    // If operations share no error, the implementation chooses the body of rejections.
    let error = if let Some(error) = &api.error {
        let ty = foreign_type(api, error);
        quote!(server::RenderRejection<Body = #ty>)
    } else {
        quote!(server::RenderRejection)
    };
    let bound = if secured {
        quote!(Api<S::Principal>)
    } else {
        quote!(Api)
    };
    let (generics, argument, security_bound, security_value, security_type) = if has_security {
        (
            quote!(<A, S, R>),
            quote!(security: S,),
            quote!(S: Security,),
            quote!(security),
            quote!(S),
        )
    } else {
        (
            quote!(<A, R>),
            quote!(),
            quote!(),
            quote!(security: ()),
            quote!(()),
        )
    };
    let routes = api.tags.iter().map(|tag| {
        let feature = &tag.feature;
        let module = ident(&tag.module);
        quote! {
            #[cfg(feature = #feature)]
            routes.extend(crate::#module::routes::<A, #security_type>());
        }
    });
    let sorted =
        shares_requests(api).then(|| quote!(server::Route::sort(&mut routes, OPERATIONS);));
    let (guard_item, guard) = guard(api);
    let error_link = api.error.as_ref().map(|_| {
        let krate = types_crate(api).to_string();
        format!(" They come as the contract's own error, of `{krate}`.")
    });
    let rejections = docs(&format!(
        "`render` writes the bodies of rejections: 400, 401, 404, 405, 413, 415, 500.{}",
        error_link.unwrap_or_default()
    ));
    quote! {
        /// Serves an implementation of the API.
        ///
        #rejections
        pub fn router #generics(api: A, #argument render: R, config: server::Config) -> server::Router
        where
            A: #bound,
            #security_bound
            R: #error,
        {
            #[allow(unused_mut, reason = "without any tag there is nothing to add")]
            let mut routes = Vec::with_capacity(OPERATIONS.len());
            #(#routes)*
            #sorted
            server::router(server::Blueprint {
                app: server::App { api, #security_value },
                routes,
                guard: #guard,
                render,
                contract: server::ContractTexts {
                    json: include_str!("openapi.json"),
                    yaml: include_str!("openapi.yaml"),
                },
                config,
            })
        }
        #guard_item
    }
}

/// Returns whether operations of different tags are the same requests. The routes are listed by tag,
/// but the first operation of the contract serves such requests.
fn shares_requests(api: &Api<'_>) -> bool {
    let mut tags = HashMap::new();
    api.operations.iter().any(|operation| {
        let shape = operation.segments.iter().map(|part| match part {
            PathPart::Literal(text) => Some(text.as_str()),
            PathPart::Parameter(_) => None,
        });
        let shape: Vec<Option<&str>> = shape.collect();
        let key = (operation.method.as_str(), shape, &operation.query);
        *tags.entry(key).or_insert(operation.tag) != operation.tag
    })
}

/// Generates the check of credentials for paths that the contract does not have, as an item and the
/// expression that names it.
fn guard(api: &Api<'_>) -> (Option<TokenStream>, TokenStream) {
    // Without the check, a caller without credentials could find out by 401 and 404 which paths
    // exist.
    if !security::guards_unknown_routes(api) {
        return (None, quote!(None));
    }
    let requirement = security::requirement(api, &api.contract.security);
    let check = security::check_name(api, &api.contract.security);
    let item = quote! {
        /// Describes the routes that the contract does not know, which the security of the whole document protects.
        static UNKNOWN_ROUTE: server::Operation = server::Operation::unknown_route(#requirement);
        async fn check_unknown_route<A, S: Security>(
            app: std::sync::Arc<server::App<A, S>>,
            call: server::Call,
        ) -> server::RouteResult {
            security::#check(&app.security, &call).await?;
            Ok(server::Response::default())
        }
    };
    let value = quote! {
        Some(server::Route::new(&UNKNOWN_ROUTE, |app, call| Box::pin(check_unknown_route(app, call))))
    };
    (Some(item), value)
}
