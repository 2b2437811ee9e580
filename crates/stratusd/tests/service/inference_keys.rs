//! The life of inference keys: they are listed, viewed and deleted, and none is ever shown again.

use diesel::connection::SimpleConnection;
use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};

use crate::on_both;
use crate::support::Home;
use crate::support::caller::{Caller, JsonResponse};
use crate::support::cluster::ask;
use crate::support::inventory::{RIVAL, SHOP, two_projects};
use crate::support::process::Service;

const KEYS: &str = "/inference-api-key";

fn begin(home: &Home, settings: &[&str]) -> (Service, Caller) {
    home.apply(&two_projects());
    let service = home.serve(settings);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    (service, shop)
}

/// Creates keys. Returns them as the list must show them.
async fn created(caller: &Caller, count: usize) -> Vec<Value> {
    let mut keys = Vec::new();
    for _ in 0..count {
        let made = caller.post_nothing(KEYS).await.ok();
        let key = made["key"].as_str().expect("a new key is shown");
        keys.push(json!({ "id": made["id"], "key": &key[28..] }));
    }
    keys.sort_by_key(|key| key["id"].to_string());
    keys
}

/// Returns the path of a key.
fn path(key: &Value) -> String {
    format!("{KEYS}/{}", key["id"].as_str().expect("a key has an id"))
}

async fn delete(caller: &Caller, path: &str, if_match: Option<&str>) -> JsonResponse {
    let headers: Vec<_> = if_match.map(|tag| ("if-match", tag)).into_iter().collect();
    caller
        .try_call_with(&headers, Method::DELETE, path, None)
        .await
        .expect("the service responds")
}

/// Returns the status of a delete, whose success has no body.
fn deleted(response: &JsonResponse) -> u16 {
    assert_eq!(response.body, Value::Null);
    response.status
}

on_both! {
    async fn a_key_is_known_by_its_last_characters(home: Home) {
        let (service, shop) = begin(&home, &[]);
        let reader = Caller::new(&service.base, SHOP, &home.token("shop", &["--read-only"]));
        let rival = Caller::new(&service.base, RIVAL, &home.token("rival", &[]));
        let keys = created(&shop, 3).await;
        created(&rival, 1).await;
        assert_eq!(reader.get(KEYS).await.ok(), json!({ "count": 3, "items": keys }));
        let after = format!("{KEYS}?page_size=1&order_column=id&start_after={}", keys[0]["id"].as_str().unwrap());
        assert_eq!(shop.get(&after).await.ok(), json!({ "count": 3, "items": [keys[1]] }));
        for key in &keys {
            assert_eq!(reader.get(&path(key)).await.ok(), *key);
        }
        for (query, field) in [("order_column=name", "order_column"), ("order_column=size", "order_column"), ("start_after=0123", "start_after")] {
            let refused = shop.get(&format!("{KEYS}?{query}")).await;
            assert_eq!(refused.error(), (400, "InvalidRequest"), "{query}");
            assert!(refused.detail(field).is_string(), "{}", refused.body);
        }
        assert_eq!(shop.get(&format!("{KEYS}/ak00000000000000000000000z")).await.error(), (404, "ResourceNotFound"));
        let refused = shop.get(&format!("{KEYS}/0123")).await;
        assert_eq!(refused.error(), (400, "BadRequest"));
        assert!(refused.detail("inference_api_key_id").is_string(), "{}", refused.body);
    }

    async fn a_deleted_key_is_gone_and_makes_room_for_another(home: Home) {
        let (service, shop) = begin(&home, &["--quota-inference-api-keys", "2"]);
        let reader = Caller::new(&service.base, SHOP, &home.token("shop", &["--read-only"]));
        let rival = Caller::new(&service.base, RIVAL, &home.token("rival", &[]));
        let keys = created(&shop, 2).await;
        let (one, other) = (path(&keys[0]), path(&keys[1]));
        assert_eq!(shop.post_nothing(KEYS).await.error(), (403, "QuotaExceeded"));
        // Nothing of this deletes the key.
        assert_eq!(delete(&reader, &one, None).await.error(), (403, "Forbidden"));
        assert_eq!(delete(&shop, &one, Some("\"stale\"")).await.error(), (412, "PreconditionFailed"));
        assert_eq!(deleted(&delete(&rival, &one, None).await), 204);
        assert_eq!(delete(&shop, &format!("{KEYS}/0123"), None).await.error(), (400, "BadRequest"));
        let seen = shop.send(Method::GET, &one, None).await.expect("the service responds");
        let tag = seen.headers()["etag"].to_str().expect("it is text").to_owned();
        assert_eq!(seen.json::<Value>().await.expect("it is JSON"), keys[0]);

        assert_eq!(deleted(&delete(&shop, &one, Some(&tag)).await), 204);
        assert_eq!(shop.get(&one).await.error(), (404, "ResourceNotFound"));
        assert_eq!(shop.get(KEYS).await.ok(), json!({ "count": 1, "items": [keys[1]] }));
        // What does not exist can be deleted too, but not without the right to delete.
        assert_eq!(deleted(&delete(&shop, &one, None).await), 204);
        assert_eq!(deleted(&delete(&shop, &one, Some(&tag)).await), 204);
        assert_eq!(delete(&reader, &one, None).await.error(), (403, "Forbidden"));
        shop.post_nothing(KEYS).await.ok();
        assert_eq!(shop.post_nothing(KEYS).await.error(), (403, "QuotaExceeded"));
        shop.get(&other).await.ok();
    }

    async fn a_key_that_is_deleted_many_times_at_once_counts_once(home: Home) {
        let (service, shop) = begin(&home, &[]);
        let more = if home.database_url.starts_with("postgres") { Some(home.serve(&[])) } else { None };
        let callers = [Some(&service), more.as_ref()].into_iter().flatten().map(|service| shop.at(&service.base, SHOP));
        let callers: Vec<Caller> = callers.collect();
        let keys = created(&shop, 6).await;
        for key in &keys[..5] {
            let path = path(key);
            let deletes = (0..8).map(|number| delete(&callers[number % callers.len()], &path, None));
            let statuses: Vec<u16> = join_all(deletes).await.iter().map(deleted).collect();
            assert_eq!(statuses, [204; 8]);
        }
        assert_eq!(shop.get(KEYS).await.ok(), json!({ "count": 1, "items": [keys[5]] }));
    }

    async fn a_key_of_an_older_service_has_no_known_ending(home: Home) {
        let (mut service, shop) = begin(&home, &[]);
        let id = created(&shop, 1).await[0]["id"].clone();
        service.kill();
        // As before the migration that adds the column.
        let older = "ALTER TABLE inference_api_key DROP COLUMN ending; \
                     DELETE FROM __diesel_schema_migrations WHERE version = '0006'";
        if home.database_url.starts_with("postgres") {
            ask(&home.database_url, older).expect("the statements are valid");
        } else {
            home.open_sqlite().batch_execute(older).expect("the statements are valid");
        }
        let service = home.serve(&[]);
        let shop = shop.at(&service.base, SHOP);
        let known = json!({ "id": id, "key": null });
        assert_eq!(shop.get(&path(&known)).await.ok(), known);
        let newer = created(&shop, 1).await.remove(0);
        let page = shop.get(KEYS).await.ok();
        assert_eq!(page["count"], 2);
        for key in [&known, &newer] {
            assert!(page["items"].as_array().expect("it is a page").contains(key), "{page}");
        }
        assert_eq!(deleted(&delete(&shop, &path(&known), None).await), 204);
        assert_eq!(shop.get(KEYS).await.ok(), json!({ "count": 1, "items": [newer] }));
    }
}
