//! Databases that are PostgreSQL servers on this machine: an owner uses them over TCP, while they
//! are changed, and while the service and the servers are killed.

mod backups;
mod changes;
mod choice;
mod copies;
mod crashes;
mod forks;
mod hostile;
mod kills;
mod places;
mod psql;
mod replication;
mod restorations;
mod storage;
mod upgrades;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use stratusd::world::World;

use crate::support::caller::Caller;
use crate::support::servers::{Servers, address, connect};
use crate::support::{eventually, leave_out};

/// The path of the location in which databases are created.
const PLACE: &str = "/location/eu-central-h1";

/// Creates a database and waits until it runs.
async fn create(caller: &Caller, name: &str, more: Value) -> Value {
    let mut body = json!({ "size": "hobby-1", "storage_size": 16 });
    if let (Some(body), Value::Object(more)) = (body.as_object_mut(), more) {
        body.extend(more);
    }
    let path = format!("{PLACE}/postgres/{name}");
    caller.post(&path, body).await.ok();
    caller.wait_for(&path, is_running).await
}

/// Returns the time, in whole seconds.
fn now() -> jiff::Timestamp {
    let seconds = World::real().now() / 1000;
    jiff::Timestamp::from_second(seconds).expect("it is a time")
}

/// Executes statements as the owner of a database.
async fn execute(database: &Value, statements: &str) {
    let client = connect(database).await.expect("the owner can connect");
    client
        .batch_execute(statements)
        .await
        .expect("the statements can be executed");
}

/// Waits until a database can be restored to now, in whole seconds. Returns that time.
async fn restorable(caller: &Caller, path: &str) -> String {
    let now = now().to_string();
    let is_possible = |database: &Value| {
        let latest = database["latest_restore_time"].as_str();
        latest.is_some_and(|latest| latest > &*now)
    };
    caller.wait_for(path, is_possible).await;
    now
}

/// Returns the name of the newest copy in the folder of a database's backups.
fn newest_copy(servers: &Servers, database: &Value) -> Option<String> {
    let folder = servers.folder().join("backups");
    let folder = folder.join(database["id"].as_str().expect("it has an id"));
    let files = fs::read_dir(folder.join("base")).expect("it is there");
    let names = files
        .flatten()
        .filter_map(|file| file.file_name().into_string().ok());
    names.filter(|name| name.ends_with(".json")).max()
}

/// Has a database begin another part of its log, and waits for a time.
async fn switch_log(database: &Value, time: Duration) {
    execute(database, "SELECT pg_logical_emit_message(false, '', '')").await;
    execute(database, "SELECT pg_switch_wal()").await;
    tokio::time::sleep(time).await;
}

/// Waits for a copy of a database that begins in a later second than this one. Returns its name.
async fn next_copy(servers: &Servers, database: &Value) -> String {
    let before = now().strftime("%Y%m%dT%H%M%SZ.json").to_string();
    let copied = eventually(async || {
        // More than once: a copy that is being made may have it.
        switch_log(database, Duration::from_secs(3)).await;
        newest_copy(servers, database).filter(|name| *name > before)
    });
    copied.await.expect("it is copied")
}

/// Returns the processes of a program that work below the folders of databases, in folders whose names begin
/// in a way. Each has its folder.
fn working(servers: &Servers, program: &str, name: &str) -> Vec<(Pid, PathBuf)> {
    let databases = servers.folder().join("databases");
    let databases = databases.canonicalize().expect("it is there");
    let processes = fs::read_dir("/proc").expect("it is there").flatten();
    let theirs = processes.filter_map(|process| {
        let folder = fs::read_link(process.path().join("cwd")).ok()?;
        let its = fs::read_to_string(process.path().join("comm")).ok()?;
        let begins = folder
            .file_name()?
            .as_encoded_bytes()
            .starts_with(name.as_bytes());
        let is_its = its.trim_end() == program && begins && folder.starts_with(&databases);
        let pid = is_its.then(|| process.file_name().to_str()?.parse().ok());
        Some((Pid::from_raw(pid??)?, folder))
    });
    theirs.collect()
}

