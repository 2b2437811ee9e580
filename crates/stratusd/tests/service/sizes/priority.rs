//! Long pages and bodies are worked on by threads of a lower priority, so that they do not delay other
//! requests.

use std::fs;
use std::time::Duration;

use super::{PLACE, largest_database};
use crate::on_both;
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;

/// The least that a debug build computes for a long body or page.
const LONG: Duration = Duration::from_millis(1);

/// Returns the time for which the threads of long work have computed.
///
/// # Panics
///
/// If there is none, or one has not a lower priority than other threads.
fn long_work(service: &Service) -> Duration {
    let folder = format!("/proc/{}/task", service.id());
    let mut threads = 0;
    let mut nanoseconds = 0;
    for thread in fs::read_dir(&folder).expect("it is alive") {
        let read = |name: &str| {
            let file = thread.as_ref().expect("it is listed").path().join(name);
            fs::read_to_string(file).unwrap_or_default()
        };
        if read("comm").trim_end() != "long-work" {
            continue;
        }
        // As in proc_pid_stat(5): the name in parentheses is the second value, and `nice` the 19th.
        let stat = read("stat");
        let (_, after_name) = stat.rsplit_once(") ").expect("it has a name");
        assert_eq!(after_name.split(' ').nth(19 - 3), Some("10"), "{stat}");
        let computed = read("schedstat");
        let computed = computed.split(' ').next().map(str::parse::<u64>);
        nanoseconds += computed.and_then(Result::ok).expect("Linux counts it");
        threads += 1;
    }
    assert!(threads > 0, "{folder} has no thread of long work");
    Duration::from_nanos(nanoseconds)
}

on_both! {
    async fn long_work_has_threads_of_a_lower_priority(home: Home) {
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        let service = home.serve(&["--simulate-delay", "1h"]);
        let shop = Caller::new(&service.base, SHOP, &token);
        // After the start of the threads, which takes them a moment too.
        shop.get("/postgres").await.ok();
        let first = long_work(&service);
        for _ in 0..10 {
            shop.get("/postgres?page_size=100").await.ok();
        }
        assert_eq!(long_work(&service), first, "small requests are no long work");
        for number in 0..10 {
            shop.post(&format!("{PLACE}/postgres/large-{number}"), largest_database()).await.ok();
        }
        let parsed = long_work(&service);
        assert!(parsed > first + 10 * LONG, "bodies: {:?}", parsed - first);
        // Of few items, and long by its bytes.
        shop.get("/postgres?page_size=10").await.ok();
        let by_bytes = long_work(&service);
        assert!(by_bytes > parsed + LONG, "a page of large items: {:?}", by_bytes - parsed);
        shop.get("/postgres?page_size=1000").await.ok();
        let by_items = long_work(&service);
        assert!(by_items > by_bytes + LONG, "a page of many items: {:?}", by_items - by_bytes);
    }
}
