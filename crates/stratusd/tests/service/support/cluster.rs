//! A private PostgreSQL server, from the binaries on the machine.

// The benchmarks include this file by its path.
#[path = "cluster/binaries.rs"]
pub mod binaries;
#[path = "cluster/template.rs"]
mod template;

use std::io::{BufRead, BufReader, Write};
use std::net::TcpListener;
use std::os::unix::fs::{PermissionsExt, chown};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use tempfile::TempDir;

pub use binaries::binary;

/// How long a server may take to start on a busy machine, in seconds.
const PATIENCE: u64 = 120;

/// The condition that a row of `pg_locks` belongs to a backend of the same database. Other tests may
/// use other databases of the server. The locks on transactions, for which a row is waited for, name
/// no database themselves.
pub const HERE: &str = "pid IN (SELECT pid FROM pg_locks WHERE database = \
                        (SELECT oid FROM pg_database WHERE datname = current_database()))";

/// A PostgreSQL server, stopped when it is dropped.
pub struct Cluster {
    folder: TempDir,
    port: u16,
    settings: Vec<String>,
    user: Unprivileged,
    server: Child,
}

/// Returns the URL of an empty database, on the server that `STRATUS_TEST_POSTGRES_URL` names, else
/// on a new one. Returns `None` if `STRATUS_TEST_NO_POSTGRES` is set.
///
/// # Panics
///
/// If there is no server, and no binaries to start one.
pub fn database() -> Option<(String, Option<Cluster>)> {
    if is_left_out() {
        return None;
    }
    if let Ok(url) = std::env::var("STRATUS_TEST_POSTGRES_URL") {
        return Some((fresh_database(&url), None));
    }
    let settings = [
        ("fsync", "off"),
        ("synchronous_commit", "off"),
        ("full_page_writes", "off"),
    ];
    let cluster = Cluster::start_with(&settings, &[]);
    Some((cluster.url(), Some(cluster)))
}

/// Returns the folder whose files are in memory, where there is one with enough room for several servers.
/// A server has a thousand files, and to create so many on a disk may take longer than the test.
///
/// Returns `None` if `TMPDIR` is set: who sets it may end the test, and then remove what it has left there.
fn memory() -> Option<PathBuf> {
    const ENOUGH: u64 = 4 << 30;
    if std::env::var_os("TMPDIR").is_some() {
        return None;
    }
    let folder = PathBuf::from("/dev/shm");
    let system = rustix::fs::statvfs(&folder).ok()?;
    (system.f_bavail.saturating_mul(system.f_frsize) >= ENOUGH).then_some(folder)
}

/// Returns whether to run without PostgreSQL, and prints a note if so.
pub fn is_left_out() -> bool {
    let is_left_out = std::env::var_os("STRATUS_TEST_NO_POSTGRES").is_some();
    if is_left_out {
        eprintln!("skipped: STRATUS_TEST_NO_POSTGRES is set");
    }
    is_left_out
}

/// Creates a database on a given server.
fn fresh_database(url: &str) -> String {
    let name = format!("stratus_test_{}_{}", std::process::id(), free_port());
    let made = Command::new(binary("psql"))
        .args([url, "-qc", &format!("CREATE DATABASE {name}")])
        .status();
    assert!(
        made.is_ok_and(|status| status.success()),
        "failed to make a database by STRATUS_TEST_POSTGRES_URL"
    );
    let (base, query) = url.split_once('?').unwrap_or((url, ""));
    let (server, _) = base.rsplit_once('/').expect("the URL names a database");
    if query.is_empty() {
        format!("{server}/{name}")
    } else {
        format!("{server}/{name}?{query}")
    }
}

impl Cluster {
    /// Starts a server with settings, and with files in its data folder that only it can read. Its data
    /// is in memory if there is enough.
    pub fn start_with(settings: &[(&str, &str)], files: &[(&str, &str)]) -> Self {
        let parent = memory().unwrap_or_else(std::env::temp_dir);
        Self::start_in(&parent, settings, files)
    }

