//! That every rule whose findings can be breaking shows them by a message, for what clients send and for
//! what they receive.

use std::collections::BTreeSet;
use std::path::Path;

use compatibility::BREAKING_RULES;
use serde_json::Value;

use crate::{DONE, document, path, report};

/// Returns the breaking findings on a change, each with its rule and the text of its witness.
fn breaking(folder: &Path, old: &str, new: &str) -> Vec<(String, Option<String>)> {
    let report = report(folder, old, new);
    let findings = report["findings"].as_array().expect("findings are a list");
    let text = |value: &Value| value.as_str().map(str::to_owned);
    findings
        .iter()
        .filter(|finding| finding["kind"] == "breaking")
        .map(|finding| {
            let rule = text(&finding["rule"]).expect("a rule is a text");
            (rule, text(&finding["witness"]["text"]))
        })
        .collect()
}

/// Returns an operation with this field.
fn asks(field: &str) -> String {
    path("post", "/a", &format!("{field}, {DONE}"))
}

/// Returns a document whose requests and responses are pets, which this property tells apart.
fn tagged(property: &str, more: &str) -> String {
    let branch = |name: &str, own: &str| {
        format!(
            "    {name}: {{type: object, required: [{property}, {own}], properties: {{{property}: {{const: {}}}, {own}: {{type: string}}}}}}\n",
            name.to_lowercase()
        )
    };
    let reference = |name: &str| format!("{{$ref: '#/components/schemas/{name}'}}");
    let (cat, dog, pet) = (reference("Cat"), reference("Dog"), reference("Pet"));
    let mapping = "{cat: '#/components/schemas/Cat', dog: '#/components/schemas/Dog'}";
    let json = format!("content: {{application/json: {{schema: {pet}}}}}");
    document(&format!(
        "  schemas:
    Pet: {{oneOf: [{cat}, {dog}], discriminator: {{propertyName: {property}, mapping: {mapping}}}}}
{}{}paths: {{/a: {{post: {{operationId: a, requestBody: {{{json}}}, responses: {{'200': {{description: Done., {json}}}}}}}}}}}",
        branch("Cat", "name"),
        branch("Dog", &format!("bark{more}")),
    ))
}

fn answers(fields: &str) -> String {
    let responses = format!("responses: {{'200': {{description: Done., {fields}}}}}");
    path("get", "/a", &responses)
}

/// Returns a webhook with these fields.
fn hook(fields: &str) -> String {
    document(&format!(
        "webhooks: {{a: {{post: {{operationId: a, {fields}}}}}}}"
    ))
}

fn hook_answers(fields: &str) -> String {
    hook(&format!(
        "responses: {{'200': {{description: Done., {fields}}}}}"
    ))
}

fn content(media: &str, fields: &str) -> String {
    format!("content: {{{media}: {{{fields}}}}}")
}

fn body(media: &str, fields: &str) -> String {
    format!("requestBody: {{{}}}", content(media, fields))
}

const TEXT: &str = "schema: {type: string}";
const JSON: &str = "application/json";
const PARTS: &str = "multipart/form-data";
const FORM: &str = "application/x-www-form-urlencoded";
const LIST: &str = "schema: {type: array, items: {type: string}}";
const NONE: &str = "X-None: 1";

/// A rule, the documents before and after a change, and a text that the witness has.
type Row = (&'static str, String, String, &'static str);

/// Returns changes of operations and of what requests must prove.
fn whole() -> Vec<Row> {
    let paths = |paths: &str| document(&format!("paths: {{{paths}}}"));
    let get = |id: &str, more: &str| format!("{{get: {{operationId: {id}, {more}{DONE}}}}}");
    let id = "parameters: [{name: id, in: path, required: true, schema: {type: string}}], ";
    let one = format!("'/pets/{{id}}': {}", get("view", id));
    let two = format!("{one}, /pets/mine: {}", get("mine", ""));
    // Nothing is known of how curl would write an XML body that must be there.
    let xml = format!(
        "{}, {DONE}",
        body("application/xml", TEXT).replace("content", "required: true, content")
    );
    let secured = |scheme: &str| {
        path(
            "get",
            "/a",
            &format!("security: [{{{scheme}: []}}], {DONE}"),
        )
    };
    vec![
        (
            "operation-removed",
            paths(&two),
            paths(&one),
            "https://pets.example/pets/mine",
        ),
        (
            "operation-removed",
            path("post", "/a", &xml),
            paths(&one),
            r#"{"request":"POST /a"}"#,
        ),
        (
            "path-taken",
            paths(&one),
            paths(&two),
            "curl -X GET https://pets.example/pets/mine",
        ),
        (
            "server-changed",
            path("get", "/a", DONE),
            path("get", "/a", DONE).replace("pets.example", "b.example"),
            "https://pets.example/a",
        ),
        (
            "server-changed",
            path("get", "/a", DONE).replace("https://pets.example", "/v1"),
            path("get", "/a", DONE),
            "/v1",
        ),
        (
            "security-tightened",
            path("get", "/a", DONE),
            secured("token"),
            "curl -X GET https://pets.example/a",
        ),
    ]
}

