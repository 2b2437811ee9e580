//! A small provisioner, written by hand, that keeps its databases in memory, and can break each rule
//! of the protocol.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
use std::panic::resume_unwind;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::Router;
use axum::body::{Body, to_bytes};
use axum::extract::{ConnectInfo, Request, State};
use axum::response::Response;
use http::{Method, StatusCode, header};
use rcgen::{BasicConstraints, CertificateParams, IsCa, Issuer, KeyPair};
use serde_json::{Value, json};
use tokio::sync::broadcast;

/// The token of the provisioner.
pub const TOKEN: &str = "0123456789abcdef0123456789abcdef";

/// The sizes of its databases, with the storage of each in GiB.
pub const SIZES: [(&str, [i64; 2]); 2] = [("standard-2", [64, 128]), ("standard-4", [128, 256])];

/// The rule that a provisioner breaks, by its name, or an empty text.
pub type Broken = &'static str;

/// A running provisioner.
pub struct Fake {
    /// Its URL.
    pub url: String,
    pub known: Arc<Known>,
}

/// What the provisioner knows.
pub struct Known {
    broken: Broken,
    authority: (Issuer<'static, KeyPair>, String),
    pub databases: Mutex<HashMap<String, Database>>,
    /// The versions of PostgreSQL that it says it has.
    pub versions: Mutex<Vec<&'static str>>,
    /// Whether databases with some names are treated as those names say.
    pub is_wicked: AtomicBool,
    /// When each database was called for, by its name, while some are wicked.
    pub calls: Mutex<HashMap<String, Vec<Instant>>>,
    /// Whether databases that begin with `stuck` do not respond, and those that begin with `flaky` do;
    /// else both fail.
    pub is_stuck: AtomicBool,
    /// The calls that get no response now.
    pub hanging: Arc<AtomicUsize>,
    /// The callers of connections that end as soon as they are used again.
    ending: Mutex<HashSet<SocketAddr>>,
    /// The observations that were asked for, if each fourth is postponed.
    observations: AtomicUsize,
    /// How long the response of an observation is on its way.
    pub observation: Mutex<Duration>,
    /// What is sent to those who follow events.
    pub events: broadcast::Sender<Sent>,
    /// The number of streams of events that have begun.
    pub streams: AtomicUsize,
}

/// What is sent in a stream of events.
#[derive(Debug, Clone)]
pub enum Sent {
    /// An event that names databases.
    Ids(Vec<String>),
    /// A text as it is.
    Text(String),
    /// The end of the stream.
    End,
}

/// A database.
#[derive(Default)]
pub struct Database {
    pub shape: Value,
    /// By the name of a step: the number of the last restart or promotion that was asked for, and 1 for other
    /// steps.
    pub steps: HashMap<String, i64>,
    is_created: bool,
    /// Whether its server was restarted.
    is_up: bool,
    /// Whether it accepts no connections.
    pub is_down: bool,
    /// How often it was observed.
    pub observed: u32,
    passwords: u32,
    connections: u32,
    pub password: String,
}

impl Fake {
    /// Starts a provisioner that breaks a rule.
    pub async fn start(broken: Broken) -> Self {
        Self::start_at("127.0.0.1:0", broken).await
    }

