//! The network between two replicas and their server stalls, slows down, and breaks: nothing that
//! was acknowledged is lost, and the server never has more backends than the replicas may have.
//!
//! `STRATUS_SEED` repeats a schedule of faults, and `STRATUS_CASES` runs more of them.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use rand::rngs::StdRng;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use reqwest::Method;
use serde_json::{Value as Json, json};

use super::sessions::count;
use crate::history::{Entry, Model, Name, OnName, OnValue, Value, search};
use crate::support::caller::{Caller, JsonResponse};
use crate::support::cluster::Cluster;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;
use crate::support::proxy::{Ending, Flow, Proxy};
use crate::support::whole::HALF_CHANGES;
use crate::support::{Home, eventually, variable};

const PLACE: &str = "/location/eu-central-h1";
/// The connections that each replica may have.
const CONNECTIONS: usize = 4;
/// The schedules of an ordinary run, whose seeds begin at 0.
const CASES: u64 = 2;
/// The faults of a schedule.
const FAULTS: usize = 8;
/// The callers of each replica.
const CALLERS: u64 = 3;
/// How long a fault lasts, in milliseconds. In every fourth schedule one lasts for [`LONG`].
const SHORT: std::ops::Range<u64> = 100..900;
/// Longer than a statement may take, and than a connection may take to be made.
const LONG: Duration = Duration::from_secs(16);
/// How long a request may take: it waits for a connection twice, for its token and for itself, and
/// then for a statement each time.
const RESPONSE: Duration = Duration::from_secs(40);
/// How long after the last fault the replicas respond as before: a statement that was sent before
/// may take its time, and so may a new connection after it.
const RECOVERY: Duration = Duration::from_secs(16);

/// Two replicas, each with a proxy before the same server.
struct Replicas {
    cluster: Cluster,
    proxies: [Proxy; 2],
    services: [Service; 2],
    callers: [Caller; 2],
    _home: Home,
}

impl Replicas {
    async fn start() -> Option<Self> {
        // One more than both replicas may have is for the administrator, and one for a lock.
        let most = (2 * CONNECTIONS + 2).to_string();
        let settings = [
            ("max_connections", &*most),
            ("superuser_reserved_connections", "0"),
        ];
        let (home, cluster) = Home::on_server(&settings, &[])?;
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        let server = cluster.port();
        let proxies = [Proxy::start(server).await, Proxy::start(server).await];
        let services = ["one", "two"].map(|name| {
            let proxy = &proxies[usize::from(name == "two")];
            let port = format!(":{}/", proxy.port());
            let url = cluster.url().replace(&format!(":{server}/"), &port);
            home.serve(&[
                "--database-url",
                &format!("{url}?application_name={name}"),
                "--database-connections",
                &CONNECTIONS.to_string(),
                "--simulate-delay",
                "50ms",
                "--simulate-jitter",
                "0s",
                "--reconcile-lease",
                "2s",
                "--quota-private-subnets",
                "1000000",
                "--quota-firewalls",
                "1000000",
                "--quota-postgres-databases",
                "1000000",
            ])
        });
        let callers = services
            .each_ref()
            .map(|service| Caller::new(&service.base, SHOP, &token));
        Some(Self {
            cluster,
            proxies,
            services,
            callers,
            _home: home,
        })
    }

    /// Counts the backends of each replica again and again for a time.
    async fn watch(&self, time: Duration) {
        let until = Instant::now() + time;
        loop {
            self.ensure_few();
            if Instant::now() >= until {
                return;
            }
            tokio::time::sleep(Duration::from_millis(20)).await;
        }
    }

    /// Checks that no replica has more backends than connections, and by this that the
    /// administrator can connect.
    fn ensure_few(&self) {
        let sql = "SELECT application_name || ' ' || count(*) FROM pg_stat_activity \
                   WHERE application_name IN ('one', 'two') GROUP BY application_name";
        let mut counted = self.cluster.ask(sql);
        // On a busy machine, the backends of the last questions are still there when psql has ended.
        for _ in 0..100 {
            if counted.is_ok() {
                break;
            }
            std::thread::sleep(Duration::from_millis(100));
            counted = self.cluster.ask(sql);
        }
        for line in counted.expect("the administrator can connect").lines() {
            let (_, backends) = line.split_once(' ').expect("it has a name and a number");
            let backends: usize = backends.parse().expect("it is a number");
            assert!(backends <= CONNECTIONS, "{line} backends");
        }
    }

