//! Traces: what a collector gets of requests, and that nobody waits for it.

use std::net::{SocketAddr, TcpListener};
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use axum::body::Bytes;
use axum::http::HeaderMap;
use axum::routing::post;
use opentelemetry_proto::tonic::collector::trace::v1::ExportTraceServiceRequest;
use opentelemetry_proto::tonic::common::v1::any_value::Value;
use opentelemetry_proto::tonic::common::v1::{AnyValue, KeyValue};
use opentelemetry_proto::tonic::trace::v1::Span;
use opentelemetry_proto::tonic::trace::v1::span::SpanKind;
use prost::Message as _;
use reqwest::{RequestBuilder, Response};

use crate::support::inventory::{SHOP, two_projects};
use crate::support::process::Service;
use crate::support::{Home, eventually};

const TRACE: &str = "4bf92f3577b34da6a3ce929d0e0e4736";
const PARENT: &str = "00f067aa0ba902b7";
/// How long any response may take, and the end of the process, while the collector is dead.
const QUICK: Duration = Duration::from_secs(5);

#[tokio::test(flavor = "multi_thread")]
async fn a_request_is_a_span_in_the_trace_of_its_caller() {
    let collector = Collector::start().await;
    let home = home();
    let token = home.token("shop", &[]);
    // The directives of the log do not switch traces off.
    let flags = ["--log", "off,stratusd::access=info", "--log-format", "json"];
    let headers = [
        "--otlp-headers",
        "authorization=Basic c2VjcmV0,x-scope=shop",
    ];
    // OpenTelemetry's variable adds headers, and replaces none of the settings.
    let variable = ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=other,x-more=1");
    let service = collector.serve_with(&home, variable, &[&flags[..], &headers].concat());
    let response = get(&service, &token, "/vm")
        .header("traceparent", format!("00-{TRACE}-{PARENT}-01"))
        .header("tracestate", "vendor=1")
        .header("x-request-id", "the-request")
        .send()
        .await
        .expect("the service responds");
    assert_eq!(response.status(), 200);
    for header in ["traceparent", "tracestate"] {
        assert!(!response.headers().contains_key(header), "{header}");
    }
    let span = collector.span(|span| span.name.ends_with("/vm")).await;
    assert_eq!(hexadecimal(&span.trace_id), TRACE);
    assert_eq!(hexadecimal(&span.parent_span_id), PARENT);
    assert_eq!(span.trace_state, "vendor=1");
    assert_eq!(span.kind, SpanKind::Server as i32);
    let route = "/project/{project_id}/location/{location}/vm";
    assert_eq!(span.name, format!("GET {route}"));
    for (name, value) in [
        ("operation.id", "vm_list"),
        ("http.request.method", "GET"),
        ("http.route", route),
        ("request.id", "the-request"),
    ] {
        assert_eq!(text(&span, name), value, "{name}");
    }
    assert_eq!(
        text(&span, "url.path"),
        format!("/project/{SHOP}/location/eu-central-h1/vm")
    );
    assert_eq!(
        attribute(&span, "http.response.status_code"),
        Some(&Value::IntValue(200))
    );
    let (bodies, received) = collector.received();
    assert!(received.iter().all(|headers| {
        headers["authorization"] == "Basic c2VjcmV0" && headers["x-scope"] == "shop"
    }));
    let secret = token.rsplit('-').next().expect("a token has a secret");
    assert!(
        bodies.iter().all(|body| !body
            .windows(secret.len())
            .any(|part| part == secret.as_bytes())),
        "a span shows the token"
    );
    service.terminate();
    let (ended, log) = service.wait();
    assert!(ended, "{log}");
    let line = log.lines().find(|line| line.contains("the-request"));
    assert!(line.is_some_and(|line| line.contains(TRACE)), "{log}");
    assert!(!log.contains("/location/eu-central-h1"), "{log}");
}

#[tokio::test(flavor = "multi_thread")]
async fn without_a_caller_s_trace_a_request_begins_one_and_what_is_not_sampled_is_not_exported() {
    let collector = Collector::start().await;
    let home = home();
    let token = home.token("shop", &[]);
    let service = collector.serve(&home, &[]);
    for parent in [
        format!("00-{TRACE}-{PARENT}-00"),
        "garbage".to_owned(),
        format!("00-{}-{PARENT}-01", "0".repeat(32)),
    ] {
        let request = get(&service, &token, "/vm").header("traceparent", parent);
        assert_eq!(status(request).await, 200);
    }
    // Refusals are spans too, and without a token.
    let url = format!("{}/project/{SHOP}/location/nowhere/vm", service.base);
    assert_eq!(status(client().get(url)).await, 401);
    service.terminate();
    // The last spans are exported before the process ends.
    let (ended, log) = service.wait();
    assert!(ended, "{log}");
    let spans = collector.spans();
    assert_eq!(spans.len(), 3, "{spans:?}");
    for span in &spans {
        assert_ne!(hexadecimal(&span.trace_id), TRACE);
        assert!(span.parent_span_id.is_empty());
    }
    let refused = spans
        .iter()
        .filter(|span| attribute(span, "http.response.status_code") == Some(&Value::IntValue(401)));
    assert_eq!(refused.count(), 1, "{spans:?}");
}

