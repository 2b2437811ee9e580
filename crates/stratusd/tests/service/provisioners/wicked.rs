//! Provisioners that hang, fail, or send what the contract does not allow.

use std::sync::atomic::Ordering;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::Value;

use super::{ORDERS, caller, create, is_running, serve};
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::eventually;
use crate::support::inventory::{RIVAL, two_projects};
use crate::support::provisioner::{Fake, TOKEN};

/// The names of databases that the provisioner treats as the name says, and the reason in the log.
const WICKED: [(&str, &str); 5] = [
    (
        "hang",
        "no response from the API to `database_observe` in time",
    ),
    (
        "garbage",
        "the response (200 OK) of `database_observe` does not fit the contract",
    ),
    ("huge", "a response has more than 1048576 bytes"),
    (
        "lost",
        "the response (404 Not Found) of `database_observe` does not fit the contract",
    ),
    (
        "failed",
        "500 Internal Server Error (Failed): this is Failed of a fake",
    ),
];

fn path(name: &str) -> String {
    format!("/location/eu-central-h1/postgres/{name}")
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_whose_steps_go_wrong_do_not_hold_others_up() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let fake = Fake::start("").await;
    fake.known.is_wicked.store(true, Ordering::SeqCst);
    let service = serve(&home, &fake.url, &["--provisioner-timeout", "500ms"]);
    let shop = caller(&home, &service);
    for (name, _) in WICKED {
        create(&shop, &path(name)).await;
    }
    create(&shop, ORDERS).await;
    shop.wait_for(ORDERS, is_running).await;
    // Each was tried more than once.
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    for (name, _) in WICKED {
        assert_eq!(
            shop.get(&path(name)).await.ok()["state"],
            "creating",
            "{name}"
        );
    }
    let ready = reqwest::get(format!("{}/readyz", service.management)).await;
    assert_eq!(ready.expect("it responds").status(), StatusCode::OK);
    fake.known.is_wicked.store(false, Ordering::SeqCst);
    for (name, _) in WICKED {
        shop.wait_for(&path(name), is_running).await;
    }
    service.terminate();
    let (is_well, log) = service.wait();
    assert!(is_well, "{log}");
    for (name, reason) in WICKED {
        assert!(log.contains(reason), "{name}: {log}");
    }
    let passwords = fake.known.databases.lock().unwrap();
    assert_eq!(passwords.len(), WICKED.len() + 1);
    for database in passwords.values() {
        assert!(!database.password.is_empty() && !log.contains(&database.password));
    }
    assert!(!log.contains(TOKEN), "{log}");
}

/// How soon a database is to be created beside others that hang.
const SOON: Duration = Duration::from_secs(20);

/// Waits until a database is running, and fails if that takes longer than [`SOON`].
async fn runs_soon(owner: &Caller, path: &str) {
    let running = async { owner.wait_for(path, is_running).await };
    let running = tokio::time::timeout(SOON, running).await;
    running.unwrap_or_else(|_| panic!("{path} does not run after {SOON:?}"));
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_of_a_project_that_hang_do_not_hold_up_another_project() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let fake = Fake::start("").await;
    fake.known.is_wicked.store(true, Ordering::SeqCst);
    // Calls take a minute until they are cancelled.
    let service = serve(&home, &fake.url, &[]);
    let shop = caller(&home, &service);
    let rival = Caller::new(&service.base, RIVAL, &home.token("rival", &[]));
    for number in 0..40 {
        create(&shop, &path(&format!("hang-{number}"))).await;
    }
    let hanging = || fake.known.hanging.load(Ordering::SeqCst);
    let is_full = eventually(async || (hanging() >= 16).then_some(()));
    is_full.await.expect("the databases hang");
    create(&rival, ORDERS).await;
    runs_soon(&rival, ORDERS).await;
    create(&rival, &path("another")).await;
    runs_soon(&rival, &path("another")).await;
    // Those that were at a worker when the sixteenth became slow are the last.
    assert!((16..=31).contains(&hanging()), "{} hang", hanging());
    let metrics = reqwest::get(format!("{}/metrics", service.management)).await;
    let metrics = metrics.expect("it responds").text().await;
    let metrics = metrics.expect("it is text");
    let put_off = metrics
        .lines()
        .find_map(|line| line.strip_prefix("stratus_reconcile_steps_put_off_total "));
    let put_off: u64 = put_off.expect("it is counted").parse().expect("a number");
    assert!(put_off > 0, "{metrics}");
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_that_failed_and_hang_do_not_hold_up_those_of_another_project_that_failed() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let fake = Fake::start("").await;
    fake.known.is_wicked.store(true, Ordering::SeqCst);
    let service = serve(&home, &fake.url, &[]);
    let shop = caller(&home, &service);
    let rival = Caller::new(&service.base, RIVAL, &home.token("rival", &[]));
    for number in 0..20 {
        create(&shop, &path(&format!("stuck-{number}"))).await;
    }
    create(&rival, &path("flaky")).await;
    let are_tried = async || (fake.known.calls.lock().unwrap().len() == 21).then_some(());
    eventually(are_tried).await.expect("each is tried");
    fake.known.is_stuck.store(true, Ordering::SeqCst);
    runs_soon(&rival, &path("flaky")).await;
    let hanging = fake.known.hanging.load(Ordering::SeqCst);
    assert!((1..=4).contains(&hanging), "{hanging} hang");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_the_provisioner_has_lost_is_not_created_again() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let fake = Fake::start("").await;
    let service = serve(&home, &fake.url, &[]);
    let shop = caller(&home, &service);
    create(&shop, ORDERS).await;
    let is_recorded = |it: &Value| is_running(it) && it["connection_string"].is_string();
    shop.wait_for(ORDERS, is_recorded).await;
    fake.known.databases.lock().unwrap().clear();
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert!(fake.known.databases.lock().unwrap().is_empty());
    // It can still be deleted.
    assert_eq!(shop.delete(ORDERS).await.status, 204);
    let gone = eventually(async || {
        let all = shop.get("/postgres").await.ok();
        (all["count"] == 0).then_some(())
    });
    gone.await.expect("the database is deleted");
    service.terminate();
    let (_, log) = service.wait();
    assert!(
        log.contains("it does not have this database, which was created"),
        "{log}"
    );
}
