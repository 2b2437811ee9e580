//! Changes that wait for a lock on PostgreSQL delay others for a bounded time, however many projects
//! they belong to. On SQLite one transaction runs at a time, and no lock is waited for.

mod conflicts;

use std::convert::Infallible;
use std::fmt::Write;
use std::time::{Duration, Instant};

use api_types::ProjectId;
use serde_json::{Value, json};
use stratusd::settings::DatabaseUrl;
use stratusd::storage::{
    Aborted, Change, Connection, SILENCE, StorageError, Store, StoreConfig, service_state,
};
use stratusd::world::World;
use tokio::task::{JoinHandle, JoinSet};

use super::PLACE;
use crate::support::caller::Caller;
use crate::support::cluster::{HERE, Session, ask};
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

fn update(port: u16) -> Value {
    json!({ "algorithm": "round_robin", "src_port": port, "dst_port": 2,
    "health_check_endpoint": "/", "vms": [] })
}

/// One load balancer is locked, which many callers try to change and soon give up. The project changes
/// another one and creates subnets.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_lock_delays_only_the_changes_that_need_it() {
    let Some(home) = Home::postgres() else {
        return;
    };
    home.apply(&two_projects());
    let service = home.serve(&["--database-connections", "4"]);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let mut session = Session::with_locked(&home.database_url, "vm", "ACCESS SHARE");
    let row = session.ask(&format!(
        "SELECT name FROM load_balancer WHERE project_id = '{SHOP}' AND name = 'web' FOR UPDATE"
    ));
    assert_eq!(row, "web");
    let mut trying = JoinSet::new();
    for _ in 0..8 {
        let caller = shop.clone();
        trying.spawn(async move {
            let web = format!("{PLACE}/load-balancer/web");
            loop {
                let tried = caller.patch(&web, update(1));
                let _ = tokio::time::timeout(Duration::from_millis(300), tried).await;
            }
        });
    }
    assert!(session.sees(&waits(), PATIENCE).await);
    let begun = Instant::now();
    create(&shop, 10).await;
    let created = begun.elapsed();
    drop(trying);
    let (web, caller) = (format!("{PLACE}/load-balancer/web"), shop.clone());
    let waiting: JoinHandle<_> =
        tokio::spawn(async move { caller.patch(&web, update(1)).await.error().0 });
    assert!(session.sees(&waits(), PATIENCE).await);
    let begun = Instant::now();
    for port in 1..=10 {
        let api = format!("{PLACE}/load-balancer/api");
        shop.patch(&api, update(port)).await.ok();
    }
    let updated = begun.elapsed();
    println!("creates took {created:?}, and the updates {updated:?}");
    assert!(!waiting.is_finished(), "it still waits after {updated:?}");
    assert!(created < Duration::from_secs(2), "{created:?}");
    assert_eq!(waiting.await.expect("it runs"), 503);
    // Once the lock is free, so is what it was for.
    drop(session);
    let web = format!("{PLACE}/load-balancer/web");
    shop.patch(&web, update(3)).await.ok();
}

/// Twelve projects wait for a load balancer that is locked, and one of them changes another one, with
/// the only connection that all of them have.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_needs_no_lock_does_not_wait_for_all_that_have_met_one() {
    let Some(home) = Home::postgres() else {
        return;
    };
    let mut inventory = two_projects();
    for number in 0..WAITING {
        let id = waiting_id(number);
        write!(
            inventory,
            "  - name: waiting-{number}\n    id: {id}\n    \
             private_subnets: [{{ name: front, location: eu-central-h1 }}]\n    load_balancers:\n"
        )
        .expect("it is a text");
        for name in ["web", "api"] {
            writeln!(
                inventory,
                "      - {{ name: {name}, location: eu-central-h1, subnet: front, src_port: 80, \
                 dst_port: 9000, health_check_endpoint: /up }}"
            )
            .expect("it is a text");
        }
    }
    home.apply(&inventory);
    let service = home.serve(&["--database-connections", "4"]);
    let callers: Vec<Caller> = (0..WAITING)
        .map(|number| {
            let token = home.token(&format!("waiting-{number}"), &[]);
            Caller::new(&service.base, &waiting_id(number), &token)
        })
        .collect();
    let mut session = Session::with_locked(&home.database_url, "vm", "ACCESS SHARE");
    let rows = "SELECT count(*) FROM \
                (SELECT name FROM load_balancer WHERE name = 'web' FOR UPDATE) AS t";
    assert_eq!(session.ask(rows), (WAITING + 2).to_string());
    let mut waiting = JoinSet::new();
    for caller in callers.iter().flat_map(|caller| [caller; EACH]) {
        let caller = caller.clone();
        waiting.spawn(async move {
            let web = format!("{PLACE}/load-balancer/web");
            loop {
                let refused = caller.patch(&web, update(1)).await;
                assert_eq!(refused.error(), (503, "Unavailable"));
            }
        });
    }
    // By then, each project has a change that has met the lock.
    tokio::time::sleep(Duration::from_secs(2)).await;
    let mut took = Vec::new();
    for port in 1..=5 {
        let begun = Instant::now();
        let api = format!("{PLACE}/load-balancer/api");
        callers[0].patch(&api, update(port)).await.ok();
        took.push(begun.elapsed());
    }
    assert!(waiting.try_join_next().is_none(), "they all wait");
    // One of them may come when it is the turn of all the others.
    took.sort();
    assert!(took[took.len() / 2] < Duration::from_secs(2), "{took:?}");
}

