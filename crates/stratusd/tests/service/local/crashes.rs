//! Servers that do not start any more.

use std::fs;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::json;

use super::{ask, create};
use crate::support::eventually;
use crate::support::servers::{Servers, connect};

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_does_not_start_is_tried_again_after_growing_pauses() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let made = create(&servers.caller(&service), "orders", json!({})).await;
    let client = connect(&made).await.expect("the owner can connect");
    let spoil = "ALTER SYSTEM SET shared_preload_libraries = 'missing'";
    client
        .batch_execute(spoil)
        .await
        .expect("the owner may do it");
    let id = made["id"].as_str().expect("it has an id");
    let pid = servers.pid(id).expect("it runs");
    kill_process(pid, Signal::KILL).expect("it runs");
    // At once, after 1 second more, after 2, and soon after 4.
    tokio::time::sleep(Duration::from_secs(6)).await;
    let folder = servers.folder().join("databases").join(id);
    fs::write(folder.join("a/data/postgresql.auto.conf"), "").expect("the test may write it");
    let works = eventually(async || ask(&made, "SELECT 'here'").await.ok());
    assert_eq!(works.await.expect("it starts again"), "here");
    service.terminate();
    let (is_clean, said) = service.wait();
    assert!(is_clean, "{said}");
    // Not those that fail since the test of another process has got the port meanwhile.
    let tries = said.lines().filter(|line| {
        line.contains("its servers do not run: ")
            && line.contains("could not access file \"missing\"")
    });
    let tries = tries.count();
    assert!((2..=5).contains(&tries), "{tries} tries: {said}");
}
