//! Targets become facts: through failures, outages, lost passwords and several workers.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};
use stratusd::operations::Context;
use stratusd::provision::authority::Authority;
use stratusd::provision::simulator::{Simulator, SimulatorConfig};
use stratusd::provision::{
    ConnectionDetails, Observed, Password, Progress, ProvisionError, Provisioner, Shape, Wanted,
};
use stratusd::reconcile::{Reconciler, ReconcilerConfig, Steps};
use stratusd::seal::Sealer;
use stratusd::storage::{Store, StoreConfig};
use stratusd::world::World;
use tokio_util::sync::CancellationToken;

use crate::on_both;
use crate::support::bare::{Asked, Bare};
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, eventually};

const PLACE: &str = "/location/eu-central-h1";
/// Long enough for a busy machine to prolong it in time.
const LEASE: Duration = Duration::from_secs(6);

on_both! {
    async fn failures_and_outages_pass(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&[
            "--simulate-delay", "50ms", "--simulate-jitter", "50ms", "--simulate-failures", "30",
            "--simulate-outages", "40", "--observe-every", "100ms", "--simulate-seed", "7",
        ]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        for number in 0..6 {
            let path = format!("{PLACE}/postgres/flaky-{number}");
            caller.post(&path, json!({ "size": "standard-2", "storage_size": 64 })).await.ok();
        }
        for number in 0..6 {
            let path = format!("{PLACE}/postgres/flaky-{number}");
            caller.wait_for(&path, |database| database["state"] == "running").await;
        }
        let path = format!("{PLACE}/postgres/flaky-0");
        let down = caller.wait_for(&path, |database| database["state"] == "unavailable").await;
        assert!(down["connection_string"].is_string(), "how it is reached stays known");
        caller.wait_for(&path, |database| database["state"] == "running").await;
        let seen = caller.get(&path).await.ok();
        assert!(seen["earliest_restore_time"].is_string(), "{seen}");
        assert!(failed_steps(&service).await > 0, "nothing failed");
    }

    async fn keys_are_rotated_without_losing_a_password(home: Home) {
        home.apply(&two_projects());
        let settings = ["--simulate-delay", "10ms", "--simulate-jitter", "0s"];
        let service = home.serve(&settings);
        let token = home.token("shop", &[]);
        let caller = Caller::new(&service.base, SHOP, &token);
        let path = format!("{PLACE}/postgres/orders");
        caller.post(&path, json!({ "size": "standard-2", "storage_size": 64 })).await.ok();
        let before = caller.wait_for(&path, |database| database["state"] == "running").await;
        drop(service);

        let old = std::fs::read_to_string(home.keys()).expect("it is there");
        let new = home.succeed(&["key", "generate"]);
        std::fs::write(home.keys(), format!("# the current one\n{new}\n# the one before\n{old}")).expect("it is writable");
        assert!(home.succeed(&["key", "rotate"]).contains("sealed 2 secrets"));
        assert!(home.succeed(&["key", "rotate"]).contains("sealed 0 secrets"));
        std::fs::write(home.keys(), &new).expect("it is writable");
        let service = home.serve(&settings);
        let caller = Caller::new(&service.base, SHOP, &token);
        assert_eq!(caller.get(&path).await.ok()["connection_string"], before["connection_string"]);
        drop(service);

        std::fs::write(home.keys(), &old).expect("it is writable");
        assert!(home.fail(&["serve"]).contains("no key opens the certificate authority"));
        assert!(home.fail(&["key", "rotate"]).contains("no key opens"));
    }

    async fn storage_does_not_shrink_below_what_is_in_use(home: Home) {
        home.apply(&two_projects());
        let service = home.serve(&[
            "--simulate-delay", "1500ms", "--simulate-jitter", "0s", "--simulate-used", "90", "--observe-every", "100ms",
        ]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let sizes = |database: &Value| [database["storage_size_gib"].clone(), database["target_storage_size_gib"].clone()];
        let mut made = None;
        for number in 0..20 {
            let path = format!("{PLACE}/postgres/full-{number}");
            caller.post(&path, json!({ "size": "standard-2", "storage_size": 256 })).await.ok();
            tokio::time::sleep(Duration::from_millis(700)).await;
            // Nothing is known to be in use while it is created.
            caller.patch(&path, json!({ "storage_size": 64 })).await.ok();
            let running = caller.wait_for(&path, |database| database["state"] == "running").await;
            // One whose creation had not begun when it was changed is made as it shall be.
            if sizes(&running) != [json!(64), json!(64)] {
                made = Some((path, running));
                break;
            }
        }
        let (path, running) = made.expect("one of them was changed while it was created");
        assert_eq!(sizes(&running), [json!(256), json!(64)]);
        // What has no effect on the storage is not judged by it.
        for body in [json!({}), json!({ "tags": [] }), json!({ "storage_size": 64 }), json!({ "ha_type": "sync" })] {
            caller.patch(&path, body).await.ok();
        }
        let seen = running["latest_restore_time"].clone();
        caller.wait_for(&path, |database| database["latest_restore_time"] != seen).await;
        assert_eq!(sizes(&caller.get(&path).await.ok()), [json!(256), json!(64)]);
        assert_eq!(caller.patch(&path, json!({ "storage_size": 128 })).await.error(), (400, "InvalidRequest"));
        caller.patch(&path, json!({ "storage_size": 256 })).await.ok();
    }

    async fn workers_share_the_work_and_never_a_database(home: Home) {
        let bare = Bare::new(home).await;
        let paths: Vec<String> =
            (0..30).map(|number| format!("/project/{SHOP}{PLACE}/postgres/shared-{number}")).collect();
        for path in &paths {
            let body = Some(json!({ "size": "standard-2", "storage_size": 64 }));
            let (status, ..) = bare.answer(&Asked { method: "POST", path: path.clone(), body }).await;
            assert_eq!(status, 200);
        }
        let watched = Arc::new(Watched::default());
        let stop = CancellationToken::new();
        let keys = std::fs::read_to_string(bare.home.keys()).expect("it is there");
        let mut workers = Vec::new();
        for _ in 0..3 {
            // Each with connections of its own, as replicas have them.
            let reconciler = reconciler(&bare.home, &keys, Arc::clone(&watched)).await;
            workers.push(tokio::spawn(reconciler.run(stop.clone())));
        }
        let is_done =
            async || watched.finished.load(Ordering::SeqCst) >= 30 && !is_anything_due(&bare.store).await;
        eventually(async || is_done().await.then_some(())).await.expect("it is done");
        stop.cancel();
        for worker in workers {
            worker.await.expect("a worker ends");
        }
        assert_eq!(watched.overlaps.load(Ordering::SeqCst), 0, "two workers were at one database at the same time");
        assert_eq!(watched.finished.load(Ordering::SeqCst), 30, "each database is made once");
        assert!(watched.passwords.lock().unwrap().values().all(|password| password.len() == 32));
        for path in paths {
            let (_, _, body) = bare.answer(&Asked { method: "GET", path, body: None }).await;
            let database: Value = serde_json::from_slice(&body).expect("it is JSON");
            assert_eq!(database["state"], "running", "{database}");
        }
    }
}

/// How many steps failed, by the service's own count.
async fn failed_steps(service: &Service) -> u64 {
    let metrics = reqwest::get(format!("{}/metrics", service.management))
        .await
        .expect("it answers");
    let metrics = metrics.text().await.expect("it is text");
    let count = metrics
        .lines()
        .find_map(|line| line.strip_prefix("stratus_reconcile_steps_failed_total "));
    count
        .expect("it is counted")
        .parse()
        .expect("it is a number")
}

/// What is simulated comes from the seed and from what is asked for, not from ids or the hour.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_same_seed_fails_the_same_steps() {
    let failures = async |seed: &str| {
        let home = Home::sqlite();
        home.apply(&two_projects());
        let service = home.serve(&[
            "--simulate-delay",
            "0s",
            "--simulate-jitter",
            "0s",
            "--simulate-failures",
            "60",
            "--simulate-seed",
            seed,
        ]);
        let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let path = format!("{PLACE}/postgres/a");
        caller
            .post(&path, json!({ "size": "standard-2", "storage_size": 64 }))
            .await
            .ok();
        caller
            .wait_for(&path, |database| database["state"] == "running")
            .await;
        failed_steps(&service).await
    };
    let mut seen = HashSet::new();
    for seed in ["1", "2", "3"] {
        let failed = failures(seed).await;
        assert_eq!(failures(seed).await, failed, "seed {seed}");
        seen.insert(failed);
    }
    assert!(seen.len() > 1, "the seed does not matter: {seen:?}");
}

