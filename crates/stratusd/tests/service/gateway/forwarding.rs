//! What is forwarded, and what is not.

use reqwest::Method;

use super::multiplexed::Multiplexed;
use super::scene::{CREDENTIAL, Scene, error};
use crate::support::inventory::SHOP;

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_arrives_event_by_event() {
    let scene = Scene::new(&[]).await;
    let mut response = scene.get(&scene.key, "/v1/stream/6").await;
    assert_eq!(response.headers()["content-type"], "text/event-stream");
    let mut received = 0;
    while let Some(event) = response.chunk().await.expect("the stream is whole") {
        assert_eq!(event, format!("data: {received}\n\n"));
        received += 1;
        // The next one is 100 ms away, or on its way if the machine is busy.
        let sent = scene.upstream.events();
        assert!(
            sent <= received + 1,
            "{sent} were sent before {received} arrived"
        );
    }
    assert_eq!(received, 6);
    scene.upstream.ensure_never_had(&scene.key.secret);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_arrives_with_the_credential_of_the_gateway() {
    let scene = Scene::new(&[]).await;
    let http = reqwest::Client::new();
    let path = "/v1/models/meta%2Fllama?limit=2&after=a%20b";
    let response = http
        .post(format!("{}{path}", scene.gateway))
        .bearer_auth(&scene.key.secret)
        .header("x-api-key", &scene.key.secret)
        .header("x-request-id", "mine")
        .header("cookie", "session=1")
        .header("openai-project", "another")
        .header("stratus-project", "another")
        .header("x-forwarded-for", "10.0.0.1")
        .header("x-forwarded-user", "admin")
        .header("te", "trailers")
        .header("connection", "x-hop")
        .header("x-hop", "1")
        .header("x-kept", "1")
        .body("{\"model\":\"llama\"}")
        .send()
        .await
        .expect("the gateway responds");
    assert_eq!(response.status(), 200);
    let headers = response.headers().clone();
    assert_eq!(headers["x-request-id"], "mine");
    assert_eq!(headers["openai-version"], "2020-10-01");
    for name in ["set-cookie", "openai-organization"] {
        assert!(!headers.contains_key(name), "{name}");
    }
    assert_eq!(
        response.text().await.expect("it is text"),
        "{\"object\":\"list\"}"
    );
    let arrived = scene.upstream.arrived().remove(0);
    assert_eq!((&*arrived.method, &*arrived.target), ("POST", path));
    assert_eq!(arrived.body, "{\"model\":\"llama\"}");
    let host = scene
        .upstream
        .url
        .strip_prefix("http://")
        .expect("it is HTTP");
    for (name, value) in [
        ("authorization", &*format!("Bearer {CREDENTIAL}")),
        ("host", host),
        ("x-request-id", "mine"),
        ("x-kept", "1"),
        ("content-length", "17"),
    ] {
        assert_eq!(arrived.headers[name], value, "{name}");
    }
    assert!(!arrived.headers.contains_key("transfer-encoding"));
    for name in [
        "x-api-key",
        "cookie",
        "openai-project",
        "stratus-project",
        "x-forwarded-for",
        "x-forwarded-user",
        "te",
        "connection",
        "x-hop",
    ] {
        assert!(!arrived.headers.contains_key(name), "{name}");
    }
    scene.upstream.ensure_never_had(&scene.key.secret);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_body_arrives_without_one() {
    let scene = Scene::new(&[]).await;
    for method in [Method::GET, Method::DELETE] {
        let sent = scene.try_send(&scene.key, method, "/v1/models").await;
        assert_eq!(sent.expect("the gateway responds").status(), 200);
    }
    for arrived in scene.upstream.arrived() {
        for name in ["content-length", "transfer-encoding"] {
            assert!(!arrived.headers.contains_key(name), "{arrived:?}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_without_a_body_has_the_length_that_the_upstream_says() {
    let scene = Scene::new(&[]).await;
    let mut caller = Multiplexed::connect(&scene, None).await;
    let response = caller.get(&scene.key, "/v1/status/304").await;
    assert_eq!(response.status(), 304);
    // Data, even none, would contradict the length, which is that of the whole representation.
    assert!(response.into_body().is_end_stream());
    for (path, length) in [("/v1/models", Some("17")), ("/v1/stream/1", None)] {
        let sent = scene.try_send(&scene.key, Method::HEAD, path).await;
        let response = sent.expect("the gateway responds");
        let found = response.headers().get("content-length");
        let found = found.map(|found| found.to_str().expect("it is text"));
        assert_eq!(found, length, "{path}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_without_a_valid_key_is_not_forwarded() {
    let scene = Scene::new(&[]).await;
    let invalid = (401, "invalid_api_key".to_owned());
    let missing = (401, "missing_api_key".to_owned());
    let wrong = "Bearer WrongWrongWrongWrongWrongWrongXX";
    let basic = format!("Basic {}", scene.key.secret);
    let token = format!("Bearer {}", scene.home.token("shop", &[]));
    for (headers, expected) in [
        (vec![], &missing),
        (vec![("authorization", &*basic)], &missing),
        (vec![("authorization", wrong)], &invalid),
        (vec![("authorization", "Bearer short")], &invalid),
        (vec![("authorization", "Bearer ")], &missing),
        (vec![("authorization", &*token)], &invalid),
        (vec![("x-api-key", "short")], &invalid),
    ] {
        let response = scene.get_with(&headers, "/v1/models").await;
        assert_eq!(response.headers()["www-authenticate"], "Bearer");
        assert!(response.headers().contains_key("x-request-id"));
        assert_eq!(error(response).await, *expected, "{headers:?}");
    }
    assert!(scene.upstream.arrived().is_empty());
    let right = [("x-api-key", &*scene.key.secret)];
    assert_eq!(scene.get_with(&right, "/v1/models").await.status(), 200);
    scene.upstream.ensure_never_had(&scene.key.secret);
}

#[tokio::test(flavor = "multi_thread")]
async fn only_what_is_below_v1_is_forwarded() {
    let scene = Scene::new(&[]).await;
    let trace = scene
        .try_send(&scene.key, Method::TRACE, "/v1/models")
        .await;
    let refused = error(trace.expect("the gateway responds")).await;
    assert_eq!(refused.0, 405);
    for (method, path, status) in [
        ("GET", "/v1/../admin", "404 "),
        ("GET", "/v1/%2e%2e/admin", "404 "),
        ("GET", "/v1/a/..%2f..%2fadmin", "404 "),
        ("GET", "/v1", "404 "),
        ("GET", "/v2/models", "404 "),
        ("GET", "/metrics", "404 "),
        ("GET", "http://elsewhere.example/v2/models", "404 "),
        ("OPTIONS", "*", "404 "),
        ("TRACE", "/v1/models", "405 "),
        ("BREW", "/v1/models", "405 "),
        ("GET", "http://elsewhere.example/v1/models", "200 "),
    ] {
        let request = format!(
            "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\nconnection: close\r\n\r\n",
            scene.key.secret
        );
        let response = scene.raw(request.as_bytes());
        let found = response.strip_prefix("HTTP/1.1 ").unwrap_or_default();
        assert!(found.starts_with(status), "{method} {path}: {response}");
    }
    let arrived = scene.upstream.arrived();
    let targets: Vec<_> = arrived.iter().map(|it| it.target.as_str()).collect();
    assert_eq!(targets, ["/v1/models"]);
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_with_a_path_has_it_in_place_of_v1() {
    let scene = Scene::new(&[]).await;
    let url = format!("{}/openai/v1/", scene.upstream.url);
    drop(scene.service);
    let service = super::scene::serve(&scene.home, &url, &[]);
    let gateway = service.gateway.as_ref().expect("the gateway is on");
    let response = reqwest::Client::new()
        .get(format!("{gateway}/v1/models?x=1"))
        .bearer_auth(&scene.key.secret)
        .send();
    assert_eq!(response.await.expect("it responds").status(), 200);
    assert_eq!(scene.upstream.arrived()[0].target, "/openai/v1/models?x=1");
}

#[tokio::test(flavor = "multi_thread")]
async fn requests_are_counted_and_logged_without_their_key() {
    let scene = Scene::new(&["--log", "trace"]).await;
    for path in [
        "/v1/models?secret=hidden",
        "/v1/status/302",
        "/v1/status/404",
        "/v1/status/500",
        "/auth",
    ] {
        scene.get(&scene.key, path).await;
    }
    for _ in 0..2 {
        let refused = scene
            .try_send(&scene.key, Method::TRACE, "/v1/models")
            .await;
        assert_eq!(refused.expect("the gateway responds").status(), 405);
    }
    let wrong = [("authorization", "Bearer WrongWrongWrongWrongWrongWrongXX")];
    scene.get_with(&wrong, "/v1/models").await;
    let held = scene.get(&scene.key, "/v1/pause/1").await;
    let id = held.headers()["x-request-id"].to_str();
    let id = id.expect("it is text").to_owned();
    let metrics = scene.metrics("/metrics").await;
    for line in [
        format!(
            "stratus_gateway_requests_total{{project=\"{SHOP}\",route=\"/v1\",status=\"2xx\"}} 2"
        ),
        format!(
            "stratus_gateway_requests_total{{project=\"{SHOP}\",route=\"/v1\",status=\"3xx\"}} 1"
        ),
        format!(
            "stratus_gateway_requests_total{{project=\"{SHOP}\",route=\"/v1\",status=\"4xx\"}} 3"
        ),
        format!(
            "stratus_gateway_requests_total{{project=\"{SHOP}\",route=\"/v1\",status=\"5xx\"}} 1"
        ),
        format!(
            "stratus_gateway_requests_total{{project=\"{SHOP}\",route=\"/auth\",status=\"2xx\"}} 1"
        ),
        "stratus_gateway_refusals_total{reason=\"invalid_api_key\"} 1".to_owned(),
        "stratus_gateway_requests_in_progress 1".to_owned(),
        "stratus_gateway_response_seconds_count 5".to_owned(),
    ] {
        assert!(metrics.contains(&format!("{line}\n")), "{line}\n{metrics}");
    }
    let open = "stratus_gateway_connections ";
    let open = metrics.lines().find_map(|line| line.strip_prefix(open));
    assert!(open.is_some_and(|open| open != "0"), "{metrics}");
    assert!(!metrics.contains(&scene.key.id), "{metrics}");
    let keys = scene.metrics("/metrics/inference-keys").await;
    let line = format!(
        "stratus_gateway_key_requests_total{{project=\"{SHOP}\",key=\"{}\"}} 8\n",
        scene.key.id
    );
    assert!(keys.contains(&line), "{keys}");
    let line = format!(
        "stratus_gateway_key_refusals_total{{project=\"{SHOP}\",key=\"{}\"}} 2\n",
        scene.key.id
    );
    assert!(keys.contains(&line), "{keys}");
    drop(held);
    scene.ensure_ended().await;
    scene.service.terminate();
    let (is_well, log) = scene.service.wait();
    assert!(is_well && log.contains(&scene.key.id), "{log}");
    assert!(log.contains(&id), "{id}: {log}");
    for secret in [&*scene.key.secret, CREDENTIAL, "WrongWrong"] {
        assert!(!log.contains(secret), "a secret is in the log: {secret}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_stream_in_progress_ends_before_the_service_does() {
    let scene = Scene::new(&[]).await;
    let mut response = scene.get(&scene.key, "/v1/stream/12").await;
    response.chunk().await.expect("the stream has begun");
    scene.service.terminate();
    let mut received = 1;
    while response
        .chunk()
        .await
        .expect("the stream is whole")
        .is_some()
    {
        received += 1;
    }
    assert_eq!(received, 12);
    let refused = scene.try_send(&scene.key, Method::GET, "/v1/models").await;
    assert!(refused.is_err(), "{refused:?}");
    assert!(scene.service.wait().0);
}
