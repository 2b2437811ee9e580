//! Puts a response together: its status, media type, body and headers.

mod body;
mod headers;
mod kept;

pub(crate) use headers::is_framing;

use api_runtime::server::{ListedResponse, Rejected, RequestHead, Response, StatusCode};
use axum::body::Body;
use codegen::ir::{self, MediaKind};
use contract::model::{MediaType, SchemaId, StatusKey};
use http::uri::PathAndQuery;
use http::{HeaderValue, header};
use serde_json::{Value, json};

use crate::negotiate;
use crate::prefer::{APPLIED, Preferences};
use crate::router::{Listed, Served, State};

/// The task of making one response.
struct Task<'s> {
    state: &'s State,
    operation: &'static ir::Operation,
    listed: &'static ir::Response,
    /// How the run time writes the response.
    described: ListedResponse,
    preferences: Preferences,
    seed: u64,
    /// The body in JSON of this schema, if it is known already.
    given: Option<(SchemaId, Value)>,
}

/// A response of an operation, and the status that is sent.
#[derive(Clone, Copy)]
struct Chosen<'s> {
    listed: &'s Listed,
    status: StatusCode,
}

/// A request that fits the contract.
pub(crate) struct Fitting<'r> {
    pub(crate) head: &'r RequestHead,
    /// The body, if it is JSON.
    pub(crate) body: Option<&'r Value>,
    /// The number of the request.
    pub(crate) number: u64,
}

/// Makes the response to a request that fits the contract.
///
/// # Errors
///
/// If the request is for something that a stateful mock does not keep.
pub(crate) fn respond(
    state: &State,
    served: &Served,
    request: &Fitting<'_>,
) -> Result<Response, Rejected> {
    let Fitting { head, body, number } = *request;
    let mut preferences = Preferences::of(head.headers());
    let settings = &state.settings;
    let failures = settings.failures;
    let failure = failures.filter(|failures| failures.strike(settings.seed, number));
    if let Some(failures) = failure {
        // An example that the caller prefers is one of another response.
        preferences = Preferences::default();
        if by_code(served, failures.status.as_u16()).is_none() {
            let message = "the mock is set to fail some requests";
            return Ok(problem(failures.status, message));
        }
    }
    let wanted = failure.map(|failures| failures.status.as_u16());
    // A caller that asks for a certain response gets it, and changes nothing that is kept.
    let is_chosen = wanted.or(preferences.code).is_some() || preferences.example.is_some();
    if !is_chosen && let Some(responded) = kept::respond(state, served, head, body) {
        return responded;
    }
    let chosen = match wanted.or(preferences.code) {
        Some(code) => {
            let chosen = by_code(served, code);
            if chosen.is_none() {
                let message = no_response(served.operation, code);
                return Ok(problem(StatusCode::NOT_FOUND, &message));
            }
            chosen
        }
        None => first(served),
    };
    let Some((listed, status)) = chosen else {
        let message = "the operation lists no response that a mock can make";
        return Ok(problem(StatusCode::NOT_IMPLEMENTED, message));
    };
    let target = head.uri().path_and_query().map_or("", PathAndQuery::as_str);
    // By what is asked for, so that the same request gets the same response.
    let mut seed = hash(settings.seed, head.method().as_str());
    seed = hash(seed, target);
    seed = hash(seed, status.as_str());
    if preferences.dynamic == Some(true) {
        seed = hash(seed, &number.to_string());
    }
    let chosen = Chosen { listed, status };
    let task = Task::new(state, served, chosen, preferences, seed);
    Ok(task.response(head))
}

impl<'s> Task<'s> {
    fn new(
        state: &'s State,
        served: &Served,
        chosen: Chosen<'_>,
        preferences: Preferences,
        seed: u64,
    ) -> Self {
        Self {
            state,
            operation: served.operation,
            listed: chosen.listed.response,
            described: chosen.listed.described.at(chosen.status),
            preferences,
            seed,
            given: None,
        }
    }

    /// Sets the body in JSON of a schema.
    fn with(self, given: Option<(SchemaId, Value)>) -> Self {
        Self { given, ..self }
    }

    /// Returns whether a media type is JSON of a schema.
    fn is_of(&self, media: &ir::Media, schema: SchemaId) -> bool {
        let own = media.schema.map(|own| self.state.api.contract.resolve(own));
        media.kind == MediaKind::Json && own == Some(schema)
    }

