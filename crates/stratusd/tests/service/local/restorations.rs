//! Restorations that take longer than a step.

use std::fs;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{PLACE, ask, create, is_running, restorable};
use crate::support::eventually;
use crate::support::servers::{Servers, connect};

/// Returns the program that unpacks a backup, which works in a folder of its own.
fn unpacks(servers: &Servers) -> Option<Pid> {
    let databases = servers.folder().join("databases");
    let databases = databases.canonicalize().expect("it is there");
    let processes = fs::read_dir("/proc").expect("it is there").flatten();
    let mut theirs = processes.filter(|process| {
        let folder = fs::read_link(process.path().join("cwd")).unwrap_or_default();
        let name = fs::read_to_string(process.path().join("comm")).unwrap_or_default();
        let is_new = folder
            .file_name()
            .is_some_and(|name| name.as_encoded_bytes().starts_with(b"new-"));
        name == "tar\n" && is_new && folder.starts_with(&databases)
    });
    theirs.find_map(|process| Pid::from_raw(process.file_name().to_str()?.parse().ok()?))
}

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
    let tar = eventually(async || {
        let tar = unpacks(&servers)?;
        kill_process(tar, Signal::STOP).ok().map(|()| tar)
    });
    let tar = tar.await.expect("a program unpacks the backup");
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
