//! Tests of what a server does beside its operations: pages of other origins, the served contract,
//! request ids and rate limits.
#![cfg(feature = "server")]

#[path = "server_switches/routers.rs"]
mod routers;

use std::convert::Infallible;
use std::io::Read as _;
use std::sync::Arc;
use std::time::Duration;

use api_runtime::server::{
    self, App, AuthError, Blueprint, Call, Config, ContractTexts, ListedResponse, Media, Method,
    Operation, Origins, Parameter, Problem, RateLimit, RatePolicy, Rejection, RejectionKind,
    RequestHead, RequestId, Route, RouteFuture, RouteResult, Scheme, SecurityRequirements,
};
use axum::body::Body as HttpBody;
use axum::http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::BodyExt;
use tower_service::Service;

const SECURITY: SecurityRequirements = SecurityRequirements {
    alternatives: &[&[Scheme::new("bearer", &[])]],
    challenge: "Bearer",
};
const TEXT: &[Media] = &[Media::new("text/plain")];
const COUNT: &[Parameter] = &[Parameter::header("X-Count")];
const RESPONSES: &[ListedResponse] = &[counted()];

const fn counted() -> ListedResponse {
    let mut response = ListedResponse::code(200).media(TEXT);
    response.headers = COUNT;
    response
}

const fn operation(id: &'static str, method: Method) -> Operation {
    Operation {
        id,
        method,
        path: "/things",
        tag: None,
        parameters: &[],
        body: None,
        responses: RESPONSES,
        errors: &[],
        rejections: &[],
        deprecation: None,
        sunset: None,
        security: SECURITY,
    }
}

static LIST: Operation = operation("list", Method::GET);
static REMOVE: Operation = operation("remove", Method::DELETE);
static DESCRIBE: Operation = operation("describe", Method::OPTIONS);

type Shared = Arc<App<(), ()>>;

/// Responds with the id of the request, as a handler sees it.
async fn respond(_: Shared, call: Call) -> RouteResult {
    match call.bearer() {
        Ok(bearer) if bearer.token.expose() == "busy" => {
            return Err(call.unauthorized(AuthError::TooManyRequests(RateLimit {
                wait: Duration::from_millis(1_200),
                policy: Some(RatePolicy {
                    quota: 100,
                    window: Duration::from_millis(9_500),
                }),
            })));
        }
        Ok(bearer) if bearer.token.expose() == "secretive" => {
            return Err(call.unauthorized(AuthError::TooManyRequests(RateLimit {
                wait: Duration::from_secs(7),
                policy: None,
            })));
        }
        Ok(_) => {}
        Err(error) => return Err(call.unauthorized(error)),
    }
    let id = RequestId::current().map_or_else(|| "none".to_owned(), |id| id.to_string());
    let spawned = tokio::spawn(async { RequestId::current() }).await;
    assert_eq!(spawned.expect("the task ends"), None);
    call.respond(ListedResponse::code(200).media(TEXT).text(&id))
}

const JSON: &str = r#"{"openapi":"3.1.0","info":{"title":"Things","description":"Things, things, things, things and things."}}"#;

fn router(config: Config) -> axum::Router {
    router_by(|app, call| Box::pin(respond(app, call)), config)
}

/// Returns a router whose operations all run a function.
fn router_by(serve: fn(Shared, Call) -> RouteFuture, config: Config) -> axum::Router {
    let route = |operation| Route::new(operation, serve);
    server::router(Blueprint {
        app: App {
            api: (),
            security: (),
        },
        routes: vec![route(&LIST), route(&REMOVE), route(&DESCRIBE)],
        guard: None,
        render: Problem,
        contract: ContractTexts {
            json: JSON,
            yaml: "openapi: 3.1.0\n",
        },
        config,
    })
}

struct Received {
    status: StatusCode,
    headers: HeaderMap,
    body: Vec<u8>,
}

impl Received {
    fn header(&self, name: &str) -> &str {
        self.headers
            .get(name)
            .map_or("", |value| value.to_str().expect("headers are ASCII"))
    }
}