    /// Starts a provisioner at an address.
    pub async fn start_at(address: &str, broken: Broken) -> Self {
        let listener = tokio::net::TcpListener::bind(address).await;
        let listener = listener.expect("the address is free");
        let url = format!("http://{}", listener.local_addr().expect("it is bound"));
        let key = KeyPair::generate().expect("a key can be made");
        let mut params = CertificateParams::new(Vec::new()).expect("it has no names");
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let certificate = params.self_signed(&key).expect("it can be signed").pem();
        let known = Arc::new(Known {
            broken,
            authority: (Issuer::new(params, key), certificate),
            databases: Mutex::default(),
            versions: Mutex::new(vec!["16", "17", "18"]),
            is_wicked: AtomicBool::new(false),
            calls: Mutex::default(),
            is_stuck: AtomicBool::new(false),
            hanging: Arc::default(),
            ending: Mutex::default(),
            observations: AtomicUsize::new(0),
            observation: Mutex::default(),
            events: broadcast::Sender::new(8192),
            streams: AtomicUsize::new(0),
        });
        let router = Router::new()
            .fallback(respond)
            .with_state(Arc::clone(&known));
        let service = router.into_make_service_with_connect_info::<SocketAddr>();
        tokio::spawn(async move { axum::serve(listener, service).await });
        Self { url, known }
    }
}

fn json_of(status: u16, media_type: &str, body: &Value) -> Response {
    let status = StatusCode::from_u16(status).expect("it is a status");
    let response = Response::builder().status(status);
    let response = response.header(header::CONTENT_TYPE, media_type);
    response
        .body(Body::from(body.to_string()))
        .expect("it is a response")
}

fn problem(status: u16, code: &str) -> Response {
    let body = json!({ "code": code, "detail": format!("this is {code}\nof a fake") });
    json_of(status, "application/problem+json", &body)
}

/// Returns a response that asks to come back after a number of seconds.
fn busy(seconds: &'static str) -> Response {
    let mut response = problem(503, "Unavailable");
    let value = http::HeaderValue::from_static(seconds);
    response.headers_mut().insert(header::RETRY_AFTER, value);
    response
}

fn ok(body: &Value) -> Response {
    json_of(200, "application/json", body)
}

fn done() -> Response {
    ok(&json!({ "state": "done" }))
}

fn pending() -> Response {
    ok(&json!({ "state": "pending", "wait_ms": 20 }))
}

async fn respond(State(known): State<Arc<Known>>, request: Request) -> Response {
    let (parts, mut body) = request.into_parts();
    if known.broken == "large-body-closes" {
        let caller = parts.extensions.get::<ConnectInfo<SocketAddr>>();
        let ConnectInfo(caller) = *caller.expect("each connection has a caller");
        if known.ending.lock().unwrap().contains(&caller) {
            // Ends the task of the connection, which closes it without a response.
            resume_unwind(Box::new("the connection ends"));
        }
        let whole = to_bytes(body, usize::MAX).await.expect("it arrives");
        if whole.len() > 64 << 10 {
            known.ending.lock().unwrap().insert(caller);
        }
        body = Body::from(whole);
    }
    let given = parts.headers.get(header::AUTHORIZATION);
    let is_missing = given.is_none();
    let path = parts.uri.path().to_owned();
    if path == "/provisioner/events" && known.broken == "events-open" {
        return known.follow();
    }
    let is_right =
        given.is_some_and(|given| given.as_bytes() == format!("Bearer {TOKEN}").as_bytes());
    let lets_in = is_right
        || is_missing && known.broken == "no-token"
        || !is_missing && known.broken == "wrong-token";
    if !lets_in {
        return problem(401, "InvalidCredentials");
    }
    if path == "/provisioner" && parts.method == Method::GET {
        return known.about();
    }
    if path == "/provisioner/events" && parts.method == Method::GET {
        return known.follow();
    }
    let steps = path
        .strip_prefix("/database/")
        .and_then(|rest| rest.split_once('/'));
    let names = [
        "observe",
        "create",
        "resize",
        "restart",
        "promote",
        "delete",
        "restrict",
        "set-password",
        "connection",
    ];
    let Some((id, step)) = steps.filter(|(_, step)| names.contains(step)) else {
        let code = if known.broken == "unknown-path" {
            "DatabaseNotFound"
        } else {
            "UnknownPath"
        };
        return problem(404, code);
    };
    let Ok(body) = to_bytes(body, 64 << 10).await else {
        if known.broken == "large-body-hangs" {
            tokio::time::sleep(Duration::from_hours(1)).await;
        }
        let status = if known.broken == "large-body" {
            500
        } else {
            413
        };
        return problem(status, "PayloadTooLarge");
    };
    let body: Value = match serde_json::from_slice(&body) {
        Ok(body) => body,
        Err(_) if known.broken == "no-json" => return problem(500, "Failed"),
        Err(_) => return problem(400, "BadRequest"),
    };
    let (wanted, shape) = (&body["wanted"], &body["wanted"]["shape"]);
    let is_there = shape.is_object() && wanted["open_to"].is_array();
    let is_number = shape["storage_size_gib"].is_number();
    if !is_there && known.broken != "missing-property"
        || is_there && !is_number && known.broken != "wrong-type"
        || known.broken == "unknown-property" && body["of_a_later_version"].is_boolean()
    {
        return problem(400, "BadRequest");
    }
    if known.is_wicked.load(Ordering::SeqCst)
        && let Some(response) = known.wicked(id, step, wanted).await
    {
        return response;
    }
    if known.broken == "busy-now-and-then" && step == "observe" {
        let before = known.observations.fetch_add(1, Ordering::SeqCst);
        if before.is_multiple_of(4) {
            return busy("1");
        }
    }
    if known.broken == "busy" {
        return busy("1");
    }
    known.step_in_time(id, step, &body).await
}

/// A call that gets no response, until its connection is closed.
struct Hanging(Arc<AtomicUsize>);

impl Hanging {
    fn begin(all: &Arc<AtomicUsize>) -> Self {
        all.fetch_add(1, Ordering::SeqCst);
        Self(Arc::clone(all))
    }
}

impl Drop for Hanging {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::SeqCst);
    }
}

