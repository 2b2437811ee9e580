//! Repairs of values that are written as another type of YAML or JSON than the standard wants.

use super::site::Site;
use crate::node::NodeValue;

/// Reads an unquoted number or boolean as the string that the document spells, as in
/// `version: 1.0`.
pub(super) fn quote(site: &mut Site<'_>) -> Option<()> {
    let node = site.node(0)?;
    let is_scalar = matches!(node.value, NodeValue::Number(_) | NodeValue::Bool(_));
    let wants_text = site.diagnostic.code == "unsupported-version"
        || site.diagnostic.message.contains("must be a string");
    if !is_scalar || !wants_text {
        return None;
    }
    let spelled = site.text(node.span).to_owned();
    site.node_mut(0)?.value = NodeValue::String(spelled);
    Some(())
}

/// Reads a quoted number or boolean as what is in the quotes, as in `minimum: "1"`.
pub(super) fn unquote(site: &mut Site<'_>) -> Option<()> {
    let message = &site.diagnostic.message;
    let is_wanted = ["a number", "an integer from 0", "true or false"]
        .iter()
        .any(|wanted| message.contains(&format!("must be {wanted}, not a string")));
    if !is_wanted {
        return None;
    }
    let value = match site.node(0)?.as_str()?.trim() {
        "true" => NodeValue::Bool(true),
        "false" => NodeValue::Bool(false),
        number => NodeValue::Number(number.parse().ok()?),
    };
    site.node_mut(0)?.value = value;
    Some(())
}

/// Reads null in place of a text, a list, an object or a schema as nothing, as YAML has it after a key
/// without a value.
pub(super) fn drop_null(site: &mut Site<'_>) -> Option<()> {
    let message = &site.diagnostic.message;
    let is_wanted = ["a string", "an array", "an object", "a schema"]
        .iter()
        .any(|wanted| message.contains(&format!("must be {wanted}, not null")));
    if !is_wanted || site.node(0)?.value != NodeValue::Null {
        return None;
    }
    // Without its scheme, a requirement would ask for no credential.
    if site.key(2) == Some("security") {
        site.node_mut(0)?.value = NodeValue::Array(Vec::new());
        return Some(());
    }
    // What has a name of its author exists, though nothing is said about it.
    if matches!(
        site.key(1),
        Some("content" | "properties" | "schemas" | "patternProperties" | "$defs")
    ) {
        site.node_mut(0)?.value = NodeValue::Object(Vec::new());
        return Some(());
    }
    site.remove(0)
}
