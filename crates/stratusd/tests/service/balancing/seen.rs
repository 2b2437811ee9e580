//! Which changes the data plane reads: each once, in pages, and everything if the database is another
//! one.

use std::fs;
use std::time::Duration;

use diesel::connection::SimpleConnection;
use diesel::{Connection as _, SqliteConnection};
use serde_json::json;
use stratusd::settings::DatabaseUrl;
use stratusd::storage::load_balancer_change::Seen;
use stratusd::storage::{ReadOnlyStore, SILENCE, StoreConfig};
use stratusd::world::World;

use super::firewalls::post;
use super::web;
use crate::on_both;
use crate::support::balancing::{Cloud, Net, SRC, Vm, a_second, ask};
use crate::support::cluster::ask as ask_postgres;
use crate::support::{Home, PATIENCE, eventually};

/// Opens the store of a home as the data plane does.
async fn open(home: &Home) -> ReadOnlyStore {
    let url: DatabaseUrl = home.database_url.parse().expect("it is valid");
    let config = StoreConfig {
        database: url.database().expect("it names a database"),
        connections: 1,
        patience: PATIENCE,
        silence: SILENCE,
        lock_wait: PATIENCE,
        world: World::real(),
    };
    let opened = ReadOnlyStore::open(&config).await;
    opened.expect("the database opens")
}

/// Reads what has changed since an earlier look, and returns the sizes of the pages. The data plane
/// reads everything if this is `None`.
async fn look(store: &ReadOnlyStore, seen: &mut Seen, limit: i64) -> Option<Vec<usize>> {
    let mut reader = store.snapshot().await.expect("the database can be read");
    let c = &mut reader.connection();
    let now = Seen::load(c).await.expect("it can be read");
    let since = now.since(c, seen).await.expect("it can be read");
    *seen = now;
    let mut since = since?;
    let mut sizes = Vec::new();
    loop {
        let page = since.page(c, limit).await.expect("it can be read");
        if page.is_empty() {
            return Some(sizes);
        }
        sizes.push(page.len());
    }
}

async fn first_look(store: &ReadOnlyStore) -> Seen {
    let mut reader = store.snapshot().await.expect("the database can be read");
    let seen = Seen::load(&mut reader.connection()).await;
    seen.expect("it can be read")
}

/// Runs statements beside the service.
fn run(home: &Home, sql: &str) {
    if home.database_url.starts_with("postgres") {
        ask_postgres(&home.database_url, sql).expect("the statements run");
    } else {
        home.open_sqlite()
            .batch_execute(sql)
            .expect("the statements run");
    }
}

/// An inventory of five load balancers.
fn five(net: Net) -> String {
    let five: Vec<String> = (0..5)
        .map(|number| {
            format!("name: b-{number}, src_port: {SRC}, health_check_endpoint: /up, stack: ipv4")
        })
        .collect();
    net.inventory(1, &five.iter().map(String::as_str).collect::<Vec<_>>())
}

