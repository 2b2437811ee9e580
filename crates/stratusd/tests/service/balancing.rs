//! The data plane of load balancers, with real connections to virtual machines that the test runs.

mod changes;
mod envoy;
mod firewalls;
mod health;
mod limits;
mod listening;
mod seen;
mod shares;
mod state;
mod store;
pub mod tls;
mod turns;

use std::collections::BTreeMap;
use std::net::Ipv4Addr;

use serde_json::json;

use crate::on_both;
use crate::support::balancing::{Cloud, Net, SRC, Vm, a_second, ask, ask_from};
use crate::support::{Home, eventually};

/// A load balancer of the inventory that checks health by HTTP.
fn web(algorithm: &str, vms: &str) -> String {
    format!(
        "name: web, src_port: {SRC}, health_check_endpoint: /up, algorithm: {algorithm}, stack: ipv4, vms: [{vms}]"
    )
}

on_both! {
    async fn a_change_in_the_api_is_in_force_within_a_second(home: Home) {
        let net = Net::random();
        let _vms = Vm::start_all(net, 2).await;
        let inventory = net.inventory(2, &[&web("round_robin", "vm-1")]);
        let cloud = Cloud::start(home, net, &inventory, &[]);
        let web = cloud.address("web", 1).await;
        assert_eq!(ask(web).await.expect("vm-1 is up"), "vm-1");
        let (first, second) = (cloud.vm_id(1).await, cloud.vm_id(2).await);
        cloud.act("web", "attach-vm", &second).await;
        cloud.act("web", "detach-vm", &first).await;
        a_second().await;
        for _ in 0..10 {
            assert_eq!(ask(web).await.expect("vm-2 is up"), "vm-2");
        }
        // Another address of a virtual machine is a change too, which no revision counts.
        let moved = net.inventory(2, &[]).replace(&net.vm(2).to_string(), &net.vm(1).to_string());
        let moved = moved.replacen(&net.vm(1).to_string(), &net.vm(9).to_string(), 1);
        cloud.home.apply(&moved);
        a_second().await;
        assert_eq!(ask(web).await.expect("the address is that of vm-1"), "vm-1");
        let path = "/location/eu-central-h1/load-balancer/web";
        let deleted = cloud.shop.try_call(reqwest::Method::DELETE, path, None).await;
        assert_eq!(deleted.expect("the service responds").status, 204);
        a_second().await;
        assert!(ask(web).await.is_err(), "the deleted load balancer listens");
        assert!(cloud.status("web").is_null());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn round_robin_gives_each_vm_the_same_share() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 3).await;
    let inventory = net.inventory(3, &[&web("round_robin", "vm-1, vm-2, vm-3")]);
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &[]);
    let web = cloud.address("web", 3).await;
    let mut shares = BTreeMap::new();
    for _ in 0..30 {
        let name = ask(web).await.expect("a virtual machine responds");
        *shares.entry(name).or_insert(0) += 1;
    }
    assert_eq!(shares.into_values().collect::<Vec<_>>(), [10, 10, 10]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn hash_based_moves_only_the_callers_of_the_vm_that_goes() {
    const CALLERS: u16 = 1000;
    let net = Net::random();
    let _vms = Vm::start_all(net, 10).await;
    let names: Vec<String> = (1..=10).map(|number| format!("vm-{number}")).collect();
    let inventory = net.inventory(10, &[&web("hash_based", &names.join(", "))]);
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &[]);
    let web = cloud.address("web", 10).await;
    let spread = async || {
        let mut spread = Vec::new();
        for number in 0..CALLERS {
            let [high, low] = number.to_be_bytes();
            let caller = Ipv4Addr::new(127, 200, high, low.max(1)).into();
            spread.push(
                ask_from(caller, web)
                    .await
                    .expect("a virtual machine responds"),
            );
        }
        spread
    };
    let before = spread().await;
    assert_eq!(
        before,
        spread().await,
        "a caller's virtual machine changes without a reason"
    );
    let mut shares = BTreeMap::new();
    for name in &before {
        *shares.entry(name).or_insert(0) += 1;
    }
    // Of ten equal shares, chance alone makes none so small or large.
    assert!(
        shares.values().all(|share| (60..150).contains(share)),
        "{shares:?}"
    );
    cloud.act("web", "detach-vm", &cloud.vm_id(4).await).await;
    a_second().await;
    let after = spread().await;
    let moved = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before != after);
    let moved: Vec<_> = moved.collect();
    assert!(
        moved.iter().all(|(before, _)| *before == "vm-4"),
        "{moved:?}"
    );
    assert_eq!(moved.len(), shares[&"vm-4".to_owned()]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vm_that_refuses_costs_no_connection() {
    let net = Net::random();
    let vms = Vm::start_all(net, 3).await;
    let inventory = net.inventory(3, &[&web("round_robin", "vm-1, vm-2, vm-3")]);
    let settings = ["--balance-check-every", "1h"];
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &settings);
    let web = cloud.address("web", 3).await;
    vms[1].stop().await;
    // The kernel refuses once the task has dropped the socket.
    let refuses = async || tokio::net::TcpStream::connect(vms[1].address).await.err();
    eventually(refuses)
        .await
        .expect("the virtual machine refuses");
    for _ in 0..10 {
        assert_ne!(ask(web).await.expect("another one is tried"), "vm-2");
    }
    assert_eq!(cloud.status("web")["vms"][1]["state"], json!("up"));
}
