//! Rules for every operation, parameter and schema of `openapi.yaml`.

#[path = "contract_rules/since_0_1_0.rs"]
mod since_0_1_0;

use contract::{LintSet, Options};
use serde_json::{Map, Value};
use tests::seed;

/// Statuses that only operations with a request body respond with.
const OF_BODIES: [&str; 3] = ["408", "413", "415"];
/// Statuses that only operations that write respond with.
const OF_CHANGES: [&str; 2] = ["403", "409"];
/// Statuses that only operations with `If-Match` respond with.
const OF_CONDITIONS: [&str; 1] = ["412"];
/// Statuses that every operation responds with.
const OF_ALL: [&str; 8] = ["400", "401", "404", "405", "429", "431", "500", "503"];

/// Returns every operation with its method.
fn operations(contract: &Value) -> Vec<(&str, &Map<String, Value>)> {
    let items = contract["paths"]
        .as_object()
        .expect("paths are an object")
        .values();
    let operations = items.flat_map(|item| item.as_object().expect("a path is an object"));
    operations
        .filter_map(|(method, operation)| Some((method.as_str(), operation.as_object()?)))
        .filter(|(_, operation)| operation.contains_key("operationId"))
        .collect()
}

/// Returns whether an operation takes `If-Match`.
fn is_conditional(operation: &Map<String, Value>) -> bool {
    let parameters = operation.get("parameters").and_then(Value::as_array);
    let mut parameters = parameters.into_iter().flatten();
    parameters.any(|parameter| parameter["$ref"] == "#/components/parameters/IfMatch")
}

/// Returns the status of success of an operation, by its method: a delete has nothing to return.
fn success(method: &str) -> &'static str {
    if method == "delete" { "204" } else { "200" }
}

fn followed<'c>(contract: &'c Value, node: &'c Value) -> &'c Value {
    match node["$ref"].as_str() {
        Some(reference) => contract
            .pointer(&reference[1..])
            .expect("a reference leads somewhere"),
        None => node,
    }
}

/// Adds every schema in a part of the document, with its pointer.
fn schemas<'c>(node: &'c Value, pointer: &str, found: &mut Vec<(String, &'c Map<String, Value>)>) {
    match node {
        Value::Object(entries) => {
            if ["type", "$ref", "oneOf", "enum", "const"]
                .iter()
                .any(|keyword| entries.contains_key(*keyword))
            {
                found.push((pointer.to_owned(), entries));
            }
            for (key, value) in entries
                .iter()
                .filter(|(key, _)| !matches!(key.as_str(), "example" | "examples"))
            {
                schemas(value, &format!("{pointer}/{key}"), found);
            }
        }
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                schemas(item, &format!("{pointer}/{at}"), found);
            }
        }
        _ => {}
    }
}

#[test]
fn every_operation_has_one_tag_a_summary_and_a_description() {
    let contract = seed::contract();
    let tags: Vec<&Value> = contract["tags"]
        .as_array()
        .expect("tags")
        .iter()
        .map(|tag| &tag["name"])
        .collect();
    for (_, operation) in operations(&contract) {
        let id = &operation["operationId"];
        let own = operation["tags"].as_array().expect("tags are an array");
        assert!(own.len() == 1 && tags.contains(&&own[0]), "{id}");
        assert!(
            operation["summary"].is_string() && operation["description"].is_string(),
            "{id}"
        );
    }
}

#[test]
fn every_operation_responds_with_one_success_and_the_errors_that_it_can_have() {
    let contract = seed::contract();
    for (method, operation) in operations(&contract) {
        let id = &operation["operationId"];
        let success = success(method);
        let mut expected: Vec<&str> = vec![success];
        expected.extend(OF_ALL);
        expected.extend(
            OF_BODIES
                .iter()
                .filter(|_| operation.contains_key("requestBody")),
        );
        expected.extend(OF_CHANGES.iter().filter(|_| method != "get"));
        expected.extend(OF_CONDITIONS.iter().filter(|_| is_conditional(operation)));
        expected.sort_unstable();
        let responses = operation["responses"]
            .as_object()
            .expect("responses are an object");
        let mut statuses: Vec<&str> = responses.keys().map(String::as_str).collect();
        statuses.sort_unstable();
        assert_eq!(statuses, expected, "{id}");
        for (status, response) in responses {
            let headers = &followed(&contract, response)["headers"];
            let request_id = &headers["x-request-id"]["$ref"];
            assert_eq!(
                request_id, "#/components/headers/RequestId",
                "{id} {status}"
            );
            if status == success {
                let has_body = response["content"].is_object();
                assert_eq!(has_body, method != "delete", "{id}");
                continue;
            }
            let schema =
                &followed(&contract, response)["content"]["application/json"]["schema"]["$ref"];
            assert_eq!(schema, "#/components/schemas/Error", "{id} {status}");
        }
    }
}

/// An operation that returns a whole resource returns its tag too; one that changes a resource that
/// exists, by PATCH or by an action, takes the tag, and so does one that deletes it. A create has no
/// resource to compare with, nor has a restore, which makes another one; the create of an inference key
/// returns the secret, which no tag may cover.
#[test]
fn every_tagged_resource_can_be_changed_under_the_condition_of_its_tag() {
    let contract = seed::contract();
    let whole = [
        "Firewall",
        "FirewallDetails",
        "InferenceApiKeySummary",
        "LoadBalancer",
        "Postgres",
        "PrivateSubnet",
        "VmDetails",
    ];
    for (method, operation) in operations(&contract) {
        let id = operation["operationId"].as_str().expect("it is a text");
        let success = &operation["responses"][success(method)];
        let schema = success["content"]["application/json"]["schema"]["$ref"].as_str();
        let schema = schema.and_then(|schema| schema.strip_prefix("#/components/schemas/"));
        let is_whole = schema.is_some_and(|schema| whole.contains(&schema));
        assert_eq!(success["headers"].get("ETag").is_some(), is_whole, "{id}");
        let makes_another = id.ends_with("_create") || id == "postgres_restore";
        let changes = method != "get" && !makes_another;
        let is_changed = is_whole && changes || method == "delete";
        assert_eq!(is_conditional(operation), is_changed, "{id}");
    }
}

