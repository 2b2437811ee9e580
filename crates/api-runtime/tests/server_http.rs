//! Tests of the run time of servers: requests into the router of a small API, written as the
//! generator would write it.
#![cfg(all(feature = "server", feature = "jsonschema"))]

#[path = "server_http/bodies.rs"]
mod bodies;

use std::convert::Infallible;
use std::sync::Arc;

use api_runtime::Schemas;
use api_runtime::server::{
    self, App, AuthError, Bearer, Blueprint, Body, Call, Config, ContractTexts, ListedResponse,
    Media, Method, Operation, OperationId, Parameter, Problem, Rejected, RequestId, Route,
    RouteResult, Scheme, SecurityRequirements, Style,
};
use axum::body::Body as HttpBody;
use axum::http::{HeaderValue, Request, Response, StatusCode};
use http_body_util::BodyExt;
use serde_json::{Value, json};
use tower_service::Service;

static SCHEMAS: Schemas = Schemas::new(
    r#"{
        "components": { "schemas": { "Order": {
            "type": "object",
            "properties": {
                "name": { "type": "string", "maxLength": 8 },
                "ports": { "type": "array", "items": { "type": "integer", "minimum": 1, "maximum": 65535 } }
            },
            "required": ["name"],
            "additionalProperties": false
        } } }
    }"#,
);

const SECURITY: SecurityRequirements = SecurityRequirements {
    alternatives: &[&[Scheme::new("bearer", &[])]],
    challenge: "Bearer",
};
const ID: Parameter = Parameter::path("id");
const LIMIT: Parameter = Parameter::query("limit").default("10");
const AFTER: Parameter = Parameter::query("after");
const TAGS: Parameter = Parameter::query("tags");
const PORTS: Parameter = Parameter::query("ports").style(Style::PipeDelimited, false);
const FILTER: Parameter = Parameter::query("filter").style(Style::DeepObject, true);
const VERSION: Parameter = Parameter::header("X-Version").required();
const SESSION: Parameter = Parameter::cookie("session");
const JSON: &[Media] = &[Media::new("application/json")];
const TEXT: &[Media] = &[Media::new("text/plain")];
const ORDER: Body =
    Body::new(&[Media::new("application/json").schema("/components/schemas/Order")]);

const fn operation(
    id: &'static str,
    method: Method,
    path: &'static str,
    parameters: &'static [Parameter],
) -> Operation {
    Operation {
        id,
        method,
        path,
        tag: None,
        parameters,
        body: None,
        responses: &[],
        errors: &[],
        rejections: &[],
        deprecation: None,
        sunset: None,
        security: SECURITY,
    }
}

static VIEW: Operation = operation(
    "view",
    Method::GET,
    "/things/{id}",
    &[ID, LIMIT, AFTER, TAGS, PORTS, FILTER, VERSION, SESSION],
);
static CREATE: Operation = operation("create", Method::POST, "/things/{name}/orders", &[]);
static UPLOAD: Operation = operation("upload", Method::PUT, "/files/{id}.bin", &[ID]);
static PANIC: Operation = operation("panic", Method::GET, "/panic", &[]);
static UNKNOWN: Operation = Operation::unknown_route(SECURITY);

type Shared = Arc<App<(), ()>>;

async fn authenticate(call: &Call) -> Result<(), Rejected> {
    let check = async |bearer: Bearer| match bearer.token.expose() {
        "good" => Ok(()),
        "reader" => Err(AuthError::Forbidden("this token may only read".to_owned())),
        _ => Err(AuthError::Invalid),
    };
    let checked = match call.bearer() {
        Ok(bearer) => check(bearer).await,
        Err(error) => Err(error),
    };
    checked.map_err(|error| call.unauthorized(error))
}

