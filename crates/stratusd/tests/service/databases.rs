//! The lists of Postgres databases, their restarts, deletion, maintenance windows and firewall rules.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use stratusd::world::World;

use crate::audit::trail;
use crate::on_both;
use crate::support::caller::{Caller, JsonResponse};
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, eventually};

const PLACE: &str = "/location/eu-central-h1";

fn begin(home: &Home) -> (Service, Caller, Caller) {
    home.apply(&two_projects());
    let service = home.serve(&["--simulate-delay", "1h"]);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let reader = Caller::new(&service.base, SHOP, &home.token("shop", &["--read-only"]));
    (service, shop, reader)
}

/// Returns the hour of the day in UTC.
fn hour() -> i64 {
    World::real().now() / (60 * 60 * 1000) % 24
}

fn database(path: &str) -> String {
    format!("{PLACE}/postgres/{path}")
}

async fn create(shop: &Caller, path: &str, restricted: bool) -> Value {
    let body =
        json!({ "size": "standard-2", "storage_size": 64, "restrict_by_default": restricted });
    shop.post(path, body).await.ok()
}

/// Tries to create a database of a name that may be taken.
async fn create_again(shop: &Caller, path: &str) -> JsonResponse {
    let body = json!({ "size": "standard-2", "storage_size": 64 });
    shop.post(path, body).await
}

pub async fn delete(caller: &Caller, path: &str, if_match: Option<&str>) -> JsonResponse {
    let headers: Vec<_> = if_match.map(|tag| ("if-match", tag)).into_iter().collect();
    caller
        .try_call_with(&headers, Method::DELETE, path, None)
        .await
        .expect("the service responds")
}

/// Returns the entity tag of a database.
pub async fn tag(caller: &Caller, path: &str) -> String {
    let seen = caller
        .send(Method::GET, path, None)
        .await
        .expect("the service responds");
    seen.headers()["etag"]
        .to_str()
        .expect("it is text")
        .to_owned()
}

#[tokio::test]
async fn a_database_has_at_most_50_tags() {
    let home = Home::sqlite();
    let (_service, shop, _) = begin(&home);
    let with = |count: usize| {
        let tags: Vec<_> = (0..count)
            .map(|number| json!({ "key": number.to_string(), "value": "v" }))
            .collect();
        json!({ "size": "standard-2", "storage_size": 64, "tags": tags })
    };
    let wrong = "has 51 items, and a database may have 50 tags";
    let orders = database("orders");
    let refused = shop.post(&orders, with(51)).await;
    assert_eq!(refused.error(), (400, "InvalidRequest"));
    assert_eq!(refused.detail("tags"), wrong);
    let made = shop.post(&orders, with(50)).await.ok();
    assert_eq!(made["tags"].as_array().map(Vec::len), Some(50));
    let more = json!({ "tags": with(51)["tags"] });
    assert_eq!(shop.patch(&orders, more).await.detail("tags"), wrong);
    let body = json!({ "name": "again", "restore_target": "2026-03-02T17:30:00Z", "tags": with(51)["tags"] });
    let refused = shop.post(&format!("{orders}/restore"), body).await;
    assert_eq!(refused.detail("tags"), wrong);
}

