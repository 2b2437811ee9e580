//! Changes while callers use a load balancer: no request fails, and open connections go on.

use std::collections::BTreeSet;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use serde_json::json;
use tokio::net::TcpStream;
use tokio::sync::Mutex;

use super::tls::Trusting;
use super::web;
use crate::support::balancing::{Cloud, Net, SRC, V6, Vm, ask, ask_on, states};
use crate::support::{Home, eventually};

/// The number of requests to each of the two load balancers.
const REQUESTS: usize = 5_000;
/// The number of callers of each.
const CALLERS: usize = 4;
/// The number of requests that a caller sends on a connection with TLS.
const ON_ONE: usize = 10;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_requests_through_changes_never_fail() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 6).await;
    let inventory = two(net);
    // A certificate of three seconds is renewed after two.
    let settings = ["--balance-certificate-lifetime", "3s"];
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &settings);
    never_fail(&cloud, REQUESTS, 3).await;
}

/// An inventory of two load balancers, one of them with a certificate, and of three virtual machines for
/// each.
pub fn two(net: Net) -> String {
    let secure = format!(
        "name: secure, src_port: {SRC}, health_check_endpoint: /up, stack: ipv4, cert_enabled: true, vms: [vm-4, vm-5, vm-6]"
    );
    net.inventory(6, &[&web("round_robin", "vm-1, vm-2, vm-3"), &secure])
}

