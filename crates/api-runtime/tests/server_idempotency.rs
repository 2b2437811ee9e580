//! Tests of idempotency keys: what a repeat of a request gets, and what is bounded.
#![cfg(feature = "idempotency")]

#[path = "server_idempotency/bounds.rs"]
mod bounds;
#[path = "server_idempotency/stores.rs"]
mod stores;

use std::convert::Infallible;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use api_runtime::server::{
    self, App, Blueprint, Body, Call, Config, ContractTexts, Idempotency, ListedResponse, Media,
    MemoryStore, Method, Operation, Parameter, Problem, Rejected, Route, RouteResult,
    SecurityRequirements,
};
use axum::body::Body as HttpBody;
use axum::http::{HeaderMap, Request, Response, StatusCode};
use futures_util::FutureExt;
use futures_util::future::BoxFuture;
use http_body_util::BodyExt;
use tokio::sync::Notify;
use tower_service::Service;

const KEY: Parameter = Parameter::header("Idempotency-Key");
const TEAM: Parameter = Parameter::header("X-Team");
/// The parameters of each operation. A contract may list headers that differ between a request and
/// its repeat.
const PARAMETERS: &[Parameter] = &[
    KEY,
    TEAM,
    Parameter::header("If-Match"),
    Parameter::header("If-None-Match"),
    Parameter::header("X-Request-Id"),
    Parameter::header("traceparent"),
];
const JSON: &[Media] = &[Media::new("application/json")];

const CREATED: &[ListedResponse] = &[ListedResponse::code(201)];

const fn operation(
    id: &'static str,
    path: &'static str,
    errors: &'static [ListedResponse],
) -> Operation {
    Operation {
        id,
        method: Method::POST,
        path,
        tag: None,
        parameters: PARAMETERS,
        body: None,
        responses: CREATED,
        errors,
        rejections: &[],
        deprecation: None,
        sunset: None,
        security: SecurityRequirements::NONE,
    }
}

static CREATE: Operation = operation("create", "/things/{name}", &[ListedResponse::default()]);
static ORDER: Operation = operation("order", "/orders", &[ListedResponse::code(409)]);
static PAY: Operation = operation(
    "pay",
    "/payments",
    &[ListedResponse::code(409), ListedResponse::code(422)],
);

/// Runs what a test gives it, with the number of the run.
struct Api {
    runs: Arc<AtomicUsize>,
    act: Box<dyn Fn(usize) -> BoxFuture<'static, Response<HttpBody>> + Send + Sync>,
}

/// What is read of each request.
struct Keyed;

impl server::Request for Keyed {
    const PARAMETERS: &'static [Parameter] = PARAMETERS;
    const BODY: Option<Body> = None;

    async fn read(call: &mut Call) -> Result<Self, Rejected> {
        let mut inputs = call.inputs();
        let key = inputs.take::<Option<String>>(&KEY);
        let team = inputs.take::<Option<i32>>(&TEAM);
        inputs.finish(|| key.and(team).map(|_| Self))
    }
}

/// A token is the name of an account and, after a dot, a number that is renewed.
async fn serve(app: Arc<App<Api, ()>>, mut call: Call) -> RouteResult {
    if call.operation().id == "order" && call.header_key("x-key").is_ok() {
        // The first of two alternatives, which no key fits.
        call.begin_alternative();
    }
    if call.operation().id != "pay" {
        let bearer = call.bearer().map_err(|error| call.unauthorized(error))?;
        if let Some((account, _)) = bearer.token.expose().split_once('.') {
            server::idempotency_scope(account);
        }
    }
    call.read::<Keyed>().await?;
    let run = app.api.runs.fetch_add(1, Ordering::Relaxed) + 1;
    let response = (app.api.act)(run).await;
    call.respond(response)
}

/// A server of which a test sees how often its handlers have run.
#[derive(Clone)]
struct Served {
    router: axum::Router,
    runs: Arc<AtomicUsize>,
}

