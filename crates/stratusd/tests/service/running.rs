//! How the service runs: credentials, rate limits, health, metrics and logs.

mod certificates;
mod signals;
mod stalled_log;

use std::io::{BufRead, BufReader};
use std::net::TcpStream;
use std::process::{Child, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process};
use serde_json::{Value, json};

use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};
use crate::support::{Home, eventually};

const PLACE: &str = "/location/eu-central-h1";

#[tokio::test(flavor = "multi_thread")]
async fn the_reference_page_needs_no_token_and_can_be_switched_off() {
    // reqwest is built without a TLS provider and uses the installed one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let home = home();
    for (switch, statuses) in [
        ("on", [200, 308, 200, 200, 401]),
        ("off", [401, 401, 401, 401, 401]),
    ] {
        let service = home.serve(&["--docs", switch]);
        let paths = ["/", "/docs", "/docs/", "/docs/docs.js", "/docs/missing"];
        let client = reqwest::Client::builder()
            .redirect(reqwest::redirect::Policy::none())
            .build()
            .expect("the settings are valid");
        for (path, status) in paths.into_iter().zip(statuses) {
            let response = client.get(format!("{}{path}", service.base)).send().await;
            let response = response.expect("the service responds");
            assert_eq!(response.status(), status, "{path}, {switch}");
        }
    }
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
    // Tokens are cached for a second, and used all the time. The rest is for a busy machine.
    let revoked = Instant::now();
    home.succeed(&["token", "revoke", id]);
    for (caller, latest) in [(&caller, 10), (&short, 20)] {
        let refused = eventually(async || {
            Some(caller.get("/postgres").await).filter(|response| response.status != 200)
        });
        assert_eq!(
            refused
                .await
                .expect("the revoked token stops working")
                .error(),
            (401, "InvalidCredentials")
        );
        let took = revoked.elapsed();
        assert!(
            took < Duration::from_secs(latest),
            "it ended after {took:?}"
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
    let response = reqwest::get(format!("{}/project/{SHOP}/postgres", service.base))
        .await
        .expect("the service responds");
    assert_eq!(response.headers()["www-authenticate"], "Bearer");
    let response: Value = response.json().await.expect("the body is JSON");
    assert_eq!(response["error"]["type"], "MissingCredentials");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_over_its_rate_limit_must_wait() {
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
        let response = one
            .send(reqwest::Method::GET, "/postgres", None)
            .await
            .expect("the service responds");
        if response.status() != 200 {
            break response;
        }
        taken += 1.0;
        assert!(
            taken <= 4.0 + 2.0 * begun.elapsed().as_secs_f64(),
            "{taken} requests were accepted"
        );
    };
    assert!(taken >= 4.0, "{taken} requests were accepted");
    assert_eq!(
        (refused.status().as_u16(), &refused.headers()["retry-after"]),
        (429, &"1".parse().unwrap())
    );
    assert_eq!(
        (
            &refused.headers()["ratelimit-policy"],
            &refused.headers()["ratelimit"]
        ),
        (
            &r#""default";q=4;w=2"#.parse().unwrap(),
            &r#""default";r=0;t=1"#.parse().unwrap()
        )
    );
    let body: Value = refused.json().await.expect("the body is JSON");
    assert_eq!(
        (&body["error"]["code"], &body["error"]["type"]),
        (&json!(429), &json!("TooManyRequests"))
    );
    // Another token has its own limit.
    other.get("/postgres").await.ok();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    one.get("/postgres").await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn pages_of_listed_origins_may_call() {
    let home = home();
    let service = home.serve(&["--cors-origins", "https://a.example, https://b.example"]);
    // reqwest is built without a TLS provider and uses the installed one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    let client = reqwest::Client::new();
    let url = format!("{}/project/{SHOP}/postgres", service.base);
    for (origin, allowed) in [
        ("https://b.example", Some("https://b.example")),
        ("https://c.example", None),
    ] {
        let preflight = client
            .request(reqwest::Method::OPTIONS, &url)
            .header("origin", origin)
            .header("access-control-request-method", "GET")
            .send();
        let preflight = preflight.await.expect("the service responds");
        let header = preflight.headers().get("access-control-allow-origin");
        assert_eq!(
            header.map(|value| value.to_str().expect("an origin is ASCII")),
            allowed
        );
    }
    let wrong = home.fail(&["serve", "--cors-origins", "b.example/path"]);
    assert!(wrong.contains("must be an origin"), "{wrong}");
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_metrics_are_on_a_port_of_their_own() {
    let home = home();
    let service = home.serve(&[]);
    // Opened by hand: an HTTP client opens as many connections as it likes.
    let address = service
        .base
        .strip_prefix("http://")
        .expect("the base URL is HTTP");
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
async fn what_is_only_recorded_is_said_at_the_start() {
    let home = Home::sqlite();
    let balanced = [
        "--balance",
        "on",
        "--balance-management-listen",
        "127.0.0.1:0",
    ];
    for (settings, said) in [
        (
            &[][..],
            "records virtual machines, private subnets, firewalls and load balancers: `stratusd network` makes \
             networks of them, and `stratusd balance` forwards connections",
        ),
        (
            &balanced,
            "records virtual machines, private subnets and firewalls, and `stratusd network` makes networks of them; \
             it is the data plane of load balancers",
        ),
    ] {
        let service = home.serve(settings);
        service.terminate();
        let (is_well, log) = service.wait();
        assert!(is_well, "{log}");
        let lines = log
            .lines()
            .filter(|line| line.contains("this process records"));
        let lines: Vec<_> = lines.collect();
        let [line] = lines[..] else {
            panic!("{settings:?}: {log}");
        };
        assert!(line.ends_with(said), "{line}");
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn each_request_is_logged_without_its_path_and_query() {
    let lines = access_log("info").await;
    let said =
        |line: &Value, name: &str| line["fields"][name].as_str().unwrap_or_default().to_owned();
    let logged: Vec<_> = lines
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
    let logged: Vec<_> = logged
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
        ("none", "PUT", "none", &json!(401)),
        ("none", "PATCH", "none", &json!(401)),
        ("none", "DELETE", "none", &json!(401)),
        ("none", "OPTIONS", "none", &json!(401)),
        ("none", "HEAD", "none", &json!(401)),
        ("none", "TRACE", "none", &json!(401)),
    ];
    assert_eq!(logged, expected);
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

/// Sends a few requests to a service with a log filter, and returns its access log.
async fn access_log(log: &str) -> Vec<Value> {
    let home = home();
    let service = home.serve(&["--log-format", "json", "--log", log]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let begun = Instant::now();
    caller
        .post_nothing(&format!("{PLACE}/private-subnet/hidden-name"))
        .await
        .ok();
    caller.get("/postgres?start_after=hidden-query").await;
    for method in [
        "HIDDEN", "PUT", "PATCH", "DELETE", "OPTIONS", "HEAD", "TRACE",
    ] {
        let method = method.parse().expect("it has the form of a method");
        let asked = reqwest::Client::new().request(method, format!("{}/x", service.base));
        let sent = asked.header("x-request-id", "mine").send();
        sent.await.expect("the service responds");
    }
    let took = begun.elapsed();
    service.terminate();
    let (is_well, log) = service.wait();
    assert!(is_well && !log.to_lowercase().contains("hidden"), "{log}");
    let lines = log
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).expect("a line is JSON"));
    let lines: Vec<Value> = lines
        .filter(|line| line["target"] == "stratusd::access")
        .collect();
    // One request was sent after the other.
    let times = lines
        .iter()
        .filter_map(|line| line["fields"]["duration_ms"].as_f64());
    assert!(times.sum::<f64>() <= took.as_secs_f64() * 1000.0, "{log}");
    lines
}

fn home() -> Home {
    let home = Home::sqlite();
    home.apply(&two_projects());
    home
}

async fn get(url: &str) -> (u16, String) {
    let response = reqwest::get(url).await.expect("the service responds");
    (
        response.status().as_u16(),
        response.text().await.expect("the body is text"),
    )
}

/// Starts the service as a child process. Returns it with the URL of the API.
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
    BufReader::new(service.stdout.take().expect("stdout is piped"))
        .read_line(&mut line)
        .expect("the service prints its address");
    let base = line
        .split([' ', ','])
        .nth(1)
        .expect("the line contains the address")
        .to_owned();
    (service, base)
}

/// Sends a signal to a process.
fn send_signal(process: &Child, signal: Signal) {
    kill_process(Pid::from_child(process), signal).expect("the process is alive");
}