async fn view(_: Shared, mut call: Call) -> RouteResult {
    authenticate(&call).await?;
    let mut inputs = call.inputs();
    let id = inputs.take::<String>(&ID);
    let limit = inputs.take::<i64>(&LIMIT);
    let after = inputs.take::<Option<String>>(&AFTER);
    let tags = inputs.take::<Option<Vec<String>>>(&TAGS);
    let ports = inputs.take::<Option<Vec<i32>>>(&PORTS);
    let filter = inputs.take::<Option<Value>>(&FILTER);
    let version = inputs.take::<i32>(&VERSION);
    let session = inputs.take::<Option<String>>(&SESSION);
    let read = inputs.finish(|| {
        Some(json!({
            "id": id?, "limit": limit?, "after": after?, "tags": tags?, "ports": ports?, "filter": filter?,
            "version": version?, "session": session?
        }))
    })?;
    call.respond(ListedResponse::code(200).media(JSON).json(&read))
}

async fn create(_: Shared, mut call: Call) -> RouteResult {
    authenticate(&call).await?;
    let mut inputs = call.inputs();
    let order = inputs.json::<Option<Order>>(&ORDER, &SCHEMAS).await;
    let order = inputs.finish(|| order)?;
    let response = ListedResponse::code(201)
        .media(JSON)
        .json(&order.map(|order| order.0));
    call.respond(server::with_header(
        response,
        &Parameter::header("X-Count"),
        &3,
    ))
}

/// Any JSON with a `name`: what a generated type would accept.
struct Order(Value);

impl<'de> serde::Deserialize<'de> for Order {
    fn deserialize<D: serde::Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let value = <Value as api_runtime::Wire>::decode(deserializer)?;
        match SCHEMAS.validate("/components/schemas/Order", &value) {
            Ok(()) => Ok(Self(value)),
            Err(_) => Err(serde::de::Error::custom("does not fit")),
        }
    }
}

impl serde::Serialize for Order {
    fn serialize<S: serde::Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serde::Serialize::serialize(&self.0, serializer)
    }
}

impl api_runtime::Wire for Order {}

const BYTES: Body = Body::new(&[Media::new("application/octet-stream")]).required();

async fn upload(_: Shared, mut call: Call) -> RouteResult {
    authenticate(&call).await?;
    let mut inputs = call.inputs();
    let id = inputs.take::<String>(&ID);
    let body = inputs.stream(&BYTES);
    let (id, body) = inputs.finish(|| Some((id?, body?)))?;
    let length = body.collect().await.map_or(0, |bytes| bytes.len());
    call.respond(
        ListedResponse::code(200)
            .media(TEXT)
            .text(&format!("{id} {length}")),
    )
}

fn config() -> Config {
    let ids = || RequestId::new("made").expect("four letters are a request id");
    Config::new().body_limit(64).request_ids(ids)
}

fn router() -> axum::Router {
    router_with(config())
}

fn router_with(config: Config) -> axum::Router {
    server::router(Blueprint {
        app: App {
            api: (),
            security: (),
        },
        routes: vec![
            Route::new(&VIEW, |app, call| Box::pin(view(app, call))),
            Route::new(&CREATE, |app, call| Box::pin(create(app, call))),
            Route::new(&UPLOAD, |app, call| Box::pin(upload(app, call))),
            Route::new(&PANIC, |_, _| Box::pin(async { panic!("on purpose") })),
        ],
        guard: Some(Route::new(&UNKNOWN, |_: Shared, call| {
            Box::pin(async move {
                authenticate(&call).await?;
                Ok(Response::default())
            })
        })),
        render: Problem,
        contract: ContractTexts {
            json: "{}",
            yaml: "a: b\n",
        },
        config,
    })
}

struct TestResponse {
    status: StatusCode,
    head: Response<()>,
    body: Vec<u8>,
}

impl TestResponse {
    fn json(&self) -> Value {
        serde_json::from_slice(&self.body).expect("the body is JSON")
    }

    fn header(&self, name: &str) -> Option<&str> {
        self.head
            .headers()
            .get(name)
            .map(|value| value.to_str().expect("headers are ASCII"))
    }

