//! How sessions begin and end, and what the server does with messages that it does not expect.

use serde_json::{Value, json};

use crate::client::{Client, Unit};
use crate::{PETS, editing};

#[test]
fn a_session_that_ends_as_it_should_exits_with_0() {
    let (_folder, mut client) = editing(PETS);
    assert_eq!(client.settled("api.yaml"), Vec::<Value>::new());
    assert_eq!(client.end(), Some(0));
}

#[test]
fn an_editor_that_vanishes_ends_the_server() {
    let (_folder, client) = editing(PETS);
    assert_eq!(client.vanish(), Some(1));
}

#[test]
fn a_request_before_the_handshake_is_refused() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let mut client = Client::launch(folder.path(), Unit::Utf16, &[]);
    let refused = client.request("textDocument/hover", &json!({}));
    assert_eq!(refused.expect_err("an error")["code"], -32002);
}

#[test]
fn what_the_server_does_not_understand_is_refused_and_changes_nothing() {
    let (_folder, mut client) = editing(PETS);
    let refused = client.request("textDocument/moniker", &json!({}));
    assert_eq!(refused.expect_err("an error")["code"], -32601);
    let refused = client.request("textDocument/hover", &json!({"position": "here"}));
    assert_eq!(refused.expect_err("an error")["code"], -32602);
    client.notify("textDocument/didChange", &json!({"nonsense": true}));
    let unknown = json!({
        "textDocument": {"uri": client.uri("other.yaml")},
        "position": {"line": 99, "character": 99},
    });
    let nothing = client.request("textDocument/hover", &unknown);
    assert_eq!(nothing, Ok(Value::Null));
    assert_eq!(client.settled("api.yaml"), Vec::<Value>::new());
    assert_eq!(client.end(), Some(0));
}

#[test]
fn after_the_end_requests_are_refused() {
    let (_folder, mut client) = editing(PETS);
    client.request("shutdown", &Value::Null).expect("an answer");
    let refused = client.request("textDocument/hover", &json!({}));
    assert_eq!(refused.expect_err("an error")["code"], -32600);
    client.notify("exit", &Value::Null);
}

#[test]
fn a_position_after_the_end_means_the_end() {
    let (_folder, mut client) = editing(PETS);
    for at in [
        json!({"line": 100_000, "character": 3}),
        json!({"line": 0, "character": 100_000}),
        json!({"line": 4_294_967_295_u32, "character": 4_294_967_295_u32}),
    ] {
        let asked = json!({"textDocument": {"uri": client.uri("api.yaml")}, "position": at});
        client
            .request("textDocument/completion", &asked)
            .expect("an answer");
    }
    assert_eq!(client.end(), Some(0));
}
