//! The reconciler with a provisioner that records what it is asked to do.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use serde_json::{Value, json};
use stratusd::operations::Context;
use stratusd::reconcile::{Reconciler, ReconcilerConfig, Steps};
use stratusd::seal::Sealer;
use stratusd::storage::Store;
use stratusd::storage::lease::{self, Lane};
use stratusd::world::World;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::watching::{Watched, Watching};
use super::{PLACE, store};
use crate::on_both;
use crate::support::bare::{Bare, BareRequest, QUOTAS};
use crate::support::inventory::SHOP;
use crate::support::{Home, eventually};

/// Long enough to be renewed in time on a busy machine.
const LEASE: Duration = Duration::from_secs(6);

on_both! {
    async fn workers_share_the_work_and_never_a_database(home: Home) {
        let bare = Bare::new(home).await;
        let paths: Vec<String> =
            (0..30).map(|number| format!("/project/{SHOP}{PLACE}/postgres/shared-{number}")).collect();
        for path in &paths {
            let body = Some(json!({ "size": "standard-2", "storage_size": 64 }));
            let (status, ..) = bare.call(&BareRequest { method: "POST", path: path.clone(), body }).await;
            assert_eq!(status, 200);
        }
        let watched = Arc::new(Watched::default());
        let stop = CancellationToken::new();
        let keys = std::fs::read_to_string(bare.home.keys()).expect("the key file exists");
        let mut workers = Vec::new();
        for _ in 0..3 {
            // Each has its own connections, as a replica has.
            let reconciler = reconciler(&bare.home, &keys, Arc::clone(&watched)).await;
            workers.push(tokio::spawn(reconciler.run(stop.clone())));
        }
        let is_done =
            async || watched.finished.load(Ordering::SeqCst) >= 30 && !is_anything_due(&bare.store).await;
        eventually(async || is_done().await.then_some(())).await.expect("every database reaches its targets");
        stop.cancel();
        for worker in workers {
            worker.await.expect("a worker ends");
        }
        assert_eq!(watched.overlaps.load(Ordering::SeqCst), 0, "two workers worked on one database at the same time");
        assert_eq!(watched.finished.load(Ordering::SeqCst), 30, "each database is created once");
        assert!(watched.passwords.lock().unwrap().values().all(|password| password.len() == 32));
        for path in paths {
            let (_, _, body) = bare.call(&BareRequest { method: "GET", path, body: None }).await;
            let database: Value = serde_json::from_slice(&body).expect("the body is JSON");
            assert_eq!(database["state"], "running", "{database}");
        }
    }
}

/// A call that hangs does not block its worker or the shutdown of the service.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_hangs_is_cancelled() {
    let bare = Bare::new(Home::sqlite()).await;
    let path = format!("/project/{SHOP}{PLACE}/postgres/orders");
    let body = Some(json!({ "size": "standard-2", "storage_size": 64 }));
    assert_eq!(
        bare.call(&BareRequest {
            method: "POST",
            path,
            body
        })
        .await
        .0,
        200
    );
    for (step_limit, grace) in [
        (Duration::from_millis(300), LEASE),
        (LEASE * 100, Duration::from_millis(300)),
    ] {
        let watched = Arc::new(Watched::default());
        let _hangs = watched.holds_passwords.lock().await;
        let keys = std::fs::read_to_string(bare.home.keys()).expect("the key file exists");
        let config = ReconcilerConfig {
            step_limit,
            grace,
            is_alone: true,
            ..config()
        };
        let context = context(&keys);
        let (store, steps) = (store(&bare.home).await, Arc::new(Steps::default()));
        let reconciler = Reconciler::new(
            store,
            context,
            Watching(Arc::clone(&watched)),
            config,
            Arc::clone(&steps),
        );
        let stop = CancellationToken::new();
        let worker = tokio::spawn(reconciler.run(stop.clone()));
        if step_limit < LEASE {
            let has_failed = async || (steps.failed.load(Ordering::SeqCst) > 0).then_some(());
            eventually(has_failed)
                .await
                .expect("the step counts as failed");
        } else {
            let is_asked =
                async || (watched.asked_for_password.load(Ordering::SeqCst) > 0).then_some(());
            eventually(is_asked).await.expect("the step has begun");
        }
        stop.cancel();
        tokio::time::timeout(Duration::from_mins(1), worker)
            .await
            .expect("the worker ends within a minute")
            .expect("the worker does not panic");
    }
}

