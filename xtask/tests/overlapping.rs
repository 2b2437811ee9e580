//! The rules that need a search for values: those of [`SEARCHED`], which the crate `contract` only
//! describes, and schemas that accept nothing, of which it reports the plain ones.

#[path = "support/program.rs"]
mod program;

use std::fs;

use contract::rules::{self, Example, MARK};
use serde_json::{Value, json};

/// The rules that only the crate `compatibility` reports.
const SEARCHED: [&str; 3] = [
    "impossible-property",
    "overlapping-branches",
    "redundant-branch",
];

/// Lints a document, and returns the overlapping branches, each as its line, column and message.
fn found(file: &str, text: &str) -> Vec<(u64, u64, String)> {
    found_of("overlapping-branches", file, text)
}

/// Lints a document, and returns the findings of a rule, each as its line, column and message.
fn found_of(rule: &str, file: &str, text: &str) -> Vec<(u64, u64, String)> {
    let all = all_of(file, text).into_iter();
    let ours = all.filter(|(other, _)| other == rule);
    ours.map(|(_, found)| found).collect()
}

/// Lints a document, and returns the rules of the findings, each with the line, column and message.
fn all_of(file: &str, text: &str) -> Vec<(String, (u64, u64, String))> {
    let folder = tempfile::tempdir().expect("a folder can be made");
    fs::write(folder.path().join(file), text).expect("the document can be written");
    let (_, printed) = program::xtask(folder.path(), &["lint", file, "--format", "json"]);
    let report: Value = serde_json::from_str(&printed).expect("the report is JSON");
    let all = report["findings"].as_array().expect("there is a list");
    let text = |one: &Value, key: &str| one[key].as_str().expect("a text").to_owned();
    let number = |one: &Value, key: &str| one[key].as_u64().expect("a number");
    all.iter()
        .map(|one| {
            let place = (number(one, "line"), number(one, "column"));
            (text(one, "rule"), (place.0, place.1, text(one, "message")))
        })
        .collect()
}

#[test]
fn the_example_of_the_rule_alone_breaks_it() {
    for rule in rules::all() {
        let Example::Document(pair) = &rule.example else {
            continue;
        };
        let searched = |text: &str| {
            let all = all_of(pair.frame.file, text).into_iter();
            let ours = all.filter(|(code, _)| SEARCHED.contains(&code.as_str()));
            ours.collect::<Vec<_>>()
        };
        let bad = searched(&pair.frame.fill(&pair.bad()));
        if SEARCHED.contains(&rule.code) {
            let marked = pair.frame.fill(pair.bad);
            let before = marked.split(MARK).next().expect("there is a start");
            let line = before.lines().count() as u64;
            let column = before.lines().last().expect("a line").chars().count() as u64 + 1;
            let places: Vec<_> = bad
                .iter()
                .map(|(code, one)| (code.as_str(), one.0, one.1))
                .collect();
            assert_eq!(places, [(rule.code, line, column)], "{bad:?}");
        } else {
            assert_eq!(bad, [], "{}", rule.code);
        }
        let good = searched(&pair.frame.fill(pair.good));
        assert_eq!(good, [], "{}", rule.code);
    }
}

/// Returns a document of OpenAPI 3.1 with this schema of a request body.
fn document(schema: &Value) -> String {
    json!({
        "openapi": "3.1.0",
        "info": { "title": "Pets", "version": "1" },
        "paths": { "/pets": { "put": {
            "operationId": "pet_set",
            "requestBody": { "content": { "application/json": { "schema": schema } } },
            "responses": { "204": { "description": "Done." } }
        } } }
    })
    .to_string()
}

/// Returns the schema of an object with a required property.
fn object(name: &str, schema: &Value) -> Value {
    json!({ "type": "object", "required": [name], "properties": { name: schema } })
}

