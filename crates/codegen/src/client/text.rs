//! The docs of the client's items, made of the contract's words.

use std::fmt::Write as _;

use contract::model::Location;

use super::common::CommonResponses;
use super::responses::{self, Side};
use crate::ir::{Api, Body, Media, Operation, Parameter, Primitive, TypeRef};

/// Returns the docs of a trait's method: the contract's words, then method and path.
pub(super) fn operation(api: &Api<'_>, operation: &Operation) -> String {
    let mut line = call(api, operation);
    let elsewhere = &api.contract.operations[operation.index].servers;
    if !elsewhere.is_empty() && !api.names.is_reversed {
        let urls: Vec<String> = elsewhere
            .iter()
            .map(|server| format!("`{}`", server.url.replace('`', "'")))
            .collect();
        let _ = write!(
            line,
            "\n\nThis operation is at {}: build a client for that URL to call it.",
            urls.join(" or ")
        );
    }
    if operation.docs.is_empty() {
        line
    } else {
        format!("{}\n\n{line}", operation.docs)
    }
}

/// Returns the docs of a builder.
pub(super) fn builder(api: &Api<'_>, operation: &Operation, client_trait: &str) -> String {
    format!(
        "Builder of [`{client_trait}::{}`]: {}.",
        operation.name,
        call(api, operation)
    )
}

/// Returns the words for the call of an operation: method and path, or method and "to the
/// subscriber's URL".
fn call(api: &Api<'_>, operation: &Operation) -> String {
    let method = operation.method.as_str();
    if api.names.is_reversed {
        format!("`{method}` to the subscriber's URL")
    } else {
        format!("`{method} {}`", operation.path)
    }
}

/// Returns the docs of a parameter's setter.
pub(super) fn setter(parameter: &Parameter) -> String {
    let kind = match parameter.location {
        Location::Path => "Path parameter",
        Location::Query => "Query parameter",
        Location::Header => "Header",
        Location::Cookie => "Cookie",
    };
    let mut docs = format!("{kind} `{}`", parameter.wire);
    let _ = match &parameter.default {
        _ if parameter.required => write!(docs, ", required."),
        Some(default) => write!(docs, ", `{default}` by default."),
        None => write!(docs, ", optional."),
    };
    match parameter.description.as_deref().map(str::trim) {
        None | Some("") => docs,
        Some(description) => format!("{description}\n\n{docs}"),
    }
}

/// The head of a table of responses.
pub(super) const TABLE_HEAD: &str = "| Status | Body | Meaning |\n|---|---|---|";

/// Returns the docs of `send`: the statuses and what they mean, with a link to those that every
/// operation has.
pub(super) fn send(
    api: &Api<'_>,
    common: &CommonResponses,
    successes: &Side,
    errors: &Side,
) -> String {
    let mut docs = format!(
        "Sends the request. A listed status from 400 on is [`Error::ErrorResponse`](crate::Error).\n\n{TABLE_HEAD}"
    );
    let errors = rows(api, errors)
        .into_iter()
        .filter(|row| !common.contains(row));
    for row in rows(api, successes).into_iter().chain(errors) {
        let _ = write!(docs, "\n{row}");
    }
    if let Some(link) = common.link() {
        let _ = write!(docs, "\n\n{link}");
    }
    docs
}

/// Returns the rows of a table of responses: status, body, meaning.
pub(super) fn rows(api: &Api<'_>, side: &Side) -> Vec<String> {
    let choices = side
        .arms
        .iter()
        .flat_map(|arm| arm.bodies.iter().map(|choice| (arm.statuses, choice)));
    choices
        .map(|(statuses, choice)| {
            let body = match &choice.body {
                responses::Body::Empty => "none".to_owned(),
                responses::Body::Json(ty) | responses::Body::Text(ty) => {
                    format!("`{}`", type_name(api, ty))
                }
                responses::Body::Bytes => "bytes".to_owned(),
                responses::Body::Events => "events".to_owned(),
                responses::Body::Items(ty) => format!("a stream of `{}`", type_name(api, ty)),
                responses::Body::TypedEvents(ty) => {
                    format!("events with `{}`", type_name(api, ty))
                }
                responses::Body::Parts(_) => "parts".to_owned(),
                responses::Body::PartStream(_) => "a stream of parts".to_owned(),
                responses::Body::Upgrade => "the connection".to_owned(),
            };
            // A cell of a table is one line, and a bar would end it.
            let meaning = choice.description.trim().lines().next();
            let meaning = meaning.unwrap_or_default().replace('|', "\\|");
            format!("| {} | {body} | {meaning} |", status(statuses))
        })
        .collect()
}

/// Returns a range of statuses as the table in the docs of `send` shows it, such as `404` or `5XX`.
fn status((first, last): (u16, u16)) -> String {
    match (first, last) {
        (400, 599) => "other errors".to_owned(),
        _ if first == last => first.to_string(),
        _ => format!("{}XX", first / 100),
    }
}

/// Returns a type in the words of docs and messages.
pub(super) fn type_name(api: &Api<'_>, ty: &TypeRef) -> String {
    match ty {
        TypeRef::Named(id) => api.type_def(*id).name.clone(),
        TypeRef::Primitive(primitive) => match primitive {
            Primitive::Bool => "bool",
            Primitive::I8 => "i8",
            Primitive::I16 => "i16",
            Primitive::I32 => "i32",
            Primitive::I64 => "i64",
            Primitive::U8 => "u8",
            Primitive::U16 => "u16",
            Primitive::U32 => "u32",
            Primitive::U64 => "u64",
            Primitive::F32 => "f32",
            Primitive::F64 => "f64",
            Primitive::String => "String",
            Primitive::Ipv4Addr => "Ipv4Addr",
            Primitive::Ipv6Addr => "Ipv6Addr",
        }
        .to_owned(),
        TypeRef::Vec(items) => format!("Vec<{}>", type_name(api, items)),
        TypeRef::Map(values) => format!("BTreeMap<String, {}>", type_name(api, values)),
        TypeRef::Nullable(inner) => format!("Option<{}>", type_name(api, inner)),
        TypeRef::Boxed(inner) => type_name(api, inner),
        TypeRef::Any => "Value".to_owned(),
    }
}

/// Returns the docs of the setter of a request body.
pub(super) fn body(body: &Body, media: &Media) -> String {
    let necessity = if body.required {
        "required"
    } else {
        "optional"
    };
    let line = format!("Request body, `{}`, {necessity}.", media.name);
    match body.description.as_deref().map(str::trim) {
        None | Some("") => line,
        Some(description) => format!("{description}\n\n{line}"),
    }
}