/// Returns changes of how clients get their tokens.
fn tokens() -> Vec<Row> {
    let flow = |flow: &str, fields: &str, scopes: &str| {
        let open = format!(
            "    open: {{type: oauth2, flows: {{{flow}: {{{fields}, scopes: {{{scopes}}}}}}}}}\n    token:"
        );
        path("get", "/a", &format!("security: [{{open: []}}], {DONE}")).replacen(
            "    token:",
            &open,
            1,
        )
    };
    let token = "tokenUrl: https://a.example/t";
    let both = "read: R., write: W.";
    vec![
        (
            "oauth-changed",
            flow("clientCredentials", token, both),
            flow("clientCredentials", "tokenUrl: https://b.example/t", both),
            "curl -X POST https://a.example/t -u \"$CLIENT_ID:$CLIENT_SECRET\" --data 'grant_type=client_credentials&scope=read'",
        ),
        (
            "oauth-changed",
            flow("clientCredentials", token, both),
            flow("clientCredentials", token, "read: R."),
            "scope=write'",
        ),
        (
            "oauth-changed",
            flow("password", token, both),
            flow("clientCredentials", token, both),
            "grant_type=password&scope=read'",
        ),
        (
            "oauth-changed",
            flow(
                "implicit",
                "authorizationUrl: 'https://a.example/x?y=1'",
                "",
            ),
            flow("implicit", "authorizationUrl: https://b.example", ""),
            "curl -G 'https://a.example/x?y=1' --data-urlencode \"client_id=$CLIENT_ID\" --data 'response_type=token'",
        ),
        (
            "oauth-changed",
            flow(
                "password",
                &format!("{token}, refreshUrl: https://a.example/r"),
                both,
            ),
            flow("password", token, both),
            "curl -X POST https://a.example/r -u \"$CLIENT_ID:$CLIENT_SECRET\" --data grant_type=refresh_token",
        ),
        (
            "oauth-changed",
            flow("clientCredentials", "tokenUrl: /t", both),
            flow("clientCredentials", token, both),
            r#"{"flow":"clientCredentials","url":"/t","scope":"read"}"#,
        ),
    ]
}

/// Returns changes of requests.
fn requests() -> Vec<Row> {
    let sent = |media: &str, fields: &str| asks(&body(media, fields));
    let pushed = |media: &str, fields: &str| hook(&format!("{}, {DONE}", body(media, fields)));
    let required = |field: String| field.replace("content", "required: true, content");
    vec![
        (
            "body-added",
            path("post", "/a", DONE),
            asks(&required(body(JSON, TEXT))),
            "curl -X POST https://pets.example/a",
        ),
        (
            "body-removed",
            sent(JSON, TEXT),
            path("post", "/a", DONE),
            "curl -X POST https://pets.example/a",
        ),
        (
            "body-removed",
            pushed(JSON, TEXT),
            hook(DONE),
            r#"{"webhook":"webhook a (POST a)"}"#,
        ),
        (
            "body-required",
            sent(JSON, TEXT),
            asks(&required(body(JSON, TEXT))),
            "curl -X POST https://pets.example/a",
        ),
        (
            "body-required",
            hook(&format!("{}, {DONE}", required(body(JSON, TEXT)))),
            pushed(JSON, TEXT),
            r#"{"webhook":"webhook a (POST a)"}"#,
        ),
        (
            "media-type-removed",
            sent("font/*", TEXT),
            sent("font/woff", TEXT),
            r#"{"media_type":"font/vnd.example"}"#,
        ),
        (
            "media-type-widened",
            pushed(JSON, TEXT),
            pushed("application/*", TEXT),
            r#"{"webhook":"webhook a (POST a)","media_type":"application/octet-stream"}"#,
        ),
        (
            "schema-missing",
            sent(JSON, "example: 1"),
            sent(JSON, TEXT),
            "curl -X POST",
        ),
    ]
}