/// Sends a number of requests to each of the two load balancers while both are changed, until as many
/// certificates were seen.
pub async fn never_fail(cloud: &Cloud, requests: usize, seen: usize) {
    let (web, secured) = (
        cloud.address("web", 3).await,
        cloud.address("secure", 3).await,
    );
    let trusting = Trusting::of(cloud, "secure").await;
    let (done, failures) = (
        Arc::new(AtomicUsize::new(0)),
        Arc::new(Mutex::new(Vec::new())),
    );
    let certificates = Arc::new(Mutex::new(BTreeSet::new()));
    let is_over = Arc::new(AtomicBool::new(false));
    let mut callers = Vec::new();
    for _ in 0..CALLERS {
        let (done, failures, is_over) = (
            Arc::clone(&done),
            Arc::clone(&failures),
            Arc::clone(&is_over),
        );
        callers.push(tokio::spawn(async move {
            while !is_over.load(Ordering::SeqCst) {
                if let Err(error) = ask(web).await {
                    failures.lock().await.push(format!("plain: {error}"));
                }
                done.fetch_add(1, Ordering::SeqCst);
            }
        }));
    }
    let secured_done = Arc::new(AtomicUsize::new(0));
    for _ in 0..CALLERS {
        let (done, failures, is_over) = (
            Arc::clone(&secured_done),
            Arc::clone(&failures),
            Arc::clone(&is_over),
        );
        let (trusting, certificates) = (trusting.clone(), Arc::clone(&certificates));
        callers.push(tokio::spawn(async move {
            while !is_over.load(Ordering::SeqCst) {
                let asked = async {
                    let mut stream = trusting.connect(secured).await?;
                    certificates
                        .lock()
                        .await
                        .insert(Trusting::certificate(&stream));
                    for _ in 0..ON_ONE {
                        ask_on(&mut stream).await?;
                    }
                    Ok::<_, std::io::Error>(())
                };
                if let Err(error) = asked.await {
                    failures.lock().await.push(format!("secure: {error}"));
                }
                done.fetch_add(ON_ONE, Ordering::SeqCst);
            }
        }));
    }
    let mut rounds = 0;
    let is_enough = |done: &AtomicUsize| done.load(Ordering::SeqCst) >= requests;
    while rounds < 3
        || !is_enough(&done)
        || !is_enough(&secured_done)
        || certificates.lock().await.len() < seen
    {
        for (name, first) in [("web", 1), ("secure", 4)] {
            let vm = cloud.vm_id(first + rounds % 3).await;
            cloud.act(name, "detach-vm", &vm).await;
            let algorithm = if rounds % 2 == 0 {
                "hash_based"
            } else {
                "round_robin"
            };
            cloud.patch(name, json!({ "algorithm": algorithm })).await;
            tokio::time::sleep(Duration::from_millis(300)).await;
            cloud.act(name, "attach-vm", &vm).await;
        }
        rounds += 1;
    }
    is_over.store(true, Ordering::SeqCst);
    for caller in callers {
        caller.await.expect("a caller does not panic");
    }
    let failures = failures.lock().await;
    assert!(
        failures.is_empty(),
        "{} failed: {:?}",
        failures.len(),
        failures.first()
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_detached_vm_keeps_its_connections_for_a_time() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 2).await;
    let inventory = net.inventory(2, &[&web("round_robin", "vm-1, vm-2")]);
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &[]);
    let address = cloud.address("web", 2).await;
    let mut open = TcpStream::connect(address)
        .await
        .expect("the load balancer listens");
    let name = ask_on(&mut open).await.expect("a virtual machine responds");
    let number = if name == "vm-1" { 1 } else { 2 };
    let vm = cloud.vm_id(number).await;
    cloud.act("web", "detach-vm", &vm).await;
    let status = cloud
        .wait_for("web", |status| !states(status, "detaching").is_empty())
        .await;
    assert_eq!(states(&status, "detaching"), std::slice::from_ref(&name));
    let (_, metrics) = cloud.management("/metrics").await;
    let id = vm.as_str().expect("an id is a string");
    assert!(
        metrics.contains(&format!("vm=\"{id}\",state=\"detaching\"}} 1")),
        "{metrics}"
    );
    for _ in 0..6 {
        assert_ne!(ask(address).await.expect("the other one responds"), name);
    }
    assert_eq!(
        ask_on(&mut open).await.expect("the connection goes on"),
        name
    );
    // Attached again, it is no longer to be closed.
    cloud.act("web", "attach-vm", &vm).await;
    cloud
        .wait_for("web", |status| states(status, "up").len() == 2)
        .await;
    tokio::time::sleep(Duration::from_millis(3500)).await;
    assert_eq!(
        ask_on(&mut open).await.expect("the connection goes on"),
        name
    );
    cloud.act("web", "detach-vm", &vm).await;
    let closed = eventually(async || ask_on(&mut open).await.err()).await;
    assert!(
        closed.is_some(),
        "the connection is not closed after the time to drain"
    );
    cloud
        .wait_for("web", |status| states(status, "detaching").is_empty())
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_open_connection_survives_another_port_stack_and_certificate() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 1).await;
    let inventory = net.inventory(1, &[&web("round_robin", "vm-1")]);
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &V6);
    let address = cloud.address("web", 1).await;
    let mut open = TcpStream::connect(address)
        .await
        .expect("the load balancer listens");
    ask_on(&mut open).await.expect("vm-1 responds");
    cloud.patch("web", json!({ "src_port": SRC + 1 })).await;
    let moved = cloud.wait_for("web", |status| {
        let address = status["listeners"][0]["address"].as_str();
        address.is_some_and(|address| address.ends_with(&format!(":{}", SRC + 1)))
    });
    assert_eq!(moved.await["listeners"].as_array().map(Vec::len), Some(1));
    let mut other = address;
    other.set_port(SRC + 1);
    assert_eq!(
        ask(other).await.expect("the new port is listened on"),
        "vm-1"
    );
    assert!(ask(address).await.is_err(), "the old port is listened on");
    cloud.patch("web", json!({ "cert_enabled": true })).await;
    cloud
        .wait_for("web", |status| !status["certificate_ends"].is_null())
        .await;
    let trusting = Trusting::of(&cloud, "web").await;
    let mut secured = trusting
        .connect(other)
        .await
        .expect("the certificate is trusted");
    ask_on(&mut secured).await.expect("vm-1 responds");
    cloud
        .patch("web", json!({ "cert_enabled": false, "stack": "ipv6" }))
        .await;
    cloud
        .wait_for("web", |status| {
            let address = status["listeners"][0]["address"].as_str();
            address.is_some_and(|address| address.starts_with('['))
        })
        .await;
    assert!(
        ask(other).await.is_err(),
        "the address of IPv4 is listened on"
    );
    ask_on(&mut open)
        .await
        .expect("the first connection goes on");
    ask_on(&mut secured)
        .await
        .expect("the one with TLS goes on");
}
