//! Nothing of others is touched, and what a process cannot do it says.

use std::collections::BTreeSet;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use super::{Cloud, LabVms, PLACE, two_projects, vm};
use crate::support::inventory::{RIVAL, SHOP};
use crate::support::lab::Lab;
use crate::support::{Home, eventually, leave_out};

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_belongs_to_others_is_not_touched() {
    let Some(cloud) = Cloud::start(Home::sqlite(), &two_projects()) else {
        return;
    };
    let lab = &cloud.lab;
    // Names that begin alike, and rules, links and routes of the machine itself.
    let others = [
        format!("{}-mine", lab.prefix),
        format!("{}-vm1", lab.prefix),
    ];
    for name in &others {
        lab.run("ip", &["netns", "add", name]);
    }
    lab.run(
        "ip",
        &[
            "link", "add", "mine", "type", "veth", "peer", "name", "mine2",
        ],
    );
    lab.run("ip", &["link", "set", "mine", "up"]);
    lab.run("ip", &["address", "add", "192.0.2.200/32", "dev", "mine"]);
    lab.run(
        "ip",
        &[
            "route",
            "add",
            "192.0.2.128/25",
            "dev",
            "mine",
            "proto",
            "83",
        ],
    );
    lab.run(
        "nft",
        &["add table inet stratus { chain own { type filter hook input priority 0; } ; }"],
    );
    let look = || {
        let link = lab.run("ip", &["-o", "link", "show", "dev", "mine"]);
        (
            lab.run("nft", &["list", "ruleset"]),
            link,
            lab.run("ip", &["route", "show", "dev", "mine"]),
        )
    };
    let before = look();
    let status = cloud.settled(8).await;
    assert_eq!(status["problems"], json!([]));
    cloud.network.terminate();
    let (succeeded, log) = cloud.network.wait();
    assert!(
        succeeded && log.contains("the networks stay as they are"),
        "{log}"
    );
    assert_eq!(lab.namespaces().len(), 11 + others.len());

    // Another database with the same prefix.
    let other = Home::sqlite();
    other.apply(&two_projects());
    let refused = lab.starter(&other.command(&["network", "--network-prefix", &lab.prefix]));
    let refused = run(refused, &other);
    assert!(
        refused.contains("are those of another database: set another prefix"),
        "{refused}"
    );

    let (removed, words) = lab.remove(&cloud.home);
    assert!(removed && words.lines().count() == 11, "{words}");
    assert_eq!(lab.namespaces(), others);
    assert_eq!(look(), before);
    let (again, words) = lab.remove(&cloud.home);
    assert!(again && words.is_empty(), "{words}");
    let links = lab.run("ip", &["-o", "link"]);
    assert!(!links.contains(&format!(" {}@", lab.prefix)), "{links}");

    // A link of somebody else that has our name.
    lab.run(
        "ip",
        &[
            "link",
            "add",
            &lab.prefix,
            "type",
            "veth",
            "peer",
            "name",
            "mine3",
        ],
    );
    let refused = run(
        lab.starter(&other.command(&["network", "--network-prefix", &lab.prefix])),
        &other,
    );
    assert!(
        refused.contains("that is not ours: set another network_prefix"),
        "{refused}"
    );
    let (removed, words) = lab.remove(&other);
    assert!(removed, "{words}");
    assert!(
        lab.run("ip", &["-o", "link"])
            .contains(&format!(" {}@", lab.prefix))
    );
}