    /// Waits until both replicas respond as they did before the faults.
    async fn recover(&self, name: &str) {
        let begun = Instant::now();
        for (replica, caller) in self.callers.iter().enumerate() {
            let path = format!("{PLACE}/private-subnet/{name}-{replica}");
            let mut made = caller.post_nothing(&path).await;
            while made.status != 200 {
                let took = begun.elapsed();
                assert!(took < RECOVERY, "replica {replica}, {took:?}: {made:?}");
                self.ensure_few();
                made = caller.post_nothing(&path).await;
            }
            caller.get(&path).await.ok();
        }
        for service in &self.services {
            let ready = eventually(async || {
                let ready = reqwest::get(format!("{}/readyz", service.management)).await;
                (ready.expect("the service responds").status() == 200).then_some(())
            });
            ready.await.expect("the service is ready");
        }
    }
}

/// What is wrong with the network.
#[derive(Debug, Clone, Copy)]
enum Fault {
    /// No byte arrives.
    Partition,
    /// No byte of the service arrives.
    NoRequests,
    /// No byte of the server arrives.
    NoResponses,
    /// Few bytes arrive.
    Slow,
    /// No byte arrives, and then all connections are closed.
    Lost(Ending),
    /// All connections are closed.
    Cut(Ending),
}

const KINDS: [Fault; 8] = [
    Fault::Partition,
    Fault::NoRequests,
    Fault::NoResponses,
    Fault::Slow,
    Fault::Lost(Ending::Reset),
    Fault::Lost(Ending::Fin),
    Fault::Cut(Ending::Reset),
    Fault::Cut(Ending::Fin),
];

/// Draws a schedule and lets it happen.
async fn break_network(replicas: &Replicas, seed: u64) {
    let mut random = StdRng::seed_from_u64(seed);
    let long = (seed % 4 == 3).then(|| random.random_range(0..FAULTS));
    for number in 0..FAULTS {
        let fault = *KINDS.choose(&mut random).expect("there are some");
        // One replica, or both.
        let reach = random.random_range(0..3_usize);
        let length = Duration::from_millis(random.random_range(SHORT));
        let length = if long == Some(number) { LONG } else { length };
        println!("{fault:?} for {length:?} between the server and {reach} (2: both)");
        let proxies = || {
            let all = replicas.proxies.iter().enumerate();
            all.filter(move |(at, _)| reach == 2 || reach == *at)
                .map(|(_, proxy)| proxy)
        };
        for proxy in proxies() {
            match fault {
                Fault::Partition | Fault::Lost(_) => proxy.set(Flow::Held, Flow::Held),
                Fault::NoRequests => proxy.set(Flow::Held, Flow::Free),
                Fault::NoResponses => proxy.set(Flow::Free, Flow::Held),
                Fault::Slow => proxy.set(Flow::Slow, Flow::Slow),
                Fault::Cut(ending) => proxy.cut(ending),
            }
        }
        replicas.watch(length).await;
        for proxy in proxies() {
            if let Fault::Lost(ending) = fault {
                proxy.cut(ending);
            }
            proxy.set(Flow::Free, Flow::Free);
        }
        let pause = Duration::from_millis(random.random_range(0..200));
        replicas.watch(pause).await;
    }
}

/// The operations of all callers, by register.
#[derive(Default)]
struct Histories {
    moments: AtomicU64,
    names: Mutex<BTreeMap<String, Vec<Entry<OnName>>>>,
    tags: Mutex<BTreeMap<String, Vec<Entry<OnValue>>>>,
    /// The number of responses by status.
    statuses: Mutex<BTreeMap<u16, usize>>,
    is_over: AtomicBool,
}

