//! `mcp`: the operations of our contract as tools of an assistant.

#[path = "mcp/bounds.rs"]
mod bounds;
#[path = "mcp/client.rs"]
mod client;
#[path = "mcp/page.rs"]
mod page;
#[path = "mcp/pipes.rs"]
mod pipes;
#[path = "mcp/schemas.rs"]
mod schemas;
#[path = "mcp/secrets.rs"]
mod secrets;
#[path = "mcp/streams.rs"]
mod streams;

use serde_json::{Value, json};
use tests::memory::{LOCATION, PROJECT, TOKEN};

use super::ours::{OPERATIONS, PASSWORD, stratus};
use client::{Client, check};

/// The operation that needs a secret.
const RESET: &str = "postgres_reset_superuser_password";

/// Returns the ids of the operations whose method is one of these, or all of them.
fn ids(methods: &[&str]) -> Vec<String> {
    let description: Value = serde_json::from_str(OPERATIONS).expect("it is JSON");
    let operations = description["operations"].as_array().expect("it is a list");
    let chosen = operations.iter().filter(|one| {
        let method = one["method"].as_str().expect("it has a method");
        methods.is_empty() || methods.contains(&method)
    });
    let ids = chosen.filter_map(|one| one["id"].as_str());
    ids.map(str::to_owned).collect()
}

/// Returns the names of tools.
fn names(tools: &[Value]) -> Vec<&str> {
    let names = tools.iter().map(|tool| tool["name"].as_str());
    names.map(|name| name.expect("it has a name")).collect()
}

#[test]
fn the_handshake_says_who_serves_what() {
    let program = stratus(TOKEN);
    let mut client = Client::silent(&program, "mcp", &[]);
    let result = client.shake_hands();
    check(&client::handshake(), &result);
    assert_eq!(result["protocolVersion"], "2025-06-18");
    assert_eq!(
        result["serverInfo"],
        json!({"name": "stratus", "version": "1.0.0"})
    );
    assert_eq!(result["capabilities"], json!({"tools": {}}));
    insta::assert_snapshot!(
        "mcp_instructions",
        result["instructions"].as_str().expect("a text")
    );
}

#[test]
fn the_protocol_without_a_handshake_works_too() {
    let program = stratus(TOKEN);
    let mut client = Client::silent(&program, "mcp", &[]);
    let meta = json!({
        "io.modelcontextprotocol/protocolVersion": "2026-07-28",
        "io.modelcontextprotocol/clientInfo": {"name": "test", "version": "1"},
        "io.modelcontextprotocol/clientCapabilities": {},
    });
    let discovered = client.request("server/discover", &json!({"_meta": meta}));
    let versions = &discovered["result"]["supportedVersions"];
    assert!(
        versions
            .as_array()
            .expect("a list")
            .contains(&json!("2026-07-28")),
        "{discovered:#}"
    );
    let call = json!({"_meta": meta, "name": "vm_view", "arguments": {"vm_reference": "app-2"}});
    let viewed = client.request("tools/call", &call);
    assert_eq!(
        viewed["result"]["structuredContent"]["name"], "app-2",
        "{viewed:#}"
    );
}

#[test]
fn only_operations_that_read_are_tools_by_default() {
    let tools = Client::start(&stratus(TOKEN), &[]).tools();
    assert_eq!(names(&tools), ids(&["GET"]));
    for tool in &tools {
        let hints = json!({"readOnlyHint": true, "destructiveHint": false, "idempotentHint": true});
        assert_eq!(tool["annotations"], hints, "{tool:#}");
    }
}

#[test]
fn operations_that_change_something_are_tools_if_they_are_allowed() {
    let mut client = Client::start(&stratus(TOKEN), &["--allow-writes"]);
    let tools = client.tools();
    let mut expected = ids(&[]);
    expected.retain(|id| id != RESET);
    assert_eq!(names(&tools), expected);
    for (name, idempotent) in [("firewall_create", false), ("firewall_delete", true)] {
        let hints =
            json!({"readOnlyHint": false, "destructiveHint": true, "idempotentHint": idempotent});
        assert_eq!(client.tool(name)["annotations"], hints, "{name}");
    }
    let arguments = json!({"firewall_reference": "offices", "body": {"description": "Offices"}});
    client.ok("firewall_create", &arguments);
    let viewed = client.call("firewall_view", &json!({"firewall_reference": "offices"}));
    assert_eq!(viewed["structuredContent"]["description"], "Offices");
    let both = ["--allow-writes", "--allow-secret-inputs"];
    let all = Client::start(&stratus(TOKEN), &both).tools();
    assert_eq!(names(&all), ids(&[]));
}

