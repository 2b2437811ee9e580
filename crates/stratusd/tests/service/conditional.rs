//! Conditional requests: the entity tags of resources, and changes that depend on them.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::on_both;
use crate::support::Home;
use crate::support::caller::{Caller, JsonResponse};
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;

const PLACE: &str = "/location/eu-central-h1";

fn begin(home: &Home, delay: &str) -> (Service, Caller) {
    home.apply(&two_projects());
    let service = home.serve(&["--simulate-delay", delay, "--simulate-jitter", "0s"]);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    (service, shop)
}

/// Sends a request, with `If-Match` if there is a tag. Returns the response and its tag.
async fn call(
    caller: &Caller,
    if_match: Option<&str>,
    method: Method,
    path: &str,
    body: Option<Value>,
) -> (JsonResponse, Option<String>) {
    let headers: Vec<_> = if_match.map(|tag| ("if-match", tag)).into_iter().collect();
    let sent = caller.send_with(&headers, method, path, body.as_ref());
    let response = sent.await.expect("the service responds");
    let tag = response.headers().get("etag");
    let tag = tag.map(|tag| tag.to_str().expect("it is text").to_owned());
    let status = response.status().as_u16();
    let body = response.json().await.expect("it is JSON");
    (JsonResponse { status, body }, tag)
}

async fn tag(caller: &Caller, path: &str) -> String {
    let (response, tag) = call(caller, None, Method::GET, path, None).await;
    response.ok();
    tag.expect("a view has a tag")
}

/// Returns the tag of a firewall, which has no operation to view it, by detaching from it what is
/// not attached.
async fn firewall_tag(caller: &Caller, name: &str, other_subnet: &Value) -> String {
    let path = format!("{PLACE}/firewall/{name}/detach-subnet");
    let body = json!({ "private_subnet_id": other_subnet });
    let (response, tag) = call(caller, None, Method::POST, &path, Some(body)).await;
    response.ok();
    tag.expect("a detach has a tag")
}