fn simulator(home: &Home, world: &World) -> impl Future<Output = Simulator> {
    let config = SimulatorConfig {
        delay: Duration::ZERO,
        jitter: Duration::ZERO,
        failures: 0,
        outages: 0,
        used: 50,
        seed: 0,
        service_domain: "stratus.example".to_owned(),
    };
    let keys = std::fs::read_to_string(home.keys()).expect("it is there");
    async move {
        let store = store(home).await;
        let sealer = Sealer::parse(&keys).expect("the keys are good");
        let authority = Authority::of(&store, &sealer, world)
            .await
            .expect("there is one");
        Simulator::new(config, world.clone(), authority)
    }
}

/// What one replica's simulator has done, another's believes as soon as it is noted, and not before.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn simulators_of_several_replicas_agree() {
    let (home, world) = (Home::sqlite(), World::real());
    let (one, other) = (
        simulator(&home, &world).await,
        simulator(&home, &world).await,
    );
    let shape = |storage_size_gib| Shape {
        version: "17".to_owned(),
        vm_size: "standard-2".to_owned(),
        storage_size_gib,
        ha_type: "none".to_owned(),
    };
    let wanted = |storage_size_gib, known: Option<&Observed>| Wanted {
        project_id: SHOP.to_owned(),
        id: "pg00000000000000000000000z".to_owned(),
        location: "eu-central-h1".to_owned(),
        name: "orders".to_owned(),
        flavor: "standard".to_owned(),
        open_to: Vec::new(),
        shape: shape(storage_size_gib),
        known: known.cloned(),
    };
    let seen = async |by: &Simulator, wanted: &Wanted| {
        by.observe(wanted)
            .await
            .expect("it looks")
            .expect("it is there")
    };
    assert_eq!(one.create(&wanted(64, None)).await, Ok(Progress::Done));
    let small = seen(&one, &wanted(64, None)).await;
    assert_eq!(
        seen(&other, &wanted(64, Some(&small))).await.shape,
        shape(64)
    );
    let growing = wanted(128, Some(&small));
    assert_eq!(one.resize(&growing).await, Ok(Progress::Done));
    assert_eq!(
        seen(&one, &growing).await.shape,
        shape(128),
        "what it has done is not forgotten before it is noted"
    );
    let large = seen(&one, &growing).await;
    let grown = wanted(128, Some(&large));
    for by in [&one, &other] {
        assert_eq!(seen(by, &grown).await.shape, shape(128));
    }
    // What the owner wants is no news of what there is.
    let available = |shape: Shape| Shape {
        ha_type: "sync".to_owned(),
        ..shape
    };
    let noted = Observed {
        shape: available(shape(128)),
        ..large.clone()
    };
    let doubled = Wanted {
        shape: available(shape(128)),
        known: Some(noted),
        ..grown
    };
    assert_eq!(
        seen(&one, &doubled).await.shape,
        shape(128),
        "nobody has made it so yet"
    );
    assert_eq!(one.resize(&doubled).await, Ok(Progress::Done));
    assert_eq!(seen(&one, &doubled).await.shape, available(shape(128)));
    // After a restart nothing is made up.
    let earlier = Observed {
        earliest_restore_time: Some(1_700_000_000),
        ..large
    };
    let again = seen(
        &simulator(&home, &world).await,
        &wanted(128, Some(&earlier)),
    )
    .await;
    assert_eq!(
        (again.shape, again.used_bytes),
        (shape(128), small.used_bytes)
    );
    assert_eq!(again.earliest_restore_time, Some(1_700_000_000));
}

