//! Changes of responses, bodies and parameters.

use std::path::Path;

use crate::{DONE, document, path, report};

/// Returns the findings on a change, each with its kind and rule, sorted.
fn findings(folder: &Path, old: &str, new: &str) -> Vec<String> {
    let report = report(folder, old, new);
    let mut found: Vec<String> = report["findings"]
        .as_array()
        .expect("findings are a list")
        .iter()
        .map(|one| {
            let text = |key: &str| one[key].as_str().unwrap_or_default().to_owned();
            format!("{} {}", text("kind"), text("rule"))
        })
        .collect();
    found.sort_unstable();
    found
}

/// Two versions of the responses of an operation, and the findings about them.
const RESPONSES: &[(&str, &str, &[&str])] = &[
    (
        "{'200': {$ref: '#/x/ok'}, '404': {$ref: '#/x/code'}, default: {$ref: '#/x/error'}}",
        "{'200': {$ref: '#/x/ok'}, default: {$ref: '#/x/error'}}",
        &["breaking response-widened"],
    ),
    (
        "{'200': {$ref: '#/x/code'}, 2XX: {$ref: '#/x/error'}}",
        "{2XX: {$ref: '#/x/error'}}",
        &["breaking response-widened"],
    ),
    (
        "{'200': {$ref: '#/x/code'}, default: {$ref: '#/x/error'}}",
        "{default: {$ref: '#/x/error'}}",
        &["breaking response-widened"],
    ),
    (
        "{default: {$ref: '#/x/error'}}",
        "{'404': {$ref: '#/x/error'}, default: {$ref: '#/x/error'}}",
        &[],
    ),
    (
        "{2XX: {$ref: '#/x/ok'}}",
        "{'200': {$ref: '#/x/ok'}}",
        &["compatible status-removed"],
    ),
    (
        "{'302': {$ref: '#/x/ok'}, '404': {$ref: '#/x/ok'}}",
        "{'200': {$ref: '#/x/ok'}, '404': {$ref: '#/x/ok'}}",
        &["success_status_changed success-status-changed"],
    ),
    (
        "{'302': {$ref: '#/x/ok'}}",
        "{'307': {$ref: '#/x/ok'}}",
        &["success_status_changed success-status-changed"],
    ),
    (
        "{'200': {$ref: '#/x/ok'}, '202': {$ref: '#/x/ok'}}",
        "{'200': {$ref: '#/x/ok'}}",
        &["success_status_changed status-removed"],
    ),
    (
        "{'200': {description: d, headers: {X-A: {required: true, schema: {type: string}}}}}",
        "{'200': {description: d, headers: {X-A: {required: true, content: {application/json: {schema: {type: string}}}}}}}",
        &["breaking header-style"],
    ),
    (
        "{'200': {description: d, headers: {X-A: {schema: {type: object}}}}}",
        "{'200': {description: d, headers: {X-A: {explode: true, schema: {type: object}}}}}",
        &["breaking header-style"],
    ),
    (
        "{'200': {description: d, headers: {X-A: {schema: {type: array, items: {type: string}}}}}}",
        "{'200': {description: d, headers: {X-A: {explode: true, schema: {type: array, items: {type: string}}}}}}",
        &[],
    ),
    (
        "{'200': {description: d, content: {'*/*': {schema: {type: string}}}}}",
        "{'200': {description: d, content: {application/json: {schema: {type: string}}}}}",
        &[],
    ),
    (
        "{'200': {description: d, content: {application/json: {schema: {type: string}}}}}",
        "{'200': {description: d, content: {'application/*': {schema: {type: string}}}}}",
        &["breaking media-type-widened"],
    ),
];

/// Two versions of the responses of a webhook, and the findings about them.
const RESPONSES_OF_WEBHOOKS: &[(&str, &str, &[&str])] = &[
    (
        "{'200': {$ref: '#/x/ok'}, '204': {$ref: '#/x/ok'}, '410': {$ref: '#/x/ok'}}",
        "{'200': {$ref: '#/x/ok'}, '410': {$ref: '#/x/ok'}}",
        &["breaking status-removed"],
    ),
    (
        "{'200': {$ref: '#/x/ok'}, '410': {$ref: '#/x/ok'}}",
        "{'200': {$ref: '#/x/ok'}}",
        &["breaking status-removed"],
    ),
    (
        "{'200': {$ref: '#/x/ok'}}",
        "{'200': {$ref: '#/x/ok'}, '202': {$ref: '#/x/ok'}}",
        &["compatible status-added"],
    ),
    (
        "{'200': {description: d, headers: {X-A: {schema: {type: string}}}}}",
        "{'200': {description: d, headers: {X-A: {required: true, schema: {type: string}}, X-B: {required: true, schema: {type: string}}}}}",
        &["breaking header-required", "breaking header-required"],
    ),
    (
        "{'200': {$ref: '#/x/ok'}}",
        "{'200': {$ref: '#/x/code'}}",
        &["breaking response-body-required"],
    ),
];