/// Sends a request about a database, which succeeds.
async fn ask(bare: &Bare, method: &'static str, name: &str, body: Value) {
    let path = format!("/project/{SHOP}{PLACE}/postgres/{name}");
    let (status, _, body) = bare
        .call(&BareRequest {
            method,
            path,
            body: Some(body),
        })
        .await;
    assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
}

/// The API refuses a storage in which less than a fifth would be free, by what was in use when the database
/// was last looked at. It may have grown since.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_storage_that_has_filled_up_meanwhile_does_not_shrink() {
    let bare = Bare::new(Home::sqlite()).await;
    let ask = async |method, body| ask(&bare, method, "orders", body).await;
    ask("POST", json!({ "size": "standard-2", "storage_size": 128 })).await;
    let watched = Arc::new(Watched::default());
    let keys = std::fs::read_to_string(bare.home.keys()).expect("the key file exists");
    let stop = CancellationToken::new();
    let reconciler = reconciler(&bare.home, &keys, Arc::clone(&watched)).await;
    let worker = tokio::spawn(reconciler.run(stop.clone()));
    let wait = async |is_done: &dyn Fn() -> bool| {
        eventually(async || is_done().then_some(()))
            .await
            .expect("the provisioner gets to the awaited state");
    };
    let size = || {
        let resized = watched.resized.lock().unwrap();
        resized.values().next().map(|shape| shape.storage_size_gib)
    };
    wait(&|| watched.finished.load(Ordering::SeqCst) >= 1).await;
    // From then on, the provisioner has a shape of its own.
    ask("PATCH", json!({ "ha_type": "sync" })).await;
    wait(&|| size() == Some(128)).await;
    // Until what it has seen is recorded, and nothing is due: the API must not know what is in use from now on.
    let observed = || watched.observed.load(Ordering::SeqCst);
    let rests = eventually(async || {
        let before = observed();
        tokio::time::sleep(Duration::from_millis(500)).await;
        (observed() == before).then_some(())
    });
    rests.await.expect("it looks at the database now and then");
    // Of 64 GiB, less than 80 % must be in use.
    watched.used.store(52 << 30, Ordering::SeqCst);
    let before = watched.observed.load(Ordering::SeqCst);
    ask("PATCH", json!({ "storage_size": 64 })).await;
    wait(&|| watched.observed.load(Ordering::SeqCst) > before).await;
    tokio::time::sleep(Duration::from_millis(500)).await;
    assert_eq!(size(), Some(128));
    stop.cancel();
    worker.await.expect("the worker ends");
}