async fn send(config: Config, method: &str, path: &str, headers: &[(&str, &str)]) -> Received {
    let mut request = Request::builder().method(method).uri(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request
        .body(HttpBody::empty())
        .expect("the request is valid");
    let response: Result<Response<HttpBody>, Infallible> =
        Service::call(&mut router(config), request).await;
    let Ok(response) = response;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("the body is whole").to_bytes();
    Received {
        status: parts.status,
        headers: parts.headers,
        body: body.to_vec(),
    }
}

fn console() -> Config {
    let origins = Origins::listed(["https://console.example.com"]).expect("it is an origin");
    Config::new().origins(origins)
}

const TOKEN: (&str, &str) = ("authorization", "Bearer good");
const CONSOLE: (&str, &str) = ("origin", "https://console.example.com");

/// Responds with what it knows of the request beside its arguments.
async fn describe(_: Shared, call: Call) -> RouteResult {
    let head = RequestHead::current().expect("a handler runs");
    let id = head.request_id().expect("each request has an id");
    let header = head.headers().get("x-team").map(|value| value.to_str());
    let text = format!(
        "{} {} {:?} {:?} {id}",
        head.method(),
        head.uri(),
        header.expect("the request has the header"),
        head.extensions().get::<u16>()
    );
    let spawned = tokio::spawn(async { RequestHead::current().is_none() }).await;
    assert!(spawned.expect("the task ends"));
    // The headers and the query may have credentials.
    let printed = format!("{head:?}");
    assert!(!printed.contains("blue") && !printed.contains("a=1"));
    call.respond(ListedResponse::code(200).media(TEXT).text(&text))
}

#[tokio::test]
async fn a_handler_reads_the_head_of_its_request_if_it_asks() {
    assert!(RequestHead::current().is_none());
    let mut router = router_by(|app, call| Box::pin(describe(app, call)), Config::new());
    let request = Request::get("/things?a=1")
        .header("x-team", "blue")
        .header("x-request-id", "r1")
        .extension(7_u16)
        .body(HttpBody::empty())
        .expect("the request is valid");
    let response = Service::call(&mut router, request).await;
    let Ok(response) = response;
    let body = response.into_body().collect().await.expect("it is whole");
    assert_eq!(
        String::from_utf8_lossy(&body.to_bytes()),
        "GET /things?a=1 Ok(\"blue\") Some(7) r1"
    );
}

#[tokio::test]
async fn a_handler_that_is_not_written_yet_ends_with_501() {
    let mut router = router_by(
        |_, _| {
            Box::pin(async {
                tokio::task::yield_now().await;
                server::not_implemented().await
            })
        },
        Config::new(),
    );
    let request = Request::get("/things").body(HttpBody::empty());
    let request = request.expect("the request is valid");
    let response = Service::call(&mut router, request);
    let response = tokio::time::timeout(Duration::from_secs(5), response).await;
    let Ok(response) = response.expect("the request ends");
    assert_eq!(response.status(), StatusCode::NOT_IMPLEMENTED);
    let body = response.into_body().collect().await.expect("it is whole");
    let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    assert!(
        body.contains("does not implement this operation yet"),
        "{body}"
    );
}

#[tokio::test]
#[should_panic(expected = "outside of a request")]
async fn not_implemented_is_for_handlers() {
    server::not_implemented::<()>().await;
}

#[test]
fn a_secret_is_compared_with_a_text() {
    let secret = server::Secret::new("hunter2");
    assert!(secret == "hunter2" && secret == *"hunter2" && secret == secret.clone());
    assert!(secret != "hunter" && secret != "hunter3" && secret != "");
}

#[tokio::test]
async fn without_origins_no_page_may_call() {
    let preflight = [CONSOLE, ("access-control-request-method", "GET")];
    for (method, headers) in [("GET", &[TOKEN, CONSOLE][..]), ("OPTIONS", &preflight[..])] {
        let received = send(Config::new(), method, "/things", headers).await;
        let names: Vec<_> = received.headers.keys().map(ToString::to_string).collect();
        assert!(
            names.iter().all(|name| !name.starts_with("access-control")),
            "{method}: {names:?}"
        );
    }
}

#[tokio::test]
async fn a_page_of_a_listed_origin_may_call() {
    let preflight = [
        CONSOLE,
        ("access-control-request-method", "DELETE"),
        ("access-control-request-headers", "authorization"),
    ];
    let allowed = send(console(), "OPTIONS", "/things", &preflight).await;
    assert_eq!(allowed.status, 200);
    assert_eq!(allowed.header("access-control-allow-origin"), CONSOLE.1);
    assert_eq!(
        allowed.header("access-control-allow-headers"),
        "authorization"
    );
    assert_eq!(
        allowed.header("access-control-allow-methods"),
        "GET,DELETE,OPTIONS"
    );
    assert_eq!(allowed.header("access-control-max-age"), "7200");
    assert_eq!(allowed.header("access-control-allow-credentials"), "");

    let called = send(console(), "GET", "/things", &[TOKEN, CONSOLE]).await;
    assert_eq!(called.status, 200);
    assert_eq!(called.header("access-control-allow-origin"), CONSOLE.1);
    let exposed = called.header("access-control-expose-headers");
    for name in ["x-request-id", "retry-after", "ratelimit", "x-count"] {
        assert!(exposed.split(',').any(|item| item == name), "{exposed}");
    }
    // The page may read errors too.
    let rejected = send(console(), "GET", "/things", &[CONSOLE]).await;
    assert_eq!(rejected.status, 401);
    assert_eq!(rejected.header("access-control-allow-origin"), CONSOLE.1);
}

#[tokio::test]
async fn a_page_of_another_origin_may_not_call() {
    let other = ("origin", "https://console.example.com.evil.example");
    let preflight = [other, ("access-control-request-method", "GET")];
    for (method, headers) in [("GET", &[TOKEN, other][..]), ("OPTIONS", &preflight[..])] {
        let received = send(console(), method, "/things", headers).await;
        assert_eq!(received.header("access-control-allow-origin"), "");
        assert!(received.header("vary").contains("origin"), "{method}");
    }
    let any = Config::new().origins(Origins::any());
    let received = send(any, "GET", "/things", &[TOKEN, other]).await;
    assert_eq!(received.header("access-control-allow-origin"), "*");
}

#[tokio::test]
async fn an_operation_of_the_method_options_is_no_preflight() {
    let called = send(console(), "OPTIONS", "/things", &[TOKEN, CONSOLE]).await;
    assert_eq!(called.status, 200);
    assert!(!called.body.is_empty(), "the handler has responded");
    // The page may read the response, and that a path has no such operation.
    assert_eq!(called.header("access-control-allow-origin"), CONSOLE.1);
    let nowhere = send(console(), "OPTIONS", "/nowhere", &[TOKEN, CONSOLE]).await;
    assert_eq!(nowhere.status, 404);
    assert_eq!(nowhere.header("access-control-allow-origin"), CONSOLE.1);
    let preflight = [CONSOLE, ("access-control-request-method", "OPTIONS")];
    let allowed = send(console(), "OPTIONS", "/things", &preflight).await;
    assert!(allowed.body.is_empty(), "the handler was not asked");
}

/// RFC 9110, section 8.6: a 204 has no length, and that of a 304 would be the length of the 200.
#[cfg(feature = "mock")]
#[tokio::test]
async fn a_head_has_no_length_where_a_get_has_none() {
    use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};

    let nothing = |_, call: Call| -> RouteFuture {
        Box::pin(async move { call.respond(ListedResponse::code(204).empty()) })
    };
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await;
    let listener = listener.expect("a port is free");
    let address = listener.local_addr().expect("it has an address");
    let app = router_by(nothing, Config::new());
    tokio::spawn(async move { axum::serve(listener, app).await });
    let contract = send(Config::new(), "GET", "/openapi.json", &[]).await;
    let current = format!("if-none-match: {}\r\n", contract.header("etag"));
    for (path, headers, status) in [
        ("/things", "", "204 No Content"),
        ("/openapi.json", &*current, "304 Not Modified"),
    ] {
        for method in ["GET", "HEAD"] {
            let mut stream = tokio::net::TcpStream::connect(address).await;
            let stream = stream.as_mut().expect("the server listens");
            let request = format!(
                "{method} {path} HTTP/1.1\r\nhost: localhost\r\nconnection: close\r\n{headers}\r\n"
            );
            let sent = stream.write_all(request.as_bytes()).await;
            sent.expect("the server reads");
            let mut response = String::new();
            let read = stream.read_to_string(&mut response).await;
            read.expect("the server responds");
            assert!(
                response.starts_with(&format!("HTTP/1.1 {status}")),
                "{response}"
            );
            let head = response.to_ascii_lowercase();
            assert!(!head.contains("content-length"), "{method}: {response}");
            assert!(!head.contains("transfer-encoding"), "{method}: {response}");
            assert!(response.ends_with("\r\n\r\n"), "{method}: {response}");
        }
    }
}