impl Known {
    /// Responds with what the provisioner is.
    fn about(&self) -> Response {
        let mut versions = self.versions.lock().unwrap().clone();
        if self.broken == "view" {
            versions.push(versions[0]);
        }
        if self.broken == "upgrades-unknown" {
            versions.retain(|version| *version != "18");
        }
        let sizes = match self.broken {
            "sizes-unknown" => json!([{ "vm_size": "huge-1", "storage_sizes_gib": [64] }]),
            _ => SIZES
                .map(|(size, gib)| json!({ "vm_size": size, "storage_sizes_gib": gib }))
                .into(),
        };
        ok(&json!({
            "name": "fake 1",
            "is_simulated": false,
            "versions": versions,
            "upgrades": upgrades(self.broken),
            "flavors": ["standard"],
            "sizes": sizes,
            "can_shrink_storage": false,
            "sends_events": true,
        }))
    }

    /// Responds with the events from now on.
    fn follow(&self) -> Response {
        let events = self.events.subscribe();
        self.streams.fetch_add(1, Ordering::SeqCst);
        let media_type = match self.broken {
            "events" => "application/json",
            _ => "text/event-stream",
        };
        let first = match self.broken {
            "events-unfit" => Sent::Text("data: {\"ids\": []}\n\n".to_owned()),
            _ => Sent::Ids(Vec::new()),
        };
        let is_silent = self.broken == "events-silent";
        let first = (!is_silent).then_some(first);
        let texts = futures_util::stream::unfold((first, events), async |(first, mut events)| {
            let sent = match first {
                Some(first) => first,
                None => events.recv().await.ok()?,
            };
            let text = match sent {
                Sent::Ids(ids) => format!("data: {}\n\n", json!({ "database_ids": ids })),
                Sent::Text(text) => text,
                Sent::End => return None,
            };
            Some((Ok::<_, std::io::Error>(text), (None, events)))
        });
        let response = Response::builder().header(header::CONTENT_TYPE, media_type);
        let response = response.body(Body::from_stream(texts));
        response.expect("it is a response")
    }

    fn note_call(&self, name: &str) {
        let mut calls = self.calls.lock().unwrap();
        calls
            .entry(name.to_owned())
            .or_default()
            .push(Instant::now());
    }

    /// Responds as a provisioner that is out of order, if the name of a database asks for that.
    async fn wicked(&self, id: &str, step: &str, wanted: &Value) -> Option<Response> {
        let name = wanted["name"].as_str().unwrap_or_default();
        self.note_call(name);
        let is_stuck = self.is_stuck.load(Ordering::SeqCst);
        match name {
            _ if name.starts_with("hang") || name.starts_with("stuck") && is_stuck => {
                let _hanging = Hanging::begin(&self.hanging);
                tokio::time::sleep(Duration::from_hours(1)).await;
            }
            _ if name.starts_with("stuck") || name.starts_with("flaky") && !is_stuck => {
                return Some(problem(500, "Failed"));
            }
            _ if name.starts_with("leisurely") => {
                tokio::time::sleep(Duration::from_millis(150)).await;
            }
            "garbage" => return Some(Response::new(Body::from("<html>out of order</html>"))),
            "huge" => {
                let endless = futures_util::stream::repeat_with(|| {
                    Ok::<_, std::io::Error>(vec![b' '; 64 << 10])
                });
                let response = Response::builder().header(header::CONTENT_TYPE, "application/json");
                let response = response.body(Body::from_stream(endless));
                return Some(response.expect("it is a response"));
            }
            "unknown" => return Some(problem(404, "DatabaseNotFound")),
            "open" if step == "restrict" => return Some(problem(500, "Failed")),
            "lost" => return Some(json_of(404, "application/json", &json!({}))),
            "failed" => return Some(problem(500, "Failed")),
            "busy" => return Some(busy("1")),
            "busy-for-long" => return Some(busy("31536000")),
            "down" => return self.down(id, step),
            "uncertified" | "unparsed" if step == "connection" => {
                let wrong = if name == "uncertified" {
                    "-----BEGIN CERTIFICATE-----\nthis is none\n"
                } else {
                    "-----BEGIN CERTIFICATE-----\nQUJD\n-----END CERTIFICATE-----\n"
                };
                return Some(ok(&json!({
                    "host": "certified.example",
                    "ca_certificates": self.authority.1,
                    "server_certificate": wrong,
                })));
            }
            _ => {}
        }
        None
    }

