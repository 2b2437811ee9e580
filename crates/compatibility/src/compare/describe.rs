//! Describes in words what has changed in the keywords of a schema.

use std::collections::BTreeSet;

use contract::model::{Contract, Keywords, SchemaId, SchemaKind, Types};
use contract::pointer;
use serde_json::Value;

/// The maximum number of changes that one message names.
const MOST_CHANGES: usize = 4;
/// The maximum number of characters of a value in a message.
const MOST_CHARACTERS: usize = 60;

/// Returns the name of a schema for messages: the component, and the way from there.
pub(super) fn name(contract: &Contract, id: SchemaId) -> String {
    let pointer = &contract.schema(id).pointer;
    let tokens: Vec<String> = pointer::tokens(pointer).map(String::from).collect();
    let rest = match tokens.as_slice() {
        [components, schemas, rest @ ..] if components == "components" && schemas == "schemas" => {
            rest
        }
        all => all,
    };
    let shown: Vec<&str> = rest
        .iter()
        .map(String::as_str)
        .filter(|token| !matches!(*token, "properties" | "schema" | "content"))
        .collect();
    if rest.len() == tokens.len() {
        format!("`{pointer}`")
    } else {
        format!("`{}`", shown.join("."))
    }
}

/// Returns what has changed between two schemas, such as `` `maxLength` 63 → 40 ``.
pub(super) fn changes(
    base: &Contract,
    one: SchemaId,
    revision: &Contract,
    other: SchemaId,
) -> String {
    let (one, other) = (&base.schema(one).kind, &revision.schema(other).kind);
    let (SchemaKind::Object(one), SchemaKind::Object(other)) = (one, other) else {
        return "it is another schema".to_owned();
    };
    let mut out = scalars(one, other);
    lists(one, other, &mut out);
    structure(one, other, &mut out);
    if out.is_empty() {
        return "its parts have changed".to_owned();
    }
    let more = out.len().saturating_sub(MOST_CHANGES);
    out.truncate(MOST_CHANGES);
    let more = if more > 0 {
        format!(", and {more} more")
    } else {
        String::new()
    };
    out.join(", ") + &more
}

fn short(text: &str) -> String {
    if text.chars().count() <= MOST_CHARACTERS {
        return text.to_owned();
    }
    let start: String = text.chars().take(MOST_CHARACTERS).collect();
    format!("{start}…")
}

fn scalars(one: &Keywords, other: &Keywords) -> Vec<String> {
    let number = |number: &Option<serde_json::Number>| number.as_ref().map(ToString::to_string);
    let count = |count: Option<u64>| count.map(|count| count.to_string());
    let types = |types: Option<Types>| types.map(type_names);
    let quoted = |text: Option<String>| text.map(|text| format!("`{}`", short(&text)));
    let rows = [
        ("type", types(one.types), types(other.types)),
        (
            "const",
            quoted(one.constant.as_ref().map(Value::to_string)),
            quoted(other.constant.as_ref().map(Value::to_string)),
        ),
        ("minimum", number(&one.minimum), number(&other.minimum)),
        ("maximum", number(&one.maximum), number(&other.maximum)),
        (
            "exclusiveMinimum",
            number(&one.exclusive_minimum),
            number(&other.exclusive_minimum),
        ),
        (
            "exclusiveMaximum",
            number(&one.exclusive_maximum),
            number(&other.exclusive_maximum),
        ),
        (
            "multipleOf",
            number(&one.multiple_of),
            number(&other.multiple_of),
        ),
        ("minLength", count(one.min_length), count(other.min_length)),
        ("maxLength", count(one.max_length), count(other.max_length)),
        (
            "pattern",
            quoted(one.pattern.clone()),
            quoted(other.pattern.clone()),
        ),
        (
            "format",
            quoted(one.format.clone()),
            quoted(other.format.clone()),
        ),
        ("minItems", count(one.min_items), count(other.min_items)),
        ("maxItems", count(one.max_items), count(other.max_items)),
        (
            "uniqueItems",
            one.unique_items.then(|| "true".to_owned()),
            other.unique_items.then(|| "true".to_owned()),
        ),
        (
            "minProperties",
            count(one.min_properties),
            count(other.min_properties),
        ),
        (
            "maxProperties",
            count(one.max_properties),
            count(other.max_properties),
        ),
    ];
    rows.into_iter()
        .filter(|(_, one, other)| one != other)
        .map(|(keyword, one, other)| match (one, other) {
            (Some(one), Some(other)) => {
                format!("`{keyword}` {one} → {other}")
            }
            (None, Some(other)) => format!("`{keyword}` {other} is new"),
            (Some(one), None) => format!("`{keyword}` {one} is gone"),
            (None, None) => String::new(),
        })
        .collect()
}

