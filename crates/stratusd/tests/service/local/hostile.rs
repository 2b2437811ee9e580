//! Owners who run programs beside their servers, to hold up the service.

use std::fs;

use serde_json::{Value, json};
use tokio_postgres::SimpleQueryMessage;

use super::replication::streaming;
use super::{PLACE, create};
use crate::support::caller::Caller;
use crate::support::servers::{Servers, connect};
use crate::support::{eventually, leave_out};

/// Stops each program of its user that copies files, and keeps its output open.
const STOP_COPIES: &str = "while test -d $PWD; do for process in /proc/[0-9]*; do \
     read -r name 2>/dev/null < $process/comm; case $name in cat|tar) \
     if test -O $process && test ! -e held-${process#/proc/}; then \
     kill -STOP ${process#/proc/}; : > held-${process#/proc/}; \
     sleep 600 9> $process/fd/1 & fi;; esac; done; sleep 0.01; done";

/// Makes folders within folders, deeper than a program can descend with an open file for each.
const NEST: &str = "mkdir -p $(printf 'd/%.0s' $(seq 30000)) && : > nested";

/// Puts a pipe where the copy of the server gets a file.
const PIPE: &str = "cd ../..; until mkfifo b/new/backup_label; do test -d a || exit; sleep 0.01; done; : > a/socket/piped";

/// Makes many files about parts of the log that do not exist.
const MANY: &str = "cd ../data/pg_wal/archive_status && seq 20000 | while read -r number; do \
     : > $(printf '0000000000000000%08X.done' $number); done; : > ../../../socket/made";

/// Makes it uncertain whether the server runs, so that it cannot be stopped by its number.
const UNCERTAIN: &str = "cd ../data; rm postmaster.pid; mkdir postmaster.pid; \
     while test -d $PWD; do sleep 1; done";

/// Runs a program as the user of a server, which outlives the session.
async fn run(database: &Value, script: &str) {
    let client = connect(database).await.expect("the owner can connect");
    // Its input is closed with the session, and the folder of its server is not.
    let program = format!("cd ../socket && (trap \"\" HUP; {script}) </dev/null >/dev/null 2>&1 &");
    // No rows: the program reads nothing, and may end before it gets one.
    let copy = format!("COPY (SELECT WHERE false) TO PROGRAM $program${program}$program$");
    client.batch_execute(&copy).await.expect("it runs");
}

/// Returns how many files whose names begin in a way a program has made beside the socket of a server.
fn made_by_owner(servers: &Servers, id: &str, name: &str) -> usize {
    let socket = servers.folder().join("databases").join(id).join("a/socket");
    let files = fs::read_dir(socket).expect("it is there").flatten();
    let theirs = files.filter(|file| {
        let file = file.file_name();
        file.as_encoded_bytes().starts_with(name.as_bytes())
    });
    theirs.count()
}

/// Waits until a program has made such a file.
async fn await_owner(servers: &Servers, database: &Value, name: &str) {
    let id = database["id"].as_str().expect("it has an id");
    let made = eventually(async || (made_by_owner(servers, id, name) > 0).then_some(()));
    made.await.expect("the program of the owner is so far");
}

/// Deletes a database, and waits until nothing of it is left.
async fn delete(servers: &Servers, caller: &Caller, name: &str) {
    let deleted = caller.delete(&format!("{PLACE}/postgres/{name}")).await;
    assert_eq!(deleted.status, 204, "{}", deleted.body);
    let gone = eventually(async || servers.ids().is_empty().then_some(()));
    gone.await.expect("its folder is removed");
}

#[tokio::test(flavor = "multi_thread")]
async fn folders_within_folders_are_removed() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "nest", json!({})).await;
    run(&made, NEST).await;
    await_owner(&servers, &made, "nested").await;
    delete(&servers, &caller, "nest").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_pipe_does_not_hold_up_the_copy_of_a_standby() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "piped", json!({})).await;
    run(&made, PIPE).await;
    let path = format!("{PLACE}/postgres/piped");
    let standby = json!({ "ha_type": "async" });
    caller.patch(&path, standby).await.ok();
    await_owner(&servers, &made, "piped").await;
    streaming(&made, 1).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_log_of_an_owner_with_many_files_is_archived() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({})).await;
    run(&made, MANY).await;
    await_owner(&servers, &made, "made").await;
    let client = connect(&made).await.expect("the owner can connect");
    let switch =
        "SELECT pg_logical_emit_message(false, '', ''); SELECT pg_walfile_name(pg_switch_wal())";
    let said = client.simple_query(switch).await.expect("it answers");
    let part = said.iter().rev().find_map(|message| match message {
        SimpleQueryMessage::Row(row) => row.get(0),
        _ => None,
    });
    let part = format!("{}.gz", part.expect("it says which part it has ended"));
    let id = made["id"].as_str().expect("it has an id");
    let log = servers.folder().join("backups").join(id).join("log");
    let archived = eventually(async || log.join(&part).exists().then_some(()));
    archived.await.expect("it is archived");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_cannot_be_found_ends_with_its_database() {
    let Some(servers) = Servers::new() else {
        return;
    };
    if !rustix::process::geteuid().is_root() {
        leave_out("the servers run as the user of the service, since this is not root");
        return;
    }
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "lost", json!({})).await;
    run(&made, UNCERTAIN).await;
    let id = made["id"].as_str().expect("it has an id");
    let lost = eventually(async || servers.pid(id).is_none().then_some(()));
    lost.await.expect("its number is gone");
    delete(&servers, &caller, "lost").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_owner_who_stops_copies_holds_up_only_themselves() {
    let Some(servers) = Servers::new() else {
        return;
    };
    if !rustix::process::geteuid().is_root() {
        leave_out("the servers run as the user of the service, since this is not root");
        return;
    }
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    // As many as are copied at the same time.
    for name in ["one", "two"] {
        let made = create(&caller, name, json!({})).await;
        let client = connect(&made).await.expect("the owner can connect");
        run(&made, STOP_COPIES).await;
        let fill =
            "CREATE TABLE filling AS SELECT repeat('x', 1000) FROM generate_series(1, 100000)";
        client
            .batch_execute(fill)
            .await
            .expect("the owner can write");
    }
    let stopped = |id: &str| made_by_owner(&servers, id, "held-");
    let theirs = servers.ids();
    let held = eventually(async || theirs.iter().all(|id| stopped(id) > 0).then_some(()));
    held.await.expect("copies are stopped");
    create(&caller, "orders", json!({})).await;
    let path = format!("{PLACE}/postgres/orders/backup");
    caller
        .wait_for(&path, |page| page["count"] != json!(0))
        .await;
    // Each is given up after a time, and begins again later.
    let before: Vec<usize> = theirs.iter().map(|id| stopped(id)).collect();
    let again = eventually(async || {
        let mut more = theirs.iter().zip(&before);
        more.all(|(id, before)| stopped(id) > *before).then_some(())
    });
    again.await.expect("copies are given up");
    // The service ends beside pipes that are never closed, and deletes their databases.
    service.terminate();
    let (is_clean, said) = service.wait();
    assert!(is_clean, "{said}");
    assert!(said.contains("the copy stands still"), "{said}");
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    for name in ["one", "two"] {
        let path = format!("{PLACE}/postgres/{name}");
        let deleted = caller.delete(&path).await;
        assert_eq!(deleted.status, 204, "{}", deleted.body);
    }
    let gone = eventually(async || (servers.ids().len() == 1).then_some(())).await;
    gone.expect("their folders are removed");
}
