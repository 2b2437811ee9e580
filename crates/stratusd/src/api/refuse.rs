//! Rejections by the framework, as the contract's error responses.

use std::collections::BTreeMap;

use api_server::server::{Refusal, RefusalKind, Refuse};
use api_types::{
    Error, ErrorBody, ErrorCode, ErrorDetail, ErrorDetails, ErrorText, ErrorTexts, ErrorType,
};

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
            _ => refusal.message.to_string(),
        };
        let body = ErrorBody::new(code, kind, message);
        Error::new(if refusal.violations.is_empty() {
            body
        } else {
            body.with_details(Some(details(refusal)))
        })
    }
}

/// Groups violations by parameter or by field of the body. Each text begins with the JSON pointer of its value in the
/// body.
fn details(refusal: &Refusal) -> ErrorDetails {
    let mut fields: BTreeMap<String, Vec<ErrorText>> = BTreeMap::new();
    for violation in &refusal.violations {
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
