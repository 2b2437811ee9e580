//! Rejections by the framework, as the contract's error responses.

use std::collections::BTreeMap;

use api_server::server::{Rejection, RejectionKind, RenderRejection};
use api_types::{
    Error, ErrorBody, ErrorCode, ErrorDetail, ErrorDetails, ErrorText, ErrorTexts, ErrorType,
};

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
            RejectionKind::InvalidParameters
            | RejectionKind::InvalidBody
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
            _ => rejection.message.to_string(),
        };
        let body = ErrorBody::new(code, kind, message);
        Error::new(if rejection.violations.is_empty() {
            body
        } else {
            body.with_details(Some(details(rejection)))
        })
    }
}

/// Groups violations by parameter or by field of the body. Each text begins with the JSON pointer of its value in the
/// body.
fn details(rejection: &Rejection) -> ErrorDetails {
    let mut fields: BTreeMap<String, Vec<ErrorText>> = BTreeMap::new();
    for violation in &rejection.violations {
        let (field, words) = if violation.name.is_empty() {
            let field = violation.pointer.split('/').nth(1).unwrap_or("body");
            let place = if violation.pointer.is_empty() {
                String::new()
            } else {
                format!("{}: ", violation.pointer)
            };
            (
                field.replace("~1", "/").replace("~0", "~"),
                format!("{place}{}", violation.message),
            )
        } else {
            (
                violation.name.clone(),
                format!("{}{}", violation.pointer, violation.message),
            )
        };
        fields
            .entry(field)
            .or_default()
            .extend(ErrorText::try_from(words));
    }
    let details = fields.into_iter().map(|(field, mut texts)| {
        let detail = match texts.len() {
            1 => ErrorDetail::from(texts.remove(0)),
            _ => ErrorDetail::from(ErrorTexts::try_from(texts).expect("each field has a text")),
        };
        (field, detail)
    });
    details.collect()
}
