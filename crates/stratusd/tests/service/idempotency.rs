//! Idempotency keys: a repeated request gets the response to the first, and changes nothing.

use std::convert::Infallible;
use std::time::Duration;

use futures_util::future::join_all;
use reqwest::Method;
use serde_json::{Value, json};
use stratusd::storage::{self, Aborted, Change, Connection, clock};
use stratusd::world::World;
use tokio::io::AsyncReadExt;
use tokio::net::{TcpListener, TcpStream};

use crate::on_both;
use crate::support::Home;
use crate::support::bare::{Bare, BareRequest, BareResponse};
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;

const PLACE: &str = "/location/eu-central-h1";
const KEYS: &str = "/inference-api-key";
/// Longer than the requests of a test take.
const MOMENT: Duration = Duration::from_mins(1);

/// What a repeat must have in common with the first response, and whether it is a repeat.
#[derive(Debug, Clone, PartialEq)]
struct Response {
    status: u16,
    tag: Option<String>,
    cache_control: Option<String>,
    body: Vec<u8>,
    is_replayed: bool,
}

impl Response {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("it is JSON")
    }

    fn error(&self) -> (u16, String) {
        let body = self.json();
        let kind = body["error"]["type"].as_str().unwrap_or_default();
        (self.status, kind.to_owned())
    }

    /// Returns the response as its repeat must be.
    fn again(&self) -> Self {
        assert_eq!(self.status, 200, "{}", self.json());
        Self {
            is_replayed: true,
            ..self.clone()
        }
    }
}

/// Sends a POST with a key.
async fn post(caller: &Caller, key: &str, path: &str, body: &Value) -> Response {
    let headers = [("idempotency-key", key)];
    let sent = caller.send_with(&headers, Method::POST, path, Some(body));
    let response = sent.await.expect("the service responds");
    let header = |name| {
        let value = response.headers().get(name)?;
        Some(value.to_str().expect("it is text").to_owned())
    };
    let replayed = header("idempotency-replayed");
    assert!(matches!(replayed.as_deref(), None | Some("true")));
    Response {
        status: response.status().as_u16(),
        tag: header("etag"),
        cache_control: header("cache-control"),
        is_replayed: replayed.is_some(),
        body: response.bytes().await.expect("it has a body").to_vec(),
    }
}

fn begin(home: &Home, more: &[&str]) -> (Service, Caller) {
    home.apply(&two_projects());
    let settings = [&["--simulate-delay", "1h"], more].concat();
    let service = home.serve(&settings);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    (service, shop)
}

/// The length in bytes of a long response, about in the middle between two parts.
const LONG: usize = 14_000;

/// Creates a database whose response has about a number of bytes, or is short.
async fn create_database(bare: &Bare, name: &str, key: &str, length: usize) -> BareResponse {
    let tags: Vec<Value> = (0..length / 280)
        .map(|number| json!({ "key": format!("key-{number:02}"), "value": "v".repeat(252) }))
        .collect();
    let request = BareRequest {
        method: "POST",
        path: format!("/project/{SHOP}{PLACE}/postgres/{name}"),
        body: Some(json!({ "size": "standard-2", "storage_size": 64, "tags": tags })),
    };
    bare.call_with(&[("idempotency-key", key)], &request).await
}

/// One transaction of a sweep.
struct OneSweep {
    world: World,
}

impl Change for OneSweep {
    type Output = usize;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<usize, Aborted<Infallible>> {
        let now = clock::now(tx, &self.world).await?;
        Ok(storage::idempotency::sweep(tx, now, 500).await?.rows)
    }
}

/// Sweeps everything that has expired, and returns the number of responses.
async fn swept(bare: &Bare) -> usize {
    let year = Duration::from_hours(365 * 24);
    let swept = stratusd::sweep::once(&bare.store, &bare.context.world, year).await;
    swept.expect("it sweeps").responses
}

