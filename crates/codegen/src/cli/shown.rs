//! What is shown of a response: the columns of a table, and what a caller can wait for.

use std::collections::HashSet;

use contract::model::Method;
use serde_json::{Value, json};

use super::input::{Form, keywords, kind};
use super::object;
use crate::ir::{Api, Media, MediaKind, Operation, TypeDef, TypeKind, TypeRef};

/// The extension of a schema that chooses the columns of tables.
const COLUMNS: &str = "x-columns";
/// The extension of a schema that says which of its values are worth waiting for.
const WAIT: &str = "x-wait";
/// The properties that are the first columns of a table whose schema does not choose them: what a
/// row is about.
const FIRST: [&str; 2] = ["id", "name"];
/// The maximum number of columns of such a table.
const MOST_COLUMNS: usize = 8;

/// Returns the body of the first success with one that has a type.
pub(super) fn success(operation: &Operation) -> Option<&Media> {
    let successes = operation.responses.iter();
    let media = successes
        .filter(|response| response.is_success())
        .flat_map(|response| &response.media);
    let typed = |media: &&Media| media.ty.is_some();
    let is_json = |media: &&Media| media.kind == MediaKind::Json;
    media
        .clone()
        .filter(typed)
        .find(is_json)
        .or_else(|| media.clone().find(typed))
}

/// Returns the header `Accept`: the media types of the successes.
pub(super) fn accept(operation: &Operation) -> String {
    let is_named = |name: &str| {
        let mut parameters = operation.parameters.iter();
        parameters.any(|parameter| parameter.wire.eq_ignore_ascii_case(name))
    };
    let successes = operation.responses.iter();
    let media = successes
        .filter(|response| response.is_success())
        .flat_map(|response| &response.media);
    let mut names: Vec<&str> = Vec::new();
    for media in media {
        let name = media.name.split(';').next().unwrap_or_default().trim();
        let fits = name.bytes().all(|byte| (b' '..=b'~').contains(&byte));
        if fits && !names.contains(&name) {
            names.push(name);
        }
    }
    // A parameter of this name leaves the choice to the caller.
    if is_named("accept") {
        String::new()
    } else {
        names.join(", ")
    }
}

/// Returns the columns of a table of a response: those that its schema chooses, or else its first
/// properties that are single values, after those that say what a row is about.
pub(super) fn columns(
    api: &Api<'_>,
    operation: &Operation,
    success: Option<&Media>,
) -> Vec<String> {
    let Some(ty) = success.and_then(|media| media.ty.as_ref()) else {
        return Vec::new();
    };
    let item = operation.paging.as_ref().map(|paging| &paging.item);
    // Of one object, every property is shown, in rows.
    let Some(row) = item.or_else(|| items(api, ty)) else {
        return Vec::new();
    };
    let Some(def) = def(api, row) else {
        return Vec::new();
    };
    let TypeKind::Object(object) = &def.kind else {
        return Vec::new();
    };
    let fields = object.fields.iter();
    if let Some(chosen) = chosen(api, def) {
        let names: HashSet<&str> = fields.map(|field| field.wire.as_str()).collect();
        let known = |name: &String| names.contains(name.as_str());
        return chosen.into_iter().filter(known).collect();
    }
    let single = fields.filter(|field| Form::of_field(api, field, 1).is_single());
    let mut names: Vec<&str> = single.map(|field| field.wire.as_str()).collect();
    names.sort_by_key(|name| {
        FIRST
            .iter()
            .position(|first| first == name)
            .unwrap_or(FIRST.len())
    });
    let names = names.into_iter().take(MOST_COLUMNS);
    names.map(str::to_owned).collect()
}

/// Returns the names that a schema chooses as columns.
fn chosen(api: &Api<'_>, def: &TypeDef) -> Option<Vec<String>> {
    let chosen = keywords(api, def.schema)?
        .extensions
        .get(COLUMNS)?
        .as_array()?;
    let names = chosen.iter().filter_map(Value::as_str);
    Some(names.map(str::to_owned).collect())
}

/// Returns what a caller can wait for, if the operation only reads, and returns an object that has a
/// property with the extension.
pub(super) fn wait(api: &Api<'_>, operation: &Operation, success: Option<&Media>) -> Value {
    let ty = success.and_then(|media| media.ty.as_ref());
    let is_read = operation.method == Method::Get && operation.paging.is_none();
    let Some(TypeKind::Object(body)) = ty.filter(|_| is_read).and_then(|ty| kind(api, ty)) else {
        return Value::Null;
    };
    let waits = body.fields.iter().find_map(|field| {
        let own = keywords(api, field.schema);
        let target = keywords(api, api.contract.resolve(field.schema));
        let mut found = own.into_iter().chain(target);
        Some((field, found.find_map(|it| it.extensions.get(WAIT))?))
    });
    let Some((field, wait)) = waits else {
        return Value::Null;
    };
    let values = |name: &str| -> Value {
        let values = wait.get(name).and_then(Value::as_array);
        let texts = values.into_iter().flatten().filter_map(Value::as_str);
        texts.map(Value::from).collect()
    };
    object([
        ("property", json!(field.wire)),
        ("until", values("until")),
        ("failed", values("failed")),
    ])
}

/// Returns the type of the items of a list.
fn items<'a>(api: &'a Api<'_>, ty: &'a TypeRef) -> Option<&'a TypeRef> {
    match ty {
        TypeRef::Vec(items) => Some(items),
        TypeRef::Boxed(inner) | TypeRef::Nullable(inner) => items(api, inner),
        _ => match kind(api, ty) {
            Some(TypeKind::Array(array)) => Some(&array.items),
            _ => None,
        },
    }
}

/// Returns the item of the types crate that a type stands for.
fn def<'a>(api: &'a Api<'_>, ty: &TypeRef) -> Option<&'a TypeDef> {
    match ty {
        TypeRef::Named(id) => match &api.type_def(*id).kind {
            TypeKind::Alias(target) => def(api, target),
            _ => Some(api.type_def(*id)),
        },
        TypeRef::Boxed(inner) | TypeRef::Nullable(inner) => def(api, inner),
        _ => None,
    }
}
