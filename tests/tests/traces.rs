//! Traces across programs: the generated client calls the generated server, and their spans are in
//! one trace, also if callers write nonsense into `traceparent`.

use std::convert::Infallible;
use std::sync::{Arc, Mutex};

use api_client::prelude::*;
use api_client::{Span, TraceContext};
use api_server::server::{Config, Router};
use axum::body::Body;
use axum::http::{HeaderMap, HeaderValue, Request, StatusCode};
use opentelemetry::trace::{SpanId, SpanKind, TraceContextExt as _, TracerProvider as _};
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{SdkTracerProvider, SpanData, SpanExporter};
use proptest::prelude::*;
use regex::Regex;
use tests::memory::{ContractErrors, Gate, LOCATION, Memory, PROJECT, State, TOKEN};
use tests::random::Run;
use tests::served;
use tower::Service as _;
use tracing::Instrument as _;
use tracing::subscriber::DefaultGuard;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::layer::SubscriberExt as _;

const TRACE: u128 = 0x4bf9_2f35_77b3_4da6_a3ce_929d_0e0e_4736;
const PARENT: u64 = 0x00f0_67aa_0ba9_02b7;

#[tokio::test]
async fn the_spans_of_client_and_server_are_in_the_trace_of_the_caller() {
    let (spans, _guard) = recorded();
    let config = Config::new().traces(stratusd::traces::join);
    let base = served::memory(State::default(), config).await;
    let client = Client::builder(&base)
        .bearer(TOKEN)
        .traces(context)
        .build()
        .expect("the settings are valid");
    let work = tracing::info_span!("work");
    let page = client.vm_list().project_id(PROJECT).location(LOCATION);
    page.send()
        .instrument(work.clone())
        .await
        .expect("the call succeeds");
    // The error of a call is in its span too.
    let unknown = client.vm_list().project_id(PROJECT).location("nowhere");
    unknown
        .send()
        .instrument(work.clone())
        .await
        .expect_err("there is no such location");
    drop(work);
    let spans = spans.lock().expect("nothing panics");
    let named = |kind: SpanKind| -> Vec<&SpanData> {
        spans.iter().filter(|span| span.span_kind == kind).collect()
    };
    let (calls, requests) = (named(SpanKind::Client), named(SpanKind::Server));
    let [work] = named(SpanKind::Internal)[..] else {
        panic!("there is one span of the caller: {spans:?}");
    };
    assert_eq!((calls.len(), requests.len()), (2, 2));
    for (call, request) in calls.iter().zip(&requests) {
        assert_eq!(call.parent_span_id, work.span_context.span_id());
        assert_eq!(request.parent_span_id, call.span_context.span_id());
        assert!(request.parent_span_is_remote);
        for span in [call, request] {
            assert_eq!(span.span_context.trace_id(), work.span_context.trace_id());
            assert_eq!(
                span.name,
                "GET /project/{project_id}/location/{location}/vm"
            );
            assert_eq!(attribute(span, "operation.id"), "vm_list");
            assert_eq!(attribute(span, "http.request.method"), "GET");
        }
    }
    let statuses = |spans: &[&SpanData]| -> Vec<String> {
        let statuses = spans
            .iter()
            .map(|span| attribute(span, "http.response.status_code"));
        statuses.collect()
    };
    assert_eq!(statuses(&calls), ["200", "404"]);
    assert_eq!(statuses(&requests), ["200", "404"]);
    let shown = format!("{spans:?}");
    assert!(!shown.contains(TOKEN), "{shown}");
}

#[tokio::test]
async fn a_client_adds_headers_only_if_traces_are_on_and_the_call_has_none() {
    let (_, _guard) = recorded();
    let seen = Arc::new(Mutex::new(Vec::new()));
    let kept = Arc::clone(&seen);
    let router = Router::new().fallback(async move |headers: HeaderMap| {
        let header = |name: &str| {
            let value = headers.get(name).map(HeaderValue::to_str);
            value.map(|value| value.expect("it is text").to_owned())
        };
        let headers = (header("traceparent"), header("tracestate"));
        kept.lock().expect("nothing panics").push(headers);
        StatusCode::NOT_FOUND
    });
    let base = served::serve(router).await;
    let own = TraceContext::new(TRACE, PARENT, 1).expect("the ids are not zero");
    let state = own.clone().with_state("vendor=1");
    let builder = || Client::builder(&base).bearer(TOKEN);
    for (builder, expected) in [
        (builder(), (None, None)),
        (builder().traces(|_| None), (None, None)),
        (
            builder().traces(move |_| Some(own.clone())),
            (
                Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
                None,
            ),
        ),
        (
            builder().traces(move |_| Some(state.clone())),
            (
                Some("00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"),
                Some("vendor=1"),
            ),
        ),
        (
            builder().traces(context).header("traceparent", "mine"),
            (Some("mine"), None),
        ),
        (
            builder().traces(context).header("tracestate", "mine=1"),
            (None, Some("mine=1")),
        ),
    ] {
        let client = builder.build().expect("the settings are valid");
        let call = client.vm_list().project_id(PROJECT).location(LOCATION);
        let _ = call.send().await;
        let (parent, state) = seen.lock().expect("nothing panics").pop().expect("a call");
        assert_eq!((parent.as_deref(), state.as_deref()), expected);
    }
}

