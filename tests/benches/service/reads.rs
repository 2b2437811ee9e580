//! Reads of the service, compared with the generated server over an implementation in memory: CPU
//! time per request, of all threads but the caller's.

use std::net::SocketAddr;
use std::sync::mpsc;
use std::time::Duration;
use std::{fs, thread};

use serde_json::json;
use tests::memory::{ContractErrors, Gate, Memory, State};

use crate::load::Connection;
use crate::support::{Table, median, own_thread};
use crate::world::Service;

const ROUNDS: usize = 31;
const REPEAT: u32 = 512;
/// The number of concurrent callers. With as many, the next request has arrived whenever the server
/// has sent a response.
const CALLERS: usize = 32;

/// The same resources on both sides.
const INVENTORY: &str = "
locations: [{ name: eu-central-h1 }]
projects:
  - name: shop
    id: pjj99grz61ddttq24cf6gc6atm
    vms:
      - { name: app-1, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy, ip4: 203.0.113.21 }
      - { name: app-2, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }
      - { name: app-3, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }
      - { name: app-4, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }
      - { name: app-5, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }
      - { name: app-6, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }
      - { name: app-7, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }
      - { name: app-8, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }
      - { name: app-9, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }
      - { name: app-10, location: eu-central-h1, size: standard-2, storage_size_gib: 40, unix_user: deploy }
    private_subnets:
      - { name: backend, location: eu-central-h1, nics: [{ name: one, vm: app-1 }, { name: two, vm: app-2 }] }
";

pub fn run() {
    crate::support::stay_on(0);
    let mut table = Table::new(&["request", "callers", "the service", "in memory", "ratio"]);
    // The other side is filled with the responses of the service.
    let (address, token) = serve_service();
    let mut service = Caller::new(address, token);
    let mut state = State::default();
    let vms = service.get("/location/eu-central-h1/vm?page_size=10");
    state.vms = serde_json::from_value(json(&vms)["items"].clone())
        .expect("the response lists virtual machines");
    let subnet = service.get("/location/eu-central-h1/private-subnet/backend");
    state.subnets = vec![serde_json::from_value(json(&subnet)).expect("the response is a subnet")];
    let created = service.post(
        "/location/eu-central-h1/postgres/orders",
        &json!({ "size": "standard-2", "storage_size": 64 }),
    );
    state.databases =
        vec![serde_json::from_value(json(&created)).expect("the response is a database")];
    let address = serve("memory", move || async move {
        api_server::router(
            Memory::new(state),
            Gate,
            ContractErrors,
            api_server::server::Config::new(),
        )
    });
    let mut memory = Caller::new(address, tests::memory::TOKEN.to_owned());
    for (name, path) in [
        ("a database", "/location/eu-central-h1/postgres/orders"),
        (
            "a private subnet",
            "/location/eu-central-h1/private-subnet/backend",
        ),
        ("a page of 10", "/location/eu-central-h1/vm?page_size=10"),
    ] {
        assert_eq!(
            service.get(path),
            memory.get(path),
            "{name}: both must respond with the same"
        );
        for waiting in [Waiting::Alone, Waiting::ForTheLast, Waiting::InTurn] {
            let (mut ours, mut theirs) = (Vec::new(), Vec::new());
            for round in 0..=ROUNDS {
                let (one, other) = (
                    service.measure(path, waiting),
                    memory.measure(path, waiting),
                );
                if round > 0 {
                    ours.push(one);
                    theirs.push(other);
                }
            }
            let (ours, theirs) = (median(ours.into_iter()), median(theirs.into_iter()));
            table.row([
                name.to_owned(),
                waiting.name(),
                format!("{ours:.1} µs"),
                format!("{theirs:.1} µs"),
                format!("{:.2}", ours / theirs),
            ]);
        }
    }
    table.print("CPU per read, the service on SQLite and an implementation in memory");
}

fn json(text: &str) -> serde_json::Value {
    serde_json::from_str(text).expect("the response is JSON")
}

/// How many callers there are, and how they wait.
#[derive(Clone, Copy)]
enum Waiting {
    /// One caller, which waits for each response before it sends the next request.
    Alone,
    /// All callers send a request, and the last response is waited for first. So the server wakes them up
    /// once.
    ForTheLast,
    /// All callers send a request, and the responses are waited for in turn. A server that is slower than
    /// its callers finds them asleep at each response, and its time includes waking them up.
    InTurn,
}

