//! Who writes an operation's builder: progenitor, or this crate where progenitor would lose something or panic.

use std::fmt;

use contract::model::{Location, ParameterEncoding, PathPart, Style};

use super::responses::{self, Body};
use crate::ir::{Api, MediaKind, Operation, Parameter, TypeKind, TypeRef};

/// Who writes an operation's builder.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Carrier {
    /// progenitor
    Progenitor,
    /// This crate, because progenitor cannot carry that.
    Own(Reason),
}

/// What progenitor cannot carry.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Reason {
    /// The path has a segment that is more than one parameter or one text.
    Path,
    /// A parameter in a cookie.
    Cookie(String),
    /// A parameter's style, `explode`, `allowReserved` or `content`.
    ParameterEncoding(String),
    /// A parameter whose type has no plain text form.
    ParameterType(String),
    /// A header that the HTTP client sets itself.
    Header(String),
    /// A body that may be left out.
    OptionalBody,
    /// A body that is neither plain JSON nor bytes.
    BodyMedia(String),
    /// A body of several media types.
    SeveralBodies,
    /// Successes with bodies of different type.
    SeveralSuccesses,
    /// Errors with bodies of different type.
    SeveralErrors,
    /// A response that is neither plain JSON nor bytes.
    ResponseMedia(String),
    /// A redirection or a switch of protocols that is listed.
    Status(u16),
    /// A call to where a subscriber wants to be called, behind which nothing is put.
    Subscriber,
}

impl fmt::Display for Carrier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Progenitor => f.write_str("progenitor"),
            Self::Own(reason) => write!(f, "own: {reason}"),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Path => f.write_str("mixed path segment"),
            Self::Cookie(name) => write!(f, "cookie {name}"),
            Self::ParameterEncoding(name) => write!(f, "encoding of {name}"),
            Self::ParameterType(name) => write!(f, "type of {name}"),
            Self::Header(name) => write!(f, "header {name}"),
            Self::OptionalBody => f.write_str("optional body"),
            Self::BodyMedia(name) => write!(f, "body {name}"),
            Self::SeveralBodies => f.write_str("several bodies"),
            Self::SeveralSuccesses => f.write_str("several successes"),
            Self::SeveralErrors => f.write_str("several errors"),
            Self::ResponseMedia(name) => write!(f, "response {name}"),
            Self::Status(code) => write!(f, "status {code}"),
            Self::Subscriber => f.write_str("a subscriber's URL"),
        }
    }
}

/// Who writes an operation's builder.
#[must_use]
pub fn carrier(api: &Api<'_>, operation: &Operation) -> Carrier {
    let subscriber = api.names.is_reversed.then_some(Reason::Subscriber);
    let reason = subscriber
        .or_else(|| path(operation))
        .or_else(|| {
            operation
                .parameters
                .iter()
                .find_map(|given| parameter(api, given))
        })
        .or_else(|| body(operation))
        .or_else(|| response(api, operation));
    reason.map_or(Carrier::Progenitor, Carrier::Own)
}

/// progenitor writes a parameter as a segment of its own, and folds double slashes.
fn path(operation: &Operation) -> Option<Reason> {
    let named = |name: &str| {
        operation
            .parameters
            .iter()
            .filter(|parameter| parameter.location == Location::Path && parameter.wire == name)
            .count()
    };
    let mut after_slash = false;
    for part in &operation.segments {
        let plain = match part {
            PathPart::Literal(text) => {
                let begins = text.starts_with('/');
                let plain = begins && !text.contains("//") && !text.contains(['{', '}']);
                after_slash = text.ends_with('/');
                plain
            }
            PathPart::Parameter(name) => {
                let plain = after_slash && named(name) == 1;
                after_slash = false;
                plain
            }
        };
        if !plain {
            return Some(Reason::Path);
        }
    }
    let used = |parameter: &Parameter| {
        let part = PathPart::Parameter(parameter.wire.clone());
        parameter.location != Location::Path || operation.segments.contains(&part)
    };
    (operation.segments.is_empty() || !operation.parameters.iter().all(used))
        .then_some(Reason::Path)
}

