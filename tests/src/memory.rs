//! A small implementation of the API in memory, to test and measure the generated server with.
//!
//! It has one project and one location, and implements only what the tests need of each operation.

mod firewall;
mod inference_api_key;
mod load_balancer;
mod postgres;
mod private_subnet;
mod vm;

use std::sync::{Mutex, MutexGuard, PoisonError};

use api_server::{Security, responses, server};
use api_types::{
    BearerChallenge, Count, EntityTag, Error, ErrorBody, ErrorCode, ErrorDetails, ErrorText,
    ErrorType, FirewallDetails, InferenceApiKeySummary, LoadBalancer, OrderColumn, PageSize,
    Postgres, PrivateSubnet, RetryAfterSeconds, StartAfter, Vm,
};

pub use firewall::without_details;
pub use stratusd::api::ContractErrors;
pub use vm::vm_details;

/// The id of the only project.
pub const PROJECT: &str = "pjj99grz61ddttq24cf6gc6atm";
/// The name of the only location.
pub const LOCATION: &str = "eu-central-h1";
/// A token with which every operation is allowed. See [`Gate`] for other tokens.
pub const TOKEN: &str = "pat-good";

/// The resources of the project.
#[derive(Debug, Default)]
pub struct State {
    /// Virtual machines.
    pub vms: Vec<Vm>,
    /// Load balancers.
    pub load_balancers: Vec<LoadBalancer>,
    /// Databases.
    pub databases: Vec<Postgres>,
    /// Private subnets.
    pub subnets: Vec<PrivateSubnet>,
    /// Firewalls.
    pub firewalls: Vec<FirewallDetails>,
    /// Inference API keys.
    pub inference_api_keys: Vec<InferenceApiKeySummary>,
}

/// An implementation of the API that keeps its resources in a [`State`].
#[derive(Debug, Default)]
pub struct Memory {
    state: Mutex<State>,
}

