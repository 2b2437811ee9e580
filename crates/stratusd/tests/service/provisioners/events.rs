//! Events of a provisioner: a change that one names is seen long before the next regular observation.

use std::fs;
use std::sync::atomic::Ordering;
use std::time::Duration;

use rustix::process::{Signal, kill_process};
use serde_json::{Value, json};
use tokio::time::{Instant, sleep, timeout};

use super::{ORDERS, caller, create, is_running, serve_observing, token_file};
use crate::support::caller::Caller;
use crate::support::inventory::two_projects;
use crate::support::process::Service;
use crate::support::provisioner::{Fake, Sent};
use crate::support::servers::{Servers, connect};
use crate::support::{Home, eventually};

/// How often the service looks at a database of its own accord: never during a test.
const RARELY: &str = "10m";
/// How soon a change is to be seen. It takes the service less than a second on a machine that is not busy.
const SOON: Duration = Duration::from_secs(10);

/// A service with a database that runs, and that nobody looks at.
struct Scene {
    _home: Home,
    fake: Fake,
    service: Service,
    shop: Caller,
    id: String,
}

impl Scene {
    async fn begin() -> Self {
        let home = Home::sqlite();
        home.apply(&two_projects());
        let fake = Fake::start("").await;
        let service = serve_observing(&home, &fake.url, RARELY, &[]);
        let shop = caller(&home, &service);
        create(&shop, ORDERS).await;
        let made = shop.wait_for(ORDERS, is_running).await;
        let id = made["id"].as_str().expect("it has an id").to_owned();
        let scene = Self {
            _home: home,
            fake,
            service,
            shop,
            id,
        };
        scene.follows(1).await;
        scene
    }

    /// Waits until the service has begun to follow events for the given time, and does so.
    async fn follows(&self, times: usize) {
        let follows = eventually(async || {
            let begun = self.fake.known.streams.load(Ordering::SeqCst);
            (begun >= times && self.fake.known.events.receiver_count() == 1).then_some(())
        });
        follows.await.expect("the service follows the events");
    }

    /// Changes whether the database is down, without a word.
    fn set_down(&self, is_down: bool) {
        let mut databases = self.fake.known.databases.lock().unwrap();
        databases.get_mut(&self.id).expect("it is there").is_down = is_down;
    }

    fn send(&self, what: Sent) {
        self.fake
            .known
            .events
            .send(what)
            .expect("the service follows the events");
    }

    /// Sends an event that names the database.
    fn name(&self) {
        self.send(Sent::Ids(vec![self.id.clone()]));
    }

    /// Waits until the database has a state.
    async fn becomes(&self, state: &str) {
        let is_so = self.shop.wait_for(ORDERS, |it| it["state"] == state);
        let is_so = timeout(SOON, is_so).await;
        is_so.unwrap_or_else(|_| panic!("it is not {state} after {SOON:?}"));
    }

