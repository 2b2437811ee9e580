//! Repairs of paths, operations, parameters, bodies and security.

use percent_encoding::percent_decode_str;

use super::places::count;
use super::site::{Site, object, text};
use crate::load::is_32;
use crate::model::{PathPart, StatusKey, split_label};
use crate::node::{Node, NodeValue};
use crate::pointer::tokens;
use crate::uri::is_scheme_uri;

/// Declares a parameter that only the template of the path names, as a required string.
pub(super) fn declare_parameter(site: &mut Site<'_>) -> Option<()> {
    let name = site.diagnostic.subject.clone()?;
    // An expression of RFC 6570, such as `{?page}`, is no parameter of the path.
    if name.starts_with(['?', '&', '#', '+', '/', ';', '.']) {
        return None;
    }
    let item = site.node_mut(0)?;
    // A list beside a reference would replace that of the target. Where an operation is a
    // reference, which the standard does not know, the parameter is probably declared there.
    let is_reference = |node: &Node| node.get("$ref").is_some();
    let methods = item.as_object().unwrap_or_default().iter();
    if is_reference(item) || methods.map(|entry| &entry.value).any(is_reference) {
        return None;
    }
    let span = item.span;
    let parameter = object(
        span,
        [
            ("name", text(&name)),
            ("in", text("path")),
            ("required", NodeValue::Bool(true)),
            ("schema", object(span, [("type", text("string"))]).value),
        ],
    );
    let mut list = match item.get("parameters").map(|list| list.value.clone()) {
        Some(NodeValue::Array(list)) => list,
        Some(_) => return None,
        None => Vec::new(),
    };
    list.push(parameter);
    item.set("parameters", NodeValue::Array(list))
}

/// The number of nodes that a component may have to be copied for a parameter with another name. A
/// larger one would make a document with many such parameters grow without a bound.
pub(super) const MOST_COPIED: usize = 1000;

/// Gives a path parameter the name of the template that its own resembles.
pub(super) fn rename_parameter(site: &mut Site<'_>) -> Option<()> {
    let meant = site.diagnostic.subject.clone()?;
    let up = listed(site)?;
    let mut others = site.node(up + 1)?.as_array()?.iter();
    if others.any(|other| is_named(other, "path", &meant)) {
        return None;
    }
    let listed = site.node(up)?;
    // A component keeps its name for the other paths that refer to it.
    let parameter = declared(site.root(), listed)?;
    if listed.get("$ref").is_some() {
        let _ = count(parameter, MOST_COPIED)?;
    }
    let mut own = parameter.value.clone();
    let NodeValue::Object(entries) = &mut own else {
        return None;
    };
    let name = entries.iter_mut().find(|entry| entry.key == "name")?;
    name.value.value = NodeValue::String(meant);
    site.node_mut(up)?.value = own;
    Some(())
}

/// Returns whether a node is a parameter with this name, in a location such as `path`.
pub(super) fn is_named(parameter: &Node, location: &str, name: &str) -> bool {
    let has = |key: &str, text: &str| parameter.get(key).and_then(Node::as_str) == Some(text);
    has("name", name) && has("in", location)
}

/// The number of references that are followed one through another.
const MOST_REFERENCES: usize = 8;

/// Returns a node, or what it is a reference to in the document.
pub(super) fn declared<'n>(root: &'n Node, node: &'n Node) -> Option<&'n Node> {
    let mut at = node;
    for _ in 0..=MOST_REFERENCES {
        let Some(reference) = at.get("$ref") else {
            return Some(at);
        };
        let pointer = reference.as_str()?.strip_prefix('#')?;
        let pointer = percent_decode_str(pointer).decode_utf8().ok()?;
        at = tokens(&pointer).try_fold(root, |at, token| at.get(&token))?;
    }
    None
}

