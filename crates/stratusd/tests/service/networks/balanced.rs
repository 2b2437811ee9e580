//! Load balancers before virtual machines that are namespaces.

use serde_json::{Value, json};

use super::{Cloud, LabVms, PLACE, vm};
use crate::support::balancing::states;
use crate::support::inventory::SHOP;
use crate::support::lab::Lab;
use crate::support::process::Service;
use crate::support::{Home, eventually};

/// A load balancer as the data plane on the machine of a test sees it.
fn seen(lab: &Lab, plane: &Service) -> Value {
    let response = lab.management(plane, "/load-balancers");
    let body = response.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let all: Value = serde_json::from_str(body).unwrap_or_default();
    all[0].clone()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_load_balancer_of_the_api_reaches_virtual_machines_behind_closed_firewalls() {
    let vms: String = [("web-1", 31), ("web-2", 32), ("other", 33)]
        .map(|(name, host)| vm(name, &format!(", ip4: 203.0.113.{host}")))
        .concat();
    let inventory = format!(
        "locations: [{{ name: eu-central-h1 }}]\nprojects:\n  - name: shop\n    id: {SHOP}\n    vms:\n{vms}    \
         private_subnets:\n      - {{ name: inner, location: eu-central-h1, nics: [{{ name: a, vm: web-1 }}] }}\n"
    );
    let Some(cloud) = Cloud::start(Home::sqlite(), &inventory) else {
        return;
    };
    let plane = cloud.lab.balance(&cloud.home, &[]);
    let status = cloud.settled(3).await;
    let vms = LabVms(&status);
    // A subnet without a firewall is closed, and so is a virtual machine in no subnet.
    for host in [31, 32] {
        assert!(
            cloud.lab.ask(&format!("203.0.113.{host}:8080")).is_err(),
            "{host}"
        );
    }
    let subnet = cloud.subnet("inner").await;
    let balancer = "/load-balancer/web";
    let body = json!({
        "algorithm": "round_robin", "src_port": 8000, "dst_port": 8080, "health_check_protocol": "http",
        "private_subnet_id": subnet, "stack": "ipv4",
    });
    cloud.post(balancer, body).await;
    for name in ["web-1", "web-2"] {
        let id = vms.first(name, SHOP).namespace;
        let id = id.split_once('-').expect("it has a prefix").1;
        cloud
            .post(&format!("{balancer}/attach-vm"), json!({ "vm_id": id }))
            .await;
    }
    let up = eventually(async || {
        let seen = seen(&cloud.lab, &plane);
        (states(&seen, "up").len() == 2).then_some(seen)
    });
    let up = up
        .await
        .unwrap_or_else(|| panic!("the machines are not up: {}", seen(&cloud.lab, &plane)));
    let address = up["listeners"][0]["address"]
        .as_str()
        .expect("it listens")
        .to_owned();
    let mut names: Vec<String> = (0..4)
        .map(|_| cloud.lab.ask(&address).expect("one responds"))
        .collect();
    names.sort();
    assert_eq!(names, ["web-1", "web-1", "web-2", "web-2"]);
    // Only the port that it forwards to.
    assert!(
        cloud.lab.ask("203.0.113.31:80").is_err(),
        "another port is open"
    );
    let other = vms.first("other", SHOP);
    assert!(
        !other.reaches("203.0.113.31:8080"),
        "a virtual machine passes as a load balancer"
    );

    // Stopped and detached machines are cut off.
    let id = vms.first("web-2", SHOP).namespace;
    let id = id.split_once('-').expect("it has a prefix").1;
    cloud
        .post(&format!("{balancer}/detach-vm"), json!({ "vm_id": id }))
        .await;
    let closed = eventually(async || cloud.lab.ask("203.0.113.32:8080").err()).await;
    assert!(closed.is_some(), "a detached machine is open");
    assert_eq!(
        cloud.lab.ask(&address).expect("the other one responds"),
        "web-1"
    );
    assert_eq!(
        cloud
            .shop
            .delete(&format!("{PLACE}{balancer}"))
            .await
            .status,
        204
    );
    let closed = eventually(async || cloud.lab.ask("203.0.113.31:8080").err()).await;
    assert!(
        closed.is_some(),
        "a machine without a load balancer is open"
    );
}
