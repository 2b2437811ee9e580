//! Databases with standbys, whose primaries are killed.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::{PLACE, ask, create, is_running};
use crate::support::eventually;
use crate::support::servers::{Servers, connect};

/// Waits until so many standbys read the log of the primary.
pub async fn streaming(database: &Value, count: u32) {
    let query = "SELECT count(*)::text FROM pg_stat_replication WHERE state = 'streaming'";
    let there = eventually(async || {
        let now = ask(database, query).await.ok()?;
        (now == count.to_string()).then_some(())
    });
    there
        .await
        .unwrap_or_else(|| panic!("there are never {count} standbys"));
}

/// Waits until the standby has the whole log of the primary.
pub async fn received(database: &Value) {
    let query = "SELECT (pg_current_wal_flush_lsn() <= replay_lsn)::text FROM pg_stat_replication";
    let there = eventually(async || {
        let is_there = ask(database, query).await.ok()?;
        (is_there == "true").then_some(())
    });
    there.await.expect("the standby has it");
}

/// Kills the primary of a database. Returns how long it takes until a row can be inserted again.
async fn fail_over(servers: &Servers, database: &Value) -> Duration {
    let id = database["id"].as_str().expect("it has an id");
    let pid = servers.pid(id).expect("it runs");
    kill_process(pid, Signal::KILL).expect("it runs");
    let begun = Instant::now();
    let inserted = eventually(async || insert(database, "after").await.ok());
    inserted.await.expect("a standby takes over");
    begun.elapsed()
}

async fn insert(database: &Value, text: &str) -> Result<(), tokio_postgres::Error> {
    let client = connect(database).await?;
    client
        .execute("INSERT INTO note VALUES ($1)", &[&text])
        .await?;
    Ok(())
}

#[tokio::test(flavor = "multi_thread")]
async fn a_standby_takes_the_place_of_a_primary_that_is_killed() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({ "ha_type": "async" })).await;
    streaming(&made, 1).await;
    let client = connect(&made).await.expect("the owner can connect");
    client
        .batch_execute("CREATE TABLE note (text text)")
        .await
        .expect("it can write");
    insert(&made, "before").await.expect("it can write");
    received(&made).await;

    let took = fail_over(&servers, &made).await;
    eprintln!("from the kill to the next row: {took:?}");
    let all = "SELECT string_agg(text, ' ' ORDER BY text DESC) FROM note";
    assert_eq!(ask(&made, all).await.expect("it answers"), "before after");
    // The one before comes back as a standby.
    streaming(&made, 1).await;
    let path = format!("{PLACE}/postgres/orders");
    let now = caller.wait_for(&path, is_running).await;
    assert_eq!(now["connection_string"], made["connection_string"]);

    // Without standbys, nothing is left of them.
    caller.patch(&path, json!({ "ha_type": "none" })).await.ok();
    streaming(&made, 0).await;
    insert(&made, "alone").await.expect("it can write");
    let slots = "SELECT count(*)::text FROM pg_replication_slots";
    let is_none = async || ask(&made, slots).await.ok().filter(|count| count == "0");
    eventually(is_none).await.expect("its slot is dropped");
}

#[tokio::test(flavor = "multi_thread")]
async fn nothing_acknowledged_is_lost_with_synchronous_standbys() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&[]);
    let caller = servers.caller(&service);
    let made = create(&caller, "orders", json!({ "ha_type": "sync" })).await;
    streaming(&made, 2).await;
    let quorum = "SELECT string_agg(sync_state, ' ') FROM pg_stat_replication";
    let is_quorum = async || {
        ask(&made, quorum)
            .await
            .ok()
            .filter(|now| now == "quorum quorum")
    };
    eventually(is_quorum)
        .await
        .expect("a commit waits for one of them");
    let client = connect(&made).await.expect("the owner can connect");
    client
        .batch_execute("CREATE TABLE note (text text)")
        .await
        .expect("it can write");

    let mut acknowledged = Vec::new();
    for round in 0..2 {
        // Callers that write all the time, and remember what was acknowledged.
        let written = Arc::new(AtomicUsize::new(0));
        let writers = (0..4).map(|writer| {
            let (made, written) = (made.clone(), Arc::clone(&written));
            tokio::spawn(async move {
                let mut done = Vec::new();
                let Ok(client) = connect(&made).await else {
                    return done;
                };
                for number in 0.. {
                    let text = format!("{round}/{writer}/{number}");
                    let insert = "INSERT INTO note VALUES ($1)";
                    if client.execute(insert, &[&text]).await.is_err() {
                        break;
                    }
                    done.push(text);
                    written.fetch_add(1, Ordering::Relaxed);
                }
                done
            })
        });
        let writers: Vec<_> = writers.collect();
        let enough = async || (written.load(Ordering::Relaxed) > 50).then_some(());
        eventually(enough).await.expect("they write");
        fail_over(&servers, &made).await;
        for writer in writers {
            acknowledged.extend(writer.await.expect("it ends with its session"));
        }
        streaming(&made, 2).await;
    }
    assert!(
        acknowledged.len() > 100,
        "{} rows prove nothing",
        acknowledged.len()
    );
    let client = connect(&made).await.expect("the owner can connect");
    let missing = "SELECT text FROM unnest($1::text[]) AS text EXCEPT SELECT text FROM note";
    let missing = client
        .query(missing, &[&acknowledged])
        .await
        .expect("it answers");
    let missing: Vec<String> = missing.iter().map(|row| row.get(0)).collect();
    assert_eq!(missing, [""; 0], "of {}", acknowledged.len());
}
