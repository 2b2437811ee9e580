//! Hostile requests: each gets a clear response or a closed connection, and the next request is
//! served.

mod connections;
mod limits;
mod target;
mod timeouts;
mod unread;

use std::path::Path;
use std::process::Command;
use std::time::Duration;

use serde_json::json;

use crate::on_both;
use crate::support::Home;
use crate::support::caller::Caller;
use crate::support::cluster::binary;
use crate::support::inventory::SHOP;
use target::Target;

const PLACE: &str = "/location/eu-central-h1";

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
        assert!(is_well && log.contains("request rejected"), "{log}");
        let sealing_key = std::fs::read_to_string(home.keys()).expect("the key file exists");
        let is_in = |text: &str, secret: &str| forms_of(secret).into_iter().any(|form| text.contains(&form));
        for secret in [&token, &first, own, "weakweakweak", &key, "WrongWrong", sealing_key.trim()] {
            assert!(!is_in(&log, secret), "a secret is in the log: {secret}");
        }
        // The database contains hashes and sealed passwords only.
        let kept = if home.database_url.starts_with("postgres") {
            let dumped = Command::new(binary("pg_dump")).arg(&home.database_url).output().expect("pg_dump starts");
            assert!(dumped.status.success(), "{dumped:?}");
            vec![("the database".to_owned(), String::from_utf8_lossy(&dumped.stdout).into_owned())]
        } else {
            let files = std::fs::read_dir(home.path()).expect("the home folder is readable").flatten().map(|file| file.path());
            let files = files.filter(|file| file.is_file() && !file.ends_with("keys"));
            let read = |file: &Path| String::from_utf8_lossy(&std::fs::read(file).expect("the file is readable")).into_owned();
            files.map(|file| (file.display().to_string(), read(&file))).collect()
        };
        assert!(kept.iter().any(|(_, text)| text.contains("orders")), "the store has the name of the database");
        for (place, text) in kept {
            for secret in [&token[31..], &first, own, &key] {
                assert!(!is_in(&text, secret), "a secret is in {place}");
            }
        }
    }
}

/// Returns the forms in which a log or a dump could contain a secret: text, hex, list of bytes.
fn forms_of(secret: &str) -> [String; 3] {
    let hex = secret.bytes().map(|byte| format!("{byte:02x}")).collect();
    let list = format!("{:?}", secret.as_bytes());
    [
        secret.to_owned(),
        hex,
        list.trim_matches(['[', ']']).to_owned(),
    ]
}

#[tokio::test(flavor = "multi_thread")]
async fn invalid_bodies_are_rejected_and_the_next_request_is_served() {
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
        assert_eq!(
            target.call("POST", &path, body),
            bad_request(),
            "{:?}",
            &body[..body.len().min(40)]
        );
        target.still_serves().await;
    }
    let large = format!("{{\"size\":\"{}\"}}", "x".repeat(2 << 20));
    assert_eq!(
        target.call("POST", &path, large.as_bytes()),
        (413, "PayloadTooLarge".to_owned())
    );
    target.still_serves().await;
}

fn bad_request() -> (u16, String) {
    (400, "BadRequest".to_owned())
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
        let (status, kind) = target.call("GET", path, b"");
        assert!(matches!(status, 400 | 404), "{path}: {status} {kind}");
        assert!(
            !kind.is_empty(),
            "{path}: the error has the contract's shape"
        );
    }
    let (status, kind) = target.call("GET", "/location/..%2f/vm", b"");
    assert_eq!((status, &*kind), (404, "InvalidLocation"));
    let (status, kind) = target.call("GET", "/location/%00/vm", b"");
    assert_eq!((status, &*kind), (404, "InvalidLocation"));
    target.still_serves().await;
}
