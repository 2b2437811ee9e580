//! What a change of a load balancer costs while callers use it: by the data plane, and by HAProxy
//! driven at run time. HAProxy is changed by its socket where that can do it, and by a reload of its
//! configuration where it cannot: to listen on another port, and to choose by another algorithm.

use std::fs;
use std::net::SocketAddr;
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};
use tempfile::TempDir;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpStream, UnixStream};

use super::VMS;
use super::rival::{DEFAULTS, GLOBAL, HAPROXY, haproxy_servers};
use crate::bench::processes::{cpu_of_tree, memory_of_tree, tree};
use crate::bench::{percentile, print_head, rounds};
use crate::support::balancing::{Cloud, DST, Net, SRC, Vm, ask, ask_on};
use crate::support::{Home, PATIENCE, eventually};

const ROUNDS: u64 = 15;
/// The number of callers with a connection for each request, and of those that keep theirs.
const CALLERS: usize = 16;
/// How long a caller waits between two requests: it is changes that are measured, not throughput.
const PAUSE: Duration = Duration::from_millis(5);
/// How many requests a caller that keeps its connection sends on it.
const ON_ONE: usize = 200;
/// How long after a change the next one comes.
const SETTLE: Duration = Duration::from_millis(300);
/// The port of the second load balancer, from which each change counts up.
const OTHER: u16 = SRC + 1;

/// A kind of change.
#[derive(Debug, Clone, Copy)]
enum Change {
    Attach,
    Algorithm,
    Port,
}

impl Change {
    const ALL: [Self; 3] = [Self::Attach, Self::Algorithm, Self::Port];

    fn name(self) -> &'static str {
        match self {
            Self::Attach => "a virtual machine is detached and attached",
            Self::Algorithm => "another algorithm, and back",
            Self::Port => "another port",
        }
    }

    /// Returns how HAProxy makes it.
    fn of_haproxy(self) -> &'static str {
        match self {
            Self::Attach => "socket",
            Self::Algorithm | Self::Port => "reload",
        }
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
#[ignore = "a benchmark, which `cargo xtask bench balance` runs"]
async fn changes_beside_haproxy() {
    let net = Net::random();
    // The last one is that of the second load balancer.
    let _vms = Vm::start_all(net, VMS + 1).await;
    let ours = Way::Ours(Box::new(Ours::start(net).await));
    let mut ways = vec![ours];
    if let Some(haproxy) = Haproxy::start(net).await {
        ways.push(Way::Haproxy(Box::new(haproxy)));
    }
    let columns = [
        "change",
        "way",
        "in force after",
        "slowest",
        "CPU per change",
        "requests during all changes",
        "failed",
    ];
    print_head("load balancers: changes while callers use them", &columns);
    let mut measured: Vec<Measured> = Vec::new();
    for way in &mut ways {
        measured.push(way.measure().await);
    }
    for (at, change) in Change::ALL.into_iter().enumerate() {
        for (way, measured) in ways.iter().zip(&mut measured) {
            let means = match way {
                Way::Ours(_) => String::new(),
                Way::Haproxy(_) => format!(", {}", change.of_haproxy()),
            };
            let delays = &mut measured.delays[at];
            println!(
                "| {} | {}{means} | {:.0} ms | {:.0} ms | {:.1} ms | {} | {} |",
                change.name(),
                way.name(),
                percentile(delays, 50),
                percentile(delays, 100),
                measured.costs[at],
                measured.requests,
                measured.failed,
            );
        }
    }
    let columns = [
        "way",
        "changes with an open connection before each",
        "processes",
        "memory",
        "memory before",
    ];
    print_head("load balancers: what changes leave behind", &columns);
    for (way, measured) in ways.iter().zip(&measured) {
        println!(
            "| {} | {} | {} | {:.1} MiB | {:.1} MiB |",
            way.name(),
            measured.kept,
            measured.processes,
            measured.memory,
            measured.memory_before,
        );
    }
}

/// What was measured of one way, in the order of [`Change::ALL`] where it depends on the kind of change.
struct Measured {
    /// How long each change of a kind took until it was in force, in milliseconds.
    delays: [Vec<f64>; 3],
    /// The CPU time of a change, in milliseconds.
    costs: [f64; 3],
    requests: u64,
    failed: u64,
    /// The number of connections that stayed open through changes.
    kept: usize,
    processes: usize,
    /// In MiB, with the connections that stayed open.
    memory: f64,
    memory_before: f64,
}