/// Waits until a program unpacks a cluster in a folder whose name begins in a way, and stops it.
async fn stop_unpacking(servers: &Servers, name: &str) -> Pid {
    let tar = eventually(async || {
        let (tar, _) = working(servers, "tar", name).pop()?;
        kill_process(tar, Signal::STOP).ok().map(|()| tar)
    });
    tar.await.expect("a program unpacks a cluster")
}

fn is_running(database: &Value) -> bool {
    database["state"] == "running" && database["connection_string"].is_string()
}

/// Returns the first column of the first row of a query.
async fn ask(database: &Value, query: &str) -> Result<String, tokio_postgres::Error> {
    let client = connect(database).await?;
    Ok(client.query_one(query, &[]).await?.get(0))
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_is_used_changed_and_deleted() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let path = format!("{PLACE}/postgres/orders");
    let made = create(&caller, "orders", json!({})).await;
    let id = made["id"].as_str().expect("it has an id").to_owned();

    let client = connect(&made).await.expect("the owner can connect");
    let write = "CREATE TABLE note (text text); INSERT INTO note VALUES ('kept')";
    client
        .batch_execute(write)
        .await
        .expect("the owner can write");
    let checksums = ask(&made, "SHOW data_checksums").await.expect("it answers");
    assert_eq!(checksums, "on");
    let version = ask(&made, "SHOW server_version_num")
        .await
        .expect("it answers");
    assert!(version.starts_with("17"), "{version}");

    // A larger size restarts the server with more memory.
    let buffers = ask(&made, "SHOW shared_buffers").await.expect("it answers");
    let body = json!({ "size": "standard-4", "storage_size": 128 });
    caller.patch(&path, body).await.ok();
    let resized = caller
        .wait_for(&path, |now| {
            is_running(now) && now["vm_size"] == "standard-4"
        })
        .await;
    assert_eq!(resized["connection_string"], made["connection_string"]);
    let larger = ask(&resized, "SHOW shared_buffers")
        .await
        .expect("it answers");
    assert_eq!((&*buffers, &*larger), ("32MB", "128MB"));
    let kept = ask(&resized, "SELECT text FROM note").await;
    assert_eq!(kept.expect("it answers"), "kept");

    // The reset sets another password.
    let reset = format!("{path}/reset-superuser-password");
    let body = json!({ "password": "Another-Passw0rd'\"\\" });
    let reset = caller.post(&reset, body).await.ok();
    assert_ne!(reset["connection_string"], made["connection_string"]);
    let works = eventually(async || ask(&reset, "SELECT text FROM note").await.ok()).await;
    assert_eq!(works.expect("the new password works"), "kept");
    let refused = connect(&made)
        .await
        .expect_err("the old password does not work");
    let code = refused.code().map(tokio_postgres::error::SqlState::code);
    assert_eq!(code, Some("28P01"), "{refused}");

    // A restart ends the sessions.
    let session = connect(&reset).await.expect("the owner can connect");
    caller.post_nothing(&format!("{path}/restart")).await.ok();
    let ended = eventually(async || session.simple_query("SELECT 1").await.err());
    assert!(ended.await.is_some(), "the session ends");
    let works = eventually(async || ask(&reset, "SELECT text FROM note").await.ok()).await;
    assert_eq!(works.expect("it is up again"), "kept");

    // A deleted database leaves nothing.
    let (pid, address) = (servers.pid(&id).expect("it runs"), address(&reset));
    let deleted = caller.delete(&path).await;
    assert_eq!(deleted.status, 204, "{}", deleted.body);
    let gone = eventually(async || servers.ids().is_empty().then_some(())).await;
    gone.expect("its folder is removed");
    assert!(
        rustix::process::test_kill_process(pid).is_err(),
        "its process ends"
    );
    assert!(std::net::TcpStream::connect((address, 5432)).is_err());
    // Its address is freed last.
    let free = eventually(async || servers.addresses().is_empty().then_some(())).await;
    free.expect("no address is taken");
}

