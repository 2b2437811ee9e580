//! The input schemas of tools: valid, standing alone, and as strict as the contract.

use serde_json::{Value, json};
use tests::memory::TOKEN;

use super::client::{Client, check};
use crate::museum;
use crate::ours::stratus;

/// Returns every tool of our contract, with the settings among the inputs.
fn tools() -> Vec<Value> {
    let program = stratus(TOKEN)
        .with("STRATUS_PROJECT_ID", "")
        .with("STRATUS_LOCATION", "");
    let all = ["--allow-writes", "--allow-secret-inputs"];
    Client::start(&program, &all).tools()
}

/// Fails if a schema has a reference that leads out of it.
fn check_references(schema: &Value, part: &Value) {
    match part {
        Value::Object(members) => {
            if let Some(Value::String(reference)) = members.get("$ref") {
                let name = reference.strip_prefix("#/$defs/").expect("it stays inside");
                assert!(schema["$defs"].get(name).is_some(), "{reference}");
            }
            members
                .values()
                .for_each(|part| check_references(schema, part));
        }
        Value::Array(items) => items.iter().for_each(|part| check_references(schema, part)),
        _ => {}
    }
}

#[test]
fn every_input_schema_is_valid_and_stands_alone() {
    let museum = museum();
    let mut tools = tools();
    tools.extend(Client::start(&museum, &["--allow-writes"]).tools());
    assert!(tools.len() > 40);
    for tool in tools {
        let schema = &tool["inputSchema"];
        jsonschema::draft202012::meta::validate(schema).expect("the schema is valid");
        check_references(schema, schema);
        let text = schema.to_string();
        assert!(!text.contains("x-") || text.contains("x-floors"), "{text}");
        assert!(text.len() < 8 << 10, "{} bytes: {text}", text.len());
    }
}

#[test]
fn an_input_schema_accepts_what_the_contract_does() {
    let tools = tools();
    let tool = |name: &str| {
        tools
            .iter()
            .find(|tool| tool["name"] == name)
            .expect("it is there")
    };
    insta::assert_snapshot!(
        "mcp_tool_create",
        format!("{:#}", tool("load_balancer_create"))
    );
    insta::assert_snapshot!("mcp_tool_list", format!("{:#}", tool("vm_list")));
    let schema = &tool("vm_list")["inputSchema"];
    let right =
        json!({"project_id": "pjj99grz61ddttq24cf6gc6atm", "location": "eu", "page_size": 10});
    check(schema, &right);
    let validator = jsonschema::draft202012::new(schema).expect("the schema is right");
    for wrong in [
        json!({"location": "eu"}),
        json!({"project_id": "x", "location": "eu"}),
        json!({"project_id": "pjj99grz61ddttq24cf6gc6atm", "location": "eu", "page_size": 0}),
        json!({"project_id": "pjj99grz61ddttq24cf6gc6atm", "location": "eu", "other": 1}),
    ] {
        assert!(!validator.is_valid(&wrong), "{wrong}");
    }
}

#[test]
fn secrets_are_no_inputs_unless_they_are_allowed() {
    let museum = museum().with("MUSEUM_HALL", "north");
    let properties = |flags: &[&str]| {
        let tool = Client::start(&museum, flags).tool("put_thing");
        tool["inputSchema"]["properties"]["body"]["properties"].clone()
    };
    assert_eq!(properties(&["--allow-writes"]).get("code"), None);
    let allowed = properties(&["--allow-writes", "--allow-secret-inputs"]);
    assert_eq!(allowed["code"]["minLength"], 3);
    let mut client = Client::start(&museum, &["--allow-writes"]);
    let body = json!({"kind": "vase", "weight": 1, "code": "s3cret"});
    let refused = client.failed("put_thing", &json!({"thing": "vase", "body": body}));
    assert!(
        refused.contains("body/code is a secret") && refused.contains("--allow-secret-inputs"),
        "{refused}"
    );
    assert!(!refused.contains("s3cret"), "{refused}");
}