/// Makes the second of two path parameters with one name a parameter of its own, declared as the first
/// is, so that a caller can give them different values, and a server sees both.
pub(super) fn second_parameter(site: &mut Site<'_>) -> Option<()> {
    (site.key(1) == Some("paths")).then_some(())?;
    let path = site.key(0)?.to_owned();
    let mut names = Vec::new();
    let mut twice = None;
    for part in PathPart::split(split_label(&path).0) {
        if let PathPart::Parameter(name) = part {
            if names.contains(&name) {
                twice.get_or_insert_with(|| name.clone());
            }
            names.push(name);
        }
    }
    let name = twice?;
    let item = site.node(0)?;
    let methods = item.as_object()?.iter().map(|entry| &entry.value);
    let own = (2..).map(|number| format!("{name}_{number}"));
    let own = own.take(names.len()).find(|own| !names.contains(own))?;
    let mut added = Vec::new();
    for (at, holder) in std::iter::once(item).chain(methods).enumerate() {
        let list = holder.get("parameters").and_then(Node::as_array);
        for parameter in list.unwrap_or_default() {
            let parameter = declared(site.root(), parameter)?;
            if is_named(parameter, "path", &name) {
                let _ = count(parameter, MOST_COPIED)?;
                let mut copy = parameter.clone();
                copy.set("name", text(&own))?;
                added.push((at.checked_sub(1), copy));
            }
        }
    }
    let mark = format!("{{{name}}}");
    let first = path.find(&mark)? + mark.len();
    let second = first + path[first..].find(&mark)?;
    let (before, after) = (&path[..second], &path[second + mark.len()..]);
    let meant = format!("{before}{{{own}}}{after}");
    // Renaming it would give the object two equal keys.
    site.node(1)?.get(&meant).is_none().then_some(())?;
    let item = site.node_mut(0)?;
    for (method, parameter) in added {
        let holder = match method {
            Some(at) => &mut item.entries_mut()?.get_mut(at)?.value,
            None => &mut *item,
        };
        let mut list = holder.get("parameters")?.as_array()?.to_vec();
        list.push(parameter);
        holder.set("parameters", NodeValue::Array(list))?;
    }
    site.rename_path(meant)
}

/// Drops a path parameter that the template does not name.
pub(super) fn drop_parameter(site: &mut Site<'_>) -> Option<()> {
    let up = listed(site)?;
    site.remove(up)
}

/// Returns the levels up to a parameter in a list of parameters, unless the label of the path names
/// it, in which it is a parameter of the query.
fn listed(site: &Site<'_>) -> Option<usize> {
    // The span is that of a reference in the list, or of the name of an inline parameter.
    let up = usize::from(site.key(0) == Some("name"));
    matches!(site.node(up + 1)?.value, NodeValue::Array(_)).then_some(())?;
    let name = site.node(up)?.get("name").and_then(Node::as_str);
    if let (Some(name), Some(path)) = (name, path_above(site, up))
        && split_label(path).1.contains(&format!("{{{name}}}"))
    {
        return None;
    }
    Some(up)
}

/// Returns the path that has the node `up` levels above in it.
pub(super) fn path_above<'n>(site: &'n Site<'_>, up: usize) -> Option<&'n str> {
    let mut keys = (up..).map_while(|up| site.node(up + 1).map(|_| site.key(up)));
    keys.find_map(|key| key.filter(|key| key.starts_with('/')))
}

/// Requires a path parameter, without which there is no path.
pub(super) fn require_parameter(site: &mut Site<'_>) -> Option<()> {
    let node = site.node_mut(0)?;
    match &mut node.value {
        NodeValue::Bool(required) => {
            *required = true;
            Some(())
        }
        NodeValue::Object(_) => node.set("required", NodeValue::Bool(true)),
        _ => None,
    }
}

/// Drops a security scheme that is not declared from the requirement that names it. One that is
/// named by its URI exists somewhere, and an operation would lose its credential without it.
pub(super) fn drop_scheme(site: &mut Site<'_>) -> Option<()> {
    if is_32(site.root()) && is_scheme_uri(site.key(0)?) {
        return None;
    }
    let is_alone = site.node(1)?.as_object()?.len() == 1;
    let has_others = matches!(&site.node(2)?.value, NodeValue::Array(list) if list.len() > 1);
    // An empty requirement beside others would make their credentials optional.
    site.remove(usize::from(is_alone && has_others))
}

/// Writes a range of statuses, or `default`, in the case that the standard knows.
pub(super) fn spell_status(site: &mut Site<'_>) -> Option<()> {
    let key = site.key(0)?.trim();
    let meant = if key.eq_ignore_ascii_case("default") {
        "default".to_owned()
    } else {
        key.to_ascii_uppercase()
    };
    StatusKey::parse(&meant)?;
    // Renaming it would give the object two equal keys, of which either may be meant.
    if let Some(other) = site.node(1)?.get(&meant) {
        let is_same = other.to_json() == site.node(0)?.to_json();
        return if is_same { site.remove(0) } else { None };
    }
    site.entry_mut()?.key = meant;
    Some(())
}

/// The methods that a path item has as keys.
pub(super) const METHODS: [&str; 8] = [
    "delete", "get", "head", "options", "patch", "post", "put", "trace",
];

/// Writes the method of an operation in small letters.
pub(super) fn spell_method(site: &mut Site<'_>) -> Option<()> {
    let meant = site.key(0)?.to_ascii_lowercase();
    let is_method = METHODS.contains(&meant.as_str());
    let is_item =
        matches!(site.key(2), Some("paths" | "pathItems" | "webhooks")) || is_in_callback(site);
    // Renaming it would give the object two equal keys.
    let is_free = site.node(1)?.get(&meant).is_none();
    (is_method && is_item && is_free && site.node(0)?.as_object().is_some()).then_some(())?;
    site.entry_mut()?.key = meant;
    Some(())
}

