//! The router of axum: gives a service every path of a contract, and unknown paths.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::task::{Context, Poll};

use axum::extract::Request;
use axum::response::Response;
use axum::routing::{MethodRouter, Route};
use futures_util::FutureExt;
use http::{HeaderValue, header};
use tower_layer::layer_fn;
use tower_service::Service;

/// Marks a request for a path that axum does not know.
#[derive(Clone)]
pub(super) struct UnknownPath;

/// Returns whether axum has a route for a template. It panics at another beginning, so the service finds
/// such an operation as an unknown path.
pub(super) fn is_mounted(template: &str) -> bool {
    template.starts_with('/')
}

/// The paths by which axum finds everything that is served.
pub(super) struct Mounts {
    operations: BTreeSet<String>,
    /// The paths of what is served beside the operations, and that no operation has.
    beside: Vec<String>,
}

impl Mounts {
    /// Returns the paths of operations with these templates, and of what is served beside them.
    pub(super) fn new(templates: &[&str], beside: &[&str]) -> Self {
        let mounted = templates.iter().filter(|template| is_mounted(template));
        let operations: BTreeSet<String> = mounted.map(|template| axum_path(template)).collect();
        let beside = beside.iter().map(|template| axum_path(template));
        let beside = beside.filter(|path| !operations.contains(path)).collect();
        Self { operations, beside }
    }

    /// Returns a router of axum that runs a service for these paths, and for unknown ones.
    pub(super) fn router(self, service: &impl Responding) -> axum::Router {
        // With a fallback, axum would panic at `merge` with another router that has one. A layer
        // takes the place of the fallback that every router has and that gives way to any other.
        let unknown = service.clone();
        let unknown = Serve(move |mut request: Request| {
            request.extensions_mut().insert(UnknownPath);
            unknown.clone().call(request).map(|Ok(response)| response)
        });
        let mut router = axum::Router::new().layer(layer_fn(move |_: Route| unknown.clone()));
        let service = service.clone();
        // A request that another router has passed on may be marked by that.
        let service = Serve(move |mut request: Request| {
            request.extensions_mut().remove::<UnknownPath>();
            service.clone().call(request).map(|Ok(response)| response)
        });
        for path in &self.operations {
            router = router.route_service(path, service.clone());
        }
        for path in self.beside {
            // Two routers that are merged may both have this path. axum merges two routes of a path
            // that have no method in common, so this one has no method, but a layer in place of the
            // fallback for other methods.
            let text = allowing_get(service.clone());
            let route = MethodRouter::new().layer(layer_fn(move |_: Route| text.clone()));
            router = router.route(&path, route);
        }
        router
    }
}

/// Returns the path of axum's that has all requests for a template.
///
/// A segment with a parameter is one parameter of axum's, which cannot hold all templates (see
/// `path`), and has a number for a name, so that templates that differ in names alone are one route.
/// So is a segment that requests may escape, which axum would compare as it is. The service finds
/// the operation itself.
fn axum_path(template: &str) -> String {
    // A label is no part of the path that a request has.
    let path = template.split(['?', '#']).next().unwrap_or_default();
    let segment = |(at, segment): (usize, &str)| {
        // RFC 3986, section 2.3: the characters that need no escape anywhere. axum has other uses
        // for braces, and for what begins with a colon or an asterisk.
        // Some programs escape a tilde all the same.
        let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._".contains(&byte);
        if segment.bytes().all(is_plain) {
            segment.to_owned()
        } else {
            format!("{{{at}}}")
        }
    };
    let segments = path.split('/').enumerate().map(segment);
    segments.collect::<Vec<_>>().join("/")
}

/// Adds `Allow` to the responses of a path beside the operations: axum would add an empty one.
fn allowing_get(inner: impl Responding) -> impl Responding {
    Serve(move |request: Request| {
        let serving = inner.clone().call(request);
        async move {
            let Ok(mut response) = serving.await;
            let allow = response.headers_mut().entry(header::ALLOW);
            allow.or_insert(HeaderValue::from_static("GET, HEAD"));
            response
        }
    })
}

/// A service that always has a response.
pub(super) trait Responding:
    Service<Request, Response = Response, Error = Infallible, Future: Send>
    + Clone
    + Send
    + Sync
    + 'static
{
}

impl<S> Responding for S where
    S: Service<Request, Response = Response, Error = Infallible, Future: Send>
        + Clone
        + Send
        + Sync
        + 'static
{
}

/// A function as a service that is always ready.
#[derive(Clone)]
pub(super) struct Serve<F>(pub(super) F);

impl<F, Fut> Service<Request> for Serve<F>
where
    F: Fn(Request) -> Fut,
    Fut: Future<Output = Response>,
{
    type Response = Response;
    type Error = Infallible;
    type Future = futures_util::future::Map<Fut, fn(Response) -> Result<Response, Infallible>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Infallible>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: Request) -> Self::Future {
        (self.0)(request).map(Ok)
    }
}
