//! Changes that conflict with others give their connections back, and end.

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::{Duration, Instant};

use stratusd::storage::{Aborted, Change, Connection, StorageError};

use super::super::PLACE;
use super::{Put, opened};
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::cluster::ask;
use crate::support::inventory::{RIVAL, SHOP, two_projects};

/// Conflicts with a concurrent change in each of its first runs.
struct Conflicting {
    runs: Arc<AtomicUsize>,
    conflicts: usize,
    /// How long a run takes.
    takes: Duration,
}

impl Conflicting {
    fn always(takes: Duration) -> Self {
        Self {
            runs: Arc::default(),
            conflicts: usize::MAX,
            takes,
        }
    }
}

impl Change for Conflicting {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, _: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        let run = self.runs.fetch_add(1, Ordering::Relaxed);
        tokio::time::sleep(self.takes).await;
        if run < self.conflicts {
            return Err(StorageError::Conflict.into());
        }
        Ok(())
    }
}

/// Has its connection for a time.
struct Slow(Duration);

impl Change for Slow {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, _: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        tokio::time::sleep(self.0).await;
        Ok(())
    }
}

/// There is one connection for changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_conflicts_again_and_again_gives_its_connection_back() {
    let Some(home) = Home::postgres() else {
        return;
    };
    let store = opened(&home, 2, Duration::from_millis(250)).await;
    store.change(Put).await.expect("it is made");
    let change = Conflicting::always(Duration::from_millis(200));
    let runs = Arc::clone(&change.runs);
    let conflicting = tokio::spawn({
        let store = store.clone();
        async move { store.change(change).await }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let begun = Instant::now();
    store.change(Put).await.expect("it is made");
    let took = begun.elapsed();
    assert!(!conflicting.is_finished());
    println!("it took {took:?}");
    assert!(took < Duration::from_millis(900), "{took:?}");
    let ended = conflicting.await.expect("it runs");
    assert!(
        matches!(ended, Err(Aborted::Failed(StorageError::Conflict))),
        "{ended:?}"
    );
    // In all, and not each time that it has the connection.
    assert_eq!(runs.load(Ordering::Relaxed), 8);
    store.close().await;
}

/// It has been run again, and then waits for a change that takes long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_has_met_a_conflict_and_gets_no_turn_again_is_a_conflict() {
    let Some(home) = Home::postgres() else {
        return;
    };
    let store = opened(&home, 2, Duration::from_millis(250)).await;
    store.change(Put).await.expect("it is made");
    let conflicting = tokio::spawn({
        let store = store.clone();
        async move {
            let change = Conflicting::always(Duration::from_millis(300));
            store.change(change).await
        }
    });
    tokio::time::sleep(Duration::from_millis(50)).await;
    let slow = store.change(Slow(Duration::from_secs(6)));
    let (slow, ended) = tokio::join!(slow, conflicting);
    slow.expect("it is made");
    let ended = ended.expect("it runs");
    assert!(
        matches!(ended, Err(Aborted::Failed(StorageError::Conflict))),
        "{ended:?}"
    );
    store.close().await;
}

/// There are four connections for changes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_change_that_conflicts_holds_no_others_of_its_kind() {
    let Some(home) = Home::postgres() else {
        return;
    };
    let store = opened(&home, 8, Duration::from_millis(250)).await;
    store.change(Put).await.expect("it is made");
    let change = |conflicts, takes| {
        let (store, takes) = (store.clone(), Duration::from_millis(takes));
        let runs = Arc::default();
        let change = Conflicting {
            runs,
            conflicts,
            takes,
        };
        tokio::spawn(async move { store.change(change).await })
    };
    let conflicting = change(7, 300);
    tokio::time::sleep(Duration::from_millis(700)).await;
    let begun = Instant::now();
    for other in [(); 3].map(|()| change(0, 400)) {
        other.await.expect("it runs").expect("it is made");
    }
    let took = begun.elapsed();
    println!("it took {took:?}");
    assert!(took < Duration::from_secs(1), "{took:?}");
    // As many as it may have.
    conflicting.await.expect("it runs").expect("it is made");
    store.close().await;
}

/// A trigger fails as a transaction does that cannot be serialized with another one, and counts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_that_always_conflicts_is_tried_eight_times() {
    let Some(home) = Home::postgres() else {
        return;
    };
    home.apply(&two_projects());
    let service = home.serve(&[]);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let trigger = "CREATE SEQUENCE tried; \
                   CREATE FUNCTION conflict() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN \
                   PERFORM pg_sleep(0.1); PERFORM nextval('tried'); \
                   RAISE EXCEPTION 'conflict' USING ERRCODE = 'serialization_failure'; END $$; \
                   CREATE TRIGGER conflict BEFORE INSERT ON private_subnet FOR EACH ROW \
                   EXECUTE FUNCTION conflict()";
    ask(&home.database_url, trigger).expect("a trigger can be made");
    let refused = shop
        .post_nothing(&format!("{PLACE}/private-subnet/again"))
        .await;
    assert_eq!(refused.error(), (409, "Conflict"), "{}", refused.body);
    let tried = ask(&home.database_url, "SELECT last_value FROM tried");
    assert_eq!(tried.as_deref(), Ok("8"));
}

/// With one connection for changes, which another project has for long.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_wait_for_other_changes_is_not_logged_as_a_lost_database() {
    let Some(home) = Home::postgres() else {
        return;
    };
    home.apply(&two_projects());
    let service = home.serve(&["--database-connections", "2"]);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let rival = Caller::new(&service.base, RIVAL, &home.token("rival", &[]));
    let trigger = format!(
        "CREATE FUNCTION slow() RETURNS TRIGGER LANGUAGE plpgsql AS $$ BEGIN \
         PERFORM pg_sleep(7); RETURN NEW; END $$; \
         CREATE TRIGGER slow BEFORE INSERT ON private_subnet FOR EACH ROW \
         WHEN (NEW.project_id = '{RIVAL}') EXECUTE FUNCTION slow()"
    );
    ask(&home.database_url, &trigger).expect("a trigger can be made");
    let slow = tokio::spawn(async move {
        let path = format!("{PLACE}/private-subnet/slow");
        rival.post_nothing(&path).await.status
    });
    tokio::time::sleep(Duration::from_millis(500)).await;
    let path = format!("{PLACE}/private-subnet/waits");
    let refused = shop.post_nothing(&path).await;
    assert_eq!(refused.error(), (503, "Unavailable"));
    assert_eq!(slow.await.expect("it runs"), 200);
    service.terminate();
    let (is_well, log) = service.wait();
    assert!(
        is_well && log.contains("the changes before it take too long"),
        "{log}"
    );
    assert!(!log.contains("cannot be reached"), "{log}");
}