/// A call that hangs neither holds a worker for ever nor the end of the service.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_that_does_not_end_is_given_up() {
    let bare = Bare::new(Home::sqlite()).await;
    let path = format!("/project/{SHOP}{PLACE}/postgres/orders");
    let body = Some(json!({ "size": "standard-2", "storage_size": 64 }));
    assert_eq!(
        bare.answer(&Asked {
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
        let keys = std::fs::read_to_string(bare.home.keys()).expect("it is there");
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
            .expect("it ends in time")
            .expect("it ends well");
    }
}

/// How a database stays available follows the owner's word, and who may reach it is the provisioner's to see to.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn availability_and_networks_reach_the_provisioner() {
    let bare = Bare::new(Home::sqlite()).await;
    let ask = async |method: &'static str, name: &str, body: Value| {
        let path = format!("/project/{SHOP}{PLACE}/postgres/{name}");
        let (status, _, body) = bare
            .answer(&Asked {
                method,
                path,
                body: Some(body),
            })
            .await;
        assert_eq!(status, 200, "{}", String::from_utf8_lossy(&body));
    };
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
    let keys = std::fs::read_to_string(bare.home.keys()).expect("it is there");
    let stop = CancellationToken::new();
    let worker = tokio::spawn(
        reconciler(&bare.home, &keys, Arc::clone(&watched))
            .await
            .run(stop.clone()),
    );
    let wait = async |is_done: &dyn Fn() -> bool| {
        eventually(async || is_done().then_some(()))
            .await
            .expect("it comes to that");
    };
    wait(&|| watched.finished.load(Ordering::SeqCst) >= 2).await;
    assert!(
        watched.resized.lock().unwrap().is_empty(),
        "they were made as they shall be"
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
        "of the other nothing was changed"
    );
    let open_to = watched.open_to.lock().unwrap().clone();
    assert_eq!(open_to["open"], ["0.0.0.0/0", "::/0"]);
    assert!(open_to["closed"].is_empty());
    stop.cancel();
    worker.await.expect("a worker ends");
}