#[test]
fn a_value_that_two_branches_accept_is_shown_and_rejected() {
    let text = json!({ "type": "string" });
    let all = [
        json!([{ "type": "number" }, { "type": "integer" }]),
        json!([{ "type": ["string", "null"] }, { "type": ["integer", "null"] }]),
        json!([{ "type": "string", "maxLength": 5 }, { "type": "string", "minLength": 5 }]),
        json!([{ "type": "string", "pattern": "^a" }, { "type": "string", "pattern": "z$" }]),
        json!([{ "enum": ["a", "b"] }, { "enum": ["c"] }, { "enum": ["b"] }]),
        // Both have only optional properties.
        json!([
            { "type": "object", "properties": { "a": text } },
            { "type": "object", "properties": { "b": text } },
        ]),
        // What fits the second fits the first too.
        json!([
            object("a", &text),
            { "type": "object", "required": ["a", "b"], "properties": { "a": text, "b": text } },
        ]),
        json!([
            object("kind", &json!({ "enum": ["a"] })),
            object("kind", &text)
        ]),
        json!([{ "type": "array", "items": text }, { "type": "array", "items": { "type": "integer" } }]),
        json!([true, object("a", &text)]),
    ];
    for branches in all {
        let schema = json!({ "oneOf": branches });
        let found = found("openapi.json", &document(&schema));
        let [(_, _, message)] = &found[..] else {
            panic!("{branches}: {found:?}");
        };
        let witness = message.split('`').rev().nth(1).expect("it has a value");
        let witness: Value = serde_json::from_str(witness).expect("it is JSON");
        let fits = |schema: &Value| jsonschema::is_valid(schema, &witness);
        let accepting = branches.as_array().expect("a list").iter();
        assert!(accepting.filter(|one| fits(one)).count() >= 2, "{message}");
        assert!(!fits(&schema), "{message}");
    }
}

#[test]
fn branches_that_exclude_each_other_are_left_alone() {
    let text = json!({ "type": "string" });
    let kind = |name: &str| object("kind", &json!({ "const": name }));
    let open = json!({ "type": "object", "properties": { "kind": text, "a": text } });
    for schema in [
        json!({ "oneOf": [text, { "type": "integer" }, { "type": "null" }] }),
        json!({ "oneOf": [kind("a"), kind("b")] }),
        // Nobody who describes one of them sends the property of the other.
        json!({ "oneOf": [object("a", &text), object("b", &text)] }),
        // Exactly one of them is asked for on purpose.
        json!({
            "type": "object",
            "properties": { "a": text, "b": text },
            "oneOf": [{ "required": ["a"] }, { "required": ["b"] }]
        }),
        // What is beside the branches tells them apart.
        json!({
            "type": "object",
            "required": ["kind"],
            "oneOf": [
                { "properties": { "kind": { "const": "a" } } },
                { "properties": { "kind": { "const": "b" } } },
            ]
        }),
        json!({ "type": "string", "oneOf": [{ "maxLength": 4 }, { "minLength": 5 }] }),
        json!({ "oneOf": [{ "type": "string", "pattern": "^a" }, { "type": "string", "pattern": "^b" }] }),
        // The search does not decide lookaround.
        json!({ "oneOf": [
            { "type": "string", "pattern": "^(?=.*a)b+$" },
            { "type": "string", "pattern": "^(?=.*c)b+$" },
        ] }),
        json!({ "oneOf": [open, open], "discriminator": { "propertyName": "kind" } }),
    ] {
        assert_eq!(found("openapi.json", &document(&schema)), [], "{schema}");
    }
}

#[test]
fn what_is_beside_the_branches_is_part_of_the_value() {
    let text = json!({ "type": "string" });
    let schema = json!({
        "type": "object",
        "required": ["id"],
        "properties": { "id": { "type": "string", "minLength": 2 } },
        "oneOf": [{ "properties": { "a": text } }, { "properties": { "b": text } }]
    });
    let found = found("openapi.json", &document(&schema));
    let message = found.first().map(|one| one.2.as_str()).unwrap_or_default();
    assert!(message.contains("both accept `{\"id\":\""), "{found:?}");
}

#[test]
fn a_document_without_such_branches_has_no_finding() {
    let text = fs::read_to_string(program::documents().join("pets.yaml"));
    let text = text.expect("the document is there");
    assert_eq!(found("pets.yaml", &text), []);
}

#[test]
fn a_level_of_the_policy_counts_for_the_rule() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let schema = json!({ "oneOf": [{ "type": "number" }, { "type": "integer" }] });
    fs::write(folder.path().join("openapi.json"), document(&schema)).expect("it is writable");
    let lint = || program::xtask(folder.path(), &["lint", "openapi.json"]);
    assert_eq!(lint().0, 0);
    let policy = |level: &str| {
        let text = format!("[lint.rules]\noverlapping-branches = \"{level}\"\n");
        fs::write(folder.path().join("contract.toml"), text).expect("it is writable");
    };
    policy("error");
    assert_eq!(lint().0, 1);
    policy("off");
    let (code, printed) = lint();
    assert_eq!(
        (code, printed.contains("overlapping")),
        (0, false),
        "{printed}"
    );
}

