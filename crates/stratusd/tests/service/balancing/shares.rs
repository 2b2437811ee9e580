//! Two projects on one data plane, of which one takes what it can get: the other one has its share.

use std::io::{BufRead, BufReader, Read};
use std::process::{Command, Stdio};
use std::time::{Duration, Instant};

use futures_util::future::join_all;
use reqwest::Method;
use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

use crate::support::balancing::{Cloud, DST, Net, SRC, Vm, a_second, ask_on, is_listening};
use crate::support::inventory::RIVAL;
use crate::support::{Home, eventually};

/// A load balancer of the inventory that checks health by HTTP.
fn balancer(name: &str, vms: &str) -> String {
    format!("name: {name}, src_port: {SRC}, health_check_endpoint: /up, stack: ipv4, vms: [{vms}]")
}

/// Adds a second project to an inventory: with the virtual machine `vm-quiet`, which has the address of
/// the virtual machine with a number, and the load balancer `quiet`.
fn with_quiet(net: Net, inventory: &str, vm: u8) -> String {
    let ip4 = net.vm(vm);
    format!(
        "{inventory}  - name: rival\n    id: {RIVAL}\n    \
         private_subnets: [{{ name: backend, location: eu-central-h1 }}]\n    vms:\n      \
         - {{ name: vm-quiet, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: u, ip4: {ip4} }}\n    \
         load_balancers:\n      - {{ location: eu-central-h1, subnet: backend, dst_port: {DST}, {} }}\n",
        balancer("quiet", "vm-quiet")
    )
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_does_not_take_all_connections() {
    let net = Net::random();
    let _vms = Vm::start_all(net, 3).await;
    let hostile = net.inventory(2, &[&balancer("one", "vm-1"), &balancer("two", "vm-2")]);
    let settings = [
        "--balance-connections",
        "6",
        "--balance-connections-project",
        "4",
        "--balance-connections-each",
        "3",
    ];
    let inventory = with_quiet(net, &hostile, 3);
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &settings);
    let mut held = Vec::new();
    for (name, room) in [("one", 3), ("two", 1), ("quiet", 2)] {
        let address = cloud.address(name, 1).await;
        let mut accepted = 0;
        for _ in 0..5 {
            let mut stream = TcpStream::connect(address).await.expect("it listens");
            if ask_on(&mut stream).await.is_ok() {
                accepted += 1;
                held.push(stream);
            }
        }
        assert_eq!(accepted, room, "{name}");
    }
    drop(held);
    let two = cloud.address("two", 1).await;
    let again = eventually(async || {
        let mut stream = TcpStream::connect(two).await.ok()?;
        ask_on(&mut stream).await.ok()
    });
    assert!(again.await.is_some(), "the places are not free again");
}

