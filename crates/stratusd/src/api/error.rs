//! Refusals of the domain and failures of the store, as the error responses that the contract
//! lists.

use api_server::firewall::{
    FirewallAttachSubnetError, FirewallCreateError, FirewallDeleteError, FirewallDetachSubnetError,
    FirewallListError, FirewallRuleCreateError, FirewallRuleDeleteError, FirewallViewError,
};
use api_server::inference_api_key::{
    InferenceApiKeyCreateError, InferenceApiKeyDeleteError, InferenceApiKeyListError,
    InferenceApiKeyViewError,
};
use api_server::load_balancer::{
    LoadBalancerAttachVmError, LoadBalancerCreateError, LoadBalancerDeleteError,
    LoadBalancerDetachVmError, LoadBalancerListError, LoadBalancerUpdateError,
    LoadBalancerViewError, ProjectLoadBalancerListError,
};
use api_server::postgres::{
    PostgresBackupListError, PostgresCreateError, PostgresDeleteError,
    PostgresFirewallRuleCreateError, PostgresFirewallRuleDeleteError,
    PostgresFirewallRuleListError, PostgresListError, PostgresPromoteError,
    PostgresResetSuperuserPasswordError, PostgresRestartError, PostgresRestoreError,
    PostgresSetMaintenanceWindowError, PostgresUpdateError, PostgresViewError,
    ProjectPostgresListError,
};
use api_server::private_subnet::{
    PrivateSubnetConnectError, PrivateSubnetCreateError, PrivateSubnetDeleteError,
    PrivateSubnetDisconnectError, PrivateSubnetListError, PrivateSubnetViewError,
    ProjectPrivateSubnetListError,
};
use api_server::responses::{
    BadRequest, Conflict, Forbidden, InUse, NotFound, PreconditionFailed, TooManyRequests,
    Unavailable, UnexpectedError,
};
use api_server::vm::{VmListError, VmViewError};
use api_types::{
    Error, ErrorBody, ErrorCode, ErrorDetail, ErrorDetails, ErrorText, ErrorTexts, ErrorType,
    RateLimitText, RetryAfterSeconds,
};

use crate::causes::Causes;
use crate::domain::Refusal;
use crate::domain::refusal::{KeysInUse, Wrong, enumerate};
use crate::operations::idempotency::LIFETIME;
use crate::storage::{Aborted, Cause, StorageError};

/// Lets a handler turn what an operation fails with into its own error by `?`.
macro_rules! errors {
    ($($convert:ident: $($error:ty),*;)*) => {
        $($(
            impl From<Aborted<Refusal>> for $error {
                fn from(aborted: Aborted<Refusal>) -> Self {
                    $convert(aborted)
                }
            }

            impl From<Refusal> for $error {
                fn from(refusal: Refusal) -> Self {
                    $convert(Aborted::Refused(refusal))
                }
            }

            impl From<StorageError> for $error {
                fn from(error: StorageError) -> Self {
                    $convert(Aborted::Failed(error))
                }
            }
        )*)*
    };
}

errors! {
    of_query:
        FirewallListError,
        FirewallViewError,
        InferenceApiKeyListError,
        InferenceApiKeyViewError,
        LoadBalancerListError,
        LoadBalancerViewError,
        PostgresBackupListError,
        PostgresFirewallRuleListError,
        PostgresListError,
        PostgresViewError,
        PrivateSubnetListError,
        PrivateSubnetViewError,
        ProjectLoadBalancerListError,
        ProjectPostgresListError,
        ProjectPrivateSubnetListError,
        VmListError,
        VmViewError;
    of_change:
        FirewallCreateError,
        FirewallRuleCreateError,
        InferenceApiKeyCreateError,
        LoadBalancerCreateError,
        PostgresCreateError,
        PostgresFirewallRuleCreateError,
        PostgresRestoreError,
        PrivateSubnetCreateError;
    of_conditional_change:
        FirewallAttachSubnetError,
        FirewallDeleteError,
        FirewallDetachSubnetError,
        FirewallRuleDeleteError,
        InferenceApiKeyDeleteError,
        LoadBalancerAttachVmError,
        LoadBalancerDeleteError,
        LoadBalancerDetachVmError,
        LoadBalancerUpdateError,
        PostgresFirewallRuleDeleteError,
        PostgresPromoteError,
        PostgresResetSuperuserPasswordError,
        PostgresRestartError,
        PostgresSetMaintenanceWindowError,
        PostgresUpdateError,
        PrivateSubnetConnectError,
        PrivateSubnetDisconnectError;
    of_guarded_delete:
        PostgresDeleteError,
        PrivateSubnetDeleteError;
}

