//! Routers beside others: merged, nested, and with layers and fallbacks of the program.

use api_runtime::server::{
    self, App, Blueprint, Config, ContractTexts, Method, Operation, Problem, Route, RouteFuture,
};
use axum::body::Body as HttpBody;
use axum::http::{Request, Response, StatusCode};
use http_body_util::BodyExt;
use tower_service::Service;

use super::{JSON, SECURITY, operation, respond, router, send};

/// Returns the router of another API, which demands credentials for unknown paths too.
fn other_router() -> axum::Router {
    static OTHER: Operation = Operation {
        path: "/others/{id}",
        ..operation("other", Method::GET)
    };
    static UNKNOWN: Operation = Operation::unknown_route(SECURITY);
    let serve = |app, call| -> RouteFuture { Box::pin(respond(app, call)) };
    server::router(Blueprint {
        app: App {
            api: (),
            security: (),
        },
        routes: vec![Route::new(&OTHER, serve)],
        guard: Some(Route::new(&UNKNOWN, serve)),
        render: Problem,
        contract: ContractTexts {
            json: "{}",
            yaml: "others: {}\n",
        },
        config: Config::new(),
    })
}

/// Returns the status of a request without credentials, the value of `X-Mark`, and the body.
async fn bare(router: &axum::Router, method: &str, path: &str) -> (u16, bool, String) {
    let request = Request::builder().method(method).uri(path);
    let request = request.body(HttpBody::empty());
    let request = request.expect("the request is valid");
    let Ok(response) = Service::call(&mut router.clone(), request).await;
    let is_marked = response.headers().contains_key("x-mark");
    let status = response.status().as_u16();
    let body = response.into_body().collect().await.expect("it is whole");
    let body = String::from_utf8_lossy(&body.to_bytes()).into_owned();
    (status, is_marked, body)
}

/// Marks each response of the routes of a router.
fn marked(router: axum::Router) -> axum::Router {
    router.route_layer(axum::middleware::map_response(
        async |mut response: Response<HttpBody>| {
            let mark = axum::http::HeaderValue::from_static("seen");
            response.headers_mut().insert("x-mark", mark);
            response
        },
    ))
}

#[tokio::test]
async fn routers_are_merged_and_take_layers_for_their_routes() {
    let up = || axum::Router::new().route("/health", axum::routing::get(|| async { "up" }));
    let merged = marked(router(Config::new())).merge(other_router());
    let beside = merged
        .clone()
        .route("/health", axum::routing::get(|| async { "up" }));
    let inside = up().merge(merged);
    for app in [beside, inside] {
        for (method, path, status, is_marked) in [
            ("GET", "/things", 401, true),
            // The router itself responds to a method that the path does not have.
            ("PUT", "/things", 405, true),
            ("GET", "/others/1", 401, false),
            ("GET", "/health", 200, false),
            // The router that was merged last protects unknown paths.
            ("GET", "/nowhere", 401, false),
            ("GET", "/", 401, false),
        ] {
            let found = bare(&app, method, path).await;
            assert_eq!((found.0, found.1), (status, is_marked), "{method} {path}");
        }
        let contract = bare(&app, "GET", "/openapi.yaml").await;
        assert_eq!(contract, (200, false, "others: {}\n".to_owned()));
    }
    // Without the contract of the second, that of the first is served.
    let merged = other_router().merge(router(Config::new().without_contract()));
    let contract = bare(&merged, "GET", "/openapi.yaml").await;
    assert_eq!(contract, (200, false, "others: {}\n".to_owned()));
}

#[tokio::test]
async fn the_fallback_of_a_program_comes_before_that_of_a_router() {
    let nobody = || async { (StatusCode::IM_A_TEAPOT, "nobody") };
    let other = axum::Router::new().fallback(nobody);
    for app in [
        other.clone().merge(other_router()),
        other_router().merge(other),
        other_router().fallback(nobody),
    ] {
        assert_eq!(bare(&app, "GET", "/nowhere").await.0, 418);
        assert_eq!(bare(&app, "GET", "/others/1").await.0, 401);
        assert_eq!(bare(&app, "GET", "/openapi.json").await.2, "{}");
    }
}

#[tokio::test]
async fn a_nested_service_protects_unknown_paths_below_its_own() {
    let app = axum::Router::new().nest_service("/v1", other_router());
    for (path, status) in [
        ("/v1/others/1", 401),
        ("/v1/nowhere", 401),
        ("/v1/openapi.json", 200),
        ("/nowhere", 404),
    ] {
        assert_eq!(bare(&app, "GET", path).await.0, status, "{path}");
    }
}

#[tokio::test]
async fn the_path_of_a_contract_says_which_methods_it_has() {
    for (method, status) in [("GET", 200), ("HEAD", 200), ("POST", 404)] {
        let received = send(Config::new(), method, "/openapi.json", &[]).await;
        let allow = received.header("allow").to_owned();
        assert_eq!((received.status.as_u16(), &*allow), (status, "GET, HEAD"));
    }
}

#[tokio::test]
async fn a_route_of_axum_is_found_however_a_request_escapes_its_path() {
    static ESCAPED: Operation = Operation {
        path: "/a b,c/\u{e9}",
        ..operation("escaped", Method::GET)
    };
    let serve = |app, call| -> RouteFuture { Box::pin(respond(app, call)) };
    let app = App {
        api: (),
        security: (),
    };
    let router = server::router(Blueprint {
        app,
        routes: vec![Route::new(&ESCAPED, serve)],
        guard: None,
        render: Problem,
        contract: ContractTexts {
            json: JSON,
            yaml: "openapi: 3.1.0\n",
        },
        config: Config::new(),
    });
    let router = router.fallback(|| async { StatusCode::IM_A_TEAPOT });
    for path in ["/a%20b,c/%C3%A9", "/a%20b%2Cc/%c3%a9"] {
        let request = Request::get(path).body(HttpBody::empty());
        let request = request.expect("the request is valid");
        let Ok(response) = Service::call(&mut router.clone(), request).await;
        assert_eq!(response.status(), StatusCode::UNAUTHORIZED, "{path}");
    }
}

/// axum compares paths as they are written, so a path with an escape that it does not need is unknown.
#[tokio::test]
async fn no_operation_runs_without_the_layers_of_its_route() {
    let app = marked(router(Config::new()));
    for (path, status, is_marked) in [
        ("/things", 200, true),
        ("/th%69ngs", 404, false),
        ("/%74hings", 404, false),
    ] {
        let request = Request::get(path).header("authorization", "Bearer good");
        let request = request.body(HttpBody::empty());
        let request = request.expect("the request is valid");
        let Ok(response) = Service::call(&mut app.clone(), request).await;
        let found = response.headers().contains_key("x-mark");
        assert_eq!(
            (response.status().as_u16(), found),
            (status, is_marked),
            "{path}"
        );
    }
}
