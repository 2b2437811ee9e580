//! Bodies of requests: what fits, what is reported, and their bounds.

use std::convert::Infallible;
use std::time::Duration;

use api_runtime::server::Config;
use axum::body::{Body as HttpBody, Bytes};
use axum::http::HeaderValue;
use serde_json::{Value, json};

use super::{ask, ask_of, config, get, post, request, router_with};

#[tokio::test(start_paused = true)]
async fn a_body_must_arrive_in_time_unless_any_time_is_allowed() {
    let endless = || {
        let pieces = futures_util::stream::pending::<Result<Bytes, Infallible>>();
        request("POST", "/things/a/orders")
            .header("content-type", "application/json")
            .body(HttpBody::from_stream(pieces))
            .expect("it is a request")
    };
    let answer = ask_of(&mut router_with(Config::new()), endless()).await;
    assert_eq!(answer.status, 408);
    let mut patient = router_with(Config::new().without_body_timeout());
    let answer = ask_of(&mut patient, endless());
    let day = Duration::from_secs(24 * 60 * 60);
    assert!(tokio::time::timeout(day, answer).await.is_err());
}

#[tokio::test]
async fn a_body_that_fits_is_read() {
    let response = ask(post(r#"{"name": "a", "ports": [1]}"#)).await;
    assert_eq!(response.status, 201);
    assert_eq!(response.header("x-count"), Some("3"));
    assert_eq!(response.json(), json!({"name": "a", "ports": [1]}));
}

#[tokio::test]
async fn an_absent_body_is_none_and_null_is_no_body() {
    assert_eq!(ask(post("")).await.json(), Value::Null);
    let response = ask(post("null")).await;
    assert_eq!(response.status, 400);
}

#[tokio::test]
async fn all_violations_of_a_body_are_reported_with_their_pointers() {
    let response = ask(post(
        r#"{"name": "too long a name", "ports": [0, 1, 70000], "x~/y": 1}"#,
    ))
    .await;
    assert_eq!(response.status, 400);
    let pointers: Vec<String> = response
        .violations()
        .iter()
        .map(|violation| violation.split(':').next().unwrap().to_owned())
        .collect();
    for pointer in ["body /name", "body /ports/0", "body /ports/2"] {
        assert!(
            pointers.iter().any(|found| found == pointer),
            "{pointer} in {pointers:?}"
        );
    }
    assert!(
        !String::from_utf8(response.body)
            .unwrap()
            .contains("too long a name")
    );
}

#[tokio::test]
async fn keys_that_are_given_twice_are_reported() {
    let response = ask(post(r#"{"name": "a", "name": "b"}"#)).await;
    assert_eq!(response.violations(), ["body /name: must be given once"]);
    let response = ask(post(r#"{"name""#)).await;
    assert_eq!(response.status, 400);
    assert!(
        response.violations()[0].starts_with("body : is not JSON"),
        "{:?}",
        response.violations()
    );
}

#[tokio::test]
async fn content_type_and_size_are_checked() {
    let mut asked = post("{}");
    asked
        .headers_mut()
        .insert("content-type", HeaderValue::from_static("text/plain"));
    assert_eq!(ask(asked).await.status, 415);
    let mut asked = post("{}");
    asked.headers_mut().remove("content-type");
    assert_eq!(ask(asked).await.status, 415);
    assert_eq!(ask(post(&" ".repeat(65))).await.status, 413);
    let pieces = (0..9).map(|_| Ok::<_, Infallible>("0123456789"));
    let streamed = HttpBody::from_stream(futures_util::stream::iter(pieces));
    let asked = request("POST", "/things/a/orders")
        .header("content-type", "application/json; charset=utf-8");
    assert_eq!(ask(asked.body(streamed).unwrap()).await.status, 413);
}

#[tokio::test]
async fn bytes_stream_within_the_limit() {
    let piece = |count: usize| {
        let pieces = (0..count).map(|_| Ok::<_, Infallible>("0123456789"));
        let body = HttpBody::from_stream(futures_util::stream::iter(pieces));
        request("PUT", "/files/a.bin").body(body).unwrap()
    };
    let response = ask(piece(6)).await;
    assert_eq!(
        (response.status.as_u16(), response.body.as_slice()),
        (200, &b"a 60"[..])
    );
    assert_eq!(ask(piece(7)).await.status, 413);
}

#[tokio::test]
async fn a_body_in_chunks_may_be_empty() {
    let pieces = |pieces: &'static [&'static str]| {
        let pieces = pieces
            .iter()
            .map(|piece| Ok::<_, Infallible>(piece.as_bytes()));
        let body = HttpBody::from_stream(futures_util::stream::iter(pieces));
        request("POST", "/things/a/orders").body(body).unwrap()
    };
    assert_eq!(ask(pieces(&["", ""])).await.json(), json!(null));
    assert_eq!(ask(pieces(&["", "{}"])).await.status, 415);
}

#[tokio::test]
async fn names_nest_as_deep_as_json_may() {
    let nested = |depth: usize| format!("/things/a?filter[x]{}=1", "[x]".repeat(depth - 1));
    assert_eq!(ask(get(&nested(128))).await.status, 200);
    for depth in [129, 15_000] {
        let response = ask(get(&nested(depth))).await;
        assert_eq!(
            response.violations(),
            ["query filter: must not nest deeper than 128 brackets"]
        );
    }
}

/// Sends a body that must be rejected, and returns the reported violations and the length of the
/// response.
async fn violations_of(body: &str) -> (Vec<String>, usize) {
    let response = ask_of(&mut router_with(config().body_limit(1 << 20)), post(body)).await;
    assert_eq!(response.status, 400);
    (response.violations(), response.body.len())
}

#[tokio::test]
async fn a_bad_body_is_told_of_in_a_bounded_way() {
    let wrong = |count: usize| vec!["0"; count].join(",");
    let (all, _) = violations_of(&format!(r#"{{"name": "a", "ports": [{}]}}"#, wrong(100))).await;
    assert_eq!(all.len(), 100);
    let last = "body : may break more rules than these";
    for (body, count) in [
        (
            format!(r#"{{"name": "a", "ports": [{}]}}"#, wrong(101)),
            100,
        ),
        (
            format!(r#"{{"name": "a", "ports": [{}]}}"#, wrong(500_000)),
            1,
        ),
        (
            format!(r#"{{"{}": [{}]}}"#, "k".repeat(500_000), wrong(250_000)),
            1,
        ),
        (
            format!(
                r#"{{"name": "a", {}}}"#,
                vec![r#""a": 1"#; 100_000].join(",")
            ),
            100,
        ),
    ] {
        let (some, length) = violations_of(&body).await;
        assert_eq!(
            (some.len(), some.last().map(String::as_str)),
            (count + 1, Some(last))
        );
        assert!(length < 64 << 10, "{length} bytes");
    }
}