fn lists(one: &Keywords, other: &Keywords, out: &mut Vec<String>) {
    let values = |keywords: &Keywords| -> BTreeSet<String> {
        let values = keywords.enumeration.iter().flatten();
        values.map(|value| format!("`{value}`")).collect()
    };
    match (&one.enumeration, &other.enumeration) {
        (None, Some(_)) => out.push("`enum` is new".to_owned()),
        (Some(_), None) => out.push("`enum` is gone".to_owned()),
        _ => compare_sets("enum", &values(one), &values(other), out),
    }
    let quoted = |names: Vec<&String>| -> BTreeSet<String> {
        names.into_iter().map(|name| format!("`{name}`")).collect()
    };
    compare_sets(
        "required",
        &quoted(one.required.iter().collect()),
        &quoted(other.required.iter().collect()),
        out,
    );
    compare_sets(
        "properties",
        &quoted(one.properties.keys().collect()),
        &quoted(other.properties.keys().collect()),
        out,
    );
}

fn compare_sets(
    keyword: &str,
    one: &BTreeSet<String>,
    other: &BTreeSet<String>,
    out: &mut Vec<String>,
) {
    let list = |names: Vec<&String>| {
        let names: Vec<&str> = names.iter().map(|name| name.as_str()).collect();
        short(&names.join(", "))
    };
    let gone: Vec<&String> = one.difference(other).collect();
    let new: Vec<&String> = other.difference(one).collect();
    if !gone.is_empty() {
        out.push(format!("`{keyword}` loses {}", list(gone)));
    }
    if !new.is_empty() {
        out.push(format!("`{keyword}` gains {}", list(new)));
    }
}

fn structure(one: &Keywords, other: &Keywords, out: &mut Vec<String>) {
    let rows = [
        (
            "additionalProperties",
            one.additional_properties.is_some(),
            other.additional_properties.is_some(),
        ),
        (
            "unevaluatedProperties",
            one.unevaluated_properties.is_some(),
            other.unevaluated_properties.is_some(),
        ),
        ("items", one.items.is_some(), other.items.is_some()),
        (
            "unevaluatedItems",
            one.unevaluated_items.is_some(),
            other.unevaluated_items.is_some(),
        ),
        ("contains", one.contains.is_some(), other.contains.is_some()),
        ("not", one.not.is_some(), other.not.is_some()),
        (
            "propertyNames",
            one.property_names.is_some(),
            other.property_names.is_some(),
        ),
        ("if", one.if_schema.is_some(), other.if_schema.is_some()),
    ];
    for (keyword, one, other) in rows {
        match (one, other) {
            (false, true) => out.push(format!("`{keyword}` is new")),
            (true, false) => out.push(format!("`{keyword}` is gone")),
            _ => {}
        }
    }
    let rows = [
        ("allOf", one.all_of.len(), other.all_of.len()),
        ("anyOf", one.any_of.len(), other.any_of.len()),
        ("oneOf", one.one_of.len(), other.one_of.len()),
    ];
    for (keyword, one, other) in rows {
        if one != other {
            out.push(format!("`{keyword}` has {other} instead of {one} branches"));
        }
    }
}

fn type_names(types: Types) -> String {
    types.names().collect::<Vec<_>>().join(" or ")
}
