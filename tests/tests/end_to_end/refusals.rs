//! Responses that are complete before the body of their request has arrived.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use api_server::server::Config;
use axum::response::Response;
use futures_util::StreamExt as _;
use tests::memory::{LOCATION, PROJECT, TOKEN};
use tests::{seed, served};

/// The number of connections for each case. Without care for the body, about half of them fail.
const TRIES: usize = 60;

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_survives_a_refusal_whose_body_arrives_later() {
    let url = served::memory(seed::state(1), Config::new().body_limit(16)).await;
    let create = format!("/project/{PROJECT}/location/{LOCATION}/postgres/orders");
    let cases = [
        (401, "POST", &*create, "pat-wrong"),
        (404, "POST", "/nothing", TOKEN),
        (405, "PUT", &*create, TOKEN),
        (413, "POST", &*create, TOKEN),
    ];
    for (status, method, path, token) in cases {
        for framing in ["content-length: 28", "transfer-encoding: chunked"] {
            let head = format!(
                "{method} {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
                 content-type: application/json\r\n{framing}\r\n\r\n"
            );
            let body = br#"{"size": "standard-2-and-so"}"#;
            let chunked = [b"1c\r\n", &body[..28], b"\r\n0\r\n\r\n"].concat();
            let body = if framing.starts_with("content") {
                &body[..28]
            } else {
                &chunked
            };
            for try_number in 0..TRIES {
                let mut stream = connect(&url);
                stream.write_all(head.as_bytes()).expect("it is open");
                // The size of a body in chunks is known only when it is here.
                let is_later = (status, framing) != (413, "transfer-encoding: chunked");
                let mut response = None;
                if is_later {
                    response = Some(read_response(&mut stream));
                } else {
                    std::thread::sleep(Duration::from_millis(1));
                }
                stream.write_all(body).expect("it is open");
                let response = response.unwrap_or_else(|| read_response(&mut stream));
                assert_eq!(status_of(&response), status, "{response}");
                stream
                    .write_all(b"GET /openapi.yaml HTTP/1.1\r\nhost: x\r\n\r\n")
                    .expect("it is open");
                assert_eq!(
                    status_of(&read_response(&mut stream)),
                    200,
                    "after a {status} with {framing}, try {try_number}"
                );
            }
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_sends_3_mib_before_it_reads_gets_the_413() {
    let url = served::memory(seed::state(1), Config::new()).await;
    let path = format!("/project/{PROJECT}/location/{LOCATION}/postgres/orders");
    let body = vec![b' '; 3 << 20];
    for framing in ["content-length: 3145728", "transfer-encoding: chunked"] {
        let head = format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {TOKEN}\r\n\
             content-type: application/json\r\n{framing}\r\n\r\n"
        );
        for try_number in 0..TRIES {
            let mut stream = connect(&url);
            let mut send = |bytes: &[u8]| {
                stream
                    .write_all(bytes)
                    .unwrap_or_else(|error| panic!("{framing}, try {try_number}: {error}"));
            };
            send(head.as_bytes());
            if framing.starts_with("content") {
                send(&body);
            } else {
                for chunk in body.chunks(64 << 10) {
                    send(b"10000\r\n");
                    send(chunk);
                    send(b"\r\n");
                }
                send(b"0\r\n\r\n");
            }
            let response = read_response(&mut stream);
            assert_eq!(status_of(&response), 413, "{framing}, try {try_number}");
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_nobody_needs_is_received_within_bounds() {
    let url = served::memory(seed::state(1), Config::new()).await;
    let refused = |length: usize| {
        let mut stream = connect(&url);
        let head = format!("POST /nothing HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("it is open");
        assert_eq!(status_of(&read_response(&mut stream)), 401);
        stream
    };
    // A body that never comes.
    let start = Instant::now();
    let end = refused(50).read(&mut [0]);
    assert!(matches!(end, Ok(0)), "{end:?}");
    let time = start.elapsed();
    assert!(
        (4..15).contains(&time.as_secs()),
        "it was awaited for {time:?}"
    );
    // A body that never ends.
    let mut stream = refused(usize::MAX >> 1);
    let piece = vec![0; 1 << 20];
    let sent = (0..256).find(|_| stream.write_all(&piece).is_err());
    assert!(sent.is_some(), "256 MiB were received");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_is_too_large_to_be_received_ends_its_connection_as_announced() {
    let url = served::memory(seed::state(1), Config::new()).await;
    for (path, status) in [("/nothing", 401), ("/pets", 401)] {
        for (length, is_last) in [(64, false), (4 << 20, false), ((4 << 20) + 1, true)] {
            let mut stream = connect(&url);
            let head =
                format!("POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {length}\r\n\r\n");
            stream.write_all(head.as_bytes()).expect("it is open");
            let response = read_response(&mut stream);
            assert_eq!(status_of(&response), status);
            let announces = response.contains("connection: close\r\n");
            assert_eq!(announces, is_last, "{length}: {response}");
            let body = vec![b' '; length];
            if is_last {
                // What is sent until the server has closed may be lost.
                let _ = stream.write_all(&body);
                let end = stream.read(&mut [0]);
                assert!(matches!(end, Ok(0) | Err(_)), "{end:?}");
                continue;
            }
            stream.write_all(&body).expect("it is open");
            stream.write_all(head.as_bytes()).expect("it is open");
            assert_eq!(status_of(&read_response(&mut stream)), status);
        }
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_large_body_that_is_still_read_keeps_its_connection() {
    let config = Config::new().around(|request, _| {
        Box::pin(async move {
            let is_kept = request.uri().path() == "/kept";
            let mut body = request.into_body().into_data_stream();
            if is_kept {
                // The response does not wait for the body.
                tokio::spawn(async move { while body.next().await.is_some() {} });
            }
            Ok(Response::default())
        })
    });
    let url = served::memory(seed::state(1), config).await;
    let body = vec![b' '; 5 << 20];
    let head = |path: &str| {
        format!(
            "POST {path} HTTP/1.1\r\nhost: x\r\ncontent-length: {}\r\n\r\n",
            body.len()
        )
    };
    let mut stream = connect(&url);
    for _ in 0..2 {
        stream
            .write_all(head("/kept").as_bytes())
            .expect("it is open");
        let response = read_response(&mut stream);
        assert!(!response.contains("connection: close\r\n"), "{response}");
        stream.write_all(&body).expect("it is open");
    }
    stream
        .write_all(head("/dropped").as_bytes())
        .expect("it is open");
    let response = read_response(&mut stream);
    assert!(response.contains("connection: close\r\n"), "{response}");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_waits_to_send_is_told_that_the_connection_ends() {
    let url = served::memory(seed::state(1), Config::new()).await;
    let mut stream = connect(&url);
    stream
        .write_all(
            b"POST /nothing HTTP/1.1\r\nhost: x\r\ncontent-length: 50\r\nexpect: 100-continue\r\n\r\n",
        )
        .expect("it is open");
    let response = read_response(&mut stream);
    assert_eq!(status_of(&response), 401);
    assert!(response.contains("connection: close\r\n"), "{response}");
    assert!(matches!(stream.read(&mut [0]), Ok(0)), "it is open");
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_that_break_the_rules_of_http_are_rejected() {
    let strict = served::memory(seed::state(1), Config::new().requires_host()).await;
    let lenient = served::memory(seed::state(1), Config::new()).await;
    let chunked = "host: x\r\ntransfer-encoding: chunked";
    for (headers, is_lenient_good, is_strict_good) in [
        ("", true, false),
        ("host: x\r\nhost: x\r\n", false, false),
        ("host: x\r\nhost: y\r\n", false, false),
        ("host: x y\r\n", false, false),
        ("host: x/y\r\n", false, false),
        ("host: user@x\r\n", false, false),
        ("host:\r\n", false, false),
        (&*format!("{chunked}, chunked\r\n"), false, false),
        (
            &*format!("{chunked}\r\ntransfer-encoding: chunked\r\n"),
            false,
            false,
        ),
        (
            "host: x\r\ntransfer-encoding: gzip, chunked\r\n",
            false,
            false,
        ),
        ("host: x.example:80\r\n", true, true),
        ("host: [::1]:80\r\n", true, true),
        (&*format!("{chunked}\r\n"), true, true),
    ] {
        for (url, is_good) in [(&lenient, is_lenient_good), (&strict, is_strict_good)] {
            let mut stream = connect(url);
            let body = if headers.contains("chunked") {
                "0\r\n\r\n"
            } else {
                ""
            };
            let request = format!("GET /openapi.json HTTP/1.1\r\n{headers}\r\n{body}");
            stream.write_all(request.as_bytes()).expect("it is open");
            let response = read_response(&mut stream);
            if is_good {
                assert_eq!(status_of(&response), 200, "{headers}: {response}");
                continue;
            }
            assert_eq!(status_of(&response), 400, "{headers}: {response}");
            assert!(response.contains("\"type\":\"BadRequest\""), "{response}");
            assert!(response.contains("x-request-id: "), "{response}");
            assert!(
                matches!(stream.read(&mut [0]), Ok(0)),
                "the connection is open after {headers}"
            );
        }
    }
    // HTTP/1.0 has no `Host`.
    let mut stream = connect(&strict);
    stream
        .write_all(b"GET /openapi.json HTTP/1.0\r\n\r\n")
        .expect("it is open");
    assert_eq!(status_of(&read_response(&mut stream)), 200);
}

fn connect(url: &str) -> TcpStream {
    let address = url.strip_prefix("http://").expect("it speaks HTTP");
    let stream = TcpStream::connect(address).expect("the server listens");
    stream.set_nodelay(true).expect("it can be set");
    stream
        .set_read_timeout(Some(Duration::from_secs(20)))
        .expect("it can be set");
    stream
}

/// Reads one response. Returns an empty text if the connection is closed.
fn read_response(stream: &mut TcpStream) -> String {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") {
        match stream.read(&mut byte) {
            Ok(1) => head.extend(byte),
            Err(error) if error.kind() == ErrorKind::WouldBlock => panic!("there is no response"),
            _ => return String::new(),
        }
    }
    let head = String::from_utf8(head).expect("a head is text");
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "))
        .map_or(0, |length| length.parse().expect("it is a number"));
    let mut body = vec![0; length];
    stream.read_exact(&mut body).expect("the body comes whole");
    head + &String::from_utf8(body).expect("the body is text")
}

fn status_of(response: &str) -> u16 {
    let status = response.split(' ').nth(1);
    status
        .and_then(|status| status.parse().ok())
        .unwrap_or_default()
}