impl Served {
    fn new(
        config: Config,
        act: impl Fn(usize) -> BoxFuture<'static, Response<HttpBody>> + Send + Sync + 'static,
    ) -> Self {
        let runs = Arc::new(AtomicUsize::new(0));
        let api = Api {
            runs: Arc::clone(&runs),
            act: Box::new(act),
        };
        let route = |operation| Route::new(operation, |app, call| Box::pin(serve(app, call)));
        let router = server::router(Blueprint {
            app: App { api, security: () },
            routes: vec![route(&CREATE), route(&ORDER), route(&PAY)],
            guard: None,
            render: Problem,
            contract: ContractTexts {
                json: "{}",
                yaml: "",
            },
            config,
        });
        Self { router, runs }
    }

    /// Returns a server whose handlers respond with the number of the run.
    fn counting(idempotency: Idempotency) -> Self {
        Self::new(Config::new().idempotency(idempotency), |run| {
            Box::pin(async move { created(run) })
        })
    }

    /// Returns a server whose handlers wait until the test lets them go on.
    fn waiting(idempotency: Idempotency) -> (Self, Arc<Notify>) {
        let gate = Arc::new(Notify::new());
        let opened = Arc::clone(&gate);
        let served = Self::new(Config::new().idempotency(idempotency), move |run| {
            let opened = Arc::clone(&opened);
            Box::pin(async move {
                opened.notified().await;
                created(run)
            })
        });
        (served, gate)
    }

    fn runs(&self) -> usize {
        self.runs.load(Ordering::Relaxed)
    }

    /// Waits until handlers have run so often.
    async fn running(&self, runs: usize) {
        for _ in 0..1000 {
            if self.runs() >= runs {
                return;
            }
            tokio::task::yield_now().await;
        }
        panic!("{} of {runs} handlers have run", self.runs());
    }

    async fn send(&self, path: &str, headers: &[(&str, &str)], body: &str) -> Received {
        let mut request = Request::post(path);
        for (name, value) in headers {
            request = request.header(*name, *value);
        }
        let request = request.body(HttpBody::from(body.to_owned()));
        let request = request.expect("the request is valid");
        let response: Result<Response<HttpBody>, Infallible> =
            Service::call(&mut self.router.clone(), request).await;
        let Ok(response) = response;
        let (parts, body) = response.into_parts();
        let body = body.collect().await.expect("the body is whole").to_bytes();
        Received {
            status: parts.status,
            headers: parts.headers,
            body: body.to_vec(),
        }
    }

    /// Creates a thing as a caller, with a key.
    async fn create(&self, token: &str, key: &str) -> Received {
        let token = format!("Bearer {token}");
        let headers = [("authorization", token.as_str()), ("idempotency-key", key)];
        self.send("/things/a", &headers, "").await
    }
}

fn created(run: usize) -> Response<HttpBody> {
    let mut response = ListedResponse::code(201).media(JSON).json(&run);
    let tag = format!("\"{run}\"").parse().expect("digits are a header");
    response.headers_mut().insert("etag", tag);
    response
}

fn memory() -> Idempotency {
    Idempotency::new(MemoryStore::new())
}

#[derive(Debug)]
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

    /// Returns the number of the run that this is the response of, and whether it is a repeated one.
    fn run(&self) -> (&str, bool) {
        assert_eq!(self.status, 201, "{self:?}");
        let run = std::str::from_utf8(&self.body).expect("it is a number");
        (run, self.header("idempotency-replayed") == "true")
    }
}

const ANN: (&str, &str) = ("authorization", "Bearer ann");
const FIRST: (&str, &str) = ("idempotency-key", "first");

