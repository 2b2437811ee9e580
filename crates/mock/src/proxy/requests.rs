//! Judges requests: the router of generated servers, whose operations only read the request.

use std::cell::RefCell;
use std::sync::Arc;

use api_runtime::server::{
    self, Blueprint, Call, Config, ContractTexts, Rejection, RejectionKind, RenderRejection,
    RequestHead, Response, Route, RouteFuture,
};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use codegen::ir;
use http::request::Parts;
use http::{HeaderMap, header};
use serde_json::Value;
use tower_service::Service as _;

use super::content_type;
use super::findings::{Finding, Side};
use crate::bounds::{MOST_BUFFERED, MOST_JUDGED};
use crate::refuse::Refusals;
use crate::request::Reading;
use crate::router::State;
use crate::{credentials, describe};

/// The check of requests.
pub(super) struct Requests {
    router: axum::Router,
}

/// What was found of a request.
#[derive(Default)]
pub(super) struct Verdict {
    /// The operation, if the contract has it.
    pub(super) operation: Option<&'static ir::Operation>,
    /// Whether the body is checked as a whole.
    pub(super) checks_body: bool,
    pub(super) findings: Vec<Finding>,
    /// The response by which a mock refuses the request.
    pub(super) refused: Option<Response>,
}

tokio::task_local! {
    /// What is known of the request that the router checks.
    static KNOWN: RefCell<Known>;
}

#[derive(Default)]
struct Known {
    operation: Option<&'static ir::Operation>,
    checks_body: bool,
    rejection: Option<Rejection>,
}

/// Writes rejections as a mock does, and keeps the last one.
struct Kept(Refusals);

impl RenderRejection for Kept {
    type Body = Value;

    fn render(&self, rejection: &Rejection) -> Value {
        self.render_with_type(rejection).0
    }

    fn render_with_type(&self, rejection: &Rejection) -> (Value, &'static str) {
        let _ = KNOWN.try_with(|known| known.borrow_mut().rejection = Some(rejection.clone()));
        self.0.render_with_type(rejection)
    }
}

impl Requests {
    pub(super) fn new(state: State) -> Self {
        let api = state.api;
        let operations = api.operations.iter();
        let routes = operations.map(|it| Route::new(describe::operation(api, it), check));
        let guard = describe::unknown_route(api).map(|unknown| Route::new(unknown, guard));
        let router = server::router(Blueprint {
            render: Kept(Refusals::new(&state)),
            app: state,
            routes: routes.collect(),
            guard,
            contract: ContractTexts { json: "", yaml: "" },
            // Larger than all that gets here: how much a server takes is no rule of the contract.
            config: Config::new()
                .without_contract()
                .head_limit(MOST_BUFFERED)
                .body_limit(MOST_JUDGED),
        });
        Self { router }
    }

    /// Judges the head of a request, and the media type of its body.
    pub(super) async fn judge_head(&self, parts: &Parts) -> Verdict {
        let has_body = parts.headers.contains_key(header::TRANSFER_ENCODING)
            || parts
                .headers
                .get(header::CONTENT_LENGTH)
                .is_some_and(|it| it != "0");
        // Nobody reads it: it is there because a body is.
        let body = if has_body {
            Body::from("-")
        } else {
            Body::empty()
        };
        self.run(parts, body, Reading::Head).await
    }

    /// Judges a request with its body.
    pub(super) async fn judge(&self, parts: &Parts, body: Bytes) -> Verdict {
        self.run(parts, Body::from(body), Reading::Whole).await
    }

    async fn run(&self, parts: &Parts, body: Body, reading: Reading) -> Verdict {
        let mut request = Request::new(body);
        *request.method_mut() = parts.method.clone();
        *request.uri_mut() = parts.uri.clone();
        *request.headers_mut() = parts.headers.clone();
        // The body is here, in one piece.
        request.headers_mut().remove(header::TRANSFER_ENCODING);
        request.headers_mut().remove(header::EXPECT);
        request.extensions_mut().insert(reading);
        let mut router = self.router.clone();
        let running = async {
            let response = router.call(request).await;
            (response, KNOWN.with(RefCell::take))
        };
        let (Ok(response), known) = KNOWN.scope(RefCell::default(), running).await;
        let mut verdict = Verdict {
            operation: known.operation,
            checks_body: known.checks_body,
            ..Verdict::default()
        };
        if let Some(rejection) = known.rejection.filter(|it| is_of_contract(it.kind)) {
            verdict.findings = Finding::of(Side::Request, &rejection);
            verdict.refused = Some(response);
        }
        verdict
    }
}

/// Returns whether a rejection says that the request does not fit the contract.
fn is_of_contract(kind: RejectionKind) -> bool {
    match kind {
        RejectionKind::MissingCredentials
        | RejectionKind::InvalidCredentials
        | RejectionKind::UnknownRoute
        | RejectionKind::MethodNotAllowed
        | RejectionKind::MalformedHead
        | RejectionKind::InvalidParameters
        | RejectionKind::InvalidBody
        | RejectionKind::UnsupportedMediaType
        | RejectionKind::Internal => true,
        // How much a server takes, and what it decides.
        _ => false,
    }
}

/// Reads the request of an operation.
fn check(state: Arc<State>, mut call: Call) -> RouteFuture {
    Box::pin(async move {
        let served = state.served(&call)?;
        let head = RequestHead::current();
        let no_headers = HeaderMap::new();
        let headers = head.as_ref().map_or(&no_headers, RequestHead::headers);
        let checks_body = served.wanted.checks_body(content_type(headers));
        let _ = KNOWN.try_with(|known| {
            let mut known = known.borrow_mut();
            known.operation = Some(served.operation);
            known.checks_body = checks_body;
        });
        let extensions = head.as_ref().map(RequestHead::extensions);
        let reading = extensions.and_then(|it| it.get().copied());
        credentials::check(state.api, &served.operation.security, &call)?;
        let reading = reading.unwrap_or(Reading::Whole);
        served.wanted.read(&mut call, reading).await?;
        Ok(Response::default())
    })
}

/// Checks the credentials of a request for a path that the contract does not have.
fn guard(state: Arc<State>, call: Call) -> RouteFuture {
    Box::pin(async move {
        credentials::check(state.api, &state.api.contract.security, &call)?;
        Ok(Response::default())
    })
}
