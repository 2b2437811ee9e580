//! What is completed where, in documents that are broken at the moment too.

use std::fs;

use serde_json::Value;

use crate::PETS;
use crate::client::{Client, offset};

/// The place of the cursor in a text of a test.
const CURSOR: &str = "‸";

/// The start of a document in JSON.
const JSON: &str = r#"{"openapi": "3.1.0", "info": {"title": "T", "version": "1"}, "components": {"schemas": {"Pet": {"type": "object"}}}, "#;

/// Returns the names that are offered at the cursor, and the text after the one that is chosen.
fn complete(text: &str, chosen: &str) -> (Vec<String>, Option<String>) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let parts = "Owner: {type: object}\n";
    fs::write(folder.path().join("parts.yaml"), parts).expect("the document can be written");
    let name = if text.starts_with('{') {
        "api.json"
    } else {
        "api.yaml"
    };
    // The document was whole before.
    let before = if name == "api.json" {
        format!("{JSON}\"x\": 1}}")
    } else {
        PETS.to_owned()
    };
    let mut client = Client::start(folder.path());
    client.open(name, &before);
    client.settled(name);
    let at = text.find(CURSOR).expect("a cursor");
    let text = text.replace(CURSOR, "");
    client.edit(name, 0, before.len(), &text);
    let asked = client.at(name, at);
    let result = client
        .request("textDocument/completion", &asked)
        .expect("an answer");
    let items = result["items"].as_array().cloned().unwrap_or_default();
    let labels = items
        .iter()
        .map(|item| item["label"].as_str().expect("a label").to_owned());
    let item = items.iter().find(|item| item["label"] == chosen);
    let after = item.map(|item| {
        let edit = &item["textEdit"];
        let place = |at: &Value| offset(&text, at, client.unit);
        let (start, end) = (place(&edit["range"]["start"]), place(&edit["range"]["end"]));
        let mut after = text.clone();
        after.replace_range(start..end, edit["newText"].as_str().expect("a text"));
        let line_start = after[..start].rfind('\n').map_or(0, |at| at + 1);
        let line_end = after[start..]
            .find('\n')
            .map_or(after.len(), |at| start + at);
        after[line_start..line_end].to_owned()
    });
    (labels.collect(), after)
}

/// Returns the line after the choice of a name in place of a part of the contract.
fn line(part: &str, with: &str, chosen: &str) -> String {
    assert!(PETS.contains(part), "{part}");
    let (labels, line) = complete(&PETS.replacen(part, with, 1), chosen);
    line.unwrap_or_else(|| panic!("{chosen} in {labels:?} for {with}"))
}

#[test]
fn keys_are_those_of_the_object() {
    let cases = [
        (
            "summary: View a pet.",
            "depr‸",
            "deprecated",
            "      deprecated: ",
        ),
        (
            "summary: View a pet.",
            "‸",
            "requestBody",
            "      requestBody:",
        ),
        ("    put:", "    pa‸", "patch", "    patch:"),
        (
            "description: An animal.",
            "add‸",
            "additionalProperties",
            "      additionalProperties:",
        ),
        (
            "description: The pet.",
            "hea‸",
            "headers",
            "          headers:",
        ),
        ("  - name: pet", "  - na‸", "name", "  - name: "),
        (
            "    description: Animals",
            "    ext‸",
            "externalDocs",
            "    externalDocs:",
        ),
        ("components:", "comp‸", "components", "components:"),
        (
            "{type: string, maxLength: 100}",
            "{type: string, max‸}",
            "maxLength",
            "        name: {type: string, maxLength: }",
        ),
    ];
    for (part, with, chosen, expected) in cases {
        let found = line(part, with, chosen);
        assert!(found.starts_with(expected), "{found} for {with}");
    }
}

#[test]
fn keys_that_are_there_or_belong_elsewhere_are_not_offered() {
    let with = PETS.replace("summary: View a pet.", "‸");
    let (labels, _) = complete(&with, "");
    assert!(labels.iter().any(|label| label == "summary"), "{labels:?}");
    for label in [
        "operationId",
        "tags",
        "responses",
        "properties",
        "schemas",
        "query",
    ] {
        assert!(
            !labels.iter().any(|known| known == label),
            "{label} in {labels:?}"
        );
    }
}

#[test]
fn references_lead_to_components_of_the_right_kind() {
    let schema = "$ref: '#/components/schemas/Pet'";
    for (with, expected) in [
        (
            "$ref: ‸",
            "                $ref: '#/components/schemas/Kind'",
        ),
        (
            "$ref: '‸'",
            "                $ref: '#/components/schemas/Kind'",
        ),
        (
            "$ref: \"#/comp‸\"",
            "                $ref: \"#/components/schemas/Kind\"",
        ),
        (
            "$ref: '#/components/schemas/K‸",
            "                $ref: '#/components/schemas/Kind'",
        ),
        (
            "$ref: #/K‸",
            "                $ref: '#/components/schemas/Kind'",
        ),
    ] {
        if with.contains(": #") {
            // That begins a comment in YAML, where nothing is offered.
            assert!(complete(&PETS.replacen(schema, with, 1), "").0.is_empty());
            continue;
        }
        assert_eq!(line(schema, with, "#/components/schemas/Kind"), expected);
    }
    let text = PETS.replacen(schema, "$ref: '‸'", 1);
    let (labels, _) = complete(&text, "");
    assert!(
        labels.iter().all(|label| label.contains("/schemas/")),
        "{labels:?}"
    );
    let text = text.replace(
        "    Kind:\n",
        "    Owner: {$ref: 'parts.yaml#/Owner'}\n    Kind:\n",
    );
    let (labels, _) = complete(&text, "");
    assert!(
        labels.iter().any(|label| label == "parts.yaml#/Owner"),
        "{labels:?}"
    );
}

