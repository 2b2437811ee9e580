//! Judges responses. The headers and the body of each are read by the run time of generated servers
//! as those of a request would be, so that they are judged by the same rules and in the same words.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::Arc;

use api_runtime::server::{
    self, Blueprint, Body as Described, Call, Config, ContractTexts, Media, Method, Operation,
    Problem, ProblemBody, Rejection, RejectionKind, RenderRejection, RequestHead, Response, Route,
    RouteFuture, SecurityRequirements,
};
use axum::body::{Body, Bytes};
use axum::extract::Request;
use codegen::ir;
use http::{StatusCode, header, response};
use tower_service::Service as _;

use super::content_type;
use super::findings::{Finding, Side};
use crate::bounds::{MOST_BUFFERED, MOST_JUDGED};
use crate::describe;
use crate::request::{Reading, Wanted, includes};
use crate::respond::{is_framing, listed};
use crate::router::{Listed, State};

/// The maximum number of characters of a content type that a finding repeats.
const MOST_NAME: usize = 100;

/// The check of responses.
pub(super) struct Responses {
    router: axum::Router,
    /// The responses of each operation, by its id.
    operations: HashMap<&'static str, Vec<Listed>>,
    /// What each response holds, and the names of its headers, by its number.
    checks: Checks,
}

/// The checks of all responses, by their numbers.
#[derive(Clone)]
struct Checks(Arc<Vec<Check>>);

struct Check {
    response: &'static ir::Response,
    wanted: Wanted,
    headers: Vec<&'static str>,
}

tokio::task_local! {
    /// Why the response that is read does not fit.
    static REJECTED: RefCell<Option<Rejection>>;
}

/// Keeps the last rejection.
struct Kept;

impl RenderRejection for Kept {
    type Body = ProblemBody;

    fn render(&self, rejection: &Rejection) -> ProblemBody {
        // The run time shows a rejection to nothing but what writes its body.
        let _ = REJECTED.try_with(|kept| kept.replace(Some(rejection.clone())));
        Problem.render(rejection)
    }
}

impl Responses {
    pub(super) fn new(state: &State) -> Self {
        let api = state.api;
        let (mut checks, mut routes) = (Vec::new(), Vec::new());
        for response in api.operations.iter().flat_map(|it| &it.responses) {
            let declared = response.headers.iter().chain(&api.request_id);
            let headers: Vec<&ir::Parameter> = declared
                .filter(|header| !is_framing(&header.wire))
                .collect();
            let parameters = headers
                .iter()
                .map(|header| describe::parameter(api, header));
            let at: &'static str = checks.len().to_string().leak();
            let media = response
                .media
                .iter()
                .map(|media| describe::media(api, media));
            let media: &'static [Media] = Vec::leak(media.collect());
            let operation = Operation {
                id: at,
                // A method whose requests may have a body.
                method: Method::new("POST"),
                path: format!("/{at}").leak(),
                tag: None,
                parameters: Vec::leak(parameters.collect()),
                body: (!media.is_empty()).then(|| Described::new(media).required()),
                responses: &[],
                errors: &[],
                rejections: &[],
                deprecation: None,
                sunset: None,
                security: SecurityRequirements {
                    alternatives: &[],
                    challenge: "",
                },
            };
            routes.push(Route::new(Box::leak(Box::new(operation)), read));
            checks.push(Check {
                response,
                wanted: Wanted::of_response(state.types, &headers, &response.media),
                headers: headers.iter().map(|header| &*header.wire).collect(),
            });
        }
        let checks = Checks(Arc::new(checks));
        let router = server::router(Blueprint {
            app: checks.clone(),
            routes,
            guard: None,
            render: Kept,
            contract: ContractTexts { json: "", yaml: "" },
            config: Config::new()
                .without_contract()
                // As large as the head of a response that the proxy reads.
                .head_limit(MOST_BUFFERED)
                .body_limit(MOST_JUDGED),
        });
        let operations = state.operations();
        let operations = operations.map(|it| (it.operation.id.as_str(), it.responses.clone()));
        Self {
            router,
            operations: operations.collect(),
            checks,
        }
    }

    /// Returns the number of the check of a response.
    fn check(&self, operation: &str, status: StatusCode) -> Option<usize> {
        let listed = listed(self.operations.get(operation)?, status)?;
        let mut checks = self.checks.0.iter();
        // By identity, because responses of different operations can be alike.
        checks.position(|check| std::ptr::eq(check.response, listed.response))
    }

