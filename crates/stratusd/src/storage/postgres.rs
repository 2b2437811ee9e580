//! PostgreSQL: a transaction for each change, run again when a concurrent one got in between.

use std::time::Duration;

use futures_util::future::BoxFuture;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use tokio_util::task::TaskTracker;

use super::job::{Job, Ran};
use super::reader::Held;
use super::{Backend, Connection, Reader, StorageError, migrate};

/// How often a change is run at most before it is refused as a conflict.
const RUNS: u32 = 8;
/// How long a change waits for a connection before it is refused as unavailable.
const WAIT: Duration = Duration::from_secs(5);

pub(super) struct Postgres {
    pool: PgPool,
    /// Changes on their way, so that closing waits for them.
    tasks: TaskTracker,
}

impl Postgres {
    pub(super) async fn open(url: &str, connections: u32) -> Result<Self, StorageError> {
        let options: PgConnectOptions = url.parse()?;
        let options = options.application_name("stratusd").statement_cache_capacity(256);
        // A connection is looked at when it is given back; to ask again when it is taken would cost each request a
        // round trip more.
        let pool = PgPoolOptions::new().max_connections(connections).acquire_timeout(WAIT).test_before_acquire(false);
        let pool = pool.connect_with(options).await?;
        migrate::postgres(&pool).await?;
        Ok(Self { pool, tasks: TaskTracker::new() })
    }
}

impl Backend for Postgres {
    fn reader(&self) -> BoxFuture<'_, Result<Reader, StorageError>> {
        Box::pin(async { Ok(Reader(Held::Postgres(self.pool.acquire().await?))) })
    }

    fn snapshot(&self) -> BoxFuture<'_, Result<Reader, StorageError>> {
        Box::pin(async {
            let begun = self.pool.begin_with("BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY").await?;
            Ok(Reader(Held::PostgresSnapshot(begun)))
        })
    }

    fn submit(&self, mut job: Box<dyn Job>) {
        let pool = self.pool.clone();
        self.tasks.spawn(async move {
            let committed = run(&pool, &mut *job).await;
            job.answer(committed);
        });
    }

    fn close(&self) -> BoxFuture<'_, ()> {
        Box::pin(async {
            self.tasks.close();
            self.tasks.wait().await;
            self.pool.close().await;
        })
    }
}

/// Runs a job until no concurrent change gets in between.
async fn run(pool: &PgPool, job: &mut dyn Job) -> Result<(), StorageError> {
    let mut runs = 1;
    loop {
        match once(pool, job).await {
            Err(StorageError::Conflict) if runs < RUNS => {
                // Those in each other's way step aside for differently long.
                let jitter = u64::from(std::process::id().wrapping_mul(runs) % 3);
                tokio::time::sleep(Duration::from_millis(u64::from(runs) * 2 + jitter)).await;
                runs += 1;
            }
            ended => return ended,
        }
    }
}

async fn once(pool: &PgPool, job: &mut dyn Job) -> Result<(), StorageError> {
    // Dropped without a commit, it is rolled back.
    let mut transaction = pool.begin().await?;
    let mut tx = Connection::postgres(&mut transaction);
    match job.run(&mut tx).await {
        // A lost connection leaves open whether this was made, so it is not the same as unavailable.
        Ran::Done => transaction.commit().await.map_err(|error| match StorageError::from(error) {
            StorageError::Unavailable(error) => StorageError::Other(error),
            other => other,
        }),
        Ran::Refused => {
            transaction.rollback().await?;
            Ok(())
        }
        Ran::Failed(error) => Err(error),
    }
}
