//! A power cut at any moment, and a disk that fails: on SQLite, nothing that was acknowledged is
//! lost, and no change is there in part.
//!
//! The service runs under `strace`, which records every write and every wait for the disk, and
//! makes some of them fail. From the recording the test makes what a power cut may leave, and opens
//! it as the service does. `STRATUS_SEED` repeats a run, and `STRATUS_CASES` makes it longer.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;
use std::time::Duration;

use diesel::sql_types::{BigInt, Text};
use diesel::{Connection, QueryableByName, RunQueryDsl, SqliteConnection};
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use reqwest::Method;
use serde_json::json;
use stratusd::storage::{DatabaseLocation, SILENCE, Store, StoreConfig};
use stratusd::world::World;

use crate::support::caller::Caller;
use crate::support::disk::{Disk, Recording, can_be_recorded};
use crate::support::inventory::{SHOP, two_projects};
use crate::support::whole::HALF_CHANGES;
use crate::support::{Home, variable};

const PLACE: &str = "/location/eu-central-h1";
/// The power cuts of an ordinary run.
const CASES: u64 = 40;
/// The changes of each caller: enough that SQLite copies the log into the file.
const CHANGES: u32 = 220;
/// The maximum number of changes of a run that may have the status 500, each of which takes two
/// faults at once.
const MOST_UNKNOWN: u32 = 8;
const CALLERS: u32 = 2;
/// The memory that each change of a tag fills, in characters.
const TAG: usize = 255;

/// What a caller knows.
#[derive(Default)]
struct Known {
    /// The ids of acknowledged subnets by name, with the moment of the response.
    made: BTreeMap<String, (String, u64)>,
    /// The names of the subnets that were refused because of the disk, with the moment of the response.
    refused: BTreeMap<String, u64>,
    /// The numbers of the acknowledged tags, with the moment of the response.
    tags: Vec<(u32, u64)>,
    /// How many changes had the status 500: the disk failed during a commit, and again when it was
    /// overwritten, so nobody knows whether they were made.
    unknown: u32,
}

/// A service that has run under `strace`.
struct Ran {
    /// Its folder, with the files as it has left them.
    home: Home,
    recording: Recording,
    known: Vec<Known>,
}

/// Lets callers change something while a service is recorded.
async fn run(faults: &[&str], end: End) -> Ran {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let settings = ["--simulate-delay", "0s", "--simulate-jitter", "0s"];
    let (disk, mut service) = Disk::serve(&home, &settings, faults);
    let disk = Arc::new(disk);
    let callers: Vec<_> = (0..CALLERS)
        .map(|number| {
            let caller = Caller::new(&service.base, SHOP, &token);
            tokio::spawn(change(caller, number, Arc::clone(&disk)))
        })
        .collect();
    let mut known = Vec::new();
    for caller in callers {
        known.push(caller.await.expect("each response is as expected"));
    }
    let unknown: u32 = known.iter().map(|known| known.unknown).sum();
    let most = if faults.is_empty() { 0 } else { MOST_UNKNOWN };
    assert!(unknown <= most, "{unknown} changes have a status 500");
    match end {
        End::Kill => service.kill(),
        End::Stop => {
            service.terminate();
            assert!(service.wait().0);
        }
    }
    Ran {
        home,
        recording: disk.recording(),
        known,
    }
}

/// How the service ends.
enum End {
    /// It copies the log into the file.
    Stop,
    Kill,
}

async fn change(caller: Caller, number: u32, disk: Arc<Disk>) -> Known {
    let mut known = Known::default();
    let database = format!("{PLACE}/postgres/c{number}");
    let size = json!({ "size": "standard-2", "storage_size": 64 });
    while caller.post(&database, size.clone()).await.status >= 500 {}
    for turn in 0..CHANGES {
        let name = format!("c{number}-{turn}");
        let (method, path, body) = if turn % 4 == 0 {
            let value = format!("{turn:0TAG$}");
            let tags: Vec<_> = (0..32)
                .map(|at| json!({ "key": format!("k{at}"), "value": value }))
                .collect();
            (Method::PATCH, database.clone(), json!({ "tags": tags }))
        } else {
            let path = format!("{PLACE}/private-subnet/{name}");
            (Method::POST, path, json!({}))
        };
        let response = caller.try_call(method, &path, Some(&body)).await;
        let response = response.expect("the service responds");
        let moment = disk.moment();
        match response.status {
            200 if turn % 4 == 0 => known.tags.push((turn, moment)),
            200 => {
                let id = response.body["id"].as_str().expect("it has an id");
                known.made.insert(name, (id.to_owned(), moment));
            }
            // The disk has failed, and works again.
            503 => {
                known.refused.insert(name, moment);
                tokio::time::sleep(Duration::from_millis(20)).await;
            }
            409 => {}
            500 => known.unknown += 1,
            _ => panic!("{path}: {response:?}"),
        }
    }
    known
}

