//! The standard input and output: messages that are too long, batches, and a credential that nobody
//! gives yet.

use std::process::Command;
use std::time::Duration;

use serde_json::{Value, json};

use super::bounds::museum_at;
use super::client::Client;
use crate::support::serve;
use crate::without_credential;

/// Returns an error of the protocol for a message that is not received.
fn refused(problem: &str) -> Value {
    json!({"jsonrpc": "2.0", "id": null, "error": {"code": -32600, "message": problem}})
}

fn ping(id: i64) -> Value {
    json!({"jsonrpc": "2.0", "id": id, "method": "ping"})
}

#[test]
fn a_message_that_is_too_long_is_refused() {
    let mut client = Client::start(&museum_at("http://127.0.0.1:9"), &[]);
    client.send(&json!({"jsonrpc": "2.0", "id": 7, "method": "ping", "params": {"long": "x".repeat(16 << 20)}}));
    assert_eq!(
        client.next(),
        refused("a message has at most 16777216 bytes")
    );
    client.request("ping", &json!({}));
}

#[test]
fn what_is_no_message_of_the_protocol_is_refused_by_its_id() {
    let mut client = Client::start(&museum_at("http://127.0.0.1:9"), &[]);
    client.send(&json!({"jsonrpc": "2.0", "id": 7, "params": {}}));
    let mut expected = refused("this is no message of the protocol");
    expected["id"] = json!(7);
    assert_eq!(client.next(), expected);
    // A notification of another protocol, and what is no JSON, get no response.
    client.send(&json!({"jsonrpc": "2.0", "method": "textDocument/didOpen", "params": {}}));
    client.send_text("{");
    client.request("ping", &json!({}));
}

#[test]
fn batches_are_received_in_the_version_that_has_them() {
    let museum = museum_at("http://127.0.0.1:9");
    let mut client = Client::silent(&museum, "mcp", &[]);
    client.shake_hands_in("2025-03-26");
    client.send(
        &json!([ping(10), {"jsonrpc": "2.0", "method": "notifications/initialized"}, ping(11), 1]),
    );
    let mut ids: Vec<Value> = (0..3).map(|_| client.next()["id"].take()).collect();
    ids.sort_by_key(Value::as_i64);
    assert_eq!(ids, [Value::Null, json!(10), json!(11)]);
    let many: Vec<Value> = (100..165).map(ping).collect();
    let bound = refused("a batch must have from 1 to 64 messages");
    client.send(&json!(many));
    assert_eq!(client.next(), bound);
    client.send(&json!([]));
    assert_eq!(client.next(), bound);
    client.send(&json!(many[..64]));
    for _ in 0..64 {
        assert_eq!(client.next()["result"], json!({}));
    }

    let mut client = Client::start(&museum, &[]);
    client.send(&json!([ping(10)]));
    let version = "batches are a part of version 2025-03-26 of the protocol alone: send each message in a line of its own";
    assert_eq!(client.next(), refused(version));
    client.request("ping", &json!({}));
}

/// A keyring may wait until its owner unlocks it. A file that nobody writes waits too, and is read at
/// the same place.
#[test]
fn a_credential_that_nobody_gives_yet_stops_only_the_calls_that_need_it() {
    let (url, log) = serve();
    let museum = without_credential()
        .with("MUSEUM_URL", &url)
        .with("MUSEUM_HALL", "north");
    let token = museum.folder().join("token");
    let made = Command::new("mkfifo").arg(&token).status();
    assert!(made.expect("mkfifo is there").success());
    let path = token.display().to_string();
    let mut client = Client::start(&museum, &["--token-file", &path, "--timeout", "60"]);
    // More than may be sent at the same time.
    let thing = json!({"thing": "vase"});
    let mut ids: Vec<i64> = (0..20)
        .map(|_| client.begin_call("view_thing", &thing))
        .collect();
    client.request("ping", &json!({}));
    let visitors = client.ok("watch", &json!({}));
    assert!(visitors[0].contains("Ada"), "{visitors:?}");
    assert_eq!(client.next_within(Duration::from_millis(300)), None);
    std::fs::write(&token, "s3cret\n").expect("the program reads it");
    let mut got: Vec<i64> = (0..20)
        .map(|_| client.next()["id"].as_i64().expect("an id"))
        .collect();
    got.sort_unstable();
    ids.sort_unstable();
    assert_eq!(got, ids);
    assert_eq!(log.last().header("authorization"), Some("Bearer s3cret"));
}