#[tokio::test]
async fn a_request_is_served_if_the_function_of_traces_panics() {
    let config = Config::new().traces(|_, _, _| panic!("the tracing system is broken"));
    let base = served::memory(State::default(), config).await;
    let client = Client::builder(&base).bearer(TOKEN).build();
    let client = client.expect("the settings are valid");
    let page = client.vm_list().project_id(PROJECT).location(LOCATION);
    page.send().await.expect("the request is served");
}

#[test]
fn no_traceparent_fails_a_request_and_only_a_valid_one_is_taken() {
    let runtime = tokio::runtime::Runtime::new().expect("tokio starts");
    let server = Recording::new();
    // Written from the recommendation's grammar; the ids must not be zero.
    let valid = Regex::new(
        "^(?:00-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}|(?:0[1-9a-f]|[1-9a-e][0-9a-f]|f[0-9a-e])-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(?:-.*)?)$",
    );
    let (valid, zero) = (
        valid.expect("it is a pattern"),
        Regex::new("^..-(?:0{32}-|.{32}-0{16}-)").expect("it is a pattern"),
    );
    let parents = prop_oneof![
        // Any value that a header can have.
        prop::collection::vec(prop_oneof![0x20..=0x7e_u8, 0x80..=0xff_u8], 0..80),
        // Nearly right ones.
        "(00|01|0f|fe|ff|0F)-[0-9a-f]{32}-[0-9a-f]{16}-[0-9a-f]{2}(-[ -~]{0,20}|x)?"
            .prop_map(String::into_bytes),
        "0[01]-(0{32}|[0-9a-fA-F]{31,33})-(0{16}|[0-9a-f]{15,17})-[0-9a-g]{1,3}"
            .prop_map(String::into_bytes),
    ];
    let states = prop::collection::vec(
        prop_oneof!["[ -~]{0,600}", "([a-z0-9]{1,4}=[ -~]{0,9},?){0,40}"],
        0..3,
    );
    let case = (parents, states);
    let test = |(parent, states): (Vec<u8>, Vec<String>)| {
        let Ok(header) = HeaderValue::from_bytes(&parent) else {
            return Ok(());
        };
        let mut headers = HeaderMap::new();
        headers.insert("traceparent", header);
        for state in states {
            let state = HeaderValue::from_str(&state).expect("it is ASCII");
            headers.append("tracestate", state);
        }
        let (status, taken) = runtime.block_on(server.request(headers));
        prop_assert_eq!(status, StatusCode::OK);
        let is_valid = str::from_utf8(&parent)
            .is_ok_and(|parent| valid.is_match(parent) && !zero.is_match(parent));
        prop_assert_eq!(taken.is_some(), is_valid);
        if let Some(taken) = taken {
            let written = taken.to_string();
            prop_assert_eq!(&written.as_bytes()[3..52], &parent[3..52]);
            prop_assert!(taken.state().len() <= 512);
            let members = taken
                .state()
                .split(',')
                .filter(|member| !member.trim().is_empty());
            prop_assert!(members.count() <= 32);
        }
        Ok(())
    };
    let result = Run::from_environment(2_000).runner().run(&case, test);
    result.unwrap_or_else(|failure| panic!("{failure}"));
}

