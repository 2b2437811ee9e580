//! The errors of the gateway, in the shape that clients of OpenAI's API read.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderValue, StatusCode, header};
use serde_json::json;

/// Why the gateway does not forward a request, or has no response of the upstream.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum GatewayError {
    /// The request has no key.
    MissingKey,
    /// The key does not exist, or was deleted.
    InvalidKey,
    /// The keys cannot be looked up at the moment.
    Unavailable,
    /// The path is not below `/v1/`, and is not `/auth`.
    NotFound,
    /// The method is not one that is forwarded.
    MethodNotAllowed,
    /// The request line and headers are too large.
    HeadTooLarge,
    /// The request body is too large.
    BodyTooLarge,
    /// The request body did not arrive in time.
    BodyTimeout,
    /// The request body ended before it was complete.
    BodyIncomplete,
    /// The key, or its project, makes too many requests per second.
    RateLimited(Owner),
    /// Too many requests of the key, or of its project, are forwarded at the moment.
    TooManyAtOnce(Owner),
    /// Too many requests of all projects are forwarded at the moment.
    Overloaded,
    /// There is no connection to the upstream.
    Unreachable,
    /// The connection to the upstream ended before a response.
    NoResponse,
    /// The upstream does not accept the credential of the gateway.
    Refused,
    /// The upstream did not begin a response in time.
    Timeout,
}

/// Who has a limit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Owner {
    Key,
    Project,
}

impl Owner {
    fn name(self) -> &'static str {
        match self {
            Self::Key => "key",
            Self::Project => "project",
        }
    }
}

/// The value of `Retry-After`, in seconds. Each rate limit allows at least one request per second, so
/// no caller has to wait longer. When a request in progress ends is not known.
const RETRY_AFTER: &str = "1";

impl GatewayError {
    /// Returns the code of the error, which is also the reason in the metrics.
    pub(super) fn code(self) -> &'static str {
        match self {
            Self::MissingKey => "missing_api_key",
            Self::InvalidKey => "invalid_api_key",
            Self::Unavailable => "service_unavailable",
            Self::NotFound => "not_found",
            Self::MethodNotAllowed => "method_not_allowed",
            Self::HeadTooLarge => "headers_too_large",
            Self::BodyTooLarge => "request_too_large",
            Self::BodyTimeout => "request_timeout",
            Self::BodyIncomplete => "incomplete_request",
            Self::RateLimited(_) => "rate_limit_exceeded",
            Self::TooManyAtOnce(_) => "too_many_requests_at_once",
            Self::Overloaded => "overloaded",
            Self::Unreachable => "upstream_unreachable",
            Self::NoResponse => "upstream_gave_no_response",
            Self::Refused => "upstream_refused_gateway",
            Self::Timeout => "upstream_timeout",
        }
    }

    /// Returns the response to the caller.
    pub(super) fn into_response(self) -> Response {
        let status = self.status();
        let body = json!({
            "error": {
                "message": self.message(),
                "type": kind(status),
                "param": null,
                "code": self.code(),
            }
        });
        let mut response = Response::new(Body::from(body.to_string()));
        *response.status_mut() = status;
        let headers = response.headers_mut();
        let json = HeaderValue::from_static("application/json");
        headers.insert(header::CONTENT_TYPE, json);
        if status == StatusCode::UNAUTHORIZED {
            headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
        }
        if self == Self::MethodNotAllowed {
            let allowed = HeaderValue::from_static("DELETE, GET, HEAD, OPTIONS, PATCH, POST, PUT");
            headers.insert(header::ALLOW, allowed);
        }
        if let StatusCode::TOO_MANY_REQUESTS | StatusCode::SERVICE_UNAVAILABLE = status {
            headers.insert(header::RETRY_AFTER, HeaderValue::from_static(RETRY_AFTER));
        }
        response
    }

    fn status(self) -> StatusCode {
        match self {
            Self::MissingKey | Self::InvalidKey => StatusCode::UNAUTHORIZED,
            Self::NotFound => StatusCode::NOT_FOUND,
            Self::MethodNotAllowed => StatusCode::METHOD_NOT_ALLOWED,
            Self::HeadTooLarge => StatusCode::REQUEST_HEADER_FIELDS_TOO_LARGE,
            Self::BodyTooLarge => StatusCode::PAYLOAD_TOO_LARGE,
            Self::BodyTimeout => StatusCode::REQUEST_TIMEOUT,
            Self::BodyIncomplete => StatusCode::BAD_REQUEST,
            Self::RateLimited(_) | Self::TooManyAtOnce(_) => StatusCode::TOO_MANY_REQUESTS,
            Self::Unavailable | Self::Overloaded => StatusCode::SERVICE_UNAVAILABLE,
            Self::Unreachable | Self::NoResponse | Self::Refused => StatusCode::BAD_GATEWAY,
            Self::Timeout => StatusCode::GATEWAY_TIMEOUT,
        }
    }

    fn message(self) -> String {
        match self {
            Self::MissingKey => {
                "the request has no key: send `Authorization: Bearer KEY` with an inference API key"
            }
            Self::InvalidKey => {
                "the key does not exist or was deleted: create another one, and send it as `Authorization: Bearer KEY`"
            }
            Self::Unavailable => "keys cannot be checked at the moment: try again",
            Self::NotFound => "there is nothing at this path: requests are forwarded below `/v1/`",
            Self::MethodNotAllowed => "requests with this method are not forwarded",
            Self::HeadTooLarge => "the request line and headers are too large",
            Self::BodyTooLarge => "the request body is too large",
            Self::BodyTimeout => "the request body did not arrive in time",
            Self::BodyIncomplete => "the request body ended before it was complete",
            Self::RateLimited(owner) => {
                return format!(
                    "the {} makes too many requests: wait as `Retry-After` says",
                    owner.name()
                );
            }
            Self::TooManyAtOnce(owner) => {
                return format!(
                    "the {} has too many requests in progress: wait until one of them ends",
                    owner.name()
                );
            }
            Self::Overloaded => "too many requests are in progress: try again",
            Self::Unreachable => "there is no connection to the upstream",
            Self::NoResponse => "the upstream closed the connection before it responded",
            Self::Refused => {
                "the upstream does not accept the credential of the gateway: its operator must correct it"
            }
            Self::Timeout => "the upstream did not respond in time",
        }
        .to_owned()
    }
}

/// Returns the `type` of an error, as OpenAI's API has it for a status.
fn kind(status: StatusCode) -> &'static str {
    match status {
        StatusCode::UNAUTHORIZED => "authentication_error",
        StatusCode::TOO_MANY_REQUESTS => "rate_limit_error",
        status if status.is_client_error() => "invalid_request_error",
        _ => "server_error",
    }
}
