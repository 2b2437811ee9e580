//! A provisioner whose databases are PostgreSQL servers: the check connects to them, and a service
//! uses them.

use serde_json::Value;

use super::{ORDERS, create, is_running, serve, token_file};
use crate::support::servers::{self, Servers};

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
