//! How often a change runs whose statements fail, or whose connection is lost.

use std::time::Duration;

use stratusd::settings::DatabaseUrl;
use stratusd::storage::{Owner, StorageError, Store, StoreConfig, location};
use stratusd::world::World;

use super::sessions::count;
use crate::support::caller::Caller;
use crate::support::cluster::Cluster;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, eventually};

const KEYS: &str = "/inference-api-key";
const NUMBER: &str = "SELECT count(*) FROM inference_api_key";
/// The number of runs of a change that fails with an error that the service does not know.
const UNKNOWN: usize = 3;
/// The number of runs of a change that conflicts with others.
const CONFLICTS: usize = 8;

/// A conflict with another change.
const CONFLICT: &str = "RAISE EXCEPTION USING ERRCODE = 'serialization_failure'";
/// Takes longer than all runs of a change may wait for locks without a break.
const SLOWLY: &str = "PERFORM pg_sleep(0.4)";

/// Has the first `times` inserts into a table do something, in PL/pgSQL. [`runs`] counts all of them.
fn fault(cluster: &Cluster, table: &str, times: usize, what: &str) {
    let made = cluster.ask(&format!(
        "CREATE SEQUENCE runs;
         CREATE FUNCTION fault() RETURNS trigger LANGUAGE plpgsql SECURITY DEFINER AS $$
         BEGIN
             IF nextval('public.runs') <= {times} THEN {what}; END IF;
             RETURN NEW;
         END $$;
         CREATE TRIGGER fault BEFORE INSERT ON {table} FOR EACH ROW EXECUTE FUNCTION fault()"
    ));
    made.expect("the administrator may alter a table");
}

/// Returns how many inserts there were since [`fault`]. No rollback undoes what a sequence has counted.
fn runs(cluster: &Cluster) -> usize {
    // A new sequence has the value 1 too.
    let sql = "SELECT CASE WHEN is_called THEN last_value ELSE 0 END FROM runs";
    count(cluster, sql)
}

fn mend(cluster: &Cluster) {
    let mended = cluster.ask("DROP FUNCTION fault CASCADE; DROP SEQUENCE runs");
    mended.expect("the administrator may alter a table");
}

fn served(cluster: &Cluster, home: &Home) -> (Service, Caller) {
    home.apply(&two_projects());
    let token = home.token("shop", &[]);
    let service = home.serve(&["--database-connections", "2"]);
    let caller = Caller::new(&service.base, SHOP, &token);
    assert_eq!(count(cluster, NUMBER), 0);
    (service, caller)
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_fails_for_an_unknown_reason_runs_three_times() {
    const RAISE: &str = "RAISE EXCEPTION 'a fault'";
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    let (_service, caller) = served(&cluster, &home);
    // The first time, the insert is sent alone, and then together with the commit.
    for made in [1, 2] {
        fault(&cluster, "inference_api_key", UNKNOWN - 1, RAISE);
        caller.post_nothing(KEYS).await.ok();
        assert_eq!((runs(&cluster), count(&cluster, NUMBER)), (UNKNOWN, made));
        mend(&cluster);
    }
    fault(&cluster, "inference_api_key", 1000, RAISE);
    let failed = caller.post_nothing(KEYS).await;
    assert_eq!(failed.status, 500, "{}", failed.body);
    assert_eq!((runs(&cluster), count(&cluster, NUMBER)), (UNKNOWN, 2));
    mend(&cluster);
    caller.post_nothing(KEYS).await.ok();
}

/// Only a change that conflicts gives its connection back.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_fails_slowly_for_an_unknown_reason_runs_three_times() {
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    let (_service, caller) = served(&cluster, &home);
    let what = format!("{SLOWLY}; RAISE EXCEPTION 'a fault'");
    fault(&cluster, "inference_api_key", UNKNOWN - 1, &what);
    caller.post_nothing(KEYS).await.ok();
    assert_eq!((runs(&cluster), count(&cluster, NUMBER)), (UNKNOWN, 1));
}

