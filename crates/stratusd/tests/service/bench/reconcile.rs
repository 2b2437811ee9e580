//! The steps of the reconciler in a second, with many simulated databases that are all due.

use std::time::{Duration, Instant};

use serde_json::json;

use super::{percentile, print_head, rounds};
use crate::support::caller::Caller;
use crate::support::cluster::Cluster;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, eventually};

const DATABASES: usize = 1000;
const ROUNDS: u64 = 5;
/// How long a round lasts.
const LENGTH: Duration = Duration::from_secs(3);
const METRIC: &str = "stratus_reconcile_steps_done_total";

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a benchmark, which `cargo xtask bench reconcile` runs"]
async fn steps_with_many_databases_on_sqlite() {
    measure("SQLite", Home::sqlite(), None).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a benchmark, which `cargo xtask bench reconcile` runs"]
async fn steps_with_many_databases_on_postgres() {
    if let Some((home, cluster)) = Home::on_server(&[], &[]) {
        measure("PostgreSQL", home, Some(cluster)).await;
    }
}

async fn measure(database: &str, home: Home, _cluster: Option<Cluster>) {
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    // Each is due again soon after its last step, so there is always more to do than workers do.
    let settings = [
        "--log",
        "error",
        "--simulate-delay",
        "0s",
        "--simulate-jitter",
        "0s",
        "--observe-every",
        "100ms",
        "--quota-postgres-databases",
        "1000000",
    ];
    let service = home.serve(&settings);
    let caller = Caller::new(&service.base, SHOP, &token);
    let begun = Instant::now();
    for number in 0..DATABASES {
        let path = format!("/location/eu-central-h1/postgres/database-{number}");
        let body = json!({ "size": "hobby-1", "storage_size": 16 });
        caller.post(&path, body).await.ok();
    }
    // Two steps create a database and record its host.
    let all = 2.0 * f64::from(u32::try_from(DATABASES).expect("there are few"));
    let made = eventually(async || (done(&service).await >= all).then_some(()));
    made.await.expect("all are created");
    let created = begun.elapsed();
    let mut figures = Vec::new();
    for _ in 0..rounds(ROUNDS) {
        let (before, begun) = (done(&service).await, Instant::now());
        tokio::time::sleep(LENGTH).await;
        figures.push((done(&service).await - before) / begun.elapsed().as_secs_f64());
    }
    let title = format!("the reconciler with {DATABASES} databases on {database}");
    print_head(
        &title,
        &["steps in a second", "least", "most", "all created after"],
    );
    println!(
        "| {:.0} | {:.0} | {:.0} | {:.1} s |",
        percentile(&mut figures, 50),
        percentile(&mut figures, 0),
        percentile(&mut figures, 100),
        created.as_secs_f64(),
    );
}

/// Returns the number of steps so far.
async fn done(service: &Service) -> f64 {
    let page = reqwest::get(format!("{}/metrics", service.management)).await;
    let page = page.expect("the service responds").text().await;
    let page = page.expect("it is text");
    let line = page.lines().find_map(|line| line.strip_prefix(METRIC));
    let number = line.and_then(|line| line.trim().parse().ok());
    number.unwrap_or_default()
}