/// Returns changes of parameters.
fn parameters() -> Vec<Row> {
    let takes = |parameter: &str| {
        path(
            "get",
            "/a",
            &format!("parameters: [{{name: q, in: query, {parameter}}}], {DONE}"),
        )
    };
    let called = |parameter: &str| {
        hook(&format!(
            "parameters: [{{name: q, in: query, {parameter}}}], {DONE}"
        ))
    };
    vec![
        (
            "parameter-required",
            takes("schema: {type: string}"),
            takes("required: true, schema: {type: string}"),
            "curl -X GET https://pets.example/a",
        ),
        (
            "parameter-required",
            called("required: true, schema: {type: string}"),
            called("schema: {type: string}"),
            r#"{"webhook":"webhook a (POST a)","parameters":{}}"#,
        ),
        (
            "parameter-style",
            takes(LIST),
            takes(&format!("explode: false, {LIST}")),
            "curl -X GET 'https://pets.example/a?q=a&q=b'",
        ),
        (
            "parameter-style",
            takes("allowReserved: true, schema: {type: string}"),
            takes("schema: {type: string}"),
            "curl -X GET 'https://pets.example/a?q=/'",
        ),
        (
            "parameter-style",
            called(&format!("explode: false, {LIST}")),
            called(LIST),
            r#"{"webhook":"webhook a (POST a)","query":{"q":"q=a&q=b"}}"#,
        ),
        (
            "parameter-style",
            takes(
                "style: deepObject, explode: true, schema: {type: object, required: [a], properties: {a: {type: object}}}",
            ),
            takes("schema: {type: object, required: [a], properties: {a: {type: object}}}"),
            r#"{"request":"GET /a","query":{"q":{"a":{}}}}"#,
        ),
        (
            "request-narrowed",
            takes("schema: {type: string}"),
            takes("schema: {type: string, maxLength: 3}"),
            "curl -X GET",
        ),
        // This style has no way to write empty texts.
        (
            "request-narrowed",
            takes(&format!("style: pipeDelimited, explode: false, {LIST}")),
            takes(
                "style: pipeDelimited, explode: false, schema: {type: array, items: {type: string}, uniqueItems: true}",
            ),
            "curl -X GET 'https://pets.example/a?q=a%7Ca'",
        ),
    ]
}

/// Returns changes of how fields and parts are written.
fn parts() -> Vec<Row> {
    let sent = |media: &str, fields: &str| asks(&body(media, fields));
    let pushed = |media: &str, fields: &str| hook(&format!("{}, {DONE}", body(media, fields)));
    let object = "schema: {type: object, required: [a], properties: {a: {type: string}, b: {type: array, items: {type: string}}}}";
    let explode = |value: &str| format!("{object}, encoding: {{b: {{explode: {value}}}}}");
    let part = |encoding: &str| {
        format!(
            "schema: {{type: object, properties: {{b: {{type: object}}}}}}, encoding: {{b: {{{encoding}}}}}"
        )
    };
    let header = |fields: &str| {
        part(&format!(
            "contentType: application/json, headers: {{X-A: {{{fields}}}}}"
        ))
    };
    vec![
        (
            "encoding-changed",
            sent(FORM, &explode("true")),
            sent(FORM, &explode("false")),
            "--data 'a=&b=a&b=b'",
        ),
        (
            "encoding-changed",
            pushed(FORM, &explode("true")),
            pushed(FORM, &explode("false")),
            r#""media_type":"application/x-www-form-urlencoded","body":"b=a,b"}"#,
        ),
        (
            "encoding-changed",
            sent(PARTS, &part("contentType: font/*")),
            sent(PARTS, &part("contentType: font/woff")),
            // A font is no object, so curl cannot send the part.
            r#"{"part":"b","media_type":"font/vnd.example"}"#,
        ),
        // The default media type of an object.
        (
            "encoding-changed",
            sent(PARTS, &part("")),
            sent(PARTS, &part("contentType: text/plain")),
            "https://pets.example/a -F 'b={};type=application/json'",
        ),
        (
            "encoding-changed",
            sent(PARTS, &part("explode: true")),
            sent(PARTS, &part("explode: false")),
            "https://pets.example/a -F 'a=b'",
        ),
        (
            "part-header-required",
            sent(PARTS, &header(TEXT)),
            sent(PARTS, &header(&format!("required: true, {TEXT}"))),
            "https://pets.example/a -F 'b={};type=application/json'",
        ),
        (
            "part-header-optional",
            pushed(PARTS, &header(&format!("required: true, {TEXT}"))),
            pushed(PARTS, &header(TEXT)),
            r#"{"part":"b","headers":{}}"#,
        ),
        (
            "part-header-removed",
            pushed(PARTS, &header(&format!("required: true, {TEXT}"))),
            pushed(PARTS, &part("contentType: application/json")),
            r#"{"part":"b","headers":{}}"#,
        ),
        (
            "part-header-style",
            sent(PARTS, &header("explode: true, schema: {type: object}")),
            sent(PARTS, &header("schema: {type: object}")),
            r#"-F 'b={};type=application/json;headers="X-A: a=b"'"#,
        ),
    ]
}

