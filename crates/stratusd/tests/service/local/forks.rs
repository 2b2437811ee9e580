//! Backups of a primary that was killed before its standby had everything.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::replication::{received, streaming};
use super::{PLACE, ask, create, is_running, newest_copy, next_copy, restorable};
use crate::support::eventually;
use crate::support::servers::{Servers, connect};

/// Sends a signal to the processes of the standby of a database.
fn signal_standby(servers: &Servers, id: &str, signal: Signal) {
    let folder = servers.folder().join("databases").join(id).join("b/data");
    let folder = folder.canonicalize().expect("it is there");
    let processes = fs::read_dir("/proc").expect("it is there").flatten();
    let theirs = processes
        .filter(|process| fs::read_link(process.path().join("cwd")).is_ok_and(|of| of == folder));
    let numbers = theirs.filter_map(|process| process.file_name().to_str()?.parse().ok());
    let mut sent = 0;
    for process in numbers.filter_map(Pid::from_raw) {
        // One that has ended since needs none.
        sent += usize::from(kill_process(process, signal).is_ok());
    }
    assert!(sent > 0, "the standby runs");
}

/// Writes more than what a standby that is stopped has in the buffers of its socket.
async fn write(database: &Value, table: &str) {
    let client = connect(database).await.expect("the owner can connect");
    let fill = format!(
        "CREATE TABLE {table} AS SELECT repeat(md5(n::text), 30) FROM generate_series(1, 30000) AS n"
    );
    client.batch_execute(&fill).await.expect("it can write");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_what_was_lost_is_not_restored_from() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&["--local-backup-every", "1s"]);
    let caller = servers.caller(&service);
    let path = format!("{PLACE}/postgres/orders");
    let made = create(&caller, "orders", json!({ "ha_type": "async" })).await;
    let id = made["id"].as_str().expect("it has an id");
    streaming(&made, 1).await;
    write(&made, "kept").await;
    received(&made).await;
    let copied = eventually(async || newest_copy(&servers, &made)).await;
    copied.expect("it is copied");

    // The standby receives nothing, and the primary is copied with more than it has.
    signal_standby(&servers, id, Signal::STOP);
    write(&made, "lost").await;
    let copied = next_copy(&servers, &made).await;
    let primary = servers.pid(id).expect("it runs");
    kill_process(primary, Signal::KILL).expect("it runs");
    signal_standby(&servers, id, Signal::CONT);
    let is_lost = "SELECT (to_regclass('lost') IS NULL)::text";
    let lost = eventually(async || ask(&made, is_lost).await.ok().filter(|lost| lost == "true"));
    lost.await.expect("the standby takes over");
    write(&made, "later").await;
    // The times to restore to that the test names are whole seconds.
    tokio::time::sleep(Duration::from_secs(1)).await;

    let is_shown = |page: &Value| page["items"].to_string().contains(&copied[..16]);
    caller
        .wait_for(&format!("{path}/backup"), |page| !is_shown(page))
        .await;
    let now = restorable(&caller, &path).await;
    let body = json!({ "name": "again", "restore_target": now });
    caller.post(&format!("{path}/restore"), body).await.ok();
    let again = format!("{PLACE}/postgres/again");
    let again = caller.wait_for(&again, is_running).await;
    assert_eq!(ask(&again, is_lost).await.expect("it answers"), "true");
    let kept = "SELECT count(*)::text FROM later JOIN kept USING (repeat)";
    assert_eq!(ask(&again, kept).await.expect("it answers"), "30000");
}
