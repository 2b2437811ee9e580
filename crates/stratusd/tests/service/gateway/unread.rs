//! Callers of HTTP/2 that do not read their responses.

use std::time::{Duration, Instant};

use h2::RecvStream;
use reqwest::Method;

use super::multiplexed::Multiplexed;
use super::scene::{Key, Scene};
use crate::support::eventually;

/// Sends a request, and takes no byte of the body of the response, which this returns.
async fn unread(scene: &Scene, key: &Key, path: &str) -> RecvStream {
    let mut caller = Multiplexed::connect(scene, Some(0)).await;
    let response = caller.get(key, path).await;
    assert_eq!(response.status(), 200);
    response.into_body()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_its_caller_does_not_read_does_not_keep_its_place() {
    let settings = ["--idle-timeout", "2s", "--gateway-key-requests", "1"];
    let scene = Scene::new(&settings).await;
    for path in ["/v1/flood", "/v1/stream/100000"] {
        let _body = unread(&scene, &scene.key, path).await;
        assert_eq!(scene.get(&scene.key, "/v1/models").await.status(), 429);
        let begun = Instant::now();
        let again = eventually(async || {
            let response = scene.get(&scene.key, "/v1/models").await;
            (response.status() == 200).then_some(())
        });
        again.await.expect("the place is free again");
        let took = begun.elapsed();
        assert!(
            took < Duration::from_secs(10),
            "{path} kept it for {took:?}"
        );
        scene.ensure_ended().await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_its_caller_does_not_read_ends_with_its_key() {
    let scene = Scene::new(&[]).await;
    let _body = unread(&scene, &scene.key, "/v1/flood").await;
    let path = format!("/inference-api-key/{}", scene.key.id);
    let deleted = scene.shop.send(Method::DELETE, &path, None).await;
    assert_eq!(deleted.expect("the service responds").status(), 204);
    let begun = Instant::now();
    scene.ensure_ended().await;
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(5), "it went on for {took:?}");
}
