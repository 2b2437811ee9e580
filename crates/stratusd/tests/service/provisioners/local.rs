//! A provisioner whose databases are PostgreSQL servers: the check connects to them, and a service
//! uses them.

use serde_json::{Value, json};

use super::{ORDERS, create, is_running, serve, token_file};
use crate::support::inventory::SHOP;
use crate::support::provisioner::TOKEN;
use crate::support::servers::{self, Servers};

/// Checks that sizes that are not listed are refused in words.
async fn ensure_refused(base: &str) {
    // Fails if a provider is installed already, which is fine.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let http = reqwest::Client::new();
    for (size, wrong) in [
        ("standard-3", "\"standard-3\" is not one of hobby-1, "),
        ("-2", "\"-2\" is not one of hobby-1, "),
    ] {
        let shape =
            json!({ "version": "17", "vm_size": size, "storage_size_gib": 64, "ha_type": "none" });
        let wanted = json!({
            "project_id": SHOP, "location": "check", "name": "odd", "flavor": "standard", "open_to": [], "shape": shape,
        });
        for step in ["create", "resize"] {
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

#[tokio::test(flavor = "multi_thread")]
async fn servers_of_another_process_keep_the_rules_and_outlive_it() {
    let Some(servers) = Servers::new() else {
        return;
    };
    let file = token_file(&servers.home);
    let mut provisioner = servers.provision(&["--provision-token-file", &file]);
    let output = servers.home.run(&[
        "check-provisioner",
        &provisioner.base,
        "--provisioner-token-file",
        &file,
    ]);
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(
        output.status.success() && !said.contains("skipped"),
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
