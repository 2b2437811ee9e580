//! The client's run time over a real socket: a server that responds from a script, and what a
//! caller sees of it.
#![cfg(feature = "client")]

#[path = "client_calls/repeats.rs"]
mod repeats;
#[path = "client_calls/script.rs"]
mod script;
#[path = "client_calls/secrets.rs"]
mod secrets;

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use api_runtime::Wire;
use api_runtime::client::{
    self as runtime, Error, LenientExt as _, ResponseValue, Retries, Scheme, Security, Transport,
};
use runtime::Stream as _;
use runtime::reqwest::{Method, StatusCode};
use script::{Server, Step};
use serde::{Deserialize, Deserializer, Serialize, Serializer};

const OPEN: Security = &[];
const ID: &str = "thing_view";
const PATH: &str = "/thing";

/// Whether it was read leniently.
#[derive(Debug, PartialEq)]
struct Lenient(bool);

impl<'de> Deserialize<'de> for Lenient {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        serde::de::IgnoredAny::deserialize(deserializer)?;
        Ok(Self(api_runtime::is_lenient()))
    }
}

#[derive(Debug, Deserialize, PartialEq)]
struct Thing {
    id: u8,
}

#[derive(Debug, Deserialize, PartialEq)]
struct Problem {
    code: u16,
}

macro_rules! wire {
    ($($ty:ty)*) => {
        $(
            impl Serialize for $ty {
                fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
                    serializer.serialize_unit()
                }
            }

            impl Wire for $ty {}
        )*
    };
}

wire!(Lenient Thing Problem);

/// A call as the generated builders make it.
async fn call<T: Wire>(
    transport: &Transport,
    method: Method,
    security: Security,
) -> Result<ResponseValue<T>, Error<Problem>> {
    let url = format!("{}/thing", transport.base_url());
    let request = transport.http().request(method, url);
    let response = transport.call(ID, PATH).send(request, security).await?;
    match response.status().as_u16() {
        200 => runtime::decode(response).await,
        404 => Err(Error::listed(runtime::decode(response).await?)),
        _ => Err(Error::unlisted(response)),
    }
}

#[tokio::test]
async fn a_response_is_read_leniently_and_keeps_status_and_headers() {
    let server = Server::playing([Step::Respond(200, "x-id: 7\r\n", "{}")]).await;
    let transport = server.config().header("x-team", "blue").build().unwrap();
    let response = call::<Lenient>(&transport, Method::GET, OPEN)
        .await
        .unwrap();
    assert_eq!(*response, Lenient(true));
    assert!(!api_runtime::is_lenient());
    assert_eq!(
        (response.status(), &response.headers()["x-id"]),
        (StatusCode::OK, &"7".parse().unwrap())
    );
    let request = &server.requests()[0];
    assert!(
        request.starts_with("GET /v1/thing HTTP/1.1\r\n"),
        "{request}"
    );
    assert!(
        request.contains("user-agent: test/1\r\n") && request.contains("x-team: blue\r\n"),
        "{request}"
    );
    assert!(!request.contains("api-version"), "{request}");
}

