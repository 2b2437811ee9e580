//! Rejections by the framework, as the contract's error responses.

use api_server::server::{Refusal, RefusalKind, Refuse};
use api_types::{Error, ErrorBody, ErrorCode, ErrorType};

use super::details::details;

/// Writes rejections as the contract's `Error`.
#[derive(Debug)]
pub struct ContractErrors;

impl Refuse for ContractErrors {
    type Body = Error;

    fn refuse(&self, refusal: &Refusal) -> Error {
        let kind = match refusal.kind {
            RefusalKind::MissingCredentials => ErrorType::MissingCredentials,
            RefusalKind::InvalidCredentials => ErrorType::InvalidCredentials,
            RefusalKind::Forbidden => ErrorType::Forbidden,
            RefusalKind::UnknownRoute => ErrorType::ResourceNotFound,
            RefusalKind::MethodNotAllowed => ErrorType::MethodNotAllowed,
            RefusalKind::InvalidParameters
            | RefusalKind::InvalidBody
            | RefusalKind::RequestTimeout => ErrorType::BadRequest,
            RefusalKind::PayloadTooLarge => ErrorType::PayloadTooLarge,
            RefusalKind::UnsupportedMediaType => ErrorType::UnsupportedMediaType,
            RefusalKind::TooManyRequests => ErrorType::TooManyRequests,
            RefusalKind::Unavailable => ErrorType::Unavailable,
            _ => ErrorType::UnexpectedError,
        };
        let code = ErrorCode::try_from(i32::from(refusal.status.as_u16()))
            .expect("a rejection has the status of an error");
        let message = match refusal.kind {
            RefusalKind::MissingCredentials => {
                "send a token as `Authorization: Bearer <token>`".to_owned()
            }
            RefusalKind::InvalidCredentials => {
                "the token is malformed, unknown, expired or revoked".to_owned()
            }
            RefusalKind::UnknownRoute => {
                "there is no such path: the contract at /openapi.yaml lists all paths".to_owned()
            }
            // The details say what is wrong.
            RefusalKind::InvalidParameters | RefusalKind::InvalidBody
                if !refusal.violations.is_empty() =>
            {
                "the request does not match the contract at /openapi.yaml".to_owned()
            }
            _ => refusal.message.to_string(),
        };
        let body = ErrorBody::new(code, kind, message);
        Error::new(if refusal.violations.is_empty() {
            body
        } else {
            body.with_details(Some(details(&refusal.violations)))
        })
    }
}
