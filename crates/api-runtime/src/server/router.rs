//! The router: finds the operation of a request, runs it, and renders rejections.

use std::convert::Infallible;
use std::panic::AssertUnwindSafe;
use std::sync::{Arc, Mutex};

use axum::body::Body;
use axum::extract::Request;
use axum::response::Response;
use bytes::Bytes;
#[cfg(feature = "idempotency")]
use futures_util::future::Either;
use futures_util::{FutureExt, stream};
use http::request::Parts;
use http::{HeaderName, HeaderValue, Method, StatusCode, Version, header};
use http_body::Body as _;
use tower_layer::Layer as _;
use tower_service::Service as _;
use tracing::{Instrument, Span};

use super::body::Limits;
use super::call::Call;
use super::conditional;
use super::config::Config;
use super::contract_texts::{self, ContractTexts, ServedTexts};
use super::cross_origin;
#[cfg(feature = "docs")]
use super::docs::{self, Docs};
use super::head;
#[cfg(feature = "idempotency")]
use super::idempotency::{self, Once};
use super::mount::{Mounts, Responding, Serve, UnknownPath, is_mounted};
use super::next::Next;
use super::operation::Operation;
use super::operation_id::{OperationId, OperationSlot};
use super::rejection::{Rejection, RejectionKind, RenderRejection};
use super::remainder;
use super::request_head::RequestHead;
use super::request_id::{self, RequestId};
use super::response::Unwritable;
use super::route::{Route, RouteResult};
use super::traces::RequestSpan;
use crate::routing::{self, Captures, Found, Paths};

/// The value of `Connection` in the last response on a connection.
const CLOSE: HeaderValue = HeaderValue::from_static("close");

/// Marks a request with the method `OPTIONS` that is no preflight, on its way through the layer of CORS.
/// The layer takes every `OPTIONS` for a preflight, but a contract may have operations of that method, whose
/// responses need its headers too.
#[derive(Clone)]
struct OwnOptions;

/// Everything that a router is made of.
#[derive(Debug)]
pub struct Blueprint<T, R> {
    /// What handlers share.
    pub app: T,
    /// The operations.
    pub routes: Vec<Route<T>>,
    /// Checks the credentials for routes that the contract does not know.
    pub guard: Option<Route<T>>,
    /// Renders rejections.
    pub render: R,
    /// The texts of the contract that are served.
    pub contract: ContractTexts,
    /// Settings.
    pub config: Config,
}

/// Builds the router, to which layers, other routes and other routers can be added as to any of
/// axum's.
///
/// Each path of the contract is a route. Unknown paths are for the router too, which rejects them
/// once the credentials are good, unless the program has a fallback of its own, by
/// [`Router::fallback`](axum::Router::fallback) or in a router that is merged. Of two routers that
/// are merged and have none, the second gets the unknown paths, as with any two of axum's; so merge
/// this one into the others: `Router::new().merge(other).merge(this)`.
///
/// If two routers that are merged both serve a contract, `/openapi.json` and `/openapi.yaml` are
/// those of the second. axum panics if they have another path in common. Serve such APIs under
/// different paths, with [`Router::nest_service`](axum::Router::nest_service): unlike `nest`, it
/// leaves unknown paths below its own to this router, so that callers without credentials learn of
/// no path whether it exists.
pub fn router<T, R>(blueprint: Blueprint<T, R>) -> axum::Router
where
    T: Send + Sync + 'static,
    R: RenderRejection,
{
    let origins = blueprint.config.origins.clone();
    let routes = blueprint.routes.iter();
    let paths: Vec<&str> = routes.map(|route| route.operation.path).collect();
    let mounts = Mounts::new(&paths, &beside(&blueprint.config));
    let server = Arc::new(Server::new(blueprint));
    let ids = Arc::clone(&server.config.request_ids);
    let Some(origins) = origins else {
        return mounts.router(&identified(ids, service(server)));
    };
    let shared = origins.layer(server.methods(), server.response_headers());
    let inner = service(server);
    let shared = shared.layer(Serve(move |mut request: Request| {
        if request.extensions_mut().remove::<OwnOptions>().is_some() {
            *request.method_mut() = Method::OPTIONS;
        }
        inner.clone().call(request).map(|Ok(response)| response)
    }));
    let outer = Serve(move |mut request: Request| {
        if *request.method() == Method::OPTIONS && !cross_origin::is_preflight(&request) {
            request.extensions_mut().insert(OwnOptions);
            *request.method_mut() = Method::GET;
        }
        shared.clone().call(request).map(|Ok(response)| response)
    });
    mounts.router(&identified(ids, outer))
}

