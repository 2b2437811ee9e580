//! Firewalls of a private subnet decide who may connect to its load balancers.

use std::io::ErrorKind;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};

use serde_json::{Value, json};

use super::web;
use crate::on_both;
use crate::support::balancing::{Cloud, Net, SRC, Vm, a_second, ask_from, ask_on};
use crate::support::{Home, eventually};

const PLACE: &str = "/location/eu-central-h1";
const OFFICE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 200, 1, 1));
const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 200, 2, 1));

/// Calls an action of the API for the location.
pub async fn post(cloud: &Cloud, path: &str, body: Value) -> Value {
    cloud.shop.post(&format!("{PLACE}{path}"), body).await.ok()
}

/// Waits until a caller is let in, or is not.
async fn comes_to(caller: IpAddr, web: SocketAddr, is_let_in: bool) {
    let right =
        eventually(async || (ask_from(caller, web).await.is_ok() == is_let_in).then_some(()));
    assert!(
        right.await.is_some(),
        "{caller} is never let in: {is_let_in}"
    );
}

on_both! {
    async fn firewalls_decide_who_may_connect(home: Home) {
        let net = Net::random();
        let _vms = Vm::start_all(net, 1).await;
        let cloud = Cloud::start(home, net, &net.inventory(1, &[&web("round_robin", "vm-1")]), &[]);
        let web = cloud.address("web", 1).await;
        // A subnet without a firewall refuses nobody.
        assert_eq!(ask_from(OFFICE, web).await.expect("nobody is refused"), "vm-1");
        let subnet = cloud.shop.get(&format!("{PLACE}/private-subnet/backend")).await.ok()["id"].clone();
        post(&cloud, "/firewall/offices", json!({})).await;
        let attach = json!({ "private_subnet_id": subnet });
        post(&cloud, "/firewall/offices/attach-subnet", attach.clone()).await;
        comes_to(OFFICE, web, false).await;
        // Another port, another protocol and another network.
        let rules = "/firewall/offices/firewall-rule";
        for rule in [
            json!({ "cidr": "127.200.1.0/24", "port_range": "8080" }),
            json!({ "cidr": "127.200.1.0/24", "port_range": SRC.to_string(), "protocol": "udp" }),
            json!({ "cidr": "127.200.3.0/24" }),
            json!({ "cidr": "::/0" }),
        ] {
            post(&cloud, rules, rule).await;
        }
        a_second().await;
        let refused = ask_from(OFFICE, web).await.expect_err("no rule is for it");
        assert!(matches!(refused.kind(), ErrorKind::ConnectionReset | ErrorKind::BrokenPipe | ErrorKind::UnexpectedEof), "{refused}");
        let rule = post(&cloud, rules, json!({ "cidr": "127.200.1.0/24", "port_range": "8000..8010" })).await;
        comes_to(OFFICE, web, true).await;
        assert!(ask_from(OTHER, web).await.is_err(), "the rule is not for this caller");

        // Who is connected stays so.
        let socket = tokio::net::TcpSocket::new_v4().expect("it is made");
        socket.bind((OFFICE, 0).into()).expect("the address is there");
        let mut open = socket.connect(web).await.expect("it is let in");
        assert_eq!(ask_on(&mut open).await.expect("it is let in"), "vm-1");
        let id = rule["id"].as_str().expect("it has an id");
        assert_eq!(cloud.shop.delete(&format!("{PLACE}{rules}/{id}")).await.status, 204);
        comes_to(OFFICE, web, false).await;
        assert_eq!(ask_on(&mut open).await.expect("it goes on"), "vm-1");
        let metrics = cloud.management("/metrics").await.1;
        let counted = metrics.lines().find(|line| line.contains("refused_total") && line.contains("reason=\"firewall\""));
        assert!(counted.is_some_and(|line| !line.ends_with(" 0")), "{counted:?}");
        // Health checks come from the data plane itself, and go on.
        assert_eq!(cloud.status("web")["vms"][0]["state"], "up");

        // A second firewall allows what the first does not; without both, nobody is refused.
        post(&cloud, "/firewall/everybody", json!({})).await;
        post(&cloud, "/firewall/everybody/firewall-rule", json!({ "cidr": "0.0.0.0/0" })).await;
        post(&cloud, "/firewall/everybody/attach-subnet", attach).await;
        comes_to(OTHER, web, true).await;
        assert_eq!(cloud.shop.delete(&format!("{PLACE}/firewall/everybody")).await.status, 204);
        comes_to(OTHER, web, false).await;
        assert_eq!(cloud.shop.delete(&format!("{PLACE}/firewall/offices")).await.status, 204);
        comes_to(OTHER, web, true).await;
    }
}
