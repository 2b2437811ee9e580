//! Repairs of parameters in the label of a path, such as `/a?b={c}`.

use super::operations::{METHODS, MOST_COPIED, declared, is_named, path_above};
use super::places::count;
use super::site::{Site, object, text};
use crate::load::is_32;
use crate::model::{label_parameters, split_label};
use crate::node::{Node, NodeValue};
use crate::source::Span;

/// Moves a path parameter that the label of the path has as a value, as in `/a?b={b}`, into the
/// query.
pub(super) fn query_parameter(site: &mut Site<'_>) -> Option<()> {
    let up = usize::from(site.key(0) == Some("name"));
    let list = site.node(up + 1)?.as_array()?;
    let listed = site.node(up)?;
    let parameter = declared(site.root(), listed)?;
    if listed.get("$ref").is_some() {
        // A component stays a parameter of the path for others that refer to it.
        let _ = count(parameter, MOST_COPIED)?;
    }
    let value = format!("{{{}}}", parameter.get("name")?.as_str()?);
    let (_, label) = split_label(path_above(site, up)?);
    let mut pairs = label_parameters(label).into_iter();
    let (name, _) = pairs.find(|(_, written)| *written == value)?;
    let mut others = list.iter();
    let is_taken =
        |other| declared(site.root(), other).is_some_and(|it| is_named(it, "query", &name));
    if others.any(is_taken) {
        return None;
    }
    let is_several = parameter.get("schema").is_some_and(|schema| {
        let ty = schema.get("type").and_then(Node::as_str);
        matches!(ty, Some("array" | "object"))
    });
    let mut own = parameter.clone();
    own.set("name", text(&name))?;
    own.set("in", text("query"))?;
    own.take("style");
    // The value in the template is one, with commas.
    if is_several && own.get("explode").is_none() {
        own.set("explode", NodeValue::Bool(false))?;
    }
    site.node_mut(up)?.value = own.value;
    Some(())
}

/// Gives the parameter of the query that a value of the label names the name of that value, in each
/// operation of the path. Where there is none, declares a required string.
pub(super) fn name_parameter(site: &mut Site<'_>) -> Option<()> {
    let meant = site.diagnostic.subject.clone()?;
    let path = site.key(0)?.to_owned();
    let mut pairs = label_parameters(split_label(&path).1).into_iter();
    let (_, value) = pairs.find(|(name, _)| *name == meant)?;
    let own = value.strip_prefix('{')?.strip_suffix('}')?;
    let item = site.node(0)?;
    // What a reference leads to may belong to another path too.
    item.get("$ref").is_none().then_some(())?;
    let shared = list_of(item)?;
    let (renamed, _) = named(site.root(), &shared, own, &meant)?;
    let mut changed = Vec::new();
    for steps in operations(item, is_32(site.root())) {
        let operation = item.at(steps.iter().copied())?;
        operation.get("$ref").is_none().then_some(())?;
        let (mut list, has_own) = named(site.root(), &list_of(operation)?, own, &meant)?;
        let (_, has_shared) = named(site.root(), &shared, own, &meant)?;
        if !has_own && !has_shared {
            list.push(required_text(item.span, &meant));
        }
        changed.push((steps, list));
    }
    let item = site.node_mut(0)?;
    for (steps, list) in changed.into_iter().chain([(Vec::new(), renamed)]) {
        let holder = item.at_mut(steps)?;
        if holder.get("parameters").is_some() || !list.is_empty() {
            holder.set("parameters", NodeValue::Array(list))?;
        }
    }
    Some(())
}

/// Returns the parameters of a path item or an operation, or `None` if they are no list.
fn list_of(holder: &Node) -> Option<Vec<Node>> {
    match holder.get("parameters") {
        Some(list) => Some(list.as_array()?.to_vec()),
        None => Some(Vec::new()),
    }
}

/// Returns the list with the parameter of the query called `own` under the name `meant`, and whether it
/// has one of that name then. Returns `None` if it has both.
fn named(root: &Node, list: &[Node], own: &str, meant: &str) -> Option<(Vec<Node>, bool)> {
    let mut new = list.to_vec();
    let mut count_of_meant = 0;
    for listed in &mut new {
        let parameter = declared(root, listed)?;
        let is_own = is_named(parameter, "query", own);
        if is_own {
            // A component keeps its name for others that refer to it.
            let _ = count(parameter, MOST_COPIED)?;
            listed.value = parameter.value.clone();
            listed.set("name", text(meant))?;
        } else if !is_named(parameter, "query", meant) {
            continue;
        }
        count_of_meant += 1;
    }
    (count_of_meant < 2).then_some((new, count_of_meant == 1))
}

fn required_text(span: Span, name: &str) -> Node {
    object(
        span,
        [
            ("name", text(name)),
            ("in", text("query")),
            ("required", NodeValue::Bool(true)),
            ("schema", object(span, [("type", text("string"))]).value),
        ],
    )
}

/// Returns the way to each operation of a path item.
fn operations(item: &Node, is_32: bool) -> Vec<Vec<usize>> {
    let mut ways = Vec::new();
    for (at, entry) in item.as_object().unwrap_or_default().iter().enumerate() {
        let key = entry.key.as_str();
        if METHODS.contains(&key) || (is_32 && key == "query") {
            ways.push(vec![at]);
        } else if is_32 && key == "additionalOperations" {
            let inner = entry.value.as_object().unwrap_or_default().len();
            ways.extend((0..inner).map(|inner| vec![at, inner]));
        }
    }
    ways
}
