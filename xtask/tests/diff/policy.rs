//! Which findings refuse a change, by `contract.toml`.

use std::fs;
use std::path::Path;

use serde_json::Value;
use tempfile::TempDir;

use crate::{diff, path};

/// Returns two documents that differ in the largest number of a response, with a policy.
fn folder(fields: &str, policy: &str) -> TempDir {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let document = |most: u32| {
        let content = format!(
            "content: {{application/json: {{schema: {{type: integer, minimum: 0, maximum: {most}}}}}}}"
        );
        let responses = format!("responses: {{'200': {{description: A number., {content}}}}}");
        path("get", "/number", &format!("{fields}{responses}"))
    };
    for (name, text) in [
        ("old.yaml", document(5)),
        ("new.yaml", document(9)),
        ("contract.toml", policy.to_owned()),
    ] {
        fs::write(folder.path().join(name), text).expect("the folder is writable");
    }
    folder
}

/// Compares the documents on a fixed day; returns the exit code and the report.
fn compare(folder: &Path, more: &[&str]) -> (i32, String) {
    let arguments = ["old.yaml", "new.yaml", "--today", "2026-06-15"];
    let (code, printed, wrong) = diff(folder, &[&arguments, more].concat());
    (code, wrong + &printed)
}

fn fingerprint(folder: &Path) -> String {
    let (_, printed) = compare(folder, &["--format", "json"]);
    let report: Value = serde_json::from_str(&printed).expect("the report is JSON");
    let print = report["findings"][0]["fingerprint"].as_str();
    print.expect("a finding has a fingerprint").to_owned()
}

#[test]
fn the_kinds_that_refuse_a_change_are_chosen() {
    assert_eq!(compare(folder("", "").path(), &[]).0, 5);
    let policy = "[diff]\ngate = [\"information-removed\"]\n";
    assert_eq!(compare(folder("", policy).path(), &[]).0, 0);
    let policy = "[diff]\ngate = [\"breaking\"]\n";
    assert_eq!(compare(folder("", policy).path(), &[]).0, 5);
    let allowed = ["--allow", "breaking"];
    assert_eq!(compare(folder("", policy).path(), &allowed).0, 0);
    let policy = "[diff]\ngate = [\"braking\"]\n";
    let (code, printed) = compare(folder("", policy).path(), &[]);
    assert_eq!(code, 1, "{printed}");
    for words in ["contract.toml:2:9", "did you mean `breaking`?"] {
        assert!(printed.contains(words), "{printed}");
    }
}

#[test]
fn a_draft_may_change_and_a_stable_operation_not() {
    for (stability, policy, expected) in [
        ("draft", "", 0),
        ("beta", "", 5),
        ("stable", "", 5),
        ("beta", "[diff]\nungated = [\"beta\"]\n", 0),
        ("draft", "[diff]\nungated = []\n", 5),
    ] {
        let folder = folder(&format!("x-stability: {stability}, "), policy);
        let (code, printed) = compare(folder.path(), &[]);
        assert_eq!(code, expected, "{stability} {policy}\n{printed}");
        let is_said = printed.contains("= accepted: the stability of each operation");
        assert_eq!(is_said, expected == 0, "{printed}");
    }
}

#[test]
fn a_draft_may_change_its_names_too() {
    for (stability, expected) in [("draft", 0), ("stable", 5)] {
        let fields = format!(
            "x-stability: {stability}, parameters: [{{name: id, in: path, required: true, schema: {{type: string}}}}], "
        );
        let folder = folder(&fields, "");
        let rename = |name: &str, id: &str, parameter: &str| {
            let file = folder.path().join(name);
            let text = fs::read_to_string(&file).expect("the file is there");
            let text = text
                .replace("'/number'", &format!("'/number/{{{parameter}}}'"))
                .replace("name: id", &format!("name: {parameter}"))
                .replace("operationId: a", &format!("operationId: {id}"));
            fs::write(&file, text).expect("the folder is writable");
        };
        rename("old.yaml", "number_view", "id");
        rename("new.yaml", "number_show", "number_id");
        let (code, printed) = compare(folder.path(), &[]);
        assert_eq!(code, expected, "{printed}");
    }
}