impl Histories {
    /// Sends a request. Returns its moment, and the response with its moment.
    async fn send(
        &self,
        caller: &Caller,
        method: Method,
        path: &str,
        body: Option<&Json>,
    ) -> (u64, u64, JsonResponse) {
        let is_read = method == Method::GET;
        let call = self.moments.fetch_add(1, Ordering::SeqCst);
        let begun = Instant::now();
        let response = caller.try_call(method, path, body).await;
        let response = response.expect("the service responds");
        let back = self.moments.fetch_add(1, Ordering::SeqCst);
        assert!(begun.elapsed() < RESPONSE, "{path}: {:?}", begun.elapsed());
        // A commit whose response is lost is an unexpected error: nobody knows what was changed.
        let expected: &[u16] = if is_read {
            &[200, 404, 503]
        } else {
            &[200, 400, 404, 409, 500, 503]
        };
        assert!(expected.contains(&response.status), "{path}: {response:?}");
        let mut statuses = self.statuses.lock().expect("no caller panics with it");
        *statuses.entry(response.status).or_default() += 1;
        (call, back, response)
    }

    fn on_name(&self, path: &str, entry: Entry<OnName>) {
        let mut names = self.names.lock().expect("no caller panics with it");
        names.entry(path.to_owned()).or_default().push(entry);
    }

    fn on_tag(&self, path: &str, entry: Entry<OnValue>) {
        let mut tags = self.tags.lock().expect("no caller panics with it");
        tags.entry(path.to_owned()).or_default().push(entry);
    }

    /// Makes a resource of a name that others make too.
    async fn make(&self, caller: &Caller, path: &str) {
        let body = path
            .contains("/postgres/")
            .then(|| json!({ "size": "standard-2", "storage_size": 64 }));
        let (call, back, response) = self.send(caller, Method::POST, path, body.as_ref()).await;
        let (back, action) = match response.status {
            200 => (Some(back), OnName::Made(id(&response.body))),
            400 => (Some(back), OnName::Refused),
            500 => (None, OnName::Lost),
            // Nothing was changed: a create that has happened nevertheless is seen later.
            _ => return,
        };
        self.on_name(path, Entry { call, back, action });
    }

    async fn see(&self, caller: &Caller, path: &str) -> u16 {
        let (call, back, response) = self.send(caller, Method::GET, path, None).await;
        let back = Some(back);
        let found = match response.status {
            200 => Some(id(&response.body)),
            404 => None,
            status => return status,
        };
        if let (Some(_), Some(tags)) = (&found, response.body["tags"].as_array()) {
            let tag = tags.first().and_then(|tag| tag["value"].as_str());
            let action = OnValue::Read(tag.map(str::to_owned));
            self.on_tag(path, Entry { call, back, action });
        }
        let action = OnName::Seen(found);
        self.on_name(path, Entry { call, back, action });
        response.status
    }

    async fn tag(&self, caller: &Caller, path: &str, tag: String) {
        let body = json!({ "tags": [{ "key": "n", "value": tag }] });
        let (call, back, response) = self.send(caller, Method::PATCH, path, Some(&body)).await;
        let back = match response.status {
            200 => Some(back),
            500 => None,
            _ => return,
        };
        let action = OnValue::Write(tag);
        self.on_tag(path, Entry { call, back, action });
    }

    /// Calls until the faults are over.
    async fn run(&self, caller: Caller, seed: u64, number: u64) {
        let mut random = StdRng::seed_from_u64(seed * CALLERS * 2 + number);
        let begun = Instant::now();
        while !self.is_over.load(Ordering::Relaxed) {
            // Everybody uses the same names, and then the next.
            let age = begun.elapsed().as_millis() / 300;
            let name = format!("s{seed}-{age}-{}", random.random_range(0..2));
            let subnet = format!("{PLACE}/private-subnet/{name}");
            let database = format!("{PLACE}/postgres/s{seed}-{}", age / 4);
            match random.random_range(0..8) {
                0 | 1 => self.make(&caller, &subnet).await,
                2 => self.make(&caller, &database).await,
                seen @ (3 | 4) => {
                    let path = if seen == 3 { &subnet } else { &database };
                    self.see(&caller, path).await;
                }
                _ => {
                    let tag = random.random_range(0..u32::MAX).to_string();
                    self.tag(&caller, &database, tag).await;
                }
            }
        }
    }

