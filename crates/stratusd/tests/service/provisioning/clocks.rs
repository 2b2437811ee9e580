//! Leases, and clocks that are wrong or set while the service runs: work goes on, and none is done
//! twice.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use serde_json::{Value, json};
use stratusd::operations::Context;
use stratusd::reconcile::{Reconciler, ReconcilerConfig, Steps};
use stratusd::seal::Sealer;
use stratusd::storage::Store;
use stratusd::storage::lease::{Lane, is_anything_due};
use stratusd::world::World;
use tokio::task::JoinHandle;
use tokio_util::sync::CancellationToken;

use super::watching::{Watched, Watching};
use super::{PLACE, store};
use crate::support::bare::{Bare, BareRequest, QUOTAS};
use crate::support::inventory::SHOP;
use crate::support::{Home, eventually};

const HOUR: i64 = 3_600_000;

/// A running reconciler and what its provisioner has recorded.
struct Running {
    watched: Arc<Watched>,
    stop: CancellationToken,
    task: JoinHandle<()>,
}

impl Running {
    fn start(
        store: Store,
        context: Context,
        watched: Arc<Watched>,
        observe_every: Duration,
    ) -> Self {
        let config = config(observe_every);
        let stop = CancellationToken::new();
        let provisioner = Watching(Arc::clone(&watched));
        let reconciler = Reconciler::new(
            store,
            context,
            provisioner,
            config,
            Arc::new(Steps::default()),
        );
        Self {
            watched,
            task: tokio::spawn(reconciler.run(stop.clone())),
            stop,
        }
    }

    fn finished(&self) -> usize {
        self.watched.finished.load(Ordering::SeqCst)
    }

    /// Waits for more steps that find the database running.
    async fn goes_on(&self) {
        let wanted = self.finished() + 2;
        let goes_on = eventually(async || (self.finished() >= wanted).then_some(()));
        goes_on.await.expect("the database is observed again");
    }

    async fn end(self) {
        self.stop.cancel();
        self.task.await.expect("a worker ends");
    }
}

fn config(observe_every: Duration) -> ReconcilerConfig {
    ReconcilerConfig {
        lease: Duration::from_secs(6),
        observe_every,
        poll: Duration::from_millis(10),
        step_limit: Duration::from_mins(10),
        grace: Duration::from_mins(1),
        is_alone: false,
    }
}

async fn create(bare: &Bare) {
    let path = format!("/project/{SHOP}{PLACE}/postgres/orders");
    let body = Some(json!({ "size": "standard-2", "storage_size": 64 }));
    let (status, ..) = bare
        .call(&BareRequest {
            method: "POST",
            path,
            body,
        })
        .await;
    assert_eq!(status, 200);
}

