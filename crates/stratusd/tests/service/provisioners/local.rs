//! A provisioner whose databases are PostgreSQL servers: the check connects to them, and a service
//! uses them.

use std::fs::File;
use std::process::Command;

use serde_json::{Value, json};

use super::{ORDERS, create, is_running, serve, token_file};
use crate::support::eventually;
use crate::support::inventory::SHOP;
use crate::support::provisioner::TOKEN;
use crate::support::servers::{self, Servers};

/// Returns a command with the rights that the unit of systemd gives the provisioner, if this test has
/// them to give away.
fn as_the_unit_does(command: &Command) -> Option<Command> {
    if !rustix::process::geteuid().is_root() {
        return None;
    }
    let unit = include_str!("../../../deploy/stratusd-provision.service");
    let rights = unit
        .lines()
        .find_map(|line| line.strip_prefix("CapabilityBoundingSet="));
    let rights = rights.expect("the unit bounds its rights").to_lowercase();
    let rights: Vec<_> = rights
        .split(' ')
        .map(|right| right.replace("cap_", "+"))
        .collect();
    let mut setpriv = Command::new("setpriv");
    setpriv
        .args(["--no-new-privs", "--inh-caps=-all"])
        .arg(format!("--bounding-set=-all,{}", rights.join(",")))
        .arg(command.get_program())
        .args(command.get_args());
    Some(setpriv)
}

/// Checks that sizes and flavors that are not offered are refused in words.
async fn ensure_refused(base: &str) {
    // Fails if a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::new();
    for (flavor, size, wrong) in [
        (
            "standard",
            "standard-3",
            "\"standard-3\" is not one of hobby-1, ",
        ),
        ("standard", "-2", "\"-2\" is not one of hobby-1, "),
        (
            "lantern",
            "hobby-1",
            "the flavor \"lantern\" is not standard",
        ),
    ] {
        let shape =
            json!({ "version": "17", "vm_size": size, "storage_size_gib": 64, "ha_type": "none" });
        let wanted = json!({
            "project_id": SHOP, "location": "check", "name": "odd", "flavor": flavor, "open_to": [], "shape": shape,
        });
        // The flavor of a database never changes, so other steps are made.
        let steps = if flavor == "standard" {
            &["create", "resize"][..]
        } else {
            &["create"]
        };
        for step in steps {
            let url = format!("{base}/database/pgt10a2ct09p45wb0b42xgnrf3/{step}");
            let request = http.post(url).bearer_auth(TOKEN);
            let response = request.json(&json!({ "wanted": wanted })).send().await;
            let response = response.expect("it responds");
            assert_eq!(response.status(), 500, "{step} {shape}");
            let problem: Value = response.json().await.expect("it is a problem");
            let detail = problem["detail"].as_str().unwrap_or_default();
            assert!(detail.contains(wrong), "{step}: {problem}");
        }
    }
}

/// Checks that a step of a database that is locked, as if a program of an earlier step still ran, is
/// postponed and has not failed.
async fn ensure_postponed(servers: &Servers, base: &str, made: &Value) {
    let id = made["id"].as_str().expect("it has an id");
    let lock = servers.folder().join("databases").join(id).join("lock");
    let lock = File::open(lock).expect("the database has a lock");
    lock.lock().expect("a step ends");
    let shape = json!({
        "version": made["version"], "vm_size": "hobby-1", "storage_size_gib": 16, "ha_type": "none",
    });
    let wanted = json!({
        "project_id": SHOP, "location": made["location"], "name": made["name"],
        "flavor": "standard", "open_to": [], "shape": shape,
    });
    let url = format!("{base}/database/{id}/restrict");
    let request = reqwest::Client::new().post(url).bearer_auth(TOKEN);
    let response = request.json(&json!({ "wanted": wanted })).send().await;
    let response = response.expect("it responds");
    assert_eq!(response.status(), 503);
    assert_eq!(response.headers()["retry-after"], "5");
    let problem: Value = response.json().await.expect("it is a problem");
    assert_eq!(problem["code"], "Unavailable", "{problem}");
}

#[tokio::test(flavor = "multi_thread")]
async fn servers_of_another_process_keep_the_rules_and_outlive_it() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let file = token_file(&servers.home);
    let settings = ["--provision-token-file", &file, "--local-shared-user", "on"];
    let mut provisioner = servers.provision_by(as_the_unit_does, &settings);
    let output = servers.home.run(&[
        "check-provisioner",
        &provisioner.base,
        "--provisioner-token-file",
        &file,
    ]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}");
    // Whether there is another version depends on the machine.
    let skipped: Vec<_> = said
        .lines()
        .filter(|line| line.starts_with("skipped"))
        .collect();
    assert!(
        matches!(
            skipped[..],
            [] | ["skipped  upgrades: it has no later version"]
        ),
        "{said}"
    );
    assert_eq!(servers.ids(), Vec::<String>::new());
    ensure_refused(&provisioner.base).await;
    assert_eq!(servers.ids(), Vec::<String>::new());

    let service = serve(&servers.home, &provisioner.base, &[]);
    let shop = servers.caller(&service);
    create(&shop, ORDERS).await;
    let is_known = |it: &Value| is_running(it) && it["connection_string"].is_string();
    let made = shop.wait_for(ORDERS, is_known).await;
    ensure_postponed(&servers, &provisioner.base, &made).await;
    let client = servers::connect(&made).await.expect("it is open");
    client
        .batch_execute("CREATE TABLE kept (it text)")
        .await
        .expect("it is written");
    provisioner.kill();
    // The server goes on.
    client
        .batch_execute("INSERT INTO kept VALUES ('this')")
        .await
        .expect("it is written");
    let provisioner = servers.provision(&["--provision-token-file", &file]);
    let rows = client
        .query("SELECT it FROM kept", &[])
        .await
        .expect("it is read");
    assert_eq!(rows.len(), 1);
    service.terminate();
    let (_, log) = service.wait();
    assert!(log.contains("created by another process"), "{log}");
    drop(provisioner);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_database_of_another_process_is_upgraded_with_the_rights_of_the_unit() {
    let Some(servers) = Servers::upgradable() else {
        return;
    };
    let file = token_file(&servers.home);
    let settings = ["--provision-token-file", &file, "--local-shared-user", "on"];
    let provisioner = servers.provision_by(as_the_unit_does, &settings);
    let service = serve(&servers.home, &provisioner.base, &[]);
    let shop = servers.caller(&service);
    let body = json!({ "size": "hobby-1", "storage_size": 16, "version": "16" });
    shop.post(ORDERS, body).await.ok();
    let is_known = |it: &Value| is_running(it) && it["connection_string"].is_string();
    let made = shop.wait_for(ORDERS, is_known).await;
    let client = servers::connect(&made).await.expect("it is open");
    client
        .batch_execute("CREATE TABLE kept (it text); INSERT INTO kept VALUES ('this')")
        .await
        .expect("it is written");
    let id = made["id"].as_str().expect("it has an id");
    let words = ["upgrade-database", id, "--project", "shop", "--to", "18"];
    let by = ["--provisioner-url", &provisioner.base];
    let token = ["--provisioner-token-file", &file];
    servers.home.succeed(&[&words[..], &by, &token].concat());
    let is_upgraded = |it: &Value| is_known(it) && it["version"] == "18";
    let now = shop.wait_for(ORDERS, is_upgraded).await;
    let rows = eventually(async || {
        let client = servers::connect(&now).await.ok()?;
        client.query("SELECT it FROM kept", &[]).await.ok()
    });
    assert_eq!(rows.await.expect("it answers").len(), 1);
}
