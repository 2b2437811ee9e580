//! Conditional requests (RFC 9110, section 13): the conditions of changes, and responses 304.

use axum::body::Body;
use axum::response::Response;
use http::{HeaderMap, HeaderName, StatusCode, header};
use serde::Serialize;
use serde_json::Value;

use super::call::lines;
use super::response::flat;
use crate::EntityTags;

/// Headers that describe the body of a 200, which a 304 does not have (RFC 9110, section 15.4.5).
const OF_THE_BODY: [HeaderName; 6] = [
    header::CONTENT_ENCODING,
    header::CONTENT_LANGUAGE,
    header::CONTENT_LENGTH,
    header::CONTENT_RANGE,
    header::CONTENT_TYPE,
    header::LAST_MODIFIED,
];

/// The condition `If-Match` of a request: the resource must have one of these entity tags. A request
/// without the header has no condition.
///
/// The generated request of an operation with this header parameter has a method that returns it.
///
/// ```
/// # use api_runtime::server::IfMatch;
/// let condition = IfMatch::of(&Some(r#""v1""#));
/// assert_eq!(condition.ensure(Some(r#""v1""#), || "it has changed"), Ok(()));
/// assert_eq!(condition.ensure(Some(r#""v2""#), || "it has changed"), Err("it has changed"));
/// assert_eq!(condition.ensure(None, || "there is none"), Err("there is none"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IfMatch(Condition);

/// The condition `If-None-Match` of a request that changes something: the resource must have none of
/// these entity tags; with `*`, it must not exist. A request without the header has no condition.
///
/// The generated request of an operation with this header parameter has a method that returns it.
///
/// ```
/// # use api_runtime::server::IfNoneMatch;
/// let condition = IfNoneMatch::of(&Some("*"));
/// assert_eq!(condition.ensure(None, || "it exists"), Ok(()));
/// assert_eq!(condition.ensure(Some(r#""v1""#), || "it exists"), Err("it exists"));
/// ```
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IfNoneMatch(Condition);

#[derive(Debug, Clone, PartialEq, Eq)]
enum Condition {
    /// The request has no such header.
    None,
    Tags(EntityTags<'static>),
    /// The header is neither `*` nor a list of entity tags, so nobody knows whether the condition
    /// holds.
    Invalid,
}

impl Condition {
    fn of(parameter: &impl Serialize) -> Self {
        match serde_json::to_value(parameter) {
            Ok(Value::Null) => Self::None,
            // The contract may describe the header as a list, too.
            Ok(value) => EntityTags::parse(flat(&value)).map_or(Self::Invalid, Self::Tags),
            Err(_) => Self::Invalid,
        }
    }
}

impl IfMatch {
    /// Returns the condition of a request whose parameter `If-Match` has this value, in any type that
    /// the contract gives it.
    #[must_use]
    pub fn of(parameter: &impl Serialize) -> Self {
        Self(Condition::of(parameter))
    }

    /// Returns whether the condition holds. `current` is the entity tag of the resource with its
    /// quotes, or `None` if the resource does not exist.
    ///
    /// The comparison is the strong one, as for every change. A value that is not what RFC 9110
    /// allows never holds.
    #[must_use]
    pub fn holds(&self, current: Option<&str>) -> bool {
        match (&self.0, current) {
            (Condition::None, _) => true,
            (Condition::Tags(known), Some(tag)) => known.has_strong(tag),
            (Condition::Tags(_), None) | (Condition::Invalid, _) => false,
        }
    }

    /// Checks that the condition [`holds`](Self::holds), in the transaction of the change.
    ///
    /// # Errors
    ///
    /// What `refuse` returns, the response 412 of the contract, if it does not.
    pub fn ensure<E>(&self, current: Option<&str>, refuse: impl FnOnce() -> E) -> Result<(), E> {
        self.holds(current).then_some(()).ok_or_else(refuse)
    }
}

impl IfNoneMatch {
    /// Returns the condition of a request whose parameter `If-None-Match` has this value, in any type
    /// that the contract gives it.
    #[must_use]
    pub fn of(parameter: &impl Serialize) -> Self {
        Self(Condition::of(parameter))
    }

    /// Returns whether the condition holds. `current` is the entity tag of the resource with its
    /// quotes, or `None` if the resource does not exist.
    ///
    /// The comparison is the weak one. A value that is not what RFC 9110 allows never holds.
    #[must_use]
    pub fn holds(&self, current: Option<&str>) -> bool {
        match (&self.0, current) {
            (Condition::Invalid, _) => false,
            (Condition::None, _) | (Condition::Tags(_), None) => true,
            (Condition::Tags(known), Some(tag)) => !known.has_weak(tag),
        }
    }

    /// Checks that the condition [`holds`](Self::holds), in the transaction of the change.
    ///
    /// # Errors
    ///
    /// What `refuse` returns, the response 412 of the contract, if it does not.
    pub fn ensure<E>(&self, current: Option<&str>, refuse: impl FnOnce() -> E) -> Result<(), E> {
        self.holds(current).then_some(()).ok_or_else(refuse)
    }
}

/// Returns whether `If-None-Match` has an entity tag, by the weak comparison: a proxy that compresses
/// marks the tag as weak.
pub(super) fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let known = lines(headers, &header::IF_NONE_MATCH, ", ");
    known.is_some_and(|(text, _)| EntityTags::parse(text).is_some_and(|tags| tags.has_weak(tag)))
}

/// Makes the response to a `GET` or `HEAD` a 304 if the caller knows the entity tag of the success.
/// Other responses, and those without a tag, stay as they are.
pub(super) fn not_modified(headers: &HeaderMap, mut response: Response) -> Response {
    let tag = response.headers().get(header::ETAG);
    let tag = tag.and_then(|tag| std::str::from_utf8(tag.as_bytes()).ok());
    if !response.status().is_success() || !tag.is_some_and(|tag| is_known(headers, tag)) {
        return response;
    }
    *response.status_mut() = StatusCode::NOT_MODIFIED;
    *response.body_mut() = Body::empty();
    for name in OF_THE_BODY {
        response.headers_mut().remove(name);
    }
    response
}
