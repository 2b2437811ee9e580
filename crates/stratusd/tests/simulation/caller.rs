//! Callers of a simulated service: random operations through its router, each recorded with its
//! response.

mod balancers;
mod databases;

use std::collections::BTreeMap;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use api_server::server::Router;
use axum::body::Body;
use balancers::attached;
use databases::{ensure_named, password, see_database};
use http::Request;
use http_body_util::BodyExt;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::{Value, json};
use stratusd::issue::Revoke;
use stratusd::storage::Store;
use stratusd::world::World;
use tower::ServiceExt;

use crate::batches;
use crate::ground::{Event, Ground, Said};
use crate::history::{Balancer, Balancers, OnBalancers, OnName};
use crate::template::{BALANCERS, ELSEWHERE, PLACE, PROJECT, Template};

/// How long a revoked token may be accepted.
const CACHED: i64 = 1000;
/// The maximum number of attempts at a create with an idempotency key.
const ATTEMPTS: u32 = 3;
/// The pause before a request is sent again that was refused with 503.
const PAUSE: Duration = Duration::from_millis(200);

/// A caller of one process.
pub struct Caller {
    pub ground: Arc<Ground>,
    pub router: Router,
    pub store: Store,
    pub world: World,
    pub template: Arc<Template>,
    pub random: StdRng,
    /// The number of further attempts at a request that the service refuses with 503.
    pub attempts: u32,
}

/// A status and a body.
struct Heard {
    status: u16,
    /// Whether it is the response to an earlier request with the same key.
    is_replayed: bool,
    body: Value,
}

impl Heard {
    fn error(&self) -> &str {
        self.body["error"]["type"].as_str().unwrap_or_default()
    }