    /// Does what [`Self::start_with`] does, with a new folder in another one for its data.
    pub fn start_in(parent: &Path, settings: &[(&str, &str)], files: &[(&str, &str)]) -> Self {
        let folder = tempfile::tempdir_in(parent).expect("a folder can be made");
        std::fs::set_permissions(folder.path(), PermissionsExt::from_mode(0o755))
            .expect("the test owns the folder");
        let data = folder.path().join("data");
        let user = Unprivileged::current(folder.path());
        template::copy_to(&data, &user);
        for (name, content) in files {
            let file = data.join(name);
            std::fs::write(&file, content).expect("the folder is writable");
            std::fs::set_permissions(&file, PermissionsExt::from_mode(0o600))
                .expect("the test owns the file");
            chown(&file, user.0, user.0).expect("root may give files away");
        }
        let settings = settings
            .iter()
            .map(|(name, value)| format!("{name}={value}"))
            .collect::<Vec<_>>();
        let port = free_port();
        let server = launch(&folder, port, &settings, &user);
        let mut cluster = Self {
            folder,
            port,
            settings,
            user,
            server,
        };
        // Another process may have bound the port in between.
        while !cluster.is_up() {
            assert!(
                cluster.log().contains("Address already in use"),
                "PostgreSQL does not start:\n{}",
                cluster.log()
            );
            cluster.port = free_port();
            cluster.server = launch(
                &cluster.folder,
                cluster.port,
                &cluster.settings,
                &cluster.user,
            );
        }
        cluster
    }

    /// Stops the server as an administrator would, even while clients are connected.
    pub fn stop(&mut self) {
        // A paused server would not receive the signal.
        self.signal("CONT");
        // A fast shutdown; a kill would leave its children behind.
        let _ = Command::new("kill")
            .args(["-INT", &self.server.id().to_string()])
            .status();
        let _ = self.server.wait();
    }

    /// Starts a server that was stopped.
    pub fn start_again(&mut self) {
        self.server = launch(&self.folder, self.port, &self.settings, &self.user);
        assert!(
            self.is_up(),
            "PostgreSQL does not start again:\n{}",
            self.log()
        );
    }

    /// Returns the port that it listens on.
    pub fn port(&self) -> u16 {
        self.port
    }

    /// Returns the URL of its database.
    pub fn url(&self) -> String {
        format!("postgres://stratus@127.0.0.1:{}/postgres", self.port)
    }

    /// Runs statements as the administrator. Returns what they print, without headers, or the error.
    pub fn ask(&self, sql: &str) -> Result<String, String> {
        ask(&self.url(), sql)
    }

    /// Locks a table against all others until the session is dropped.
    pub fn lock(&self, table: &str) -> Session {
        Session::with_locked(&self.url(), table, "ACCESS EXCLUSIVE")
    }

    /// Sends a signal to the server and all of its processes.
    pub fn signal(&self, signal: &str) {
        let children = Command::new("pgrep")
            .args(["-P", &self.server.id().to_string()])
            .output();
        let children = children.expect("`pgrep` is installed").stdout;
        let server = self.server.id().to_string();
        let all = std::iter::once(&*server).chain(
            std::str::from_utf8(&children)
                .expect("`pgrep` prints numbers")
                .lines(),
        );
        let _ = Command::new("kill")
            .arg(format!("-{signal}"))
            .args(all)
            .status();
    }

    /// Returns how many backends there are that have not finished to start, or that run a statement.
    pub fn busy_backends(&self) -> usize {
        let children = Command::new("pgrep")
            .args(["-P", &self.server.id().to_string(), "-a"])
            .output();
        let children = children.expect("`pgrep` is installed").stdout;
        let children = String::from_utf8_lossy(&children);
        // Such as `postgres: stratus postgres 127.0.0.1(5432) authentication`.
        let is_busy = |line: &&str| line.contains("127.0.0.1(") && !line.contains("idle");
        children.lines().filter(is_busy).count()
    }

    /// Returns the log of the server.
    pub fn log(&self) -> String {
        std::fs::read_to_string(self.folder.path().join("log")).unwrap_or_default()
    }

    /// Waits until the server accepts connections. Returns `false` if it has ended instead.
    fn is_up(&mut self) -> bool {
        let start = Instant::now();
        loop {
            let mut ask = Command::new(binary("pg_isready"));
            let asked = ask
                .args(["-q", "-h", "127.0.0.1", "-p", &self.port.to_string()])
                .status();
            if self
                .server
                .try_wait()
                .expect("the server was started")
                .is_some()
            {
                return false;
            }
            if asked.is_ok_and(|status| status.success()) {
                return true;
            }
            assert!(
                start.elapsed().as_secs() < PATIENCE,
                "PostgreSQL does not start:\n{}",
                self.log()
            );
            std::thread::sleep(Duration::from_millis(50));
        }
    }
}

