//! The addresses of load balancers.

use super::web;
use crate::support::balancing::{Cloud, Net, SRC, V6, Vm, ask, is_listening, states};
use crate::support::caller::Caller;
use crate::support::inventory::SHOP;
use crate::support::{Home, eventually};
use stratusd::world::World;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_stack_decides_on_which_addresses_a_load_balancer_listens() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 3).await;
    // All load balancers share the address of IPv6, also with other tests that run now.
    let [high, low] = World::real().random();
    let port = 20_000 + u16::from_be_bytes([high, low]) % 10_000;
    let of = |name: &str, stack: &str, vm: &str, port: u16| {
        format!(
            "name: {name}, src_port: {port}, health_check_endpoint: /up, stack: {stack}, vms: [{vm}]"
        )
    };
    let inventory = net.inventory(
        3,
        &[
            &of("old", "ipv4", "vm-1", port),
            &of("new", "ipv6", "vm-2", port),
            &of("both", "dual", "vm-3", port + 1),
        ],
    );
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &V6);
    for (name, vm, count, port) in [
        ("old", "vm-1", 1, port),
        ("new", "vm-2", 1, port),
        ("both", "vm-3", 2, port + 1),
    ] {
        let status = cloud
            .wait_for(name, |status| {
                is_listening(status) && states(status, "up").len() == 1
            })
            .await;
        let listeners = status["listeners"].as_array().cloned().unwrap_or_default();
        assert_eq!(listeners.len(), count, "{status}");
        for listener in listeners {
            let address = listener["address"].as_str().unwrap_or_default();
            let address = address.parse().expect("it is an address");
            assert_eq!(ask(address).await.expect("it listens"), vm);
            assert_eq!(
                address.is_ipv6(),
                name == "new" || address.ip().to_string() == "::1"
            );
            assert_eq!(address.port(), port);
        }
    }
}

/// As in a container, which has one address.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_network_may_be_all_addresses_of_the_machine() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 1).await;
    let [high, low] = World::real().random();
    let port = 10_000 + u16::from_be_bytes([high, low]) % 10_000;
    let all = format!(
        "name: all, src_port: {port}, health_check_endpoint: /up, stack: dual, vms: [vm-1]"
    );
    let home = Home::sqlite();
    home.apply(&net.inventory(1, &[&all]));
    let service = home.serve(&[]);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let plane = home.balance(&[
        "--balance-addresses",
        "0.0.0.0/32",
        "--balance-addresses-v6",
        "::/128",
    ]);
    let cloud = Cloud {
        home,
        service,
        plane,
        shop,
    };
    let listens = |status: &serde_json::Value| {
        let listeners = status["listeners"].as_array().into_iter().flatten();
        let open = listeners.filter(|listener| listener["problem"].is_null());
        open.count() == 2 && states(status, "up").len() == 1
    };
    cloud.wait_for("all", listens).await;
    for address in [format!("127.0.0.1:{port}"), format!("[::1]:{port}")] {
        let address = address.parse().expect("it is an address");
        assert_eq!(ask(address).await.expect("it listens"), "vm-1");
    }
}