/// Moves the clock of a service a little, as long as it runs.
fn tick(bare: Arc<Bare>, stop: CancellationToken) -> JoinHandle<()> {
    tokio::spawn(async move {
        while !stop.is_cancelled() {
            bare.set_clock(10);
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    })
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_stops_no_work() {
    let bare = Arc::new(Bare::new(Home::sqlite()).await);
    create(&bare).await;
    let running = Running::start(
        bare.store.clone(),
        bare.context.clone(),
        Arc::default(),
        Duration::from_millis(200),
    );
    let ticking = tick(Arc::clone(&bare), running.stop.clone());
    running.goes_on().await;
    for jump in [-HOUR, HOUR, -24 * HOUR, 48 * HOUR] {
        bare.set_clock(jump);
        running.goes_on().await;
    }
    running.end().await;
    ticking.await.expect("the clock ends");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_clock_that_is_set_gives_no_database_to_two_workers() {
    let bare = Arc::new(Bare::new(Home::sqlite()).await);
    create(&bare).await;
    let watched = Arc::new(Watched::default());
    // The provisioner blocks when it sets the password.
    let at_the_door = watched.holds_passwords.lock().await;
    let running = Running::start(
        bare.store.clone(),
        bare.context.clone(),
        Arc::clone(&watched),
        Duration::from_millis(200),
    );
    let ticking = tick(Arc::clone(&bare), running.stop.clone());
    let is_asked = async || (watched.asked_for_password.load(Ordering::SeqCst) > 0).then_some(());
    eventually(is_asked).await.expect("the step has begun");
    for jump in [2 * HOUR, -4 * HOUR] {
        bare.set_clock(jump);
        let begun = Instant::now();
        while begun.elapsed() < Duration::from_secs(3) {
            let at_once = watched.passwords_begun.load(Ordering::SeqCst);
            assert!(at_once <= 1, "{at_once} workers are at one database");
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    }
    drop(at_the_door);
    running.goes_on().await;
    assert_eq!(watched.overlaps.load(Ordering::SeqCst), 0);
    running.end().await;
    ticking.await.expect("the clock ends");
}

/// The worker does not notice before its step has ended: it prolongs its lease later.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_worker_that_has_lost_its_lease_writes_nothing() {
    let bare = Bare::new(Home::sqlite()).await;
    create(&bare).await;
    let watched = Arc::new(Watched::default());
    // The provisioner blocks when it sets the password.
    let at_the_door = watched.holds_passwords.lock().await;
    let context = Context {
        world: World::real(),
        ..bare.context.clone()
    };
    let config = ReconcilerConfig {
        lease: Duration::from_mins(50),
        ..config(Duration::from_mins(1))
    };
    let steps = Arc::new(Steps::default());
    let provisioner = Watching(Arc::clone(&watched));
    let reconciler = Reconciler::new(
        bare.store.clone(),
        context,
        provisioner,
        config,
        Arc::clone(&steps),
    );
    let stop = CancellationToken::new();
    let task = tokio::spawn(reconciler.run(stop.clone()));
    let is_asked = async || (watched.asked_for_password.load(Ordering::SeqCst) > 0).then_some(());
    eventually(is_asked).await.expect("the step has begun");
    let file = bare.home.path().join("stratus.db");
    let mut connection =
        SqliteConnection::establish(&file.display().to_string()).expect("it opens");
    connection
        .batch_execute("UPDATE postgres_database SET lease = 'of another worker'")
        .expect("the lease is taken away");
    drop(at_the_door);
    let is_lost = async || (steps.lost.load(Ordering::SeqCst) > 0).then_some(());
    eventually(is_lost)
        .await
        .expect("the worker finds that it has lost its lease");
    let path = format!("/project/{SHOP}{PLACE}/postgres/orders");
    let (_, _, body) = bare
        .call(&BareRequest {
            method: "GET",
            path,
            body: None,
        })
        .await;
    let shown: Value = serde_json::from_slice(&body).expect("it is JSON");
    assert_eq!(shown["state"], "creating", "{shown}");
    stop.cancel();
    task.await.expect("a worker ends");
}

/// One replica's clock is an hour ahead, the other's an hour behind.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn replicas_agree_on_the_time_of_the_database() {
    let Some(home) = Home::postgres() else {
        return;
    };
    let bare = Bare::new(home).await;
    let keys = std::fs::read_to_string(bare.home.keys()).expect("it is there");
    let sealer = Arc::new(Sealer::parse(&keys).expect("the keys are good"));
    let replica = async |offset: i64, watched: Arc<Watched>| {
        let real = World::real();
        let randomness = real.clone();
        let world = World::new(
            move || real.now() + offset,
            move |bytes| {
                for byte in bytes {
                    [*byte] = randomness.random();
                }
            },
        );
        let context = Context {
            world,
            sealer: Arc::clone(&sealer),
            service_domain: "stratus.example".to_owned(),
            quotas: QUOTAS,
            postgres_offers: stratusd::provision::Offers::default(),
            idempotency_keys: 10,
        };
        let store = store(&bare.home).await;
        Running::start(store, context, watched, Duration::from_mins(2))
    };
    let watched = Arc::new(Watched::default());
    // What the other replica knows to be made.
    let ahead = replica(HOUR, Arc::clone(&watched)).await;
    create(&bare).await;
    let is_made = eventually(async || (ahead.finished() > 0).then_some(()));
    is_made.await.expect("the database is made");
    tokio::time::sleep(Duration::from_millis(500)).await;
    let mut reader = bare.store.reader().await.expect("it can be read");
    let minutes = |minutes: i64| World::real().now() + minutes * 60_000;
    // It is due again in two minutes, by a clock that is right.
    for (after, is_due) in [(1, false), (3, true)] {
        let mut connection = reader.connection();
        let found = is_anything_due(&mut connection, Lane::Prompt, minutes(after)).await;
        assert_eq!(found.expect("it can be read"), is_due, "{after}");
    }
    drop(reader);
    ahead.end().await;
    // A replica that is behind does not take what is not due, and one at work holds its lease.
    let behind = replica(-HOUR, Arc::clone(&watched)).await;
    let again = replica(HOUR, Arc::clone(&watched)).await;
    let before = watched.finished.load(Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(watched.finished.load(Ordering::SeqCst), before);
    assert_eq!(watched.overlaps.load(Ordering::SeqCst), 0);
    behind.end().await;
    again.end().await;
}