#[test]
fn tags_and_operations_can_be_chosen() {
    let only = ["--only", "vm", "--only", "postgres_view", "--allow-writes"];
    let mut client = Client::start(&stratus(TOKEN), &only);
    assert_eq!(
        names(&client.tools()),
        ["postgres_view", "vm_list", "vm_view"]
    );
    let other = client.failed("firewall_list", &json!({}));
    assert!(
        other.contains("start the program with --only firewall_list too"),
        "{other}"
    );
    let unknown = stratus(TOKEN).run(&["mcp", "--only", "vms"]).failed(2);
    assert!(
        unknown.contains(
            "--only vms is neither a tag nor the id of an operation; the tags are: load-balancer, "
        ),
        "{unknown}"
    );
}

#[test]
fn a_call_returns_the_response_of_the_service() {
    let mut client = Client::start(&stratus(TOKEN), &[]);
    let result = client.call("vm_list", &json!({"page_size": 2}));
    let page = &result["structuredContent"];
    assert_eq!(page["count"], 3);
    assert_eq!(page["items"].as_array().map(Vec::len), Some(2));
    let text: Value = serde_json::from_str(&client::texts(&result)[0]).expect("it is JSON");
    assert_eq!(text, *page);
    let next = json!({"page_size": 2, "order_column": "name", "start_after": "app-1"});
    let next = client.call("vm_list", &next);
    assert_eq!(next["structuredContent"]["items"][0]["name"], "app-2");
    let (code, rest, error) = client.end();
    assert_eq!((code, rest, error.as_str()), (0, Vec::new(), ""));
}

#[test]
fn arguments_that_do_not_fit_the_contract_are_named_and_not_sent() {
    // Nothing is there to send anything to.
    let down = stratus(TOKEN).with("STRATUS_URL", "http://127.0.0.1:9");
    let mut client = Client::start(&down, &["--allow-writes"]);
    let mut said = Vec::new();
    for (name, arguments) in [
        ("vm_list", json!({"page_size": "two", "order": "name"})),
        ("vm_view", json!({"vm_reference": null})),
        (
            "load_balancer_create",
            json!({"load_balancer_reference": "Web", "body": {"src_port": 70_000}}),
        ),
        (
            "firewall_rule_create",
            json!({"firewall_reference": "web-only"}),
        ),
    ] {
        said.push(client.failed(name, &arguments));
    }
    insta::assert_snapshot!("mcp_misfits", said.join("\n\n"));
}

#[test]
fn refusals_of_the_service_are_errors_of_the_tool() {
    let mut client = Client::start(&stratus(TOKEN), &[]);
    let missing = client.failed(
        "postgres_view",
        &json!({"postgres_database_reference": "nothing"}),
    );
    assert!(missing.starts_with("404 Not Found: "), "{missing}");
    let mut client = Client::start(&stratus("pat-wrong"), &[]);
    let wrong = client.failed("vm_list", &json!({}));
    assert!(
        wrong.contains("401 Unauthorized") && wrong.contains("check the credential"),
        "{wrong}"
    );
}

#[test]
fn a_service_that_is_down_is_an_error_of_the_tool() {
    let down = stratus(TOKEN)
        .with("STRATUS_URL", "http://127.0.0.1:9")
        .with("STRATUS_RETRIES", "0");
    let mut client = Client::start(&down, &[]);
    let dead = client.failed("vm_list", &json!({}));
    assert!(
        dead.contains("cannot connect") && dead.contains("http://127.0.0.1:9"),
        "{dead}"
    );
    // The program still serves.
    assert_eq!(client.tools().len(), ids(&["GET"]).len());
}

