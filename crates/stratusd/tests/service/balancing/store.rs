//! The data plane goes on while the API or the database is down, and changes nothing in the database.

use std::fs;

use super::web;
use crate::on_both;
use crate::support::Home;
use crate::support::balancing::{Cloud, Net, Vm, a_second, ask};
use crate::support::cluster::ask as ask_postgres;
use crate::support::eventually;
use crate::support::inventory::SHOP;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_goes_on_while_the_api_is_down() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 1).await;
    let inventory = net.inventory(1, &[&web("round_robin", "vm-1")]);
    let mut cloud = Cloud::start(Home::sqlite(), net, &inventory, &[]);
    let address = cloud.address("web", 1).await;
    cloud.service.kill();
    a_second().await;
    assert_eq!(ask(address).await.expect("vm-1 is up"), "vm-1");
    assert_eq!(
        cloud.management("/readyz").await,
        (200, "ready\n".to_owned())
    );
    // It also starts without the API, from the database alone.
    cloud.plane.kill();
    cloud.plane = Cloud::plane(&cloud.home, net, &[]);
    assert_eq!(cloud.address("web", 1).await, address);
    assert_eq!(ask(address).await.expect("vm-1 is up"), "vm-1");
    // And what it holds open keeps no service from starting.
    cloud.service = cloud.home.serve(&[]);
    cloud.shop = cloud.shop.at(&cloud.service.base, SHOP);
    cloud.act("web", "detach-vm", &cloud.vm_id(1).await).await;
    a_second().await;
    assert!(
        ask(address).await.is_err(),
        "the change of the new service is not in force"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_goes_on_while_the_database_is_down_and_says_so() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 1).await;
    let inventory = net.inventory(1, &[&web("round_robin", "vm-1")]);
    let mut cloud = Cloud::start(Home::sqlite(), net, &inventory, &[]);
    let address = cloud.address("web", 1).await;
    cloud.service.kill();
    let folder = cloud.home.path().to_owned();
    let (file, away) = (folder.join("stratus.db"), folder.join("away.db"));
    fs::rename(&file, &away).expect("the folder is writable");
    let unready =
        eventually(async || Some(cloud.management("/readyz").await).filter(|it| it.0 == 503));
    let (_, reason) = unready.await.expect("it is not ready");
    assert!(
        reason.starts_with("the database cannot be read: balancing goes on with"),
        "{reason}"
    );
    let (_, metrics) = cloud.management("/metrics").await;
    assert!(
        metrics.contains("stratus_balance_store_readable 0\n"),
        "{metrics}"
    );
    assert_eq!(cloud.management("/healthz").await.0, 200);
    assert_eq!(ask(address).await.expect("vm-1 is up"), "vm-1");
    assert!(!file.exists(), "the data plane has made an empty database");
    fs::rename(&away, &file).expect("the folder is writable");
    let ready =
        eventually(async || Some(cloud.management("/readyz").await).filter(|it| it.0 == 200));
    ready.await.expect("it is ready again");
    cloud.plane.terminate();
    let (succeeded, log) = cloud.plane.wait();
    assert!(succeeded, "{log}");
    let said = "the database cannot be read: going on with what was read last";
    assert_eq!(log.matches(said).count(), 1, "{log}");
    assert!(log.contains("the database can be read again"), "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn it_waits_for_a_database_and_creates_none() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 1).await;
    let home = Home::sqlite();
    let plane = Cloud::plane(&home, net, &[]);
    // reqwest is built without a TLS provider and uses the installed one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let asked = eventually(async || {
        let response = reqwest::get(format!("{}/readyz", plane.management))
            .await
            .ok()?;
        Some((response.status().as_u16(), response.text().await.ok()?))
    });
    assert_eq!(
        asked.await,
        Some((503, "the database was not read yet\n".to_owned()))
    );
    a_second().await;
    assert!(
        !home.path().join("stratus.db").exists(),
        "the data plane has made a database"
    );
    let inventory = net.inventory(1, &[&web("round_robin", "vm-1")]);
    let cloud = Cloud::start(home, net, &inventory, &[]);
    drop(plane);
    cloud.address("web", 1).await;
}

on_both! {
    async fn the_first_load_balancer_of_all_is_read(home: Home) {
        let net = Net::random();
        let _vms = Vm::start_all(net, 1).await;
        let inventory = net.inventory(1, &[&web("round_robin", "vm-1")]);
        // A data plane that reads before there is any load balancer.
        let cloud = Cloud::start(home, net, &net.inventory(1, &[]), &[]);
        a_second().await;
        cloud.home.apply(&inventory);
        let address = cloud.address("web", 1).await;
        assert_eq!(ask(address).await.expect("vm-1 is up"), "vm-1");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_transaction_that_commits_late_is_not_missed_on_postgres() {
    let Some(home) = Home::postgres() else {
        return;
    };
    let net = Net::random();
    let _vms = Vm::start_all(net, 2).await;
    let inventory = net.inventory(2, &[&web("round_robin", "vm-1")]);
    let cloud = Cloud::start(home, net, &inventory, &[]);
    let address = cloud.address("web", 1).await;
    let url = cloud.home.database_url.clone();
    // Begins first, and commits after others that have higher numbers have been read.
    let late = std::thread::spawn(move || {
        ask_postgres(
            &url,
            "BEGIN; UPDATE load_balancer SET algorithm = 'hash_based' WHERE name = 'web'; SELECT pg_sleep(8); COMMIT",
        )
    });
    a_second().await;
    for _ in 0..2 {
        cloud
            .home
            .apply(&inventory.replace(&net.vm(2).to_string(), "203.0.113.9"));
        tokio::time::sleep(std::time::Duration::from_millis(200)).await;
        cloud.home.apply(&inventory);
    }
    assert_eq!(cloud.status("web")["algorithm"], "round_robin");
    late.join()
        .expect("psql runs")
        .expect("the transaction commits");
    cloud
        .wait_for("web", |status| status["algorithm"] == "hash_based")
        .await;
    assert_eq!(ask(address).await.expect("vm-1 is up"), "vm-1");
}