    /// Returns how often the database was observed.
    fn observed(&self) -> u32 {
        self.fake.known.databases.lock().unwrap()[&self.id].observed
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_change_is_seen_when_an_event_names_the_database() {
    let scene = Scene::begin().await;
    scene.set_down(true);
    // Nobody looks.
    sleep(Duration::from_secs(1)).await;
    assert_eq!(scene.shop.get(ORDERS).await.ok()["state"], "running");
    scene.name();
    scene.becomes("unavailable").await;
    scene.set_down(false);

    // The stream is cut, and the service comes back.
    scene.send(Sent::End);
    scene.follows(2).await;
    assert_eq!(scene.shop.get(ORDERS).await.ok()["state"], "unavailable");
    scene.name();
    scene.becomes("running").await;
    assert_eq!(
        scene.service.metric("stratus_reconcile_events_total").await,
        2
    );
    assert_eq!(
        scene
            .service
            .metric("stratus_reconcile_event_streams_total")
            .await,
        2
    );
    scene.service.terminate();
    let (is_well, log) = scene.service.wait();
    assert!(is_well, "{log}");
    let ended = "/provisioner/events (GET): the stream has ended";
    assert!(log.contains(ended), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_event_that_comes_during_an_observation_is_not_lost() {
    let scene = Scene::begin().await;
    // For longer than the pause between two observations of a database by events.
    *scene.fake.known.observation.lock().unwrap() = Duration::from_millis(2500);
    let before = scene.observed();
    scene.name();
    let begun = eventually(async || (scene.observed() > before).then_some(()));
    begun.await.expect("it is observed");
    // The response with the state before is on its way.
    scene.set_down(true);
    scene.name();
    sleep(Duration::from_millis(2500)).await;
    *scene.fake.known.observation.lock().unwrap() = Duration::ZERO;
    scene.becomes("unavailable").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn many_events_lead_to_few_observations_and_hold_no_other_up() {
    let scene = Scene::begin().await;
    let before = scene.observed();
    let begun = Instant::now();
    for round in 0..300 {
        scene.name();
        // Ids of databases that nobody has.
        let unknown = |number: u32| format!("pg0000000000000000000{:05}", round * 10 + number);
        scene.send(Sent::Ids((0..10).map(unknown).collect()));
        sleep(Duration::from_millis(10)).await;
    }
    // Those that wait have room for a second, and then once more.
    sleep(Duration::from_secs(2)).await;
    let seconds = u32::try_from(begun.elapsed().as_secs()).expect("it is short");
    let observed = scene.observed() - before;
    assert!(
        (2..=seconds + 2).contains(&observed),
        "{observed} in {seconds} s"
    );
    let named = scene.service.metric("stratus_reconcile_events_total").await;
    assert_eq!(named, 300 * 11);
    scene.set_down(true);
    scene.name();
    scene.becomes("unavailable").await;
    assert_eq!(
        scene
            .service
            .metric("stratus_reconcile_event_streams_total")
            .await,
        1
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_that_does_not_fit_the_contract_is_left_and_begun_again_after_growing_pauses() {
    let scene = Scene::begin().await;
    let names_no_id = "data: {\"database_ids\": [\"orders\"]}\n\n".to_owned();
    let is_endless = format!("data: {}\n\n", "x".repeat(64 << 10));
    let mut pauses = Vec::new();
    for (number, wrong) in [names_no_id, is_endless].into_iter().enumerate() {
        let begun = Instant::now();
        scene.send(Sent::Text(wrong));
        scene.follows(number + 2).await;
        pauses.push(begun.elapsed());
    }
    // After 0.5 to 1 second, and after 1 to 2.
    assert!(pauses[0] >= Duration::from_millis(500), "{pauses:?}");
    assert!(pauses[1] >= Duration::from_secs(1), "{pauses:?}");
    scene.send(Sent::Text(
        ": a comment\n\nevent: later\ndata: {\"database_ids\": [], \"more\": 1}\n\n".to_owned(),
    ));
    scene.set_down(true);
    scene.name();
    scene.becomes("unavailable").await;
    scene.service.terminate();
    let (is_well, log) = scene.service.wait();
    assert!(is_well, "{log}");
    for wrong in [
        "an event does not fit the contract",
        "an event has more than 16384 bytes",
    ] {
        assert!(log.contains(wrong), "{wrong}: {log}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_server_that_crashes_is_seen_by_the_service_of_another_process() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let file = token_file(&servers.home);
    let provisioner = servers.provision(&["--provision-token-file", &file]);
    let service = serve_observing(&servers.home, &provisioner.base, RARELY, &[]);
    let shop = servers.caller(&service);
    let body = json!({ "size": "hobby-1", "storage_size": 16 });
    shop.post(ORDERS, body).await.ok();
    let is_known = |it: &Value| is_running(it) && it["connection_string"].is_string();
    let made = shop.wait_for(ORDERS, is_known).await;
    let follows = async || {
        (service
            .metric("stratus_reconcile_event_streams_total")
            .await
            == 1)
            .then_some(())
    };
    eventually(follows)
        .await
        .expect("the service follows the events");
    let client = connect(&made).await.expect("the owner can connect");
    let spoil = "ALTER SYSTEM SET shared_preload_libraries = 'missing'";
    client
        .batch_execute(spoil)
        .await
        .expect("the owner may do it");
    let id = made["id"].as_str().expect("it has an id");
    kill_process(servers.pid(id).expect("it runs"), Signal::KILL).expect("it runs");
    shop.wait_for(ORDERS, |it| it["state"] == "unavailable")
        .await;
    let settings = servers.folder().join("databases").join(id);
    let settings = settings.join("a/data/postgresql.auto.conf");
    fs::write(settings, "").expect("the test may write it");
    shop.wait_for(ORDERS, is_running).await;
    // The stream ends with the provisioner, and does not hold it up.
    let begun = Instant::now();
    provisioner.terminate();
    let (is_well, log) = provisioner.wait();
    assert!(is_well, "{log}");
    assert!(
        begun.elapsed() < SOON,
        "it takes {:?} to stop",
        begun.elapsed()
    );
}
