//! Mends for the draft of an overlay: what somebody may have meant who then edits the draft. They
//! are too uncertain for repairs without an editor.

use std::collections::HashMap;

use super::operations::{METHODS, MOST_COPIED, bracketed_array};
use super::places::count;
use super::site::{Site, object, text};
use super::table::{Reading, reading};
use crate::diagnostic::Severity;
use crate::model::{PathPart, split_label};
use crate::node::{Node, NodeValue};
use crate::pointer;

/// Returns the mends of a rule, in the order in which they are tried.
pub(super) fn of(rule: &str) -> impl Iterator<Item = &'static Reading> {
    MENDS.iter().filter(move |mend| mend.rule == rule)
}

static MENDS: &[Reading] = &[
    reading(
        "dangling-ref",
        "a reference that resembles a right one",
        "the right reference",
        suggested_reference,
    ),
    reading(
        "dangling-ref",
        "a reference to a component that is not declared",
        "an empty component is declared",
        declare_component,
    ),
    reading(
        "dangling-ref",
        "another reference that leads to nothing",
        "anything is accepted there",
        drop_reference,
    ),
    reading(
        "remote-ref",
        "a reference to another host",
        "anything is accepted there",
        drop_reference,
    ),
    reading(
        "misspelt-keyword",
        "a misspelt section, such as `componets`",
        "the section has the right name",
        rename_section,
    ),
    reading(
        "misspelt-keyword",
        "an unknown keyword that resembles a known one",
        "the keyword is removed",
        remove_key,
    ),
    reading(
        "unknown-keyword",
        "an unknown keyword",
        "the keyword is removed",
        remove_key,
    ),
    reading(
        "ignored-sibling",
        "a keyword without effect beside a reference",
        "the keyword is removed",
        remove_key,
    ),
    reading(
        "wrong-dialect",
        "a keyword without effect in this version",
        "the keyword is removed",
        remove_key,
    ),
    reading(
        "bad-example",
        "an example that its schema rejects",
        "the example is removed",
        remove_example,
    ),
    reading(
        "duplicate-path",
        "a path that differs from another in the names of parameters, and has other methods",
        "the operations are those of the other path, with the names of its parameters",
        merge_paths,
    ),
    reading(
        "deep-object-array",
        "a parameter in the style `deepObject` that is an array of single values",
        "the name ends in `[]`, in the usual style",
        bracketed_array,
    ),
    reading(
        "missing-keyword",
        "a missing text",
        "the text is empty",
        empty_text,
    ),
];

/// The keys of a path item that are no operations, and that operations can have instead or do
/// without.
const BESIDE: [&str; 4] = ["parameters", "servers", "summary", "description"];

/// Moves the operations of a path to the path that it matches too, whose names their parameters get.
/// Both may not have one method, of which nothing says which is right.
fn merge_paths(site: &mut Site<'_>) -> Option<()> {
    let own = site.key(0)?.to_owned();
    let (names, shape) = parameters_of(&own);
    let first = site.first_path(&shape, first_paths)?.to_owned();
    if first == own || site.key(1) != Some("paths") {
        return None;
    }
    let mut paths = site.node(1)?.as_object()?.iter();
    let other = paths.find(|entry| entry.key == first)?;
    let renamed: Vec<(String, String)> =
        names.into_iter().zip(parameters_of(&other.key).0).collect();
    let is_path = |parameter: &Node| parameter.get("in").and_then(Node::as_str) == Some("path");
    // Its own parameters would become those of the operations, which its names alone may do.
    let shared = other.value.get("parameters").and_then(Node::as_array);
    if !shared.unwrap_or_default().iter().all(is_path) || other.value.get("$ref").is_some() {
        return None;
    }
    let item = site.node(0)?;
    let list = |node: &Node| {
        node.get("parameters")
            .and_then(Node::as_array)
            .map(<[Node]>::to_vec)
    };
    let of_item = list(item).unwrap_or_default();
    let servers = item.get("servers").or_else(|| other.value.get("servers"));
    let mut moved = Vec::new();
    for entry in item.as_object()? {
        if BESIDE.contains(&entry.key.as_str()) {
            continue;
        }
        let is_free =
            METHODS.contains(&entry.key.as_str()) && other.value.get(&entry.key).is_none();
        if !is_free || entry.value.as_object().is_none() || entry.value.get("$ref").is_some() {
            return None;
        }
        let mut operation = entry.clone();
        let mut parameters = list(&entry.value).unwrap_or_default();
        let identity = |node: &Node| (node.get("name").cloned(), node.get("in").cloned());
        for parameter in &of_item {
            let is_new =
                |own: &Node| own.get("$ref").is_some() || identity(own) != identity(parameter);
            if parameters.iter().all(is_new) {
                parameters.push(parameter.clone());
            }
        }
        for parameter in &mut parameters {
            rename_own(site.root(), parameter, &renamed)?;
        }
        operation
            .value
            .set("parameters", NodeValue::Array(parameters))?;
        if let Some(servers) = servers
            && operation.value.get("servers").is_none()
        {
            operation.value.set("servers", servers.value.clone())?;
        }
        moved.push(operation);
    }
    let other = other.key.clone();
    site.move_operations(&other, moved)
}

/// Returns the first path of each shape, by the shape.
fn first_paths(root: &Node) -> HashMap<String, String> {
    let paths = root.get("paths").and_then(Node::as_object);
    let mut first = HashMap::new();
    for entry in paths.unwrap_or_default() {
        let (_, shape) = parameters_of(&entry.key);
        first.entry(shape).or_insert_with(|| entry.key.clone());
    }
    first
}

