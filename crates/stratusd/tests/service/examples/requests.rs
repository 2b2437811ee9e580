//! The requests that the examples of the contract describe.

use std::collections::BTreeMap;
use std::sync::atomic::Ordering;

use reqwest::{Method, RequestBuilder};
use serde_json::Value;

use super::Target;
use super::contract::{Operation, entries, followed};

/// Returns requests with all combinations of an operation's examples, each with the text of its
/// examples.
pub fn requests(
    contract: &Value,
    operation: &Operation<'_>,
    target: &Target,
) -> Vec<(String, RequestBuilder)> {
    let bodies = &operation.node["requestBody"]["content"]["application/json"]["examples"];
    let bodies: Vec<Option<&Value>> = match bodies.as_object() {
        Some(bodies) => bodies
            .values()
            .map(|body| Some(&followed(contract, body)["value"]))
            .collect(),
        None => vec![None],
    };
    let mut choices: Vec<BTreeMap<&str, &Value>> = vec![BTreeMap::new()];
    for parameter in &operation.parameters {
        let name = parameter["name"].as_str().expect("a parameter has a name");
        let named = entries(&parameter["examples"]).map(|(_, example)| &example["value"]);
        let examples: Vec<&Value> = named.chain(parameter.get("example")).collect();
        assert!(!examples.is_empty(), "{name} has no example");
        choices = choices
            .iter()
            .flat_map(|choice| {
                examples.iter().map(move |example| {
                    let mut choice = choice.clone();
                    choice.insert(name, *example);
                    choice
                })
            })
            .collect();
    }
    let mut requests = Vec::new();
    for choice in &choices {
        for body in &bodies {
            let request = request(operation, choice, *body, target);
            requests.push((format!("{choice:?} {body:?}"), request));
        }
    }
    requests
}

/// Returns a request with these examples.
pub fn request(
    operation: &Operation<'_>,
    choice: &BTreeMap<&str, &Value>,
    body: Option<&Value>,
    target: &Target,
) -> RequestBuilder {
    let text = |value: &Value| {
        value
            .as_str()
            .map_or_else(|| value.to_string(), str::to_owned)
    };
    let (mut path, mut query) = (operation.path.to_owned(), Vec::new());
    let mut headers = reqwest::header::HeaderMap::new();
    for parameter in &operation.parameters {
        let name = parameter["name"].as_str().expect("a parameter has a name");
        let value = text(choice[name]);
        match parameter["in"].as_str() {
            Some("path") => path = path.replace(&format!("{{{name}}}"), &value),
            // A key belongs to one request, and the example stands in many.
            Some("header") if name == "Idempotency-Key" => {
                let number = target.keys.fetch_add(1, Ordering::Relaxed);
                let value = format!("{value}-{number}");
                headers.insert("idempotency-key", value.parse().expect("it is a value"));
            }
            Some("header") => {
                let name: reqwest::header::HeaderName = name.parse().expect("it is a name");
                headers.insert(name, value.parse().expect("it is a value"));
            }
            _ => query.push((name, value)),
        }
    }
    let method = operation.method.to_uppercase();
    let method = Method::from_bytes(method.as_bytes()).expect("the contract names an HTTP method");
    let request = target
        .http
        .request(method, format!("{}{path}", target.service.base))
        .bearer_auth(&target.token)
        .headers(headers)
        .query(&query);
    match body {
        Some(body) => request.json(body),
        None => request,
    }
}
