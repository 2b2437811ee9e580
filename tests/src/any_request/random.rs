//! Random requests, most of them slightly wrong.

use std::sync::LazyLock;

use serde_json::Value;

use super::CONTRACT;
use crate::any_document::damage;
use crate::memory::{PROJECT, TOKEN};
use crate::random::Choices;
use crate::{seed, values};

/// Makes up to four requests of the contract on one connection, each of which is mostly right, and
/// sometimes damages their bytes.
#[must_use]
pub fn requests(choices: &mut Choices<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for _ in 0..=choices.below(4) {
        request(&mut bytes, choices);
    }
    if choices.rarely(3) {
        bytes = damage(&bytes, choices);
    }
    bytes
}

/// The method, the path and the schema of the body of each operation.
static OPERATIONS: LazyLock<Vec<(String, String, Option<Value>)>> = LazyLock::new(|| {
    let paths = CONTRACT["paths"].as_object().expect("paths are an object");
    let mut operations = Vec::new();
    for (path, item) in paths {
        for (method, operation) in item.as_object().expect("a path is an object") {
            let schema = operation.pointer("/requestBody/content/application~1json/schema");
            if operation["operationId"].is_string() {
                operations.push((method.to_uppercase(), path.clone(), schema.cloned()));
            }
        }
    }
    operations
});

fn request(bytes: &mut Vec<u8>, choices: &mut Choices<'_>) {
    const METHODS: [&str; 7] = ["GET", "HEAD", "OPTIONS", "PUT", "TRACE", "get", "G@T"];
    const QUERIES: [&str; 8] = [
        "?page_size=2",
        "?page_size=0",
        "?page_size=1&page_size=2",
        "?order_column=name&start_after=a%20b",
        "?start_after=%ff",
        "?&&=%",
        "?order_column=%00",
        "#part",
    ];
    const HEADERS: [&str; 16] = [
        "connection: close",
        "connection: keep-alive",
        "expect: 100-continue",
        "host: two.example",
        "accept: text/html",
        "accept-encoding: gzip",
        "if-match: \"memory\"",
        "if-match: W/\"memory\", *",
        "idempotency-key: once",
        "idempotency-key: ",
        "x-request-id: mine",
        "x-request-id: \u{e9}",
        "origin: https://example.com",
        "content-length: 5",
        "content-length: 99999999999999999999",
        "transfer-encoding: chunked, chunked",
    ];
    let (method, path, schema) = choices.of(&OPERATIONS);
    let method = if choices.rarely(11) {
        *choices.of(&METHODS)
    } else {
        method.as_str()
    };
    let mut line = format!("{method} {}", filled(path, choices));
    if choices.rarely(5) {
        line.push_str(choices.of::<&str>(&QUERIES));
    }
    line.push_str(choices.of::<&str>(&[
        " HTTP/1.1\r\n",
        " HTTP/1.1\r\n",
        " HTTP/1.1\r\n",
        " HTTP/1.0\r\n",
    ]));
    bytes.extend_from_slice(line.as_bytes());
    let mut add = |header: &str| bytes.extend_from_slice(format!("{header}\r\n").as_bytes());
    if !choices.rarely(13) {
        add("host: one.example");
    }
    match choices.below(9) {
        0 if choices.rarely(2) => {}
        1 if choices.rarely(2) => add("authorization: Bearer pat-bad"),
        2 if choices.rarely(2) => add("authorization: Basic YTpi"),
        3 => add("authorization: bearer pat-fail-503"),
        _ => add(&format!("authorization: Bearer {TOKEN}")),
    }
    while choices.rarely(4) {
        add(choices.of::<&str>(&HEADERS));
    }
    match schema {
        Some(schema) => body(bytes, schema, choices),
        None => bytes.extend_from_slice(b"\r\n"),
    }
}

/// Adds a body with the headers that describe it.
fn body(bytes: &mut Vec<u8>, schema: &Value, choices: &mut Choices<'_>) {
    const MEDIA_TYPES: [&str; 6] = [
        "application/json",
        "application/json",
        "application/json",
        "application/json; charset=utf-8",
        "text/plain",
        "a",
    ];
    let media_type = choices.of(&MEDIA_TYPES);
    bytes.extend_from_slice(format!("content-type: {media_type}\r\n").as_bytes());
    let mut body = values::value(&CONTRACT, schema, choices, 0)
        .to_string()
        .into_bytes();
    if choices.rarely(9) {
        body = damage(&body, choices);
    }
    if choices.rarely(17) {
        body.resize(body.len() + (4 << 10), b' ');
    }
    if choices.below(4) == 0 {
        bytes.extend_from_slice(b"transfer-encoding: chunked\r\n\r\n");
        for chunk in body.chunks(choices.below(40) + 1) {
            bytes.extend_from_slice(format!("{:x}\r\n", chunk.len()).as_bytes());
            bytes.extend_from_slice(chunk);
            bytes.extend_from_slice(b"\r\n");
        }
        bytes.extend_from_slice(b"0\r\n\r\n");
        return;
    }
    let length = if choices.rarely(23) {
        choices.below(2 * body.len())
    } else {
        body.len()
    };
    bytes.extend_from_slice(format!("content-length: {length}\r\n\r\n").as_bytes());
    bytes.extend_from_slice(&body);
}

/// Replaces the parameters of a path.
fn filled(path: &str, choices: &mut Choices<'_>) -> String {
    const REFERENCES: [&str; 10] = [
        "web", "orders", "backend", "web-only", "new-one", "pg", "-a", "A", "%2e%2e", "a%00b",
    ];
    let rule = if path.contains("/postgres/") {
        seed::POSTGRES_FIREWALL_RULE
    } else {
        seed::FIREWALL_RULE
    };
    let mut out = String::new();
    for segment in path.split('/').skip(1) {
        let reference: &str = choices.of::<&str>(&REFERENCES);
        out.push('/');
        out.push_str(match segment {
            "{project_id}" if choices.rarely(13) => "pj",
            "{project_id}" => PROJECT,
            "{location}" if choices.rarely(13) => "nowhere-x1",
            "{location}" => "eu-central-h1",
            "{firewall_rule_id}" if !choices.rarely(13) => rule,
            "{private_subnet_id}" if !choices.rarely(13) => "ps000000000000000000000002",
            "{inference_api_key_id}" if !choices.rarely(13) => seed::INFERENCE_API_KEY,
            _ if segment.starts_with('{') => reference,
            _ => segment,
        });
    }
    out
}