/// The provisioner gets changes of the high availability, the networks that may connect, restarts and
/// promotions.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn availability_networks_and_restarts_reach_the_provisioner() {
    let bare = Bare::new(Home::sqlite()).await;
    let ask = async |method, name: &str, body| ask(&bare, method, name, body).await;
    ask(
        "POST",
        "open",
        json!({ "size": "standard-2", "storage_size": 64 }),
    )
    .await;
    ask(
        "POST",
        "closed",
        json!({ "size": "standard-2", "storage_size": 64, "restrict_by_default": true }),
    )
    .await;
    let watched = Arc::new(Watched::default());
    let keys = std::fs::read_to_string(bare.home.keys()).expect("the key file exists");
    let stop = CancellationToken::new();
    let worker = tokio::spawn(
        reconciler(&bare.home, &keys, Arc::clone(&watched))
            .await
            .run(stop.clone()),
    );
    let wait = async |is_done: &dyn Fn() -> bool| {
        eventually(async || is_done().then_some(()))
            .await
            .expect("the provisioner gets to the awaited state");
    };
    wait(&|| watched.finished.load(Ordering::SeqCst) >= 2).await;
    assert!(
        watched.resized.lock().unwrap().is_empty(),
        "the databases were created in the wanted shape, and not resized afterwards"
    );
    ask("PATCH", "open", json!({ "ha_type": "sync" })).await;
    wait(&|| {
        watched
            .resized
            .lock()
            .unwrap()
            .values()
            .any(|shape| shape.ha_type == "sync")
    })
    .await;
    assert_eq!(
        watched.resized.lock().unwrap().len(),
        1,
        "only one of the two databases is resized"
    );
    let open_to = watched.open_to.lock().unwrap().clone();
    assert_eq!(open_to["open"], ["0.0.0.0/0", "::/0"]);
    assert!(open_to["closed"].is_empty());
    // Rules of callers are in force once the reconciler has seen them.
    let office = json!({ "cidr": "198.51.100.0/24" });
    ask("POST", "closed/firewall-rule", office).await;
    wait(&|| watched.open_to.lock().unwrap()["closed"] == ["198.51.100.0/24"]).await;
    for number in [1, 2] {
        ask("POST", "open/restart", Value::Null).await;
        let restart = ("open".to_owned(), number);
        wait(&|| watched.restarts.lock().unwrap().last() == Some(&restart)).await;
        ask("POST", "open/promote", Value::Null).await;
        let promotion = ("open".to_owned(), number);
        wait(&|| watched.promotions.lock().unwrap().last() == Some(&promotion)).await;
    }
    stop.cancel();
    worker.await.expect("a worker ends");
}

/// A worker that cannot renew its lease stops before another one can claim the database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_ends_with_its_lease() {
    let Some((home, mut cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    let bare = Bare::new(home).await;
    let path = format!("/project/{SHOP}{PLACE}/postgres/orders");
    let body = Some(json!({ "size": "standard-2", "storage_size": 64 }));
    assert_eq!(
        bare.call(&BareRequest {
            method: "POST",
            path,
            body
        })
        .await
        .0,
        200
    );
    let watched = Arc::new(Watched::default());
    // The provisioner blocks until long after the end of the lease.
    let at_the_door = watched.holds_passwords.lock().await;
    let keys = std::fs::read_to_string(bare.home.keys()).expect("the key file exists");
    let stop = CancellationToken::new();
    let worker = tokio::spawn(
        reconciler(&bare.home, &keys, Arc::clone(&watched))
            .await
            .run(stop.clone()),
    );
    let is_asked = async || (watched.asked_for_password.load(Ordering::SeqCst) > 0).then_some(());
    eventually(is_asked).await.expect("the step has begun");
    let begun = Instant::now();
    cluster.stop();
    while watched.passwords_begun.load(Ordering::SeqCst) > 0 {
        assert!(
            begun.elapsed() < LEASE * 5,
            "the step goes on though its lease has ended"
        );
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    // The lease is renewed after each third of its time, and is valid until its end if that fails.
    assert!(
        begun.elapsed() > LEASE / 2,
        "the step was abandoned long before its lease ended: {:?}",
        begun.elapsed()
    );
    drop(at_the_door);
    stop.cancel();
    cluster.start_again();
    worker.await.expect("a worker ends");
}

/// A renewal of a lease that fails is tried again while the lease lasts.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_goes_on_if_its_lease_cannot_be_renewed_for_a_while() {
    let bare = Bare::new(Home::sqlite()).await;
    let request = BareRequest {
        method: "POST",
        path: format!("/project/{SHOP}{PLACE}/postgres/orders"),
        body: Some(json!({ "size": "standard-2", "storage_size": 64 })),
    };
    assert_eq!(bare.call(&request).await.0, 200);
    let watched = Arc::new(Watched::default());
    let at_the_door = watched.holds_passwords.lock().await;
    let (stop, worker) = begin(&bare, &watched).await;
    let run = |sql: &str| {
        let mut connection = bare.home.open_sqlite();
        connection.batch_execute(sql).expect("it can be written");
    };
    run(
        "CREATE TRIGGER never BEFORE UPDATE OF lease_until ON postgres_database \
         BEGIN SELECT RAISE(ABORT, 'not now'); END",
    );
    // The lease is renewed for the first time after a third of it.
    tokio::time::sleep(LEASE / 2).await;
    run("DROP TRIGGER never");
    tokio::time::sleep(LEASE).await;
    assert_eq!(
        watched.passwords_begun.load(Ordering::SeqCst),
        1,
        "the step goes on"
    );
    assert_eq!(watched.asked_for_password.load(Ordering::SeqCst), 1);
    drop(at_the_door);
    stop.cancel();
    worker.await.expect("a worker ends");
}

/// A worker renews its lease for as long as its step takes.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_may_take_longer_than_its_lease() {
    let bare = Bare::new(Home::sqlite()).await;
    let path = format!("/project/{SHOP}{PLACE}/postgres/orders");
    let request = |method| BareRequest {
        method,
        path: path.clone(),
        body: (method == "POST").then(|| json!({ "size": "standard-2", "storage_size": 64 })),
    };
    assert_eq!(bare.call(&request("POST")).await.0, 200);
    let watched = Arc::new(Watched::default());
    let at_the_door = watched.holds_passwords.lock().await;
    let keys = std::fs::read_to_string(bare.home.keys()).expect("the key file exists");
    let stop = CancellationToken::new();
    let mut workers = Vec::new();
    for _ in 0..2 {
        let reconciler = reconciler(&bare.home, &keys, Arc::clone(&watched)).await;
        workers.push(tokio::spawn(reconciler.run(stop.clone())));
    }
    let is_asked = async || (watched.asked_for_password.load(Ordering::SeqCst) > 0).then_some(());
    eventually(is_asked).await.expect("the step has begun");
    tokio::time::sleep(LEASE * 5 / 2).await;
    assert_eq!(
        watched.passwords_begun.load(Ordering::SeqCst),
        1,
        "the step still goes on"
    );
    drop(at_the_door);
    let is_running = eventually(async || {
        let (_, _, body) = bare.call(&request("GET")).await;
        let database: Value = serde_json::from_slice(&body).expect("the body is JSON");
        (database["state"] == "running").then_some(())
    });
    is_running.await.expect("the step ends well");
    stop.cancel();
    for worker in workers {
        worker.await.expect("a worker ends");
    }
    assert_eq!(watched.asked_for_password.load(Ordering::SeqCst), 1);
}

