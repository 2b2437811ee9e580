//! Networks made of namespaces: virtual machines, private subnets that are connected or not, and what
//! firewalls let through, with real connections in namespaces of the test's own.

mod balanced;
mod firewalls;
mod kills;
mod ownership;

use std::process::Command;

use serde_json::{Value, json};

use crate::on_both;
use crate::support::caller::Caller;
use crate::support::inventory::{RIVAL, SHOP};
use crate::support::lab::{Lab, LabVm, connect, request};
use crate::support::process::Service;
use crate::support::{Home, eventually};

const PLACE: &str = "/location/eu-central-h1";

/// A service with its networks on a machine of its own.
struct Cloud {
    home: Home,
    shop: Caller,
    network: Service,
    service: Service,
    /// Dropped last, since what runs on it must have ended.
    lab: Lab,
}

impl Cloud {
    /// Starts both with an inventory. Returns `None` if the tests run without namespaces.
    fn start(home: Home, inventory: &str) -> Option<Self> {
        let mut lab = Lab::new()?;
        lab.let_reach(&home);
        home.apply(inventory);
        let service = home.serve(&["--simulate-delay", "0s", "--simulate-jitter", "0s"]);
        let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        let network = lab.network(&home, &[]);
        Some(Self {
            home,
            shop,
            network,
            service,
            lab,
        })
    }

    async fn settled(&self, vms: usize) -> Value {
        self.lab.settled(&self.network, vms).await
    }

    /// Calls an action of the API for the location.
    async fn post(&self, path: &str, body: Value) -> Value {
        self.shop.post(&format!("{PLACE}{path}"), body).await.ok()
    }

    /// Returns the id of a private subnet.
    async fn subnet(&self, name: &str) -> Value {
        let path = format!("{PLACE}/private-subnet/{name}");
        self.shop.get(&path).await.ok()["id"].clone()
    }
}

/// A virtual machine of an inventory, with further properties.
fn vm(name: &str, more: &str) -> String {
    format!(
        "      - {{ name: {name}, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: u{more} }}\n"
    )
}