fn parameter(api: &Api<'_>, parameter: &Parameter) -> Option<Reason> {
    let name = || parameter.wire.clone();
    let ParameterEncoding::Style {
        style,
        explode,
        allow_reserved,
    } = &parameter.encoding
    else {
        return Some(Reason::ParameterEncoding(name()));
    };
    let plain = is_plain(api, &parameter.ty);
    match parameter.location {
        Location::Cookie => Some(Reason::Cookie(name())),
        Location::Path if *style != Style::Simple => Some(Reason::ParameterEncoding(name())),
        Location::Path if !plain || !parameter.required => Some(Reason::ParameterType(name())),
        Location::Header if !plain => Some(Reason::ParameterType(name())),
        Location::Header if !is_free_header(&parameter.wire) => Some(Reason::Header(name())),
        Location::Query if *style != Style::Form || *allow_reserved => {
            Some(Reason::ParameterEncoding(name()))
        }
        Location::Query if plain => None,
        Location::Query if !is_plain_list(api, &parameter.ty) => {
            Some(Reason::ParameterType(name()))
        }
        Location::Query if !explode => Some(Reason::ParameterEncoding(name())),
        Location::Path | Location::Header | Location::Query => None,
    }
}

/// Whether a header's name is one that any header may have, and that nothing else sets.
fn is_free_header(name: &str) -> bool {
    let is_token = |sign: char| sign.is_ascii_alphanumeric() || "-_.!#$%&'*+^`|~".contains(sign);
    !name.is_empty()
        && name.chars().all(is_token)
        && !["accept", "content-type", "authorization"]
            .contains(&name.to_ascii_lowercase().as_str())
}

/// Whether a type has one text that `Display` and serde agree on.
fn is_plain(api: &Api<'_>, ty: &TypeRef) -> bool {
    match ty {
        TypeRef::Primitive(_) => true,
        TypeRef::Named(id) => match &api.type_def(*id).kind {
            TypeKind::Alias(target) => is_plain(api, target),
            TypeKind::Scalar(scalar) => !scalar.secret,
            TypeKind::Enumeration(enumeration) => enumeration.strings,
            TypeKind::Object(_)
            | TypeKind::Array(_)
            | TypeKind::Map(_)
            | TypeKind::Union(_)
            | TypeKind::Json { .. } => false,
        },
        TypeRef::Vec(_)
        | TypeRef::Map(_)
        | TypeRef::Nullable(_)
        | TypeRef::Boxed(_)
        | TypeRef::Any => false,
    }
}

fn is_plain_list(api: &Api<'_>, ty: &TypeRef) -> bool {
    match ty {
        TypeRef::Vec(items) => is_plain(api, items),
        TypeRef::Named(id) => match &api.type_def(*id).kind {
            TypeKind::Alias(target) => is_plain_list(api, target),
            TypeKind::Array(array) => is_plain(api, &array.items),
            _ => false,
        },
        _ => false,
    }
}

fn body(operation: &Operation) -> Option<Reason> {
    let body = operation.body.as_ref()?;
    match &body.media[..] {
        [] => None,
        [_] if !body.required => Some(Reason::OptionalBody),
        [media] => {
            let plain = match media.kind {
                MediaKind::Json => media.name == "application/json",
                MediaKind::Bytes => media.name == "application/octet-stream",
                MediaKind::Form
                | MediaKind::Multipart
                | MediaKind::Text
                | MediaKind::EventStream => false,
            };
            (!plain).then(|| Reason::BodyMedia(media.name.clone()))
        }
        _ => Some(Reason::SeveralBodies),
    }
}

fn response(api: &Api<'_>, operation: &Operation) -> Option<Reason> {
    let successes = responses::successes(api, operation);
    let errors = responses::errors(api, operation);
    if let Some(arm) = successes
        .arms
        .iter()
        .find(|arm| !(200..300).contains(&arm.statuses.0))
    {
        return Some(Reason::Status(arm.statuses.0));
    }
    if successes.several {
        return Some(Reason::SeveralSuccesses);
    }
    if errors.several {
        return Some(Reason::SeveralErrors);
    }
    let choices = |side: &responses::Side| {
        let bodies = side.arms.iter().flat_map(|arm| &arm.bodies);
        let first = |choice: &responses::Choice| choice.media.first().cloned().unwrap_or_default();
        bodies
            .map(|choice| (first(choice), choice.body.clone()))
            .collect::<Vec<_>>()
    };
    for (media, body) in choices(&successes) {
        match body {
            // progenitor asks for `application/json`, whatever the contract calls it.
            Body::Json(_) if essence(&media) == "application/json" => {}
            Body::Empty | Body::Bytes => {}
            Body::Json(_) | Body::Text(_) | Body::Events | Body::Upgrade => {
                return Some(Reason::ResponseMedia(media));
            }
        }
    }
    choices(&errors)
        .into_iter()
        .find_map(|(media, body)| match body {
            Body::Json(_) | Body::Empty | Body::Bytes => None,
            Body::Text(_) | Body::Events | Body::Upgrade => Some(Reason::ResponseMedia(media)),
        })
}

/// A media type without its parameters.
pub(super) fn essence(media: &str) -> String {
    media
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}
