//! Many callers at once: of changes that exclude each other, exactly one succeeds, and no update is
//! lost. On PostgreSQL with three replicas.

use std::collections::HashSet;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use futures_util::future::join_all;
use serde_json::{Value, json};

use crate::support::Home;
use crate::support::caller::{Caller, JsonResponse};
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;

const PLACE: &str = "/location/eu-central-h1";

/// Starts replicas of the service. Returns them, and a caller for each.
fn replicas(home: &Home, count: usize) -> (Vec<Service>, Vec<Caller>) {
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let services: Vec<Service> = (0..count)
        .map(|_| home.serve(&["--simulate-delay", "1h"]))
        .collect();
    let callers = services
        .iter()
        .map(|service| Caller::new(&service.base, SHOP, &token))
        .collect();
    (services, callers)
}

/// Makes calls at the same time, spread over the replicas. Returns their responses.
async fn at_once(
    callers: &[Caller],
    calls: Vec<(String, Value)>,
    patches: bool,
) -> Vec<JsonResponse> {
    let sent =
        calls
            .into_iter()
            .zip(callers.iter().cycle())
            .map(|((path, body), caller)| async move {
                if patches {
                    caller.patch(&path, body).await
                } else {
                    caller.post(&path, body).await
                }
            });
    join_all(sent).await
}

/// Returns the number of successes. All others must be an error about a value, or a conflict.
fn successes(responses: &[JsonResponse], field: &str) -> usize {
    for refused in responses.iter().filter(|response| response.status != 200) {
        match refused.error() {
            (400, "InvalidRequest") => {
                assert!(!refused.detail(field).is_null(), "{}", refused.body);
            }
            (409, "Conflict") => {}
            _ => panic!("{} {}", refused.status, refused.body),
        }
    }
    responses
        .iter()
        .filter(|response| response.status == 200)
        .count()
}

async fn exactly_one_create_wins(callers: &[Caller]) {
    let body = json!({ "size": "standard-2", "storage_size": 64 });
    for round in 0..5 {
        let calls = vec![(format!("{PLACE}/postgres/same-{round}"), body.clone()); 24];
        assert_eq!(
            successes(&at_once(callers, calls, false).await, "name"),
            1,
            "exactly one database with the name is created"
        );
        let calls = vec![(format!("{PLACE}/private-subnet/same-{round}"), json!({})); 24];
        assert_eq!(
            successes(&at_once(callers, calls, false).await, "name"),
            1,
            "exactly one private subnet with the name is created"
        );
    }
    let listed = callers[0].get("/postgres").await.ok();
    assert_eq!(
        (
            listed["count"].as_i64(),
            listed["items"].as_array().map(Vec::len)
        ),
        (Some(5), Some(5))
    );
}

async fn a_vm_has_one_load_balancer(callers: &[Caller]) {
    let shop = &callers[0];
    let vms = shop
        .get(&format!("{PLACE}/vm?order_column=name"))
        .await
        .ok();
    let vms: Vec<&Value> = vms["items"]
        .as_array()
        .unwrap()
        .iter()
        .map(|vm| &vm["id"])
        .collect();
    let update = |vms: Value| json!({ "algorithm": "round_robin", "src_port": 1, "dst_port": 2, "health_check_endpoint": "/", "vms": vms });
    for round in 0..10 {
        for name in ["web", "api"] {
            let cleared = shop
                .patch(&format!("{PLACE}/load-balancer/{name}"), update(json!([])))
                .await;
            cleared.ok();
        }
        let both = json!([vms[round % 3], vms[(round + 1) % 3]]);
        let calls: Vec<_> = ["web", "api", "web", "api"]
            .iter()
            .map(|name| {
                (
                    format!("{PLACE}/load-balancer/{name}"),
                    update(both.clone()),
                )
            })
            .collect();
        let responses = at_once(callers, calls, true).await;
        assert!(
            (1..=2).contains(&successes(&responses, "vms")),
            "one load balancer gets the virtual machines, in one update or both"
        );
        let winners: HashSet<&str> = responses
            .iter()
            .filter(|response| response.status == 200)
            .map(|response| response.body["name"].as_str().unwrap())
            .collect();
        assert_eq!(
            winners.len(),
            1,
            "a virtual machine is attached to two load balancers"
        );
    }
}

