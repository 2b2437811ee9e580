//! Runs tests: all without a fault, to see how long each takes and which faults it comes by, and then
//! for each fault those that come by it.

use std::collections::BTreeSet;
use std::fs;
use std::path::PathBuf;
use std::process::Command;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::Duration;

use anyhow::{Context as _, ensure};
use serde::{Deserialize, Serialize};

use crate::experience::Experience;
use crate::fault::Fault;
use crate::run::{Ending, Limit, Run};
use crate::tree::TestProgram;

/// How much longer than without a fault a test may take, before it counts as one that does not end.
const SLOWER: u32 = 4;
/// What is added to that: beside others, a short test may take much longer.
const LEAST_TIMEOUT: Duration = Duration::from_secs(20);
/// How much more CPU time than without a fault a test may take, which depends less on others.
const BUSIER: u32 = 2;
/// What is added to that.
const LEAST_CPU: Duration = Duration::from_secs(5);
/// How often a test must have noticed the faults of a function for its word to be taken at once.
const CERTAIN: f64 = 0.5;
/// The tests that run for each fault before those of the next one: most faults are noticed by one of the
/// first, and those that are not come to light early.
const QUICK: Pass = Pass {
    most: 25,
    longest: Duration::from_secs(4),
};
/// The others.
const REST: Pass = Pass {
    most: usize::MAX,
    longest: Duration::MAX,
};
/// How long a test may take without a fault.
const LONGEST: Limit = Limit {
    time: Duration::from_secs(600),
    cpu: Duration::MAX,
};

/// A part of the tests of a fault.
#[derive(Debug, Clone, Copy)]
struct Pass {
    /// How many run at most.
    most: usize,
    /// How long those take at most that run.
    longest: Duration,
}

/// A test that passes without a fault.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(crate) struct Test {
    program: PathBuf,
    pub(crate) name: String,
    /// How long it takes without a fault.
    pub(crate) takes: Duration,
    /// How much CPU time its process takes without a fault.
    cpu: Duration,
    /// The faults that it comes by.
    pub(crate) reached: BTreeSet<usize>,
}

#[cfg(test)]
impl Test {
    pub(crate) fn new(name: &str, takes: Duration) -> Self {
        Self {
            program: PathBuf::new(),
            name: name.to_owned(),
            takes,
            cpu: Duration::ZERO,
            reached: BTreeSet::new(),
        }
    }
}

/// What the tests said about a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// A test fails.
    Caught,
    /// A test does not end.
    Timeout,
    /// All pass.
    Missed,
}

/// Runs the tests of a package.
pub(crate) struct Trial {
    /// The folder of the package, in which its tests run.
    pub(crate) folder: PathBuf,
    /// Where the lists of what tests come by are kept for a moment.
    pub(crate) scratch: PathBuf,
    /// The number of tests that run at once.
    pub(crate) jobs: usize,
}

impl Trial {
    /// Runs every test without a fault. Returns those that pass, the quickest first, and the names of
    /// the others.
    pub(crate) fn all(&self, programs: &[TestProgram]) -> anyhow::Result<(Vec<Test>, Vec<String>)> {
        fs::create_dir_all(&self.scratch).context("a folder cannot be made")?;
        let mut listed = Vec::new();
        for program in programs {
            for name in names(program)? {
                listed.push((program, name));
            }
        }
        let (passed, failed) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        self.each(listed.len(), &|at| {
            let (program, name) = &listed[at];
            let reached = self.scratch.join(format!("{at}.txt"));
            let ran = Run {
                program: &program.path,
                test: name,
                folder: &self.folder,
                fault: None,
                reached: Some(&reached),
            }
            .within(LONGEST);
            let text = fs::read_to_string(&reached).unwrap_or_default();
            let _ = fs::remove_file(&reached);
            if ran.ending == Ending::Passed {
                lock(&passed).push(Test {
                    program: program.path.clone(),
                    name: name.clone(),
                    takes: ran.took,
                    cpu: ran.cpu,
                    reached: text.lines().filter_map(|line| line.parse().ok()).collect(),
                });
            } else {
                lock(&failed).push(format!("{} {name}", program.name));
            }
        });
        let mut passed = passed.into_inner().unwrap_or_default();
        passed.sort_by_key(|test| test.takes);
        Ok((passed, failed.into_inner().unwrap_or_default()))
    }

