//! Provisioners in another process: `stratusd provision`, a service that calls it, and the check of
//! the protocol's rules.

mod check;
mod events;
mod local;
mod page;
mod promotions;
mod settings;
mod wicked;

use std::fs;
use std::net::{Ipv4Addr, TcpListener};

use reqwest::{Method, StatusCode};
use serde_json::{Value, json};

use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;
use crate::support::provisioner::{Fake, TOKEN};
use crate::support::{Home, TLS, eventually};

const ORDERS: &str = "/location/eu-central-h1/postgres/orders";

/// Writes the file of the token, and returns its path.
fn token_file(home: &Home) -> String {
    let path = home.path().join("provisioner-token");
    fs::write(&path, format!("{TOKEN}\n")).expect("the folder is writable");
    path.display().to_string()
}

/// Starts a service whose databases are created by a provisioner.
fn serve(home: &Home, url: &str, more: &[&str]) -> Service {
    serve_observing(home, url, "100ms", more)
}

/// Starts such a service that observes each database at an interval, such as `100ms`.
fn serve_observing(home: &Home, url: &str, every: &str, more: &[&str]) -> Service {
    let file = token_file(home);
    let settings = [
        "--provisioner",
        "http",
        "--provisioner-url",
        url,
        "--provisioner-token-file",
        &file,
        "--observe-every",
        every,
    ];
    home.serve(&[&settings, more].concat())
}

/// Starts a simulated provisioner at an address.
fn provision(home: &Home, address: &str, more: &[&str]) -> Service {
    let file = token_file(home);
    let settings = [
        "--provision-listen",
        address,
        "--provision-token-file",
        &file,
        "--simulate-delay",
        "2s",
        "--simulate-jitter",
        "0s",
    ];
    home.provision(&[&settings, more].concat())
}

/// Returns an address of a host that is free now, so that a provisioner can come back to it.
fn free_address(host: Ipv4Addr) -> String {
    let listener = TcpListener::bind((host, 0)).expect("there is a port");
    let address = listener.local_addr().expect("it is bound");
    address.to_string()
}

/// Returns a host of this process alone, where loopback has more than one: a port that other tests may
/// take is not free for long.
fn own_host() -> Ipv4Addr {
    let [.., high, low] = std::process::id().to_be_bytes();
    let own = Ipv4Addr::new(127, 77, high, low.max(1));
    match TcpListener::bind((own, 0)) {
        Ok(_) => own,
        Err(_) => Ipv4Addr::LOCALHOST,
    }
}

fn caller(home: &Home, service: &Service) -> Caller {
    Caller::new(&service.base, SHOP, &home.token("shop", &[]))
}

async fn create(shop: &Caller, path: &str) -> Value {
    let body = json!({ "size": "standard-2", "storage_size": 64 });
    shop.post(path, body).await.ok()
}

fn is_running(database: &Value) -> bool {
    database["state"] == "running"
}

