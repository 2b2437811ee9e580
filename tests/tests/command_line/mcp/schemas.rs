//! The input schemas of tools: valid, standing alone, and as strict as the contract.

use serde_json::{Value, json};
use tests::memory::TOKEN;

use super::client::{Client, check, listing};
use crate::museum;
use crate::ours::stratus;
use crate::support::Program;

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
        assert!(!text.contains("\"x-"), "{text}");
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

/// Returns a program with so many operations, each of which takes a value of one large schema. The
/// first is the only one of a tag `mcp`.
fn large(operations: usize, words: usize) -> Program {
    let operations: Vec<Value> = (0..operations)
        .map(|at| {
            let group = if at == 0 { "mcp" } else { "others" };
            let value = json!({"name": "value", "flag": "value", "in": "query", "about": "A word.", "schema": "/Word"});
            json!({"id": format!("get_{at}"), "group": group, "name": format!("get-{at}"), "method": "GET", "path": "/", "parameters": [value]})
        })
        .collect();
    let groups = json!([{"name": "mcp"}, {"name": "others"}]);
    let description = json!({"title": "Large", "groups": groups, "operations": operations});
    let values: Vec<String> = (0..words).map(|at| format!("word-{at:05}")).collect();
    let schemas = json!({"Word": {"type": "string", "enum": values}});
    Program::new("large", &description.to_string(), &schemas.to_string())
}

#[test]
fn a_schema_that_is_too_large_says_only_which_inputs_there_are() {
    let program = large(1, 10_000);
    let mut client = Client::silent(&program, "program-mcp", &[]);
    client.shake_hands();
    let schema = client.tool("get_0")["inputSchema"].take();
    let value = json!({"type": "string", "description": "A word."});
    assert_eq!(schema["properties"], json!({"value": value}));
    // The call is checked all the same.
    let wrong = client.failed("get_0", &json!({"value": "verb"}));
    assert!(wrong.contains("value must be one of "), "{wrong}");
}

#[test]
fn tools_are_listed_page_by_page() {
    // About 50 KiB each, so that the first page ends after 1 MiB.
    let program = large(30, 4_000);
    let mut client = Client::silent(&program, "program-mcp", &[]);
    client.shake_hands();
    let first = client.request("tools/list", &json!({}))["result"].take();
    check(&listing(), &first);
    let next = first["nextCursor"]
        .as_str()
        .expect("there is a second page");
    let second = client.request("tools/list", &json!({"cursor": next}))["result"].take();
    assert_eq!(second.get("nextCursor"), None);
    let tools = [&first, &second].map(|page| page["tools"].as_array().expect("a list").clone());
    let names: Vec<Value> = tools
        .concat()
        .iter()
        .map(|tool| tool["name"].clone())
        .collect();
    let all: Vec<Value> = (0..30).map(|at| json!(format!("get_{at}"))).collect();
    assert_eq!(names, all);
    assert!(
        tools[0].len() > 15 && tools[0].len() < 25,
        "{}",
        tools[0].len()
    );
}

#[test]
fn what_responds_with_the_credential_is_no_tool() {
    let operation =
        json!({"id": "echo", "name": "echo", "method": "TRACE", "path": "/", "parameters": []});
    let description = json!({"title": "Echo", "groups": [], "operations": [operation]});
    let program = Program::new("echo", &description.to_string(), "{}");
    let mut client = Client::start(&program, &["--allow-writes"]);
    client.shake_hands();
    assert!(client.tools().is_empty());
    let refused = client.failed("echo", &json!({}));
    assert!(
        refused.contains("responds with the credential"),
        "{refused}"
    );
}

#[test]
fn the_descriptions_of_tools_have_a_bound() {
    let words = "x".repeat(10_000);
    let parameter = |at: usize| json!({"name": format!("p{at}"), "flag": format!("p{at}"), "in": "query", "about": words});
    let operation = |id: &str, count: usize| {
        let parameters: Vec<Value> = (0..count).map(parameter).collect();
        json!({"id": id, "name": id, "method": "GET", "path": "/", "about": words, "parameters": parameters})
    };
    let operations = [operation("few", 6), operation("many", 7)];
    let description = json!({"title": "Wordy", "groups": [], "operations": operations});
    let program = Program::new("wordy", &description.to_string(), "{}");
    let mut client = Client::start(&program, &[]);
    let described = client.tool("few")["description"].to_string();
    assert!(described.len() < 4_100, "{} bytes", described.len());
    let inputs = |tool: Value| tool["inputSchema"]["properties"].clone();
    assert_eq!(inputs(client.tool("few"))["p0"]["description"], words);
    assert_eq!(inputs(client.tool("many"))["p6"], json!({}));
}
