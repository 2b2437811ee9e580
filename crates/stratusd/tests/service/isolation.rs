//! Isolation of projects: with a token of another project, no operation reveals whether a resource
//! exists, by name or by id, in the path or in the body.

use std::collections::BTreeMap;

use api_server::OPERATIONS;
use serde_json::{Value, json};

use crate::on_both;
use crate::support::Home;
use crate::support::caller::{Caller, JsonResponse};
use crate::support::inventory::{RIVAL, SHOP, two_projects};

/// The id and name of one resource of the shop, by kind.
type Things = BTreeMap<&'static str, (String, &'static str)>;

const PLACE: &str = "/location/eu-central-h1";

async fn things(shop: &Caller) -> Things {
    let of = async |path: &str| {
        let response = shop.get(&format!("{PLACE}/{path}")).await.ok();
        response["id"]
            .as_str()
            .or(response["items"][0]["id"].as_str())
            .expect("the response has an id")
            .to_owned()
    };
    let subnet = shop
        .get(&format!("{PLACE}/private-subnet/backend"))
        .await
        .ok();
    let firewall = subnet["firewalls"][0]["id"]
        .as_str()
        .expect("the subnet has a firewall")
        .to_owned();
    let key = shop.post_nothing("/inference-api-key").await.ok()["id"]
        .as_str()
        .expect("a key has an id")
        .to_owned();
    BTreeMap::from([
        (
            "load_balancer",
            (
                of("load-balancer?order_column=name&start_after=api").await,
                "web",
            ),
        ),
        ("postgres", (of("postgres/secret").await, "secret")),
        (
            "private_subnet",
            (of("private-subnet/backend").await, "backend"),
        ),
        ("firewall", (firewall, "web-only")),
        ("vm", (of("vm?order_column=name").await, "app-1")),
        ("inference_api_key", (key, "")),
    ])
}

/// Returns an id of the same kind that does not exist.
fn nothing(id: &str) -> String {
    format!("{}00000000000000000000000z", &id[..2])
}

/// Returns a valid body of an operation that names a subnet, a firewall and a virtual machine.
fn body(operation: &str, subnet: &str, firewall: &str, vm: &str) -> Option<Value> {
    let body = match operation {
        "load_balancer_update" => json!({
            "algorithm": "round_robin", "src_port": 1, "dst_port": 2, "health_check_endpoint": "/", "vms": [vm],
        }),
        "load_balancer_create" => json!({
            "algorithm": "round_robin", "src_port": 1, "dst_port": 2, "health_check_protocol": "tcp", "private_subnet_id": subnet,
        }),
        "load_balancer_attach_vm" | "load_balancer_detach_vm" => json!({ "vm_id": vm }),
        "postgres_create" => json!({ "size": "standard-2", "storage_size": 64 }),
        "postgres_restore" => {
            json!({ "name": "again", "restore_target": "2026-03-02T17:30:00Z" })
        }
        "postgres_update" => json!({ "tags": [] }),
        "postgres_set_maintenance_window" => json!({ "maintenance_window_start_at": 3 }),
        "postgres_reset_superuser_password" => json!({ "password": "Abcdefgh1234" }),
        "private_subnet_create" => json!({ "firewall_id": firewall }),
        "private_subnet_connect" => json!({ "connected-subnet-id": subnet }),
        "firewall_attach_subnet" | "firewall_detach_subnet" => {
            json!({ "private_subnet_id": subnet })
        }
        "firewall_rule_create" | "postgres_firewall_rule_create" => {
            json!({ "cidr": "10.0.0.0/8" })
        }
        "inference_api_key_create" => json!({}),
        _ => return None,
    };
    Some(body)
}

/// Returns whether the path of an operation names a resource, by a reference or by an id.
fn names_a_resource(operation: &api_server::server::Operation) -> bool {
    operation.path.contains("_reference}") || operation.path.ends_with("_key_id}")
}

/// Returns whether the reference in the path of an operation is the name of a new resource.
fn makes_a_name(operation: &api_server::server::Operation) -> bool {
    operation.id.ends_with("_create") && operation.path.ends_with("_reference}")
}

