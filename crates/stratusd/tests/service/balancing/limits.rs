//! Bounds of connections: how many, how long, and what a virtual machine learns of their callers.

use std::time::Duration;

use socket2::SockRef;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::web;
use crate::support::balancing::{Cloud, DST, Net, SRC, Vm, ask, ask_on};
use crate::support::{Home, eventually};

/// A load balancer whose health checks only connect.
fn bare() -> String {
    format!(
        "name: web, src_port: {SRC}, health_check_endpoint: /, health_check_protocol: tcp, stack: ipv4, vms: [vm-1]"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn connections_beyond_the_limit_are_closed_at_once() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 2).await;
    let other = format!(
        "name: other, src_port: {SRC}, health_check_endpoint: /up, stack: ipv4, vms: [vm-2]"
    );
    let inventory = net.inventory(2, &[&web("round_robin", "vm-1"), &other]);
    let settings = [
        "--balance-connections-each",
        "2",
        "--balance-connections",
        "3",
    ];
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &settings);
    let (first, second) = (
        cloud.address("web", 1).await,
        cloud.address("other", 1).await,
    );
    let open = async |address| {
        let mut stream = TcpStream::connect(address).await.expect("it listens");
        ask_on(&mut stream).await.map(|_| stream)
    };
    let held = [open(first).await, open(first).await].map(|held| held.expect("there is room"));
    assert!(
        open(first).await.is_err(),
        "a load balancer has three connections"
    );
    let third = open(second).await.expect("the other one has room");
    assert!(
        open(second).await.is_err(),
        "there are four connections in all"
    );
    let (_, metrics) = cloud.management("/metrics").await;
    assert_eq!(
        metrics.matches("reason=\"limit\"} 1").count(),
        2,
        "{metrics}"
    );
    drop((held, third));
    let again = eventually(async || open(first).await.ok()).await;
    assert!(again.is_some(), "the places are not free again");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn each_side_may_end_its_half_first_and_idle_connections_are_closed() {
    let net = Net::random();
    let listener = TcpListener::bind((net.vm(1), DST))
        .await
        .expect("the address is free");
    // Responds with the number of bytes once it has all of them, and more than a buffer holds.
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let mut all = Vec::new();
                let _ = stream.read_to_end(&mut all).await;
                let _ = stream.write_all(&vec![b'-'; 3_000_000]).await;
                let _ = stream.write_all(all.len().to_string().as_bytes()).await;
            });
        }
    });
    let inventory = net.inventory(1, &[&bare()]);
    let settings = ["--balance-idle-timeout", "3s"];
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &settings);
    let address = cloud.address("web", 1).await;
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream
        .write_all(&vec![b'+'; 5_000_000])
        .await
        .expect("it is read");
    stream.shutdown().await.expect("the half can end");
    let mut all = Vec::new();
    stream
        .read_to_end(&mut all)
        .await
        .expect("the other half goes on");
    assert_eq!(&all[3_000_000..], b"5000000");
    let mut idle = TcpStream::connect(address).await.expect("it listens");
    let closed = tokio::time::timeout(Duration::from_mins(1), idle.read(&mut [0])).await;
    assert!(
        closed.is_ok(),
        "a connection on which nothing is sent is open"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_a_vm_breaks_off_does_not_look_complete() {
    let net = Net::random();
    let listener = TcpListener::bind((net.vm(1), DST))
        .await
        .expect("the address is free");
    // Sends a part of a response once it is asked, and then resets the connection.
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            tokio::spawn(async move {
                let _ = stream.read_exact(&mut [0; 5]).await;
                let _ = stream.write_all(b"a part").await;
                tokio::time::sleep(Duration::from_millis(100)).await;
                let _ = SockRef::from(&stream).set_linger(Some(Duration::ZERO));
            });
        }
    });
    let inventory = net.inventory(1, &[&bare()]);
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &[]);
    let address = cloud.address("web", 1).await;
    let mut stream = TcpStream::connect(address).await.expect("it listens");
    stream.write_all(b"hello").await.expect("it is read");
    let read = stream.read_to_end(&mut Vec::new()).await;
    let error = read.expect_err("the response looks complete");
    assert_eq!(error.kind(), std::io::ErrorKind::ConnectionReset);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_vm_gets_the_address_of_a_caller_by_the_proxy_protocol() {
    for version in ["v1", "v2"] {
        let net = Net::random();
        let listener = TcpListener::bind((net.vm(1), DST))
            .await
            .expect("the address is free");
        let inventory = net.inventory(1, &[&bare()]);
        let settings = [
            "--balance-proxy-protocol",
            version,
            "--balance-check-every",
            "1h",
        ];
        let cloud = Cloud::start(Home::sqlite(), net, &inventory, &settings);
        // The first connection is the health check.
        listener.accept().await.expect("a check has come");
        let address = cloud.address("web", 1).await;
        let mut caller = TcpStream::connect(address).await.expect("it listens");
        caller.write_all(b"hello").await.expect("it is read");
        caller.shutdown().await.expect("the half can end");
        let from = caller.local_addr().expect("it has an address");
        let (mut vm, _) = listener.accept().await.expect("the connection comes");
        let mut all = Vec::new();
        vm.read_to_end(&mut all).await.expect("it ends");
        let (from_port, port) = (from.port(), address.port());
        let expected = if version == "v1" {
            format!(
                "PROXY TCP4 {} {} {from_port} {port}\r\n",
                from.ip(),
                address.ip()
            )
            .into_bytes()
        } else {
            let std::net::IpAddr::V4(to) = address.ip() else {
                unreachable!("the load balancer has an address of IPv4")
            };
            [
                &b"\r\n\r\n\0\r\nQUIT\n\x21\x11\0\x0c\x7f\0\0\x01"[..],
                &to.octets(),
                &from_port.to_be_bytes(),
                &port.to_be_bytes(),
            ]
            .concat()
        };
        assert_eq!(all, [&expected[..], b"hello"].concat(), "{version}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_signal_to_stop_lets_connections_end() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 1).await;
    let inventory = net.inventory(1, &[&web("round_robin", "vm-1")]);
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &[]);
    let address = cloud.address("web", 1).await;
    let mut open = TcpStream::connect(address).await.expect("it listens");
    ask_on(&mut open).await.expect("vm-1 responds");
    cloud.plane.terminate();
    let refused = eventually(async || ask(address).await.err()).await;
    assert!(
        refused.is_some(),
        "a stopping data plane accepts connections"
    );
    assert_eq!(
        ask_on(&mut open).await.expect("the connection goes on"),
        "vm-1"
    );
    drop(open);
    let begun = std::time::Instant::now();
    let (succeeded, log) = cloud.plane.wait();
    assert!(succeeded, "{log}");
    assert!(
        begun.elapsed() < Duration::from_secs(2),
        "it waits although all have ended"
    );
}
