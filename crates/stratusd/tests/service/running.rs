//! How the service runs: credentials, health, metrics, limits, certificates, settings, and its end.

use std::time::Duration;

use serde_json::{Value, json};

use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::inventory::{SHOP, two_projects};

const PLACE: &str = "/location/eu-central-h1";

fn home() -> Home {
    let home = Home::sqlite();
    home.apply(&two_projects());
    home
}

async fn get(url: &str) -> (u16, String) {
    let response = reqwest::get(url).await.expect("it answers");
    (response.status().as_u16(), response.text().await.expect("it is text"))
}

#[tokio::test(flavor = "multi_thread")]
async fn tokens_expire_and_are_revoked() {
    let home = home();
    let service = home.serve(&[]);
    let short = Caller::new(&service.base, SHOP, &home.token("shop", &["--expires-in", "2s"]));
    let token = home.token("shop", &["--description", "of the test"]);
    let caller = Caller::new(&service.base, SHOP, &token);
    short.get("/postgres").await.ok();
    caller.get("/postgres").await.ok();
    let listed = home.succeed(&["token", "list", "--project", "shop"]);
    assert!(listed.contains("of the test") && !listed.contains(&token[31..]), "{listed}");
    let id = &token[4..30];
    assert!(listed.contains(id), "{listed}");
    home.succeed(&["token", "revoke", id]);
    // Tokens are remembered for a second.
    tokio::time::sleep(Duration::from_millis(2100)).await;
    assert_eq!(caller.get("/postgres").await.error(), (401, "InvalidCredentials"));
    assert_eq!(short.get("/postgres").await.error(), (401, "InvalidCredentials"));
    assert!(home.fail(&["token", "revoke", id]).contains("not revoked already"));
    assert!(home.fail(&["token", "issue", "--project", "nobody"]).contains("there are rival and shop"));
    let answer = reqwest::get(format!("{}/project/{SHOP}/postgres", service.base)).await.expect("it answers");
    assert_eq!(answer.headers()["www-authenticate"], "Bearer");
    let answer: Value = answer.json().await.expect("it is JSON");
    assert_eq!(answer["error"]["type"], "MissingCredentials");
}

#[tokio::test(flavor = "multi_thread")]
async fn a_token_that_comes_too_often_waits() {
    let home = home();
    let service = home.serve(&["--rate-limit", "2", "--rate-burst", "4"]);
    let (one, other) = (home.token("shop", &[]), home.token("shop", &[]));
    let (one, other) = (Caller::new(&service.base, SHOP, &one), Caller::new(&service.base, SHOP, &other));
    let mut answers = Vec::new();
    for _ in 0..8 {
        answers.push(one.send(reqwest::Method::GET, "/postgres", None).await.expect("it answers"));
    }
    let refused = answers.iter().filter(|answer| answer.status() == 429).count();
    assert!((3..=4).contains(&refused), "{refused} of 8 were refused");
    let last = answers.pop().expect("there are eight");
    assert_eq!((last.status().as_u16(), &last.headers()["retry-after"]), (429, &"1".parse().unwrap()));
    let body: Value = last.json().await.expect("it is JSON");
    assert_eq!((&body["error"]["code"], &body["error"]["type"]), (&json!(429), &json!("TooManyRequests")));
    // Another token has a limit of its own.
    other.get("/postgres").await.ok();
    tokio::time::sleep(Duration::from_millis(1100)).await;
    one.get("/postgres").await.ok();
}