async fn two_connects_make_one_link(callers: &[Caller]) {
    let id = async |name: &str| {
        callers[0]
            .get(&format!("{PLACE}/private-subnet/{name}"))
            .await
            .ok()["id"]
            .clone()
    };
    let (backend, frontend) = (id("backend").await, id("frontend").await);
    let there = (
        format!("{PLACE}/private-subnet/backend/connect"),
        json!({ "connected-subnet-id": frontend }),
    );
    let back = (
        format!("{PLACE}/private-subnet/frontend/connect"),
        json!({ "connected-subnet-id": backend }),
    );
    let calls = [there, back].into_iter().cycle().take(16).collect();
    assert_eq!(
        successes(&at_once(callers, calls, false).await, "connected-subnet-id"),
        1
    );
}

async fn networks_never_overlap(callers: &[Caller]) {
    let calls = (0..60)
        .map(|number| (format!("{PLACE}/private-subnet/net-{number}"), json!({})))
        .collect();
    let responses = at_once(callers, calls, false).await;
    let nets: HashSet<(String, String)> = responses
        .into_iter()
        .map(JsonResponse::ok)
        .map(|subnet| (subnet["net4"].to_string(), subnet["net6"].to_string()))
        .collect();
    let distinct4: HashSet<&String> = nets.iter().map(|(net4, _)| net4).collect();
    let distinct6: HashSet<&String> = nets.iter().map(|(_, net6)| net6).collect();
    assert_eq!((distinct4.len(), distinct6.len()), (60, 60));
}

/// Changes of different properties of a resource at the same time are all kept.
async fn no_update_is_lost(callers: &[Caller]) {
    let web = format!("{PLACE}/load-balancer/web");
    let body = |more: Value| {
        let mut body = json!({
            "algorithm": "round_robin", "src_port": 1, "dst_port": 2, "health_check_endpoint": "/", "vms": [],
        });
        body.as_object_mut()
            .unwrap()
            .extend(more.as_object().unwrap().clone());
        body
    };
    for round in 0..20 {
        let (stack, cert) = (["ipv4", "ipv6"][round % 2], round % 3 == 0);
        let calls = vec![
            (web.clone(), body(json!({ "stack": stack }))),
            (web.clone(), body(json!({ "cert_enabled": cert }))),
        ];
        for response in at_once(callers, calls, true).await {
            response.ok();
        }
        let now = callers[0].patch(&web, body(json!({}))).await.ok();
        assert_eq!(
            (&now["stack"], &now["cert_enabled"]),
            (&json!(stack), &json!(cert)),
            "round {round}"
        );
    }
}

/// The same for a database, which has a revision of its own.
async fn no_update_of_a_database_is_lost(callers: &[Caller]) {
    let kept = format!("{PLACE}/postgres/kept");
    let body = json!({ "size": "standard-2", "storage_size": 64 });
    callers[0].post(&kept, body).await.ok();
    for round in 0..20 {
        let ha_type = ["sync", "async"][round % 2];
        let tags = json!([{ "key": "round", "value": round.to_string() }]);
        let calls = [json!({ "ha_type": ha_type }), json!({ "tags": tags })];
        let calls = calls.iter().cycle().take(6);
        let calls = calls.map(|body| (kept.clone(), body.clone())).collect();
        for response in at_once(callers, calls, true).await {
            response.ok();
        }
        let now = callers[0].get(&kept).await.ok();
        let found = (&now["ha_type"], &now["tags"]);
        assert_eq!(found, (&json!(ha_type), &tags), "round {round}");
    }
}

