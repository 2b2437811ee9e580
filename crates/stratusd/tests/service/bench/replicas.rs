//! Three replicas on one PostgreSQL, of which one is killed while callers change resources through all of
//! them.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};

use super::{percentile, print_head, rounds};
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};

const FIREWALLS: &str = "/location/eu-central-h1/firewall";
const ROUNDS: u64 = 5;
const REPLICAS: usize = 3;
const CALLERS: usize = 8;
/// How long callers write before the kill, and after it.
const LENGTH: Duration = Duration::from_secs(3);

/// The names of firewalls whose creation was acknowledged.
type Acknowledged = HashSet<String>;

/// What callers count.
#[derive(Default)]
struct Counts {
    acknowledged: AtomicUsize,
    failed: AtomicUsize,
    /// The longest time in which a caller got no acknowledgement, in microseconds.
    longest: AtomicU64,
    is_over: AtomicBool,
}

/// Creates firewalls by each replica in turn. After a failure, as a load balancer would, by the next
/// one with another name.
async fn write(
    caller: usize,
    round: u64,
    callers: Vec<Caller>,
    counts: Arc<Counts>,
) -> Acknowledged {
    let mut last = Instant::now();
    let mut acknowledged = Acknowledged::new();
    for number in 0.. {
        if counts.is_over.load(Ordering::SeqCst) {
            break;
        }
        let name = format!("f-{round}-{caller}-{number}");
        let path = format!("{FIREWALLS}/{name}");
        let by = &callers[(caller + number) % REPLICAS];
        let body = json!({});
        match by.try_call(Method::POST, &path, Some(&body)).await {
            Ok(response) if response.status == 200 => {
                counts.acknowledged.fetch_add(1, Ordering::SeqCst);
                acknowledged.insert(name);
                let taken = u64::try_from(last.elapsed().as_micros()).unwrap_or(u64::MAX);
                counts.longest.fetch_max(taken, Ordering::SeqCst);
                last = Instant::now();
            }
            _ => {
                counts.failed.fetch_add(1, Ordering::SeqCst);
            }
        }
    }
    acknowledged
}

/// Returns the names of all firewalls.
async fn all(caller: &Caller) -> HashSet<String> {
    let mut names = HashSet::new();
    let mut after = String::new();
    loop {
        let page = caller
            .get(&format!("{FIREWALLS}?page_size=1000{after}"))
            .await
            .ok();
        let items = page["items"].as_array().expect("it is a list");
        let Some(last) = items.last() else {
            return names;
        };
        after = format!(
            "&start_after={}",
            last["id"].as_str().expect("it has an id")
        );
        let name = |it: &Value| it["name"].as_str().map(str::to_owned);
        names.extend(items.iter().filter_map(name));
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a benchmark, which `cargo xtask bench replicas` runs"]
async fn one_of_three_replicas_is_killed() {
    let Some((home, _cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let serve = || home.serve(&["--log", "error", "--quota-firewalls", "1000000"]);
    let mut figures: [Vec<f64>; 4] = Default::default();
    let mut acknowledged = Acknowledged::new();
    for round in 0..rounds(ROUNDS) {
        let mut services = [serve(), serve(), serve()];
        let callers: Vec<Caller> = services
            .iter()
            .map(|service| Caller::new(&service.base, SHOP, &token))
            .collect();
        let counts = Arc::new(Counts::default());
        let tasks: Vec<_> = (0..CALLERS)
            .map(|caller| {
                let callers = services
                    .iter()
                    .map(|service| Caller::new(&service.base, SHOP, &token));
                tokio::spawn(write(caller, round, callers.collect(), Arc::clone(&counts)))
            })
            .collect();
        tokio::time::sleep(LENGTH).await;
        let before = counts.acknowledged.load(Ordering::SeqCst);
        counts.longest.store(0, Ordering::SeqCst);
        services[0].kill();
        tokio::time::sleep(LENGTH).await;
        counts.is_over.store(true, Ordering::SeqCst);
        for task in tasks {
            acknowledged.extend(task.await.expect("it does not panic"));
        }
        let all = counts.acknowledged.load(Ordering::SeqCst);
        let second = |count: usize| f64::from(u32::try_from(count).unwrap_or(u32::MAX)) / 3.0;
        figures[0].push(second(before));
        figures[1].push(second(all - before));
        let longest = u32::try_from(counts.longest.load(Ordering::SeqCst)).unwrap_or(u32::MAX);
        figures[2].push(f64::from(longest) / 1000.0);
        figures[3].push(second(counts.failed.load(Ordering::SeqCst)));
        let there = self::all(&callers[1]).await;
        let lost: Vec<&String> = acknowledged.difference(&there).collect();
        assert!(
            lost.is_empty(),
            "these were acknowledged, and are lost: {lost:?}"
        );
    }
    let columns = [
        "changes in a second of three replicas",
        "of two, after the kill",
        "longest time of a caller without one, median",
        "most",
        "refused in a second by the killed one",
    ];
    print_head(
        "three replicas on one PostgreSQL, of which one is killed",
        &columns,
    );
    let most = percentile(&mut figures[2], 100);
    let [three, two, longest, refused] = figures.map(|mut figures| percentile(&mut figures, 50));
    println!("| {three:.0} | {two:.0} | {longest:.0} ms | {most:.0} ms | {refused:.0} |");
}
