//! A change for each rule that the other tests do not name, and that every rule has one.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;

use serde_json::Value;

use crate::{DONE, document, path, report};

/// Returns the rules of findings.
fn rules(findings: &Value) -> BTreeSet<&str> {
    let findings = findings.as_array().expect("findings are a list");
    let rules = findings.iter().map(|finding| finding["rule"].as_str());
    rules.map(|rule| rule.expect("a rule is a text")).collect()
}

/// Returns an operation with this body of its request, or with none.
fn asks(body: &str) -> String {
    path("put", "/a", &format!("{body}{DONE}"))
}

/// Returns the JSON body of a message with a schema.
fn json(schema: &str) -> String {
    format!("content: {{application/json: {{schema: {schema}}}}}")
}

/// Returns an operation whose response has these fields.
fn answers(fields: &str) -> String {
    let responses = format!("responses: {{'200': {{description: Done., {fields}}}}}");
    path("get", "/a", &responses)
}

fn takes(parameter: &str) -> String {
    path("get", "/a", &format!("parameters: [{parameter}], {DONE}"))
}

fn paging(fields: &str) -> String {
    let parameters = "[{name: after, in: query, schema: {type: string}}, {name: limit, in: query, schema: {type: integer}}]";
    let item = "{type: object, required: [name, id], properties: {name: {type: string}, id: {type: string}}}";
    let page = format!(
        "{{type: object, required: [pets], properties: {{pets: {{type: array, items: {item}}}}}}}"
    );
    let response = format!(
        "responses: {{'200': {{description: Done., {}}}}}",
        json(&page)
    );
    path(
        "get",
        "/a",
        &format!("parameters: {parameters}, {response}"),
    ) + fields
}

fn oauth(address: &str) -> String {
    let scheme = format!(
        "    open: {{type: oauth2, flows: {{clientCredentials: {{tokenUrl: '{address}', scopes: {{read: Read.}}}}}}}}\n    token:"
    );
    path(
        "get",
        "/a",
        &format!("security: [{{open: [read]}}], {DONE}"),
    )
    .replacen("    token:", &scheme, 1)
}