    /// `in name pointer: detail` of each violation.
    fn violations(&self) -> Vec<String> {
        let body = self.json();
        let text = |detail: &Value, key: &str| detail[key].as_str().unwrap_or_default().to_owned();
        let errors = body["errors"].as_array().cloned().unwrap_or_default();
        errors
            .iter()
            .map(|detail| {
                format!(
                    "{} {}{}: {}",
                    text(detail, "in"),
                    text(detail, "name"),
                    text(detail, "pointer"),
                    text(detail, "detail")
                )
            })
            .collect()
    }
}

async fn ask(request: Request<HttpBody>) -> TestResponse {
    ask_of(&mut router(), request).await
}

async fn ask_of(router: &mut axum::Router, request: Request<HttpBody>) -> TestResponse {
    let response: Result<Response<HttpBody>, Infallible> = Service::call(router, request).await;
    let Ok(response) = response;
    let (parts, body) = response.into_parts();
    let body = body
        .collect()
        .await
        .expect("the response arrives whole")
        .to_bytes()
        .to_vec();
    TestResponse {
        status: parts.status,
        head: Response::from_parts(parts, ()),
        body,
    }
}

fn request(method: &str, path: &str) -> axum::http::request::Builder {
    Request::builder()
        .method(method)
        .uri(path)
        .header("authorization", "Bearer good")
}

fn get(path: &str) -> Request<HttpBody> {
    request("GET", path)
        .header("x-version", "2")
        .body(HttpBody::empty())
        .unwrap()
}

fn post(body: &str) -> Request<HttpBody> {
    request("POST", "/things/a/orders")
        .header("content-type", "application/json")
        .body(HttpBody::from(body.to_owned()))
        .unwrap()
}

#[tokio::test]
async fn parameters_are_read_by_their_style() {
    let path = "/things/a%2Fb%20c?limit=7&tags=x&tags=y%2Cz&ports=1%7C2&filter[from]=a+b&filter%5Bto%5D=5&unknown=1";
    let mut asked = get(path);
    asked
        .headers_mut()
        .insert("cookie", HeaderValue::from_static("a=b; session=s%20t"));
    let response = ask(asked).await;
    assert_eq!(response.status, 200);
    assert_eq!(
        response.json(),
        json!({
            "id": "a/b c", "limit": 7, "after": null, "tags": ["x", "y,z"], "ports": [1, 2],
            "filter": {"from": "a b", "to": 5}, "version": 2, "session": "s t"
        })
    );
    assert_eq!(response.header("content-type"), Some("application/json"));
    assert_eq!(response.head.extensions().get(), Some(&OperationId("view")));
}

#[tokio::test]
async fn an_absent_parameter_is_its_default() {
    assert_eq!(ask(get("/things/a")).await.json()["limit"], 10);
}

#[tokio::test]
async fn all_wrong_parameters_are_reported_together_without_their_values() {
    let mut asked = get("/things/%ff?limit=se7en&after=1&after=2&ports=1|x");
    asked
        .headers_mut()
        .append("x-version", HeaderValue::from_static("3"));
    let response = ask(asked).await;
    assert_eq!(response.status, 400);
    assert_eq!(
        response.violations(),
        [
            "path id: must be UTF-8 once its percent signs are decoded",
            "query limit: must be an integer",
            "query after: must be given once",
            "query ports/1: must be an integer",
            "header X-Version: must be given once",
        ]
    );
    assert!(!String::from_utf8(response.body).unwrap().contains("se7en"));
}

#[tokio::test]
async fn credentials_come_before_everything_else() {
    let bare = |method: &str, path: &str| {
        Request::builder()
            .method(method)
            .uri(path)
            .body(HttpBody::from("x"))
            .unwrap()
    };
    for (method, path) in [
        ("GET", "/things/%ff"),
        ("POST", "/things/a/orders"),
        ("GET", "/nothing"),
        ("PUT", "/things/a"),
    ] {
        let response = ask(bare(method, path)).await;
        assert_eq!(response.status, 401, "{method} {path}");
        assert_eq!(response.header("www-authenticate"), Some("Bearer"));
        assert_eq!(
            response.header("content-type"),
            Some("application/problem+json")
        );
        assert_eq!(response.json()["status"], 401);
    }
}

