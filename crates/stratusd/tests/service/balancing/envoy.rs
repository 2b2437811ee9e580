//! The data plane with an Envoy that forwards the connections, which the tests start.

use std::collections::BTreeMap;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use reqwest::Method;
use serde_json::{Value, json};
use stratusd::world::World;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};

use super::changes;
use super::health::https_vm;
use super::tls::Trusting;
use super::turns;
use super::web;
use crate::gateway::proxies;
use crate::support::balancing::{
    Cloud, DST, Net, SRC, V6, Vm, a_second, ask, ask_from, ask_on, is_listening, states,
};
use crate::support::{Home, eventually};

const PAGE: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/operating.md");
const PLACE: &str = "/location/eu-central-h1";
/// The folder of Envoy's configuration, in that of the service.
const FOLDER: &str = "envoy";
const ENGINE: [&str; 4] = [
    "--balance-engine",
    "envoy",
    "--balance-envoy-folder",
    FOLDER,
];
/// The time to drain that the tests have.
const DRAIN: Duration = Duration::from_secs(3);

/// An Envoy beside the data plane of a cloud, killed when it is dropped.
struct Envoy(Child);

impl Envoy {
    /// Starts one by the command of the page, with a time to drain in seconds.
    fn start(program: &Path, home: &Home, drain: &str) -> Self {
        let page = std::fs::read_to_string(PAGE).expect("the page is there");
        let mut lines = page.lines();
        let line = lines.find_map(|line| line.strip_prefix("envoy "));
        let line = line.expect("the page has the command");
        assert!(line.contains("--drain-time-s 60"), "{line}");
        let mut command = Command::new(program);
        command
            .args(
                line.split(' ')
                    .map(|word| if word == "60" { drain } else { word }),
            )
            .args(["--concurrency", "1", "--log-level", "critical"])
            // Two of them at a time would share memory otherwise.
            .arg("--disable-hot-restart")
            .current_dir(home.path())
            .stdin(Stdio::null());
        Self(command.spawn().expect("it is installed"))
    }
}

impl Drop for Envoy {
    fn drop(&mut self) {
        let _ = self.0.kill();
        let _ = self.0.wait();
    }
}

/// Returns Envoy's program, or prints a note if it is not installed.
fn program() -> Option<PathBuf> {
    proxies::envoy()
}

/// Starts the service, a data plane and its Envoy.
fn start(program: &Path, net: Net, inventory: &str, settings: &[&str]) -> (Cloud, Envoy) {
    let settings = [&ENGINE, &V6[..], settings].concat();
    let cloud = Cloud::start(Home::sqlite(), net, inventory, &settings);
    let envoy = Envoy::start(program, &cloud.home, "3");
    (cloud, envoy)
}