/// Runs a command that must fail, with the settings of a home, and returns its standard error.
fn run(mut command: Command, home: &Home) -> String {
    command
        .current_dir(home.path())
        .env("STRATUS_DATABASE_URL", &home.database_url)
        .env("STRATUS_NETWORK_MANAGEMENT_LISTEN", "127.0.0.1:0");
    let output = command.output().expect("the program starts");
    assert!(!output.status.success());
    String::from_utf8_lossy(&output.stderr).into_owned()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_virtual_machines_are_shared_out_and_wrong_addresses_left_out() {
    let Some(lab) = Lab::new() else {
        return;
    };
    let home = Home::sqlite();
    let many: String = (0..5)
        .map(|number| vm(&format!("many-{number}"), ""))
        .collect();
    let rival = [
        vm("twice", ", ip4: 203.0.113.50"),
        vm("outside", ", ip4: 8.8.8.8"),
    ];
    // Two inventories, because one refuses an address that is there twice.
    for (name, id, vms) in [
        ("shop", SHOP, many + &vm("zz-first", ", ip4: 203.0.113.50")),
        ("rival", RIVAL, rival.concat()),
    ] {
        home.apply(&format!(
            "locations: [{{ name: eu-central-h1 }}]\nprojects:\n  - name: {name}\n    id: {id}\n    vms:\n{vms}"
        ));
    }
    let network = lab.network(&home, &["--network-vms", "4"]);
    // Two of each project: all that the other one has.
    let status = lab.settled_with_problems(&network, 4).await;
    let of = |project: &str| {
        let vms = status["vms"].as_array().into_iter().flatten();
        vms.filter(|vm| vm["project"] == project).count()
    };
    assert_eq!((of(SHOP), of(RIVAL)), (2, 2), "{status}");
    let problems = status["problems"].to_string();
    for words in [
        "there are more than network_vms = 4 virtual machines",
        "the public address 8.8.8.8 of the virtual machine",
    ] {
        assert!(problems.contains(words), "{problems}");
    }
    let routes = lab.run("ip", &["route"]);
    assert!(!routes.contains("8.8.8.8"), "{routes}");
    let unready = lab.management(&network, "/readyz");
    assert!(unready.starts_with("HTTP/1.0 503"), "{unready}");
    drop(network);
    // Both that have the address.
    let network = lab.network(&home, &[]);
    let status = lab.settled_with_problems(&network, 8).await;
    let problems = status["problems"].to_string();
    assert!(
        problems.contains("the public address 203.0.113.50 of the virtual machine"),
        "{problems}"
    );
    assert_eq!(
        status.to_string().matches("\"203.0.113.50\"").count(),
        1,
        "{status}"
    );
}

/// Of two pairs of connected subnets: the first interface, which any of them may be, is in one of them only.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_virtual_machine_in_connected_subnets_has_each_route_once() {
    let names = ["a", "b", "c", "d"];
    let inventory = |names: &[&str]| {
        let subnets: Vec<String> = names
            .iter()
            .map(|name| {
                format!(
                    "{{ name: {name}, location: eu-central-h1, nics: [{{ name: x, vm: many }}] }}"
                )
            })
            .collect();
        format!(
            "locations: [{{ name: eu-central-h1 }}]\nprojects:\n  - name: shop\n    id: {SHOP}\n    vms:\n{}    \
             private_subnets: [{}]\n",
            vm("many", ""),
            subnets.join(", ")
        )
    };
    let Some(cloud) = Cloud::start(Home::sqlite(), &inventory(&names)) else {
        return;
    };
    cloud.settled(1).await;
    for (one, other) in [("a", "b"), ("c", "d")] {
        let body = json!({ "connected-subnet-id": cloud.subnet(other).await });
        let path = format!("{PLACE}/private-subnet/{one}/connect");
        cloud.shop.post(&path, body).await.ok();
    }
    let ready = async || {
        let ready = cloud.lab.management(&cloud.network, "/readyz");
        ready.contains(" 200 ").then_some(())
    };
    // Long enough for the change to be read, and to fail.
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert!(
        eventually(ready).await.is_some(),
        "{}",
        cloud.lab.status(&cloud.network)
    );
    let status = cloud.settled(1).await;
    assert_eq!(status["problems"], json!([]), "{status}");

    // Without the first interface, another one is the first, and the tables of the others change.
    let namespace = LabVms(&status).first("many", SHOP).namespace;
    let tables = || {
        let rules = cloud.lab.run("ip", &["-n", &namespace, "-4", "rule"]);
        let lines = rules.lines().filter(|line| line.contains("lookup 10"));
        let mut from: Vec<String> = lines
            .map(|line| line.split("from ").nth(1).unwrap_or_default().to_owned())
            .collect();
        from.sort();
        from
    };
    assert_eq!(tables().len(), 3, "{:?}", tables());
    let mut sorted = Vec::new();
    for name in names {
        sorted.push((cloud.subnet(name).await.to_string(), name));
    }
    sorted.sort();
    let rest: Vec<&str> = sorted[1..].iter().map(|(_, name)| *name).collect();
    let removed = std::fs::write(cloud.home.path().join("fewer.yaml"), inventory(&rest));
    removed.expect("the folder is writable");
    let applied = cloud.home.run(&["apply", "--prune", "fewer.yaml"]);
    assert!(applied.status.success(), "{applied:?}");
    let two = eventually(async || (tables().len() == 2).then_some(()));
    two.await.unwrap_or_else(|| panic!("{:?}", tables()));
    let addresses: BTreeSet<String> = tables()
        .iter()
        .filter_map(|line| line.split(' ').next().map(str::to_owned))
        .collect();
    assert_eq!(addresses.len(), 2, "{:?}", tables());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn too_many_rules_of_a_project_are_said() {
    let Some(lab) = Lab::new() else {
        return;
    };
    let home = Home::sqlite();
    // 26 subnets with 1,980 rules each, of which most are the same.
    let list = |count: usize, item: &dyn Fn(usize) -> String| {
        let items: Vec<String> = (0..count).map(item).collect();
        items.join(", ")
    };
    let rule = |n| format!("{{ cidr: 10.7.{n}.0/24, port_range: \"80\" }}");
    let rules = list(99, &rule);
    let place = "location: eu-central-h1";
    let firewalls = list(20, &|n| {
        format!("{{ name: f-{n}, {place}, rules: [{rules}] }}")
    });
    let all = list(20, &|n| format!("f-{n}"));
    let subnets = list(26, &|n| {
        let vm = n % 2 + 1;
        format!(
            "{{ name: s-{n}, {place}, firewalls: [{all}], nics: [{{ name: a, vm: vm-{vm} }}] }}"
        )
    });
    home.apply(&format!(
        "locations: [{{ name: eu-central-h1 }}]\nprojects:\n  - name: shop\n    id: {SHOP}\n    vms:\n{}{}    \
         firewalls: [{firewalls}]\n    private_subnets: [{subnets}]\n",
        vm("vm-1", ""),
        vm("vm-2", "")
    ));
    let network = lab.network(&home, &[]);
    let status = lab.settled_with_problems(&network, 2).await;
    let words =
        format!("the project {SHOP} has too many firewall rules: those beyond are not made");
    assert_eq!(status["left_out"], json!([words]));
    assert_eq!(status["problems"], json!([]));
    // The machine is fine all the same.
    let ready = eventually(async || {
        let ready = lab.management(&network, "/readyz");
        ready.starts_with("HTTP/1.0 200").then_some(())
    });
    ready.await.expect("it is ready");
    let metrics = lab.management(&network, "/metrics");
    assert!(
        metrics.contains("\nstratus_network_left_out 1\n"),
        "{metrics}"
    );
}

#[test]
fn a_process_without_the_rights_says_what_is_recorded_only() {
    let home = Home::sqlite();
    home.apply("locations: [{ name: eu-central-h1 }]\n");
    let command = home.command(&["network"]);
    let mut without = Command::new("setpriv");
    without
        .arg("--bounding-set=-net_admin,-sys_admin")
        .arg(command.get_program())
        .arg("network");
    let is_root = rustix::process::geteuid().is_root();
    if is_root && Command::new("setpriv").arg("--version").output().is_err() {
        leave_out("setpriv is not installed");
        return;
    }
    let said = run(if is_root { without } else { command }, &home);
    for words in [
        "this process may not make networks: it lacks CAP_NET_ADMIN and CAP_SYS_ADMIN, so run it as root",
        "virtual machines, private subnets and the connections between these are recorded only",
        "firewalls are enforced by load balancers (`stratusd balance`)",
    ] {
        assert!(said.contains(words), "{said}");
    }
}
