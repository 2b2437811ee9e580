//! The set `style`: bounds of what a request may hold.

use contract::{LintSet, Options, load_text_with};

use crate::{OK, OPERATION, SCHEMA_31, diagnostics, place};

/// A request body with a schema, and a component that it may refer to.
const REQUEST: &str = r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  /pets:
    post:
      requestBody: { content: { application/json: { schema: @@ } } }
      responses: { "204": { description: Done. } }
"#;

#[test]
fn arrays_and_texts_of_requests_are_bounded() {
    for (code, wrong, right) in [
        (
            "unbounded-array",
            "{ ⟦type: array }",
            "{ type: array, maxItems: 3 }",
        ),
        (
            "unbounded-array",
            "{ ⟦type: [array, \"null\"] }",
            "{ type: [array, \"null\"], maxItems: 3 }",
        ),
        (
            "unbounded-array",
            "{ ⟦type: array, prefixItems: [{ type: integer }], items: { enum: [a] } }",
            "{ type: array, prefixItems: [{ type: integer }], items: false }",
        ),
        (
            "unbounded-array",
            "{ properties: { names: { additionalProperties: { ⟦type: array } } } }",
            "{ properties: { names: { additionalProperties: { const: [] } } } }",
        ),
        (
            "unbounded-text",
            "{ ⟦type: string }",
            "{ type: string, maxLength: 3 }",
        ),
        (
            "unbounded-text",
            "{ ⟦type: string, pattern: \"^a{1,}$\" }",
            "{ type: string, pattern: \"^a{1,9}$\" }",
        ),
        (
            "unbounded-text",
            "{ ⟦type: string, pattern: \"^a\" }",
            "{ type: string, pattern: \"^(?:ab?|c)$\" }",
        ),
        (
            "unbounded-text",
            "{ ⟦type: string, pattern: \"^a|b$\" }",
            "{ type: string, enum: [a] }",
        ),
        (
            "unbounded-text",
            "{ ⟦type: string, format: date-time }",
            "{ type: string, format: date }",
        ),
        (
            "unbounded-text",
            "{ ⟦type: string, format: byte }",
            "{ type: string, format: binary }",
        ),
        (
            "unbounded-text",
            "{ type: array, maxItems: 2, items: { ⟦type: string } }",
            "{ type: array, maxItems: 2, items: { type: string, const: a } }",
        ),
        (
            "unbounded-text",
            "{ allOf: [{ ⟦type: string }, { minLength: 1 }] }",
            "{ allOf: [{ type: string }, { maxLength: 1 }] }",
        ),
        (
            "unbounded-text",
            "{ anyOf: [{ type: string, maxLength: 3 }, { ⟦type: string, format: uri }] }",
            "{ anyOf: [{ type: string, maxLength: 3 }, { type: integer }, { type: \"null\" }] }",
        ),
        (
            "unbounded-text",
            "{ properties: { name: { ⟦type: string } } }",
            "{ properties: { name: { type: string, readOnly: true } } }",
        ),
    ] {
        let marked = REQUEST.replace("@@", wrong);
        let (line, column) = place(&marked, "⟦");
        let found = style(&marked.replace('⟦', ""));
        assert_eq!(found, [(code, line, column)], "{wrong}");
        assert_eq!(style(&REQUEST.replace("@@", right)), [], "{right}");
    }
    let parameter = "{ name: id, in: query, schema: { ⟦type: string } }";
    let text = OPERATION.replace(
        "@@",
        &format!(
            "\n      parameters: [{parameter}, {{ $ref: \"#/components/parameters/PetId\" }}]\n      {OK}"
        ),
    );
    let (line, column) = place(&text, "⟦");
    let found = style(&text.replace('⟦', ""));
    assert_eq!(found[0], ("unbounded-text", line, column));
    assert_eq!(found.len(), 2, "the component is found too: {found:?}");
}

#[test]
fn responses_and_documents_of_others_need_no_bounds() {
    let text = SCHEMA_31.replace("@@", "{ type: array, items: { type: string } }");
    assert_eq!(style(&text), [], "a response");
    let text = REQUEST.replace("@@", "{ type: array, items: { type: string } }");
    assert_eq!(diagnostics(&text), vec![], "the set `correct` alone");
}

#[test]
fn a_schema_that_contains_itself_is_judged_once() {
    let text = format!(
        "{}components:\n  schemas:\n    Tree: {{ type: object, properties: {{ name: {{ type: string }}, trees: {{ \
         type: array, items: {{ $ref: \"#/components/schemas/Tree\" }} }} }} }}\n",
        REQUEST.replace("@@", r##"{ $ref: "#/components/schemas/Tree" }"##)
    );
    let codes: Vec<&str> = style(&text).into_iter().map(|(code, ..)| code).collect();
    assert_eq!(codes, ["unbounded-text", "unbounded-array"]);
}

/// Returns the codes of the set `style` about bounds in a document that the set `correct` has nothing to say
/// about, each with its line and column.
fn style(text: &str) -> Vec<(&'static str, usize, usize)> {
    assert_eq!(diagnostics(text), vec![], "{text}");
    let options = Options {
        sets: [LintSet::Style].into(),
        ..Options::default()
    };
    let loaded = load_text_with("pets.yaml", text.as_bytes(), &options);
    assert!(loaded.contract.is_some(), "{:#?}", loaded.diagnostics);
    let bounds = loaded.diagnostics.iter();
    let bounds = bounds.filter(|diagnostic| diagnostic.code.starts_with("unbounded-"));
    let found = bounds.map(|diagnostic| {
        let at = loaded.sources.line_column(diagnostic.span);
        (diagnostic.code, at.line, at.column)
    });
    found.collect()
}

#[test]
fn only_the_own_machine_is_called_without_tls() {
    let codes = |url: &str| {
        let text = format!(
            "{{ openapi: 3.1.0, info: {{ title: Pets, version: \"1\" }}, servers: [{{ url: \"{url}\" }}], paths: {{}} }}"
        );
        let options = Options {
            sets: [LintSet::Style].into(),
            ..Options::default()
        };
        let loaded = load_text_with("pets.yaml", text.as_bytes(), &options);
        let codes = loaded.diagnostics.into_iter().map(|found| found.code);
        codes.filter(|code| *code == "plain-http").count()
    };
    for own in [
        "http://localhost",
        "http://LOCALHOST:8080/v1",
        "http://api.localhost:8080",
        "http://127.0.0.1:80",
        "http://127.1.2.3/v1",
        "http://[::1]:8080/v1",
        "http://me@localhost:80",
        "https://pets.example",
    ] {
        assert_eq!(codes(own), 0, "{own}");
    }
    for other in [
        "http://pets.example",
        "http://localhost.example.com",
        "http://localhost.example.com:80/localhost",
        "http://127.example.com",
        "http://127.0.0.1.example.com",
        "http://localhost@pets.example",
        "http://localhost:80@pets.example/v1",
        "http://mylocalhost",
        "http://[::2]:8080",
    ] {
        assert_eq!(codes(other), 1, "{other}");
    }
}