/// A step that has begun before the owner deletes the database does not bring it back.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_deleted_meanwhile_stays_deleted() {
    let bare = Bare::new(Home::sqlite()).await;
    let path = format!("/project/{SHOP}{PLACE}/postgres");
    let call = async |method: &'static str, of: &str, body: Option<Value>| {
        let path = format!("{path}{of}");
        let request = BareRequest { method, path, body };
        let (status, _, body) = bare.call(&request).await;
        let body: Value = serde_json::from_slice(&body).unwrap_or_default();
        (status, body)
    };
    let body = json!({ "size": "standard-2", "storage_size": 64 });
    let (status, made) = call("POST", "/orders", Some(body.clone())).await;
    assert_eq!(status, 200, "{made}");
    let by_id = format!("/{}", made["id"].as_str().expect("it is an id"));
    let watched = Arc::new(Watched::default());
    // The provisioner blocks when it sets the password.
    let at_the_door = watched.holds_passwords.lock().await;
    let (stop, worker) = begin(&bare, &watched).await;
    assert_eq!(call("DELETE", "/orders", None).await.0, 204);
    drop(at_the_door);
    let is_gone = eventually(async || {
        let (status, seen) = call("GET", &by_id, None).await;
        assert!(status == 404 || seen["state"] == "deleting", "{seen}");
        (status == 404).then_some(())
    });
    is_gone.await.expect("the database is deleted");
    assert_eq!(*watched.deleted.lock().unwrap(), [by_id[1..].to_owned()]);
    assert_eq!(call("GET", "", None).await.1["count"], 0);
    stop.cancel();
    worker.await.expect("a worker ends");
}