/// Returns the error response of a query.
fn of_query<E>(aborted: Aborted<Refusal>) -> E
where
    E: From<BadRequest> + From<NotFound> + From<Unavailable> + From<UnexpectedError>,
{
    match aborted {
        // The contract lists no 403 for queries, and every caller may read.
        Aborted::Refused(Refusal::ReadOnly | Refusal::QuotaExceeded(_) | Refusal::InUse { .. }) => {
            unexpected("a query refused what only a change can").into()
        }
        Aborted::Refused(Refusal::Stale) => {
            unexpected("an operation without `If-Match` has checked it").into()
        }
        Aborted::Refused(Refusal::KeyReused | Refusal::TooManyKeys(_)) => {
            unexpected("an operation without `Idempotency-Key` has checked it").into()
        }
        Aborted::Refused(Refusal::Invalid(_)) => bad_request(aborted).into(),
        Aborted::Refused(refusal) => not_found(&refusal).into(),
        Aborted::Failed(StorageError::Locked(error)) => locked(&error).into(),
        Aborted::Failed(StorageError::Crowded(reason)) => crowded(reason).into(),
        Aborted::Failed(StorageError::Unavailable(error)) => unavailable(&error).into(),
        Aborted::Failed(error) => unexpected(error).into(),
    }
}

/// Returns the error response of a change.
fn of_change<E>(aborted: Aborted<Refusal>) -> E
where
    E: From<BadRequest>
        + From<NotFound>
        + From<Unavailable>
        + From<UnexpectedError>
        + From<Forbidden>
        + From<Conflict>
        + From<TooManyRequests>,
{
    match aborted {
        Aborted::Refused(refusal @ Refusal::ReadOnly) => forbidden(&refusal).into(),
        Aborted::Refused(refusal @ Refusal::QuotaExceeded(_)) => Forbidden::new(error(
            403,
            ErrorType::QuotaExceeded,
            refusal.to_string(),
            None,
        ))
        .into(),
        Aborted::Refused(refusal @ Refusal::KeyReused) => {
            let kind = ErrorType::IdempotencyConflict;
            Conflict::new(error(409, kind, refusal.to_string(), None)).into()
        }
        Aborted::Refused(Refusal::TooManyKeys(keys)) => too_many_keys(keys).into(),
        Aborted::Failed(StorageError::Conflict) => Conflict::new(conflict()).into(),
        other => of_query(other),
    }
}

/// Returns the error response of a change that may depend on `If-Match`.
fn of_conditional_change<E>(aborted: Aborted<Refusal>) -> E
where
    E: From<BadRequest>
        + From<NotFound>
        + From<Unavailable>
        + From<UnexpectedError>
        + From<Forbidden>
        + From<Conflict>
        + From<TooManyRequests>
        + From<PreconditionFailed>,
{
    match aborted {
        Aborted::Refused(refusal @ Refusal::Stale) => stale(&refusal).into(),
        other => of_change(other),
    }
}

/// Returns the error response of a delete that other resources may prevent, and that may depend on
/// `If-Match`.
fn of_guarded_delete<E>(aborted: Aborted<Refusal>) -> E
where
    E: From<BadRequest>
        + From<NotFound>
        + From<Unavailable>
        + From<UnexpectedError>
        + From<Forbidden>
        + From<InUse>
        + From<PreconditionFailed>,
{
    match aborted {
        Aborted::Refused(refusal @ Refusal::ReadOnly) => forbidden(&refusal).into(),
        Aborted::Refused(refusal @ Refusal::Stale) => stale(&refusal).into(),
        Aborted::Refused(Refusal::InUse { field, by }) => in_use(field, by).into(),
        Aborted::Failed(StorageError::Conflict) => InUse::new(conflict()).into(),
        other => of_query(other),
    }
}

fn forbidden(refusal: &Refusal) -> Forbidden {
    Forbidden::new(error(403, ErrorType::Forbidden, refusal.to_string(), None))
}

fn stale(refusal: &Refusal) -> PreconditionFailed {
    let kind = ErrorType::PreconditionFailed;
    PreconditionFailed::new(error(412, kind, refusal.to_string(), None))
}

/// Returns the body of the response to a request that conflicts with a concurrent change.
fn conflict() -> Error {
    let message = "the request conflicts with a concurrent change: send it again".to_owned();
    error(409, ErrorType::Conflict, message, None)
}