/// A load balancer whose health checks only connect.
fn bare(name: &str, more: &str) -> String {
    format!(
        "name: {name}, src_port: {SRC}, health_check_endpoint: /, health_check_protocol: tcp, stack: ipv4, {more}"
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envoy_follows_the_api_and_spreads_connections_over_those_that_are_up() {
    let Some(program) = program() else { return };
    let net = Net::random();
    let vms = Vm::start_all(net, 4).await;
    let inventory = net.inventory(4, &[&web("round_robin", "vm-1, vm-2, vm-3")]);
    let (cloud, _envoy) = start(&program, net, &inventory, &[]);
    let web = cloud.address("web", 3).await;
    assert_eq!(cloud.management("/readyz").await.0, 200);
    let shares = async || {
        let mut shares = BTreeMap::new();
        for _ in 0..30 {
            let name = ask(web).await.expect("a virtual machine responds");
            *shares.entry(name).or_insert(0) += 1;
        }
        shares.into_iter().collect::<Vec<_>>()
    };
    let named = |names: &[&str], share| {
        let shares = names.iter().map(|name| ((*name).to_owned(), share));
        shares.collect::<Vec<_>>()
    };
    assert_eq!(shares().await, named(&["vm-1", "vm-2", "vm-3"], 10));
    let (first, fourth) = (cloud.vm_id(1).await, cloud.vm_id(4).await);
    cloud.act("web", "attach-vm", &fourth).await;
    cloud.act("web", "detach-vm", &first).await;
    a_second().await;
    assert_eq!(shares().await, named(&["vm-2", "vm-3", "vm-4"], 10));
    // A redirection is healthy.
    vms[2].status.store(302, Ordering::SeqCst);
    vms[1].status.store(503, Ordering::SeqCst);
    let status = cloud.wait_for("web", |status| states(status, "down") == ["vm-2"]);
    // They are sorted by their ids.
    let mut up = states(&status.await, "up");
    up.sort();
    assert_eq!(up, ["vm-3", "vm-4"]);
    assert_eq!(shares().await, named(&["vm-3", "vm-4"], 15));
    let (_, metrics) = cloud.management("/metrics").await;
    assert!(metrics.contains("state=\"down\"} 1"), "{metrics}");
    let set = |status| {
        for vm in &vms[1..] {
            vm.status.store(status, Ordering::SeqCst);
        }
    };
    set(500);
    let is_none_up = |status: &Value| states(status, "up").is_empty();
    cloud.wait_for("web", is_none_up).await;
    assert!(
        ask(web).await.is_err(),
        "one that is down gets a connection"
    );
    set(200);
    cloud.address("web", 3).await;
    // One that refuses is skipped, also before its checks have failed.
    vms[3].stop().await;
    for _ in 0..10 {
        ask(web).await.expect("another one is tried");
    }
    assert!(metrics.contains("balance_envoy_responds 1"), "{metrics}");
    // Another port is another listener, and a deleted load balancer has none. All share the address of
    // IPv6, also those of other tests that run now.
    let [high, low] = World::real().random();
    let port = 20_000 + u16::from_be_bytes([high, low]) % 10_000;
    cloud
        .patch("web", json!({ "src_port": port, "stack": "dual" }))
        .await;
    a_second().await;
    let mut moved = web;
    moved.set_port(port);
    ask(moved).await.expect("the new port is listened on");
    let sixth = SocketAddr::from((Ipv6Addr::LOCALHOST, port));
    ask(sixth).await.expect("it listens on both addresses");
    assert!(ask(web).await.is_err(), "the old port is listened on");
    let deleted = cloud
        .shop
        .try_call(Method::DELETE, &format!("{PLACE}/load-balancer/web"), None)
        .await;
    assert_eq!(deleted.expect("the service responds").status, 204);
    a_second().await;
    assert!(
        ask(moved).await.is_err(),
        "the deleted load balancer listens"
    );
    assert!(cloud.status("web").is_null());
    let left = |folder: &str| {
        let entries = std::fs::read_dir(cloud.home.path().join(FOLDER).join(folder));
        entries.expect("the folder is there").count()
    };
    assert_eq!(left("endpoints"), 0);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envoy_moves_hardly_a_caller_but_those_of_the_vm_that_goes() {
    const CALLERS: u8 = 199;
    const MOST: usize = 8;
    let Some(program) = program() else { return };
    let net = Net::random();
    let vms = Vm::start_all(net, 5).await;
    let inventory = net.inventory(5, &[&web("hash_based", "vm-1, vm-2, vm-3, vm-4, vm-5")]);
    let settings = [
        "--balance-check-fall",
        "100",
        "--balance-connections",
        &MOST.to_string(),
    ];
    let (cloud, _envoy) = start(&program, net, &inventory, &settings);
    let web = cloud.address("web", 5).await;
    // It stays up: it goes down by 100 failures in a row, and no status takes it down sooner.
    vms[0].status.store(503, Ordering::SeqCst);
    let spread = async || {
        let mut spread = Vec::new();
        for number in 1..=CALLERS {
            let caller = Ipv4Addr::new(127, 200, 0, number).into();
            let asked = ask_from(caller, web).await;
            spread.push(asked.expect("a virtual machine responds"));
        }
        spread
    };
    let before = spread().await;
    assert_eq!(before, spread().await, "a caller's virtual machine changes");
    let share = before.iter().filter(|name| *name == "vm-4").count();
    // Of five equal shares, chance alone makes none so small or large.
    assert!((20..70).contains(&share), "{share}");
    cloud.act("web", "detach-vm", &cloud.vm_id(4).await).await;
    a_second().await;
    let after = spread().await;
    let moved = before
        .iter()
        .zip(&after)
        .filter(|(before, after)| before != after);
    let others = moved.filter(|(before, _)| *before != "vm-4").count();
    // A table of Maglev moves about one in a hundred of the others.
    assert!(others <= 8, "{others} callers of others have moved");
    assert!(!after.contains(&"vm-4".to_owned()));
    assert!(states(&cloud.status("web"), "up").contains(&"vm-1".to_owned()));
    // Open connections of all load balancers have a bound.
    let mut held = Vec::new();
    while held.len() < MOST {
        let mut open = TcpStream::connect(web).await.expect("it listens");
        ask_on(&mut open).await.expect("there is room");
        held.push(open);
    }
    assert!(ask(web).await.is_err(), "there are too many connections");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envoy_has_the_certificate_of_the_host_name_and_renews_it() {
    let Some(program) = program() else { return };
    let net = Net::random();
    let _vms = Vm::start_all(net, 1).await;
    let secure = bare("secure", "cert_enabled: true, vms: [vm-1]");
    let inventory = net.inventory(1, &[&secure]);
    // It is renewed after two seconds.
    let settings = ["--balance-certificate-lifetime", "3s"];
    let (cloud, _envoy) = start(&program, net, &inventory, &settings);
    let address = cloud.address("secure", 1).await;
    let trusting = Trusting::of(&cloud, "secure").await;
    let mut open = trusting
        .connect(address)
        .await
        .expect("the certificate is trusted");
    assert_eq!(ask_on(&mut open).await.expect("vm-1 responds"), "vm-1");
    let other = trusting.expecting("other.stratus.example");
    let error = other.connect(address).await.err();
    let error = error.map(|error| error.to_string()).unwrap_or_default();
    assert!(error.contains("not valid for name"), "{error}");
    let first = Trusting::certificate(&open);
    let renewed = eventually(async || {
        let stream = trusting.connect(address).await.expect("it is trusted");
        (Trusting::certificate(&stream) != first).then_some(())
    });
    renewed.await.expect("the certificate is renewed");
    assert_eq!(ask_on(&mut open).await.expect("it goes on"), "vm-1");
    // The key is for the user of both processes alone.
    let secrets = cloud.home.path().join(FOLDER).join("secrets");
    for entry in std::fs::read_dir(secrets).expect("the folder is there") {
        use std::os::unix::fs::PermissionsExt;
        let metadata = entry.expect("it is readable").metadata();
        let mode = metadata.expect("it is there").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    // Without it, those who connect without TLS are served.
    cloud
        .patch("secure", json!({ "cert_enabled": false }))
        .await;
    a_second().await;
    assert_eq!(ask(address).await.expect("vm-1 responds"), "vm-1");
    assert_eq!(
        ask_on(&mut open).await.expect("it goes on for a time"),
        "vm-1"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envoy_lets_in_whom_the_firewalls_allow() {
    const OFFICE: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 200, 1, 1));
    const OTHER: IpAddr = IpAddr::V4(Ipv4Addr::new(127, 200, 2, 1));
    let Some(program) = program() else { return };
    let net = Net::random();
    // Speaks first, as servers of mail and databases do.
    let listener = TcpListener::bind((net.vm(1), DST)).await;
    let listener = listener.expect("the address is free");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"hello").await;
        }
    });
    let inventory = net.inventory(1, &[&bare("web", "vms: [vm-1]")]);
    let (cloud, _envoy) = start(&program, net, &inventory, &[]);
    let web = cloud.address("web", 1).await;
    let greets = async |caller: IpAddr| {
        let socket = tokio::net::TcpSocket::new_v4().expect("a socket can be made");
        socket
            .bind((caller, 0).into())
            .expect("the address is there");
        let Ok(mut stream) = socket.connect(web).await else {
            return false;
        };
        let mut said = Vec::new();
        let _ = stream.read_to_end(&mut said).await;
        said == b"hello"
    };
    assert!(greets(OFFICE).await && greets(OTHER).await);
    let post =
        async |path: &str, body: Value| cloud.shop.post(&format!("{PLACE}{path}"), body).await.ok();
    let subnet = cloud
        .shop
        .get(&format!("{PLACE}/private-subnet/backend"))
        .await;
    let subnet = subnet.ok()["id"].clone();
    post("/firewall/offices", json!({})).await;
    let attach = json!({ "private_subnet_id": subnet });
    post("/firewall/offices/attach-subnet", attach).await;
    a_second().await;
    assert!(
        !greets(OFFICE).await,
        "a firewall without rules lets somebody in"
    );
    let rules = "/firewall/offices/firewall-rule";
    post(
        rules,
        json!({ "cidr": "127.200.1.0/24", "port_range": "8000..8010" }),
    )
    .await;
    post(rules, json!({ "cidr": "::/0" })).await;
    a_second().await;
    assert!(greets(OFFICE).await, "the rule is for this caller");
    assert!(!greets(OTHER).await, "the rule is not for this caller");
    assert_eq!(states(&cloud.status("web"), "up"), ["vm-1"]);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envoy_lets_the_connections_of_a_detached_vm_go_on() {
    let Some(program) = program() else { return };
    let net = Net::random();
    let _vms = Vm::start_all(net, 3).await;
    let other = format!(
        "name: other, src_port: {SRC}, health_check_endpoint: /up, stack: ipv4, vms: [vm-3]"
    );
    let inventory = net.inventory(3, &[&web("round_robin", "vm-1, vm-2"), &other]);
    let (cloud, _envoy) = start(&program, net, &inventory, &[]);
    let (web, other) = (
        cloud.address("web", 2).await,
        cloud.address("other", 1).await,
    );
    let mut open = TcpStream::connect(web).await.expect("it listens");
    let mut last = TcpStream::connect(other).await.expect("it listens");
    let name = ask_on(&mut open).await.expect("a virtual machine responds");
    ask_on(&mut last).await.expect("vm-3 responds");
    let (here, there) = if name == "vm-1" { (1, 2) } else { (2, 1) };
    let (here, there) = (cloud.vm_id(here).await, cloud.vm_id(there).await);
    // Changes of others do not concern it.
    cloud.act("web", "detach-vm", &there).await;
    a_second().await;
    cloud.act("web", "attach-vm", &there).await;
    cloud
        .wait_for("web", |status| states(status, "up").len() == 2)
        .await;
    assert_eq!(ask_on(&mut open).await.expect("it goes on"), name);
    cloud.act("web", "detach-vm", &here).await;
    let deleted = format!("{PLACE}/load-balancer/other");
    assert_eq!(cloud.shop.delete(&deleted).await.status, 204);
    let begun = Instant::now();
    let status = cloud
        .wait_for("web", |status| {
            states(status, "detaching") == [name.as_str()]
        })
        .await;
    assert_eq!(status["connections"], 1, "{status}");
    let (_, metrics) = cloud.management("/metrics").await;
    assert!(metrics.contains("state=\"detaching\"} 1"), "{metrics}");
    for _ in 0..6 {
        assert_ne!(ask(web).await.expect("the other one responds"), name);
    }
    assert_eq!(ask_on(&mut open).await.expect("it goes on"), name);
    let refused = eventually(async || ask(other).await.err()).await;
    assert!(refused.is_some(), "the deleted load balancer listens");
    assert_eq!(ask_on(&mut last).await.expect("it goes on"), "vm-3");
    // Those of a deleted load balancer end after the time to drain.
    let closed = eventually(async || ask_on(&mut last).await.err()).await;
    assert!(closed.is_some(), "the connection is not closed");
    assert!(begun.elapsed() + Duration::from_secs(1) >= DRAIN);
    // Those of a detached virtual machine do not, and are seen as long as they last.
    tokio::time::sleep_until((begun + DRAIN + Duration::from_secs(1)).into()).await;
    assert_eq!(ask_on(&mut open).await.expect("it goes on"), name);
    assert_eq!(states(&cloud.status("web"), "detaching"), [name.as_str()]);
    drop(open);
    cloud
        .wait_for("web", |status| states(status, "detaching").is_empty())
        .await;
    let endpoints = cloud.home.path().join(FOLDER).join("endpoints");
    let gone = eventually(async || {
        let mut files = std::fs::read_dir(&endpoints).expect("the folder is there");
        let file = files.next()?.expect("it is readable").path();
        let text = std::fs::read_to_string(file).expect("it is readable");
        (!text.contains("DRAINING")).then_some(())
    });
    gone.await.expect("it is not forgotten");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_thousand_requests_to_envoy_through_changes_never_fail() {
    let Some(program) = program() else { return };
    let net = Net::random();
    let _vms = Vm::start_all(net, 6).await;
    let inventory = changes::two(net);
    let settings = ["--balance-certificate-lifetime", "3s"];
    let (cloud, _envoy) = start(&program, net, &inventory, &settings);
    changes::never_fail(&cloud, 500, 2).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn envoy_has_the_limits_and_sends_the_header_of_the_settings() {
    let Some(program) = program() else { return };
    let net = Net::random();
    let listener = TcpListener::bind((net.vm(1), DST)).await;
    let listener = listener.expect("the address is free");
    let asked = https_vm(net, 2).await;
    let checked = "name: checked, src_port: 8000, stack: ipv4, health_check_protocol: https, \
                   health_check_endpoint: \"https://internal.example/health?deep\", vms: [vm-2]";
    let inventory = net.inventory(2, &[&bare("web", "vms: [vm-1]"), checked]);
    let settings = [
        "--balance-proxy-protocol",
        "v1",
        "--balance-check-every",
        "1h",
        "--balance-connections-each",
        "1",
        "--balance-idle-timeout",
        "3s",
    ];
    let (cloud, _envoy) = start(&program, net, &inventory, &settings);
    // The first connection is the health check, which has no header.
    let (mut check, _) = listener.accept().await.expect("a check has come");
    let mut all = Vec::new();
    check.read_to_end(&mut all).await.expect("it ends");
    assert!(all.is_empty(), "{all:?}");
    let web = cloud.address("web", 1).await;
    let mut caller = TcpStream::connect(web).await.expect("it listens");
    caller.write_all(b"hello").await.expect("it is read");
    let from = caller.local_addr().expect("it has an address");
    let (mut vm, _) = listener.accept().await.expect("the connection comes");
    let expected = format!(
        "PROXY TCP4 {} {} {} {}\r\nhello",
        from.ip(),
        web.ip(),
        from.port(),
        web.port()
    );
    let mut all = vec![0; expected.len()];
    vm.read_exact(&mut all).await.expect("it comes");
    assert_eq!(String::from_utf8_lossy(&all), expected);
    // A second one is too many, before it is idle, and the first is closed when it is.
    let mut second = TcpStream::connect(web).await.expect("it listens");
    let closed = tokio::time::timeout(Duration::from_secs(2), second.read(&mut [0])).await;
    assert!(closed.is_ok(), "a load balancer has two connections");
    let closed = tokio::time::timeout(Duration::from_secs(10), caller.read(&mut [0])).await;
    assert!(closed.is_ok(), "an idle connection is open");
    let asked = asked.await.expect("a check has come");
    let mut lines = asked.lines();
    assert_eq!(lines.next(), Some("GET /health?deep HTTP/1.1"));
    let host = lines.find(|line| line.to_lowercase().starts_with("host:"));
    assert_eq!(host, Some("host: internal.example"));
    cloud.address("checked", 1).await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_rules_of_one_project_do_not_fill_the_lists() {
    let Some(program) = program() else { return };
    let net = Net::random();
    // Of 1,980 networks each, so there is room for 25 of them.
    let inventory = turns::inventory(net, 27, |firewall, rule| {
        format!("10.{firewall}.{rule}.0/24")
    });
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &ENGINE);
    let _envoy = Envoy::start(&program, &cloud.home, "3");
    cloud.wait_for("quiet", is_listening).await;
    let listed = eventually(async || {
        let (_, all) = cloud.management("/load-balancers").await;
        let all: Vec<Value> = serde_json::from_str(&all).expect("it is a list");
        let problems: Vec<&Value> = all
            .iter()
            .map(|it| &it["listeners"][0]["problem"])
            .collect();
        let open = problems.iter().filter(|it| it.is_null()).count();
        let full = problems
            .iter()
            .filter(|it| it.as_str().is_some_and(|it| it.contains("allow fewer")));
        (open + full.count() == all.len()).then_some((open, all.len()))
    });
    assert_eq!(listed.await, Some((26, 28)));
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn what_envoy_cannot_do_is_said() {
    let Some(program) = program() else { return };
    let net = Net::random();
    let _vms = Vm::start_all(net, 1).await;
    let inventory = net.inventory(1, &[&web("round_robin", "vm-1")]);
    // Of four addresses, a project may have one.
    let settings = [&ENGINE[..], &["--balance-listeners", "4"]].concat();
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &settings);
    let status = cloud.wait_for("web", |status| !states(status, "unknown").is_empty());
    let problem = status.await["listeners"][0]["problem"].to_string();
    assert!(
        problem.contains("Envoy does not say what it does"),
        "{problem}"
    );
    assert!(problem.contains("--drain-time-s 3"), "{problem}");
    assert_eq!(cloud.management("/readyz").await.0, 503);
    // Another program has the address.
    let address: SocketAddr = cloud.status("web")["listeners"][0]["address"]
        .as_str()
        .and_then(|address| address.parse().ok())
        .expect("it has an address");
    let taken = std::net::TcpListener::bind(address).expect("the address is free");
    let envoy = Envoy::start(&program, &cloud.home, "4");
    cloud
        .wait_for("web", |status| {
            let problem = status["listeners"][0]["problem"].as_str();
            problem.is_some_and(|problem| problem.contains("Address already in use"))
        })
        .await;
    drop(taken);
    cloud.wait_for("web", is_listening).await;
    assert_eq!(ask(address).await.expect("vm-1 responds"), "vm-1");
    // The load balancer that was there first keeps its address, also if its id is the larger one.
    for number in 0..4 {
        let name = format!("more-{number}");
        let more = [&*web("round_robin", "vm-1"), &*bare(&name, "vms: []")];
        cloud.home.apply(&net.inventory(1, &more));
        let status = cloud.wait_for(&name, |status| !status.is_null()).await;
        let problem = status["listeners"][0]["problem"].to_string();
        assert!(problem.contains("raise balance_listeners"), "{problem}");
        assert!(
            is_listening(&cloud.status("web")),
            "{}",
            cloud.status("web")
        );
    }
    // It goes on when the data plane is stopped, and is followed again by the next one.
    cloud.plane.terminate();
    let Cloud {
        home,
        service,
        plane,
        shop,
    } = cloud;
    let (succeeded, log) = plane.wait();
    assert!(
        succeeded && log.contains("what Envoy does otherwise"),
        "{log}"
    );
    assert!(
        log.contains("another time than balance_drain_timeout"),
        "{log}"
    );
    let mut open = TcpStream::connect(address).await.expect("it listens");
    assert_eq!(ask_on(&mut open).await.expect("vm-1 responds"), "vm-1");
    let plane = Cloud::plane(&home, net, &ENGINE);
    let cloud = Cloud {
        home,
        service,
        plane,
        shop,
    };
    assert_eq!(cloud.address("web", 1).await, address);
    // Files that say the same end nothing.
    assert_eq!(ask_on(&mut open).await.expect("it goes on"), "vm-1");
    drop(envoy);
    cloud
        .wait_for("web", |status| states(status, "unknown") == ["vm-1"])
        .await;
    let second = cloud.home.fail(&[&["balance"], &ENGINE[..]].concat());
    assert!(second.contains("another process writes there"), "{second}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn files_that_cannot_be_written_are_said_and_written_later() {
    let net = Net::random();
    let inventory = net.inventory(1, &[&bare("web", "vms: []")]);
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &ENGINE);
    let endpoints = cloud.home.path().join(FOLDER).join("endpoints");
    let written = async |text: &str| {
        let has = async || {
            let file = std::fs::read_dir(&endpoints).ok()?.next()?.ok()?.path();
            let has = std::fs::read_to_string(file).ok()?.contains(text);
            has.then_some(())
        };
        eventually(has).await.expect("it is written");
    };
    written("cluster_name").await;
    let away = endpoints.with_extension("away");
    std::fs::rename(&endpoints, &away).expect("it can be moved");
    cloud.act("web", "attach-vm", &cloud.vm_id(1).await).await;
    let says_so = async || {
        let (status, body) = cloud.management("/readyz").await;
        status == 503 && body.contains("the files of Envoy cannot be written")
    };
    let said = eventually(async || says_so().await.then_some(())).await;
    said.expect("it is said");
    std::fs::rename(&away, &endpoints).expect("it can be moved");
    written(&net.vm(1).to_string()).await;
    let over = eventually(async || (!says_so().await).then_some(())).await;
    over.expect("it is said no longer");
    cloud.plane.terminate();
    let (succeeded, log) = cloud.plane.wait();
    assert!(succeeded, "{log}");
    let said = log.matches("the files of Envoy cannot be written").count();
    assert_eq!(said, 1, "{log}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_networks_of_firewalls_are_in_the_file_of_listeners() {
    let net = Net::random();
    let inventory = net.inventory(1, &[&bare("web", "vms: []")]);
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &ENGINE);
    let post =
        async |path: &str, body: Value| cloud.shop.post(&format!("{PLACE}{path}"), body).await.ok();
    post("/firewall/offices", json!({})).await;
    for cidr in ["10.20.0.0/16", "192.0.2.1/32", "fd61::/24"] {
        let rule = json!({ "cidr": cidr });
        post("/firewall/offices/firewall-rule", rule).await;
    }
    let subnet = format!("{PLACE}/private-subnet/backend");
    let id = cloud.shop.get(&subnet).await.ok()["id"].clone();
    let attach = json!({ "private_subnet_id": id });
    post("/firewall/offices/attach-subnet", attach).await;
    let range = |prefix: &str, bits: u8| json!({ "address_prefix": prefix, "prefix_len": bits });
    let expected = [
        range("10.20.0.0", 16),
        range("192.0.2.1", 32),
        range("fd61::", 24),
    ];
    let file = cloud.home.path().join(FOLDER).join("lds.json");
    let has_all = async || {
        let text = std::fs::read_to_string(&file).ok()?;
        let listeners: Value = serde_json::from_str(&text).expect("the file is JSON");
        let found = listeners["resources"].as_array()?.iter().any(|listener| {
            let ranges =
                &listener["filter_chains"][0]["filter_chain_match"]["source_prefix_ranges"];
            let ranges = ranges.as_array().cloned().unwrap_or_default();
            ranges.len() == 3 && expected.iter().all(|range| ranges.contains(range))
        });
        found.then_some(())
    };
    let written = eventually(has_all).await;
    assert!(
        written.is_some(),
        "{}",
        std::fs::read_to_string(&file).unwrap_or_default()
    );
}

#[test]
fn settings_that_envoy_has_no_use_for_are_refused() {
    let home = Home::sqlite();
    let refused = |settings: &[&str]| home.fail(&[&["balance"], settings].concat());
    let error = refused(&["--balance-engine", "envoy"]);
    assert!(error.contains("needs balance_envoy_folder"), "{error}");
    let error = refused(&["--balance-envoy-folder", "envoy"]);
    assert!(error.contains("has no effect without"), "{error}");
    let project = ["--balance-connections-project", "100"];
    let error = refused(&[&ENGINE[..], &project].concat());
    assert!(
        error.contains("balance_connections_project has no effect"),
        "{error}"
    );
    let long = "x".repeat(100);
    let error = refused(&["--balance-engine", "envoy", "--balance-envoy-folder", &long]);
    assert!(error.contains("too long for the socket"), "{error}");
    assert!(!home.path().join(long).exists());
    let open = home.path().join("open");
    std::fs::create_dir(&open).expect("it can be made");
    let everybody = std::os::unix::fs::PermissionsExt::from_mode(0o777);
    std::fs::set_permissions(&open, everybody).expect("they can be set");
    let error = refused(&[
        "--balance-engine",
        "envoy",
        "--balance-envoy-folder",
        "open",
    ]);
    assert!(error.contains("other users may write there"), "{error}");
}
