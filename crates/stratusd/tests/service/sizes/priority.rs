//! Long pages and bodies are worked on by threads of a lower priority, so that they do not delay other
//! requests.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;
use std::{fs, io, thread};

use rustix::process::Pid;
use rustix::thread::{CpuSet, sched_getaffinity, sched_setaffinity};

use super::{PLACE, largest_database};
use crate::on_both;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, eventually};

/// The least that a debug build computes for a long body or page.
const LONG: Duration = Duration::from_millis(1);

/// Returns the folder of each thread of a service.
fn threads(service: &Service) -> Vec<PathBuf> {
    let folder = format!("/proc/{}/task", service.id());
    let threads = fs::read_dir(&folder).expect("it is alive");
    let path = |thread: io::Result<fs::DirEntry>| thread.expect("it is listed").path();
    threads.map(path).collect()
}

/// Returns the folder of each thread of long work.
fn long_threads(service: &Service) -> Vec<PathBuf> {
    let mut threads = threads(service);
    threads.retain(|thread| {
        let name = fs::read_to_string(thread.join("comm")).unwrap_or_default();
        name.trim_end() == "long-work"
    });
    threads
}

/// Returns the nice value of each thread of long work, and the time for which they have computed.
fn long_work(service: &Service) -> (Vec<i32>, Duration) {
    let mut nice = Vec::new();
    let mut nanoseconds = 0;
    for thread in long_threads(service) {
        let read = |name: &str| fs::read_to_string(thread.join(name)).unwrap_or_default();
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

/// Returns whether there are threads, and all are nicer than the process by 5.
fn lowered(nice: &[i32], own: i32) -> bool {
    !nice.is_empty() && nice.iter().all(|nice| *nice == (own + 5).min(19))
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

/// The time for which a thread of long work computes before it gives way, at most: three times what it is
/// meant to, since it does not give way between all things that it does. One that never gives way was
/// interrupted each 2.4 to 2.8 ms, by the system and at the end of a page, and this one each 0.8 ms.
const GIVES_WAY: Duration = Duration::from_micros(1500);
/// The number of items of a page that is long by its items. Each is read faster than a thread gives way.
const ITEMS: usize = 1000;

/// Returns how often a thread of long work has given its processor to another thread without waiting for
/// anything.
fn gave_way(service: &Service) -> u32 {
    let times = |thread: PathBuf| {
        let status = fs::read_to_string(thread.join("status")).expect("it is alive");
        let counted = status.split("nonvoluntary_ctxt_switches:").nth(1);
        let counted = counted.and_then(|counted| counted.trim().parse::<u32>().ok());
        counted.expect("Linux counts it")
    };
    long_threads(service).into_iter().map(times).sum()
}

/// Has a thread run on the first processor that this process may use, and on no other.
fn on_one_processor(thread: Option<Pid>) {
    let allowed = sched_getaffinity(None).expect("Linux tells it");
    let first = (0..CpuSet::MAX_CPU).find(|cpu| allowed.is_set(*cpu));
    let mut only = CpuSet::new();
    only.set(first.expect("there is a processor"));
    sched_setaffinity(thread, &only).expect("it is allowed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn long_pages_give_way_to_other_threads() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let service = home.serve(&["--quota-inference-api-keys", "2000"]);
    let shop = Caller::new(&service.base, SHOP, &token);
    for _ in 0..ITEMS {
        shop.post_nothing("/inference-api-key").await.ok();
    }
    for thread in threads(&service) {
        let id = thread.file_name().and_then(|id| id.to_str()?.parse().ok());
        on_one_processor(id.and_then(Pid::from_raw));
    }
    // The other thread, which always wants the same processor.
    let is_over = Arc::new(AtomicBool::new(false));
    let ends = Arc::clone(&is_over);
    let other = thread::spawn(move || {
        on_one_processor(None);
        while !ends.load(Ordering::Relaxed) {
            std::hint::spin_loop();
        }
    });
    let (times, (_, computed)) = (gave_way(&service), long_work(&service));
    for _ in 0..20 {
        let page = shop.get("/inference-api-key?page_size=1000").await.ok();
        assert_eq!(page["count"], ITEMS);
    }
    let times = gave_way(&service) - times;
    let computed = long_work(&service).1.saturating_sub(computed);
    is_over.store(true, Ordering::Relaxed);
    other.join().expect("it ends");
    assert!(
        computed > 10 * GIVES_WAY,
        "{computed:?} is too little to tell"
    );
    assert!(
        times * GIVES_WAY > computed,
        "gave way {times} times in {computed:?}"
    );
}