/// Every POST can be repeated by its key, and its success says whether it is a repeat.
#[test]
fn every_post_takes_an_idempotency_key() {
    let contract = seed::contract();
    for (method, operation) in operations(&contract) {
        let id = &operation["operationId"];
        let parameters = operation.get("parameters").and_then(Value::as_array);
        let mut parameters = parameters.into_iter().flatten();
        let takes_key = parameters
            .any(|parameter| parameter["$ref"] == "#/components/parameters/IdempotencyKey");
        assert_eq!(takes_key, method == "post", "{id}");
        let headers = &operation["responses"][success(method)]["headers"];
        let says_so = headers.get("Idempotency-Replayed").is_some();
        assert_eq!(says_so, method == "post", "{id}");
    }
}

#[test]
fn every_request_and_response_has_an_example() {
    let contract = seed::contract();
    let has_example = |content: &Value| {
        let media = &content["application/json"];
        media.get("example").is_some()
            || media["examples"]
                .as_object()
                .is_some_and(|examples| !examples.is_empty())
    };
    for (_, operation) in operations(&contract) {
        let id = &operation["operationId"];
        if let Some(body) = operation.get("requestBody") {
            assert!(has_example(&followed(&contract, body)["content"]), "{id}");
        }
        for (status, response) in operation["responses"]
            .as_object()
            .expect("responses are an object")
        {
            let content = &followed(&contract, response)["content"];
            assert!(status == "204" || has_example(content), "{id} {status}");
        }
    }
    // Parameters of path items refer to these components, too.
    let parameters = contract["components"]["parameters"]
        .as_object()
        .expect("parameters are an object");
    let inline = operations(&contract)
        .into_iter()
        .filter_map(|(_, operation)| operation.get("parameters")?.as_array());
    for parameter in parameters.values().chain(inline.flatten()) {
        let parameter = followed(&contract, parameter);
        let example = parameter
            .get("example")
            .or_else(|| parameter.get("examples"));
        assert!(
            example.is_some() && parameter["description"].is_string(),
            "{}",
            parameter["name"]
        );
    }
}

#[test]
fn every_schema_is_named_and_described_and_every_integer_is_bounded() {
    let contract = seed::contract();
    for (name, schema) in contract["components"]["schemas"]
        .as_object()
        .expect("schemas are an object")
    {
        assert!(
            schema["description"]
                .as_str()
                .is_some_and(|text| text.len() > 10),
            "{name}"
        );
    }
    let mut found = Vec::new();
    schemas(&contract["components"], "/components", &mut found);
    schemas(&contract["paths"], "/paths", &mut found);
    assert!(found.len() > 200, "{} schemas are too few", found.len());
    let mut integers = 0;
    for (pointer, schema) in found {
        let is = |name: &str| {
            schema.get("type").is_some_and(|ty| {
                ty == name || ty.as_array().is_some_and(|t| t.iter().any(|t| t == name))
            })
        };
        if is("integer") {
            integers += 1;
            for keyword in ["format", "minimum", "maximum"] {
                assert!(schema.contains_key(keyword), "{pointer} has no {keyword}");
            }
        }
        assert!(
            !is("object") || pointer.split('/').count() == 4,
            "{pointer} is an object without a name"
        );
    }
    assert!(integers > 5);
}

/// Returns what the lints about bounds report about a contract, as the terminal shows it.
fn unbounded(text: &str) -> String {
    let options = Options {
        sets: [LintSet::Style].into(),
        ..Options::default()
    };
    let mut loaded = contract::load_text_with("openapi.yaml", text.as_bytes(), &options);
    loaded
        .diagnostics
        .retain(|diagnostic| diagnostic.code.starts_with("unbounded-"));
    contract::render(&loaded.sources, &loaded.diagnostics)
}

#[test]
fn every_array_and_text_of_a_request_is_bounded() {
    let text = include_str!("../../openapi.yaml");
    assert_eq!(unbounded(text), "");
    // Without its bound, each of these schemas is found.
    let mut found = String::new();
    for schema in [
        "VmIdInputs",
        "TagInputs",
        "TagKey",
        "TagValue",
        "ObjectIdInput",
        "StartAfter",
        "OrderColumn",
        "HealthCheckEndpoint",
        "SuperuserPassword",
        "PostgresSizeInput",
        "Location",
        "Reference",
    ] {
        let start = text
            .find(&format!("\n    {schema}:\n"))
            .unwrap_or_else(|| panic!("there is no {schema}"));
        let bound = ["\n      maxItems: ", "\n      maxLength: "]
            .iter()
            .filter_map(|keyword| text[start..].find(keyword))
            .min()
            .expect("it has a bound");
        let bound = start + bound + 1;
        let end = bound + text[bound..].find('\n').expect("the line ends") + 1;
        let seeded = format!("{}{}", &text[..bound], &text[end..]);
        let printed = unbounded(&seeded);
        assert!(printed.ends_with("1 warning\n"), "{schema}: {printed}");
        let first = printed.lines().next().expect("it has a line");
        found.push_str(&format!("{schema}: {first}\n"));
    }
    insta::assert_snapshot!("unbounded", found);
}
