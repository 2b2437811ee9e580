//! The responses of an operation as its builder returns them: successes and errors, with the bodies
//! of each.

use std::collections::HashSet;

use contract::model::{Method, StatusKey};

use crate::ir::{Api, Media, MediaKind, Operation, PartList, Response, TypeRef};
use crate::names;

/// The body of a response as the client returns it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Body {
    /// No body.
    Empty,
    /// JSON, which is parsed into this type.
    Json(TypeRef),
    /// Text, which is parsed into this type.
    Text(TypeRef),
    /// A stream of bytes.
    Bytes,
    /// Server-sent events.
    Events,
    /// A sequence of items of this type.
    Items(TypeRef),
    /// Server-sent events whose data has this type.
    TypedEvents(TypeRef),
    /// Parts with positions and no names.
    Parts(PartList),
    /// Such parts, one by one.
    PartStream(PartList),
    /// The connection itself, after a response with the status 101.
    Upgrade,
}

/// The successes of an operation, or its errors.
#[derive(Debug)]
pub(super) struct Side {
    /// The responses that the contract lists on this side, codes before ranges.
    pub(super) arms: Vec<Arm>,
    /// Whether there are bodies of several types, so that the client returns an enum.
    pub(super) several: bool,
}

/// The response for a status or a range of statuses.
#[derive(Debug)]
pub(super) struct Arm {
    /// The first and the last status.
    pub(super) statuses: (u16, u16),
    /// The bodies, selected by media type. If none matches, that of `*/*` is selected, or else the
    /// first.
    pub(super) bodies: Vec<Choice>,
}

/// A body of a response, and its variant.
#[derive(Debug)]
pub(super) struct Choice {
    /// The name of the variant, if the successes or errors become an enum.
    pub(super) variant: String,
    /// The contract's description of the response.
    pub(super) description: String,
    /// The media types as the contract writes them, the first of which is in `Accept`; empty
    /// without a body.
    pub(super) media: Vec<String>,
    /// The body.
    pub(super) body: Body,
    /// Whether the body is JSON only if its media type says so.
    pub(super) is_assumed: bool,
}

impl Side {
    /// Returns the body, if all bodies have one type. It is empty if the contract lists no
    /// response.
    pub(super) fn single(&self) -> Option<&Body> {
        match self.arms.first() {
            None => Some(&Body::Empty),
            Some(_) if self.several => None,
            Some(arm) => Some(&arm.bodies[0].body),
        }
    }

    /// Creates a side from the responses that the contract lists on it.
    fn new(arms: Vec<Arm>) -> Self {
        let mut bodies = arms
            .iter()
            .flat_map(|arm| &arm.bodies)
            .map(|choice| &choice.body);
        let first = bodies.next();
        let several = bodies.any(|body| Some(body) != first);
        Self { arms, several }
    }
}

/// The first and the last status of a success, for a contract that lists no success.
const SUCCESSES: (u16, u16) = (200, 299);

/// Returns the successes of an operation: the listed responses below 400 that reach the caller. If
/// there are none, every 2XX is a success, with the bodies of `default`, or else with its bytes.
pub(super) fn successes(api: &Api<'_>, operation: &Operation) -> Side {
    let mut taken = HashSet::new();
    let mut arms: Vec<Arm> = operation
        .responses
        .iter()
        .filter(|response| response.is_success() && reaches_the_caller(response.status))
        .map(|response| {
            arm(
                api,
                operation,
                response,
                statuses(response.status),
                &mut taken,
            )
        })
        .collect();
    if arms.is_empty() {
        let default = operation
            .responses
            .iter()
            .find(|response| response.status == StatusKey::Default);
        arms.push(match default {
            Some(default) => arm(api, operation, default, SUCCESSES, &mut taken),
            None => Arm {
                statuses: SUCCESSES,
                bodies: vec![Choice {
                    variant: "Success".to_owned(),
                    description: "A success that the contract does not describe.".to_owned(),
                    media: Vec::new(),
                    body: Body::Bytes,
                    is_assumed: false,
                }],
            },
        });
    }
    Side::new(arms)
}

/// Returns the errors of an operation: the listed responses from 400 on, where `default` stands for
/// 400 to 599.
pub(super) fn errors(api: &Api<'_>, operation: &Operation) -> Side {
    let mut taken = HashSet::new();
    let arms = operation
        .responses
        .iter()
        .filter(|response| !response.is_success())
        .map(|response| {
            arm(
                api,
                operation,
                response,
                statuses(response.status),
                &mut taken,
            )
        })
        .collect();
    Side::new(arms)
}

/// Returns whether an HTTP client returns responses with a status: of 1XX, only 101 (Switching
/// Protocols).
fn reaches_the_caller(status: StatusKey) -> bool {
    match status {
        StatusKey::Code(code) => code == 101 || code >= 200,
        StatusKey::Range(digit) => digit >= 2,
        StatusKey::Default => true,
    }
}

