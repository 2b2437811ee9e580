//! Security schemes and what requires them.

use contract::Severity;

use crate::{diagnostics, error, help, place, warning};

#[test]
fn security_names_schemes_that_exist() {
    let template = r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
security: [{ @@ }]
paths: { /pets: { get: { responses: { "204": { description: Done. } } } } }
components:
  securitySchemes:
    token: { type: oauth2, flows: { clientCredentials: { tokenUrl: /t, scopes: { read: Read. } } } }
"#;
    let found = diagnostics(&template.replace("@@", "tokne: []"));
    let (line, column) = place(template, "@@");
    let expected = (
        "unknown-security-scheme".to_owned(),
        Severity::Error,
        line,
        column,
    );
    assert_eq!(found, [expected]);
    warning(
        "undeclared-scope",
        template,
        "token: [⟦raed]",
        "token: [read]",
    );
    assert!(help(&template.replace("@@", "tokne: []")).starts_with("did you mean `token`?"));
}

#[test]
fn security_schemes_are_complete() {
    let template = r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
security: [{ key: [] }]
paths: { /pets: { get: { responses: { "204": { description: Done. } } } } }
components: { securitySchemes: { @@ } }
"#;
    let right = "key: { type: apiKey, in: header, name: X-Key }";
    error(
        "missing-keyword",
        template,
        "key: { type: apiKey, in: header }",
        right,
    );
    let null = template.replace("@@", "key: { type: apiKey, in: header, name: null }");
    let found = diagnostics(&null);
    assert!(
        found.iter().any(|found| found.0 == "missing-keyword"),
        "{found:?}"
    );
    error(
        "unknown-location",
        template,
        "key: { type: apiKey, in: ⟦body, name: X-Key }",
        right,
    );
    error(
        "unknown-scheme-type",
        template,
        "key: { type: ⟦bearer }",
        "key: { type: http, scheme: bearer }",
    );
}