#[test]
fn what_is_not_allowed_names_the_flag_that_allows_it() {
    let mut client = Client::start(&stratus(TOKEN), &[]);
    let orders = json!({"postgres_database_reference": "orders"});
    let refused = client.failed("postgres_delete", &orders);
    assert_eq!(
        refused,
        "`postgres_delete` changes something (DELETE), and only reading is allowed: start the program with --allow-writes"
    );
    client.ok("postgres_view", &orders);
    let mut client = Client::start(&stratus(TOKEN), &["--allow-writes"]);
    let secret = client.failed(RESET, &orders);
    assert!(
        secret.contains("the secret `password`") && secret.contains("--allow-secret-inputs"),
        "{secret}"
    );
}

#[test]
fn secrets_are_hidden_unless_they_are_allowed() {
    let arguments =
        json!({"postgres_database_reference": "orders", "body": {"password": PASSWORD}});
    let both = ["--allow-writes", "--allow-secret-inputs"];
    let mut client = Client::start(&stratus(TOKEN), &both);
    client.ok(RESET, &arguments);
    let viewed = client.ok(
        "postgres_view",
        &json!({"postgres_database_reference": "orders"}),
    );
    let viewed: Value = serde_json::from_str(&viewed[0]).expect("it is JSON");
    assert_eq!(viewed["connection_string"], "[secret]");
    let words = client.tool("postgres_view")["description"].to_string();
    assert!(
        words.contains("The result has secrets (connection_string), which are hidden."),
        "{words}"
    );
    let created = client.ok("inference_api_key_create", &json!({}));
    assert!(created[0].contains(r#""key":"[secret]""#), "{created:?}");
    assert_eq!(client.end().2, "");

    let mut client = Client::start(&stratus(TOKEN), &["--show-secrets"]);
    let viewed = client.ok(
        "postgres_view",
        &json!({"postgres_database_reference": "orders"}),
    );
    assert!(viewed[0].contains("postgres://"), "{viewed:?}");
}

#[test]
fn an_unknown_tool_is_an_error_of_the_protocol() {
    let mut client = Client::start(&stratus(TOKEN), &[]);
    let response = client.request("tools/call", &json!({"name": "vm_reboot", "arguments": {}}));
    assert_eq!(
        response["error"],
        json!({"code": -32602, "message": "there is no tool `vm_reboot`"})
    );
    let response = client.request("tools/list", &json!({"cursor": "x"}));
    assert_eq!(response["error"]["code"], -32602);
}

#[test]
fn settings_that_are_set_are_no_inputs() {
    let program = stratus(TOKEN)
        .with("STRATUS_PROJECT_ID", "")
        .with("STRATUS_LOCATION", "");
    let mut client = Client::start(&program, &["--location", LOCATION]);
    let required = client.tool("vm_view")["inputSchema"]["required"].take();
    assert_eq!(required, json!(["project_id", "vm_reference"]));
    let viewed = client.call(
        "vm_view",
        &json!({"project_id": PROJECT, "vm_reference": "app-0"}),
    );
    assert_eq!(viewed["structuredContent"]["name"], "app-0", "{viewed:#}");
    let missing = client.failed("vm_view", &json!({"vm_reference": "app-0"}));
    assert!(missing.contains("project_id is required"), "{missing}");
}

#[test]
fn the_standard_input_and_output_belong_to_the_protocol() {
    let stratus = stratus(TOKEN);
    let failed = |arguments: &[&str]| stratus.run(&[&["mcp"], arguments].concat()).failed(2);
    let token = failed(&["--token-file", "-"]);
    assert!(
        token.contains("--token-file cannot be the standard input, on which `mcp` gets requests"),
        "{token}"
    );
    assert!(failed(&["--dry-run"]).contains("--dry-run is about one call"));
    assert!(failed(&["--query", "$"]).contains("--query is about one call"));
    assert!(
        failed(&["--result-bytes", "9"])
            .contains("--result-bytes must be a number from 1024 to 4194304")
    );
    // Nobody has asked for anything.
    assert_eq!(stratus.run(&["mcp"]).ok(), "");
}
