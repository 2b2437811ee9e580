//! Long pages and bodies are worked on by threads of a lower priority, so that they do not delay other
//! requests.

use std::fs;
use std::time::Duration;

use super::{PLACE, largest_database};
use crate::on_both;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, eventually};

/// The least that a debug build computes for a long body or page.
const LONG: Duration = Duration::from_millis(1);

/// Returns the nice value of each thread of long work, and the time for which they have computed.
fn long_work(service: &Service) -> (Vec<i32>, Duration) {
    let folder = format!("/proc/{}/task", service.id());
    let mut nice = Vec::new();
    let mut nanoseconds = 0;
    for thread in fs::read_dir(&folder).expect("it is alive") {
        let read = |name: &str| {
            let file = thread.as_ref().expect("it is listed").path().join(name);
            fs::read_to_string(file).unwrap_or_default()
        };
        if read("comm").trim_end() != "long-work" {
            continue;
        }
        nice.push(nice_of(&read("stat")));
        let computed = read("schedstat");
        let computed = computed.split(' ').next().map(str::parse::<u64>);
        nanoseconds += computed.and_then(Result::ok).expect("Linux counts it");
    }
    (nice, Duration::from_nanos(nanoseconds))
}

/// Returns the nice value of a thread, as in `proc_pid_stat(5)`: the name in parentheses is the second value,
/// and `nice` the 19th.
fn nice_of(stat: &str) -> i32 {
    let (_, after_name) = stat.rsplit_once(") ").expect("it has a name");
    let nice = after_name.split(' ').nth(19 - 3).map(str::parse);
    nice.and_then(Result::ok).expect("it has a nice value")
}

/// Ensures that all threads of long work have the lower priority, and returns their time.
fn computed(service: &Service, own: i32) -> Duration {
    let (nice, computed) = long_work(service);
    assert!(lowered(&nice, own), "{nice:?}");
    computed
}

/// Returns whether there are threads, and all are nicer than the process by 10.
fn lowered(nice: &[i32], own: i32) -> bool {
    !nice.is_empty() && nice.iter().all(|nice| *nice == (own + 10).min(19))
}

on_both! {
    async fn long_work_has_threads_of_a_lower_priority(home: Home) {
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        let service = home.serve(&["--simulate-delay", "1h"]);
        let shop = Caller::new(&service.base, SHOP, &token);
        let stat = fs::read_to_string(format!("/proc/{}/stat", service.id())).expect("it is alive");
        let own = nice_of(&stat);
        // The threads may not have begun yet.
        let begun = eventually(async || lowered(&long_work(&service).0, own).then_some(())).await;
        begun.expect("the threads of long work have the lower priority");
        let first = computed(&service, own);
        for _ in 0..10 {
            shop.get("/postgres?page_size=100").await.ok();
        }
        let by_small = computed(&service, own);
        assert!(by_small < first + LONG, "small requests: {by_small:?} after {first:?}");
        for number in 0..10 {
            shop.post(&format!("{PLACE}/postgres/large-{number}"), largest_database()).await.ok();
        }
        let parsed = computed(&service, own);
        assert!(parsed > by_small + 10 * LONG, "bodies: {parsed:?} after {by_small:?}");
        // Refused, and read a second time by another thread, for all that is wrong with it.
        let mut refused = largest_database();
        refused["storage_size"] = "none".into();
        let refused = shop.post(&format!("{PLACE}/postgres/refused"), refused).await;
        assert_eq!(refused.error(), (400, "BadRequest"));
        let refused = computed(&service, own);
        assert!(refused > parsed + LONG, "a refused body: {refused:?} after {parsed:?}");
        // Of few items, and long by its bytes.
        shop.get("/postgres?page_size=10").await.ok();
        let by_bytes = computed(&service, own);
        assert!(by_bytes > refused + LONG, "a page of large items: {by_bytes:?} after {refused:?}");
        shop.get("/postgres?page_size=1000").await.ok();
        let by_items = computed(&service, own);
        assert!(by_items > by_bytes + LONG, "a page of many items: {by_items:?} after {by_bytes:?}");
    }
}
