//! The links of the contract, and the addresses in its head.

use std::collections::BTreeMap;

use reqwest::Method;
use serde_json::{Value, json};

use super::contract::{Operation, contract, entries, followed, operations};
use super::requests::request;
use super::{LOCATION, Target, sent};
use crate::support::eventually;

/// Returns the first example of each parameter of an operation, and of its body.
fn first_examples<'c>(
    contract: &'c Value,
    operation: &Operation<'c>,
) -> (BTreeMap<&'c str, &'c Value>, Option<&'c Value>) {
    let parameters = operation.parameters.iter().map(|parameter| {
        let name = parameter["name"].as_str().expect("a parameter has a name");
        let named = entries(&parameter["examples"]).map(|(_, example)| &example["value"]);
        let mut examples = parameter.get("example").into_iter().chain(named);
        (name, examples.next().expect("a parameter has an example"))
    });
    let media = &operation.node["requestBody"]["content"]["application/json"];
    let mut bodies = entries(&media["examples"]);
    let body = bodies
        .next()
        .map(|(_, body)| &followed(contract, body)["value"]);
    (parameters.collect(), body)
}

/// Returns the value that a runtime expression of OpenAPI 3.1, section 4.8.20.4, names.
fn evaluated(expression: &str, path: &BTreeMap<&str, &Value>, body: &Value) -> Value {
    if let Some(name) = expression.strip_prefix("$request.path.") {
        return path[name].clone();
    }
    let pointer = expression.strip_prefix("$response.body#");
    let pointer = pointer.unwrap_or_else(|| panic!("{expression} is not evaluated here"));
    let value = body.pointer(pointer);
    value
        .unwrap_or_else(|| panic!("{expression} is not in {body}"))
        .clone()
}

/// Waits until a database has a backup, and returns the earliest time to which it can be restored.
async fn first_backup(target: &Target, name: &str) -> Value {
    let path = format!("{LOCATION}/postgres/{name}");
    let backup = eventually(async || {
        let (_, database) = sent(target.request(Method::GET, &path)).await;
        Some(database["earliest_restore_time"].clone()).filter(Value::is_string)
    });
    backup.await.expect("the database has a backup")
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_link_leads_from_a_response_to_the_same_resource() {
    let contract = contract();
    let target = Target::new(&[]);
    let operations = operations(&contract);
    let mut followed_links = Vec::new();
    // The names of the examples are taken.
    let free = json!("linked");
    // The subnet of the examples does not exist.
    let backend = format!("{LOCATION}/private-subnet/backend");
    let backend = sent(target.request(Method::GET, &backend)).await.1["id"].clone();
    for operation in &operations {
        let (mut parameters, example) = first_examples(&contract, operation);
        let mut example = example.cloned().map(|mut body| {
            if let Some(subnet) = body.get_mut("private_subnet_id") {
                *subnet = backend.clone();
            }
            body
        });
        if let Some(name) = operation
            .path
            .rsplit('{')
            .next()
            .and_then(|last| last.strip_suffix('}'))
        {
            parameters.insert(name, &free);
        }
        if operation.id == "postgres_restore"
            && let Some(body) = &mut example
        {
            // The database of the example before, whose first backup is not that of the contract.
            parameters.insert("postgres_database_reference", &free);
            body["restore_target"] = first_backup(&target, "linked").await;
        }
        for (status, response) in entries(&operation.node["responses"]) {
            for (name, link) in entries(&followed(&contract, response)["links"]) {
                let (code, body) =
                    sent(request(operation, &parameters, example.as_ref(), &target)).await;
                assert_eq!(code.to_string(), *status, "{}: {body}", operation.id);
                let linked = link["operationId"].as_str().expect("it names an operation");
                let next = operations.iter().find(|operation| operation.id == linked);
                let next = next.unwrap_or_else(|| panic!("{linked} is no operation"));
                let (mut values, _) = first_examples(&contract, next);
                let given: BTreeMap<&str, Value> = entries(&link["parameters"])
                    .map(|(name, expression)| {
                        let expression = expression.as_str().expect("it is an expression");
                        (name.as_str(), evaluated(expression, &parameters, &body))
                    })
                    .collect();
                values.extend(given.iter().map(|(name, value)| (*name, value)));
                // A path parameter that the link leaves out has no value, so that its absence is noticed.
                values.retain(|name, _| {
                    given.contains_key(name) || !next.path.contains(&format!("{{{name}}}"))
                });
                let (code, linked_body) = sent(request(next, &values, None, &target)).await;
                assert_eq!(code, 200, "{} {name}: {linked_body}", operation.id);
                assert_eq!(linked_body["id"], body["id"], "{} {name}", operation.id);
                followed_links.push(operation.id);
            }
        }
    }
    // Each operation that creates a resource which another one views.
    followed_links.sort_unstable();
    assert_eq!(
        followed_links,
        [
            "firewall_create",
            "inference_api_key_create",
            "load_balancer_create",
            "postgres_create",
            "postgres_restore",
            "private_subnet_create"
        ]
    );
}

#[test]
fn the_contract_says_where_its_project_is() {
    let contract = contract();
    let repository = env!("CARGO_PKG_REPOSITORY");
    assert_eq!(contract["externalDocs"]["url"], json!(repository));
    assert_eq!(
        contract["info"]["contact"]["url"],
        json!(format!("{repository}/issues"))
    );
}
