//! What a hostile tenant does with its own project and its own tokens.

use std::fmt;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use bytes::Bytes;
use reqwest::Method;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;
use tokio::runtime::Handle;
use tokio::task::JoinSet;

use crate::support::caller::Caller;
use crate::support::inventory::RIVAL;

const PLACE: &str = "/location/eu-central-h1";
/// The tasks of an attack, each of which has a connection, or a few of them.
const TASKS: usize = 8;
/// The connections with an unfinished body of each task.
const UNFINISHED: usize = 50;
/// The requests of each connection of HTTP/2 whose responses nobody reads.
const UNREAD: usize = 50;
/// How long a connection that only waits is kept before there is a new one.
const KEPT: Duration = Duration::from_secs(2);
/// The largest body that the service takes.
const LARGEST: usize = 1 << 20;
/// What is sent at once of a body that never ends.
static PART: [u8; 64 << 10] = [b' '; 64 << 10];
/// The databases of the hostile project, whose tags are as large as may be: more than fit on a page.
const DATABASES: usize = 150;

/// A thing that a tenant can do.
#[derive(Debug, Clone, Copy)]
pub enum Attack {
    Views,
    Pages,
    Subnets,
    UnknownVms,
    OneDatabase,
    OneKey,
    UnfinishedBodies,
    RefusedBodies,
    UnreadResponses,
    NoRights,
    NoToken,
}

pub const ATTACKS: [Attack; 11] = [
    Attack::Views,
    Attack::Pages,
    Attack::Subnets,
    Attack::UnknownVms,
    Attack::OneDatabase,
    Attack::OneKey,
    Attack::UnfinishedBodies,
    Attack::RefusedBodies,
    Attack::UnreadResponses,
    Attack::NoRights,
    Attack::NoToken,
];

impl fmt::Display for Attack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Views => "cheap views, as many as fit",
            Self::Pages => "the largest pages",
            Self::Subnets => "creates of subnets, up to the quota and beyond",
            Self::UnknownVms => "`vms` with 100 unknown ids",
            Self::OneDatabase => "changes of one database by all",
            Self::OneKey => "creates with one idempotency key",
            Self::UnfinishedBodies => "bodies that never end, on 400 connections",
            Self::RefusedBodies => "bodies of 1 MiB that are refused",
            Self::UnreadResponses => "responses of HTTP/2 that nobody reads",
            Self::NoRights => "changes by a token that may only read",
            Self::NoToken => "a token that does not exist",
        })
    }
}

/// A hostile tenant.
#[derive(Clone)]
pub struct Hostile {
    pub caller: Caller,
    /// A caller with a token that may only read.
    pub powerless: Caller,
    /// A caller whose token does not exist.
    pub unknown: Caller,
    /// The host and the port of the service.
    pub address: String,
    pub token: String,
    /// The threads of its callers.
    pub threads: Handle,
}

impl Hostile {
    /// Fills the project.
    pub async fn prepare(&self) {
        let hostile = self.clone();
        let filled = self.threads.spawn(async move { hostile.fill().await });
        filled.await.expect("the project is filled");
    }

    async fn fill(&self) {
        let size = json!({ "size": "standard-2", "storage_size": 64 });
        let tags: Vec<Value> = (0..50)
            .map(|number| json!({ "key": format!("key-{number}"), "value": "v".repeat(255) }))
            .collect();
        for number in 0..DATABASES {
            let path = format!("{PLACE}/postgres/large-{number}");
            self.caller.post(&path, size.clone()).await.ok();
            let patched = self.caller.patch(&path, json!({ "tags": tags })).await;
            // The reconciler may have been faster; a few small databases change nothing.
            assert!([200, 409].contains(&patched.status), "{patched:?}");
        }
    }

    /// Starts an attack, which goes on until the result is dropped.
    pub fn attack(&self, attack: Attack) -> JoinSet<()> {
        // Names are new in each attack, as long as the quota lasts.
        static NUMBER: AtomicUsize = AtomicUsize::new(0);
        let mut tasks = JoinSet::new();
        let body = Bytes::from(body(attack).to_string());
        for _ in 0..TASKS {
            let (hostile, body) = (self.clone(), body.clone());
            let attacking = async move {
                loop {
                    let number = NUMBER.fetch_add(1, Ordering::Relaxed);
                    hostile.once(attack, number, &body).await;
                }
            };
            tasks.spawn_on(attacking, &self.threads);
        }
        tasks
    }