/// Returns the first and the last status that a key of the contract stands for.
fn statuses(status: StatusKey) -> (u16, u16) {
    match status {
        StatusKey::Code(code) => (code, code),
        StatusKey::Range(digit) => (u16::from(digit) * 100, u16::from(digit) * 100 + 99),
        StatusKey::Default => (400, 599),
    }
}

/// Returns the arm of a response. Its variants get names that are not in `taken`, and are added to
/// it.
fn arm(
    api: &Api<'_>,
    operation: &Operation,
    response: &Response,
    statuses: (u16, u16),
    taken: &mut HashSet<String>,
) -> Arm {
    let choice = |variant: String, media: &[&str], body: Body| Choice {
        variant,
        description: response.description.clone(),
        media: media.iter().map(|name| (*name).to_owned()).collect(),
        body,
        is_assumed: response
            .media
            .iter()
            .any(|one| one.is_assumed && media.contains(&one.name.as_str())),
    };
    let bodies = bodies(api, operation, response);
    let bodies = match &bodies[..] {
        [] => {
            let body = if statuses == (101, 101) {
                Body::Upgrade
            } else {
                Body::Empty
            };
            vec![choice(
                names::unique(taken, response.name.clone()),
                &[],
                body,
            )]
        }
        [(media, body)] => vec![choice(
            names::unique(taken, response.name.clone()),
            media,
            body.clone(),
        )],
        several => several
            .iter()
            .map(|(media, body)| {
                let mut others = several.iter().filter(|(_, other)| other != body);
                let has_others = others.any(|(_, other)| other.kind() == body.kind());
                let word = names::of_kind(body.kind(), media, has_others);
                let variant = names::unique(taken, format!("{}{word}", response.name));
                choice(variant, media, body.clone())
            })
            .collect(),
    };
    Arm { statuses, bodies }
}

/// Returns the bodies of a response with their media types, JSON first. A media type with the
/// schema of the JSON is left out: it is the same value in another syntax, and the client asks for
/// JSON.
fn bodies<'o>(
    api: &Api<'_>,
    operation: &Operation,
    response: &'o Response,
) -> Vec<(Vec<&'o str>, Body)> {
    // HTTP gives these no body, even where the contract lists one.
    let bodiless = matches!(response.status, StatusKey::Code(101 | 204 | 205 | 304));
    if bodiless || operation.method == Method::Head {
        return Vec::new();
    }
    let schema = |media: &Media| media.schema.map(|id| api.contract.resolve(id));
    let (json, others): (Vec<&Media>, Vec<&Media>) = response
        .media
        .iter()
        .partition(|media| media.kind == MediaKind::Json);
    // A sequence of values of one type is not one value of it.
    let is_sequence = |media: &Media| {
        matches!(
            media.kind,
            MediaKind::Items | MediaKind::TypedEvents | MediaKind::Parts | MediaKind::PartStream
        )
    };
    let has_json = |media: &&Media| {
        !is_sequence(media) && json.iter().any(|json| schema(json) == schema(media))
    };
    let mut bodies: Vec<(Vec<&str>, Body)> = Vec::new();
    for media in json
        .iter()
        .copied()
        .chain(others.into_iter().filter(|media| !has_json(media)))
    {
        let body = body(media);
        // Media types with bodies of one type share a variant, since the caller would handle them
        // alike.
        match bodies.iter_mut().find(|(_, before)| *before == body) {
            Some((names, _)) => names.push(&media.name),
            None => bodies.push((vec![&media.name], body)),
        }
    }
    bodies
}

/// Returns the form in which the client returns a body of a media type.
fn body(media: &Media) -> Body {
    match (media.kind, &media.ty) {
        (MediaKind::Parts | MediaKind::PartStream, _) => {
            let parts = media.parts.clone();
            let parts = parts.expect("a body of parts has their list");
            if media.kind == MediaKind::Parts {
                Body::Parts(parts)
            } else {
                Body::PartStream(parts)
            }
        }
        (MediaKind::Json, ty) => Body::Json(ty.clone().unwrap_or(TypeRef::Any)),
        (MediaKind::Text, Some(ty)) => Body::Text(ty.clone()),
        (MediaKind::EventStream, _) => Body::Events,
        (MediaKind::Items, ty) => Body::Items(ty.clone().unwrap_or(TypeRef::Any)),
        (MediaKind::TypedEvents, ty) => Body::TypedEvents(ty.clone().unwrap_or(TypeRef::Any)),
        (MediaKind::Text | MediaKind::Form | MediaKind::Multipart | MediaKind::Bytes, _) => {
            Body::Bytes
        }
    }
}

impl Body {
    /// Returns the word that distinguishes the variants of one status, such as `Json`.
    fn kind(&self) -> &'static str {
        match self {
            Self::Empty => "Empty",
            Self::Json(_) => "Json",
            Self::Text(_) => "Text",
            Self::Bytes => "Bytes",
            Self::Events => "Events",
            Self::Items(_) | Self::TypedEvents(_) => "Items",
            Self::Parts(_) | Self::PartStream(_) => "Parts",
            Self::Upgrade => "Upgrade",
        }
    }
}

/// Returns a media type without its parameters, in lower case.
pub(super) fn essence(media: &str) -> String {
    media
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase()
}
