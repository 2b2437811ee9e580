//! The audit trail: `stratusd audit` prints an entry for each change, and for nothing else.

use std::collections::BTreeSet;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use futures_util::future::join_all;
use insta::assert_snapshot;
use reqwest::Method;
use serde_json::{Value, json};
use stratusd::sweep::{Counted, shorten};
use stratusd::world::World;

use crate::on_both;
use crate::support::bare::{Bare, BareRequest};
use crate::support::caller::Caller;
use crate::support::inventory::{RIVAL, SHOP, two_projects};
use crate::support::{Home, eventually};

const PLACE: &str = "/location/eu-central-h1";
const DAY: Duration = Duration::from_hours(24);
/// The time of PostgreSQL, in milliseconds since 1970.
const NOW: &str = "CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)";

/// Returns the entries that a command prints as JSON.
pub fn trail(home: &Home, filter: &[&str]) -> Vec<Value> {
    let limit: &[_] = if filter.contains(&"--limit") {
        &[]
    } else {
        &["--limit", "100000"]
    };
    let lines = home.succeed(&[&["audit", "--format", "json"], limit, filter].concat());
    let entries = lines.lines().map(serde_json::from_str);
    entries
        .collect::<Result<_, _>>()
        .expect("each line is JSON")
}

/// Returns the id of a token.
fn id_of(token: &str) -> &str {
    &token[4..30]
}

