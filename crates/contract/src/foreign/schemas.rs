//! Repairs of schemas.

use std::cmp::Ordering;

use super::operations::{MOST_COPIED, declared};
use super::places::count;
use super::site::{Site, object, text};
use crate::diagnostic::Severity;
use crate::keys::is_map;
use crate::node::{Entry, Node, NodeValue};
use crate::number::compare;
use crate::source::Span;

/// The keywords beside which one more type is not enough for null to be accepted.
const COMBINATORS: [&str; 8] = [
    "$ref",
    "$dynamicRef",
    "allOf",
    "anyOf",
    "oneOf",
    "not",
    "const",
    "if",
];

/// The keywords that describe a value with null as well, and so stay outside of the branch that
/// excludes null.
const OUTSIDE: [&str; 8] = [
    "title",
    "description",
    "default",
    "example",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
];

/// Drops a default that its schema rejects.
pub(super) fn drop_default(site: &mut Site<'_>) -> Option<()> {
    // The span may be that of a part of the default, which can have a key of this name too.
    let is_map = |key: &str| is_map(key) || key == "examples";
    let up = site.outermost("default", is_map)?;
    // Without its default, a variable of a server would be empty in the URL.
    let is_server = matches!(site.key(up + 3), None | Some("server"));
    if site.key(up + 2) == Some("variables") && is_server {
        return None;
    }
    site.remove(up)
}

/// Adds null to the `enum` beside `nullable: true`.
pub(super) fn list_null(site: &mut Site<'_>) -> Option<()> {
    push_null(site.node_mut(1)?)
}

/// Reads `nullable: true` beside `$ref` in 3.0.
pub(super) fn nullable_reference(site: &mut Site<'_>) -> Option<()> {
    is_nullable(site)?;
    let schema = site.node_mut(1)?;
    let span = schema.span;
    let reference = schema.take("$ref")?;
    let member = object(span, [("$ref", reference.value)]);
    schema.set("allOf", NodeValue::Array(vec![member]))
}

/// Reads `nullable: true` in 3.1, which knows null as a type only.
pub(super) fn nullable(site: &mut Site<'_>) -> Option<()> {
    is_nullable(site)?;
    let pointer = site.pointer_above(1)?;
    let schema = site.node_mut(1)?;
    schema.take("nullable")?;
    if !COMBINATORS.iter().any(|key| schema.get(key).is_some()) {
        return accept_null(schema);
    }
    if let Some(branches) = only_branches(schema) {
        branches.push(null_type(branches.first()?.span));
        return Some(());
    }
    with_null_branch(schema)?;
    site.moved = Some(pointer);
    Some(())
}

fn is_nullable(site: &Site<'_>) -> Option<()> {
    let is_true = site.node(0)?.as_bool() == Some(true);
    (is_true && site.key(0) == Some("nullable")).then_some(())
}

/// Adds null to the types and values of a schema without combinators.
fn accept_null(schema: &mut Node) -> Option<()> {
    let span = schema.span;
    let Some(types) = schema.get("type") else {
        // Without a type, only a list of values can exclude null.
        push_null(schema);
        return Some(());
    };
    let mut types = match &types.value {
        NodeValue::Array(types) => types.clone(),
        _ => vec![types.clone()],
    };
    if types.iter().all(|name| name.as_str() != Some("null")) {
        let value = text("null");
        types.push(Node { span, value });
    }
    schema.set("type", NodeValue::Array(types))?;
    push_null(schema);
    Some(())
}

/// Returns the branches of an `anyOf` that no other keyword of its schema restricts, so that null
/// can be one of them.
fn only_branches(schema: &mut Node) -> Option<&mut Vec<Node>> {
    let entries = schema.entries_mut()?;
    let is_free = |entry: &Entry| is_outside(entry) || entry.key == "anyOf";
    if !entries.iter().all(is_free) {
        return None;
    }
    match &mut entries
        .iter_mut()
        .find(|entry| entry.key == "anyOf")?
        .value
        .value
    {
        NodeValue::Array(branches) => Some(branches),
        _ => None,
    }
}

fn is_outside(entry: &Entry) -> bool {
    OUTSIDE.contains(&entry.key.as_str()) || entry.key.starts_with("x-")
}

