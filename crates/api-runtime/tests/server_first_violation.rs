//! Tests of servers that name the first thing that is wrong with a JSON body, which needs no JSON
//! Schema validator.
#![cfg(feature = "server")]

use std::sync::Arc;

use api_runtime::server::{
    self, App, Blueprint, Body, Call, Config, ContractTexts, FirstViolation, ListedResponse, Media,
    Method, Operation, Problem, Route, RouteResult, SecurityRequirements,
};
use axum::body::Body as HttpBody;
use axum::http::Request;
use http_body_util::BodyExt;
use tower_service::Service;

const TEXT: &[Media] = &[Media::new("text/plain")];
const NUMBERS: Body = Body::new(&[Media::new("application/json")]).required();
static REASONS: FirstViolation = FirstViolation;
static ADD: Operation = Operation {
    id: "add",
    method: Method::POST,
    path: "/sums",
    tag: None,
    parameters: &[],
    body: None,
    responses: &[],
    errors: &[],
    rejections: &[],
    deprecation: None,
    sunset: None,
    security: SecurityRequirements::NONE,
};

/// What derives look for in the root of a crate.
#[cfg(feature = "jsonschema")]
mod schemas {
    pub(crate) static SCHEMAS: api_runtime::Schemas = api_runtime::Schemas::new("{}");
}

/// An object that takes no other properties.
#[cfg(feature = "jsonschema")]
#[derive(Clone, Debug, PartialEq, api_runtime::Object)]
#[object(closed)]
struct Closed {
    name: i64,
}

async fn add(_: Arc<App<(), ()>>, mut call: Call) -> RouteResult {
    let mut inputs = call.inputs();
    let numbers = inputs.json::<Vec<i64>>(&NUMBERS, &REASONS).await;
    let numbers = inputs.finish(|| numbers)?;
    let sum = numbers.iter().sum::<i64>().to_string();
    call.respond(ListedResponse::code(200).media(TEXT).text(&sum))
}

/// Responds with how a body that may be left out was read.
async fn read<T: api_runtime::Wire + std::fmt::Debug>(mut call: Call) -> RouteResult {
    const OPTIONAL: Body = Body::new(&[Media::new("application/json")]);
    let mut inputs = call.inputs();
    let read = inputs.json::<Option<T>>(&OPTIONAL, &REASONS).await;
    let read = inputs.finish(|| read)?;
    call.respond(
        ListedResponse::code(200)
            .media(TEXT)
            .text(&format!("{read:?}")),
    )
}

/// Posts a body, and returns the status and the text of the response.
async fn post(body: &'static str) -> (u16, String) {
    post_to(Route::new(&ADD, |app, call| Box::pin(add(app, call))), body).await
}

async fn post_to(route: Route<App<(), ()>>, body: &'static str) -> (u16, String) {
    let mut router = server::router(Blueprint {
        app: App {
            api: (),
            security: (),
        },
        routes: vec![route],
        guard: None,
        render: Problem,
        contract: ContractTexts {
            json: "{}",
            yaml: "{}",
        },
        config: Config::new(),
    });
    let request = Request::post("/sums").header("content-type", "application/json");
    let request = request.body(HttpBody::from(body));
    let Ok(response) = Service::call(&mut router, request.expect("the request is valid")).await;
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("it is whole");
    let text = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    (status, text)
}

#[tokio::test]
async fn a_body_that_fits_is_read() {
    assert_eq!(post("[1, 2, 39]").await, (200, "42".to_owned()));
}

#[tokio::test]
async fn the_first_violation_has_its_pointer_and_its_rule() {
    let (status, text) = post(r#"[1, "hunter2", "x"]"#).await;
    assert_eq!(status, 400);
    assert!(text.contains("/1") && text.contains("must be"), "{text}");
    // One thing, and nothing of the body.
    assert!(!text.contains("/2") && !text.contains("hunter2"), "{text}");
}

/// Without a name, a caller would have to guess which of the properties is wrong.
#[cfg(feature = "jsonschema")]
#[tokio::test]
async fn a_property_that_is_not_known_has_its_pointer() {
    let closed = || Route::new(&ADD, |_, call| Box::pin(read::<Closed>(call)));
    let (status, text) = post_to(closed(), r#"{"name": 1, "na/me": 2}"#).await;
    assert_eq!(status, 400);
    assert!(text.contains("/na~1me"), "{text}");
    assert!(text.contains("is not a known property"), "{text}");
    assert_eq!(post_to(closed(), r#"{"name": 1}"#).await.0, 200);
}

#[tokio::test]
async fn what_is_no_json_is_said_to_be_none() {
    for body in ["[1,", "[1] 2", "nonsense"] {
        let (status, text) = post(body).await;
        assert!(status == 400 && text.contains("is not JSON"), "{text}");
    }
    assert_eq!(post("").await.0, 400);
}

#[tokio::test]
async fn null_is_no_absent_body() {
    type Numbers = Vec<i64>;
    let numbers = || Route::new(&ADD, |_, call| Box::pin(read::<Numbers>(call)));
    let (status, said) = post_to(numbers(), "null").await;
    assert_eq!(status, 400, "{said}");
    let nullable = || Route::new(&ADD, |_, call| Box::pin(read::<Option<Numbers>>(call)));
    for (route, body, expected) in [
        (numbers(), "", "None"),
        (numbers(), "[1]", "Some([1])"),
        (nullable(), "", "None"),
        (nullable(), " null ", "Some(None)"),
        (nullable(), "[1]", "Some(Some([1]))"),
    ] {
        assert_eq!(
            post_to(route, body).await,
            (200, expected.to_owned()),
            "{body}"
        );
    }
}
