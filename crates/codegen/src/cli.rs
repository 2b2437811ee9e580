//! The pass that writes the command line of an API: a description of its operations in JSON, and a
//! program of a few lines that gives it to `api_runtime::cli`.
//!
//! The program is small because clap's derives would repeat each operation in Rust that nobody
//! reads; the description is what a reviewer sees change.

mod describe;
mod input;
mod names;
mod secret;
mod shown;

use quote::quote;
use serde_json::{Map, Value};

use crate::file::File;
use crate::ir::Api;
use crate::tokens::{ident, inner_docs, is_deceptive, rust_file};

/// Generates the sources of the command line of an API.
pub(crate) fn files(api: &Api<'_>) -> Vec<File> {
    let folder = format!("{}/src", api.names.package("cli"));
    let description = describe::description(api);
    let mut operations =
        serde_json::to_string_pretty(&description).expect("JSON values are written as JSON");
    operations.push('\n');
    vec![
        File {
            path: format!("{folder}/main.rs"),
            text: program(api),
        },
        File {
            path: format!("{folder}/operations.json"),
            text: operations,
        },
    ]
}

/// Generates the program.
fn program(api: &Api<'_>) -> String {
    let title = text(&api.contract.info.title).replace('\n', " ");
    let docs = inner_docs(&format!("Calls {title} from the command line."));
    let types = ident(&api.names.krate("types"));
    rust_file(quote! {
        #docs

        use std::process::ExitCode;
        use api_runtime::cli::Program;

        fn main() -> ExitCode {
            let program = Program {
                name: env!("CARGO_BIN_NAME"),
                version: env!("CARGO_PKG_VERSION"),
                operations: include_str!("operations.json"),
                schemas: &#types::schemas::SCHEMAS,
            };
            program.run()
        }
    })
}

/// Returns an object without the entries that are null, false or empty, which is what the run time
/// takes an absent entry for.
fn object<'k>(entries: impl IntoIterator<Item = (&'k str, Value)>) -> Value {
    let is_absent = |value: &Value| match value {
        Value::Null | Value::Bool(false) => true,
        Value::String(text) => text.is_empty(),
        Value::Array(items) => items.is_empty(),
        Value::Object(members) => members.is_empty(),
        Value::Bool(true) | Value::Number(_) => false,
    };
    let entries = entries.into_iter().filter(|(_, value)| !is_absent(value));
    let entries = entries.map(|(key, value)| (key.to_owned(), value));
    Value::Object(entries.collect::<Map<_, _>>())
}

/// Returns words of the document as a terminal can show them: without control characters, and
/// without those that change the direction of text.
fn text(words: &str) -> String {
    let visible = |character: &char| {
        (*character == '\n' || !character.is_control()) && !is_deceptive(*character)
    };
    words.trim().chars().filter(visible).collect()
}
