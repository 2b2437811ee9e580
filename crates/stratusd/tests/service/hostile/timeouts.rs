//! Connections that are slow or idle.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::sync::Arc;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};

use serde_json::{Value, json};

use super::PLACE;
use super::target::{GET, Target, read_response, status_and_type, time_until_cut};
use crate::support::inventory::SHOP;
use crate::support::{Home, TLS, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn slow_and_silent_senders_are_disconnected() {
    let target = Target::new(&[
        "--header-timeout",
        "1s",
        "--body-timeout",
        "1s",
        "--idle-timeout",
        "2s",
    ]);
    let start = Instant::now();
    // A head that never ends, a body that never comes, and nothing at all.
    let mut head = target.connect();
    head.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nx-slow: ")
        .expect("the connection is open");
    let mut body = target.connect();
    let token = &target.token;
    let announced = format!(
        "POST /project/{SHOP}{PLACE}/postgres/slow HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: 50\r\n\r\n{{"
    );
    body.write_all(announced.as_bytes())
        .expect("the connection is open");
    let mut silent = target.connect();
    let mut responses = [String::new(), String::new(), String::new()];
    for (stream, response) in [&mut head, &mut body, &mut silent]
        .into_iter()
        .zip(&mut responses)
    {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        *response = String::from_utf8_lossy(&bytes).into_owned();
    }
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "the connections were kept for {:?}",
        start.elapsed()
    );
    assert_eq!(status_and_type(&responses[1]).0, 408, "{}", responses[1]);
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_may_be_idle_before_and_between_requests_but_not_forever() {
    let target = Target::new(&["--header-timeout", "1s", "--idle-timeout", "6s"]);
    let mut stream = target.connect();
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(2500));
        stream.write_all(GET).expect("the connection is open");
        assert_eq!(
            status_and_type(&read_response(&mut stream)),
            (401, "MissingCredentials".to_owned())
        );
    }
    let used = time_until_cut(stream, &[], Duration::ZERO);
    let silent = time_until_cut(target.connect(), &[], Duration::ZERO);
    for time in [used, silent] {
        assert!(
            (5500..11_500).contains(&time.as_millis()),
            "the idle connection was kept for {time:?}"
        );
    }
    target.still_serves().await;
}

