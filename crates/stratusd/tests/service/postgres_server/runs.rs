//! How often a change runs whose statements fail, or whose connection is lost.

use std::time::Duration;

use stratusd::storage::{Owner, StorageError, Store, location};

use super::config;
use super::sessions::count;
use crate::support::caller::{Caller, JsonResponse};
use crate::support::cluster::Cluster;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, eventually};

const KEYS: &str = "/inference-api-key";
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

/// A service with one connection for changes.
struct Scene {
    caller: Caller,
    service: Service,
    cluster: Cluster,
    _home: Home,
}

impl Scene {
    fn start() -> Option<Self> {
        let (home, cluster) = Home::on_server(&[], &[])?;
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        let service = home.serve(&["--database-connections", "2"]);
        Some(Self {
            caller: Caller::new(&service.base, SHOP, &token),
            service,
            cluster,
            _home: home,
        })
    }

    /// Has the first `times` creates of a key do something, in PL/pgSQL.
    fn fault(&self, times: usize, what: &str) {
        fault(&self.cluster, "inference_api_key", times, what);
    }

    async fn make(&self) -> JsonResponse {
        self.caller.post_nothing(KEYS).await
    }

    /// Asserts how many inserts there were since the fault, and how many keys there are.
    #[track_caller]
    fn has(&self, inserts: usize, keys: usize) {
        let number = "SELECT count(*) FROM inference_api_key";
        assert_eq!(
            (runs(&self.cluster), count(&self.cluster, number)),
            (inserts, keys)
        );
    }

    fn mend(&self) {
        let sql = "DROP FUNCTION fault CASCADE; DROP SEQUENCE runs";
        let mended = self.cluster.ask(sql);
        mended.expect("the administrator may alter a table");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_fails_for_an_unknown_reason_runs_three_times() {
    const RAISE: &str = "RAISE EXCEPTION 'a fault'";
    let Some(scene) = Scene::start() else {
        return;
    };
    // The first time, the insert is sent alone, and then together with the commit.
    for made in [1, 2] {
        scene.fault(UNKNOWN - 1, RAISE);
        scene.make().await.ok();
        scene.has(UNKNOWN, made);
        scene.mend();
    }
    scene.fault(1000, RAISE);
    let failed = scene.make().await;
    assert_eq!(failed.status, 500, "{}", failed.body);
    scene.has(UNKNOWN, 2);
    scene.mend();
    scene.make().await.ok();
}

/// Only a change that conflicts gives its connection back.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_fails_slowly_for_an_unknown_reason_runs_three_times() {
    let Some(scene) = Scene::start() else {
        return;
    };
    let what = format!("{SLOWLY}; RAISE EXCEPTION 'a fault'");
    scene.fault(UNKNOWN - 1, &what);
    scene.make().await.ok();
    scene.has(UNKNOWN, 1);
}

/// There is one connection for changes.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_conflicts_slowly_gives_its_connection_back() {
    let Some(scene) = Scene::start() else {
        return;
    };
    let what = format!("{SLOWLY}; {CONFLICT}");
    scene.fault(1000, &what);
    let caller = scene.caller.clone();
    let conflicting = tokio::spawn(async move { caller.post_nothing(KEYS).await });
    let has_begun = eventually(async || (runs(&scene.cluster) > 0).then_some(()));
    has_begun.await.expect("the change runs");
    scene
        .caller
        .post_nothing("/location/eu-central-h1/private-subnet/between")
        .await
        .ok();
    let before = runs(&scene.cluster);
    assert!(before < CONFLICTS, "it has waited for all {before} runs");
    let failed = conflicting.await.expect("nobody panics");
    assert_eq!(failed.error(), (409, "Conflict"));
}

/// Callers of the management port need no token, and may ask often.
#[tokio::test(flavor = "multi_thread")]
async fn readiness_writes_once_in_two_seconds() {
    let Some(scene) = Scene::start() else {
        return;
    };
    fault(&scene.cluster, "service_state", 0, "NULL");
    let begun = std::time::Instant::now();
    // The service has written when it started, which counts for two seconds too.
    while begun.elapsed() < Duration::from_secs(3) {
        let ready = reqwest::get(format!("{}/readyz", scene.service.management)).await;
        assert_eq!(ready.expect("the service responds").status(), 200);
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let most = 2 + begun.elapsed().as_secs() / 2;
    let written = runs(&scene.cluster) as u64;
    assert!((1..=most).contains(&written), "{written} writes");
    // About as much as most changes write.
    let largest = count(
        &scene.cluster,
        "SELECT max(length(value)) FROM service_state",
    );
    assert!((32 << 10..128 << 10).contains(&largest), "{largest} bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_conflicts_runs_eight_times() {
    let Some(scene) = Scene::start() else {
        return;
    };
    scene.fault(CONFLICTS - 1, CONFLICT);
    scene.make().await.ok();
    scene.has(CONFLICTS, 1);
    scene.mend();
    scene.fault(1000, CONFLICT);
    let failed = scene.make().await;
    assert_eq!(failed.error(), (409, "Conflict"));
    scene.has(CONFLICTS, 1);
}

/// A change runs again if a connection that was idle is lost: it may have been lost before the change.
/// If a new connection is lost too, the change fails.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_that_ends_each_connection_runs_twice() {
    let Some(scene) = Scene::start() else {
        return;
    };
    scene.fault(1000, "PERFORM pg_terminate_backend(pg_backend_pid())");
    let failed = scene.make().await;
    assert_eq!(failed.status, 503, "{}", failed.body);
    scene.has(2, 0);
    scene.mend();
    let again = eventually(async || (scene.make().await.status == 200).then_some(()));
    again.await.expect("the service gets on");
}

/// The server is there, so another connection would not help.
#[tokio::test(flavor = "multi_thread")]
async fn a_change_on_a_full_disk_runs_once() {
    const RAISE: &str = "RAISE EXCEPTION 'could not extend file: No space left on device'";
    let Some(scene) = Scene::start() else {
        return;
    };
    scene.fault(1000, RAISE);
    let failed = scene.make().await;
    assert_eq!(failed.status, 503, "{}", failed.body);
    scene.has(1, 0);
    scene.mend();
    scene.make().await.ok();
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
