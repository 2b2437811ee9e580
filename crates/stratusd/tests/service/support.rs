//! Support for the tests of the service: databases of both kinds, the service as a process, and a
//! caller.

pub mod balancing;
pub mod bare;
pub mod caller;
pub mod cluster;
pub mod disk;
pub mod inventory;
#[cfg(target_os = "linux")]
pub mod lab;
pub mod process;
pub mod provisioner;
pub mod proxy;
pub mod servers;
#[cfg(target_os = "linux")]
pub mod sockets;
pub mod whole;

use std::path::Path;
use std::time::{Duration, Instant};

use cluster::Cluster;
use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use rcgen::{CertifiedKey, KeyPair};
use tempfile::TempDir;

/// How long a test waits for an event that must happen. Long, because the machine may be busy; only
/// a failure takes this long.
pub const PATIENCE: Duration = Duration::from_mins(5);

/// Polls until there is a result. Returns `None` if there is none within [`PATIENCE`].
pub async fn eventually<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        match ask().await {
            None if start.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            response => return response,
        }
    }
}

/// Says that a test is left out for what the machine lacks.
///
/// # Panics
///
/// In CI, and where `STRATUS_TEST_ALL` is set, as the run of CI that is like a newcomer's has it: a test
/// that is left out looks like one that has passed.
pub fn leave_out(lack: &str) {
    let mut demands = ["CI", "STRATUS_TEST_ALL"].into_iter();
    let demand = demands.find(|name| std::env::var_os(name).is_some());
    assert!(
        demand.is_none(),
        "{demand:?} is set, so nothing may be left out, but {lack}"
    );
    eprintln!("skipped: {lack}");
}

/// Returns the number in a variable of the environment, such as `STRATUS_SEED`, if it is set.
pub fn variable(name: &str) -> Option<u64> {
    let text = std::env::var(name).ok()?;
    Some(text.parse().expect("it is a number"))
}

/// The settings of a service that has the certificate of [`Home::issue`].
pub const TLS: [&str; 4] = ["--tls-certificate", "cert.pem", "--tls-key", "key.pem"];

/// The folder and the database of a service under test.
pub struct Home {
    /// A temporary folder.
    pub folder: TempDir,
    /// The URL of the database.
    pub database_url: String,
    /// The server of the database, dropped after all connections to it.
    _cluster: Option<Cluster>,
}

impl Home {
    /// Creates a home with an SQLite file.
    pub fn sqlite() -> Self {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let database_url = format!("sqlite://{}", folder.path().join("stratus.db").display());
        Self {
            folder,
            database_url,
            _cluster: None,
        }
        .with_keys()
    }

    /// Issues a certificate for `localhost`, which it signs itself, and writes it to `cert.pem` and its
    /// key to `key.pem`, in place of those that are there.
    pub fn issue(&self) -> CertifiedKey<KeyPair> {
        let issued = rcgen::generate_simple_self_signed(["localhost".to_owned()]);
        let issued = issued.expect("a certificate can be made");
        for (file, text) in [
            ("cert.pem", issued.cert.pem()),
            ("key.pem", issued.signing_key.serialize_pem()),
        ] {
            std::fs::write(self.path().join(file), text).expect("the folder is writable");
        }
        issued
    }

    /// Opens the SQLite file beside the service.
    pub fn open_sqlite(&self) -> SqliteConnection {
        let file = self.database_url.strip_prefix("sqlite://");
        let file = file.expect("the store is a SQLite file");
        let mut connection = SqliteConnection::establish(file).expect("the SQLite file opens");
        // The service may be writing at the moment.
        let patient = "PRAGMA busy_timeout = 5000";
        connection
            .batch_execute(patient)
            .expect("the time limit can be set");
        connection
    }

    /// Creates a home with a new PostgreSQL database. Returns `None` if the tests run without
    /// PostgreSQL.
    pub fn postgres() -> Option<Self> {
        let folder = tempfile::tempdir().expect("a folder can be made");
        let (database_url, cluster) = cluster::database()?;
        Some(
            Self {
                folder,
                database_url,
                _cluster: cluster,
            }
            .with_keys(),
        )
    }

    /// Creates a home with a new PostgreSQL server, which the test may stop, with settings and
    /// files. Returns `None` if the tests run without PostgreSQL.
    pub fn on_server(settings: &[(&str, &str)], files: &[(&str, &str)]) -> Option<(Self, Cluster)> {
        if cluster::is_left_out() {
            return None;
        }
        let cluster = Cluster::start_with(settings, files);
        Some((
            Self {
                database_url: cluster.url(),
                ..Self::sqlite()
            },
            cluster,
        ))
    }

    fn with_keys(self) -> Self {
        // Any 32 bytes are a key.
        std::fs::write(
            self.keys(),
            "MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY=\n",
        )
        .expect("the folder is writable");
        self
    }

    /// Returns the path of the file of keys.
    pub fn keys(&self) -> std::path::PathBuf {
        self.path().join("keys")
    }

    /// Returns the path of the folder.
    pub fn path(&self) -> &Path {
        self.folder.path()
    }
}

/// Runs a test on SQLite and on PostgreSQL.
#[macro_export]
macro_rules! on_both {
    ($($(#[$attribute:meta])* async fn $name:ident($home:ident: Home) $body:block)*) => {
        mod on_sqlite {
            use super::*;
            $(
                $(#[$attribute])*
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    super::$name(Home::sqlite()).await;
                }
            )*
        }

        mod on_postgres {
            use super::*;
            $(
                $(#[$attribute])*
                #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
                async fn $name() {
                    if let Some(home) = Home::postgres() {
                        super::$name(home).await;
                    }
                }
            )*
        }

        $(
            #[allow(clippy::too_many_lines, reason = "a test tells a whole story")]
            async fn $name($home: Home) $body
        )*
    };
}
