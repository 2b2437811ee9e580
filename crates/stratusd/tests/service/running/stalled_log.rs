//! A reader of the log that does not read: nobody waits for it.

use std::io::{BufRead, BufReader};
use std::process::{Child, Stdio};
use std::sync::mpsc;
use std::time::{Duration, Instant};

use reqwest::StatusCode;
use rustix::process::Signal;

use super::{home, send_signal};
use crate::support::{Home, PATIENCE, eventually};

/// How long any response may take, while nobody reads the log.
const QUICK: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn a_log_that_nobody_reads_stops_nothing_and_says_later_what_it_lacks() {
    let home = home();
    let mut service = Stalled::start(&home);
    service.fill().await;
    assert_eq!(
        service
            .get(&format!("{}/healthz", service.management))
            .await,
        StatusCode::OK
    );
    assert_eq!(
        service.get(&format!("{}/nothing", service.base)).await,
        StatusCode::UNAUTHORIZED
    );
    let stderr = service.child.stderr.take().expect("it is piped");
    let (notice, noticed) = mpsc::channel();
    let reader = std::thread::spawn(move || {
        for line in BufReader::new(stderr).lines() {
            let line = line.expect("the log is text");
            if line.contains("log lines were dropped") {
                let _ = notice.send(line);
            }
        }
    });
    let line = tokio::task::spawn_blocking(move || noticed.recv_timeout(PATIENCE))
        .await
        .expect("it does not panic")
        .expect("the log says that lines are missing");
    let line: serde_json::Value = serde_json::from_str(&line).expect("it is a line like others");
    assert!(
        line["fields"]["dropped"]
            .as_u64()
            .is_some_and(|dropped| dropped > 0),
        "{line}"
    );
    send_signal(&service.child, Signal::TERM);
    assert!(service.child.wait().expect("it was alive").success());
    reader.join().expect("the log ends");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_signal_stops_the_service_while_nobody_reads_the_log() {
    let home = home();
    let mut service = Stalled::start(&home);
    service.fill().await;
    send_signal(&service.child, Signal::TERM);
    let start = Instant::now();
    let ended = eventually(async || service.child.try_wait().expect("it is a child")).await;
    assert!(
        ended.is_some_and(|status| status.success()),
        "it ended with {ended:?}"
    );
    assert!(
        start.elapsed() < Duration::from_secs(10),
        "it ended after {:?}",
        start.elapsed()
    );
}

/// A service whose standard error is a pipe that nobody reads.
struct Stalled {
    child: Child,
    base: String,
    management: String,
    http: reqwest::Client,
}

impl Stalled {
    fn start(home: &Home) -> Self {
        // reqwest is built without a TLS provider and uses the installed one.
        let _ = rustls::crypto::ring::default_provider().install_default();
        let mut child = home
            .command(&[
                "serve",
                "--listen",
                "127.0.0.1:0",
                "--management-listen",
                "127.0.0.1:0",
                "--log",
                "trace",
                "--log-format",
                "json",
            ])
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .expect("the program starts");
        let mut line = String::new();
        BufReader::new(child.stdout.take().expect("it is piped"))
            .read_line(&mut line)
            .expect("it says where it is");
        let (base, management) = line
            .trim()
            .strip_prefix("serving ")
            .and_then(|line| line.split_once(", health and metrics on "))
            .expect("it says where it is");
        Self {
            child,
            base: base.to_owned(),
            management: management.to_owned(),
            http: reqwest::Client::builder()
                .timeout(QUICK)
                .build()
                .expect("a client can be made"),
        }
    }

    /// Sends requests without a token until log lines are dropped. Each must get its response.
    async fn fill(&self) {
        let metrics = format!("{}/metrics", self.management);
        for _ in 0..1000 {
            for _ in 0..50 {
                assert_eq!(
                    self.get(&format!("{}/nothing", self.base)).await,
                    StatusCode::UNAUTHORIZED
                );
            }
            let metrics = self.http.get(&metrics).send().await.expect("it responds");
            let metrics = metrics.text().await.expect("it is text");
            let dropped = metrics
                .lines()
                .find_map(|line| line.strip_prefix("stratus_log_lines_dropped_total "));
            if dropped.is_some_and(|count| count != "0") {
                return;
            }
        }
        panic!("no line was dropped");
    }

    async fn get(&self, url: &str) -> StatusCode {
        let response = self.http.get(url).send().await;
        response.expect("the service responds").status()
    }
}

impl Drop for Stalled {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
