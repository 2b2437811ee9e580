//! Work that keeps the disk busy for long has places: a project whose databases take all that it may have
//! leaves some to others.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::time::Duration;

use rustix::fs::{CWD, Mode, mkfifoat};
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use super::replication::streaming;
use super::{PLACE, create, execute, is_running, restorable, working};
use crate::support::caller::Caller;
use crate::support::eventually;
use crate::support::servers::Servers;

/// How soon the work of the other project must be done. The programs that are stopped are given up after more.
const SOON: Duration = Duration::from_mins(1);

/// Programs that work for databases, and are stopped.
struct Stopped<'a> {
    servers: &'a Servers,
    program: &'a str,
    /// How the name of the folder begins in which it works.
    folder: &'a str,
    /// Those that were found, by the ids of their databases.
    found: BTreeMap<String, Pid>,
}

impl<'a> Stopped<'a> {
    fn new(servers: &'a Servers, program: &'a str, folder: &'a str) -> Self {
        Self {
            servers,
            program,
            folder,
            found: BTreeMap::new(),
        }
    }

    /// Waits until the program has begun to work for so many of the databases, and stops it there.
    async fn until(&mut self, count: usize, databases: &[Value]) {
        let all = eventually(async || {
            for (pid, folder) in working(self.servers, self.program, self.folder) {
                let its = databases.iter().map(id);
                let mut its =
                    its.filter(|id| folder.components().any(|part| part.as_os_str() == *id));
                if let Some(id) = its.next()
                    && !self.found.contains_key(id)
                    && kill_process(pid, Signal::STOP).is_ok()
                {
                    self.found.insert(id.to_owned(), pid);
                }
            }
            (self.found.len() >= count).then_some(())
        });
        all.await.expect("the programs begin");
    }

    /// Lets all go on.
    fn end(self) {
        for pid in self.found.into_values() {
            kill_process(pid, Signal::CONT).expect("it is still there");
        }
    }
}

fn id(database: &Value) -> &str {
    database["id"].as_str().expect("it has an id")
}

fn path(name: &str) -> String {
    format!("{PLACE}/postgres/{name}")
}

/// Creates a database that takes a moment to copy.
async fn create_filled(caller: &Caller, name: &str, version: &str) -> Value {
    let made = create(caller, name, json!({ "version": version })).await;
    let fill = "CREATE TABLE filling AS SELECT md5(n::text) FROM generate_series(1, 500000) AS n";
    execute(&made, fill).await;
    made
}

/// Waits until the database `orders` is backed up, and returns a time that it can be restored to.
async fn backed_up(caller: &Caller) -> String {
    let backups = format!("{}/backup", path("orders"));
    caller
        .wait_for(&backups, |page| page["count"] != json!(0))
        .await;
    // The time of a backup is rounded up to seconds.
    tokio::time::sleep(Duration::from_millis(1100)).await;
    restorable(caller, &path("orders")).await
}

/// Waits until a database is right, and fails if that takes long.
async fn soon(caller: &Caller, name: &str, is_right: impl Fn(&Value) -> bool) -> Value {
    let path = path(name);
    let right = tokio::time::timeout(SOON, caller.wait_for(&path, is_right)).await;
    right.unwrap_or_else(|_| panic!("{name} of the other project takes longer than {SOON:?}"))
}

/// Begins to restore a database to now, and returns the new one.
async fn restore(caller: &Caller, now: &str, name: &str) -> Value {
    let body = json!({ "name": name, "restore_target": now });
    let restore = format!("{}/restore", path("orders"));
    caller.post(&restore, body).await.ok()
}

#[tokio::test(flavor = "multi_thread")]
async fn restorations_of_a_project_leave_places_to_others() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let (shop, rival) = (servers.caller(&service), servers.rival(&service));
    for caller in [&shop, &rival] {
        create_filled(caller, "orders", "17").await;
    }
    let ours = backed_up(&shop).await;
    let theirs = backed_up(&rival).await;

    let names = ["one", "two", "three", "four", "five"];
    let mut restored = Vec::new();
    for name in names {
        restored.push(restore(&shop, &ours, name).await);
    }
    // Half of the eight places.
    let mut stopped = Stopped::new(&servers, "tar", "new");
    stopped.until(4, &restored).await;
    restore(&rival, &theirs, "theirs").await;
    soon(&rival, "theirs", is_running).await;
    stopped.until(0, &restored).await;
    assert_eq!(stopped.found.len(), 4);
    for name in names {
        assert_eq!(shop.get(&path(name)).await.ok()["state"], "creating");
    }
    stopped.end();
    for name in names {
        shop.wait_for(&path(name), is_running).await;
    }
}