/// Returns the templates of what is served beside the operations.
fn beside(config: &Config) -> Vec<&'static str> {
    if !config.serves_contract {
        return Vec::new();
    }
    let paths = contract_texts::PATHS.into_iter();
    #[cfg(feature = "docs")]
    let paths = paths.chain(docs::PATHS.into_iter().filter(|_| config.serves_docs));
    paths.collect()
}

/// Adds request ids to a service: the current one to what runs inside, and the header to each
/// response.
fn identified(
    ids: Arc<dyn Fn() -> RequestId + Send + Sync>,
    inner: impl Responding,
) -> impl Responding {
    Serve(move |request: Request| {
        let id = RequestId::of(request.headers()).unwrap_or_else(|| ids());
        let serving = id.clone().scope(inner.clone().call(request));
        async move {
            let Ok(mut response) = serving.await;
            response
                .headers_mut()
                .insert(request_id::HEADER, id.into_header());
            response
        }
    })
}

/// Returns a server as a service that cannot fail.
fn service<T, R>(server: Arc<Server<T, R>>) -> impl Responding
where
    T: Send + Sync + 'static,
    R: RenderRejection,
{
    Serve(move |request| {
        let server = Arc::clone(&server);
        async move { server.serve(request).await }
    })
}

/// A route with what each of its requests needs.
struct Served<T> {
    route: Route<T>,
    limits: Limits,
    /// The names of the path's parameters, in order.
    names: Arc<[&'static str]>,
    /// Whether requests may have an idempotency key.
    #[cfg(feature = "idempotency")]
    has_keys: bool,
}

struct Server<T, R> {
    app: Arc<T>,
    routes: Vec<Served<T>>,
    paths: Paths,
    guard: Option<Route<T>>,
    render: R,
    contract: Option<ServedTexts>,
    #[cfg(feature = "docs")]
    docs: Option<Docs>,
    config: Config,
}

impl<T, R> Server<T, R>
where
    T: Send + Sync + 'static,
    R: RenderRejection,
{
    fn new(blueprint: Blueprint<T, R>) -> Self {
        let Blueprint {
            app,
            routes,
            guard,
            render,
            contract,
            config,
        } = blueprint;
        let mut paths = Paths::default();
        for (at, route) in routes.iter().enumerate() {
            let method = Method::from(route.operation.method);
            paths.add(route.operation.path, method.as_str(), at);
        }
        Self {
            app: Arc::new(app),
            routes: routes
                .into_iter()
                .map(|route| Served {
                    limits: config.limits(route.operation),
                    #[cfg(feature = "idempotency")]
                    has_keys: idempotency::has_keys(route.operation),
                    names: routing::names(route.operation.path).collect(),
                    route,
                })
                .collect(),
            paths,
            guard,
            render,
            contract: config.serves_contract.then(|| ServedTexts::new(contract)),
            #[cfg(feature = "docs")]
            docs: (config.serves_contract && config.serves_docs).then(|| Docs::new(contract)),
            config,
        }
    }

    async fn serve(&self, request: Request) -> Response {
        let (parts, body) = request.into_parts();
        let (body, ending) = remainder::received(&parts, body);
        let is_head = parts.method == Method::HEAD;
        let mut response =
            if let Some(violation) = head::violation(&parts, self.config.requires_host) {
                drop(body);
                self.reject_head(&parts, violation)
            } else if head::size(&parts) > self.config.head_limit {
                drop(body);
                self.reject_large_head()
            } else {
                self.respond(parts, body).await
            };
        if ending.is_certain() {
            response.headers_mut().insert(header::CONNECTION, CLOSE);
        }
        // Last, so that a HEAD has all headers of a GET.
        if is_head {
            without_body(response)
        } else {
            response
        }
    }

    async fn respond(&self, parts: Parts, body: Body) -> Response {
        let Some(around) = &self.config.around else {
            return self.route(parts, body).await;
        };
        let next = Next::new(|request: Request| {
            let (parts, body) = request.into_parts();
            Box::pin(self.route(parts, body))
        });
        around(Request::from_parts(parts, body), next)
            .await
            .unwrap_or_else(|rejected| rejected.into_response(&self.render))
    }

    async fn route(&self, parts: Parts, body: Body) -> Response {
        match self
            .paths
            .find(parts.method.as_str(), parts.uri.path(), parts.uri.query())
        {
            Found::Route(at, captures) if self.is_reached(&parts, at) => {
                self.run(at, captures, parts, body).await
            }
            Found::OtherMethods(path) => {
                let allow = HeaderValue::from_str(&path.methods().join(", "));
                let allow = allow.expect("methods are tokens");
                self.reject_route(parts, RejectionKind::MethodNotAllowed, Some(allow))
                    .await
            }
            // After the contract's own paths, which may include `/openapi.json`.
            Found::Route(..) | Found::Nothing => match self.beside(&parts) {
                Some(response) => response,
                None => {
                    self.reject_route(parts, RejectionKind::UnknownRoute, None)
                        .await
                }
            },
        }
    }

    /// Returns whether a request has come to an operation by the route that axum has for it. Layers of
    /// routes, such as one that checks who calls, do not run for requests of unknown paths, and axum
    /// compares paths as they are written: `/th%69ngs` is unknown to it where `/things` is a path.
    fn is_reached(&self, parts: &Parts, at: usize) -> bool {
        let is_unknown = parts.extensions.get::<UnknownPath>().is_some();
        !(is_unknown && is_mounted(self.routes[at].route.operation.path))
    }

    async fn run(&self, at: usize, captures: Captures, parts: Parts, body: Body) -> Response {
        let Served {
            route,
            limits,
            names,
            #[cfg(feature = "idempotency")]
            has_keys,
        } = &self.routes[at];
        let operation = route.operation;
        let id = OperationId(operation.id);
        OperationSlot::fill(&parts.extensions, id);
        let request = RequestSpan::new(operation, &parts, self.config.traces.as_ref());
        let parts = Arc::new(parts);
        let asks = self.config.conditional_gets && is_conditional_get(&parts);
        let asking = asks.then(|| Arc::clone(&parts));
        #[cfg(feature = "idempotency")]
        let once = self.once(*has_keys, &parts);
        let head = RequestHead::new(&parts);
        #[cfg(feature = "idempotency")]
        let head = head.with_once(once.clone());
        let call = Call {
            parts,
            body: Mutex::new(body),
            operation,
            names: Arc::clone(names),
            captures,
            limits: *limits,
            exceeded: None,
            #[cfg(feature = "idempotency")]
            once: once.clone(),
        };
        let outcome = head.scope((route.serve)(Arc::clone(&self.app), call));
        #[cfg(feature = "idempotency")]
        let outcome = match once {
            Some(once) => Either::Left(request.span.in_scope(|| once.run(outcome))),
            None => Either::Right(outcome),
        };
        let mut response = self.settle(operation, outcome, &request.span).await;
        if let Some(asking) = asking {
            response = conditional::not_modified(&asking.headers, response);
        }
        request.end(response.status());
        for (name, value) in lifetime(operation) {
            // A handler that sends one knows more about the resource.
            let entry = response.headers_mut().entry(name);
            entry.or_insert(HeaderValue::from_static(value));
        }
        response.extensions_mut().insert(id);
        if let Some(context) = request.context {
            response.extensions_mut().insert(context);
        }
        response
    }

    /// Returns what a request needs that has an idempotency key, if keys are switched on.
    #[cfg(feature = "idempotency")]
    fn once(&self, has_keys: bool, parts: &Parts) -> Option<Arc<Once>> {
        let idempotency = self.config.idempotency.as_ref()?;
        (has_keys && Once::is_asked(&parts.headers)).then(|| Once::new(idempotency))
    }

    /// Waits for a route; a panic or a response that cannot be written becomes a 500.
    async fn settle(
        &self,
        operation: &'static Operation,
        outcome: impl Future<Output = RouteResult>,
        span: &Span,
    ) -> Response {
        // Nothing of this call is used after a panic; the state that handlers share is theirs to
        // keep consistent.
        let settled = AssertUnwindSafe(outcome.instrument(span.clone()))
            .catch_unwind()
            .await;
        let mut rejection = match settled {
            Ok(Ok(response)) if response.extensions().get::<Unwritable>().is_none() => {
                return response;
            }
            Ok(Err(rejected)) => *rejected,
            Ok(Ok(_)) => internal(),
            Err(_) => {
                span.in_scope(|| tracing::error!("a handler panicked"));
                internal()
            }
        };
        rejection.operation = Some(operation);
        span.in_scope(|| tracing::debug!(kind = ?rejection.kind, "request rejected"));
        rejection.into_response(&self.render)
    }

    /// Rejects a head that breaks the rules of HTTP.
    fn reject_head(&self, parts: &Parts, violation: &'static str) -> Response {
        let rejection = Rejection::new(RejectionKind::MalformedHead, violation);
        let mut response = rejection.into_response(&self.render);
        // What follows on the connection may be meant as another request than it seems.
        if parts.version <= Version::HTTP_11 {
            response.headers_mut().insert(header::CONNECTION, CLOSE);
        }
        response
    }

    /// Rejects a head that is too large.
    fn reject_large_head(&self) -> Response {
        let limit = self.config.head_limit;
        let message = format!("the head of the request is too large: send at most {limit} bytes");
        Rejection::new(RejectionKind::HeadTooLarge, message).into_response(&self.render)
    }

    /// Rejects a path or method that the contract does not know, once the credentials are good.
    async fn reject_route(
        &self,
        parts: Parts,
        kind: RejectionKind,
        allow: Option<HeaderValue>,
    ) -> Response {
        if let Some(guard) = &self.guard {
            let parts = Arc::new(parts);
            let head = RequestHead::new(&parts);
            let call = Call {
                parts,
                // No body is read: only the credentials are checked.
                body: Mutex::new(Body::empty()),
                operation: guard.operation,
                names: Arc::default(),
                captures: Captures::new(),
                limits: self.config.limits(guard.operation),
                exceeded: None,
                #[cfg(feature = "idempotency")]
                once: None,
            };
            let checked = head.scope((guard.serve)(Arc::clone(&self.app), call));
            let checked = AssertUnwindSafe(checked).catch_unwind().await;
            match checked {
                Ok(Ok(_)) => {}
                Ok(Err(rejected)) => return rejected.into_response(&self.render),
                Err(_) => return internal().into_response(&self.render),
            }
        }
        let message = match kind {
            RejectionKind::MethodNotAllowed => {
                "the path does not have this method: the `Allow` header lists those that it has"
            }
            _ => "there is no such path: the contract lists all paths",
        };
        let mut rejection = Rejection::new(kind, message);
        rejection.allow = allow;
        rejection.into_response(&self.render)
    }

    /// Returns the response to a request for what is served beside the operations: the texts of the
    /// contract, and the reference page. Returns `None` for other requests.
    fn beside(&self, parts: &Parts) -> Option<Response> {
        if !matches!(parts.method, Method::GET | Method::HEAD) {
            return None;
        }
        let contract = self.contract.as_ref();
        let text = contract.and_then(|texts| texts.get(parts.uri.path(), &parts.headers));
        #[cfg(feature = "docs")]
        let text = text.or_else(|| self.docs.as_ref()?.get(parts));
        text
    }

    /// Returns the methods of the contract's operations, each once.
    fn methods(&self) -> Vec<Method> {
        let mut methods = Vec::new();
        for served in &self.routes {
            let method = Method::from(served.route.operation.method);
            if !methods.contains(&method) {
                methods.push(method);
            }
        }
        methods
    }

    /// Returns the names of the headers that the contract lists for responses, each once.
    fn response_headers(&self) -> Vec<HeaderName> {
        let responses = self
            .routes
            .iter()
            .flat_map(|Served { route, .. }| [route.operation.responses, route.operation.errors])
            .flatten();
        let listed = responses
            .flat_map(|response| response.headers)
            .filter_map(|listed| HeaderName::from_bytes(listed.name.as_bytes()).ok());
        let operations = self.routes.iter().map(|served| served.route.operation);
        let added = operations.flat_map(lifetime).map(|(name, _)| name);
        let mut names: Vec<HeaderName> = listed.chain(added).collect();
        #[cfg(feature = "idempotency")]
        names.extend(
            self.config
                .idempotency
                .as_ref()
                .map(|_| idempotency::REPLAYED),
        );
        names.sort_by(|one, other| one.as_str().cmp(other.as_str()));
        names.dedup();
        names
    }
}

/// The header that says since when an operation is deprecated (RFC 9745).
const DEPRECATION: HeaderName = HeaderName::from_static("deprecation");
/// The header that says when an operation ends (RFC 8594).
const SUNSET: HeaderName = HeaderName::from_static("sunset");

/// Returns the headers of each response of an operation that is going away.
fn lifetime(operation: &Operation) -> impl Iterator<Item = (HeaderName, &'static str)> + use<> {
    let headers = [
        (DEPRECATION, operation.deprecation),
        (SUNSET, operation.sunset),
    ];
    headers
        .into_iter()
        .filter_map(|(name, value)| Some((name, value?)))
}

/// Returns whether a request asks for a representation that its caller does not have yet.
fn is_conditional_get(parts: &Parts) -> bool {
    matches!(parts.method, Method::GET | Method::HEAD)
        && parts.headers.contains_key(header::IF_NONE_MATCH)
}

/// Makes the response to `HEAD`: everything but the body, with its length where that is known.
fn without_body(mut response: Response) -> Response {
    // RFC 9110, section 8.6: a 204 has no length, and that of a 304 would be the length of the 200.
    let has_length = !matches!(
        response.status(),
        StatusCode::NO_CONTENT | StatusCode::NOT_MODIFIED
    );
    if !has_length {
        // axum would add the length of an empty body.
        let nothing = stream::empty::<Result<Bytes, Infallible>>();
        *response.body_mut() = Body::from_stream(nothing);
        return response;
    }
    if let Some(length) = response.body().size_hint().exact() {
        response
            .headers_mut()
            .entry(header::CONTENT_LENGTH)
            .or_insert(length.into());
    }
    *response.body_mut() = Body::empty();
    response
}

fn internal() -> Rejection {
    Rejection::new(
        RejectionKind::Internal,
        "the server failed: the request id names the failure in its log",
    )
}