    /// Reads everything at the end, and checks all histories.
    async fn check(&self, caller: &Caller) {
        let names: Vec<String> = {
            let names = self.names.lock().expect("no caller panics with it");
            names.keys().cloned().collect()
        };
        for path in &names {
            assert_ne!(self.see(caller, path).await, 503, "{path}");
        }
        for (path, history) in &*self.names.lock().expect("no caller panics with it") {
            ensure_linearizable(Name::Free, history, path);
        }
        for (path, history) in &*self.tags.lock().expect("no caller panics with it") {
            ensure_linearizable(Value(None), history, path);
        }
        let statuses = self.statuses.lock().expect("no caller panics with it");
        println!("responses by status: {statuses:?}");
        let done = statuses.get(&200).copied().unwrap_or_default();
        assert!(done > 50, "too little happened to prove anything: {done}");
    }
}

fn id(body: &Json) -> String {
    body["id"].as_str().expect("it has an id").to_owned()
}

fn ensure_linearizable<M: Model>(start: M, history: &[Entry<M::Action>], path: &str) {
    let mut is_found = false;
    search([start], history, |_| {
        is_found = true;
        true
    });
    assert!(is_found, "{path}: {history:#?}");
}

/// Checks that no change was made in part.
fn ensure_whole(cluster: &Cluster) {
    for (what, sql) in HALF_CHANGES {
        assert_eq!(count(cluster, sql), 0, "{what}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn a_network_that_breaks_loses_nothing_and_leaves_no_backends() {
    let Some(replicas) = Replicas::start().await else {
        return;
    };
    let first = variable("STRATUS_SEED");
    let cases = variable("STRATUS_CASES").unwrap_or(if first.is_some() { 1 } else { CASES });
    for seed in (first.unwrap_or(0)..).take(usize::try_from(cases).expect("there are not many")) {
        println!("STRATUS_SEED={seed}");
        let histories = Arc::new(Histories::default());
        let calling: Vec<_> = (0..2 * CALLERS)
            .map(|number| {
                let caller = replicas.callers[usize::from(number % 2 == 1)].clone();
                let histories = Arc::clone(&histories);
                tokio::spawn(async move { histories.run(caller, seed, number).await })
            })
            .collect();
        break_network(&replicas, seed).await;
        replicas.recover(&format!("after-{seed}")).await;
        histories.is_over.store(true, Ordering::Relaxed);
        for called in calling {
            called.await.expect("each response is as expected");
        }
        histories.check(&replicas.callers[0]).await;
        ensure_whole(&replicas.cluster);
        replicas.ensure_few();
    }
    // The reconcilers of both replicas go on where they were.
    let left = "SELECT count(*) FROM postgres_database WHERE state <> 'running'";
    let running = eventually(async || (count(&replicas.cluster, left) == 0).then_some(()));
    running.await.expect("each database is running");
}

/// While it waits for a lock, a backend does not notice that its client is gone.
#[tokio::test(flavor = "multi_thread", worker_threads = 3)]
async fn the_backends_of_lost_connections_are_counted_until_they_end() {
    let Some(replicas) = Replicas::start().await else {
        return;
    };
    for ending in [Ending::Reset, Ending::Fin] {
        let lock = replicas.cluster.lock("private_subnet");
        let until = Instant::now() + Duration::from_secs(3);
        let calling: Vec<_> = (0..12)
            .map(|number| {
                let caller = replicas.callers[number % 2].clone();
                tokio::spawn(async move {
                    let path = format!("{PLACE}/private-subnet/{ending:?}-{number}").to_lowercase();
                    while Instant::now() < until {
                        let (method, path) = match number / 2 % 2 {
                            0 => (Method::GET, format!("{PLACE}/private-subnet/backend")),
                            _ => (Method::POST, path.clone()),
                        };
                        let response = caller.try_call(method, &path, None).await;
                        let status = response.expect("the service responds").status;
                        assert!([200, 400, 409, 503].contains(&status), "{status}");
                    }
                })
            })
            .collect();
        for _ in 0..4 {
            replicas.watch(Duration::from_millis(500)).await;
            for proxy in &replicas.proxies {
                proxy.cut(ending);
            }
        }
        replicas.watch(Duration::from_millis(500)).await;
        drop(lock);
        replicas
            .recover(&format!("then-{ending:?}").to_lowercase())
            .await;
        for called in calling {
            called.await.expect("each response is as expected");
        }
    }
}
