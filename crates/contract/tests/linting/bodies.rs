//! Bodies, by the rules of the sets `interoperable` and `style`.

use contract::{LintSet, Options, load_text_with};

/// Returns how often a rule reports something in a document with the set that it belongs to.
fn count(code: &str, set: LintSet, text: &str) -> usize {
    let options = Options {
        sets: [set].into(),
        ..Options::default()
    };
    let loaded = load_text_with("pets.yaml", text.as_bytes(), &options);
    assert!(loaded.contract.is_some(), "{:#?}", loaded.diagnostics);
    let codes = loaded.diagnostics.into_iter().map(|found| found.code);
    codes.filter(|found| *found == code).count()
}

/// Returns a document with one operation, which has this request body.
fn with_body(method: &str, content: &str) -> String {
    format!(
        r#"openapi: 3.1.0
info: {{ title: Pets, version: "1" }}
paths:
  /pets:
    {method}:
      requestBody: {{ content: {{ {content} }} }}
      responses: {{ "204": {{ description: Done. }} }}
components:
  schemas:
    File: {{ type: object, properties: {{ data: {{ type: string, format: binary }}, next: {{ $ref: "{REFERENCE}" }} }} }}
"#
    )
}

const REFERENCE: &str = "#/components/schemas/File";

#[test]
fn structured_bodies_have_schemas() {
    for media in [
        "application/json",
        "Application/JSON; charset=utf-8",
        "application/problem+json",
        "text/xml",
        "image/svg+xml",
        "application/x-www-form-urlencoded",
        "multipart/form-data",
    ] {
        let found = |fields: &str| {
            let text = with_body("post", &format!("\"{media}\": {{ {fields} }}"));
            count("missing-schema", LintSet::Style, &text)
        };
        assert_eq!((found(""), found("schema: {}")), (1, 0), "{media}");
    }
    for media in ["image/png", "text/plain", "application/pdf", "text/notjson"] {
        let text = with_body("post", &format!("{media}: {{}}"));
        assert_eq!(count("missing-schema", LintSet::Style, &text), 0, "{media}");
    }
}

#[test]
fn requests_whose_body_means_nothing_have_none() {
    let expected = [
        ("get", 1),
        ("head", 1),
        ("delete", 1),
        ("options", 1),
        ("post", 0),
        ("put", 0),
        ("patch", 0),
    ];
    for (method, expected) in expected {
        let text = with_body(method, "text/plain: {}");
        let found = count("unexpected-body", LintSet::Style, &text);
        assert_eq!(found, expected, "{method}");
    }
}

#[test]
fn bytes_are_not_in_json() {
    let found = |content: &str| {
        let text = with_body("post", content);
        count("binary-in-json", LintSet::Interoperable, &text)
    };
    let schema = format!("{{ schema: {{ $ref: \"{REFERENCE}\" }} }}");
    // Once, however many bodies have it.
    let json = format!("application/json: {schema}, application/a+json: {schema}");
    assert_eq!(found(&json), 1);
    assert_eq!(found(&format!("multipart/form-data: {schema}")), 0);
    let fields = |fields: &str| {
        found(&format!(
            "application/json: {{ schema: {{ type: object, properties: {{ data: {{ {fields} }} }} }} }}"
        ))
    };
    assert_eq!(
        fields("type: [string, \"null\"], format: binary, writeOnly: true"),
        1
    );
    for legal in [
        "type: string, format: binary, readOnly: true",
        "type: string, format: binary, contentEncoding: base64",
        "type: integer, format: binary",
        "type: string, not: { format: binary }",
    ] {
        assert_eq!(fields(legal), 0, "{legal}");
    }
    let bytes = "application/octet-stream: { schema: { type: string, format: binary } }";
    assert_eq!(found(bytes), 0);
}

#[test]
fn keys_are_no_credentials_of_http() {
    for (scheme, expected) in [
        ("type: apiKey, in: header, name: authorization", 1),
        ("type: apiKey, in: header, name: X-Authorization", 0),
        ("type: apiKey, in: query, name: Authorization", 0),
        ("type: http, scheme: bearer", 0),
    ] {
        let text = format!(
            "{{ openapi: 3.1.0, info: {{ title: Pets, version: \"1\" }}, paths: {{}}, components: {{ securitySchemes: {{ key: {{ {scheme} }} }} }} }}"
        );
        let found = count("api-key-authorization", LintSet::Interoperable, &text);
        assert_eq!(found, expected, "{scheme}");
    }
}

#[test]
fn nested_parts_have_no_style_in_a_form() {
    let form = |style: &str, schema: &str| {
        with_body(
            "post",
            &format!(
                "application/x-www-form-urlencoded: {{ encoding: {{ a: {{ style: {style} }} }}, schema: {{ type: object, properties: {{ a: {schema} }} }} }}"
            ),
        )
    };
    let found = |text: &str| count("undefined-style", LintSet::Interoperable, text);
    let nested = "{ type: object, properties: { b: { type: array, items: {} } } }";
    assert_eq!(found(&form("deepObject", nested)), 1);
    assert_eq!(found(&form("form", nested)), 0);
    let flat = "{ type: object, properties: { b: { type: string } } }";
    assert_eq!(found(&form("deepObject", flat)), 0);
}