/// Makes a schema the `anyOf` of itself and null.
fn with_null_branch(schema: &mut Node) -> Option<()> {
    let span = schema.span;
    let entries = std::mem::take(schema.entries_mut()?);
    let (mut outside, inside): (Vec<Entry>, Vec<Entry>) = entries.into_iter().partition(is_outside);
    let own = Node {
        span,
        value: NodeValue::Object(inside),
    };
    let null = null_type(span);
    outside.push(Entry {
        key: "anyOf".to_owned(),
        key_span: span,
        value: Node {
            span,
            value: NodeValue::Array(vec![own, null]),
        },
    });
    schema.value = NodeValue::Object(outside);
    Some(())
}

/// Adds null to the `enum` of a schema that has one without it.
fn push_null(schema: &mut Node) -> Option<()> {
    let span = schema.span;
    let entries = schema.entries_mut()?;
    let list = entries.iter_mut().find(|entry| entry.key == "enum")?;
    let NodeValue::Array(values) = &mut list.value.value else {
        return None;
    };
    if values.iter().all(|value| value.value != NodeValue::Null) {
        values.push(null(span));
    }
    Some(())
}

fn null_type(span: Span) -> Node {
    object(span, [("type", text("null"))])
}

fn null(span: Span) -> Node {
    Node {
        span,
        value: NodeValue::Null,
    }
}

/// Reads a boolean `exclusiveMinimum` or `exclusiveMaximum` in 3.1 as 3.0 does, and a number there
/// in 3.0 as 3.1 does.
pub(super) fn exclusive_bound(site: &mut Site<'_>) -> Option<()> {
    let key = site.key(0)?.to_owned();
    let plain = match key.as_str() {
        "exclusiveMinimum" => "minimum",
        "exclusiveMaximum" => "maximum",
        _ => return None,
    };
    match site.node(0)?.value.clone() {
        NodeValue::Bool(is_open) => {
            let schema = site.node_mut(1)?;
            let bound = if is_open { schema.take(plain) } else { None };
            match bound {
                Some(bound) => schema.set(&key, bound.value),
                None => schema.take(&key).map(drop),
            }
        }
        NodeValue::Number(limit) => {
            let schema = site.node_mut(1)?;
            if let Some(NodeValue::Number(other)) = schema.get(plain).map(|bound| &bound.value) {
                let tighter = if plain == "minimum" {
                    Ordering::Greater
                } else {
                    Ordering::Less
                };
                // The other bound excludes more, so this one says nothing.
                if compare(other, &limit) == Some(tighter) {
                    return schema.take(&key).map(drop);
                }
            }
            schema.set(plain, NodeValue::Number(limit))?;
            schema.set(&key, NodeValue::Bool(true))
        }
        _ => None,
    }
}

/// Reads a list of types in 3.0, of which one may be null, as 3.1 does.
pub(super) fn type_list(site: &mut Site<'_>) -> Option<()> {
    if site.key(0) != Some("type") {
        return None;
    }
    let own = site.node(0)?;
    let names: Vec<Node> = match &own.value {
        NodeValue::Array(items) => items.clone(),
        NodeValue::String(name) if name == "null" => vec![own.clone()],
        _ => return None,
    };
    let schema = site.node_mut(1)?;
    let (nulls, others): (Vec<_>, Vec<_>) = names
        .into_iter()
        .partition(|name| name.value == text("null") || name.value == NodeValue::Null);
    let span = schema.span;
    match others.as_slice() {
        [] => {
            // 3.0 has no type for null alone: a list of values with nothing else in it accepts it.
            schema.take("type")?;
            schema.set("enum", NodeValue::Array(vec![null(span)]))?;
            return schema.set("nullable", NodeValue::Bool(true));
        }
        [only] => schema.set("type", only.value.clone())?,
        several => {
            if schema.get("anyOf").is_some() {
                return None;
            }
            let branches = several
                .iter()
                .map(|name| {
                    let mut branch = object(span, []);
                    branch.put("type", name.clone());
                    branch
                })
                .collect();
            schema.take("type")?;
            schema.set("anyOf", NodeValue::Array(branches))?;
        }
    }
    if nulls.is_empty() {
        Some(())
    } else {
        push_null(schema);
        schema.set("nullable", NodeValue::Bool(true))
    }
}

