//! Upstreams that are down, slow or end early, and callers that go away.

use std::io::Write as _;
use std::time::{Duration, Instant};

use reqwest::Method;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::scene::{Scene, error};
use crate::support::eventually;
#[cfg(target_os = "linux")]
use crate::support::sockets::sent;

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_is_not_there_is_a_bad_gateway() {
    let free = TcpListener::bind("127.0.0.1:0").await;
    let address = free.and_then(|free| free.local_addr());
    let url = format!("http://{}", address.expect("a port is free"));
    let scene = Scene::before(&url, &[]).await;
    let refused = scene.get(&scene.key, "/v1/models").await;
    assert_eq!(
        error(refused).await,
        (502, "upstream_unreachable".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_takes_no_connection_is_a_gateway_timeout() {
    // It takes a connection, but no part in the handshake of TLS.
    let silent = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = silent.local_addr().expect("a listener has an address");
    let url = format!("https://{address}/v1");
    let scene = Scene::before(&url, &["--gateway-connect-timeout", "300ms"]).await;
    let begun = Instant::now();
    let refused = scene.get(&scene.key, "/v1/models").await;
    assert_eq!(error(refused).await, (504, "upstream_timeout".to_owned()));
    let took = begun.elapsed();
    assert!(
        (300..15_000).contains(&took.as_millis()),
        "it took {took:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_ends_before_its_response_is_a_bad_gateway() {
    let closing = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = closing.local_addr().expect("a listener has an address");
    tokio::spawn(async move {
        loop {
            let accepted = closing.accept().await;
            drop(accepted);
        }
    });
    let scene = Scene::before(&format!("http://{address}"), &[]).await;
    let refused = scene.get(&scene.key, "/v1/models").await;
    let (status, code) = error(refused).await;
    assert_eq!((status, &*code), (502, "upstream_gave_no_response"));
}

/// Returns the URL of an upstream that responds to each request with these bytes.
async fn responding(bytes: &'static str) -> String {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let _ = stream.write_all(bytes.as_bytes()).await;
        }
    });
    format!("http://{address}")
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_switches_protocols_unasked_is_a_bad_gateway() {
    let head = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: other\r\n\r\n";
    let scene = Scene::before(&responding(head).await, &[]).await;
    let refused = scene.get(&scene.key, "/v1/models").await;
    let (status, code) = error(refused).await;
    assert_eq!((status, &*code), (502, "upstream_gave_no_response"));
}

#[tokio::test(flavor = "multi_thread")]
async fn a_length_that_is_said_twice_is_one() {
    let bytes = "HTTP/1.1 200 OK\r\ncontent-length: 5, 5\r\n\r\nhello";
    let scene = Scene::before(&responding(bytes).await, &[]).await;
    let response = scene.get(&scene.key, "/v1/models").await;
    assert_eq!(response.headers()["content-length"], "5");
    assert_eq!(response.text().await.expect("it is whole"), "hello");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_does_not_respond_in_time_is_a_gateway_timeout() {
    let scene = Scene::new(&["--gateway-response-timeout", "2s"]).await;
    let begun = Instant::now();
    let late = scene.get(&scene.key, "/v1/late/60000").await;
    assert_eq!(error(late).await, (504, "upstream_timeout".to_owned()));
    assert!(begun.elapsed() >= Duration::from_secs(2));
    // The request is cancelled there.
    scene.ensure_ended().await;
    let early = scene.get(&scene.key, "/v1/late/10").await;
    assert_eq!(early.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn a_response_that_ends_early_is_not_passed_on_as_complete() {
    let scene = Scene::new(&["--gateway-idle-timeout", "2s"]).await;
    // In the first, the upstream breaks off; in the second, it says nothing for too long.
    for path in ["/v1/abort/3", "/v1/pause/3"] {
        let mut response = scene.get(&scene.key, path).await;
        let mut received = 0;
        let end = loop {
            match response.chunk().await {
                Ok(Some(_)) => received += 1,
                end => break end,
            }
        };
        assert_eq!(received, 3, "{path}");
        assert!(end.is_err(), "{path} ended as if it were complete");
    }
    scene.ensure_ended().await;
    // Pauses that are shorter end nothing.
    let whole = scene.get(&scene.key, "/v1/stream/5").await;
    let text = whole.text().await.expect("the stream is whole");
    assert!(text.ends_with("data: 4\n\n"), "{text}");
}

#[tokio::test(flavor = "multi_thread")]
async fn an_upstream_that_refuses_the_gateway_does_not_blame_the_callers_key() {
    let scene = Scene::new(&[]).await;
    for status in [401, 407] {
        let refused = scene.get(&scene.key, &format!("/v1/status/{status}")).await;
        let id = refused.headers()["x-request-id"].clone();
        assert!(!id.is_empty());
        assert_eq!(
            error(refused).await,
            (502, "upstream_refused_gateway".to_owned())
        );
    }
    // What else the upstream refuses is the caller's.
    for status in [400, 403, 404, 429, 500, 503] {
        let refused = scene.get(&scene.key, &format!("/v1/status/{status}")).await;
        assert_eq!(refused.status(), status);
        let text = refused.text().await.expect("it is text");
        assert_eq!(text, "{\"mine\":\"sk-operator\"}");
    }
    scene.service.terminate();
    let (_, log) = scene.service.wait();
    assert!(
        log.contains("the upstream does not accept the gateway"),
        "{log}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_goes_away_cancels_its_request() {
    let scene = Scene::new(&[]).await;
    for path in ["/v1/late/60000", "/v1/stream/1000"] {
        let waiting = scene.try_send(&scene.key, Method::POST, path);
        let arrived = async {
            let arrived = eventually(async || (scene.upstream.open() == 1).then_some(()));
            arrived.await.expect("the request arrives");
        };
        // The client closes its connection when a request or a response is dropped.
        tokio::select! {
            response = waiting => drop(response),
            () = arrived => {}
        }
        scene.ensure_ended().await;
    }
    let metrics = scene.metrics("/metrics").await;
    assert!(
        metrics.contains("stratus_gateway_requests_in_progress 0\n"),
        "{metrics}"
    );
}

/// Requests that are cancelled one after the other would otherwise use up the ports towards the upstream.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_connection_of_a_cancelled_request_leaves_no_port_behind() {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    let scene = Scene::before(&format!("http://{address}"), &[]).await;
    let waiting = scene.try_send(&scene.key, Method::POST, "/v1/late");
    let arrived = async {
        let (mut stream, gateway) = listener.accept().await.expect("the gateway connects");
        let read = stream.read(&mut [0; 4096]).await;
        assert_ne!(read.expect("a request is sent"), 0);
        (stream, gateway)
    };
    let (mut stream, gateway) = tokio::select! {
        _ = waiting => panic!("nothing responds"),
        arrived = arrived => arrived,
    };
    // The gateway ends it first, so it would have to remember the port for a minute.
    let ended = stream.read(&mut [0; 4096]).await;
    assert!(ended.is_err() || ended.is_ok_and(|length| length == 0));
    drop(stream);
    // By the table of the system: another program may take the port at once.
    let gone = eventually(async || sent(gateway, address).is_none().then_some(()));
    let gone = tokio::time::timeout(Duration::from_secs(20), gone).await;
    assert_eq!(gone, Ok(Some(())), "the connection is not forgotten");
}

/// Starts an upstream that responds in the middle of the body, takes no more of it, and keeps its
/// connections. Returns its URL.
async fn early_upstream() -> String {
    let listener = TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port is free");
    let address = listener.local_addr().expect("a listener has an address");
    tokio::spawn(async move {
        let mut held = Vec::new();
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.read(&mut [0; 4096]).await;
            let response = b"HTTP/1.1 400 Bad Request\r\ncontent-length: 2\r\n\r\nno";
            let _ = stream.write_all(response).await;
            held.push(stream);
        }
    });
    format!("http://{address}")
}

/// A connection to the upstream lasts until then, although the response has ended.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_request_keeps_its_place_until_its_body_has_ended() {
    let settings = ["--body-timeout", "4s", "--gateway-key-requests", "1"];
    let scene = Scene::before(&early_upstream().await, &settings).await;
    let begin = || {
        let mut caller = scene.connect();
        let head = format!(
            "POST /v1/files HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {}\r\ncontent-length: 1000000\r\n\r\n ",
            scene.key.secret
        );
        caller.write_all(head.as_bytes()).expect("it is open");
        let mut response = [0; 12];
        std::io::Read::read_exact(&mut caller, &mut response).expect("it responds");
        (caller, String::from_utf8_lossy(&response).into_owned())
    };
    let (first, response) = begin();
    assert_eq!(response, "HTTP/1.1 400");
    tokio::time::sleep(Duration::from_millis(200)).await;
    assert_eq!(begin().1, "HTTP/1.1 429");
    // The body is given up after its time.
    scene
        .wait_for_metric("stratus_gateway_requests_in_progress", 0)
        .await;
    assert_eq!(begin().1, "HTTP/1.1 400");
    drop(first);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn an_upstream_that_stops_reading_holds_no_connection_of_a_caller() {
    const BODY: usize = 30 << 20;
    let settings = ["--body-timeout", "1s"];
    let scene = Scene::before(&early_upstream().await, &settings).await;
    let mut caller = scene.connect();
    let head = format!(
        "POST /v1/files HTTP/1.1\r\nhost: gateway\r\nauthorization: Bearer {}\r\ncontent-length: {BODY}\r\n\r\n",
        scene.key.secret
    );
    let sending = std::thread::spawn(move || {
        caller.write_all(head.as_bytes())?;
        caller.write_all(&vec![b' '; BODY])
    });
    scene
        .wait_for_metric("stratus_gateway_connections", 1)
        .await;
    scene
        .wait_for_metric("stratus_gateway_connections", 0)
        .await;
    // Its connection is closed before it has sent everything.
    let sent = sending.join().expect("it sends");
    sent.expect_err("nobody takes the whole body");
}
