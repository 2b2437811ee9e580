//! The requests that a report shows.

use std::path::Path;
#[cfg(unix)]
use std::process::Command;

use crate::{DONE, path, report};

/// Returns the words that a shell passes to curl.
#[cfg(unix)]
fn words(folder: &Path, command: &str) -> Vec<String> {
    let script = format!("curl() {{ printf '%s\\0' \"$@\"; }}\n{command}");
    let output = Command::new("/bin/sh")
        .args(["-c", &script])
        .env("TOKEN", "secret; \"$(id)")
        .current_dir(folder)
        .output()
        .expect("a shell runs");
    let printed = String::from_utf8(output.stdout).expect("words are text");
    printed.split_terminator('\0').map(str::to_owned).collect()
}

/// The parameters, body or credential of an operation at `/a` or `/a/{id}`, and the words that are
/// passed to curl after it is removed; without words, no whole request can be written.
#[cfg(unix)]
const REQUESTS: &[(&str, &str, &str, Option<&[&str]>)] = &[
    (
        "get",
        "/a",
        "parameters: [{name: X-H, in: header, required: true, schema: {const: '$TOKEN\"; touch pwned; echo \"$(id)'}}]",
        Some(&[
            "-X",
            "GET",
            "https://pets.example/a",
            "-H",
            "X-H: $TOKEN\"; touch pwned; echo \"$(id)",
        ]),
    ),
    (
        "get",
        "/a",
        "security: [{key: []}]",
        Some(&[
            "-X",
            "GET",
            "https://pets.example/a",
            "-H",
            "X-`id`: secret; \"$(id)",
        ]),
    ),
    (
        "get",
        "/a",
        "security: [{token: []}]",
        Some(&[
            "-X",
            "GET",
            "https://pets.example/a",
            "-H",
            "Authorization: Bearer secret; \"$(id)",
        ]),
    ),
    (
        "get",
        "/a",
        "parameters: [{name: X-H, in: header, required: true, schema: {const: \"a\\nX-Evil: 1\"}}]",
        None,
    ),
    (
        "get",
        "/a",
        "parameters: [{name: X-H, in: header, required: true, schema: {const: ''}}]",
        None,
    ),
    (
        "get",
        "/a/{id}",
        "parameters: [{name: id, in: path, required: true, schema: {const: ''}}]",
        None,
    ),
    (
        "get",
        "/a/{id}",
        "parameters: [{name: id, in: path, required: true, schema: {const: '..'}}]",
        None,
    ),
    (
        "get",
        "/a/{id}",
        "parameters: [{name: id, in: path, required: true, style: label, schema: {const: 'b c'}}]",
        Some(&["-X", "GET", "https://pets.example/a/.b%20c"]),
    ),
    (
        "get",
        "/a/{id}",
        "parameters: [{name: id, in: path, required: true, style: matrix, schema: {const: b}}]",
        Some(&["-X", "GET", "https://pets.example/a/;id=b"]),
    ),
    ("head", "/a", "", Some(&["-I", "https://pets.example/a"])),
    (
        "get",
        "/a",
        "parameters: [{name: q, in: query, required: true, schema: {const: [b, 'c d']}}]",
        Some(&["-X", "GET", "https://pets.example/a?q=b&q=c%20d"]),
    ),
    (
        "get",
        "/a",
        "parameters: [{name: q, in: query, required: true, explode: false, schema: {const: [b, c]}}]",
        Some(&["-X", "GET", "https://pets.example/a?q=b,c"]),
    ),
    (
        "get",
        "/a",
        "parameters: [{name: q, in: query, required: true, explode: false, schema: {const: ['b,c', d]}}]",
        None,
    ),
    (
        "get",
        "/a",
        "parameters: [{name: q, in: query, required: true, style: pipeDelimited, explode: false, schema: {const: [b, c]}}]",
        Some(&["-X", "GET", "https://pets.example/a?q=b%7Cc"]),
    ),
    (
        "get",
        "/a",
        "parameters: [{name: q, in: query, required: true, style: deepObject, schema: {const: {b: c}}}]",
        Some(&["-X", "GET", "https://pets.example/a?q%5Bb%5D=c"]),
    ),
    (
        "get",
        "/a",
        "parameters: [{name: q, in: query, required: true, content: {application/json: {schema: {const: b}}}}]",
        Some(&["-X", "GET", "https://pets.example/a?q=%22b%22"]),
    ),
    (
        "get",
        "/a",
        "parameters: [{name: q, in: query, required: true, schema: {const: {b: {c: d}}}}]",
        None,
    ),
    (
        "post",
        "/a",
        "requestBody: {required: true, content: {text/plain: {schema: {const: '@b c'}}}}",
        Some(&[
            "-X",
            "POST",
            "https://pets.example/a",
            "-H",
            "Content-Type: text/plain",
            "--data-raw",
            "@b c",
        ]),
    ),
    (
        "post",
        "/a",
        "requestBody: {required: true, content: {application/x-www-form-urlencoded: {schema: {const: {b: 'c&d', e: [1, 2]}}}}}",
        Some(&[
            "-X",
            "POST",
            "https://pets.example/a",
            "-H",
            "Content-Type: application/x-www-form-urlencoded",
            "--data",
            "b=c%26d&e=1&e=2",
        ]),
    ),
    (
        "post",
        "/a",
        "requestBody: {required: true, content: {application/json: {schema: {const: \"b'c\\u202e\"}}}}",
        Some(&[
            "-X",
            "POST",
            "https://pets.example/a",
            "-H",
            "Content-Type: application/json",
            "--data",
            "\"b'c\\u202e\"",
        ]),
    ),
    (
        "post",
        "/a",
        "requestBody: {required: true, content: {multipart/form-data: {schema: {const: {b: c}}}}}",
        Some(&["-X", "POST", "https://pets.example/a", "-F", "b=c"]),
    ),
    // Nothing is known of how a null is a part.
    (
        "post",
        "/a",
        "requestBody: {required: true, content: {multipart/form-data: {schema: {const: {b: null}}}}}",
        None,
    ),
];