    /// Returns whether the body of a response is checked as a whole, and not passed on as a stream.
    pub(super) fn checks_body(&self, operation: &str, head: &response::Parts) -> bool {
        let check = self.check(operation, head.status);
        check.is_some_and(|at| {
            self.checks.0[at]
                .wanted
                .checks_body(content_type(&head.headers))
        })
    }

    /// Returns what of a response does not fit the contract. `body` is the whole body, if that is
    /// judged.
    pub(super) async fn judge(
        &self,
        operation: &'static str,
        head: &response::Parts,
        has_body: bool,
        body: Option<Bytes>,
    ) -> Vec<Finding> {
        let finding = |place: &str, message: String| Finding {
            side: Side::Response,
            place: place.to_owned(),
            message,
        };
        let Some(at) = self.check(operation, head.status) else {
            let listed = self.operations.get(operation).into_iter().flatten();
            let listed: Vec<String> = listed.map(|it| it.response.status.to_string()).collect();
            let status = head.status.as_u16();
            let message = format!("{status} is not listed, but {}", listed.join(", "));
            return vec![finding("status", message)];
        };
        let check = &self.checks.0[at];
        let media = &check.response.media;
        let names = || {
            let names: Vec<&str> = media.iter().map(|media| &*media.name).collect();
            names.join(" or ")
        };
        let status = head.status.as_u16();
        let mut findings = Vec::new();
        let mut body = body;
        match content_type(&head.headers) {
            _ if !has_body => {}
            _ if media.is_empty() => {
                let message = format!("must be empty: the contract lists none for {status}");
                findings.push(finding("body", message));
            }
            Some(name) if media.iter().any(|media| includes(&media.name, name)) => {}
            Some(name) => {
                let name: String = name.chars().take(MOST_NAME).collect();
                let message = format!("is `{name}`, but the contract lists {}", names());
                findings.push(finding("header content-type", message));
                // The router would refuse the body for its media type once more.
                body = None;
            }
            None => {
                let message = format!("is missing, and the contract lists {}", names());
                findings.push(finding("header content-type", message));
                body = None;
            }
        }
        if let Some(rejection) = self.read(at, head, body).await {
            findings.extend(Finding::of(Side::Response, &rejection));
        }
        findings
    }

    /// Reads a response as a request of the route with its number.
    async fn read(
        &self,
        at: usize,
        head: &response::Parts,
        body: Option<Bytes>,
    ) -> Option<Rejection> {
        let check = &self.checks.0[at];
        let reading = match &body {
            Some(_) => Reading::Whole,
            None => Reading::Parameters,
        };
        let mut request = Request::new(Body::from(body.unwrap_or_default()));
        *request.method_mut() = http::Method::POST;
        *request.uri_mut() = format!("/{at}").parse().ok()?;
        let names = check.headers.iter().copied();
        for name in names.chain([header::CONTENT_TYPE.as_str()]) {
            let Ok(name) = header::HeaderName::from_bytes(name.as_bytes()) else {
                continue;
            };
            for value in head.headers.get_all(&name) {
                request.headers_mut().append(&name, value.clone());
            }
        }
        request.extensions_mut().insert(reading);
        let mut router = self.router.clone();
        let running = async {
            // Only the rejection counts, which `Kept` has kept.
            let _ = router.call(request).await;
            REJECTED.with(RefCell::take)
        };
        let rejection = REJECTED.scope(RefCell::default(), running).await;
        // A media type that the contract does not list has a finding of its own.
        rejection.filter(|it| it.kind != RejectionKind::UnsupportedMediaType)
    }
}

/// Reads a response.
fn read(checks: Arc<Checks>, mut call: Call) -> RouteFuture {
    Box::pin(async move {
        let head = RequestHead::current();
        let extensions = head.as_ref().map(RequestHead::extensions);
        let reading = extensions.and_then(|it| it.get().copied());
        let at = call.operation().id.parse::<usize>().ok();
        let check = at.and_then(|at| checks.0.get(at)).ok_or_else(|| {
            let message = "the proxy has lost the description of the response";
            Box::new(Rejection::new(RejectionKind::Internal, message))
        })?;
        let reading = reading.unwrap_or(Reading::Whole);
        check.wanted.read(&mut call, reading).await?;
        Ok(Response::default())
    })
}
