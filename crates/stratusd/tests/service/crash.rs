//! A service that is killed loses no acknowledged change, and keeps no change in part.

mod histories;

use std::collections::{BTreeMap, BTreeSet, HashSet};
#[cfg(target_os = "linux")]
use std::os::unix::fs::MetadataExt;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use serde_json::{Value, json};

use crate::audit::trail;
use crate::on_both;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::{Home, variable};

const PLACE: &str = "/location/eu-central-h1";
/// How often the service is killed, unless `STRATUS_CASES` sets it.
const KILLS: u64 = 20;
/// How many changes must have been acknowledged, at least, to prove anything.
const ENOUGH: usize = 100;
const WRITERS: u32 = 4;

/// The changes of a writer: those acknowledged, and those that got no response.
#[derive(Debug, Default)]
struct Record {
    /// The bodies of acknowledged creates by path.
    made: BTreeMap<String, Value>,
    /// The paths of creates in progress when the service was killed.
    open: HashSet<String>,
    /// The passwords by path: the acknowledged one, and one that may have been set after it.
    passwords: BTreeMap<String, (String, Option<String>)>,
    /// The number of passwords that were sent, and of those that were acknowledged.
    resets: (usize, usize),
}

/// Creates and changes resources until the service is killed.
async fn write(caller: Caller, writer: u32, round: u64, stop: Arc<AtomicBool>) -> Record {
    let mut record = Record::default();
    for number in 0.. {
        if stop.load(Ordering::Relaxed) {
            break;
        }
        let name = format!("w{writer}-r{round}-n{number}");
        let (subnet, database) = (
            format!("{PLACE}/private-subnet/{name}"),
            format!("{PLACE}/postgres/{name}"),
        );
        if !make(&caller, &mut record, subnet, json!({})).await {
            break;
        }
        if number % 3 == 0 {
            let body = json!({ "size": "standard-2", "storage_size": 64 });
            if !make(&caller, &mut record, database.clone(), body).await
                || !reset(&caller, &mut record, database).await
            {
                break;
            }
        }
    }
    record
}

/// Returns whether the service responded.
async fn make(caller: &Caller, record: &mut Record, path: String, body: Value) -> bool {
    record.open.insert(path.clone());
    match caller
        .try_call(reqwest::Method::POST, &path, Some(&body))
        .await
    {
        Ok(response) => {
            record.open.remove(&path);
            record.made.insert(path, response.ok());
            true
        }
        Err(_) => false,
    }
}

async fn reset(caller: &Caller, record: &mut Record, path: String) -> bool {
    for turn in 0..2 {
        let password = format!("Password-{turn}-of-it");
        let body = json!({ "password": password });
        record.resets.0 += 1;
        let response = caller
            .try_call(
                reqwest::Method::POST,
                &format!("{path}/reset-superuser-password"),
                Some(&body),
            )
            .await;
        match (response, record.passwords.get_mut(&path)) {
            (Ok(response), _) => {
                response.ok();
                record.resets.1 += 1;
                record.passwords.insert(path.clone(), (password, None));
            }
            (Err(_), Some(known)) => {
                known.1 = Some(password);
                return false;
            }
            (Err(_), None) => return false,
        }
    }
    true
}

/// Checks that acknowledged changes are kept, and that those in progress are kept in full or not at
/// all. Adds the ids of the created resources to `all`.
async fn check(caller: &Caller, record: &Record, all: &mut BTreeSet<String>) {
    let mut add = |shown: &Value| all.insert(shown["id"].as_str().expect("it has one").to_owned());
    for (path, made) in &record.made {
        let now = caller.get(path).await.ok();
        assert_eq!(now["id"], made["id"], "{path}");
        add(&now);
        if path.contains("private-subnet") {
            assert_eq!(&now, made, "{path}");
        }
    }
    for path in &record.open {
        let now = caller.get(path).await;
        match now.status {
            404 => {
                // No part of it prevents another attempt.
                let body = if path.contains("postgres") {
                    json!({ "size": "standard-2", "storage_size": 64 })
                } else {
                    json!({})
                };
                add(&caller.post(path, body).await.ok());
            }
            200 if path.contains("private-subnet") => {
                let rules = now.body["firewalls"][0]["firewall_rules"]
                    .as_array()
                    .map(Vec::len);
                assert_eq!(rules, Some(2), "{path}: {}", now.body);
                add(&now.body);
            }
            200 => {
                add(&now.body);
            }
            _ => panic!("{path}: {}", now.body),
        }
    }
}

/// Checks that each created resource has an entry in the audit trail, and each entry its resource,
/// and that there is an entry for each acknowledged password, and for no more than were sent.
fn check_trail(home: &Home, created: &BTreeSet<String>, (sent, acknowledged): (usize, usize)) {
    let resources = |operation: &str| -> Vec<String> {
        let entries = trail(home, &["--project", SHOP, "--operation", operation]);
        // Others are of the inventory.
        let by_callers = entries
            .iter()
            .filter(|entry| entry["principal"] != "operator");
        let resource = |entry: &Value| entry["resource"].as_str().expect("it has one").to_owned();
        by_callers.map(resource).collect()
    };
    let entries = [
        resources("private_subnet_create"),
        resources("postgres_create"),
    ]
    .concat();
    let distinct: BTreeSet<String> = entries.iter().cloned().collect();
    let difference: Vec<_> = distinct.symmetric_difference(created).collect();
    assert!(
        difference.is_empty(),
        "only created, or only in the trail: {difference:?}"
    );
    assert_eq!(entries.len(), created.len(), "each is created once");
    let resets = resources("postgres_reset_superuser_password").len();
    assert!(
        (acknowledged..=sent).contains(&resets),
        "{sent} passwords were sent, {acknowledged} acknowledged, {resets} are in the trail"
    );
}