#[tokio::test]
async fn the_contract_is_compressed_for_those_who_accept_it() {
    for accepted in ["gzip", "br;q=1.0, GZIP;q=0.5", "*", "identity;q=0, gzip"] {
        let received = send(
            Config::new(),
            "GET",
            "/openapi.json",
            &[("accept-encoding", accepted)],
        )
        .await;
        assert_eq!(received.header("content-encoding"), "gzip", "{accepted}");
        assert_eq!(received.header("content-type"), "application/json");
        assert_eq!(received.header("vary"), "accept-encoding");
        let mut text = String::new();
        flate2::read::GzDecoder::new(&received.body[..])
            .read_to_string(&mut text)
            .expect("it is gzip");
        assert_eq!(text, JSON);
    }
    for refused in ["identity", "gzip;q=0", "gzip;q=0.0, *", "br", ""] {
        let received = send(
            Config::new(),
            "GET",
            "/openapi.json",
            &[("accept-encoding", refused)],
        )
        .await;
        assert_eq!(received.header("content-encoding"), "", "{refused}");
        assert_eq!(received.body, JSON.as_bytes());
    }
}

#[tokio::test]
async fn a_contract_that_the_caller_has_is_not_sent_again() {
    let plain = send(Config::new(), "GET", "/openapi.json", &[]).await;
    let gzip = send(
        Config::new(),
        "GET",
        "/openapi.json",
        &[("accept-encoding", "gzip")],
    )
    .await;
    let yaml = send(Config::new(), "GET", "/openapi.yaml", &[]).await;
    let tags = [&plain, &gzip, &yaml].map(|received| received.header("etag").to_owned());
    assert!(
        tags.iter()
            .all(|tag| tag.starts_with('"') && tag.ends_with('"')),
        "{tags:?}"
    );
    assert!(tags[0] != tags[1] && tags[0] != tags[2], "{tags:?}");

    for known in [
        tags[0].clone(),
        format!("\"x\", W/{}", tags[0]),
        "*".to_owned(),
    ] {
        let received = send(
            Config::new(),
            "GET",
            "/openapi.json",
            &[("if-none-match", &known)],
        )
        .await;
        assert_eq!(received.status, 304, "{known}");
        assert!(received.body.is_empty());
        assert_eq!(received.header("etag"), tags[0]);
    }
    let outdated = send(
        Config::new(),
        "GET",
        "/openapi.json",
        &[("if-none-match", &tags[1])],
    )
    .await;
    assert_eq!(
        (outdated.status, outdated.body.len()),
        (StatusCode::OK, JSON.len())
    );
    // A HEAD has the headers of the GET.
    let head = send(Config::new(), "HEAD", "/openapi.json", &[]).await;
    assert_eq!(head.header("etag"), tags[0]);
    assert_eq!(head.header("content-length"), JSON.len().to_string());
    assert!(head.body.is_empty());
}