#[test]
fn responses_are_judged_by_who_receives_them() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let of = |name: &str| {
        format!(
            "{{description: d, content: {{application/json: {{schema: {{type: object, properties: {{{name}: {{type: string}}}}, required: [{name}]}}}}}}}}"
        )
    };
    let whole = |responses: &str| {
        responses
            .replace("{$ref: '#/x/ok'}", "{description: d}")
            .replace("{$ref: '#/x/code'}", &of("code"))
            .replace("{$ref: '#/x/error'}", &of("error"))
    };
    let mut wrong = Vec::new();
    for (old, new, expected) in RESPONSES {
        let get = |responses: &str| path("get", "/a", &format!("responses: {}", whole(responses)));
        let found = findings(folder.path(), &get(old), &get(new));
        if found != *expected {
            wrong.push(format!("{old} → {new}: {found:?}"));
        }
    }
    for (old, new, expected) in RESPONSES_OF_WEBHOOKS {
        let hook = |responses: &str| {
            document(&format!(
                "webhooks: {{a: {{post: {{operationId: a, responses: {}}}}}}}",
                whole(responses)
            ))
        };
        let found = findings(folder.path(), &hook(old), &hook(new));
        if found != *expected {
            wrong.push(format!("webhook: {old} → {new}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}

/// Two versions of the fields of an operation, and the findings about them.
const REQUEST_PARTS: &[(&str, &str, &[&str])] = &[
    (
        "requestBody: {content: {application/json: {schema: {type: string}}}}",
        "requestBody: {content: {'*/*': {schema: {}}, application/json: {schema: {type: string, maxLength: 3}}}}",
        &["breaking request-narrowed", "compatible media-type-added"],
    ),
    (
        "requestBody: {content: {'*/*': {schema: {type: string}}}}",
        "requestBody: {content: {'*/*': {schema: {type: string}}, application/json: {schema: {type: string, maxLength: 3}}}}",
        &["breaking request-narrowed"],
    ),
    (
        "requestBody: {content: {application/json;v=1: {schema: {type: string}}, application/json;v=2: {schema: {type: string}}}}",
        "requestBody: {content: {application/json;v=1: {schema: {type: string}}}}",
        &["breaking media-type-removed"],
    ),
    (
        "requestBody: {content: {application/json: {schema: {type: string}}}}",
        "requestBody: {content: {application/json; charset=UTF-8: {schema: {type: string}}}}",
        &[],
    ),
    (
        "parameters: [{name: q, in: query, content: {application/json: {schema: {type: integer}}}}]",
        "parameters: [{name: q, in: query, content: {application/json: {schema: {type: string}}}}]",
        &["breaking request-narrowed"],
    ),
    (
        "parameters: [{name: q, in: query, schema: {type: integer, default: 10}}]",
        "parameters: [{name: q, in: query, schema: {type: string, default: '20'}}]",
        &["meaning_changed default-changed"],
    ),
    (
        "parameters: [{name: q, in: query, schema: {type: integer, default: 10}}]",
        "parameters: [{name: q, in: query, schema: {type: string, default: '10'}}]",
        &["compatible request-widened"],
    ),
];

#[test]
fn bodies_and_parameters_are_judged_by_how_they_are_written() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut wrong = Vec::new();
    for (old, new, expected) in REQUEST_PARTS {
        let post = |fields: &str| path("post", "/a", &format!("{fields}, {DONE}"));
        let found = findings(folder.path(), &post(old), &post(new));
        if found != *expected {
            wrong.push(format!("{old} → {new}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let hook = |content: &str| {
        document(&format!(
            "webhooks: {{a: {{post: {{operationId: a, requestBody: {{content: {{{content}}}}}, {DONE}}}}}}}"
        ))
    };
    let json = "application/json: {schema: {type: string}}";
    let more = format!("{json}, text/plain: {{schema: {{type: string}}}}");
    let found = findings(folder.path(), &hook(json), &hook(&more));
    assert_eq!(found, ["breaking media-type-widened"]);
    let found = findings(folder.path(), &hook(&more), &hook(json));
    assert_eq!(found, ["compatible media-type-removed"]);
}

/// Two versions of the data of an event among several, and the findings about them.
const CONTENTS: &[(&str, &str, &[&str])] = &[
    (
        "contentSchema: {type: integer}",
        "contentSchema: {type: string}",
        &["breaking response-widened"],
    ),
    (
        "contentSchema: {type: integer}",
        "minLength: 0",
        &["breaking schema-missing"],
    ),
    (
        "minLength: 0",
        "contentSchema: {type: integer}",
        &["compatible schema-missing"],
    ),
    (
        "contentSchema: {type: integer}",
        "contentSchema: {type: integer, maximum: 3}",
        &["compatible response-narrowed"],
    ),
    (
        "contentSchema: {type: integer}",
        "contentSchema: {type: integer, title: a}",
        &[],
    ),
];

#[test]
fn the_data_of_events_is_judged_by_its_schema() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut wrong = Vec::new();
    for (old, new, expected) in CONTENTS {
        // Two kinds, of which only the second one changes.
        let events = |data: &str| {
            let event = |name: &str, data: &str| {
                format!(
                    "{{type: object, required: [event, data], properties: {{event: {{const: {name}}}, data: {{type: string, {data}}}}}}}"
                )
            };
            let kinds = [
                event("a", "contentSchema: {type: integer}"),
                event("b", data),
            ]
            .join(", ");
            path(
                "get",
                "/a",
                &format!(
                    "responses: {{'200': {{description: d, content: {{text/event-stream: {{x-item-schema: {{oneOf: [{kinds}]}}}}}}}}}}"
                ),
            )
        };
        let found = findings(folder.path(), &events(old), &events(new));
        if found != *expected {
            wrong.push(format!("{old} → {new}: {found:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
}