#[derive(QueryableByName)]
struct Row {
    #[diesel(sql_type = Text)]
    text: String,
}

#[derive(QueryableByName)]
struct Named {
    #[diesel(sql_type = Text)]
    name: String,
    #[diesel(sql_type = Text)]
    value: String,
}

#[derive(QueryableByName)]
struct Number {
    #[diesel(sql_type = BigInt)]
    number: i64,
}

/// Opens a file as the service does, and returns what is wrong with it: everything that was
/// acknowledged until a moment must be there, and nothing that was refused.
async fn wrong(file: &Path, known: &[Known], until: u64) -> Vec<String> {
    let config = StoreConfig {
        database: DatabaseLocation::Sqlite(file.to_owned()),
        connections: 1,
        patience: Duration::from_secs(10),
        silence: SILENCE,
        lock_wait: Duration::from_secs(10),
        world: World::real(),
    };
    match Store::open(&config).await {
        Ok(store) => store.close().await,
        Err(error) => return vec![format!("it does not open: {error}")],
    }
    let mut wrong = Vec::new();
    let mut connection =
        SqliteConnection::establish(&file.display().to_string()).expect("the file opens");
    let sql = "SELECT integrity_check AS text FROM pragma_integrity_check WHERE integrity_check <> 'ok' \
               UNION ALL SELECT \"table\" FROM pragma_foreign_key_check";
    let rows: Vec<Row> = query(&mut connection, sql);
    wrong.extend(rows.into_iter().map(|row| row.text));
    for (what, sql) in HALF_CHANGES {
        let counted: Vec<Number> = query(&mut connection, &format!("SELECT ({sql}) AS number"));
        if counted[0].number > 0 {
            wrong.push(format!("{} {what}", counted[0].number));
        }
    }
    let subnets = "SELECT name, id AS value FROM private_subnet WHERE NOT is_declared";
    let subnets = named(&mut connection, subnets);
    let tags = "SELECT name, tags AS value FROM postgres_database";
    let tags = named(&mut connection, tags);
    for (number, known) in known.iter().enumerate() {
        let older = known.made.iter().filter(|(_, (_, at))| *at < until);
        for (name, (id, _)) in older {
            if subnets.get(name) != Some(id) {
                wrong.push(format!("{name} is {:?}, not {id}", subnets.get(name)));
            }
        }
        for (name, _) in known.refused.iter().filter(|(_, at)| **at < until) {
            if let Some(id) = subnets.get(name) {
                wrong.push(format!("{name} was refused, and is {id}"));
            }
        }
        // The last one, or one that was sent after it.
        let last = known.tags.iter().rfind(|(_, at)| *at < until);
        if let Some((last, _)) = last {
            let is = tags.get(&format!("c{number}")).map(|tags| shown(tags));
            if is.is_none_or(|is| is < *last) {
                wrong.push(format!("the tag of c{number} is {is:?}, not {last}"));
            }
        }
    }
    wrong
}

/// Returns the number that all tags of a database have.
fn shown(tags: &str) -> u32 {
    let tags: serde_json::Value = serde_json::from_str(tags).expect("tags are JSON");
    let tag = tags[0]["value"].as_str().unwrap_or("0");
    tag.parse().expect("it is a number")
}

fn query<R>(connection: &mut SqliteConnection, sql: &str) -> Vec<R>
where
    R: QueryableByName<diesel::sqlite::Sqlite> + 'static,
{
    diesel::sql_query(sql)
        .load(connection)
        .expect("the query is valid")
}

