//! Changes that wait for a lock on PostgreSQL delay others for a bounded time, however many projects
//! they belong to. On SQLite one transaction runs at a time, and no lock is waited for.

use std::convert::Infallible;
use std::fmt::Write;
use std::time::{Duration, Instant};

use serde_json::json;
use stratusd::settings::DatabaseUrl;
use stratusd::storage::{
    Aborted, Change, Connection, StorageError, Store, StoreConfig, service_state,
};
use stratusd::world::World;
use tokio::task::{JoinHandle, JoinSet};

use super::PLACE;
use crate::support::caller::Caller;
use crate::support::cluster::{HERE, Session};
use crate::support::inventory::{SHOP, two_projects};
use crate::support::{Home, PATIENCE};

/// The projects that wait for a lock.
const WAITING: usize = 12;
/// The changes of each of them that wait at a time.
const EACH: usize = 3;
/// Returns the condition that a statement waits for a lock.
fn waits() -> String {
    format!("EXISTS (SELECT FROM pg_locks WHERE NOT granted AND {HERE})")
}

fn waiting_id(number: usize) -> String {
    format!("pj{number:024}")
}

/// Returns the inventory of [`two_projects`], with those that wait.
fn projects() -> String {
    let mut inventory = two_projects();
    for number in 0..WAITING {
        let id = waiting_id(number);
        writeln!(inventory, "  - {{ name: waiting-{number}, id: {id} }}").expect("it is a text");
    }
    inventory
}

/// Creates private subnets one after the other, and returns how long each took.
async fn create(caller: &Caller, count: usize) -> Vec<Duration> {
    let mut took = Vec::new();
    for number in 0..count {
        let begun = Instant::now();
        let path = format!("{PLACE}/private-subnet/quick-{number}");
        caller.post_nothing(&path).await.ok();
        took.push(begun.elapsed());
    }
    took
}

/// Many projects create inference keys while the table of these is locked, and another one creates
/// private subnets.
async fn many_projects_wait(connections: &str, longest: Duration, together: Duration) {
    let Some(home) = Home::postgres() else {
        return;
    };
    home.apply(&projects());
    let service = home.serve(&["--database-connections", connections]);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    shop.get(&format!("{PLACE}/vm")).await.ok();
    let tokens: Vec<String> = (0..WAITING)
        .map(|number| home.token(&format!("waiting-{number}"), &[]))
        .collect();
    let mut session = Session::with_locked(&home.database_url, "inference_api_key", "SHARE");
    let mut waiting = JoinSet::new();
    for (number, token) in tokens.iter().enumerate() {
        for _ in 0..EACH {
            let caller = Caller::new(&service.base, &waiting_id(number), token);
            waiting.spawn(async move {
                loop {
                    let refused = caller.post_nothing("/inference-api-key").await;
                    assert_eq!(refused.error(), (503, "Unavailable"));
                }
            });
        }
    }
    assert!(session.sees(&waits(), PATIENCE).await);
    let took = create(&shop, 13).await;
    assert!(waiting.try_join_next().is_none(), "they all wait");
    println!("{connections} connections: {took:?}");
    assert!(took.iter().all(|took| *took < longest), "{took:?}");
    // The first ones may have come when the first of the others began to wait.
    let later: Duration = took[3..].iter().sum();
    assert!(later < together, "{took:?}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_projects_that_wait_for_a_lock_leave_connections_to_others() {
    many_projects_wait("8", Duration::from_millis(1500), Duration::from_secs(3)).await;
}

/// Here the other project waits for the one connection, at most once for each change.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn many_projects_that_wait_for_a_lock_give_a_single_connection_back() {
    many_projects_wait("2", Duration::from_millis(1500), Duration::from_secs(4)).await;
}

/// One load balancer is locked, and the project changes another one and creates subnets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_delays_only_the_changes_that_need_it() {
    let Some(home) = Home::postgres() else {
        return;
    };
    home.apply(&two_projects());
    let service = home.serve(&["--database-connections", "4"]);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let update = |port: u16| {
        json!({ "algorithm": "round_robin", "src_port": port, "dst_port": 2,
        "health_check_endpoint": "/", "vms": [] })
    };
    let mut session = Session::with_locked(&home.database_url, "vm", "ACCESS SHARE");
    let row = session.ask(&format!(
        "SELECT name FROM load_balancer WHERE project_id = '{SHOP}' AND name = 'web' FOR UPDATE"
    ));
    assert_eq!(row, "web");
    let (web, caller) = (format!("{PLACE}/load-balancer/web"), shop.clone());
    let waiting: JoinHandle<_> =
        tokio::spawn(async move { caller.patch(&web, update(1)).await.error().0 });
    assert!(session.sees(&waits(), PATIENCE).await);
    let begun = Instant::now();
    create(&shop, 10).await;
    let created = begun.elapsed();
    for port in 1..=10 {
        let api = format!("{PLACE}/load-balancer/api");
        shop.patch(&api, update(port)).await.ok();
    }
    let both = begun.elapsed();
    println!("creates took {created:?}, and with the updates {both:?}");
    assert!(!waiting.is_finished(), "it still waits after {both:?}");
    assert!(created < Duration::from_secs(1), "{created:?}");
    assert_eq!(waiting.await.expect("it runs"), 503);
    // Once the lock is free, so is what it was for.
    drop(session);
    let web = format!("{PLACE}/load-balancer/web");
    shop.patch(&web, update(3)).await.ok();
}

/// Writes to a table.
struct Put;

impl Change for Put {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        Ok(service_state::put(tx, "test", b"value").await?)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_store_that_is_closed_ends_the_changes_that_wait_for_a_lock() {
    let Some(home) = Home::postgres() else {
        return;
    };
    let url: DatabaseUrl = home.database_url.parse().expect("the URL is valid");
    let config = StoreConfig {
        database: url.database().expect("the URL names a database"),
        connections: 2,
        patience: Duration::from_secs(10),
        lock_wait: Duration::from_millis(50),
        world: World::real(),
    };
    let store = Store::open(&config).await.expect("the database opens");
    let session = Session::with_locked(&home.database_url, "service_state", "SHARE");
    let waiting: Vec<_> = (0..5)
        .map(|_| {
            let store = store.clone();
            tokio::spawn(async move { store.change(Put).await })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(700)).await;
    assert!(!waiting.iter().any(JoinHandle::is_finished));
    let begun = Instant::now();
    store.close().await;
    for change in waiting {
        let ended = change.await.expect("it runs");
        assert!(
            matches!(ended, Err(Aborted::Failed(StorageError::Locked(_)))),
            "{ended:?}"
        );
    }
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(3), "{took:?}");
    drop(session);
}