#[tokio::test]
async fn a_handler_sees_the_request_id() {
    let sent = send(
        Config::new(),
        "GET",
        "/things",
        &[TOKEN, ("x-request-id", "mine-7")],
    )
    .await;
    assert_eq!(
        (sent.header("x-request-id"), &sent.body[..]),
        ("mine-7", &b"mine-7"[..])
    );
    let made = send(Config::new(), "GET", "/things", &[TOKEN]).await;
    assert_eq!(made.body, made.header("x-request-id").as_bytes());
    assert_eq!(RequestId::current(), None);
}

#[tokio::test]
async fn a_429_describes_the_limit() {
    let busy = ("authorization", "Bearer busy");
    let received = send(Config::new(), "GET", "/things", &[busy]).await;
    assert_eq!(received.status, 429);
    assert_eq!(received.header("retry-after"), "2");
    // Structured fields of draft-ietf-httpapi-ratelimit-headers: times are whole seconds.
    assert_eq!(
        received.header("ratelimit-policy"),
        "\"default\";q=100;w=10"
    );
    assert_eq!(received.header("ratelimit"), "\"default\";r=0;t=2");

    let secretive = ("authorization", "Bearer secretive");
    let received = send(Config::new(), "GET", "/things", &[secretive]).await;
    assert_eq!(
        (received.status.as_u16(), received.header("retry-after")),
        (429, "7")
    );
    assert!(!received.headers.contains_key("ratelimit"));
}