impl Memory {
    /// Creates an implementation of the API with these resources.
    #[must_use]
    pub fn new(state: State) -> Self {
        Self {
            state: Mutex::new(state),
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The principal: a caller, with the error that each of its calls fails with, if any.
#[derive(Debug, Clone)]
pub struct Caller {
    /// The status that every call of this caller fails with, from the token `pat-fail-<status>`, or
    /// `None` for [`TOKEN`].
    failure: Option<u16>,
}

/// An implementation of `Security` that accepts [`TOKEN`], and tokens `pat-fail-<status>`, with
/// which every call fails with that status.
#[derive(Debug)]
pub struct Gate;

impl Security for Gate {
    type Principal = Caller;

    async fn bearer(
        &self,
        credential: server::Bearer,
        _: &'static server::Operation,
    ) -> Result<Caller, server::AuthError> {
        let token = credential.token.expose();
        if token == TOKEN {
            return Ok(Caller { failure: None });
        }
        match token
            .strip_prefix("pat-fail-")
            .and_then(|status| status.parse().ok())
        {
            Some(status) => Ok(Caller {
                failure: Some(status),
            }),
            None => Err(server::AuthError::Invalid),
        }
    }
}

/// Returns the entity tag of every resource: this implementation checks no conditions.
///
/// # Panics
///
/// Never: the text is an entity tag.
#[must_use]
pub fn entity_tag() -> EntityTag {
    EntityTag::try_from("\"memory\"").expect("the text is an entity tag")
}

/// Returns an error body of the contract, with words on the request's field `field` if given.
fn error(status: u16, kind: ErrorType, message: &str, field: Option<(&str, &str)>) -> Error {
    let code = ErrorCode::try_from(i32::from(status)).expect("the status is an error's");
    let mut body = ErrorBody::new(code, kind, message.to_owned());
    if let Some((field, words)) = field {
        let words = ErrorText::try_from(words).expect("the message of an error is not empty");
        body = body.with_details(Some(ErrorDetails::from_iter([(
            field.to_owned(),
            words.into(),
        )])));
    }
    Error::new(body)
}

fn invalid(field: &str, words: &str) -> responses::BadRequest {
    let message = "the request carries values that cannot be used";
    responses::BadRequest::new(error(
        400,
        ErrorType::InvalidRequest,
        message,
        Some((field, words)),
    ))
}

fn not_found() -> responses::NotFound {
    responses::NotFound::new(error(
        404,
        ErrorType::ResourceNotFound,
        "there is no such resource",
        None,
    ))
}

/// Returns the error that the caller's token names, or 404 if the project or the location is not
/// [`PROJECT`] or [`LOCATION`]. Otherwise the call is allowed.
fn admit<E>(caller: &Caller, project: &str, location: Option<&str>) -> Result<(), E>
where
    E: From<responses::BadRequest>
        + From<responses::Unauthorized>
        + From<responses::NotFound>
        + From<responses::TooManyRequests>
        + From<responses::UnexpectedError>
        + From<responses::Unavailable>,
{
    let wait = RetryAfterSeconds::try_from(7).expect("seven seconds are in range");
    let failed = |kind| {
        error(
            caller.failure.unwrap_or(500),
            kind,
            "the caller asked for it",
            None,
        )
    };
    match caller.failure {
        Some(400) => return Err(invalid("name", "the caller asked for it").into()),
        Some(401) => {
            let body = failed(ErrorType::InvalidCredentials);
            return Err(responses::Unauthorized::new(body, BearerChallenge::Bearer).into());
        }
        Some(404) => return Err(not_found().into()),
        Some(429) => {
            return Err(
                responses::TooManyRequests::new(failed(ErrorType::TooManyRequests), wait).into(),
            );
        }
        Some(500) => {
            return Err(responses::UnexpectedError::new(failed(ErrorType::UnexpectedError)).into());
        }
        Some(503) => {
            return Err(responses::Unavailable::new(failed(ErrorType::Unavailable), wait).into());
        }
        _ => {}
    }
    if project != PROJECT || location.is_some_and(|location| location != LOCATION) {
        return Err(not_found().into());
    }
    Ok(())
}

/// Does what [`admit`] does, for an operation that deletes, or writes without a request body. The
/// errors that a token can name include 403, 409 and 412.
fn admit_delete<E>(caller: &Caller, project: &str, location: Option<&str>) -> Result<(), E>
where
    E: From<responses::BadRequest>
        + From<responses::Unauthorized>
        + From<responses::Forbidden>
        + From<responses::NotFound>
        + From<responses::Conflict>
        + From<responses::PreconditionFailed>
        + From<responses::TooManyRequests>
        + From<responses::UnexpectedError>
        + From<responses::Unavailable>,
{
    if caller.failure == Some(409) {
        let body = error(409, ErrorType::Conflict, "the caller asked for it", None);
        return Err(responses::Conflict::new(body).into());
    }
    admit_bodiless(caller, project, location)
}

/// Does what [`admit`] does, for an operation that deletes what others may use. The errors that a
/// token can name include 403, 409 and 412.
fn admit_guarded_delete<E>(caller: &Caller, project: &str, location: Option<&str>) -> Result<(), E>
where
    E: From<responses::BadRequest>
        + From<responses::Unauthorized>
        + From<responses::Forbidden>
        + From<responses::NotFound>
        + From<responses::InUse>
        + From<responses::PreconditionFailed>
        + From<responses::TooManyRequests>
        + From<responses::UnexpectedError>
        + From<responses::Unavailable>,
{
    if caller.failure == Some(409) {
        let kind = ErrorType::DependencyError;
        let body = error(409, kind, "the caller asked for it", None);
        return Err(responses::InUse::new(body).into());
    }
    admit_bodiless(caller, project, location)
}

/// Does what [`admit`] does, for an operation that writes and has no request body. The errors that a
/// token can name include 403 and 412.
fn admit_bodiless<E>(caller: &Caller, project: &str, location: Option<&str>) -> Result<(), E>
where
    E: From<responses::BadRequest>
        + From<responses::Unauthorized>
        + From<responses::Forbidden>
        + From<responses::NotFound>
        + From<responses::PreconditionFailed>
        + From<responses::TooManyRequests>
        + From<responses::UnexpectedError>
        + From<responses::Unavailable>,
{
    let failed = |status, kind| error(status, kind, "the caller asked for it", None);
    match caller.failure {
        Some(403) => Err(responses::Forbidden::new(failed(403, ErrorType::Forbidden)).into()),
        Some(412) => {
            let body = failed(412, ErrorType::PreconditionFailed);
            Err(responses::PreconditionFailed::new(body).into())
        }
        _ => admit(caller, project, location),
    }
}

/// Does what [`admit`] does, for an operation that writes. The errors that a token can name include
/// 403, 409, 413 and 415.
fn admit_change<E>(caller: &Caller, project: &str, location: Option<&str>) -> Result<(), E>
where
    E: From<responses::BadRequest>
        + From<responses::Unauthorized>
        + From<responses::Forbidden>
        + From<responses::NotFound>
        + From<responses::Conflict>
        + From<responses::PayloadTooLarge>
        + From<responses::UnsupportedMediaType>
        + From<responses::TooManyRequests>
        + From<responses::UnexpectedError>
        + From<responses::Unavailable>,
{
    let failed = |status, kind| error(status, kind, "the caller asked for it", None);
    match caller.failure {
        Some(403) => Err(responses::Forbidden::new(failed(403, ErrorType::Forbidden)).into()),
        Some(409) => Err(responses::Conflict::new(failed(409, ErrorType::Conflict)).into()),
        Some(413) => {
            Err(responses::PayloadTooLarge::new(failed(413, ErrorType::PayloadTooLarge)).into())
        }
        Some(415) => Err(responses::UnsupportedMediaType::new(failed(
            415,
            ErrorType::UnsupportedMediaType,
        ))
        .into()),
        _ => admit(caller, project, location),
    }
}

/// Does what [`admit_change`] does, for an operation that takes `If-Match` and lists 412 too.
fn admit_conditional<E>(caller: &Caller, project: &str, location: Option<&str>) -> Result<(), E>
where
    E: From<responses::BadRequest>
        + From<responses::Unauthorized>
        + From<responses::Forbidden>
        + From<responses::NotFound>
        + From<responses::Conflict>
        + From<responses::PreconditionFailed>
        + From<responses::PayloadTooLarge>
        + From<responses::UnsupportedMediaType>
        + From<responses::TooManyRequests>
        + From<responses::UnexpectedError>
        + From<responses::Unavailable>,
{
    if caller.failure == Some(412) {
        let kind = ErrorType::PreconditionFailed;
        let body = error(412, kind, "the caller asked for it", None);
        return Err(responses::PreconditionFailed::new(body).into());
    }
    admit_change(caller, project, location)
}

/// Returns the number of all items, and a page of them: the first `size` items after the key
/// `after`, sorted by `order`.
///
/// # Errors
///
/// Returns 400 if `order` is not `id` or `name`.
fn page<T: Clone>(
    all: &[T],
    key: impl Fn(&T, bool) -> String,
    order: &OrderColumn,
    after: Option<&StartAfter>,
    size: PageSize,
) -> Result<(Count, Vec<T>), responses::BadRequest> {
    let by_name = match order.as_str() {
        "id" => false,
        "name" => true,
        _ => return Err(invalid("order_column", "must be id or name")),
    };
    let mut items: Vec<(String, &T)> = all.iter().map(|item| (key(item, by_name), item)).collect();
    items.sort_by(|(one, _), (other, _)| one.cmp(other));
    let size = usize::try_from(size.get()).unwrap_or(usize::MAX).min(1000);
    let rest = items
        .into_iter()
        .filter(|(key, _)| after.is_none_or(|after| key.as_str() > after.as_str()));
    let count = Count::try_from(i64::try_from(all.len()).unwrap_or(i64::MAX))
        .expect("memory holds fewer items than the largest count");
    Ok((
        count,
        rest.take(size).map(|(_, item)| item.clone()).collect(),
    ))
}
