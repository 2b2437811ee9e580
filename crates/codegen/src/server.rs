//! The server crate: for each tag a trait, its requests and responses, and its routes.
//!
//! What the generated code does when it runs is in `api_runtime::server`, and in the derives of
//! `api-macros`.

mod document;
mod form;
mod names;
mod parameter;
mod payload;
mod request;
mod response;
mod router;
mod security;
mod surface;
mod tag;
mod words;
mod yaml;

use proc_macro2::{Ident, TokenStream};
use quote::quote;

pub(crate) use self::names::{constant, method_and_path, type_names};
use self::names::{fixed, types_crate};
use crate::emit::MARK;
use crate::file::File;
use crate::ir::{Api, Operation};
use crate::tokens::{RustFile, file_attribute, ident, inner_docs, letters, rust_file};
use crate::{names as fixed_names, parallel};
pub use form::form_fields;
pub use parameter::property_names;
pub(crate) use response::{is_clone, only_body};
pub(crate) use security::{Check, checks};
pub use security::{challenge, guards_unknown_routes};
pub(crate) use surface::surface;
pub(crate) use tag::{is_secured, principal_type};

/// Generates every source file of the server crate, and the contract that it serves.
pub(crate) fn files(api: &Api<'_>) -> Vec<File> {
    parallel::map(&jobs(api), |job| job.write(api))
}

/// Returns whether the server crate reads JSON bodies, of which it names what does not fit.
pub(crate) fn reads_json(api: &Api<'_>) -> bool {
    request::has_json_body(api)
}

/// Returns whether the server reads multipart bodies, part by part.
pub(crate) fn reads_multipart(api: &Api<'_>) -> bool {
    request::has_multipart_body(api)
}

/// Returns whether an operation has idempotency keys, which a feature lets the server look after.
pub(crate) fn has_idempotency_keys(api: &Api<'_>) -> bool {
    request::has_header(api, "Idempotency-Key")
}

/// Returns whether a feature decides if the server names all that is wrong with a JSON body, which
/// takes the `jsonschema` crate. Where types need that crate, there is nothing to decide.
pub(crate) fn has_violations_feature(api: &Api<'_>) -> bool {
    reads_json(api) && !crate::types::needs_validator(api)
}

/// Returns the name of the module that re-exports the types crate.
pub(crate) fn types_module(api: &Api<'_>) -> String {
    fixed(api, "types")
}

/// Generates what the server crate has for one operation: the method of its tag's trait, and the
/// request.
pub(crate) fn single(api: &Api<'_>, operation: &Operation) -> String {
    let mut text = RustFile::rest();
    text.add(tag::excerpt(api, operation));
    text.add(request::items(api, operation));
    text.finish()
}

/// A file of the server crate that has to be generated.
enum Job {
    /// Rust, in the file of this name below `src`.
    Rust(String, Part),
    /// The contract as JSON, in `openapi.json`.
    Json,
    /// The contract as YAML, in `openapi.yaml`.
    Yaml,
    /// The summaries, descriptions, examples and extensions of the contract, in `words.json`.
    Words,
}

/// The part of the server crate that a file of Rust holds.
enum Part {
    Library,
    Tag(usize),
    Responses,
    Security,
    Router,
    Document,
}

/// Returns a job for each file of the server crate. Each job runs on its own, so that all
/// processors can work.
fn jobs(api: &Api<'_>) -> Vec<Job> {
    let rust = |name: &str, part: Part| Job::Rust(fixed(api, name), part);
    let tags = || api.tags.iter().enumerate();
    let mut jobs = vec![Job::Rust("lib".to_owned(), Part::Library)];
    jobs.extend(tags().map(|(at, tag)| Job::Rust(tag.file.clone(), Part::Tag(at))));
    jobs.extend(has_shared_responses(api).then(|| rust("responses", Part::Responses)));
    jobs.extend((!api.security.is_empty()).then(|| rust("security", Part::Security)));
    jobs.extend([
        rust("router", Part::Router),
        rust("openapi", Part::Document),
    ]);
    jobs.extend([Job::Json, Job::Yaml, Job::Words]);
    jobs
}

impl Job {
    /// Generates the file of this job.
    fn write(&self, api: &Api<'_>) -> File {
        let root = format!("{}/src", api.names.package("server"));
        match self {
            Self::Rust(name, part) => File {
                path: format!("{root}/{name}.rs"),
                text: part.text(api),
            },
            Self::Json => File {
                path: format!("{root}/openapi.json"),
                text: json(api),
            },
            Self::Words => File {
                path: format!("{root}/words.json"),
                text: words::write(api),
            },
            Self::Yaml => File {
                path: format!("{root}/openapi.yaml"),
                text: yaml(api),
            },
        }
    }
}