    fn id(&self) -> String {
        text(&self.body["id"])
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

impl Caller {
    pub fn new(
        ground: &Arc<Ground>,
        router: &Router,
        store: &Store,
        world: &World,
        template: &Arc<Template>,
    ) -> Self {
        Self {
            random: StdRng::seed_from_u64(ground.below(u64::MAX)),
            ground: Arc::clone(ground),
            router: router.clone(),
            store: store.clone(),
            world: world.clone(),
            template: Arc::clone(template),
            attempts: 0,
        }
    }

    /// Calls until the simulation ends.
    pub async fn run(mut self) {
        while self.ground.is_busy.load(Ordering::SeqCst) {
            let pause = self.random.random_range(0..60);
            tokio::time::sleep(Duration::from_millis(pause)).await;
            if !self.ground.is_busy.load(Ordering::SeqCst) {
                return;
            }
            self.ground.calls.fetch_add(1, Ordering::SeqCst);
            let _end = OnDrop(Arc::clone(&self.ground));
            self.one().await;
        }
    }

    async fn one(&mut self) {
        match self.random.random_range(0..32) {
            0..4 => self.make_subnet().await,
            4..6 => self.make_database().await,
            6..10 => self.set_balancer().await,
            10..12 => self.detach().await,
            12..14 => self.list_balancers().await,
            14..16 => self.retarget().await,
            16 => self.reset_password().await,
            17..19 => self.view_database().await,
            19 => self.view_subnet().await,
            20 => self.connect().await,
            21 => self.make_key().await,
            22 => self.forbidden().await,
            23 => self.look_elsewhere().await,
            26 => self.restart().await,
            27 => self.make_transient().await,
            28 => self.delete_transient().await,
            24..26 => batches::submit(self).await,
            _ => self.doubtful().await,
        }
    }

    /// Sends a request.
    async fn send(
        &self,
        (method, path): (&str, &str),
        body: Option<Value>,
        (token, key): (&str, Option<&str>),
    ) -> Heard {
        self.ground.trace(format_args!("{method} {path} {body:?}"));
        let mut request = Request::builder()
            .method(method)
            .uri(format!("/project/{PROJECT}{path}"))
            .header("authorization", format!("Bearer {token}"));
        if body.is_some() {
            request = request.header("content-type", "application/json");
        }
        if let Some(key) = key {
            request = request.header("idempotency-key", key);
        }
        let body = body.map_or_else(Body::empty, |body| Body::from(body.to_string()));
        let request = request.body(body).expect("the request is well formed");
        let response = self.router.clone().oneshot(request).await;
        let response = response.expect("a router does not fail");
        let status = response.status().as_u16();
        let is_replayed = response.headers().contains_key("idempotency-replayed");
        let body = response.into_body().collect().await;
        let bytes = body.expect("the body can be collected").to_bytes();
        let heard = Heard {
            status,
            is_replayed,
            body: serde_json::from_slice(&bytes).unwrap_or_default(),
        };
        self.ground
            .trace(format_args!("{method} {path}: {status} {}", heard.error()));
        // One change writes at a time, so none gets in between another.
        if status == 409 || status == 500 {
            self.ground
                .broken(format!("{method} {path}: {status} {}", heard.body));
        }
        heard
    }

    async fn ask(&self, method: &str, path: &str, body: Option<Value>) -> Heard {
        let mut left = self.attempts;
        loop {
            let with = (&*self.template.full, None);
            let heard = self.send((method, path), body.clone(), with).await;
            if heard.status != 503 || left == 0 {
                return heard;
            }
            left -= 1;
            tokio::time::sleep(PAUSE).await;
        }
    }

    /// Sends a create with an idempotency key, again after each failure, and often again after a
    /// success, which must repeat the response.
    async fn create(&mut self, path: &str, body: Option<Value>) -> Heard {
        let key = self
            .random
            .random_ratio(2, 3)
            .then(|| format!("key-{}", self.random.random::<u64>()));
        let begun = self.ground.now();
        let mut attempt = 0;
        let heard = loop {
            attempt += 1;
            let with = (&*self.template.full, key.as_deref());
            let heard = self.send(("POST", path), body.clone(), with).await;
            if heard.status < 500 || key.is_none() || attempt == ATTEMPTS {
                break heard;
            }
        };
        let is_kept = heard.status == 200 && self.ground.jumped() < begun;
        if let Some(key) = key.filter(|_| is_kept && self.random.random_ratio(2, 3)) {
            let with = (&*self.template.full, Some(&*key));
            let again = self.send(("POST", path), body, with).await;
            self.repeated(&heard, &again, begun);
        }
        heard
    }

    /// Compares the response to a create with that to the same request with the same key.
    fn repeated(&self, first: &Heard, again: &Heard, begun: i64) {
        let is_same = again.is_replayed && (again.status, &again.body) == (200, &first.body);
        // Nothing says that the key is kept if the clock was set meanwhile, perhaps by days.
        if self.ground.jumped() >= begun && first.body["key"].is_string() {
            let mut kept = self.ground.kept();
            match again.status {
                200 => {
                    kept.keys.insert(again.id());
                }
                500.. => kept.keys_lost += 1,
                _ => {}
            }
            return;
        }
        if is_same || again.status >= 500 || self.ground.jumped() >= begun {
            return;
        }
        self.ground.broken(format!(
            "{} is not repeated: {} {}",
            first.body, again.status, again.body
        ));
    }

    /// Looks for names in a location that has nothing.
    async fn look_elsewhere(&mut self) {
        let path = match self.random.random_range(0..3) {
            0 => format!("private-subnet/s{}", self.random.random_range(0..7)),
            1 => format!("postgres/d{}", self.random.random_range(0..4)),
            _ => format!("load-balancer/{}/detach-vm", BALANCERS[0]),
        };
        let (method, body) = if path.ends_with("detach-vm") {
            ("POST", Some(json!({ "vm_id": self.template.stray })))
        } else {
            ("GET", None)
        };
        let heard = self.ask(method, &format!("{ELSEWHERE}/{path}"), body).await;
        if heard.status != 404 && heard.status < 500 {
            self.ground.broken(format!(
                "{path} of another location: {} {}",
                heard.status, heard.body
            ));
        }
    }

    /// Returns what the response to a create says about the name.
    fn made(&self, name: &str, heard: &Heard) -> Said {
        let event = |action| Said::This(Event::Name(name.to_owned(), action));
        match heard.status {
            200 => event(OnName::Made(heard.id())),
            400 if heard.body["error"]["details"]["name"].is_string() => event(OnName::Refused),
            403 if heard.error() == "QuotaExceeded" => {
                let kind = if name.starts_with("subnet") {
                    "private_subnet"
                } else {
                    "postgres_database"
                };
                self.ground.kept().used_up.insert(kind);
                Said::Nothing
            }
            500.. => Said::Lost,
            _ => {
                self.ground
                    .broken(format!("{name}: {} {}", heard.status, heard.body));
                Said::Nothing
            }
        }
    }

    async fn make_subnet(&mut self) {
        let name = format!("s{}", self.random.random_range(0..7));
        let register = format!("subnet {name}");
        let call = self
            .ground
            .call(Event::Name(register.clone(), OnName::Lost));
        let heard = self
            .create(&format!("{PLACE}/private-subnet/{name}"), None)
            .await;
        if heard.status == 200 {
            self.ground.kept().subnets.insert(heard.id());
            let rules = heard.body["firewalls"][0]["firewall_rules"].as_array();
            if rules.map(Vec::len) != Some(2) {
                self.ground.broken(format!("half a subnet: {}", heard.body));
            }
        }
        self.ground.back(call, self.made(&register, &heard));
    }

    async fn view_subnet(&mut self) {
        let name = format!("s{}", self.random.random_range(0..7));
        see_subnet(self, &name).await;
    }

    async fn connect(&mut self) {
        let known: Vec<String> = self.ground.kept().subnets.iter().cloned().collect();
        if known.len() < 2 {
            return;
        }
        let one = &known[self.random.random_range(0..known.len())];
        let other = &known[self.random.random_range(0..known.len())];
        if one == other {
            return;
        }
        let register = format!("link {} {}", one.min(other), one.max(other));
        let call = self
            .ground
            .call(Event::Name(register.clone(), OnName::Lost));
        let body = json!({ "connected-subnet-id": other });
        let path = format!("{PLACE}/private-subnet/{one}/connect");
        let heard = self.ask("POST", &path, Some(body)).await;
        let said = match heard.status {
            200 => Said::This(Event::Name(register, OnName::Made("linked".to_owned()))),
            400 => Said::This(Event::Name(register, OnName::Refused)),
            500.. => Said::Lost,
            _ => {
                self.ground
                    .broken(format!("connect: {} {}", heard.status, heard.body));
                Said::Nothing
            }
        };
        self.ground.back(call, said);
    }

    async fn make_key(&mut self) {
        let call = self.ground.call(Event::Key);
        let heard = self.create("/inference-api-key", None).await;
        let mut kept = self.ground.kept();
        match heard.status {
            200 => {
                kept.keys.insert(heard.id());
            }
            403 => {
                kept.used_up.insert("inference_api_key");
            }
            _ => kept.keys_lost += 1,
        }
        drop(kept);
        self.ground.back(call, Said::Nothing);
    }

    /// Tries a change with a token that may only read.
    async fn forbidden(&mut self) {
        let path = format!("{PLACE}/private-subnet/forbidden");
        let token = &self.template.read_only;
        let heard = self.send(("POST", &path), None, (token, None)).await;
        if heard.status != 403 && heard.status < 500 {
            self.ground
                .broken(format!("a read-only token: {}", heard.status));
        }
    }

    /// Revokes a token, or tries one that may be revoked or may have expired.
    async fn doubtful(&mut self) {
        let ground = Arc::clone(&self.ground);
        let path = format!("{PLACE}/load-balancer");
        if self.random.random_ratio(1, 6) {
            // So that this process remembers it.
            self.try_revocable(&path).await;
            ground.kept().revoked.0 = true;
            let revoke = Revoke {
                id: self.template.revocable_id.clone(),
                world: self.world.clone(),
            };
            let revoked = self.store.change(revoke).await;
            ground.trace(format_args!("revoked: {}", revoked.is_ok()));
            if revoked.is_ok() {
                let now = ground.now();
                ground.kept().revoked.1.get_or_insert(now);
                let cached = u64::try_from(CACHED).expect("it is positive");
                tokio::time::sleep(Duration::from_millis(cached)).await;
                self.try_revocable(&path).await;
            }
            return;
        }
        let (begun, clock) = (ground.now(), self.world.now());
        if self.random.random() {
            self.try_revocable(&path).await;
        } else {
            let token = &self.template.expiring;
            let heard = self.send(("GET", &path), None, (token, None)).await;
            if ground.any_jumped() >= begun {
                return;
            }
            let end = self.template.expires_at;
            if heard.status == 200 && clock >= end {
                ground.broken("an expired token is accepted".to_owned());
            }
            if heard.status == 401 && self.world.now() < end {
                ground.broken("a token is refused before its end".to_owned());
            }
        }
    }

    /// Tries the token that may be revoked.
    async fn try_revocable(&self, path: &str) {
        let ground = &self.ground;
        let (begun, revoked) = (ground.now(), ground.kept().revoked.1);
        let token = &self.template.revocable;
        let heard = self.send(("GET", path), None, (token, None)).await;
        let is_gone = revoked.is_some_and(|at| begun >= at + CACHED);
        if heard.status == 200 && is_gone {
            ground.broken("a revoked token is accepted".to_owned());
        }
        if heard.status == 401 && !ground.kept().revoked.0 {
            ground.broken("a token is refused".to_owned());
        }
    }
}

/// Views a subnet, and records its existence.
async fn see_subnet(caller: &Caller, name: &str) {
    let ground = &caller.ground;
    let register = format!("subnet {name}");
    let call = ground.call(Event::Name(register.clone(), OnName::Seen(None)));
    let path = format!("{PLACE}/private-subnet/{name}");
    let heard = caller.ask("GET", &path, None).await;
    let said = match heard.status {
        200 => {
            ensure_named(ground, name, &heard.body);
            Said::This(Event::Name(register, OnName::Seen(Some(heard.id()))))
        }
        404 => Said::This(Event::Name(register, OnName::Seen(None))),
        _ => Said::Nothing,
    };
    ground.back(call, said);
}

/// Reads everything once all callers are done. Each acknowledged change must be seen.
pub async fn see_all(mut caller: Caller) {
    // Another process may be writing.
    caller.attempts = 50;
    let ground = Arc::clone(&caller.ground);
    for number in 0..7 {
        see_subnet(&caller, &format!("s{number}")).await;
    }
    for name in ["d0", "d1", "d2", "d3", "x0", "x1"] {
        let Some(database) = see_database(&caller, name).await else {
            continue;
        };
        if database["state"] != "running" || database["connection_string"].is_null() {
            ground.broken(format!("{name} does not converge: {database}"));
        }
        let shown = database["connection_string"].as_str().and_then(password);
        if let Some(shown) = shown {
            ground.kept().shown.insert(text(&database["id"]), shown);
        }
    }
    // A detach of what is not attached changes nothing, and shows what is attached.
    let stray = caller.template.stray.clone();
    let mut all = Balancers::default();
    let call = ground.call(Event::Balancers(OnBalancers::Values(BTreeMap::new())));
    for name in BALANCERS {
        let path = format!("{PLACE}/load-balancer/{name}/detach-vm");
        let heard = caller
            .ask("POST", &path, Some(json!({ "vm_id": stray })))
            .await;
        if heard.status != 200 {
            ground.broken(format!("the end: {} {}", heard.status, heard.body));
        }
        let is = Balancer {
            value: heard.body["src_port"].as_i64().unwrap_or_default(),
            vms: attached(&heard.body),
        };
        all.0.insert(name.to_owned(), is);
    }
    let all = Event::Balancers(OnBalancers::All(all));
    ground.back(call, Said::This(all));
    ground.calls.fetch_sub(1, Ordering::SeqCst);
}

/// Returns the values in a list of load balancers.
fn values(list: &Value) -> BTreeMap<String, i64> {
    let items = list["items"].as_array().into_iter().flatten();
    let value = |of: &Value| of["src_port"].as_i64().unwrap_or_default();
    items.map(|of| (text(&of["name"]), value(of))).collect()
}

/// Counts a call as ended, even if its process is killed.
struct OnDrop(Arc<Ground>);

impl Drop for OnDrop {
    fn drop(&mut self) {
        self.0.calls.fetch_sub(1, Ordering::SeqCst);
    }
}
