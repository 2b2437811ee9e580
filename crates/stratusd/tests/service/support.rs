//! What the tests of the service share: a database of either kind, the service as a process, and a caller.

pub mod bare;
pub mod caller;
pub mod cluster;
pub mod inventory;
pub mod process;

use std::path::Path;
use std::time::{Duration, Instant};

use cluster::Cluster;
use tempfile::TempDir;

/// How long a test waits for what must come. Only a failure takes so long; a busy machine gets its time.
pub const PATIENCE: Duration = Duration::from_mins(2);

/// Asks again and again until there is an answer; `None` if there is none in good time.
pub async fn eventually<T>(mut ask: impl AsyncFnMut() -> Option<T>) -> Option<T> {
    let start = Instant::now();
    loop {
        match ask().await {
            None if start.elapsed() < PATIENCE => {
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            answer => return answer,
        }
    }
}

/// Where a service under test keeps everything.
pub struct Home {
    /// A folder of its own.
    pub folder: TempDir,
    /// The database's URL.
    pub database_url: String,
    /// Dropped last, with whatever connects gone.
    _cluster: Option<Cluster>,
}

impl Home {
    /// A home with an SQLite file.
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

    /// A home with a PostgreSQL database of its own, or none where the tests run without.
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

    /// A home on a server of its own with these settings and files, which the test may stop; none where the tests run
    /// without.
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

    /// The file of keys.
    pub fn keys(&self) -> std::path::PathBuf {
        self.path().join("keys")
    }

    /// The folder.
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

        $(async fn $name($home: Home) $body)*
    };
}
