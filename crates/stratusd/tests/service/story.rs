//! What each operation does, on both databases.

use serde_json::{Value, json};

use crate::on_both;
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};

const PLACE: &str = "/location/eu-central-h1";

/// A service with the projects of [`two_projects`], and two callers: one with full access, one that
/// can only read.
fn begin(home: &Home, more: &[&str]) -> (crate::support::process::Service, Caller, Caller) {
    home.apply(&two_projects());
    let (full, reader) = (
        home.token("shop", &[]),
        home.token("shop", &["--read-only"]),
    );
    let settings = [
        &[
            "--simulate-delay",
            "300ms",
            "--simulate-jitter",
            "0s",
            "--simulate-used",
            "60",
        ],
        more,
    ]
    .concat();
    let service = home.serve(&settings);
    let (full, reader) = (
        Caller::new(&service.base, SHOP, &full),
        Caller::new(&service.base, SHOP, &reader),
    );
    (service, full, reader)
}

/// Returns the ids of a list by name.
async fn ids(caller: &Caller, path: &str) -> std::collections::BTreeMap<String, String> {
    let page = caller.get(path).await.ok();
    let items = page["items"].as_array().expect("a page has items").clone();
    let text = |value: &Value| value.as_str().expect("the value is a text").to_owned();
    items
        .iter()
        .map(|item| (text(&item["name"]), text(&item["id"])))
        .collect()
}

fn names(page: &Value) -> Vec<&str> {
    page["items"]
        .as_array()
        .expect("a page has items")
        .iter()
        .map(|item| item["name"].as_str().unwrap())
        .collect()
}