/// `localhost` may be `::1`, so a load balancer there could take what is meant for another program of the
/// machine.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_a_network_of_ipv6_load_balancers_do_not_listen_on_it() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 1).await;
    let of = |name: &str, stack: &str, vms: &str| {
        format!(
            "name: {name}, src_port: {SRC}, health_check_endpoint: /up, stack: {stack}, vms: [{vms}]"
        )
    };
    let inventory = net.inventory(1, &[&of("both", "dual", "vm-1"), &of("new", "ipv6", "")]);
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &[]);
    let address = cloud.address("both", 1).await;
    assert_eq!(ask(address).await.expect("it listens"), "vm-1");
    let both = cloud.status("both");
    let listeners = both["listeners"].as_array().map(Vec::len);
    assert_eq!(listeners, Some(1), "{both}");
    let new = cloud
        .wait_for("new", |status| !status["listeners"][0]["problem"].is_null())
        .await;
    let problem = new["listeners"][0]["problem"].as_str().unwrap_or_default();
    assert!(problem.contains("set balance_addresses_v6"), "{problem}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_load_balancer_that_cannot_listen_says_why_and_stops_no_other() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 1).await;
    let [high, low] = World::real().random();
    let port = 30_000 + u16::from_be_bytes([high, low]) % 2_000;
    let taken = std::net::TcpListener::bind(("::1", port)).expect("the port is free");
    let blocked =
        format!("name: blocked, src_port: {port}, health_check_endpoint: /up, stack: dual");
    let inventory = net.inventory(1, &[&web("round_robin", "vm-1"), &blocked]);
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &V6);
    let address = cloud.address("web", 1).await;
    assert_eq!(ask(address).await.expect("the other one listens"), "vm-1");
    let status = cloud
        .wait_for("blocked", |status| {
            !status["listeners"][1]["problem"].is_null()
        })
        .await;
    let problem = status["listeners"][1]["problem"]
        .as_str()
        .unwrap_or_default();
    assert!(
        problem.contains("another program or load balancer"),
        "{problem}"
    );
    assert!(is_listening(&status), "{status}");
    let text = cloud.home.succeed(&[
        "balancers",
        "--balance-management-listen",
        &cloud.plane.management.replace("http://", ""),
    ]);
    assert!(
        text.contains(&format!("  does not listen on [::1]:{port}: ")),
        "{text}"
    );
    assert!(text.contains(&format!("  listens on {address}")), "{text}");
    assert!(text.contains("  up         vm-1 ("), "{text}");
    drop(taken);
    cloud
        .wait_for("blocked", |status| {
            status["listeners"][1]["problem"].is_null()
        })
        .await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn load_balancers_keep_their_addresses_over_a_restart() {
    let net = Net::random();
    // As many as the network has, so that many get another address than the derived one.
    let many: Vec<String> = (0..254)
        .map(|number| {
            format!("name: b-{number}, src_port: {SRC}, health_check_endpoint: /up, stack: ipv4")
        })
        .collect();
    let inventory = net.inventory(1, &many.iter().map(String::as_str).collect::<Vec<_>>());
    let mut cloud = Cloud::start(Home::sqlite(), net, &inventory, &[]);
    let listed = |cloud: &Cloud| {
        let address = cloud.plane.management.replace("http://", "");
        let text = cloud
            .home
            .succeed(&["balancers", "--balance-management-listen", &address]);
        let mut lines: Vec<String> = text.lines().map(str::to_owned).collect();
        lines.retain(|line| line.starts_with("  listens on "));
        lines
    };
    let all = eventually(async || Some(listed(&cloud)).filter(|all| all.len() == 254));
    let mut before = all.await.expect("all listen");
    // One that is gone frees its address, and moves no other.
    let path = "/location/eu-central-h1/load-balancer/b-0";
    let gone = cloud.status("b-0")["listeners"][0]["address"].clone();
    let deleted = cloud
        .shop
        .try_call(reqwest::Method::DELETE, path, None)
        .await;
    assert_eq!(deleted.expect("the service responds").status, 204);
    cloud.wait_for("b-0", serde_json::Value::is_null).await;
    let gone = format!("  listens on {}", gone.as_str().unwrap_or_default());
    before.retain(|line| *line != gone);
    // A network of IPv6 that comes or goes moves none either.
    for settings in [&[][..], &V6, &[]] {
        cloud.plane.kill();
        cloud.plane = Cloud::plane(&cloud.home, net, settings);
        let again = eventually(async || Some(listed(&cloud)).filter(|all| all.len() == 253));
        again.await.expect("all listen again");
        assert_eq!(listed(&cloud), before);
    }
    assert_eq!(
        before
            .iter()
            .collect::<std::collections::BTreeSet<_>>()
            .len(),
        253
    );
}

#[test]
fn without_a_data_plane_the_command_says_what_to_do() {
    let home = Home::sqlite();
    let said = home.fail(&["balancers", "--balance-management-listen", "127.0.0.1:1"]);
    assert!(said.contains("start `stratusd balance`"), "{said}");
    std::fs::write(home.path().join("balance.json"), "[]").expect("the folder is writable");
    let said = home.fail(&["balance", "--balance-management-listen", "127.0.0.1:0"]);
    assert!(
        said.contains("does not hold the addresses of load balancers: move it away"),
        "{said}"
    );
    for (flag, wrong) in [
        ("--balance-addresses", "must be a network of IPv4"),
        ("--balance-addresses-v6", "must be a network of IPv6"),
    ] {
        let other = if flag == "--balance-addresses" {
            "::1/128"
        } else {
            "127.1.0.0/16"
        };
        let said = home.fail(&["balance", flag, other]);
        assert!(said.contains(wrong), "{said}");
        let said = home.fail(&["balance", flag, "127.1.2.3/16"]);
        assert!(said.contains("first address of the network"), "{said}");
    }
    let said = home.fail(&[
        "balance",
        "--balance-connections-project",
        "5",
        "--balance-connections-each",
        "6",
    ]);
    let words = "balance_connections_each has no effect above balance_connections_project";
    assert!(said.contains(words), "{said}");
}
