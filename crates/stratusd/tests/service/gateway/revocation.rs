//! A deleted key stops within a second, also while it is cached and within streams, on all replicas.

use std::time::{Duration, Instant};

use reqwest::{Client, Method};

use super::scene::{Key, Scene, create_key, serve};
use crate::on_both;
use crate::support::Home;

/// How long a deleted key may work.
pub const LONGEST: Duration = Duration::from_secs(1);
/// The events of a stream that ends long after the test.
const ENDLESS: &str = "/v1/stream/1000";

/// Uses a key again and again until it is refused. Returns when the last request began that was
/// accepted.
pub async fn last_use(gateway: &str, key: &Key) -> Instant {
    let http = Client::new();
    let mut last = Instant::now();
    loop {
        let begun = Instant::now();
        let request = http.get(format!("{gateway}/v1/models"));
        let response = request.bearer_auth(&key.secret).send().await;
        match response.expect("the gateway responds").status().as_u16() {
            200 => last = begun,
            401 => return last,
            other => panic!("the status is {other}"),
        }
        tokio::time::sleep(Duration::from_millis(5)).await;
    }
}

/// Reads a stream until it is cut off. Returns when its last event arrived.
async fn last_event(gateway: &str, key: &Key) -> Instant {
    let request = Client::new().get(format!("{gateway}{ENDLESS}"));
    let response = request.bearer_auth(&key.secret).send().await;
    let mut response = response.expect("the gateway responds");
    assert_eq!(response.status(), 200);
    let mut last = Instant::now();
    loop {
        match response.chunk().await {
            Ok(Some(_)) => last = Instant::now(),
            Ok(None) => panic!("the stream ended as if it were complete"),
            Err(_) => return last,
        }
    }
}

on_both! {
    async fn a_deleted_key_stops_within_a_second(home: Home) {
        let scene = Scene::at(home, &[]).await;
        let is_shared = scene.home.database_url.starts_with("postgres");
        let replica = is_shared.then(|| serve(&scene.home, &scene.upstream.url, &[]));
        let replica = replica.as_ref().and_then(|it| it.gateway.clone());
        let gateways: Vec<String> = [Some(scene.gateway.clone()), replica].into_iter().flatten().collect();
        let other = create_key(&scene.shop).await;
        let mut uses = Vec::new();
        for gateway in gateways.clone() {
            let (gateway, key) = (gateway.clone(), scene.key.clone());
            uses.push(tokio::spawn(async move {
                tokio::join!(last_use(&gateway, &key), last_event(&gateway, &key))
            }));
        }
        // The key is cached, and the streams have begun.
        tokio::time::sleep(Duration::from_millis(1500)).await;
        let path = format!("/inference-api-key/{}", scene.key.id);
        let deleted = scene.shop.send(Method::DELETE, &path, None).await;
        let since = Instant::now();
        assert_eq!(deleted.expect("the service responds").status(), 204);
        for used in uses {
            let (request, event) = used.await.expect("nobody panics");
            for (what, last) in [("a request", request), ("an event", event)] {
                let after = last.saturating_duration_since(since);
                assert!(after < LONGEST, "{what} came {after:?} after the key was deleted");
            }
        }
        scene.ensure_ended().await;
        for gateway in &gateways {
            let models = Client::new().get(format!("{gateway}/v1/models"));
            let response = models.bearer_auth(&other.secret).send().await;
            assert_eq!(response.expect("the gateway responds").status(), 200);
        }
        scene.upstream.ensure_never_had(&scene.key.secret);
    }

    async fn a_key_works_at_once_and_on_each_replica(home: Home) {
        let scene = Scene::at(home, &[]).await;
        for _ in 0..5 {
            let key = scene.another_key().await;
            assert_eq!(scene.get(&key, "/v1/models").await.status(), 200);
            let auth = scene.get(&key, "/auth").await;
            assert_eq!(auth.headers()["stratus-key-id"], key.id);
        }
        let rival = scene.key_of_rival().await;
        let auth = scene.get(&rival, "/auth").await;
        assert_eq!(auth.headers()["stratus-project"], crate::support::inventory::RIVAL);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_that_waits_for_its_response_ends_with_its_key() {
    let scene = Scene::new(&[]).await;
    let path = format!("/inference-api-key/{}", scene.key.id);
    let waiting = scene.get(&scene.key, "/v1/late/60000");
    let delete = async {
        tokio::time::sleep(Duration::from_millis(500)).await;
        let deleted = scene.shop.send(Method::DELETE, &path, None).await;
        deleted.expect("the service responds")
    };
    let (response, _) = tokio::join!(waiting, delete);
    assert_eq!(response.status(), 401);
    scene.ensure_ended().await;
}
