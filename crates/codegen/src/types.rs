//! The pass that writes the types crate: an item for each schema, and a file for each tag.
//!
//! An item has the contract's description as its doc comment and the contract's keywords as
//! attributes. The derives in `api-macros` turn those attributes into checks.

mod attributes;
mod item;
mod surface;

use std::collections::BTreeSet;
use std::fmt::Write as _;

use contract::format::{self, Check};
use contract::model::Formats;
use proc_macro2::{Literal, TokenStream};
use quote::quote;

use crate::File;
use crate::ir::{Api, Tag, TypeDef, TypeKind};
use crate::parallel;
use crate::tokens::{RustFile, file_attribute, ident, inner_docs, letters, rust_file};
pub(crate) use surface::{ARGUMENTS, surface};

/// The name of the module of the types that belong to no single tag, see `lower::reach::mark`.
const SHARED: &str = "shared";

/// Generates every source file of the types crate.
pub(crate) fn files(api: &Api<'_>) -> Vec<File> {
    let root = format!("{}/src", api.names.package("types"));
    let modules = modules(api);
    let mut jobs = vec![Job::Schemas];
    for (at, module) in modules.iter().enumerate() {
        let items = module.types.chunks(AT_A_TIME);
        jobs.extend(items.map(|items| Job::Items(at, items)));
    }
    // Without this, the other passes end while one thread still writes the largest module.
    let mut texts = parallel::map(&jobs, |job| job.text(api)).into_iter();
    let mut files = vec![
        File {
            path: format!("{root}/lib.rs"),
            text: rust_file(crate_root(api)),
        },
        File {
            path: format!("{root}/schemas.json"),
            text: texts.next().unwrap_or_default(),
        },
        File {
            path: format!("{root}/schemas.rs"),
            text: rust_file(schemas(api)) + &components(api),
        },
    ];
    files.extend(modules.iter().map(|module| File {
        path: format!(
            "{root}/{}.rs",
            module.tag.map_or(module.name, |tag| &tag.file)
        ),
        text: module_head(api, module),
    }));
    let of_modules = files.len() - modules.len();
    for (job, text) in jobs.iter().skip(1).zip(texts) {
        if let Job::Items(module, _) = job {
            files[of_modules + module].text.push_str(&text);
        }
    }
    files
}

/// Generates one item of the types crate.
pub(crate) fn single(api: &Api<'_>, def: &TypeDef) -> String {
    let mut text = RustFile::rest();
    text.add(item::item(api, def));
    text.finish()
}

/// The maximum number of items that one thread writes before it takes the next ones.
const AT_A_TIME: usize = 64;

/// A text that is written on its own, so that all processors can work.
enum Job<'a> {
    /// `schemas.json`, which has every schema of the contract.
    Schemas,
    /// Some items of the module with this index.
    Items(usize, &'a [&'a TypeDef]),
}

impl Job<'_> {
    fn text(&self, api: &Api<'_>) -> String {
        match self {
            Self::Schemas => schema_bundle(api),
            Self::Items(_, items) => {
                // Item by item, since the syntax tree of many would take too much memory.
                let mut text = RustFile::rest();
                for def in *items {
                    text.add(item::item(api, def));
                }
                text.finish()
            }
        }
    }
}

/// Returns whether some type is checked by a compiled schema, so that the schemas cannot be behind
/// a feature.
pub(crate) fn needs_schemas(api: &Api<'_>) -> bool {
    api.types.iter().any(|def| match &def.kind {
        TypeKind::Object(object) => object.check.is_some(),
        TypeKind::Scalar(scalar) => scalar.check.is_some(),
        TypeKind::Array(array) => array.check.is_some(),
        TypeKind::Map(map) => map.check.is_some(),
        TypeKind::Union(union) => union.check.is_some(),
        TypeKind::Json { check } => check.is_some(),
        TypeKind::Alias(_) | TypeKind::Enumeration(_) => false,
    })
}

/// Returns whether some type cannot be checked without the `jsonschema` crate.
pub(crate) fn needs_validator(api: &Api<'_>) -> bool {
    let by_format = |def: &TypeDef| match &def.kind {
        TypeKind::Scalar(scalar) => scalar
            .format
            .as_deref()
            .and_then(format::lookup)
            .is_some_and(|format| format.check == Check::Validator),
        _ => false,
    };
    needs_schemas(api) || api.types.iter().any(by_format)
}

/// A module of types, which is a file.
struct Module<'a> {
    name: &'a str,
    tag: Option<&'a Tag>,
    types: Vec<&'a TypeDef>,
}

/// Returns the modules that have a type, the shared one first.
fn modules<'a>(api: &'a Api<'_>) -> Vec<Module<'a>> {
    let of = |wanted: Option<usize>| -> Vec<&TypeDef> {
        api.types
            .iter()
            .filter(|def| tag_of_module(def) == wanted)
            .collect()
    };
    let shared = Module {
        name: SHARED,
        tag: None,
        types: of(None),
    };
    let tagged = api.tags.iter().enumerate().map(|(at, tag)| Module {
        name: &tag.module,
        tag: Some(tag),
        types: of(Some(at)),
    });
    std::iter::once(shared)
        .chain(tagged)
        .filter(|module| !module.types.is_empty())
        .collect()
}

