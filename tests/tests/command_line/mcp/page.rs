//! What the page about assistants says.

use serde_json::Value;
use tests::memory::TOKEN;

use super::client::Client;
use crate::ours::stratus;

const PAGE: &str = include_str!("../../../../docs/assistants.md");

#[test]
fn the_configuration_of_the_page_works() {
    let (_, rest) = PAGE.split_once("```json\n").expect("the page has it");
    let (json, _) = rest.split_once("```").expect("it ends");
    let whole: Value = serde_json::from_str(json).expect("it is JSON");
    let server = &whole["mcpServers"]["stratus"];
    assert_eq!(server["command"], "stratus");
    let variables = server["env"].as_object().expect("it has variables");
    let program = variables
        .iter()
        .fold(stratus(TOKEN), |program, (name, value)| {
            program.with(name, value.as_str().expect("it is a text"))
        });
    let arguments = server["args"].as_array().expect("it has arguments").iter();
    let arguments: Vec<&str> = arguments.filter_map(Value::as_str).collect();
    assert_eq!(arguments[0], "mcp");
    let tools = Client::start(&program, &arguments[1..]).tools();
    for tool in &tools {
        let inputs = &tool["inputSchema"]["properties"];
        assert_eq!(inputs.get("project_id"), None, "{inputs}");
    }
    assert_eq!(tools.len(), 7);
}

#[test]
fn the_commands_of_the_page_work() {
    let (_, rest) = PAGE.split_once("```sh\n").expect("the page has them");
    let (lines, _) = rest.split_once("```").expect("they end");
    let lines = lines
        .lines()
        .map(|line| line.split("  #").next().unwrap_or(line));
    let lines: Vec<&str> = lines.map(str::trim).collect();
    let [install, login, help] = lines[..] else {
        panic!("{lines:?}");
    };
    assert_eq!(
        install,
        "cargo install --path crates/api-cli --features mcp"
    );
    let manifest = include_str!("../../../../crates/api-cli/Cargo.toml");
    assert!(manifest.contains("\nmcp = ["), "{manifest}");
    let stratus = stratus(TOKEN);
    let nobody = stratus.shell(login).failed(2);
    assert!(nobody.contains("nobody can be asked"), "{nobody}");
    stratus.shell(help).ok();
}

#[test]
fn the_page_has_every_flag() {
    let help = stratus(TOKEN).run(&["mcp", "--help"]).ok();
    insta::assert_snapshot!("mcp_help", help);
    for flag in [
        "--only",
        "--allow-writes",
        "--allow-secret-inputs",
        "--result-bytes",
    ] {
        assert!(help.contains(flag) && PAGE.contains(flag), "{flag}");
    }
}
