//! Runs one test in a process of its own, and ends it when it takes too long.

use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::process::CommandExt as _;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};
use std::{env, fs, io, process, thread};

/// A test to run.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Run<'r> {
    /// The program with the test.
    pub(crate) program: &'r Path,
    /// The name of the test.
    pub(crate) test: &'r str,
    /// The folder of the package.
    pub(crate) folder: &'r Path,
    /// The fault that is switched on, if one is.
    pub(crate) fault: Option<usize>,
    /// The file for the faults that the test reaches, if they are wanted.
    pub(crate) reached: Option<&'r Path>,
}

/// When a test counts as one that does not end.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Limit {
    pub(crate) time: Duration,
    /// The CPU time of its process, without those that it starts.
    pub(crate) cpu: Duration,
}

/// How a test ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Ending {
    Passed,
    Failed,
    /// It was ended.
    Late,
}

/// What came of running a test.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ran {
    pub(crate) ending: Ending,
    pub(crate) took: Duration,
    /// The CPU time of its process, as far as it is known.
    pub(crate) cpu: Duration,
}

impl Run<'_> {
    /// Runs the test in a process group of its own, with what it starts.
    ///
    /// # Errors
    ///
    /// If it cannot be started, which says nothing about a fault.
    pub(crate) fn within(self, limit: Limit) -> io::Result<Ran> {
        wait_for_room();
        let folder = TestFolder::new()?;
        let mut command = Command::new(self.program);
        command
            .args(["--exact", self.test])
            .current_dir(self.folder)
            .env("CARGO_MANIFEST_DIR", self.folder)
            .env("TMPDIR", &folder.0)
            .env_remove("SEEDED_FAULT")
            .env_remove("SEEDED_FAULTS_REACHED")
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .process_group(0);
        if let Some(fault) = self.fault {
            command.env("SEEDED_FAULT", fault.to_string());
        }
        if let Some(reached) = self.reached {
            command.env("SEEDED_FAULTS_REACHED", reached);
        }
        let mut child = command.spawn()?;
        let group = child.id();
        let began = Instant::now();
        let mut cpu = Duration::ZERO;
        let ending = loop {
            match child.try_wait() {
                Ok(Some(status)) if status.success() => break Ending::Passed,
                Ok(Some(_)) => break Ending::Failed,
                Err(error) => return Err(error),
                Ok(None) if began.elapsed() > limit.time || cpu > limit.cpu => break Ending::Late,
                Ok(None) => thread::sleep(Duration::from_millis(10)),
            }
            cpu = cpu_time(group).unwrap_or(cpu);
        };
        let took = began.elapsed();
        // What the test has started and left, such as a database.
        let _ = Command::new("kill")
            .args(["-KILL", "--", &format!("-{group}")])
            .stderr(Stdio::null())
            .status();
        let _ = child.wait();
        Ok(Ran { ending, took, cpu })
    }
}

/// The folder for the temporary files of a test, which would stay if the test is ended.
struct TestFolder(PathBuf);

impl TestFolder {
    fn new() -> io::Result<Self> {
        static COUNT: AtomicUsize = AtomicUsize::new(0);
        // Short, since the paths of sockets are.
        let name = format!(
            "f{}-{}",
            process::id(),
            COUNT.fetch_add(1, Ordering::Relaxed)
        );
        let folder = env::temp_dir().join(name);
        fs::create_dir(&folder)?;
        // Databases run as another user.
        fs::set_permissions(&folder, fs::Permissions::from_mode(0o755))?;
        Ok(Self(folder))
    }

    /// Ends the processes that are at work in the folder, which may have left the group of the test.
    fn end_all(&self) {
        for process in fs::read_dir("/proc").into_iter().flatten().flatten() {
            let works_here = fs::read_link(process.path().join("cwd"))
                .is_ok_and(|folder| folder.starts_with(&self.0));
            if works_here {
                let _ = Command::new("kill")
                    .arg("-KILL")
                    .arg(process.file_name())
                    .stderr(Stdio::null())
                    .status();
            }
        }
    }
}

impl Drop for TestFolder {
    fn drop(&mut self) {
        self.end_all();
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// Waits while many threads want to run, for a time: most tests wait most of the time, but some do not, and
/// what is late because of others looks as if it did not end.
fn wait_for_room() {
    let cores = thread::available_parallelism().map_or(1, usize::from);
    for _ in 0..100 {
        let load = fs::read_to_string("/proc/loadavg").unwrap_or_default();
        // The fourth field is the number of threads that run or want to, of all threads.
        let running = load
            .split_whitespace()
            .nth(3)
            .and_then(|it| it.split('/').next()?.parse().ok());
        if running.is_none_or(|running: usize| running <= cores * 5) {
            return;
        }
        thread::sleep(Duration::from_millis(100));
    }
}

/// Returns the CPU time of all threads of a process, if the system says it.
fn cpu_time(process: u32) -> Option<Duration> {
    let text = fs::read_to_string(format!("/proc/{process}/stat")).ok()?;
    // The name of the program is in parentheses, and may have spaces.
    let (_, fields) = text.rsplit_once(')')?;
    let mut times = fields.split_whitespace().skip(11);
    let user: u64 = times.next()?.parse().ok()?;
    let system: u64 = times.next()?.parse().ok()?;
    // Linux reports hundredths of seconds to programs on all common processors.
    Some(Duration::from_millis((user + system) * 10))
}
