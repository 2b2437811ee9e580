//! How the service runs: credentials, health, metrics, limits, certificates, settings, and its end.

use std::io::{BufRead, BufReader, Read, Write};
use std::net::TcpStream;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use diesel::connection::SimpleConnection;
use diesel::{Connection, SqliteConnection};
use serde_json::{Value, json};

use crate::support::caller::Caller;
use crate::support::cluster::{binary, free_port};
use crate::support::inventory::{SHOP, two_projects};
use crate::support::{Home, eventually};

const PLACE: &str = "/location/eu-central-h1";

fn home() -> Home {
    let home = Home::sqlite();
    home.apply(&two_projects());
    home
}

async fn get(url: &str) -> (u16, String) {
    let response = reqwest::get(url).await.expect("it answers");
    (
        response.status().as_u16(),
        response.text().await.expect("it is text"),
    )
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_expire_and_are_revoked() {
    let home = home();
    let service = home.serve(&[]);
    let short = Caller::new(
        &service.base,
        SHOP,
        &home.token("shop", &["--expires-in", "10s"]),
    );
    let token = home.token("shop", &["--description", "of the test"]);
    let caller = Caller::new(&service.base, SHOP, &token);
    short.get("/postgres").await.ok();
    caller.get("/postgres").await.ok();
    let listed = home.succeed(&["token", "list", "--project", "shop"]);
    assert!(
        listed.contains("of the test") && !listed.contains(&token[31..]),
        "{listed}"
    );
    let id = &token[4..30];
    assert!(listed.contains(id), "{listed}");
    home.succeed(&["token", "revoke", id]);
    // Tokens are remembered for a second.
    for caller in [&caller, &short] {
        let refused = eventually(async || {
            Some(caller.get("/postgres").await).filter(|answer| answer.status != 200)
        });
        assert_eq!(
            refused.await.expect("it ends").error(),
            (401, "InvalidCredentials")
        );
    }
    assert!(
        home.fail(&["token", "revoke", id])
            .contains("or it is revoked already")
    );
    assert!(
        home.fail(&["token", "issue", "--project", "nobody"])
            .contains("there are rival and shop")
    );
    let answer = reqwest::get(format!("{}/project/{SHOP}/postgres", service.base))
        .await
        .expect("it answers");
    assert_eq!(answer.headers()["www-authenticate"], "Bearer");
    let answer: Value = answer.json().await.expect("it is JSON");
    assert_eq!(answer["error"]["type"], "MissingCredentials");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_comes_too_often_waits() {
    let home = home();
    let service = home.serve(&["--rate-limit", "2", "--rate-burst", "4"]);
    let (one, other) = (home.token("shop", &[]), home.token("shop", &[]));
    let (one, other) = (
        Caller::new(&service.base, SHOP, &one),
        Caller::new(&service.base, SHOP, &other),
    );
    let begun = Instant::now();
    let mut taken = 0.0;
    let refused = loop {
        let answer = one
            .send(reqwest::Method::GET, "/postgres", None)
            .await
            .expect("it answers");
        if answer.status() != 200 {
            break answer;
        }
        taken += 1.0;
        assert!(
            taken <= 4.0 + 2.0 * begun.elapsed().as_secs_f64(),
            "{taken} were taken"
        );
    };
    assert!(taken >= 4.0, "{taken} were taken");
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (429, &"1".parse().unwrap())
    );
    let body: Value = refused.json().await.expect("it is JSON");
    assert_eq!(
        (&body["error"]["code"], &body["error"]["type"]),
        (&json!(429), &json!("TooManyRequests"))
    );
    // Another token has a limit of its own.
    other.get("/postgres").await.ok();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    one.get("/postgres").await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_metrics_are_on_a_port_of_their_own() {
    let home = home();
    let service = home.serve(&[]);
    // How many connections a client makes is its own affair, so these are made by hand.
    let address = service
        .base
        .strip_prefix("http://")
        .expect("it speaks HTTP");
    let held: Vec<_> = (0..3)
        .map(|_| TcpStream::connect(address).expect("the service listens"))
        .collect();
    let counted = async |count: &str| {
        let line = format!("stratus_connections {count}\n");
        let is_counted = async || {
            get(&format!("{}/metrics", service.management))
                .await
                .1
                .contains(&line)
                .then_some(())
        };
        eventually(is_counted)
            .await
            .unwrap_or_else(|| panic!("the connections are not {count}"));
    };
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    counted("3").await;
    drop(held);
    counted("0").await;
    caller.get("/postgres").await.ok();
    caller.get("/nothing-here").await;
    assert_eq!(
        get(&format!("{}/healthz", service.management)).await,
        (200, "alive\n".to_owned())
    );
    assert_eq!(
        get(&format!("{}/readyz", service.management)).await,
        (200, "ready\n".to_owned())
    );
    let (status, metrics) = get(&format!("{}/metrics", service.management)).await;
    assert_eq!(status, 200);
    assert!(
        metrics.contains(
            "stratus_requests_total{operation=\"project_postgres_list\",status=\"200\"} 1"
        ),
        "{metrics}"
    );
    assert!(
        metrics.contains("stratus_requests_total{operation=\"none\",status=\"404\"} 1"),
        "{metrics}"
    );
    assert!(
        metrics.contains("stratus_reconcile_steps_failed_total 0"),
        "{metrics}"
    );
    assert!(metrics.ends_with("# EOF\n"));
    assert_eq!(get(&format!("{}/openapi.json", service.base)).await.0, 200);
    assert_eq!(get(&format!("{}/metrics", service.base)).await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn told_to_stop_it_finishes_what_it_took() {
    let home = home();
    let service = home.serve(&["--log-format", "json"]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    // Somebody else writes to the file, so that changes stay on their way.
    let file = home
        .database_url
        .strip_prefix("sqlite://")
        .expect("it is a file");
    let mut other = SqliteConnection::establish(file).expect("it opens");
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
        .expect("the calls are on their way");
    service.terminate();
    // It takes no more while it finishes what it took.
    let refused = async || {
        caller
            .try_call(reqwest::Method::GET, "/postgres", None)
            .await
            .err()
    };
    assert!(eventually(refused).await.is_some(), "it still takes calls");
    other.batch_execute("ROLLBACK").expect("it is over");
    let mut made = Vec::new();
    for (number, call) in calls.into_iter().enumerate() {
        // A connection may have been made without a request on it yet; one that has an answer has a good one.
        if let Ok(answer) = call.await.expect("it ends") {
            answer.ok();
            made.push(number);
        }
    }
    assert!(!made.is_empty(), "nothing was on its way");
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

/// The access log of a service that has answered a few requests: what each line says.
async fn access_log(log: &str) -> Vec<Value> {
    let home = home();
    let service = home.serve(&["--log-format", "json", "--log", log]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    caller
        .post_nothing(&format!("{PLACE}/private-subnet/hidden-name"))
        .await
        .ok();
    caller.get("/postgres?start_after=hidden-query").await;
    let asked = reqwest::Client::new().request(
        "HIDDEN".parse().expect("it is one"),
        format!("{}/x", service.base),
    );
    asked
        .header("x-request-id", "mine")
        .send()
        .await
        .expect("it answers");
    service.terminate();
    let (is_well, log) = service.wait();
    assert!(is_well && !log.to_lowercase().contains("hidden"), "{log}");
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
    lines
        .filter(|line| line["target"] == "stratusd::access")
        .collect()
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_is_logged_without_what_it_says() {
    let lines = access_log("info").await;
    let said =
        |line: &Value, name: &str| line["fields"][name].as_str().unwrap_or_default().to_owned();
    let told: Vec<_> = lines
        .iter()
        .map(|line| {
            (
                said(line, "operation"),
                said(line, "method"),
                said(line, "route"),
                &line["fields"]["status"],
            )
        })
        .collect();
    let told: Vec<_> = told
        .iter()
        .map(|(id, method, route, status)| (&**id, &**method, &**route, *status))
        .collect();
    let subnet =
        "/project/{project_id}/location/{location}/private-subnet/{private_subnet_reference}";
    let expected = [
        ("private_subnet_create", "POST", subnet, &json!(200)),
        (
            "project_postgres_list",
            "GET",
            "/project/{project_id}/postgres",
            &json!(400),
        ),
        ("none", "other", "none", &json!(401)),
    ];
    assert_eq!(told, expected);
    for line in &lines {
        assert_eq!(line["level"], "INFO");
        assert!(
            line["fields"]["duration_ms"]
                .as_f64()
                .is_some_and(|time| time > 0.0),
            "{line}"
        );
        assert!(!said(line, "request_id").is_empty(), "{line}");
    }
    assert_eq!(said(&lines[2], "request_id"), "mine");
    assert_eq!(
        access_log("info,stratusd::access=off").await,
        [Value::Null; 0]
    );
}

/// Sends a signal to a process.
fn tell(process: &Child, signal: &str) {
    let told = Command::new("kill")
        .args([signal, &process.id().to_string()])
        .status();
    assert!(
        told.is_ok_and(|status| status.success()),
        "the process is alive"
    );
}

/// How a process ends in good time; it is killed if it does not.
fn end(process: &mut Child) -> Option<ExitStatus> {
    let start = Instant::now();
    while start.elapsed() < Duration::from_secs(30) {
        if let Some(status) = process.try_wait().expect("it was started") {
            return Some(status);
        }
        std::thread::sleep(Duration::from_millis(50));
    }
    let _ = process.kill();
    let _ = process.wait();
    None
}

#[test]
fn told_to_stop_while_it_waits_for_migrations_it_stops() {
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
            .expect("it can be set");
        stream
            .write_all(
                format!("GET {path} HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").as_bytes(),
            )
            .expect("it is open");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("it answers");
        answer.split(' ').nth(1).map(str::to_owned)
    };
    assert_eq!(
        (ask("/healthz").as_deref(), ask("/readyz").as_deref()),
        (Some("200"), Some("503"))
    );
    tell(&service, "-TERM");
    let status = end(&mut service);
    let _ = holder.kill();
    let _ = holder.wait();
    let mut said = String::new();
    service
        .stdout
        .take()
        .expect("it is piped")
        .read_to_string(&mut said)
        .expect("it is text");
    assert_eq!(said, "", "it has served");
    assert!(status.is_some_and(|status| status.success()), "{status:?}");
}

/// Starts the service as a process of the test's own; gives it and where it serves.
fn start(home: &Home, more: &[&str]) -> (Child, String) {
    let ports = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--management-listen",
        "127.0.0.1:0",
    ];
    let mut command = home.command(&[&ports, more].concat());
    let mut service = command
        .stdout(Stdio::piped())
        .spawn()
        .expect("the program starts");
    let mut line = String::new();
    BufReader::new(service.stdout.take().expect("it is piped"))
        .read_line(&mut line)
        .expect("it says where it is");
    let base = line
        .split([' ', ','])
        .nth(1)
        .expect("it says where it is")
        .to_owned();
    (service, base)
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_up_does_no_harm() {
    let home = home();
    let (mut service, base) = start(&home, &[]);
    let caller = Caller::new(&base, SHOP, &home.token("shop", &[]));
    tell(&service, "-HUP");
    std::thread::sleep(Duration::from_millis(300));
    let answered = caller
        .try_call(reqwest::Method::GET, "/postgres", None)
        .await;
    if answered.is_ok() {
        tell(&service, "-TERM");
    }
    let status = end(&mut service);
    assert_eq!(
        answered.ok().map(|answer| answer.status),
        Some(200),
        "{status:?}"
    );
    assert!(status.is_some_and(|status| status.success()), "{status:?}");
}

/// A certificate and its key in PEM.
fn issued() -> (String, String) {
    let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])
        .expect("a certificate can be made");
    (made.cert.pem(), made.signing_key.serialize_pem())
}

/// A client that trusts a certificate.
fn trusting(pem: &str) -> reqwest::Client {
    let _ = rustls::crypto::ring::default_provider().install_default();
    let root = reqwest::Certificate::from_pem(pem.as_bytes()).expect("it is one");
    reqwest::Client::builder()
        .tls_certs_only([root])
        .build()
        .expect("a client can be made")
}

#[tokio::test(flavor = "multi_thread")]
async fn hanging_up_takes_a_certificate_that_does_not_look_new() {
    let home = home();
    let write = |(certificate, key): &(String, String)| {
        for (name, text) in [("cert.pem", certificate), ("key.pem", key)] {
            let path = home.path().join(name);
            std::fs::write(&path, text).expect("the folder is writable");
            let file = std::fs::File::options()
                .write(true)
                .open(&path)
                .expect("it is there");
            file.set_modified(std::time::UNIX_EPOCH)
                .expect("the file is ours");
        }
    };
    let (first, second) = (issued(), issued());
    write(&first);
    let (mut service, base) = start(
        &home,
        &["--tls-certificate", "cert.pem", "--tls-key", "key.pem"],
    );
    let url = format!("{}/openapi.json", base.replace("127.0.0.1", "localhost"));
    write(&second);
    let before = trusting(&first.0)
        .get(&url)
        .send()
        .await
        .map(|answer| answer.status().as_u16());
    tell(&service, "-HUP");
    let trusting_second = trusting(&second.0);
    let after = eventually(async || trusting_second.get(&url).send().await.ok()).await;
    let _ = service.kill();
    let _ = service.wait();
    assert_eq!(
        (before.ok(), after.map(|answer| answer.status().as_u16())),
        (Some(200), Some(200))
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_certificate_is_taken_without_a_restart() {
    let home = home();
    let (certificate, key) = (home.path().join("cert.pem"), home.path().join("key.pem"));
    let issue = || {
        let (made, made_key) = issued();
        std::fs::write(&key, made_key).expect("the folder is writable");
        std::fs::write(&certificate, &made).expect("the folder is writable");
        made
    };
    let first = issue();
    let service = home.serve(&["--tls-certificate", "cert.pem", "--tls-key", "key.pem"]);
    assert!(
        service.base.starts_with("https://127.0.0.1:"),
        "{}",
        service.base
    );
    let url = format!(
        "{}/openapi.json",
        service.base.replace("127.0.0.1", "localhost")
    );
    assert_eq!(
        trusting(&first)
            .get(&url)
            .send()
            .await
            .expect("it is trusted")
            .status(),
        200
    );
    let second = issue();
    let is_taken = eventually(async || trusting(&second).get(&url).send().await.ok())
        .await
        .is_some();
    assert!(is_taken, "the new certificate was not taken");
    assert!(
        trusting(&first).get(&url).send().await.is_err(),
        "the old certificate is still there"
    );
    // A broken one changes nothing.
    std::fs::write(&certificate, "no certificate").expect("the folder is writable");
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(
        trusting(&second)
            .get(&url)
            .send()
            .await
            .expect("it is trusted")
            .status(),
        200
    );
    let third = issue();
    let is_taken = eventually(async || trusting(&third).get(&url).send().await.ok())
        .await
        .is_some();
    assert!(
        is_taken,
        "the certificate after the broken one was not taken"
    );
}

#[test]
fn a_key_without_a_certificate_is_refused() {
    let home = home();
    for name in ["cert.pem", "key.pem"] {
        std::fs::write(home.path().join(name), "nothing of the kind\n")
            .expect("the folder is writable");
    }
    let serve = [
        "serve",
        "--listen",
        "127.0.0.1:0",
        "--management-listen",
        "127.0.0.1:0",
        "--tls-key",
        "key.pem",
    ];
    let said = home.fail(&serve);
    assert!(said.contains("go together"), "{said}");
    let said = home.fail(&[&serve[..], &["--tls-certificate", "cert.pem"]].concat());
    assert!(
        said.contains("there is no certificate in PEM in cert.pem"),
        "{said}"
    );
    let said = home.fail(&[&serve[..], &["--tls-certificate", "missing.pem"]].concat());
    assert!(said.contains("failed to read missing.pem"), "{said}");
}
