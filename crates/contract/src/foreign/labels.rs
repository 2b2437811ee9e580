//! Repairs of parameters in the label of a path, such as `/a?b={c}`.

use super::operations::{METHODS, MOST_COPIED, declared, path_above};
use super::places::count;
use super::site::{Site, object, text};
use crate::model::{label_parameters, split_label};
use crate::node::{Node, NodeValue};

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
    let is_taken = |other| declared(site.root(), other).is_some_and(|it| is_in_query(it, &name));
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

/// Returns whether a node is a parameter of the query with this name.
fn is_in_query(parameter: &Node, name: &str) -> bool {
    let has = |key: &str, text: &str| parameter.get(key).and_then(Node::as_str) == Some(text);
    has("name", name) && has("in", "query")
}

/// Gives the parameters of the query that stand for a value in the label the name of that value.
pub(super) fn rename_parameter(site: &mut Site<'_>) -> Option<()> {
    let meant = site.diagnostic.subject.clone()?;
    let path = site.key(0)?.to_owned();
    let mut pairs = label_parameters(split_label(&path).1).into_iter();
    let (_, value) = pairs.find(|(name, _)| *name == meant)?;
    let own = value.strip_prefix('{')?.strip_suffix('}')?;
    let item = site.node(0)?;
    let operations = item.as_object()?.iter().map(|entry| &entry.value);
    let mut renamed = Vec::new();
    for (at, holder) in std::iter::once(item).chain(operations).enumerate() {
        let list = holder.get("parameters").and_then(Node::as_array);
        for (index, listed) in list.unwrap_or_default().iter().enumerate() {
            let parameter = declared(site.root(), listed)?;
            // Renaming the other would give the list two equal parameters.
            if is_in_query(parameter, &meant) {
                return None;
            }
            if is_in_query(parameter, own) {
                // A component keeps its name for others that refer to it.
                let _ = count(parameter, MOST_COPIED)?;
                let mut copy = parameter.clone();
                copy.set("name", text(&meant))?;
                renamed.push((at.checked_sub(1), index, copy));
            }
        }
    }
    (!renamed.is_empty()).then_some(())?;
    let item = site.node_mut(0)?;
    for (method, index, parameter) in renamed {
        let holder = match method {
            Some(at) => &mut item.entries_mut()?.get_mut(at)?.value,
            None => &mut *item,
        };
        let list = holder.entry_value_mut("parameters")?;
        let mut all = list.as_array()?.to_vec();
        *all.get_mut(index)? = parameter;
        list.value = NodeValue::Array(all);
    }
    Some(())
}

/// Declares a parameter of the query for a value in the label that no parameter stands for, in every
/// operation without it.
pub(super) fn declare_parameter(site: &mut Site<'_>) -> Option<()> {
    let name = site.diagnostic.subject.clone()?;
    let item = site.node(0)?;
    // A list beside a reference would replace that of the target.
    item.get("$ref").is_none().then_some(())?;
    let is_declared = |holder: &Node| {
        let list = holder.get("parameters").and_then(Node::as_array);
        let mut list = list.unwrap_or_default().iter();
        list.any(|listed| declared(site.root(), listed).is_some_and(|it| is_in_query(it, &name)))
    };
    if is_declared(item) {
        return None;
    }
    let entries = item.as_object()?.iter();
    let lacking: Vec<String> = entries
        .filter(|entry| METHODS.contains(&entry.key.as_str()) && !is_declared(&entry.value))
        .map(|entry| entry.key.clone())
        .collect();
    let span = item.span;
    let parameter = object(
        span,
        [
            ("name", text(&name)),
            ("in", text("query")),
            ("required", NodeValue::Bool(true)),
            ("schema", object(span, [("type", text("string"))]).value),
        ],
    );
    let item = site.node_mut(0)?;
    for method in &lacking {
        let operation = item.entry_value_mut(method)?;
        let list = match operation.get("parameters").map(|list| &list.value) {
            Some(NodeValue::Array(list)) => list.clone(),
            Some(_) => return None,
            None => Vec::new(),
        };
        let list = list.into_iter().chain([parameter.clone()]).collect();
        operation.set("parameters", NodeValue::Array(list))?;
    }
    (!lacking.is_empty()).then_some(())
}