on_both! {
    async fn lists_are_paged_in_both_orders(home: Home) {
        let (_service, shop, _) = begin(&home, &[]);
        let vms = format!("{PLACE}/vm");
        let all = shop.get(&format!("{vms}?order_column=name")).await.ok();
        assert_eq!((all["count"].as_i64(), names(&all)), (Some(3), vec!["app-1", "app-2", "app-3"]));

        let first = shop.get(&format!("{vms}?order_column=name&page_size=2")).await.ok();
        assert_eq!((first["count"].as_i64(), names(&first)), (Some(3), vec!["app-1", "app-2"]));
        let second = shop.get(&format!("{vms}?order_column=name&page_size=2&start_after=app-2")).await.ok();
        assert_eq!((second["count"].as_i64(), names(&second)), (Some(3), vec!["app-3"]));
        let past = shop.get(&format!("{vms}?order_column=name&start_after=zz")).await.ok();
        assert_eq!((past["count"].as_i64(), names(&past)), (Some(3), vec![]));
        // A page can start after any text, even one with a NUL in it.
        let odd = shop.get(&format!("{vms}?order_column=name&start_after=app-1%00zz")).await.ok();
        assert_eq!(names(&odd), ["app-2", "app-3"]);

        let mut by_id: Vec<String> = ids(&shop, &vms).await.into_values().collect();
        by_id.sort();
        let rest = shop.get(&format!("{vms}?start_after={}", by_id[0])).await.ok();
        let rest: Vec<&str> = rest["items"].as_array().unwrap().iter().map(|vm| vm["id"].as_str().unwrap()).collect();
        assert_eq!(rest, by_id[1..].iter().map(String::as_str).collect::<Vec<_>>());
        // An id to start after need not exist.
        let all = shop.get(&format!("{vms}?start_after=vm000000000000000000000000&page_size=5000")).await.ok();
        assert_eq!(names(&all).len(), 3);

        for (query, field) in
            [("order_column=size", "order_column"), ("start_after=app-1", "start_after"), ("start_after=", "start_after")]
        {
            let refused = shop.get(&format!("{vms}?{query}")).await;
            assert_eq!(refused.error(), (400, "InvalidRequest"), "{query}");
            assert!(refused.detail(field).is_string(), "{}", refused.body);
        }
        let refused = shop.get(&format!("{vms}?page_size=0")).await;
        assert_eq!(refused.error(), (400, "BadRequest"));

        let here = shop.get(&format!("{PLACE}/load-balancer?order_column=name")).await.ok();
        assert_eq!((here["count"].as_i64(), names(&here)), (Some(2), vec!["api", "web"]));
        let everywhere = shop.get("/load-balancer?order_column=name").await.ok();
        assert_eq!(here, everywhere);
        let elsewhere = shop.get("/location/us-east-a2/load-balancer").await.ok();
        assert_eq!(elsewhere, json!({ "count": 0, "items": [] }));
    }

    async fn an_unknown_location_is_told_with_the_known_ones(home: Home) {
        let (_service, shop, _) = begin(&home, &[]);
        let refused = shop.get("/location/mars-1/vm").await;
        assert_eq!(refused.error(), (404, "InvalidLocation"));
        assert_eq!(refused.detail("location"), "the locations are eu-central-h1, eu-north-h1 and us-east-a2");
        // The service sees what the operator adds at once.
        home.apply(&two_projects().replace("locations:\n", "locations:\n  - name: mars-1\n"));
        shop.get("/location/mars-1/vm").await.ok();
    }

    async fn a_load_balancer_is_updated_as_a_whole(home: Home) {
        let (_service, shop, reader) = begin(&home, &[]);
        let vms = ids(&shop, &format!("{PLACE}/vm")).await;
        let web = format!("{PLACE}/load-balancer/web");
        let body = json!({
            "algorithm": "hash_based", "src_port": 80, "dst_port": 8081, "health_check_endpoint": "/healthy",
            "vms": [vms["app-2"], vms["app-1"]],
        });
        let updated = shop.patch(&web, body.clone()).await.ok();
        let attached = json!({ "items": updated["vms"] });
        let attached: std::collections::BTreeSet<&str> = names(&attached).into_iter().collect();
        assert_eq!(attached, std::collections::BTreeSet::from(["app-1", "app-2"]));
        assert_eq!(updated["algorithm"], "hash_based");
        assert_eq!((updated["src_port"].as_i64(), updated["dst_port"].as_i64()), (Some(80), Some(8081)));
        assert_eq!(updated["health_check_endpoint"], "/healthy");
        // Properties that the body does not contain stay.
        assert_eq!((&updated["stack"], &updated["cert_enabled"]), (&json!("dual"), &json!(false)));
        assert_eq!((&updated["subnet"], &updated["health_check_protocol"]), (&json!("backend"), &json!("http")));
        let host = updated["hostname"].as_str().unwrap();
        assert!(host.starts_with("web.") && host.ends_with(".stratus.example") && host.len() == 4 + 5 + 16, "{host}");

        let with = |more: Value| {
            let mut body = body.clone();
            body.as_object_mut().unwrap().extend(more.as_object().unwrap().clone());
            body
        };
        let updated = shop.patch(&web, with(json!({ "stack": "ipv6", "cert_enabled": true }))).await.ok();
        assert_eq!((&updated["stack"], &updated["cert_enabled"]), (&json!("ipv6"), &json!(true)));
        let updated = shop.patch(&web, with(json!({ "cert_enabled": null }))).await.ok();
        assert_eq!((&updated["stack"], &updated["cert_enabled"]), (&json!("ipv6"), &json!(true)));

        let far = ids(&shop, "/location/us-east-a2/vm").await["far"].clone();
        let api = format!("{PLACE}/load-balancer/api");
        let refusals = [
            (&web, json!(["app-1"])),
            (&web, json!([vms["app-1"], vms["app-1"]])),
            (&web, json!(["vm000000000000000000000000"])),
            (&web, json!([far])),
            (&api, json!([vms["app-1"]])),
        ];
        for (path, wanted) in refusals {
            let refused = shop.patch(path, with(json!({ "vms": wanted }))).await;
            assert_eq!(refused.error(), (400, "InvalidRequest"), "{wanted}");
            assert!(refused.detail("vms").is_string(), "{}", refused.body);
        }
        let refused = shop.patch(&web, with(json!({ "health_check_endpoint": "/a\u{0}b" }))).await;
        assert_eq!(refused.error(), (400, "InvalidRequest"));
        assert!(refused.detail("health_check_endpoint").is_string());
        assert_eq!(reader.patch(&web, body.clone()).await.error(), (403, "Forbidden"));
        // The resource is checked before the permission, and the permission before the values.
        let missing = format!("{PLACE}/load-balancer/none");
        assert_eq!(reader.patch(&missing, body.clone()).await.error(), (404, "ResourceNotFound"));
        assert_eq!(reader.patch(&web, with(json!({ "vms": ["x"] }))).await.error(), (403, "Forbidden"));

        let emptied = shop.patch(&web, with(json!({ "vms": [] }))).await.ok();
        assert_eq!(emptied["vms"], json!([]));
        shop.patch(&api, with(json!({ "vms": [vms["app-1"]] }))).await.ok();
    }

    async fn a_vm_is_detached_once_and_stays_detached(home: Home) {
        let (_service, shop, reader) = begin(&home, &[]);
        let vms = ids(&shop, &format!("{PLACE}/vm")).await;
        let load_balancers = ids(&shop, &format!("{PLACE}/load-balancer")).await;
        // By id this time.
        let detach = format!("{PLACE}/load-balancer/{}/detach-vm", load_balancers["web"]);
        let body = json!({ "vm_id": vms["app-1"] });
        assert_eq!(reader.post(&detach, body.clone()).await.error(), (403, "Forbidden"));
        assert_eq!(shop.post(&detach, body.clone()).await.ok()["vms"], json!([]));
        assert_eq!(shop.post(&detach, body).await.ok()["vms"], json!([]));
        for unknown in ["app-1", "vm000000000000000000000000", "", "1b000000000000000000000000"] {
            let refused = shop.post(&detach, json!({ "vm_id": unknown })).await;
            assert_eq!(refused.error(), (400, "InvalidRequest"), "{unknown}");
            assert!(refused.detail("vm_id").is_string(), "{}", refused.body);
        }
    }

    async fn a_database_becomes_what_it_shall_be(home: Home) {
        let (_service, shop, reader) = begin(&home, &[]);
        let orders = format!("{PLACE}/postgres/orders");
        let tags = json!([{ "key": "team", "value": "checkout" }, { "key": "nul", "value": "\u{0}" }]);
        let body = json!({ "size": "standard-2", "storage_size": 128, "ha_type": "async", "version": "16", "tags": tags });
        assert_eq!(reader.post(&orders, body.clone()).await.error(), (403, "Forbidden"));
        let response = shop.send(reqwest::Method::POST, &orders, Some(&body)).await.unwrap();
        assert_eq!(response.headers()["cache-control"], "no-store");
        let made: Value = response.json().await.unwrap();
        assert_eq!((&made["state"], &made["name"]), (&json!("creating"), &json!("orders")));
        assert_eq!((&made["flavor"], &made["ha_type"], &made["version"]), (&json!("standard"), &json!("async"), &json!("16")));
        assert_eq!((&made["connection_string"], &made["ca_certificates"]), (&json!(null), &json!(null)));
        assert_eq!((&made["tags"], made["firewall_rules"].as_array().unwrap().len()), (&tags, 2));

        let running = shop.wait_for(&orders, |database| database["state"] == "running").await;
        let id = running["id"].as_str().unwrap();
        let url = running["connection_string"].as_str().unwrap();
        assert!(url.starts_with("postgres://postgres:"), "{url}");
        assert!(url.ends_with(&format!("@orders.{id}.stratus.example:5432/postgres?sslmode=require")), "{url}");
        assert!(running["ca_certificates"].as_str().unwrap().starts_with("-----BEGIN CERTIFICATE-----"));
        assert_eq!(shop.get(&format!("{PLACE}/postgres/{id}")).await.ok()["name"], "orders");
        let listed = shop.get("/postgres").await.ok();
        assert_eq!((listed["count"].as_i64(), &listed["items"][0]["id"]), (Some(1), &json!(id)));
        assert!(listed["items"][0].get("connection_string").is_none());

        let changed = shop.patch(&orders, json!({ "size": "standard-4", "storage_size": 256, "tags": [] })).await.ok();
        assert_eq!((&changed["vm_size"], &changed["target_vm_size"]), (&json!("standard-2"), &json!("standard-4")));
        assert_eq!((&changed["storage_size_gib"], &changed["target_storage_size_gib"]), (&json!(128), &json!(256)));
        assert_eq!(changed["tags"], json!([]));
        let grown = shop.wait_for(&orders, |database| database["vm_size"] == "standard-4").await;
        assert_eq!((&grown["storage_size_gib"], &grown["state"]), (&json!(256), &json!("running")));

        let again = shop.patch(&orders, json!({})).await.ok();
        assert_eq!(again["target_vm_size"], "standard-4");
        let again = shop.send(reqwest::Method::PATCH, &orders, None).await.unwrap();
        assert_eq!(again.status(), 200);
        // 60 % of 128 GiB are used, which is not under 80 % of 64.
        shop.patch(&orders, json!({ "size": "standard-2", "storage_size": 128 })).await.ok();
        let refused = shop.patch(&orders, json!({ "storage_size": 64 })).await;
        assert_eq!(refused.error(), (400, "InvalidRequest"));
        assert!(refused.detail("storage_size").as_str().unwrap().contains("77 GiB in use"), "{}", refused.body);
        let refused = shop.patch(&orders, json!({ "size": "standard-16" })).await;
        assert_eq!(refused.detail("storage_size"), "`standard-16` allows 512, 1024 and 2048 GiB");
        assert_eq!(reader.patch(&orders, json!({})).await.error(), (403, "Forbidden"));
        assert_eq!(shop.patch(&format!("{PLACE}/postgres/none"), json!({})).await.error(), (404, "ResourceNotFound"));
    }

    async fn a_database_that_cannot_be_is_refused(home: Home) {
        let (_service, shop, _) = begin(&home, &[]);
        let body = json!({ "size": "hobby-1", "storage_size": 16, "restrict_by_default": true });
        let made = shop.post(&format!("{PLACE}/postgres/small"), body.clone()).await.ok();
        assert_eq!((&made["firewall_rules"], &made["vm_size"]), (&json!([]), &json!("hobby-1")));
        let refused = shop.post(&format!("{PLACE}/postgres/small"), body.clone()).await;
        assert_eq!((refused.error(), refused.detail("name").is_string()), ((400, "InvalidRequest"), true));
        // The same name somewhere else is another database.
        shop.post("/location/us-east-a2/postgres/small", json!({ "size": "burstable-1", "storage_size": 64 })).await.ok();
        let refused = shop.post("/location/eu-north-h1/postgres/cold", body.clone()).await;
        assert_eq!(refused.detail("location"), "does not offer Postgres: it is available in eu-central-h1 and us-east-a2");
        let refused = shop.post(&format!("{PLACE}/postgres/pg000000000000000000000000"), body).await;
        assert!(refused.detail("name").is_string(), "{}", refused.body);
        let refused = shop.post(&format!("{PLACE}/postgres/big"), json!({ "size": "huge", "storage_size": 16 })).await;
        assert!(refused.detail("size").as_str().unwrap().contains("standard-60"), "{}", refused.body);
        let refused = shop.post(&format!("{PLACE}/postgres/big"), json!({ "size": "hobby-2", "storage_size": 16 })).await;
        assert_eq!(refused.detail("storage_size"), "`hobby-2` allows 32, 64 and 128 GiB");
        let page = shop.get("/postgres?order_column=name").await.ok();
        assert_eq!((page["count"].as_i64(), names(&page)), (Some(2), vec!["small", "small"]));
    }

    async fn a_password_is_reset_and_shown_encoded(home: Home) {
        let (_service, shop, reader) = begin(&home, &[]);
        let orders = format!("{PLACE}/postgres/orders");
        shop.post(&orders, json!({ "size": "standard-2", "storage_size": 64 })).await.ok();
        shop.wait_for(&orders, |database| database["state"] == "running").await;
        let reset = format!("{orders}/reset-superuser-password");
        let refused = shop.post(&reset, json!({ "password": "short" })).await;
        assert_eq!(refused.error(), (400, "InvalidRequest"));
        let rules: Vec<&str> = refused.detail("password").as_array().unwrap().iter().map(|it| it.as_str().unwrap()).collect();
        assert_eq!(rules, ["must be at least 12 characters long", "must have an uppercase letter", "must have a digit"]);
        let empty = shop.post(&reset, json!({ "password": "" })).await;
        assert_eq!((empty.error(), empty.detail("password").as_array().map(Vec::len)), ((400, "InvalidRequest"), Some(4)));
        let body = json!({ "password": "Ünïcode:/@ 123 Pass?" });
        assert_eq!(reader.post(&reset, body.clone()).await.error(), (403, "Forbidden"));
        let response = shop.post(&reset, body).await.ok();
        let url = response["connection_string"].as_str().unwrap();
        assert!(url.contains(":%C3%9Cn%C3%AFcode%3A%2F%40%20123%20Pass%3F@orders."), "{url}");
        assert_eq!(shop.get(&orders).await.ok()["connection_string"], url);
        assert_eq!(shop.post(&reset, json!({ "password": "Abcdefgh1234\u{0}" })).await.error(), (400, "InvalidRequest"));
    }

    async fn a_subnet_begins_with_a_firewall(home: Home) {
        let (_service, shop, reader) = begin(&home, &[]);
        let analytics = format!("{PLACE}/private-subnet/analytics");
        assert_eq!(reader.post_nothing(&analytics).await.error(), (403, "Forbidden"));
        let made = shop.post_nothing(&analytics).await.ok();
        let firewall = &made["firewalls"][0];
        assert_eq!((&firewall["name"], made["firewalls"].as_array().unwrap().len()), (&json!("analytics-default"), 1));
        let mut open: Vec<&str> =
            firewall["firewall_rules"].as_array().unwrap().iter().map(|rule| rule["cidr"].as_str().unwrap()).collect();
        open.sort_unstable();
        assert_eq!(open, ["0.0.0.0/0", "::/0"]);
        assert!(made["net4"].as_str().unwrap().starts_with("10."), "{made}");
        assert!(made["net6"].as_str().unwrap().starts_with("fd"), "{made}");
        assert_eq!(shop.get(&analytics).await.ok(), made);
        assert_eq!(reader.get(&format!("{PLACE}/private-subnet/{}", made["id"].as_str().unwrap())).await.ok(), made);
        let refused = shop.post(&analytics, json!({})).await;
        assert_eq!((refused.error(), refused.detail("name").is_string()), ((400, "InvalidRequest"), true));

        let given = json!({ "firewall_id": firewall["id"] });
        let second = shop.post(&format!("{PLACE}/private-subnet/second"), given).await.ok();
        assert_eq!(second["firewalls"], made["firewalls"]);
        for wrong in ["web-only", "fw000000000000000000000000", "nothing\u{0}"] {
            let refused = shop.post(&format!("{PLACE}/private-subnet/third"), json!({ "firewall_id": wrong })).await;
            assert_eq!((refused.error(), refused.detail("firewall_id").is_string()), ((400, "InvalidRequest"), true));
        }
        let long = "a".repeat(60);
        let refused = shop.post_nothing(&format!("{PLACE}/private-subnet/{long}")).await;
        assert!(refused.detail("name").is_string(), "{}", refused.body);
        // In the other location, the names of the subnet and of the firewall are free.
        shop.post_nothing("/location/us-east-a2/private-subnet/analytics").await.ok();
    }

    async fn subnets_are_connected_both_ways(home: Home) {
        let (_service, shop, reader) = begin(&home, &[]);
        let id = async |name: &str| {
            let subnet = shop.get(&format!("{PLACE}/private-subnet/{name}")).await.ok();
            subnet["id"].as_str().unwrap().to_owned()
        };
        let (backend, frontend) = (id("backend").await, id("frontend").await);
        let connect = |name: &str| format!("{PLACE}/private-subnet/{name}/connect");
        let to = |id: &str| json!({ "connected-subnet-id": id });
        assert_eq!(reader.post(&connect("backend"), to(&frontend)).await.error(), (403, "Forbidden"));
        let response = shop.post(&connect("backend"), to(&frontend)).await.ok();
        assert_eq!(response, shop.get(&format!("{PLACE}/private-subnet/backend")).await.ok());
        assert_eq!(response["nics"][0]["private_ipv4"].as_str().map(|ip| ip.starts_with("10.61.7.")), Some(true));
        let far = shop.get("/location/us-east-a2/private-subnet/far").await.ok()["id"].as_str().unwrap().to_owned();
        for (path, body) in [
            (connect("backend"), to(&frontend)),
            (connect("frontend"), to(&backend)),
            (connect("backend"), to(&backend)),
            (connect("backend"), to("frontend")),
            (connect("backend"), to(&far)),
            (connect("backend"), to("ps000000000000000000000000")),
            (connect("backend"), json!({})),
        ] {
            let refused = shop.post(&path, body.clone()).await;
            assert_eq!(refused.error(), (400, "InvalidRequest"), "{path} {body}");
            assert!(refused.detail("connected-subnet-id").is_string(), "{}", refused.body);
        }
    }

    async fn a_subnet_is_detached_from_its_firewall(home: Home) {
        let (_service, shop, reader) = begin(&home, &[]);
        let backend = shop.get(&format!("{PLACE}/private-subnet/backend")).await.ok();
        assert_eq!(backend["firewalls"][0]["name"], "web-only");
        let detach = format!("{PLACE}/firewall/web-only/detach-subnet");
        let body = json!({ "private_subnet_id": backend["id"] });
        assert_eq!(reader.post(&detach, body.clone()).await.error(), (403, "Forbidden"));
        let response = shop.post(&detach, body.clone()).await.ok();
        assert_eq!((&response["private_subnets"], &response["id"]), (&json!([]), &backend["firewalls"][0]["id"]));
        assert_eq!(response["firewall_rules"].as_array().unwrap().len(), 2);
        assert_eq!(shop.post(&detach, body).await.ok(), response);
        assert_eq!(shop.get(&format!("{PLACE}/private-subnet/backend")).await.ok()["firewalls"], json!([]));
        for wrong in ["backend", "ps000000000000000000000000"] {
            let refused = shop.post(&detach, json!({ "private_subnet_id": wrong })).await;
            assert_eq!((refused.error(), refused.detail("private_subnet_id").is_string()), ((400, "InvalidRequest"), true));
        }
    }

    async fn each_inference_key_is_new(home: Home) {
        let (_service, shop, reader) = begin(&home, &[]);
        assert_eq!(reader.post_nothing("/inference-api-key").await.error(), (403, "Forbidden"));
        let one = shop.post("/inference-api-key", json!({})).await.ok();
        let other = shop.post_nothing("/inference-api-key").await.ok();
        assert!(one["id"] != other["id"] && one["key"] != other["key"]);
        assert_eq!(one["key"].as_str().unwrap().len(), 32);
    }

    async fn the_generated_client_understands_every_answer(home: Home) {
        use api_client::prelude::*;
        use futures_util::TryStreamExt;

        let (service, shop, _) = begin(&home, &[]);
        let token = home.token("shop", &[]);
        let client = api_client::Client::builder(&service.base).bearer(token).build().expect("a client can be made");
        let vms: Vec<api_types::Vm> = client
            .vm_list()
            .project_id(SHOP)
            .location("eu-central-h1")
            .page_size(1)
            .stream()
            .try_collect()
            .await
            .expect("every page comes");
        assert_eq!(vms.len(), 3);
        let made = client
            .postgres_create()
            .project_id(SHOP)
            .location("eu-central-h1")
            .postgres_database_reference("orders")
            .body(api_types::PostgresCreate::new("standard-2".try_into().unwrap(), 64.try_into().unwrap()))
            .send()
            .await
            .expect("the database is created");
        assert_eq!(made.state, api_types::PostgresState::Creating);
        shop.wait_for(&format!("{PLACE}/postgres/orders"), |database| database["state"] == "running").await;
        let seen = client
            .postgres_view()
            .project_id(SHOP)
            .location("eu-central-h1")
            .postgres_database_reference("orders")
            .send()
            .await
            .expect("the created database is found");
        assert!(seen.connection_string.is_some());
        let balancers = client.project_load_balancer_list().project_id(SHOP).send().await.expect("a page comes");
        assert_eq!(balancers.count.get(), 2);
        let subnet = client
            .private_subnet_view()
            .project_id(SHOP)
            .location("eu-central-h1")
            .private_subnet_reference("backend")
            .send()
            .await
            .expect("the private subnet is found");
        assert_eq!(subnet.nics.len(), 2);
    }
}