/// A password that the owner sets while the provisioner sets an earlier one is set afterwards.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_that_is_changed_meanwhile_is_set_again() {
    let bare = Bare::new(Home::sqlite()).await;
    let path = format!("/project/{SHOP}{PLACE}/postgres/orders");
    let ask = async |path: String, body: Value| {
        let (status, _, body) = bare
            .call(&BareRequest {
                method: "POST",
                path,
                body: Some(body),
            })
            .await;
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    };
    ask(
        path.clone(),
        json!({ "size": "standard-2", "storage_size": 64 }),
    )
    .await;
    let watched = Arc::new(Watched::default());
    // The provisioner blocks when it sets a password.
    let at_the_door = watched.holds_passwords.lock().await;
    let config = ReconcilerConfig {
        lease: Duration::from_hours(1),
        observe_every: Duration::from_millis(1),
        poll: Duration::from_millis(5),
        step_limit: Duration::from_mins(10),
        grace: Duration::from_mins(1),
        is_alone: true,
    };
    let (store, context, steps) = (
        bare.store.clone(),
        bare.context.clone(),
        Arc::new(Steps::default()),
    );
    let stop = CancellationToken::new();
    let reconciler = Reconciler::new(
        store,
        context,
        Watching(Arc::clone(&watched)),
        config,
        steps,
    );
    let worker = tokio::spawn(reconciler.run(stop.clone()));
    // The clock of this service only advances with requests.
    let tick = async || {
        bare.call(&BareRequest {
            method: "GET",
            path: path.clone(),
            body: None,
        })
        .await
    };
    let is_on_its_way = eventually(async || {
        tick().await;
        (watched.asked_for_password.load(Ordering::SeqCst) > 0).then_some(())
    });
    is_on_its_way
        .await
        .expect("the step that sets the first password begins");
    ask(
        format!("{path}/reset-superuser-password"),
        json!({ "password": "Changed-Meanwhile-1" }),
    )
    .await;
    drop(at_the_door);
    let is_set = eventually(async || {
        tick().await;
        watched
            .passwords
            .lock()
            .unwrap()
            .values()
            .any(|password| password == "Changed-Meanwhile-1")
            .then_some(())
    });
    is_set.await.expect("the second password is set");
    stop.cancel();
    worker.await.expect("a worker ends");
}

/// A worker whose step ends after another one has taken over writes nothing.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_worker_has_done_is_not_noted_once_its_lease_is_lost() {
    let bare = Bare::new(Home::sqlite()).await;
    let path = format!("/project/{SHOP}{PLACE}/postgres/orders");
    let request = |method| BareRequest {
        method,
        path: path.clone(),
        body: (method == "POST").then(|| json!({ "size": "standard-2", "storage_size": 64 })),
    };
    assert_eq!(bare.call(&request("POST")).await.0, 200);
    let watched = Arc::new(Watched::default());
    // The provisioner blocks when it sets a password.
    let at_the_door = watched.holds_passwords.lock().await;
    let config = ReconcilerConfig {
        // So the worker asks for no longer lease meanwhile.
        lease: Duration::from_hours(1),
        observe_every: Duration::from_millis(1),
        poll: Duration::from_millis(5),
        step_limit: Duration::from_mins(10),
        grace: Duration::from_mins(1),
        is_alone: true,
    };
    let steps = Arc::new(Steps::default());
    let stop = CancellationToken::new();
    let reconciler = Reconciler::new(
        bare.store.clone(),
        bare.context.clone(),
        Watching(Arc::clone(&watched)),
        config,
        Arc::clone(&steps),
    );
    let worker = tokio::spawn(reconciler.run(stop.clone()));
    let is_asked = eventually(async || {
        // The clock of this service only advances with requests.
        bare.call(&request("GET")).await;
        (watched.asked_for_password.load(Ordering::SeqCst) > 0).then_some(())
    });
    is_asked.await.expect("the step has begun");
    let taken = "UPDATE postgres_database SET lease = 'another'";
    bare.home
        .open_sqlite()
        .batch_execute(taken)
        .expect("it can be written");
    let before = bare.call(&request("GET")).await.2;
    drop(at_the_door);
    let is_lost = eventually(async || (steps.lost.load(Ordering::SeqCst) > 0).then_some(()));
    is_lost.await.expect("the worker notices");
    assert_eq!(bare.call(&request("GET")).await.2, before);
    let mut connection = bare.home.open_sqlite();
    let kept = "UPDATE postgres_database SET lease = 'another' WHERE lease = 'another'";
    let kept = diesel::RunQueryDsl::execute(diesel::sql_query(kept), &mut connection);
    assert_eq!(
        kept.expect("it can be written"),
        1,
        "the lease is not the worker's to release"
    );
    stop.cancel();
    worker.await.expect("a worker ends");
    assert!(
        watched.deleted.lock().unwrap().is_empty(),
        "the database is another worker's"
    );
}