/// A load balancer that can be changed.
enum Way {
    Ours(Box<Ours>),
    Haproxy(Box<Haproxy>),
}

impl Way {
    fn name(&self) -> &'static str {
        match self {
            Self::Ours(_) => "ours",
            Self::Haproxy(_) => "HAProxy",
        }
    }

    fn process(&self) -> u32 {
        match self {
            Self::Ours(ours) => ours.cloud.plane.id(),
            Self::Haproxy(haproxy) => haproxy.child.id(),
        }
    }

    /// Returns the address of the load balancer that callers use.
    fn web(&self) -> SocketAddr {
        match self {
            Self::Ours(ours) => ours.web,
            Self::Haproxy(haproxy) => haproxy.web,
        }
    }

    async fn measure(&mut self) -> Measured {
        let memory_before = memory_of_tree(self.process());
        let count = rounds(ROUNDS);
        let callers = Callers::start(self.web());
        let mut delays = [const { Vec::new() }; 3];
        for _ in 0..count {
            for (change, delays) in Change::ALL.into_iter().zip(&mut delays) {
                delays.push(self.change(change, Wait::UntilInForce).await);
            }
        }
        let (requests, failed) = callers.end().await;
        // Without callers, so that only the changes cost, and not what is forwarded meanwhile.
        let mut costs = [0.0; 3];
        let mut kept = Vec::new();
        for (change, cost) in Change::ALL.into_iter().zip(&mut costs) {
            let before = cpu_of_tree(self.process());
            for _ in 0..count {
                let mut open = TcpStream::connect(self.web()).await.expect("it listens");
                ask_on(&mut open).await.expect("it responds");
                kept.push(open);
                self.change(change, Wait::ForATime).await;
            }
            let spent = cpu_of_tree(self.process()) - before;
            *cost = spent * 1e3 / f64::from(u32::try_from(count).unwrap_or(u32::MAX));
        }
        let processes = tree(self.process()).len();
        let memory = memory_of_tree(self.process());
        for open in &mut kept {
            ask_on(open).await.expect("a connection goes on");
        }
        Measured {
            delays,
            costs,
            requests,
            failed,
            kept: kept.len(),
            processes,
            memory,
            memory_before,
        }
    }

    /// Makes a change of a kind, and waits. Returns how long that took, in milliseconds.
    async fn change(&mut self, change: Change, wait: Wait) -> f64 {
        match change {
            Change::Attach => self.attach(wait).await,
            Change::Algorithm => self.choose(wait).await,
            Change::Port => self.listen(wait).await,
        }
    }

    /// Detaches the last virtual machine and attaches it again, until it serves a request.
    async fn attach(&mut self, wait: Wait) -> f64 {
        let last = format!("vm-{VMS}");
        match self {
            Self::Ours(ours) => ours.cloud.act("web", "detach-vm", &ours.last).await,
            Self::Haproxy(haproxy) => haproxy.set("maint").await,
        }
        tokio::time::sleep(SETTLE).await;
        let begun = Instant::now();
        match self {
            Self::Ours(ours) => ours.cloud.act("web", "attach-vm", &ours.last).await,
            Self::Haproxy(haproxy) => haproxy.set("ready").await,
        }
        let web = self.web();
        wait.until(begun, async || {
            ask(web).await.is_ok_and(|name| name == last)
        })
        .await
    }

    /// Chooses by the caller's address and then in turn, until a caller meets another virtual machine.
    async fn choose(&mut self, wait: Wait) -> f64 {
        self.algorithm("hash_based", "source").await;
        tokio::time::sleep(SETTLE).await;
        let web = self.web();
        let always = ask(web).await.expect("it responds");
        let begun = Instant::now();
        self.algorithm("round_robin", "roundrobin").await;
        wait.until(begun, async || {
            ask(web).await.is_ok_and(|name| name != always)
        })
        .await
    }

    async fn algorithm(&mut self, ours: &str, haproxys: &'static str) {
        match self {
            Self::Ours(way) => way.cloud.patch("web", json!({ "algorithm": ours })).await,
            Self::Haproxy(way) => {
                way.algorithm = haproxys;
                way.reload().await;
            }
        }
    }

    /// Moves the second load balancer to the next port, until it responds there.
    async fn listen(&mut self, wait: Wait) -> f64 {
        tokio::time::sleep(SETTLE).await;
        let begun = Instant::now();
        let other = match self {
            Self::Ours(way) => {
                let port = way.other.port() + 1;
                way.other.set_port(port);
                way.cloud.patch("other", json!({ "src_port": port })).await;
                way.other
            }
            Self::Haproxy(way) => {
                way.other.set_port(way.other.port() + 1);
                way.reload().await;
                way.other
            }
        };
        wait.until(begun, async || ask(other).await.is_ok()).await
    }
}

