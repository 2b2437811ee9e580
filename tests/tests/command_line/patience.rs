//! How often a call is repeated, and how long it may take.

use std::net::TcpListener;
use std::time::{Duration, Instant};

use super::museum;
use super::support::serve;

#[test]
fn a_call_that_failed_temporarily_is_repeated_as_often_as_asked() {
    for (retries, requests) in [("0", 1), ("1", 2)] {
        let (url, log) = serve();
        let call = ["fail", "503", "--url", &url, "--retries", retries];
        museum().run(&call).failed(5);
        assert_eq!(log.len(), requests);
    }
    // A request that is wrong stays wrong.
    let (url, log) = serve();
    museum()
        .run(&["fail", "404", "--url", &url, "--retries", "1"])
        .failed(4);
    assert_eq!(log.len(), 1);
}

#[test]
fn a_call_ends_when_its_time_is_over() {
    // Connections are accepted by the system, and never answered.
    let silent = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", silent.local_addr().expect("it has an address"));
    let start = Instant::now();
    let said = museum()
        .run(&["fail", "404", "--url", &url, "--timeout", "1"])
        .failed(6);
    assert!(said.contains("time"), "{said}");
    assert!(start.elapsed() < Duration::from_secs(20));
}

#[test]
fn waiting_ends_when_its_time_is_over() {
    let (url, _) = serve();
    let museum = museum()
        .with("MUSEUM_URL", &url)
        .with("MUSEUM_HALL", "north");
    let said = museum
        .run(&["things", "view", "stuck", "--wait", "--wait-timeout", "1"])
        .failed(7);
    assert!(said.contains("moving"), "{said}");
}