/// Connections in the handshake of TLS, which go on for ten seconds when their load balancer is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_project_keeps_its_share_when_its_load_balancer_is_another_one() {
    const SHARE: usize = 4;
    let net = Net::random();
    let _vms = Vm::start_all(net, 2).await;
    let inventory = with_quiet(net, &net.inventory(1, &[]), 2);
    let settings = [
        "--balance-connections",
        "6",
        "--balance-connections-project",
        "4",
    ];
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &settings);
    let place = "/location/eu-central-h1";
    let subnet = format!("{place}/private-subnet/backend");
    let subnet = cloud.shop.get(&subnet).await.ok()["id"].clone();
    let mut held = Vec::new();
    let mut room = Vec::new();
    let begun = Instant::now();
    for name in ["first", "second"] {
        let path = format!("{place}/load-balancer/{name}");
        let body = json!({
            "private_subnet_id": subnet, "src_port": SRC, "dst_port": DST, "algorithm": "round_robin",
            "health_check_protocol": "tcp", "stack": "ipv4", "cert_enabled": true,
        });
        cloud.shop.post(&path, body).await.ok();
        let address = cloud.address(name, 0).await;
        let mut streams = Vec::new();
        for _ in 0..=SHARE {
            streams.push(TcpStream::connect(address).await.expect("it listens"));
        }
        let open = streams.iter_mut().map(async |stream| {
            let closed = tokio::time::timeout(Duration::from_millis(500), stream.read_u8()).await;
            usize::from(closed.is_err())
        });
        room.push(join_all(open).await.into_iter().sum::<usize>());
        held.extend(streams);
        let deleted = cloud.shop.try_call(Method::DELETE, &path, None).await;
        assert_eq!(deleted.map(|response| response.status).ok(), Some(204));
        // Until the data plane has looked for those that are gone, and whose connections have ended.
        a_second().await;
    }
    let took = begun.elapsed();
    assert!(
        took < Duration::from_secs(10),
        "the handshakes have ended after {took:?}"
    );
    assert_eq!(room, [SHARE, 0]);
    let quiet = cloud.address("quiet", 1).await;
    let mut stream = TcpStream::connect(quiet).await.expect("it listens");
    ask_on(&mut stream).await.expect("there is room for others");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn silent_vms_of_a_project_do_not_delay_the_checks_of_another() {
    let net = Net::random();
    let _vm = Vm::start(net, 1).await;
    // More than there are checks at a time. The kernel accepts their connections, and nobody responds.
    let others = [net, Net::random(), Net::random()];
    let silent = others
        .into_iter()
        .flat_map(|net| (2..152).map(move |number| net.vm(number)));
    let mut held = Vec::new();
    let (mut vms, mut names) = (Vec::new(), Vec::new());
    for (number, ip4) in silent.enumerate() {
        held.push(
            TcpListener::bind((ip4, DST))
                .await
                .expect("the address is free"),
        );
        names.push(format!("vm-{number}"));
        vms.push(format!(
            "      - {{ name: vm-{number}, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: u, ip4: {ip4} }}\n"
        ));
    }
    let balancers = names.chunks(100).enumerate().map(|(number, vms)| {
        let vms = vms.join(", ");
        let balancer = balancer(&format!("hostile-{number}"), &vms);
        format!(
            "      - {{ location: eu-central-h1, subnet: backend, dst_port: {DST}, {balancer} }}\n"
        )
    });
    let hostile = net.inventory(0, &[]).replace(
        "    vms:\n    load_balancers: []\n",
        &format!(
            "    vms:\n{}    load_balancers:\n{}",
            vms.concat(),
            balancers.collect::<String>()
        ),
    );
    let inventory = with_quiet(net, &hostile, 1);
    // One that does not respond keeps a check for this long.
    let settings = ["--balance-check-timeout", "60s"];
    let begun = Instant::now();
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &settings);
    cloud.address("quiet", 1).await;
    let took = begun.elapsed();
    assert!(
        took < Duration::from_secs(45),
        "it was checked after {took:?}"
    );
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_address_too_many_of_a_project_is_not_listened_on_and_says_so() {
    let net = Net::random();
    let names = ["one", "two", "three"];
    let balancers = names.map(|name| balancer(name, ""));
    let hostile = net.inventory(1, &balancers.each_ref().map(String::as_str));
    let inventory = with_quiet(net, &hostile, 2);
    // Two of them are for each project. With few connections, no limit of open files lowers this.
    let settings = ["--balance-listeners", "5", "--balance-connections", "100"];
    let cloud = Cloud::start(Home::sqlite(), net, &inventory, &settings);
    cloud.wait_for("quiet", is_listening).await;
    let problem = |status: &Value| status["listeners"][0]["problem"].clone();
    let failed = eventually(async || {
        names
            .into_iter()
            .find(|name| problem(&cloud.status(name)).is_string())
    });
    let failed = failed.await.expect("there is room for two");
    let said = problem(&cloud.status(failed)).to_string();
    assert!(said.contains("raise balance_listeners"), "{said}");
    let other = names.into_iter().find(|name| *name != failed);
    let path = format!(
        "/location/eu-central-h1/load-balancer/{}",
        other.expect("two others listen")
    );
    let deleted = cloud
        .shop
        .try_call(reqwest::Method::DELETE, &path, None)
        .await;
    assert_eq!(deleted.expect("the service responds").status, 204);
    cloud.wait_for(failed, is_listening).await;
}

#[test]
fn no_more_is_taken_than_files_can_be_opened() {
    let home = Home::sqlite();
    let balance = home.command(&[
        "balance",
        "--balance-management-listen",
        "127.0.0.1:0",
        "--balance-connections",
        "1000",
        "--balance-listeners",
        "100",
    ]);
    // 512 are for health checks and other purposes, and 210 are a tenth of what is wanted.
    let mut limited = Command::new("/bin/sh");
    limited
        .args(["-c", "ulimit -n 722 && exec \"$0\" \"$@\""])
        .arg(balance.get_program())
        .args(balance.get_args())
        .current_dir(home.path());
    for (name, value) in balance.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let mut plane = limited
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut line = String::new();
    BufReader::new(plane.stdout.take().expect("it is piped"))
        .read_line(&mut line)
        .expect("it says where it is");
    kill_process(Pid::from_child(&plane), Signal::TERM).expect("it is alive");
    let mut log = String::new();
    let mut stderr = plane.stderr.take().expect("it is piped");
    stderr.read_to_string(&mut log).expect("the log is text");
    assert!(plane.wait().expect("it was alive").success(), "{log}");
    assert!(
        log.contains("the limit of open files allows fewer connections and listeners"),
        "{log}"
    );
    assert!(log.contains("connections=100 listeners=10\n"), "{log}");
}
