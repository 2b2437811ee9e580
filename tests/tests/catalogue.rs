//! Snapshots of the operations, errors and schemas of the API, so that reviewers see what changes
//! in the contract.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use serde_json::Value;
use tests::seed;

#[test]
fn operations() {
    let mut table = String::new();
    for operation in api_server::OPERATIONS {
        let statuses = statuses(operation.method.as_str(), operation.path);
        let statuses: Vec<&str> = statuses.iter().map(String::as_str).collect();
        let tag = operation.tag.unwrap_or("-");
        writeln!(
            table,
            "{tag:<18} {:<33} {:<6} {}",
            operation.id,
            operation.method.as_str(),
            operation.path
        )
        .expect("text");
        writeln!(table, "{:18} {}", "", statuses.join(" ")).expect("text");
    }
    insta::assert_snapshot!("operations", table);
}

fn statuses(method: &str, path: &str) -> Vec<String> {
    let contract = seed::contract();
    let responses = &contract["paths"][path][method.to_lowercase()]["responses"];
    responses
        .as_object()
        .expect("responses are an object")
        .keys()
        .cloned()
        .collect()
}

/// Lists every error of the contract's examples, with the number of operations that respond with
/// it.
#[test]
fn errors() {
    let contract = seed::contract();
    let mut catalogue: BTreeMap<(String, String), (String, BTreeSet<String>)> = BTreeMap::new();
    for item in contract["paths"]
        .as_object()
        .expect("paths are an object")
        .values()
    {
        for operation in item.as_object().expect("a path is an object").values() {
            let Some(id) = operation["operationId"].as_str() else {
                continue;
            };
            for (status, response) in operation["responses"]
                .as_object()
                .expect("responses are an object")
            {
                for example in examples(&contract, response) {
                    let Some(error) = example.get("error") else {
                        continue;
                    };
                    let text = |key: &str| error[key].as_str().unwrap_or_default().to_owned();
                    let entry = catalogue.entry((status.clone(), text("type")));
                    entry
                        .or_insert_with(|| (text("message"), BTreeSet::new()))
                        .1
                        .insert(id.to_owned());
                }
            }
        }
    }
    let mut table = String::new();
    for ((status, kind), (message, operations)) in &catalogue {
        writeln!(
            table,
            "{status} {kind:<21} {:>2} operations  {message}",
            operations.len()
        )
        .expect("text");
    }
    insta::assert_snapshot!("errors", table);

    // Every type of error has an example.
    let named: BTreeSet<&str> = catalogue.keys().map(|(_, kind)| kind.as_str()).collect();
    let listed = contract["components"]["schemas"]["ErrorType"]["enum"]
        .as_array()
        .expect("an enumeration");
    let without: Vec<&str> = listed
        .iter()
        .filter_map(Value::as_str)
        .filter(|kind| !named.contains(kind))
        .collect();
    assert!(without.is_empty(), "{without:?}");
}

/// Returns the values of a response's examples, with references followed.
fn examples(contract: &Value, response: &Value) -> Vec<Value> {
    let response = followed(contract, response);
    let media = &response["content"]["application/json"];
    let named = media["examples"]
        .as_object()
        .into_iter()
        .flat_map(|examples| examples.values());
    named
        .map(|example| followed(contract, example)["value"].clone())
        .chain(media.get("example").cloned())
        .collect()
}

fn followed<'c>(contract: &'c Value, node: &'c Value) -> &'c Value {
    let target = node["$ref"]
        .as_str()
        .and_then(|reference| contract.pointer(&reference[1..]));
    target.unwrap_or(node)
}

#[test]
fn json_schemas() {
    let mut settings = insta::Settings::clone_current();
    settings.set_snapshot_path("snapshots/json_schemas");
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| {
        for (name, json_schema) in api_types::schemas::JSON_SCHEMAS {
            insta::assert_json_snapshot!(*name, json_schema());
        }
    });
}