#[cfg(unix)]
#[test]
fn a_request_that_is_shown_can_be_pasted_and_carries_the_values() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let new = path("get", "/b", DONE);
    let mut wrong = Vec::new();
    for (method, template, fields, expected) in REQUESTS {
        let comma = if fields.is_empty() { "" } else { ", " };
        let old = path(method, template, &format!("{fields}{comma}{DONE}"));
        let report = report(folder.path(), &old, &new);
        let removed = report["findings"]
            .as_array()
            .expect("findings are a list")
            .iter()
            .find(|finding| finding["rule"] == "operation-removed")
            .unwrap_or_else(|| panic!("{fields}: {report:#}"));
        let witness = &removed["witness"];
        // Where no command can be written, the method and the path are all that is shown.
        let command = witness["text"].as_str().filter(|text| {
            let outline = format!(r#"{{"request":"{} {template}"}}"#, method.to_uppercase());
            witness["kind"] != "message" || *text != outline
        });
        let shown = command.map(|command| words(folder.path(), command));
        let expected = expected.map(|words| words.iter().map(ToString::to_string).collect());
        if shown != expected {
            wrong.push(format!("{method} {fields}: {command:?}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(!folder.path().join("pwned").exists());
}

#[test]
fn a_parameter_is_shown_in_a_request_with_the_body_that_it_needs() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let post = |most: u32| {
        let parameter = format!(
            "{{name: q, in: query, required: true, schema: {{type: integer, minimum: 1, maximum: {most}}}}}"
        );
        let body = "{required: true, content: {application/json: {schema: {const: b}}}}";
        let fields = format!("parameters: [{parameter}], requestBody: {body}, {DONE}");
        path("post", "/a", &fields)
    };
    let report = report(folder.path(), &post(9), &post(5));
    assert_eq!(
        report["findings"][0]["witness"]["text"],
        "curl -X POST 'https://pets.example/a?q=6' -H 'Content-Type: application/json' --data '\"b\"'",
        "{report:#}"
    );
}

#[test]
fn a_whole_query_is_shown_without_a_name() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let form = "application/x-www-form-urlencoded";
    let asks = |schema: &str| {
        let query =
            format!("{{name: q, in: querystring, content: {{{form}: {{schema: {schema}}}}}}}");
        let text = path("get", "/a", &format!("parameters: [{query}], {DONE}"));
        text.replace("openapi: 3.1.0", "openapi: 3.2.0")
    };
    let fields = "properties: {b: {type: string}, c: {type: integer}}";
    let wide = format!("{{type: object, {fields}}}");
    let narrow = format!("{{type: object, {fields}, required: [b]}}");
    let few = format!("{{type: object, {fields}, required: [b], maxProperties: 1}}");
    let rows = [(&wide, &narrow, "c=0"), (&narrow, &few, "b=")];
    for (old, new, query) in rows {
        let found = report(folder.path(), &asks(old), &asks(new));
        let witness = &found["findings"][0]["witness"]["text"];
        let start = format!("curl -X GET 'https://pets.example/a?{query}");
        let is_shown = witness
            .as_str()
            .is_some_and(|text| text.starts_with(&start));
        assert!(is_shown, "{found:#}");
    }
}
