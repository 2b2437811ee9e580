//! The simulated provisioner and its certificate authority.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::Duration;

use serde_json::json;
use stratusd::provision::authority::Authority;
use stratusd::provision::simulator::{Simulator, SimulatorConfig};
use stratusd::provision::{Observed, Progress, Provisioner, Shape, Wanted};
use stratusd::seal::Sealer;
use stratusd::world::World;

use super::{PLACE, failed_steps, store};
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};

/// The simulation depends on the seed and on the names of databases, not on ids or the time.
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
    assert!(
        seen.len() > 1,
        "different seeds cause the same failures: {seen:?}"
    );
}

/// The simulator of a replica knows what that of another one has done once it is recorded, and not
/// before.
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
        maintenance_window: None,
        restored: None,
        known: known.cloned(),
    };
    let seen = async |by: &Simulator, wanted: &Wanted| {
        by.observe(wanted)
            .await
            .expect("the simulator observes the database")
            .expect("the simulator has the database")
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
        "a finished resize is observed before the store has recorded it"
    );
    let large = seen(&one, &growing).await;
    let grown = wanted(128, Some(&large));
    for by in [&one, &other] {
        assert_eq!(seen(by, &grown).await.shape, shape(128));
    }
    // The wanted high availability is not taken for a recorded one.
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
        "a wanted availability is not observed before the simulator has applied it"
    );
    assert_eq!(one.resize(&doubled).await, Ok(Progress::Done));
    assert_eq!(seen(&one, &doubled).await.shape, available(shape(128)));
    // After a restart, the recorded state is kept.
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

/// The certificates of databases are real: a verifier that trusts the authority trusts the server.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn certificates_chain_to_an_authority_that_survives_restarts() {
    use rustls::client::WebPkiServerVerifier;
    use rustls::client::danger::ServerCertVerifier;
    use rustls::pki_types::pem::PemObject;
    use rustls::pki_types::{CertificateDer, ServerName, UnixTime};

    let home = Home::sqlite();
    let keys = std::fs::read_to_string(home.keys()).expect("the key file exists");
    let sealer = Sealer::parse(&keys).expect("the keys are valid");
    let mut authorities = Vec::new();
    for _ in 0..2 {
        // The second authority is loaded by another start of the service.
        let store = store(&home).await;
        authorities.push(
            Authority::load_or_create(&store, &sealer, &World::real())
                .await
                .expect("the authority is loaded or created"),
        );
        store.close().await;
    }
    let (second, first) = (authorities.pop().unwrap(), authorities.pop().unwrap());
    assert_eq!(first.certificate(), second.certificate());
    let certificate = |pem: &str| {
        CertificateDer::from_pem_slice(pem.as_bytes()).expect("the PEM text is a certificate")
    };
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(certificate(first.certificate()))
        .expect("the certificate is that of an authority");
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let verifier = WebPkiServerVerifier::builder_with_provider(Arc::new(roots), provider)
        .build()
        .expect("a verifier with a root can be built");
    let server = certificate(
        &second
            .issue("orders.pg1.stratus.example")
            .expect("the host is a name for a certificate")
            .certificate,
    );
    let verify = |name: &'static str| {
        let name = ServerName::try_from(name).expect("the host is a server name");
        verifier.verify_server_cert(&server, &[], &name, &[], UnixTime::now())
    };
    verify("orders.pg1.stratus.example").expect("the server is trusted");
    verify("others.pg1.stratus.example").expect_err("the certificate is rejected for another host");
}

/// One that another replica has deleted would be kept for ever.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_database_that_no_call_is_about_is_forgotten_after_an_hour() {
    let home = Home::sqlite();
    let clock = Arc::new(AtomicI64::new(1_772_000_000_000));
    let now = Arc::clone(&clock);
    let world = World::new(move || now.load(Ordering::SeqCst), |bytes| bytes.fill(7));
    let simulator = simulator(&home, &world).await;
    let wanted = |id: &str| Wanted {
        project_id: SHOP.to_owned(),
        id: id.to_owned(),
        location: "eu-central-h1".to_owned(),
        name: id.to_owned(),
        flavor: "standard".to_owned(),
        open_to: Vec::new(),
        shape: Shape {
            version: "17".to_owned(),
            vm_size: "standard-2".to_owned(),
            storage_size_gib: 64,
            ha_type: "none".to_owned(),
        },
        maintenance_window: None,
        restored: None,
        known: None,
    };
    let (quiet, busy, new) = (wanted("quiet"), wanted("busy"), wanted("new"));
    for wanted in [&quiet, &busy] {
        assert_eq!(simulator.create(wanted).await, Ok(Progress::Done));
    }
    let seen = simulator.observe(&quiet).await.expect("it observes");
    for _ in 0..3 {
        clock.fetch_add(25 * 60 * 1000, Ordering::SeqCst);
        let observed = simulator.observe(&busy).await.expect("it observes");
        assert!(observed.is_some());
    }
    assert_eq!(simulator.create(&new).await, Ok(Progress::Done));
    let observed = simulator.observe(&quiet).await.expect("it observes");
    assert_eq!(observed, None);
    // It is as the service knows it, once a call is about it.
    let known = Wanted {
        known: seen.clone(),
        ..quiet
    };
    let observed = simulator.observe(&known).await.expect("it observes");
    let shape = |observed: Option<Observed>| observed.map(|observed| observed.shape);
    assert_eq!(shape(observed), shape(seen));
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
    let keys = std::fs::read_to_string(home.keys()).expect("the key file exists");
    async move {
        let store = store(home).await;
        let sealer = Sealer::parse(&keys).expect("the keys are valid");
        let authority = Authority::load_or_create(&store, &sealer, world)
            .await
            .expect("the authority is loaded or created");
        Simulator::new(config, world.clone(), authority)
    }
}
