//! The check of keys for a proxy that forwards requests itself, as nginx, Envoy and Traefik ask.

use reqwest::Method;

use super::scene::{Scene, error};
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};

#[tokio::test(flavor = "multi_thread")]
async fn each_proxy_learns_whose_key_it_is() {
    let scene = Scene::new(&[]).await;
    let bearer = format!("Bearer {}", scene.key.secret);
    let http = reqwest::Client::new();
    for (method, path, headers) in [
        // nginx sends a GET request without a body for requests of every method.
        (
            Method::GET,
            "/auth",
            vec![("x-original-uri", "/v1/chat/completions")],
        ),
        // Traefik sends a GET request, and says what it asks about in headers.
        (
            Method::GET,
            "/auth",
            vec![
                ("x-forwarded-method", "POST"),
                ("x-forwarded-uri", "/v1/chat/completions"),
            ],
        ),
        // Envoy sends the method, and appends the path to its prefix.
        (
            Method::POST,
            "/auth/v1/chat/completions?x=1",
            vec![("content-length", "0")],
        ),
        (Method::DELETE, "/auth/v1/files/1", vec![]),
        (Method::HEAD, "/auth/v1/models", vec![]),
        (Method::OPTIONS, "/auth/v1/models", vec![]),
    ] {
        for is_right in [true, false] {
            let url = format!("{}{path}", scene.gateway);
            let mut request = http.request(method.clone(), url);
            for (name, value) in &headers {
                request = request.header(*name, *value);
            }
            if is_right {
                request = request.header("authorization", &bearer);
            }
            let response = request.send().await.expect("the gateway responds");
            if !is_right {
                assert_eq!(response.status(), 401, "{method} {path}");
                continue;
            }
            assert_eq!(response.status(), 200, "{method} {path}");
            assert_eq!(response.headers()["stratus-project"], SHOP);
            assert_eq!(response.headers()["stratus-key-id"], scene.key.id);
            assert!(response.text().await.expect("it is text").is_empty());
        }
    }
    assert!(scene.upstream.arrived().is_empty());
}

#[tokio::test(flavor = "multi_thread")]
async fn keys_can_be_checked_without_an_upstream() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    let service = home.serve(&["--gateway-listen", "127.0.0.1:0"]);
    let shop = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let key = super::scene::create_key(&shop).await;
    let gateway = service.gateway.as_ref().expect("the gateway is on");
    let get = async |path: &str| {
        let request = reqwest::Client::new().get(format!("{gateway}{path}"));
        let response = request.bearer_auth(&key.secret).send().await;
        response.expect("the gateway responds")
    };
    assert_eq!(get("/auth").await.status(), 200);
    let nothing = get("/v1/models").await;
    assert_eq!(error(nothing).await, (404, "not_found".to_owned()));
}

#[tokio::test(flavor = "multi_thread")]
async fn there_is_no_gateway_unless_it_is_asked_for() {
    let home = Home::sqlite();
    home.apply(&two_projects());
    // reqwest is built without a TLS provider and uses the installed one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let service = home.serve(&[]);
    assert_eq!(service.gateway, None);
    let url = format!("{}/metrics/inference-keys", service.management);
    let response = reqwest::get(url).await.expect("the service responds");
    assert_eq!(response.status(), 404);
}