#[tokio::test(flavor = "multi_thread")]
async fn databases_live_in_another_process_that_is_killed_and_comes_back() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let address = free_address(own_host());
    let mut provisioner = provision(&home, &address, &[]);
    let service = serve(&home, &provisioner.base, &[]);
    let shop = caller(&home, &service);
    create(&shop, ORDERS).await;
    // In the middle of the creation, and for longer than its wait.
    provisioner.kill();
    tokio::time::sleep(std::time::Duration::from_secs(3)).await;
    assert_eq!(shop.get(ORDERS).await.ok()["state"], "creating");
    let mut provisioner = provision(&home, &address, &[]);
    let made = shop.wait_for(ORDERS, is_running).await;
    let host = |it: &Value| it["connection_string"].as_str().map(str::to_owned);
    assert!(
        host(&made).is_some_and(|it| it.contains("orders.")),
        "{made}"
    );

    let change = json!({ "size": "standard-4", "storage_size": 128 });
    shop.patch(ORDERS, change).await.ok();
    let is_larger = |it: &Value| it["vm_size"] == "standard-4" && it["storage_size_gib"] == 128;
    shop.wait_for(ORDERS, is_larger).await;
    shop.post_nothing(&format!("{ORDERS}/restart")).await.ok();
    shop.wait_for(ORDERS, |it| it["state"] == "unavailable")
        .await;
    provisioner.kill();
    let mut provisioner = provision(&home, &address, &[]);
    shop.wait_for(ORDERS, is_running).await;
    let reset = json!({ "password": "Another-Passw0rd-1" });
    let path = format!("{ORDERS}/reset-superuser-password");
    shop.post(&path, reset).await.ok();

    // The certificate authority is that of the provisioner, and stays.
    let now = shop.get(ORDERS).await.ok();
    assert_eq!(now["ca_certificates"], made["ca_certificates"]);
    assert_eq!(shop.delete(ORDERS).await.status, 204);
    provisioner.kill();
    let provisioner = provision(&home, &address, &[]);
    let gone = eventually(async || {
        let all = shop.get("/postgres").await.ok();
        (all["count"] == 0).then_some(())
    });
    gone.await.expect("the database is deleted");

    service.terminate();
    let (is_well, log) = service.wait();
    assert!(is_well, "{log}");
    let first = log.lines().find(|line| line.contains("Postgres databases"));
    let first = first.unwrap_or_else(|| panic!("{log}"));
    assert!(
        first.contains("simulated by another process") && first.contains(&provisioner.base),
        "{first}"
    );
    assert!(
        log.contains(&format!("the provisioner at {}", provisioner.base)),
        "{log}"
    );
    assert!(
        !log.contains(TOKEN) && !log.contains("Another-Passw0rd"),
        "{log}"
    );
    provisioner.terminate();
    let (is_well, log) = provisioner.wait();
    assert!(is_well && !log.contains(TOKEN), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_with_the_wrong_token_says_so_and_goes_on() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let other = home.path().join("other-token");
    fs::write(&other, "another-token-of-another-provisioner").expect("the folder is writable");
    let file = other.display().to_string();
    let provisioner = home.provision(&["--provision-token-file", &file]);
    let service = serve(&home, &provisioner.base, &[]);
    let shop = caller(&home, &service);
    create(&shop, ORDERS).await;
    tokio::time::sleep(std::time::Duration::from_secs(2)).await;
    assert_eq!(shop.get(ORDERS).await.ok()["state"], "creating");
    let ready = reqwest::get(format!("{}/readyz", service.management)).await;
    assert_eq!(ready.expect("it responds").status(), StatusCode::OK);
    service.terminate();
    let (is_well, log) = service.wait();
    assert!(is_well, "{log}");
    assert!(
        log.contains("401 Unauthorized (InvalidCredentials)"),
        "{log}"
    );
    assert!(!log.contains(TOKEN), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_service_starts_before_its_provisioner_and_offers_what_it_has_later() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let address = free_address(own_host());
    let service = serve(&home, &format!("http://{address}"), &[]);
    let shop = caller(&home, &service);
    create(&shop, ORDERS).await;
    let fake = Fake::start_at(&address, "").await;
    *fake.known.versions.lock().unwrap() = vec!["16", "17"];
    shop.wait_for(ORDERS, is_running).await;
    let newest =
        json!({ "size": "standard-2", "storage_size": 64, "version": "18", "flavor": "lantern" });
    let path = "/location/eu-central-h1/postgres/newest";
    let refused = eventually(async || {
        let created = shop.post(path, newest.clone()).await;
        if created.status == 200 {
            shop.delete(path).await;
            return None;
        }
        Some(created)
    });
    let refused = refused.await.expect("the versions are asked for");
    assert_eq!(refused.error(), (400, "InvalidRequest"));
    assert!(
        refused.detail("version").to_string().contains("16"),
        "{refused:?}"
    );
    // What it does not have would be created for ever.
    assert_eq!(
        refused.detail("flavor"),
        "is not offered here: choose standard"
    );
    let databases = fake.known.databases.lock().unwrap();
    assert!(databases.values().any(|it| it.password.len() >= 12));
    drop(databases);
    service.terminate();
    let (_, log) = service.wait();
    assert!(
        log.contains("cannot be used now: the provisioner at http://"),
        "{log}"
    );
    assert!(log.contains("Connection refused"), "{log}");
    assert!(log.contains("created by another process"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn what_a_provisioner_does_not_have_is_refused_in_words() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let fake = Fake::start("").await;
    let service = serve(&home, &fake.url, &[]);
    let shop = caller(&home, &service);
    create(&shop, ORDERS).await;
    shop.wait_for(ORDERS, is_running).await;
    let other = "/location/eu-central-h1/postgres/other";
    let refused = shop
        .post(other, json!({ "size": "standard-8", "storage_size": 512 }))
        .await;
    assert_eq!(refused.error(), (400, "InvalidRequest"));
    let only = "must be one of standard-2 and standard-4";
    assert_eq!(refused.detail("size"), only);
    let refused = shop
        .post(other, json!({ "size": "standard-2", "storage_size": 256 }))
        .await;
    assert_eq!(refused.error(), (400, "InvalidRequest"));
    let only = "`standard-2` allows 64 and 128 GiB";
    assert_eq!(refused.detail("storage_size"), only);

    let refused = shop.patch(ORDERS, json!({ "size": "hobby-1" })).await;
    assert_eq!(
        refused.detail("size"),
        "must be one of standard-2 and standard-4"
    );
    shop.patch(ORDERS, json!({ "storage_size": 128 }))
        .await
        .ok();
    shop.wait_for(ORDERS, |it| it["storage_size_gib"] == 128)
        .await;
    let refused = shop.patch(ORDERS, json!({ "storage_size": 64 })).await;
    assert_eq!(refused.error(), (400, "InvalidRequest"));
    assert_eq!(
        refused.detail("storage_size"),
        "cannot shrink to 64 GiB: here, the storage of a database can only grow"
    );
    let larger = json!({ "size": "standard-4", "storage_size": 512 });
    let refused = shop.patch(ORDERS, larger).await;
    assert_eq!(
        refused.detail("storage_size"),
        "`standard-4` allows 128 and 256 GiB"
    );
    // Values that the database has already are not checked, and other parts of the request count.
    let same = json!({ "size": "standard-2", "storage_size": 128, "tags": [{ "key": "a", "value": "b" }] });
    let same = shop.patch(ORDERS, same).await.ok();
    assert_eq!(same["target_storage_size_gib"], 128);
    shop.patch(ORDERS, json!({ "size": "standard-4" }))
        .await
        .ok();
    shop.wait_for(ORDERS, |it| it["vm_size"] == "standard-4")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_provisioner_without_a_size_of_the_service_is_named_in_the_log() {
    const SAID: &str = "so no database can be created";
    let asked = json!({ "size": "standard-2", "storage_size": 64 });
    let log_of = async |broken, is_refused: bool| {
        let home = Home::sqlite();
        home.apply(&two_projects());
        let fake = Fake::start(broken).await;
        let service = serve(&home, &fake.url, &[]);
        let shop = caller(&home, &service);
        if is_refused {
            // The provisioner may be asked only now.
            let refused = eventually(async || {
                let created = shop.post(ORDERS, asked.clone()).await;
                if created.status == 200 {
                    shop.delete(ORDERS).await;
                    return None;
                }
                Some(created)
            });
            let refused = refused.await.expect("it is refused");
            assert_eq!(refused.detail("size"), "no size is offered here");
        } else {
            shop.post(ORDERS, asked.clone()).await.ok();
            shop.wait_for(ORDERS, is_running).await;
        }
        service.terminate();
        service.wait().1
    };
    let log = log_of("sizes-unknown", true).await;
    assert!(log.contains(SAID), "{log}");
    let log = log_of("", false).await;
    assert!(!log.contains(SAID), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upgrade_that_the_provisioner_does_not_offer_is_refused_before_it_is_recorded() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let fake = Fake::start("").await;
    let service = serve(&home, &fake.url, &[]);
    let shop = caller(&home, &service);
    let body = json!({ "size": "standard-2", "storage_size": 64, "version": "16" });
    shop.post(ORDERS, body).await.ok();
    let made = shop.wait_for(ORDERS, is_running).await;
    let (id, file) = (
        made["id"].as_str().expect("it has an id"),
        token_file(&home),
    );
    let upgrade = |to: &str, url: Option<&str>| {
        let words = ["upgrade-database", id, "--project", "shop", "--to", to];
        let token = ["--provisioner-token-file", &file];
        let url = url.map(|url| ["--provisioner-url", url]);
        let url = url.as_ref().map_or(&[][..], |url| &url[..]);
        let output = home.run(&[&words[..], &token, url].concat());
        let said = [output.stdout, output.stderr].concat();
        (
            output.status.success(),
            String::from_utf8_lossy(&said).into_owned(),
        )
    };
    let nobody = "http://127.0.0.1:1";
    for (to, url, wrong) in [
        (
            "18",
            Some(&*fake.url),
            "the provisioner cannot upgrade a database of version 16 to 18: it can upgrade to 17",
        ),
        (
            "17",
            Some(nobody),
            "has not: the provisioner at http://127.0.0.1:1/provisioner",
        ),
        (
            "17",
            None,
            "has not: set provisioner_url to the URL of the provisioner",
        ),
    ] {
        let (succeeded, said) = upgrade(to, url);
        assert!(!succeeded && said.contains(wrong), "{said}");
        assert!(!said.contains(TOKEN), "{said}");
    }
    assert_eq!(shop.get(ORDERS).await.ok()["target_version"], "16");
    // Nobody needs to be asked for what takes an upgrade back.
    let (succeeded, said) = upgrade("16", Some(nobody));
    assert!(succeeded && said.contains("and keeps it"), "{said}");
    // It names none for version 17, so all later ones can be.
    for to in ["17", "18"] {
        let (succeeded, said) = upgrade(to, Some(&fake.url));
        assert!(succeeded, "{said}");
        shop.wait_for(ORDERS, |it| it["version"] == to).await;
    }
    let audit = [
        "audit",
        "--operation",
        "postgres_upgrade",
        "--format",
        "json",
    ];
    assert_eq!(home.succeed(&audit).lines().count(), 2);

    *fake.known.versions.lock().unwrap() = vec!["16", "17"];
    let newest = "/location/eu-central-h1/postgres/newest";
    create(&shop, newest).await;
    let made = shop.wait_for(newest, is_running).await;
    let id = made["id"].as_str().expect("it has an id");
    let words = ["upgrade-database", id, "--project", "shop", "--to", "18"];
    let by = [
        "--provisioner-url",
        &fake.url,
        "--provisioner-token-file",
        &file,
    ];
    let refused = home.fail(&[&words[..], &by].concat());
    let wrong = "of version 17 to 18: its databases of that version cannot be upgraded";
    assert!(refused.contains(wrong), "{refused}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_keeps_a_size_that_is_not_offered_any_more() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let address = free_address(own_host());
    let mut provisioner = provision(&home, &address, &[]);
    let mut service = serve(&home, &provisioner.base, &[]);
    let body = json!({ "size": "hobby-1", "storage_size": 16 });
    caller(&home, &service).post(ORDERS, body).await.ok();
    service.kill();
    provisioner.kill();
    let _fake = Fake::start_at(&address, "").await;
    let service = serve(&home, &format!("http://{address}"), &[]);
    let shop = caller(&home, &service);
    let kept = json!({ "storage_size": 16, "ha_type": "async" });
    assert_eq!(shop.patch(ORDERS, kept).await.ok()["ha_type"], "async");
    let refused = shop.patch(ORDERS, json!({ "storage_size": 32 })).await;
    assert_eq!(refused.error(), (400, "InvalidRequest"));
    assert_eq!(
        refused.detail("size"),
        "is `hobby-1`, which is not offered any more: choose one of standard-2 and standard-4"
    );
    // Another one like it cannot be created.
    let copy = json!({ "name": "copy", "restore_target": "2026-03-01T09:00:00Z" });
    let refused = shop.post(&format!("{ORDERS}/restore"), copy).await;
    assert_eq!(refused.error(), (400, "InvalidRequest"));
    assert_eq!(
        refused.detail("postgres_database_reference"),
        "has the size `hobby-1` with 16 GiB, which is not offered any more"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_window_at_midnight_is_not_the_same_as_none() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    // Its window is always closed, if there is one.
    let fake = Fake::start("").await;
    let service = serve(&home, &fake.url, &[]);
    let shop = caller(&home, &service);
    create(&shop, ORDERS).await;
    shop.wait_for(ORDERS, is_running).await;
    let window = format!("{ORDERS}/set-maintenance-window");
    let at = |hour: Value| json!({ "maintenance_window_start_at": hour });
    let set = shop.post(&window, at(json!(0))).await.ok();
    assert_eq!(set["maintenance_window_start_at"], 0);
    let larger = json!({ "size": "standard-4", "storage_size": 128 });
    shop.patch(ORDERS, larger).await.ok();
    let grown = shop
        .wait_for(ORDERS, |it| it["storage_size_gib"] == 128)
        .await;
    assert_eq!(grown["vm_size"], "standard-2");
    let unset = shop.post(&window, at(json!(null))).await.ok();
    assert_eq!(unset["maintenance_window_start_at"], 0);
    shop.wait_for(ORDERS, |it| it["vm_size"] == "standard-4")
        .await;
}

#[tokio::test(flavor = "multi_thread")]
async fn another_provisioner_is_refused_while_there_are_databases() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let provisioner = provision(&home, "127.0.0.1:0", &[]);
    let mut service = serve(&home, &provisioner.base, &[]);
    create(&caller(&home, &service), ORDERS).await;
    service.kill();
    for (choice, wrong) in [
        ("simulated", "is not that of the databases that exist"),
        ("auto", "set provisioner = \"http\" and provisioner_url"),
    ] {
        let failed = home.fail(&["serve", "--provisioner", choice]);
        assert!(failed.contains(wrong), "{choice}: {failed}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn calls_are_made_over_tls_with_the_authority_of_the_settings() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    home.issue();
    let certificate = home.path().join("cert.pem").display().to_string();
    let provisioner = provision(&home, "127.0.0.1:0", &TLS);
    assert!(
        provisioner.base.starts_with("https://"),
        "{}",
        provisioner.base
    );
    let url = provisioner.base.replace("127.0.0.1", "localhost");
    let trusting = serve(&home, &url, &["--provisioner-ca-file", &certificate]);
    let shop = caller(&home, &trusting);
    create(&shop, ORDERS).await;
    shop.wait_for(ORDERS, is_running).await;
    // The certificate is not for the address.
    let other = Home::sqlite();
    let wary = serve(
        &other,
        &provisioner.base,
        &["--provisioner-ca-file", &certificate],
    );
    wary.terminate();
    let (_, log) = wary.wait();
    assert!(
        log.contains("cannot be used now") && log.contains("certificate"),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_protocol_is_served_with_its_contract_and_its_bounds() {
    let home = Home::sqlite();
    let provisioner = provision(&home, "127.0.0.1:0", &[]);
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::new();
    let contract = http
        .get(format!("{}/openapi.yaml", provisioner.base))
        .send()
        .await;
    let contract = contract
        .expect("it responds")
        .text()
        .await
        .expect("it is text");
    let written = concat!(env!("CARGO_MANIFEST_DIR"), "/provisioner.yaml");
    assert_eq!(contract, fs::read_to_string(written).expect("it is there"));
    let ready = http
        .get(format!("{}/readyz", provisioner.management))
        .send()
        .await;
    assert_eq!(ready.expect("it responds").status(), StatusCode::OK);
    let path = format!(
        "{}/database/pgt10a2ct09p45wb0b42xgnrf3/observe",
        provisioner.base
    );
    let large = http
        .request(Method::POST, &path)
        .bearer_auth(TOKEN)
        .header("content-type", "application/json")
        .body("x".repeat((64 << 10) + 1));
    let refused = large.send().await.expect("it responds");
    assert_eq!(refused.status(), StatusCode::PAYLOAD_TOO_LARGE);
    assert_eq!(
        refused.headers()["content-type"],
        "application/problem+json"
    );
    let refused: Value = refused.json().await.expect("it is a problem");
    assert_eq!(
        (&refused["code"], &refused["status"]),
        (&json!("PayloadTooLarge"), &json!(413))
    );
    let wrong = http
        .post(&path)
        .bearer_auth(TOKEN)
        .json(&json!({ "wanted": {} }));
    let wrong: Value = wrong
        .send()
        .await
        .expect("it responds")
        .json()
        .await
        .expect("it is JSON");
    assert_eq!(wrong["code"], "BadRequest");
    let parts = wrong["errors"].as_array().expect("the parts are listed");
    assert!(parts.iter().all(|part| part["in"] == "body"), "{wrong}");
    assert!(parts.len() > 3, "{wrong}");
}