/// Returns what a path can have instead of its parameter: of a path that takes references, an id and
/// two names, and of a path that takes ids alone, two ids.
fn references<'r>(
    operation: &api_server::server::Operation,
    id: &'r str,
    name: &'r str,
    unknown: &'r str,
) -> Vec<&'r str> {
    if operation.path.ends_with("_key_id}") {
        vec![id, "ak00000000000000000000000z"]
    } else {
        vec![id, name, unknown]
    }
}

/// Returns the path of an operation after the project, with a reference.
fn path(operation: &api_server::server::Operation, reference: &str) -> String {
    let path = operation
        .path
        .strip_prefix("/project/{project_id}")
        .expect("every path begins with the project");
    let mut path = path.replace("{location}", "eu-central-h1");
    if let Some((start, end)) = path.find('{').zip(path.find('}')) {
        path.replace_range(start..=end, reference);
    }
    let rule = if operation.id.starts_with("postgres") {
        "pf00000000000000000000000z"
    } else {
        "fr00000000000000000000000z"
    };
    path.replace("{firewall_rule_id}", rule)
        .replace("{private_subnet_id}", "ps00000000000000000000000z")
}

async fn call(
    caller: &Caller,
    operation: &api_server::server::Operation,
    reference: &str,
    body: Option<&Value>,
) -> JsonResponse {
    let path = path(operation, reference);
    caller
        .try_call(operation.method.into(), &path, body)
        .await
        .expect("the service responds")
}

