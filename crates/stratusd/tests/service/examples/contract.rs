//! The contract as the tests of its examples read it.

use serde_json::Value;

/// An operation of the contract. Its parameters include those of its path.
pub struct Operation<'c> {
    pub id: &'c str,
    pub method: &'c str,
    pub path: &'c str,
    pub parameters: Vec<&'c Value>,
    pub node: &'c Value,
}

/// Reads the contract as YAML, without the generator's reader.
pub fn contract() -> Value {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../../openapi.yaml");
    let text = std::fs::read_to_string(file).expect("the repository has openapi.yaml");
    serde_saphyr::from_str(&text).expect("the contract is YAML")
}

/// Returns the operations of all paths.
pub fn operations(contract: &Value) -> Vec<Operation<'_>> {
    let mut found = Vec::new();
    for (path, item) in entries(&contract["paths"]) {
        for (method, node) in entries(item) {
            let Some(id) = node["operationId"].as_str() else {
                continue;
            };
            let parameters = [&item["parameters"], &node["parameters"]];
            let parameters = parameters.into_iter().filter_map(Value::as_array).flatten();
            found.push(Operation {
                id,
                method,
                path,
                parameters: parameters
                    .map(|parameter| followed(contract, parameter))
                    .collect(),
                node,
            });
        }
    }
    assert!(!found.is_empty());
    found
}

/// Returns the entries of an object, or none for any other node.
pub fn entries(node: &Value) -> impl Iterator<Item = (&String, &Value)> {
    node.as_object().into_iter().flatten()
}

/// Returns the node that a reference names, or the node itself if it is not a reference.
pub fn followed<'c>(contract: &'c Value, node: &'c Value) -> &'c Value {
    match node["$ref"].as_str() {
        Some(reference) => contract
            .pointer(&reference[1..])
            .expect("the reference points into the contract"),
        None => node,
    }
}
