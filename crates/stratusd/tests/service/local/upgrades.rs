//! Databases that get a later version by `pg_upgrade`.

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use serde_json::{Value, json};

use super::{PLACE, ask, create, is_running};
use crate::support::servers::{Servers, connect};
use crate::support::{PATIENCE, eventually};

/// The path of the database.
const ORDERS: &str = "/location/eu-central-h1/postgres/orders";

fn is_upgraded(now: &Value) -> bool {
    is_running(now) && now["version"] == "18"
}

/// Returns the folder of a database.
fn folder(servers: &Servers, database: &Value) -> PathBuf {
    let id = database["id"].as_str().expect("it has an id");
    servers.folder().join("databases").join(id)
}

/// Returns what an upgrade has left in the folder of a database.
fn left(servers: &Servers, database: &Value) -> Vec<String> {
    let folder = folder(servers, database).join("a");
    let names = fs::read_dir(folder).expect("it is there").flatten();
    let names = names.filter_map(|entry| entry.file_name().into_string().ok());
    let mut names: Vec<String> = names.collect();
    names.sort_unstable();
    names.retain(|name| !["data", "log", "socket"].contains(&&**name));
    names
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_keeps_the_data_and_begins_the_backups_anew() {
    let Some(servers) = Servers::upgradable() else {
        return;
    };
    // Looked at every second for whether a copy is due, and not every 30 seconds.
    let service = servers.serve(&["--local-backup-every", "1s"]);
    let caller = servers.caller(&service);
    let more = json!({ "version": "16", "ha_type": "async" });
    let made = create(&caller, "orders", more).await;
    let client = connect(&made).await.expect("the owner can connect");
    let write = "CREATE TABLE note AS SELECT n, repeat('x', 100) AS text FROM generate_series(1, 5000) AS n; \
                 CREATE ROLE reader LOGIN PASSWORD 'Reader-Passw0rd'; \
                 GRANT SELECT ON note TO reader; CREATE EXTENSION hstore";
    client
        .batch_execute(write)
        .await
        .expect("the owner can write");
    // Both versions know these settings, so they are kept.
    for setting in ["work_mem = '7MB'", "statement_timeout = '59s'"] {
        let set = format!("ALTER SYSTEM SET {setting}");
        client.batch_execute(&set).await.expect("the owner may");
    }
    let has_standby = "SELECT count(*)::text FROM pg_stat_replication WHERE state = 'streaming'";
    let is_copied = async |now: &Value| ask(now, has_standby).await.ok().filter(|it| it == "1");
    let standby = eventually(async || is_copied(&made).await).await;
    standby.expect("it has a standby");
    let before = caller
        .wait_for(ORDERS, |now| now["earliest_restore_time"].is_string())
        .await;

    servers.upgrade(&made, "18");
    let asked_at = super::now().to_string();
    let now = caller.wait_for(ORDERS, is_upgraded).await;
    assert_eq!(now["connection_string"], made["connection_string"]);
    assert_eq!(now["target_version"], "18");
    let version = ask(&now, "SHOW server_version_num").await;
    assert!(version.expect("it answers").starts_with("18"));
    let rows = "SELECT count(*)::text || sum(n)::text || sum(length(text))::text FROM note";
    assert_eq!(
        ask(&now, rows).await.expect("it answers"),
        "500012502500500000"
    );
    assert_eq!(
        ask(&now, "SHOW data_checksums").await.expect("it answers"),
        "on"
    );
    assert_eq!(ask(&now, "SHOW work_mem").await.expect("it answers"), "7MB");
    // The stored passwords are the same, and so are the rules by which they are asked for.
    let text = now["connection_string"].as_str().expect("it is known");
    let (_, rest) = text.split_once('@').expect("it has a host");
    let mut reader = now.clone();
    reader["connection_string"] = format!("postgres://reader:Reader-Passw0rd@{rest}").into();
    assert_eq!(
        ask(&reader, rows).await.expect("it may read"),
        "500012502500500000"
    );
    reader["connection_string"] = format!("postgres://reader:Another-Passw0rd@{rest}").into();
    ask(&reader, rows).await.expect_err("another password");

    // The standby is made anew, and so are the backups: those of the old version lead to nothing.
    let standby = eventually(async || is_copied(&now).await).await;
    standby.expect("it has a standby again");
    let is_backed_up = |now: &Value| {
        let earliest = now["earliest_restore_time"].as_str();
        earliest.is_some_and(|earliest| earliest >= &*asked_at)
    };
    let later = caller.wait_for(ORDERS, is_backed_up).await;
    assert!(later["earliest_restore_time"].as_str() > before["earliest_restore_time"].as_str());
    let until = &later["earliest_restore_time"];
    let body = json!({ "name": "copy", "restore_target": until });
    caller.post(&format!("{ORDERS}/restore"), body).await.ok();
    let copy = caller
        .wait_for(&format!("{PLACE}/postgres/copy"), is_upgraded)
        .await;
    assert_eq!(
        ask(&copy, rows).await.expect("it answers"),
        "500012502500500000"
    );

    // Statistics are made in the background.
    let analyzed = "SELECT (reltuples = 5000)::text FROM pg_class WHERE relname = 'note'";
    let analyzed = eventually(async || ask(&now, analyzed).await.ok().filter(|it| it == "true"));
    analyzed
        .await
        .expect("the planner knows how many rows there are");
    let record = folder(&servers, &now).join("record.json");
    let is_done = eventually(async || {
        let text = fs::read_to_string(&record).expect("it is there");
        text.contains("\"is_unanalyzed\": false").then_some(())
    });
    is_done.await.expect("the statistics are made");
    assert_eq!(left(&servers, &now), [""; 0]);
    // A step that fails would be tried again after growing pauses, and be seen late.
    service.terminate();
    let (_, log) = service.wait();
    let failed = log.contains("a step failed: the database is being upgraded");
    assert!(!failed, "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_that_is_killed_at_each_stage_loses_nothing() {
    let Some(servers) = Servers::upgradable() else {
        return;
    };
    let mut service = servers.serve(&["--reconcile-lease", "2s"]);
    let made = create(
        &servers.caller(&service),
        "orders",
        json!({ "version": "16" }),
    )
    .await;
    let client = connect(&made).await.expect("the owner can connect");
    let write = "CREATE TABLE note (n integer)";
    client
        .batch_execute(write)
        .await
        .expect("the owner can write");
    // Rows are written all the time, and those that are acknowledged are counted.
    let (stop, stopped) = tokio::sync::oneshot::channel::<()>();
    let writer = tokio::spawn(write_until(made.clone(), stopped));
    servers.upgrade(&made, "18");
    let record = folder(&servers, &made).join("record.json");
    let new = folder(&servers, &made).join("a/upgraded/PG_VERSION");
    for stage in ["", "copying", "trying", "ending"] {
        let begun = std::time::Instant::now();
        loop {
            let text = fs::read_to_string(&record).expect("it is there");
            let is_reached = match stage {
                "" => new.exists(),
                stage => text.contains(&format!("\"stage\": \"{stage}\"")),
            };
            if is_reached {
                break;
            }
            assert!(
                begun.elapsed() < PATIENCE,
                "{stage:?} is not reached: {text}"
            );
            tokio::time::sleep(Duration::from_millis(1)).await;
        }
        service.kill();
        eprintln!("killed at {stage:?}");
        service = servers.serve(&["--reconcile-lease", "2s"]);
    }
    let caller = servers.caller(&service);
    let now = caller.wait_for(ORDERS, is_upgraded).await;
    let version = eventually(async || ask(&now, "SHOW server_version_num").await.ok()).await;
    assert!(version.expect("it answers").starts_with("18"));
    stop.send(()).expect("the writer runs");
    let acknowledged = writer.await.expect("it does not panic");
    let kept = ask(
        &now,
        "SELECT coalesce(string_agg(n::text, ',' ORDER BY n), '') FROM note",
    );
    let kept = kept.await.expect("it answers");
    let kept: Vec<u32> = kept
        .split(',')
        .map(|n| n.parse().expect("a number"))
        .collect();
    let lost = acknowledged.iter().filter(|n| !kept.contains(n));
    assert_eq!(
        lost.collect::<Vec<_>>(),
        [&0; 0],
        "of {}",
        acknowledged.len()
    );
    assert!(acknowledged.len() > 10, "{}", acknowledged.len());
    let is_clean = eventually(async || left(&servers, &now).is_empty().then_some(())).await;
    is_clean.unwrap_or_else(|| panic!("{:?} is left", left(&servers, &now)));
    assert_eq!(caller.delete(ORDERS).await.status, 204);
    let gone = eventually(async || servers.addresses().is_empty().then_some(())).await;
    gone.expect("it is deleted");
    super::kills::none_is_left(&servers).await;
}

/// Writes rows until it is stopped. Returns the numbers of those that were acknowledged.
async fn write_until(database: Value, mut stopped: tokio::sync::oneshot::Receiver<()>) -> Vec<u32> {
    let (mut acknowledged, mut number, mut client) = (Vec::new(), 0_u32, None);
    while stopped.try_recv() == Err(tokio::sync::oneshot::error::TryRecvError::Empty) {
        tokio::time::sleep(Duration::from_millis(20)).await;
        if client.is_none() {
            client = connect(&database).await.ok();
        }
        let Some(connected) = &client else { continue };
        number += 1;
        let insert = format!("INSERT INTO note VALUES ({number})");
        match connected.batch_execute(&insert).await {
            Ok(()) => acknowledged.push(number),
            Err(_) => client = None,
        }
    }
    acknowledged
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_that_cannot_be_made_leaves_the_database_as_it_is() {
    let Some(servers) = Servers::upgradable() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({ "version": "16" })).await;
    let id = made["id"].as_str().expect("it has an id");
    let client = connect(&made).await.expect("the owner can connect");
    // Version 18 refuses a child whose column may be null where that of its parent may not.
    let write = "CREATE TABLE parent (n integer); CREATE TABLE child () INHERITS (parent); \
                 ALTER TABLE ONLY parent ALTER COLUMN n SET NOT NULL; \
                 INSERT INTO child VALUES (7)";
    client
        .batch_execute(write)
        .await
        .expect("the owner can write");
    let says = async |wrong: &str| {
        let said = eventually(async || {
            let said = servers.home.succeed(&["databases", "--format", "json"]);
            said.contains(wrong).then_some(())
        });
        said.await.unwrap_or_else(|| {
            panic!(
                "{wrong:?}: {}",
                servers.home.succeed(&["databases", "--format", "json"])
            )
        });
    };
    let pid = servers.pid(id);
    servers.upgrade(&made, "18");
    says("pg_upgrade cannot upgrade it: ").await;
    says("child.n").await;
    // Its sessions go on, and so do its other changes.
    let rows = client
        .query_one("SELECT sum(n)::text FROM parent", &[])
        .await;
    assert_eq!(rows.expect("the session goes on").get::<_, &str>(0), "7");
    assert_eq!(servers.pid(id), pid);
    caller
        .patch(ORDERS, json!({ "storage_size": 32 }))
        .await
        .ok();
    let is_larger = |now: &Value| now["storage_size_gib"] == 32 && now["version"] == "16";
    caller.wait_for(ORDERS, is_larger).await;
    servers.upgrade(&made, "16");
    let is_clean = eventually(async || left(&servers, &made).is_empty().then_some(())).await;
    is_clean.unwrap_or_else(|| panic!("{:?} is left", left(&servers, &made)));

    // Without it, everything is checked, but the new server does not start: version 18 lacks this library.
    let write = "ALTER TABLE child ALTER COLUMN n SET NOT NULL";
    client
        .batch_execute(write)
        .await
        .expect("the owner can write");
    let library = "ALTER SYSTEM SET shared_preload_libraries = 'adminpack'";
    client.batch_execute(library).await.expect("the owner may");
    servers.upgrade(&made, "18");
    says("the upgraded database does not start, so it has its version before again").await;
    says("tried again after an hour").await;
    servers.upgrade(&made, "16");
    let is_back = |now: &Value| is_running(now) && now["version"] == "16";
    let now = caller.wait_for(ORDERS, is_back).await;
    let rows = eventually(async || ask(&now, "SELECT sum(n)::text FROM parent").await.ok()).await;
    assert_eq!(rows.expect("it answers"), "7");

    // A setting that version 18 does not know is left out, with all others.
    let client = connect(&now).await.expect("the owner can connect");
    for set in [
        "ALTER SYSTEM RESET shared_preload_libraries",
        "ALTER SYSTEM SET old_snapshot_threshold = '1h'",
    ] {
        client.batch_execute(set).await.expect("the owner may");
    }
    let restart = format!("{ORDERS}/restart");
    caller.post_nothing(&restart).await.ok();
    servers.upgrade(&made, "18");
    let now = caller.wait_for(ORDERS, is_upgraded).await;
    let rows = eventually(async || ask(&now, "SELECT sum(n)::text FROM parent").await.ok()).await;
    assert_eq!(rows.expect("it answers"), "7");
    service.terminate();
    let (_, log) = service.wait();
    assert!(
        log.contains("is not kept, since version 18 refuses it"),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_can_get_each_version_after_the_other() {
    let Some(servers) = Servers::upgradable() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({ "version": "16" })).await;
    let client = connect(&made).await.expect("the owner can connect");
    client
        .batch_execute("CREATE TABLE note AS SELECT '16' AS text")
        .await
        .expect("the owner can write");
    drop(client);
    for (version, kept) in [("17", "16"), ("18", "16 17")] {
        servers.upgrade(&made, version);
        let is_there = |now: &Value| is_running(now) && now["version"] == version;
        let now = caller.wait_for(ORDERS, is_there).await;
        let server = eventually(async || ask(&now, "SHOW server_version_num").await.ok()).await;
        assert!(server.expect("it answers").starts_with(version));
        let rows = "SELECT string_agg(text, ' ' ORDER BY text) FROM note";
        assert_eq!(ask(&now, rows).await.expect("it answers"), kept);
        let client = connect(&now).await.expect("the owner can connect");
        let write = format!("INSERT INTO note VALUES ('{version}')");
        client
            .batch_execute(&write)
            .await
            .expect("the owner can write");
    }
}