#[tokio::test(flavor = "multi_thread")]
async fn health_and_metrics_are_on_a_port_of_their_own() {
    let home = home();
    let service = home.serve(&[]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    caller.get("/postgres").await.ok();
    caller.get("/nothing-here").await;
    assert_eq!(get(&format!("{}/healthz", service.management)).await, (200, "alive\n".to_owned()));
    assert_eq!(get(&format!("{}/readyz", service.management)).await, (200, "ready\n".to_owned()));
    let (status, metrics) = get(&format!("{}/metrics", service.management)).await;
    assert_eq!(status, 200);
    assert!(
        metrics.contains("stratus_requests_total{operation=\"project_postgres_list\",status=\"200\"} 1"),
        "{metrics}"
    );
    assert!(metrics.contains("stratus_requests_total{operation=\"none\",status=\"404\"} 1"), "{metrics}");
    assert!(metrics.contains("stratus_reconcile_steps_failed_total 0"), "{metrics}");
    assert!(metrics.contains("stratus_connections 1"), "{metrics}");
    assert!(metrics.ends_with("# EOF\n"));
    assert_eq!(get(&format!("{}/openapi.json", service.base)).await.0, 200);
    assert_eq!(get(&format!("{}/metrics", service.base)).await.0, 401);
}

#[tokio::test(flavor = "multi_thread")]
async fn told_to_stop_it_finishes_what_it_took() {
    let home = home();
    let service = home.serve(&["--log-format", "json"]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    let calls: Vec<_> = (0..40)
        .map(|number| {
            let caller = caller.clone();
            tokio::spawn(async move {
                caller.try_call(reqwest::Method::POST, &format!("{PLACE}/private-subnet/n{number}"), None).await
            })
        })
        .collect();
    tokio::time::sleep(Duration::from_millis(15)).await;
    service.terminate();
    let mut made = Vec::new();
    for (number, call) in calls.into_iter().enumerate() {
        // One that came too late has no answer; one that has an answer has a good one.
        if let Ok(answer) = call.await.expect("it ends") {
            answer.ok();
            made.push(number);
        }
    }
    let (is_well, log) = service.wait();
    assert!(is_well, "{log}");
    for line in log.lines() {
        assert!(serde_json::from_str::<Value>(line).is_ok_and(|line| line["level"].is_string()), "{line}");
    }
    let service = home.serve(&[]);
    let caller = Caller::new(&service.base, SHOP, &home.token("shop", &[]));
    for number in made {
        caller.get(&format!("{PLACE}/private-subnet/n{number}")).await.ok();
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn a_new_certificate_is_taken_without_a_restart() {
    let home = home();
    let (certificate, key) = (home.path().join("cert.pem"), home.path().join("key.pem"));
    let issue = || {
        let made = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()]).expect("a certificate can be made");
        std::fs::write(&key, made.signing_key.serialize_pem()).expect("the folder is writable");
        std::fs::write(&certificate, made.cert.pem()).expect("the folder is writable");
        made.cert.pem()
    };
    let trusting = |pem: &str| {
        let _ = rustls::crypto::ring::default_provider().install_default();
        let root = reqwest::Certificate::from_pem(pem.as_bytes()).expect("it is one");
        reqwest::Client::builder().tls_certs_only([root]).build().expect("a client can be made")
    };
    let first = issue();
    let service = home.serve(&["--tls-certificate", "cert.pem", "--tls-key", "key.pem"]);
    assert!(service.base.starts_with("https://127.0.0.1:"), "{}", service.base);
    let url = format!("{}/openapi.json", service.base.replace("127.0.0.1", "localhost"));
    assert_eq!(trusting(&first).get(&url).send().await.expect("it is trusted").status(), 200);
    let second = issue();
    let mut is_taken = false;
    for _ in 0..50 {
        tokio::time::sleep(Duration::from_millis(200)).await;
        is_taken = trusting(&second).get(&url).send().await.is_ok();
        if is_taken {
            break;
        }
    }
    assert!(is_taken, "the new certificate was not taken");
    assert!(trusting(&first).get(&url).send().await.is_err(), "the old certificate is still there");
    // A broken one changes nothing.
    std::fs::write(&certificate, "no certificate").expect("the folder is writable");
    tokio::time::sleep(Duration::from_millis(2500)).await;
    assert_eq!(trusting(&second).get(&url).send().await.expect("it is trusted").status(), 200);
    let said =
        home.fail(&["serve", "--listen", "127.0.0.1:0", "--management-listen", "127.0.0.1:0", "--tls-key", "key.pem"]);
    assert!(said.contains("another stratusd serves it") || said.contains("go together"), "{said}");
}
