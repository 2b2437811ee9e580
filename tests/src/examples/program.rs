//! A program that reads the examples of a document as the types that are generated from it.

use std::collections::BTreeMap;
use std::fs;
use std::io;
use std::path::Path;

use codegen::ir::{Api, MediaKind};
use contract::model::{Contract, MediaType};
use serde_json::json;

use super::{choose, compile, examples, fits, recorded};

/// Where the program's dependencies are.
#[derive(Debug, Clone, Copy)]
pub struct Places<'p> {
    /// The folder of the generated crates.
    pub crates: &'p Path,
    /// The folder of the run time.
    pub runtime: &'p Path,
}

/// Writes the program to a folder, which is a workspace of its own. Returns the number of examples that it
/// reads: those of JSON responses whose bodies have a type.
///
/// # Errors
///
/// Returns an error if the schemas do not compile, or a file cannot be written.
pub fn write(
    contract: &Contract,
    prefix: &str,
    places: Places<'_>,
    folder: &Path,
) -> Result<usize, String> {
    let api = codegen::lower(contract, prefix);
    let found = typed_examples(contract, &api);
    compile(contract, found.iter().filter_map(|(media, _)| media.schema))?;
    let mut types: BTreeMap<&str, usize> = BTreeMap::new();
    let mut lines = Vec::new();
    for (at, (media, ty)) in found.iter().enumerate() {
        let number = types.len();
        let number = *types.entry(ty).or_insert(number);
        let Some((_, values)) = examples(contract, media) else {
            continue;
        };
        for value in values {
            let value = recorded(at, value);
            choose(at);
            let line = json!({
                "type": number, "place": media.pointer, "fits": fits(&value), "body": value.to_string(),
            });
            lines.push(line.to_string());
        }
    }
    let files = [
        ("Cargo.toml", manifest(prefix, places)),
        ("examples.jsonl", lines.join("\n")),
        ("src/main.rs", main(&types)),
    ];
    write_files(folder, &files).map_err(|error| format!("{}: {error}", folder.display()))?;
    Ok(lines.len())
}

fn write_files(folder: &Path, files: &[(&str, String)]) -> io::Result<()> {
    fs::create_dir_all(folder.join("src"))?;
    for (name, text) in files {
        fs::write(folder.join(name), text)?;
    }
    Ok(())
}

/// Returns the media types of JSON responses with examples, each with the Rust type of the body.
fn typed_examples<'c>(contract: &'c Contract, api: &Api<'_>) -> Vec<(&'c MediaType, String)> {
    let mut found = Vec::new();
    for operation in &api.operations {
        let responses = &contract.operations[operation.index].responses;
        for response in &operation.responses {
            let content = &responses[response.index].content;
            let typed = response
                .media
                .iter()
                .filter(|media| media.kind == MediaKind::Json);
            for media in typed {
                let declared = content.iter().find(|declared| declared.name == media.name);
                if let (Some(ty), Some(declared)) = (&media.ty, declared)
                    && examples(contract, declared).is_some()
                {
                    found.push((declared, codegen::type_path(api, ty)));
                }
            }
        }
    }
    found
}

fn manifest(prefix: &str, places: Places<'_>) -> String {
    let types = places.crates.join(format!("{prefix}-types"));
    let text = |path: &Path| toml::Value::String(path.display().to_string()).to_string();
    format!(
        r#"[package]
name = "{prefix}-examples"
version = "0.0.0"
edition = "2024"
publish = false

[dependencies]
api-runtime = {{ package = "stratus-runtime", path = {}, features = ["client"] }}
{prefix}-types = {{ path = {} }}
serde_json = "1"

[profile.dev]
debug = false
incremental = false

[workspace]
"#,
        text(places.runtime),
        text(&types),
    )
}

/// The part of the program that does not depend on the document.
const READ: &str = r#"//! Reads the examples of responses in `examples.jsonl` as the generated types.

use std::process::ExitCode;

use api_runtime::Wire;
use api_runtime::client::Lenient;
use serde_json::Value;

/// The stack size in bytes of the thread that reads: values may nest deeply.
const STACK_BYTES: usize = 1 << 30;

/// Says why a lenient client does not read an example, if it does not: if the JSON is not the one that was
/// received, or it fits its schema and is no value.
fn read<T: Wire>(body: &str, fits: bool) -> Result<(), String> {
    let read: Lenient<T> = Lenient::from_text(body);
    if read.text().as_deref() != Some(body) || read.raw().map(Value::to_string).as_deref() != Some(body) {
        return Err("the body is not what was received".to_owned());
    }
    match read.get() {
        Err(misfit) if fits => Err(format!("it fits its schema and not its type: {misfit}")),
        typed if typed.is_ok() != read.violations().is_empty() => {
            Err(format!("the type is {:?}, and the violations {:?}", typed.is_ok(), read.violations()))
        }
        _ => Ok(()),
    }
}

fn read_all() -> ExitCode {
    let (mut count, mut failed) = (0, 0);
    for line in include_str!("../examples.jsonl").lines() {
        let line: Value = serde_json::from_str(line).expect("a line of JSON");
        let (body, fits) = (line["body"].as_str().expect("a text"), line["fits"] == true);
        count += 1;
        if let Err(why) = read_as(line["type"].as_u64().expect("a number"), body, fits) {
            failed += 1;
            eprintln!("error: {}: {why}: {body}", line["place"]);
        }
    }
    println!("{count} examples, of which {failed} are not read");
    ExitCode::from(u8::from(failed > 0))
}

fn main() -> ExitCode {
    let thread = std::thread::Builder::new().stack_size(STACK_BYTES).spawn(read_all);
    thread.expect("a thread can be started").join().unwrap_or(ExitCode::FAILURE)
}
"#;

/// Returns the text of the program, which knows the types by their numbers.
fn main(types: &BTreeMap<&str, usize>) -> String {
    let mut text = format!(
        "{READ}\nfn read_as(ty: u64, body: &str, fits: bool) -> Result<(), String> {{\n    match ty {{\n"
    );
    let arms = types
        .iter()
        .map(|(ty, number)| format!("        {number} => read::<{ty}>(body, fits),\n"));
    text.extend(arms);
    text.push_str("        other => Err(format!(\"there is no type {other}\")),\n    }\n}\n");
    text
}
