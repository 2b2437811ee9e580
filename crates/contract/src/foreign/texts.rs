//! Repairs of values that are written as another type of YAML or JSON than the standard wants.

use super::site::Site;
use crate::diagnostic::Severity;
use crate::node::NodeValue;

/// Reads an unquoted number or boolean as the string that the document spells, as in
/// `version: 1.0`.
pub(super) fn quote(site: &mut Site<'_>) -> Option<()> {
    let node = site.node(0)?;
    let is_scalar = matches!(node.value, NodeValue::Number(_) | NodeValue::Bool(_));
    let is_version = site.diagnostic.code == "unsupported-version";
    if !is_scalar || !(is_version || site.diagnostic.message.contains("must be a string")) {
        return None;
    }
    let spelled = site.text(node.span).to_owned();
    // Another version is refused with or without quotes.
    if is_version && !["3.0", "3.1", "3.2"].contains(&spelled.as_str()) {
        return None;
    }
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

/// Drops null in place of a text, as YAML has it after a key without a value.
pub(super) fn drop_null_text(site: &mut Site<'_>) -> Option<()> {
    let diagnostic = site.diagnostic;
    // A reference that is null is an error: nothing says where it leads.
    let is_wanted = diagnostic.severity == Severity::Warning
        && diagnostic.message.contains("must be a string, not null");
    if !is_wanted || site.node(0)?.value != NodeValue::Null {
        return None;
    }
    // Without its description, a scope still exists.
    if site.key(1) == Some("scopes") {
        site.node_mut(0)?.value = NodeValue::String(String::new());
        return Some(());
    }
    site.remove(0)
}

/// Reads null in place of a list, an object or a schema as nothing, as YAML has it after a key
/// without a value.
pub(super) fn drop_null(site: &mut Site<'_>) -> Option<()> {
    let message = &site.diagnostic.message;
    let is_wanted = site.diagnostic.severity == Severity::Error
        && ["an array", "an object", "a schema"]
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
