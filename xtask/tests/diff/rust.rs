//! Whose Rust source a change breaks, and the versions that the contract and its crates need.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::{diff, report};

/// Returns a document with an operation that returns a `Vm` and one that takes one.
fn document(schemas: &str) -> String {
    format!(
        "openapi: 3.1.0
info: {{title: Machines, version: 1.2.0}}
paths:
  /vm:
    get:
      operationId: vm_view
      tags: [vm]
      responses:
        '200': {{description: Done., content: {{application/json: {{schema: {{$ref: '#/components/schemas/Vm'}}}}}}}}
    put:
      operationId: vm_update
      tags: [vm]
      requestBody: {{required: true, content: {{application/json: {{schema: {{$ref: '#/components/schemas/VmUpdate'}}}}}}}}
      responses:
        '204': {{description: Done.}}
components:
  schemas:
{schemas}
"
    )
}

const SCHEMAS: &str = "    Vm: {type: object, required: [size], properties: {size: {$ref: '#/components/schemas/Size'}, fooBar: {type: integer}}}
    VmUpdate: {type: object, required: [name], properties: {name: {type: string, maxLength: 9}}}
    Size: {type: integer, minimum: 1}
";

/// Returns whose source breaks, the item and the line of each finding about Rust.
fn broken(report: &Value) -> Vec<(String, String, Value)> {
    let findings = report["rust"]["findings"]
        .as_array()
        .expect("findings are a list");
    let of = |finding: &Value| {
        let who = match (&finding["callers"], &finding["implementers"]) {
            (Value::Bool(true), Value::Bool(true)) => "both",
            (Value::Bool(true), _) => "callers",
            _ => "implementers",
        };
        let item = finding["item"].as_str().unwrap_or_default().to_owned();
        (who.to_owned(), item, finding["revision"]["line"].clone())
    };
    findings.iter().map(of).collect()
}

#[test]
fn each_cause_in_rust_is_one_finding_with_its_item() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let old = document(SCHEMAS);
    let rows: [(&str, String, &[(&str, &str)]); 7] = [
        ("nothing", old.clone(), &[]),
        (
            "a tightened bound",
            old.replace("maxLength: 9", "maxLength: 8"),
            &[],
        ),
        (
            "a renamed schema",
            old.replace("schemas/Size", "schemas/Extent")
                .replace("    Size:", "    Extent:"),
            &[("both", "api_types::Size")],
        ),
        (
            "a property whose identifier belongs to a new one",
            old.replace(
                "fooBar: {type: integer}",
                "fooBar: {type: integer}, foo_bar: {type: string}",
            ),
            &[("both", "api_types::Vm::foo_bar")],
        ),
        (
            "a required property of a request",
            old.replace(
                "required: [name], properties: {",
                "required: [name, tag], properties: {tag: {type: string}, ",
            ),
            &[("callers", "api_types::VmUpdate::tag")],
        ),
        (
            "a required property of a response",
            old.replace(
                "required: [size], properties: {",
                "required: [size, tag], properties: {tag: {type: string}, ",
            ),
            &[("implementers", "api_types::Vm::tag")],
        ),
        (
            "an operation with another id",
            old.replace("operationId: vm_view", "operationId: vm_show"),
            &[("both", "api_client::vm::ClientVmExt::vm_view")],
        ),
    ];
    for (name, new, expected) in rows {
        let report = report(folder.path(), &old, &new);
        let found = broken(&report);
        let found: Vec<(&str, &str)> = found
            .iter()
            .map(|(who, item, _)| (who.as_str(), item.as_str()))
            .collect();
        assert_eq!(found, expected, "{name}: {:#}", report["rust"]);
    }
}

#[test]
fn a_finding_in_rust_has_both_places_and_says_why() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let old = document(SCHEMAS);
    let new = old.replace(
        "fooBar: {type: integer}",
        "fooBar: {type: integer}, foo_bar: {type: string}",
    );
    let report = report(folder.path(), &old, &new);
    let finding = &report["rust"]["findings"][0];
    assert_eq!(
        finding["message"],
        "`api_types::Vm::foo_bar` is called `foo_bar2` now, because the property `foo_bar` has its name"
    );
    assert_eq!(
        (&finding["base"]["line"], &finding["revision"]["line"]),
        (&json!(18), &json!(18))
    );
    assert_eq!(finding["operations"], json!(["vm_view (GET /vm)"]));
    assert_eq!(finding["crates"], json!(["types"]));
}

#[test]
fn the_next_versions_follow_from_what_breaks() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let old = document(SCHEMAS);
    let versions = |new: &str| {
        let report = report(folder.path(), &old, new);
        let crates = &report["rust"]["crates"];
        [
            report["version"]["needed"].clone(),
            crates["api-types"].clone(),
            crates["api-client"].clone(),
            crates["api-server"].clone(),
        ]
        .map(|version| version.as_str().unwrap_or_default().to_owned())
    };
    assert_eq!(versions(&old), ["1.2.0", "1.2.0", "1.2.0", "1.2.0"]);
    // Refused on the wire, and no line of Rust changes.
    let tightened = old.replace("maxLength: 9", "maxLength: 8");
    assert_eq!(versions(&tightened), ["2.0.0", "1.2.1", "1.2.1", "1.2.1"]);
    // Nobody sees it on the wire, and no caller compiles.
    let renamed = old.replace("schemas/Size", "schemas/Extent");
    let renamed = renamed.replace("    Size:", "    Extent:");
    assert_eq!(versions(&renamed), ["1.2.0", "2.0.0", "2.0.0", "2.0.0"]);
    let operation = old.replace(
        "    put:\n",
        "    delete: {operationId: vm_delete, tags: [vm], responses: {'204': {description: Done.}}}\n    put:\n",
    );
    assert_eq!(versions(&operation), ["1.3.0", "1.2.1", "1.3.0", "2.0.0"]);
    // A small addition before 1.0.0 is a patch.
    let property = old.replace("fooBar:", "more: {type: string}, fooBar:");
    assert_eq!(versions(&property), ["1.3.0", "1.3.0", "1.3.0", "1.3.0"]);
}

