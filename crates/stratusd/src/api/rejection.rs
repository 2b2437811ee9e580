//! Rejections by the framework, as the contract's error responses.

use api_server::server::{Rejection, RejectionKind, RenderRejection};
use api_types::{Error, ErrorBody, ErrorCode, ErrorType};

use super::details::details;

/// Writes rejections as the contract's `Error`.
#[derive(Debug)]
pub struct ContractErrors;

impl RenderRejection for ContractErrors {
    type Body = Error;

    fn render(&self, rejection: &Rejection) -> Error {
        let kind = match rejection.kind {
            RejectionKind::MissingCredentials => ErrorType::MissingCredentials,
            RejectionKind::InvalidCredentials => ErrorType::InvalidCredentials,
            RejectionKind::Forbidden => ErrorType::Forbidden,
            RejectionKind::UnknownRoute => ErrorType::ResourceNotFound,
            RejectionKind::MethodNotAllowed => ErrorType::MethodNotAllowed,
            RejectionKind::MalformedHead
            | RejectionKind::InvalidParameters
            | RejectionKind::InvalidBody
            | RejectionKind::HeadTooLarge
            | RejectionKind::RequestTimeout => ErrorType::BadRequest,
            RejectionKind::PayloadTooLarge => ErrorType::PayloadTooLarge,
            RejectionKind::UnsupportedMediaType => ErrorType::UnsupportedMediaType,
            RejectionKind::TooManyRequests => ErrorType::TooManyRequests,
            RejectionKind::Unavailable => ErrorType::Unavailable,
            _ => ErrorType::UnexpectedError,
        };
        let code = ErrorCode::try_from(i32::from(rejection.status.as_u16()))
            .expect("a rejection has the status of an error");
        let message = match rejection.kind {
            RejectionKind::MissingCredentials => {
                "send a token as `Authorization: Bearer <token>`".to_owned()
            }
            RejectionKind::InvalidCredentials => {
                "the token is malformed, unknown, expired or revoked".to_owned()
            }
            RejectionKind::UnknownRoute => {
                "there is no such path: the contract at /openapi.yaml lists all paths".to_owned()
            }
            // The details say what is wrong.
            RejectionKind::InvalidParameters | RejectionKind::InvalidBody
                if !rejection.violations.is_empty() =>
            {
                "the request does not match the contract at /openapi.yaml".to_owned()
            }
            _ => rejection.message.to_string(),
        };
        let body = ErrorBody::new(code, kind, message);
        Error::new(if rejection.violations.is_empty() {
            body
        } else {
            body.with_details(Some(details(&rejection.violations)))
        })
    }
}
