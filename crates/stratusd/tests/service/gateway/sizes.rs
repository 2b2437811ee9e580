//! Sizes of requests, and the number of connections.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use super::scene::{Scene, error};
use crate::support::eventually;

/// Returns the head of a request with a body in chunks.
fn chunked(scene: &Scene) -> String {
    format!(
        "POST /v1/models HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ntransfer-encoding: chunked\r\n\r\n",
        scene.key.secret
    )
}

/// Returns the version and the status of the next response.
fn begins(stream: &mut TcpStream) -> String {
    let mut begin = [0; 13];
    stream.read_exact(&mut begin).expect("there is a response");
    String::from_utf8_lossy(&begin).into_owned()
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_beyond_the_limit_is_refused() {
    let scene = Scene::new(&["--gateway-body-limit", "100000"]).await;
    let http = reqwest::Client::new();
    for (size, status) in [(100_000, 200), (100_001, 413), (3_000_000, 413)] {
        let request = http.post(format!("{}/v1/models", scene.gateway));
        let request = request.bearer_auth(&scene.key.secret);
        let response = request.body(vec![b'x'; size]).send().await;
        let response = response.expect("the gateway responds");
        assert_eq!(response.status(), status, "{size}");
        if status == 413 {
            assert_eq!(error(response).await.1, "request_too_large");
        }
    }
    assert_eq!(scene.upstream.arrived()[0].body.len(), 100_000);
    // Of a body without a length, the size is known only at its end.
    let piece = format!("{:x}\r\n{}\r\n", 60_000, "x".repeat(60_000));
    for (pieces, status) in [
        (1, "HTTP/1.1 200 "),
        (2, "HTTP/1.1 413 "),
        (20, "HTTP/1.1 413 "),
    ] {
        let body = format!("{}{}0\r\n\r\n", chunked(&scene), piece.repeat(pieces));
        let mut stream = scene.connect();
        let _ = stream.write_all(body.as_bytes());
        assert_eq!(begins(&mut stream), status, "{pieces}");
    }
}

/// A caller that sends all of a body before it reads gets the response, and no error of its connection.
#[tokio::test(flavor = "multi_thread")]
async fn the_body_of_a_refused_request_is_received() {
    let scene = Scene::new(&[]).await;
    let body = vec![b'x'; 3_900_000];
    let head = "POST /v1/models HTTP/1.1\r\nhost: x\r\ncontent-length: 3900000\r\n";
    for number in 1..=5 {
        let mut stream = scene.connect();
        stream
            .write_all(format!("{head}\r\n").as_bytes())
            .expect("it is open");
        let refusals = "stratus_gateway_refusals_total{reason=\"missing_api_key\"}";
        scene.wait_for_metric(refusals, number).await;
        stream.write_all(&body).expect("the body is received");
        assert_eq!(begins(&mut stream), "HTTP/1.1 401 ");
    }
    // A caller that waits until it may send the body is not asked for it.
    let mut stream = scene.connect();
    let head = format!("{head}expect: 100-continue\r\n\r\n");
    stream.write_all(head.as_bytes()).expect("it is open");
    assert_eq!(begins(&mut stream), "HTTP/1.1 401 ");
    let begun = Instant::now();
    let _ = stream.read_to_end(&mut Vec::new());
    let took = begun.elapsed();
    assert!(took < Duration::from_secs(4), "it waits for the body");
}

/// A caller that never ends its body is cut off, and well before the time for it has passed.
#[tokio::test(flavor = "multi_thread")]
async fn the_body_of_a_refused_request_is_not_received_without_end() {
    // What is received, and what the buffers of both ends may hold.
    const MOST: usize = (4 << 20) + (16 << 20);
    let scene = Scene::new(&[]).await;
    let mut stream = scene.connect();
    let head = "POST /v1/models HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\n\r\n";
    stream.write_all(head.as_bytes()).expect("it is open");
    let chunk = format!("{:x}\r\n{}\r\n", 64 << 10, "x".repeat(64 << 10));
    let mut sent = 0;
    while stream.write_all(chunk.as_bytes()).is_ok() {
        sent += chunk.len();
        assert!(sent < MOST, "{sent} bytes are received");
    }
}

/// The upstream has the response before the body; the caller sends all of it before it reads.
#[tokio::test(flavor = "multi_thread")]
async fn the_rest_of_a_body_that_the_upstream_does_not_want_is_received() {
    let scene = Scene::new(&[]).await;
    let body = vec![b'x'; 3_900_000];
    for number in 1..=5 {
        let mut stream = scene.connect();
        let head = format!(
            "POST /v1/early HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\ncontent-length: 3900000\r\n\r\n",
            scene.key.secret
        );
        stream.write_all(head.as_bytes()).expect("it is open");
        let responses = "stratus_gateway_response_seconds_count";
        scene.wait_for_metric(responses, number).await;
        stream.write_all(&body).expect("the body is received");
        assert_eq!(begins(&mut stream), "HTTP/1.1 403 ");
    }
}

/// The time for the response begins when the request is sent.
#[tokio::test(flavor = "multi_thread")]
async fn a_body_may_take_longer_than_its_response() {
    let scene = Scene::new(&["--gateway-response-timeout", "1s"]).await;
    let mut stream = scene.connect();
    for part in [&*chunked(&scene), "5\r\nhello\r\n", "0\r\n\r\n"] {
        std::thread::sleep(Duration::from_millis(700));
        stream.write_all(part.as_bytes()).expect("it is open");
    }
    assert_eq!(begins(&mut stream), "HTTP/1.1 200 ");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_does_not_arrive_in_time_is_refused() {
    let scene = Scene::new(&["--body-timeout", "500ms"]).await;
    let mut stream = scene.connect();
    let begun = Instant::now();
    let some = format!("{}5\r\nhello\r\n", chunked(&scene));
    stream.write_all(some.as_bytes()).expect("it is open");
    assert_eq!(begins(&mut stream), "HTTP/1.1 408 ");
    let took = begun.elapsed();
    assert!(
        (500..10_000).contains(&took.as_millis()),
        "it took {took:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_beyond_the_limit_is_refused() {
    let scene = Scene::new(&["--header-limit", "4096"]).await;
    let large = "x".repeat(3000);
    let headers = [("x-api-key", &*scene.key.secret), ("x-large", &large)];
    let response = scene.get_with(&headers, "/v1/models").await;
    assert_eq!(response.status(), 200);
    // Exactly as large as the limit, and one byte larger.
    let parts = [
        "GET",
        "/v1/models",
        "host",
        "x",
        "x-api-key",
        &scene.key.secret,
        "x-large",
    ];
    let size: usize = parts.iter().map(|part| part.len()).sum();
    for (size, status) in [(4096 - size, "200 "), (4097 - size, "431 ")] {
        let mut stream = scene.connect();
        let head = format!(
            "GET /v1/models HTTP/1.1\r\nhost: x\r\nx-api-key: {}\r\nx-large: {}\r\n\r\n",
            scene.key.secret,
            "x".repeat(size)
        );
        stream.write_all(head.as_bytes()).expect("it is open");
        assert_eq!(begins(&mut stream), format!("HTTP/1.1 {status}"));
    }
    for (size, status) in [(3000, 200), (5000, 431)] {
        let path = format!("/v1/models?x={}", "x".repeat(size));
        let response = scene.get(&scene.key, &path).await;
        assert_eq!(response.status(), status, "{size}");
        if status == 431 {
            assert_eq!(error(response).await.1, "headers_too_large");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_too_many_is_closed_and_the_api_has_its_own() {
    let scene = Scene::new(&["--gateway-max-connections", "3"]).await;
    let held: Vec<TcpStream> = (0..4).map(|_| scene.connect()).collect();
    for stream in &held {
        stream.set_nonblocking(true).expect("it can be set");
    }
    let is_closed = |stream: &&TcpStream| match stream.peek(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    };
    let closed = eventually(async || {
        let closed = held.iter().filter(is_closed).count();
        Some(closed).filter(|closed| *closed > 0)
    });
    assert_eq!(closed.await, Some(1));
    scene.shop.get("/inference-api-key").await.ok();
    drop(held);
    let served = eventually(async || {
        let sent = scene
            .try_send(&scene.key, reqwest::Method::GET, "/v1/models")
            .await;
        sent.ok()
    });
    assert_eq!(served.await.expect("there is room again").status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_does_not_read_is_cut_off() {
    let scene = Scene::new(&["--idle-timeout", "500ms", "--gateway-key-requests", "1"]).await;
    let mut stream = scene.connect();
    let request = format!(
        "GET /v1/flood HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\r\n",
        scene.key.secret
    );
    stream.write_all(request.as_bytes()).expect("it is open");
    let begun = eventually(async || (scene.upstream.open() == 1).then_some(()));
    begun.await.expect("the request arrives");
    // The response is cut off, and makes room for another one.
    let again = eventually(async || {
        let response = scene.get(&scene.key, "/v1/models").await;
        (response.status() == 200).then_some(())
    });
    again.await.expect("the unread response ends");
    scene.ensure_ended().await;
}
