//! `unevaluatedProperties` beside alternatives: what is decided, and how far.

use serde_json::Value;

use crate::{DONE, document, path, report};

/// Returns the rule of each finding.
fn rules(report: &Value) -> Vec<&str> {
    let findings = report["findings"].as_array().expect("findings are a list");
    let rules = findings.iter().map(|finding| finding["rule"].as_str());
    rules.map(|rule| rule.expect("a rule is a text")).collect()
}

/// Returns a document whose request body is the first of `levels` schemas, each of which names the
/// next one four times. The first has these further keywords.
fn ladder(levels: usize, keywords: &str) -> String {
    let schemas: String = (0..levels)
        .map(|at| {
            let next = format!("{{$ref: '#/components/schemas/L{}'}}", at + 1);
            let any = format!("anyOf: [{next}, {next}, {next}, {next}]");
            match at {
                0 => format!("    L0: {{{any}, {keywords}}}\n"),
                _ => format!("    L{at}: {{{any}}}\n"),
            }
        })
        .collect();
    let body = "content: {application/json: {schema: {$ref: '#/components/schemas/L0'}}}";
    document(&format!(
        "  schemas:
{schemas}    L{levels}: {{type: object, properties: {{x: {{type: string}}}}}}
paths: {{/a: {{post: {{operationId: a, requestBody: {{required: true, {body}}}, {DONE}}}}}}}"
    ))
}

#[test]
fn what_no_validator_can_hold_is_undecided_in_words() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    // The first has 1,360 ways and the second 21,840; twelve levels have 22 million.
    for (levels, rule, words) in [
        (5, "request-narrowed", "`required` gains `z`"),
        (7, "undecided", "beside too many alternatives"),
        (12, "undecided", "beside too many alternatives"),
    ] {
        let with = |more: &str| {
            ladder(
                levels,
                &format!(
                    "properties: {{z: {{type: integer}}}}, {more}unevaluatedProperties: false"
                ),
            )
        };
        let found = report(folder.path(), &with(""), &with("required: [z], "));
        assert_eq!(rules(&found), [rule], "{levels}: {found:#}");
        let message = found["findings"][0]["message"].as_str();
        assert!(
            message.is_some_and(|text| text.contains(words)),
            "{found:#}"
        );
    }
}

/// Returns a document with this schema of a request body.
fn body(schema: &str) -> String {
    let body = format!("content: {{application/json: {{schema: {schema}}}}}");
    path("post", "/a", &format!("requestBody: {{{body}}}, {DONE}"))
}

#[test]
fn a_property_that_only_some_branches_evaluate_is_decided() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let open =
        "{type: object, properties: {kind: {type: string}, a: {type: string}, b: {type: string}}}";
    let branch = |name: &str, least: u8| {
        format!(
            "{{required: [kind, {name}], properties: {{{name}: {{type: string, minLength: {least}}}}}}}"
        )
    };
    let closed = |keyword: &str, least: u8| {
        format!(
            "{{type: object, properties: {{kind: {{type: string}}}}, {keyword}: [{}, {}], unevaluatedProperties: false}}",
            branch("a", 0),
            branch("b", least)
        )
    };
    let conditional = "{type: object, properties: {kind: {type: string}}, if: {required: [kind]}, then: {properties: {a: {type: string}}}, else: {properties: {b: {type: string}}}, unevaluatedProperties: false}";
    let narrowed: &[&str] = &["request-narrowed"];
    let widened: &[&str] = &["request-widened"];
    for (old, new, expected) in [
        // `b` is refused where it is empty, and left over where `a` is there.
        (closed("anyOf", 0), closed("anyOf", 1), narrowed),
        (closed("anyOf", 1), closed("anyOf", 0), widened),
        (closed("oneOf", 0), closed("anyOf", 0), widened),
        (closed("anyOf", 0), closed("oneOf", 0), narrowed),
        (open.to_owned(), conditional.to_owned(), narrowed),
        (
            conditional.to_owned(),
            open.to_owned(),
            &["request-property-added", "request-property-added"],
        ),
        (
            conditional.to_owned(),
            conditional.replace("{a: {type: string}}", "{a: {minLength: 0, type: string}}"),
            &[],
        ),
    ] {
        let found = report(folder.path(), &body(&old), &body(&new));
        assert_eq!(rules(&found), expected, "{old}\n{new}\n{found:#}");
    }
}
