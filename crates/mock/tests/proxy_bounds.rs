//! What a proxy holds, how long it waits, and how much it says.

#[path = "support/served.rs"]
mod support;
#[path = "support/upstream.rs"]
mod upstream;

use std::io::Write as _;
use std::time::Duration;

use mock::Times;
use mock::bounds::{MOST_HEADER, MOST_JUDGED, MOST_LINES, MOST_SHOWN};
use serde_json::json;
use support::call;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;
use upstream::{PETS, found, lines, proxied, request, short, upstream};

#[tokio::test]
async fn streams_pass_as_they_arrive() {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let server = listener.local_addr().expect("it listens");
    let (proxy, mut findings) = proxied(PETS, &format!("http://{server}"), false, short()).await;
    for path in ["/log", "/pets/1?key=k"] {
        let mut caller = TcpStream::connect(proxy).await.expect("it listens");
        let head = format!("GET {path} HTTP/1.1\r\nhost: x\r\n\r\n");
        caller.write_all(head.as_bytes()).await.expect("it reads");
        let (mut stream, _) = listener.accept().await.expect("a connection");
        request(&mut stream).await;
        let media = if path == "/log" {
            "text/event-stream"
        } else {
            "application/json"
        };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: {media}\r\nX-Total: 7\r\nTransfer-Encoding: chunked\r\n\r\n"
        );
        stream.write_all(head.as_bytes()).await.expect("it reads");
        stream.write_all(b"5\r\nfirst\r\n").await.expect("it reads");
        // The end has not come, and does not come before the caller has seen the beginning.
        let mut read = Vec::new();
        let seen = async {
            while !String::from_utf8_lossy(&read).contains("first") {
                let mut buffer = [0; 1024];
                let count = caller.read(&mut buffer).await.expect("it responds");
                assert!(count > 0, "{path}");
                read.extend_from_slice(&buffer[..count]);
            }
        };
        timeout(Duration::from_secs(20), seen).await.expect(path);
        // Then nothing more comes for longer than a pause may be.
        let rest = timeout(Duration::from_secs(20), caller.read_to_end(&mut read)).await;
        assert!(rest.is_ok(), "{path}: the connection is still open");
        assert!(
            !String::from_utf8_lossy(&read).ends_with("0\r\n\r\n"),
            "{path}"
        );
    }
    let written = lines(&mut findings).join("\n");
    assert!(
        written.contains("pet_view (GET /pets/{id}): the body of the response was not judged"),
        "{written}"
    );
    assert_eq!(findings.totals().not_judged, 1);
}

#[tokio::test]
async fn bodies_beyond_the_bound_pass_without_a_judgement() {
    let large = format!("\"{}\"", "a".repeat(MOST_JUDGED));
    let body = large.clone();
    let (server, received) = upstream(move |request| {
        let head = if request.starts_with("GET") {
            "200 OK\r\nContent-Type: application/json\r\nX-Total: 7"
        } else {
            "204 No Content"
        };
        let body = if request.starts_with("GET") {
            &*body
        } else {
            ""
        };
        // Without a length, so that the proxy has to read to learn of it.
        format!("HTTP/1.1 {head}\r\nConnection: close\r\n\r\n{body}").into()
    })
    .await;
    let (proxy, findings) =
        proxied(PETS, &format!("http://{server}"), true, Times::default()).await;
    let response = call(proxy, "GET /pets/1?key=k", &[], "").await;
    assert_eq!((response.status, response.body == large), (200, true));
    let json = "content-type: application/json";
    let response = call(proxy, "PUT /pets/1", &[json], &large).await;
    assert_eq!(response.status, 204, "{}", response.body);
    let sent = received.lock().expect("nothing panics")[1].clone();
    assert!(
        sent.ends_with(&large) && sent.to_lowercase().contains("content-length: "),
        "{}",
        &sent[..400]
    );
    assert_eq!(findings.totals().not_judged, 2);
    let media = "content-type: application/octet-stream";
    assert_eq!(call(proxy, "POST /log", &[media], &large).await.status, 204);
    assert_eq!(findings.totals().not_judged, 2);
}