/// Sends a change with a request id, and returns the status and the id of the resource.
async fn send(
    caller: &Caller,
    request: &str,
    headers: &[(&'static str, &str)],
    call: (Method, &str, Value),
) -> (u16, Value) {
    let headers = [headers, &[("x-request-id", request)]].concat();
    let (method, path, body) = call;
    let sent = caller.send_with(&headers, method, path, Some(&body)).await;
    let response = sent.expect("the service responds");
    assert_eq!(response.headers()["x-request-id"], request);
    let status = response.status().as_u16();
    let body: Value = response.json().await.expect("it is JSON");
    (status, body["id"].clone())
}

on_both! {
    async fn each_change_is_in_the_trail_and_nothing_else_is(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&["--simulate-delay", "1h", "--quota-inference-api-keys", "1"]);
        let token = home.token("shop", &[]);
        let shop = Caller::new(&service.base, SHOP, &token);
        let viewer = Caller::new(&service.base, SHOP, &home.token("shop", &["--read-only"]));
        let rival_token = home.token("rival", &[]);
        let rival = Caller::new(&service.base, RIVAL, &rival_token);
        let place = |path: &str| format!("{PLACE}/{path}");
        let id = async |path: &str| shop.get(&place(path)).await.ok()["id"].clone();
        let (frontend, backend) = (id("private-subnet/frontend").await, id("private-subnet/backend").await);
        let vms = shop.get(&place("vm?order_column=name")).await.ok();
        let (attached, free) = (&vms["items"][0]["id"], &vms["items"][1]["id"]);
        let database = json!({ "size": "standard-2", "storage_size": 64 });
        let balanced = json!({ "algorithm": "round_robin", "src_port": 1, "dst_port": 2, "health_check_endpoint": "/", "vms": [attached] });
        let balancer = json!({ "algorithm": "round_robin", "src_port": 1, "dst_port": 2, "health_check_protocol": "tcp", "private_subnet_id": backend });
        let (post, patch) = (Method::POST, Method::PATCH);
        let mut expected = Vec::new();
        for (operation, kind, method, path, body) in [
            ("postgres_create", "postgres", &post, place("postgres/orders"), database.clone()),
            ("postgres_update", "postgres", &patch, place("postgres/orders"), json!({ "tags": [{ "key": "a", "value": "b" }] })),
            ("postgres_reset_superuser_password", "postgres", &post, place("postgres/orders/reset-superuser-password"), json!({ "password": "Abcdefgh1234" })),
            ("postgres_set_maintenance_window", "postgres", &post, place("postgres/orders/set-maintenance-window"), json!({ "maintenance_window_start_at": 3 })),
            ("postgres_firewall_rule_create", "postgres_firewall_rule", &post, place("postgres/orders/firewall-rule"), json!({ "cidr": "10.0.0.0/8" })),
            ("private_subnet_create", "private_subnet", &post, place("private-subnet/new"), json!({})),
            ("private_subnet_connect", "private_subnet", &post, place("private-subnet/backend/connect"), json!({ "connected-subnet-id": frontend })),
            ("private_subnet_disconnect", "private_subnet", &post, place(&format!("private-subnet/backend/disconnect/{}", frontend.as_str().expect("it is an id"))), json!({})),
            ("firewall_detach_subnet", "firewall", &post, place("firewall/web-only/detach-subnet"), json!({ "private_subnet_id": backend })),
            ("firewall_create", "firewall", &post, place("firewall/offices"), json!({})),
            ("firewall_attach_subnet", "firewall", &post, place("firewall/offices/attach-subnet"), json!({ "private_subnet_id": backend })),
            ("firewall_rule_create", "firewall_rule", &post, place("firewall/offices/firewall-rule"), json!({ "cidr": "10.0.0.0/8" })),
            ("load_balancer_create", "load_balancer", &post, place("load-balancer/new"), balancer),
            ("load_balancer_attach_vm", "load_balancer", &post, place("load-balancer/new/attach-vm"), json!({ "vm_id": free })),
            ("load_balancer_update", "load_balancer", &patch, place("load-balancer/web"), balanced),
            ("load_balancer_detach_vm", "load_balancer", &post, place("load-balancer/web/detach-vm"), json!({ "vm_id": attached })),
            ("inference_api_key_create", "inference_api_key", &post, "/inference-api-key".to_owned(), json!({})),
        ] {
            let request = format!("request-{}", expected.len());
            // A request with a key is an entry when it is made, and none when it is repeated.
            let key: &[_] = if *method == Method::POST { &[("idempotency-key", &*request)] } else { &[] };
            let (status, resource) = send(&shop, &request, key, (method.clone(), &path, body.clone())).await;
            assert_eq!(status, 200, "{operation}");
            expected.push(json!([id_of(&token), operation, kind, resource, request]));
            if !key.is_empty() {
                assert_eq!(send(&shop, "repeated", key, (method.clone(), &path, body)).await.0, 200);
            }
        }
        // What is refused, by each kind of check, and what finds everything as it should be.
        let stale = [("if-match", "\"AAAAAAAAAAAAAAAAAAAAAA\"")];
        for (status, caller, headers, method, path, body) in [
            (400, &shop, &[][..], &post, place("postgres/orders"), database.clone()),
            (400, &shop, &[], &post, place("private-subnet/new"), json!({})),
            (403, &shop, &[], &post, "/inference-api-key".to_owned(), json!({})),
            (403, &viewer, &[], &post, place("postgres/other"), database.clone()),
            (404, &shop, &[], &patch, place("postgres/missing"), json!({})),
            (412, &shop, &stale, &patch, place("postgres/orders"), json!({ "tags": [] })),
            (200, &shop, &[], &patch, place("postgres/orders"), json!({ "tags": [{ "key": "a", "value": "b" }] })),
            // It is being created.
            (200, &shop, &[], &post, place("postgres/orders/restart"), json!({})),
            (200, &shop, &[], &post, place("postgres/orders/set-maintenance-window"), json!({ "maintenance_window_start_at": 3 })),
            (409, &shop, &[], &Method::DELETE, place("private-subnet/backend"), json!({})),
            (200, &shop, &[], &post, place(&format!("private-subnet/backend/disconnect/{}", frontend.as_str().expect("it is an id"))), json!({})),
            (200, &shop, &[], &post, place("firewall/web-only/detach-subnet"), json!({ "private_subnet_id": backend })),
            (200, &shop, &[], &post, place("load-balancer/web/detach-vm"), json!({ "vm_id": free })),
            (200, &shop, &[], &post, place("load-balancer/new/attach-vm"), json!({ "vm_id": free })),
        ] {
            let answer = send(caller, "no-change", headers, (method.clone(), &path, body)).await;
            assert_eq!(answer.0, status, "{path}");
        }
        let mut deleted = Vec::new();
        // A key is deleted once, however often it is asked for.
        let created = expected.last().expect("there are some").clone();
        let key = format!("/inference-api-key/{}", created[3].as_str().expect("it is an id"));
        for (caller, status) in [(&viewer, 403), (&shop, 204), (&shop, 204)] {
            let headers = [("x-request-id", "deleted")];
            let sent = caller.try_call_with(&headers, Method::DELETE, &key, None).await;
            assert_eq!(sent.expect("the service responds").status, status);
        }
        expected.push(json!([id_of(&token), "inference_api_key_delete", "inference_api_key", created[3], "deleted"]));
        let made = |operation: &str| {
            let entry = expected.iter().find(|entry| entry[1] == operation);
            entry.expect("it was made")[3].clone()
        };
        for (operation, kind, resource, path) in [
            ("firewall_rule_delete", "firewall_rule", made("firewall_rule_create"), "firewall/offices/firewall-rule/"),
            ("firewall_delete", "firewall", made("firewall_create"), "firewall/"),
            ("postgres_firewall_rule_delete", "postgres_firewall_rule", made("postgres_firewall_rule_create"), "postgres/orders/firewall-rule/"),
            ("postgres_delete", "postgres", made("postgres_create"), "postgres/"),
            ("load_balancer_delete", "load_balancer", made("load_balancer_create"), "load-balancer/"),
            ("private_subnet_delete", "private_subnet", made("private_subnet_create"), "private-subnet/"),
        ] {
            let path = place(&format!("{path}{}", resource.as_str().expect("it is an id")));
            for _ in 0..2 {
                let headers = [("x-request-id", "deleted")];
                let sent = shop.try_call_with(&headers, Method::DELETE, &path, None).await;
                assert_eq!(sent.expect("the service responds").status, 204);
            }
            deleted.push(json!([id_of(&token), operation, kind, resource, "deleted"]));
        }
        expected.extend(deleted);
        let (status, made) = send(&rival, "of-the-rival", &[], (post, &place("postgres/orders"), database)).await;
        assert_eq!(status, 200);

        let short = |entry: &Value| json!([entry["principal"], entry["operation"], entry["kind"], entry["resource"], entry["request_id"]]);
        let of_shop = trail(&home, &["--project", "shop"]);
        assert!(of_shop.iter().all(|entry| entry["project"] == SHOP));
        // The reconciler may have deleted the database by now, or not.
        let by_callers = of_shop.iter().filter(|entry| entry["principal"] != "operator" && entry["principal"] != "reconciler");
        assert_eq!(by_callers.map(short).collect::<Vec<_>>(), expected);
        // A filter by the whole token is one by its id.
        assert_eq!(trail(&home, &["--principal", &token]).iter().map(short).collect::<Vec<_>>(), expected);
        let of_rival = json!([id_of(&rival_token), "postgres_create", "postgres", made, "of-the-rival"]);
        assert_eq!(trail(&home, &["--operation", "postgres_create"]).iter().map(short).collect::<Vec<_>>(), [expected[0].clone(), of_rival]);
        let of_orders: Vec<Value> = expected.iter().filter(|entry| entry[3] == expected[0][3]).cloned().collect();
        assert_eq!(of_orders.len(), 5);
        let orders = expected[0][3].as_str().expect("it is an id");
        let found = trail(&home, &["--resource", orders]);
        let by_callers = found.iter().filter(|entry| entry["principal"] != "reconciler");
        assert_eq!(by_callers.map(short).collect::<Vec<_>>(), of_orders);
        assert_eq!(trail(&home, &["--project", RIVAL, "--resource", orders]), [Value::Null; 0]);
    }

    async fn of_changes_at_the_same_time_those_that_are_made_are_in_the_trail(home: Home) {
        home.apply(&two_projects());
        let services = if home.database_url.starts_with("postgres") { 2 } else { 1 };
        let services: Vec<_> = (0..services).map(|_| home.serve(&["--simulate-delay", "1h"])).collect();
        let token = home.token("shop", &[]);
        let callers: Vec<_> = services.iter().map(|service| Caller::new(&service.base, SHOP, &token)).collect();
        let mut made = BTreeSet::new();
        for round in 0..10 {
            let calls = (0..16).map(|number| {
                let (caller, request) = (&callers[number % callers.len()], format!("{round}-{number}"));
                // Each name is wanted by four.
                let path = format!("{PLACE}/private-subnet/n-{round}-{}", number / 4);
                async move {
                    let (status, id) = send(caller, &request, &[], (Method::POST, &path, json!({}))).await;
                    (status == 200).then_some((request, id.to_string()))
                }
            });
            made.extend(join_all(calls).await.into_iter().flatten());
        }
        assert_eq!(made.len(), 40);
        let entries = trail(&home, &["--operation", "private_subnet_create", "--principal", id_of(&token)]);
        assert_eq!(entries.len(), 40);
        let text = |entry: &Value| (entry["request_id"].as_str().unwrap_or_default().to_owned(), entry["resource"].to_string());
        assert_eq!(entries.iter().map(text).collect::<BTreeSet<_>>(), made);
    }

    async fn the_operators_changes_are_in_the_trail_and_outlive_the_project(home: Home) {
        let inventory = |more: &str| format!("projects:\n  - name: shop\n    id: {SHOP}\n{more}  - name: other\n");
        let vm = |size: u32| format!("    vms: [{{ name: a, location: us-east-a2, size: standard-2, storage_size_gib: {size}, unix_user: u }}]\n");
        let operations = |filter: &[&str]| -> Vec<String> {
            let entries = trail(&home, filter);
            assert!(entries.iter().all(|entry| entry["principal"] == "operator" && entry["request_id"].is_null()));
            entries.iter().map(|entry| entry["operation"].as_str().expect("it has one").to_owned()).collect()
        };
        home.apply(&inventory(&vm(40)));
        let shop = ["--project", "shop"];
        assert_eq!(operations(&shop), ["project_create", "vm_create"]);
        // Nothing is different, or nothing is done.
        home.apply(&inventory(&vm(40)));
        std::fs::write(home.path().join("inventory.yaml"), inventory(&vm(80))).expect("the folder is writable");
        home.succeed(&["apply", "--dry-run", "inventory.yaml"]);
        home.apply(&inventory(""));
        assert_eq!(operations(&shop).len(), 2);
        home.apply(&inventory(&format!("{}    quotas: {{ vms: 7, firewalls: 7 }}\n", vm(80))));
        let guarded = "    firewalls: [{ name: f, location: us-east-a2, rules: [{ cidr: 10.0.0.0/8, port_range: '22' }] }]\n    \
                       private_subnets: [{ name: p, location: us-east-a2, firewalls: [f], nics: [{ name: n }] }]\n    \
                       load_balancers: [{ name: l, location: us-east-a2, subnet: p, src_port: 1, dst_port: 2, health_check_endpoint: / }]\n";
        home.apply(&inventory(guarded));
        home.apply(&inventory(&guarded.replace("'22'", "'23'").replace("name: n ", "name: m ")));
        let token = home.token("shop", &[]);
        home.succeed(&["token", "revoke", &token]);
        home.fail(&["token", "revoke", &token]);
        let expected = [
            "project_create", "vm_create",
            // Several quotas are one update, and so are a firewall's rules.
            "project_update", "vm_update",
            "project_update", "firewall_create", "private_subnet_create", "load_balancer_create",
            "firewall_update", "private_subnet_update",
            "token_issue", "token_revoke",
        ];
        assert_eq!(operations(&shop), expected);
        assert_eq!(operations(&["--resource", id_of(&token)]), ["token_issue", "token_revoke"]);
        std::fs::write(home.path().join("inventory.yaml"), inventory("    vms: []\n")).expect("the folder is writable");
        home.succeed(&["apply", "--prune", "inventory.yaml"]);
        let pruned = ["load_balancer_delete", "private_subnet_delete", "firewall_delete", "vm_delete"];
        assert_eq!(operations(&shop), [&expected[..], &pruned].concat());
        std::fs::write(home.path().join("inventory.yaml"), "projects: [{ name: other }]\n").expect("the folder is writable");
        home.succeed(&["apply", "--prune", "inventory.yaml"]);
        assert!(home.fail(&["audit", "--project", "shop"]).contains("there is no project shop"));
        assert_eq!(operations(&["--project", SHOP]), [&expected[..], &pruned, &["project_delete"]].concat());
        assert_eq!(operations(&["--project", "other"]), ["project_create"]);
    }

    async fn the_reconciler_is_in_the_trail_where_callers_see_a_difference(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&["--simulate-delay", "50ms", "--simulate-jitter", "0s", "--observe-every", "100ms"]);
        let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let path = format!("{PLACE}/postgres/orders");
        shop.post(&path, json!({ "size": "standard-2", "storage_size": 64 })).await.ok();
        let running = shop.wait_for(&path, |database| database["state"] == "running").await;
        let of_steps = || trail(&home, &["--principal", "reconciler"]);
        let before = of_steps();
        let one = json!({ "operation": "postgres_reconcile", "kind": "postgres", "resource": running["id"], "request_id": null });
        let wanted = one.as_object().expect("it is an object");
        assert!(wanted.iter().all(|(name, value)| before.last().expect("there is an entry")[name] == *value), "{before:?}");
        // It is observed all the time, and what is observed is the same.
        let seen = &running["latest_restore_time"];
        shop.wait_for(&path, |database| database["latest_restore_time"] != *seen).await;
        assert_eq!(of_steps(), before);
    }

    async fn a_range_of_time_and_a_number_select_the_newest(home: Home) {
        let bare = Bare::new(home).await;
        let start = bare.context.world.now();
        let create = BareRequest { method: "POST", path: format!("/project/{SHOP}/inference-api-key"), body: None };
        for _ in 0..5 {
            assert_eq!(bare.call(&create).await.0, 200);
        }
        // The clock of PostgreSQL is not that of the test.
        if bare.home.database_url.starts_with("postgres") {
            bare.ask(&format!("UPDATE audit SET at = {start} + 1000 * GREATEST(0, number + 5 - (SELECT max(number) FROM audit))"));
        }
        let at = |seconds: i64| jiff::Timestamp::from_millisecond(start + seconds * 1000).expect("it is a time").to_string();
        let times = |filter: &[&str]| -> Vec<String> {
            let filter = [&["--operation", "inference_api_key_create"], filter].concat();
            trail(&bare.home, &filter).iter().map(|entry| entry["time"].as_str().expect("it is text").replace(".000Z", "Z")).collect()
        };
        assert_eq!(times(&[]), [1, 2, 3, 4, 5].map(at));
        assert_eq!(times(&["--since", &at(2), "--until", &at(4)]), [2, 3].map(at));
        assert_eq!(times(&["--limit", "2"]), [4, 5].map(at));
        assert_eq!(times(&["--since", "1s"]), [""; 0]);
        assert_eq!(times(&["--until", "1s", "--limit", "1"]), [at(5)]);
        let printed = bare.home.succeed(&["audit", "--project", "shop", "--limit", "3", "--until", &at(2)]);
        assert_snapshot!("table", printed);
    }

    async fn what_is_too_old_is_deleted_a_part_at_a_time(home: Home) {
        let bare = Bare::new(home).await;
        let earlier = trail(&bare.home, &[]).len();
        let is_postgres = bare.home.database_url.starts_with("postgres");
        let tags = |number: usize| BareRequest {
            method: "PATCH",
            path: format!("/project/{SHOP}{PLACE}/postgres/orders"),
            body: Some(json!({ "tags": [{ "key": "number", "value": number.to_string() }] })),
        };
        let create = BareRequest {
            method: "POST",
            body: Some(json!({ "size": "standard-2", "storage_size": 64 })),
            ..tags(0)
        };
        assert_eq!(bare.call(&create).await.0, 200);
        // More than one transaction deletes.
        for number in 0..600 {
            assert_eq!(bare.call(&tags(number)).await.0, 200);
        }
        // An entry is a second older than the next one, and those before the create are as old as each other.
        let sweep = async |kept: Duration| {
            if is_postgres {
                bare.ask(&format!(
                    "UPDATE audit SET at = {NOW} - 1000 * ((SELECT max(number) FROM audit) - GREATEST(number, \
                     (SELECT min(number) - 1 FROM audit WHERE operation = 'postgres_create')))"
                ));
            }
            let kept = kept + Duration::from_millis(999);
            stratusd::sweep::once(&bare.store, &bare.context.world, kept).await.expect("it sweeps").entries
        };
        let updates = || trail(&bare.home, &["--operation", "postgres_update"]).len();
        assert_eq!((sweep(Duration::from_secs(601)).await, updates()), (0, 600));
        // The oldest are deleted: those of the inventory, the create and 39 updates, each of which is a second after
        // the other.
        assert_eq!((sweep(Duration::from_secs(560)).await, updates()), (earlier + 40, 561));
        assert_eq!((sweep(Duration::from_secs(10)).await, updates()), (550, 11));
        // A service sweeps when it starts.
        bare.wait(DAY);
        let _service = bare.home.serve(&["--audit-retention", "1h"]);
        eventually(async || (updates() == 0).then_some(())).await.expect("the rest is deleted");
    }

    async fn a_long_trail_is_counted_in_several_steps(home: Home) {
        let bare = Bare::new(home).await;
        let before = trail(&bare.home, &["--project", "shop"]).len();
        let sql = format!(
            "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 25000) \
             INSERT INTO audit (project_id, at, number, principal, operation, resource) \
             SELECT '{SHOP}', i, 0, 'operator', 'vm_create', 'vm' FROM n"
        );
        match bare.home.database_url.strip_prefix("sqlite://") {
            Some(file) => {
                let mut store = SqliteConnection::establish(file).expect("the SQLite file opens");
                store.batch_execute(&sql).expect("it can be written");
            }
            None => drop(bare.ask(&sql)),
        }
        let most = 20_500;
        let deleted = shorten(&bare.store, Counted::All, most).await.expect("it shortens");
        assert_eq!(deleted, before + 25_000 - 20_500);
        assert_eq!(trail(&bare.home, &["--project", "shop"]).len(), 20_500);
    }

    async fn a_project_that_makes_too_many_changes_loses_its_oldest_entries_alone(home: Home) {
        let bare = Bare::new(home).await;
        let create = BareRequest {
            method: "POST",
            path: format!("/project/{SHOP}{PLACE}/postgres/orders"),
            body: Some(json!({ "size": "standard-2", "storage_size": 64 })),
        };
        assert_eq!(bare.call(&create).await.0, 200);
        let shorten = async |counted: Counted, most: u32| shorten(&bare.store, counted, most).await.expect("it shortens");
        let entries = |project: &str| trail(&bare.home, &["--project", project]);
        let (others, before) = (entries("rival"), entries("shop"));
        assert!(!others.is_empty() && before.len() > 2);
        let tags = |number: usize| BareRequest {
            method: "PATCH",
            path: create.path.clone(),
            body: Some(json!({ "tags": [{ "key": "number", "value": number.to_string() }] })),
        };
        assert_eq!(shorten(Counted::Busy, 20).await, 0);
        for number in 0..600 {
            assert_eq!(bare.call(&tags(number)).await.0, 200);
        }
        let all = entries("shop");
        let most = u32::try_from(all.len()).expect("it fits");
        assert_eq!(shorten(Counted::Busy, most).await, 0);
        assert_eq!(bare.call(&tags(600)).await.0, 200);
        // One change since then is too few for this bound, and enough for the other.
        assert_eq!(shorten(Counted::Busy, most).await, 0);
        assert_eq!(shorten(Counted::Busy, 19).await, all.len() + 1 - 19);
        let left = entries("shop");
        assert_eq!(left.len(), 19);
        assert_eq!(left[..18], all[all.len() - 18..]);
        assert_eq!(entries("rival"), others);
        // At the start of a service, the entries of all projects are counted, also those of earlier processes.
        let few = u32::try_from(others.len()).expect("it fits");
        assert!((10..19).contains(&few));
        assert_eq!(shorten(Counted::Busy, few).await, 0);
        assert_eq!(shorten(Counted::All, 19).await, 0);
        assert_eq!(shorten(Counted::All, few).await, 19 - others.len());
        assert_eq!(entries("rival"), others);
    }
}

