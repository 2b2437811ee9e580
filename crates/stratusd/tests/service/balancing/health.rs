//! Health checks: only virtual machines that pass them get connections.

use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use rustls::ServerConfig;
use rustls::pki_types::PrivateKeyDer;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;
use tokio::task::JoinHandle;
use tokio_rustls::TlsAcceptor;

use super::web;
use crate::support::Home;
use crate::support::balancing::{Cloud, DST, Net, SRC, Vm, ask, states};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn only_healthy_vms_get_connections() {
    let net = Net::random();
    let vms = Vm::start_all(net, 3).await;
    vms[1].status.store(503, Ordering::SeqCst);
    let inventory = net.inventory(3, &[&web("round_robin", "vm-1, vm-2, vm-3")]);
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &[]);
    let address = cloud.address("web", 2).await;
    assert_eq!(states(&cloud.status("web"), "down"), ["vm-2"]);
    for _ in 0..12 {
        assert_ne!(ask(address).await.expect("two are healthy"), "vm-2");
    }
    let (_, metrics) = cloud.management("/metrics").await;
    let id = cloud.vm_id(2).await;
    let id = id.as_str().expect("an id is a string");
    assert!(
        metrics.contains(&format!("vm=\"{id}\",state=\"down\"}} 1")),
        "{metrics}"
    );
    // A redirection is healthy.
    vms[1].status.store(302, Ordering::SeqCst);
    cloud
        .wait_for("web", |status| states(status, "up").len() == 3)
        .await;
    assert_eq!(vms[1].served.load(Ordering::SeqCst), 0);
    vms[0].stop().await;
    vms[2].stop().await;
    cloud
        .wait_for("web", |status| states(status, "up") == ["vm-2"])
        .await;
    assert_eq!(ask(address).await.expect("vm-2 is healthy"), "vm-2");
    vms[1].status.store(500, Ordering::SeqCst);
    cloud
        .wait_for("web", |status| states(status, "up").is_empty())
        .await;
    assert!(
        ask(address).await.is_err(),
        "a connection has gone to a virtual machine that is down"
    );
    let (_, metrics) = cloud.management("/metrics").await;
    assert!(metrics.contains("reason=\"no_vm\"} 1"), "{metrics}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn one_failed_check_is_not_enough() {
    let net = Net::random();
    let vms = Vm::start_all(net, 1).await;
    let inventory = net.inventory(1, &[&web("round_robin", "vm-1")]);
    let settings = [
        "--balance-check-every",
        "300ms",
        "--balance-check-fall",
        "100",
    ];
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &settings);
    let address = cloud.address("web", 1).await;
    vms[0].status.store(503, Ordering::SeqCst);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(ask(address).await.expect("vm-1 is still up"), "vm-1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vm_that_was_down_is_up_after_some_checks_in_a_row() {
    let net = Net::random();
    let vms = Vm::start_all(net, 1).await;
    vms[0].status.store(503, Ordering::SeqCst);
    let inventory = net.inventory(1, &[&web("round_robin", "vm-1")]);
    let (every, rise) = (Duration::from_millis(100), 20);
    let settings = [
        "--balance-check-every",
        "100ms",
        "--balance-check-rise",
        "20",
    ];
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &settings);
    cloud
        .wait_for("web", |status| states(status, "down") == ["vm-1"])
        .await;
    let begun = Instant::now();
    vms[0].status.store(200, Ordering::SeqCst);
    let address = cloud.address("web", 1).await;
    // Between the first and the last of them are one pause less.
    let took = begun.elapsed();
    assert!(took >= every * (rise - 1), "{took:?}");
    assert_eq!(ask(address).await.expect("vm-1 is up"), "vm-1");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn https_checks_take_any_certificate_and_ask_the_host_of_a_url() {
    let net = Net::random();
    let asked = https_vm(net, 1).await;
    let secure = format!(
        "name: web, src_port: {SRC}, health_check_endpoint: \"https://internal.example/health?deep\", health_check_protocol: https, stack: ipv4, vms: [vm-1]"
    );
    let inventory = net.inventory(1, &[&secure]);
    let settings = ["--balance-check-every", "1h"];
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &settings);
    cloud.address("web", 1).await;
    let asked = asked.await.expect("a check has come");
    assert!(
        asked.starts_with("GET /health?deep HTTP/1.1\r\nHost: internal.example\r\n"),
        "{asked}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn by_tcp_a_vm_is_up_as_long_as_it_accepts_connections() {
    let net = Net::random();
    let vms = Vm::start_all(net, 2).await;
    // By HTTP it would be down.
    vms[0].status.store(503, Ordering::SeqCst);
    let web = format!(
        "name: web, src_port: {SRC}, health_check_endpoint: /up, health_check_protocol: tcp, stack: ipv4, vms: [vm-1, vm-2]"
    );
    let inventory = net.inventory(2, &[&web]);
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &[]);
    let address = cloud.address("web", 2).await;
    vms[0].stop().await;
    let status = cloud.wait_for("web", |status| states(status, "up") == ["vm-2"]);
    assert_eq!(states(&status.await, "down"), ["vm-1"]);
    for _ in 0..4 {
        assert_eq!(ask(address).await.expect("vm-2 is up"), "vm-2");
    }
}

/// Starts a virtual machine that responds to one request by HTTPS, with a certificate of another host.
/// Returns what resolves to the request.
pub async fn https_vm(net: Net, number: u8) -> JoinHandle<String> {
    let made = rcgen::generate_simple_self_signed(vec!["another.example".to_owned()])
        .expect("a certificate can be made");
    let key = PrivateKeyDer::Pkcs8(made.signing_key.serialize_der().into());
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let config = ServerConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .expect("the provider has these versions")
        .with_no_client_auth()
        .with_single_cert(vec![made.cert.der().clone()], key)
        .expect("the key is that of the certificate");
    let acceptor = TlsAcceptor::from(Arc::new(config));
    let listener = TcpListener::bind((net.vm(number), DST))
        .await
        .expect("the address is free");
    tokio::spawn(async move {
        loop {
            let (stream, _) = listener.accept().await.expect("the socket listens");
            let Ok(mut stream) = acceptor.accept(stream).await else {
                continue;
            };
            let mut head = vec![0; 1024];
            let length = stream.read(&mut head).await.unwrap_or_default();
            let _ = stream.write_all(b"HTTP/1.1 204 No Content\r\n\r\n").await;
            let _ = stream.shutdown().await;
            head.truncate(length);
            return String::from_utf8(head).expect("a request is text");
        }
    })
}
