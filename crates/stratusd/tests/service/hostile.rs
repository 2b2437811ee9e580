//! Requests that nobody means well with: each gets a clear answer or a closed connection, and the next is served.

use std::io::{ErrorKind, Read, Write};
use std::net::TcpStream;
use std::path::Path;
use std::process::Command;
use std::sync::Arc;
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use serde_json::{Value, json};

use crate::on_both;
use crate::support::caller::Caller;
use crate::support::cluster::binary;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, eventually};

const PLACE: &str = "/location/eu-central-h1";

struct Target {
    home: Home,
    service: Service,
    token: String,
}

impl Target {
    fn new(more: &[&str]) -> Self {
        Self::at(Home::sqlite(), more)
    }

    fn at(home: Home, more: &[&str]) -> Self {
        home.apply(&two_projects());
        let token = home.token("shop", &[]);
        let service = home.serve(more);
        Self {
            home,
            service,
            token,
        }
    }

    fn caller(&self) -> Caller {
        Caller::new(&self.service.base, SHOP, &self.token)
    }

    fn connect(&self) -> TcpStream {
        let address = self
            .service
            .base
            .strip_prefix("http://")
            .expect("it speaks HTTP");
        let stream = TcpStream::connect(address).expect("the service listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("it can be set");
        stream
    }

    /// Sends bytes as they are; gives whatever comes until the end.
    fn raw(&self, bytes: &[u8]) -> String {
        let mut stream = self.connect();
        // The service may have heard enough before the end.
        let _ = stream.write_all(bytes);
        let mut answer = Vec::new();
        let _ = stream.read_to_end(&mut answer);
        String::from_utf8_lossy(&answer).into_owned()
    }

    fn request(&self, method: &str, path: &str, body: &[u8]) -> String {
        let head = format!(
            "{method} /project/{SHOP}{path} HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {}\r\ncontent-type: \
             application/json\r\ncontent-length: {}\r\nconnection: close\r\n\r\n",
            self.token,
            body.len()
        );
        self.raw(&[head.as_bytes(), body].concat())
    }

    /// Status and error type of an answer.
    fn told(&self, method: &str, path: &str, body: &[u8]) -> (u16, String) {
        told(&self.request(method, path, body))
    }

    /// The service is as it was.
    async fn still_serves(&self) {
        assert_eq!(
            self.caller().get(&format!("{PLACE}/vm")).await.ok()["count"],
            3
        );
    }
}

fn told(answer: &str) -> (u16, String) {
    let status = answer
        .split(' ')
        .nth(1)
        .and_then(|status| status.parse().ok())
        .unwrap_or_default();
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    (
        status,
        body["error"]["type"]
            .as_str()
            .unwrap_or_default()
            .to_owned(),
    )
}

fn bad_request() -> (u16, String) {
    (400, "BadRequest".to_owned())
}

#[tokio::test(flavor = "multi_thread")]
async fn bodies_that_are_no_good_are_told_apart_and_survived() {
    let target = Target::new(&[]);
    let path = format!("{PLACE}/postgres/orders");
    let deep = "[".repeat(100_000);
    let nested = format!("{{\"size\":{}{}", "[".repeat(100_000), "]".repeat(100_000));
    let bodies: [&[u8]; 9] = [
        deep.as_bytes(),
        nested.as_bytes(),
        b"{\"size\":\"\xff\xfe\",\"storage_size\":64}",
        b"{\"size\":\"hobby-1\",\"size\":\"hobby-1\",\"storage_size\":16}",
        b"{\"size\":\"hobby-1\",\"storage_size\":1e400}",
        b"{\"size\":\"hobby-1\",\"storage_size\":16,}",
        b"\x00",
        b"null",
        b"\"\\ud800\"",
    ];
    for body in bodies {
        assert_eq!(
            target.told("POST", &path, body),
            bad_request(),
            "{:?}",
            &body[..body.len().min(40)]
        );
        target.still_serves().await;
    }
    let large = format!("{{\"size\":\"{}\"}}", "x".repeat(2 << 20));
    assert_eq!(
        target.told("POST", &path, large.as_bytes()),
        (413, "PayloadTooLarge".to_owned())
    );
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn paths_that_climb_or_hide_something_find_nothing() {
    let target = Target::new(&[]);
    for path in [
        "/location/eu-central-h1/postgres/..%2f..%2fsecret",
        "/location/eu-central-h1/postgres/%2e%2e",
        "/location/eu-central-h1/postgres/..",
        "/location/eu-central-h1/postgres/a%00b",
        "/location/eu-central-h1/postgres/%ff",
        "/location/eu-central-h1/postgres/%zz",
        "/location/eu-central-h1/postgres/'%20OR%201=1--",
        "/location/eu-central-h1/vm?page_size=%00",
        "/location/eu-central-h1/vm?start_after=%ff",
        "/location/eu-central-h1/vm?page_size=1&page_size=2",
    ] {
        let (status, kind) = target.told("GET", path, b"");
        assert!(matches!(status, 400 | 404), "{path}: {status} {kind}");
        assert!(
            !kind.is_empty(),
            "{path}: the error has the contract's shape"
        );
    }
    let (status, kind) = target.told("GET", "/location/..%2f/vm", b"");
    assert_eq!((status, &*kind), (404, "InvalidLocation"));
    let (status, kind) = target.told("GET", "/location/%00/vm", b"");
    assert_eq!((status, &*kind), (404, "InvalidLocation"));
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn heads_that_are_no_good_are_refused() {
    let target = Target::new(&[]);
    let huge = format!(
        "GET / HTTP/1.1\r\nhost: x\r\nx-large: {}\r\n\r\n",
        "a".repeat(1 << 20)
    );
    assert_eq!(told(&target.raw(huge.as_bytes())).0, 431);
    let many: String = (0..1000)
        .map(|number| format!("x-{number}: 1\r\n"))
        .collect();
    assert_eq!(
        told(&target.raw(format!("GET / HTTP/1.1\r\nhost: x\r\n{many}\r\n").as_bytes())).0,
        431
    );
    assert_eq!(
        told(&target.raw(b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n")).0,
        400
    );
    assert_eq!(
        told(
            &target.raw(
                b"GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"
            )
        )
        .0,
        400
    );
    let conflicting = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n";
    // RFC 9112, section 6.3: the length does not count, and the connection ends with the answer, so that nobody can
    // take the same bytes for another request.
    let answer = target.raw(
        &[
            &conflicting[..],
            b"GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n",
        ]
        .concat(),
    );
    assert_eq!(answer.matches("HTTP/1.1 ").count(), 1, "{answer}");
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_senders_and_silent_ones_are_let_go() {
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
        .expect("it is open");
    let mut body = target.connect();
    let token = &target.token;
    let announced = format!(
        "POST /project/{SHOP}{PLACE}/postgres/slow HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: 50\r\n\r\n{{"
    );
    body.write_all(announced.as_bytes()).expect("it is open");
    let mut silent = target.connect();
    let mut answers = [String::new(), String::new(), String::new()];
    for (stream, answer) in [&mut head, &mut body, &mut silent]
        .into_iter()
        .zip(&mut answers)
    {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        *answer = String::from_utf8_lossy(&bytes).into_owned();
    }
    assert!(
        start.elapsed() < Duration::from_secs(15),
        "they were kept for {:?}",
        start.elapsed()
    );
    assert_eq!(told(&answers[1]).0, 408, "{}", answers[1]);
    target.still_serves().await;
}

/// One answer of a connection that stays open; empty if it does not.
fn answer(stream: &mut impl Read) -> String {
    let mut bytes = Vec::new();
    let mut byte = [0; 1];
    while !bytes.ends_with(b"\r\n\r\n") && matches!(stream.read(&mut byte), Ok(1)) {
        bytes.extend(byte);
    }
    let head = String::from_utf8(bytes).expect("a head is text");
    let length = head
        .lines()
        .find_map(|line| line.strip_prefix("content-length: "));
    let mut body = vec![0; length.map_or(0, |length| length.parse().expect("it is a number"))];
    stream.read_exact(&mut body).expect("the body comes whole");
    head + &String::from_utf8(body).expect("the body is text")
}

/// Sends these pieces with a pause after each, and gives the time until the service closes the connection.
fn time_until_cut(mut stream: TcpStream, pieces: &[&'static [u8]], pause: Duration) -> Duration {
    let start = Instant::now();
    let mut sending = stream.try_clone().expect("it can be cloned");
    let pieces = pieces.to_vec();
    let sender = std::thread::spawn(move || {
        for piece in pieces {
            if sending.write_all(piece).is_err() {
                break;
            }
            std::thread::sleep(pause);
        }
    });
    let _ = stream.read_to_end(&mut Vec::new());
    let time = start.elapsed();
    sender.join().expect("it ends");
    time
}

const GET: &[u8] = b"GET /nothing HTTP/1.1\r\nhost: x\r\n\r\n";

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_may_rest_before_and_between_requests_but_not_for_ever() {
    let target = Target::new(&["--header-timeout", "1s", "--idle-timeout", "6s"]);
    let mut stream = target.connect();
    for _ in 0..3 {
        std::thread::sleep(Duration::from_millis(2500));
        stream.write_all(GET).expect("it is open");
        assert_eq!(
            told(&answer(&mut stream)),
            (401, "MissingCredentials".to_owned())
        );
    }
    let used = time_until_cut(stream, &[], Duration::ZERO);
    let silent = time_until_cut(target.connect(), &[], Duration::ZERO);
    for time in [used, silent] {
        assert!(
            (5500..11_500).contains(&time.as_millis()),
            "it was kept for {time:?}"
        );
    }
    target.still_serves().await;
}

/// The rest begins with the end of a request, however long that took.
#[tokio::test(flavor = "multi_thread")]
async fn a_connection_may_rest_after_a_long_request_as_after_a_short_one() {
    let target = Target::new(&["--idle-timeout", "4s"]);
    let file = target
        .home
        .database_url
        .strip_prefix("sqlite://")
        .expect("it is a file");
    let mut other = SqliteConnection::establish(file).expect("it opens");
    let mut stream = target.connect();
    let token = &target.token;
    let post = format!(
        "POST /project/{SHOP}{PLACE}/private-subnet/rested HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-length: 0\r\n\r\n"
    );
    other
        .batch_execute("BEGIN IMMEDIATE")
        .expect("nobody else writes");
    stream.write_all(post.as_bytes()).expect("it is open");
    std::thread::sleep(Duration::from_millis(2500));
    other.batch_execute("ROLLBACK").expect("it is over");
    assert_eq!(told(&answer(&mut stream)).0, 200);
    std::thread::sleep(Duration::from_millis(2500));
    let _ = stream.write_all(GET);
    assert_eq!(
        told(&answer(&mut stream)),
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
        stream.write_all(GET).expect("it is open");
        assert_eq!(told(&answer(&mut stream)).0, 401);
        std::thread::sleep(Duration::from_millis(1500));
        stream
    };
    let fresh = || target.connect();
    let heads: [(&dyn Fn() -> TcpStream, &[&[u8]]); 5] = [
        (&fresh, &drips),
        (&used, &drips),
        // It may still become HTTP/2.
        (&fresh, &[b"PRI * HT"]),
        (&fresh, &[b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"]),
        (&fresh, &[b"GET / HTTP/1.1\r\nhost: "]),
    ];
    for (connect, pieces) in heads {
        let time = time_until_cut(connect(), pieces, pause);
        assert!(
            (900..8000).contains(&time.as_millis()),
            "{} pieces were heard for {time:?}",
            pieces.len()
        );
    }
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn under_tls_what_counts_is_what_is_said_and_not_its_records() {
    let home = Home::sqlite();
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
        .expect("a certificate can be made");
    for (name, text) in [
        ("cert.pem", made.cert.pem()),
        ("key.pem", made.signing_key.serialize_pem()),
    ] {
        std::fs::write(home.path().join(name), text).expect("the folder is writable");
    }
    let times = ["--header-timeout", "1s", "--idle-timeout", "6s"];
    let service = home.serve(
        &[
            &["--tls-certificate", "cert.pem", "--tls-key", "key.pem"],
            &times[..],
        ]
        .concat(),
    );
    let _ = rustls::crypto::ring::default_provider().install_default();
    let mut roots = rustls::RootCertStore::empty();
    roots.add(made.cert.der().clone()).expect("it is one");
    let config = Arc::new(
        rustls::ClientConfig::builder()
            .with_root_certificates(roots)
            .with_no_client_auth(),
    );
    let connect = || {
        let address = service
            .base
            .strip_prefix("https://")
            .expect("it speaks TLS");
        let mut stream = TcpStream::connect(address).expect("the service listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("it can be set");
        let name = "localhost".try_into().expect("it is a name");
        let mut tls = rustls::ClientConnection::new(Arc::clone(&config), name).expect("it is good");
        while tls.is_handshaking() {
            tls.complete_io(&mut stream).expect("they shake hands");
        }
        rustls::StreamOwned::new(tls, stream)
    };
    let mut rested = connect();
    std::thread::sleep(Duration::from_millis(1500));
    rested.write_all(GET).expect("it is open");
    assert_eq!(told(&answer(&mut rested)).0, 401);
    rested.write_all(b"GET / ").expect("it is open");
    let time = time_until_cut(rested.sock, &[], Duration::ZERO);
    assert!(
        (900..5000).contains(&time.as_millis()),
        "a head was heard for {time:?}"
    );
    // The beginning of a record of 4 KiB, which nobody can read before its end.
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
        "a record was heard for {time:?}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_connection_of_http_2_is_not_cut_between_its_requests() {
    let target = Target::new(&["--header-timeout", "1s", "--idle-timeout", "18s"]);
    let mut stream = target.connect();
    stream
        .write_all(b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0")
        .expect("it is open");
    for id in [1, 3] {
        // HEADERS that end stream and headers: GET, http, /, and `x` as the authority.
        stream
            .write_all(&[0, 0, 6, 1, 5, 0, 0, 0, id, 0x82, 0x86, 0x84, 0x41, 1, b'x'])
            .expect("it is open");
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
        // A frame between the requests, and more than the time of a head.
        stream
            .write_all(b"\0\0\x08\x06\0\0\0\0\0pingping")
            .expect("it is open");
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
        "it was kept for {time:?}"
    );
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_is_too_large_is_told_so_and_the_next_is_served() {
    let target = Target::new(&[]);
    let mut stream = target.connect();
    let large = "a".repeat(40_000);
    for (request, id) in [
        (
            format!(
                "GET /nothing HTTP/1.1\r\nhost: x\r\nx-request-id: mine\r\nx-large: {large}\r\n\r\n"
            ),
            "mine",
        ),
        (format!("GET /{large} HTTP/1.1\r\nhost: x\r\n\r\n"), ""),
    ] {
        stream.write_all(request.as_bytes()).expect("it is open");
        let answer = answer(&mut stream);
        assert_eq!(told(&answer), (431, "BadRequest".to_owned()), "{answer}");
        let told_id = answer
            .lines()
            .find_map(|line| line.strip_prefix("x-request-id: "));
        assert!(
            told_id.is_some_and(|told| !told.is_empty() && told.starts_with(id)),
            "{answer}"
        );
    }
    stream.write_all(GET).expect("it is open");
    assert_eq!(
        told(&answer(&mut stream)),
        (401, "MissingCredentials".to_owned())
    );
    target.still_serves().await;
    let metrics = reqwest::get(format!("{}/metrics", target.service.management))
        .await
        .expect("it answers");
    let metrics = metrics.text().await.expect("it is text");
    assert!(
        metrics.contains("stratus_requests_total{operation=\"none\",status=\"431\"} 2"),
        "{metrics}"
    );
}

/// How many of these connections the service has closed, once it has closed any.
async fn closed_of(held: &[TcpStream]) -> usize {
    for stream in held {
        stream.set_nonblocking(true).expect("it can be set");
    }
    let is_closed = |stream: &&TcpStream| match stream.peek(&mut [0]) {
        Ok(read) => read == 0,
        Err(error) => error.kind() != ErrorKind::WouldBlock,
    };
    let closed = eventually(async || {
        Some(held.iter().filter(is_closed).count()).filter(|closed| *closed > 0)
    });
    closed.await.unwrap_or_default()
}

#[tokio::test(flavor = "multi_thread")]
async fn the_management_port_has_limits_of_its_own() {
    let target = Target::new(&[]);
    let address = target
        .service
        .management
        .strip_prefix("http://")
        .expect("it speaks HTTP");
    let connect = || {
        let stream = TcpStream::connect(address).expect("the service listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("it can be set");
        stream
    };
    let time = time_until_cut(
        connect(),
        &[b"GET /healthz HTTP/1.1\r\nhost: "],
        Duration::ZERO,
    );
    assert!(
        (4500..15_000).contains(&time.as_millis()),
        "a slow head was heard for {time:?}"
    );
    let held: Vec<TcpStream> = (0..65).map(|_| connect()).collect();
    assert_eq!(closed_of(&held).await, 1);
    drop(held);
    target.still_serves().await;
    let health = format!("{}/healthz", target.service.management);
    let healthy = eventually(async || reqwest::get(&health).await.ok())
        .await
        .expect("those that left make room");
    assert_eq!(healthy.status(), 200);
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_too_many_is_closed_and_the_others_are_not() {
    let target = Target::new(&["--max-connections", "4"]);
    let held: Vec<TcpStream> = (0..5).map(|_| target.connect()).collect();
    assert_eq!(closed_of(&held).await, 1);
    drop(held);
    let caller = target.caller();
    let served = eventually(async || {
        caller
            .try_call(reqwest::Method::GET, "/postgres", None)
            .await
            .ok()
    });
    served.await.expect("those that left make room").ok();
    target.still_serves().await;
}

on_both! {
    async fn secrets_stay_out_of_log_and_store(home: Home) {
    let target = Target::at(home, &["--log", "trace", "--simulate-delay", "10ms", "--simulate-jitter", "0s"]);
    let caller = target.caller();
    let path = format!("{PLACE}/postgres/orders");
    caller.post(&path, json!({ "size": "standard-2", "storage_size": 64 })).await.ok();
    let running = caller.wait_for(&path, |database| database["state"] == "running").await;
    let first = running["connection_string"].as_str().unwrap().to_owned();
    let first = first.split(':').nth(2).unwrap().split('@').next().unwrap().to_owned();
    let own = "Own-Passw0rd-of-mine";
    caller.post(&format!("{path}/reset-superuser-password"), json!({ "password": own })).await.ok();
    caller.post(&format!("{path}/reset-superuser-password"), json!({ "password": "weakweakweak" })).await;
    let key = caller.post_nothing("/inference-api-key").await.ok()["key"].as_str().unwrap().to_owned();
    caller.get("/nothing?token=query-secret").await;
    let wrong =
        Caller::new(&target.service.base, SHOP, "pat-pt00000000000000000000000z-WrongWrongWrongWrongWrongWrongXX");
    wrong.get("/postgres").await;
    tokio::time::sleep(Duration::from_millis(300)).await;
    let Target { home, service, token } = target;
    service.terminate();
    let (is_well, log) = service.wait();
    assert!(is_well && log.contains("request rejected"), "{log}");
    let sealing_key = std::fs::read_to_string(home.keys()).expect("it is there");
    let is_in = |text: &str, secret: &str| forms_of(secret).into_iter().any(|form| text.contains(&form));
    for secret in [&token, &first, own, "weakweakweak", &key, "WrongWrong", sealing_key.trim()] {
        assert!(!is_in(&log, secret), "a secret is in the log: {secret}");
    }
    // What is kept are hashes and sealed passwords only.
    let kept = if home.database_url.starts_with("postgres") {
        let dumped = Command::new(binary("pg_dump")).arg(&home.database_url).output().expect("pg_dump starts");
        assert!(dumped.status.success(), "{dumped:?}");
        vec![("the database".to_owned(), String::from_utf8_lossy(&dumped.stdout).into_owned())]
    } else {
        let files = std::fs::read_dir(home.path()).expect("it is there").flatten().map(|file| file.path());
        let files = files.filter(|file| file.is_file() && !file.ends_with("keys"));
        let read = |file: &Path| String::from_utf8_lossy(&std::fs::read(file).expect("it is readable")).into_owned();
        files.map(|file| (file.display().to_string(), read(&file))).collect()
    };
    assert!(kept.iter().any(|(_, text)| text.contains("orders")), "nothing is kept");
    for (place, text) in kept {
        for secret in [&token[31..], &first, own, &key] {
            assert!(!is_in(&text, secret), "a secret is in {place}");
        }
    }
}
}

/// A secret as text, and as logs and dumps show bytes.
fn forms_of(secret: &str) -> [String; 3] {
    let hex = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let list = format!("{:?}", secret.as_bytes());
    [
        secret.to_owned(),
        hex,
        list.trim_matches(['[', ']']).to_owned(),
    ]
}