on_both! {
    async fn a_repeat_of_every_post_gets_the_first_response(home: Home) {
        let (service, shop) = begin(&home, &[]);
        let orders = format!("{PLACE}/postgres/orders");
        let database = json!({ "size": "standard-2", "storage_size": 64, "ha_type": "async", "tags": [{ "key": "ü", "value": "\u{0}" }] });
        let made = post(&shop, "create", &orders, &database).await;
        assert!(!made.is_replayed);
        // The same request again, even after the resource has changed.
        shop.patch(&orders, json!({ "tags": [] })).await.ok();
        assert_eq!(post(&shop, "create", &orders, &database).await, made.again());
        assert_eq!(shop.get(&orders).await.ok()["tags"], json!([]), "a repeat changes nothing");

        let subnet = |name: &str| format!("{PLACE}/private-subnet/{name}");
        let frontend = shop.get(&subnet("frontend")).await.ok()["id"].clone();
        let backend = shop.get(&subnet("backend")).await.ok()["id"].clone();
        let vms = shop.get(&format!("{PLACE}/vm?order_column=name")).await.ok();
        for (path, body) in [
            (format!("{PLACE}/load-balancer/web/detach-vm"), json!({ "vm_id": vms["items"][0]["id"] })),
            (format!("{PLACE}/load-balancer/new"), json!({
                "algorithm": "round_robin", "src_port": 1, "dst_port": 2, "health_check_protocol": "tcp", "private_subnet_id": backend,
            })),
            (format!("{PLACE}/load-balancer/new/attach-vm"), json!({ "vm_id": vms["items"][0]["id"] })),
            (format!("{orders}/reset-superuser-password"), json!({ "password": "Abcdefgh1234" })),
            (format!("{orders}/restart"), json!({})),
            (format!("{orders}/promote"), json!({})),
            (format!("{orders}/set-maintenance-window"), json!({})),
            (format!("{orders}/firewall-rule"), json!({ "cidr": "10.0.0.0/8" })),
            (subnet("new"), json!({})),
            (format!("{}/connect", subnet("backend")), json!({ "connected-subnet-id": frontend })),
            (format!("{}/disconnect/{}", subnet("backend"), frontend.as_str().expect("it is an id")), json!({})),
            (format!("{PLACE}/firewall/offices"), json!({})),
            (format!("{PLACE}/firewall/offices/attach-subnet"), json!({ "private_subnet_id": backend })),
            (format!("{PLACE}/firewall/offices/firewall-rule"), json!({ "cidr": "10.0.0.0/8" })),
            (format!("{PLACE}/firewall/web-only/detach-subnet"), json!({ "private_subnet_id": backend })),
            (KEYS.to_owned(), json!({})),
        ] {
            // One key serves many operations: it belongs to each alone.
            let first = post(&shop, "create", &path, &body).await;
            assert!(!first.is_replayed, "{path}");
            assert_eq!(post(&shop, "create", &path, &body).await, first.again(), "{path}");
            // An absent body is an empty object.
            if body == json!({}) {
                let headers = [("idempotency-key", "create")];
                let bare = shop.send_with(&headers, Method::POST, &path, None).await.expect("the service responds");
                assert_eq!(bare.bytes().await.expect("it has a body").to_vec(), first.body);
            }
        }
        // A restarted service knows what the one before has done.
        let key = post(&shop, "restart", KEYS, &json!({})).await;
        drop(service);
        let service = home.serve(&["--simulate-delay", "1h"]);
        let token = home.token("shop", &[]);
        let other = Caller::new(&service.base, SHOP, &token);
        let fresh = post(&other, "restart", KEYS, &json!({})).await;
        assert!(!fresh.is_replayed && fresh.json() != key.json(), "a key belongs to one token");
        let shop = shop.at(&service.base, SHOP);
        assert_eq!(post(&shop, "restart", KEYS, &json!({})).await, key.again());
    }

    async fn a_key_stands_for_one_request(home: Home) {
        let (_service, shop) = begin(&home, &[]);
        let orders = format!("{PLACE}/postgres/orders");
        let body = |gib: i64| json!({ "size": "standard-2", "storage_size": gib });
        // A refusal is not kept: the corrected request can have the same key.
        let refused = post(&shop, "key", &orders, &body(65)).await;
        assert_eq!(refused.error(), (400, "InvalidRequest".to_owned()));
        let made = post(&shop, "key", &orders, &body(64)).await;
        assert_eq!((made.status, made.is_replayed), (200, false));
        for (path, body) in [
            (orders.clone(), body(128)),
            (orders.clone(), body(65)),
            (format!("{PLACE}/postgres/invoices"), body(64)),
            ("/location/us-east-a2/postgres/orders".to_owned(), body(64)),
        ] {
            let refused = post(&shop, "key", &path, &body).await;
            assert_eq!(refused.error(), (409, "IdempotencyConflict".to_owned()), "{path} {body}");
        }
        assert_eq!(shop.get("/postgres").await.ok()["count"], 1);
        for wrong in ["", "a\u{7f}", &"k".repeat(256)] {
            let Ok(response) = shop.send_with(&[("idempotency-key", wrong)], Method::POST, KEYS, None).await else {
                continue;
            };
            assert_eq!(response.status(), 400, "{wrong}");
        }
        assert_eq!(post(&shop, &"k".repeat(255), KEYS, &json!({})).await.status, 200);
    }

    async fn a_project_has_a_bounded_number_of_keys(home: Home) {
        let (_service, shop) = begin(&home, &["--idempotency-keys", "3"]);
        for number in 0..3 {
            assert_eq!(post(&shop, &format!("key-{number}"), KEYS, &json!({})).await.status, 200);
        }
        let refused = post(&shop, "key-3", KEYS, &json!({})).await;
        assert_eq!(refused.error(), (429, "TooManyRequests".to_owned()));
        assert!(post(&shop, "key-2", KEYS, &json!({})).await.is_replayed, "the old ones work");
        shop.post(KEYS, json!({})).await.ok();
    }

    async fn a_key_is_forgotten_after_a_day(home: Home) {
        let bare = Bare::new(home).await;
        let create = |key: &str| {
            let request = BareRequest {
                method: "POST",
                path: format!("/project/{SHOP}{KEYS}"),
                body: Some(json!({})),
            };
            let (bare, key) = (&bare, key.to_owned());
            async move { bare.call_with(&[("idempotency-key", &key)], &request).await }
        };
        let is_replayed = |response: &BareResponse| {
            assert_eq!(response.0, 200, "{}", String::from_utf8_lossy(&response.2));
            response.1.iter().any(|(name, _)| name == "idempotency-replayed")
        };
        let day = Duration::from_hours(24);
        let first = create("key").await;
        assert!(!is_replayed(&first));
        bare.wait(day.saturating_sub(MOMENT));
        let again = create("key").await;
        assert!(is_replayed(&again) && again.2 == first.2);
        bare.wait(MOMENT);
        let new = create("key").await;
        assert!(!is_replayed(&new) && new.2 != first.2, "an expired key is as good as new");
        assert!(is_replayed(&create("key").await));

        // What nobody asks for again is deleted, and makes room for other keys.
        for number in 1..10 {
            assert!(!is_replayed(&create(&format!("key-{number}")).await));
        }
        // The oldest key was made anew an hour and some requests ago. It is swept within a minute
        // after its end.
        bare.wait(Duration::from_hours(1));
        let refused = create("one-too-many").await;
        assert_eq!(refused.0, 429);
        let header = |name: &str| {
            let found = refused.1.iter().find(|(other, _)| other == name);
            found.unwrap_or_else(|| panic!("no {name} in {:?}", refused.1)).1.clone()
        };
        let wait: u64 = header("retry-after").parse().expect("it is a number");
        let longest = 86_400 - 3_600 + 60;
        assert!((longest - MOMENT.as_secs()..=longest).contains(&wait), "{wait}");
        assert_eq!(header("ratelimit"), format!("\"idempotency-keys\";r=0;t={wait}"));
        assert_eq!(header("ratelimit-policy"), "\"idempotency-keys\";q=10;w=86400");
        assert_eq!(swept(&bare).await, 0);
        bare.wait(day);
        assert_eq!(swept(&bare).await, 10);
        assert!(!is_replayed(&create("one-too-many").await));
    }

    async fn a_long_response_counts_as_several_keys(home: Home) {
        let bare = Bare::new(home).await;
        let day = Duration::from_hours(24);
        // Its sealed form is some 50 bytes longer, and the hash of the request.
        let parts = LONG.div_ceil(4 << 10);
        let create = async |name: &str, key: &str, length| {
            let response = create_database(&bare, name, key, length).await;
            let is_long = response.0 == 200 && length > 0;
            assert!(!is_long || response.2.len().abs_diff(LONG) < 1_000, "{}", response.2.len());
            response.0
        };
        assert_eq!(create("first", "key", LONG).await, 200);
        bare.wait(day);
        assert_eq!(swept(&bare).await, 1);
        // What is swept leaves all of its room.
        assert_eq!(create("second", "key", LONG).await, 200);
        for number in parts..10 {
            let name = format!("short-{number}");
            assert_eq!(create(&name, &name, 0).await, 200, "{name}");
        }
        assert_eq!(create("one-too-many", "one-too-many", 0).await, 429);
        assert_eq!(create("second", "key", LONG).await, 200, "a repeat takes no room");
        // A key that has expired takes the room of its new response.
        bare.wait(day);
        assert_eq!(create("third", "key", 0).await, 200);
        for number in 1..parts {
            let name = format!("other-{number}");
            assert_eq!(create(&name, &name, 0).await, 200, "{name}");
        }
        assert_eq!(create("one-too-many", "one-too-many", 0).await, 429);
        assert_eq!(create("fourth", "key", LONG).await, 409, "it is in use again");
        bare.wait(day);
        assert_eq!(create("fourth", "key", LONG).await, 200);
        // Nor is the limit exceeded by new responses to old keys.
        assert_eq!(create("fifth", "other-1", LONG).await, 429);
    }

    async fn a_sweep_deletes_long_responses_in_more_transactions(home: Home) {
        // Each transaction deletes what counts as 500.
        let bare = Bare::with_keys(home, 1_000_000).await;
        let parts = LONG.div_ceil(4 << 10);
        let each = 500_usize.div_ceil(parts);
        let count = each * 2 + 10;
        for number in 0..count {
            let name = format!("long-{number}");
            assert_eq!(create_database(&bare, &name, &name, LONG).await.0, 200);
        }
        bare.wait(Duration::from_hours(24));
        let sweep = OneSweep { world: bare.context.world.clone() };
        let deleted = bare.store.change(sweep).await.expect("it sweeps");
        assert_eq!(deleted, each);
        assert_eq!(swept(&bare).await, count - each);
    }

    async fn a_rotation_of_keys_keeps_the_responses(home: Home) {
        home.apply(&two_projects());
        let old = std::fs::read_to_string(home.keys()).expect("it is there");
        let new = home.succeed(&["key", "generate"]);
        std::fs::write(home.path().join("new-old"), format!("{new}{old}")).expect("the folder is writable");
        std::fs::write(home.path().join("new"), new).expect("the folder is writable");
        let token = home.token("shop", &[]);
        let before = home.serve(&[]);
        let made = post(&Caller::new(&before.base, SHOP, &token), "key", KEYS, &json!({})).await;
        drop(before);
        home.succeed(&["key", "rotate", "--encryption-keys-file", "new-old"]);
        let after = home.serve(&["--encryption-keys-file", "new"]);
        let again = post(&Caller::new(&after.base, SHOP, &token), "key", KEYS, &json!({})).await;
        assert_eq!(again, made.again());
    }

    async fn the_generated_client_repeats_a_create_whose_response_is_lost(home: Home) {
        use api_client::prelude::*;

        let (service, shop) = begin(&home, &[]);
        let base = forgetful(&service.base).await;
        let token = home.token("shop", &[]);
        let builder = api_client::Client::builder(&base).bearer(token);
        let retries = api_client::Retries::new(2).first_pause(Duration::from_millis(10));
        let client = builder.retries(retries).build().expect("a client can be made");
        let made = client
            .postgres_create()
            .project_id(SHOP)
            .location("eu-central-h1")
            .postgres_database_reference("orders")
            .body(api_types::PostgresCreate::new("standard-2".try_into().unwrap(), 64.try_into().unwrap()))
            .send()
            .await
            .expect("the repeat gets the response");
        assert_eq!(made.headers()["idempotency-replayed"], "true");
        assert_eq!(shop.get("/postgres").await.ok()["items"][0]["id"], made.id.as_str());
        // A key of the caller's own is sent as it is.
        let own = client.inference_api_key_create().project_id(SHOP).idempotency_key("my own");
        let one = own.clone().send().await.expect("it is made");
        let other = own.send().await.expect("it is repeated");
        assert_eq!(one.into_inner(), other.into_inner());
    }
}

