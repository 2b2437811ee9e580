//! The responses of concurrent callers, with kills in between, are those of operations that took
//! effect one after the other.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use reqwest::Method;
use serde_json::{Value as Json, json};

use super::PLACE;
use crate::history::{
    Balancer, Balancers, Entry, Name, OnBalancers, OnName, OnValue, Outcome, Value, outcomes,
};
use crate::on_both;
use crate::support::Home;
use crate::support::caller::{Caller, JsonResponse};
use crate::support::inventory::{SHOP, two_projects};

const KILLS: u64 = 12;
const CALLERS: u64 = 6;
const BALANCERS: [&str; 2] = ["web", "api"];
/// The names of subnets and databases that all callers of a round make and see.
const NAMES: u64 = 3;

/// The operations so far, by register.
#[derive(Default)]
struct Histories {
    moments: AtomicU64,
    names: Mutex<BTreeMap<String, Vec<Entry<OnName>>>>,
    tags: Mutex<BTreeMap<String, Vec<Entry<OnValue>>>>,
    balancers: Mutex<Vec<Entry<OnBalancers>>>,
}

/// An operation in progress, or one that ended at a moment, if it got a response.
struct Span {
    call: u64,
    back: Option<u64>,
}

impl Span {
    fn of<A>(&self, action: A) -> Entry<A> {
        Entry {
            call: self.call,
            back: self.back,
            action,
        }
    }
}

impl Histories {
    /// Sends a request. There is no response if the service was killed.
    async fn send(
        &self,
        caller: &Caller,
        method: Method,
        path: &str,
        body: Option<Json>,
    ) -> (Span, Option<JsonResponse>) {
        let call = self.moments.fetch_add(1, Ordering::SeqCst);
        let response = caller.try_call(method, path, body.as_ref()).await.ok();
        let now = self.moments.fetch_add(1, Ordering::SeqCst);
        // A failure does not say what was changed.
        let response = response.filter(|response| response.status < 500);
        let back = response.is_some().then_some(now);
        (Span { call, back }, response)
    }

    fn name(&self, register: &str, entry: Entry<OnName>) {
        let mut names = self.names.lock().unwrap();
        names.entry(register.to_owned()).or_default().push(entry);
    }

    fn tag(&self, register: &str, entry: Entry<OnValue>) {
        let mut tags = self.tags.lock().unwrap();
        tags.entry(register.to_owned()).or_default().push(entry);
    }

    fn balancer(&self, entry: Entry<OnBalancers>) {
        self.balancers.lock().unwrap().push(entry);
    }

    /// Makes a resource, whose name others make too. Returns false if the service was killed, as do
    /// the others.
    async fn make(&self, caller: &Caller, path: &str, body: Json) -> bool {
        let (span, response) = self.send(caller, Method::POST, path, Some(body)).await;
        let is_up = response.is_some();
        let action = match &response {
            None => OnName::Lost,
            Some(response) if response.status == 200 => OnName::Made(id(&response.body)),
            Some(response) if response.status == 400 => OnName::Refused,
            // A concurrent change has committed first each time, and nothing was changed.
            Some(response) if response.status == 409 => return true,
            Some(response) => panic!("{path}: {response:?}"),
        };
        self.name(path, span.of(action));
        is_up
    }

    async fn see(&self, caller: &Caller, path: &str) -> bool {
        let (span, response) = self.send(caller, Method::GET, path, None).await;
        let Some(response) = response else {
            return false;
        };
        let is_found = response.status == 200;
        let found = is_found.then(|| id(&response.body));
        self.name(path, span.of(OnName::Seen(found)));
        if is_found && path.contains("/postgres/") {
            let tag = response.body["tags"][0]["value"]
                .as_str()
                .map(str::to_owned);
            self.tag(path, span.of(OnValue::Read(tag)));
        }
        true
    }

    async fn retarget(&self, caller: &Caller, path: &str, tag: &str) -> bool {
        let body = json!({ "tags": [{ "key": "n", "value": tag }] });
        let (span, response) = self.send(caller, Method::PATCH, path, Some(body)).await;
        match &response {
            // Not made yet, or a conflict.
            Some(response) if response.status != 200 => {}
            _ => self.tag(path, span.of(OnValue::Write(tag.to_owned()))),
        }
        response.is_some()
    }