/// Drops `type: any`, which accepts what a schema without a type accepts; so does a list of types with
/// it.
pub(super) fn any_type(site: &mut Site<'_>) -> Option<()> {
    let is_any = site.node(0)?.as_str()?.eq_ignore_ascii_case("any");
    is_any.then_some(())?;
    let up = (0..2).find(|up| site.key(*up) == Some("type"))?;
    site.remove(up)
}

/// Drops a tag of a discriminator that leads to no schema.
pub(super) fn drop_mapping(site: &mut Site<'_>) -> Option<()> {
    site.remove(0)
}

/// Keeps a pattern that no engine can read as an annotation.
pub(super) fn note_pattern(site: &mut Site<'_>) -> Option<()> {
    // As a warning, the rule reports a pattern that is read. A key of `patternProperties` stays an
    // error: without it, nothing says which properties are meant.
    let is_unusable = site.diagnostic.severity == Severity::Error;
    (is_unusable && site.key(0) == Some("pattern")).then_some(())?;
    "x-pattern".clone_into(&mut site.entry_mut()?.key);
    Some(())
}

/// Reads `required: true` in the schema of a property as an entry in the `required` of the object.
pub(super) fn own_required(site: &mut Site<'_>) -> Option<()> {
    let is_required = site.node(0)?.as_bool()?;
    if site.key(0) != Some("required") {
        return None;
    }
    let name = (site.key(2) == Some("properties")).then(|| site.key(1).map(str::to_owned));
    if let Some(Some(name)) = name.filter(|_| is_required) {
        let span = site.diagnostic.span;
        let entry = Node {
            span,
            value: NodeValue::String(name.clone()),
        };
        // A new list comes after the properties, so the way to the node stays as it is.
        let object = site.node_mut(3)?;
        let mut names = match object.get("required").map(|names| &names.value) {
            Some(NodeValue::Array(names)) => names.clone(),
            None => Vec::new(),
            // What it is meant to be is another mistake, which is repaired first.
            Some(_) => return None,
        };
        if names
            .iter()
            .all(|other| other.as_str() != Some(name.as_str()))
        {
            names.push(entry);
        }
        object.set("required", NodeValue::Array(names))?;
    }
    site.remove(0)
}

/// Drops bounds that exclude each other, and a `multipleOf` of which there is no multiple.
pub(super) fn drop_bounds(site: &mut Site<'_>) -> Option<()> {
    // As a warning, the rule reports a bound without effect.
    if site.diagnostic.severity != Severity::Error {
        return None;
    }
    let both: &[&str] = match site.key(0)? {
        "multipleOf" => &["multipleOf"],
        "minLength" => &["minLength", "maxLength"],
        "minItems" => &["minItems", "maxItems"],
        "minProperties" => &["minProperties", "maxProperties"],
        "minimum" | "exclusiveMinimum" => {
            &["minimum", "maximum", "exclusiveMinimum", "exclusiveMaximum"]
        }
        _ => return None,
    };
    let schema = site.node_mut(1)?;
    for bound in both {
        schema.take(bound);
    }
    Some(())
}

/// The keywords of a parent that choose among its children.
const CHOICES: [&str; 3] = ["oneOf", "anyOf", "discriminator"];

/// Gives a child that has its parent in `allOf` a copy of the parent without the choice among children:
/// the child has been chosen.
pub(super) fn chosen_child(site: &mut Site<'_>) -> Option<()> {
    (site.key(0) == Some("$ref") && site.key(2) == Some("allOf")).then_some(())?;
    let child = site.pointer_above(3)?;
    let parent = declared(site.root(), site.node(1)?)?;
    let is_child = |branch: &Node| {
        let target = branch.get("$ref").and_then(Node::as_str);
        target.is_some_and(|target| target.strip_prefix('#') == Some(child.as_str()))
    };
    let mut choices = CHOICES.iter().filter_map(|key| parent.get(key)?.as_array());
    choices
        .any(|branches| branches.iter().any(is_child))
        .then_some(())?;
    let nodes = count(parent, MOST_COPIED)?;
    let mut copy = parent.clone();
    for key in CHOICES {
        copy.take(key);
    }
    site.charge(nodes)?;
    site.node_mut(1)?.value = copy.value;
    Some(())
}
