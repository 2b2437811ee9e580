//! An upstream of the gateway. It does what the path of a request says, and keeps what it receives.

use std::convert::Infallible;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::extract::Request;
use axum::response::Response;
use futures_util::{Stream, StreamExt, stream};
use http::{HeaderMap, StatusCode};
use http_body_util::BodyExt;
use tokio::net::TcpListener;

/// The time between two events of a stream.
pub const PAUSE: Duration = Duration::from_millis(100);

/// A request that has arrived.
#[derive(Debug, Clone)]
pub struct Arrived {
    pub method: String,
    pub target: String,
    pub headers: HeaderMap,
    pub body: Bytes,
}

/// An upstream in the process of the test.
pub struct Upstream {
    /// The URL without a path.
    pub url: String,
    seen: Arc<Seen>,
}

/// What the requests of an upstream share.
#[derive(Default)]
struct Seen {
    arrived: Mutex<Vec<Arrived>>,
    /// The events that were sent.
    events: AtomicUsize,
    /// The responses that have begun or are waited for.
    open: AtomicUsize,
}

impl Upstream {
    pub async fn start() -> Self {
        let listener = TcpListener::bind("127.0.0.1:0")
            .await
            .expect("a port is free");
        let address = listener.local_addr().expect("a listener has an address");
        let (upstream, router) = Self::at(format!("http://{address}"));
        tokio::spawn(async move { axum::serve(listener, router).await });
        upstream
    }

    /// Returns an upstream at a URL, and the router that the caller serves there.
    pub fn at(url: String) -> (Self, Router) {
        let seen = Arc::<Seen>::default();
        let shared = Arc::clone(&seen);
        let router = Router::new().fallback(move |request: Request| {
            let seen = Arc::clone(&shared);
            async move { respond(seen, request).await }
        });
        (Self { url, seen }, router)
    }

    /// Returns the requests that have arrived, each with the body as far as it was read.
    pub fn arrived(&self) -> Vec<Arrived> {
        self.seen.arrived.lock().expect("nobody panics").clone()
    }

    /// Returns how many events were sent in all streams.
    pub fn events(&self) -> usize {
        self.seen.events.load(Ordering::SeqCst)
    }

    /// Returns how many requests have not ended.
    pub fn open(&self) -> usize {
        self.seen.open.load(Ordering::SeqCst)
    }

    /// Checks that no request had a secret anywhere.
    pub fn ensure_never_had(&self, secret: &str) {
        let arrived = self.arrived();
        assert!(!arrived.is_empty(), "nothing was forwarded");
        let text = format!("{arrived:?}");
        assert!(!text.contains(secret), "a key was forwarded: {text}");
    }
}

/// A request that has not ended.
struct Open(Arc<Seen>);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::SeqCst);
    }
}

async fn respond(seen: Arc<Seen>, request: Request) -> Response {
    seen.open.fetch_add(1, Ordering::SeqCst);
    let open = Open(Arc::clone(&seen));
    let (parts, body) = request.into_parts();
    if parts.uri.path() == "/v1/early" {
        drop(open);
        let mut response = Response::new(Body::from("early"));
        *response.status_mut() = StatusCode::FORBIDDEN;
        return response;
    }
    let body = body
        .collect()
        .await
        .map(http_body_util::Collected::to_bytes);
    seen.arrived.lock().expect("nobody panics").push(Arrived {
        method: parts.method.to_string(),
        target: parts.uri.to_string(),
        headers: parts.headers,
        body: body.unwrap_or_default(),
    });
    let rest = parts.uri.path().trim_start_matches("/v1/").to_owned();
    let (action, number) = rest.split_once('/').unwrap_or((&rest, ""));
    let number: usize = number.parse().unwrap_or_default();
    match action {
        "stream" => events(number, open, None),
        "abort" => events(number, open, Some(std::io::Error::other("aborted"))),
        "pause" => {
            seen.open.fetch_add(1, Ordering::SeqCst);
            let pausing = Open(Arc::clone(&seen));
            let pause = stream::pending().map(move |event| {
                let _ = &pausing;
                event
            });
            stream_of(events_of(number, open).chain(pause))
        }
        "flood" => {
            let zeros = stream::repeat(Bytes::from(vec![0; 64 << 10]));
            let zeros = zeros.map(move |bytes| {
                let _ = &open;
                Ok::<_, Infallible>(bytes)
            });
            stream_of(zeros)
        }
        "late" => {
            tokio::time::sleep(Duration::from_millis(number as u64)).await;
            drop(open);
            Response::new(Body::from("late"))
        }
        "status" => {
            let mut response = Response::new(Body::from("{\"mine\":\"sk-operator\"}"));
            let status = u16::try_from(number).expect("it is a status");
            *response.status_mut() = StatusCode::from_u16(status).expect("it is a status");
            response
        }
        _ => {
            let mut response = Response::new(Body::from("{\"object\":\"list\"}"));
            for (name, value) in [
                ("content-type", "application/json"),
                ("set-cookie", "account=operator"),
                ("openai-organization", "operator"),
                ("x-request-id", "of-upstream"),
                ("openai-version", "2020-10-01"),
            ] {
                let value = value.parse().expect("it is a header");
                response.headers_mut().insert(name, value);
            }
            response
        }
    }
}

/// Returns a response of events, which ends with an error if there is one.
fn events(count: usize, open: Open, error: Option<std::io::Error>) -> Response {
    let events = events_of(count, open).map(|event| match event {
        Ok(event) => Ok(event),
        Err(never) => match never {},
    });
    let end = stream::iter(error).then(|error| async {
        // The last event is on its way by then.
        tokio::time::sleep(PAUSE).await;
        Err(error)
    });
    stream_of(events.chain(end))
}

fn stream_of<E: Into<axum::BoxError> + 'static>(
    events: impl Stream<Item = Result<Bytes, E>> + Send + 'static,
) -> Response {
    let mut response = Response::new(Body::from_stream(events));
    let media_type = "text/event-stream".parse().expect("it is a header");
    response.headers_mut().insert("content-type", media_type);
    response
}

/// Returns events, one for each [`PAUSE`]. The request is open until they are dropped.
fn events_of(count: usize, open: Open) -> impl Stream<Item = Result<Bytes, Infallible>> + Send {
    stream::unfold((0, open), move |(number, open)| async move {
        if number == count {
            return None;
        }
        tokio::time::sleep(PAUSE).await;
        open.0.events.fetch_add(1, Ordering::SeqCst);
        let event = Bytes::from(format!("data: {number}\n\n"));
        Some((Ok(event), (number + 1, open)))
    })
}