    /// Responds to a step of a database whose server is down until it is restarted. Returns `None` if the
    /// step is made as for others.
    fn down(&self, id: &str, step: &str) -> Option<Response> {
        let mut databases = self.databases.lock().unwrap();
        let database = databases.get_mut(id)?;
        match step {
            "restart" => {
                database.is_up = true;
                None
            }
            _ if database.is_up || !database.is_created => None,
            "observe" => {
                let mut observed = observed(database, self.broken);
                observed["is_available"] = json!(false);
                Some(ok(&observed))
            }
            "restrict" | "set-password" => Some(problem(500, "Failed")),
            _ => None,
        }
    }

    /// Makes a step, and lets the response of an observation be on its way for a time.
    async fn step_in_time(&self, id: &str, step: &str, body: &Value) -> Response {
        let response = self.step(id, step, body);
        if step == "observe" {
            let on_its_way = *self.observation.lock().unwrap();
            tokio::time::sleep(on_its_way).await;
        }
        response
    }

    fn step(&self, id: &str, step: &str, body: &Value) -> Response {
        let (wanted, broken) = (&body["wanted"], self.broken);
        let mut databases = self.databases.lock().unwrap();
        if step == "create" {
            let shape = &wanted["shape"];
            let (size, gib) = (&shape["vm_size"], shape["storage_size_gib"].as_i64());
            let mut sizes = SIZES.iter();
            let is_offered =
                sizes.any(|(name, of)| size == name && gib.is_some_and(|gib| of.contains(&gib)));
            if wanted["flavor"] != "standard" && broken != "flavor"
                || !is_offered && broken != "offered-sizes"
            {
                return problem(500, "Failed");
            }
            let database = databases.entry(id.to_owned()).or_default();
            if broken == "create" {
                return pending();
            }
            let is_new = database.steps.insert("create".to_owned(), 1).is_none();
            if is_new {
                database.shape = wanted["shape"].clone();
                return pending();
            }
            if broken == "create-again" {
                database.shape = wanted["shape"].clone();
            }
            database.is_created = true;
            return done();
        }
        if step == "delete" {
            let Some(database) = databases.get_mut(id) else {
                let is_again = broken == "delete-again" || broken == "unknown-delete";
                return if is_again {
                    problem(404, "DatabaseNotFound")
                } else {
                    done()
                };
            };
            let keeps = broken == "delete-unfinished" && !database.is_created
                || broken == "delete" && database.is_created;
            if keeps {
                database.is_created = true;
            } else {
                databases.remove(id);
            }
            return done();
        }
        if broken == "lost" && body["known"].is_object() {
            databases.entry(id.to_owned()).or_insert_with(|| Database {
                shape: wanted["shape"].clone(),
                is_created: true,
                ..Database::default()
            });
        }
        if broken == "known" && body["known"].is_object() && databases.contains_key(id) {
            return problem(400, "BadRequest");
        }
        let Some(database) = databases.get_mut(id).filter(|it| it.is_created) else {
            if broken == "unknown-database" && step == "promote" {
                return done();
            }
            return problem(404, "DatabaseNotFound");
        };
        match step {
            "observe" => {
                database.observed += 1;
                ok(&observed(database, broken))
            }
            "resize" => resize(database, body, broken),
            "restart" | "promote" => numbered(database, step, body, broken),
            "restrict" => {
                let is_empty = wanted["open_to"].as_array().is_some_and(Vec::is_empty);
                if broken == "restrict" && is_empty {
                    return problem(500, "Failed");
                }
                nothing()
            }
            "set-password" => {
                database.passwords += 1;
                let password = body["password"].as_str().unwrap_or_default();
                password.clone_into(&mut database.password);
                if broken == "set-password" && database.passwords > 1 {
                    return problem(500, "Failed");
                }
                nothing()
            }
            _ => {
                database.connections += 1;
                let host = match broken {
                    "together" => "same.fake.example".to_owned(),
                    "connection" => format!("{id}-{}.fake.example", database.connections),
                    _ => format!("{id}.fake.example"),
                };
                self.connection(&host)
            }
        }
    }

