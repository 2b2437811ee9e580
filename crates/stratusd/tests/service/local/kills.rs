//! A service that is killed at any moment leaves no process, address or folder of a database that does
//! not exist.

use std::collections::BTreeSet;
use std::fs;
use std::path::Path;
use std::time::Duration;

use rand::rngs::SmallRng;
use rand::{RngExt as _, SeedableRng as _};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::json;

use super::{PLACE, ask, is_running};
use crate::support::servers::Servers;
use crate::support::{eventually, variable};

#[tokio::test(flavor = "multi_thread")]
async fn kills_leave_nothing_half() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let seed = variable("STRATUS_SEED").unwrap_or(7);
    let mut random = SmallRng::seed_from_u64(seed);
    eprintln!("STRATUS_SEED={seed}");
    let mut kept = BTreeSet::new();
    for round in 0..variable("STRATUS_CASES").unwrap_or(8) {
        let mut service = servers.serve(&["--reconcile-lease", "2s"]);
        let caller = servers.caller(&service);
        let path = |name: &str| format!("{PLACE}/postgres/{name}");
        let name = format!("db-{round}");
        let ha_type = if round % 3 == 0 { "async" } else { "none" };
        let body = json!({ "size": "hobby-1", "storage_size": 16, "ha_type": ha_type });
        caller.post(&path(&name), body).await.ok();
        kept.insert(name);
        // Of the older ones, one is resized and another one deleted.
        let older: Vec<String> = kept.iter().take(kept.len() - 1).cloned().collect();
        if let Some(name) = older.first().filter(|_| kept.len() > 2) {
            match caller.delete(&path(name)).await.status {
                204 => drop(kept.remove(name)),
                // Another one is being restored from it.
                status => assert_eq!(status, 409),
            }
        }
        if let Some(name) = older.last().filter(|name| kept.contains(*name)) {
            let size = if round % 2 == 0 {
                "hobby-2"
            } else {
                "burstable-2"
            };
            let body = json!({ "size": size, "storage_size": 32 });
            caller.patch(&path(name), body).await.ok();
            // If it has a standby, it is promoted.
            let promoted = caller
                .post_nothing(&format!("{}/promote", path(name)))
                .await;
            assert!([200, 400].contains(&promoted.status), "{}", promoted.status);
            // If it has a backup, another one is restored from it.
            let latest = caller.get(&path(name)).await.ok()["latest_restore_time"].clone();
            let copy = format!("copy-{round}");
            let body = json!({ "name": copy, "restore_target": latest });
            let restored = caller.post(&format!("{}/restore", path(name)), body).await;
            match restored.status {
                200 => drop(kept.insert(copy)),
                status => assert_eq!(status, 400),
            }
        }
        // A primary is killed too, so that the service is killed while a standby takes over.
        let half = random.random_range(0..750);
        tokio::time::sleep(Duration::from_millis(half)).await;
        let running: Vec<Pid> = servers
            .ids()
            .iter()
            .filter_map(|id| servers.pid(id))
            .collect();
        if let Some(pid) = running.get(random.random_range(0..running.len().max(1))) {
            // It may have ended meanwhile.
            let _ = kill_process(*pid, Signal::KILL);
        }
        tokio::time::sleep(Duration::from_millis(half)).await;
        service.kill();
    }
    let service = servers.serve(&["--reconcile-lease", "2s"]);
    let caller = servers.caller(&service);
    let mut ids = BTreeSet::new();
    for name in &kept {
        let path = format!("{PLACE}/postgres/{name}");
        let now = caller
            .wait_for(&path, |now| {
                is_running(now) && now["vm_size"] == now["target_vm_size"]
            })
            .await;
        let works = eventually(async || ask(&now, "SELECT 'here'").await.ok()).await;
        works.unwrap_or_else(|| panic!("{name} does not answer"));
        ids.insert(now["id"].as_str().expect("it has an id").to_owned());
    }
    let settled = eventually(async || {
        let there: BTreeSet<String> = servers.ids().into_iter().collect();
        (there == ids && servers.addresses().len() == ids.len()).then_some(())
    });
    settled.await.unwrap_or_else(|| {
        panic!(
            "{ids:?}, but {:?} and {:?} are there",
            servers.ids(),
            servers.addresses()
        )
    });
    for name in &kept {
        let path = format!("{PLACE}/postgres/{name}");
        assert_eq!(caller.delete(&path).await.status, 204);
    }
    let gone = eventually(async || servers.ids().is_empty().then_some(())).await;
    gone.expect("all are deleted");
    let gone = eventually(async || servers.backups().is_empty().then_some(())).await;
    gone.expect("their backups are deleted");
    // Addresses are freed last.
    let free = eventually(async || servers.addresses().is_empty().then_some(())).await;
    free.expect("no address is taken");
    none_is_left(&servers).await;
}

/// Checks that no process of a database is left once all databases are deleted. A program that copies a
/// database may take a moment to find that nothing is there any more.
pub(super) async fn none_is_left(servers: &Servers) {
    let folder = servers.folder();
    let ended = eventually(async || processes(&folder).is_empty().then_some(()));
    let ended = tokio::time::timeout(Duration::from_mins(1), ended).await;
    let left = processes(&folder);
    assert!(ended.is_ok(), "of databases that are deleted: {left:?}");
}

/// Returns the command lines of the processes that work in a folder or name it. A server has its data
/// folder in its command line, and a process that a server has started has another title.
fn processes(folder: &Path) -> Vec<String> {
    let folder = folder.canonicalize().expect("it is there");
    let named = folder.display().to_string();
    let entries = fs::read_dir("/proc").expect("Linux has it");
    let lines = entries.flatten().filter_map(|entry| {
        let line = fs::read(entry.path().join("cmdline")).ok()?;
        let line = String::from_utf8_lossy(&line).replace('\0', " ");
        // The folder of one that works in a folder which is removed ends in words about that.
        let works_in = fs::read_link(entry.path().join("cwd"));
        let is_there = works_in.is_ok_and(|at| at.starts_with(&folder));
        let is_named = line.contains("postgres") && line.contains(&named);
        (is_there || is_named).then_some(line)
    });
    lines.collect()
}
