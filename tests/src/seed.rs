//! Builds a [`State`] of resources that fit the contract.

use serde_json::{Value, json};

use crate::memory::{LOCATION, State};

/// The id of the only rule of the firewall of [`state`].
pub const FIREWALL_RULE: &str = "fre37v1x8403hpfemjr5vhqv1h";
/// The id of a firewall rule that the database of [`state`] does not have.
pub const POSTGRES_FIREWALL_RULE: &str = "pfba831ka2n0hn8q0f4a8mvvvy";
/// The id of the first inference API key of [`state`].
pub const INFERENCE_API_KEY: &str = "akmagvrjz7cptgqmw5121gqp0c";

/// Returns the contract as JSON, as the service publishes it.
///
/// # Panics
///
/// Never: it is part of the build.
#[must_use]
pub fn contract() -> Value {
    serde_json::from_str(include_str!("../../crates/api-server/src/openapi.json"))
        .expect("openapi.json is JSON")
}

/// Returns a state with one or two of each resource, and as many virtual machines as `vms` says.
#[must_use]
pub fn state(vms: usize) -> State {
    State {
        vms: (0..vms).map(vm).collect(),
        load_balancers: vec![from(load_balancer())],
        databases: vec![from(database())],
        subnets: vec![subnet(1, "backend"), subnet(2, "frontend")],
        firewalls: vec![from(json!({
            "description": "Lets the web in",
            "firewall_rules": [{
                "cidr": "0.0.0.0/0",
                "description": "",
                "id": FIREWALL_RULE,
                "port_range": "80..443",
                "protocol": "tcp",
            }],
            "id": "fw42mye83tbaffedn7eh0fyrep",
            "location": LOCATION,
            "name": "web-only",
            "private_subnets": [subnet_id(1), subnet_id(2)],
        }))],
        inference_api_keys: vec![
            from(json!({"id": INFERENCE_API_KEY, "key": "0123"})),
            from(json!({"id": "akxz0t4m1rn8vq5gk2eyhc7wjd", "key": null})),
        ],
    }
}

/// Returns the id of the virtual machine `number` of [`state`], from 0.
#[must_use]
pub fn vm_id(number: usize) -> String {
    format!("vm{number:024}")
}

/// Returns the id of the private subnet `number` of [`state`], which is 1 or 2.
#[must_use]
pub fn subnet_id(number: usize) -> String {
    format!("ps{number:024}")
}

fn vm(number: usize) -> api_types::Vm {
    from(json!({
        "id": vm_id(number),
        "ip4": "203.0.113.9",
        "ip4_enabled": true,
        "ip6": "2001:db8::9",
        "location": LOCATION,
        "name": format!("app-{number}"),
        "size": "standard-2",
        "state": "running",
        "storage_size_gib": 40,
        "unix_user": "ubi",
    }))
}

fn subnet(number: usize, name: &str) -> api_types::PrivateSubnet {
    from(json!({
        "firewalls": [],
        "id": subnet_id(number),
        "location": LOCATION,
        "name": name,
        "net4": format!("10.0.{number}.0/26"),
        "net6": format!("fd00:0:0:{number}::/64"),
        "nics": [],
        "state": "available",
    }))
}

fn load_balancer() -> Value {
    json!({
        "algorithm": "round_robin",
        "dst_port": 8080,
        "health_check_endpoint": "/up",
        "health_check_protocol": "http",
        "hostname": "web.tnpjw.stratus.example",
        "id": "1b5st0rev262mmfwhxpraebw3n",
        "location": LOCATION,
        "name": "web",
        "src_port": 443,
        "subnet": "backend",
        "vms": [vm(0), vm(1)],
        "stack": "dual",
        "cert_enabled": true,
    })
}

fn database() -> Value {
    json!({
        "flavor": "standard",
        "ha_type": "none",
        "id": "pgt10a2ct09p45wb0b42xgnrf3",
        "location": LOCATION,
        "name": "orders",
        "state": "running",
        "storage_size_gib": 64,
        "version": "17",
        "target_version": "17",
        "vm_size": "standard-2",
        "maintenance_window_start_at": 3,
        "read_replica": false,
        "tags": [{"key": "team", "value": "checkout"}],
        "connection_string":
            "postgres://postgres:Example-Passw0rd@orders.pgt10a2ct09p45wb0b42xgnrf3.stratus.example:5432/postgres?sslmode=require",
        "earliest_restore_time": null,
        "latest_restore_time": "2026-03-02T17:42:10Z",
        "firewall_rules": [],
        "primary": true,
    })
}

fn from<T: serde::de::DeserializeOwned>(value: Value) -> T {
    serde_json::from_value(value).expect("the example fits the contract")
}