/// Starts a proxy that passes the first request on, and closes its connection in place of the
/// response. Returns its URL.
async fn forgetful(base: &str) -> String {
    let to = base
        .strip_prefix("http://")
        .expect("it speaks HTTP")
        .to_owned();
    let listener = TcpListener::bind("127.0.0.1:0").await.expect("it binds");
    let address = listener.local_addr().expect("it has one");
    tokio::spawn(async move {
        let mut is_first = true;
        while let Ok((mut caller, _)) = listener.accept().await {
            let mut service = TcpStream::connect(&to).await.expect("it listens");
            if std::mem::take(&mut is_first) {
                let (mut request, _) = caller.split();
                let (mut response, mut passed_on) = service.split();
                // The change is made once its response begins.
                tokio::select! {
                    _ = tokio::io::copy(&mut request, &mut passed_on) => {}
                    begun = response.read_u8() => {
                        begun.expect("the service responds");
                    }
                }
                continue;
            }
            tokio::spawn(async move {
                let _ = tokio::io::copy_bidirectional(&mut caller, &mut service).await;
            });
        }
    });
    format!("http://{address}")
}

/// Sends the same requests several times at once, over all callers. The names of what they create
/// are taken as soon as the first of them is done.
async fn one_effect(callers: &[Caller]) {
    let database = json!({ "size": "standard-2", "storage_size": 64 });
    for round in 0..10 {
        let (key, name) = (format!("key-{round}"), format!("same-{round}"));
        for (path, body) in [
            (format!("{PLACE}/postgres/{name}"), database.clone()),
            (format!("{PLACE}/private-subnet/{name}"), json!({})),
            (KEYS.to_owned(), json!({})),
        ] {
            let sent = (0..18).map(|number| {
                let caller = &callers[number % callers.len()];
                post(caller, &key, &path, &body)
            });
            once(&join_all(sent).await);
        }
    }
    assert_eq!(callers[0].get("/postgres").await.ok()["count"], 10);
}

/// Checks that all responses are the same, and that one of them is not a repeat.
fn once(responses: &[Response]) {
    let mut firsts = responses.iter().filter(|response| !response.is_replayed);
    let first = firsts.next().expect("one is the first");
    assert_eq!(firsts.count(), 0, "there is one first");
    let again = first.again();
    for response in responses.iter().filter(|response| response.is_replayed) {
        assert_eq!(*response, again);
    }
}

mod concurrent {
    use super::*;

    async fn run(home: Home, replicas: usize) {
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        let services: Vec<Service> = (0..replicas)
            .map(|_| home.serve(&["--simulate-delay", "1h"]))
            .collect();
        let callers: Vec<Caller> = services
            .iter()
            .map(|service| Caller::new(&service.base, SHOP, &token))
            .collect();
        one_effect(&callers).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn repeats_have_one_effect_on_sqlite() {
        run(Home::sqlite(), 1).await;
    }

    #[tokio::test(flavor = "multi_thread", worker_threads = 2)]
    async fn repeats_have_one_effect_on_postgres() {
        if let Some(home) = Home::postgres() {
            run(home, 3).await;
        }
    }
}
