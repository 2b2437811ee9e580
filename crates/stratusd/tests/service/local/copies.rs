//! Standbys whose copies take long, as those of large databases do.

use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process, test_kill_process};
use serde_json::{Value, json};

use super::kills::none_is_left;
use super::replication::streaming;
use super::{PLACE, ask, create, is_running, stop_unpacking};
use crate::support::caller::Caller;
use crate::support::eventually;
use crate::support::servers::{Servers, connect};

/// How soon something must happen beside a copy, which gives up by itself after two minutes.
const SOON: Duration = Duration::from_secs(40);

/// Waits for something, and fails if it does not happen soon.
async fn soon<T>(what: &str, happens: impl Future<Output = T>) -> T {
    let happens = tokio::time::timeout(SOON, happens).await;
    happens.unwrap_or_else(|_| panic!("{what} takes longer than {SOON:?}"))
}

/// Asks for a standby, and stops the program that unpacks its copy.
async fn begin(servers: &Servers, caller: &Caller, path: &str) -> Pid {
    caller.patch(path, json!({ "ha_type": "async" })).await.ok();
    stop_unpacking(servers, "new").await
}

/// Waits until a program has ended.
async fn ends(what: &str, program: Pid) {
    let ended = eventually(async || test_kill_process(program).is_err().then_some(()));
    soon(what, ended).await.expect("it ends");
}

