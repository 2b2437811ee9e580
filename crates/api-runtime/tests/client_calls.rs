//! The client's run time over a real socket: a server that responds from a script, and what a
//! caller sees of it.
#![cfg(feature = "client")]

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Write as _;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use api_runtime::Wire;
use api_runtime::client::{
    self as runtime, Config, Error, LenientExt as _, ResponseValue, Retries, Scheme, Secret,
    SecretSource, Security, Transport,
};
use runtime::Stream as _;
use runtime::reqwest::{Method, StatusCode};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpListener;

const OPEN: Security = &[];
const ID: &str = "thing_view";
const PATH: &str = "/thing";

/// What the server does with one request.
#[derive(Clone)]
enum Step {
    Respond(u16, &'static str, &'static str),
    /// Responds with 200 and these chunks.
    Chunks(&'static str),
    /// Responds with this head and then a byte of the body every 20 milliseconds.
    Drip(&'static str),
    HangUp,
    Sleep,
}

/// A server that plays a script, one step per request, and keeps the requests.
struct Server {
    address: SocketAddr,
    requests: Arc<Mutex<Vec<String>>>,
}

impl Server {
    async fn playing(script: impl IntoIterator<Item = Step>) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let requests = Arc::new(Mutex::new(Vec::new()));
        let seen = Arc::clone(&requests);
        let mut script: VecDeque<Step> = script.into_iter().collect();
        tokio::spawn(async move {
            while let Some(step) = script.pop_front() {
                let (mut socket, _) = listener.accept().await.unwrap();
                let mut request = String::new();
                let mut buffer = [0; 4096];
                while !request.contains("\r\n\r\n") {
                    let read = socket.read(&mut buffer).await.unwrap();
                    request.push_str(&String::from_utf8_lossy(&buffer[..read]));
                }
                seen.lock().unwrap().push(request);
                match step {
                    Step::Respond(status, headers, body) => {
                        let length = body.len();
                        let response = format!(
                            "HTTP/1.1 {status} Any\r\n{headers}content-length: {length}\r\nconnection: close\r\n\r\n{body}"
                        );
                        socket.write_all(response.as_bytes()).await.unwrap();
                    }
                    Step::Chunks(chunks) => {
                        let response = format!(
                            "HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\nconnection: close\r\n\r\n{chunks}"
                        );
                        socket.write_all(response.as_bytes()).await.unwrap();
                    }
                    Step::Drip(head) => {
                        let head = format!("HTTP/1.1 200 OK\r\n{head}connection: close\r\n\r\n");
                        socket.write_all(head.as_bytes()).await.unwrap();
                        // Until the client has gone.
                        while socket.write_all(b" ").await.is_ok() {
                            tokio::time::sleep(Duration::from_millis(20)).await;
                        }
                    }
                    Step::HangUp => drop(socket),
                    Step::Sleep => tokio::time::sleep(Duration::from_secs(60)).await,
                }
            }
        });
        Self { address, requests }
    }

    fn config(&self) -> Config {
        Config::new(&format!("http://{}/v1/", self.address), "test/1", 2)
    }

    fn requests(&self) -> Vec<String> {
        self.requests.lock().unwrap().clone()
    }
}

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
async fn nothing_secret_shows_when_an_error_is_printed() {
    const HEADERS: &str = "set-cookie: session=hunter2\r\n";
    let server = Server::playing([
        Step::Respond(200, HEADERS, r#"{"id": "hunter2"}"#),
        Step::Respond(200, HEADERS, r#"{"password": "hunter2"}"#),
        Step::Respond(502, HEADERS, "hunter2"),
        Step::HangUp,
    ])
    .await;
    let transport = server
        .config()
        .credential(0, Scheme::Query("key"), Secret::from("hunter2"))
        .build()
        .unwrap();
    let security: Security = &[&[0]];
    let messages = [
        "the response (200 OK) of `thing_view` does not fit the contract at line 1 column 16 of its body: must be u8",
        "the response (200 OK) of `thing_view` does not fit the contract at line 1 column 23 of its body: missing field `id`",
        "the API responded to `thing_view` with 502 Bad Gateway, which the contract does not list",
        "the connection to the API failed during `thing_view`",
    ];
    for message in messages {
        let error = call::<Thing>(&transport, Method::GET, security)
            .await
            .unwrap_err();
        assert_eq!(error.to_string(), message);
        let mut printed = format!("{error:?} {error:#?}");
        let mut source = std::error::Error::source(&error);
        while let Some(cause) = source {
            write!(printed, " {cause} {cause:?}").unwrap();
            source = cause.source();
        }
        assert!(!printed.contains("hunter2"), "{printed}");
        if let Error::InvalidResponse(invalid) = &error {
            assert!(String::from_utf8_lossy(invalid.body()).contains("hunter2"));
        }
    }
    assert!(
        server
            .requests()
            .iter()
            .all(|request| request.starts_with("GET /v1/thing?key=hunter2 "))
    );
    assert!(!format!("{transport:?}").contains("hunter2"));
}

#[tokio::test]
async fn keys_of_a_body_are_not_printed() {
    let body = r#"{"hunter2": {"hunter2": "x, expected hunter2 at line 1"}}"#;
    let twice = r#"{"hunter2": {}, "hunter2": {}}"#;
    for (body, pointer, printed) in [
        (body, "/hunter2/hunter2", "/*/*"),
        (twice, "/hunter2", "/*"),
    ] {
        let server = Server::playing([Step::Respond(200, "", body)]).await;
        let transport = server.config().build().unwrap();
        let error = call::<BTreeMap<String, BTreeMap<String, i32>>>(&transport, Method::GET, OPEN)
            .await
            .unwrap_err();
        let Error::InvalidResponse(invalid) = &error else {
            panic!("{error}");
        };
        let misfit = invalid.misfit();
        assert_eq!(misfit.pointer(), pointer);
        for text in [
            format!("{error} {error:?} {error:#?}"),
            format!("{misfit} {misfit:?}"),
        ] {
            assert!(text.contains(printed), "{text}");
            assert!(!text.contains("hunter2"), "{text}");
        }
    }
}

#[tokio::test]
async fn a_credential_goes_where_it_is_asked_for_and_nowhere_else() {
    let server = Server::playing(vec![Step::Respond(200, "", r#"{"id": 1}"#); 4]).await;
    let transport = server
        .config()
        .credential(0, Scheme::Bearer, Secret::from("token"))
        .credential(1, Scheme::Cookie("session"), Secret::from("s"))
        .build()
        .unwrap();
    let alternatives: [&'static [&'static [usize]]; 4] = [&[], &[&[0]], &[&[0, 1]], &[&[], &[1]]];
    for security in alternatives {
        call::<Thing>(&transport, Method::GET, security)
            .await
            .unwrap();
    }
    let sent = |request: &String| {
        (
            request.contains("authorization: Bearer token"),
            request.contains("cookie: session=s"),
        )
    };
    let sent: Vec<_> = server.requests().iter().map(sent).collect();
    assert_eq!(
        sent,
        [(false, false), (true, false), (true, true), (false, true)]
    );

    let unsendable = server
        .config()
        .credential(0, Scheme::Bearer, Secret::from("to\nken"))
        .build()
        .unwrap_err();
    assert_eq!(
        unsendable.to_string(),
        "a credential has a character that headers cannot have"
    );
}

#[tokio::test]
async fn a_secret_is_asked_for_with_each_call_and_within_its_time_out() {
    let server = Server::playing([
        Step::Respond(503, "", ""),
        Step::Respond(200, "", r#"{"id": 1}"#),
        Step::Respond(200, "", r#"{"id": 1}"#),
    ])
    .await;
    let asked = Arc::new(AtomicUsize::new(0));
    let counter = Arc::clone(&asked);
    let source = SecretSource::new(move || {
        let number = counter.fetch_add(1, Ordering::Relaxed);
        async move {
            match number {
                0 | 1 => Ok(format!("hunter{number}")),
                2 => Err("the token server is down"),
                3 => Ok("two\nlines".to_owned()),
                _ => std::future::pending().await,
            }
        }
    });
    let transport = server
        .config()
        .credential(0, Scheme::Bearer, source)
        .retries(Retries::new(1).first_pause(Duration::from_millis(1)))
        .timeout(Some(Duration::from_millis(500)))
        .build()
        .unwrap();
    assert!(!format!("{transport:?}").contains("hunter"));
    let get = async || call::<Thing>(&transport, Method::GET, &[&[0]]).await;
    get().await.unwrap();
    get().await.unwrap();
    let sent = server.requests();
    for (at, token) in [(0, "hunter0"), (1, "hunter0"), (2, "hunter1")] {
        assert!(sent[at].contains(&format!("authorization: Bearer {token}\r\n")));
    }
    let down = get().await.unwrap_err();
    assert_eq!(
        down.to_string(),
        "the request of `thing_view` was not sent: the source of its credential failed"
    );
    assert_eq!(down.operation(), Some(ID));
    let cause = std::error::Error::source(&down).unwrap();
    assert_eq!(cause.to_string(), "the token server is down");
    assert!(!down.is_timeout());
    assert_eq!(
        get().await.unwrap_err().to_string(),
        "the request of `thing_view` was not sent: a credential has a character that headers cannot have"
    );
    let begun = Instant::now();
    assert!(get().await.unwrap_err().is_timeout());
    assert!(begun.elapsed() < Duration::from_secs(5));
    // A call without credentials asks for none.
    let asked = asked.load(Ordering::Relaxed);
    assert_eq!((asked, server.requests().len()), (5, 3));
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
async fn an_idempotency_key_among_the_headers_is_kept() {
    let server = Server::playing(vec![Step::Respond(200, "", r#"{"id": 1}"#); 2]).await;
    let config = server.config().retries(Retries::new(1));
    let transport = config.build().unwrap();
    let keyed = transport.with_header("idempotency-key", "job-7").unwrap();
    for (transport, is_kept) in [(&keyed, true), (&transport, false)] {
        let call = transport.call(ID, PATH);
        let request = transport.http().post(transport.base_url());
        let request = call.idempotent(request, None::<&String>).unwrap();
        call.send::<Problem>(request, OPEN).await.unwrap();
        let sent = server.requests();
        let sent = sent.last().unwrap();
        assert_eq!(sent.matches("idempotency-key: ").count(), 1, "{sent}");
        assert_eq!(
            sent.contains("idempotency-key: job-7\r\n"),
            is_kept,
            "{sent}"
        );
    }
}

#[tokio::test]
async fn a_call_that_takes_too_long_ends() {
    let server = Server::playing([Step::Sleep]).await;
    let transport = server
        .config()
        .timeout(Some(Duration::from_millis(50)))
        .build()
        .unwrap();
    let begun = Instant::now();
    let error = call::<Thing>(&transport, Method::GET, OPEN)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "no response from the API to `thing_view` in time"
    );
    assert!(error.is_timeout() && error.is_retryable() && begun.elapsed() < Duration::from_secs(5));
}

#[tokio::test]
async fn a_body_that_arrives_too_slowly_ends_with_the_time_out_of_the_call() {
    // With a length and without, and with retries, whose attempts share the time-out.
    for (head, retries) in [
        ("content-length: 1000\r\n", None),
        ("", None),
        ("", Some(Retries::new(1))),
    ] {
        let server = Server::playing([Step::Drip(head)]).await;
        let mut config = server.config().timeout(Some(Duration::from_millis(200)));
        if let Some(retries) = retries {
            config = config.retries(retries);
        }
        let begun = Instant::now();
        let error = call::<Thing>(&config.build().unwrap(), Method::GET, OPEN)
            .await
            .unwrap_err();
        assert_eq!(
            error.to_string(),
            "the response (200 OK) of `thing_view` ended early"
        );
        assert!(error.is_timeout() && begun.elapsed() < Duration::from_secs(5));
    }
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
async fn an_error_says_when_to_come_back() {
    let server = Server::playing([
        Step::Respond(404, "retry-after: 7\r\n", r#"{"code": 404}"#),
        Step::Respond(404, "", r#"{"code": 404}"#),
    ])
    .await;
    let transport = server.config().build().unwrap();
    for pause in [Some(Duration::from_secs(7)), None] {
        let error = call::<Thing>(&transport, Method::GET, OPEN)
            .await
            .unwrap_err();
        assert_eq!(error.retry_after(), pause);
    }
}

#[tokio::test]
async fn what_failed_for_a_moment_is_repeated_if_it_is_safe() {
    let moment = [
        Step::Respond(503, "", ""),
        Step::HangUp,
        Step::Respond(200, "", r#"{"id": 1}"#),
    ];
    let retries = Retries::new(2).first_pause(Duration::from_millis(2));

    let server = Server::playing(moment.clone()).await;
    let transport = server.config().retries(retries.clone()).build().unwrap();
    assert_eq!(
        call::<Thing>(&transport, Method::GET, OPEN)
            .await
            .unwrap()
            .id,
        1
    );
    assert_eq!(server.requests().len(), 3);

    let server = Server::playing(moment.clone()).await;
    let transport = server.config().retries(retries).build().unwrap();
    let error = call::<Thing>(&transport, Method::POST, OPEN)
        .await
        .unwrap_err();
    assert_eq!(error.status(), Some(StatusCode::SERVICE_UNAVAILABLE));
    assert_eq!(server.requests().len(), 1);

    let server = Server::playing(moment).await;
    let transport = server.config().build().unwrap();
    call::<Thing>(&transport, Method::GET, OPEN)
        .await
        .unwrap_err();
    assert_eq!(server.requests().len(), 1);
}

#[tokio::test]
async fn any_call_is_repeated_when_no_connection_came_about() {
    let nobody = TcpListener::bind("127.0.0.1:0")
        .await
        .unwrap()
        .local_addr()
        .unwrap();
    let retries = Retries::new(2).first_pause(Duration::from_millis(40));
    let config = Config::new(&format!("http://{nobody}"), "test/1", 0).retries(retries);
    let begun = Instant::now();
    let error = call::<Thing>(&config.build().unwrap(), Method::POST, OPEN)
        .await
        .unwrap_err();
    assert_eq!(
        error.to_string(),
        "cannot connect to the API for `thing_view`"
    );
    assert!(
        begun.elapsed() >= Duration::from_millis(60),
        "20 and 40 milliseconds at least"
    );
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
