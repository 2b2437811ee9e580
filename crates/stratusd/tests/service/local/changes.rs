//! Changes of databases that wait: for the maintenance window, or for a standby.

use std::time::Duration;

use serde_json::{Value, json};

use super::{PLACE, ask, create, is_running, now};
use crate::support::servers::{Servers, connect};

const CONNECTIONS: &str = "SHOW max_connections";

#[tokio::test(flavor = "multi_thread")]
async fn another_size_waits_for_the_maintenance_window() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let path = format!("{PLACE}/postgres/orders");
    let made = create(&caller, "orders", json!({})).await;
    let before = ask(&made, CONNECTIONS).await.expect("it answers");

    // An hour that does not begin during the test.
    let now = now().to_zoned(jiff::tz::TimeZone::UTC);
    let hour = (i32::from(now.hour()) + 1) % 22 + 2;
    let window = format!("{path}/set-maintenance-window");
    let set = json!({ "maintenance_window_start_at": hour });
    caller.post(&window, set).await.ok();
    let larger = json!({ "size": "standard-2", "storage_size": 64 });
    let asked = caller.patch(&path, larger).await.ok();
    assert_eq!(asked["target_vm_size"], "standard-2");
    // More storage interrupts nobody.
    let grown = |now: &Value| now["storage_size_gib"] == 64 && is_running(now);
    let now = caller.wait_for(&path, grown).await;
    assert_eq!(now["vm_size"], "hobby-1");
    assert_eq!(ask(&made, CONNECTIONS).await.expect("it answers"), before);

    let unset = json!({ "maintenance_window_start_at": null });
    caller.post(&window, unset).await.ok();
    let resized = |now: &Value| now["vm_size"] == "standard-2" && is_running(now);
    caller.wait_for(&path, resized).await;
    assert_ne!(ask(&made, CONNECTIONS).await.expect("it answers"), before);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_without_a_standby_does_not_hold_up_other_changes() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let path = format!("{PLACE}/postgres/orders");
    let made = create(&caller, "orders", json!({})).await;
    // With a tablespace, a database never has a standby.
    let client = connect(&made).await.expect("the owner can connect");
    let space = servers.folder().join("databases");
    let space = space.join(made["id"].as_str().expect("it has an id"));
    let space = space.join("a/socket/space").display().to_string();
    for statement in [
        format!("COPY (SELECT WHERE false) TO PROGRAM 'mkdir {space}'"),
        format!("CREATE TABLESPACE other LOCATION '{space}'"),
    ] {
        client.batch_execute(&statement).await.expect("it can");
    }
    caller
        .patch(&path, json!({ "ha_type": "async" }))
        .await
        .ok();
    // Until the reconciler has made the change, there is nothing to promote.
    tokio::time::sleep(Duration::from_secs(2)).await;
    caller.post_nothing(&format!("{path}/promote")).await.ok();
    caller
        .patch(&path, json!({ "size": "standard-2", "storage_size": 64 }))
        .await
        .ok();
    let resized = |now: &Value| now["vm_size"] == "standard-2" && is_running(now);
    caller.wait_for(&path, resized).await;
    caller.patch(&path, json!({ "ha_type": "none" })).await.ok();
    caller
        .wait_for(&path, |now| now["ha_type"] == "none" && is_running(now))
        .await;
}