#[tokio::test]
async fn compressed_bodies_are_judged_and_passed_on_as_they_are() {
    let mut gzip = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    gzip.write_all(br#"{"name": 7}"#).expect("a vector");
    let bytes = gzip.finish().expect("a vector");
    let length = bytes.len();
    let (server, _) = upstream(move |request| {
        let coding = if request.contains("limit=1") { "br" } else { "gzip" };
        let head = format!(
            "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Total: 7\r\nContent-Encoding: {coding}\r\nContent-Length: {length}\r\n\r\n"
        );
        [head.into_bytes(), bytes.clone()].concat()
    })
    .await;
    let (proxy, findings) =
        proxied(PETS, &format!("http://{server}"), false, Times::default()).await;
    let fetch = |target: &'static str| async move {
        let mut stream = TcpStream::connect(proxy).await.expect("it listens");
        let head = format!("GET {target} HTTP/1.0\r\nhost: x\r\n\r\n");
        stream.write_all(head.as_bytes()).await.expect("it reads");
        let mut read = Vec::new();
        stream.read_to_end(&mut read).await.expect("it responds");
        let end = read
            .windows(4)
            .position(|it| it == b"\r\n\r\n")
            .expect("a head");
        let head = String::from_utf8_lossy(&read[..end]).into_owned();
        (head, read[end + 4..].to_vec())
    };
    let (head, body) = fetch("/pets/1?key=k").await;
    assert_eq!(body.len(), length);
    assert!(
        head.contains(r#""place":"body /name","message":"must be a string""#),
        "{head}"
    );
    let (head, _) = fetch("/pets/1?key=k&limit=1").await;
    assert!(!head.contains("stratus-violations"), "{head}");
    assert_eq!(findings.totals().not_judged, 1);
}

#[tokio::test]
async fn a_server_that_is_away_or_slow_is_an_error_in_time() {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let server = listener.local_addr().expect("it listens");
    let (proxy, _findings) = proxied(PETS, &format!("http://{server}"), false, short()).await;
    let slow = timeout(Duration::from_secs(5), call(proxy, "GET /log", &[], "")).await;
    let slow = slow.expect("it ends");
    assert_eq!(slow.status, 504);
    let detail = json!(format!("http://{server} did not respond in time"));
    assert_eq!(slow.json()["detail"], detail);
    drop(listener);
    let (away, _findings) = proxied(PETS, &format!("http://{server}"), false, short()).await;
    let away = call(away, "GET /log", &[], "").await;
    assert_eq!(away.status, 502);
    let detail = away.json()["detail"].as_str().expect("a text").to_owned();
    assert!(
        detail.starts_with(&format!("no connection to http://{server}: ")),
        "{detail}"
    );
}

#[tokio::test]
async fn a_server_without_tls_is_an_error_where_the_url_asks_for_it() {
    let listener = TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let server = listener.local_addr().expect("it listens");
    tokio::spawn(async move {
        while let Ok((mut stream, _)) = listener.accept().await {
            let _ = stream.write_all(b"HTTP/1.1 400 Bad Request\r\n\r\n").await;
        }
    });
    let url = format!("https://{server}");
    let (proxy, _findings) = proxied(PETS, &url, false, Times::default()).await;
    let refused = call(proxy, "GET /log", &[], "").await;
    assert_eq!(refused.status, 502);
    let detail = refused.json()["detail"].clone();
    let detail = detail.as_str().expect("a text");
    assert!(
        detail.starts_with(&format!("no connection to {url}: ")),
        "{detail}"
    );
}

#[tokio::test]
async fn findings_are_bounded_in_headers_and_in_lines() {
    let ages = vec!["\u{e4}"; 50];
    let body = json!({"name": "Tom", "ages": ages}).to_string();
    let (server, _) = upstream(move |_| {
        let head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nX-Total: 7";
        format!("{head}\r\nContent-Length: {}\r\n\r\n{body}", body.len()).into()
    })
    .await;
    let (proxy, mut findings) =
        proxied(PETS, &format!("http://{server}"), false, Times::default()).await;
    let response = call(proxy, "GET /pets/1?key=k", &[], "").await;
    assert_eq!(found(&response).len(), MOST_SHOWN);
    let header = response.header("stratus-violations").expect("it is there");
    assert!(header.len() <= MOST_HEADER);
    let written = lines(&mut findings);
    assert_eq!(written.len(), MOST_SHOWN + 1);
    assert_eq!(
        written[MOST_SHOWN],
        "pet_view (GET /pets/{id}): and 40 more"
    );
    assert_eq!(findings.totals().of_responses, 50);
    let each = MOST_SHOWN + 1;
    let calls = MOST_LINES / each + 5;
    for _ in 0..calls {
        call(proxy, "GET /pets/1?key=k", &[], "").await;
    }
    let lost = u64::try_from(calls * each - MOST_LINES).expect("a few");
    assert_eq!(findings.totals().lost, lost);
    assert_eq!(lines(&mut findings).len(), MOST_LINES);
}
