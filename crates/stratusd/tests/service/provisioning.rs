//! Provisioning: databases reach their wanted state in spite of failures, outages and crashes, and
//! with several workers.

mod clocks;
mod next_steps;
mod reconciler;
mod simulator;
mod watching;

use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use serde_json::{Value, json};
use stratusd::storage::{SILENCE, Store, StoreConfig};
use stratusd::world::World;

use crate::on_both;
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;

const PLACE: &str = "/location/eu-central-h1";

on_both! {
    async fn failures_and_outages_pass(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&[
            "--simulate-delay", "50ms", "--simulate-jitter", "50ms", "--simulate-failures", "30",
            "--simulate-outages", "40", "--observe-every", "100ms", "--simulate-seed", "7",
        ]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        for number in 0..6 {
            let path = format!("{PLACE}/postgres/flaky-{number}");
            caller.post(&path, json!({ "size": "standard-2", "storage_size": 64 })).await.ok();
        }
        for number in 0..6 {
            let path = format!("{PLACE}/postgres/flaky-{number}");
            caller.wait_for(&path, |database| database["state"] == "running").await;
        }
        let path = format!("{PLACE}/postgres/flaky-0");
        let down = caller.wait_for(&path, |database| database["state"] == "unavailable").await;
        assert!(down["connection_string"].is_string(), "an unavailable database keeps its connection string");
        caller.wait_for(&path, |database| database["state"] == "running").await;
        let seen = caller.get(&path).await.ok();
        assert!(seen["earliest_restore_time"].is_string(), "{seen}");
        assert!(failed_steps(&service).await > 0, "the metrics count no failed step");
    }

    async fn keys_are_rotated_without_losing_a_password(home: Home) {
        home.apply(&two_projects());
        let settings = ["--simulate-delay", "10ms", "--simulate-jitter", "0s"];
        let service = home.serve(&settings);
        let token = home.token("shop", &[]);
        let caller = Caller::new(&service.base, SHOP, &token);
        let path = format!("{PLACE}/postgres/orders");
        caller.post(&path, json!({ "size": "standard-2", "storage_size": 64 })).await.ok();
        let before = caller.wait_for(&path, |database| database["state"] == "running").await;
        drop(service);

        let old = std::fs::read_to_string(home.keys()).expect("the key file exists");
        let new = home.succeed(&["key", "generate"]);
        std::fs::write(home.keys(), format!("# the current one\n{new}\n# the one before\n{old}")).expect("the key file is writable");
        assert!(home.succeed(&["key", "rotate"]).contains("re-encrypted 2 secrets"));
        assert!(home.succeed(&["key", "rotate"]).contains("re-encrypted 0 secrets"));
        std::fs::write(home.keys(), &new).expect("the key file is writable");
        let service = home.serve(&settings);
        let caller = Caller::new(&service.base, SHOP, &token);
        assert_eq!(caller.get(&path).await.ok()["connection_string"], before["connection_string"]);
        drop(service);

        std::fs::write(home.keys(), &old).expect("the key file is writable");
        assert!(home.fail(&["serve"]).contains("failed to open the certificate authority"));
        assert!(home.fail(&["key", "rotate"]).contains("none of the keys opens"));
    }

    async fn storage_does_not_shrink_below_what_is_in_use(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&[
            "--simulate-delay", "1500ms", "--simulate-jitter", "0s", "--simulate-used", "90", "--observe-every", "100ms",
        ]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let sizes = |database: &Value| [database["storage_size_gib"].clone(), database["target_storage_size_gib"].clone()];
        let mut made = None;
        for number in 0..20 {
            let path = format!("{PLACE}/postgres/full-{number}");
            caller.post(&path, json!({ "size": "standard-2", "storage_size": 256 })).await.ok();
            tokio::time::sleep(Duration::from_millis(700)).await;
            // While a database is created, none of its storage is in use.
            caller.patch(&path, json!({ "storage_size": 64 })).await.ok();
            let running = caller.wait_for(&path, |database| database["state"] == "running").await;
            // If the creation had not started before the change, the database is created with the
            // new size.
            if sizes(&running) != [json!(64), json!(64)] {
                made = Some((path, running));
                break;
            }
        }
        let (path, running) = made.expect("one of the databases is changed while it is being created");
        assert_eq!(sizes(&running), [json!(256), json!(64)]);
        // Changes that do not affect the storage are not checked against its use.
        for body in [json!({}), json!({ "tags": [] }), json!({ "storage_size": 64 }), json!({ "ha_type": "sync" })] {
            caller.patch(&path, body).await.ok();
        }
        let seen = running["latest_restore_time"].clone();
        caller.wait_for(&path, |database| database["latest_restore_time"] != seen).await;
        assert_eq!(sizes(&caller.get(&path).await.ok()), [json!(256), json!(64)]);
        assert_eq!(caller.patch(&path, json!({ "storage_size": 128 })).await.error(), (400, "InvalidRequest"));
        caller.patch(&path, json!({ "storage_size": 256 })).await.ok();
        // Operators see that little is left.
        let name = path.rsplit('/').next().expect("the path ends in a name");
        let said = home.succeed(&["databases", "--limit", "100"]);
        let line = said.lines().find(|line| line.starts_with(&format!("{name} (")));
        let line = line.unwrap_or_else(|| panic!("{name} is not in {said}"));
        assert!(line.ends_with(": running, its storage is 90 % full"), "{line}");
        let json: Value = serde_json::from_str(&home.succeed(&["databases", "--limit", "1", "--format", "json"])).expect("it is a line");
        assert_eq!((&json["used_percent"], &json["failure"], &json["attempts"]), (&json!(90), &Value::Null, &json!(0)));
        assert!(steps(&service, "nearly_full").await > 0);
    }
}