/// Attaching and detaching at the same time have the same effect as one after the other.
async fn attaching_and_detaching_take_turns(callers: &[Caller]) {
    let shop = &callers[0];
    let vms = shop
        .get(&format!("{PLACE}/vm?order_column=name"))
        .await
        .ok();
    let (one, two) = (&vms["items"][0]["id"], &vms["items"][1]["id"]);
    let web = format!("{PLACE}/load-balancer/web");
    let update = |vms: Value| json!({ "algorithm": "round_robin", "src_port": 1, "dst_port": 2, "health_check_endpoint": "/", "vms": vms });
    let attached = |load_balancer: &Value| {
        let vms = load_balancer["vms"].as_array().unwrap();
        vms.iter()
            .map(|vm| vm["id"].clone())
            .collect::<HashSet<Value>>()
    };
    let detach_path = format!("{web}/detach-vm");
    shop.patch(&format!("{PLACE}/load-balancer/api"), update(json!([])))
        .await
        .ok();
    for round in 0..100 {
        shop.patch(&web, update(json!([one]))).await.ok();
        let detach = json!({ "vm_id": one });
        let attach = callers[round % callers.len()].patch(&web, update(json!([one, two])));
        let detach = callers[(round + 1) % callers.len()].post(&detach_path, detach);
        let (patched, detached) = futures_util::join!(attach, detach);
        let (patched, detached) = (attached(&patched.ok()), attached(&detached.ok()));
        assert_eq!(patched, HashSet::from([one.clone(), two.clone()]));
        let last = if detached.is_empty() {
            patched
        } else {
            HashSet::from([two.clone()])
        };
        // Detaching a virtual machine that is not attached returns the current state.
        let seen = shop
            .post(&detach_path, json!({ "vm_id": vms["items"][2]["id"] }))
            .await
            .ok();
        assert_eq!(attached(&seen), last, "round {round}");
    }
}

async fn race(callers: &[Caller]) {
    exactly_one_create_wins(callers).await;
    a_vm_has_one_load_balancer(callers).await;
    two_connects_make_one_link(callers).await;
    networks_never_overlap(callers).await;
    no_update_is_lost(callers).await;
    no_update_of_a_database_is_lost(callers).await;
    attaching_and_detaching_take_turns(callers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_service_on_sqlite_keeps_its_promises() {
    let home = Home::sqlite();
    let (_services, callers) = replicas(&home, 1);
    race(&callers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn three_replicas_on_postgres_keep_their_promises() {
    let Some(home) = Home::postgres() else { return };
    let (_services, callers) = replicas(&home, 3);
    race(&callers).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_second_service_on_one_sqlite_file_is_refused() {
    let home = Home::sqlite();
    let (_services, _) = replicas(&home, 1);
    let said = home.fail(&[
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--management-listen",
        "127.0.0.1:0",
    ]);
    assert!(said.contains("another stratusd serves it"), "{said}");
}

/// Commands that apply the same inventory at the same time create each resource once.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn inventories_are_applied_one_by_one() {
    let Some(home) = Home::postgres() else { return };
    home.apply(&two_projects());
    for round in 1..5 {
        let rule = format!("rules: [{{ cidr: 10.{round}.0.0/16, port_range: \"80\" }}, ");
        let grown = two_projects().replacen("rules: [", &rule, 1);
        std::fs::write(home.path().join("inventory.yaml"), grown).expect("the folder is writable");
        let running: Vec<_> = (0..6)
            .map(|_| {
                home.command(&["apply", "inventory.yaml"])
                    .stdout(std::process::Stdio::piped())
                    .spawn()
            })
            .collect();
        let mut made = 0;
        for one in running {
            let output = one
                .and_then(std::process::Child::wait_with_output)
                .expect("the program runs");
            assert!(output.status.success());
            made += String::from_utf8_lossy(&output.stdout)
                .matches("+ project")
                .count();
        }
        assert_eq!(
            made, 1,
            "exactly one of the concurrent `stratusd apply` runs creates the project"
        );
    }
}

/// While another program locks the file, all callers get a response, none later than a single wait
/// may take.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_somebody_else_writes_to_is_unavailable() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    // A connection that waits for a response is not idle.
    let service = home.serve(&["--idle-timeout", "2s"]);
    let callers = [Caller::new(&service.base, SHOP, &home.token("shop", &[]))];
    let file = home
        .database_url
        .strip_prefix("sqlite://")
        .expect("the store is a SQLite file");
    let mut other = SqliteConnection::establish(file).expect("the SQLite file opens");
    other
        .batch_execute("BEGIN IMMEDIATE")
        .expect("nobody else writes");
    let begun = Instant::now();
    let calls = (0..12)
        .map(|number| (format!("{PLACE}/private-subnet/held-{number}"), json!({})))
        .collect();
    for response in at_once(&callers, calls, false).await {
        assert_eq!(response.error(), (503, "Unavailable"), "{}", response.body);
    }
    assert!(
        begun.elapsed() < Duration::from_secs(25),
        "the responses came after {:?}",
        begun.elapsed()
    );
    other
        .batch_execute("ROLLBACK")
        .expect("the write lock is released");
    callers[0]
        .post_nothing(&format!("{PLACE}/private-subnet/free"))
        .await
        .ok();
}
