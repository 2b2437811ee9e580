//! Backups of Postgres databases, what is restored from them, and promotions of standbys.

use serde_json::{Value, json};

use crate::audit::trail;
use crate::databases::{delete, tag};
use crate::on_both;
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};

const PLACE: &str = "/location/eu-central-h1";

fn database(name: &str) -> String {
    format!("{PLACE}/postgres/{name}")
}

/// Returns the time some seconds after another one.
fn later(than: &Value, seconds: i64) -> String {
    let than: jiff::Timestamp = than
        .as_str()
        .expect("it is a text")
        .parse()
        .expect("it is a time");
    (than + jiff::SignedDuration::from_secs(seconds)).to_string()
}

on_both! {
    async fn a_database_is_restored_from_its_backups(home: Home) {
        home.apply(&two_projects());
        let settings = ["--simulate-delay", "3s", "--simulate-jitter", "0s", "--observe-every", "100ms"];
        let service = home.serve(&settings);
        let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let reader = Caller::new(&service.base, SHOP, &home.token("shop", &["--read-only"]));
        let (orders, restore, backups) = (database("orders"), database("orders/restore"), database("orders/backup"));
        let body = json!({ "size": "standard-2", "storage_size": 64, "ha_type": "async", "version": "16", "tags": [{ "key": "a", "value": "b" }] });
        let made = shop.post(&orders, body).await.ok();
        let again = |name: &str, at: &str| json!({ "name": name, "restore_target": at });

        // There is no backup as long as there is no database.
        assert_eq!(reader.get(&backups).await.ok(), json!({ "count": 0, "items": [] }));
        let refused = shop.post(&restore, again("early", "2026-03-02T17:30:00Z")).await;
        assert_eq!(refused.detail("restore_target"), "the database has no backup yet");
        let running = shop.wait_for(&orders, |it| it["state"] == "running" && it["latest_restore_time"].as_str() > it["earliest_restore_time"].as_str()).await;
        let page = reader.get(&backups).await.ok();
        assert_eq!((&page["count"], &page["items"][0]["last_modified"]), (&json!(1), &running["earliest_restore_time"]));
        let key = page["items"][0]["key"].as_str().expect("it is a text").to_owned();
        let rest = reader.get(&format!("{backups}?start_after={key}&order_column=key")).await.ok();
        assert_eq!(rest, json!({ "count": 1, "items": [] }));
        assert_eq!(reader.get(&format!("{backups}?order_column=id")).await.detail("order_column"), "must be `key`");
        assert_eq!(reader.get(&database("none/backup")).await.error(), (404, "ResourceNotFound"));

        // Only to a time in between, and only by who may create.
        let (first, last) = (&running["earliest_restore_time"], &running["latest_restore_time"]);
        let first_text = first.as_str().expect("there is a backup");
        assert_eq!(reader.post(&restore, again("early", first_text)).await.error(), (403, "Forbidden"));
        for at in [later(first, -1), later(last, 3600)] {
            let refused = shop.post(&restore, again("early", &at)).await;
            let wrong = refused.detail("restore_target").as_str().expect("it is a text").to_owned();
            assert!(wrong.starts_with(&format!("must be from {first_text} to ")), "{wrong}");
        }
        let refused = shop.post(&restore, again(made["id"].as_str().expect("it has an id"), &later(first, -1))).await;
        assert_eq!((refused.detail("name").is_string(), refused.detail("restore_target").is_string()), (true, true));
        assert_eq!(shop.post(&restore, again("orders", first_text)).await.detail("name"), "is already the name of a database in this location");
        assert_eq!(shop.post(&database("none/restore"), again("early", first_text)).await.error(), (404, "ResourceNotFound"));

        let copy = shop.post(&restore, again("early", first_text)).await.ok();
        for same in ["flavor", "version", "target_version", "vm_size", "storage_size_gib", "ha_type", "location"] {
            assert_eq!(copy[same], running[same], "{same}");
        }
        assert_eq!(copy["parent"], format!("{PLACE}/postgres/orders"));
        assert_eq!((&copy["primary"], &copy["read_replica"], &copy["tags"]), (&json!(true), &json!(false), &json!([])));
        let rules = |of: &Value, property: &str| -> Vec<Value> {
            of["firewall_rules"].as_array().expect("it has rules").iter().map(|rule| rule[property].clone()).collect()
        };
        assert_eq!(rules(&copy, "cidr"), rules(&running, "cidr"));
        assert!(rules(&copy, "id").iter().all(|id| !rules(&running, "id").contains(id)));

        // What is restored from is not deleted meanwhile.
        let refused = delete(&shop, &orders, None).await;
        assert_eq!(refused.error(), (409, "DependencyError"));
        assert_eq!(refused.detail("postgres_database_reference"), "the database `early` is being restored from it");
        let early = shop.wait_for(&database("early"), |it| it["state"] == "running").await;
        assert_ne!(password(&early), password(&running));
        assert_eq!(delete(&shop, &orders, None).await.status, 204);
        assert_eq!(shop.get(&database("early")).await.ok()["parent"], copy["parent"]);
        assert_eq!(shop.post(&restore, again("late", first_text)).await.error(), (404, "ResourceNotFound"));
    }

    async fn a_standby_is_promoted_once_it_is_asked_for(home: Home) {
        home.apply(&two_projects());
        let settings = ["--simulate-delay", "3s", "--simulate-jitter", "0s", "--observe-every", "100ms"];
        let service = home.serve(&settings);
        let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let reader = Caller::new(&service.base, SHOP, &home.token("shop", &["--read-only"]));
        let (orders, promote) = (database("orders"), database("orders/promote"));
        shop.post(&database("alone"), json!({ "size": "standard-2", "storage_size": 64 })).await.ok();
        let refused = shop.post_nothing(&database("alone/promote")).await;
        assert_eq!(refused.error(), (400, "InvalidRequest"));
        assert!(refused.detail("postgres_database_reference").is_string());
        let made = shop.post(&orders, json!({ "size": "standard-2", "storage_size": 64, "ha_type": "sync" })).await.ok();
        // There is nothing to promote yet.
        assert_eq!(shop.post_nothing(&promote).await.ok(), made);
        shop.wait_for(&orders, |it| it["state"] == "running").await;
        assert_eq!(reader.post_nothing(&promote).await.error(), (403, "Forbidden"));
        assert_eq!(shop.post_nothing(&database("none/promote")).await.error(), (404, "ResourceNotFound"));
        let before = tag(&shop, &orders).await;
        assert_eq!(shop.post_nothing(&promote).await.ok()["id"], made["id"]);
        assert_ne!(tag(&shop, &orders).await, before);
        shop.wait_for(&orders, |it| it["state"] == "unavailable").await;
        // Another process completes the switch, and makes no second one.
        drop(service);
        let service = home.serve(&settings);
        let shop = shop.at(&service.base, SHOP);
        shop.wait_for(&orders, |it| it["state"] == "running").await;
        assert_eq!(trail(&home, &["--operation", "postgres_promote"]).len(), 1);
    }
}

/// Returns the password in the connection string of a database.
fn password(database: &Value) -> String {
    let text = database["connection_string"].as_str().expect("it has one");
    let (start, _) = text.split_once('@').expect("it has a host");
    start
        .rsplit(':')
        .next()
        .expect("it has a password")
        .to_owned()
}