/// Somebody who can write to the database, but has no key, cannot have a password shown as that of
/// another database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_sealed_password_opens_in_its_own_row_only() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let settings = ["--simulate-delay", "10ms", "--simulate-jitter", "0s"];
    let service = home.serve(&settings);
    let token = home.token("shop", &[]);
    let caller = Caller::new(&service.base, SHOP, &token);
    let paths = ["mine", "yours"].map(|name| format!("{PLACE}/postgres/{name}"));
    for path in &paths {
        caller
            .post(path, json!({ "size": "standard-2", "storage_size": 64 }))
            .await
            .ok();
        caller
            .wait_for(path, |database| database["state"] == "running")
            .await;
    }
    drop(service);
    let mut connection =
        SqliteConnection::establish(&home.path().join("stratus.db").display().to_string())
            .expect("it opens");
    connection
        .batch_execute(
            "CREATE TEMP TABLE other AS SELECT id, password FROM postgres_database; \
             UPDATE postgres_database SET password = \
             (SELECT password FROM other WHERE other.id <> postgres_database.id)",
        )
        .expect("the passwords are swapped");
    drop(connection);
    let service = home.serve(&settings);
    let caller = Caller::new(&service.base, SHOP, &token);
    for path in &paths {
        let shown = caller.get(path).await;
        assert_eq!(shown.error(), (500, "UnexpectedError"), "{}", shown.body);
    }
}

/// What is in use must stay under 80 % of the storage.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn storage_shrinks_to_what_is_in_use_and_a_quarter_more() {
    for (used, status) in [("19", 200), ("21", 400)] {
        let home = Home::sqlite();
        home.apply(&two_projects());
        let service = home.serve(&[
            "--simulate-delay",
            "10ms",
            "--simulate-jitter",
            "0s",
            "--simulate-used",
            used,
        ]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let path = format!("{PLACE}/postgres/orders");
        caller
            .post(&path, json!({ "size": "standard-2", "storage_size": 256 }))
            .await
            .ok();
        caller
            .wait_for(&path, |database| database["state"] == "running")
            .await;
        assert_eq!(home.succeed(&["databases"]), "");
        assert_eq!(steps(&service, "nearly_full").await, 0);
        // Of 256 GiB, 19 % are 76 % of 64 GiB, and 21 % are 84 %.
        let response = caller.patch(&path, json!({ "storage_size": 64 })).await;
        assert_eq!(response.status, status, "{}", response.body);
    }
}

/// Returns the number of failed steps from the metrics of the service.
pub async fn failed_steps(service: &Service) -> u64 {
    steps(service, "failed").await
}

/// Returns the number of steps of a kind from the metrics of a service.
pub async fn steps(service: &Service, kind: &str) -> u64 {
    let metrics = reqwest::get(format!("{}/metrics", service.management))
        .await
        .expect("the service responds");
    let metrics = metrics.text().await.expect("the metrics are text");
    let name = format!("stratus_reconcile_steps_{kind}_total ");
    let count = metrics.lines().find_map(|line| line.strip_prefix(&name));
    count
        .expect("the metrics count the steps")
        .parse()
        .expect("the count is a number")
}

async fn store(home: &Home) -> Store {
    let url: stratusd::settings::DatabaseUrl = home
        .database_url
        .parse()
        .expect("the test's database URL is valid");
    let database = url.database().expect("the URL names a database");
    let config = StoreConfig {
        database,
        connections: 4,
        patience: Duration::from_secs(10),
        silence: SILENCE,
        lock_wait: Duration::from_secs(10),
        world: World::real(),
    };
    Store::open(&config).await.expect("the database opens")
}
