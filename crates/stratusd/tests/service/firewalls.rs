//! The life of firewalls and their rules, within the limits of both.

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::on_both;
use crate::support::Home;
use crate::support::caller::{Caller, JsonResponse};
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;

const PLACE: &str = "/location/eu-central-h1";

fn begin(home: &Home, settings: &[&str]) -> (Service, Caller, Caller) {
    home.apply(&two_projects());
    let service = home.serve(settings);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let reader = Caller::new(&service.base, SHOP, &home.token("shop", &["--read-only"]));
    (service, shop, reader)
}

fn firewall(path: &str) -> String {
    format!("{PLACE}/firewall/{path}")
}

async fn delete(caller: &Caller, path: &str, if_match: Option<&str>) -> JsonResponse {
    let headers: Vec<_> = if_match.map(|tag| ("if-match", tag)).into_iter().collect();
    caller
        .try_call_with(&headers, Method::DELETE, path, None)
        .await
        .expect("the service responds")
}

/// Returns the entity tag of a firewall.
async fn tag(caller: &Caller, path: &str) -> String {
    let seen = caller
        .send(Method::GET, path, None)
        .await
        .expect("the service responds");
    seen.headers()["etag"]
        .to_str()
        .expect("it is text")
        .to_owned()
}

on_both! {
    async fn a_firewall_is_made_attached_and_deleted(home: Home) {
        let (_service, shop, reader) = begin(&home, &[]);
        let offices = firewall("offices");
        assert_eq!(reader.post_nothing(&offices).await.error(), (403, "Forbidden"));
        let made = shop.post(&offices, json!({ "description": "Lets the offices in" })).await.ok();
        let id = made["id"].as_str().expect("it has an id").to_owned();
        assert_eq!(made, json!({
            "description": "Lets the offices in", "firewall_rules": [], "id": id,
            "location": "eu-central-h1", "name": "offices", "private_subnets": [],
        }));
        assert_eq!(reader.get(&offices).await.ok(), made);
        assert_eq!(reader.get(&firewall(&id)).await.ok(), made);
        let page = reader.get(&format!("{PLACE}/firewall?order_column=name")).await.ok();
        assert_eq!((&page["count"], &page["items"][1]["name"]), (&json!(2), &json!("web-only")));
        assert_eq!(page["items"][0], json!({
            "description": "Lets the offices in", "id": id, "location": "eu-central-h1", "name": "offices",
        }));
        for (name, body, field) in [
            ("offices", json!({}), "name"),
            (&*id, json!({}), "name"),
            ("other", json!({ "description": "a\nb" }), "description"),
        ] {
            let refused = shop.post(&firewall(name), body).await;
            assert_eq!(refused.error(), (400, "InvalidRequest"), "{name}");
            assert!(refused.detail(field).is_string(), "{}", refused.body);
        }

        let backend = shop.get(&format!("{PLACE}/private-subnet/backend")).await.ok()["id"].clone();
        let attach = firewall("offices/attach-subnet");
        let body = json!({ "private_subnet_id": backend });
        assert_eq!(reader.post(&attach, body.clone()).await.error(), (403, "Forbidden"));
        let attached = shop.post(&attach, body.clone()).await.ok();
        assert_eq!(attached["private_subnets"], json!([backend]));
        assert_eq!(shop.post(&attach, body).await.ok(), attached);
        let refused = shop.post(&attach, json!({ "private_subnet_id": "backend" })).await;
        assert_eq!((refused.error(), refused.detail("private_subnet_id").is_string()), ((400, "InvalidRequest"), true));

        let seen = tag(&shop, &offices).await;
        shop.post(&firewall("offices/firewall-rule"), json!({ "cidr": "10.0.0.0/8" })).await.ok();
        assert_eq!(delete(&reader, &offices, None).await.error(), (403, "Forbidden"));
        assert_eq!(delete(&shop, &offices, Some(&seen)).await.error(), (412, "PreconditionFailed"));
        let seen = tag(&shop, &offices).await;
        assert_eq!(delete(&shop, &offices, Some(&seen)).await.status, 204);
        assert_eq!(shop.get(&offices).await.error(), (404, "ResourceNotFound"));
        assert_eq!(delete(&shop, &offices, Some(&seen)).await.status, 204);
        assert_eq!(delete(&reader, &offices, None).await.error(), (403, "Forbidden"));
        let subnet = shop.get(&format!("{PLACE}/private-subnet/backend")).await.ok();
        assert_eq!(subnet["firewalls"].as_array().expect("it has firewalls").len(), 1);
        // The name is free again, and the list counts as before.
        assert_ne!(shop.post_nothing(&offices).await.ok()["id"], json!(id));
        assert_eq!(shop.get(&format!("{PLACE}/firewall")).await.ok()["count"], 2);
    }

    async fn rules_are_added_once_and_removed(home: Home) {
        let (_service, shop, reader) = begin(&home, &[]);
        let (wall, rules) = (firewall("web-only"), firewall("web-only/firewall-rule"));
        let before = shop.get(&wall).await.ok();
        assert_eq!(before["firewall_rules"].as_array().expect("it has rules").len(), 2);
        assert!(before.to_string().contains(r#""protocol":"tcp""#), "{before}");
        assert_eq!(reader.post(&rules, json!({ "cidr": "10.0.0.0/8" })).await.error(), (403, "Forbidden"));
        let made = shop.post(&rules, json!({ "cidr": "2001:db8::/32" })).await.ok();
        let id = made["id"].as_str().expect("it has an id").to_owned();
        assert_eq!(made, json!({ "cidr": "2001:db8::/32", "description": "", "id": id, "port_range": "0..65535", "protocol": "tcp" }));
        // The same network and ports in other words, and another protocol.
        let same = json!({ "cidr": "2001:0DB8:0::/32", "protocol": "tcp" });
        let udp = json!({ "cidr": "2001:db8::/32", "protocol": "udp", "description": "Games" });
        let over_udp = shop.post(&rules, udp.clone()).await.ok();
        assert_eq!((&over_udp["protocol"], &over_udp["description"]), (&json!("udp"), &json!("Games")));
        for (body, field) in [
            (same, "cidr"),
            (udp, "cidr"),
            (json!({ "cidr": "10.0.0.1/8" }), "cidr"),
            (json!({ "cidr": ":::/8" }), "cidr"),
            (json!({ "cidr": "10.0.0.0/8", "port_range": "90..80" }), "port_range"),
            (json!({ "cidr": "10.0.0.0/8", "description": "a\u{0}" }), "description"),
        ] {
            let refused = shop.post(&rules, body.clone()).await;
            assert_eq!(refused.error(), (400, "InvalidRequest"), "{body}");
            assert!(refused.detail(field).is_string(), "{body}: {}", refused.body);
        }
        // What shows a firewall without details leaves out both, as it always has.
        let detached = shop.post(&firewall("web-only/detach-subnet"), json!({ "private_subnet_id": before["private_subnets"][0] })).await.ok();
        assert!(!detached.to_string().contains("protocol"), "{detached}");
        assert_eq!(detached["firewall_rules"].as_array().expect("it has rules").len(), 4);

        let rule = format!("{rules}/{id}");
        assert_eq!(delete(&reader, &rule, None).await.error(), (403, "Forbidden"));
        assert_eq!(delete(&shop, &rule, Some("\"stale\"")).await.error(), (412, "PreconditionFailed"));
        assert_eq!(delete(&shop, &format!("{rules}/{}", &id[2..]), None).await.error(), (400, "BadRequest"));
        // A rule of another firewall.
        shop.post_nothing(&firewall("other")).await.ok();
        assert_eq!(delete(&shop, &format!("{}/{id}", firewall("other/firewall-rule")), None).await.status, 204);
        assert_eq!(delete(&shop, &format!("{}/{id}", firewall("none/firewall-rule")), None).await.status, 204);
        let seen = tag(&shop, &wall).await;
        assert_eq!(shop.get(&wall).await.ok()["firewall_rules"].as_array().expect("it has rules").len(), 4);
        assert_eq!(delete(&shop, &rule, Some(&seen)).await.status, 204);
        assert_eq!(delete(&shop, &rule, None).await.status, 204);
        assert_eq!(shop.get(&wall).await.ok()["firewall_rules"].as_array().expect("it has rules").len(), 3);
    }

    async fn rules_and_firewalls_added_at_the_same_time_stay_within_their_limits(home: Home) {
        let (service, shop, _) = begin(&home, &[]);
        let more = home.database_url.starts_with("postgres").then(|| home.serve(&[]));
        let services = [Some(&service), more.as_ref()].into_iter().flatten();
        let callers: Vec<Caller> = services.map(|service| shop.at(&service.base, SHOP)).collect();
        let rules = firewall("web-only/firewall-rule");
        // Two rules are there, and two of each network at the same time are one.
        let adds = (0..240).map(|number| {
            let body = json!({ "cidr": format!("10.{}.0.0/16", number / 2) });
            let (caller, rules) = (&callers[number % callers.len()], &rules);
            async move { caller.post(rules, body).await }
        });
        let made = join_all(adds).await;
        assert_eq!(made.iter().filter(|made| made.status == 200).count(), 98);
        let full = made.iter().filter(|made| made.detail("body").is_string()).count();
        let twice = made.iter().filter(|made| made.detail("cidr").is_string()).count();
        assert_eq!(98 + full + twice, 240, "{full} and {twice}");
        let seen = shop.get(&firewall("web-only")).await.ok();
        assert_eq!(seen["firewall_rules"].as_array().expect("it has rules").len(), 100);
        let refused = shop.post(&rules, json!({ "cidr": "fd00::/8" })).await;
        assert!(refused.detail("body").as_str().is_some_and(|it| it.contains("100 rules")), "{}", refused.body);

        let backend = shop.get(&format!("{PLACE}/private-subnet/backend")).await.ok()["id"].clone();
        for number in 0..25 {
            shop.post_nothing(&firewall(&format!("f-{number}"))).await.ok();
        }
        let attaches = (0..25).map(|number| {
            let path = firewall(&format!("f-{number}/attach-subnet"));
            let (caller, body) = (&callers[number % callers.len()], json!({ "private_subnet_id": backend }));
            async move { caller.post(&path, body).await }
        });
        let attached = join_all(attaches).await;
        // The inventory has attached one.
        assert_eq!(attached.iter().filter(|it| it.status == 200).count(), 19);
        for refused in attached.iter().filter(|it| it.status != 200) {
            assert_eq!(refused.error(), (400, "InvalidRequest"));
            assert!(refused.detail("private_subnet_id").is_string(), "{}", refused.body);
        }
        // One that is attached can be attached again.
        let body = json!({ "private_subnet_id": backend });
        shop.post(&firewall("web-only/attach-subnet"), body).await.ok();
        let subnet = shop.get(&format!("{PLACE}/private-subnet/backend")).await.ok();
        assert_eq!(subnet["firewalls"].as_array().expect("it has firewalls").len(), 20);
    }

    async fn a_firewall_that_is_deleted_while_rules_are_added_leaves_nothing(home: Home) {
        let (service, shop, _) = begin(&home, &["--quota-firewalls", "3"]);
        let more = home.database_url.starts_with("postgres").then(|| home.serve(&["--quota-firewalls", "3"]));
        let services = [Some(&service), more.as_ref()].into_iter().flatten();
        let callers: Vec<Caller> = services.map(|service| shop.at(&service.base, SHOP)).collect();
        for round in 0..5 {
            shop.post_nothing(&firewall("short")).await.ok();
            let calls = (0..12).map(|number| {
                let caller = &callers[number % callers.len()];
                async move {
                    if number % 3 == 2 {
                        return delete(caller, &firewall("short"), None).await.status;
                    }
                    let body = json!({ "cidr": format!("10.{number}.0.0/16") });
                    caller.post(&firewall("short/firewall-rule"), body).await.status
                }
            });
            let statuses = join_all(calls).await;
            assert!(statuses.iter().all(|status| [200, 204, 404].contains(status)), "{round}: {statuses:?}");
            assert_eq!(shop.get(&firewall("short")).await.error(), (404, "ResourceNotFound"));
        }
        // The quota has room for what is gone.
        assert_eq!(shop.post_nothing(&firewall("short")).await.status, 200);
        assert_eq!(shop.post_nothing(&firewall("more")).await.error(), (403, "QuotaExceeded"));
    }

    async fn an_inventory_makes_its_firewalls_again_and_keeps_the_rules_of_callers(home: Home) {
        let (_service, shop, _) = begin(&home, &[]);
        let (wall, rules) = (firewall("web-only"), firewall("web-only/firewall-rule"));
        // The same network and ports as a rule of the inventory, by another protocol.
        let own = json!({ "cidr": "0.0.0.0/0", "port_range": "80..443", "protocol": "udp" });
        let own = shop.post(&rules, own).await.ok();
        home.succeed(&["apply", "--prune", "inventory.yaml"]);
        let seen = shop.get(&wall).await.ok();
        assert!(seen["firewall_rules"].as_array().expect("it has rules").contains(&own), "{seen}");
        let declared = seen["firewall_rules"].as_array().expect("it has rules").iter().find(|rule| rule["protocol"] == "tcp");
        let declared = declared.expect("the inventory has rules")["id"].clone();
        assert_eq!(delete(&shop, &format!("{rules}/{}", declared.as_str().unwrap()), None).await.status, 204);
        let applied = home.apply(&two_projects());
        assert!(applied.contains("1 to create, 0 to update, 0 to delete"), "{applied}");
        assert_eq!(shop.get(&wall).await.ok()["firewall_rules"].as_array().expect("it has rules").len(), 3);

        assert_eq!(delete(&shop, &wall, None).await.status, 204);
        let applied = home.apply(&two_projects());
        assert!(applied.contains("firewall eu-central-h1/web-only"), "{applied}");
        let again = shop.get(&wall).await.ok();
        assert_ne!(again["id"], seen["id"]);
        assert_eq!(again["private_subnets"], seen["private_subnets"]);
        let names = |value: &Value| value["firewall_rules"].as_array().map(Vec::len);
        assert_eq!(names(&again), Some(2));
    }
}