/// A rule, whether it refuses the change, and the documents before and after the change.
type Row = (&'static str, bool, String, String);

fn check(rows: impl IntoIterator<Item = Row>) {
    let folder = tempfile::tempdir().expect("a folder can be made");
    for (rule, refuses, old, new) in rows {
        let report = report(folder.path(), &old, &new);
        let found = rules(&report["findings"]);
        assert_eq!(found, BTreeSet::from([rule]), "{old}\n{new}");
        assert_eq!(report["refused"], refuses, "{rule}");
    }
}

fn object(properties: &str) -> String {
    format!("{{type: object, properties: {{{properties}}}}}")
}

#[test]
fn each_change_of_operations_and_requests_has_its_rule() {
    let with_body = |required: &str| {
        asks(&format!(
            "requestBody: {{{required}{}}}, ",
            json("{type: string}")
        ))
    };
    let header = |fields: &str| {
        answers(&format!(
            "headers: {{X-A: {{{fields}schema: {{type: string}}}}}}"
        ))
    };
    let query = |fields: &str| takes(&format!("{{name: a, in: query, {fields}}}"));
    let [one, two] = ["a: {type: string}", "a: {type: string}, b: {type: string}"];
    let ids = "schema: {type: array, items: {type: string}}";
    let plain = path("get", "/a", DONE);
    let both = plain.replacen(
        "paths: {",
        &format!("paths: {{'/b': {{get: {{operationId: b, {DONE}}}}}, "),
        1,
    );
    let list = "x-paging: {start_after: after, page_size: limit, items: pets, key: KEY}\n";
    let rows = [
        ("body-removed", true, with_body(""), asks("")),
        ("body-added", false, asks(""), with_body("")),
        ("body-added", true, asks(""), with_body("required: true, ")),
        ("header-added", false, answers(""), header("")),
        (
            "header-optional",
            true,
            header("required: true, "),
            header(""),
        ),
        (
            "oauth-changed",
            true,
            oauth("https://a.example"),
            oauth("https://b.example"),
        ),
        ("operation-added", false, plain, both),
        (
            "paging-added",
            false,
            paging(""),
            paging(&list.replace("KEY", "name")),
        ),
        (
            "paging-changed",
            true,
            paging(&list.replace("KEY", "name")),
            paging(&list.replace("KEY", "id")),
        ),
        (
            "parameter-deprecated",
            false,
            query("schema: {type: string}"),
            query("deprecated: true, schema: {type: string}"),
        ),
        (
            "parameter-optional",
            false,
            query("required: true, schema: {type: string}"),
            query("schema: {type: string}"),
        ),
        (
            "parameter-style",
            true,
            query(ids),
            query(&format!("explode: false, {ids}")),
        ),
        (
            "request-property-added",
            false,
            asks(&format!("requestBody: {{{}}}, ", json(&object(one)))),
            asks(&format!("requestBody: {{{}}}, ", json(&object(two)))),
        ),
    ];
    check(rows);
}

#[test]
fn each_change_of_responses_has_its_rule() {
    let listed = |values: &str| {
        answers(&json(&format!(
            "{{type: string, enum: [{values}], x-extensible-enum: true}}"
        )))
    };
    let [one, two] = ["a: {type: string}", "a: {type: string}, b: {type: string}"];
    check([
        (
            "response-body-removed",
            true,
            answers(&json("{type: string}")),
            answers(""),
        ),
        (
            "response-narrowed",
            false,
            answers(&json("{type: integer, maximum: 9}")),
            answers(&json("{type: integer, maximum: 5}")),
        ),
        (
            "response-property-added",
            false,
            answers(&json(&object(one))),
            answers(&json(&object(two))),
        ),
        (
            "response-values-changed",
            false,
            listed("a, b"),
            listed("a, c"),
        ),
    ]);
}

/// Returns a document with schemas, and more of the operation `/a` that returns `A`.
fn crates(schemas: &str, more: &str) -> String {
    let content = json("{$ref: '#/components/schemas/A'}");
    let view = format!(
        "get: {{operationId: a_view, tags: [a], responses: {{'200': {{description: Done., {content}}}}}{more}"
    );
    let lines = schemas.lines().map(|line| format!("    {line}\n"));
    document(&format!(
        "  schemas:\n{}paths:\n  /a: {{{view}}}",
        lines.collect::<String>()
    ))
}

#[test]
fn each_change_of_the_crates_has_its_rule() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let of = |schema: &str| crates(&format!("A: {schema}"), "}");
    let object = |fields: &str| of(&format!("{{type: object, {fields}}}"));
    let part = |name: &str, schema: &str| {
        let property = format!("b: {{$ref: '#/components/schemas/{name}'}}");
        crates(
            &format!("A: {{type: object, properties: {{{property}}}}}\n{name}: {schema}"),
            "}",
        )
    };
    let listed = "{type: string, enum: [a, b]}";
    let plain = || object("properties: {a: {type: string}}");
    let with = |more: &str| crates("A: {type: object, properties: {a: {type: string}}}", more);
    let shared = |response: &str| {
        let other = format!("operationId: b_view, tags: [b], responses: {response}");
        format!("{}  /b: {{get: {{{other}}}}}\n", plain())
    };
    let whole = format!(
        "{{'200': {{description: Done., {}}}}}",
        json("{$ref: '#/components/schemas/A'}")
    );
    let rows = [
        (
            "rust-member-removed",
            object("properties: {a: {type: string}, b: {type: string}}"),
            plain(),
        ),
        (
            "rust-member-renamed",
            object("properties: {fooBar: {type: string}}"),
            object("properties: {fooBar: {type: string}, foo_bar: {type: string}}"),
        ),
        (
            "rust-type-changed",
            plain(),
            object("properties: {a: {type: boolean}}"),
        ),
        ("rust-removed", part("B", listed), plain()),
        ("rust-renamed", part("B", listed), part("C", listed)),
        (
            "rust-form-changed",
            part("B", listed),
            part("B", "{type: object, properties: {c: {type: string}}}"),
        ),
        (
            "rust-constructor-changed",
            object("required: [a, b], properties: {a: {type: string}, b: {type: boolean}}"),
            object("required: [a, b], properties: {b: {type: boolean}, a: {type: string}}"),
        ),
        (
            "rust-variant-added",
            part("B", listed),
            part("B", "{type: string, enum: [a, b, c]}"),
        ),
        (
            "rust-trait-removed",
            part("B", "{type: string, title: B}"),
            part("B", "{type: string, title: B, maxLength: 9}"),
        ),
        (
            "rust-method-added",
            plain(),
            with(&format!(
                "}}, delete: {{operationId: a_delete, tags: [a], {DONE}}}"
            )),
        ),
        (
            "rust-field-added",
            plain(),
            with(", parameters: [{name: q, in: query, schema: {type: string}}]}"),
        ),
        (
            "rust-generics-changed",
            plain(),
            with(", security: [{token: []}]}"),
        ),
        (
            "rust-feature-changed",
            shared(&whole),
            shared("{'204': {description: Done.}}"),
        ),
    ];
    for (rule, old, new) in rows {
        let report = report(folder.path(), &old, &new);
        let found = rules(&report["rust"]["findings"]);
        assert!(found.contains(rule), "{rule}: {found:?}\n{old}\n{new}");
    }
}

/// What the sources have in the form of a rule, and no change shows.
const OTHERS: [&str; 2] = [
    // The new variant `Unlisted` is the same change, and is said in its place.
    "rust-non-exhaustive",
    // An extension.
    "x-sunset",
];

/// Adds the rules that the sources of a folder name.
fn add(folder: &Path, into: &mut BTreeSet<String>) {
    for entry in fs::read_dir(folder).expect("the folder is there") {
        let path = entry.expect("an entry").path();
        if path.is_dir() {
            add(&path, into);
            continue;
        }
        let text = fs::read_to_string(&path).expect("it is a text");
        let is_rule = |text: &&str| {
            text.contains('-')
                && text.split('-').all(|word| {
                    !word.is_empty() && word.bytes().all(|byte| byte.is_ascii_lowercase())
                })
        };
        let texts = text
            .lines()
            .flat_map(|line| line.split('"').skip(1).step_by(2));
        into.extend(texts.filter(is_rule).map(str::to_owned));
    }
}

#[test]
fn every_rule_has_a_change_that_shows_it() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut known = BTreeSet::new();
    for folder in ["compare", "rust"] {
        add(
            &root.join("../crates/compatibility/src").join(folder),
            &mut known,
        );
    }
    assert!(known.len() > 50, "{known:?}");
    let tests = fs::read_dir(root.join("tests/diff")).expect("the folder is there");
    let tests = tests.map(|entry| fs::read_to_string(entry.expect("an entry").path()));
    let tests: String = tests.filter_map(Result::ok).collect();
    let words: BTreeSet<&str> = tests
        .split(|one: char| one != '-' && !one.is_ascii_lowercase())
        .collect();
    known.retain(|rule| !OTHERS.contains(&rule.as_str()));
    let missing: Vec<&String> = known
        .iter()
        .filter(|rule| !words.contains(rule.as_str()))
        .collect();
    assert!(missing.is_empty(), "no test shows {missing:?}");
}
