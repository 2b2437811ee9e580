//! The load balancers of one project never wait for all firewall rules of another.

use std::net::{IpAddr, Ipv4Addr};

use serde_json::{Value, json};

use crate::on_both;
use crate::support::balancing::{Cloud, DST, Net, SRC, Vm, ask_from};
use crate::support::caller::Caller;
use crate::support::inventory::{RIVAL, SHOP};
use crate::support::{Home, eventually};

const PLACE: &str = "/location/eu-central-h1";
const CALLER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 200, 1, 1));

/// The load balancers of the large project, each in a private subnet of its own.
const LOAD_BALANCERS: usize = 250;
/// The firewalls of the large project, all of which each subnet has: as many as it may.
const FIREWALLS: usize = 20;
/// The rules that each of them may have.
const RULES: usize = 100;

/// Returns an inventory of a project whose load balancers have all rules that they may have but one of each
/// firewall, and of one with a single load balancer, `quiet`. The networks of rules are given by the numbers
/// of firewall and rule.
pub fn inventory(net: Net, count: usize, network: impl Fn(usize, usize) -> String) -> String {
    let list = |count, item: &dyn Fn(usize) -> String| {
        let items: Vec<String> = (0..count).map(item).collect();
        format!("[{}]", items.join(", "))
    };
    let place = "location: eu-central-h1";
    let vms = [1, 2].map(|n| {
        let ip4 = net.vm(n);
        format!(
            "{{ name: vm-{n}, {place}, size: standard-2, storage_size_gib: 40, unix_user: u, ip4: {ip4} }}"
        )
    });
    let vms = vms.join(", ");
    let firewalls = list(FIREWALLS, &|firewall| {
        let rule = |rule| {
            format!(
                "{{ cidr: {}, port_range: 0..65535 }}",
                network(firewall, rule)
            )
        };
        format!(
            "{{ name: f-{firewall}, {place}, rules: {} }}",
            list(RULES - 1, &rule)
        )
    });
    let names = list(FIREWALLS, &|n| format!("f-{n}"));
    let subnets = list(count, &|n| {
        format!("{{ name: s-{n}, {place}, firewalls: {names} }}")
    });
    let ports =
        format!("src_port: {SRC}, dst_port: {DST}, health_check_endpoint: /up, stack: ipv4");
    let balancers = list(count, &|n| {
        format!("{{ name: b-{n}, {place}, subnet: s-{n}, {ports} }}")
    });
    format!(
        "locations: [{{ name: eu-central-h1 }}]\nprojects:\n  - name: shop\n    id: {SHOP}\n    vms: [{vms}]\n    \
         firewalls: {firewalls}\n    private_subnets: {subnets}\n    load_balancers: {balancers}\n  - name: rival\n    \
         id: {RIVAL}\n    private_subnets: [{{ name: backend, {place} }}]\n    \
         load_balancers: [{{ name: quiet, {place}, subnet: backend, {ports} }}]\n"
    )
}

/// Returns the names of the load balancers that are read first and last, those of the lowest and the
/// highest id.
async fn ends(shop: &Caller) -> (String, String) {
    let (mut names, mut after) = (Vec::new(), String::new());
    loop {
        let path = format!("{PLACE}/load-balancer?page_size=100{after}");
        let page = shop.get(&path).await.ok();
        let items = page["items"].as_array().cloned().unwrap_or_default();
        let Some(last) = items.last() else { break };
        after = format!("&start_after={}", last["id"].as_str().unwrap_or_default());
        names.extend(
            items
                .iter()
                .filter_map(|item| item["name"].as_str().map(str::to_owned)),
        );
    }
    assert_eq!(names.len(), LOAD_BALANCERS);
    (names[0].clone(), names[LOAD_BALANCERS - 1].clone())
}

on_both! {
async fn a_project_with_many_rules_keeps_no_other_waiting(home: Home) {
    let net = Net::random();
    let _vms = Vm::start_all(net, 2).await;
    let inventory = inventory(net, LOAD_BALANCERS, |_, rule| format!("10.7.{rule}.0/24"));
    let mut cloud = Cloud::start(home, net, &inventory, &[]);
    cloud.plane.kill();
    let rules = format!("{PLACE}/firewall/f-0/firewall-rule");
    let mut rule = cloud.shop.post(&rules, json!({ "cidr": "127.200.0.0/16" })).await.ok();
    let (first, last) = ends(&cloud.shop).await;
    cloud.act(&first, "attach-vm", &cloud.vm_id(1).await).await;
    cloud.act(&last, "attach-vm", &cloud.vm_id(2).await).await;

    // Before all is read.
    cloud.plane = Cloud::plane(&cloud.home, net, &[]);
    let listed = eventually(async || {
        let (_, all) = cloud.management("/load-balancers").await;
        all.contains("\"quiet\"").then_some(())
    });
    listed.await.expect("the load balancer is read");
    let said = cloud.management("/readyz").await;
    assert_eq!(said, (503, "the database was not read yet\n".to_owned()));

    // Before a change is read to its end.
    let ready = eventually(async || (cloud.management("/readyz").await.0 == 200).then_some(()));
    ready.await.expect("all is read");
    let (first, last) = (cloud.address(&first, 1).await, cloud.address(&last, 1).await);
    assert_eq!(ask_from(CALLER, first).await.expect("it is let in"), "vm-1");
    assert_eq!(ask_from(CALLER, last).await.expect("it is let in"), "vm-2");
    let rival = Caller::new(&cloud.service.base, RIVAL, &cloud.home.token("rival", &[]));
    let mut is_before = false;
    // More than once, because a machine may be so busy that all is read before the look at it.
    for algorithm in ["hash_based", "round_robin", "hash_based", "round_robin"] {
        let id = rule["id"].as_str().expect("it has an id");
        assert_eq!(cloud.shop.delete(&format!("{rules}/{id}")).await.status, 204);
        let refused = eventually(async || ask_from(CALLER, first).await.is_err().then_some(()));
        refused.await.expect("the rules are in force");
        let changed = json!({
            "algorithm": algorithm, "src_port": SRC, "dst_port": DST, "health_check_endpoint": "/up", "vms": [],
        });
        rival.patch(&format!("{PLACE}/load-balancer/quiet"), changed).await.ok();
        let changed = eventually(async || {
            let (_, all) = cloud.management("/load-balancers").await;
            let all: Vec<Value> = serde_json::from_str(&all).expect("it is a list");
            let quiet = all.iter().find(|it| it["name"] == "quiet")?;
            (quiet["algorithm"] == algorithm).then_some(())
        });
        changed.await.expect("the change is in force");
        is_before = ask_from(CALLER, last).await.is_ok();

        // A change while they are read: those that were read before it are read again.
        rule = cloud.shop.post(&rules, json!({ "cidr": "127.200.0.0/16" })).await.ok();
        for (web, name) in [(first, "vm-1"), (last, "vm-2")] {
            let admitted = eventually(async || ask_from(CALLER, web).await.ok());
            assert_eq!(admitted.await.expect("it is let in again"), name);
        }
        if is_before {
            break;
        }
    }
    assert!(is_before, "the other project is read to its end first");
}
}