#[tokio::test(flavor = "multi_thread")]
async fn the_share_of_traces_can_be_none_but_callers_decide_for_theirs() {
    let collector = Collector::start().await;
    let home = home();
    let token = home.token("shop", &[]);
    let service = collector.serve(&home, &["--otlp-sample", "0"]);
    for _ in 0..20 {
        assert_eq!(status(get(&service, &token, "/vm")).await, 200);
    }
    let parent = format!("00-{TRACE}-{PARENT}-01");
    let request = get(&service, &token, "/vm").header("traceparent", parent);
    assert_eq!(status(request).await, 200);
    service.terminate();
    assert!(service.wait().0);
    let spans = collector.spans();
    assert_eq!(spans.len(), 1, "{spans:?}");
    assert_eq!(hexadecimal(&spans[0].trace_id), TRACE);
}

#[tokio::test(flavor = "multi_thread")]
async fn without_the_setting_nothing_is_exported() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let home = home();
    let token = home.token("shop", &[]);
    let starter = |command: &Command| {
        let mut starter = Command::new(command.get_program());
        starter
            .args(command.get_args())
            .env("OTEL_EXPORTER_OTLP_ENDPOINT", &url)
            .env("OTEL_TRACES_EXPORTER", "otlp");
        Some(starter)
    };
    let service = home.serve_by(starter, &[]);
    let parent = format!("00-{TRACE}-{PARENT}-01");
    let request = get(&service, &token, "/vm").header("traceparent", parent);
    assert_eq!(status(request).await, 200);
    service.terminate();
    let (ended, log) = service.wait();
    assert!(ended && !log.contains(TRACE), "{log}");
    listener
        .set_nonblocking(true)
        .expect("a listener can be nonblocking");
    assert!(listener.accept().is_err(), "the service has connected");
}

/// A collector that accepts connections and never responds is worse than one that is not there.
#[tokio::test(flavor = "multi_thread")]
async fn nobody_waits_for_a_collector_that_never_responds() {
    let listener = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let url = format!("http://{}", listener.local_addr().expect("it is bound"));
    let home = home();
    let token = home.token("shop", &[]);
    let service = home.serve(&["--otlp-endpoint", &url, "--log", "warn"]);
    let mut callers = tokio::task::JoinSet::new();
    for _ in 0..8 {
        // More than the queue has room for.
        let (client, url, token) = (client(), url_of(&service, "/vm?page_size=1"), token.clone());
        callers.spawn(async move {
            let mut slowest = Duration::ZERO;
            for _ in 0..400 {
                let since = Instant::now();
                assert_eq!(status(client.get(&url).bearer_auth(&token)).await, 200);
                slowest = slowest.max(since.elapsed());
            }
            slowest
        });
    }
    for slowest in callers.join_all().await {
        assert!(slowest < QUICK, "a request took {slowest:?}");
    }
    assert!(service.metric("stratus_spans_dropped_total").await > 0);
    assert_eq!(service.metric("stratus_spans_exported_total").await, 0);
    service.terminate();
    let since = Instant::now();
    let (ended, log) = service.wait();
    assert!(ended, "{log}");
    assert!(since.elapsed() < QUICK, "it took {:?}", since.elapsed());
}

#[tokio::test(flavor = "multi_thread")]
async fn a_collector_that_is_not_there_is_logged_once_and_used_once_it_is() {
    let port = TcpListener::bind("127.0.0.1:0").expect("a port is free");
    let address = port.local_addr().expect("it is bound");
    drop(port);
    let home = home();
    let token = home.token("shop", &[]);
    let service = home.serve(&["--otlp-endpoint", &format!("http://{address}/")]);
    for expected in [1, 2] {
        assert_eq!(status(get(&service, &token, "/vm")).await, 200);
        let dropped = async || {
            let dropped = service.metric("stratus_spans_dropped_total").await;
            (dropped >= expected).then_some(())
        };
        eventually(dropped).await.expect("the span is dropped");
    }
    let collector = Collector::at(address).await;
    assert_eq!(status(get(&service, &token, "/vm")).await, 200);
    collector.span(|span| span.name.ends_with("/vm")).await;
    assert!(service.metric("stratus_spans_exported_total").await > 0);
    service.terminate();
    let (ended, log) = service.wait();
    assert!(ended, "{log}");
    assert_eq!(log.matches("spans cannot be exported").count(), 1, "{log}");
    assert_eq!(log.matches("spans are exported again").count(), 1, "{log}");
}

