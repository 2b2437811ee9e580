//! Every operation of our contract, called by the command line.

use api_server::server::Config;
use serde_json::{Value, json};
use tests::memory::{ContractErrors, Gate, LOCATION, Memory, PROJECT, TOKEN};
use tests::seed::{
    self, FIREWALL_RULE, INFERENCE_API_KEY, POSTGRES_FIREWALL_RULE, subnet_id, vm_id,
};

use super::support::{Program, serve_router};

pub const OPERATIONS: &str = include_str!("../../../crates/api-cli/src/operations.json");
const SCHEMAS: &str = include_str!("../../../crates/api-types/src/schemas.json");

/// Returns the command line of our contract, for a server with a project.
pub fn stratus(token: &str) -> Program {
    let memory = Memory::new(seed::state(3));
    let router = api_server::router(memory, Gate, ContractErrors, Config::default());
    let url = serve_router(router);
    Program::new("stratus", OPERATIONS, SCHEMAS)
        .with("STRATUS_URL", &url)
        .with("STRATUS_TOKEN", token)
        .with("STRATUS_PROJECT_ID", PROJECT)
        .with("STRATUS_LOCATION", LOCATION)
}

/// A password that the contract accepts.
pub const PASSWORD: &str = "Example-Passw0rd";

/// The call of an operation: its id, its arguments with `VM` and `SUBNET` in place of ids, a pointer
/// into its response, and the value there.
type Call = (&'static str, &'static str, &'static str, Value);

/// Returns a call of each operation.
#[expect(clippy::too_many_lines, reason = "an entry for each operation")]
fn calls() -> Vec<Call> {
    vec![
        (
            "load_balancer_list",
            "load-balancer list",
            "/items/0/name",
            json!("web"),
        ),
        (
            "project_load_balancer_list",
            "load-balancer project-list --page-size 1",
            "/count",
            json!(1),
        ),
        (
            "load_balancer_update",
            "load-balancer update web --algorithm hash_based --dst-port 8081 --health-check-endpoint /health --src-port 80 --vms VM",
            "/vms/0/id",
            json!(vm_id(2)),
        ),
        (
            "load_balancer_detach_vm",
            "load-balancer detach-vm web --vm-id VM",
            "/name",
            json!("web"),
        ),
        (
            "load_balancer_create",
            "load-balancer create api --algorithm hash_based --dst-port 8080 --health-check-protocol tcp --src-port 443 --private-subnet-id SUBNET",
            "/name",
            json!("api"),
        ),
        (
            "load_balancer_view",
            "load-balancer view web",
            "/src_port",
            json!(443),
        ),
        (
            "load_balancer_attach_vm",
            "load-balancer attach-vm web --vm-id VM",
            "/vms/2/id",
            json!(vm_id(2)),
        ),
        (
            "load_balancer_delete",
            "load-balancer delete web",
            "",
            Value::Null,
        ),
        (
            "project_postgres_list",
            "postgres project-list",
            "/items/0/name",
            json!("orders"),
        ),
        (
            "postgres_view",
            "postgres view orders",
            "/state",
            json!("running"),
        ),
        (
            "postgres_create",
            "postgres create invoices --size standard-2 --storage-size 64 --version 18",
            "/version",
            json!("18"),
        ),
        (
            "postgres_update",
            r#"postgres update orders --storage-size 128 --tags {"key":"team","value":"billing"}"#,
            "/tags/0/value",
            json!("billing"),
        ),
        (
            "postgres_reset_superuser_password",
            "postgres reset-superuser-password orders --password-file -",
            "/name",
            json!("orders"),
        ),
        (
            "postgres_list",
            "postgres list --order-column name",
            "/items/0/name",
            json!("orders"),
        ),
        ("postgres_delete", "postgres delete orders", "", Value::Null),
        (
            "postgres_restart",
            "postgres restart orders",
            "/name",
            json!("orders"),
        ),
        (
            "postgres_promote",
            "postgres promote orders",
            "/name",
            json!("orders"),
        ),
        (
            "postgres_backup_list",
            "postgres backup-list orders --page-size 1 --all",
            "/1/key",
            json!("20260302T090000Z"),
        ),
        (
            "postgres_restore",
            "postgres restore orders --name before --restore-target 2026-03-02T17:30:00Z",
            "/name",
            json!("before"),
        ),
        (
            "postgres_set_maintenance_window",
            "postgres set-maintenance-window orders --maintenance-window-start-at 23",
            "/maintenance_window_start_at",
            json!(23),
        ),
        (
            "postgres_firewall_rule_list",
            "postgres firewall-rule-list orders",
            "/count",
            json!(0),
        ),
        (
            "postgres_firewall_rule_create",
            "postgres firewall-rule-create orders --cidr 10.0.0.0/8 --description Offices",
            "/description",
            json!("Offices"),
        ),
        (
            "postgres_firewall_rule_delete",
            "postgres firewall-rule-delete orders POSTGRES_RULE",
            "",
            Value::Null,
        ),
        (
            "private_subnet_view",
            "private-subnet view backend",
            "/net4",
            json!("10.0.1.0/26"),
        ),
        (
            "private_subnet_create",
            "private-subnet create staging",
            "/state",
            json!("creating"),
        ),
        (
            "private_subnet_connect",
            "private-subnet connect backend --connected-subnet-id SUBNET",
            "/id",
            json!(subnet_id(1)),
        ),
        (
            "private_subnet_list",
            "private-subnet list --order-column name",
            "/items/1/name",
            json!("frontend"),
        ),
        (
            "project_private_subnet_list",
            "private-subnet project-list --page-size 1",
            "/count",
            json!(2),
        ),
        (
            "private_subnet_disconnect",
            "private-subnet disconnect backend SUBNET",
            "/id",
            json!(subnet_id(1)),
        ),
        (
            "private_subnet_delete",
            "private-subnet delete gone",
            "",
            Value::Null,
        ),
        (
            "firewall_list",
            "firewall list --order-column name",
            "/items/0/name",
            json!("web-only"),
        ),
        (
            "firewall_view",
            "firewall view web-only",
            "/firewall_rules/0/protocol",
            json!("tcp"),
        ),
        (
            "firewall_create",
            "firewall create offices",
            "/description",
            json!(""),
        ),
        ("firewall_delete", "firewall delete gone", "", Value::Null),
        (
            "firewall_attach_subnet",
            "firewall attach-subnet web-only --private-subnet-id SUBNET",
            "/private_subnets/1",
            json!(subnet_id(2)),
        ),
        (
            "firewall_detach_subnet",
            "firewall detach-subnet web-only --private-subnet-id SUBNET",
            "/private_subnets",
            json!([subnet_id(1)]),
        ),
        (
            "firewall_rule_create",
            "firewall rule-create web-only --cidr 10.0.0.0/8",
            "/port_range",
            json!("0..65535"),
        ),
        (
            "firewall_rule_delete",
            "firewall rule-delete web-only RULE",
            "",
            Value::Null,
        ),
        ("vm_list", "vm list --all", "/2/name", json!("app-2")),
        ("vm_view", "vm view app-2", "/id", json!(vm_id(2))),
        (
            "inference_api_key_list",
            "inference-api-key list",
            "/items/0/key",
            json!("0123"),
        ),
        (
            "inference_api_key_view",
            "inference-api-key view KEY",
            "/key",
            json!("0123"),
        ),
        (
            "inference_api_key_create",
            "inference-api-key create",
            "/key",
            json!("[secret]"),
        ),
        (
            "inference_api_key_delete",
            "inference-api-key delete KEY",
            "",
            Value::Null,
        ),
    ]
}

#[test]
fn every_operation_is_called() {
    let ids = [
        ("VM", vm_id(2)),
        ("SUBNET", subnet_id(2)),
        ("RULE", FIREWALL_RULE.to_owned()),
        ("POSTGRES_RULE", POSTGRES_FIREWALL_RULE.to_owned()),
        ("KEY", INFERENCE_API_KEY.to_owned()),
    ];
    let mut called: Vec<&str> = Vec::new();
    for (id, words, pointer, value) in calls() {
        let words = words.split(' ').map(|word| {
            let id = ids.iter().find(|(name, _)| *name == word);
            id.map_or(word, |(_, id)| id)
        });
        let words: Vec<&str> = words.collect();
        let ended = stratus(TOKEN).run_with(&words, PASSWORD);
        assert_eq!(ended.code, 0, "{id}: {}", ended.err);
        if pointer.is_empty() {
            assert_eq!(ended.ok(), "", "{id}");
        } else {
            assert_eq!(ended.json().pointer(pointer), Some(&value), "{id}");
        }
        called.push(id);
    }
    let description: Value = serde_json::from_str(OPERATIONS).expect("it is JSON");
    let operations = description["operations"].as_array().expect("it is a list");
    let mut all: Vec<&str> = operations
        .iter()
        .filter_map(|one| one["id"].as_str())
        .collect();
    all.sort_unstable();
    called.sort_unstable();
    assert_eq!(called, all);
}

#[test]
fn refusals_of_the_service_are_shown() {
    let wrong = stratus("pat-wrong").run(&["vm", "list"]).failed(4);
    assert!(
        wrong.contains("401 Unauthorized") && wrong.contains("check the credential"),
        "{wrong}"
    );
    let missing = stratus(TOKEN)
        .run(&["postgres", "view", "nothing"])
        .failed(4);
    assert!(missing.contains("404 Not Found"), "{missing}");
    stratus("pat-fail-500").run(&["vm", "list"]).failed(5);
}

/// Returns the lines of the page that call the program, each without its comment and redirection.
fn documented() -> Vec<String> {
    let page = include_str!("../../../docs/command-line.md");
    let lines = page.lines().filter(|line| line.starts_with("stratus "));
    let commands = lines.map(|line| line.split(" # ").next().unwrap_or(line));
    let commands = commands.map(|line| line.split(" > ").next().unwrap_or(line));
    commands.map(|line| line.trim().to_owned()).collect()
}

#[test]
fn every_command_of_the_page_works() {
    let stratus = stratus(TOKEN);
    stratus.file("token", TOKEN);
    let body = json!({
        "algorithm": "round_robin",
        "dst_port": 80,
        "health_check_endpoint": "/up",
        "src_port": 80,
        "vms": [],
    });
    stratus.file("web.json", body.to_string());
    let commands = documented();
    assert!(commands.len() > 8, "{commands:?}");
    for command in commands {
        if command == "stratus auth login" {
            let nobody = stratus.shell(&command).failed(2);
            assert!(nobody.contains("nobody can be asked"), "{nobody}");
            continue;
        }
        let others = ["--help", "completions", "stratus auth"];
        let is_call = !others.iter().any(|other| command.contains(other));
        let is_dry = command.contains("--dry-run");
        let more = if is_call && !is_dry { " --dry-run" } else { "" };
        let out = stratus.shell(&format!("{command}{more}")).ok();
        assert_eq!(out.starts_with("curl "), is_call, "{command}: {out}");
    }
}

#[test]
fn the_configuration_file_of_the_page_is_read() {
    let page = include_str!("../../../docs/command-line.md");
    let (_, after) = page.split_once("```toml\n").expect("the page has a file");
    let (file, _) = after.split_once("```").expect("the block ends");
    let stratus = Program::new("stratus", OPERATIONS, SCHEMAS);
    let token = stratus.file("token", TOKEN);
    let file = file.replace("/home/ada/.stratus-token", &token);
    let config = stratus.file("config.toml", file);
    let call = ["--config", &config, "vm", "list", "--dry-run"];
    let curl = stratus.run(&[&call[..], &["--profile", "staging"]].concat());
    let curl = curl.ok();
    let url = "https://staging.stratus.example/project/pjj99grz61ddttq24cf6gc6atm/location/eu-central-h1/vm";
    assert!(curl.contains(url), "{curl}");
    // Without the profile, no project is chosen.
    let missing = stratus.run(&call).failed(2);
    assert!(missing.contains("--project-id"), "{missing}");
}