/// Writes a misspelt field as the one that the diagnostic suggests, if its value fits there.
pub(super) fn spell_field(site: &mut Site<'_>) -> Option<()> {
    let meant = site.diagnostic.subject.clone()?;
    // Renaming it would give the object two equal keys.
    site.node(1)?.get(&meant).is_none().then_some(())?;
    site.entry_mut()?.key = meant;
    Some(())
}

/// Returns whether a node is a key of a path item in a callback, of an operation or a component.
fn is_in_callback(site: &Site<'_>) -> bool {
    let is_operation = |key: &str| METHODS.contains(&key.to_ascii_lowercase().as_str());
    site.key(3) == Some("callbacks")
        && (site.key(5) == Some("additionalOperations")
            || site
                .key(4)
                .is_some_and(|key| matches!(key, "components" | "query") || is_operation(key)))
}

/// Gives an operation without responses the response `default`, with a body of which nothing is known.
pub(super) fn default_response(site: &mut Site<'_>) -> Option<()> {
    // An empty `responses` is reported at its key.
    let up = usize::from(site.key(0) == Some("responses"));
    // Its responses have no body.
    let is_head = site.key(up) == Some("head");
    let operation = site.node_mut(up)?;
    // The standard has no reference here, but the responses are probably at its end.
    if operation.get("$ref").is_some() {
        return None;
    }
    let mut response = object(operation.span, [("description", text(""))]);
    if !is_head {
        let anything = object(operation.span, [("*/*", NodeValue::Object(Vec::new()))]);
        response.set("content", anything.value)?;
    }
    if operation.get("responses").is_none() {
        operation.set("responses", NodeValue::Object(Vec::new()))?;
    }
    let responses = operation.entry_value_mut("responses")?;
    responses.set("default", response.value)
}

/// Writes the usual style for an array in the style `deepObject` whose name has brackets already,
/// which would be doubled.
pub(super) fn bracketed_name(site: &mut Site<'_>) -> Option<()> {
    let name = site.node(1)?.get("name")?.as_str()?;
    name.ends_with("[]").then_some(())?;
    let parameter = site.node_mut(1)?;
    parameter.take("style")?;
    parameter.set("explode", NodeValue::Bool(true))
}

/// Gives an array of single values in the style `deepObject` a name with brackets and the usual
/// style, which sends the same.
pub(super) fn bracketed_array(site: &mut Site<'_>) -> Option<()> {
    let parameter = site.node(1)?;
    let name = parameter.get("name")?.as_str()?.to_owned();
    let items = parameter.get("schema")?.get("items")?;
    let ty = items.get("type").and_then(Node::as_str);
    // Another item has a form in the style `deepObject` alone.
    matches!(ty, Some("string" | "number" | "integer" | "boolean")).then_some(())?;
    let parameter = site.node_mut(1)?;
    parameter.take("style")?;
    parameter.set("explode", NodeValue::Bool(true))?;
    parameter.set("name", text(&format!("{name}[]")))
}

/// Drops a style that the location of the parameter does not have. An array stays one value with
/// commas, as the style `simple` writes it, unless `explode` says otherwise.
pub(super) fn usual_style(site: &mut Site<'_>) -> Option<()> {
    let is_simple = site.node(0)?.as_str()? == "simple";
    let parameter = site.node_mut(1)?;
    let is_form = matches!(
        parameter.get("in").and_then(Node::as_str),
        Some("query" | "cookie")
    );
    parameter.take("style")?;
    if is_simple && is_form && parameter.get("explode").is_none() {
        parameter.set("explode", NodeValue::Bool(false))?;
    }
    Some(())
}

/// The ranges of media types that include JSON.
const RANGES_OF_JSON: [&str; 2] = ["*/*", "application/*"];

/// Reads a body of a range that includes JSON, whose schema describes a value of JSON that is no string,
/// as JSON, and marks it: a client reads JSON only if the server says that it is.
pub(super) fn json_body(site: &mut Site<'_>) -> Option<()> {
    let range = site.key(0)?.to_owned();
    let is_free = site.node(1)?.get("application/json").is_none();
    // The mark beside a reference would mean nothing.
    let is_own = site.node(0)?.get("$ref").is_none();
    (RANGES_OF_JSON.contains(&range.as_str()) && is_free && is_own).then_some(())?;
    "application/json".clone_into(&mut site.entry_mut()?.key);
    site.node_mut(0)?.set("x-media-range", text(&range))
}