    async fn once(&self, attack: Attack, number: usize, body: &Bytes) {
        let place = |path: &str| format!("{PLACE}/{path}");
        let (mut caller, mut key) = (&self.caller, None);
        let (method, path) = match attack {
            Attack::Views => (Method::GET, place("private-subnet/backend")),
            Attack::Pages => (Method::GET, "/postgres?page_size=1000".to_owned()),
            Attack::Subnets => {
                let name = format!("private-subnet/flood-{number}");
                (Method::POST, place(&name))
            }
            Attack::UnknownVms | Attack::RefusedBodies => {
                (Method::PATCH, place("load-balancer/web"))
            }
            Attack::OneDatabase => (Method::PATCH, place("postgres/large-0")),
            Attack::OneKey => {
                key = Some(("idempotency-key", "the-same"));
                (Method::POST, "/inference-api-key".to_owned())
            }
            Attack::NoRights => {
                caller = &self.powerless;
                (Method::POST, place("private-subnet/refused"))
            }
            Attack::NoToken => {
                caller = &self.unknown;
                (Method::GET, "/postgres".to_owned())
            }
            Attack::UnfinishedBodies => {
                let all = (0..UNFINISHED).map(|_| self.leave_unfinished());
                futures_util::future::join_all(all).await;
                return;
            }
            Attack::UnreadResponses => {
                // It fails where the service has closed the connection.
                let _ = self.leave_unread().await;
                return;
            }
        };
        let body = (method != Method::GET && key.is_none()).then(|| body.clone());
        let sent = caller.send_bytes(key.as_slice(), method, &path, body);
        // Any response is as expected, and nobody looks at it.
        if let Ok(mut response) = sent.await {
            give_way();
            while let Ok(Some(_)) = response.chunk().await {
                give_way();
            }
        }
    }

    /// Sends half of a body and waits.
    async fn leave_unfinished(&self) {
        let head = format!(
            "POST /project/{RIVAL}{PLACE}/postgres/none HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
             content-type: application/json\r\ncontent-length: {LARGEST}\r\n\r\n",
            self.token
        );
        let Ok(mut stream) = TcpStream::connect(&self.address).await else {
            return;
        };
        let sent = async {
            stream.write_all(head.as_bytes()).await?;
            for _ in 0..LARGEST / 2 / PART.len() {
                stream.write_all(&PART).await?;
                give_way();
            }
            // Until the service responds.
            stream.read_u8().await
        };
        let _ = tokio::time::timeout(KEPT, sent).await;
    }

    /// Asks for pages over HTTP/2 and reads none.
    async fn leave_unread(&self) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
        let stream = TcpStream::connect(&self.address).await?;
        let (mut requests, connection) = h2::client::handshake(stream).await?;
        let mut tasks = JoinSet::new();
        tasks.spawn(async {
            let mut connection = std::pin::pin!(connection);
            let driven = std::future::poll_fn(|context| {
                let polled = connection.as_mut().poll(context);
                give_way();
                polled
            });
            let _ = driven.await;
        });
        let mut unread = Vec::new();
        for _ in 0..UNREAD {
            requests = requests.ready().await?;
            let path = format!(
                "http://{}/project/{RIVAL}/postgres?page_size=1000",
                self.address
            );
            let request = http::Request::get(path)
                .header("authorization", format!("Bearer {}", self.token))
                .body(())?;
            let (response, _) = requests.send_request(request, true)?;
            unread.push(response);
            give_way();
        }
        tokio::time::sleep(KEPT).await;
        Ok(())
    }
}

/// Lets other threads run, of which one may wait for this processor. A caller elsewhere would have one of
/// its own.
fn give_way() {
    std::thread::yield_now();
}

/// Returns the body of the requests of an attack.
fn body(attack: Attack) -> Value {
    let vms = |count: usize| -> Vec<String> {
        (0..count).map(|number| format!("vm{number:024}")).collect()
    };
    let balancer = |vms: Vec<String>| json!({ "algorithm": "round_robin", "src_port": 1, "dst_port": 2, "health_check_endpoint": "/", "vms": vms });
    match attack {
        Attack::UnknownVms => balancer(vms(100)),
        Attack::RefusedBodies => balancer(vms(LARGEST / 30)),
        Attack::OneDatabase => json!({ "tags": [{ "key": "a", "value": "b" }] }),
        _ => json!({}),
    }
}