#[tokio::test]
async fn bearer_tokens_are_judged() {
    for (value, status) in [
        ("bearer good", 200),
        ("Bearer: good", 200),
        ("Bearer bad", 401),
        ("Bearer", 401),
        ("Basic good", 401),
        ("Bearer reader", 403),
    ] {
        let mut asked = get("/things/a");
        asked
            .headers_mut()
            .insert("authorization", HeaderValue::from_static(value));
        assert_eq!(ask(asked).await.status, status, "{value}");
    }
}

#[tokio::test]
async fn unknown_routes_and_methods_are_refused() {
    assert_eq!(ask(get("/nothing")).await.status, 404);
    let response = ask(request("DELETE", "/things/a")
        .body(HttpBody::empty())
        .unwrap())
    .await;
    assert_eq!(response.status, 405);
    assert_eq!(response.header("allow"), Some("GET, HEAD"));
    assert_eq!(
        ask(request("OPTIONS", "/things/a")
            .body(HttpBody::empty())
            .unwrap())
        .await
        .status,
        405
    );
    let response = ask(request("HEAD", "/things/a")
        .header("x-version", "1")
        .body(HttpBody::empty())
        .unwrap())
    .await;
    assert_eq!((response.status.as_u16(), response.body.len()), (200, 0));
}

#[tokio::test]
async fn a_panic_is_a_500_in_the_words_of_the_contract() {
    let response = ask(get("/panic")).await;
    assert_eq!(response.status, 500);
    assert_eq!(response.json()["status"], 500);
}

#[tokio::test]
async fn requests_have_names() {
    assert_eq!(
        ask(get("/things/a")).await.header("x-request-id"),
        Some("made")
    );
    for (given, sent) in [("mine-7", "mine-7"), ("<no>", "made")] {
        let mut asked = get("/nothing");
        asked
            .headers_mut()
            .insert("x-request-id", HeaderValue::from_static(given));
        assert_eq!(ask(asked).await.header("x-request-id"), Some(sent));
    }
}

#[tokio::test]
async fn the_contract_is_served_unless_switched_off() {
    let bare = |path: &str| {
        Request::builder()
            .uri(path)
            .body(HttpBody::empty())
            .unwrap()
    };
    let response = ask(bare("/openapi.json")).await;
    assert_eq!(
        (response.status.as_u16(), response.header("content-type")),
        (200, Some("application/json"))
    );
    assert_eq!(ask(bare("/openapi.yaml")).await.body, b"a: b\n");
    let mut without = router_with(config().without_contract());
    for path in ["/openapi.json", "/openapi.yaml"] {
        assert_eq!(ask_of(&mut without, bare(path)).await.status, 401, "{path}");
        assert_eq!(ask_of(&mut without, get(path)).await.status, 404, "{path}");
    }
}

#[tokio::test]
async fn the_router_nests_and_takes_other_routes() {
    let mut outer = axum::Router::new()
        .route("/metrics", axum::routing::get(async || "fine"))
        .nest("/v1", router());
    assert_eq!(ask_of(&mut outer, get("/v1/things/a")).await.status, 200);
    assert_eq!(ask_of(&mut outer, get("/metrics")).await.body, b"fine");
}

#[test]
fn what_a_header_cannot_say_is_an_internal_error() {
    let header = Parameter::header("X-Words");
    let with =
        |words: &[&str]| server::with_header(Response::new(HttpBody::empty()), &header, words);
    assert_eq!(with(&["a", "b"]).headers()["x-words"], "a,b");
    assert_eq!(with(&["a,b", "c"]).status(), 500);
}
