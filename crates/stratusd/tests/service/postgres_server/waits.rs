//! How long the statements of a change may wait for locks.
//!
//! Triggers record the limit that a statement has. The service has one connection for changes, or two;
//! the first statements on a connection are sent one by one.

use std::time::Duration;

use reqwest::Method;

use crate::support::caller::Caller;
use crate::support::cluster::Cluster;
use crate::support::inventory::{RIVAL, SHOP, two_projects};
use crate::support::{Home, eventually};

const SUBNETS: &str = "/location/eu-central-h1/private-subnet";
const KEYS: &str = "/inference-api-key";
/// How long a change waits for locks, in milliseconds.
const WAIT: u32 = 250;
/// How long it waits while others have met a lock.
const HASTE: u32 = 25;

/// Has an insert into a table do something, in PL/pgSQL.
fn on_insert(cluster: &Cluster, table: &str, what: &str) {
    let made = cluster.ask(&format!(
        "CREATE FUNCTION on_{table}() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN {what}; RETURN NULL; END $$;
         CREATE TRIGGER on_{table} AFTER INSERT ON {table} FOR EACH STATEMENT EXECUTE FUNCTION on_{table}()"
    ));
    made.expect("the administrator may alter a table");
}

/// Records how long inserts into a table may wait for locks.
fn record(cluster: &Cluster, table: &str) {
    let made = cluster.ask("CREATE TABLE seen (number SERIAL, locks INTEGER)");
    made.expect("the administrator may make a table");
    let insert = "INSERT INTO seen (locks) SELECT setting::INTEGER FROM pg_settings WHERE name = 'lock_timeout'";
    on_insert(cluster, table, insert);
}

/// Returns how long the last recorded insert could wait for locks, in milliseconds.
fn last_seen(cluster: &Cluster) -> u32 {
    let seen = cluster
        .ask("SELECT locks FROM seen ORDER BY number DESC LIMIT 1")
        .expect("it can be read");
    seen.parse().expect("it is a number of milliseconds")
}

/// PostgreSQL limits the wait of each statement, and a change has several.
#[tokio::test(flavor = "multi_thread")]
async fn what_a_change_has_taken_is_not_waited_for_again() {
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    // The entry of the audit trail is written after the subnet.
    record(&cluster, "audit");
    on_insert(&cluster, "private_subnet", "PERFORM pg_sleep(0.1)");
    let service = home.serve(&["--database-connections", "2"]);
    let caller = Caller::new(&service.base, SHOP, &token);
    caller.post_nothing(&format!("{SUBNETS}/slow")).await.ok();
    let left = last_seen(&cluster);
    assert!((1..=WAIT - 100).contains(&left), "{left} ms");
    // Another change has all of it, unless the machine is so slow that its statements take a quarter.
    let whole = eventually(async || {
        caller.post_nothing(KEYS).await.ok();
        (last_seen(&cluster) == WAIT).then_some(())
    });
    whole.await.expect("a change has the whole wait");
}

/// Outside of a transaction, PostgreSQL would warn of the limit, which holds for the transaction alone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_limit_of_a_query_stays_as_it_is() {
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let service = home.serve(&["--database-connections", "2"]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let list = || async { caller.get(KEYS).await.ok() };
    list().await;
    // More than a quarter of the nine seconds that a query may wait for a lock.
    let lock = cluster.lock("inference_api_key");
    let waits = async {
        tokio::time::sleep(Duration::from_millis(2500)).await;
        drop(lock);
    };
    tokio::join!(list(), waits);
    list().await;
    assert!(!cluster.log().contains("SET LOCAL"), "{}", cluster.log());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_waits_less_while_others_have_met_a_lock() {
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    home.apply(&two_projects());
    let (token, theirs) = (home.token("shop", &[]), home.token("rival", &[]));
    record(&cluster, "private_subnet");
    let service = home.serve(&["--database-connections", "4"]);
    let caller = Caller::new(&service.base, SHOP, &token);
    let rival = Caller::new(&service.base, RIVAL, &theirs);
    let mut number = 0;
    let mut make = async || {
        number += 1;
        let path = format!("{SUBNETS}/n{number}");
        caller.post_nothing(&path).await.ok();
        last_seen(&cluster)
    };
    let whole = eventually(async || (make().await == WAIT).then_some(()));
    whole.await.expect("a change has the whole wait");
    let lock = cluster.lock("inference_api_key");
    let waiting = tokio::spawn(async move { rival.try_call(Method::POST, KEYS, None).await });
    let hastens = eventually(async || (make().await <= HASTE).then_some(()));
    hastens.await.expect("a change waits less at some time");
    drop(lock);
    let made = waiting.await.expect("it runs");
    made.expect("the service responds");
}
