//! Names of parameters and headers that no request can have.

use super::walk::Walk;
use crate::node::Node;
use crate::source::Span;

/// Checks the name of a parameter.
pub(super) fn parameter(walk: &mut Walk<'_, '_>, node: &Node, location: &str) {
    let Some(name) = node.get("name") else { return };
    let Some(text) = name.as_str() else { return };
    match location {
        _ if text.is_empty() => walk.warning(
            "bad-name",
            name.span,
            "the name of the parameter is empty".to_owned(),
            "write the name that requests have".to_owned(),
        ),
        "header" => header(walk, text, name.span),
        "cookie" if !is_token(text) => walk.warning(
            "bad-name",
            name.span,
            "no cookie can have this name".to_owned(),
            "write letters, digits, `-` and `_`".to_owned(),
        ),
        _ => {}
    }
}

/// Checks the name of a header.
pub(super) fn header(walk: &mut Walk<'_, '_>, name: &str, span: Span) {
    if !is_token(name) {
        walk.warning(
            "bad-name",
            span,
            "no header can have this name".to_owned(),
            "write letters, digits and `-`".to_owned(),
        );
    }
}

/// Returns whether a text may be the name of a component or link.
pub(super) fn is_component(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_'))
}

/// Returns whether a text is a token (RFC 9110, section 5.6.2), as a method and the name of a
/// header are.
pub(super) fn is_token(text: &str) -> bool {
    !text.is_empty()
        && text
            .chars()
            .all(|char| char.is_ascii_alphanumeric() || "!#$%&'*+-.^_`|~".contains(char))
}
