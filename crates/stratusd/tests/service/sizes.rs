//! What one caller sends, receives or has is bounded.

mod bodies;
mod locks;
mod pages;
#[cfg(target_os = "linux")]
mod priority;
mod quota_races;
mod quotas;
mod volume;

use serde_json::{Value, json};

use crate::on_both;
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};

const PLACE: &str = "/location/eu-central-h1";

/// Returns the largest body that creates a database: about 100 KiB of tags.
pub fn largest_database() -> Value {
    let text = "\u{1d11e}".repeat(253);
    let tags: Vec<Value> = (0..50)
        .map(|tag| json!({ "key": format!("{tag:02}{text}"), "value": format!("{text}{tag:02}") }))
        .collect();
    json!({ "size": "standard-2", "storage_size": 64, "tags": tags })
}

on_both! {
    async fn arrays_of_requests_are_bounded(home: Home) {
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        let service = home.serve(&[]);
        let shop = Caller::new(&service.base, SHOP, &token);
        let update = |vms: usize| {
            let vms: Vec<String> = (0..vms).map(|vm| format!("vm{vm:024}")).collect();
            json!({ "algorithm": "round_robin", "src_port": 1, "dst_port": 2, "health_check_endpoint": "/", "vms": vms })
        };
        let web = format!("{PLACE}/load-balancer/web");
        let refused = shop.patch(&web, update(1001)).await;
        assert_eq!(refused.error(), (400, "BadRequest"));
        assert_eq!(refused.detail("vms"), "must have at most 1000 items");
        // More than a load balancer may have are not looked up, and fewer are judged one by one.
        for count in [1000, 101] {
            let refused = shop.patch(&web, update(count)).await;
            assert_eq!(refused.error(), (400, "InvalidRequest"));
            assert_eq!(refused.detail("vms"), &json!(format!("has {count} items, and a load balancer may have 100 virtual machines")));
        }
        let refused = shop.patch(&web, update(100)).await;
        assert_eq!((refused.error(), refused.detail("vms").as_array().map(Vec::len)), ((400, "InvalidRequest"), Some(20)));
        let orders = format!("{PLACE}/postgres/orders");
        let mut body = largest_database();
        shop.post(&orders, body.clone()).await.ok();
        let tags = body["tags"].as_array_mut().expect("tags are a list");
        // More than a database may have, which `databases.rs` tests, and more than may be sent.
        tags.extend((0..15).map(|more| json!({ "key": format!("more-{more}"), "value": "more" })));
        let refused = shop.post(&format!("{orders}-2"), body.clone()).await;
        assert_eq!((refused.error(), refused.detail("tags")), ((400, "BadRequest"), &json!("must have at most 64 items")));
        let refused = shop.patch(&orders, json!({ "tags": body["tags"] })).await;
        assert_eq!((refused.error(), refused.detail("tags")), ((400, "BadRequest"), &json!("must have at most 64 items")));
    }
}