/// Two virtual machines in each of two subnets, of which one lets everybody in at port 80, and the other
/// nobody, and as much in a second project, with the same addresses.
fn two_projects() -> String {
    let project = |name: &str, id: &str, host: u8| {
        format!(
            "  - name: {name}\n    id: {id}\n    vms:\n{}{}{}{}    firewalls:\n      - name: open\n        location: \
             eu-central-h1\n        rules: [{{ cidr: 0.0.0.0/0, port_range: \"80\" }}, {{ cidr: \"::/0\", port_range: \
             \"80\" }}]\n      - {{ name: closed, location: eu-central-h1 }}\n    private_subnets:\n      - {{ name: \
             front, location: eu-central-h1, net4: 10.1.1.0/26, net6: \"fd11::/64\", firewalls: [open], nics: [{{ name: \
             a, vm: front-1 }}, {{ name: b, vm: front-2 }}] }}\n      - {{ name: back, location: eu-central-h1, net4: \
             10.1.2.0/26, net6: \"fd12::/64\", firewalls: [closed], nics: [{{ name: a, vm: back-1 }}, {{ name: b, vm: \
             back-2 }}] }}\n",
            vm(
                "front-1",
                &format!(", ip4: 203.0.113.{host}, ip6: \"2001:db8::{host}\"")
            ),
            vm("front-2", ""),
            vm("back-1", ""),
            vm("back-2", ""),
        )
    };
    format!(
        "locations: [{{ name: eu-central-h1 }}]\nprojects:\n{}{}",
        project("shop", SHOP, 21),
        project("rival", RIVAL, 22)
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_demo_is_made_as_it_stands() {
    let Some(mut lab) = Lab::new() else {
        return;
    };
    let home = Home::sqlite();
    lab.let_reach(&home);
    home.apply(include_str!("../../demo.yaml"));
    let network = lab.network(&home, &[]);
    // All but `batch-1`, which waits for capacity.
    let status = lab.settled(&network, 5).await;
    let [hello, app] = ["hello-1", "app-1"].map(|name| LabVms(&status).first(name, SHOP));
    let [hello_2, app_2] = ["hello-2", "app-2"].map(|name| LabVms(&status).first(name, SHOP));
    let ask = |from: &LabVm, to: &LabVm| from.ask(&format!("{}:8080", to.private[0])).ok();
    assert_eq!(ask(&hello, &hello_2).as_deref(), Some("hello-2"));
    assert_eq!(ask(&app, &app_2).as_deref(), Some("app-2"));
    assert_eq!(
        lab.ask("203.0.113.21:80")
            .expect("its firewall lets the web in"),
        "app-1"
    );
    // The machine's own, where `cargo xtask serve` has servers.
    assert_eq!(hello.public, Vec::<String>::new());
    let ready = lab.management(&network, "/readyz");
    assert!(
        ready.starts_with("HTTP/1.1 200") || ready.starts_with("HTTP/1.0 200"),
        "{ready}"
    );
}

on_both! {
    async fn subnets_reach_each_other_only_while_they_are_connected(home: Home) {
        let Some(cloud) = Cloud::start(home, &two_projects()) else {
            return;
        };
        let status = cloud.settled(8).await;
        let [front, front_2, back, back_2] = ["front-1", "front-2", "back-1", "back-2"]
            .map(|name| LabVms(&status).first(name, SHOP));
        // Within a subnet nothing is filtered, and each project has its own machine at an address.
        assert_eq!(back.ask(&format!("{}:8080", back_2.ip4())).expect("it is its neighbour"), "back-2");
        let [_, back_6] = &back_2.private[..] else {
            panic!("it has two addresses: {back_2:?}");
        };
        assert_eq!(back.ask(&format!("[{back_6}]:8080")).expect("it is its neighbour"), "back-2");
        for (version, router) in [("-4", "10.1.2.1"), ("-6", "fd12::1")] {
            let shown = back.inside(|| Command::new("ip").args([version, "route", "show", "default"]).output());
            let shown = String::from_utf8(shown.expect("`ip` is installed").stdout).expect("it is UTF-8");
            assert!(shown.contains(&format!("via {router} ")), "{shown}");
        }
        // Between subnets nothing passes, though the firewall of one is open.
        let to_front = format!("{}:80", front_2.ip4());
        assert!(!back.reaches(&to_front));
        assert!(!front.reaches(&format!("{}:80", back.ip4())));

        let (ids, path) = ([cloud.subnet("front").await, cloud.subnet("back").await], "/private-subnet/back/connect");
        cloud.post(path, json!({ "connected-subnet-id": ids[0] })).await;
        back.comes_to_reach(&to_front).await;
        let [_, front_6] = &front_2.private[..] else {
            panic!("it has two addresses: {front_2:?}");
        };
        assert_eq!(back.ask(&format!("[{front_6}]:80")).expect("they are connected"), "front-2");
        // A connected subnet is outside still, so firewalls decide.
        assert!(!back.reaches(&format!("{}:8080", front_2.ip4())), "port 8080 of the open subnet is closed");
        assert!(!front.reaches(&format!("{}:80", back.ip4())), "the closed subnet lets somebody in");

        // A connection that is open is cut off with the subnets.
        let mut open = back.inside(|| connect(&to_front)).expect("they are connected");
        let id = ids[0].as_str().expect("it is a text");
        cloud.shop.post_nothing(&format!("{PLACE}/private-subnet/back/disconnect/{id}")).await.ok();
        back.comes_not_to_reach(&to_front).await;
        // The server may have closed it meanwhile.
        let response = request(&mut open, "/").unwrap_or_default();
        assert_eq!(response, "", "an open connection goes on between disconnected subnets");
        assert!(!front.reaches(&format!("{}:80", back.ip4())));
        assert!(back.reaches(&format!("{}:8080", back_2.ip4())), "the neighbour is gone too");

        let (removed, words) = cloud.lab.remove(&cloud.home);
        assert!(!removed && words.contains("runs on this machine"), "{words}");
    }

    async fn virtual_machines_come_and_go_with_the_inventory(home: Home) {
        let Some(cloud) = Cloud::start(home, &two_projects()) else {
            return;
        };
        let before = cloud.settled(8).await;
        let address = "203.0.113.21:80";
        assert_eq!(cloud.lab.ask(address).expect("the firewall is open"), "front-1");
        assert_eq!(cloud.lab.ask("[2001:db8::21]:80").expect("the firewall is open"), "front-1");
        assert_eq!(cloud.lab.ask("203.0.113.22:80").expect("the firewall is open"), "front-1");
        let front = LabVms(&before).first("front-1", SHOP);
        let rival = LabVms(&before).first("front-1", RIVAL);
        // Nothing leads from a virtual machine to the machine itself, but to public addresses of others.
        let listener = cloud.lab.on_machine(|| std::net::TcpListener::bind("0.0.0.0:7000"));
        let _listener = listener.expect("the port is free");
        let host = cloud.lab.run("ip", &["-4", "-o", "address", "show", "dev", &cloud.lab.prefix]);
        let host = host.split_whitespace().nth(3).and_then(|it| it.split('/').next()).expect("it has one").to_owned();
        assert!(cloud.lab.on_machine(|| connect(&format!("{host}:7000"))).is_ok());
        assert!(front.inside(|| connect(&format!("{host}:7000"))).is_err(), "the machine is reached");
        assert_eq!(front.ask("203.0.113.22:80").expect("its firewall is open"), "front-1");
        assert!(rival.reaches(address));

        // One stops, one gets another address, one is gone.
        let changed = two_projects()
            .replacen(&vm("back-1", ""), &vm("back-1", ", state: stopped"), 1)
            .replacen("203.0.113.21", "203.0.113.23", 1);
        cloud.home.apply(&changed);
        let moved = eventually(async || cloud.lab.ask("203.0.113.23:80").ok()).await;
        assert_eq!(moved.as_deref(), Some("front-1"));
        let status = cloud.settled(7).await;
        assert!(cloud.lab.ask(address).is_err(), "the address before still leads there");
        assert_eq!(cloud.lab.namespaces().len(), 7 + 2 + 1, "{:?}", cloud.lab.namespaces());
        assert!(LabVms(&status).all("back-1").len() == 1, "the stopped one is still there: {status}");
        let ready = cloud.lab.management(&cloud.network, "/readyz");
        assert!(ready.starts_with("HTTP/1.0 200"), "{ready}");
        let metrics = cloud.lab.management(&cloud.network, "/metrics");
        assert!(metrics.contains("stratus_network_vms_up 7\n"), "{metrics}");

        cloud.home.apply("locations: [{ name: eu-central-h1 }]\nprojects: []\n");
        assert_eq!(cloud.lab.namespaces().len(), 10, "what is not pruned stays");
        cloud.home.succeed(&["apply", "--prune", "inventory.yaml"]);
        let empty = eventually(async || (cloud.lab.namespaces().len() == 1).then_some(())).await;
        assert!(empty.is_some(), "namespaces are left: {:?}", cloud.lab.namespaces());
    }
}

/// The virtual machines of a status.
struct LabVms<'s>(&'s Value);

impl LabVms<'_> {
    fn all(&self, name: &str) -> Vec<&Value> {
        let vms = self.0["vms"].as_array().into_iter().flatten();
        vms.filter(|vm| vm["name"] == name).collect()
    }

    fn first(&self, name: &str, project: &str) -> crate::support::lab::LabVm {
        let found = self
            .all(name)
            .into_iter()
            .find(|vm| vm["project"] == project);
        crate::support::lab::LabVm::of(found.expect("it is listed"))
    }
}