on_both! {
    async fn a_tag_changes_with_everything_that_a_response_shows(home: Home) {
        let (_service, shop) = begin(&home, "300ms");
        let backend = format!("{PLACE}/private-subnet/backend");
        let first = tag(&shop, &backend).await;
        assert_eq!(tag(&shop, &backend).await, first);
        let subnet = shop.get(&backend).await.ok();
        let by_id = format!("{PLACE}/private-subnet/{}", subnet["id"].as_str().unwrap());
        assert_eq!(tag(&shop, &by_id).await, first, "it does not depend on the path");
        // The rows of other tables are a part of what is shown.
        let detach = format!("{PLACE}/firewall/web-only/detach-subnet");
        shop.post(&detach, json!({ "private_subnet_id": subnet["id"] })).await.ok();
        assert_ne!(tag(&shop, &backend).await, first);

        let orders = format!("{PLACE}/postgres/orders");
        let body = json!({ "size": "standard-2", "storage_size": 64 });
        let (made, created) = call(&shop, None, Method::POST, &orders, Some(body)).await;
        made.ok();
        // The service changes what is shown, too.
        shop.wait_for(&orders, |database| database["state"] == "running").await;
        let running = tag(&shop, &orders).await;
        assert_ne!(created, Some(running.clone()));
        let (same, unchanged) = call(&shop, None, Method::PATCH, &orders, Some(json!({}))).await;
        same.ok();
        assert_eq!(unchanged, Some(running.clone()));
        let (changed, tags) = call(&shop, None, Method::PATCH, &orders, Some(json!({ "tags": [{ "key": "a", "value": "b" }] }))).await;
        changed.ok();
        assert_ne!(tags, Some(running));
        let reset = format!("{orders}/reset-superuser-password");
        let (one, first) = call(&shop, None, Method::POST, &reset, Some(json!({ "password": "Abcdefgh1234" }))).await;
        let (other, second) = call(&shop, None, Method::POST, &reset, Some(json!({ "password": "Abcdefgh12345" }))).await;
        assert_ne!(one.ok()["connection_string"], other.ok()["connection_string"]);
        assert_ne!(first, second);
        assert_eq!(second, Some(tag(&shop, &orders).await), "a change returns the tag of the next view");
    }

    async fn a_stale_tag_changes_nothing(home: Home) {
        let (service, shop) = begin(&home, "1h");
        let orders = format!("{PLACE}/postgres/orders");
        shop.post(&orders, json!({ "size": "standard-2", "storage_size": 64 })).await.ok();
        let seen = tag(&shop, &orders).await;
        let tagged = |value: &str| Some(json!({ "tags": [{ "key": "k", "value": value }] }));
        let (first, next) = call(&shop, Some(&seen), Method::PATCH, &orders, tagged("first")).await;
        first.ok();
        let (refused, none) = call(&shop, Some(&seen), Method::PATCH, &orders, tagged("second")).await;
        assert_eq!((refused.error(), none), ((412, "PreconditionFailed"), None));
        assert_eq!(shop.get(&orders).await.ok()["tags"][0]["value"], "first");
        let next = next.expect("a change has a tag");
        let weak = format!("W/{next}");
        let (refused, _) = call(&shop, Some(&weak), Method::PATCH, &orders, tagged("weak")).await;
        assert_eq!(refused.error(), (412, "PreconditionFailed"));
        let list = format!("\"other\" , {next}");
        call(&shop, Some(&list), Method::PATCH, &orders, tagged("listed")).await.0.ok();
        call(&shop, Some("*"), Method::PATCH, &orders, tagged("any")).await.0.ok();
        for wrong in ["unquoted", "", "*, *", "\"a\" \"b\""] {
            let (refused, _) = call(&shop, Some(wrong), Method::PATCH, &orders, tagged("wrong")).await;
            assert_eq!(refused.error(), (400, "BadRequest"), "{wrong}");
            assert!(!refused.detail("If-Match").is_null(), "{}", refused.body);
        }
        assert_eq!(shop.get(&orders).await.ok()["tags"][0]["value"], "any");

        // The resource and the permission are checked before the condition, the values after it.
        let reader = Caller::new(&service.base, SHOP, &home.token("shop", &["--read-only"]));
        let nowhere = format!("{PLACE}/postgres/nowhere");
        for (caller, path, expected) in [
            (&shop, &nowhere, (404, "ResourceNotFound")),
            (&reader, &orders, (403, "Forbidden")),
            (&shop, &orders, (412, "PreconditionFailed")),
        ] {
            let body = json!({ "size": "huge" });
            let (refused, _) = call(caller, Some(&seen), Method::PATCH, path, Some(body)).await;
            assert_eq!(refused.error(), expected);
        }
    }

    async fn every_change_of_a_resource_is_refused_when_its_tag_is_stale(home: Home) {
        let (_service, shop) = begin(&home, "1h");
        shop.post(&format!("{PLACE}/postgres/orders"), json!({ "size": "standard-2", "storage_size": 64, "ha_type": "async" })).await.ok();
        let frontend = shop.get(&format!("{PLACE}/private-subnet/frontend")).await.ok();
        let vms = shop.get(&format!("{PLACE}/vm?order_column=name")).await.ok();
        let vm = &vms["items"][0]["id"];
        let balancer = json!({
            "algorithm": "round_robin", "src_port": 1, "dst_port": 2, "health_check_endpoint": "/", "vms": [],
        });
        let disconnect = format!("private-subnet/backend/disconnect/{}", frontend["id"].as_str().expect("it is an id"));
        for (method, path, body) in [
            (Method::PATCH, "load-balancer/web", balancer),
            (Method::POST, "load-balancer/web/detach-vm", json!({ "vm_id": vm })),
            (Method::POST, "load-balancer/web/attach-vm", json!({ "vm_id": vm })),
            (Method::PATCH, "postgres/orders", json!({ "tags": [{ "key": "k", "value": "v" }] })),
            (Method::POST, "postgres/orders/reset-superuser-password", json!({ "password": "Abcdefgh1234" })),
            (Method::POST, "postgres/orders/restart", json!({})),
            (Method::POST, "postgres/orders/promote", json!({})),
            (Method::POST, "postgres/orders/set-maintenance-window", json!({ "maintenance_window_start_at": 3 })),
            (Method::POST, "private-subnet/backend/connect", json!({ "connected-subnet-id": frontend["id"] })),
            (Method::POST, &disconnect, json!({})),
            (Method::POST, "firewall/web-only/attach-subnet", json!({ "private_subnet_id": frontend["id"] })),
            (Method::POST, "firewall/web-only/detach-subnet", json!({ "private_subnet_id": frontend["id"] })),
        ] {
            let path = format!("{PLACE}/{path}");
            let (refused, _) = call(&shop, Some("\"stale\""), method.clone(), &path, Some(body.clone())).await;
            assert_eq!(refused.error(), (412, "PreconditionFailed"), "{path}");
            let (made, tag) = call(&shop, Some("*"), method, &path, Some(body)).await;
            assert_eq!(made.status, 200, "{path}: {}", made.body);
            assert!(tag.is_some_and(|tag| tag.starts_with('"') && tag.ends_with('"')), "{path}");
        }
    }

    async fn the_generated_client_changes_only_what_it_has_seen(home: Home) {
        use api_client::prelude::*;

        let (service, shop) = begin(&home, "1h");
        shop.post(&format!("{PLACE}/postgres/orders"), json!({ "size": "standard-2", "storage_size": 64 })).await.ok();
        let token = home.token("shop", &[]);
        let client = api_client::Client::builder(&service.base).bearer(token).build().expect("a client can be made");
        let view = client.postgres_view().project_id(SHOP).location("eu-central-h1").postgres_database_reference("orders");
        let seen = view.send().await.expect("it is there");
        let tag = seen.headers()["etag"].to_str().expect("it is text").to_owned();
        let grow = || {
            client
                .postgres_update()
                .project_id(SHOP)
                .location("eu-central-h1")
                .postgres_database_reference("orders")
                .if_match(tag.as_str())
                .body(api_types::PostgresUpdate::default().with_storage_size(128.try_into().unwrap()))
        };
        grow().send().await.expect("it is as it was seen");
        let error = grow().send().await.expect_err("it has changed");
        let api_client::Error::ErrorResponse(error) = error else { panic!("{error}") };
        assert_eq!(error.error.r#type, api_types::ErrorType::PreconditionFailed);
    }
}

/// Starts as many services as the database allows. Returns them, and a caller for each.
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

async fn one_change_wins(callers: &[Caller]) {
    let shop = &callers[0];
    let orders = format!("{PLACE}/postgres/orders");
    shop.post(&orders, json!({ "size": "standard-2", "storage_size": 64 }))
        .await
        .ok();
    for round in 0..5 {
        let seen = tag(shop, &orders).await;
        let changes = (0..12).map(|number| {
            let body =
                json!({ "tags": [{ "key": "winner", "value": format!("{round}-{number}") }] });
            let caller = &callers[number % callers.len()];
            call(caller, Some(&seen), Method::PATCH, &orders, Some(body))
        });
        one_of(&join_all(changes).await);
    }
    // What a detach changes is in another table than the firewall.
    let backend = shop.get(&format!("{PLACE}/private-subnet/backend")).await;
    let (firewall, mut subnets) = (&backend.ok()["firewalls"][0]["id"].clone(), Vec::new());
    for number in 0..12 {
        let path = format!("{PLACE}/private-subnet/many-{number}");
        let made = shop.post(&path, json!({ "firewall_id": firewall })).await;
        subnets.push(made.ok()["id"].clone());
    }
    let frontend = shop.get(&format!("{PLACE}/private-subnet/frontend")).await;
    let frontend = frontend.ok()["id"].clone();
    let detach = format!("{PLACE}/firewall/web-only/detach-subnet");
    for _ in 0..3 {
        let seen = firewall_tag(shop, "web-only", &frontend).await;
        let changes = subnets.iter().enumerate().map(|(number, subnet)| {
            let body = json!({ "private_subnet_id": subnet });
            let caller = &callers[number % callers.len()];
            call(caller, Some(&seen), Method::POST, &detach, Some(body))
        });
        let responses = join_all(changes).await;
        let winner = responses
            .iter()
            .position(|(response, _)| response.status == 200);
        one_of(&responses);
        // A subnet that is detached already changes nothing if it is detached again.
        subnets.remove(winner.expect("one has succeeded"));
    }
}

/// Checks that one change has succeeded, and that the others were refused because the tag is stale.
fn one_of(responses: &[(JsonResponse, Option<String>)]) {
    let mut statuses: Vec<u16> = responses
        .iter()
        .map(|(response, _)| response.status)
        .collect();
    statuses.sort_unstable();
    let mut expected = vec![412; responses.len()];
    expected[0] = 200;
    assert_eq!(statuses, expected);
}

mod concurrent {
    use super::*;

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn of_changes_with_one_tag_one_succeeds_on_sqlite() {
        let home = Home::sqlite();
        let (_services, callers) = replicas(&home, 1);
        one_change_wins(&callers).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn of_changes_with_one_tag_one_succeeds_on_postgres() {
        let Some(home) = Home::postgres() else { return };
        let (_services, callers) = replicas(&home, 3);
        one_change_wins(&callers).await;
    }
}