    fn response(&self, head: &RequestHead) -> Response {
        let made = if self.listed.media.is_empty() {
            Ok(self.described.empty())
        } else {
            // What a mock can always write comes first where the caller does not care.
            let mut order: Vec<usize> = (0..self.listed.media.len()).collect();
            order.sort_by_key(|at| self.is_hard(*at));
            let media = |at: &usize| self.listed.media[*at].name.as_str();
            let names: Vec<&str> = order.iter().map(media).collect();
            let Some(at) = negotiate::choose(head.headers(), &names) else {
                let message = format!("the response is only there as {}", names.join(" or "));
                return problem(StatusCode::NOT_ACCEPTABLE, &message);
            };
            body::body(self, order[at])
        };
        let made = made.and_then(|response| headers::headers(self, response));
        match made {
            Ok(mut response) => {
                if let Some(applied) = self.preferences.applied() {
                    response.headers_mut().insert(APPLIED, applied);
                }
                response
            }
            Err(refused) => problem(refused.0, &refused.1),
        }
    }

    /// Returns whether a media type can be written only from an example.
    fn is_hard(&self, at: usize) -> bool {
        let media = &self.listed.media[at];
        let has_example = self
            .declared(at)
            .is_some_and(|it| !it.examples.is_empty() || !it.serialized.is_empty());
        media.kind == MediaKind::Bytes && !has_example
    }

    /// Returns a media type as the contract declares it.
    fn declared(&self, at: usize) -> Option<&'static MediaType> {
        let operation = self
            .state
            .api
            .contract
            .operations
            .get(self.operation.index)?;
        let response = operation.responses.get(self.listed.index)?;
        let name = &self.listed.media.get(at)?.name;
        response.content.iter().find(|media| media.name == *name)
    }
}

/// Why there is no response: the status and the message.
struct Refused(StatusCode, String);

/// Returns the response that an operation lists for a status that a caller may ask for.
fn by_code(served: &Served, code: u16) -> Option<(&Listed, StatusCode)> {
    // A status below 200 has no response of its own.
    let status = StatusCode::from_u16(code)
        .ok()
        .filter(|_| (200..600).contains(&code))?;
    Some((listed(&served.responses, status)?, status))
}

/// Returns the response that is listed for a status: the status itself, its range, or the default.
pub(crate) fn listed(responses: &[Listed], status: StatusCode) -> Option<&Listed> {
    let code = status.as_u16();
    let find = |key: StatusKey| responses.iter().find(|it| it.response.status == key);
    let digit = u8::try_from(code / 100).ok()?;
    find(StatusKey::Code(code))
        .or_else(|| find(StatusKey::Range(digit)))
        .or_else(|| find(StatusKey::Default))
}

/// Returns the first success of an operation, or else its first response.
fn first(served: &Served) -> Option<(&Listed, StatusCode)> {
    let operation = served.operation;
    let sent = |listed: &Listed| {
        let code = match listed.response.status {
            StatusKey::Code(code) if code >= 200 => code,
            StatusKey::Code(_) | StatusKey::Range(1) => return None,
            // A status that is listed itself has another response than its range.
            StatusKey::Range(digit) => unlisted(operation, u16::from(digit) * 100),
            StatusKey::Default => unlisted(operation, 200),
        };
        StatusCode::from_u16(code).ok()
    };
    let all = || {
        let responses = served.responses.iter();
        responses.filter_map(|listed| Some((listed, sent(listed)?)))
    };
    let is_success = |(_, status): &(&Listed, StatusCode)| status.is_success();
    all().find(is_success).or_else(|| all().next())
}

/// Returns the first status from `code` on that is not listed itself.
fn unlisted(operation: &ir::Operation, code: u16) -> u16 {
    let is_listed = |code: &u16| {
        let mut responses = operation.responses.iter();
        responses.any(|response| response.status == StatusKey::Code(*code))
    };
    (code..code + 100)
        .find(|code| !is_listed(code))
        .unwrap_or(code)
}

fn no_response(operation: &ir::Operation, code: u16) -> String {
    let listed: Vec<String> = operation
        .responses
        .iter()
        .map(|response| response.status.to_string())
        .collect();
    format!(
        "`{}` lists no response {code}: prefer one of {}",
        operation.id,
        listed.join(", ")
    )
}

/// Returns an error of the mock itself, as problem details (RFC 9457).
pub(crate) fn problem(status: StatusCode, detail: &str) -> Response {
    let body = json!({
        "type": "about:blank",
        "title": status.canonical_reason().unwrap_or("Error"),
        "status": status.as_u16(),
        "detail": detail,
    });
    let mut response = Response::new(Body::from(body.to_string()));
    *response.status_mut() = status;
    let media = HeaderValue::from_static("application/problem+json");
    response.headers_mut().insert(header::CONTENT_TYPE, media);
    response
}

/// Mixes a text into a seed (FNV-1a), the same on every machine and in every version.
fn hash(seed: u64, text: &str) -> u64 {
    let start = 0xcbf2_9ce4_8422_2325 ^ seed;
    text.bytes().fold(start, |hash, byte| {
        (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3)
    })
}
