//! The time of each operation among few and many rows of neighbours, in each table.

use std::collections::BTreeMap;
use std::time::Instant;

use api_server::OPERATIONS;

use super::{percentile, print_head, rounds};
use crate::plans::requests::{Ids, requests, success};
use crate::plans::seed::Neighbours;
use crate::plans::{postgres, sqlite};
use crate::support::caller::Caller;
use crate::support::cluster::Cluster;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, variable};

/// The rows of neighbours in each table.
const SIZES: [u32; 3] = [10, 20_000, 1_000_000];
/// The other projects.
const OTHERS: u32 = 2_000;
const ROUNDS: u64 = 41;

/// A service whose project has neighbours.
struct Target {
    ids: Ids,
    caller: Caller,
    _service: Service,
    _home: Home,
    _cluster: Option<Cluster>,
}

impl Target {
    async fn of(home: Home, cluster: Option<Cluster>, rows: u32) -> Self {
        home.apply(&two_projects());
        let neighbours = Neighbours {
            project: SHOP,
            rows,
            others: OTHERS,
            are_due: false,
        };
        match &cluster {
            Some(cluster) => postgres::fill(&cluster.url(), &neighbours),
            None => sqlite::fill(&home, &neighbours),
        }
        let token = home.token("shop", &[]);
        let service = home.serve(&["--simulate-delay", "0s", "--log", "warn"]);
        let caller = Caller::new(&service.base, SHOP, &token);
        Self {
            ids: Ids::read(&caller).await,
            caller,
            _service: service,
            _home: home,
            _cluster: cluster,
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a benchmark, which `cargo xtask bench cost` runs"]
async fn operations_among_neighbours_on_sqlite() {
    let mut targets = Vec::new();
    for rows in sizes() {
        targets.push(Target::of(Home::sqlite(), None, rows).await);
    }
    measure("SQLite", &targets).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a benchmark, which `cargo xtask bench cost` runs"]
async fn operations_among_neighbours_on_postgres() {
    let mut targets = Vec::new();
    for rows in sizes() {
        let Some((home, cluster)) = Home::on_server(&[("max_wal_size", "4GB")], &[]) else {
            return;
        };
        targets.push(Target::of(home, Some(cluster), rows).await);
    }
    measure("PostgreSQL", &targets).await;
}

fn sizes() -> [u32; 3] {
    let most = variable("STRATUS_BENCH_ROWS").map_or(u32::MAX, |rows| {
        u32::try_from(rows).expect("there are not that many")
    });
    SIZES.map(|rows| rows.min(most))
}

/// Calls all operations of all targets in turn, and prints the median times.
async fn measure(database: &str, targets: &[Target]) {
    let mut operations = OPERATIONS.to_vec();
    // What is created is then viewed.
    operations.sort_by_key(|operation| !operation.id.ends_with("_create"));
    let mut times: BTreeMap<&str, Vec<Vec<f64>>> = BTreeMap::new();
    let rounds = usize::try_from(rounds(ROUNDS)).expect("there are few");
    // The first round warms up.
    for round in 0..=rounds {
        for operation in &operations {
            let times = times.entry(operation.id).or_default();
            times.resize(targets.len(), Vec::new());
            let calls = targets
                .iter()
                .map(|to| requests(operation.id, round, &to.ids));
            for ((target, calls), times) in targets.iter().zip(calls).zip(times) {
                for (path, body) in calls {
                    let method = operation.method.into();
                    let begun = Instant::now();
                    let response = target.caller.try_call(method, &path, body.as_ref()).await;
                    let taken = begun.elapsed().as_secs_f64() * 1e6;
                    let status = response.expect("the service responds").status;
                    assert_eq!(status, success(operation), "{}", operation.id);
                    if round > 0 || operation.id == "private_subnet_connect" {
                        times.push(taken);
                    }
                }
            }
        }
    }
    let [few, many, most] = sizes().map(|rows| format!("{rows} rows"));
    let title = format!("time of each operation among neighbours on {database}");
    print_head(&title, &["operation", &few, &many, &most, "ratio"]);
    for (operation, times) in times {
        let medians: Vec<f64> = times
            .into_iter()
            .map(|mut times| percentile(&mut times, 50))
            .collect();
        let cells: Vec<String> = medians.iter().map(|time| format!("{time:.0} µs")).collect();
        let ratio = medians[medians.len() - 1] / medians[0];
        println!("| `{operation}` | {} | {ratio:.2} |", cells.join(" | "));
    }
}
