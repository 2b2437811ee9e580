//! Requests that nobody means well with: each gets a clear answer or a closed connection, and the next is served.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use crate::on_both;
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;

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
        Self { home, service, token }
    }

    fn caller(&self) -> Caller {
        Caller::new(&self.service.base, SHOP, &self.token)
    }

    fn connect(&self) -> TcpStream {
        let address = self.service.base.strip_prefix("http://").expect("it speaks HTTP");
        let stream = TcpStream::connect(address).expect("the service listens");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("it can be set");
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
        assert_eq!(self.caller().get(&format!("{PLACE}/vm")).await.ok()["count"], 3);
    }
}

fn told(answer: &str) -> (u16, String) {
    let status = answer.split(' ').nth(1).and_then(|status| status.parse().ok()).unwrap_or_default();
    let body = answer.split_once("\r\n\r\n").map_or("", |(_, body)| body);
    let body: Value = serde_json::from_str(body).unwrap_or_default();
    (status, body["error"]["type"].as_str().unwrap_or_default().to_owned())
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
        assert_eq!(target.told("POST", &path, body), bad_request(), "{:?}", &body[..body.len().min(40)]);
        target.still_serves().await;
    }
    let large = format!("{{\"size\":\"{}\"}}", "x".repeat(2 << 20));
    assert_eq!(target.told("POST", &path, large.as_bytes()), (413, "PayloadTooLarge".to_owned()));
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
        assert!(!kind.is_empty(), "{path}: the error has the contract's shape");
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
    let huge = format!("GET / HTTP/1.1\r\nhost: x\r\nx-large: {}\r\n\r\n", "a".repeat(1 << 20));
    assert_eq!(told(&target.raw(huge.as_bytes())).0, 431);
    let many: String = (0..1000).map(|number| format!("x-{number}: 1\r\n")).collect();
    assert_eq!(told(&target.raw(format!("GET / HTTP/1.1\r\nhost: x\r\n{many}\r\n").as_bytes())).0, 431);
    assert_eq!(told(&target.raw(b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n")).0, 400);
    assert_eq!(
        told(&target.raw(b"GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n")).0,
        400
    );
    let conflicting = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n";
    let answer = target.raw(&[&conflicting[..], b"GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n"].concat());
    assert!(answer.matches("HTTP/1.1 ").count() <= 2, "{answer}");
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn slow_senders_and_silent_ones_are_let_go() {
    let target = Target::new(&["--header-timeout", "1s", "--body-timeout", "1s", "--idle-timeout", "2s"]);
    let start = Instant::now();
    // A head that never ends, a body that never comes, and nothing at all.
    let mut head = target.connect();
    head.write_all(b"GET / HTTP/1.1\r\nhost: x\r\nx-slow: ").expect("it is open");
    let mut body = target.connect();
    let token = &target.token;
    let announced = format!(
        "POST /project/{SHOP}{PLACE}/postgres/slow HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: 50\r\n\r\n{{"
    );
    body.write_all(announced.as_bytes()).expect("it is open");
    let mut silent = target.connect();
    let mut answers = [String::new(), String::new(), String::new()];
    for (stream, answer) in [&mut head, &mut body, &mut silent].into_iter().zip(&mut answers) {
        let mut bytes = Vec::new();
        let _ = stream.read_to_end(&mut bytes);
        *answer = String::from_utf8_lossy(&bytes).into_owned();
    }
    assert!(start.elapsed() < Duration::from_secs(15), "they were kept for {:?}", start.elapsed());
    assert_eq!(told(&answers[1]).0, 408, "{}", answers[1]);
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn one_connection_too_many_is_closed_and_the_others_are_not() {
    let target = Target::new(&["--max-connections", "4"]);
    let held: Vec<TcpStream> = (0..4).map(|_| target.connect()).collect();
    std::thread::sleep(Duration::from_millis(200));
    let mut more = target.connect();
    let mut byte = [0; 1];
    let _ = more.write_all(b"GET / HTTP/1.1\r\nhost: x\r\n\r\n");
    assert!(matches!(more.read(&mut byte), Ok(0) | Err(_)), "the fifth connection was served");
    drop(held);
    std::thread::sleep(Duration::from_millis(200));
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
    assert!(is_well && log.contains("request refused"), "{log}");
    let sealing_key = std::fs::read_to_string(home.keys()).expect("it is there");
    for secret in [&token, &first, own, "weakweakweak", &key, "WrongWrong", sealing_key.trim()] {
        assert!(!log.contains(secret), "a secret is in the log: {secret}");
    }
    // On the disk there are hashes and sealed passwords only.
    for file in std::fs::read_dir(home.path()).expect("it is there").flatten() {
        if file.file_name() != "keys" && file.path().is_file() {
            let bytes = std::fs::read(file.path()).expect("it is readable");
            for secret in [token.as_bytes(), first.as_bytes(), own.as_bytes(), key.as_bytes()] {
                let is_there = bytes.windows(secret.len()).any(|window| window == secret);
                assert!(!is_there, "a secret is in {}", file.path().display());
            }
        }
    }
}
}