#[tokio::test]
async fn a_key_belongs_to_the_credential_that_was_accepted() {
    let served = Served::counting(memory());
    for (junk, run) in [("a", ("1", false)), ("b", ("1", true)), ("", ("1", true))] {
        let mut headers = vec![ANN, FIRST];
        headers.extend((!junk.is_empty()).then_some(("x-key", junk)));
        let received = served.send("/orders", &headers, "").await;
        assert_eq!(received.run(), run, "{junk}");
    }
}

#[tokio::test]
async fn a_repeat_gets_the_response_to_the_first_request() {
    let served = Served::counting(memory());
    let first = served.send("/things/a?b=1", &[ANN, FIRST], "body").await;
    assert_eq!(first.run(), ("1", false));
    let again = served.send("/things/a?b=1", &[ANN, FIRST], "body").await;
    assert_eq!(again.run(), ("1", true));
    assert_eq!(served.runs(), 1);
    let of = |received: &Received| {
        let mut headers = received.headers.clone();
        headers.remove("x-request-id");
        headers.remove("idempotency-replayed");
        headers
    };
    assert_eq!(of(&again), of(&first));
    assert_eq!(again.header("etag"), "\"1\"");
    assert_ne!(again.header("x-request-id"), first.header("x-request-id"));
    // Without a key, a request is one of its own.
    assert_eq!(
        served.send("/things/a?b=1", &[ANN], "body").await.run(),
        ("2", false)
    );
}

#[tokio::test]
async fn keys_are_for_the_handlers_alone_unless_they_are_switched_on() {
    let served = Served::new(Config::new(), |run| Box::pin(async move { created(run) }));
    assert_eq!(served.create("ann", "first").await.run(), ("1", false));
    assert_eq!(served.create("ann", "first").await.run(), ("2", false));
}

#[tokio::test]
async fn another_request_with_the_key_is_rejected() {
    let served = Served::counting(memory());
    let team = ("x-team", "1");
    let json = ("content-type", "application/json");
    let path = "/things/a?b=1";
    served
        .send(path, &[ANN, FIRST, team, json], "7body")
        .await
        .run();
    for (path, headers, body) in [
        // A part of the body in the header before it.
        (path, &[ANN, FIRST, ("x-team", "17"), json][..], "body"),
        ("/things/a?b=2", &[ANN, FIRST, team, json][..], "7body"),
        ("/things/b?b=1", &[ANN, FIRST, team, json], "7body"),
        (path, &[ANN, FIRST, team, json], "bod"),
        (path, &[ANN, FIRST, team, json], ""),
        (path, &[ANN, FIRST, ("x-team", "2"), json], "7body"),
        (path, &[ANN, FIRST, json], "7body"),
        (
            path,
            &[ANN, FIRST, team, ("content-type", "text/plain")],
            "7body",
        ),
        (path, &[ANN, FIRST, team], "7body"),
    ] {
        let rejected = served.send(path, headers, body).await;
        assert_eq!(rejected.status, 422, "{path} {headers:?} {body}");
        let text = String::from_utf8_lossy(&rejected.body);
        assert!(text.contains("was used for another request"), "{text}");
    }
    // What does not change what is asked for.
    for other in [
        ("if-match", "\"1\""),
        ("if-none-match", "*"),
        ("x-request-id", "other"),
        ("traceparent", "00-1-1-00"),
        ("user-agent", "other"),
    ] {
        let again = served
            .send(path, &[ANN, FIRST, team, json, other], "7body")
            .await;
        assert_eq!(again.run(), ("1", true), "{other:?}");
    }
    assert_eq!(served.runs(), 1);
}

#[tokio::test]
async fn the_contract_chooses_the_status_of_a_key_that_was_used() {
    let served = Served::counting(memory());
    for (path, status) in [("/orders", 409), ("/payments", 422), ("/things/a", 422)] {
        served.send(path, &[ANN, FIRST], "one").await.run();
        assert_eq!(
            served.send(path, &[ANN, FIRST], "two").await.status,
            status,
            "{path}"
        );
    }
}

