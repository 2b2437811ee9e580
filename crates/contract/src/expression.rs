//! Runtime expressions, with which callbacks and links name parts of a request or response.

use crate::spelling::nearest;

/// A part of a request or response that an expression names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Part<'e> {
    /// The URL, the method or the status.
    Whole,
    /// A header.
    Header(Side, &'e str),
    /// A query parameter of the request.
    Query(&'e str),
    /// A path parameter of the request.
    Path(&'e str),
    /// The value in the body to which a pointer leads.
    Body(Side, &'e str),
}

/// The message that an expression is about.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Side {
    /// The request.
    Request,
    /// The response.
    Response,
}

/// Parses an expression such as `$request.body#/url`. Returns how to correct it if it is none.
pub(crate) fn parse(text: &str) -> Result<Part<'_>, &'static str> {
    const FORMS: &str = "write one such as `$request.body#/url`, `$request.query.url` or `$response.header.Location`";
    if matches!(text, "$url" | "$method" | "$statusCode") {
        return Ok(Part::Whole);
    }
    let Some(rest) = text.strip_prefix('$') else {
        return Err("begin it with `$`, as in `$request.query.url`");
    };
    let (side, source) = match rest.split_once('.') {
        Some(("request", source)) => (Side::Request, source),
        Some(("response", source)) => (Side::Response, source),
        _ => return Err(FORMS),
    };
    if let Some(pointer) = source.strip_prefix("body") {
        return match pointer.strip_prefix('#') {
            Some(pointer) if pointer.is_empty() || pointer.starts_with('/') => {
                Ok(Part::Body(side, pointer))
            }
            Some(_) => Err("begin the pointer with a slash, as in `body#/url`"),
            None if pointer.is_empty() => Ok(Part::Body(side, "")),
            None => Err("put `#` before the pointer, as in `body#/url`"),
        };
    }
    match source.split_once('.') {
        Some((_, "")) => Err(FORMS),
        Some(("header", name)) => Ok(Part::Header(side, name)),
        Some(("query", name)) if side == Side::Request => Ok(Part::Query(name)),
        Some(("path", name)) if side == Side::Request => Ok(Part::Path(name)),
        _ => Err(FORMS),
    }
}

/// Returns the expressions in a text, without their braces, or `None` if a brace has no other one.
///
/// A text that begins with `$` is one expression.
pub(crate) fn within(text: &str) -> Option<Vec<&str>> {
    if text.starts_with('$') {
        return Some(vec![text]);
    }
    let mut found = Vec::new();
    let mut rest = text;
    while let Some(open) = rest.find('{') {
        let close = open + rest[open..].find('}')?;
        if rest[..open].contains('}') {
            return None;
        }
        found.push(&rest[open + 1..close]);
        rest = &rest[close + 1..];
    }
    (!rest.contains('}')).then_some(found)
}

/// Returns the expressions in a value of a link, which is an expression, or a constant with
/// expressions in braces.
pub(crate) fn embedded(text: &str) -> Vec<&str> {
    if is_meant(text) {
        return vec![text];
    }
    text.match_indices("{$")
        // Without a closing brace here, there is none later either.
        .map_while(|(open, _)| {
            let inner = &text[open + 1..];
            Some(&inner[..inner.find('}')?])
        })
        .filter(|expression| is_meant(expression))
        .collect()
}

/// Returns whether a text is meant as an expression: other constants begin with `$` too.
fn is_meant(text: &str) -> bool {
    let Some(rest) = text.strip_prefix('$') else {
        return false;
    };
    let (known, word) = match rest.split_once('.') {
        Some((word, _)) => (&["request", "response"][..], word),
        None => (
            &["url", "method", "statusCode", "request", "response"][..],
            rest,
        ),
    };
    nearest(word, known.iter().copied()).is_some()
}
