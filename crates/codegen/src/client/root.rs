//! The root of the client crate: the client, its builder, the modules of tags, the prelude.

use contract::model::{Location, SecurityKind};
use proc_macro2::TokenStream;
use quote::quote;

use super::names::ClientNames;
use super::parts;
use crate::ir::{Api, SecurityScheme};
use crate::tokens::{docs, ident, inner_docs, inner_docs_with_examples, letters};

/// The file `lib.rs`.
pub(super) fn tokens(api: &Api<'_>, names: &ClientNames) -> TokenStream {
    let head = head(api, names);
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

fn head(api: &Api<'_>, names: &ClientNames) -> TokenStream {
    let info = &api.contract.info;
    let mut text = format!(
        "Client of {}, version {}.",
        one_line(&info.title),
        one_line(&info.version)
    );
    if let Some(description) = &info.description {
        text.push_str("\n\n");
        text.push_str(description.trim());
    }
    let credential = api
        .security
        .iter()
        .zip(&names.credentials)
        .find_map(|(scheme, method)| {
            Some(match &scheme.kind {
                SecurityKind::HttpBasic => format!(".{method}(\"name\", \"password\")"),
                SecurityKind::MutualTls => return None,
                _ => format!(".{method}(\"credential\")"),
            })
        });
    let (krate, credential) = (api.names.krate("client"), credential.unwrap_or_default());
    let words = inner_docs(&text);
    let mut text = "\n# Example\n\n```rust\n".to_owned();
    text.extend([
        format!("let client = {krate}::Client::builder(\"http://localhost:8080\"){credential}.build()?;\n"),
        format!("# Ok::<(), {krate}::BuildError>(())\n```\n\n"),
    ]);
    text.push_str(
        "Each tag is a module and a cargo feature, with a trait that gives [`Client`] a method per operation. \
         A method yields a builder: a setter per parameter, `send()`, and `stream()` where the operation is a list.\n\n\
         Responses are read leniently: a property or an enumeration value that is newer than this crate fails nothing. \
         An [`Error`] keeps status, headers and the contract's error body, and shows nothing secret when it is printed.",
    );
    let example = inner_docs_with_examples(&text);
    quote!(#words #example)
}

fn one_line(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

fn reexports(api: &Api<'_>, names: &ClientNames) -> TokenStream {
    let (types, krate) = (ident(&names.modules[0]), ident(&api.names.krate("types")));
    let error = api.error.as_ref().map_or_else(
        || {
            quote!(
                pub use api_runtime::client::Error;
            )
        },
        |ty| {
            let ty = parts::type_of(api, ty);
            quote! {
                /// Why a call failed; `E` is the body of the errors that the contract lists.
                pub type Error<E = #ty> = runtime::Error<E>;
            }
        },
    );
    let server = names_servers(api).then(|| quote!(Server,));
    quote! {
        use api_runtime::client as runtime;

        pub use #krate as #types;
        pub use api_runtime::client::{
            BuildError, ByteStream, Event, EventStream, Multipart, ResponseValue, Retries, Secret, #server Stream, reqwest,
        };
        #error
    }
}

fn modules(api: &Api<'_>, names: &ClientNames) -> TokenStream {
    let [_, prelude, schemes, sealed] = names.modules.each_ref().map(|name| ident(name));
    let (declared, traits): (Vec<TokenStream>, Vec<TokenStream>) = api
        .tags
        .iter()
        .map(|tag| {
            let (feature, module) = (&tag.feature, ident(&tag.module));
            let name = ident(&tag.client_trait);
            let declared = quote! {
                #[cfg(feature = #feature)]
                pub mod #module;
            };
            (
                declared,
                quote!(#[cfg(feature = #feature)] pub use crate::#module::#name;),
            )
        })
        .unzip();
    let constants = names.schemes.iter().enumerate().map(|(at, name)| {
        let name = ident(name);
        quote!(pub(crate) const #name: usize = #at;)
    });
    let schemes = (!api.security.is_empty()).then(|| {
        quote! {
            /// The security schemes, by the index under which the transport keeps their credentials.
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
            pub use crate::Client;
            #(#traits)*
        }

        #schemes

        /// Keeps the traits of operations to [`Client`], so that another operation breaks nobody.
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

/// Whether the contract says more of its servers than that there is one.
fn names_servers(api: &Api<'_>) -> bool {
    api.contract.servers.iter().any(|server| server.url != "/")
}

/// The servers that the contract names.
fn servers(api: &Api<'_>) -> Option<TokenStream> {
    if !names_servers(api) {
        return None;
    }
    let servers = &api.contract.servers;
    let mut words =
        "The servers that the contract names; `SERVERS[0].url()` is what a client may be built with.\n".to_owned();
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

fn client(api: &Api<'_>, names: &ClientNames) -> TokenStream {
    let docs = docs(&format!(
        "A client of {}. Cheap to clone.",
        one_line(&api.contract.info.title)
    ));
    let schemes = api.security.len();
    // The HTTP client presents certificates by itself, so such a scheme counts as met.
    let certificates = api.security.iter().zip(&names.schemes).filter_map(|(scheme, constant)| {
        let (module, constant) = (ident(&names.modules[2]), ident(constant));
        (scheme.kind == SecurityKind::MutualTls)
            .then(|| quote!(.credential(#module::#constant, runtime::Scheme::Certificate, Secret::from(""))))
    });
    let exact = api.names.is_reversed.then(|| quote!(.exact()));
    let (settings, base_url) = if api.names.is_reversed {
        (
            " A client with settings of one's own. `base_url` is where the subscriber wants to be called, to the letter.",
            " The URL that is called.",
        )
    } else {
        (
            " A client with settings of one's own. `base_url` is what the contract's paths are put behind.",
            " The URL that the contract's paths are put behind, without a slash at its end.",
        )
    };
    quote! {
        #docs
        #[derive(Clone, Debug)]
        pub struct Client {
            transport: runtime::Transport,
        }

        impl Client {
            /// A client without credentials and with the default time-outs.
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
        }
    }
}

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

            /// How long a connection may take; 10 seconds unless set. It does not apply to an HTTP client of one's own.
            pub fn connect_timeout(mut self, timeout: std::time::Duration) -> Self {
                self.config = self.config.connect_timeout(timeout);
                self
            }

            /// How long a whole call may take: connecting, sending, every retry and the pauses between, and the body
            /// of the response; 60 seconds unless set.
            pub fn timeout(mut self, timeout: std::time::Duration) -> Self {
                self.config = self.config.timeout(Some(timeout));
                self
            }

            /// Lets a call take as long as it takes, such as an endless stream.
            pub fn no_timeout(mut self) -> Self {
                self.config = self.config.timeout(None);
                self
            }

            /// What the client calls itself; name and version of this crate unless set.
            pub fn user_agent(mut self, user_agent: &str) -> Self {
                self.config = self.config.user_agent(user_agent);
                self
            }

            /// Adds a header to every request. A parameter of the operation takes precedence.
            pub fn header(mut self, name: &str, value: &str) -> Self {
                self.config = self.config.header(name, value);
                self
            }

            /// Repeats what failed for a moment and is safe to repeat; off unless set.
            pub fn retries(mut self, retries: Retries) -> Self {
                self.config = self.config.retries(retries);
                self
            }

            /// Uses an HTTP client of one's own, with its TLS, proxies, redirects and connect time-out.
            pub fn http_client(mut self, http: reqwest::Client) -> Self {
                self.config = self.config.http_client(http);
                self
            }

            /// Checks the settings and builds the client.
            pub fn build(self) -> Result<Client, BuildError> {
                let transport = self.config.build()?;
                Ok(Client { transport })
            }
        }
    }
}

/// The method that sets the credential of a security scheme; none for one that the connection carries.
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
                "The credential of security scheme `{}`, sent where an operation asks for it.",
                scheme.wire
            )
        }
        Some(description) => {
            format!(
                "{description}\n\nSent where an operation asks for security scheme `{}`.",
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
        SecurityKind::ApiKey { .. } => (quote!(key: impl Into<Secret>), quote!(key.into())),
        _ => (quote!(token: impl Into<Secret>), quote!(token.into())),
    };
    Some(quote! {
        #docs
        pub fn #method(mut self, #arguments) -> Self {
            let secret = #secret;
            self.config = self.config.credential(#module::#constant, runtime::Scheme::#kind, secret);
            self
        }
    })
}
