//! Limits of keys and projects: requests per second, and requests at a time.

use std::time::{Duration, Instant};

use super::scene::{Key, Scene, error};
use crate::support::eventually;

/// Sends requests until one is refused. Returns how many were accepted, what the last one was, and
/// its `Retry-After`.
async fn burst(scene: &Scene, key: &Key, path: &str) -> (usize, String, String) {
    for accepted in 0.. {
        let response = scene.get(key, path).await;
        if response.status() == 200 {
            continue;
        }
        let wait = response.headers().get("retry-after").cloned();
        let wait = wait.expect("it says when to try again");
        let (status, code) = error(response).await;
        assert_eq!(status, 429);
        return (
            accepted,
            code,
            wait.to_str().expect("it is a number").to_owned(),
        );
    }
    unreachable!("there is a limit");
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
    let (accepted, code, wait) = burst(&scene, &scene.key, "/v1/models").await;
    let most = 4 + usize::try_from(begun.elapsed().as_secs()).expect("it is short") + 1;
    assert!((4..=most).contains(&accepted), "{accepted} were accepted");
    assert_eq!((&*code, &*wait), ("rate_limit_exceeded", "1"));
    // Another key of the project has its own limit, and so has the check for a proxy.
    let other = scene.another_key().await;
    assert_eq!(scene.get(&other, "/v1/models").await.status(), 200);
    assert!(burst(&scene, &other, "/auth").await.0 <= 3 + 1);
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
    burst(&scene, &scene.key, "/v1/models").await;
    let other = scene.another_key().await;
    assert!(burst(&scene, &other, "/v1/models").await.0 <= 1);
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
    let too_many = (429, "too_many_requests_at_once".to_owned());
    let one = scene.get(&scene.key, "/v1/pause/1").await;
    let _two = scene.get(&scene.key, "/v1/pause/1").await;
    let refused = scene.get(&scene.key, "/v1/models").await;
    assert_eq!(refused.headers()["retry-after"], "1");
    assert_eq!(error(refused).await, too_many);
    let _three = scene.get(&other, "/v1/pause/1").await;
    assert_eq!(error(scene.get(&other, "/v1/models").await).await, too_many);
    assert_eq!(scene.get(&rival, "/v1/models").await.status(), 200);
    // A check forwards nothing, and so needs no place.
    assert_eq!(scene.get(&other, "/auth").await.status(), 200);
    drop(one);
    let again = eventually(async || {
        let response = scene.get(&scene.key, "/v1/models").await;
        (response.status() == 200).then_some(())
    });
    again.await.expect("the ended request makes room");
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
