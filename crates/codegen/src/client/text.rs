//! What the client's docs and messages say.

use std::fmt::Write as _;

use contract::model::Location;

use super::responses::{Body, Side};
use crate::ir::{Api, Operation, Parameter, Primitive, TypeRef};

/// The docs of a trait's method: the contract's words, then method and path.
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
            "\n\nThe contract has it at {}: call it with a client for that.",
            urls.join(" or ")
        );
    }
    if operation.docs.is_empty() {
        line
    } else {
        format!("{}\n\n{line}", operation.docs)
    }
}

/// The docs of a builder.
pub(super) fn builder(api: &Api<'_>, operation: &Operation, client_trait: &str) -> String {
    format!(
        "Builder of [`{client_trait}::{}`]: {}.",
        operation.name,
        call(api, operation)
    )
}

/// What is called: a path, or a subscriber wherever it is.
fn call(api: &Api<'_>, operation: &Operation) -> String {
    let method = operation.method.as_str();
    if api.names.is_reversed {
        format!("`{method}` to the subscriber's URL")
    } else {
        format!("`{method} {}`", operation.path)
    }
}

/// The docs of a setter.
pub(super) fn setter(parameter: &Parameter) -> String {
    let place = match parameter.location {
        Location::Path => "Path parameter",
        Location::Query => "Query parameter",
        Location::Header => "Header",
        Location::Cookie => "Cookie",
    };
    let mut docs = format!("{place} `{}`", parameter.wire);
    docs.push_str(match (parameter.required, &parameter.default) {
        (true, _) => ", required.",
        (false, Some(_)) => "",
        (false, None) => ", optional.",
    });
    if let Some(default) = &parameter.default {
        let _ = write!(docs, "; `{default}` when it is not given.");
    }
    match parameter.description.as_deref().map(str::trim) {
        None | Some("") => docs,
        Some(description) => format!("{description}\n\n{docs}"),
    }
}

/// The docs of `send`: the statuses and what they mean.
pub(super) fn send(api: &Api<'_>, successes: &Side, errors: &Side) -> String {
    let mut docs = "Sends the call.".to_owned();
    table(&mut docs, api, successes);
    if !errors.arms.is_empty() {
        docs.push_str("\n\n# Errors\n\nThose that the contract lists, and whatever else [`runtime::Error`] names.");
        table(&mut docs, api, errors);
    }
    docs
}

fn table(docs: &mut String, api: &Api<'_>, side: &Side) {
    docs.push_str("\n\n| Status | Body | Meaning |\n|---|---|---|");
    for arm in &side.arms {
        for choice in &arm.bodies {
            let body = match &choice.body {
                Body::Empty => "none".to_owned(),
                Body::Json(ty) | Body::Text(ty) => format!("`{}`", type_name(api, ty)),
                Body::Bytes => "bytes".to_owned(),
                Body::Events => "events".to_owned(),
                Body::Upgrade => "the connection".to_owned(),
            };
            let meaning = choice
                .description
                .trim()
                .lines()
                .next()
                .unwrap_or_default()
                .replace('|', "\\|");
            let _ = write!(docs, "\n| {} | {body} | {meaning} |", status(arm.statuses));
        }
    }
}

fn status((first, last): (u16, u16)) -> String {
    match (first, last) {
        (400, 599) => "other errors".to_owned(),
        _ if first == last => first.to_string(),
        _ => format!("{}XX", first / 100),
    }
}

/// What a call says when a required parameter was not given.
pub(super) fn missing(name: &str) -> String {
    format!("`{}` was not given", name.trim_start_matches("r#"))
}

/// What a call says when a value cannot become the parameter's type.
pub(super) fn misfit(api: &Api<'_>, name: &str, ty: &TypeRef) -> String {
    format!(
        "`{}` is not what `{}` allows",
        name.trim_start_matches("r#"),
        type_name(api, ty)
    )
}

/// A type as people say it.
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

/// The docs of a body's setter.
pub(super) fn body(operation: &Operation) -> String {
    let Some(body) = &operation.body else {
        return String::new();
    };
    let media: Vec<String> = body
        .media
        .iter()
        .map(|media| format!("`{}`", media.name))
        .collect();
    let line = format!("The body, {}.", media.join(" or "));
    match body.description.as_deref().map(str::trim) {
        None | Some("") => line,
        Some(description) => format!("{description}\n\n{line}"),
    }
}