/// The idle time starts with the end of a request, however long the request took.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_may_be_idle_after_a_long_request_as_after_a_short_one() {
    let target = Target::new(&["--idle-timeout", "6s"]);
    let file = target
        .home
        .database_url
        .strip_prefix("sqlite://")
        .expect("the store is a SQLite file");
    let mut other = SqliteConnection::establish(file).expect("the SQLite file opens");
    let mut stream = target.connect();
    let token = &target.token;
    let post = format!(
        "POST /project/{SHOP}{PLACE}/private-subnet/rested HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-length: 0\r\n\r\n"
    );
    // The service itself may write at this moment.
    other
        .batch_execute("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE")
        .expect("nobody holds the write lock for long");
    stream
        .write_all(post.as_bytes())
        .expect("the connection is open");
    std::thread::sleep(Duration::from_millis(3500));
    other
        .batch_execute("ROLLBACK")
        .expect("the write lock is released");
    assert_eq!(status_and_type(&read_response(&mut stream)).0, 200);
    std::thread::sleep(Duration::from_secs(3));
    let _ = stream.write_all(GET);
    assert_eq!(
        status_and_type(&read_response(&mut stream)),
        (401, "MissingCredentials".to_owned())
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_time_of_a_head_begins_with_its_first_byte() {
    let target = Target::new(&["--header-timeout", "1s", "--idle-timeout", "18s"]);
    let pause = Duration::from_millis(300);
    let drips: Vec<&[u8]> = GET.chunks(1).collect();
    let used = || {
        let mut stream = target.connect();
        stream.write_all(GET).expect("the connection is open");
        assert_eq!(status_and_type(&read_response(&mut stream)).0, 401);
        std::thread::sleep(Duration::from_millis(1500));
        stream
    };
    let fresh = || target.connect();
    let heads: [(&dyn Fn() -> TcpStream, &[&[u8]]); 5] = [
        (&fresh, &drips),
        (&used, &drips),
        // This may still become HTTP/2.
        (&fresh, &[b"PRI * HT"]),
        (&fresh, &[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]),
        (&fresh, &[b"GET / HTTP/1.1\r\nhost: "]),
    ];
    for (connect, pieces) in heads {
        let time = time_until_cut(connect(), pieces, pause);
        assert!(
            (900..8000).contains(&time.as_millis()),
            "a head in {} pieces was read for {time:?}",
            pieces.len()
        );
    }
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_tls_timeouts_count_decrypted_bytes() {
    let home = Home::sqlite();
    let issued = home.issue();
    let times = ["--header-timeout", "1s", "--idle-timeout", "6s"];
    let service = home.serve(&[&TLS[..], &times].concat());
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut roots = rustls::RootCertStore::empty();
    roots
        .add(issued.cert.der().clone())
        .expect("the certificate can be a root");
    let config = Arc::new(
        rustls::ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth(),
    );
    let connect = || {
        let address = service
            .base
            .strip_prefix("https://")
            .expect("the base URL is HTTPS");
        let mut stream = TcpStream::connect(address).expect("the service listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("a read timeout can be set on a socket");
        let name = "localhost"
            .try_into()
            .expect("`localhost` is a server name");
        let mut tls = rustls::ClientConnection::new(Arc::clone(&config), name)
            .expect("the TLS client is configured");
        while tls.is_handshaking() {
            tls.complete_io(&mut stream)
                .expect("the TLS handshake succeeds");
        }
        rustls::StreamOwned::new(tls, stream)
    };
    let mut rested = connect();
    std::thread::sleep(Duration::from_millis(1500));
    rested.write_all(GET).expect("the connection is open");
    assert_eq!(status_and_type(&read_response(&mut rested)).0, 401);
    rested.write_all(b"GET / ").expect("the connection is open");
    let time = time_until_cut(rested.sock, &[], Duration::ZERO);
    assert!(
        (900..5000).contains(&time.as_millis()),
        "an unfinished head was read for {time:?}"
    );
    // The start of a TLS record of 4 KiB, which cannot be decrypted before it is complete.
    let drips: [&[u8]; 40] = std::array::from_fn(|at| {
        if at == 0 {
            &b"\x17\x03\x03\x10\0"[..]
        } else {
            b"x"
        }
    });
    let time = time_until_cut(connect().sock, &drips, Duration::from_millis(300));
    assert!(
        (5500..11_000).contains(&time.as_millis()),
        "an unfinished TLS record was read for {time:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_of_http_2_is_not_cut_between_its_requests() {
    let target = Target::new(&["--header-timeout", "1s", "--idle-timeout", "18s"]);
    let mut stream = target.connect();
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .expect("the connection is open");
    for id in [1, 3] {
        // HEADERS that end stream and headers: GET, http, /, and `x` as the authority.
        stream
            .write_all(&[0, 0, 6, 1, 5, 0, 0, 0, id, 0x82, 0x86, 0x84, 0x41, 1, b'x'])
            .expect("the connection is open");
        loop {
            let mut head = [0; 9];
            stream
                .read_exact(&mut head)
                .expect("the connection is open");
            let mut payload = vec![0; usize::from(head[1]) << 8 | usize::from(head[2])];
            stream
                .read_exact(&mut payload)
                .expect("a frame comes whole");
            // The end of the stream is in a frame of data, which carries the error.
            if (head[3], head[8]) == (0, id) && head[4] & 1 == 1 {
                break;
            }
        }
        // A frame between the requests, and a pause longer than the timeout of a head.
        stream
            .write_all(b"\0\0\x08\x06\0\0\0\0\0pingping")
            .expect("the connection is open");
        std::thread::sleep(Duration::from_millis(1500));
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_of_http_2_without_requests_is_closed_however_often_it_pings() {
    let target = Target::new(&["--idle-timeout", "2s"]);
    let mut pieces: Vec<&[u8]> = vec![
        b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0",
        b"\0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x41\x01x",
    ];
    pieces.extend([&b"\0\0\x08\x06\0\0\0\0\0pingping"[..]; 50]);
    let time = time_until_cut(target.connect(), &pieces, Duration::from_millis(250));
    assert!(
        (1900..9000).contains(&time.as_millis()),
        "the connection was kept for {time:?}"
    );
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_request_whose_caller_goes_away_is_counted_and_logged() {
    let target = Target::new(&["--log-format", "json"]);
    let file = target.home.database_url.strip_prefix("sqlite://");
    let file = file.expect("the store is a SQLite file");
    let mut other = SqliteConnection::establish(file).expect("the SQLite file opens");
    let mut stream = target.connect();
    let post = format!(
        "POST /project/{SHOP}{PLACE}/private-subnet/late HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\n\
         content-length: 0\r\n\r\n",
        target.token
    );
    other
        .batch_execute("PRAGMA busy_timeout = 10000; BEGIN IMMEDIATE")
        .expect("nobody holds the write lock for long");
    stream.write_all(post.as_bytes()).expect("it is open");
    // Until it waits for the lock.
    tokio::time::sleep(Duration::from_millis(500)).await;
    drop(stream);
    let counted = r#"stratus_requests_total{operation="private_subnet_create",status="499"}"#;
    let is_counted = eventually(async || {
        let text = target.service.metrics().await;
        text.contains(&format!("{counted} 1\n")).then_some(())
    });
    assert!(is_counted.await.is_some(), "it is not counted");
    other.batch_execute("ROLLBACK").expect("it is released");
    target.still_serves().await;
    target.service.terminate();
    let (_, log) = target.service.wait();
    let line = log
        .lines()
        .find(|line| line.contains("ended without a response"));
    let line: Value = line
        .and_then(|line| serde_json::from_str(line).ok())
        .expect("it is logged");
    let fields = &line["fields"];
    assert_eq!(
        (&fields["operation"], &fields["status"]),
        (&json!("private_subnet_create"), &json!(499)),
        "{line}"
    );
}