fn named(connection: &mut SqliteConnection, sql: &str) -> BTreeMap<String, String> {
    let rows: Vec<Named> = query(connection, sql);
    rows.into_iter().map(|row| (row.name, row.value)).collect()
}

/// Cuts the power again and again.
async fn cut(ran: &Ran) {
    let seed = variable("STRATUS_SEED").unwrap_or(0);
    let cases = variable("STRATUS_CASES").unwrap_or(CASES);
    println!("STRATUS_SEED={seed} STRATUS_CASES={cases}");
    let mut random = StdRng::seed_from_u64(seed);
    let folder = tempfile::tempdir().expect("a folder can be made");
    for case in 0..cases {
        let steps = random.random_range(0..=ran.recording.len());
        let image = ran.recording.after(steps, &mut random);
        let file = image.write(folder.path());
        let wrong = wrong(&file, &ran.known, ran.recording.until(steps)).await;
        assert!(wrong.is_empty(), "case {case}, step {steps}: {wrong:#?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_power_cut_at_any_moment_loses_nothing_acknowledged() {
    if !can_be_recorded() {
        return;
    }
    let ran = run(&[], End::Stop).await;
    let made: usize = ran.known.iter().map(|known| known.made.len()).sum();
    let ([syncs, failed], copied) = (ran.recording.syncs(), ran.recording.copied());
    let steps = ran.recording.len();
    println!("{made} subnets, {steps} steps, {syncs} waits, {copied} pages copied");
    assert!(made > 300 && syncs > 100 && failed == 0 && copied > 100);
    cut(&ran).await;

    // A disk that forgets what it was waited for is found out.
    let mut random = StdRng::seed_from_u64(0);
    let folder = tempfile::tempdir().expect("a folder can be made");
    let steps = ran.recording.len() / 4;
    let mut image = ran.recording.after(steps, &mut random);
    image.spoil(&mut random);
    let file = image.write(folder.path());
    let wrong = wrong(&file, &ran.known, ran.recording.until(steps)).await;
    assert!(wrong.len() > 10, "{wrong:#?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_fails_now_and_then_loses_nothing_acknowledged() {
    if !can_be_recorded() {
        return;
    }
    let faults = [
        "fdatasync:error=EIO:when=40+17",
        "pwrite64:error=ENOSPC:when=900+701",
    ];
    let ran = run(&faults, End::Kill).await;
    let made: usize = ran.known.iter().map(|known| known.made.len()).sum();
    let [syncs, failed] = ran.recording.syncs();
    println!("{made} subnets, {syncs} waits, and {failed} that failed");
    assert!(made > 100 && failed > 5);
    let file = ran.home.path().join("stratus.db");
    let wrong = wrong(&file, &ran.known, u64::MAX).await;
    assert!(wrong.is_empty(), "{wrong:#?}");
    cut(&ran).await;
}

/// Creates subnets one after the other until the disk fails, and returns the status of that response,
/// and whether the subnet is there after the service was killed.
async fn fail_once(fault: &str) -> (u16, bool) {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let (_disk, mut service) = Disk::serve(&home, &[], &[fault]);
    let caller = Caller::new(&service.base, SHOP, &token);
    for number in 0..100 {
        let path = format!("{PLACE}/private-subnet/s{number}");
        let response = caller.post_nothing(&path).await;
        if response.status == 200 {
            continue;
        }
        // At once, before anything else is committed.
        service.kill();
        let found: Vec<Number> = query(
            &mut home.open_sqlite(),
            &format!("SELECT COUNT(*) AS number FROM private_subnet WHERE name = 's{number}'"),
        );
        return (response.status, found[0].number > 0);
    }
    panic!("the disk does not fail");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_is_refused_while_the_disk_fails_is_not_made_by_a_restart() {
    if !can_be_recorded() {
        return;
    }
    assert_eq!(fail_once("fdatasync:error=EIO:when=12").await, (503, false));
    // If nothing can be written any more, nobody knows.
    let (status, _) = fail_once("fdatasync:error=EIO:when=12+").await;
    assert_eq!(status, 500);
    let full = "pwrite64:error=ENOSPC:when=60+";
    assert_eq!(fail_once(full).await, (503, false));
}