/// Returns the index of the tag whose module has an item, or `None` if the item is in the module
/// `shared`.
fn tag_of_module(def: &TypeDef) -> Option<usize> {
    // Not the first of several tags: with only the feature of another one the type would be missing.
    match def.tags.len() {
        1 => def.tags.first().copied(),
        _ => None,
    }
}

/// Generates `lib.rs`.
fn crate_root(api: &Api<'_>) -> TokenStream {
    let title = format!(
        "The types of {}, for its requests and responses.\n\n\
         A type accepts exactly the values that its schema in the contract accepts.\n\
         It checks them when a value is created and when one is deserialized.\n\n\
         Each type is behind the feature of the tag whose operations use it.\n\
         Types that several tags use are always compiled.",
        api.contract.info.title
    );
    let title = inner_docs(&title);
    let modules = modules(api);
    let declarations = modules.iter().map(|module| {
        let name = ident(module.name);
        let gate = module.tag.map(|tag| {
            let feature = &tag.feature;
            quote!(#[cfg(feature = #feature)])
        });
        let file = module.tag.map(file_attribute);
        quote! {
            #gate
            #file
            mod #name;
            #gate
            pub use #name::*;
        }
    });
    // A type that is checked by a compiled schema needs the schemas in every build.
    let gate = (!needs_schemas(api)).then(|| quote!(#[cfg(feature = "schemas")]));
    let letters = letters(api);
    quote! {
        #title
        // Deprecated items are marked for callers; the crate itself still has to name them.
        #![allow(deprecated)]
        #![allow(missing_docs, reason = "the contract does not describe everything")]
        #![allow(rustdoc::all, reason = "descriptions are the contract's own words")]
        #![allow(clippy::all, clippy::pedantic, reason = "names and shapes are the contract's own")]
        #letters
        #(#declarations)*
        #gate
        pub mod schemas;
        #[cfg(doctest)]
        #[doc = include_str!("../README.md")]
        struct Readme;
    }
}

/// Generates the part of `schemas.rs` with the static `SCHEMAS`, the contract's schemas for the
/// checks of `api-runtime`.
fn schemas(api: &Api<'_>) -> TokenStream {
    let docs = inner_docs(
        "The contract's schemas as JSON Schema 2020-12, for the checks that Rust types cannot express.",
    );
    let formats = (api.contract.formats == Formats::Annotation)
        .then(|| quote!(.with_formats_as_annotations()));
    quote! {
        #docs
        use api_runtime::Schemas;
        /// The schemas of the contract, each of which is compiled on first use.
        pub static SCHEMAS: Schemas = Schemas::new(include_str!("schemas.json")) #formats;
    }
}

/// Returns the call of `api_runtime::components!` with the name and the type of each component.
///
/// It is a string and not tokens, because the formatter has no rule for the arguments of a macro.
fn components(api: &Api<'_>) -> String {
    // Where schemas check types, this file is compiled without the feature too. The tables are long,
    // and no type needs them.
    let gate = if needs_schemas(api) {
        "#[cfg(feature = \"schemas\")]\n"
    } else {
        ""
    };
    let mut text = format!("\n{gate}api_runtime::components! {{\n");
    for def in &api.types {
        let Some(component) = &def.component else {
            continue;
        };
        if let Some(tag) = tag_of_module(def) {
            let feature = Literal::string(&api.tags[tag].feature);
            let _ = writeln!(text, "    #[cfg(feature = {feature})]");
        }
        let component = Literal::string(component);
        let _ = writeln!(text, "    {component}: crate::{},", ident(&def.name));
    }
    text.push_str("}\n");
    text
}

/// Generates `schemas.json`, which has every schema of the contract.
fn schema_bundle(api: &Api<'_>) -> String {
    let bundle = contract::bundle::schema_bundle(api.contract);
    let mut text = serde_json::to_string(&bundle).expect("JSON values are written as JSON");
    text.push('\n');
    text
}

/// Generates the start of a module's file, which its items follow.
fn module_head(api: &Api<'_>, module: &Module<'_>) -> String {
    let docs = inner_docs(&match module.tag {
        Some(tag) => format!(
            "The types of the operations tagged `{}`.",
            tag.name.as_deref().unwrap_or("untagged")
        ),
        None => "The types that several tags use, or that no tag uses.".to_owned(),
    });
    let macros: BTreeSet<&str> = module
        .types
        .iter()
        .filter_map(|def| item::macro_of(def))
        .collect();
    let macros = macros.into_iter().map(ident);
    let imports: BTreeSet<&str> = module
        .types
        .iter()
        .flat_map(|def| def.kind.mentions())
        .map(|id| api.type_def(id))
        .filter(|other| {
            tag_of_module(other) != module.types.first().and_then(|def| tag_of_module(def))
        })
        .map(|other| other.name.as_str())
        .collect();
    let imports: Vec<_> = imports.into_iter().map(ident).collect();
    let imports = (!imports.is_empty()).then(|| quote!(use crate::{#(#imports),*};));
    rust_file(quote! {
        #docs
        use api_runtime::{#(#macros),*};
        #imports
    })
}