on_both! {
    async fn another_project_is_as_good_as_none(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&["--simulate-delay", "1h"]);
        let rival_token = home.token("rival", &[]);
        let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        shop.post(&format!("{PLACE}/postgres/secret"), json!({ "size": "standard-2", "storage_size": 64 })).await.ok();
        let things = things(&shop).await;
        let intruder = Caller::new(&service.base, SHOP, &rival_token);
        let lost = Caller::new(&service.base, "pj00000000000000000000000z", &rival_token);
        for operation in OPERATIONS {
            let tag = operation.tag.expect("every operation has a tag");
            let (id, name) = things.get(tag).cloned().unwrap_or_default();
            let body = body(operation.id, &things["private_subnet"].0, &things["firewall"].0, &things["vm"].0);
            // By id, by name, and for a resource that does not exist, the response is the same, and
            // the same as in a project that does not exist.
            for reference in references(operation, &id, name, "no-such-thing") {
                let seen = call(&intruder, operation, reference, body.as_ref()).await;
                assert_eq!(seen.error(), (404, "ResourceNotFound"), "{} {reference}", operation.id);
                let nowhere = call(&lost, operation, reference, body.as_ref()).await;
                assert_eq!(seen, nowhere, "{} {reference}", operation.id);
            }
        }
    }

    async fn references_do_not_cross_projects(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&["--simulate-delay", "1h"]);
        let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let rival = Caller::new(&service.base, RIVAL, &home.token("rival", &[]));
        shop.post(&format!("{PLACE}/postgres/secret"), json!({ "size": "standard-2", "storage_size": 64 })).await.ok();
        let things = things(&shop).await;
        let before = state(&shop).await;
        for operation in OPERATIONS.iter().filter(|operation| names_a_resource(operation)) {
            let tag = operation.tag.expect("every operation has a tag");
            let (id, _) = &things[tag];
            let own = body(operation.id, "ps000000000000000000000000", "fw000000000000000000000000", "vm000000000000000000000000");
            // In the path, the id of another project's resource is as unknown as an id that does
            // not exist.
            if !makes_a_name(operation) {
                let foreign = call(&rival, operation, id, own.as_ref()).await;
                let unknown = call(&rival, operation, &nothing(id), own.as_ref()).await;
                ensure_unknown(operation, &foreign);
                assert_eq!(foreign, unknown, "{}", operation.id);
            }
        }
        for operation in OPERATIONS {
            // In the body, another project's resource gets the same response as one that does not
            // exist.
            let reference = match operation.tag {
                Some("load_balancer") => "web",
                Some("private_subnet") if operation.id.ends_with("_create") => "new",
                Some("private_subnet") => "backend",
                Some("firewall") => "web-only",
                _ => continue,
            };
            let (subnet, firewall, vm) = (&things["private_subnet"].0, &things["firewall"].0, &things["vm"].0);
            let Some(foreign) = body(operation.id, subnet, firewall, vm) else { continue };
            let unknown = body(operation.id, &nothing(subnet), &nothing(firewall), &nothing(vm));
            if unknown.as_ref() == Some(&foreign) {
                // The body names no resource.
                continue;
            }
            let response = call(&rival, operation, reference, Some(&foreign)).await;
            assert_eq!(response.error(), (400, "InvalidRequest"), "{}: {}", operation.id, response.body);
            assert_eq!(response, call(&rival, operation, reference, unknown.as_ref()).await, "{}", operation.id);
        }
        // The same for the second resource in a path.
        let of_the_shop = &things["private_subnet"].0;
        let [foreign, unknown] = [of_the_shop, &nothing(of_the_shop)].map(|id| format!("{PLACE}/private-subnet/backend/disconnect/{id}"));
        let response = rival.post_nothing(&foreign).await;
        assert_eq!(response.error(), (400, "InvalidRequest"));
        assert_eq!(response, rival.post_nothing(&unknown).await);
        assert_eq!(state(&shop).await, before, "the requests of another project leave the shop unchanged");
        // By the same names, the rival reaches resources of its own.
        assert_ne!(
            shop.get(&format!("{PLACE}/private-subnet/backend")).await.ok()["id"],
            rival.get(&format!("{PLACE}/private-subnet/backend")).await.ok()["id"],
        );
        assert_eq!(rival.get("/postgres").await.ok(), json!({ "count": 0, "items": [] }));
    }

    async fn references_do_not_cross_locations(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&["--simulate-delay", "1h"]);
        let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        shop.post(&format!("{PLACE}/postgres/secret"), json!({ "size": "standard-2", "storage_size": 64 })).await.ok();
        let things = things(&shop).await;
        let before = state(&shop).await;
        for operation in OPERATIONS {
            let tag = operation.tag.expect("every operation has a tag");
            let is_local = names_a_resource(operation) && operation.path.contains("{location}");
            let Some((id, name)) = things.get(tag).filter(|_| is_local) else { continue };
            if makes_a_name(operation) {
                continue;
            }
            let body = body(operation.id, &things["private_subnet"].0, &things["firewall"].0, &things["vm"].0);
            for reference in [id.as_str(), name] {
                let path = path(operation, reference).replace("eu-central-h1", "us-east-a2");
                let seen = shop.try_call(operation.method.into(), &path, body.as_ref()).await.expect("the service responds");
                ensure_unknown(operation, &seen);
            }
        }
        assert_eq!(state(&shop).await, before, "the requests in another location leave this one unchanged");
    }
}

/// Checks the response to a request whose path names a resource that the caller cannot see. A delete
/// of what does not exist succeeds.
fn ensure_unknown(operation: &api_server::server::Operation, seen: &JsonResponse) {
    if operation.method == api_server::server::Method::DELETE {
        assert_eq!(
            (seen.status, &seen.body),
            (204, &Value::Null),
            "{}",
            operation.id
        );
    } else {
        assert_eq!(seen.error(), (404, "ResourceNotFound"), "{}", operation.id);
    }
}

/// Returns everything that the API shows of a project.
async fn state(caller: &Caller) -> Vec<Value> {
    let mut all = Vec::new();
    for path in [
        "/load-balancer",
        "/postgres",
        "/private-subnet",
        "/inference-api-key",
    ] {
        all.push(caller.get(path).await.ok());
    }
    for path in [
        "vm",
        "vm/app-1",
        "load-balancer/web",
        "postgres/secret",
        "private-subnet/backend",
        "private-subnet/frontend",
        "firewall",
        "firewall/web-only",
    ] {
        all.push(caller.get(&format!("{PLACE}/{path}")).await.ok());
    }
    all
}
