//! Runs tests: all without a fault, to see how long each takes and which faults it reaches, and then
//! for each fault those that reach it.

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

use crate::experience::{Experience, Said};
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
/// The first pass: a few quick tests for every fault, since most faults are noticed by one of them.
const QUICK: Pass = Pass {
    most: 25,
    longest: Duration::from_secs(4),
};
/// The second pass: those of the other tests that are most likely to notice the fault for their time. All
/// slow tests for every fault that quick ones miss would take hours.
const LIKELY: Pass = Pass {
    most: 25,
    longest: Duration::MAX,
};
/// The last pass: all that is left.
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
    /// The most tests that it runs.
    most: usize,
    /// Tests that take longer without a fault are left to the next pass.
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
    /// The faults that it reaches, by index.
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
    /// Where the lists of what tests reach are kept for a moment.
    pub(crate) scratch: PathBuf,
    /// The number of tests that run at once.
    pub(crate) jobs: usize,
}

impl Trial {
    /// Runs without a fault every test whose name contains one of the words, or every test if there are
    /// none. Returns those that pass, the quickest first, and the names of the others.
    ///
    /// # Errors
    ///
    /// If no test has such a name, or a test cannot be started.
    pub(crate) fn all(
        &self,
        programs: &[TestProgram],
        words: &[String],
    ) -> anyhow::Result<(Vec<Test>, Vec<String>)> {
        fs::create_dir_all(&self.scratch).context("a folder cannot be made")?;
        let is_chosen =
            |name: &String| words.is_empty() || words.iter().any(|word| name.contains(word));
        let mut listed = Vec::new();
        for program in programs {
            let chosen = names(program)?.into_iter().filter(is_chosen);
            listed.extend(chosen.map(|name| (program, name)));
        }
        ensure!(!listed.is_empty(), "no test has such a name");
        let (passed, failed) = (Mutex::new(Vec::new()), Mutex::new(Vec::new()));
        self.each(listed.len(), &|at| {
            let (program, name) = &listed[at];
            let reached = self.scratch.join(format!("{at}.txt"));
            let run = Run {
                program: &program.path,
                test: name,
                folder: &self.folder,
                fault: None,
                reached: Some(&reached),
            };
            let ran = run.within(LONGEST)?;
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
            Ok(())
        })?;
        let mut passed = passed.into_inner().unwrap_or_default();
        passed.sort_by_key(|test| test.takes);
        Ok((passed, failed.into_inner().unwrap_or_default()))
    }

    /// Runs the tests that reach each of the faults, until one notices it. Tells `report` each verdict, with
    /// the number of tests that were run. `all` is the number of faults that the tests can reach.
    ///
    /// # Errors
    ///
    /// If a test cannot be started, or `report` fails. Then no other test is started.
    pub(crate) fn judge(
        &self,
        faults: &[(usize, &Fault)],
        all: usize,
        tests: &[Test],
        report: &(dyn Fn(usize, Verdict, usize) -> anyhow::Result<()> + Sync),
    ) -> anyhow::Result<()> {
        let experience = Mutex::new(Experience::new(all));
        let own = |index| (0..tests.len()).filter(move |at| tests[*at].reached.contains(&index));
        // The tests that have not been run yet, for each fault.
        let left: Vec<Mutex<Vec<usize>>> = faults
            .iter()
            .map(|(index, _)| Mutex::new(own(*index).collect()))
            .collect();
        let judge = |at: usize, pass: Pass| -> anyhow::Result<Option<Verdict>> {
            let fault = faults[at];
            let mut left = lock(&left[at]);
            let is_now = |test: &usize| tests[*test].takes <= pass.longest;
            let (mut now, later): (Vec<_>, Vec<_>) = left.drain(..).partition(is_now);
            let mut verdict = None;
            for _ in 0..pass.most {
                let Some(test) = lock(&experience).next(fault.1, tests, &mut now) else {
                    break;
                };
                verdict = self.ask(fault, (test, &tests[test]), &experience)?;
                if verdict.is_some() {
                    break;
                }
            }
            left.extend(now.into_iter().chain(later));
            Ok(verdict.or_else(|| left.is_empty().then_some(Verdict::Missed)))
        };
        let later: Mutex<Vec<usize>> = Mutex::default();
        let judged = |at: usize, pass: Pass| {
            let (index, fault) = faults[at];
            let verdict = judge(at, pass)?;
            let count = own(index).count() - lock(&left[at]).len();
            if let Some(verdict) = verdict {
                return report(index, verdict, count);
            }
            println!("not noticed by {count} tests yet: {}", fault.name);
            lock(&later).push(at);
            Ok(())
        };
        let mut now: Vec<usize> = (0..faults.len()).collect();
        for pass in [QUICK, LIKELY, REST] {
            self.each(now.len(), &|at| judged(now[at], pass))?;
            now = std::mem::take(&mut *lock(&later));
        }
        Ok(())
    }

    /// Runs a test with a fault, and returns no verdict if it passes.
    ///
    /// Some tests fail once in a while without any fault. So one that fails is run again, and then once
    /// without the fault, unless it has noticed others of the same function.
    fn ask(
        &self,
        (index, fault): (usize, &Fault),
        (at, test): (usize, &Test),
        experience: &Mutex<Experience>,
    ) -> anyhow::Result<Option<Verdict>> {
        let run = Run {
            program: &test.program,
            test: &test.name,
            folder: &self.folder,
            fault: Some(index),
            reached: None,
        };
        let limit = Limit {
            time: test.takes * SLOWER + LEAST_TIMEOUT,
            cpu: test.cpu * BUSIER + LEAST_CPU,
        };
        let first = run.within(limit)?;
        let mut said = match first.ending {
            Ending::Passed => Said::Nothing,
            Ending::Failed | Ending::Late => Said::Once,
        };
        if said == Said::Once && !lock(experience).is_trusted(fault, at) {
            let without = Run { fault: None, ..run };
            let is_certain = run.within(limit)?.ending != Ending::Passed
                && without.within(limit)?.ending == Ending::Passed;
            said = if is_certain {
                Said::Certainly
            } else {
                Said::Nothing
            };
        }
        lock(experience).note(fault, at, said, first.took);
        Ok(match (said, first.ending) {
            (Said::Nothing, _) => None,
            (_, Ending::Late) => Some(Verdict::Timeout),
            _ => Some(Verdict::Caught),
        })
    }

    /// Does so many pieces of work, several at once, until one fails.
    fn each(
        &self,
        count: usize,
        work: &(dyn Fn(usize) -> anyhow::Result<()> + Sync),
    ) -> anyhow::Result<()> {
        let next = AtomicUsize::new(0);
        let failed = Mutex::new(None);
        thread::scope(|scope| {
            for _ in 0..self.jobs {
                scope.spawn(|| {
                    loop {
                        let at = next.fetch_add(1, Ordering::Relaxed);
                        if at >= count {
                            return;
                        }
                        if let Err(error) = work(at) {
                            next.store(count, Ordering::Relaxed);
                            lock(&failed).get_or_insert(error);
                        }
                    }
                });
            }
        });
        lock(&failed).take().map_or(Ok(()), Err)
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
