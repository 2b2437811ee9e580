//! Limits on heads and connections.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Resource, Rlimit, Signal, kill_process, prlimit};

use super::target::{GET, Target, closed_of, read_response, status_and_type, time_until_cut};
use crate::support::{Home, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn invalid_heads_are_rejected() {
    let target = Target::new(&[]);
    let huge = format!(
        "GET / HTTP/1.1\r\nhost: x\r\nx-large: {}\r\n\r\n",
        "a".repeat(1 << 20)
    );
    assert_eq!(status_and_type(&target.raw(huge.as_bytes())).0, 431);
    let many: String = (0..1000)
        .map(|number| format!("x-{number}: 1\r\n"))
        .collect();
    assert_eq!(
        status_and_type(&target.raw(format!("GET / HTTP/1.1\r\nhost: x\r\n{many}\r\n").as_bytes()))
            .0,
        431
    );
    assert_eq!(
        status_and_type(&target.raw(b"\x16\x03\x01\x00\xa5\x01\x00\x00\xa1\x03\x03\r\n\r\n")).0,
        400
    );
    assert_eq!(
        status_and_type(
            &target.raw(
                b"GET / HTTP/1.1\r\nhost: x\r\ncontent-length: 1\r\ncontent-length: 2\r\n\r\n"
            )
        )
        .0,
        400
    );
    for head in [
        "GET / HTTP/1.1\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: x\r\nhost: x\r\n\r\n",
        "GET / HTTP/1.1\r\nhost: x y\r\n\r\n",
        "POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked, chunked\r\n\r\n0\r\n\r\n",
    ] {
        assert_eq!(
            status_and_type(&target.raw(head.as_bytes())),
            (400, "BadRequest".to_owned()),
            "{head}"
        );
    }
    let conflicting = b"POST / HTTP/1.1\r\nhost: x\r\ntransfer-encoding: chunked\r\ncontent-length: 3\r\n\r\n0\r\n\r\n";
    // RFC 9112, section 6.3: the length does not count, and the connection ends with the response,
    // so that nobody can take the same bytes for another request.
    let response = target.raw(
        &[
            &conflicting[..],
            b"GET /smuggled HTTP/1.1\r\nhost: x\r\n\r\n",
        ]
        .concat(),
    );
    assert_eq!(response.matches("HTTP/1.1 ").count(), 1, "{response}");
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn a_head_that_is_too_large_is_rejected_and_the_next_is_served() {
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
        stream
            .write_all(request.as_bytes())
            .expect("the connection is open");
        let response = read_response(&mut stream);
        assert_eq!(
            status_and_type(&response),
            (431, "BadRequest".to_owned()),
            "{response}"
        );
        let request_id = response
            .lines()
            .find_map(|line| line.strip_prefix("x-request-id: "));
        assert!(
            request_id.is_some_and(|it| !it.is_empty() && it.starts_with(id)),
            "{response}"
        );
    }
    stream.write_all(GET).expect("the connection is open");
    assert_eq!(
        status_and_type(&read_response(&mut stream)),
        (401, "MissingCredentials".to_owned())
    );
    target.still_serves().await;
    let metrics = reqwest::get(format!("{}/metrics", target.service.management))
        .await
        .expect("the service responds");
    let metrics = metrics.text().await.expect("the metrics are text");
    assert!(
        metrics.contains("stratus_requests_total{operation=\"none\",status=\"431\"} 2"),
        "{metrics}"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn the_management_port_has_limits_of_its_own() {
    let target = Target::new(&[]);
    let address = target
        .service
        .management
        .strip_prefix("http://")
        .expect("the management URL is HTTP");
    let connect = || {
        let stream = TcpStream::connect(address).expect("the service listens");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("a read timeout can be set on a socket");
        stream
    };
    let time = time_until_cut(
        connect(),
        &[b"GET /healthz HTTP/1.1\r\nhost: "],
        Duration::ZERO,
    );
    assert!(
        (4500..15_000).contains(&time.as_millis()),
        "a slow head was read for {time:?}"
    );
    let one_too_many = eventually(async || {
        let held: Vec<TcpStream> = (0..65).map(|_| connect()).collect();
        // One of before may still be ending, so that more are closed.
        (closed_of(&held).await == 1).then_some(())
    });
    one_too_many.await.expect("64 are held");
    target.still_serves().await;
    let health = format!("{}/healthz", target.service.management);
    let healthy = eventually(async || reqwest::get(&health).await.ok())
        .await
        .expect("the ended connections make room for a health check");
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
    served
        .await
        .expect("the ended connections make room for the waiting request")
        .ok();
    target.still_serves().await;
}

#[tokio::test(flavor = "multi_thread")]
async fn exhausted_files_are_logged_once_and_make_the_service_unready() {
    let target = Target::new(&[]);
    let address = target
        .service
        .management
        .strip_prefix("http://")
        .expect("it speaks HTTP");
    let mut management = TcpStream::connect(address).expect("the service listens");
    let mut ready = || {
        management
            .write_all(b"GET /readyz HTTP/1.1\r\nhost: x\r\n\r\n")
            .expect("it is open");
        status_and_type(&read_response(&mut management)).0
    };
    assert_eq!(ready(), 200);
    let few = Rlimit {
        current: Some(40),
        maximum: Some(40),
    };
    let process = i32::try_from(target.service.id())
        .ok()
        .and_then(Pid::from_raw);
    prlimit(process, Resource::Nofile, few).expect("it can be set");
    let held: Vec<TcpStream> = (0..60).map(|_| target.connect()).collect();
    let unready = eventually(async || (ready() == 503).then_some(())).await;
    assert!(unready.is_some(), "it is ready without a file to spare");
    std::thread::sleep(Duration::from_secs(1));
    drop(held);
    let served = eventually(async || (ready() == 200).then_some(())).await;
    assert!(served.is_some(), "it does not become ready again");
    target.still_serves().await;
    target.service.terminate();
    let (is_well, log) = target.service.wait();
    let logged = log.matches("a connection cannot be accepted").count();
    assert!(is_well && logged == 1, "{log}");
}

#[test]
fn no_more_connections_are_taken_than_files_can_be_opened() {
    let home = Home::sqlite();
    let gateway = [
        "--gateway-listen",
        "127.0.0.1:0",
        "--gateway-max-connections",
        "2",
    ];
    let forwarding = [&gateway[..], &["--gateway-upstream", "http://localhost:1"]].concat();
    for (files, settings, is_warned) in [
        // Of all files, 256 are for other purposes, and each time four are left.
        (256 + 4, &["--max-connections", "4"][..], false),
        (256 + 4, &[], true),
        // One for each connection to the gateway.
        (256 + 2 + 4, &gateway, true),
        // One more for each request that is forwarded, and 64 for connections that are kept.
        (256 + 2 + 2 + 64 + 4, &forwarding, true),
    ] {
        let (closed, log) = closed_with(&home, files, settings);
        assert_eq!(closed, 2, "{files} {settings:?}: {log}");
        let warned = log.contains("the limit of open files allows fewer connections");
        assert_eq!(warned, is_warned, "{files} {settings:?}: {log}");
    }
}

/// Starts a service that may open so many files, and makes six connections. Returns how many of them are
/// closed at once, and the log.
fn closed_with(home: &Home, files: u32, settings: &[&str]) -> (usize, String) {
    let addresses = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--management-listen",
        "127.0.0.1:0",
    ];
    let serve = home.command(&[&addresses, settings].concat());
    let mut limited = Command::new("/bin/sh");
    limited
        .args(["-c", &format!("ulimit -n {files} && exec \"$0\" \"$@\"")])
        .arg(serve.get_program())
        .args(serve.get_args())
        .current_dir(home.path());
    for (name, value) in serve.get_envs() {
        match value {
            Some(value) => limited.env(name, value),
            None => limited.env_remove(name),
        };
    }
    let mut service = limited
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("there is a shell");
    let mut line = String::new();
    BufReader::new(service.stdout.take().expect("it is piped"))
        .read_line(&mut line)
        .expect("it says where it is");
    let address = line.split(['/', ',']).nth(2).expect("it says where it is");
    let held: Vec<TcpStream> = (0..6)
        .map(|_| TcpStream::connect(address).expect("it listens"))
        .collect();
    let is_closed = |mut stream: &TcpStream| {
        let _ = stream.set_nonblocking(true);
        matches!(stream.read(&mut [0]), Ok(0))
    };
    let count = || held.iter().filter(|stream| is_closed(stream)).count();
    let begun = Instant::now();
    while count() < 2 && begun.elapsed() < Duration::from_secs(20) {
        std::thread::sleep(Duration::from_millis(20));
    }
    // One more would be closed by then.
    std::thread::sleep(Duration::from_millis(500));
    let closed = count();
    send_term(&service);
    let mut log = String::new();
    let mut stderr = service.stderr.take().expect("it is piped");
    stderr.read_to_string(&mut log).expect("the log is text");
    assert!(service.wait().expect("it was alive").success(), "{log}");
    (closed, log)
}

fn send_term(process: &Child) {
    kill_process(Pid::from_child(process), Signal::TERM).expect("the process is alive");
}