/// Returns changes of responses.
fn responses() -> Vec<Row> {
    let headers = |name: &str, fields: &str| format!("headers: {{{name}: {{{fields}}}}}");
    let optional = headers("X-A", TEXT);
    let required = headers("X-A", &format!("required: true, {TEXT}"));
    let object = "schema: {type: object, properties: {b: {type: integer}}}";
    let flat = headers("X-A", object);
    let exploded = headers("X-A", &format!("explode: true, {object}"));
    let statuses = |statuses: &str| hook(&format!("responses: {{{statuses}}}"));
    vec![
        (
            "header-optional",
            answers(&required),
            answers(&optional),
            r#"{"status":"200","headers":{}}"#,
        ),
        (
            "header-removed",
            answers(&required),
            answers(NONE),
            r#"{"status":"200","headers":{}}"#,
        ),
        (
            "header-required",
            hook_answers(&optional),
            hook_answers(&required),
            r#"{"status":"200","headers":{}}"#,
        ),
        (
            "header-style",
            answers(&flat),
            answers(&exploded),
            r#"{"status":"200","headers":{"X-A":"b=0"}}"#,
        ),
        (
            "header-style",
            hook_answers(&flat),
            hook_answers(&exploded),
            r#"{"status":"200","headers":{"X-A":"b,0"}}"#,
        ),
        (
            "media-type-removed",
            answers(&content(JSON, TEXT)),
            answers(&content("text/csv", TEXT)),
            "-H 'Accept: application/json'",
        ),
        (
            "media-type-removed",
            hook_answers(&content(JSON, TEXT)),
            hook_answers(&content("text/csv", TEXT)),
            r#"{"status":"200","media_type":"application/json"}"#,
        ),
        (
            "media-type-widened",
            answers(&content(JSON, TEXT)),
            answers(&content("application/*", TEXT)),
            r#"{"status":"200","media_type":"application/octet-stream"}"#,
        ),
        (
            "response-body-removed",
            answers(&content(JSON, TEXT)),
            answers(NONE),
            r#"{"status":"200"}"#,
        ),
        (
            "response-body-required",
            hook_answers(NONE),
            hook_answers(&content(JSON, TEXT)),
            r#"{"status":"200"}"#,
        ),
        (
            "discriminator-renamed",
            tagged("kind", ""),
            tagged("type", ""),
            r#"{"kind":"cat","name":""}"#,
        ),
        (
            "response-widened",
            answers(&content(JSON, "schema: {type: integer}")),
            answers(&content(JSON, "schema: {type: number}")),
            r#"{"status":"200","media_type":"application/json","body":0.1}"#,
        ),
        (
            "status-removed",
            statuses("'200': {description: A.}, '204': {description: B.}"),
            statuses("'200': {description: A.}"),
            r#"{"status":"204"}"#,
        ),
    ]
}

#[test]
fn every_breaking_finding_has_a_witness() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut shown = BTreeSet::new();
    let mut wrong = Vec::new();
    for (rule, old, new, expected) in [
        whole(),
        tokens(),
        requests(),
        parameters(),
        parts(),
        responses(),
    ]
    .concat()
    {
        let old = old.replace(NONE, "x-none: 1");
        let new = new.replace(NONE, "x-none: 1");
        let found = breaking(folder.path(), &old, &new);
        if let Some((other, _)) = found.iter().find(|(_, witness)| witness.is_none()) {
            wrong.push(format!("{other} has no witness:\n{old}\n{new}"));
        }
        let mut texts = found.iter().filter(|(other, _)| other == rule);
        let is_one = |(_, text): &(_, Option<String>)| {
            text.as_deref().is_some_and(|text| text.contains(expected))
        };
        if texts.any(is_one) {
            shown.insert(rule);
        } else {
            wrong.push(format!(
                "{rule}: {expected} is not in {found:?}\n{old}\n{new}"
            ));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let all = BTreeSet::from(BREAKING_RULES);
    assert_eq!(shown, all, "each rule has a change that shows it");
    assert!(BREAKING_RULES.is_sorted());
}

#[test]
fn a_renamed_property_of_a_discriminator_is_one_finding() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let rules = |new: &str| {
        let report = report(folder.path(), &tagged("kind", ""), new);
        let findings = report["findings"].as_array().expect("findings are a list");
        let rules = findings.iter().map(|one| one["rule"].to_string());
        rules.collect::<Vec<_>>()
    };
    assert_eq!(rules(&tagged("type", "")), ["\"discriminator-renamed\""]);
    // What else changes in a branch is a finding of its own.
    let other = rules(&tagged("type", "ing"));
    assert!(
        other.contains(&"\"discriminator-renamed\"".to_owned()),
        "{other:?}"
    );
    assert!(
        other.contains(&"\"request-narrowed\"".to_owned()),
        "{other:?}"
    );
}
