//! A mixed load of 256 connections: no error, and memory that does not grow.
//!
//! It lasts for 5 seconds here, and for ten minutes in `cargo xtask soak`, which sets
//! `STRATUS_SOAK_SECONDS` and prints the figures.

use std::fs;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use serde_json::json;

use crate::on_both;
use crate::support::Home;
use crate::support::caller::{Caller, JsonResponse};
use crate::support::inventory::{SHOP, two_projects};

const PLACE: &str = "/location/eu-central-h1";
/// The number of callers. Each waits for its response, so there are as many connections.
const CALLERS: usize = 256;
/// The number of databases that they change.
const DATABASES: usize = 32;
/// How much memory may grow from the first fifth of the run to the last, in KiB: room for the
/// allocator, and for caches that fill slowly.
const GROWTH: u64 = 64 << 10;

on_both! {
    async fn a_long_mixed_load_has_no_error_and_does_not_grow(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&["--simulate-delay", "0s", "--simulate-jitter", "0s", "--log", "warn"]);
        let token = home.token("shop", &[]);
        let caller = Caller::new(&service.base, SHOP, &token);
        for number in 0..DATABASES {
            let size = json!({ "size": "standard-2", "storage_size": 64 });
            caller.post(&database(number), size).await.ok();
        }
        caller.post_nothing(&format!("{PLACE}/private-subnet/soak")).await.ok();

        let stop = Arc::new(AtomicBool::new(false));
        let calling: Vec<_> = (0..CALLERS)
            .map(|number| tokio::spawn(call(caller.clone(), number, Arc::clone(&stop))))
            .collect();
        let memory = watch(service.id(), length()).await;
        stop.store(true, Ordering::Relaxed);
        let mut times = Vec::new();
        for called in calling {
            times.extend(called.await.expect("every response was expected"));
        }
        report(&mut times, &memory);
        let fifth = memory.len() / 5;
        let (early, late) = (median(&memory[..=fifth]), median(&memory[memory.len() - 1 - fifth..]));
        assert!(late <= early + GROWTH, "memory grew from {early} to {late} KiB");
    }
}

/// Returns how long the load lasts.
fn length() -> Duration {
    let seconds = std::env::var("STRATUS_SOAK_SECONDS").map_or(5, |seconds| {
        seconds
            .parse()
            .expect("STRATUS_SOAK_SECONDS is a number of seconds")
    });
    Duration::from_secs(seconds)
}

fn database(number: usize) -> String {
    format!("{PLACE}/postgres/soak-{}", number % DATABASES)
}

/// Calls operations in turn until the load stops. Returns how long each took, in microseconds.
async fn call(caller: Caller, number: usize, stop: Arc<AtomicBool>) -> Vec<u32> {
    let mut times = Vec::new();
    // Callers begin at different operations, so that all operations run side by side.
    let mut turn = number;
    while !stop.load(Ordering::Relaxed) {
        let begun = Instant::now();
        let response = match turn % 10 {
            0 => {
                let tags = json!({ "tags": [{ "key": "turn", "value": turn.to_string() }] });
                caller.patch(&database(number), tags).await
            }
            1 | 2 => caller.get(&database(number)).await,
            3 => caller.get("/postgres?page_size=100").await,
            4 => caller.get(&format!("{PLACE}/private-subnet/soak")).await,
            5 => caller.get(&format!("{PLACE}/private-subnet/nothing")).await,
            _ => caller.get(&format!("{PLACE}/vm")).await,
        };
        times.push(u32::try_from(begun.elapsed().as_micros()).unwrap_or(u32::MAX));
        ensure_expected(turn % 10, &response);
        turn += 1;
    }
    times
}

fn ensure_expected(operation: usize, response: &JsonResponse) {
    let expected: &[u16] = match operation {
        // Callers share databases, and a change that meets another one may be sent again.
        0 => &[200, 409],
        5 => &[404],
        _ => &[200],
    };
    assert!(
        expected.contains(&response.status),
        "{operation}: {response:?}"
    );
}

/// Returns the memory of a process in KiB, a hundred times during the load.
async fn watch(process: u32, length: Duration) -> Vec<u64> {
    let mut memory = Vec::new();
    let mut tick = tokio::time::interval(length / 100);
    for _ in 0..100 {
        tick.tick().await;
        memory.push(resident(process));
    }
    memory
}

/// Returns the resident memory of a process in KiB, or 0 where the system does not say it.
fn resident(process: u32) -> u64 {
    let status = fs::read_to_string(format!("/proc/{process}/status")).unwrap_or_default();
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"));
    line.map_or(0, |line| {
        line.trim_end_matches("kB")
            .trim()
            .parse()
            .expect("Linux prints a number of KiB")
    })
}

fn median(values: &[u64]) -> u64 {
    let mut sorted = values.to_vec();
    sorted.sort_unstable();
    sorted[sorted.len() / 2]
}

fn report(times: &mut [u32], memory: &[u64]) {
    times.sort_unstable();
    let at = |percent: usize| times[(times.len() - 1) * percent / 100] / 1000;
    println!(
        "{} requests of {CALLERS} callers in {:?}: median {} ms, 99 % within {} ms, all within {} ms; \
         memory {} to {} MiB",
        times.len(),
        length(),
        at(50),
        at(99),
        at(100),
        memory.iter().min().unwrap_or(&0) >> 10,
        memory.iter().max().unwrap_or(&0) >> 10,
    );
}
