//! The `details` of an error response: the violations of each parameter, of each property of the
//! body, and of the body as a whole.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use api_server::server::Violation;
use api_types::{ErrorDetail, ErrorDetails, ErrorText, ErrorTexts};

/// Returns the `details` of an error response: the messages of the violations, by the name of the
/// parameter or of the top-level property of the body. The key for the body as a whole is `body`.
///
/// A message about only a part of a parameter or property starts with the position of that part:
/// `vms[3]: must be a string`.
pub(super) fn details(violations: &[Violation]) -> ErrorDetails {
    let mut fields: BTreeMap<String, Vec<ErrorText>> = BTreeMap::new();
    for violation in violations {
        let mut tokens = violation.pointer.split('/').skip(1).map(unescape);
        let field = if violation.name.is_empty() {
            // Violations of the body as a whole have no property.
            tokens.next().unwrap_or_else(|| "body".to_owned())
        } else {
            violation.name.clone()
        };
        let position = tokens.fold(field.clone(), |mut position, token| {
            push(&mut position, &token);
            position
        });
        let text = if position == field {
            violation.message.clone()
        } else {
            format!("{position}: {}", violation.message)
        };
        fields
            .entry(field)
            .or_default()
            .extend(ErrorText::try_from(text));
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

/// Appends an unescaped token of a JSON pointer to a position, in the notation of JavaScript: `[3]`
/// for a token of digits, `.key` for any other.
fn push(position: &mut String, token: &str) {
    let is_index = !token.is_empty() && token.bytes().all(|byte| byte.is_ascii_digit());
    let written = if is_index {
        write!(position, "[{token}]")
    } else {
        write!(position, ".{token}")
    };
    written.expect("a string takes any text");
}

fn unescape(token: &str) -> String {
    token.replace("~1", "/").replace("~0", "~")
}