on_both! {
    async fn databases_are_listed_by_location(home: Home) {
        let (_service, shop, reader) = begin(&home);
        for name in ["orders", "carts"] {
            create(&shop, &database(name), false).await;
        }
        create(&shop, "/location/us-east-a2/postgres/far", false).await;
        let page = reader.get(&format!("{PLACE}/postgres?order_column=name")).await.ok();
        assert_eq!(page["count"], 2);
        let all = shop.get("/postgres?order_column=name").await.ok();
        assert_eq!(page["items"], json!([all["items"][0], all["items"][2]]));
        let by_id = shop.get(&format!("{PLACE}/postgres?page_size=1")).await.ok();
        let after = by_id["items"][0]["id"].as_str().expect("it has an id");
        let rest = shop.get(&format!("{PLACE}/postgres?start_after={after}")).await.ok();
        assert_eq!((&rest["count"], rest["items"].as_array().map(Vec::len)), (&json!(2), Some(1)));
        assert_ne!(rest["items"][0], by_id["items"][0]);
        let refused = shop.get(&format!("{PLACE}/postgres?order_column=size")).await;
        assert_eq!((refused.error(), refused.detail("order_column").is_string()), ((400, "InvalidRequest"), true));
    }

    async fn a_restarted_database_is_unavailable_until_it_is_up_again(home: Home) {
        home.apply(&two_projects());
        let settings = ["--simulate-delay", "3s", "--simulate-jitter", "0s", "--observe-every", "100ms"];
        let service = home.serve(&settings);
        let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let reader = Caller::new(&service.base, SHOP, &home.token("shop", &["--read-only"]));
        let (orders, restart) = (database("orders"), database("orders/restart"));
        let made = create(&shop, &orders, false).await;
        let before = tag(&shop, &orders).await;
        // There is nothing to restart yet.
        assert_eq!(shop.post_nothing(&restart).await.ok(), made);
        assert_eq!(tag(&shop, &orders).await, before);
        let running = shop.wait_for(&orders, |it| it["state"] == "running").await;
        assert_eq!(reader.post_nothing(&restart).await.error(), (403, "Forbidden"));
        assert_eq!(shop.post_nothing(&database("none/restart")).await.error(), (404, "ResourceNotFound"));
        let before = tag(&shop, &orders).await;
        let asked = shop.post_nothing(&restart).await.ok();
        assert_eq!(asked["id"], running["id"]);
        assert_ne!(tag(&shop, &orders).await, before);
        shop.wait_for(&orders, |it| it["state"] == "unavailable").await;
        // Another process completes the restart, and makes no second one.
        drop(service);
        let service = home.serve(&settings);
        let shop = shop.at(&service.base, SHOP);
        shop.wait_for(&orders, |it| it["state"] == "running").await;
        assert_eq!(trail(&home, &["--operation", "postgres_restart"]).len(), 1);
    }

    async fn a_deleted_database_leaves_its_name_at_once_and_is_gone_later(home: Home) {
        home.apply(&two_projects());
        let settings = ["--simulate-delay", "5s", "--simulate-jitter", "0s", "--observe-every", "100ms"];
        let service = home.serve(&settings);
        let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let reader = Caller::new(&service.base, SHOP, &home.token("shop", &["--read-only"]));
        let orders = database("orders");
        let first = create(&shop, &orders, false).await;
        let by_id = database(first["id"].as_str().expect("it has an id"));
        shop.wait_for(&orders, |it| it["state"] == "running").await;
        assert_eq!(delete(&reader, &orders, None).await.error(), (403, "Forbidden"));
        assert_eq!(delete(&shop, &orders, Some("\"stale\"")).await.error(), (412, "PreconditionFailed"));
        // What callers see of it, and so its tag, changes each second.
        let deleted = eventually(async || {
            let seen = tag(&shop, &orders).await;
            let status = delete(&shop, &orders, Some(&seen)).await.status;
            (status != 412).then_some(status)
        });
        assert_eq!(deleted.await.map(|status| status.to_string()), Some("204".to_owned()));

        // By its name nothing is found any more, and no change by its id.
        assert_eq!(shop.get(&by_id).await.ok()["state"], "deleting");
        assert_eq!(shop.get(&orders).await.error(), (404, "ResourceNotFound"));
        assert_eq!(delete(&shop, &orders, Some("\"stale\"")).await.status, 204);
        for of in [&orders, &by_id] {
            assert_eq!(shop.patch(of, json!({ "tags": [] })).await.error(), (404, "ResourceNotFound"));
            for (action, body) in [
                ("restart", json!({})),
                ("set-maintenance-window", json!({})),
                ("reset-superuser-password", json!({ "password": "Abcdefgh1234" })),
                ("firewall-rule", json!({ "cidr": "10.0.0.0/8" })),
            ] {
                let refused = shop.post(&format!("{of}/{action}"), body).await;
                assert_eq!(refused.error(), (404, "ResourceNotFound"), "{action}");
            }
        }
        let rule = first["firewall_rules"][0]["id"].as_str().expect("it has rules").to_owned();
        assert_eq!(delete(&shop, &format!("{by_id}/firewall-rule/{rule}"), None).await.status, 204);
        assert_eq!(shop.get(&format!("{by_id}/firewall-rule")).await.ok()["count"], 2);

        // Another database of the name is beside it in lists, whichever their order.
        let second = create(&shop, &orders, false).await;
        assert_ne!(second["id"], first["id"]);
        assert_eq!(shop.get(&orders).await.ok()["id"], second["id"]);
        for path in [format!("{PLACE}/postgres"), "/postgres".to_owned()] {
            for order in ["id", "name"] {
                let page = shop.get(&format!("{path}?order_column={order}")).await.ok();
                let mut states: Vec<_> = page["items"].as_array().expect("it has items").iter().map(|it| it["state"].to_string()).collect();
                states.sort_unstable();
                assert_eq!((page["count"].as_i64(), &*states), (Some(2), &["\"creating\"".to_owned(), "\"deleting\"".to_owned()][..]));
            }
        }
        assert!(create_again(&shop, &orders).await.detail("name").is_string());
        assert_eq!(delete(&shop, &by_id, None).await.status, 204);

        // Another process completes the deletion.
        drop(service);
        let service = home.serve(&settings);
        let shop = shop.at(&service.base, SHOP);
        shop.wait_for("/postgres", |page| page["count"] == 1).await;
        assert_eq!(shop.get(&by_id).await.error(), (404, "ResourceNotFound"));
        assert_eq!(shop.get(&orders).await.ok()["id"], second["id"]);
        let of_first = ["--resource", first["id"].as_str().expect("it has an id")];
        let trail: Vec<_> = trail(&home, &of_first).iter().map(|entry| entry["operation"].to_string()).collect();
        assert_eq!(trail, ["\"postgres_create\"", "\"postgres_reconcile\"", "\"postgres_delete\"", "\"postgres_reconcile\""]);

        // An inventory removes a project once its databases are gone.
        std::fs::write(home.path().join("inventory.yaml"), "projects: [{ name: rival }]\n").expect("the folder is writable");
        let refused = home.fail(&["apply", "--prune", "inventory.yaml"]);
        assert!(refused.contains("delete them through the API, and wait until they are gone"), "{refused}");
        assert_eq!(delete(&shop, &orders, None).await.status, 204);
        shop.wait_for("/postgres", |page| page["count"] == 0).await;
        home.succeed(&["apply", "--prune", "inventory.yaml"]);
    }

    async fn deletes_and_changes_at_the_same_time_leave_nothing_behind(home: Home) {
        home.apply(&two_projects());
        let replicas = if home.database_url.starts_with("postgres") { 2 } else { 1 };
        let settings = ["--simulate-delay", "0s", "--simulate-jitter", "0s", "--observe-every", "100ms"];
        let services: Vec<Service> = (0..replicas).map(|_| home.serve(&settings)).collect();
        let token = home.token("shop", &[]);
        let callers: Vec<Caller> = services.iter().map(|service| Caller::new(&service.base, SHOP, &token)).collect();
        let orders = database("orders");
        let calls = (0..60).map(|number| {
            let (caller, orders) = (&callers[number % callers.len()], &orders);
            async move {
                match number % 4 {
                    0 | 1 => create_again(caller, orders).await.status,
                    2 => delete(caller, orders, None).await.status,
                    _ => caller.patch(orders, json!({ "tags": [{ "key": "n", "value": number.to_string() }] })).await.status,
                }
            }
        });
        for status in join_all(calls).await {
            assert!(matches!(status, 200 | 204 | 400 | 404 | 409), "{status}");
        }
        delete(&callers[0], &orders, None).await;
        callers[0].wait_for("/postgres", |page| *page == json!({ "count": 0, "items": [] })).await;
    }

    async fn a_maintenance_window_is_set_and_unset(home: Home) {
        let (_service, shop, reader) = begin(&home);
        let orders = database("orders");
        let made = create(&shop, &orders, false).await;
        assert_eq!(made["maintenance_window_start_at"], 0);
        let path = format!("{orders}/set-maintenance-window");
        let at = |hour: Value| json!({ "maintenance_window_start_at": hour });
        assert_eq!(reader.post(&path, at(json!(3))).await.error(), (403, "Forbidden"));
        let before = tag(&shop, &orders).await;
        let set = shop.post(&path, at(json!(23))).await.ok();
        assert_eq!(set["maintenance_window_start_at"], 23);
        assert_eq!(shop.get(&orders).await.ok(), set);
        assert_ne!(tag(&shop, &orders).await, before);
        for unset in [at(json!(null)), json!({})] {
            shop.post(&path, at(json!(3))).await.ok();
            assert_eq!(shop.post(&path, unset).await.ok()["maintenance_window_start_at"], 0);
        }
        for wrong in [json!(24), json!(-1), json!("3")] {
            let refused = shop.post(&path, at(wrong)).await;
            assert_eq!((refused.error(), refused.detail("maintenance_window_start_at").is_string()), ((400, "BadRequest"), true));
        }
        let none = database("none/set-maintenance-window");
        assert_eq!(shop.post(&none, at(json!(3))).await.error(), (404, "ResourceNotFound"));
    }

    async fn a_size_changes_while_its_window_is_open(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&["--simulate-delay", "0s", "--simulate-jitter", "0s"]);
        let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let orders = database("orders");
        create(&shop, &orders, false).await;
        shop.wait_for(&orders, |it| it["state"] == "running").await;
        let window = format!("{orders}/set-maintenance-window");
        // The hour may end meanwhile, but not each time.
        for size in ["standard-4", "standard-2", "standard-4"] {
            let hour = hour();
            shop.post(&window, json!({ "maintenance_window_start_at": hour })).await.ok();
            shop.patch(&orders, json!({ "size": size, "storage_size": 128 })).await.ok();
            let is_changed = async || (shop.get(&orders).await.ok()["vm_size"] == size).then_some(());
            if eventually(is_changed).await.is_some() {
                return;
            }
            assert_ne!(self::hour(), hour, "the size waits, though the window is open");
        }
        panic!("the hour has ended each time");
    }

    async fn rules_of_a_database_are_added_once_and_removed(home: Home) {
        let (_service, shop, reader) = begin(&home);
        let (orders, rules) = (database("orders"), database("orders/firewall-rule"));
        let made = create(&shop, &orders, false).await;
        let list = reader.get(&rules).await.ok();
        assert_eq!(list["count"], 2);
        for rule in made["firewall_rules"].as_array().expect("it has rules") {
            assert!(list["items"].as_array().expect("it has items").contains(rule), "{list}");
        }
        let ids: Vec<&str> = list["items"].as_array().expect("it has items").iter().filter_map(|rule| rule["id"].as_str()).collect();
        assert!(ids.is_sorted(), "{ids:?}");
        let rest = shop.get(&format!("{rules}?page_size=1&start_after={}", ids[0])).await.ok();
        assert_eq!(rest, json!({ "count": 2, "items": [list["items"][1]] }));
        for query in ["order_column=name", "start_after=fr00000000000000000000000z"] {
            assert_eq!(shop.get(&format!("{rules}?{query}")).await.error(), (400, "InvalidRequest"), "{query}");
        }

        let office = json!({ "cidr": "2001:db8::/32", "description": "The offices" });
        assert_eq!(reader.post(&rules, office.clone()).await.error(), (403, "Forbidden"));
        let added = shop.post(&rules, office).await.ok();
        let id = added["id"].as_str().expect("it has an id").to_owned();
        assert_eq!(added, json!({ "cidr": "2001:db8::/32", "description": "The offices", "id": id }));
        assert_eq!(shop.get(&orders).await.ok()["firewall_rules"][2], added);
        for (body, field) in [
            (json!({ "cidr": "2001:0DB8:0::/32" }), "cidr"),
            (json!({ "cidr": "0.0.0.0/0" }), "cidr"),
            (json!({ "cidr": "10.0.0.1/8" }), "cidr"),
            (json!({ "cidr": "10.0.0.0/8", "description": "a\u{0}" }), "description"),
        ] {
            let refused = shop.post(&rules, body.clone()).await;
            assert_eq!(refused.error(), (400, "InvalidRequest"), "{body}");
            assert!(refused.detail(field).is_string(), "{body}: {}", refused.body);
        }
        assert_eq!(shop.post(&database("none/firewall-rule"), json!({ "cidr": "10.0.0.0/8" })).await.error(), (404, "ResourceNotFound"));

        let rule = format!("{rules}/{id}");
        assert_eq!(delete(&reader, &rule, None).await.error(), (403, "Forbidden"));
        assert_eq!(delete(&shop, &rule, Some("\"stale\"")).await.error(), (412, "PreconditionFailed"));
        assert_eq!(delete(&shop, &format!("{rules}/fr00000000000000000000000z"), None).await.error(), (400, "BadRequest"));
        create(&shop, &database("other"), true).await;
        for elsewhere in ["other", "none"] {
            let path = database(&format!("{elsewhere}/firewall-rule/{id}"));
            assert_eq!(delete(&shop, &path, None).await.status, 204);
        }
        assert_eq!(shop.get(&rules).await.ok()["count"], 3);
        let seen = tag(&shop, &orders).await;
        assert_eq!(delete(&shop, &rule, Some(&seen)).await.status, 204);
        assert_eq!(delete(&shop, &rule, None).await.status, 204);
        assert_eq!(shop.get(&orders).await.ok()["firewall_rules"], made["firewall_rules"]);
        assert_eq!(shop.get(&database("other/firewall-rule")).await.ok(), json!({ "count": 0, "items": [] }));
    }

    async fn rules_of_a_database_added_at_the_same_time_stay_within_their_limit(home: Home) {
        let (service, shop, _) = begin(&home);
        let more = home.database_url.starts_with("postgres").then(|| home.serve(&["--simulate-delay", "1h"]));
        let services = [Some(&service), more.as_ref()].into_iter().flatten();
        let callers: Vec<Caller> = services.map(|service| shop.at(&service.base, SHOP)).collect();
        create(&shop, &database("orders"), true).await;
        let rules = database("orders/firewall-rule");
        for number in 0..90 {
            shop.post(&rules, json!({ "cidr": format!("10.{number}.0.0/16") })).await.ok();
        }
        // Two of each network at the same time are one.
        let adds = (0..40).map(|number| {
            let body = json!({ "cidr": format!("172.{}.0.0/16", 16 + number / 2) });
            let (caller, rules) = (&callers[number % callers.len()], &rules);
            async move {
                loop {
                    let answer = caller.post(rules, body.clone()).await;
                    // Changes of one database at the same time may get in each other's way.
                    if answer.status != 409 {
                        return answer;
                    }
                }
            }
        });
        let made = join_all(adds).await;
        assert_eq!(made.iter().filter(|made| made.status == 200).count(), 10);
        let full = made.iter().filter(|made| made.detail("body").is_string()).count();
        let twice = made.iter().filter(|made| made.detail("cidr").is_string()).count();
        assert_eq!(10 + full + twice, 40, "{full} and {twice}");
        assert_eq!(shop.get(&rules).await.ok()["count"], 100);
    }
}
