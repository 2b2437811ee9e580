//! `stratusd network` is killed at any moment, and leaves nothing half.

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::json;
use stratusd::world::World;

use super::{Cloud, LabVms, PLACE, two_projects, vm};
use crate::support::caller::Caller;
use crate::support::inventory::{RIVAL, SHOP};
use crate::support::{Home, eventually, variable};

/// How often it is killed, unless `STRATUS_CASES` says otherwise.
const KILLS: u64 = 20;

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn kills_leave_nothing_half() {
    let Some(mut cloud) = Cloud::start(Home::sqlite(), &two_projects()) else {
        return;
    };
    let seed =
        variable("STRATUS_SEED").unwrap_or_else(|| u64::from_be_bytes(World::real().random()));
    println!("STRATUS_SEED={seed}");
    let mut random = StdRng::seed_from_u64(seed);
    let stopped = two_projects().replace(&vm("front-2", ""), &vm("front-2", ", state: stopped"));
    let back = cloud.subnet("back").await;
    for turn in 0..variable("STRATUS_CASES").unwrap_or(KILLS) {
        // Something to do at each start.
        let inventory = if turn % 2 == 0 {
            &stopped
        } else {
            &two_projects()
        };
        cloud.home.apply(inventory);
        let (path, body) = if turn % 3 == 0 {
            ("connect", json!({ "connected-subnet-id": back }))
        } else {
            ("firewall", json!({ "cidr": format!("198.51.{turn}.0/24") }))
        };
        if path == "connect" {
            // Connected already, or disconnected below.
            let _ = cloud
                .shop
                .post(&format!("{PLACE}/private-subnet/front/connect"), body)
                .await;
        } else {
            cloud.post("/firewall/open/firewall-rule", body).await;
            let id = back.as_str().expect("it is a text");
            cloud
                .shop
                .post_nothing(&format!("{PLACE}/private-subnet/front/disconnect/{id}"))
                .await
                .ok();
        }
        tokio::time::sleep(Duration::from_millis(random.random_range(0..400))).await;
        cloud.network.kill();
        cloud.network = cloud.lab.network(&cloud.home, &[]);
    }
    cloud.home.apply(&two_projects());
    let status = cloud.settled(8).await;
    assert_eq!(status["problems"], json!([]), "{status}");
    assert_eq!(
        cloud.lab.namespaces().len(),
        8 + 2 + 1,
        "{:?}",
        cloud.lab.namespaces()
    );
    let vms = LabVms(&status);
    let (front, front_2) = (vms.first("front-1", SHOP), vms.first("front-2", SHOP));
    assert_eq!(
        front
            .ask(&format!("{}:8080", front_2.ip4()))
            .expect("it is its neighbour"),
        "front-2"
    );
    assert_eq!(
        cloud
            .lab
            .ask("203.0.113.21:80")
            .expect("the firewall is open"),
        "front-1"
    );
    assert!(
        cloud.lab.ask("203.0.113.21:8080").is_err(),
        "the port is closed"
    );
    let back_1 = vms.first("back-1", SHOP);
    let id = back.as_str().expect("it is a text");
    cloud
        .shop
        .post_nothing(&format!("{PLACE}/private-subnet/front/disconnect/{id}"))
        .await
        .ok();
    back_1
        .comes_not_to_reach(&format!("{}:80", front_2.ip4()))
        .await;

    cloud.network.kill();
    // Without a process, what was made is there.
    let address = format!("{}:80", front_2.ip4());
    let refused = front
        .inside(|| std::net::TcpStream::connect(&address))
        .map(drop);
    let kind = refused
        .expect_err("the servers were tasks of the process")
        .kind();
    assert_eq!(
        kind,
        std::io::ErrorKind::ConnectionRefused,
        "the neighbour is gone"
    );
    let (removed, words) = cloud.lab.remove(&cloud.home);
    assert!(removed, "{words}");
    assert_eq!(cloud.lab.namespaces(), Vec::<String>::new());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_others_break_is_mended() {
    let Some(cloud) = Cloud::start(Home::sqlite(), &two_projects()) else {
        return;
    };
    let status = cloud.settled(8).await;
    let vms = LabVms(&status);
    let (front, front_2) = (vms.first("front-1", SHOP), vms.first("front-2", SHOP));
    let router = format!("{}-{SHOP}", cloud.lab.prefix);
    let hub = format!("{}-hub", cloud.lab.prefix);
    let open = "203.0.113.21:80";
    for broken in [
        vec!["ip", "-n", &front.namespace, "link", "delete", "dev", "n0"],
        vec!["ip", "-n", &router, "link", "delete", "dev", "up"],
        vec!["ip", "link", "delete", &cloud.lab.prefix],
        vec![
            "ip",
            "-n",
            &front.namespace,
            "route",
            "flush",
            "proto",
            "83",
        ],
        vec!["ip", "netns", "delete", &front.namespace],
        vec!["ip", "netns", "delete", &router],
        vec!["ip", "netns", "delete", &hub],
    ] {
        cloud.lab.run(broken[0], &broken[1..]);
        // A namespace that is deleted goes on for as long as sockets are in it, and is made anew meanwhile.
        let is_whole = || cloud.lab.namespaces().len() == 8 + 2 + 1;
        assert!(
            eventually(async || is_whole().then_some(()))
                .await
                .is_some(),
            "{broken:?}"
        );
        let mended = eventually(async || cloud.lab.ask(open).ok()).await;
        assert_eq!(mended.as_deref(), Some("front-1"), "{broken:?}");
        let near = format!("{}:8080", front_2.ip4());
        front.comes_to_reach(&near).await;
    }
    // Rules that somebody has flushed would let everybody in, or nobody. Also while another project changes
    // all the time.
    let rival = cloud.home.token("rival", &[]);
    let rival = Caller::new(&cloud.service.base, RIVAL, &rival);
    cloud
        .lab
        .run("ip", &["netns", "exec", &router, "nft", "flush", "ruleset"]);
    let changes = async {
        for number in 0.. {
            let rules = format!("{PLACE}/firewall/closed/firewall-rule");
            let port = 9000 + number % 1000;
            let rule = json!({ "cidr": "192.0.2.0/24", "port_range": port.to_string() });
            let rule = rival.post(&rules, rule).await.ok();
            let id = rule["id"].as_str().expect("it has an id");
            rival.delete(&format!("{rules}/{id}")).await;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
    };
    let closed = tokio::select! {
        closed = eventually(async || cloud.lab.ask("203.0.113.21:8080").err()) => closed,
        () = changes => None,
    };
    assert!(closed.is_some(), "flushed rules are not loaded again");
    assert!(
        eventually(async || cloud.lab.ask(open).ok())
            .await
            .is_some()
    );
}
