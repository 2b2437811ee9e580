//! What firewalls let through.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, UdpSocket};
use std::time::{Duration, Instant};

use serde_json::json;

use super::{Cloud, LabVms, PLACE, two_projects};
use crate::on_both;
use crate::support::Home;
use crate::support::inventory::{RIVAL, SHOP};
use crate::support::lab::connect;

on_both! {
    async fn a_rule_is_in_force_within_a_second(home: Home) {
        let Some(cloud) = Cloud::start(home, &two_projects()) else {
            return;
        };
        let status = cloud.settled(8).await;
        let (shop, rival) = (LabVms(&status).first("front-1", SHOP), LabVms(&status).first("front-1", RIVAL));
        let address = format!("{}:8080", shop.public[0]);
        assert!(!rival.reaches(&address), "the port is closed");
        let rules = "/firewall/open/firewall-rule";
        // Another network, and another protocol, open nothing.
        cloud.post(rules, json!({ "cidr": "203.0.113.23/32", "port_range": "8080" })).await;
        cloud.post(rules, json!({ "cidr": "0.0.0.0/0", "port_range": "8080", "protocol": "udp" })).await;
        cloud.post(rules, json!({ "cidr": "0.0.0.0/0", "port_range": "8081..9000" })).await;
        tokio::time::sleep(Duration::from_secs(2)).await;
        assert!(!rival.reaches(&address), "a rule for others opens the port");
        let rule = cloud.post(rules, json!({ "cidr": "203.0.113.22/32", "port_range": "8000..8080" })).await;
        rival.comes_to_reach(&address).await;
        assert_eq!(rival.ask(&address).expect("the rule is in force"), "front-1");
        assert!(cloud.lab.ask(&address).is_err(), "the rule is not for this caller");

        // Not to the server of the demo, which closes what says nothing.
        let listener = shop.inside(|| TcpListener::bind("0.0.0.0:8079")).expect("the port is free");
        let mut open = rival.inside(|| connect(&format!("{}:8079", shop.public[0]))).expect("the rule is in force");
        let (mut other_end, _) = listener.accept().expect("it arrives");
        other_end.set_read_timeout(Some(Duration::from_secs(10))).expect("it can be set");
        let id = rule["id"].as_str().expect("it has an id");
        assert_eq!(cloud.shop.delete(&format!("{PLACE}{rules}/{id}")).await.status, 204);
        rival.comes_not_to_reach(&address).await;
        // What was open goes on.
        open.write_all(b"hello").expect("the connection is open");
        let mut received = [0; 5];
        other_end.read_exact(&mut received).expect("the connection is open");
        assert_eq!(&received, b"hello");

        // By UDP, where a caller that is refused does not wait.
        let server = shop.inside(|| UdpSocket::bind("0.0.0.0:9100")).expect("the port is free");
        server.set_read_timeout(Some(Duration::from_millis(10))).expect("it can be set");
        let client = rival.inside(|| UdpSocket::bind("0.0.0.0:0")).expect("there is a port");
        let arrives = || {
            // A router that drops it does not say so.
            let _ = client.send_to(b"hello", format!("{}:9100", shop.public[0]));
            server.recv_from(&mut [0; 16]).is_ok()
        };
        assert!(!arrives(), "no rule is for this port");
        cloud.post(rules, json!({ "cidr": "203.0.113.22/32", "port_range": "9100", "protocol": "udp" })).await;
        let begun = Instant::now();
        while !arrives() {
            assert!(begun.elapsed() < Duration::from_secs(1), "the rule is not in force");
        }
        eprintln!("from the response to the first packet: {:?}", begun.elapsed());
        let server = shop.inside(|| UdpSocket::bind("0.0.0.0:8080")).expect("the port is free");
        server.set_read_timeout(Some(Duration::from_secs(5))).expect("it can be set");
        let client = rival.inside(|| UdpSocket::bind("0.0.0.0:0")).expect("there is a port");
        client.send_to(b"hello", &address).expect("it is sent");
        let (count, _) = server.recv_from(&mut [0; 16]).expect("the rule is in force");
        assert_eq!(count, 5);

        // A detached firewall lets nobody in, and another one that is attached does.
        let front = cloud.subnet("front").await;
        let web = format!("{}:80", shop.public[0]);
        assert!(rival.reaches(&web));
        cloud.post("/firewall/open/detach-subnet", json!({ "private_subnet_id": front })).await;
        rival.comes_not_to_reach(&web).await;
        cloud.post("/firewall/closed/attach-subnet", json!({ "private_subnet_id": front })).await;
        cloud.post("/firewall/closed/firewall-rule", json!({ "cidr": "203.0.113.0/24", "port_range": "80" })).await;
        rival.comes_to_reach(&web).await;
        assert_eq!(cloud.shop.delete(&format!("{PLACE}/firewall/closed")).await.status, 204);
        rival.comes_not_to_reach(&web).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn nobody_pretends_to_be_somebody_else() {
    let Some(cloud) = Cloud::start(Home::sqlite(), &two_projects()) else {
        return;
    };
    let status = cloud.settled(8).await;
    let (shop, rival) = (
        LabVms(&status).first("front-1", SHOP),
        LabVms(&status).first("front-1", RIVAL),
    );
    let server = shop
        .inside(|| UdpSocket::bind("0.0.0.0:8080"))
        .expect("the port is free");
    server
        .set_read_timeout(Some(Duration::from_secs(2)))
        .expect("it can be set");
    let rules = "/firewall/open/firewall-rule";
    cloud
        .post(
            rules,
            json!({ "cidr": "198.51.100.9/32", "port_range": "8080", "protocol": "udp" }),
        )
        .await;
    cloud
        .post(
            rules,
            json!({ "cidr": "203.0.113.22/32", "port_range": "8080", "protocol": "udp" }),
        )
        .await;
    let address = format!("{}:8080", shop.public[0]);
    let send = |from: &str| {
        let socket = rival
            .inside(|| UdpSocket::bind(from))
            .expect("the address is its own");
        // A router that drops it does not say so.
        let _ = socket.send_to(from.as_bytes(), &address);
    };
    // The right one arrives, so the way is open.
    let mut buffer = [0; 64];
    let arrived = crate::support::eventually(async || {
        send("203.0.113.22:0");
        server.recv_from(&mut [0; 64]).ok()
    });
    assert!(arrived.await.is_some());
    let name = ["address", "add", "198.51.100.9/32", "dev", "n0"];
    let in_rival = ["-n", &rival.namespace].into_iter().chain(name);
    cloud.lab.run("ip", &in_rival.collect::<Vec<_>>());
    send("198.51.100.9:0");
    while let Ok((count, _)) = server.recv_from(&mut buffer) {
        let from = String::from_utf8_lossy(&buffer[..count]);
        assert_ne!(from, "198.51.100.9:0", "a foreign address passes");
    }
}
