//! The server of the preview: its page, the last judgement, and behind them the mock.

use std::convert::Infallible;
use std::net::SocketAddr;
use std::sync::{Arc, PoisonError, RwLock};

use axum::Router;
use axum::body::Body;
use axum::extract::{Request, State};
use axum::http::header::{self, HeaderName};
use axum::http::uri::{Authority, Scheme};
use axum::http::{HeaderValue, StatusCode, Uri, Version};
use axum::response::sse::{Event, KeepAlive, Sse};
use axum::response::{IntoResponse as _, Redirect, Response};
use axum::routing::get;
use futures_util::Stream;
use futures_util::stream::unfold;
use hyper_util::client::legacy::Client;
use hyper_util::client::legacy::connect::HttpConnector;
use hyper_util::rt::TokioExecutor;
use serde_json::Value;
use tokio::sync::watch;

use super::revision::Judged;

const HTML: &str = include_str!("page.html");
const SCRIPT: &str = include_str!("page.js");
const STYLE: &str = include_str!("page.css");

/// What a browser may do for the page: load the files of this server and call this server. Swagger
/// UI has styles in attributes and images in its style sheet.
const POLICY: HeaderValue = HeaderValue::from_static(
    "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; \
     connect-src 'self'; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
);

/// The headers that are about one connection (RFC 9110, 7.6.1).
const OF_CONNECTION: [HeaderName; 4] = [
    header::CONNECTION,
    header::TE,
    header::TRANSFER_ENCODING,
    header::UPGRADE,
];

/// What is shown at present: the last judgement as JSON, and where the mock is.
#[derive(Debug, Clone)]
pub(super) struct Shown {
    judgement: Arc<watch::Sender<Arc<str>>>,
    mock: Arc<RwLock<Option<SocketAddr>>>,
    client: Client<HttpConnector, Body>,
}

impl Shown {
    pub(super) fn new() -> Self {
        Self {
            judgement: Arc::new(watch::Sender::new(Value::Null.to_string().into())),
            mock: Arc::default(),
            client: Client::builder(TokioExecutor::new()).build_http(),
        }
    }

    /// Shows a judgement on all pages.
    pub(super) fn set(&self, judged: &Judged) {
        self.judgement
            .send_replace(judged.json().to_string().into());
    }

    /// Has further requests answered by the mock at an address.
    pub(super) fn set_mock(&self, address: SocketAddr) {
        *self.mock.write().unwrap_or_else(PoisonError::into_inner) = Some(address);
    }

    fn mock(&self) -> Option<SocketAddr> {
        *self.mock.read().unwrap_or_else(PoisonError::into_inner)
    }
}

pub(super) fn router(shown: Shown) -> Router {
    Router::new()
        .route(
            "/preview",
            get(|| async { Redirect::permanent("/preview/") }),
        )
        .route(
            "/preview/",
            get(|| async { file("text/html; charset=utf-8", HTML) }),
        )
        .route(
            "/preview/page.js",
            get(|| async { file("text/javascript; charset=utf-8", SCRIPT) }),
        )
        .route(
            "/preview/page.css",
            get(|| async { file("text/css; charset=utf-8", STYLE) }),
        )
        .route("/preview/judgements", get(judgements))
        .fallback(forward)
        .with_state(shown)
}

fn file(content_type: &'static str, text: &'static str) -> Response {
    let headers = [
        (header::CONTENT_TYPE, HeaderValue::from_static(content_type)),
        (header::CONTENT_SECURITY_POLICY, POLICY),
        (
            header::X_CONTENT_TYPE_OPTIONS,
            HeaderValue::from_static("nosniff"),
        ),
        (
            header::REFERRER_POLICY,
            HeaderValue::from_static("no-referrer"),
        ),
        // The page of an older program would not understand what this one sends.
        (header::CACHE_CONTROL, HeaderValue::from_static("no-cache")),
    ];
    (headers, text).into_response()
}

/// Sends the judgement, and each later one, as an event. A page that reads slowly misses some, but
/// never the last.
async fn judgements(
    State(shown): State<Shown>,
) -> Sse<impl Stream<Item = Result<Event, Infallible>>> {
    let mut judgement = shown.judgement.subscribe();
    // Also the one that is there already.
    judgement.mark_changed();
    let events = unfold(judgement, |mut judgement| async {
        judgement.changed().await.ok()?;
        let text = judgement.borrow_and_update().clone();
        Some((Ok(Event::default().data(&*text)), judgement))
    });
    Sse::new(events).keep_alive(KeepAlive::default())
}

/// Has the mock answer a request.
async fn forward(State(shown): State<Shown>, mut request: Request) -> Response {
    let Some(mock) = shown.mock() else {
        let text = "There is no mock yet, because the document has errors: /preview/ shows them.\n";
        return (StatusCode::SERVICE_UNAVAILABLE, text).into_response();
    };
    let mut uri = request.uri().clone().into_parts();
    uri.scheme = Some(Scheme::HTTP);
    uri.authority = Authority::try_from(mock.to_string()).ok();
    let Ok(uri) = Uri::from_parts(uri) else {
        // Such as `*` of `OPTIONS *`.
        return StatusCode::BAD_REQUEST.into_response();
    };
    *request.uri_mut() = uri;
    // The mock speaks no other version.
    *request.version_mut() = Version::HTTP_11;
    for name in &OF_CONNECTION {
        request.headers_mut().remove(name);
    }
    let Ok(response) = shown.client.request(request).await else {
        // It has ended: usually because there is a newer one.
        let text = "The mock does not respond: try again. Saving the document starts a new one.\n";
        let again = [(header::RETRY_AFTER, "1")];
        return (StatusCode::SERVICE_UNAVAILABLE, again, text).into_response();
    };
    let mut response = response.map(Body::new);
    for name in &OF_CONNECTION {
        response.headers_mut().remove(name);
    }
    response
}
