//! The root of the client crate: `Client`, `ClientBuilder`, the modules of tags, the prelude.

use contract::model::{Location, SecurityKind};
use proc_macro2::TokenStream;
use quote::quote;

use super::common::CommonResponses;
use super::names::ClientNames;
use super::parts;
use crate::ir::{Api, SecurityScheme};
use crate::tokens::{docs, file_attribute, ident, inner_docs, letters};

/// Returns the file `lib.rs`.
pub(super) fn tokens(api: &Api<'_>, names: &ClientNames, common: &CommonResponses) -> TokenStream {
    let head = head(api, common);
    let letters = letters(api);
    let reexports = reexports(api, names);
    let modules = modules(api, names);
    let client = client(api, names);
    let builder = builder(api, names);
    let servers = servers(api);
    quote! {
        #head
        #letters
        #![allow(deprecated, reason = "the contract deprecates what it still has")]

        #reexports
        #modules
        #servers
        #client
        #builder
    }
}

/// Returns the doc comment of the crate.
fn head(api: &Api<'_>, common: &CommonResponses) -> TokenStream {
    let info = &api.contract.info;
    let title = inner_docs(&format!(
        "Client of {}, version {}.",
        one_line(&info.title),
        one_line(&info.version)
    ));
    let text = inner_docs(
        "# Parts\n\n\
         Each tag is a module and a cargo feature, with a trait that gives [`Client`] a method per operation. \
         A method returns a builder: a setter per parameter, `send()`, and `stream()` if the operation is a list.\n\n\
         Responses are read leniently: a property that is newer than this crate is accepted, and so is a newer value of an enumeration that the contract marks `x-extensible-enum`, as `Unlisted`. \
         An [`Error`] keeps the status, the headers and the contract's error body, and prints no secrets.\n\n\
         # Responses that do not fit the contract\n\n\
         One property that does not fit, such as a value that no enumeration lists or null for a required property, makes the whole response an [`Error`]. \
         Of a server that sends such responses, read them with `send().lenient()` instead: it returns a [`Lenient`] body, success or error, \
         with what was received beside what fits. `stream().lenient()` does so for each item of a list.",
    );
    let description = info.description.as_deref().map(str::trim);
    let words: Vec<String> = [description.map(str::to_owned), common.table()]
        .into_iter()
        .flatten()
        .filter(|part| !part.is_empty())
        .collect();
    let words = (!words.is_empty()).then(|| {
        let words = inner_docs(&words.join("\n\n"));
        quote!(#![doc = ""] #words)
    });
    // The README comes first, since it begins with an example.
    quote!(#title #![doc = include_str!("../README.md")] #text #words)
}

/// Returns a string with a single space in place of each run of white space.
fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Returns the re-exports of the types crate and of parts of `api-runtime`, with the type `Error`.
fn reexports(api: &Api<'_>, names: &ClientNames) -> TokenStream {
    let (types, krate) = (ident(&names.modules[0]), ident(&api.names.krate("types")));
    let error = api.error.as_ref().map_or_else(
        || {
            quote!(
                #[doc(inline)]
                pub use api_runtime::client::Error;
            )
        },
        |ty| {
            let ty = parts::type_of(api, names, ty);
            quote! {
                /// Why a call failed. `E` is the body of the errors that the contract lists.
                pub type Error<E = #ty> = runtime::Error<E>;
            }
        },
    );
    let server = names_servers(api).then(|| quote!(Server,));
    quote! {
        use api_runtime::client as runtime;

        pub use #krate as #types;
        pub use api_runtime::client::reqwest;
        #[doc(inline)]
        pub use api_runtime::client::{
            Around, BuildError, ByteStream, Event, EventStream, ItemBody, ItemError, ItemStream, Items, Lenient, LenientExt, LenientItems, Misfit, Multipart, Next, OwnError, Part, PartBody, PartError, PartStream, Partial, Parts, ResponseValue, Retries, Secret, SecretSource, #server Span, Stream, TraceContext, TypedEvent, Violation, http_builder,
        };
        #error
    }
}

/// Returns the declarations of the tags' modules, and the modules `prelude`, `schemes` and
/// `sealed`.
fn modules(api: &Api<'_>, names: &ClientNames) -> TokenStream {
    let [_, prelude, schemes, sealed] = names.modules.each_ref().map(|name| ident(name));
    let (declared, traits): (Vec<TokenStream>, Vec<TokenStream>) = api
        .tags
        .iter()
        .map(|tag| {
            let (feature, module) = (&tag.feature, ident(&tag.module));
            let name = ident(&tag.client_trait);
            let file = file_attribute(tag);
            let declared = quote! {
                #[cfg(feature = #feature)]
                #file
                pub mod #module;
            };
            (
                declared,
                quote!(#[cfg(feature = #feature)] pub use crate::#module::#name;),
            )
        })
        .unzip();
    // Credentials are found by index and not by name, so that a call searches no map.
    let constants = names.schemes.iter().enumerate().map(|(at, name)| {
        let name = ident(name);
        quote!(pub(crate) const #name: usize = #at;)
    });
    let schemes = (!api.security.is_empty()).then(|| {
        quote! {
            /// The indices of the security schemes' credentials in the transport.
            #[allow(dead_code, reason = "the features of the operations that use one may be off")]
            mod #schemes {
                #(#constants)*
            }
        }
    });
    quote! {
        #(#declared)*

        /// The client and the traits of its operations.
        pub mod #prelude {
            pub use crate::{Client, LenientExt};
            #(#traits)*
        }

        #schemes

        /// Seals the traits of operations, so that a further operation is no breaking change.
        #[allow(dead_code, reason = "the features of all tags may be off")]
        mod #sealed {
            pub trait Sealed {
                fn transport(&self) -> &super::runtime::Transport;
            }

            impl Sealed for crate::Client {
                fn transport(&self) -> &super::runtime::Transport {
                    &self.transport
                }
            }
        }
    }
}

/// Returns whether the contract lists a server other than the default `/`.
fn names_servers(api: &Api<'_>) -> bool {
    api.contract.servers.iter().any(|server| server.url != "/")
}

/// Returns the static `SERVERS`, if the contract lists a server other than the default `/`.
fn servers(api: &Api<'_>) -> Option<TokenStream> {
    if !names_servers(api) {
        return None;
    }
    let servers = &api.contract.servers;
    let mut words =
        "The servers that the contract lists. Build a client with `SERVERS[0].url()`.\n".to_owned();
    for server in servers {
        let meaning = server
            .description
            .as_deref()
            .map(one_line)
            .filter(|text| !text.is_empty());
        let meaning = meaning.map(|text| format!(": {text}")).unwrap_or_default();
        words.push_str(&format!(
            "\n- `{}`{meaning}",
            one_line(&server.url).replace('`', "'")
        ));
    }
    let docs = docs(&words);
    let values = servers.iter().map(|server| {
        let template = &server.url;
        let variables = server.variables.iter().map(|(name, variable)| {
            let (default, values) = (&variable.default, &variable.allowed);
            quote!(runtime::Variable { name: #name, default: #default, values: &[#(#values),*] })
        });
        quote!(runtime::Server { template: #template, variables: &[#(#variables),*] })
    });
    Some(quote! {
        #docs
        pub static SERVERS: &[Server] = &[#(#values),*];
    })
}

/// Returns the struct `Client`.
fn client(api: &Api<'_>, names: &ClientNames) -> TokenStream {
    let docs = docs(&format!(
        "A client of {}. Cheap to clone.",
        one_line(&api.contract.info.title)
    ));
    let schemes = api.security.len();
    // The HTTP client sends certificates itself, so the transport takes their credential as set.
    let certificates = api.security.iter().zip(&names.schemes).filter_map(|(scheme, constant)| {
        let (module, constant) = (ident(&names.modules[2]), ident(constant));
        (scheme.kind == SecurityKind::MutualTls)
            .then(|| quote!(.credential(#module::#constant, runtime::Scheme::Certificate, Secret::from(""))))
    });
    // A subscriber gives the whole URL, with its query, so no path is appended.
    let exact = api.names.is_reversed.then(|| quote!(.exact()));
    let (settings, base_url) = if api.names.is_reversed {
        (
            " Returns a builder of a client with settings. `base_url` is the exact URL that the subscriber has given.",
            " Returns the URL of the subscriber.",
        )
    } else {
        (
            " Returns a builder of a client with settings. The contract's paths are appended to `base_url`.",
            " Returns the URL that the contract's paths are appended to, without a slash at its end.",
        )
    };
    quote! {
        #docs
        #[derive(Clone, Debug)]
        pub struct Client {
            transport: runtime::Transport,
        }

        impl Client {
            /// Returns a client without credentials and with the default time-outs.
            pub fn new(base_url: impl AsRef<str>) -> Result<Self, BuildError> {
                Self::builder(base_url).build()
            }

            #[doc = #settings]
            pub fn builder(base_url: impl AsRef<str>) -> ClientBuilder {
                let user_agent = concat!(env!("CARGO_PKG_NAME"), "/", env!("CARGO_PKG_VERSION"));
                ClientBuilder {
                    config: runtime::Config::new(base_url.as_ref(), user_agent, #schemes) #exact #(#certificates)*,
                }
            }

            #[doc = #base_url]
            #[must_use]
            pub fn base_url(&self) -> &str {
                self.transport.base_url()
            }

            /// Returns this client with another time-out of calls, such as for one call. `None` is
            /// none.
            #[must_use]
            pub fn with_timeout(&self, timeout: impl Into<Option<std::time::Duration>>) -> Self {
                Self { transport: self.transport.with_timeout(timeout.into()) }
            }

            /// Returns this client with a header for every request, such as for one call.
            pub fn with_header(&self, name: &str, value: &str) -> Result<Self, BuildError> {
                let transport = self.transport.with_header(name, value)?;
                Ok(Self { transport })
            }
        }
    }
}

/// Returns the struct `ClientBuilder`.
fn builder(api: &Api<'_>, names: &ClientNames) -> TokenStream {
    let credentials = api
        .security
        .iter()
        .enumerate()
        .filter_map(|(at, scheme)| credential(at, scheme, &names.credentials[at], names));
    quote! {
        /// Builds a [`Client`].
        #[derive(Debug)]
        #[must_use]
        pub struct ClientBuilder {
            config: runtime::Config,
        }

        impl ClientBuilder {
            #(#credentials)*

            api_runtime::client_settings!();

            /// Checks the settings and builds the client.
            pub fn build(self) -> Result<Client, BuildError> {
                let transport = self.config.build()?;
                Ok(Client { transport })
            }
        }
    }
}

/// Returns the method that sets the credential of a security scheme. A client certificate has none.
fn credential(
    at: usize,
    scheme: &SecurityScheme,
    method: &str,
    names: &ClientNames,
) -> Option<TokenStream> {
    let kind = match &scheme.kind {
        SecurityKind::HttpBearer | SecurityKind::OAuth2 | SecurityKind::OpenIdConnect(_) => {
            quote!(Bearer)
        }
        SecurityKind::HttpBasic => quote!(Basic),
        SecurityKind::Http(name) => quote!(Authorization(#name)),
        SecurityKind::ApiKey { name, location } => match location {
            Location::Query => quote!(Query(#name)),
            Location::Cookie => quote!(Cookie(#name)),
            Location::Header | Location::Path => quote!(Header(#name)),
        },
        SecurityKind::MutualTls => return None,
    };
    let words = match scheme.description.as_deref().map(str::trim) {
        None | Some("") => {
            format!(
                "Sets the credential of the security scheme `{}`, which is sent with the operations that need it.",
                scheme.wire
            )
        }
        Some(description) => {
            format!(
                "{description}\n\nSets the credential of the security scheme `{}`, which is sent with the operations that need it.",
                scheme.wire
            )
        }
    };
    let docs = docs(&words);
    let method = ident(method);
    let (module, constant) = (ident(&names.modules[2]), ident(&names.schemes[at]));
    let (arguments, secret) = match &scheme.kind {
        SecurityKind::HttpBasic => (
            quote!(name: &str, password: impl Into<Secret>),
            quote!(Secret::from(format!("{name}:{}", password.into().expose()))),
        ),
        SecurityKind::ApiKey { .. } => (quote!(key: impl Into<SecretSource>), quote!(key)),
        _ => (quote!(token: impl Into<SecretSource>), quote!(token)),
    };
    Some(quote! {
        #docs
        pub fn #method(mut self, #arguments) -> Self {
            let scheme = runtime::Scheme::#kind;
            self.config = self.config.credential(#module::#constant, scheme, #secret);
            self
        }
    })
}