on_both! {
async fn changes_are_read_once_and_in_pages(home: Home) {
    home.apply(&five(Net::random()));
    let store = open(&home).await;
    let mut seen = first_look(&store).await;
    assert_eq!(look(&store, &mut seen, 2).await, Some(vec![]));
    run(&home, "UPDATE load_balancer SET algorithm = 'hash_based'");
    assert_eq!(look(&store, &mut seen, 2).await, Some(vec![2, 2, 1]));
    assert_eq!(look(&store, &mut seen, 2).await, Some(vec![]));
    // Another database with as many changes, such as an older one that has changed since.
    run(&home, "UPDATE load_balancer_change SET at = at + 1");
    assert_eq!(look(&store, &mut seen, 2).await, None);
    assert_eq!(look(&store, &mut seen, 2).await, Some(vec![]));
    run(&home, "DELETE FROM load_balancer_change");
    assert_eq!(look(&store, &mut seen, 2).await, None);
    assert_eq!(look(&store, &mut seen, 2).await, Some(vec![]));
    run(&home, "UPDATE load_balancer SET algorithm = 'round_robin' WHERE name = 'b-0'");
    assert_eq!(look(&store, &mut seen, 2).await, Some(vec![1]));
    store.close().await;
}

async fn a_load_balancer_that_cannot_be_read_stops_no_other(home: Home) {
    let net = Net::random();
    let other = format!("name: other, src_port: {SRC}, health_check_endpoint: /up, stack: ipv4");
    let _vms = Vm::start_all(net, 1).await;
    let inventory = net.inventory(1, &[&web("round_robin", "vm-1"), &other]);
    let mut cloud = Cloud::start(home, net, &inventory, &[]);
    let address = cloud.address("web", 1).await;
    assert_eq!(ask(address).await.expect("vm-1 is up"), "vm-1");
    run(&cloud.home, "UPDATE load_balancer SET src_port = 70000 WHERE name = 'other'");
    // It stays as it was.
    run(&cloud.home, "UPDATE load_balancer SET algorithm = 'hash_based' WHERE name = 'web'");
    cloud.wait_for("web", |status| status["algorithm"] == "hash_based").await;
    cloud.address("other", 0).await;
    // Also who may connect to the others is read.
    post(&cloud, "/firewall/nobody", json!({})).await;
    let subnet = cloud.shop.get("/location/eu-central-h1/private-subnet/backend").await.ok();
    post(&cloud, "/firewall/nobody/attach-subnet", json!({ "private_subnet_id": subnet["id"] })).await;
    let refused = eventually(async || ask(address).await.is_err().then_some(()));
    refused.await.expect("the firewall is in force");
    assert_eq!(cloud.management("/readyz").await.0, 200);
    cloud.plane.terminate();
    let plane = Cloud::plane(&cloud.home, net, &[]);
    let (succeeded, log) = std::mem::replace(&mut cloud.plane, plane).wait();
    assert!(succeeded, "{log}");
    assert!(log.contains("a load balancer cannot be read"), "{log}");
    cloud.address("web", 1).await;
    let ready = eventually(async || (cloud.management("/readyz").await.0 == 200).then_some(()));
    ready.await.expect("all others are read");
    assert!(cloud.status("other").is_null());
}

async fn a_newer_database_is_read_unless_it_says_otherwise(home: Home) {
    let net = Net::random();
    let cloud = Cloud::start(home, net, &net.inventory(1, &[&web("round_robin", "")]), &[]);
    cloud.address("web", 0).await;
    run(&cloud.home, "INSERT INTO __diesel_schema_migrations (version) VALUES ('9998')");
    a_second().await;
    assert_eq!(cloud.management("/readyz").await.0, 200);
    run(&cloud.home, "UPDATE load_balancer SET algorithm = 'hash_based'");
    cloud.wait_for("web", |status| status["algorithm"] == "hash_based").await;
    // Another migration, of which older programs would read something wrong.
    let value = if cloud.home.database_url.starts_with("postgres") { "'9999'::BYTEA" } else { "CAST('9999' AS BLOB)" };
    run(&cloud.home, &format!(
        "INSERT INTO __diesel_schema_migrations (version) VALUES ('9999'); \
         INSERT INTO service_state (name, value) VALUES ('oldest_reader', {value}); \
         UPDATE load_balancer SET algorithm = 'round_robin'"
    ));
    let unready = eventually(async || {
        Some(cloud.management("/readyz").await).filter(|it| it.0 == 503)
    });
    unready.await.expect("it is not ready");
    assert_eq!(cloud.status("web")["algorithm"], "hash_based");
    cloud.plane.terminate();
    let (succeeded, log) = cloud.plane.wait();
    assert!(succeeded, "{log}");
    let said = "the database is newer than this program can read: start this command of the newer program";
    assert_eq!(log.matches(said).count(), 1, "{log}");
}}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_takes_long_has_nothing_read_again_on_postgres() {
    let Some(home) = Home::postgres() else {
        return;
    };
    home.apply(&five(Net::random()));
    let store = open(&home).await;
    let mut seen = first_look(&store).await;
    let change = |name: &str| {
        let sql = "UPDATE load_balancer SET revision = revision + 1 WHERE name = ";
        format!("{sql}'{name}'")
    };
    let url = home.database_url.clone();
    let long = format!("BEGIN; {}; SELECT pg_sleep(5); COMMIT", change("b-0"));
    let long = std::thread::spawn(move || ask_postgres(&url, &long));
    tokio::time::sleep(Duration::from_secs(1)).await;
    // It is in progress, and what others commit meanwhile is read once.
    for name in ["b-1", "b-2", "b-3"] {
        run(&home, &change(name));
        assert_eq!(look(&store, &mut seen, 10).await, Some(vec![1]), "{name}");
        assert_eq!(look(&store, &mut seen, 10).await, Some(vec![]), "{name}");
    }
    long.join().expect("psql runs").expect("it commits");
    assert_eq!(look(&store, &mut seen, 10).await, Some(vec![1]));
    assert_eq!(look(&store, &mut seen, 10).await, Some(vec![]));
    // A table that was restored from a dump is another one.
    run(
        &home,
        "BEGIN; ALTER TABLE load_balancer_change RENAME TO before; \
         CREATE TABLE load_balancer_change AS TABLE before; COMMIT",
    );
    assert_eq!(look(&store, &mut seen, 10).await, None);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_restored_database_is_read_anew_although_it_has_as_many_changes() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 2).await;
    let other = format!("name: other, src_port: {SRC}, health_check_endpoint: /up, stack: ipv4");
    let inventory = net.inventory(2, &[&web("round_robin", "vm-1"), &other]);
    let mut cloud = Cloud::start(Home::sqlite(), net, &inventory, &[]);
    let web = cloud.address("web", 1).await;
    let restored = cloud.home.path().join("restored.db");
    let backup = format!("VACUUM INTO '{}'", restored.display());
    run(&cloud.home, &backup);
    cloud.act("web", "detach-vm", &cloud.vm_id(1).await).await;
    cloud.act("web", "attach-vm", &cloud.vm_id(2).await).await;
    a_second().await;
    assert_eq!(ask(web).await.expect("vm-2 is up"), "vm-2");
    // More has changed in the restored database than in the one before, but of another load balancer.
    let mut other = SqliteConnection::establish(&restored.display().to_string()).expect("it opens");
    for _ in 0..20 {
        let touch = "UPDATE load_balancer SET revision = revision + 1 WHERE name = 'other'";
        other.batch_execute(touch).expect("it can be written");
    }
    other
        .batch_execute("PRAGMA journal_mode = WAL; DELETE FROM service_state WHERE name = ''")
        .expect("it can be written");
    drop(other);
    cloud.service.kill();
    let file = cloud.home.path().join("stratus.db");
    for end in ["-wal", "-shm"] {
        let _ = fs::remove_file(format!("{}{end}", file.display()));
    }
    fs::rename(&restored, &file).expect("the folder is writable");
    let back = eventually(async || {
        let name = ask(web).await.ok()?;
        (name == "vm-1").then_some(())
    });
    let back = tokio::time::timeout(Duration::from_secs(20), back).await;
    assert_eq!(back, Ok(Some(())), "the restored database is not in force");
}