    /// Runs the tests that come by each of the faults, until one fails: for all faults a few tests first, and
    /// then the others for those that are left. Tells `report` each verdict, with the number of tests that
    /// were run.
    pub(crate) fn judge(
        &self,
        faults: &[(usize, &Fault)],
        tests: &[Test],
        report: &(dyn Fn(usize, Verdict, usize) + Sync),
    ) {
        let experience = Mutex::new(Experience::new(faults.len()));
        let own = |index| (0..tests.len()).filter(move |at| tests[*at].reached.contains(&index));
        // The tests that have not been run yet, for each fault.
        let left: Vec<Mutex<Vec<usize>>> = faults
            .iter()
            .map(|(index, _)| Mutex::new(own(*index).collect()))
            .collect();
        let judge = |at: usize, pass: Pass| -> Option<Verdict> {
            let (index, fault) = faults[at];
            let mut left = lock(&left[at]);
            let is_now = |test: &usize| tests[*test].takes <= pass.longest;
            let (mut now, later): (Vec<_>, Vec<_>) = left.drain(..).partition(is_now);
            let mut verdict = None;
            for _ in 0..pass.most {
                let Some((test, expected)) = lock(&experience).next(fault, tests, &mut now) else {
                    break;
                };
                let took;
                (verdict, took) = self.verdict(index, &tests[test], expected > CERTAIN);
                lock(&experience).note(fault, test, verdict.is_some(), took);
                if verdict.is_some() {
                    break;
                }
            }
            left.extend(now.into_iter().chain(later));
            verdict.or_else(|| left.is_empty().then_some(Verdict::Missed))
        };
        let later: Mutex<Vec<usize>> = Mutex::default();
        let judged = |at: usize, pass: Pass| match judge(at, pass) {
            Some(verdict) => {
                let index = faults[at].0;
                let count = own(index).count() - lock(&left[at]).len();
                report(index, verdict, count);
            }
            None => {
                println!("not noticed by the first tests: {}", faults[at].1.name);
                lock(&later).push(at);
            }
        };
        self.each(faults.len(), &|at| judged(at, QUICK));
        let later = std::mem::take(&mut *lock(&later));
        self.each(later.len(), &|at| judged(later[at], REST));
    }

    /// Runs a test with a fault, and returns no verdict if it passes, and how long it took. Some tests fail
    /// once in a while without any fault: one that is not expected to fail is run again.
    fn verdict(&self, fault: usize, test: &Test, is_expected: bool) -> (Option<Verdict>, Duration) {
        let limit = Limit {
            time: test.takes * SLOWER + LEAST_TIMEOUT,
            cpu: test.cpu * BUSIER + LEAST_CPU,
        };
        let run = Run {
            program: &test.program,
            test: &test.name,
            folder: &self.folder,
            fault: Some(fault),
            reached: None,
        };
        let first = run.within(limit);
        let mut took = first.took;
        let verdict = match first.ending {
            Ending::Late => Some(Verdict::Timeout),
            Ending::Failed if is_expected => Some(Verdict::Caught),
            Ending::Failed => {
                let second = run.within(limit);
                took += second.took;
                (second.ending != Ending::Passed).then_some(Verdict::Caught)
            }
            Ending::Passed => None,
        };
        (verdict, took)
    }

    /// Does so many pieces of work, several at once.
    fn each(&self, count: usize, work: &(dyn Fn(usize) + Sync)) {
        let next = AtomicUsize::new(0);
        thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        if at >= count {
                            return;
                        }
                        work(at);
                    }
                });
            }
        });
    }
}

/// Returns the names of the tests of a program, without those that are ignored.
fn names(program: &TestProgram) -> anyhow::Result<Vec<String>> {
    let list = |more: &[&str]| -> anyhow::Result<BTreeSet<String>> {
        let output = Command::new(&program.path)
            .args(["--list", "--format", "terse"])
            .args(more)
            .output()
            .with_context(|| format!("failed to start {}", program.path.display()))?;
        ensure!(
            output.status.success(),
            "{} does not list its tests",
            program.path.display()
        );
        let text = String::from_utf8(output.stdout).context("a test has no name in UTF-8")?;
        let names = text.lines().filter_map(|line| line.strip_suffix(": test"));
        Ok(names.map(str::to_owned).collect())
    };
    let ignored = list(&["--ignored"])?;
    let all = list(&[])?;
    Ok(all.difference(&ignored).cloned().collect())
}

fn lock<T>(value: &Mutex<T>) -> std::sync::MutexGuard<'_, T> {
    value
        .lock()
        .unwrap_or_else(std::sync::PoisonError::into_inner)
}
