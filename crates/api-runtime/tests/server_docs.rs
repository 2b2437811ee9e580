//! Tests of the reference page of a server.
#![cfg(feature = "docs")]

use api_runtime::server::{
    self, App, Blueprint, Call, Config, ContractTexts, ListedResponse, Media, Method, Operation,
    Problem, Route, RouteResult, SecurityRequirements,
};
use axum::Router;
use axum::body::Body as HttpBody;
use axum::http::{HeaderMap, Request, StatusCode};
use http_body_util::BodyExt;
use tower_service::Service;

const OPEN: SecurityRequirements = SecurityRequirements {
    alternatives: &[],
    challenge: "",
};
const TEXT: &[Media] = &[Media::new("text/plain")];
const RESPONSES: &[ListedResponse] = &[ListedResponse::code(200).media(TEXT)];

static THINGS: Operation = get("/things");
static OTHERS: Operation = get("/others");
static PAGE: Operation = get("/docs/{page}");

const fn get(path: &'static str) -> Operation {
    Operation {
        id: "get",
        method: Method::GET,
        path,
        tag: None,
        parameters: &[],
        body: None,
        responses: RESPONSES,
        errors: &[],
        rejections: &[],
        deprecation: None,
        sunset: None,
        security: OPEN,
    }
}

fn respond(call: &Call) -> RouteResult {
    call.respond(ListedResponse::code(200).media(TEXT).text("an operation"))
}

