//! The file of addresses, on a disk that is slow or full.

use std::fs;
use std::process::Command;

use super::web;
use crate::support::balancing::{Cloud, Net, Vm, a_second, ask};
use crate::support::{Home, eventually};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_disk_that_does_not_respond_delays_no_change() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 2).await;
    let home = Home::sqlite();
    // Opening it for writing waits until somebody reads it, which nobody does.
    let made = Command::new("mkfifo")
        .arg(home.path().join("balance.json.new"))
        .status();
    assert!(made.expect("there is mkfifo").success());
    let inventory = net.inventory(2, &[&web("round_robin", "vm-1")]);
    let cloud = Cloud::start(home, net, &inventory, &[]);
    let web = cloud.address("web", 1).await;
    cloud.act("web", "detach-vm", &cloud.vm_id(1).await).await;
    cloud.act("web", "attach-vm", &cloud.vm_id(2).await).await;
    a_second().await;
    assert_eq!(ask(web).await.expect("vm-2 is up"), "vm-2");
    // The end waits for the disk only for a time.
    cloud.plane.terminate();
    let (succeeded, log) = cloud.plane.wait();
    assert!(succeeded, "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_file_that_cannot_be_written_is_logged_once_and_written_later() {
    let net = Net::random();
    let inventory = net.inventory(1, &[&web("round_robin", "")]);
    let settings = ["--balance-state", "later/balance.json"];
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &settings);
    cloud.address("web", 0).await;
    for _ in 0..3 {
        a_second().await;
    }
    let folder = cloud.home.path().join("later");
    fs::create_dir(&folder).expect("the home folder is writable");
    let written = eventually(async || {
        let text = fs::read_to_string(folder.join("balance.json")).ok()?;
        text.contains("ipv4").then_some(())
    });
    written.await.expect("the file is written");
    cloud.plane.terminate();
    let (succeeded, log) = cloud.plane.wait();
    assert!(succeeded, "{log}");
    for said in [
        "the addresses of load balancers cannot be saved",
        "the addresses of load balancers can be saved again",
    ] {
        assert_eq!(log.matches(said).count(), 1, "{log}");
    }
}
