//! The life of private subnets, and what virtual machines show of them.

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

fn subnet(path: &str) -> String {
    format!("{PLACE}/private-subnet/{path}")
}

fn id(of: &Value) -> &str {
    of["id"].as_str().expect("it has an id")
}

async fn delete(caller: &Caller, path: &str, if_match: Option<&str>) -> JsonResponse {
    let headers: Vec<_> = if_match.map(|tag| ("if-match", tag)).into_iter().collect();
    caller
        .try_call_with(&headers, Method::DELETE, path, None)
        .await
        .expect("the service responds")
}

fn names(page: &Value) -> Vec<&str> {
    let items = page["items"].as_array().expect("it has items");
    let names = items.iter().map(|item| item["name"].as_str());
    names
        .map(|name| name.expect("each item has a name"))
        .collect()
}

on_both! {
    async fn subnets_are_listed_by_location_and_by_project(home: Home) {
        let (_service, shop, reader) = begin(&home, &[]);
        let list = format!("{PLACE}/private-subnet");
        let page = reader.get(&format!("{list}?order_column=name")).await.ok();
        assert_eq!((&page["count"], names(&page)), (&json!(2), vec!["backend", "frontend"]));
        let mut viewed = shop.get(&subnet("backend")).await.ok();
        for details in ["firewalls", "nics"] {
            viewed.as_object_mut().expect("it is an object").remove(details).expect("it is shown");
        }
        assert_eq!(page["items"][0], viewed);
        let first = shop.get(&format!("{list}?page_size=1")).await.ok();
        let after = shop.get(&format!("{list}?start_after={}", id(&first["items"][0]))).await.ok();
        assert_eq!((&after["count"], names(&after).len()), (&json!(2), 1));
        assert_eq!(shop.get(&format!("{PLACE}/private-subnet?order_column=name&start_after=frontend")).await.ok(), json!({ "count": 2, "items": [] }));

        let page = shop.get("/private-subnet?order_column=name").await.ok();
        assert_eq!((&page["count"], names(&page)), (&json!(3), vec!["backend", "far", "frontend"]));
        let ids: Vec<Value> = shop.get("/private-subnet").await.ok()["items"].as_array().expect("it has items").iter().map(|item| item["id"].clone()).collect();
        assert!(ids.iter().map(Value::as_str).is_sorted(), "{ids:?}");
        for (path, field) in [("/private-subnet?order_column=net4", "order_column"), ("/private-subnet?start_after=backend", "start_after")] {
            let refused = shop.get(path).await;
            assert_eq!((refused.error(), refused.detail(field).is_string()), ((400, "InvalidRequest"), true), "{path}");
        }
    }

    async fn a_subnet_is_deleted_once_nothing_uses_it(home: Home) {
        let (_service, shop, reader) = begin(&home, &["--quota-private-subnets", "4"]);
        // In use by interfaces and a load balancer, and by a load balancer alone.
        let refused = delete(&shop, &subnet("backend"), None).await;
        assert_eq!(refused.error(), (409, "DependencyError"));
        assert_eq!(refused.detail("private_subnet_reference"), &json!([
            "the network interfaces `app-1-nic` and `spare` are in it", "the load balancer `web` uses it",
        ]));
        let refused = delete(&shop, &subnet("frontend"), None).await;
        assert_eq!(refused.detail("private_subnet_reference"), &json!("the load balancer `api` uses it"));
        shop.get(&subnet("backend")).await.ok();

        let made = shop.post_nothing(&subnet("short")).await.ok();
        assert_eq!(shop.post_nothing(&subnet("more")).await.error(), (403, "QuotaExceeded"));
        let backend = shop.get(&subnet("backend")).await.ok();
        shop.post(&subnet("short/connect"), json!({ "connected-subnet-id": backend["id"] })).await.ok();
        let web_only = format!("{PLACE}/firewall/web-only");
        let seen = shop.send(Method::GET, &subnet("short"), None).await.expect("the service responds");
        let tag = seen.headers()["etag"].to_str().expect("it is text").to_owned();
        shop.post(&format!("{web_only}/attach-subnet"), json!({ "private_subnet_id": made["id"] })).await.ok();
        assert_eq!(delete(&reader, &subnet("short"), None).await.error(), (403, "Forbidden"));
        assert_eq!(delete(&shop, &subnet("short"), Some(&tag)).await.error(), (412, "PreconditionFailed"));
        assert_eq!(delete(&shop, &subnet("backend"), Some(&tag)).await.error(), (412, "PreconditionFailed"));
        let answer = delete(&shop, &subnet(id(&made)), Some("*")).await;
        assert_eq!((answer.status, answer.body), (204, Value::Null));
        for gone in ["short", id(&made)] {
            assert_eq!(shop.get(&subnet(gone)).await.error(), (404, "ResourceNotFound"));
            assert_eq!(delete(&shop, &subnet(gone), Some(&tag)).await.status, 204);
            assert_eq!(delete(&reader, &subnet(gone), None).await.error(), (403, "Forbidden"));
        }
        // The firewalls stay, without the subnet, and so does the other end of the connection.
        assert_eq!(shop.get(&web_only).await.ok()["private_subnets"], json!([backend["id"]]));
        assert_eq!(shop.get(&format!("{PLACE}/firewall/short-default")).await.ok()["private_subnets"], json!([]));
        assert_eq!(shop.get(&subnet("backend")).await.ok(), backend);
        assert_eq!(shop.get("/private-subnet").await.ok()["count"], 3);
        // The name is free again, and the quota has room.
        let body = json!({ "firewall_id": shop.get(&web_only).await.ok()["id"] });
        assert_ne!(shop.post(&subnet("short"), body).await.ok()["id"], made["id"]);
    }

    async fn an_inventory_makes_its_subnets_again(home: Home) {
        let (_service, shop, _) = begin(&home, &[]);
        let far = "/location/us-east-a2/private-subnet/far";
        let first = shop.get(far).await.ok();
        assert_eq!(delete(&shop, far, None).await.status, 204);
        let applied = home.apply(&two_projects());
        assert!(applied.contains("private subnet us-east-a2/far"), "{applied}");
        assert_ne!(shop.get(far).await.ok()["id"], first["id"]);
    }

    async fn subnets_are_disconnected_from_either_end(home: Home) {
        let (_service, shop, reader) = begin(&home, &[]);
        let [backend, frontend] = [shop.get(&subnet("backend")).await.ok(), shop.get(&subnet("frontend")).await.ok()];
        let connect = json!({ "connected-subnet-id": frontend["id"] });
        for (from, to) in [(&backend, &frontend), (&frontend, &backend)] {
            shop.post(&subnet("backend/connect"), connect.clone()).await.ok();
            let path = subnet(&format!("{}/disconnect/{}", id(from), id(to)));
            assert_eq!(reader.post_nothing(&path).await.error(), (403, "Forbidden"));
            assert_eq!(shop.post(&subnet("backend/connect"), connect.clone()).await.error().0, 400);
            assert_eq!(shop.post_nothing(&path).await.ok(), *from);
            // What is not connected stays so.
            assert_eq!(shop.post_nothing(&path).await.ok(), *from);
        }
        shop.post(&subnet("backend/connect"), connect).await.ok();
        let itself = subnet(&format!("backend/disconnect/{}", id(&backend)));
        assert_eq!(shop.post_nothing(&itself).await.ok(), backend);
        let far = shop.get("/location/us-east-a2/private-subnet/far").await.ok();
        for unknown in ["ps00000000000000000000000z", id(&far)] {
            let refused = shop.post_nothing(&subnet(&format!("backend/disconnect/{unknown}"))).await;
            assert_eq!(refused.error(), (400, "InvalidRequest"), "{unknown}");
            assert!(refused.detail("private_subnet_id").is_string(), "{}", refused.body);
        }
        let refused = shop.post_nothing(&subnet("backend/disconnect/frontend")).await;
        assert_eq!((refused.error(), refused.detail("private_subnet_id").is_string()), ((400, "BadRequest"), true));
        let refused = shop.post_nothing(&subnet(&format!("none/disconnect/{}", id(&backend)))).await;
        assert_eq!(refused.error(), (404, "ResourceNotFound"));
    }

    async fn a_subnet_that_is_deleted_while_it_is_connected_and_attached_leaves_nothing(home: Home) {
        let settings = ["--quota-private-subnets", "4"];
        let (service, shop, _) = begin(&home, &settings);
        let more = home.database_url.starts_with("postgres").then(|| home.serve(&settings));
        let services = [Some(&service), more.as_ref()].into_iter().flatten();
        let callers: Vec<Caller> = services.map(|service| shop.at(&service.base, SHOP)).collect();
        let web_only = shop.get(&format!("{PLACE}/firewall/web-only")).await.ok();
        for round in 0..5 {
            let made = shop.post(&subnet("short"), json!({ "firewall_id": web_only["id"] })).await.ok();
            let calls = (0..12).map(|number| {
                let (caller, made) = (&callers[number % callers.len()], &made);
                async move {
                    match number % 3 {
                        0 => caller.post(&subnet("backend/connect"), json!({ "connected-subnet-id": made["id"] })).await.status,
                        1 => caller.post(&format!("{PLACE}/firewall/web-only/attach-subnet"), json!({ "private_subnet_id": made["id"] })).await.status,
                        _ => delete(caller, &subnet("short"), None).await.status,
                    }
                }
            });
            let statuses = join_all(calls).await;
            assert!(statuses.iter().all(|status| [200, 204, 400].contains(status)), "{round}: {statuses:?}");
            assert_eq!(shop.get(&subnet("short")).await.error(), (404, "ResourceNotFound"));
            assert_eq!(shop.get(&format!("{PLACE}/firewall/web-only")).await.ok(), web_only);
        }
        // The quota has room for what is gone.
        assert_eq!(shop.post_nothing(&subnet("short")).await.status, 200);
        assert_eq!(shop.post_nothing(&subnet("more")).await.error(), (403, "QuotaExceeded"));
    }

    async fn a_virtual_machine_shows_its_place_and_its_firewalls(home: Home) {
        let (_service, shop, reader) = begin(&home, &[]);
        let vm = |name: &str| format!("{PLACE}/vm/{name}");
        let backend = shop.get(&subnet("backend")).await.ok();
        let nic = backend["nics"].as_array().expect("it has interfaces").iter().find(|nic| nic["vm_name"] == "app-1");
        let nic = nic.expect("the machine has an interface");
        let page = shop.get(&format!("{PLACE}/vm?order_column=name")).await.ok();
        let mut expected = page["items"][0].clone();
        let more = json!({ "firewalls": backend["firewalls"], "subnet": "backend", "private_ipv4": "10.61.7.9", "private_ipv6": nic["private_ipv6"] });
        expected.as_object_mut().expect("it is an object").extend(more.as_object().expect("it is an object").clone());
        let seen = reader.send(Method::GET, &vm("app-1"), None).await.expect("the service responds");
        assert!(seen.headers().contains_key("etag"));
        assert_eq!(seen.json::<Value>().await.expect("it is JSON"), expected);
        assert_eq!(shop.get(&vm(id(&expected))).await.ok(), expected);

        let mut expected = page["items"][1].clone();
        expected["firewalls"] = json!([]);
        assert_eq!(shop.get(&vm("app-2")).await.ok(), expected);
        for (path, error) in [("far", 404), ("vm00000000000000000000000z", 404), ("Bad_name", 400)] {
            assert_eq!(shop.get(&vm(path)).await.error().0, error, "{path}");
        }
        let with = |image: &str| two_projects().replacen("unix_user: deploy,", &format!("unix_user: deploy, boot_image: {image},"), 1);
        assert!(home.apply(&with("debian-13")).contains("1 to update"));
        assert_eq!(shop.get(&vm("app-1")).await.ok()["boot_image"], "debian-13");
        assert_eq!(home.apply(&with("debian-13")), "0 to create, 0 to update, 0 to delete: applied\n");
        for wrong in ["\"\"", "\"a\\nb\""] {
            std::fs::write(home.path().join("inventory.yaml"), with(wrong)).expect("the folder is writable");
            let refused = home.fail(&["apply", "inventory.yaml"]);
            assert!(refused.contains("inventory.yaml:9:"), "{refused}");
        }
        assert!(home.apply(&two_projects()).contains("1 to update"));
        assert!(shop.get(&vm("app-1")).await.ok().get("boot_image").is_none());
    }
}