/// What a step may have made after another worker had deleted the database is deleted too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nothing_is_left_of_a_database_that_another_worker_deletes_meanwhile() {
    let bare = Bare::new(Home::sqlite()).await;
    let request = BareRequest {
        method: "POST",
        path: format!("/project/{SHOP}{PLACE}/postgres/orders"),
        body: Some(json!({ "size": "standard-2", "storage_size": 64 })),
    };
    let (status, _, body) = bare.call(&request).await;
    assert_eq!(status, 200);
    let made: Value = serde_json::from_slice(&body).expect("the body is JSON");
    let watched = Arc::new(Watched::default());
    let at_the_door = watched.holds_passwords.lock().await;
    let (stop, worker) = begin(&bare, &watched).await;
    let mut connection = bare.home.open_sqlite();
    let changed = connection
        .batch_execute("UPDATE postgres_database SET state = 'deleting', lease = 'another'");
    changed.expect("it can be written");
    drop(at_the_door);
    // The other worker is still at it.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(watched.deleted.lock().unwrap().is_empty());
    let gone = connection.batch_execute("DELETE FROM postgres_database");
    gone.expect("it can be written");
    let is_deleted = eventually(async || {
        let deleted = watched.deleted.lock().unwrap().clone();
        (!deleted.is_empty()).then_some(deleted)
    });
    let deleted = is_deleted.await.expect("what was made is deleted");
    assert_eq!(json!(deleted), json!([made["id"]]));
    stop.cancel();
    worker.await.expect("a worker ends");
}

/// Starts a worker, and waits until it sets a password, for which the test holds the provisioner up.
async fn begin(bare: &Bare, watched: &Arc<Watched>) -> (CancellationToken, JoinHandle<()>) {
    let keys = std::fs::read_to_string(bare.home.keys()).expect("the key file exists");
    let stop = CancellationToken::new();
    let reconciler = reconciler(&bare.home, &keys, Arc::clone(watched)).await;
    let worker = tokio::spawn(reconciler.run(stop.clone()));
    let is_asked = async || (watched.asked_for_password.load(Ordering::SeqCst) > 0).then_some(());
    eventually(is_asked).await.expect("the step has begun");
    (stop, worker)
}

async fn is_anything_due(store: &Store) -> bool {
    let mut reader = store.reader().await.expect("the store can be read");
    let now = World::real().now();
    for lane in Lane::ALL {
        let found = lease::is_anything_due(&mut reader.connection(), lane, now).await;
        if found.expect("the store can be read") {
            return true;
        }
    }
    false
}

pub(super) async fn reconciler(
    home: &Home,
    keys: &str,
    watched: Arc<Watched>,
) -> Reconciler<Watching> {
    Reconciler::new(
        store(home).await,
        context(keys),
        Watching(watched),
        config(),
        Arc::new(Steps::default()),
    )
}

fn context(keys: &str) -> Context {
    Context {
        world: World::real(),
        sealer: Arc::new(Sealer::parse(keys).expect("the keys are valid")),
        service_domain: "stratus.example".to_owned(),
        quotas: QUOTAS,
        postgres_offers: stratusd::provision::Offers::default(),
        idempotency_keys: 10,
    }
}

fn config() -> ReconcilerConfig {
    ReconcilerConfig {
        lease: LEASE,
        observe_every: Duration::from_hours(1),
        poll: Duration::from_millis(10),
        step_limit: Duration::from_mins(10),
        grace: Duration::from_mins(1),
        is_alone: false,
    }
}