impl Waiting {
    fn callers(self) -> usize {
        match self {
            Self::Alone => 1,
            Self::ForTheLast | Self::InTurn => CALLERS,
        }
    }

    fn name(self) -> String {
        let callers = self.callers();
        match self {
            Self::Alone => format!("{callers}"),
            Self::ForTheLast => format!("{callers}, woken up once"),
            Self::InTurn => format!("{callers}, woken up for each response"),
        }
    }
}

struct Caller {
    connections: Vec<Connection>,
    token: String,
}

impl Caller {
    fn new(address: SocketAddr, token: String) -> Self {
        Self {
            connections: (0..CALLERS).map(|_| Connection::open(address)).collect(),
            token,
        }
    }

    fn get(&mut self, path: &str) -> String {
        let request = self.request("GET", path, "");
        let response = self.connections[0].send(&request);
        assert_eq!(response.status, 200, "{path}: {}", response.body);
        response.body
    }

    fn post(&mut self, path: &str, body: &serde_json::Value) -> String {
        let request = self.request("POST", path, &body.to_string());
        let response = self.connections[0].send(&request);
        assert_eq!(response.status, 200, "{path}: {}", response.body);
        response.body
    }

    fn request(&self, method: &str, path: &str, body: &str) -> Vec<u8> {
        format!(
            "{method} /project/{}{path} HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {}\r\ncontent-type: \
             application/json\r\ncontent-length: {}\r\n\r\n{body}",
            tests::memory::PROJECT,
            self.token,
            body.len()
        )
        .into_bytes()
    }

    /// Returns the CPU time per request, in microseconds.
    fn measure(&mut self, path: &str, waiting: Waiting) -> f64 {
        let request = self.request("GET", path, "");
        let before = cpu_of_others();
        let callers = waiting.callers();
        for _ in 0..REPEAT as usize / callers {
            let connections = &mut self.connections[..callers];
            for connection in connections.iter_mut() {
                connection.ask(&request);
            }
            if let Waiting::ForTheLast = waiting {
                connections.reverse();
            }
            for connection in connections {
                connection.response();
            }
        }
        // The threads sleep now, so that their time is accounted for.
        thread::sleep(Duration::from_millis(5));
        (cpu_of_others() - before) / 1000.0 / f64::from(REPEAT)
    }
}

/// Returns the CPU time of all threads but this one, in nanoseconds.
fn cpu_of_others() -> f64 {
    let own = own_thread();
    let tasks = fs::read_dir("/proc/self/task")
        .expect("Linux has /proc/self/task")
        .flatten();
    let others = tasks.filter(|task| !own.ends_with(&*task.file_name().to_string_lossy()));
    others
        .filter_map(|task| {
            // A thread that has ended meanwhile has no statistics.
            let statistics = fs::read_to_string(task.path().join("schedstat")).ok()?;
            statistics.split(' ').next()?.parse::<f64>().ok()
        })
        .sum()
}

fn serve_service() -> (SocketAddr, String) {
    let (sender, receiver) = mpsc::channel();
    let address = serve("service", move || async move {
        let service = Service::sqlite(INVENTORY).await;
        sender
            .send(service.projects[0].1.clone())
            .expect("the benchmark waits for the project");
        let router = service.router.clone();
        // It lives as long as the process.
        Box::leak(Box::new(service));
        router
    });
    (address, receiver.recv().expect("the service starts"))
}

/// Serves a router on a thread of its own.
fn serve<F>(name: &str, router: impl FnOnce() -> F + Send + 'static) -> SocketAddr
where
    F: Future<Output = axum::Router>,
{
    let (sender, receiver) = mpsc::channel();
    let work = move || {
        // Threads that it starts inherit the processor, so that both sides pay the same for being
        // woken up.
        crate::support::stay_on(1);
        let runtime = tokio::runtime::Builder::new_current_thread()
            .enable_all()
            .build()
            .expect("a run time");
        runtime.block_on(async move {
            let router = router().await;
            let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
                .await
                .expect("a port is free");
            sender
                .send(listener.local_addr().expect("a listener has an address"))
                .expect("the benchmark waits for the address");
            axum::serve(listener, router).await
        })
    };
    thread::Builder::new()
        .name(name.to_owned())
        .spawn(work)
        .expect("a thread can be started");
    receiver.recv().expect("the server starts")
}