/// On SQLite there is a single replica.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_replica_whose_clock_is_ahead_sweeps_nothing_too_early() {
    let Some(home) = Home::postgres() else { return };
    let bare = Bare::new(home).await;
    let create = BareRequest {
        method: "POST",
        path: format!("/project/{SHOP}/inference-api-key"),
        body: None,
    };
    let headers = [("idempotency-key", "key")];
    let made = bare.call_with(&headers, &create).await;
    assert_eq!(made.0, 200);
    let sweep = async || {
        let kept = Duration::from_hours(1);
        let swept = stratusd::sweep::once(&bare.store, &bare.context.world, kept).await;
        let swept = swept.expect("it sweeps");
        (swept.responses, swept.entries > 0)
    };
    let years = i64::try_from(20 * 365 * DAY.as_millis()).expect("it fits");
    bare.set_clock(years);
    assert_eq!(sweep().await, (0, false));
    assert_eq!(bare.call_with(&headers, &create).await.2, made.2);
    // Nor does one whose clock is behind keep what is too old.
    bare.set_clock(-2 * years);
    bare.wait(DAY);
    assert_eq!(sweep().await, (1, true));
}

/// On SQLite there is a single replica.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_whose_clocks_differ_write_one_trail() {
    let Some(home) = Home::postgres() else { return };
    let bare = Bare::new(home).await;
    let time = || {
        let sql = "SELECT to_char(clock_timestamp() AT TIME ZONE 'UTC', 'YYYY-MM-DD\"T\"HH24:MI:SS.US\"Z\"')";
        bare.ask(sql)
    };
    let create = BareRequest {
        method: "POST",
        path: format!("/project/{SHOP}/inference-api-key"),
        body: None,
    };
    let hour = 3_600_000;
    let begin = time();
    let mut made = Vec::new();
    // A replica is ahead, one is right and one is behind.
    let right = World::real().now() - bare.context.world.now();
    for ahead in [hour, 0, -hour, hour, -hour, 0] {
        bare.set_clock(right + ahead);
        let (status, _, body) = bare.call(&create).await;
        bare.set_clock(-right - ahead);
        assert_eq!(status, 200);
        let body: Value = serde_json::from_slice(&body).expect("it is JSON");
        made.push(body["id"].clone());
    }
    let keys = |filter: &[&str]| -> Vec<Value> {
        let filter = [&["--operation", "inference_api_key_create"], filter].concat();
        let entries = trail(&bare.home, &filter);
        entries
            .iter()
            .map(|entry| entry["resource"].clone())
            .collect()
    };
    assert_eq!(keys(&[]), made);
    // What one reader has seen and what the next one begins with leaves out none.
    assert_eq!(keys(&["--since", &begin, "--until", &time()]), made);
    assert_eq!(keys(&["--since", "30m"]), made);
    assert_eq!(keys(&["--until", "30m"]), [Value::Null; 0]);
}

#[test]
fn wrong_filters_are_refused_without_repeating_secrets() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    for (arguments, words) in [
        (["--principal", &token[..40]], "must be the id of a token"),
        (
            ["--resource", "orders"],
            "must be an id: the trail has no names",
        ),
        (["--since", "yesterday"], "must be a time such as"),
        (["--limit", "0"], "0 is not in 1..=100000"),
        (["--limit", "100001"], "100001 is not in 1..=100000"),
        (["--format", "csv"], "[possible values: table, json]"),
        (
            ["--project", "none"],
            "there is no project none; there are rival and shop",
        ),
    ] {
        let said = home.fail(&[&["audit"][..], &arguments].concat());
        assert!(
            said.contains(words) && !said.contains(&token[31..40]),
            "{said}"
        );
    }
}