/// How to wait after a change.
#[derive(Debug, Clone, Copy)]
enum Wait {
    /// Ask until it is in force.
    UntilInForce,
    /// Ask nothing, because requests cost CPU time too.
    ForATime,
}

impl Wait {
    /// Waits for a condition or a time, and returns how long ago a moment is then, in milliseconds.
    async fn until(self, begun: Instant, is_so: impl AsyncFn() -> bool) -> f64 {
        match self {
            Self::ForATime => tokio::time::sleep(SETTLE).await,
            Self::UntilInForce => {
                while !is_so().await {
                    assert!(begun.elapsed() < PATIENCE, "a change is never in force");
                    tokio::time::sleep(Duration::from_millis(1)).await;
                }
            }
        }
        begun.elapsed().as_secs_f64() * 1e3
    }
}

/// Callers of a load balancer.
struct Callers {
    is_over: Arc<AtomicBool>,
    done: Arc<AtomicU64>,
    failed: Arc<AtomicU64>,
    tasks: Vec<tokio::task::JoinHandle<()>>,
}

impl Callers {
    fn start(address: SocketAddr) -> Self {
        let mut callers = Self {
            is_over: Arc::default(),
            done: Arc::default(),
            failed: Arc::default(),
            tasks: Vec::new(),
        };
        for number in 0..2 * CALLERS {
            let on_one = if number % 2 == 0 { 1 } else { ON_ONE };
            let (is_over, done, failed) = (
                Arc::clone(&callers.is_over),
                Arc::clone(&callers.done),
                Arc::clone(&callers.failed),
            );
            callers.tasks.push(tokio::spawn(async move {
                while !is_over.load(Ordering::Relaxed) {
                    let asked = async {
                        let mut stream = TcpStream::connect(address).await?;
                        for _ in 0..on_one {
                            ask_on(&mut stream).await?;
                            done.fetch_add(1, Ordering::Relaxed);
                            tokio::time::sleep(PAUSE).await;
                        }
                        Ok::<_, std::io::Error>(())
                    };
                    if asked.await.is_err() {
                        failed.fetch_add(1, Ordering::Relaxed);
                    }
                }
            }));
        }
        callers
    }

    /// Returns the numbers of requests that succeeded and that failed.
    async fn end(self) -> (u64, u64) {
        self.is_over.store(true, Ordering::Relaxed);
        for task in self.tasks {
            task.await.expect("a caller does not panic");
        }
        let count = |counter: &AtomicU64| counter.load(Ordering::Relaxed);
        (count(&self.done), count(&self.failed))
    }
}

/// The data plane, changed by the API.
struct Ours {
    cloud: Cloud,
    web: SocketAddr,
    other: SocketAddr,
    last: Value,
}

impl Ours {
    async fn start(net: Net) -> Self {
        let names: Vec<String> = (1..=VMS).map(|number| format!("vm-{number}")).collect();
        let web = format!(
            "name: web, src_port: {SRC}, health_check_endpoint: /, health_check_protocol: tcp, stack: ipv4, vms: [{}]",
            names.join(", ")
        );
        let other = format!(
            "name: other, src_port: {OTHER}, health_check_endpoint: /, health_check_protocol: tcp, stack: ipv4, vms: [vm-{}]",
            VMS + 1
        );
        let inventory = net.inventory(VMS + 1, &[&web, &other]);
        // Connections of a machine that is detached are to last, as HAProxy leaves them.
        let settings = [
            "--log",
            "warn",
            "--balance-check-every",
            "5s",
            "--balance-drain-timeout",
            "10m",
        ];
        let cloud = Cloud::start(Home::sqlite(), net, &inventory, &settings);
        Self {
            web: cloud.address("web", usize::from(VMS)).await,
            other: cloud.address("other", 1).await,
            last: cloud.vm_id(VMS).await,
            cloud,
        }
    }
}