/// Returns a whole list, page by page.
async fn all(caller: &Caller, path: &str) -> (i64, Vec<Value>) {
    let mut items = Vec::new();
    let mut after = String::new();
    loop {
        let page = caller
            .get(&format!("{path}?page_size=1000{after}"))
            .await
            .ok();
        let new = page["items"].as_array().expect("a page has items").clone();
        let Some(last) = new.last() else {
            return (page["count"].as_i64().unwrap(), items);
        };
        after = format!("&start_after={}", last["id"].as_str().unwrap());
        items.extend(new);
    }
}

/// A process that opens and closes the file while the service runs, as a backup does, does not
/// release the service's locks or remove its log.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_reader_beside_the_service_takes_nothing_away() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let mut service = home.serve(&[]);
    let caller = Caller::new(&service.base, SHOP, &token);
    let subnet = |name: &str| format!("{PLACE}/private-subnet/{name}");
    caller.post_nothing(&subnet("before")).await.ok();
    // From now on the service has connections for writing and for reading. SQLite's lock of those
    // that share a file is on 510 bytes, 1 GiB and 2 into it; newer versions look elsewhere too
    // before they take a file for abandoned.
    caller.get(&subnet("before")).await.ok();
    #[cfg(target_os = "linux")]
    {
        let inode = std::fs::metadata(home.path().join("stratus.db"))
            .expect("the SQLite file exists")
            .ino();
        let locks = std::fs::read_to_string("/proc/locks").expect("Linux says");
        let is_held = |line: &str| {
            let fields: Vec<_> = line.split_whitespace().collect();
            fields.contains(&&*service.id().to_string())
                && fields
                    .iter()
                    .any(|field| field.ends_with(&format!(":{inode}")))
                && fields.ends_with(&["1073741826", "1073742335"])
        };
        assert!(
            locks.lines().any(is_held),
            "the service has no lock on its file:\n{locks}"
        );
    }
    let file = home
        .database_url
        .strip_prefix("sqlite://")
        .expect("the store is a SQLite file");
    let mut reader = SqliteConnection::establish(file).expect("the SQLite file opens");
    let backup = home.path().join("backup.db");
    reader
        .batch_execute(&format!("VACUUM INTO '{}'", backup.display()))
        .expect("a backup can be made");
    drop(reader);
    home.succeed(&["token", "list", "--project", "shop"]);
    caller.post_nothing(&subnet("after")).await.ok();
    service.kill();
    let service = home.serve(&[]);
    let caller = Caller::new(&service.base, SHOP, &token);
    for name in ["before", "after"] {
        caller.get(&subnet(name)).await.ok();
    }
}

on_both! {
    async fn nothing_acknowledged_is_lost(home: Home) {
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        let settings = [
            "--simulate-delay", "100ms", "--simulate-jitter", "200ms", "--reconcile-lease", "1s",
            "--quota-private-subnets", "1000000", "--quota-firewalls", "1000000", "--quota-postgres-databases", "1000000",
        ];
        let (mut ids, mut networks) = (HashSet::new(), HashSet::new());
        let mut passwords = BTreeMap::new();
        let (mut made, mut created, mut resets) = (0, BTreeSet::new(), (0, 0));
        let kills = variable("STRATUS_CASES").unwrap_or(KILLS);
        let mut round = 0;
        // A slow machine has acknowledged little when the service is killed, so there it is killed
        // more often, and later.
        while round < kills || made <= ENOUGH && round < 10 * kills {
            let mut service = home.serve(&settings);
            let caller = Caller::new(&service.base, SHOP, &token);
            let stop = Arc::new(AtomicBool::new(false));
            let writers: Vec<_> = (0..WRITERS)
                .map(|writer| tokio::spawn(write(caller.clone(), writer, round, Arc::clone(&stop))))
                .collect();
            tokio::time::sleep(Duration::from_millis(round * 37 % 251 * (1 + round / kills))).await;
            service.kill();
            stop.store(true, Ordering::Relaxed);
            let service = home.serve(&settings);
            let caller = Caller::new(&service.base, SHOP, &token);
            for writer in writers {
                let record = writer.await.expect("a writer ends");
                check(&caller, &record, &mut created).await;
                resets = (resets.0 + record.resets.0, resets.1 + record.resets.1);
                made += record.made.len();
                for body in record.made.values() {
                    assert!(ids.insert(body["id"].to_string()), "two created resources have the same id");
                    if body["net4"].is_string() {
                        assert!(networks.insert(body["net4"].to_string()), "two private subnets have the same network");
                        assert!(networks.insert(body["net6"].to_string()), "two private subnets have the same network");
                    }
                }
                passwords.extend(record.passwords);
            }
            round += 1;
        }
        assert!(made > ENOUGH, "the writers were too slow to prove anything: {made}");
        check_trail(&home, &created, resets);

        // The last service finishes what the killed ones have started.
        let service = home.serve(&settings);
        let caller = Caller::new(&service.base, SHOP, &token);
        for (path, (acknowledged, perhaps)) in &passwords {
            let running = caller.wait_for(path, |database| database["state"] == "running").await;
            let url = running["connection_string"].as_str().expect("a running database has a connection string");
            let is = |password: &str| url.contains(&format!(":{}@", password.replace('-', "%2D")));
            assert!(is(acknowledged) || perhaps.as_deref().is_some_and(is), "{path}: {url}");
        }
        let (count, items) = all(&caller, "/postgres").await;
        assert_eq!(usize::try_from(count).unwrap(), items.len(), "the count is the number of the listed databases");
        for item in items {
            let path = format!("{PLACE}/postgres/{}", item["id"].as_str().unwrap());
            caller.wait_for(&path, |database| database["state"] == "running").await;
        }
    }
}