#[tokio::test]
async fn a_listed_error_keeps_status_headers_and_body() {
    let server = Server::playing([Step::Respond(404, "x-id: 7\r\n", r#"{"code": 404}"#)]).await;
    let transport = server.config().build().unwrap();
    let error = call::<Thing>(&transport, Method::GET, OPEN)
        .await
        .unwrap_err();
    assert_eq!(error.status(), Some(StatusCode::NOT_FOUND));
    assert_eq!(error.headers().unwrap()["x-id"], "7");
    assert_eq!(error.body(), Some(&Problem { code: 404 }));
    assert!(!error.is_retryable());
    assert_eq!(
        error.to_string(),
        "the API responded to `thing_view` with 404 Not Found"
    );
    assert_eq!(error.into_body(), Some(Problem { code: 404 }));
}

#[tokio::test]
async fn a_function_runs_around_every_attempt() {
    let server = Server::playing([
        Step::Respond(503, "", ""),
        Step::Respond(200, "", r#"{"id": 1}"#),
    ])
    .await;
    let attempts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&attempts);
    let transport = server
        .config()
        .credential(0, Scheme::Bearer, "token")
        .retries(Retries::new(2).first_pause(Duration::from_millis(1)))
        .around(move |mut request, next| {
            let number = counter.fetch_add(1, Ordering::Relaxed);
            // It sees the request as it is sent, and can sign it.
            assert_eq!(request.headers()["authorization"], "Bearer token");
            request.headers_mut().insert("x-attempt", number.into());
            Box::pin(async move {
                if number == 2 {
                    let response = http::Response::builder().status(404);
                    return Ok(response.body(r#"{"code": 7}"#).unwrap().into());
                }
                next.run(request).await
            })
        })
        .build()
        .unwrap();
    let get = async || call::<Thing>(&transport, Method::GET, &[&[0]]).await;
    assert_eq!(get().await.unwrap().id, 1);
    let sent = server.requests();
    assert!(sent[0].contains("x-attempt: 0\r\n") && sent[1].contains("x-attempt: 1\r\n"));
    // A response of the function is one like any other.
    let error = get().await.unwrap_err();
    assert_eq!(
        (error.operation(), error.body().unwrap().code),
        (Some(ID), 7)
    );
    assert_eq!(attempts.load(Ordering::Relaxed), 3);
}

/// An error of a program that signs requests.
#[derive(Debug)]
struct Unsigned;

impl std::fmt::Display for Unsigned {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("the key hunter2 is locked")
    }
}

impl std::error::Error for Unsigned {}

#[tokio::test]
async fn a_function_around_an_attempt_fails_with_an_error_of_its_own() {
    let server = Server::playing([Step::HangUp, Step::Respond(200, "", r#"{"id": 1}"#)]).await;
    let attempts = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&attempts);
    let transport = server
        .config()
        .retries(Retries::new(2).first_pause(Duration::from_millis(1)))
        .around(move |request, next| {
            let number = counter.fetch_add(1, Ordering::Relaxed);
            Box::pin(async move {
                if number == 2 {
                    return Err(Unsigned.into());
                }
                let response = next.run(request).await?;
                Ok(response)
            })
        })
        .build()
        .unwrap();
    // An error of the connection that the function passes on is one like any other.
    let get = async || call::<Thing>(&transport, Method::GET, OPEN).await;
    assert_eq!(get().await.unwrap().id, 1);
    // One of its own is not: the call is not repeated.
    let error = get().await.unwrap_err();
    assert_eq!(attempts.load(Ordering::Relaxed), 3);
    assert_eq!(
        error.to_string(),
        "the call of `thing_view` failed: the function around its attempts returned an error"
    );
    assert!(!format!("{error:?}").contains("hunter2"));
    assert!(!error.is_retryable() && !error.is_timeout() && error.status().is_none());
    let error = error.into_untyped();
    assert_eq!(error.operation(), Some(ID));
    let Error::Around(own) = error else {
        panic!("{error}");
    };
    assert!(own.error().is::<Unsigned>());
}

#[tokio::test]
async fn an_error_without_its_typed_body_keeps_what_was_received() {
    let server = Server::playing([
        Step::Respond(404, "", r#"{"code": 404, "why": "gone"}"#),
        Step::Respond(404, "", "gone"),
        Step::Respond(200, "", r#"{"id": 1}"#),
    ])
    .await;
    let transport = server.config().build().unwrap();
    for body in [r#"{"code": 404, "why": "gone"}"#, "gone"] {
        let error = call::<Thing>(&transport, Method::GET, OPEN).await;
        let error = error.unwrap_err().into_untyped();
        assert_eq!(error.received().unwrap(), body);
        assert_eq!(error.status(), Some(StatusCode::NOT_FOUND));
        assert!(!format!("{error:?}").contains("gone"));
    }
}

#[tokio::test]
async fn one_call_may_have_other_settings_than_its_client() {
    let server = Server::playing([
        Step::Respond(200, "", r#"{"id": 1}"#),
        Step::Respond(200, "", r#"{"id": 1}"#),
        Step::Sleep,
    ])
    .await;
    let transport = server.config().header("x-team", "blue").build().unwrap();
    let red = transport.with_header("x-team", "red").unwrap();
    for (transport, team) in [(&red, "red"), (&transport, "blue")] {
        call::<Thing>(transport, Method::GET, OPEN).await.unwrap();
        let sent = server.requests();
        let header = format!("x-team: {team}\r\n");
        assert!(sent.last().unwrap().contains(&header));
    }
    assert_eq!(
        red.with_header("x team", "red").unwrap_err().to_string(),
        "`x team` is not a valid header name"
    );
    let hurried = transport.with_timeout(Some(Duration::from_millis(50)));
    let error = call::<Thing>(&hurried, Method::GET, OPEN).await;
    assert!(error.unwrap_err().is_timeout());
}

#[tokio::test]
async fn a_body_that_is_too_large_is_not_read_into_memory() {
    let body = r#"{"id": 1}"#;
    let chunks = "5\r\n{\"id\"\r\n4\r\n: 1}\r\n0\r\n\r\n";
    for (limit, fits) in [(9, true), (8, false), (0, false)] {
        let server = Server::playing([
            Step::Respond(200, "retry-after: 7\r\n", body),
            Step::Chunks(chunks),
        ])
        .await;
        let transport = server.config().response_limit(limit).build().unwrap();
        for _ in 0..2 {
            let result = call::<Thing>(&transport, Method::GET, OPEN).await;
            if fits {
                assert_eq!(result.unwrap().id, 1);
                continue;
            }
            let error = result.unwrap_err();
            assert_eq!(
                error.to_string(),
                format!(
                    "the response (200 OK) of `thing_view` has more than {limit} bytes; set a larger `response_limit` to read it"
                )
            );
            assert_eq!(error.status(), Some(StatusCode::OK));
            assert!(!error.is_timeout() && !error.is_retryable());
        }
    }
}

#[tokio::test]
async fn redirects_are_not_followed() {
    let server = Server::playing([Step::Respond(302, "location: /elsewhere\r\n", "")]).await;
    let transport = server.config().build().unwrap();
    let error = call::<Thing>(&transport, Method::GET, OPEN)
        .await
        .unwrap_err();
    assert_eq!(error.status(), Some(StatusCode::FOUND));
}

#[tokio::test]
async fn every_kind_of_body_is_read() {
    let server = Server::playing([
        Step::Respond(200, "", "7"),
        Step::Respond(200, "", "seven"),
        Step::Respond(200, "", "bytes"),
        Step::Respond(
            200,
            "content-type: Text/Event-Stream; charset=utf-8\r\n",
            "data: {\"id\": 1}\n\n",
        ),
    ])
    .await;
    let transport = server.config().build().unwrap();
    let get = async || {
        let url = format!("{}/thing", transport.base_url());
        let request = transport.http().get(url);
        transport
            .call(ID, PATH)
            .send::<Problem>(request, OPEN)
            .await
            .unwrap()
    };
    assert_eq!(
        *runtime::decode_text::<u8, Problem>(get().await)
            .await
            .unwrap(),
        7
    );
    assert_eq!(
        *runtime::decode_text::<String, Problem>(get().await)
            .await
            .unwrap(),
        "seven"
    );
    assert_eq!(
        runtime::stream(get().await)
            .into_inner()
            .bytes()
            .await
            .unwrap(),
        "bytes"
    );
    let response = get().await;
    assert_eq!(runtime::content_type(&response), "text/event-stream");
    let events: Vec<_> = collect(runtime::events(response).into_inner()).await;
    assert_eq!(
        events[0].as_ref().unwrap().json::<Thing>().unwrap(),
        Thing { id: 1 }
    );
    assert_eq!(events.len(), 1);
}

#[tokio::test]
async fn an_event_that_is_too_large_is_skipped() {
    let huge = "x".repeat(1 << 20);
    let body = format!("data: {huge}\n\nid: 7\ndata: 1\n\ndata: 12345678\n\ndata: 2\n\n").leak();
    let server = Server::playing(vec![Step::Respond(200, "", body); 2]).await;
    let transport = server.config().build().unwrap();
    for (limit, expected) in [
        (None, ["1048576", "1", "12345678", "2"]),
        (Some(14), ["14", "1", "14", "2"]),
    ] {
        let request = transport.http().get(transport.base_url());
        let call = transport.call(ID, PATH);
        let response = call.send::<Problem>(request, OPEN).await.unwrap();
        let mut events = runtime::events(response).into_inner();
        if let Some(limit) = limit {
            events = events.max_item_bytes(limit);
        }
        let seen = collect(events).await.into_iter().map(|event| match event {
            Ok(event) => event.data,
            Err(error @ Error::OversizedEvent { limit, .. }) => {
                assert_eq!(error.operation(), Some(ID));
                limit.to_string()
            }
            Err(error) => error.to_string(),
        });
        assert_eq!(seen.collect::<Vec<_>>(), expected);
    }
}

/// How many [`Counted`] were decoded.
static DECODED: AtomicUsize = AtomicUsize::new(0);

/// A value that counts how often it is decoded.
#[derive(Debug)]
struct Counted;

impl<'de> Deserialize<'de> for Counted {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        DECODED.fetch_add(1, Ordering::Relaxed);
        serde::de::IgnoredAny::deserialize(deserializer)?;
        Ok(Self)
    }
}

#[derive(Debug, Deserialize)]
struct CountedPage {
    #[serde(rename = "total")]
    _total: u64,
    items: Vec<Counted>,
}

wire!(Counted CountedPage);

#[tokio::test]
async fn the_items_of_a_page_that_does_not_fit_are_made_one_by_one() {
    let items: Vec<String> = (0..1000).map(|id| format!("{{\"id\":{id}}}")).collect();
    // Nothing is made of the page as a whole, which ends too early.
    let body = format!("{{\"total\":\"many\",\"items\":[{}]}}", items.join(" , "));
    let server = Server::playing([
        Step::Respond(200, "", body.leak()),
        Step::Respond(200, "", "{\"total\":\"many\",\"items\":[]}"),
    ])
    .await;
    let transport = server.config().build().unwrap();
    let paging = runtime::Paging {
        operation: ID,
        key: "id".to_owned(),
        items: "items",
        count: None,
    };
    let pages = paging.pages(|_| async {
        let page = call::<CountedPage>(&transport, Method::GET, OPEN).await?;
        let items = page.into_inner().items;
        Ok::<_, Error<Problem>>(runtime::Page { items, count: None })
    });
    let mut items = std::pin::pin!(pages.lenient());
    let mut seen = 0;
    while let Some(item) = std::future::poll_fn(|cx| items.as_mut().poll_next(cx)).await {
        let item = item.unwrap();
        assert_eq!(item.raw().unwrap()["id"], seen);
        seen += 1;
        assert_eq!(DECODED.load(Ordering::Relaxed), seen);
    }
    assert_eq!(seen, 1000);
}

#[tokio::test]
async fn a_text_that_fits_has_a_partial_value_too() {
    let server = Server::playing([
        Step::Respond(200, "", "\"seven\""),
        Step::Respond(200, "", "7"),
    ])
    .await;
    let transport = server.config().build().unwrap();
    let get = async || {
        let request = transport.http().get(transport.base_url());
        let call = transport.call(ID, PATH);
        call.send::<Problem>(request, OPEN).await
    };
    let read = async || runtime::decode_text::<String, Problem>(get().await?).await;
    let text = read().lenient().await.unwrap();
    assert_eq!(text.partial().unwrap().value, "\"seven\"");
    let read = async || runtime::decode_text::<u8, Problem>(get().await?).await;
    let number = read().lenient().await.unwrap();
    assert_eq!(number.partial().unwrap().value, 7);
}

async fn collect<S: runtime::Stream>(stream: S) -> Vec<S::Item> {
    let mut stream = std::pin::pin!(stream);
    let mut items = Vec::new();
    while let Some(item) = std::future::poll_fn(|cx| stream.as_mut().poll_next(cx)).await {
        items.push(item);
    }
    items
}