/// A session beside the service, in a transaction that is rolled back when it is dropped.
pub struct Session {
    psql: Child,
    input: Option<ChildStdin>,
    output: BufReader<ChildStdout>,
}

impl Session {
    /// Begins a session at a URL that holds a lock on a table, in a mode such as `SHARE`, which
    /// keeps others from writing to the table.
    pub fn with_locked(url: &str, table: &str, mode: &str) -> Self {
        let mut psql = psql(url)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .expect("psql starts");
        let mut session = Self {
            input: psql.stdin.take(),
            output: BufReader::new(psql.stdout.take().expect("it is piped")),
            psql,
        };
        let lock = format!("BEGIN; LOCK TABLE {table} IN {mode} MODE; SELECT 'locked'");
        assert_eq!(session.ask(&lock), "locked");
        session
    }

    /// Runs statements that return one row, and returns that row.
    pub fn ask(&mut self, sql: &str) -> String {
        let input = self.input.as_mut().expect("the session is open");
        writeln!(input, "{sql};").expect("psql reads its input");
        let mut row = String::new();
        self.output.read_line(&mut row).expect("psql prints text");
        row.trim().to_owned()
    }

    /// Waits until a condition holds, such as one on `pg_locks`, which shows the current state also
    /// within a transaction. Returns whether it did before `patience` was over.
    pub async fn sees(&mut self, condition: &str, patience: Duration) -> bool {
        let begun = Instant::now();
        while self.ask(&format!("SELECT {condition}")) != "t" {
            if begun.elapsed() > patience {
                return false;
            }
            tokio::time::sleep(Duration::from_millis(2)).await;
        }
        true
    }
}

impl Drop for Session {
    fn drop(&mut self) {
        // psql ends with its input, and the server rolls its transaction back.
        self.input.take();
        let _ = self.psql.wait();
    }
}

/// Runs statements at a URL. Returns what they print, without headers, or the error.
pub fn ask(url: &str, sql: &str) -> Result<String, String> {
    let output = psql(url).args(["-c", sql]).output().expect("psql starts");
    if output.status.success() {
        Ok(String::from_utf8_lossy(&output.stdout).trim().to_owned())
    } else {
        Err(String::from_utf8_lossy(&output.stderr).into_owned())
    }
}

fn psql(url: &str) -> Command {
    let mut command = Command::new(binary("psql"));
    command.args([url, "-qAtX", "-v", "ON_ERROR_STOP=1"]);
    command
}

impl Drop for Cluster {
    fn drop(&mut self) {
        self.stop();
    }
}

fn launch(folder: &TempDir, port: u16, settings: &[String], user: &Unprivileged) -> Child {
    let mut server = Command::new(binary("postgres"));
    server.arg("-D").arg(folder.path().join("data")).args([
        "-h",
        "127.0.0.1",
        "-p",
        &port.to_string(),
        "-k",
        "",
    ]);
    for setting in settings {
        server.args(["-c", setting]);
    }
    let log = std::fs::File::options()
        .create(true)
        .append(true)
        .open(folder.path().join("log"));
    let log = log.expect("the folder is writable");
    user.run(server.stdout(Stdio::null()).stderr(log))
        .spawn()
        .expect("postgres starts")
}

/// The user that PostgreSQL runs as. It refuses to run as root.
struct Unprivileged(Option<u32>);

impl Unprivileged {
    /// Returns the owner of a new folder, who is the current user, or `nobody` if that is root.
    fn current(folder: &Path) -> Self {
        const NOBODY: u32 = 65534;
        let folder = folder.metadata().expect("the folder exists");
        let is_root = std::os::unix::fs::MetadataExt::uid(&folder) == 0;
        Self(is_root.then_some(NOBODY))
    }

    fn run<'c>(&self, command: &'c mut Command) -> &'c mut Command {
        match self.0 {
            Some(id) => command.uid(id).gid(id),
            None => command,
        }
    }
}

/// Returns a port that is free.
pub fn free_port() -> u16 {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    listener
        .local_addr()
        .expect("a listener has an address")
        .port()
}
