//! Callers that take all connections, and those that come after them.

use std::io::Write;
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use tokio::net::TcpSocket;

use super::PLACE;
use super::target::{Target, closed_of, read_response, status_and_type};
use crate::support::eventually;
use crate::support::inventory::SHOP;

/// Where the quiet caller comes from. The others come from `127.0.0.1`.
const QUIET: &str = "127.0.0.2:0";

/// Connects from the quiet caller's address.
async fn connect_quietly(target: &Target) -> TcpStream {
    let socket = TcpSocket::new_v4().expect("there is a file to spare");
    let from = QUIET.parse().expect("it is an address");
    socket.bind(from).expect("it is an address of this machine");
    let address = target.service.base.strip_prefix("http://");
    let address: SocketAddr = address
        .and_then(|address| address.parse().ok())
        .expect("the base URL is HTTP with an address");
    let stream = socket.connect(address).await.expect("the service listens");
    let stream = stream.into_std().expect("it can be taken");
    stream.set_nonblocking(false).expect("it can be set");
    let timeout = Some(Duration::from_secs(20));
    stream.set_read_timeout(timeout).expect("it can be set");
    stream
}

/// Sends a request and returns the status of its response, or 0 if the connection is closed.
fn ask(stream: &mut TcpStream, token: &str) -> u16 {
    let head = format!(
        "GET /project/{SHOP}/postgres HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\r\n"
    );
    let _ = stream.write_all(head.as_bytes());
    status_and_type(&read_response(stream)).0
}

/// Returns the head of a request that creates a database.
fn create(token: &str, length: usize) -> String {
    format!(
        "POST /project/{SHOP}{PLACE}/postgres/orders HTTP/1.1\r\nhost: x\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {length}\r\n\r\n"
    )
}

/// Waits until a number of connections are open.
async fn until_open(target: &Target, count: u64) {
    let open = async || {
        let open = target.service.metric("stratus_connections").await;
        (open == count).then_some(())
    };
    assert!(eventually(open).await.is_some(), "not {count} are open");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_caller_that_takes_all_connections_leaves_others_as_many() {
    const CONTRACT: &[u8] = b"GET /openapi.json HTTP/1.1\r\nhost: x\r\n\r\n";
    for (what, is_open) in [
        ("nothing", false),
        ("half a head", false),
        ("requests whose responses it does not read", true),
        ("heads without the bodies that they announce", true),
    ] {
        let target = Target::new(&["--max-connections", "8"]);
        let sent = match what {
            "nothing" => Vec::new(),
            "half a head" => b"GET /openapi.json HTT".to_vec(),
            "requests whose responses it does not read" => CONTRACT.repeat(100),
            _ => create(&target.token, 39).into_bytes(),
        };
        let held: Vec<TcpStream> = (0..8)
            .map(|_| {
                let mut stream = target.connect();
                stream.write_all(&sent).expect("it is open");
                stream
            })
            .collect();
        until_open(&target, 8).await;
        if is_open {
            // Until they wait for their caller, which may stop for a while.
            tokio::time::sleep(Duration::from_millis(300)).await;
            assert_eq!(ask(&mut connect_quietly(&target).await, &target.token), 0);
            tokio::time::sleep(Duration::from_millis(5_300)).await;
        }
        let mut quiet = Vec::new();
        for number in 1..=4 {
            let mut stream = connect_quietly(&target).await;
            assert_eq!(ask(&mut stream, &target.token), 200, "{what}: {number}");
            quiet.push(stream);
        }
        // All of them stay.
        for stream in &mut quiet {
            assert_eq!(ask(stream, &target.token), 200, "{what}");
        }
        assert_eq!(
            target
                .service
                .metric("stratus_connections_closed_total")
                .await,
            4,
            "{what}"
        );
        until_open(&target, 8).await;
        drop(held);
        target.service.terminate();
        let (is_well, log) = target.service.wait();
        let logged = log
            .matches("as many connections are open as may be")
            .count();
        assert!(is_well && logged == 1, "{what}: {log}");
    }
}

/// A ping of HTTP/2 is not a request, and is neither in the metrics nor in the log.
#[tokio::test(flavor = "multi_thread")]
async fn connections_whose_callers_only_ping_leave_others_as_many() {
    let target = Target::new(&["--max-connections", "8"]);
    let head = b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0\0\0\x06\x01\x05\0\0\0\x01\x82\x86\x84\x41\x01x";
    let mut held: Vec<TcpStream> = (0..8).map(|_| target.connect()).collect();
    for stream in &mut held {
        stream.write_all(head).expect("it is open");
    }
    until_open(&target, 8).await;
    let pinging = std::thread::spawn(move || {
        for _ in 0..60 {
            for stream in &mut held {
                let _ = stream.write_all(b"\0\0\x08\x06\0\0\0\0\0pingping");
            }
            std::thread::sleep(Duration::from_millis(250));
        }
    });
    // Longer than what is left of the last response may be on its way.
    tokio::time::sleep(Duration::from_secs(8)).await;
    let mut quiet = Vec::new();
    for number in 1..=4 {
        let mut stream = connect_quietly(&target).await;
        assert_eq!(ask(&mut stream, &target.token), 200, "{number}");
        quiet.push(stream);
    }
    pinging.join().expect("it does not panic");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_connection_takes_the_place_of_an_idle_one_and_not_of_a_busy_one() {
    let target = Target::new(&["--max-connections", "2"]);
    let mut busy = target.connect();
    let body = br#"{"size":"standard-2","storage_size":64}"#;
    let head = create(&target.token, body.len());
    busy.write_all(head.as_bytes()).expect("it is open");
    let idle = target.connect();
    until_open(&target, 2).await;
    // The others have had no time yet.
    let refused = target.connect();
    assert_eq!(closed_of(&[refused]).await, 1);
    tokio::time::sleep(Duration::from_millis(1_100)).await;
    let mut kept = Vec::new();
    for _ in 0..2 {
        let mut new = target.connect();
        assert_eq!(ask(&mut new, &target.token), 200);
        kept.push(new);
        tokio::time::sleep(Duration::from_millis(1_100)).await;
    }
    assert_eq!(closed_of(&[idle]).await, 1);
    busy.write_all(body).expect("it is open");
    assert_eq!(status_and_type(&read_response(&mut busy)).0, 200);
    let refused = target
        .service
        .metric("stratus_connections_refused_total")
        .await;
    let closed = target
        .service
        .metric("stratus_connections_closed_total")
        .await;
    assert_eq!((refused, closed), (1, 2));
}
