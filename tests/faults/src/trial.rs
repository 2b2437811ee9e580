//! Runs tests: all without a fault, to see how long each takes and which faults it comes by, and then
//! for each fault those that come by it.

use std::cmp::Reverse;
use std::collections::{BTreeSet, HashMap};
use std::fs;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, ensure};

use crate::fault::Fault;
use crate::tree::TestProgram;

/// How much longer than without a fault a test may take, before it counts as one that does not end.
const SLOWER: u32 = 4;
/// What is added to that: beside others, a short test may take much longer.
const LEAST_TIMEOUT: Duration = Duration::from_secs(20);
/// How long a test may take without a fault.
const LONGEST: Duration = Duration::from_secs(600);

/// A test that passes without a fault.
#[derive(Debug, Clone)]
pub(crate) struct Test {
    program: PathBuf,
    pub(crate) name: String,
    takes: Duration,
    /// The faults that it comes by.
    reached: BTreeSet<usize>,
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

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Ending {
    Passed,
    Failed,
    Late,
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
            let began = Instant::now();
            let watch = Some(reached.as_path());
            let ending = self.run(&program.path, name, None, watch, LONGEST);
            let takes = began.elapsed();
            let text = fs::read_to_string(&reached).unwrap_or_default();
            let _ = fs::remove_file(&reached);
            if ending == Ending::Passed {
                lock(&passed).push(Test {
                    program: program.path.clone(),
                    name: name.clone(),
                    takes,
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

    /// Runs the tests that come by each of the faults, until one fails. Tells `report` each verdict, with
    /// the number of tests that were run.
    pub(crate) fn judge(
        &self,
        faults: &[(usize, &Fault)],
        tests: &[Test],
        report: &(dyn Fn(usize, Verdict, usize) + Sync),
    ) {
        // The tests that have noticed a fault in a file, the last one first.
        let noticed: Mutex<HashMap<&str, Vec<usize>>> = Mutex::new(HashMap::new());
        self.each(faults.len(), &|at| {
            let (index, fault) = faults[at];
            let before = lock(&noticed).get(fault.file.as_str()).cloned();
            let order = order(index, fault, tests, &before.unwrap_or_default());
            let mut verdict = Verdict::Missed;
            let mut count = 0;
            for own in order {
                let test = &tests[own];
                count += 1;
                let most = test.takes * SLOWER + LEAST_TIMEOUT;
                let run = || self.run(&test.program, &test.name, Some(index), None, most);
                verdict = match run() {
                    Ending::Late => Verdict::Timeout,
                    // Some tests fail once in a while without any fault.
                    Ending::Failed if run() != Ending::Passed => Verdict::Caught,
                    Ending::Passed | Ending::Failed => continue,
                };
                let mut noticed = lock(&noticed);
                let known = noticed.entry(&fault.file).or_default();
                known.retain(|other| *other != own);
                known.insert(0, own);
                break;
            }
            report(index, verdict, count);
        });
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

    /// Runs a test in a process group of its own, with what it starts.
    fn run(
        &self,
        program: &Path,
        name: &str,
        fault: Option<usize>,
        reached: Option<&Path>,
        most: Duration,
    ) -> Ending {
        let mut command = Command::new(program);
        command
            .args(["--exact", name])
            .current_dir(&self.folder)
            .env("CARGO_MANIFEST_DIR", &self.folder)
            .env_remove("SEEDED_FAULT")
            .env_remove("SEEDED_FAULTS_REACHED")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        if let Some(fault) = fault {
            command.env("SEEDED_FAULT", fault.to_string());
        }
        if let Some(reached) = reached {
            command.env("SEEDED_FAULTS_REACHED", reached);
        }
        let Ok(mut child) = command.spawn() else {
            return Ending::Failed;
        };
        let group = child.id();
        let began = Instant::now();
        let ending = loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => break Ending::Passed,
                Ok(Some(_)) | Err(_) => break Ending::Failed,
                Ok(None) if began.elapsed() > most => break Ending::Late,
                Ok(None) => thread::sleep(Duration::from_millis(5)),
            }
        };
        // What the test has started and left, such as a database.
        let _ = Command::new("kill")
            .args(["-KILL", "--", &format!("-{group}")])
            .stderr(Stdio::null())
            .status();
        let _ = child.wait();
        ending
    }
}

/// Returns the tests that come by a fault, by index, those that probably notice it first: those that have
/// noticed others in its file, then those whose names have a word of its own, and then the quickest.
fn order(index: usize, fault: &Fault, tests: &[Test], before: &[usize]) -> Vec<usize> {
    let words = fault.words();
    let mut own: Vec<usize> = (0..tests.len())
        .filter(|at| tests[*at].reached.contains(&index))
        .collect();
    own.sort_by_cached_key(|at| {
        let test = &tests[*at];
        let rank = before.iter().position(|other| other == at);
        let shared = words.iter().filter(|word| test.name.contains(*word));
        (
            rank.unwrap_or(usize::MAX),
            Reverse(shared.count()),
            test.takes,
        )
    });
    own
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
