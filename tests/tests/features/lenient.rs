//! Responses that do not fit their contract, read leniently.

use axum::extract::Path;
use axum::http::StatusCode as Status;
use axum::response::{IntoResponse as _, Response};
use features_client::lenient::ToyViewResponse as Received;
use features_client::prelude::*;
use features_client::{Error, Lenient};
use features_server::lenient::{
    LenientApi, ToyListError, ToyListRequest, ToyListResponse, ToyViewError, ToyViewRequest,
    ToyViewResponse,
};
use features_types::{LenientToy, LenientToyColour};

/// Not called: the server of this feature is written by hand, since a generated one sends only what
/// fits.
impl LenientApi for crate::Features {
    async fn toy_view(&self, _: ToyViewRequest) -> Result<ToyViewResponse, ToyViewError> {
        Ok(ToyViewResponse::NoContent)
    }

    async fn toy_list(&self, _: ToyListRequest) -> Result<ToyListResponse, ToyListError> {
        Ok(ToyListResponse::Ok(Vec::new()))
    }
}

const JSON: &str = "application/json";

/// The toys by name: status, media type and body.
fn toys() -> Vec<(&'static str, u16, &'static str, String)> {
    let ok = |name, body: &str| (name, 200, JSON, body.to_owned());
    vec![
        ok(
            "good",
            r#"{"id": 1, "colour": "red", "new": {"z": 1, "a": 2}}"#,
        ),
        ok(
            "green",
            r#"{"id": 1, "colour": "green", "made": "2026-01-31"}"#,
        ),
        ok(
            "misdated",
            r#"{"id": 1, "colour": "red", "made": "yesterday"}"#,
        ),
        ok("anonymous", r#"{"colour": "red"}"#),
        ok("null", r#"{"id": null, "colour": "red"}"#),
        ok("twice", r#"{"id": 1, "id": 2, "colour": "red"}"#),
        ok("worn", r#"{"id": 1, "colour": "red", "state": "worn"}"#),
        ok(
            "union",
            r#"{"id": 1, "colour": "red", "part": {"id": "x"}}"#,
        ),
        ok(
            "secret",
            r#"{"id": 1, "colour": "red", "owner": {"name": "hunter2hunter2", "password": 7}}"#,
        ),
        ok(
            "many",
            r#"{"id": 0, "colour": "green", "made": 1, "tags": ["a", "long", "b", 7], "sizes": {"a/b": "x", "c": 1}, "part": []}"#,
        ),
        ok("cut", r#"{"id": 1, "col"#),
        ok(
            "deep",
            &format!(
                "{{\"id\": 1, \"colour\": \"red\", \"x\": {}1{}}}",
                "[".repeat(5000),
                "]".repeat(5000)
            ),
        ),
        ok("nothing", ""),
        (
            "page",
            200,
            "text/html",
            "<h1>Down for a moment</h1>".to_owned(),
        ),
        ("text", 200, "text/plain", "7".to_owned()),
        ("words", 200, "text/plain", "seven".to_owned()),
        ("empty", 204, JSON, String::new()),
        ("refused", 400, JSON, r#"{"code": 4}"#.to_owned()),
        (
            "unreasoned",
            400,
            JSON,
            r#"{"code": "four", "why": "no"}"#.to_owned(),
        ),
        (
            "proxied",
            400,
            "text/html",
            "<h1>Bad request</h1>".to_owned(),
        ),
        ("teapot", 418, JSON, r#"{"code": 4}"#.to_owned()),
    ]
}

async fn toy(Path(name): Path<String>) -> Response {
    let (_, status, media, body) = toys()
        .into_iter()
        .find(|(known, ..)| *known == name)
        .expect("the toy exists");
    let status = Status::from_u16(status).expect("the status is valid");
    (status, [("content-type", media)], body).into_response()
}

/// Ten toys, of which the third and the last do not fit.
fn ten() -> String {
    let toys = (1..=10).map(|id| match id {
        3 => r#"{"id": 3, "colour": ["red"]}"#.to_owned(),
        10 => "\"ten\"".to_owned(),
        _ => format!(r#"{{"id": {id}, "colour": "blue"}}"#),
    });
    format!("[{}]", toys.collect::<Vec<_>>().join(", "))
}

async fn served_by_hand() -> String {
    let router = axum::Router::new()
        .route("/toys/{name}", axum::routing::get(toy))
        .route(
            "/toys",
            axum::routing::get(|| async { ([("content-type", JSON)], ten()) }),
        );
    let listener = tokio::net::TcpListener::bind("127.0.0.1:0")
        .await
        .expect("a port is free");
    let address = listener.local_addr().expect("the listener has an address");
    tokio::spawn(async move { axum::serve(listener, router).await });
    format!("http://{address}")
}

pub async fn check(_: &Client, _: &str) {
    let client = Client::new(served_by_hand().await).expect("the URL is valid");
    let view = |name: &'static str| client.toy_view().name(name).send().lenient();
    for (name, status, _, sent) in toys() {
        match view(name).await {
            Ok(response) => {
                assert_eq!(response.status().as_u16(), status, "{name}");
                kept(name, &response, &sent);
            }
            Err(Error::ErrorResponse(response)) => {
                assert_eq!(response.status().as_u16(), status, "{name}");
                kept(name, &response, &sent);
            }
            Err(error) => assert_eq!(
                (name, error.status().map(|status| status.as_u16())),
                ("teapot", Some(418))
            ),
        }
    }
    typed(&client).await;
    parts(&client).await;
    errors(&client).await;
    items(&client).await;
}

/// Checks that everything that was sent is there.
fn kept<T>(name: &str, body: &Lenient<T>, sent: &str) {
    if name == "empty" {
        assert!(body.bytes().is_none() && body.raw().is_none() && body.get().is_ok());
        return;
    }
    assert_eq!(body.text().expect("the body was read"), sent, "{name}");
    let expected = serde_json::from_str::<serde_json::Value>(sent).ok();
    assert_eq!(body.raw(), expected.as_ref(), "{name}");
}

/// The body as its type, or why not.
async fn typed(client: &Client) {
    let view = |name: &'static str| client.toy_view().name(name).send().lenient();
    let good = view("good").await.expect("a success");
    let Ok(Received::OkJson(toy)) = good.get() else {
        panic!("{good:?}")
    };
    assert_eq!((toy.id.get(), toy.colour), (1, LenientToyColour::Red));
    let extra = good.raw().expect("it is JSON")["new"].to_string();
    assert_eq!(
        extra, r#"{"z":1,"a":2}"#,
        "the order is that of the response"
    );
    assert!(good.violations().is_empty());
    for (name, pointer, rule) in [
        ("green", "/colour", "must be one of `red`, `blue`"),
        ("misdated", "/made", "must have the format `date`"),
        ("anonymous", "/id", "is required"),
        ("null", "/id", "must be an integer of 32 bits"),
        ("twice", "/id", "is there twice"),
        ("worn", "/state", "must be one of `new`, `used`"),
        ("union", "/part", "must match one of the alternatives"),
        ("cut", "", "ends before its JSON does"),
        ("deep", "", "is nested too deeply"),
        ("nothing", "", "ends before its JSON does"),
        ("page", "", "is not JSON"),
        ("words", "", "must be an integer of 32 bits"),
    ] {
        let response = view(name).await.expect("a success");
        let misfit = response.get().expect_err(name);
        let place = (misfit.operation(), misfit.pointer(), misfit.rule());
        assert_eq!(place.0, Some("toy_view"));
        if name == "deep" {
            assert_eq!(place.2, rule);
        } else {
            assert_eq!((name, place.1, place.2), (name, pointer, rule));
        }
        assert_eq!(
            response.violations(),
            [misfit.violation().clone()],
            "{name}"
        );
        // The same call fails when it is read strictly, and says the same.
        let strict = client.toy_view().name(name).send().await.expect_err(name);
        let printed = strict.to_string();
        assert!(
            printed.contains("`toy_view`") && printed.contains(misfit.rule()),
            "{printed}"
        );
    }
    let secret = view("secret").await.expect("a success");
    let misfit = secret.get().expect_err("the name is too long");
    assert_eq!(
        misfit.to_string(),
        "the response of `toy_view` does not fit its type: /owner/name must be at most 5 characters long"
    );
    let printed = format!("{secret:?} {misfit:?} {:?}", secret.violations());
    assert!(!printed.contains("hunter2"), "{printed}");
}

/// Parts of a body that does not fit, and the body without them.
async fn parts(client: &Client) {
    let view = |name: &'static str| client.toy_view().name(name).send().lenient();
    let green = view("green").await.expect("a success");
    assert_eq!(green.field::<i32>("/id").expect("it fits"), 1);
    green
        .field::<LenientToyColour>("/colour")
        .expect_err("green is not listed");
    assert_eq!(
        green.field::<String>("/colour").expect("it is a string"),
        "green"
    );
    assert_eq!(
        green
            .find::<String>("/state")
            .expect("nothing is wrong with it"),
        None
    );
    let missing = green
        .field::<String>("/state")
        .expect_err("it is not there");
    assert_eq!(
        (missing.pointer(), missing.rule()),
        ("/state", "is not there")
    );

    let many = view("many").await.expect("a success");
    let found: Vec<&str> = many
        .violations()
        .iter()
        .map(|violation| violation.pointer.as_str())
        .collect();
    assert_eq!(
        found,
        [
            "/id",
            "/colour",
            "/made",
            "/tags/1",
            "/tags/3",
            "/sizes/a~1b",
            "/part"
        ]
    );
    assert!(many.field::<LenientToy>("").is_err());
    let toy: Lenient<LenientToy> = Lenient::from_text(&many.text().expect("the body was read"));
    assert!(toy.partial().is_none(), "a required property does not fit");

    let partial = |name: &'static str| async move {
        let response = view(name).await.expect("a success");
        let text = response.text().expect("the body was read").into_owned();
        Lenient::<LenientToy>::from_text(&text).partial()
    };
    let misdated = partial("misdated").await.expect("the date is optional");
    assert_eq!((misdated.value.id.get(), misdated.value.made), (1, None));
    assert_eq!(misdated.left_out.len(), 1);
    assert!(
        partial("worn").await.is_none(),
        "the default would be an invention"
    );
    assert!(partial("good").await.expect("all fits").left_out.is_empty());
}

/// Errors keep their text.
async fn errors(client: &Client) {
    let view = |name: &'static str| client.toy_view().name(name).send().lenient();
    for (name, code) in [
        ("refused", Some(4)),
        ("unreasoned", None),
        ("proxied", None),
    ] {
        let error = view(name).await.expect_err(name);
        let body = error.body().expect("the status is listed");
        assert_eq!(body.get().ok().map(|body| body.code), code, "{name}");
        assert!(body.bytes().is_some_and(|bytes| !bytes.is_empty()));
    }
}

/// A list of which the third and the tenth item do not fit.
async fn items(client: &Client) {
    client
        .toy_list()
        .send()
        .await
        .expect_err("two items do not fit");
    let list = client.toy_list().send().lenient().await.expect("a success");
    let toys: Vec<Lenient<LenientToy>> = list.items("").expect("it is an array").collect();
    let fitting: Vec<usize> = (0..10).filter(|at| toys[*at].get().is_ok()).collect();
    assert_eq!(fitting, [0, 1, 3, 4, 5, 6, 7, 8]);
    assert_eq!(
        toys[2].get().expect_err("a list is no colour").pointer(),
        "/2/colour"
    );
    assert_eq!(toys[2].field::<i32>("/id").expect("it fits"), 3);
    assert_eq!(
        toys[9].get().expect_err("a string is no toy").pointer(),
        "/9"
    );
    let partial = list.partial().expect("the other items fit");
    assert_eq!(partial.value.len(), 8);
    let left_out: Vec<&str> = partial
        .left_out
        .iter()
        .map(|violation| violation.pointer.as_str())
        .collect();
    assert_eq!(left_out, ["/2/colour", "/9"]);
    assert!(list.items::<LenientToy>("/nowhere").is_err());
}
