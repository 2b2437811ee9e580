//! Databases that are servers on this machine: how soon they answer, how soon a standby takes over, and
//! what an idle one costs.

use std::fs;
use std::path::Path;
use std::time::{Duration, Instant};

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};

use super::processes::memory;
use super::{percentile, print_head, rounds};
use crate::support::caller::Caller;
use crate::support::eventually;
use crate::support::servers::{Servers, connect};

const ROUNDS: u64 = 5;
/// How long a database is left alone before its memory is read.
const IDLE: Duration = Duration::from_secs(5);

fn path(name: &str) -> String {
    format!("/location/eu-central-h1/postgres/{name}")
}

/// Executes statements as the owner, as soon as the database lets that happen.
async fn execute(database: &Value, statements: &str) {
    let executed = eventually(async || {
        let client = connect(database).await.ok()?;
        client.batch_execute(statements).await.ok()
    });
    executed.await.expect("the database answers");
}

/// Creates a database, and returns it with the time until its first query was answered.
async fn create(caller: &Caller, name: &str, ha_type: &str) -> (Value, Duration) {
    let begun = Instant::now();
    let body =
        json!({ "size": "hobby-1", "storage_size": 16, "version": "17", "ha_type": ha_type });
    caller.post(&path(name), body).await.ok();
    let is_known = |now: &Value| now["connection_string"].is_string();
    let made = caller.wait_for(&path(name), is_known).await;
    execute(&made, "SELECT 1").await;
    (made, begun.elapsed())
}

/// Waits until all standbys read the log, and commits wait for them if they are to.
async fn is_whole(servers: &Servers, database: &Value) {
    let is_sync = database["ha_type"] == "sync";
    let standbys = if is_sync { 2 } else { 1 };
    let id = database["id"].as_str().expect("it has an id");
    let file = servers
        .folder()
        .join("databases")
        .join(id)
        .join("record.json");
    let whole = eventually(async || {
        let client = connect(database).await.ok()?;
        let count = "SELECT count(*) FROM pg_stat_replication WHERE state = 'streaming'";
        let count: i64 = client.query_one(count, &[]).await.ok()?.get(0);
        let record: Value = serde_json::from_slice(&fs::read(&file).ok()?).ok()?;
        let is_whole = count == standbys && (!is_sync || record["commits_wait"] == true);
        is_whole.then_some(())
    });
    whole.await.expect("it gets its standbys");
}

/// Returns the times from the kill of a primary to the next row, and checks that no row is lost with
/// synchronous standbys.
async fn fail_over(servers: &Servers, caller: &Caller, ha_type: &str) -> Vec<f64> {
    let (made, _) = create(caller, ha_type, ha_type).await;
    let id = made["id"].as_str().expect("it has an id");
    execute(&made, "CREATE TABLE row (number int)").await;
    let mut times = Vec::new();
    for number in 0..rounds(ROUNDS) {
        is_whole(servers, &made).await;
        execute(&made, &format!("INSERT INTO row VALUES ({number})")).await;
        let primary = servers.pid(id).expect("it runs");
        let begun = Instant::now();
        kill_process(primary, Signal::KILL).expect("it runs");
        execute(&made, &format!("INSERT INTO row VALUES (-1 - {number})")).await;
        times.push(begun.elapsed().as_secs_f64());
        let client = connect(&made).await.expect("it answers");
        let kept = format!("SELECT count(*) FROM row WHERE number = {number}");
        let kept: i64 = client
            .query_one(&*kept, &[])
            .await
            .expect("it answers")
            .get(0);
        assert!(kept == 1 || ha_type == "async", "row {number} is lost");
    }
    times
}

/// Returns the proportional set size of all processes that work in a folder, in MiB.
fn memory_in(folder: &Path) -> f64 {
    let processes = fs::read_dir("/proc").expect("Linux has it").flatten();
    let there = processes.filter(|process| {
        let works_in = fs::read_link(process.path().join("cwd"));
        works_in.is_ok_and(|at| at.starts_with(folder))
    });
    let ids = there.filter_map(|process| process.file_name().to_str()?.parse().ok());
    ids.map(memory).sum()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a benchmark, which `cargo xtask bench databases` runs"]
async fn what_databases_take() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let service = servers.serve(&["--log", "error"]);
    let caller = servers.caller(&service);
    let mut created = Vec::new();
    let mut sizes = Vec::new();
    for round in 0..rounds(ROUNDS) {
        let name = format!("new-{round}");
        let (made, taken) = create(&caller, &name, "none").await;
        created.push(taken.as_secs_f64());
        tokio::time::sleep(IDLE).await;
        let id = made["id"].as_str().expect("it has an id");
        sizes.push(memory_in(&servers.folder().join("databases").join(id)));
        assert_eq!(caller.delete(&path(&name)).await.status, 204);
    }
    let on_async = fail_over(&servers, &caller, "async").await;
    let on_sync = fail_over(&servers, &caller, "sync").await;
    let profile = if cfg!(debug_assertions) {
        "debug"
    } else {
        "release"
    };
    print_head(
        &format!("databases on this machine, PostgreSQL 17, a {profile} build"),
        &["", "median", "least", "most"],
    );
    let print = |what: &str, mut figures: Vec<f64>, unit: &str| {
        let [median, least, most] = [50, 0, 100].map(|share| percentile(&mut figures, share));
        println!("| {what} | {median:.2} {unit} | {least:.2} {unit} | {most:.2} {unit} |");
    };
    print(
        "from the request that creates a database to its first query",
        created,
        "s",
    );
    print(
        "from the kill of a primary to the next row, `async`",
        on_async,
        "s",
    );
    print(
        "from the kill of a primary to the next row, `sync`",
        on_sync,
        "s",
    );
    print(
        "memory of an idle database (proportional set size)",
        sizes,
        "MiB",
    );
}