#[test]
fn schemas_that_accept_nothing_are_found_by_a_search() {
    let text = json!({ "type": "string" });
    for (schema, message) in [
        (
            json!({ "type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 4 }),
            "no value fits `exclusiveMinimum` and `exclusiveMaximum` together",
        ),
        (
            json!({ "type": "string", "maxLength": 7, "pattern": "^bk[0-9]{6}$" }),
            "no value fits `maxLength` and `pattern` together",
        ),
        (
            json!({ "type": "integer", "minimum": 1, "maximum": 4, "multipleOf": 5 }),
            "no value fits `minimum`, `maximum` and `multipleOf` together",
        ),
        (
            json!({ "allOf": [{ "type": "string", "pattern": "^a" }, { "type": "string", "pattern": "^b" }] }),
            "no value fits this schema, because of `allOf`",
        ),
        (
            json!({ "type": "object", "required": ["kind"], "properties": { "kind": text },
                "propertyNames": { "maxLength": 3 } }),
            "no value fits `required` and `propertyNames` together",
        ),
        (
            json!({ "type": "string", "format": "uuid", "pattern": "^[A-Z]{3}$" }),
            "no value fits `pattern` and `format` together",
        ),
        (
            json!({ "type": "string", "format": "date", "maxLength": 8 }),
            "no value fits `maxLength` and `format` together",
        ),
        (
            json!({ "type": "string", "pattern": "^/^[a-z]+$/" }),
            "no value fits this schema, because of `pattern`",
        ),
        (
            json!({ "type": "array", "items": { "type": "string" }, "contains": { "type": "integer" } }),
            "no value fits `contains` and `items` together",
        ),
        (
            json!({ "type": "string", "not": { "type": "string" } }),
            "no value fits this schema, because of `not`",
        ),
    ] {
        // Around it is a schema that accepts nothing because of it, which is not reported.
        let around = object("a", &schema);
        for whole in [&schema, &around] {
            let found = found_of("impossible-schema", "openapi.json", &document(whole));
            let messages: Vec<&str> = found.iter().map(|one| one.2.as_str()).collect();
            assert_eq!(messages, [message], "{whole}");
        }
    }
}

#[test]
fn schemas_that_accept_something_or_nothing_on_purpose_are_left_alone() {
    for schema in [
        json!({ "type": "integer", "exclusiveMinimum": 3, "exclusiveMaximum": 5 }),
        json!({ "exclusiveMinimum": 3, "exclusiveMaximum": 3 }),
        json!({ "type": "string", "maxLength": 8, "pattern": "^bk[0-9]{6}$" }),
        json!({ "type": "string", "format": "uuid", "pattern": "^[0-9A-F-]+$" }),
        json!({ "type": "string", "format": "date-time", "pattern": "Z$", "minLength": 30 }),
        json!({ "type": "string", "format": "email", "maxLength": 254, "pattern": "@example[.]com$" }),
        json!({ "type": "object", "properties": { "a": false } }),
        json!({ "type": "object", "required": ["a"], "properties": { "a": { "not": {} } } }),
        json!({ "type": "array", "maxItems": 0, "items": { "type": "integer", "minimum": 1 } }),
        json!({ "type": "array", "items": { "type": "integer" }, "contains": { "minimum": 1 } }),
    ] {
        let found = found_of("impossible-schema", "openapi.json", &document(&schema));
        assert_eq!(found, [], "{schema}");
    }
}

#[test]
fn a_branch_that_another_one_contains_is_reported_with_a_value() {
    let text = json!({ "type": "string" });
    for (branches, message) in [
        (
            json!([{ "type": "number" }, { "type": "integer" }]),
            "branch 2 of `anyOf` says nothing: branch 1 accepts all of its values, as it does `0`",
        ),
        (
            json!([{ "type": "string", "maxLength": 3 }, {}]),
            "branch 1 of `anyOf` says nothing: branch 2 accepts all of its values, as it does `\"\"`",
        ),
        (
            json!([{ "enum": ["a", "b"] }, { "type": "string", "maxLength": 3 }]),
            "branch 1 of `anyOf` says nothing: branch 2 accepts all of its values, as it does `\"a\"`",
        ),
        // They mean the same, so the later one says nothing new.
        (
            json!([{ "type": "integer", "minimum": 1 }, { "type": "integer", "exclusiveMinimum": 0 }]),
            "branch 2 of `anyOf` says nothing: branch 1 accepts all of its values, as it does `1`",
        ),
        (
            json!([object("a", &text), { "type": "object", "properties": { "a": text } }]),
            "branch 1 of `anyOf` says nothing: branch 2 accepts all of its values, as it does `{\"a\":\"\"}`",
        ),
    ] {
        let schema = json!({ "anyOf": branches });
        let found = found_of("redundant-branch", "openapi.json", &document(&schema));
        let messages: Vec<&str> = found.iter().map(|one| one.2.as_str()).collect();
        assert_eq!(messages, [message], "{schema}");
    }
}

#[test]
fn branches_that_say_something_are_left_alone() {
    let text = json!({ "type": "string" });
    let more =
        json!({ "type": "object", "required": ["a"], "properties": { "a": text, "b": text } });
    for branches in [
        json!([{ "type": "string" }, { "type": "integer" }]),
        json!([{ "type": "string", "maxLength": 5 }, { "type": "string", "minLength": 5 }]),
        // Known values and formats beside their type are for readers.
        json!([{ "enum": ["a", "b"] }, { "type": "string" }]),
        json!([{ "type": "string", "format": "uri" }, { "type": "string" }]),
        json!([{ "anyOf": [text, { "enum": ["a"] }] }, { "enum": ["b"], "type": "string" }]),
        json!([{ "anyOf": [text, { "enum": ["a"] }] }, { "anyOf": [{ "enum": ["b"] }, { "enum": ["c"] }] }]),
        json!([{}, { "type": "null" }]),
        // A reader learns of the property `b`.
        json!([object("a", &text), more]),
        // The search does not decide lookaround.
        json!([{ "type": "string", "pattern": "^(?=.*a)b+$" }, { "type": "string", "pattern": "^b*$" }]),
    ] {
        let schema = json!({ "anyOf": branches });
        let found = found_of("redundant-branch", "openapi.json", &document(&schema));
        assert_eq!(found, [], "{schema}");
    }
}

#[test]
fn a_property_that_no_object_can_have_is_reported_once() {
    let part = |schema: Value| json!({ "type": "object", "properties": { "a": schema } });
    let text = || json!({ "type": "string", "pattern": "^a" });
    let both =
        json!({ "allOf": [part(text()), part(json!({ "type": "string", "pattern": "^b" }))] });
    let around = json!({ "allOf": [both, { "properties": { "b": text() } }] });
    for schema in [&both, &around] {
        let found = found_of("impossible-property", "openapi.json", &document(schema));
        let messages: Vec<&str> = found.iter().map(|one| one.2.as_str()).collect();
        assert_eq!(
            messages,
            ["no object has `a`: the parts of `allOf` that declare it exclude each other"],
            "{schema}"
        );
    }
    for schema in [
        json!({ "allOf": [part(text()), part(json!({ "type": "string", "pattern": "z$" }))] }),
        // What is forbidden on purpose, and what is required, so that nothing fits the whole.
        json!({ "allOf": [part(text()), part(json!(false))] }),
        json!({ "allOf": [object("a", &text()), part(json!({ "type": "integer" }))] }),
    ] {
        let found = found_of("impossible-property", "openapi.json", &document(&schema));
        assert_eq!(found, [], "{schema}");
    }
}

#[test]
fn a_property_that_other_keywords_exclude_is_reported() {
    let lower = || json!({ "pattern": "^[a-z]+$" });
    let text = || json!({ "type": "string" });
    for (schema, right, limit) in [
        (
            json!({ "type": "object", "properties": { "Name": text(), "other": {} }, "propertyNames": lower() }),
            json!({ "type": "object", "properties": { "name": text(), "other": {} }, "propertyNames": lower() }),
            "propertyNames",
        ),
        (
            json!({ "type": "object", "properties": { "x_a": text() }, "patternProperties": { "^x_": { "type": "integer" } } }),
            json!({ "type": "object", "properties": { "x_a": text() }, "patternProperties": { "^x_": { "minLength": 3 }, "^y": { "type": "integer" } } }),
            "patternProperties",
        ),
        (
            json!({ "type": "object", "properties": { "a": {}, "b": {} }, "additionalProperties": false, "dependentRequired": { "a": ["c"] } }),
            json!({ "type": "object", "properties": { "a": {}, "b": {} }, "additionalProperties": false, "dependentRequired": { "a": ["b"] } }),
            "dependentRequired",
        ),
    ] {
        let found = found_of("impossible-property", "openapi.json", &document(&schema));
        let [(_, _, message)] = found.as_slice() else {
            panic!("{schema}: {found:?}");
        };
        let words = format!("although it is declared, because of `{limit}`");
        assert!(message.ends_with(&words), "{message}");
        let found = found_of("impossible-property", "openapi.json", &document(&right));
        assert_eq!(found, [], "{right}");
    }
    // Where it is required, nothing fits the whole.
    for schema in [
        json!({ "type": "object", "required": ["Name"], "properties": { "Name": text() }, "propertyNames": lower() }),
        json!({ "type": "object", "required": ["x_a"], "properties": { "x_a": text() }, "patternProperties": { "^x_": { "type": "integer" } } }),
    ] {
        let found = found_of("impossible-schema", "openapi.json", &document(&schema));
        assert_eq!(found.len(), 1, "{schema}: {found:?}");
        let found = found_of("impossible-property", "openapi.json", &document(&schema));
        assert_eq!(found, [], "{schema}");
    }
}