/// Returns a router for operations whose contract has this title.
fn router(title: &str, operations: &[&'static Operation], config: Config) -> Router {
    let json = format!(r#"{{"openapi":"3.1.0","info":{{"title":"{title}","version":"1.2"}}}}"#);
    let routes = operations.iter();
    server::router(Blueprint {
        app: App {
            api: (),
            security: (),
        },
        routes: routes
            .map(|operation| {
                Route::new(operation, |_, call| Box::pin(async move { respond(&call) }))
            })
            .collect(),
        guard: None,
        render: Problem,
        contract: ContractTexts {
            json: json.leak(),
            yaml: "openapi: 3.1.0\n",
        },
        config,
    })
}

fn things(config: Config) -> Router {
    router("Things", &[&THINGS], config)
}

async fn send(
    router: &Router,
    path: &str,
    headers: &[(&str, &str)],
) -> (StatusCode, HeaderMap, Vec<u8>) {
    let mut request = Request::get(path);
    for (name, value) in headers {
        request = request.header(*name, *value);
    }
    let request = request.body(HttpBody::empty()).expect("a valid request");
    let Ok(response) = Service::call(&mut router.clone(), request).await;
    let (parts, body) = response.into_parts();
    let body = body.collect().await.expect("the body is whole").to_bytes();
    (parts.status, parts.headers, body.to_vec())
}

fn text(body: &[u8]) -> &str {
    std::str::from_utf8(body).expect("the body is text")
}

/// Returns the values of the attributes `src` and `href` of a page.
fn links(html: &str) -> Vec<String> {
    let links = html.split([' ', '<']).filter_map(|word| {
        let link = word
            .strip_prefix("src=\"")
            .or_else(|| word.strip_prefix("href=\""))?;
        link.split_once('"').map(|(link, _)| link.to_owned())
    });
    links.collect()
}

#[tokio::test]
async fn the_page_and_all_that_it_loads_come_from_the_server() {
    let app = things(Config::new().docs());
    let (status, headers, page) = send(&app, "/docs/", &[]).await;
    assert_eq!(status, 200);
    assert_eq!(headers["content-type"], "text/html; charset=utf-8");
    let policy = headers["content-security-policy"].to_str().expect("ASCII");
    assert!(policy.starts_with("default-src 'none';"), "{policy}");
    for part in policy.split("; ") {
        assert!(!part.starts_with("script-src") || part == "script-src 'self'");
    }
    let links = links(text(&page));
    assert!(links.len() >= 6, "{links:?}");
    for link in links {
        let path = match link.strip_prefix("../") {
            Some(above) => format!("/{above}"),
            None => format!("/docs/{link}"),
        };
        let (status, headers, body) = send(&app, &path, &[]).await;
        assert_eq!(status, 200, "{link}");
        assert!(!body.is_empty(), "{link}");
        if path.starts_with("/docs/") {
            assert_eq!(headers["x-content-type-options"], "nosniff", "{link}");
        }
        let gzip = &[("accept-encoding", "gzip")];
        let (_, headers, packed) = send(&app, &path, gzip).await;
        assert_eq!(headers["content-encoding"], "gzip", "{link}");
        let mut plain = Vec::new();
        let mut reader = flate2::read::GzDecoder::new(&packed[..]);
        std::io::Read::read_to_end(&mut reader, &mut plain).expect("it is gzip");
        assert!(plain == body, "{link}: both encodings have the same text");
        let tag = headers["etag"].to_str().expect("ASCII");
        let known = &[("accept-encoding", "gzip"), ("if-none-match", tag)];
        assert_eq!(send(&app, &path, known).await.0, 304, "{link}");
    }
    assert_eq!(send(&app, "/docs/missing.js", &[]).await.0, 404);
    assert_eq!(send(&app, "/docs/../openapi.json", &[]).await.0, 404);
}

#[tokio::test]
async fn nothing_is_served_unless_it_is_switched_on() {
    for config in [Config::new(), Config::new().docs().without_contract()] {
        let app = things(config);
        for path in ["/", "/docs", "/docs/", "/docs/swagger-ui.css"] {
            assert_eq!(send(&app, path, &[]).await.0, 404, "{path}");
        }
    }
}

#[tokio::test]
async fn the_root_says_where_to_go() {
    let app = things(Config::new().docs());
    let (status, headers, body) = send(&app, "/", &[]).await;
    assert_eq!(status, 200);
    assert_eq!(headers["content-type"], "text/plain; charset=utf-8");
    assert_eq!(headers["vary"], "accept");
    assert!(text(&body).starts_with("Things 1.2\n\ndocs/: "));
    let browser = &[("accept", "text/html,application/xhtml+xml;q=0.9,*/*;q=0.8")];
    let (_, headers, body) = send(&app, "/", browser).await;
    assert_eq!(headers["content-type"], "text/html; charset=utf-8");
    let expected = ["docs/", "openapi.yaml", "openapi.json"];
    assert_eq!(links(text(&body)), expected);
    let (status, headers, _) = send(&app, "/docs", &[]).await;
    assert_eq!(
        (status.as_u16(), &headers["location"]),
        (308, &"docs/".parse().unwrap())
    );
}

#[tokio::test]
async fn links_lead_to_where_the_router_is_nested() {
    let app = Router::new().nest_service("/api/v1", things(Config::new().docs()));
    let (_, headers, _) = send(&app, "/api/v1/docs", &[]).await;
    assert_eq!(headers["location"], "/api/v1/docs/");
    let (_, _, body) = send(&app, "/api/v1", &[("accept", "text/html")]).await;
    for link in links(text(&body)) {
        assert_eq!(send(&app, &link, &[]).await.0, 200, "{link}");
    }
    assert_eq!(send(&app, "/api/v1/docs/", &[]).await.0, 200);
}

#[tokio::test]
async fn paths_of_the_contract_come_first() {
    let app = router("Things", &[&THINGS, &PAGE], Config::new().docs());
    for path in ["/docs/docs.js", "/docs/1"] {
        let (status, _, body) = send(&app, path, &[]).await;
        assert_eq!((status.as_u16(), text(&body)), (200, "an operation"));
    }
    assert_eq!(send(&app, "/docs/", &[]).await.0, 200);
    assert_eq!(send(&app, "/things", &[]).await.0, 200);
}

#[tokio::test]
async fn two_apis_with_pages_can_be_merged() {
    let other = router("Others", &[&OTHERS], Config::new().docs());
    let app = things(Config::new().docs()).merge(other);
    for path in ["/things", "/others"] {
        assert_eq!(text(&send(&app, path, &[]).await.2), "an operation");
    }
    // As with the texts of the contracts, the page is that of the second.
    assert!(text(&send(&app, "/", &[]).await.2).starts_with("Others 1.2\n"));
    assert_eq!(send(&app, "/docs/docs.js", &[]).await.0, 200);
}

#[tokio::test]
async fn a_title_is_no_markup() {
    let title = r#"<script src=x>&\"'"#;
    let app = router(title, &[&THINGS], Config::new().docs());
    for path in ["/", "/docs/"] {
        let (_, _, body) = send(&app, path, &[("accept", "text/html")]).await;
        let page = text(&body);
        assert!(page.contains("&lt;script src=x&gt;&amp;&quot;'"), "{page}");
        assert!(!page.contains("<script src=x>"), "{page}");
    }
}