/// A worker that cannot prolong its lease lets go before another may take the database.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_step_ends_with_its_lease() {
    let Some((home, mut cluster)) = Home::on_server(&[], &[]) else {
        return;
    };
    let bare = Bare::new(home).await;
    let path = format!("/project/{SHOP}{PLACE}/postgres/orders");
    let body = Some(json!({ "size": "standard-2", "storage_size": 64 }));
    assert_eq!(
        bare.answer(&Asked {
            method: "POST",
            path,
            body
        })
        .await
        .0,
        200
    );
    let watched = Arc::new(Watched::default());
    // The provisioner takes its time, until long after the lease.
    let at_the_door = watched.holds_passwords.lock().await;
    let keys = std::fs::read_to_string(bare.home.keys()).expect("it is there");
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
    // It is prolonged each third of its time, and holds until its end though that fails.
    assert!(
        begun.elapsed() > LEASE / 2,
        "it was given up long before: {:?}",
        begun.elapsed()
    );
    drop(at_the_door);
    stop.cancel();
    cluster.start_again();
    worker.await.expect("a worker ends");
}

/// A password that is set while the one before it is on its way to the provisioner gets there too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_password_that_is_changed_meanwhile_is_set_again() {
    let bare = Bare::new(Home::sqlite()).await;
    let path = format!("/project/{SHOP}{PLACE}/postgres/orders");
    let ask = async |path: String, body: Value| {
        let (status, _, body) = bare
            .answer(&Asked {
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
    // The provisioner takes its time for passwords.
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
    // Its clock stands still unless somebody asks.
    let tick = async || {
        bare.answer(&Asked {
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
        .expect("the first password is on its way");
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

/// The certificates that databases are reached with are real: a verifier that trusts the authority trusts the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_lead_to_an_authority_that_stays() {
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

    let home = Home::sqlite();
    let keys = std::fs::read_to_string(home.keys()).expect("it is there");
    let sealer = Sealer::parse(&keys).expect("the keys are good");
    let mut authorities = Vec::new();
    for _ in 0..2 {
        // The second one is that of another start.
        let store = store(&home).await;
        authorities.push(
            Authority::of(&store, &sealer, &World::real())
                .await
                .expect("there is one"),
        );
        store.close().await;
    }
    let (second, first) = (authorities.pop().unwrap(), authorities.pop().unwrap());
    assert_eq!(first.certificate(), second.certificate());
    let certificate =
        |pem: &str| CertificateDer::from_pem_slice(pem.as_bytes()).expect("it is one");
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(certificate(first.certificate()))
        .expect("it is an authority's");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .expect("it can be");
    let server = certificate(
        &second
            .issue("orders.pg1.stratus.example")
            .expect("it is a name"),
    );
    let verify = |name: &'static str| {
        let name = ServerName::try_from(name).expect("it is a name");
        verifier.verify_server_cert(&server, &[], &name, &[], UnixTime::now())
    };
    verify("orders.pg1.stratus.example").expect("the server is trusted");
    verify("others.pg1.stratus.example").expect_err("another name is not");
}

async fn store(home: &Home) -> Store {
    let url: stratusd::settings::DatabaseUrl = home.database_url.parse().expect("it is one");
    let database = url.database().expect("it is one");
    let config = StoreConfig {
        database,
        connections: 4,
        patience: Duration::from_secs(10),
        world: World::real(),
    };
    Store::open(&config).await.expect("the database opens")
}

async fn is_anything_due(store: &Store) -> bool {
    let mut reader = store.reader().await.expect("it can be read");
    let now = World::real().now();
    stratusd::storage::database::is_anything_due(&mut reader.connection(), now)
        .await
        .expect("it can be read")
}

async fn reconciler(home: &Home, keys: &str, watched: Arc<Watched>) -> Reconciler<Watching> {
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
        sealer: Arc::new(Sealer::parse(keys).expect("the keys are good")),
        service_domain: "stratus.example".to_owned(),
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

/// What a provisioner that all workers share has seen.
#[derive(Default)]
struct Watched {
    at_work: Mutex<HashMap<String, Arc<AtomicUsize>>>,
    made: Mutex<HashMap<String, u32>>,
    resized: Mutex<HashMap<String, Shape>>,
    open_to: Mutex<HashMap<String, Vec<String>>>,
    passwords: Mutex<HashMap<String, String>>,
    overlaps: AtomicU64,
    finished: AtomicUsize,
    asked_for_password: AtomicUsize,
    passwords_begun: AtomicUsize,
    /// Whoever has this keeps passwords from being set.
    holds_passwords: tokio::sync::Mutex<()>,
}

/// Counts what has begun and has neither ended nor been given up.
struct Begun<'c>(&'c AtomicUsize);

impl<'c> Begun<'c> {
    fn of(count: &'c AtomicUsize) -> Self {
        count.fetch_add(1, Ordering::SeqCst);
        Self(count)
    }
}

impl Drop for Begun<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

/// A provisioner that notices when two ask for one database at the same time.
struct Watching(Arc<Watched>);

impl Watching {
    async fn at(&self, wanted: &Wanted) {
        let count = Arc::clone(
            self.0
                .at_work
                .lock()
                .unwrap()
                .entry(wanted.id.clone())
                .or_default(),
        );
        let _begun = Begun::of(&count);
        if count.load(Ordering::SeqCst) > 1 {
            self.0.overlaps.fetch_add(1, Ordering::SeqCst);
        }
        tokio::time::sleep(Duration::from_millis(20)).await;
    }
}

impl Provisioner for Watching {
    async fn observe(&self, wanted: &Wanted) -> Result<Option<Observed>, ProvisionError> {
        self.at(wanted).await;
        let steps = self
            .0
            .made
            .lock()
            .unwrap()
            .get(&wanted.id)
            .copied()
            .unwrap_or_default();
        Ok((steps >= 2).then(|| Observed {
            is_available: true,
            shape: {
                let made = Shape {
                    ha_type: "none".to_owned(),
                    ..wanted.shape.clone()
                };
                self.0
                    .resized
                    .lock()
                    .unwrap()
                    .get(&wanted.id)
                    .cloned()
                    .unwrap_or(made)
            },
            used_bytes: 0,
            earliest_restore_time: None,
            latest_restore_time: 0,
        }))
    }

    async fn create(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        self.at(wanted).await;
        *self
            .0
            .made
            .lock()
            .unwrap()
            .entry(wanted.id.clone())
            .or_insert(0) += 1;
        self.0
            .open_to
            .lock()
            .unwrap()
            .insert(wanted.name.clone(), wanted.open_to.clone());
        Ok(Progress::Pending(Duration::from_millis(5)))
    }

    async fn resize(&self, wanted: &Wanted) -> Result<Progress, ProvisionError> {
        self.0
            .resized
            .lock()
            .unwrap()
            .insert(wanted.id.clone(), wanted.shape.clone());
        Ok(Progress::Done)
    }

    async fn set_password(
        &self,
        wanted: &Wanted,
        password: &Password,
    ) -> Result<(), ProvisionError> {
        self.at(wanted).await;
        self.0.asked_for_password.fetch_add(1, Ordering::SeqCst);
        let _begun = Begun::of(&self.0.passwords_begun);
        let _held = self.0.holds_passwords.lock().await;
        self.0
            .passwords
            .lock()
            .unwrap()
            .insert(wanted.id.clone(), password.expose().to_owned());
        Ok(())
    }

    async fn connection(&self, wanted: &Wanted) -> Result<ConnectionDetails, ProvisionError> {
        self.at(wanted).await;
        self.0.finished.fetch_add(1, Ordering::SeqCst);
        Ok(ConnectionDetails {
            host: format!("{}.{}.stratus.example", wanted.name, wanted.id),
            ca_certificates: "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n".to_owned(),
            server_certificate: String::new(),
        })
    }
}
