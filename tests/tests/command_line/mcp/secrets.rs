//! Secrets: hidden in every response, and asked for in no request, unless a flag says otherwise.

use axum::http::StatusCode;
use axum::response::{IntoResponse as _, Response};
use axum::routing::{get, put};
use serde_json::{Value, json};

use super::client::Client;
use crate::program_of;
use crate::support::{Program, serve_router};

const SECRET: &str = "s3cret";

/// Returns a vault's program, with a server whose responses all have the secret.
fn vault() -> Program {
    let key = |path: axum::extract::Path<String>| async move {
        let (status, body) = match path.0.as_str() {
            "copy" => (203, json!({"parts": {"first": SECRET}})),
            "lost" => (404, json!({"message": "it is lost", "old": SECRET})),
            name => (200, json!({"name": name, "key": SECRET})),
        };
        let status = StatusCode::from_u16(status).expect("it is a status");
        (status, axum::Json(body)).into_response()
    };
    let done = || async { StatusCode::NO_CONTENT };
    let changes = || async {
        let line = format!("{}\n", json!(SECRET));
        ([("content-type", "application/jsonl")], line).into_response() as Response
    };
    let router = axum::Router::new()
        .route("/keys/{name}", get(key))
        .route("/phrase", get(|| async { SECRET }).put(done))
        .route("/phrases", get(|| async { axum::Json(json!([SECRET])) }))
        .route("/login", put(done))
        .route("/backup", put(done))
        .route("/changes", get(changes));
    program_of("vault", include_bytes!("vault.yaml")).with("VAULT_URL", &serve_router(router))
}

/// The calls, and what is left of their results without secrets.
fn calls() -> [(&'static str, Value, &'static str); 6] {
    [
        (
            "view_key",
            json!({"name": "first"}),
            r#"{"name":"first","key":"[secret]"}"#,
        ),
        (
            "view_key",
            json!({"name": "copy"}),
            r#"{"parts":"[secret]"}"#,
        ),
        (
            "view_key",
            json!({"name": "lost"}),
            "404 Not Found: it is lost\n  old: [secret]",
        ),
        ("view_phrase", json!({}), "[secret]"),
        ("list_phrases", json!({}), "[secret]"),
        ("watch_phrases", json!({}), "\"[secret]\"\n"),
    ]
}

#[test]
fn every_response_hides_its_secrets() {
    let vault = vault();
    let mut client = Client::start(&vault, &[]);
    for (name, arguments, left) in calls() {
        let result = client.call(name, &arguments);
        assert_eq!(super::client::texts(&result), [left], "{name}");
        assert!(!result.to_string().contains(SECRET), "{result:#}");
    }
    let words = client.tool("view_phrase")["description"].to_string();
    assert!(
        words.contains("The result is a secret, which is hidden."),
        "{words}"
    );
    let mut client = Client::start(&vault, &["--show-secrets"]);
    for (name, arguments, _) in calls() {
        let result = client.call(name, &arguments);
        assert!(result.to_string().contains(SECRET), "{name}: {result:#}");
    }
}

#[test]
fn the_command_line_hides_the_same_secrets() {
    let vault = vault();
    assert_eq!(
        vault.run(&["view-key", "copy", "--output", "jsonl"]).ok(),
        "{\"parts\":\"[secret]\"}\n"
    );
    let error = vault.run(&["view-key", "lost"]).failed(4);
    assert!(
        error.contains("old: [secret]") && !error.contains(SECRET),
        "{error}"
    );
    assert_eq!(vault.run(&["view-phrase"]).ok(), "[secret]\n");
    assert_eq!(vault.run(&["view-phrase", "--show-secrets"]).ok(), SECRET);
    assert_eq!(vault.run(&["watch-phrases"]).ok(), "\"[secret]\"\n");
}

#[test]
fn an_operation_that_needs_a_secret_anywhere_is_no_tool() {
    let vault = vault();
    let mut client = Client::start(&vault, &["--allow-writes"]);
    let login = json!({"body": {"user": {"name": "ada", "code": SECRET}}});
    let refused = client.failed("set_login", &login);
    assert!(
        refused.contains("`set_login` needs the secret `user/code`") && !refused.contains(SECRET),
        "{refused}"
    );
    let refused = client.failed("set_phrase", &json!({"body": SECRET}));
    assert!(refused.contains("needs the secret `body`"), "{refused}");
    let mut client = Client::start(&vault, &["--allow-writes", "--allow-secret-inputs"]);
    client.ok("set_login", &login);
    client.ok("set_phrase", &json!({"body": SECRET}));
}

#[test]
fn a_secret_of_an_optional_part_is_refused_with_the_part() {
    let vault = vault();
    let mut client = Client::start(&vault, &["--allow-writes"]);
    client.ok("set_backup", &json!({"body": {"place": "cellar"}}));
    let user = json!({"name": "ada", "code": SECRET});
    let body = json!({"body": {"place": "cellar", "user": user}});
    let refused = client.failed("set_backup", &body);
    assert!(
        refused.contains("body/user/code is a secret") && !refused.contains(SECRET),
        "{refused}"
    );
}