/// What copies the log goes on for as long as a file takes.
#[tokio::test(flavor = "multi_thread")]
async fn a_restoration_that_is_deleted_keeps_its_place_until_it_ends() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let shop = servers.caller(&service);
    let made = create(&shop, "orders", json!({})).await;
    let now = backed_up(&shop).await;
    // A file of the log that cannot be read until somebody writes it.
    let slow = servers
        .folder()
        .join("backups")
        .join(id(&made))
        .join("log/slow.gz");
    mkfifoat(CWD, &slow, Mode::RUSR | Mode::WUSR).expect("the folder is there");
    let copying = async |count: usize, time: Duration| {
        let all = eventually(async || {
            let copies = servers.ids().into_iter().filter(|id| {
                servers
                    .folder()
                    .join("databases")
                    .join(id)
                    .join("restore")
                    .exists()
            });
            (copies.count() >= count).then_some(())
        });
        tokio::time::timeout(time, all).await.is_ok()
    };

    let names = ["one", "two", "three", "four"];
    for name in names {
        restore(&shop, &now, name).await;
    }
    assert!(copying(4, SOON).await, "they are not restored");
    for name in names {
        assert_eq!(shop.delete(&path(name)).await.status, 204);
    }
    // Until the steps that delete them wait for what is copied.
    tokio::time::sleep(Duration::from_secs(3)).await;
    restore(&shop, &now, "five").await;
    assert!(
        !copying(5, SOON / 4).await,
        "another one is copied beside them"
    );
    assert!(copying(4, SOON / 4).await, "they have ended");
    // Both, so that it opens at once.
    let writer = File::options()
        .read(true)
        .write(true)
        .open(&slow)
        .expect("it is there");
    fs::remove_file(&slow).expect("it is there");
    drop(writer);
    shop.wait_for(&path("five"), is_running).await;
    let gone = eventually(async || (servers.ids().len() == 2).then_some(()));
    gone.await.expect("the others are deleted");
}

#[tokio::test(flavor = "multi_thread")]
async fn copies_for_standbys_of_a_project_leave_places_to_others() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let (shop, rival) = (servers.caller(&service), servers.rival(&service));
    let ours = [
        create_filled(&shop, "one", "17").await,
        create_filled(&shop, "two", "17").await,
    ];
    let theirs = create_filled(&rival, "theirs", "17").await;

    let standby = json!({ "ha_type": "async" });
    for name in ["one", "two"] {
        shop.patch(&path(name), standby.clone()).await.ok();
    }
    // Half of the two places.
    let mut stopped = Stopped::new(&servers, "tar", "new");
    stopped.until(1, &ours).await;
    rival.patch(&path("theirs"), standby).await.ok();
    let copied = tokio::time::timeout(SOON, streaming(&theirs, 1)).await;
    copied.expect("the other project has its standby soon");
    stopped.until(0, &ours).await;
    assert_eq!(stopped.found.len(), 1);
    stopped.end();
    for database in &ours {
        streaming(database, 1).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn upgrades_of_a_project_leave_places_to_others() {
    let Some(servers) = Servers::upgradable() else {
        return;
    };
    let service = servers.serve(&[]);
    let (shop, rival) = (servers.caller(&service), servers.rival(&service));
    let names = ["one", "two", "three"];
    let mut ours = Vec::new();
    for name in names {
        ours.push(create_filled(&shop, name, "16").await);
    }
    let theirs = create_filled(&rival, "theirs", "16").await;

    for database in &ours {
        servers.upgrade(database, "18");
    }
    // Half of the four places.
    let mut stopped = Stopped::new(&servers, "pg_upgrade", "");
    stopped.until(2, &ours).await;
    servers.upgrade_of("rival", &theirs, "18");
    let is_upgraded = |now: &Value| is_running(now) && now["version"] == "18";
    soon(&rival, "theirs", is_upgraded).await;
    stopped.until(0, &ours).await;
    assert_eq!(stopped.found.len(), 2);
    for name in names {
        assert_eq!(shop.get(&path(name)).await.ok()["version"], "16");
    }
    stopped.end();
    for name in names {
        shop.wait_for(&path(name), is_upgraded).await;
    }
}
