//! The service in a simulation that a seed decides: its processes, clock, disk, randomness and
//! provisioner. `STRATUS_SEED` repeats a run exactly, and `STRATUS_CASES` asks for more simulations,
//! of random seeds. Without either, the seeds are the same in each run: nothing fails by chance.

mod batches;
mod caller;
mod checks;
mod cloud;
mod ground;
mod history;
mod host;
mod template;

use std::collections::{BTreeSet, HashSet};
use std::hash::{BuildHasher as _, Hasher as _, RandomState};
use std::panic::AssertUnwindSafe;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::Instant;

use checks::is_linearizable;
use history::{
    Balancer, Balancers, Entry, Name, OnBalancers, OnName, OnValue, Outcome, Value, outcomes,
};
use host::Host;
use template::Template;

/// The number of simulations of a run.
const CASES: u64 = 100;

/// What a simulation has left behind.
struct Ran {
    trace: Vec<String>,
    broken: Vec<String>,
    commits: u64,
}

fn run(seed: u64, folder: &Path, template: &Arc<Template>) -> Ran {
    let host = Host::new(seed, folder, template);
    let end = std::panic::catch_unwind(AssertUnwindSafe(|| host.run()));
    if end.is_err() {
        host.ground.broken("the simulation panicked".to_owned());
    }
    let kept = host.ground.kept();
    Ran {
        trace: kept.trace.clone(),
        broken: kept.broken.clone(),
        commits: host.commits.get(),
    }
}

/// Returns a folder for files, in memory where the system has one for it: the simulation decides
/// what a disk forgets.
fn folder() -> tempfile::TempDir {
    let memory = PathBuf::from("/dev/shm");
    let made = tempfile::tempdir_in(memory).or_else(|_| tempfile::tempdir());
    made.expect("a folder can be made")
}

fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("a number"))
}

#[test]
fn nothing_breaks_under_faults() {
    let folder = folder();
    let template = Template::make(folder.path());
    let (first, cases) = match (variable("STRATUS_SEED"), variable("STRATUS_CASES")) {
        (Some(seed), cases) => (seed, cases.unwrap_or(1)),
        (None, Some(cases)) => (RandomState::new().build_hasher().finish() >> 16, cases),
        (None, None) => (0, CASES),
    };
    println!("STRATUS_SEED={first} STRATUS_CASES={cases}");
    let (next, commits, is_over) = (AtomicU64::new(0), AtomicU64::new(0), AtomicBool::new(false));
    let begun = Instant::now();
    let work = || {
        while !is_over.load(Ordering::Relaxed) {
            let number = next.fetch_add(1, Ordering::Relaxed);
            if number >= cases {
                return;
            }
            let seed = first.wrapping_add(number);
            let ran = run(seed, folder.path(), &template);
            commits.fetch_add(ran.commits, Ordering::Relaxed);
            if !ran.broken.is_empty() {
                is_over.store(true, Ordering::Relaxed);
                panic!(
                    "STRATUS_SEED={seed} repeats this simulation, number {number}:\n{}\n\n{}",
                    ran.trace.join("\n"),
                    ran.broken.join("\n")
                );
            }
        }
    };
    std::thread::scope(|scope| {
        let threads = std::thread::available_parallelism().map_or(1, usize::from);
        for _ in 0..threads {
            scope.spawn(work);
        }
    });
    let (seconds, commits) = (
        begun.elapsed().as_secs_f64(),
        commits.load(Ordering::Relaxed),
    );
    #[expect(clippy::cast_precision_loss, reason = "the numbers are small")]
    let per_minute = cases as f64 / seconds * 60.0;
    println!("{cases} seeds in {seconds:.1} s, {per_minute:.0} a minute, with {commits} commits");
    // Without commits a run would prove nothing.
    assert!(commits > cases * 10, "only {commits} commits");
}

#[test]
fn a_seed_repeats_a_simulation() {
    let folder = folder();
    let template = Template::make(folder.path());
    for seed in 0..20 {
        let (one, other) = (
            run(seed, folder.path(), &template),
            run(seed, folder.path(), &template),
        );
        for (line, (one, other)) in one.trace.iter().zip(&other.trace).enumerate() {
            assert_eq!(one, other, "event {line} of seed {seed}");
        }
        assert_eq!(one.trace.len(), other.trace.len(), "seed {seed}");
        assert!(one.trace.len() > 20, "seed {seed}: {:#?}", one.trace);
    }
}

