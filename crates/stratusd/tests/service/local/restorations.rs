//! Restorations that take longer than a step.

use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::{PLACE, ask, create, execute, is_running, next_copy, restorable, stop_unpacking};
use crate::support::servers::{Servers, connect};

#[tokio::test(flavor = "multi_thread")]
async fn a_restoration_goes_on_between_steps() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({})).await;
    let path = format!("{PLACE}/postgres/orders");
    let backups = format!("{path}/backup");
    let fill = "CREATE TABLE filling AS SELECT md5(n::text) FROM generate_series(1, 500000) AS n";
    let client = connect(&made).await.expect("the owner can connect");
    client.batch_execute(fill).await.expect("it can write");
    caller
        .wait_for(&backups, |page| page["count"] != json!(0))
        .await;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let now = restorable(&caller, &path).await;
    let body = json!({ "name": "again", "restore_target": now });
    caller.post(&format!("{path}/restore"), body).await.ok();
    let tar = stop_unpacking(&servers, "new-").await;
    // Longer than a step waits for the lock, and for a restoration.
    tokio::time::sleep(Duration::from_secs(12)).await;
    let again = format!("{PLACE}/postgres/again");
    assert_eq!(caller.get(&again).await.ok()["state"], "creating");
    kill_process(tar, Signal::CONT).expect("it is still there");
    let again = caller.wait_for(&again, is_running).await;
    let count = ask(&again, "SELECT count(*)::text FROM filling").await;
    assert_eq!(count.expect("it answers"), "500000");
    service.terminate();
    let (is_clean, said) = service.wait();
    assert!(is_clean && !said.contains("a step failed"), "{said}");
}

/// The setting is for standbys, but also holds up a restoration, for as long as its owner likes.
#[tokio::test(flavor = "multi_thread")]
async fn a_restoration_does_not_wait_for_a_delay_that_the_owner_has_set() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&["--local-backup-every", "2s"]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({})).await;
    let path = format!("{PLACE}/postgres/orders");
    execute(&made, "ALTER SYSTEM SET recovery_min_apply_delay = '20d'").await;
    // A copy has the setting.
    next_copy(&servers, &made).await;
    execute(&made, "CREATE TABLE note AS SELECT 'kept' AS text").await;
    tokio::time::sleep(Duration::from_millis(1100)).await;
    let now = restorable(&caller, &path).await;
    let body = json!({ "name": "again", "restore_target": now });
    caller.post(&format!("{path}/restore"), body).await.ok();
    let again = format!("{PLACE}/postgres/again");
    let restored = caller.wait_for(&again, is_running);
    let restored = tokio::time::timeout(Duration::from_mins(1), restored).await;
    let again = restored.expect("it is restored soon");
    let kept = ask(&again, "SELECT text FROM note").await;
    assert_eq!(kept.expect("it answers"), "kept");
}
