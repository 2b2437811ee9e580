//! A data plane of load balancers with virtual machines that are tasks of the test, on loopback
//! addresses of its own.

mod vm;

use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use serde_json::Value;
use stratusd::world::World;

use super::caller::Caller;
use super::inventory::SHOP;
use super::process::Service;
use super::{Home, eventually};
pub use vm::{Vm, ask, ask_from, ask_on};

/// The port of all virtual machines.
pub const DST: u16 = 8080;
/// The port of load balancers.
pub const SRC: u16 = 8000;

/// The setting by which all load balancers have the loopback address of IPv6, also those of other tests.
pub const V6: [&str; 2] = ["--balance-addresses-v6", "::1/128"];

/// Two networks of 254 loopback addresses that no other test has: one of virtual machines, one of load
/// balancers.
#[derive(Debug, Clone, Copy)]
pub struct Net {
    b: u8,
    c: u8,
}

impl Net {
    pub fn random() -> Self {
        let [b, c] = World::real().random();
        // Not 127.0 and 127.1, which programs on this machine may use.
        Self {
            b: b.max(2),
            c: c & !1,
        }
    }

    /// Returns the address of a virtual machine, which are numbered from 1.
    pub fn vm(self, number: u8) -> Ipv4Addr {
        Ipv4Addr::new(127, self.b, self.c, number)
    }

    /// Returns the network of load balancers.
    pub fn pool(self) -> String {
        format!("127.{}.{}.0/24", self.b, self.c + 1)
    }

    /// Returns an inventory of virtual machines, and of load balancers in YAML, one per line.
    pub fn inventory(self, vms: u8, load_balancers: &[&str]) -> String {
        let vms = (1..=vms).map(|number| {
            let ip4 = self.vm(number);
            format!(
                "      - {{ name: vm-{number}, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: u, ip4: {ip4} }}\n"
            )
        });
        let balancers = if load_balancers.is_empty() { "[]" } else { "" };
        let listed = load_balancers.iter().map(|it| {
            format!(
                "      - {{ location: eu-central-h1, subnet: backend, dst_port: {DST}, {it} }}\n"
            )
        });
        format!(
            "locations: [{{ name: eu-central-h1 }}]\nprojects:\n  - name: shop\n    id: {SHOP}\n    \
             private_subnets: [{{ name: backend, location: eu-central-h1 }}]\n    vms:\n{}    load_balancers: {balancers}\n{}",
            vms.collect::<String>(),
            listed.collect::<String>(),
        )
    }
}

/// The service and the data plane on one database, with a caller of the shop.
pub struct Cloud {
    pub home: Home,
    pub service: Service,
    pub plane: Service,
    pub shop: Caller,
}

impl Cloud {
    /// Starts both with an inventory of virtual machines and load balancers.
    pub fn start(home: Home, net: Net, inventory: &str, settings: &[&str]) -> Self {
        home.apply(inventory);
        let service = home.serve(&["--simulate-delay", "0s", "--simulate-jitter", "0s"]);
        let plane = Self::plane(&home, net, settings);
        let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
        Self {
            home,
            service,
            plane,
            shop,
        }
    }

    /// Starts a data plane.
    pub fn plane(home: &Home, net: Net, settings: &[&str]) -> Service {
        let pool = net.pool();
        home.balance(&[&["--balance-addresses", &pool], settings].concat())
    }

    /// Returns what the operator's command prints about the load balancer with a name, or null.
    pub fn status(&self, name: &str) -> Value {
        let address = self.plane.management.replace("http://", "");
        let asked = self.home.run(&[
            "balancers",
            name,
            "--format",
            "json",
            "--balance-management-listen",
            &address,
        ]);
        let line = String::from_utf8(asked.stdout).expect("the program prints text");
        serde_json::from_str(line.lines().next().unwrap_or("null")).expect("a line is JSON")
    }

    /// Waits until the status of a load balancer satisfies a condition, and returns it.
    pub async fn wait_for(&self, name: &str, is_right: impl Fn(&Value) -> bool) -> Value {
        let right = eventually(async || Some(self.status(name)).filter(&is_right)).await;
        right.unwrap_or_else(|| panic!("{name} never is as it should be: {}", self.status(name)))
    }

    /// Waits until a number of virtual machines are up, and returns the IPv4 address of a load
    /// balancer.
    pub async fn address(&self, name: &str, up: usize) -> SocketAddr {
        let status = self
            .wait_for(name, |status| {
                states(status, "up").len() == up && is_listening(status)
            })
            .await;
        let address = status["listeners"][0]["address"].as_str();
        address
            .and_then(|address| address.parse().ok())
            .expect("it has an address")
    }

    /// Returns the body of a page of the management port, with its status.
    pub async fn management(&self, path: &str) -> (u16, String) {
        let response = reqwest::get(format!("{}{path}", self.plane.management)).await;
        let response = response.expect("the data plane responds");
        let status = response.status().as_u16();
        (status, response.text().await.expect("the body is text"))
    }

    /// Returns the id of a virtual machine.
    pub async fn vm_id(&self, number: u8) -> Value {
        let path = format!("/location/eu-central-h1/vm/vm-{number}");
        self.shop.get(&path).await.ok()["id"].clone()
    }

    /// Calls an action on a load balancer for a virtual machine: `attach-vm` or `detach-vm`.
    pub async fn act(&self, name: &str, action: &str, vm: &Value) {
        let path = format!("/location/eu-central-h1/load-balancer/{name}/{action}");
        let body = serde_json::json!({ "vm_id": vm });
        self.shop.post(&path, body).await.ok();
    }

    /// Changes properties of a load balancer, and leaves the others as they are.
    pub async fn patch(&self, name: &str, changes: Value) {
        let path = format!("/location/eu-central-h1/load-balancer/{name}");
        let now = self.shop.get(&path).await.ok();
        let vms: Vec<&Value> = now["vms"]
            .as_array()
            .into_iter()
            .flatten()
            .map(|vm| &vm["id"])
            .collect();
        let mut body = serde_json::json!({
            "algorithm": now["algorithm"], "src_port": now["src_port"], "dst_port": now["dst_port"],
            "health_check_endpoint": now["health_check_endpoint"], "vms": vms,
        });
        for (key, value) in changes.as_object().into_iter().flatten() {
            body[key] = value.clone();
        }
        self.shop.patch(&path, body).await.ok();
    }
}

/// Returns the names of the virtual machines in a state.
pub fn states(status: &Value, state: &str) -> Vec<String> {
    let vms = status["vms"].as_array().into_iter().flatten();
    vms.filter(|vm| vm["state"] == state)
        .filter_map(|vm| vm["name"].as_str().map(str::to_owned))
        .collect()
}

/// Returns whether a load balancer listens on an address of IPv4.
pub fn is_listening(status: &Value) -> bool {
    status["listeners"][0]["problem"].is_null() && !status["listeners"][0].is_null()
}

/// Waits for as long as a change in the API may take until it is in force.
pub async fn a_second() {
    tokio::time::sleep(Duration::from_secs(1)).await;
}
