//! Compares documents by `cargo xtask diff`, as a designer does.

mod bodies;
mod changelog;
mod forms;
#[path = "../support/git.rs"]
mod git;
mod meanings;
mod more;
mod multipart;
mod parts;
mod paths;
mod patterns;
mod policy;
mod requests;
mod revisions;
mod rules;
mod rust;
mod shared;
mod typical;
mod unevaluated;
mod unions;
mod witnesses;

use std::fs;
use std::path::Path;
use std::process::{Command, Output};

use serde_json::Value;

/// Runs `diff` on two files; returns its exit code, and what it has printed.
fn diff(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let Output {
        status,
        stdout,
        stderr,
    } = Command::new(env!("CARGO_BIN_EXE_xtask"))
        .arg("diff")
        .args(arguments)
        .current_dir(folder)
        .output()
        .expect("the program runs");
    (
        status.code().expect("xtask ends without a signal"),
        String::from_utf8(stdout).expect("xtask prints text"),
        String::from_utf8(stderr).expect("xtask prints text"),
    )
}

/// Returns a document with this `paths` and `webhooks`, and what they use.
fn document(parts: &str) -> String {
    format!(
        "openapi: 3.1.0
info: {{title: Pets, version: 1.2.0}}
servers: [{{url: https://pets.example}}]
components:
  securitySchemes:
    token: {{type: http, scheme: bearer}}
    key: {{type: apiKey, in: header, name: X-`id`}}
{parts}
"
    )
}

/// Returns a document with one operation, which has these fields.
fn path(method: &str, path: &str, fields: &str) -> String {
    document(&format!(
        "paths: {{'{path}': {{{method}: {{operationId: a, {fields}}}}}}}"
    ))
}

const DONE: &str = "responses: {'204': {description: Done.}}";

/// Compares two documents, and returns the report.
fn report(folder: &Path, old: &str, new: &str) -> Value {
    fs::write(folder.join("old.yaml"), old).expect("the document can be written");
    fs::write(folder.join("new.yaml"), new).expect("the document can be written");
    let (_, printed, wrong) = diff(folder, &["old.yaml", "new.yaml", "--format", "json"]);
    serde_json::from_str(&printed).unwrap_or_else(|_| panic!("{wrong}\n{old}\n{new}"))
}
