//! Owners who run programs beside their servers, to hold up the service.

use std::fs;

use serde_json::{Value, json};

use super::{PLACE, create};
use crate::support::servers::{Servers, connect};
use crate::support::{eventually, leave_out};

/// Stops each program of its user that copies files, and keeps its output open.
const STOP_COPIES: &str = "while test -d $PWD; do for process in /proc/[0-9]*; do \
     read -r name 2>/dev/null < $process/comm; case $name in cat|tar) \
     if test -O $process && test ! -e held-${process#/proc/}; then \
     kill -STOP ${process#/proc/}; : > held-${process#/proc/}; \
     sleep 600 9> $process/fd/1 & fi;; esac; done; sleep 0.01; done";

/// Runs a program as the user of a server, which outlives the session.
async fn run(database: &Value, script: &str) {
    let client = connect(database).await.expect("the owner can connect");
    // Its input is closed with the session, and the folder of its server is not.
    let program = format!("cd ../socket && (trap \"\" HUP; {script}) </dev/null >/dev/null 2>&1 &");
    // No rows: the program reads nothing, and may end before it gets one.
    let copy = format!("COPY (SELECT WHERE false) TO PROGRAM $program${program}$program$");
    client.batch_execute(&copy).await.expect("it runs");
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
    let stopped = |id: &str| {
        let socket = servers.folder().join("databases").join(id);
        let files = fs::read_dir(socket.join("a/socket")).expect("it is there");
        let held = files.flatten().filter(|file| {
            let name = file.file_name();
            name.as_encoded_bytes().starts_with(b"held-")
        });
        held.count()
    };
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