impl Part {
    /// Generates the Rust source of this part of the server crate.
    fn text(&self, api: &Api<'_>) -> String {
        match *self {
            Self::Library => rust_file(library(api)),
            Self::Tag(at) => tag::file(api, at),
            Self::Responses => rust_file(payload::responses(api)),
            Self::Security => rust_file(security::module(api)),
            Self::Router => rust_file(router::module(api)),
            Self::Document => rust_file(document::module(api)),
        }
    }
}

/// Generates `openapi.json`, which is the whole contract in one document.
fn json(api: &Api<'_>) -> String {
    let mut text = serde_json::to_string_pretty(&*api.contract.document)
        .expect("JSON values are written as JSON");
    text.push('\n');
    text
}

/// Generates `openapi.yaml`, which is the author's own file if the whole contract is one file of
/// YAML.
fn yaml(api: &Api<'_>) -> String {
    match &api.contract.yaml {
        // It has the author's comments, which are lost in the document as JSON.
        Some(text) => text.clone(),
        None => format!(
            "# {MARK} from the contract; change the contract, not this file.\n{}",
            yaml::write(&api.contract.document)
        ),
    }
}

/// Returns whether an operation lists a response that is a shared struct, so that the crate has
/// the module `responses`.
fn has_shared_responses(api: &Api<'_>) -> bool {
    api.operations
        .iter()
        .flat_map(|operation| &operation.responses)
        .any(payload::is_shared)
}

/// Generates `lib.rs`.
fn library(api: &Api<'_>) -> TokenStream {
    let title = inner_docs(&format!(
        "Serves {}: implement the trait of each tag, and `router` does the rest.",
        api.contract.info.title
    ));
    let text = inner_docs(
        "# Parts\n\n\
         Start at [`Api`], which is all traits together, and [`router`]. \
         Credentials, parameters and bodies are checked before an implementation is called.\n\n\
         `openapi.json` and `openapi.yaml` beside the sources are the contract, which the router serves.",
    );
    let tags = api.tags.iter().map(|tag| {
        let feature = &tag.feature;
        let (module, file) = (ident(&tag.module), file_attribute(tag));
        quote!(#[cfg(feature = #feature)] #file pub mod #module;)
    });
    let module = |name: &str| ident(&fixed(api, name));
    let responses = has_shared_responses(api).then(|| {
        let module = module("responses");
        quote!(pub mod #module;)
    });
    let security = (!api.security.is_empty()).then(|| {
        let module = module("security");
        quote! {
            #[allow(dead_code, reason = "without all tags some checks are left over")]
            pub mod #module;
            pub use #module::Security;
        }
    });
    let router = module("router");
    let (types, types_crate) = (module("types"), types_crate(api));
    let openapi = module("openapi");
    let letters = letters(api);
    let schemas = reads_json(api).then(|| schemas(api, &types_crate));
    quote! {
        #title
        // The README comes first, since it begins with an example.
        #![doc = include_str!("../README.md")]
        #text
        // Deprecated operations are marked for callers; the crate itself still has to serve them.
        #![allow(deprecated)]
        #![allow(missing_docs, reason = "the contract does not describe everything")]
        #![allow(rustdoc::all, reason = "descriptions are the contract's own words")]
        #![allow(clippy::all, clippy::pedantic, reason = "names and shapes are the contract's own")]
        #letters
        #(#tags)*
        #responses
        #security
        mod #router;
        #schemas
        #[cfg(feature = "utoipa")]
        pub mod #openapi;
        pub use #types_crate as #types;
        pub use api_runtime::server;
        pub use #router::{Api, OPERATIONS, router};
    }
}

/// Generates the item that says why a JSON body does not fit.
fn schemas(api: &Api<'_>, types_crate: &Ident) -> TokenStream {
    let feature = fixed_names::VIOLATIONS;
    let (gate, first) = if has_violations_feature(api) {
        let first = quote! {
            #[cfg(not(feature = #feature))]
            #[allow(dead_code, reason = "without any tag there is no body to check")]
            static SCHEMAS: server::FirstViolation = server::FirstViolation;
        };
        (quote!(#[cfg(feature = #feature)]), first)
    } else {
        (TokenStream::new(), TokenStream::new())
    };
    quote! {
        #gate
        #[allow(unused_imports, reason = "without any tag there is no body to check")]
        use #types_crate::schemas::SCHEMAS;
        #first
    }
}
