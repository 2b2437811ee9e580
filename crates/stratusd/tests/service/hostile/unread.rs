//! Callers that do not read their responses, and callers that get a response before they have sent
//! their body.

use std::io::{ErrorKind, Write};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use h2::client::{Builder, Connection, SendRequest};
use http::Request;
use serde_json::json;
#[cfg(target_os = "linux")]
use socket2::{Domain, Socket, Type};
use tokio::net::TcpStream;

use super::PLACE;
use super::target::{GET, Target, read_response, status_and_type};
use crate::sizes::largest_database;
use crate::support::eventually;
use crate::support::inventory::{RIVAL, SHOP};
#[cfg(target_os = "linux")]
use crate::support::sockets::sent;

/// The largest window that HTTP/2 has.
const NO_LIMIT: u32 = (1 << 31) - 1;

type Caller = (
    SendRequest<bytes::Bytes>,
    Connection<TcpStream, bytes::Bytes>,
);

#[tokio::test(flavor = "multi_thread")]
async fn callers_of_http_2_that_give_no_window_do_not_keep_their_connections() {
    let target = Target::new(&["--idle-timeout", "2s", "--max-connections", "10"]);
    let mut kept = Vec::new();
    for _ in 0..10 {
        let (mut requests, connection) = connect(&target, 0).await;
        // It reads what comes, and acknowledges pings, but never has room for a body.
        kept.push(tokio::spawn(connection));
        let (response, _) = requests
            .send_request(contract(&target), true)
            .expect("it is open");
        let body = response.await.expect("it responds").into_body();
        kept.push(tokio::spawn(async move {
            let _body = body;
            std::future::pending().await
        }));
    }
    assert_all_closed(&target).await;
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_of_http_2_whose_window_is_a_byte_do_not_keep_their_connections() {
    let target = Target::new(&["--idle-timeout", "2s", "--max-connections", "10"]);
    let small = small(&target).await;
    let mut kept = Vec::new();
    for _ in 0..5 {
        let (mut requests, connection) = connect(&target, 1).await;
        kept.push(tokio::spawn(async {
            let _ = connection.await;
        }));
        let request = small.clone();
        kept.push(tokio::spawn(async move {
            let mut responses = Vec::new();
            // Its requests never end, and each time it sends another one.
            while let Ok((response, _)) = requests.send_request(request.clone(), true) {
                responses.push(response.await);
                tokio::time::sleep(Duration::from_millis(300)).await;
                let Ok(ready) = requests.ready().await else {
                    break;
                };
                requests = ready;
            }
        }));
    }
    assert_all_closed(&target).await;
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn small_responses_that_wait_for_callers_of_http_2_are_within_the_budget() {
    // 256 shares, and 64 for each project.
    let target = Target::new(&["--body-budget", "8388608"]);
    let rival = target.rival();
    let small = small(&target).await;
    let (mut requests, connection) = connect(&target, 1).await;
    tokio::spawn(connection);
    let mut sent = Vec::new();
    for _ in 0..80 {
        requests = requests.ready().await.expect("it is open");
        let (response, _) = requests
            .send_request(small.clone(), true)
            .expect("it is open");
        sent.push(response);
    }
    let mut statuses = Vec::new();
    // Each body has a byte of room only, until it is dropped.
    let mut kept = Vec::new();
    for response in sent {
        let response = response.await.expect("it responds");
        statuses.push(response.status().as_u16());
        kept.push(response);
    }
    let served = statuses.iter().filter(|status| **status == 200).count();
    let refused = statuses.iter().filter(|status| **status == 503).count();
    assert_eq!((served, refused), (64, 16), "{statuses:?}");
    rival.get(&format!("{PLACE}/vm")).await.ok();
    drop(kept);
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn the_tokens_of_a_project_do_not_keep_all_shares_of_small_requests() {
    // 256 shares, and 64 for each project.
    let target = Target::new(&["--body-budget", "8388608"]);
    let rival = target.rival();
    let mut kept = Vec::new();
    // A token that does not exist has none, also for the path of the other project.
    let invented = "pat-pt000000000000000000000000-00000000000000000000000000000000";
    let tokens: Vec<_> = (0..5).map(|_| target.home.token("shop", &[])).collect();
    let tokens = tokens.iter().map(|token| (SHOP, &**token));
    for (project, token) in tokens.chain([(RIVAL, invented); 3]) {
        let (mut requests, connection) = connect(&target, NO_LIMIT).await;
        tokio::spawn(connection);
        for number in 0..90 {
            requests = requests.ready().await.expect("it is open");
            let request = Request::post(format!(
                "{}/project/{project}{PLACE}/postgres/n{number}",
                target.service.base
            ))
            .header("authorization", format!("Bearer {token}"))
            .header("content-type", "application/json")
            .header("content-length", "1000")
            .body(())
            .expect("it is a request");
            kept.push(requests.send_request(request, false).expect("it is open"));
        }
    }
    // By then, those that cannot get a share have been refused.
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(4) {
        let since = Instant::now();
        rival.get(&format!("{PLACE}/vm")).await.ok();
        assert!(
            since.elapsed() < Duration::from_secs(2),
            "it waited for {:?}",
            since.elapsed()
        );
        tokio::time::sleep(Duration::from_millis(100)).await;
    }
    drop(kept);
    target.still_serves().await;
}

/// These are always sent, since the change is made.
#[tokio::test(flavor = "multi_thread")]
async fn responses_to_changes_that_nobody_reads_leave_large_responses_to_other_projects() {
    // Half of it is for what responses have beyond their shares of 16 KiB, and a project has 64 shares.
    let target = Target::new(&["--body-budget", "8388608"]);
    let path = format!("{PLACE}/postgres/large");
    let (shop, rival) = (target.caller(), target.rival());
    for caller in [&shop, &rival] {
        caller.post(&path, largest_database()).await.ok();
    }
    let (mut requests, connection) = connect(&target, 1).await;
    tokio::spawn(connection);
    let mut kept = Vec::new();
    for _ in 0..64 {
        requests = requests.ready().await.expect("it is open");
        let uri = format!("{}/project/{SHOP}{path}", target.service.base);
        let request = Request::patch(uri)
            .header("authorization", format!("Bearer {}", target.token))
            .header("content-type", "application/json")
            .body(())
            .expect("it is a request");
        let sent = requests.send_request(request, false);
        let (response, mut body) = sent.expect("it is open");
        body.send_data("{}".into(), true).expect("it is open");
        let response = response.await.expect("it responds");
        // After the half is full, the project has no more requests until it reads.
        if response.status() == 200 {
            kept.push(response);
        }
    }
    // Of 100 KiB each, so that they have about what they leave.
    assert!((20..=30).contains(&kept.len()), "{} are kept", kept.len());
    rival.get(&path).await.ok();
    rival.patch(&path, json!({})).await.ok();
    // The project itself has room again as soon as it reads, or gives up.
    assert_eq!(shop.get(&path).await.status, 503);
    drop(kept);
    let served = eventually(async || (shop.get(&path).await.status == 200).then_some(()));
    served.await.expect("it is served again");
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_the_budget_refuses_is_received_and_its_connection_is_kept() {
    let target = Target::new(&[
        "--body-budget",
        "8388608",
        "--body-limit",
        "4194304",
        "--cors-origins",
        "https://console.example",
    ]);
    let head = |length: usize| {
        format!(
            "POST /project/{SHOP}{PLACE}/postgres/large HTTP/1.1\r\nhost: x\r\norigin: https://console.example\r\n\
             authorization: Bearer {}\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n",
            target.token
        )
    };
    // It takes what there is for bodies beyond their shares, and never ends.
    let mut holding = target.connect();
    let body = vec![b' '; 4 << 20];
    let held = holding
        .write_all(head(body.len()).as_bytes())
        .and_then(|()| holding.write_all(&body[1..]));
    held.expect("it is open");
    std::thread::sleep(Duration::from_millis(500));
    let mut stream = target.connect();
    let sent = stream
        .write_all(head(3 << 20).as_bytes())
        .and_then(|()| stream.write_all(&body[1 << 20..]));
    sent.expect("the service reads on");
    let response = read_response(&mut stream);
    assert_eq!(
        status_and_type(&response),
        (503, "Unavailable".to_owned()),
        "{response}"
    );
    // As the router's own responses.
    for header in [
        "access-control-allow-origin: https://console.example",
        "retry-after: 1",
        "x-request-id: ",
    ] {
        assert!(response.contains(header), "no {header} in {response}");
    }
    stream.write_all(GET).expect("the connection is open");
    assert_eq!(status_and_type(&read_response(&mut stream)).0, 401);
    let large = "a".repeat(40_000);
    let request = format!(
        "GET / HTTP/1.1\r\nhost: x\r\norigin: https://console.example\r\nx: {large}\r\n\r\n"
    );
    stream
        .write_all(request.as_bytes())
        .expect("the connection is open");
    let response = read_response(&mut stream);
    assert_eq!(status_and_type(&response).0, 431);
    assert!(
        response.contains("access-control-allow-origin: https://console.example"),
        "{response}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_of_http_2_that_never_read_do_not_keep_their_connections() {
    let target = Target::new(&["--idle-timeout", "2s", "--max-connections", "10"]);
    let mut kept = Vec::new();
    for _ in 0..10 {
        let (requests, mut connection) = connect(&target, NO_LIMIT).await;
        let mut responses = Vec::new();
        let mut requests = requests.ready().await.expect("it is open");
        for _ in 0..90 {
            let request = requests.send_request(contract(&target), true);
            responses.push(request.expect("it is open"));
        }
        let sending = tokio::time::timeout(Duration::from_millis(100), &mut connection);
        let _ = sending.await;
        // From now on, nobody polls the connection.
        kept.push((connection, requests, responses));
    }
    assert_all_closed(&target).await;
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn callers_of_http_1_that_never_read_do_not_keep_their_connections() {
    let target = Target::new(&["--idle-timeout", "2s", "--max-connections", "10"]);
    let mut kept = Vec::new();
    for _ in 0..10 {
        let mut stream = target.connect();
        stream.set_nonblocking(true).expect("it can be set");
        let request = b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n";
        let start = Instant::now();
        while start.elapsed() < Duration::from_millis(200) {
            match stream.write(request) {
                Err(error) if error.kind() != ErrorKind::WouldBlock => panic!("{error}"),
                _ => {}
            }
        }
        kept.push(stream);
    }
    assert_all_closed(&target).await;
    target.still_serves().await;
}

/// Without a bound, the system keeps megabytes of them for each connection, which no budget counts.
#[cfg(target_os = "linux")]
#[tokio::test(flavor = "multi_thread")]
async fn the_system_keeps_little_of_responses_that_nobody_reads() {
    let target = Target::new(&[]);
    let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("there are sockets");
    // As small as the system allows, so that what the caller keeps counts for little.
    socket.set_recv_buffer_size(1).expect("it can be set");
    let address = target.service.base.strip_prefix("http://");
    let address: SocketAddr = address
        .and_then(|it| it.parse().ok())
        .expect("it is an address");
    socket
        .connect(&address.into())
        .expect("the service listens");
    let mut stream = std::net::TcpStream::from(socket);
    stream.set_nonblocking(true).expect("it can be set");
    let own = stream.local_addr().expect("it is connected");
    let (mut kept, mut times) = (0, 0);
    while times < 50 {
        let _ = stream.write(b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n");
        tokio::time::sleep(Duration::from_millis(20)).await;
        let now = sent(address, own).expect("it is connected");
        times = if now == kept { times + 1 } else { 0 };
        kept = now;
    }
    assert!(0 < kept && kept <= 256 << 10, "{kept} bytes");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_of_http_2_that_reads_slowly_gets_its_response() {
    let target = Target::new(&["--idle-timeout", "2s"]);
    let (mut requests, connection) = connect(&target, 16 << 10).await;
    tokio::spawn(connection);
    let start = Instant::now();
    let (response, _) = requests
        .send_request(contract(&target), true)
        .expect("it is open");
    let response = response.await.expect("it responds");
    let length: usize = response.headers()["content-length"]
        .to_str()
        .expect("it is text")
        .parse()
        .expect("it is a number");
    let mut body = response.into_body();
    let mut received = 0;
    while let Some(piece) = body.data().await {
        let piece = piece.expect("the response is not cut");
        received += piece.len();
        tokio::time::sleep(Duration::from_millis(600)).await;
        body.flow_control()
            .release_capacity(piece.len())
            .expect("it was received");
    }
    assert_eq!(received, length);
    assert!(
        start.elapsed() > Duration::from_secs(3),
        "it was not slow enough"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn each_unfinished_body_of_http_2_has_a_timeout() {
    let target = Target::new(&["--body-timeout", "1s"]);
    let (mut requests, connection) = connect(&target, NO_LIMIT).await;
    tokio::spawn(connection);
    let mut open = Vec::new();
    for number in 0..100 {
        requests = requests.ready().await.expect("it is open");
        let request = Request::post(format!(
            "{}/project/{SHOP}{PLACE}/postgres/n{number}",
            target.service.base
        ))
        .header("authorization", format!("Bearer {}", target.token))
        .header("content-type", "application/json")
        .header("content-length", "1000000")
        .body(())
        .expect("it is a request");
        let (response, mut body) = requests.send_request(request, false).expect("it is open");
        body.send_data(vec![b' '; 1000].into(), false)
            .expect("it is open");
        open.push((response, body));
    }
    let start = Instant::now();
    for (response, _body) in open {
        assert_eq!(response.await.expect("it responds").status(), 408);
    }
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "they were kept for {:?}",
        start.elapsed()
    );
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_body_that_arrives_after_its_response_is_not_the_next_head() {
    let target = Target::new(&["--header-timeout", "1s", "--header-limit", "1024"]);
    let large = "a".repeat(2000);
    for (header, status) in [("x-small: 1", 401), (&format!("x-large: {large}"), 431)] {
        let mut stream = target.connect();
        let head =
            format!("POST /nothing HTTP/1.1\r\nhost: x\r\n{header}\r\ncontent-length: 20\r\n\r\n");
        stream.write_all(head.as_bytes()).expect("it is open");
        assert_eq!(status_and_type(&read_response(&mut stream)).0, status);
        stream.write_all(&[b' '; 10]).expect("it is open");
        std::thread::sleep(Duration::from_millis(200));
        stream.write_all(&[b' '; 10]).expect("it is open");
        std::thread::sleep(Duration::from_millis(1500));
        stream.write_all(GET).expect("it is open");
        assert_eq!(status_and_type(&read_response(&mut stream)).0, 401);
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_sends_3_mib_before_it_reads_gets_the_413() {
    let target = Target::new(&[]);
    let body = vec![b' '; 3 << 20];
    for try_number in 0..60 {
        let mut stream = target.connect();
        let head = format!(
            "POST /project/{SHOP}{PLACE}/postgres/large HTTP/1.1\r\nhost: x\r\n\
             authorization: Bearer {}\r\ncontent-type: application/json\r\n\
             content-length: {}\r\n\r\n",
            target.token,
            body.len()
        );
        let sent = stream
            .write_all(head.as_bytes())
            .and_then(|()| stream.write_all(&body));
        sent.unwrap_or_else(|error| panic!("try {try_number}: {error}"));
        assert_eq!(
            status_and_type(&read_response(&mut stream)),
            (413, "PayloadTooLarge".to_owned())
        );
    }
}

/// Opens a connection of HTTP/2 with a window for each response.
async fn connect(target: &Target, window: u32) -> Caller {
    let address = target.service.base.strip_prefix("http://");
    let stream = TcpStream::connect(address.expect("it speaks HTTP")).await;
    let mut builder = Builder::new();
    builder.initial_window_size(window);
    if window == NO_LIMIT {
        builder.initial_connection_window_size(window);
    }
    builder
        .handshake(stream.expect("the service listens"))
        .await
        .expect("they shake hands")
}

/// Returns a request for the contract, which is larger than a few windows.
fn contract(target: &Target) -> Request<()> {
    Request::get(format!("{}/openapi.json", target.service.base))
        .body(())
        .expect("it is a request")
}

/// Creates a database of a few KiB, which is less than a share. Returns the request that shows it.
async fn small(target: &Target) -> Request<()> {
    let tags: Vec<_> = (0..40)
        .map(|tag| json!({ "key": format!("{tag:0>100}"), "value": "" }))
        .collect();
    let body = json!({ "size": "standard-2", "storage_size": 64, "tags": tags });
    let path = format!("{PLACE}/postgres/small");
    target.caller().post(&path, body).await.ok();
    Request::get(format!("{}/project/{SHOP}{path}", target.service.base))
        .header("authorization", format!("Bearer {}", target.token))
        .body(())
        .expect("it is a request")
}

/// Waits until the service has closed all connections, for a few times the idle timeout.
async fn assert_all_closed(target: &Target) {
    // reqwest is built without a TLS provider and uses the installed one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let start = Instant::now();
    let metrics = format!("{}/metrics", target.service.management);
    let closed = eventually(async || {
        let metrics = reqwest::get(&metrics).await.expect("it responds");
        let metrics = metrics.text().await.expect("it is text");
        let is_late = start.elapsed() > Duration::from_secs(20);
        (metrics.contains("stratus_connections 0\n") || is_late).then_some(is_late)
    });
    assert_eq!(closed.await, Some(false), "connections are kept");
}
