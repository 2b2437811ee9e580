//! Patterns of strings with classes of Unicode.

use crate::{DONE, path, report};

/// The pattern before and after a change, and the string that shows that a request is refused; `None` if
/// every string is still accepted.
const ROWS: [(&str, &str, Option<&str>); 15] = [
    (r"^\s$", r"^[ \t]$", Some("\n")),
    (r"^[ \t]$", r"^\s$", None),
    (r"^\s$", r"^[\s]$", None),
    (r"^\s$", r"^\S$", Some(" ")),
    (r"^\u2003$", r"^\s$", None),
    (r"^\s$", r"^[\t-\r \u00a0]$", Some("\u{1680}")),
    (r"^\p{L}$", r"^[a-z]$", Some("A")),
    (r"^[a-zA-Zé]$", r"^\p{L}$", None),
    (r"^\p{L}+$", r"^[\p{L}\p{N}]+$", None),
    (r"^[\p{L}\p{N}]+$", r"^\p{L}+$", Some("0")),
    (r"^\p{Lu}$", r"^\p{L}$", None),
    (r"^\p{L}$", r"^\p{Lu}$", Some("a")),
    (r"^\P{L}$", r"^[^\p{L}]$", None),
    // Brackets have no operators.
    (r"^[--/]$", r"^[\-.]$", Some("/")),
    (r"^[--9]$", r"^[\-.\/0-9]$", None),
];

#[test]
fn patterns_with_classes_of_unicode_are_decided() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let of = |pattern: &str| {
        let schema = format!("{{type: string, pattern: '{pattern}'}}");
        let body = format!("content: {{application/json: {{schema: {schema}}}}}");
        path("put", "/a", &format!("requestBody: {{{body}}}, {DONE}"))
    };
    for (old, new, expected) in ROWS {
        let report = report(folder.path(), &of(old), &of(new));
        let findings = report["findings"].as_array().expect("findings are a list");
        let undecided = findings.iter().filter(|one| one["kind"] == "undecided");
        assert_eq!(undecided.count(), 0, "{old} → {new}: {report:#}");
        let broken = findings.iter().find(|one| one["kind"] == "breaking");
        let shown = broken.map(|one| {
            let command = one["witness"]["text"].as_str().expect("it has a witness");
            let (_, data) = command.split_once("--data ").expect("it sends a body");
            let data = data.trim_matches('\'');
            serde_json::from_str::<String>(data).expect("the body is a string of JSON")
        });
        assert_eq!(shown.as_deref(), expected, "{old} → {new}: {report:#}");
    }
}