/// HAProxy with its supervisor, which reloads the configuration.
struct Haproxy {
    child: Child,
    folder: TempDir,
    net: Net,
    web: SocketAddr,
    other: SocketAddr,
    algorithm: &'static str,
}

impl Haproxy {
    /// Starts HAProxy. Returns `None` if it is not installed.
    async fn start(net: Net) -> Option<Self> {
        if !Path::new(HAPROXY).exists() {
            println!("skipped: HAProxy is not installed");
            return None;
        }
        let folder = tempfile::tempdir().expect("the folder is writable");
        let (web, other) = (
            SocketAddr::from((net.vm(100), SRC)),
            SocketAddr::from((net.vm(101), OTHER)),
        );
        let algorithm = "roundrobin";
        Self::configure(folder.path(), net, web, other, algorithm);
        let mut command = Command::new(HAPROXY);
        command
            .arg("-W")
            .arg("-S")
            .arg(folder.path().join("master"));
        command.arg("-f").arg(folder.path().join("haproxy.cfg"));
        let child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn();
        let haproxy = Self {
            child: child.unwrap_or_else(|error| panic!("HAProxy does not start: {error}")),
            folder,
            net,
            web,
            other,
            algorithm,
        };
        let listens = async || (ask(web).await.is_ok() && ask(other).await.is_ok()).then_some(());
        eventually(listens).await.expect("HAProxy listens");
        Some(haproxy)
    }

    fn configure(folder: &Path, net: Net, web: SocketAddr, other: SocketAddr, algorithm: &str) {
        let socket = folder.join("admin");
        let config = format!(
            "global\n{GLOBAL}    stats socket {} level admin expose-fd listeners\n\
             {DEFAULTS}listen web\n    bind {web}\n    balance {algorithm}\n{}\
             listen other\n    bind {other}\n    server vm {}:{DST} check inter 5s\n",
            socket.display(),
            haproxy_servers(net),
            net.vm(VMS + 1),
        );
        fs::write(folder.join("haproxy.cfg"), config).expect("the folder is writable");
    }

    /// Sets the state of the last virtual machine by the socket. For a time after a reload, it is that
    /// of the process that ends, which refuses.
    async fn set(&self, state: &str) {
        let command = format!("set server web/vm-{VMS} state {state}");
        let set = async || {
            let answer = self.send("admin", &command).await;
            answer.trim().is_empty().then_some(())
        };
        let set = eventually(set).await;
        set.unwrap_or_else(|| panic!("HAProxy refuses {command:?}"));
    }

    /// Takes the configuration as it is now.
    async fn reload(&self) {
        let Self {
            folder,
            net,
            web,
            other,
            algorithm,
            ..
        } = self;
        Self::configure(folder.path(), *net, *web, *other, algorithm);
        self.send("master", "reload").await;
    }

    /// Sends a command to a socket. While HAProxy takes its configuration, the supervisor accepts none.
    async fn send(&self, socket: &str, command: &str) -> String {
        let path = self.folder.path().join(socket);
        let connect = async || UnixStream::connect(&path).await.ok();
        let stream = eventually(connect).await;
        let mut stream = stream.unwrap_or_else(|| panic!("HAProxy accepts no {command:?}"));
        let mut answer = String::new();
        let sent = async {
            stream.write_all(format!("{command}\n").as_bytes()).await?;
            stream.read_to_string(&mut answer).await
        };
        sent.await
            .unwrap_or_else(|error| panic!("HAProxy does not take {command:?}: {error}"));
        answer
    }
}

impl Drop for Haproxy {
    fn drop(&mut self) {
        // The supervisor ends the others.
        let _ = kill_process(Pid::from_child(&self.child), Signal::TERM);
        let _ = self.child.wait();
    }
}
