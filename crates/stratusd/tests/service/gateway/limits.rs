//! Limits of keys and projects: requests per second, and requests at a time.

use std::time::{Duration, Instant};

use reqwest::Response;

use super::multiplexed::Multiplexed;
use super::scene::{Key, Scene, read_error};
use crate::support::eventually;

/// The metric of requests that have a place. It is counted down after the place is given back.
const IN_PROGRESS: &str = "stratus_gateway_requests_in_progress";

/// Sends requests until one is refused because the `owner`, `key` or `project`, makes too many. Returns
/// how many were accepted.
async fn burst(scene: &Scene, key: &Key, path: &str, owner: &str) -> usize {
    for accepted in 0.. {
        let response = scene.get(key, path).await;
        if response.status() == 200 {
            continue;
        }
        // At one a second, the next one is no further away.
        assert_eq!(response.headers()["retry-after"], "1");
        ensure_limited(response, "rate_limit_exceeded", owner).await;
        return accepted;
    }
    unreachable!("there is a limit");
}

/// Checks that a request was refused with a code, and that the message says whose limit it is.
async fn ensure_limited(refused: Response, code: &str, owner: &str) {
    let (status, error) = read_error(refused).await;
    assert_eq!((status, error["code"].as_str()), (429, Some(code)));
    let message = error["message"].as_str().expect("it has a message");
    assert!(message.contains(&format!("the {owner} ")), "{message}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_that_makes_too_many_requests_must_wait() {
    let settings = [
        "--gateway-key-rate-limit",
        "1",
        "--gateway-key-rate-burst",
        "4",
    ];
    let scene = Scene::new(&settings).await;
    let begun = Instant::now();
    let accepted = burst(&scene, &scene.key, "/v1/models", "key").await;
    let most = 4 + usize::try_from(begun.elapsed().as_secs()).expect("it is short") + 1;
    assert!((4..=most).contains(&accepted), "{accepted} were accepted");
    // Another key of the project has its own limit, and so has the check for a proxy.
    let other = scene.another_key().await;
    assert_eq!(scene.get(&other, "/v1/models").await.status(), 200);
    assert!(burst(&scene, &other, "/auth", "key").await <= 3 + 1);
    assert_eq!(scene.get(&other, "/v1/models").await.status(), 429);
    tokio::time::sleep(Duration::from_millis(1100)).await;
    assert_eq!(scene.get(&scene.key, "/v1/models").await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn all_keys_of_a_project_share_its_limit() {
    let settings = [
        "--gateway-project-rate-limit",
        "1",
        "--gateway-project-rate-burst",
        "4",
    ];
    let scene = Scene::new(&settings).await;
    burst(&scene, &scene.key, "/v1/models", "project").await;
    let other = scene.another_key().await;
    assert!(burst(&scene, &other, "/v1/models", "project").await <= 1);
    let rival = scene.key_of_rival().await;
    assert_eq!(scene.get(&rival, "/v1/models").await.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_key_and_its_project_have_so_many_requests_at_a_time() {
    let settings = [
        "--gateway-key-requests",
        "2",
        "--gateway-project-requests",
        "3",
    ];
    let scene = Scene::new(&settings).await;
    let (other, rival) = (scene.another_key().await, scene.key_of_rival().await);
    let too_many = "too_many_requests_at_once";
    let begin = async |key: &Key| {
        let begun = scene.get(key, "/v1/pause/1").await;
        assert_eq!(begun.status(), 200);
        begun
    };
    let one = begin(&scene.key).await;
    let _two = begin(&scene.key).await;
    let refused = scene.get(&scene.key, "/v1/models").await;
    assert_eq!(refused.headers()["retry-after"], "1");
    ensure_limited(refused, too_many, "key").await;
    let _three = begin(&other).await;
    let refused = scene.get(&other, "/v1/models").await;
    ensure_limited(refused, too_many, "project").await;
    assert_eq!(scene.get(&rival, "/v1/models").await.status(), 200);
    // A check forwards nothing, and so needs no place.
    assert_eq!(scene.get(&other, "/auth").await.status(), 200);
    drop(one);
    let again = eventually(async || {
        let response = scene.get(&scene.key, "/v1/models").await;
        let is_made = response.status() == 200;
        // With the last byte, its own place is free again.
        response.bytes().await.expect("the response is whole");
        is_made.then_some(())
    });
    again.await.expect("the ended request makes room");
    let _again = begin(&scene.key).await;
    let refused = scene.get(&scene.key, "/v1/models").await;
    ensure_limited(refused, too_many, "key").await;
}

#[tokio::test(flavor = "multi_thread")]
async fn an_ended_request_makes_room_before_its_caller_has_the_response() {
    let scene = Scene::new(&["--gateway-key-requests", "1"]).await;
    for _ in 0..100 {
        let response = scene.get(&scene.key, "/v1/models").await;
        assert_eq!(response.status(), 200);
        response.bytes().await.expect("the response is whole");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_on_one_connection_have_places_too() {
    let scene = Scene::new(&["--gateway-max-connections", "2"]).await;
    let mut caller = Multiplexed::connect(&scene, None).await;
    for _ in 0..3 {
        let one = caller.get(&scene.key, "/v1/pause/1").await;
        let two = caller.get(&scene.key, "/v1/pause/1").await;
        assert_eq!([one.status(), two.status()], [200, 200]);
        let refused = caller.get(&scene.key, "/v1/models").await;
        assert_eq!(refused.status(), 503);
        assert_eq!(refused.headers()["retry-after"], "1");
        let mut body = refused.into_body();
        let body = body.data().await.expect("it has a body");
        let body = String::from_utf8(body.expect("it arrives").to_vec());
        assert!(body.expect("it is text").contains("\"overloaded\""));
        drop((one, two));
        scene.wait_for_metric(IN_PROGRESS, 0).await;
    }
    for _ in 0..4 {
        let response = caller.get(&scene.key, "/v1/models").await;
        assert_eq!(response.status(), 200);
        drop(response);
        scene.wait_for_metric(IN_PROGRESS, 0).await;
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn all_projects_together_have_so_many_requests_at_a_time() {
    let scene = Scene::new(&["--gateway-max-connections", "2"]).await;
    let (other, rival) = (scene.another_key().await, scene.key_of_rival().await);
    let _one = scene.get(&scene.key, "/v1/pause/1").await;
    let _two = scene.get(&other, "/v1/pause/1").await;
    // The third connection is closed at once.
    let third = scene
        .try_send(&rival, reqwest::Method::GET, "/v1/models")
        .await;
    assert!(third.is_err(), "{third:?}");
}