#[test]
fn what_is_deprecated_may_go_when_its_sunset_has_come() {
    for (fields, policy, expected) in [
        ("deprecated: true, x-sunset: 2026-06-15, ", "", 0),
        (
            "deprecated: true, x-sunset: '2026-06-15T00:00:00Z', ",
            "",
            0,
        ),
        ("deprecated: true, x-sunset: 2026-06-16, ", "", 5),
        ("deprecated: true, x-sunset: soon, ", "", 5),
        ("x-sunset: 2026-06-15, ", "", 5),
        ("deprecated: true, ", "", 5),
        (
            "deprecated: true, x-sunset: 2026-06-15, ",
            "[diff]\nsunset = false\n",
            5,
        ),
    ] {
        let folder = folder(fields, policy);
        // The whole operation goes.
        fs::write(folder.path().join("new.yaml"), crate::document("paths: {}"))
            .expect("the folder is writable");
        let (code, printed) = compare(folder.path(), &[]);
        assert_eq!(code, expected, "{fields} {policy}\n{printed}");
    }
}

#[test]
fn an_approval_lets_one_finding_pass_until_a_day() {
    let print = fingerprint(folder("", "").path());
    let approve = |finding: &str, until: &str| {
        format!(
            "[[diff.approve]]\nfinding = \"{finding}\"\nreason = \"nobody reads it\"\nby = \"mara\"\nuntil = {until}\n"
        )
    };
    let (code, printed) = compare(folder("", &approve(&print, "2026-06-15")).path(), &[]);
    assert_eq!(code, 0, "{printed}");
    let words = "= accepted: approved by mara until 2026-06-15: nobody reads it";
    assert!(printed.contains(words), "{printed}");
    let (code, printed) = compare(folder("", &approve(&print, "2026-06-14")).path(), &[]);
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("policy-ended"), "{printed}");
    let (code, printed) = compare(
        folder("", &approve("000000000000", "2026-06-15")).path(),
        &[],
    );
    assert_eq!(code, 1, "{printed}");
    assert!(printed.contains("policy-idle"), "{printed}");
    // Lines that move change no fingerprint, another change does.
    let moved = folder("", "");
    for name in ["old.yaml", "new.yaml"] {
        let file = moved.path().join(name);
        let text = fs::read_to_string(&file).expect("the file is there");
        fs::write(&file, format!("# moved\n\n{text}")).expect("the folder is writable");
    }
    assert_eq!(fingerprint(moved.path()), print);
    let file = moved.path().join("new.yaml");
    let text = fs::read_to_string(&file).expect("the file is there");
    fs::write(&file, text.replace("maximum: 9", "maximum: 10")).expect("the folder is writable");
    assert_ne!(fingerprint(moved.path()), print);
}

#[test]
fn a_policy_gates_what_breaks_rust_source() {
    for (gate, expected) in [("breaking", 0), ("callers", 5), ("implementers", 5)] {
        let folder = folder("", &format!("[diff]\ngate = [\"{gate}\"]\n"));
        // A component that is renamed breaks whoever names its type, and nothing on the wire.
        for (name, component) in [("old.yaml", "Count"), ("new.yaml", "Total")] {
            let schemas = format!("schemas: {{{component}: {{type: object}}}}");
            let content = format!(
                "content: {{application/json: {{schema: {{$ref: '#/components/schemas/{component}'}}}}}}"
            );
            let fields = format!("responses: {{'200': {{description: A number., {content}}}}}");
            let document = path("get", "/number", &fields).replace(
                "  securitySchemes:",
                &format!("  {schemas}\n  securitySchemes:"),
            );
            fs::write(folder.path().join(name), document).expect("the folder is writable");
        }
        let (code, printed) = compare(folder.path(), &[]);
        assert_eq!(code, expected, "{gate}: {printed}");
    }
}
