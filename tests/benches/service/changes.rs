//! Durable changes: 64 callers of the service, compared with single transactions on the same disk,
//! and with pgbench running the same statement.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::{Connection, ExpressionMethods, RunQueryDsl, SqliteConnection, insert_into};
use stratusd::storage::DatabaseLocation;

use crate::cluster::binary;
use crate::support::{Table, median};
use crate::world::{CONNECTIONS, EMPTY, Service, folder};

const CALLERS: usize = 64;
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_secs(2);

pub async fn run() {
    let mut table = Table::new(&["changes per second", "the service", "beside it", "ratio"]);
    let service = Arc::new(Service::sqlite(EMPTY).await);
    let mut alone = Alone::open();
    let (mut ours, mut theirs, mut floor) = (Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(by_callers(&service).await);
        theirs.push(alone.measure(1));
        floor.push(alone.measure(CALLERS));
    }
    let together = ours.clone();
    row(
        &mut table,
        "SQLite, beside a transaction each",
        ours,
        theirs,
    );
    // No service can be faster that commits the changes of all callers at once: here are no callers,
    // no requests and no queue.
    row(
        &mut table,
        "SQLite, beside 64 in a transaction",
        together,
        floor,
    );
    let service = Arc::new(Service::postgres(EMPTY).await);
    let (mut ours, mut theirs) = (Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(by_callers(&service).await);
        theirs.push(pgbench(&service));
    }
    row(&mut table, "PostgreSQL, beside pgbench", ours, theirs);
    table.print("durable changes of 64 callers");
}

fn row(table: &mut Table, name: &str, ours: Vec<f64>, theirs: Vec<f64>) {
    let (ours, theirs) = (median(ours.into_iter()), median(theirs.into_iter()));
    table.row([
        name.to_owned(),
        format!("{ours:.0}"),
        format!("{theirs:.0}"),
        format!("{:.2}", ours / theirs),
    ]);
}

/// Returns the changes per second that concurrent callers get acknowledged.
async fn by_callers(service: &Arc<Service>) -> f64 {
    let done = Arc::new(AtomicU64::new(0));
    let start = Instant::now();
    let callers = (0..CALLERS).map(|_| {
        let (service, done) = (Arc::clone(service), Arc::clone(&done));
        tokio::spawn(async move {
            while start.elapsed() < ROUND {
                let response = service.call(0, "POST", "/inference-api-key").await;
                assert_eq!(response.status(), 200);
                done.fetch_add(1, Ordering::Relaxed);
            }
        })
    });
    for caller in callers.collect::<Vec<_>>() {
        caller.await.expect("a caller ends");
    }
    rate(done.load(Ordering::Relaxed), start)
}

#[expect(clippy::cast_precision_loss, reason = "there are not that many")]
fn rate(done: u64, start: Instant) -> f64 {
    done as f64 / start.elapsed().as_secs_f64()
}

diesel::table! {
    inference_api_key (project_id, id) {
        project_id -> Text,
        id -> Text,
        hash -> Binary,
        created_at -> BigInt,
    }
}

/// Measures SQLite alone: one thread, one transaction after the other.
struct Alone {
    connection: SqliteConnection,
    number: u64,
    _folder: tempfile::TempDir,
}

impl Alone {
    fn open() -> Self {
        let folder = folder();
        let file = folder.path().join("alone.db");
        let mut connection = SqliteConnection::establish(file.to_str().expect("the path is UTF-8"))
            .expect("the database can be opened");
        connection
            .batch_execute(
                "PRAGMA journal_mode = WAL; PRAGMA synchronous = FULL; \
                 CREATE TABLE inference_api_key (project_id TEXT NOT NULL, id TEXT NOT NULL, hash BLOB NOT NULL, \
                 created_at INTEGER NOT NULL, PRIMARY KEY (project_id, id)) STRICT, WITHOUT ROWID",
            )
            .expect("the table can be created");
        Self {
            connection,
            number: 0,
            _folder: folder,
        }
    }

    /// Returns the changes per second, with so many in each transaction.
    fn measure(&mut self, batch: usize) -> f64 {
        use inference_api_key as keys;

        let (start, first) = (Instant::now(), self.number);
        while start.elapsed() < ROUND {
            let number = &mut self.number;
            let made = self.connection.immediate_transaction(|tx| {
                (0..batch).try_for_each(|_| {
                    *number += 1;
                    // In random order, as the ids of the service are.
                    let id = format!("ak{:024}", number.wrapping_mul(0x9e37_79b9_7f4a_7c15));
                    let row = (
                        keys::project_id.eq("pj00000000000000000000000z"),
                        keys::id.eq(id),
                        keys::hash.eq(&[0_u8; 32][..]),
                        keys::created_at.eq(0),
                    );
                    insert_into(keys::table).values(row).execute(tx).map(|_| ())
                })
            });
            made.expect("the rows can be inserted");
        }
        rate(self.number - first, start)
    }
}

/// Measures pgbench with the same statement in a transaction and as many connections.
fn pgbench(service: &Service) -> f64 {
    let DatabaseLocation::Postgres(url) = &service.database else {
        unreachable!("it was made so")
    };
    let folder = folder();
    let script = folder.path().join("insert.sql");
    let project = &service.projects[0].0;
    let statements = format!(
        "\\set a random(0, 1000000000)\n\\set b random(0, 1000000000)\nBEGIN;\nINSERT INTO inference_api_key \
         (project_id, id, hash, created_at) VALUES ('{project}', 'ak' || :a || '-' || :b, '\\x00'::bytea, :a);\nCOMMIT;\n"
    );
    std::fs::write(&script, statements).expect("the folder is writable");
    let output = Command::new(binary("pgbench"))
        .args([
            "--no-vacuum",
            "--protocol=prepared",
            "--jobs=2",
            "--client",
            &(CONNECTIONS / 2).to_string(),
        ])
        .args(["--time", &ROUND.as_secs().to_string(), "--file"])
        .arg(&script)
        .arg(url)
        .output()
        .expect("pgbench starts");
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    let line = said.lines().find_map(|line| line.strip_prefix("tps = "));
    let tps = line.and_then(|line| line.split(' ').next()?.parse().ok());
    tps.unwrap_or_else(|| {
        panic!(
            "pgbench failed: {said}{}",
            String::from_utf8_lossy(&output.stderr)
        )
    })
}