/// There is one connection for changes.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_conflicts_slowly_gives_its_connection_back() {
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    let (_service, caller) = served(&cluster, &home);
    let what = format!("{SLOWLY}; {CONFLICT}");
    fault(&cluster, "inference_api_key", 1000, &what);
    let conflicting = caller.clone();
    let conflicting = tokio::spawn(async move { conflicting.post_nothing(KEYS).await });
    let has_begun = eventually(async || (runs(&cluster) > 0).then_some(()));
    has_begun.await.expect("the change runs");
    caller
        .post_nothing("/location/eu-central-h1/private-subnet/between")
        .await
        .ok();
    let before = runs(&cluster);
    assert!(before < CONFLICTS, "it has waited for all {before} runs");
    let failed = conflicting.await.expect("nobody panics");
    assert_eq!(failed.error(), (409, "Conflict"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_conflicts_runs_eight_times() {
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    let (_service, caller) = served(&cluster, &home);
    fault(&cluster, "inference_api_key", CONFLICTS - 1, CONFLICT);
    caller.post_nothing(KEYS).await.ok();
    assert_eq!((runs(&cluster), count(&cluster, NUMBER)), (CONFLICTS, 1));
    mend(&cluster);
    fault(&cluster, "inference_api_key", 1000, CONFLICT);
    let failed = caller.post_nothing(KEYS).await;
    assert_eq!(failed.error(), (409, "Conflict"));
    assert_eq!((runs(&cluster), count(&cluster, NUMBER)), (CONFLICTS, 1));
}

/// A change runs again if a connection that was idle is lost: it may have been lost before the change.
/// If a new connection is lost too, the change fails.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_ends_each_connection_runs_twice() {
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    let (_service, caller) = served(&cluster, &home);
    fault(
        &cluster,
        "inference_api_key",
        1000,
        "PERFORM pg_terminate_backend(pg_backend_pid())",
    );
    let failed = caller.post_nothing(KEYS).await;
    assert_eq!(failed.status, 503, "{}", failed.body);
    assert_eq!((runs(&cluster), count(&cluster, NUMBER)), (2, 0));
    mend(&cluster);
    let again = eventually(async || (caller.post_nothing(KEYS).await.status == 200).then_some(()));
    again.await.expect("the service gets on");
}

/// The server is there, so another connection would not help.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_on_a_full_disk_runs_once() {
    const RAISE: &str = "RAISE EXCEPTION 'could not extend file: No space left on device'";
    let Some((home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    let (_service, caller) = served(&cluster, &home);
    fault(&cluster, "inference_api_key", 1000, RAISE);
    let failed = caller.post_nothing(KEYS).await;
    assert_eq!(failed.status, 503, "{}", failed.body);
    assert_eq!((runs(&cluster), count(&cluster, NUMBER)), (1, 0));
    mend(&cluster);
    caller.post_nothing(KEYS).await.ok();
}

/// Returns the settings of a store whose statements may take `patience`.
fn config(url: &str, patience: Duration) -> StoreConfig {
    let url: DatabaseUrl = url.parse().expect("the URL is valid");
    StoreConfig {
        database: url.database().expect("the URL names a database"),
        connections: 2,
        patience,
        silence: Duration::from_secs(4),
        lock_wait: Duration::from_millis(250),
        world: World::real(),
    }
}

async fn opened(cluster: &Cluster, patience: Duration) -> Store {
    let config = config(&cluster.url(), patience);
    Store::open(&config).await.expect("the database opens")
}

/// The first run may still be in progress, and a second run would be at the same time.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_without_a_response_does_not_run_again() {
    // The backend stops itself: the shell is its child.
    const STOP: &str = "COPY (SELECT 1) TO PROGRAM 'kill -STOP $PPID'";
    let Some((_home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    let store = opened(&cluster, Duration::from_secs(3)).await;
    fault(&cluster, "service_state", 1, STOP);
    assert!(store.ensure_writable().await.is_err());
    assert_eq!(runs(&cluster), 1);
    cluster.signal("CONT");
    let again = eventually(async || store.ensure_writable().await.ok());
    again.await.expect("the store gets on");
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_snapshot_does_not_see_what_is_committed_after_it() {
    const INSERT: &str = "INSERT INTO location VALUES ('eu-north-x1', FALSE)";
    let Some((_home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    let store = opened(&cluster, Duration::from_secs(10)).await;
    let mut snapshot = store
        .snapshot_for(&Owner::Service)
        .await
        .expect("a connection is free");
    let before = location::all(&mut snapshot.connection()).await;
    assert_eq!(before.expect("it can be read"), []);
    cluster.ask(INSERT).expect("the administrator may insert");
    let same = location::all(&mut snapshot.connection()).await;
    assert_eq!(same.expect("it can be read"), []);
    drop(snapshot);
    let mut reader = store.reader().await.expect("a connection is free");
    let after = location::all(&mut reader.connection()).await;
    assert_eq!(after.expect("it can be read").len(), 1);
    drop(reader);
    store.close().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn only_a_server_that_may_come_back_is_unavailable() {
    let Some((_home, cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    let open = async |url: String| {
        let opened = Store::open(&config(&url, Duration::from_secs(10))).await;
        opened.expect_err("there is no such database")
    };
    let url = cluster.url();
    for wrong in [
        url.replace("stratus@", "nobody@"),
        url.replace("/postgres", "/nothing"),
    ] {
        let error = open(wrong).await;
        assert!(matches!(error, StorageError::Other(_)), "{error:?}");
    }
    let error = open(url.replace(&format!(":{}/", cluster.port()), ":1/")).await;
    assert!(matches!(error, StorageError::Unavailable(_)), "{error:?}");
}