#[test]
fn values_are_those_of_the_key() {
    let cases = [
        (
            "      type: object",
            "      type: o‸",
            "object",
            "      type: object",
        ),
        (
            "{type: string, maxLength: 40}",
            "{type: string, format: uu‸}",
            "uuid",
            "format: uuid}",
        ),
        ("tags: [pet]", "tags: [‸]", "pet", "      tags: [pet]"),
        ("tags: [pet]", "tags:\n        - p‸", "pet", "        - pet"),
        (
            "required: [name]",
            "required: [‸]",
            "kind",
            "      required: [kind]",
        ),
        ("in: path", "in: ‸", "path", "in: path"),
        ("  - token: []", "  - ‸", "token", "  - token:"),
        (
            "operationId: pet_view\n              par",
            "operationId: ‸\n              par",
            "pet_put",
            "              operationId: pet_put",
        ),
        ("        '204':", "        '40‸':", "404", "        '404':"),
        (
            "        '204': {description: Done.}",
            "        ‸",
            "404",
            "        '404':",
        ),
        (
            "            application/json:\n              schema:\n",
            "            app‸\n              schema:\n",
            "application/problem+json",
            "            'application/problem+json':",
        ),
        (
            "required: true\n",
            "required: ‸\n",
            "true",
            "        required: true",
        ),
        ("scheme: bearer", "scheme: ‸", "basic", "scheme: basic"),
    ];
    for (part, with, chosen, expected) in cases {
        let found = line(part, with, chosen);
        assert!(found.contains(expected), "{found} for {with}");
    }
}

#[test]
fn nothing_is_offered_in_comments_and_texts() {
    for (part, with) in [
        ("summary: View a pet.", "# su‸"),
        (
            "summary: View a pet.",
            "description: |\n        Some tex‸\n",
        ),
        (
            "summary: View a pet.",
            "description: >-\n        Some:\n          tex‸\n",
        ),
        ("summary: View a pet.", "summary: Vi‸"),
    ] {
        let (labels, _) = complete(&PETS.replacen(part, with, 1), "");
        assert_eq!(labels, Vec::<String>::new(), "{with}");
    }
}

#[test]
fn json_is_completed_in_the_middle_of_what_is_typed() {
    for (rest, chosen, expected) in [
        (
            r#""paths": {"/": {"get": {"resp‸"#,
            "responses",
            r#""get": {"responses": "#,
        ),
        (
            r#""paths": {"/": {"get": {"resp‸": {}}}}}"#,
            "responses",
            r#"{"responses": {}}"#,
        ),
        (
            r#""paths": {"/": {"get": {"responses": {"‸"#,
            "404",
            r#""404": "#,
        ),
        (
            r#""paths": {"/": {"get": {"parameters": [{"name": "a", "schema": {"$ref": "‸"}}"#,
            "#/components/schemas/Pet",
            "\"#/components/schemas/Pet\"}",
        ),
        (r#""x": 1, ‸"#, "servers", r#""x": 1, "servers": "#),
    ] {
        let (labels, line) = complete(&format!("{JSON}{rest}"), chosen);
        let line = line.unwrap_or_else(|| panic!("{chosen} in {labels:?} for {rest}"));
        assert!(line.contains(expected), "{line}");
    }
}

#[test]
fn a_document_that_begins_is_completed() {
    let (labels, line) = complete("open‸", "openapi");
    assert_eq!(line.as_deref(), Some("openapi: "), "{labels:?}");
    let (labels, _) = complete("openapi: 3.1.0\n‸", "");
    assert!(labels.iter().any(|label| label == "paths"), "{labels:?}");
    assert!(!labels.iter().any(|label| label == "openapi"), "{labels:?}");
}

#[test]
fn a_large_text_is_completed_by_the_names_of_a_moment_ago() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut client = Client::start(folder.path());
    let comment = "# Nothing to see here.\n".repeat(60_000);
    client.open("api.yaml", &format!("{PETS}{comment}"));
    client.settled("api.yaml");
    // Every line moves, and one is broken.
    let at = client.find("api.yaml", "servers:");
    client.edit("api.yaml", at, at, "# One.\n# Two.\n");
    let at = client.find("api.yaml", "'#/components/schemas/Pet'");
    let end = at + "'#/components/schemas/Pet'".len();
    client.edit("api.yaml", at, end, "'#/K");
    let asked = client.at("api.yaml", at + "'#/K".len());
    let result = client.request("textDocument/completion", &asked);
    let result = result.expect("an answer");
    let item = &result["items"][0];
    assert_eq!(item["label"], "#/components/schemas/Kind", "{result:#}");
    assert_eq!(item["textEdit"]["range"]["end"], asked["position"]);
}