    fn connection(&self, host: &str) -> Response {
        let (issuer, authority) = &self.authority;
        let key = KeyPair::generate().expect("a key can be made");
        let params = CertificateParams::new(vec![host.to_owned()]).expect("it is a name");
        let certificate = params.signed_by(&key, issuer).expect("it can be signed");
        ok(&json!({
            "host": host,
            "ca_certificates": authority,
            "server_certificate": certificate.pem(),
        }))
    }
}

/// Returns the upgrades that a provisioner says it can make.
fn upgrades(broken: Broken) -> Value {
    let to = match broken {
        "upgrades-earlier" => json!(["16"]),
        "upgrades-unknown" => json!(["17", "18"]),
        _ => json!(["17"]),
    };
    let from = |version: &str, to: &Value| json!({ "from": version, "to": to });
    match broken {
        "upgrades-twice" => json!([from("16", &to), from("16", &to)]),
        _ => json!([from("16", &to)]),
    }
}

fn nothing() -> Response {
    let response = Response::builder().status(StatusCode::NO_CONTENT);
    response.body(Body::empty()).expect("it is a response")
}

fn observed(database: &Database, broken: Broken) -> Value {
    let backup = |hour: u32| json!({ "key": format!("2026030{hour}"), "last_modified": format!("2026-03-01T0{hour}:00:00Z") });
    let mut backups = vec![backup(1), backup(2)];
    if broken == "observe" {
        backups.reverse();
    }
    json!({
        "is_available": !database.is_down && (broken != "opened-by-password" || database.passwords > 0),
        "shape": database.shape,
        "used_bytes": 1,
        "earliest_restore_time": "2026-03-01T01:00:00Z",
        "latest_restore_time": "2026-03-02T00:00:00Z",
        "backups": backups,
    })
}

fn resize(database: &mut Database, body: &Value, broken: Broken) -> Response {
    let wanted = &body["wanted"]["shape"];
    let version = |shape: &Value| shape["version"].as_str().map(ToOwned::to_owned);
    if version(wanted) < version(&database.shape) && broken != "older" {
        let is_first = database.steps.insert("older".to_owned(), 1).is_none();
        if is_first && broken == "busy-now-and-then" {
            return busy("1");
        }
        return problem(500, "Failed");
    }
    let versions = (version(&database.shape), version(wanted));
    let is_upgrade = |from: &str, to: &str| {
        versions.0.as_deref() == Some(from) && versions.1.as_deref() == Some(to)
    };
    if is_upgrade("16", "18") && broken != "upgrades-unnamed"
        || is_upgrade("16", "17") && broken == "upgrades"
    {
        return problem(500, "Failed");
    }
    let storage = |shape: &Value| shape["storage_size_gib"].as_i64();
    if storage(wanted) < storage(&database.shape) && broken != "shrink" {
        return problem(500, "Failed");
    }
    let waits = body["wanted"]["maintenance_window"].is_number() && broken != "window";
    for key in ["version", "storage_size_gib", "ha_type", "vm_size"] {
        let is_kept = key == "vm_size" && (waits || broken == "size")
            || key == "storage_size_gib" && broken == "storage"
            || key == "ha_type" && broken == "standbys";
        if !is_kept {
            database.shape[key] = wanted[key].clone();
        }
    }
    // As it would be in a window that is always closed.
    let is_waiting = waits && database.shape["vm_size"] != wanted["vm_size"];
    if is_waiting || database.shape["ha_type"] != wanted["ha_type"] {
        pending()
    } else {
        done()
    }
}

fn numbered(database: &mut Database, step: &str, body: &Value, broken: Broken) -> Response {
    let number = body["number"].as_i64().unwrap_or_default();
    let is_alone = body["wanted"]["shape"]["ha_type"] == "none";
    if step == "promote" && is_alone {
        return if broken == "promote-alone" {
            pending()
        } else {
            done()
        };
    }
    let last = database.steps.entry(step.to_owned()).or_default();
    if *last < number {
        *last = number;
        return pending();
    }
    if broken == step {
        // Done once, and then begun again.
        *last = number - 1;
    }
    done()
}