/// Gives a path parameter its new name. A component keeps its own for others that refer to it.
fn rename_own(root: &Node, parameter: &mut Node, renamed: &[(String, String)]) -> Option<()> {
    let mut target = &*parameter;
    if let Some(reference) = parameter.get("$ref") {
        let path = reference.as_str()?.strip_prefix('#')?;
        target = pointer::tokens(path).try_fold(root, |at, token| at.get(&token))?;
    }
    if target.get("in").and_then(Node::as_str) != Some("path") {
        return Some(());
    }
    let name = target.get("name")?.as_str()?;
    let new = renamed.iter().find(|(own, _)| own == name)?.1.clone();
    if new == name {
        return Some(());
    }
    let _ = count(target, MOST_COPIED)?;
    parameter.value = target.value.clone();
    parameter.set("name", text(&new))
}

/// Returns the names of the parameters of a path, and the path with nameless ones.
fn parameters_of(path: &str) -> (Vec<String>, String) {
    let (template, label) = split_label(path);
    let (mut names, mut shape) = (Vec::new(), String::new());
    for part in PathPart::split(template) {
        match part {
            PathPart::Literal(text) => shape.push_str(&text),
            PathPart::Parameter(name) => {
                names.push(name);
                shape.push_str("{}");
            }
        }
    }
    (names, shape + label)
}

/// Returns the word that the diagnostic suggests.
pub(super) fn suggestion(site: &Site<'_>) -> Option<String> {
    let help = site.diagnostic.help.as_deref()?;
    let meant = help.strip_prefix("did you mean `")?.strip_suffix("`?")?;
    Some(meant.to_owned())
}

/// Gives a misspelt key with an object the name that the diagnostic suggests.
fn rename_section(site: &mut Site<'_>) -> Option<()> {
    let meant = suggestion(site)?;
    site.node(0)?.as_object()?;
    // Renaming it would give the object two equal keys.
    if site.node(1)?.get(&meant).is_some() {
        return None;
    }
    site.entry_mut()?.key = meant;
    Some(())
}

/// Writes the reference that the diagnostic suggests.
fn suggested_reference(site: &mut Site<'_>) -> Option<()> {
    let meant = suggestion(site)?;
    site.node(0)?.as_str()?;
    site.node_mut(0)?.value = NodeValue::String(meant);
    Some(())
}

/// Declares the component that a reference names, with nothing in it.
fn declare_component(site: &mut Site<'_>) -> Option<()> {
    let reference = site.node(0)?.as_str()?.to_owned();
    let path = reference.strip_prefix('#')?;
    let path = percent_encoding::percent_decode_str(path)
        .decode_utf8()
        .ok()?;
    let tokens: Vec<_> = pointer::tokens(&path).collect();
    let [components, section, name] = tokens.as_slice() else {
        return None;
    };
    if components != "components" {
        return None;
    }
    let span = site.diagnostic.span;
    let component = match &**section {
        "schemas" | "examples" => object(span, []),
        "responses" => object(span, [("description", text(""))]),
        "headers" => object(span, [("schema", object(span, []).value)]),
        _ => return None,
    };
    site.declare(section, name, component.value)
}

/// Drops a reference that leads to nothing: a schema then accepts anything, a parameter goes, and a
/// response has no body.
fn drop_reference(site: &mut Site<'_>) -> Option<()> {
    if site.key(0) != Some("$ref") {
        return None;
    }
    let is_schema = matches!(
        site.key(1),
        Some("schema" | "items" | "additionalProperties" | "not" | "contains" | "propertyNames")
    ) || matches!(
        site.key(2),
        Some(
            "properties"
                | "schemas"
                | "patternProperties"
                | "$defs"
                | "allOf"
                | "anyOf"
                | "oneOf"
                | "prefixItems"
        )
    );
    if is_schema {
        return site.remove(0);
    }
    match site.key(2) {
        Some("parameters" | "headers" | "examples" | "links" | "callbacks") => site.remove(1),
        Some("responses") => {
            let response = site.node_mut(1)?;
            response.take("$ref")?;
            response.set("description", text(""))
        }
        _ => None,
    }
}

/// Removes a keyword that has no effect.
fn remove_key(site: &mut Site<'_>) -> Option<()> {
    // An error of the same rule is about a value that has an effect.
    if site.diagnostic.code == "wrong-dialect" && site.diagnostic.severity == Severity::Error {
        return None;
    }
    // References may lead into these, and an operation that is a reference has nothing else.
    if matches!(site.key(0), Some("$ref" | "$defs" | "definitions")) {
        return None;
    }
    // A diagnostic about the value is another mistake.
    (site.entry(0)?.key_span == site.diagnostic.span).then_some(())?;
    site.remove(0)
}

/// Removes an example.
fn remove_example(site: &mut Site<'_>) -> Option<()> {
    // The span may be that of a part of the example.
    if let Some(up) = site.above("example") {
        return site.remove(up);
    }
    let up = site.above("examples")?;
    // Of a list or map of examples, only the one that is wrong.
    site.remove(up.saturating_sub(1))
}

/// Adds the text that an object must have.
fn empty_text(site: &mut Site<'_>) -> Option<()> {
    let help = site.diagnostic.help.as_deref()?;
    let field = help.strip_prefix("add `")?.strip_suffix('`')?;
    if !matches!(field, "description" | "title" | "version") {
        return None;
    }
    let field = field.to_owned();
    let node = site.node_mut(0)?;
    let is_missing = |value: &Node| matches!(value.value, NodeValue::Null);
    node.get(&field).is_none_or(is_missing).then_some(())?;
    node.set(&field, text(""))
}
