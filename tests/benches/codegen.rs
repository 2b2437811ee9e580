//! The time and memory that the generator takes: for our contract, for others, and as documents
//! grow.
//!
//! Each figure is the median of several runs, each in a process of its own: reading, generating and
//! writing all crates of a contract, as `cargo xtask codegen` does.

#[path = "support/mod.rs"]
mod support;

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;
use std::{env, fs};

use support::{Table, median};

/// That of the commands.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const RUNS: usize = 9;
/// The argument that makes this program measure one run.
const ONCE: &str = "--once";

fn main() {
    let arguments: Vec<String> = env::args().collect();
    if let [_, once, contract, out] = arguments.as_slice()
        && once == ONCE
    {
        return run_once(contract, Path::new(out));
    }
    let scratch = Path::new(env!("CARGO_TARGET_TMPDIR")).join("codegen-bench");
    let mut table = Table::new(&["document", "operations", "time", "per operation", "memory"]);
    for document in documents(&scratch) {
        let runs: Vec<Run> = (0..RUNS)
            .map(|_| Run::of(&document, &scratch.join("out")))
            .collect();
        let milliseconds = median(runs.iter().map(|run| run.milliseconds));
        let operations = runs[0].operations;
        table.row([
            document
                .file_name()
                .unwrap_or_default()
                .to_string_lossy()
                .into_owned(),
            operations.to_string(),
            format!("{milliseconds:.0} ms"),
            format!("{:.0} µs", milliseconds * 1000.0 / operations.max(1.0)),
            format!("{:.0} MiB", median(runs.iter().map(|run| run.mebibytes))),
        ]);
    }
    table.print("Generating all crates of a contract");
    fs::remove_dir_all(&scratch).expect("the folder can be removed");
}

/// Our contract, two of others if they are there, and larger copies of ours.
fn documents(scratch: &Path) -> Vec<PathBuf> {
    let mut documents = vec![PathBuf::from("../openapi.yaml")];
    let corpus = env::var_os("STRATUS_CORPUS")
        .map(PathBuf::from)
        .filter(|folder| folder.is_dir());
    match corpus {
        Some(corpus) => documents
            .extend(["nexus.json", "feature-format_gen.json"].map(|file| corpus.join(file))),
        None => println!("skipped: STRATUS_CORPUS names no folder"),
    }
    fs::create_dir_all(scratch).expect("a folder can be made");
    for operations in [10, 100, 1000] {
        let document = scratch.join(format!("{operations}.json"));
        fs::write(&document, synthetic(operations)).expect("a file can be written");
        documents.push(document);
    }
    documents
}

/// Returns a contract of so many operations, each with a request body, a response and an error of
/// its own.
fn synthetic(operations: usize) -> String {
    let mut paths = serde_json::Map::new();
    let mut schemas = serde_json::Map::new();
    let reference =
        |name: &str| serde_json::json!({"$ref": format!("#/components/schemas/{name}")});
    let body = |name: &str| serde_json::json!({"application/json": {"schema": reference(name)}});
    schemas.insert(
        "Error".to_owned(),
        serde_json::json!({"type": "object", "properties": {"message": {"type": "string"}}}),
    );
    for number in 0..operations {
        let (asked, given) = (format!("Asked{number}"), format!("Given{number}"));
        let properties = serde_json::json!({
            "name": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 63},
            "size": {"type": "integer", "format": "int32", "minimum": 1, "maximum": 100},
            "state": {"type": "string", "enum": ["new", "old"]},
            "tags": {"type": "array", "items": {"type": "string"}, "maxItems": 10},
        });
        for name in [&asked, &given] {
            let schema = serde_json::json!({"type": "object", "required": ["name"], "properties": properties});
            schemas.insert(name.clone(), schema);
        }
        let operation = serde_json::json!({"post": {
            "operationId": format!("operation_{number}"),
            "tags": [format!("tag_{}", number / 20)],
            "parameters": [{"name": "id", "in": "path", "required": true, "schema": {"type": "string"}}],
            "requestBody": {"content": body(&asked)},
            "responses": {
                "200": {"description": "Done.", "content": body(&given)},
                "default": {"description": "Not done.", "content": body("Error")},
            },
        }});
        paths.insert(format!("/things_{number}/{{id}}"), operation);
    }
    let document = serde_json::json!({
        "openapi": "3.1.0",
        "info": {"title": "Synthetic", "version": "1.0.0"},
        "paths": paths,
        "components": {"schemas": schemas},
    });
    document.to_string()
}

/// Measures one run in a process of its own.
struct Run {
    milliseconds: f64,
    mebibytes: f64,
    operations: f64,
}

impl Run {
    fn of(document: &Path, out: &Path) -> Self {
        if out.exists() {
            fs::remove_dir_all(out).expect("the folder can be removed");
        }
        let program = env::current_exe().expect("the program has a path");
        let output = Command::new(program)
            .arg(ONCE)
            .arg(document)
            .arg(out)
            .output()
            .expect("the program runs");
        let printed = String::from_utf8(output.stdout).expect("the measuring program prints text");
        assert!(
            output.status.success(),
            "{}",
            String::from_utf8_lossy(&output.stderr)
        );
        let mut numbers = printed.split_whitespace().map(|number| {
            number
                .parse()
                .expect("the measuring program prints numbers")
        });
        let mut next = || {
            numbers
                .next()
                .expect("the measuring program prints three numbers")
        };
        Self {
            milliseconds: next(),
            mebibytes: next(),
            operations: next(),
        }
    }
}

fn run_once(contract: &str, out: &Path) {
    let start = Instant::now();
    let loaded = contract::load(Path::new(contract));
    let contract = loaded.contract.expect("the document has no errors");
    let files = codegen::generate(&contract, &codegen::Options::new("api"))
        .expect("a contract is generated");
    codegen::emit::write(out, &files).expect("the folder can be written");
    let milliseconds = start.elapsed().as_secs_f64() * 1000.0;
    let mebibytes = support::peak_kibibytes() / 1024.0;
    println!("{milliseconds} {mebibytes} {}", contract.operations.len());
}