fn of<A>(call: u64, back: Option<u64>, action: A) -> Entry<A> {
    Entry { call, back, action }
}

/// A history that has happened once is still possible if a response is lost, and one in which an
/// acknowledged change is gone is not.
#[test]
fn a_history_of_a_value_that_cannot_be_is_found() {
    let write = |value: &str| OnValue::Write(value.to_owned());
    let read = |value: Option<&str>| OnValue::Read(value.map(str::to_owned));
    for (is_possible, history) in [
        (
            true,
            vec![of(1, Some(2), write("a")), of(3, Some(4), read(Some("a")))],
        ),
        // Lost after it was acknowledged.
        (
            false,
            vec![of(1, Some(2), write("a")), of(3, Some(4), read(None))],
        ),
        // Never acknowledged, so either is possible, but not one after the other.
        (
            true,
            vec![of(1, None, write("a")), of(3, Some(4), read(None))],
        ),
        (
            true,
            vec![
                of(1, None, write("a")),
                of(3, Some(4), read(None)),
                of(5, Some(6), read(Some("a"))),
            ],
        ),
        (
            false,
            vec![
                of(1, None, write("a")),
                of(3, Some(4), read(Some("a"))),
                of(5, Some(6), read(None)),
            ],
        ),
        // Both at the same time, and two readers who saw them in another order.
        (
            false,
            vec![
                of(1, Some(4), write("a")),
                of(2, Some(3), write("b")),
                of(5, Some(6), read(Some("a"))),
                of(7, Some(8), read(Some("b"))),
            ],
        ),
    ] {
        assert_eq!(
            is_linearizable(Value(None), &history),
            is_possible,
            "{history:?}"
        );
    }
}

#[test]
fn a_history_of_a_name_that_cannot_be_is_found() {
    let made = |id: &str| OnName::Made(id.to_owned());
    let seen = |id: &str| OnName::Seen(Some(id.to_owned()));
    for (is_possible, history) in [
        (
            true,
            vec![of(1, Some(4), OnName::Refused), of(2, Some(3), made("x"))],
        ),
        (
            false,
            vec![of(1, Some(4), made("y")), of(2, Some(3), made("x"))],
        ),
        (
            false,
            vec![of(1, Some(2), OnName::Refused), of(3, Some(4), made("x"))],
        ),
        (
            true,
            vec![
                of(1, None, OnName::Lost),
                of(2, Some(3), OnName::Refused),
                of(4, Some(5), seen("x")),
            ],
        ),
        (
            false,
            vec![
                of(1, None, OnName::Lost),
                of(2, Some(3), seen("x")),
                of(4, Some(5), seen("y")),
            ],
        ),
    ] {
        assert_eq!(
            is_linearizable(Name::Free, &history),
            is_possible,
            "{history:?}"
        );
    }
}

#[test]
fn a_history_of_load_balancers_that_cannot_be_is_found() {
    let set = |name: &str, vm: &str, outcome| OnBalancers::Set {
        name: name.to_owned(),
        to: Balancer {
            value: 1,
            vms: BTreeSet::from([vm.to_owned()]),
        },
        outcome,
    };
    for (is_possible, history) in [
        (
            true,
            vec![
                of(1, Some(4), set("one", "a", Outcome::Done)),
                of(2, Some(3), set("two", "a", Outcome::Refused)),
            ],
        ),
        // One virtual machine on two load balancers.
        (
            false,
            vec![
                of(1, Some(4), set("one", "a", Outcome::Done)),
                of(2, Some(3), set("two", "a", Outcome::Done)),
            ],
        ),
        // Refused, although nothing was in the way.
        (
            false,
            vec![
                of(1, Some(2), set("two", "a", Outcome::Refused)),
                of(3, Some(4), set("one", "a", Outcome::Done)),
            ],
        ),
    ] {
        let ends = outcomes(HashSet::from([Balancers::default()]), &history);
        assert_eq!(!ends.is_empty(), is_possible, "{history:?}");
    }
}