/// A trigger fails, after a time that is longer than a change waits for a lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_failure_is_not_taken_for_a_lock() {
    let Some(home) = Home::postgres() else {
        return;
    };
    home.apply(&two_projects());
    let service = home.serve(&[]);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let trigger = "CREATE FUNCTION fail() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN \
                   PERFORM pg_sleep(0.4); RAISE EXCEPTION 'broken'; END $$; \
                   CREATE TRIGGER fail BEFORE INSERT ON private_subnet FOR EACH ROW \
                   EXECUTE FUNCTION fail()";
    ask(&home.database_url, trigger).expect("a trigger can be made");
    let path = format!("{PLACE}/private-subnet/slow");
    let failed = shop.post_nothing(&path).await;
    assert_eq!(failed.error(), (500, "UnexpectedError"), "{}", failed.body);
}

async fn opened(home: &Home, connections: u32, lock_wait: Duration) -> Store {
    let url: DatabaseUrl = home.database_url.parse().expect("the URL is valid");
    let config = StoreConfig {
        database: url.database().expect("the URL names a database"),
        connections,
        patience: Duration::from_secs(10),
        silence: SILENCE,
        lock_wait,
        world: World::real(),
    };
    Store::open(&config).await.expect("the database opens")
}

/// Writes two rows: a trigger delays the first write, and the second one waits for a lock.
struct TwoWrites;

impl Change for TwoWrites {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        service_state::put(tx, "slow", b"value").await?;
        Ok(service_state::put(tx, "locked", b"value").await?)
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_statements_of_a_change_share_the_time_that_it_waits_for_locks() {
    let Some(home) = Home::postgres() else {
        return;
    };
    let store = opened(&home, 2, Duration::from_secs(1)).await;
    let trigger = "CREATE FUNCTION slow() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN \
                   PERFORM pg_sleep(0.9); RETURN NEW; END $$; \
                   CREATE TRIGGER slow BEFORE INSERT ON service_state FOR EACH ROW \
                   WHEN (NEW.name = 'slow') EXECUTE FUNCTION slow(); \
                   INSERT INTO service_state (name, value) VALUES ('locked', '')";
    ask(&home.database_url, trigger).expect("a trigger can be made");
    let mut session = Session::with_locked(&home.database_url, "vm", "ACCESS SHARE");
    let row = "SELECT name FROM service_state WHERE name = 'locked' FOR UPDATE";
    assert_eq!(session.ask(row), "locked");
    let change = tokio::spawn({
        let store = store.clone();
        async move { store.change(TwoWrites).await }
    });
    let mut longest: f64 = 0.0;
    while !change.is_finished() {
        // A transaction sees what it has seen first, unless it is asked to look again.
        session.ask("SELECT pg_stat_clear_snapshot()");
        let age = session.ask(
            "SELECT COALESCE(max(extract(epoch FROM clock_timestamp() - xact_start)), 0) \
             FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()",
        );
        longest = longest.max(age.parse().expect("it is a number"));
        tokio::time::sleep(Duration::from_millis(2)).await;
    }
    let ended = change.await.expect("it runs");
    assert!(
        matches!(ended, Err(Aborted::Failed(StorageError::Locked(_)))),
        "{ended:?}"
    );
    println!("the transaction took {longest} s");
    assert!((0.9..1.5).contains(&longest), "{longest}");
    drop(session);
    store.close().await;
}

/// Writes to a table, as one of several types of changes.
struct PutAs<const TYPE: usize>;

impl<const TYPE: usize> Change for PutAs<TYPE> {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        Ok(service_state::put(tx, "test", b"value").await?)
    }
}

/// Submits changes of a type and a project at once, and returns how many are refused for their number.
async fn crowded<const TYPE: usize>(
    store: &Store,
    project: &ProjectId,
    changes: usize,
    waiting: &mut JoinSet<()>,
) -> usize {
    let (refuse, mut refused) = tokio::sync::mpsc::unbounded_channel();
    for _ in 0..changes {
        let (store, project, refuse) = (store.clone(), project.clone(), refuse.clone());
        waiting.spawn(async move {
            let change = store.change_of(&project, PutAs::<TYPE>);
            if let Err(Aborted::Failed(StorageError::Crowded(reason))) = change.await
                && reason.contains("too many changes")
            {
                let _ = refuse.send(());
            }
        });
    }
    tokio::time::sleep(Duration::from_millis(700)).await;
    let mut count = 0;
    while refused.try_recv().is_ok() {
        count += 1;
    }
    count
}

/// The bound is 2048. The changes of each type wait in lines of their own once one has met the lock.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_changes_of_a_project_that_wait_for_locks_are_bounded_together() {
    let Some(home) = Home::postgres() else {
        return;
    };
    let store = opened(&home, 8, Duration::from_millis(50)).await;
    let session = Session::with_locked(&home.database_url, "service_state", "SHARE");
    let project = ProjectId::try_from(format!("pj{:024}", 1)).expect("it is an id");
    let mut waiting = JoinSet::new();
    let refused = [
        crowded::<0>(&store, &project, 1000, &mut waiting).await,
        crowded::<1>(&store, &project, 1500, &mut waiting).await,
        crowded::<2>(&store, &project, 10, &mut waiting).await,
    ];
    assert_eq!(refused, [0, 452, 10]);
    // Those that go away leave room at once.
    waiting.shutdown().await;
    assert_eq!(crowded::<0>(&store, &project, 2000, &mut waiting).await, 0);
    waiting.shutdown().await;
    drop(session);
    store.close().await;
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
    let store = opened(&home, 2, Duration::from_millis(50)).await;
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