#[test]
fn a_collector_that_cannot_be_meant_is_refused_and_no_secret_is_shown() {
    let home = Home::sqlite();
    for (flags, expected) in [
        (&["--otlp-endpoint", "localhost:4318"][..], "HTTP URL"),
        (
            &["--otlp-endpoint", "http://me:hidden@localhost"],
            "HTTP URL",
        ),
        (&["--otlp-headers", "a=hidden"], "otlp_endpoint"),
        (
            &[
                "--otlp-endpoint",
                "http://localhost",
                "--otlp-headers",
                "a=b,hidden",
            ],
            "header 2",
        ),
    ] {
        let error = home.fail(&[&["serve"], flags].concat());
        assert!(error.contains(expected), "{error}");
    }
    let shown = home.succeed(&[
        "config",
        "--otlp-endpoint",
        "http://localhost:4318",
        "--otlp-headers",
        "a=hidden",
    ]);
    assert!(!shown.contains("hidden"), "{shown}");
}

fn home() -> Home {
    let home = Home::sqlite();
    home.apply(&two_projects());
    home
}

fn client() -> reqwest::Client {
    // reqwest is built without a TLS provider and uses the installed one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    reqwest::Client::new()
}

fn url_of(service: &Service, path: &str) -> String {
    let base = &service.base;
    format!("{base}/project/{SHOP}/location/eu-central-h1{path}")
}

fn get(service: &Service, token: &str, path: &str) -> RequestBuilder {
    client().get(url_of(service, path)).bearer_auth(token)
}

async fn status(request: RequestBuilder) -> u16 {
    let response: Response = request.send().await.expect("the service responds");
    response.status().as_u16()
}

fn attribute<'s>(span: &'s Span, name: &str) -> Option<&'s Value> {
    let named = |pair: &&KeyValue| pair.key == name;
    let found = span.attributes.iter().find(named)?;
    found
        .value
        .as_ref()
        .and_then(|AnyValue { value, .. }| value.as_ref())
}

fn text<'s>(span: &'s Span, name: &str) -> &'s str {
    match attribute(span, name) {
        Some(Value::StringValue(text)) => text,
        other => panic!("{name} is {other:?}"),
    }
}

fn hexadecimal(id: &[u8]) -> String {
    id.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// A collector that keeps the bodies and headers of what is exported to it.
struct Collector {
    address: SocketAddr,
    received: Arc<Mutex<Vec<(Bytes, HeaderMap)>>>,
}

impl Collector {
    async fn start() -> Self {
        Self::at(SocketAddr::from(([127, 0, 0, 1], 0))).await
    }

    async fn at(address: SocketAddr) -> Self {
        let listener = tokio::net::TcpListener::bind(address).await;
        let listener = listener.expect("the port is free");
        let address = listener.local_addr().expect("it is bound");
        let received = Arc::new(Mutex::new(Vec::new()));
        let kept = Arc::clone(&received);
        let router = axum::Router::new().route(
            "/v1/traces",
            post(async move |headers: HeaderMap, body: Bytes| {
                kept.lock().expect("nothing panics").push((body, headers));
            }),
        );
        tokio::spawn(async move { axum::serve(listener, router).await });
        Self { address, received }
    }

    fn serve(&self, home: &Home, flags: &[&str]) -> Service {
        let url = format!("http://{}", self.address);
        home.serve(&[&["--otlp-endpoint", &url][..], flags].concat())
    }

    /// Starts the service with a variable in its environment.
    fn serve_with(&self, home: &Home, variable: (&str, &str), flags: &[&str]) -> Service {
        let url = format!("http://{}", self.address);
        let starter = |command: &Command| {
            let mut starter = Command::new(command.get_program());
            starter.args(command.get_args()).env(variable.0, variable.1);
            Some(starter)
        };
        home.serve_by(starter, &[&["--otlp-endpoint", &url][..], flags].concat())
    }

    fn received(&self) -> (Vec<Bytes>, Vec<HeaderMap>) {
        let received = self.received.lock().expect("nothing panics");
        received.iter().cloned().unzip()
    }

    /// Returns the spans that have arrived.
    fn spans(&self) -> Vec<Span> {
        let mut spans = Vec::new();
        for body in self.received().0 {
            let request = ExportTraceServiceRequest::decode(body).expect("it is OTLP");
            for resource in request.resource_spans {
                for scope in resource.scope_spans {
                    spans.extend(scope.spans);
                }
            }
        }
        spans
    }

    /// Waits for a span.
    async fn span(&self, is_right: impl Fn(&Span) -> bool) -> Span {
        let arrived = async || self.spans().into_iter().find(|span| is_right(span));
        eventually(arrived).await.expect("the span arrives")
    }
}
