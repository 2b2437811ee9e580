//! Durable changes: 64 callers of the service, compared with single transactions on the same disk,
//! with the service's own statements in one thread, and with pgbench running a single insert.

use std::process::Command;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::{Connection, ExpressionMethods, RunQueryDsl, SqliteConnection, insert_into};
use futures_util::FutureExt;
use futures_util::future::join_all;
use stratusd::domain::audit::Author;
use stratusd::domain::{Access, Caller};
use stratusd::inventory::{Apply, Inventory, Mode};
use stratusd::issue::find_project;
use stratusd::operations::Context;
use stratusd::operations::audit::Audited;
use stratusd::operations::idempotency::Once;
use stratusd::operations::inference_api_key::Create;
use stratusd::storage::{DatabaseLocation, Stepped, Store};
use stratusd::world::World;

use crate::cluster::binary;
use crate::support::{Table, median};
use crate::world::{CONNECTIONS, EMPTY, QUOTAS, Service, context, folder};

const CALLERS: usize = 64;
const ROUNDS: usize = 7;
const ROUND: Duration = Duration::from_secs(2);

pub async fn run() {
    let mut table = Table::new(&["changes per second", "the service", "beside it", "ratio"]);
    let service = Arc::new(Service::sqlite(EMPTY).await);
    let mut alone = Alone::open();
    let mut statements = Statements::open().await;
    let (mut ours, mut theirs, mut floor, mut same) =
        (Vec::new(), Vec::new(), Vec::new(), Vec::new());
    for _ in 0..ROUNDS {
        ours.push(by_callers(&service).await);
        theirs.push(alone.measure(1));
        floor.push(alone.measure(CALLERS));
        same.push(statements.measure());
    }
    let together = ours.clone();
    let by_callers_again = ours.clone();
    row(
        &mut table,
        "SQLite, beside a transaction each",
        ours,
        theirs,
    );
    // No service can be faster that runs these statements and commits the changes of all callers at
    // once: here are no callers, no requests and no other thread.
    row(
        &mut table,
        "SQLite, beside the same statements, 64 in a transaction",
        by_callers_again,
        same,
    );
    // A single insert into a table with one index, for comparison.
    row(
        &mut table,
        "SQLite, beside 64 inserts in a transaction",
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

/// Measures the statements of a change alone: those that the service runs to create a key, with the
/// quota, the count and the entry of the audit trail.
struct Statements {
    store: Store,
    writer: Stepped<()>,
    author: Author,
    context: Context,
    _folder: tempfile::TempDir,
}

impl Statements {
    async fn open() -> Self {
        let (folder, world) = (folder(), World::real());
        let file = folder.path().join("statements.db");
        let (store, mut writer) = Store::open_stepped(&file, world.clone(), ())
            .await
            .expect("the database opens");
        let inventory = Inventory::read("inventory.yaml".as_ref(), EMPTY.as_bytes())
            .expect("the inventory is valid");
        let mode = Mode {
            is_dry_run: false,
            prunes: false,
        };
        let apply = Apply {
            inventory,
            mode,
            world: world.clone(),
            quotas: QUOTAS,
        };
        step(&mut writer, [store.change(apply)])[0]
            .as_ref()
            .expect("the inventory is applied");
        let project = find_project(&store, "small")
            .await
            .expect("the inventory has the project");
        let caller = Caller {
            project_id: project.id,
            access: Access::Full,
            token_id: "pt0000000000000000000000z0".to_owned(),
        };
        Self {
            store,
            writer,
            author: Author {
                caller,
                operation: "inference_api_key_create",
                request_id: None,
            },
            context: context(world),
            _folder: folder,
        }
    }

    /// Returns the changes per second, as many in each transaction as there are callers.
    fn measure(&mut self) -> f64 {
        let (start, mut done) = (Instant::now(), 0);
        let project = self.author.caller.project_id.clone();
        while start.elapsed() < ROUND {
            let changes = (0..CALLERS).map(|_| {
                let (author, context) = (self.author.clone(), self.context.clone());
                let change = Create::new(author.caller.clone(), &project, context)
                    .expect("it is the caller's project");
                let world = self.context.world.clone();
                let audited = Audited {
                    change,
                    author,
                    world,
                };
                let once = Once {
                    change: audited,
                    key: None,
                };
                self.store.change_of(&project, once)
            });
            for made in step(&mut self.writer, changes) {
                made.expect("the key is created");
                done += 1;
            }
        }
        rate(done, start)
    }
}

/// Submits changes, runs the writer in this thread, and returns the results.
fn step<F: Future>(
    writer: &mut Stepped<()>,
    changes: impl IntoIterator<Item = F>,
) -> Vec<F::Output> {
    // The rounds are one poll of the run time, whose budget for a poll they exceed.
    let mut all = Box::pin(tokio::task::unconstrained(join_all(changes)));
    assert!(
        all.as_mut().now_or_never().is_none(),
        "they wait for the writer"
    );
    while writer.step() {}
    all.now_or_never().expect("the writer has made all")
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