#[tokio::test]
async fn a_key_belongs_to_its_caller_and_operation() {
    let served = Served::counting(memory());
    assert_eq!(served.create("ann", "k").await.run(), ("1", false));
    assert_eq!(served.create("bob", "k").await.run(), ("2", false));
    assert_eq!(served.create("ann", "K").await.run(), ("3", false));
    // Without a name, a renewed credential is another caller; with one, it is the same.
    assert_eq!(served.create("carl.1", "k").await.run(), ("4", false));
    assert_eq!(served.create("carl.2", "k").await.run(), ("4", true));
    assert_eq!(served.create("carl", "k").await.run(), ("5", false));
    let other = served
        .send("/orders", &[ANN, ("idempotency-key", "k")], "")
        .await;
    assert_eq!(other.run(), ("6", false));
    // An operation without security has one scope, and that of each credential that it is sent.
    let key = ("idempotency-key", "k");
    assert_eq!(
        served.send("/payments", &[key], "").await.run(),
        ("7", false)
    );
    assert_eq!(
        served.send("/payments", &[key], "").await.run(),
        ("7", true)
    );
    assert_eq!(
        served.send("/payments", &[ANN, key], "").await.run(),
        ("8", false)
    );
    // Bad credentials get nothing that was kept.
    let rejected = served
        .send("/things/a", &[("authorization", "Basic ann"), key], "")
        .await;
    assert_eq!((rejected.status.as_u16(), served.runs()), (401, 8));
}

#[tokio::test]
async fn while_a_request_is_in_progress_its_repeat_is_rejected() {
    let (served, gate) = Served::waiting(memory());
    let first = tokio::spawn({
        let served = served.clone();
        async move { served.create("ann", "k").await }
    });
    served.running(1).await;
    for body in ["", "other"] {
        let headers = [ANN, ("idempotency-key", "k")];
        let rejected = served.send("/things/a", &headers, body).await;
        assert_eq!(rejected.status, 409);
        assert_eq!(rejected.header("retry-after"), "1");
        let text = String::from_utf8_lossy(&rejected.body);
        assert!(text.contains("is in progress"), "{text}");
    }
    gate.notify_one();
    assert_eq!(first.await.expect("it ends").run(), ("1", false));
    assert_eq!(served.create("ann", "k").await.run(), ("1", true));
}

#[tokio::test]
async fn a_request_whose_caller_hangs_up_is_done_all_the_same() {
    let (served, gate) = Served::waiting(memory());
    let mut first = Box::pin(served.create("ann", "k"));
    assert!(first.as_mut().now_or_never().is_none());
    assert_eq!(served.runs(), 1);
    drop(first);
    tokio::task::yield_now().await;
    assert_eq!(served.create("ann", "k").await.status, 409);
    gate.notify_one();
    let mut again = served.create("ann", "k").await;
    for _ in 0..1000 {
        if again.status != 409 {
            break;
        }
        tokio::task::yield_now().await;
        again = served.create("ann", "k").await;
    }
    assert_eq!((again.run(), served.runs()), (("1", true), 1));
}

#[tokio::test]
async fn after_an_error_or_a_panic_a_key_is_as_good_as_new() {
    let config = Config::new().idempotency(memory());
    let served = Served::new(config, |run| {
        Box::pin(async move {
            match run {
                1 => ListedResponse::code(500).empty(),
                2 => ListedResponse::code(503).empty(),
                3 => panic!("the handler fails"),
                4 => ListedResponse::code(404).empty(),
                // A header that cannot be written makes the response a 500.
                5 => {
                    let header = Parameter::header("X-List");
                    server::with_header(created(run), &header, &["a,b"])
                }
                6 => ListedResponse::code(303).empty(),
                _ => panic!("it was done"),
            }
        })
    });
    for status in [500, 503, 500, 404, 500, 303, 303] {
        assert_eq!(served.create("ann", "k").await.status, status);
    }
    assert_eq!(served.runs(), 6);
}