#[tokio::test(flavor = "multi_thread")]
async fn rules_say_who_may_connect() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({ "restrict_by_default": true })).await;
    assert_eq!(made["firewall_rules"], json!([]));
    let refused = connect(&made).await.expect_err("nobody may connect");
    let code = refused.code().map(tokio_postgres::error::SqlState::code);
    assert_eq!(code, Some("28000"), "{refused}");

    let rules = format!("{PLACE}/postgres/orders/firewall-rule");
    let rule = caller
        .post(&rules, json!({ "cidr": "127.0.0.0/8" }))
        .await
        .ok();
    let session = eventually(async || connect(&made).await.ok()).await;
    let session = session.expect("the rule lets it in");
    let id = rule["id"].as_str().expect("a rule has an id");
    assert_eq!(caller.delete(&format!("{rules}/{id}")).await.status, 204);
    let ended = eventually(async || session.simple_query("SELECT 1").await.err()).await;
    ended.expect("a session that is not allowed any more ends");
    connect(&made).await.expect_err("nobody may connect");
    // Without TLS, no rule lets anybody in.
    caller
        .post(&rules, json!({ "cidr": "0.0.0.0/0" }))
        .await
        .ok();
    eventually(async || connect(&made).await.ok())
        .await
        .expect("the rule lets it in");
    let plain = made["connection_string"].as_str().expect("it is known");
    let plain = plain.replace("sslmode=require", "sslmode=disable");
    let refused = tokio_postgres::connect(&plain, tokio_postgres::NoTls)
        .await
        .err();
    let refused = refused.expect("without TLS nobody may connect");
    let code = refused.code().map(tokio_postgres::error::SqlState::code);
    assert_eq!(code, Some("28000"), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_outlive_the_service_and_are_started_again() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let mut service = servers.serve(&[]);
    let made = create(&servers.caller(&service), "orders", json!({})).await;
    let id = made["id"].as_str().expect("it has an id").to_owned();
    let client = connect(&made).await.expect("the owner can connect");
    client
        .batch_execute("CREATE TABLE note (text text)")
        .await
        .expect("it can write");

    // The service is killed, and another one takes the server over: sessions go on.
    let pid = servers.pid(&id).expect("it runs");
    service.kill();
    let insert = "INSERT INTO note VALUES ('kept')";
    client
        .batch_execute(insert)
        .await
        .expect("the server goes on");
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let path = format!("{PLACE}/postgres/orders");
    caller
        .patch(&path, json!({ "storage_size": 32 }))
        .await
        .ok();
    caller
        .wait_for(&path, |now| {
            is_running(now) && now["storage_size_gib"] == 32
        })
        .await;
    client
        .batch_execute(insert)
        .await
        .expect("the server goes on");
    assert_eq!(servers.pid(&id), Some(pid));

    // The server is killed, and started again.
    kill_process(pid, Signal::KILL).expect("it runs");
    let count = "SELECT count(*)::text FROM note";
    let works = eventually(async || ask(&made, count).await.ok()).await;
    assert_eq!(works.expect("it is up again"), "2");
    assert_ne!(servers.pid(&id), Some(pid));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_cannot_read_what_belongs_to_another() {
    let Some(servers) = Servers::new() else {
        return;
    };
    if !rustix::process::geteuid().is_root() {
        leave_out("only a service that runs as root has a user for each database");
        return;
    }
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let one = create(&caller, "one", json!({})).await;
    let other = create(&caller, "other", json!({})).await;
    let client = connect(&one).await.expect("the owner can connect");
    let folder = servers.folder().join("databases");
    let own = folder.join(one["id"].as_str().expect("it has an id"));
    let others = folder.join(other["id"].as_str().expect("it has an id"));
    // The superuser of a database runs programs as the user of its server.
    let run = async |program: String| {
        let table = "CREATE TEMPORARY TABLE IF NOT EXISTS said (line text)";
        client.batch_execute(table).await?;
        let copy = format!("COPY said FROM PROGRAM '{program}'");
        client.batch_execute(&copy).await
    };
    run(format!("cat {}/a/data/PG_VERSION", own.display()))
        .await
        .expect("its own files");
    for file in ["a/data/PG_VERSION", "a/log", "server.pem"] {
        let read = run(format!("cat {}/{file}", others.display())).await;
        assert!(read.is_err(), "{file}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_answers_once_it_runs() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({})).await;
    ask(&made, "SELECT 'here'").await.expect("it answers");
}