    async fn set(&self, caller: &Caller, name: &str, to: Balancer) -> bool {
        let body = json!({ "algorithm": "round_robin", "src_port": to.value, "dst_port": 80,
            "health_check_endpoint": "/up", "vms": to.vms });
        let path = format!("{PLACE}/load-balancer/{name}");
        let (span, response) = self.send(caller, Method::PATCH, &path, Some(body)).await;
        let is_up = response.is_some();
        let outcome = match response.map(|response| response.status) {
            None => Outcome::Lost,
            Some(200) => Outcome::Done,
            Some(400) => Outcome::Refused,
            Some(409) => return true,
            Some(status) => panic!("{path}: {status}"),
        };
        let name = name.to_owned();
        self.balancer(span.of(OnBalancers::Set { name, to, outcome }));
        is_up
    }

    async fn detach(&self, caller: &Caller, name: &str, vm: &str) -> Option<JsonResponse> {
        let path = format!("{PLACE}/load-balancer/{name}/detach-vm");
        let body = Some(json!({ "vm_id": vm }));
        let (span, response) = self.send(caller, Method::POST, &path, body).await;
        if response
            .as_ref()
            .is_none_or(|response| response.status == 200)
        {
            let stay = response.as_ref().map(|response| vms(&response.body));
            let (name, vm) = (name.to_owned(), vm.to_owned());
            self.balancer(span.of(OnBalancers::Detach { name, vm, stay }));
        }
        response
    }

    async fn list(&self, caller: &Caller) -> bool {
        let path = format!("{PLACE}/load-balancer");
        let (span, response) = self.send(caller, Method::GET, &path, None).await;
        let Some(response) = response else {
            return false;
        };
        let items = response.body["items"]
            .as_array()
            .expect("a page has items")
            .clone();
        let value = |of: &Json| (text(&of["name"]), of["src_port"].as_i64().expect("a port"));
        let values = items.iter().map(value).collect();
        self.balancer(span.of(OnBalancers::Values(values)));
        true
    }

    /// Calls until the service is killed.
    async fn run(&self, caller: Caller, seed: u64, round: u64, all: &[String]) {
        let mut random = StdRng::seed_from_u64(seed);
        loop {
            let number = random.random_range(0..NAMES);
            let subnet = format!("{PLACE}/private-subnet/r{round}-{number}");
            let database = format!("{PLACE}/postgres/r{round}-{number}");
            let balancer = BALANCERS[random.random_range(0..BALANCERS.len())];
            let is_up = match random.random_range(0..9) {
                0 => self.make(&caller, &subnet, json!({})).await,
                1 => {
                    let body = json!({ "size": "standard-2", "storage_size": 64 });
                    self.make(&caller, &database, body).await
                }
                2 => self.see(&caller, &subnet).await,
                3 => self.see(&caller, &database).await,
                4 => {
                    let tag = random.random_range(0..u32::MAX).to_string();
                    self.retarget(&caller, &database, &tag).await
                }
                5 | 6 => {
                    let mut some = all.to_vec();
                    some.retain(|_| random.random_ratio(1, 3));
                    let to = Balancer {
                        value: random.random_range(1000..60_000),
                        vms: some.into_iter().collect(),
                    };
                    self.set(&caller, balancer, to).await
                }
                7 => {
                    let vm = &all[random.random_range(0..all.len())];
                    self.detach(&caller, balancer, vm).await.is_some()
                }
                _ => self.list(&caller).await,
            };
            if !is_up {
                return;
            }
        }
    }

    /// Reads everything at the end, with a virtual machine that nobody attaches.
    async fn see_all(&self, caller: &Caller, paths: BTreeSet<String>, stray: &str) {
        for path in paths {
            assert!(self.see(caller, &path).await, "{path}");
        }
        let call = self.moments.fetch_add(1, Ordering::SeqCst);
        let mut all = Balancers::default();
        for name in BALANCERS {
            // It is not attached, so nothing changes, and the response shows what is.
            let response = self.detach(caller, name, stray).await.expect("it responds");
            let body = response.ok();
            let is = Balancer {
                value: body["src_port"].as_i64().expect("a port"),
                vms: vms(&body),
            };
            all.0.insert(name.to_owned(), is);
        }
        let back = Some(self.moments.fetch_add(1, Ordering::SeqCst));
        let span = Span { call, back };
        self.balancer(span.of(OnBalancers::All(all)));
    }

    /// Takes the histories of a round.
    fn take(&self) -> Round {
        Round {
            names: std::mem::take(&mut self.names.lock().unwrap()),
            tags: std::mem::take(&mut self.tags.lock().unwrap()),
            balancers: std::mem::take(&mut self.balancers.lock().unwrap()),
        }
    }
}

/// The operations of the time in which one process served. Those without a response took effect
/// before the next one started, or never.
struct Round {
    names: BTreeMap<String, Vec<Entry<OnName>>>,
    tags: BTreeMap<String, Vec<Entry<OnValue>>>,
    balancers: Vec<Entry<OnBalancers>>,
}