/// Writes two documents, and returns the exit code of `diff` and what it has printed.
fn compare(folder: &Path, old: &str, new: &str, more: &[&str]) -> (i32, String) {
    fs::write(folder.join("old.yaml"), old).expect("the document can be written");
    fs::write(folder.join("new.yaml"), new).expect("the document can be written");
    let (code, printed, wrong) = diff(folder, &[&["old.yaml", "new.yaml"], more].concat());
    (code, wrong + &printed)
}

#[test]
fn a_break_in_rust_refuses_the_change_only_if_it_is_asked_to() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let old = document(SCHEMAS);
    let new = old.replace(
        "    put:\n",
        "    delete: {operationId: vm_delete, tags: [vm], responses: {'204': {description: Done.}}}\n    put:\n",
    );
    let code = |new: &str, more: &[&str]| {
        let (code, printed) = compare(folder.path(), &old, new, more);
        assert!(code == 0 || code == 5, "{printed}");
        code
    };
    assert_eq!(code(&new, &[]), 0);
    assert_eq!(code(&new, &["--gate", "callers"]), 0);
    assert_eq!(code(&new, &["--gate", "implementers"]), 5);
    assert_eq!(code(&old, &["--gate", "implementers"]), 0);
}

#[test]
fn a_break_in_rust_passes_if_it_is_approved_or_reaches_only_drafts() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let old = document(SCHEMAS);
    let removed = |old: &str| {
        let (before, rest) = old.split_once("    put:\n").expect("it is there");
        let (_, after) = rest.split_once("components:\n").expect("it is there");
        format!("{before}components:\n{after}")
    };
    let gates = [
        "--gate",
        "callers",
        "--allow",
        "breaking",
        "--today",
        "2026-06-15",
    ];
    let json = |old: &str| {
        let more = [&gates[..], &["--format", "json"]].concat();
        let (code, printed) = compare(folder.path(), old, &removed(old), &more);
        let report: Value = serde_json::from_str(&printed).expect("the report is JSON");
        (code, report["rust"]["findings"].clone())
    };
    let (code, findings) = json(&old);
    assert_eq!(code, 5, "{findings}");
    let findings = findings.as_array().expect("findings are a list");
    let entries = findings.iter().map(|finding| {
        let print = finding["fingerprint"].as_str().expect("a fingerprint");
        format!(
            "[[diff.approve]]\nfinding = \"{print}\"\nreason = \"nobody calls it\"\nby = \"mara\"\nuntil = 2026-06-15\n"
        )
    });
    let policy = entries.collect::<String>();
    let file = folder.path().join("contract.toml");
    fs::write(&file, &policy).expect("the policy can be written");
    let (code, printed) = compare(folder.path(), &old, &removed(&old), &gates);
    assert_eq!(code, 0, "{printed}");
    assert!(
        printed.contains("= accepted: approved by mara until 2026-06-15"),
        "{printed}"
    );
    // It is gone, so the approval has to go too.
    let (code, printed) = compare(folder.path(), &old, &old, &gates);
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("policy-idle"), "{printed}");
    fs::remove_file(&file).expect("the policy is there");
    let draft = old.replace(
        "      operationId: vm_update\n",
        "      operationId: vm_update\n      x-stability: draft\n",
    );
    let (code, findings) = json(&draft);
    assert_eq!(code, 0, "{findings}");
}

#[test]
fn breaks_in_rust_are_in_every_form() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let old = document(SCHEMAS);
    let new = old.replace("fooBar: {type: integer}", "fooBar: {type: string}");
    for form in ["terminal", "github", "sarif"] {
        let (_, printed) = compare(folder.path(), &old, &new, &["--format", form]);
        insta::assert_snapshot!(format!("rust_{form}"), printed);
    }
}

#[test]
fn a_changelog_is_by_tag_and_grows_at_its_start() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let old = document(SCHEMAS).replace(
        "operationId: vm_view",
        "summary: Show a machine\n      operationId: vm_view",
    );
    let new = old
        .replace("version: 1.2.0", "version: 2.0.0")
        .replace("fooBar: {type: integer}", "more: {type: string}")
        .replace("maxLength: 9", "maxLength: 8")
        .replace(
            "    put:\n",
            "    delete: {operationId: vm_delete, summary: Remove a machine, tags: [vm], responses: {'204': {description: Done.}}}\n    put:\n",
        );
    let more = ["--format", "markdown", "--prepend", "log.md"];
    let (_, section) = compare(folder.path(), &old, &new, &more);
    insta::assert_snapshot!("changelog", section);
    let log = || fs::read_to_string(folder.path().join("log.md")).expect("the changelog is there");
    assert_eq!(log(), format!("# Changelog\n\n{section}"));
    // The same version again takes the place of its section.
    let _ = compare(folder.path(), &old, &new, &more);
    assert_eq!(log(), format!("# Changelog\n\n{section}"));
    let newer = new.replace("version: 2.0.0", "version: 2.0.1");
    let (_, next) = compare(folder.path(), &new, &newer, &more);
    assert_eq!(log(), format!("# Changelog\n\n{next}\n{section}"));
}