/// Returns the response to a delete of what others use.
fn in_use(field: &'static str, mut by: Vec<String>) -> InUse {
    let wrong = if by.len() == 1 {
        Wrong::One(by.remove(0))
    } else {
        Wrong::Rules(by.clone())
    };
    let message = Refusal::InUse { field, by }.to_string();
    let details = ErrorDetails::from_iter([(field.to_owned(), detail(wrong))]);
    InUse::new(error(
        409,
        ErrorType::DependencyError,
        message,
        Some(details),
    ))
}

fn bad_request(aborted: Aborted<Refusal>) -> BadRequest {
    let Aborted::Refused(Refusal::Invalid(invalid)) = aborted else {
        unreachable!("only a refusal of values is a bad request");
    };
    let details = invalid
        .details
        .into_iter()
        .map(|(field, wrong)| (field.to_owned(), detail(wrong)));
    BadRequest::new(error(
        400,
        ErrorType::InvalidRequest,
        invalid.message,
        Some(details.collect()),
    ))
}

fn detail(wrong: Wrong) -> ErrorDetail {
    let text = |text: String| ErrorText::try_from(text).expect("the texts of errors are not empty");
    match wrong {
        Wrong::One(wrong) => text(wrong).into(),
        Wrong::Rules(rules) => {
            let rules: Vec<ErrorText> = rules.into_iter().map(text).collect();
            ErrorTexts::try_from(rules)
                .expect("at least one rule has failed")
                .into()
        }
    }
}

fn not_found(refusal: &Refusal) -> NotFound {
    let (kind, details) = match refusal {
        Refusal::UnknownLocation(known) => {
            let words = format!("the locations are {}", enumerate(known));
            let details =
                ErrorDetails::from_iter([("location".to_owned(), detail(Wrong::One(words)))]);
            (ErrorType::InvalidLocation, Some(details))
        }
        _ => (ErrorType::ResourceNotFound, None),
    };
    NotFound::new(error(404, kind, refusal.to_string(), details))
}

/// Returns the response to a new idempotency key of a project that may have no more.
fn too_many_keys(keys: KeysInUse) -> TooManyRequests {
    let KeysInUse { most, wait } = keys;
    let message = Refusal::TooManyKeys(keys).to_string();
    let body = error(429, ErrorType::TooManyRequests, message, None);
    let wait = retry_after(wait.as_secs());
    let text = |text: String| {
        Some(RateLimitText::try_from(text).expect("a few numbers are within the limit"))
    };
    let window = LIFETIME.as_secs();
    let mut response = TooManyRequests::new(body, wait);
    response.rate_limit = text(format!("\"idempotency-keys\";r=0;t={}", wait.get()));
    response.rate_limit_policy = text(format!("\"idempotency-keys\";q={most};w={window}"));
    response
}

/// Returns the response to a change that waited too long for another one of its project, such as
/// that of `stratusd apply`.
fn locked(cause: &Cause) -> Unavailable {
    tracing::warn!(error = %Causes(&**cause), "another transaction holds a lock for too long");
    later()
}

/// Returns the response to an operation that has found no room, or has waited too long for others.
fn crowded(reason: &str) -> Unavailable {
    tracing::warn!(reason, "too many operations are in progress");
    later()
}

fn unavailable(cause: &Cause) -> Unavailable {
    tracing::warn!(error = %Causes(&**cause), "the database cannot be reached");
    later()
}

fn later() -> Unavailable {
    let message = "the service is temporarily unavailable: try again later".to_owned();
    Unavailable::new(
        error(503, ErrorType::Unavailable, message, None),
        retry_after(1),
    )
}

/// Returns a response without the cause, which is for the log alone: it may contain what the caller
/// must not know.
fn unexpected(cause: impl Into<Box<dyn std::error::Error>>) -> UnexpectedError {
    let cause = cause.into();
    tracing::error!(error = %Causes(&*cause), "an operation failed");
    let message = "an unexpected error occurred in the service".to_owned();
    UnexpectedError::new(error(500, ErrorType::UnexpectedError, message, None))
}

/// Returns a number of seconds to wait, brought into the contract's range.
///
/// # Panics
///
/// Never: the range is that of the type.
#[must_use]
pub fn retry_after(seconds: u64) -> RetryAfterSeconds {
    let seconds = i32::try_from(seconds).unwrap_or(i32::MAX).clamp(1, 86_400);
    RetryAfterSeconds::try_from(seconds).expect("a day is in range")
}

fn error(status: i32, kind: ErrorType, message: String, details: Option<ErrorDetails>) -> Error {
    let code = ErrorCode::try_from(status).expect("the status is an error's");
    let body = ErrorBody::new(code, kind, message);
    Error::new(if details.is_some() {
        body.with_details(details)
    } else {
        body
    })
}