#[tokio::test]
async fn a_head_over_the_limit_is_rejected_in_the_form_of_other_rejections() {
    let large = ("x-large", &*"a".repeat(1_000));
    for (limit, status) in [(2_000, 200), (500, 431)] {
        let config = console().head_limit(limit);
        let received = send(config, "GET", "/things", &[TOKEN, CONSOLE, large]).await;
        assert_eq!(received.status, status);
        assert_eq!(received.header("access-control-allow-origin"), CONSOLE.1);
        assert!(received.headers.contains_key("x-request-id"));
        if status == 431 {
            assert_eq!(received.header("content-type"), "application/problem+json");
            let body = String::from_utf8_lossy(&received.body);
            assert!(body.contains("send at most 500 bytes"), "{body}");
        }
    }
}

#[tokio::test]
async fn what_runs_around_the_operations_can_reject_them() {
    let config = || {
        console().around(|request, next| {
            Box::pin(async move {
                assert!(RequestId::current().is_some());
                if request.headers().contains_key("x-full") {
                    let full = Rejection::new(RejectionKind::Unavailable, "there is no room");
                    return Err(Box::new(full.retry_after(Duration::from_secs(3))));
                }
                let mut response = next.run(request).await;
                let status = response.status().as_u16();
                response.headers_mut().insert("x-around", status.into());
                Ok(response)
            })
        })
    };
    for (headers, status) in [(&[TOKEN, CONSOLE][..], 200), (&[CONSOLE][..], 401)] {
        let received = send(config(), "GET", "/things", headers).await;
        assert_eq!(received.status, status);
        assert_eq!(received.header("x-around"), status.to_string());
    }
    let full = [TOKEN, CONSOLE, ("x-full", "1"), ("x-request-id", "mine")];
    let received = send(config(), "GET", "/things", &full).await;
    assert_eq!(
        (received.status.as_u16(), received.header("retry-after")),
        (503, "3")
    );
    assert_eq!(received.header("x-request-id"), "mine");
    assert_eq!(received.header("access-control-allow-origin"), CONSOLE.1);
    // A preflight is about no operation, and has an id all the same.
    let preflight = [CONSOLE, ("access-control-request-method", "GET")];
    let received = send(config(), "OPTIONS", "/things", &preflight).await;
    assert_eq!(received.header("x-around"), "");
    assert!(received.headers.contains_key("x-request-id"));
}