/// What each register may be after the rounds so far.
struct States {
    names: BTreeMap<String, HashSet<Name>>,
    tags: BTreeMap<String, HashSet<Value>>,
    balancers: HashSet<Balancers>,
    /// The number of operations, and of those without a response.
    operations: (usize, usize),
}

impl States {
    /// Checks the next round.
    fn check(&mut self, round: &Round) {
        for (path, history) in &round.names {
            let now = self
                .names
                .entry(path.clone())
                .or_insert_with(|| HashSet::from([Name::Free]));
            *now = outcomes(std::mem::take(now), history);
            assert!(!now.is_empty(), "{path}: {history:#?}");
            count(&mut self.operations, history);
        }
        for (path, history) in &round.tags {
            let now = self
                .tags
                .entry(path.clone())
                .or_insert_with(|| HashSet::from([Value(None)]));
            *now = outcomes(std::mem::take(now), history);
            assert!(!now.is_empty(), "{path}: {history:#?}");
            count(&mut self.operations, history);
        }
        let before = self.balancers.clone();
        self.balancers = outcomes(before.clone(), &round.balancers);
        assert!(
            !self.balancers.is_empty(),
            "{before:?}: {:#?}",
            round.balancers
        );
        count(&mut self.operations, &round.balancers);
    }

    /// Returns whether so much has happened that it proves something.
    fn are_enough(&self) -> bool {
        let (all, lost) = self.operations;
        all - lost > 50 && lost > 5
    }
}

fn count<A>((all, lost): &mut (usize, usize), history: &[Entry<A>]) {
    *all += history.len();
    *lost += history.iter().filter(|entry| entry.back.is_none()).count();
}

fn text(value: &Json) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn id(body: &Json) -> String {
    text(&body["id"])
}

fn vms(of: &Json) -> BTreeSet<String> {
    let vms = of["vms"].as_array().into_iter().flatten();
    vms.map(id).collect()
}

on_both! {
    async fn histories_with_kills_are_linearizable(home: Home) {
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        let settings = ["--simulate-delay", "50ms", "--reconcile-lease", "1s"];
        let histories = Arc::new(Histories::default());
        let mut states = None;
        let (mut known, mut paths) = (Vec::new(), BTreeSet::new());
        let mut round = 0;
        // A slow machine has done little when the service is killed, so there it is killed more often,
        // and later.
        while round < KILLS || !states.as_ref().is_some_and(States::are_enough) && round < 10 * KILLS {
            let mut service = home.serve(&settings);
            let caller = Caller::new(&service.base, SHOP, &token);
            if states.is_none() {
                let list = caller.get(&format!("{PLACE}/vm?order_column=name")).await.ok();
                known = list["items"].as_array().expect("a page has items").iter().map(id).collect();
                let list = caller.get(&format!("{PLACE}/load-balancer")).await.ok();
                let of = |name: &str| {
                    let items = list["items"].as_array().expect("a page has items");
                    let found = items.iter().find(|of| of["name"] == name).expect("the inventory has it");
                    let vms = if name == "web" { BTreeSet::from([known[0].clone()]) } else { BTreeSet::new() };
                    Balancer { value: found["src_port"].as_i64().expect("a port"), vms }
                };
                let start = Balancers(BALANCERS.iter().map(|name| ((*name).to_owned(), of(name))).collect());
                states = Some(States {
                    names: BTreeMap::new(),
                    tags: BTreeMap::new(),
                    balancers: HashSet::from([start]),
                    operations: (0, 0),
                });
            }
            let callers: Vec<_> = (0..CALLERS).map(|number| {
                let (caller, histories) = (caller.clone(), Arc::clone(&histories));
                // The last virtual machine is never attached.
                let all = known[..known.len() - 1].to_vec();
                tokio::spawn(async move {
                    histories.run(caller, round * CALLERS + number, round, &all).await;
                })
            }).collect();
            let life = (150 + round * 37 % 251) * (1 + round / KILLS);
            tokio::time::sleep(Duration::from_millis(life)).await;
            service.kill();
            for caller in callers {
                caller.await.expect("a caller ends");
            }
            let states = states.as_mut().expect("the service has run");
            states.check(&histories.take());
            paths.extend(states.names.keys().cloned());
            round += 1;
        }
        let service = home.serve(&settings);
        let caller = Caller::new(&service.base, SHOP, &token);
        let stray = known.last().expect("the inventory has virtual machines");
        histories.see_all(&caller, paths, stray).await;
        let mut states = states.expect("the service has run");
        states.check(&histories.take());
        let (all, lost) = states.operations;
        println!("{all} operations, {lost} of them without a response");
        assert!(states.are_enough(), "too little happened to prove anything: {all}, {lost}");
    }
}