#[tokio::test]
async fn a_state_is_taken_within_its_bounds_only() {
    let server = Recording::new();
    let parent = (
        "traceparent",
        "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01",
    );
    let members = |count: usize| -> String {
        let members: Vec<String> = (0..count).map(|at| format!("k{at}=v")).collect();
        members.join(",")
    };
    let long = |length: usize| format!("a={},b={}", "x".repeat(200), "y".repeat(length - 205));
    for (states, expected) in [
        (vec!["a=1".to_owned()], "a=1"),
        (
            vec!["a=1, b@c=x y".to_owned(), "d=2".to_owned()],
            "a=1, b@c=x y,d=2",
        ),
        (vec![members(32)], &members(32)),
        (vec![members(33)], ""),
        (vec![long(400)], &long(400)),
        (
            vec![format!("{},c={}", long(400), "z".repeat(109))],
            &format!("{},c={}", long(400), "z".repeat(109)),
        ),
        (vec![format!("{},c={}", long(400), "z".repeat(110))], ""),
        (vec![long(400), "z=".to_owned() + &"z".repeat(110)], ""),
        (vec!["a=1,a=2".to_owned()], ""),
        (vec!["A=1".to_owned()], ""),
        (vec!["a".to_owned()], ""),
        (vec!["a=".to_owned()], ""),
        (vec!["a=b=c".to_owned()], ""),
        (vec![format!("a={}", "x".repeat(257))], ""),
    ] {
        let mut headers = HeaderMap::new();
        headers.insert(parent.0, HeaderValue::from_static(parent.1));
        for state in &states {
            headers.append("tracestate", state.parse().expect("it is a header"));
        }
        let (status, taken) = server.request(headers).await;
        assert_eq!(status, StatusCode::OK);
        let taken = taken.expect("the parent is valid");
        assert_eq!(taken.state(), expected, "{states:?}");
        assert_eq!((taken.trace_id(), taken.span_id()), (TRACE, PARENT));
    }
    // Which of two parents is meant cannot be known.
    let mut headers = HeaderMap::new();
    for _ in 0..2 {
        headers.append(parent.0, HeaderValue::from_static(parent.1));
    }
    assert_eq!(server.request(headers).await, (StatusCode::OK, None));
}

/// A server that keeps the context of its last caller.
struct Recording {
    router: Router,
    caller: Arc<Mutex<Option<TraceContext>>>,
}

impl Recording {
    fn new() -> Self {
        let caller = Arc::new(Mutex::new(None));
        let kept = Arc::clone(&caller);
        let config = Config::new().traces(move |_, _, caller| {
            *kept.lock().expect("nothing panics") = caller.cloned();
            caller.cloned()
        });
        let memory = Memory::new(State::default());
        Self {
            router: api_server::router(memory, Gate, ContractErrors, config),
            caller,
        }
    }

    async fn request(&self, headers: HeaderMap) -> (StatusCode, Option<TraceContext>) {
        let path = format!("/project/{PROJECT}/location/{LOCATION}/vm");
        let request = Request::get(path).header("authorization", format!("Bearer {TOKEN}"));
        let mut request = request.body(Body::empty()).expect("the request is valid");
        request.headers_mut().extend(headers);
        let response: Result<_, Infallible> = self.router.clone().call(request).await;
        let Ok(response) = response;
        for header in ["traceparent", "tracestate"] {
            assert!(!response.headers().contains_key(header), "{header}");
        }
        let caller = self.caller.lock().expect("nothing panics").take();
        (response.status(), caller)
    }
}

/// An exporter that keeps the spans.
#[derive(Debug, Clone, Default)]
struct Kept(Arc<Mutex<Vec<SpanData>>>);

impl SpanExporter for Kept {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        self.0.lock().expect("nothing panics").extend(batch);
        Ok(())
    }
}

/// Records the spans of this thread as OpenTelemetry has them.
fn recorded() -> (Arc<Mutex<Vec<SpanData>>>, DefaultGuard) {
    let kept = Kept::default();
    let provider = SdkTracerProvider::builder()
        .with_simple_exporter(kept.clone())
        .build();
    let layer = tracing_opentelemetry::layer().with_tracer(provider.tracer("tests"));
    let subscriber = tracing_subscriber::registry()
        .with(tracing_subscriber::filter::LevelFilter::INFO)
        .with(layer);
    (kept.0, tracing::subscriber::set_default(subscriber))
}

/// Returns the context of a span, as a program with tracing-opentelemetry does.
fn context(span: &Span) -> Option<TraceContext> {
    let context = span.context();
    let own = context.span().span_context().clone();
    TraceContext::new(
        u128::from_be_bytes(own.trace_id().to_bytes()),
        u64::from_be_bytes(own.span_id().to_bytes()),
        own.trace_flags().to_u8(),
    )
}

fn attribute(span: &SpanData, name: &str) -> String {
    assert_ne!(span.span_context.span_id(), SpanId::INVALID);
    let mut attributes = span.attributes.iter();
    let found = attributes.find(|attribute| attribute.key.as_str() == name);
    found.map_or_else(String::new, |attribute| attribute.value.to_string())
}
