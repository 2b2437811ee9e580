//! Signals: stopping while requests are in progress or the database is opened, and SIGHUP.

use std::io::{Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use rustix::process::Signal;
use serde_json::Value;

use super::{PLACE, get, home, send_signal, start};
use crate::support::caller::Caller;
use crate::support::cluster::{binary, free_port};
use crate::support::inventory::SHOP;
use crate::support::{Home, eventually};

#[tokio::test(flavor = "multi_thread")]
async fn a_service_that_stops_finishes_the_requests_in_progress() {
    let home = home();
    let service = home.serve(&["--log-format", "json"]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    // Another connection holds the write lock, so that changes stay in progress.
    let file = home
        .database_url
        .strip_prefix("sqlite://")
        .expect("the store is a SQLite file");
    let mut other = SqliteConnection::establish(file).expect("the SQLite file opens");
    other
        .batch_execute("BEGIN IMMEDIATE")
        .expect("nobody else writes");
    let calls: Vec<_> = (0..40)
        .map(|number| {
            let caller = caller.clone();
            tokio::spawn(async move {
                caller
                    .try_call(
                        reqwest::Method::POST,
                        &format!("{PLACE}/private-subnet/n{number}"),
                        None,
                    )
                    .await
            })
        })
        .collect();
    let metrics = format!("{}/metrics", service.management);
    let is_taken = async || {
        get(&metrics)
            .await
            .1
            .contains("stratus_connections 40\n")
            .then_some(())
    };
    eventually(is_taken)
        .await
        .expect("the service counts 40 connections");
    service.terminate();
    // It accepts no more connections while it finishes the requests in progress.
    let refused = async || {
        caller
            .try_call(reqwest::Method::GET, "/postgres", None)
            .await
            .err()
    };
    assert!(
        eventually(refused).await.is_some(),
        "the service still accepts connections"
    );
    let ready = get(&format!("{}/readyz", service.management)).await;
    assert_eq!(ready, (503, "starting or stopping\n".to_owned()));
    other
        .batch_execute("ROLLBACK")
        .expect("the write lock is released");
    let mut made = Vec::new();
    for (number, call) in calls.into_iter().enumerate() {
        // A connection may have been opened without a request on it. If there is a response, it is
        // a success.
        if let Ok(response) = call.await.expect("the calling task does not panic") {
            response.ok();
            made.push(number);
        }
    }
    assert!(
        !made.is_empty(),
        "no request was running when the signal came"
    );
    let (is_well, log) = service.wait();
    assert!(is_well, "{log}");
    for line in log.lines() {
        assert!(
            serde_json::from_str::<Value>(line).is_ok_and(|line| line["level"].is_string()),
            "{line}"
        );
    }
    let service = home.serve(&[]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    for number in made {
        caller
            .get(&format!("{PLACE}/private-subnet/n{number}"))
            .await
            .ok();
    }
}

#[test]
fn a_service_that_waits_for_migrations_stops_on_a_signal() {
    let Some(home) = Home::postgres() else { return };
    let psql = |query: &str| {
        let mut command = Command::new(binary("psql"));
        command
            .args([&home.database_url, "-qAtc", query])
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        command
    };
    let mut holder = psql("SELECT pg_advisory_lock(7597125); SELECT pg_sleep(300)")
        .spawn()
        .expect("psql starts");
    let wait_for = |locks: &str, granted: bool| {
        let query = format!(
            "SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7597125 AND granted = {granted}"
        );
        for _ in 0..1000 {
            if psql(&query)
                .output()
                .is_ok_and(|output| output.stdout.trim_ascii() == b"1")
            {
                return;
            }
            std::thread::sleep(Duration::from_millis(50));
        }
        panic!("nobody {locks} the lock");
    };
    wait_for("holds", true);
    let management = format!("127.0.0.1:{}", free_port());
    let arguments = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--management-listen",
        &management,
    ];
    let mut service = home
        .command(&arguments)
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    wait_for("waits for", false);
    let ask = |path: &str| {
        let mut stream = TcpStream::connect(&management).expect("the second port is open");
        stream
            .set_read_timeout(Some(Duration::from_secs(20)))
            .expect("a read timeout can be set on a socket");
        stream
            .write_all(
                format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes(),
            )
            .expect("the connection is open");
        let mut response = String::new();
        stream
            .read_to_string(&mut response)
            .expect("the service responds");
        response.split(' ').nth(1).map(str::to_owned)
    };
    assert_eq!(
        (ask("/healthz").as_deref(), ask("/readyz").as_deref()),
        (Some("200"), Some("503"))
    );
    send_signal(&service, Signal::TERM);
    let status = end(&mut service);
    let _ = holder.kill();
    let _ = holder.wait();
    let mut said = String::new();
    service
        .stdout
        .take()
        .expect("stdout is piped")
        .read_to_string(&mut said)
        .expect("stdout is UTF-8");
    assert_eq!(said, "", "the service prints nothing more to stdout");
    assert!(status.is_some_and(|status| status.success()), "{status:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn sighup_does_not_stop_the_service() {
    let home = home();
    let (mut service, base) = start(&home, &[]);
    let caller = Caller::new(&base, SHOP, &home.token("shop", &[]));
    send_signal(&service, Signal::HUP);
    std::thread::sleep(Duration::from_millis(300));
    let responded = caller
        .try_call(reqwest::Method::GET, "/postgres", None)
        .await;
    if responded.is_ok() {
        send_signal(&service, Signal::TERM);
    }
    let status = end(&mut service);
    assert_eq!(
        responded.ok().map(|response| response.status),
        Some(200),
        "{status:?}"
    );
    assert!(status.is_some_and(|status| status.success()), "{status:?}");
}

/// Waits for a process to end. Kills it after 30 seconds, and returns `None`.
fn end(process: &mut Child) -> Option<ExitStatus> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(30) {
        if let Some(status) = process.try_wait().expect("the process was started") {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = process.kill();
    let _ = process.wait();
    None
}
