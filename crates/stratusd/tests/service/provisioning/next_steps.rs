//! When the next step is made of a database that is not finished or whose step has failed, and what is
//! written about a failure.

use std::sync::atomic::Ordering;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use diesel::sql_types::BigInt;
use diesel::{QueryableByName, RunQueryDsl, sql_query};
use serde_json::{Value, json};
use stratusd::provision::ProvisionError;
use stratusd::storage::troubled::{self, Troubled};
use stratusd::world::World;
use tokio_util::sync::{CancellationToken, DropGuard};

use super::PLACE;
use super::reconciler::reconciler;
use super::watching::Watched;
use crate::support::bare::{Bare, BareRequest};
use crate::support::inventory::SHOP;
use crate::support::{Home, eventually};

/// A database, and a worker that makes its steps.
struct Scene {
    bare: Bare,
    watched: Arc<Watched>,
    begun: Instant,
    _worker: DropGuard,
}

impl Scene {
    async fn start(watched: Watched) -> Self {
        let bare = Bare::new(Home::sqlite()).await;
        let watched = Arc::new(watched);
        let keys = std::fs::read_to_string(bare.home.keys()).expect("the key file exists");
        let stop = CancellationToken::new();
        let reconciler = reconciler(&bare.home, &keys, Arc::clone(&watched)).await;
        let begun = Instant::now();
        tokio::spawn(reconciler.run(stop.clone()));
        let scene = Self {
            bare,
            watched,
            begun,
            _worker: stop.drop_guard(),
        };
        let body = json!({ "size": "standard-2", "storage_size": 64 });
        scene.ask("POST", "", Some(body)).await;
        scene
    }

    async fn ask(&self, method: &'static str, action: &str, body: Option<Value>) -> Value {
        let path = format!("/project/{SHOP}{PLACE}/postgres/orders{action}");
        let request = BareRequest { method, path, body };
        let (status, _, body) = self.bare.call(&request).await;
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
        serde_json::from_slice(&body).expect("the body is JSON")
    }

    async fn is_observed(&self, times: usize) {
        let observed = &self.watched.observed;
        let is_observed = async || (observed.load(Ordering::SeqCst) >= times).then_some(());
        eventually(is_observed).await.expect("steps are made");
    }

    async fn has_state(&self, state: &str) {
        let has_state = async || (self.ask("GET", "", None).await["state"] == state).then_some(());
        eventually(has_state).await.expect("it gets the state");
    }

    /// Waits until the next step is due later, and returns in how many seconds.
    async fn put_off(&self) -> i64 {
        let put_off = eventually(async || {
            let next: Next = sql_query("SELECT due_at FROM postgres_database")
                .get_result(&mut self.bare.home.open_sqlite())
                .expect("there is one database");
            let wait = next.due_at - World::real().now();
            (wait > 0).then_some(wait / 1000)
        });
        put_off.await.expect("the result of the step is written")
    }

    async fn troubled(&self) -> Vec<Troubled> {
        let reader = self.bare.store.reader().await;
        let mut reader = reader.expect("the store can be read");
        let found = troubled::failing(&mut reader.connection(), 10).await;
        found.expect("the store can be read")
    }
}

fn failing(error: fn() -> ProvisionError) -> Watched {
    Watched {
        failing: Mutex::new(Some(error)),
        ..Watched::default()
    }
}

/// When the next step of a database is due, in milliseconds since 1970.
#[derive(QueryableByName)]
struct Next {
    #[diesel(sql_type = BigInt)]
    due_at: i64,
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_is_being_created_waits_as_its_provisioner_says_up_to_an_hour() {
    for (said, longest) in [(20, 20), (60_000, 60)] {
        let scene = Scene::start(Watched {
            creating: Mutex::new(Some(Duration::from_mins(said))),
            ..Watched::default()
        })
        .await;
        let wait = scene.put_off().await;
        let longest = longest * 60;
        assert!((longest / 2..=longest).contains(&wait), "{wait} s");
        assert_eq!(scene.watched.observed.load(Ordering::SeqCst), 1);
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_fails_is_made_again_later_and_later() {
    let full = || ProvisionError::Failed("the racks are full".to_owned());
    let scene = Scene::start(failing(full)).await;
    scene.is_observed(3).await;
    // A second before the second step, and two before the third.
    let took = scene.begun.elapsed();
    assert!(took > Duration::from_millis(2900), "{took:?}");
    let is_written = async || {
        scene
            .troubled()
            .await
            .pop()
            .filter(|found| found.attempts >= 3)
    };
    let found = eventually(is_written).await.expect("it is written");
    assert_eq!(found.failure.as_deref(), Some("the racks are full"));
    assert_eq!(found.state.as_str(), "creating");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_succeeds_ends_the_count_of_failures() {
    let full = || ProvisionError::Failed("the racks are full".to_owned());
    let scene = Scene::start(Watched {
        creating: Mutex::new(Some(Duration::from_mins(20))),
        ..failing(full)
    })
    .await;
    let has_failed = async || scene.troubled().await.pop();
    eventually(has_failed).await.expect("it is written");
    *scene.watched.failing.lock().unwrap() = None;
    // The database is not there yet, but the provisioner works at it.
    let is_well = async || scene.troubled().await.is_empty().then_some(());
    eventually(is_well).await.expect("it is written");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_provisioner_that_is_busy_is_left_alone() {
    let busy = || ProvisionError::Busy {
        reason: "a window of maintenance".to_owned(),
        wait: Duration::from_mins(2),
    };
    let scene = Scene::start(failing(busy)).await;
    let wait = scene.put_off().await;
    assert!((60..=120).contains(&wait), "{wait} s");
    assert_eq!(scene.watched.observed.load(Ordering::SeqCst), 1);
    assert!(scene.troubled().await.is_empty(), "no step has failed");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_its_provisioner_has_lost_is_unavailable() {
    let scene = Scene::start(Watched::default()).await;
    scene.has_state("running").await;
    *scene.watched.failing.lock().unwrap() = Some(ProvisionError::no_database);
    scene.ask("POST", "/restart", None).await;
    scene.has_state("unavailable").await;
    let found = scene.troubled().await.pop().expect("its step has failed");
    assert_eq!(
        found.failure.as_deref(),
        Some("the database does not exist")
    );
}
