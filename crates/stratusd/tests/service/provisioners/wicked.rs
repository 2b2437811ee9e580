//! Provisioners that hang, fail, or send what the contract does not allow.

use std::sync::atomic::Ordering;
use std::time::Duration;

use reqwest::StatusCode;
use serde_json::{Value, json};

use super::{ORDERS, caller, create, is_running, serve, serve_observing};
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::eventually;
use crate::support::inventory::{RIVAL, SHOP, two_projects};
use crate::support::process::Service;
use crate::support::provisioner::{Fake, TOKEN};

/// The names of databases that the provisioner treats as the name says, and the reason in the log.
const WICKED: [(&str, &str); 7] = [
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
    (
        "uncertified",
        "/connection (POST): `server_certificate` is not in PEM",
    ),
    (
        "unparsed",
        "/connection (POST): `server_certificate` has a certificate that cannot be parsed",
    ),
];

fn path(name: &str) -> String {
    format!("/location/eu-central-h1/postgres/{name}")
}

/// Starts a provisioner and a service that uses it, with more settings, for an owner.
async fn begin(settings: &[&str]) -> (Home, Fake, Service, Caller) {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let fake = Fake::start("").await;
    let service = serve(&home, &fake.url, settings);
    let shop = caller(&home, &service);
    (home, fake, service, shop)
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_whose_steps_go_wrong_do_not_hold_others_up() {
    let (_home, fake, service, shop) = begin(&["--provisioner-timeout", "500ms"]).await;
    fake.known.is_wicked.store(true, Ordering::SeqCst);
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

/// The number of databases that hang.
const HANGING: u64 = 40;
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
    // Calls take a minute until they are cancelled, and no lease ends before.
    let (home, fake, service, shop) = begin(&["--reconcile-lease", "10m"]).await;
    fake.known.is_wicked.store(true, Ordering::SeqCst);
    let rival = Caller::new(&service.base, RIVAL, &home.token("rival", &[]));
    for number in 0..HANGING {
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
    // What is put off is free, and is looked at again.
    let are_again = async || {
        let put_off = service
            .metric("stratus_reconcile_steps_put_off_total")
            .await;
        (put_off > HANGING).then_some(())
    };
    eventually(are_again).await.expect("each is put off again");
}

/// None of their steps is slow, but there are always some that have been due for longer.
#[tokio::test(flavor = "multi_thread")]
async fn many_databases_of_two_projects_do_not_hold_up_another_project() {
    const OTHER: &str = "pj0000000000000000000000ab";
    const MANY: usize = 150;
    let (home, fake, service, shop) = begin(&[]).await;
    home.apply(&format!("projects: [{{ name: other, id: {OTHER} }}]\n"));
    let other = Caller::new(&service.base, OTHER, &home.token("other", &[]));
    let rival = Caller::new(&service.base, RIVAL, &home.token("rival", &[]));
    let names: Vec<String> = (0..MANY / 2)
        .map(|number| path(&format!("leisurely-{number}")))
        .collect();
    for name in &names {
        create(&shop, name).await;
        create(&other, name).await;
    }
    for name in &names {
        shop.wait_for(name, is_running).await;
        other.wait_for(name, is_running).await;
    }
    // They are observed all the time.
    fake.known.is_wicked.store(true, Ordering::SeqCst);
    let of_many = || {
        let calls = fake.known.calls.lock().unwrap();
        let theirs = calls
            .iter()
            .filter(|(name, _)| name.starts_with("leisurely"));
        theirs.map(|(_, calls)| calls.len()).sum::<usize>()
    };
    let are_called = eventually(async || (of_many() > MANY / 2).then_some(())).await;
    are_called.expect("they are observed");
    let before = of_many();
    create(&rival, ORDERS).await;
    rival.wait_for(ORDERS, is_running).await;
    // It takes several steps, each of which would wait for most of the others.
    let meanwhile = of_many() - before;
    assert!(meanwhile < MANY * 4, "{meanwhile} calls come before it");
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_that_failed_and_hang_do_not_hold_up_those_of_another_project_that_failed() {
    let (home, fake, service, shop) = begin(&[]).await;
    fake.known.is_wicked.store(true, Ordering::SeqCst);
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
async fn a_database_that_the_provisioner_has_lost_is_unavailable_and_not_created_again() {
    let (home, fake, service, shop) = begin(&[]).await;
    create(&shop, ORDERS).await;
    let is_recorded = |it: &Value| is_running(it) && it["connection_string"].is_string();
    let made = shop.wait_for(ORDERS, is_recorded).await;
    let lost = std::mem::take(&mut *fake.known.databases.lock().unwrap());
    let is_lost = |it: &Value| it["state"] == "unavailable";
    let now = shop.wait_for(ORDERS, is_lost).await;
    assert_eq!(now["connection_string"], made["connection_string"]);
    assert!(
        service
            .metric("stratus_reconcile_steps_missing_total")
            .await
            > 0
    );
    let said = home.run(&["databases"]);
    let said = String::from_utf8_lossy(&said.stdout).into_owned();
    let id = made["id"].as_str().expect("it has an id");
    let url = format!("{}/database/{id}/observe (POST): ", fake.url);
    for part in [id, "orders", SHOP, "unavailable", &url, "DatabaseNotFound"] {
        assert!(said.contains(part), "{part}: {said}");
    }
    let json = home.run(&["databases", "--format", "json"]);
    let json: Value = serde_json::from_slice(&json.stdout).expect("it is a line of JSON");
    assert_eq!(
        (&json["name"], &json["state"]),
        (&"orders".into(), &"unavailable".into())
    );
    assert!(fake.known.databases.lock().unwrap().is_empty());
    // The provisioner has found it again.
    *fake.known.databases.lock().unwrap() = lost;
    shop.wait_for(ORDERS, is_recorded).await;
    assert!(home.run(&["databases"]).stdout.is_empty());
    fake.known.databases.lock().unwrap().clear();
    shop.wait_for(ORDERS, is_lost).await;
    // It can still be deleted.
    assert_eq!(shop.delete(ORDERS).await.status, 204);
    let gone = eventually(async || {
        let all = shop.get("/postgres").await.ok();
        (all["count"] == 0).then_some(())
    });
    gone.await.expect("the database is deleted");
    service.terminate();
    let (_, log) = service.wait();
    let error = log
        .lines()
        .find(|line| line.contains("has lost a database"));
    let error = error.unwrap_or_else(|| panic!("{log}"));
    assert!(error.contains("ERROR") && error.contains(&url), "{error}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_step_that_fails_is_made_again_after_growing_waits() {
    let (_home, fake, _service, shop) = begin(&[]).await;
    fake.known.is_wicked.store(true, Ordering::SeqCst);
    create(&shop, &path("failed")).await;
    let calls = || {
        let calls = fake.known.calls.lock().unwrap();
        calls
            .get("failed")
            .filter(|calls| calls.len() >= 4)
            .cloned()
    };
    let calls = eventually(async || calls()).await;
    let calls = calls.expect("its creation is tried four times");
    // One second, two and four.
    for (pair, least) in calls.windows(2).zip([900, 1900, 3900]) {
        let wait = pair[1].duration_since(pair[0]);
        assert!(
            wait >= Duration::from_millis(least),
            "{wait:?} < {least} ms"
        );
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_cannot_be_closed_to_others_is_not_running() {
    let (home, fake, _service, shop) = begin(&[]).await;
    fake.known.is_wicked.store(true, Ordering::SeqCst);
    let open = path("open");
    create(&shop, &open).await;
    let said = eventually(async || {
        let said = home.run(&["databases"]).stdout;
        (!said.is_empty()).then(|| String::from_utf8_lossy(&said).into_owned())
    });
    let said = said.await.expect("its step fails");
    assert!(said.contains("/restrict (POST): "), "{said}");
    assert_eq!(shop.get(&open).await.ok()["state"], "creating");
    fake.known.is_wicked.store(false, Ordering::SeqCst);
    shop.wait_for(&open, is_running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_resize_that_is_done_and_not_seen_is_looked_at_again_soon() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let fake = Fake::start("size").await;
    let service = serve_observing(&home, &fake.url, "1h", &[]);
    let shop = caller(&home, &service);
    create(&shop, ORDERS).await;
    let made = shop.wait_for(ORDERS, is_running).await;
    let id = made["id"].as_str().expect("it has an id").to_owned();
    let observed = || fake.known.databases.lock().unwrap()[&id].observed;
    let before = observed();
    let change = json!({ "size": "standard-4", "storage_size": 128 });
    shop.patch(ORDERS, change).await.ok();
    // A step observes it twice, before the resize and after it.
    let is_seen = eventually(async || (observed() >= before + 6).then_some(())).await;
    is_seen.expect("it is observed in three steps");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_that_was_never_created_is_not_lost() {
    let (_home, fake, service, shop) = begin(&[]).await;
    fake.known.is_wicked.store(true, Ordering::SeqCst);
    let unknown = path("unknown");
    create(&shop, &unknown).await;
    let has_failed =
        async || (service.metric("stratus_reconcile_steps_failed_total").await >= 2).then_some(());
    eventually(has_failed)
        .await
        .expect("its creation is tried again");
    assert_eq!(shop.get(&unknown).await.ok()["state"], "creating");
    assert_eq!(
        service
            .metric("stratus_reconcile_steps_missing_total")
            .await,
        0
    );
    fake.known.is_wicked.store(false, Ordering::SeqCst);
    shop.wait_for(&unknown, is_running).await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provisioner_that_is_busy_is_asked_again_when_it_says_and_nothing_has_failed() {
    let (home, fake, service, shop) = begin(&[]).await;
    fake.known.is_wicked.store(true, Ordering::SeqCst);
    let (busy, for_long) = (path("busy"), path("busy-for-long"));
    create(&shop, &busy).await;
    create(&shop, &for_long).await;
    let calls = |name: &str| fake.known.calls.lock().unwrap().get(name).map(Vec::len);
    let is_asked = async || calls("busy").filter(|calls| *calls >= 5);
    eventually(is_asked)
        .await
        .expect("it is asked every second");
    assert_eq!(calls("busy-for-long"), Some(1));
    assert!(
        service
            .metric("stratus_reconcile_steps_postponed_total")
            .await
            >= 5
    );
    assert_eq!(
        service.metric("stratus_reconcile_steps_failed_total").await,
        0
    );
    assert!(home.run(&["databases"]).stdout.is_empty());
    fake.known.is_wicked.store(false, Ordering::SeqCst);
    runs_soon(&shop, &busy).await;
    // A change of its owner does not wait.
    let change = json!({ "storage_size": 128 });
    shop.patch(&for_long, change).await.ok();
    runs_soon(&shop, &for_long).await;
    service.terminate();
    let (_, log) = service.wait();
    assert!(
        log.contains("503 Service Unavailable (Unavailable)"),
        "{log}"
    );
    assert!(log.contains("wait=300s") || log.contains("300s"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_whose_server_is_down_is_restarted() {
    let (_home, fake, _service, shop) = begin(&[]).await;
    let down = path("down");
    create(&shop, &down).await;
    let is_recorded = |it: &Value| is_running(it) && it["connection_string"].is_string();
    shop.wait_for(&down, is_recorded).await;
    fake.known.is_wicked.store(true, Ordering::SeqCst);
    shop.wait_for(&down, |it| it["state"] == "unavailable")
        .await;
    shop.post_nothing(&format!("{down}/restart")).await.ok();
    shop.wait_for(&down, is_running).await;
}