/// Waits until a query returns a text.
async fn says(what: &str, database: &Value, query: &str, text: &str) {
    let said = eventually(async || ask(database, query).await.ok().filter(|said| said == text));
    soon(what, said).await.expect(what);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_of_a_standby_holds_up_nothing() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let path = format!("{PLACE}/postgres/orders");
    let made = create(&caller, "orders", json!({})).await;
    let fill = "CREATE TABLE filling AS SELECT md5(n::text) FROM generate_series(1, 500000) AS n";
    let client = connect(&made).await.expect("the owner can connect");
    client.batch_execute(fill).await.expect("it can write");
    drop(client);
    let count = "SELECT count(*)::text FROM filling";

    // The password, the rules and the storage change beside the copy, and a restart ends it.
    let tar = begin(&servers, &caller, &path).await;
    let reset = json!({ "password": "Another-Passw0rd-1" });
    let reset_path = format!("{path}/reset-superuser-password");
    let made = caller.post(&reset_path, reset).await.ok();
    says("a reset", &made, count, "500000").await;
    let rules = format!("{path}/firewall-rule");
    let open = caller.get(&rules).await.ok();
    for rule in open["items"].as_array().expect("a new database has rules") {
        let id = rule["id"].as_str().expect("it has an id");
        assert_eq!(caller.delete(&format!("{rules}/{id}")).await.status, 204);
    }
    let closed = eventually(async || connect(&made).await.err());
    soon("a rule", closed).await.expect("it is closed");
    caller
        .post(&rules, json!({ "cidr": "0.0.0.0/0" }))
        .await
        .ok();
    caller
        .patch(&path, json!({ "storage_size": 32 }))
        .await
        .ok();
    let grown = caller.wait_for(&path, |now| now["storage_size_gib"] == 32);
    soon("a change of the storage", grown).await;
    assert!(test_kill_process(tar).is_ok(), "the copy has ended");
    says("a rule", &made, count, "500000").await;
    let started = "SELECT pg_postmaster_start_time()::text";
    let before = ask(&made, started).await.expect("it answers");
    caller.post_nothing(&format!("{path}/restart")).await.ok();
    ends("a restart", tar).await;
    let tar = stop_unpacking(&servers, "new").await;
    assert_ne!(ask(&made, started).await.expect("it answers"), before);

    // A primary that is killed is started again, and the copy begins anew.
    let id = made["id"].as_str().expect("it has an id");
    let primary = servers.pid(id).expect("it runs");
    kill_process(primary, Signal::KILL).expect("it runs");
    says("a crash", &made, count, "500000").await;
    assert_ne!(servers.pid(id), Some(primary));
    ends("a crash", tar).await;
    streaming(&made, 1).await;

    // A standby that is not wanted any more leaves nothing.
    caller.patch(&path, json!({ "ha_type": "none" })).await.ok();
    let standby = servers.folder().join("databases").join(id).join("b");
    let gone = async || (!standby.exists()).then_some(());
    soon("its end", eventually(gone)).await.expect("it is gone");
    let tar = begin(&servers, &caller, &path).await;
    caller.patch(&path, json!({ "ha_type": "none" })).await.ok();
    ends("a change", tar).await;
    soon("its end", eventually(gone)).await.expect("it is gone");
    let slots = "SELECT count(*)::text FROM pg_replication_slots";
    assert_eq!(ask(&made, slots).await.expect("it answers"), "0");

    // So does a database that is deleted.
    caller.wait_for(&path, is_running).await;
    let tar = begin(&servers, &caller, &path).await;
    assert_eq!(caller.delete(&path).await.status, 204);
    let gone = eventually(async || servers.addresses().is_empty().then_some(()));
    soon("its deletion", gone).await.expect("it is deleted");
    ends("its deletion", tar).await;
    none_is_left(&servers).await;
    service.terminate();
    let (is_clean, said) = service.wait();
    assert!(is_clean, "{said}");
    // But for a step that was asking the primary in the moment of its kill.
    let failed = said.lines().filter(|line| line.contains("a step failed"));
    let mut failed = failed.filter(|line| !line.contains("no connection"));
    assert_eq!(failed.next(), None, "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_copy_that_a_killed_service_has_left_holds_up_nothing() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let mut service = servers.serve(&[]);
    let path = format!("{PLACE}/postgres/orders");
    create(&servers.caller(&service), "orders", json!({})).await;
    let tar = begin(&servers, &servers.caller(&service), &path).await;
    service.kill();
    let service = servers.serve(&["--reconcile-lease", "2s"]);
    let caller = servers.caller(&service);
    let reset = json!({ "password": "Another-Passw0rd-1" });
    let reset_path = format!("{path}/reset-superuser-password");
    let reset = caller.post(&reset_path, reset).await.ok();
    says("a reset", &reset, "SELECT 'here'", "here").await;
    assert!(test_kill_process(tar).is_ok(), "the copy has ended");
    // No other copy begins beside what is left of this one.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let slots = "SELECT count(*)::text FROM pg_replication_slots WHERE active";
    assert_eq!(ask(&reset, slots).await.expect("it answers"), "0");
    kill_process(tar, Signal::CONT).expect("it is still there");
    streaming(&reset, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_promotion_waits_for_the_copy_of_the_only_standby() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let path = format!("{PLACE}/postgres/orders");
    let made = create(&caller, "orders", json!({})).await;
    let client = connect(&made).await.expect("the owner can connect");
    client
        .batch_execute("CREATE TABLE note (text text)")
        .await
        .expect("it can write");
    let tar = begin(&servers, &caller, &path).await;
    let id = made["id"].as_str().expect("it has an id");
    let primary = servers.pid(id).expect("it runs");
    caller.post_nothing(&format!("{path}/promote")).await.ok();

    // Longer than the pause after which the promotion is tried again. The owner notices nothing of it.
    tokio::time::sleep(Duration::from_secs(3)).await;
    client
        .batch_execute("INSERT INTO note VALUES ('during the copy')")
        .await
        .expect("the session goes on");
    assert!(test_kill_process(tar).is_ok(), "the copy has ended");
    assert_eq!(servers.pid(id), Some(primary));

    // What was committed during the copy is there after the switch, and the primary before is the standby.
    kill_process(tar, Signal::CONT).expect("it is still there");
    let timeline = "SELECT timeline_id::text FROM pg_control_checkpoint()";
    says("the promotion", &made, timeline, "2").await;
    let kept = ask(&made, "SELECT text FROM note").await;
    assert_eq!(kept.expect("it answers"), "during the copy");
    streaming(&made, 1).await;
    let member = servers.folder().join("databases").join(id).join("a/data");
    assert!(member.join("standby.signal").exists(), "a is the primary");
    says("the promotion", &made, timeline, "2").await;
    service.terminate();
    let (is_clean, said) = service.wait();
    assert!(is_clean, "{said}");
    assert!(!said.contains("a step failed"), "{said}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_ends_the_copy_of_a_standby_which_then_begins_anew() {
    let Some(servers) = Servers::upgradable() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let path = format!("{PLACE}/postgres/orders");
    let made = create(&caller, "orders", json!({ "version": "16" })).await;
    let client = connect(&made).await.expect("the owner can connect");
    client
        .batch_execute("CREATE TABLE note AS SELECT 'kept' AS text")
        .await
        .expect("it can write");
    drop(client);
    let tar = begin(&servers, &caller, &path).await;
    servers.upgrade(&made, "18");
    ends("the upgrade", tar).await;
    let is_upgraded = |now: &Value| is_running(now) && now["version"] == "18";
    let upgraded = caller.wait_for(&path, is_upgraded);
    soon("the upgrade", upgraded).await;

    // The standby has the new version, or it could not read the log.
    streaming(&made, 1).await;
    says("the upgrade", &made, "SELECT text FROM note", "kept").await;
    let slots = "SELECT count(*)::text FROM pg_replication_slots";
    assert_eq!(ask(&made, slots).await.expect("it answers"), "1");
    service.terminate();
    let (is_clean, said) = service.wait();
    assert!(is_clean, "{said}");
    assert!(said.contains("the copy of a standby is given up"), "{said}");
    assert!(!said.contains("a step failed"), "{said}");
}
