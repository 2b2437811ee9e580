//! Repairs of values in another shape than the standard wants: a list for a map, one item for a
//! list, and what Swagger 2.0 wrote in place of an object.

use super::mends::suggestion;
use super::operations::METHODS;
use super::site::{Site, object, text};
use crate::diagnostic::Severity;
use crate::load::is_32;
use crate::node::{Node, NodeValue};
use crate::syntax::format_meant;

/// Returns whether the diagnostic is an error that reports this shape in place of the right one.
fn reports(site: &Site<'_>, wanted: &str) -> bool {
    let diagnostic = site.diagnostic;
    diagnostic.severity == Severity::Error && diagnostic.message.contains(wanted)
}

/// Keywords that mean something where they are empty: nothing is accepted, or no credential is needed.
const MEANING_NOTHING: [&str; 6] = ["allOf", "anyOf", "enum", "not", "oneOf", "security"];

/// Reads an empty list as an empty object, and the other way round: some languages, such as PHP,
/// write both alike.
pub(super) fn empty_shape(site: &mut Site<'_>) -> Option<()> {
    // The keyword itself, or an item of its list.
    for up in 0..2 {
        if site
            .key(up)
            .is_some_and(|key| MEANING_NOTHING.contains(&key))
        {
            return None;
        }
    }
    let empty = match &site.node(0)?.value {
        NodeValue::Array(items) if items.is_empty() => {
            let is_wanted = reports(site, "must be an object, not an array")
                || reports(site, "must be a schema, not an array");
            is_wanted.then(|| NodeValue::Object(Vec::new()))
        }
        NodeValue::Object(entries) if entries.is_empty() => {
            reports(site, "must be an array, not an object").then(|| NodeValue::Array(Vec::new()))
        }
        _ => None,
    };
    site.node_mut(0)?.value = empty?;
    Some(())
}

/// Reads one item as a list of it, where nothing else can be meant.
pub(super) fn one_item(site: &mut Site<'_>) -> Option<()> {
    let item = site.node(0)?.clone();
    let is_item = match (site.key(0)?, &item.value) {
        ("tags", NodeValue::String(_)) => reports(site, "must be an array, not a string"),
        // Several names in one text, or a boolean in quotes, is no name of a property.
        ("required", NodeValue::String(name)) => {
            let declared = site.node(1).and_then(|schema| schema.get("properties"));
            reports(site, "must be an array, not a string")
                && declared.is_some_and(|properties| properties.get(name).is_some())
        }
        ("security", NodeValue::Object(schemes)) => {
            !schemes.is_empty() && reports(site, "must be an array, not an object")
        }
        _ => false,
    };
    is_item.then_some(())?;
    site.node_mut(0)?.value = NodeValue::Array(vec![item]);
    Some(())
}

/// Reads the name of a security scheme as a requirement of it, without scopes.
pub(super) fn named_scheme(site: &mut Site<'_>) -> Option<()> {
    let is_requirement = reports(
        site,
        "an item of `security` must be an object, not a string",
    );
    let name = site.node(0)?.as_str()?.to_owned();
    is_requirement.then_some(())?;
    let scopes = NodeValue::Array(Vec::new());
    let requirement = object(site.diagnostic.span, [(name.as_str(), scopes)]);
    site.node_mut(0)?.value = requirement.value;
    Some(())
}

/// Drops examples that are a list in place of a map, or the other way round.
pub(super) fn drop_examples(site: &mut Site<'_>) -> Option<()> {
    let is_wanted = reports(site, "`examples` must be an object, not an array")
        || reports(site, "`examples` must be an array, not an object");
    (is_wanted && site.key(0) == Some("examples")).then_some(())?;
    site.remove(0)
}

/// Reads the discriminator of Swagger 2.0, which is the name of its property.
pub(super) fn named_discriminator(site: &mut Site<'_>) -> Option<()> {
    let is_wanted = reports(site, "`discriminator` must be an object, not a string");
    let name = site.node(0)?.as_str()?.to_owned();
    is_wanted.then_some(())?;
    let named = object(
        site.diagnostic.span,
        [("propertyName", NodeValue::String(name))],
    );
    site.node_mut(0)?.value = named.value;
    Some(())
}

/// Reads the scheme `basic` of Swagger 2.0, and `bearer`, as schemes of HTTP.
pub(super) fn http_scheme(site: &mut Site<'_>) -> Option<()> {
    let scheme = site.node(0)?.as_str()?.to_ascii_lowercase();
    let is_http = ["basic", "bearer"].contains(&scheme.as_str());
    (is_http && site.key(0) == Some("type")).then_some(())?;
    // A key of its own, or another scheme, says something else.
    let holder = site.node(1)?;
    let is_other = |node: &Node| {
        node.as_str()
            .is_none_or(|said| !said.eq_ignore_ascii_case(&scheme))
    };
    if holder.get("name").is_some() || holder.get("scheme").is_some_and(is_other) {
        return None;
    }
    let holder = site.node_mut(1)?;
    holder.set("type", NodeValue::String("http".to_owned()))?;
    holder.set("scheme", NodeValue::String(scheme))
}

/// Reads the location of a parameter or a key in small letters.
pub(super) fn spell_location(site: &mut Site<'_>) -> Option<()> {
    let written = site.node(0)?.as_str()?;
    let meant = written.trim().to_ascii_lowercase();
    let is_location = ["query", "header", "path", "cookie"].contains(&meant.as_str())
        || (is_32(site.root()) && meant == "querystring");
    (is_location && meant != written).then_some(())?;
    site.node_mut(0)?.value = NodeValue::String(meant);
    Some(())
}

/// Writes the slash at the start of a path that has none.
pub(super) fn leading_slash(site: &mut Site<'_>) -> Option<()> {
    let key = site.key(0)?;
    let meant = format!("/{key}");
    // What else may be there by mistake has other characters, or no operations.
    let is_path = !key.is_empty() && !key.starts_with('{') && !key.contains([' ', '#', '?', ':']);
    let item = site.node(0)?;
    let mut operations = METHODS.iter().filter_map(|method| item.get(method));
    let is_item = operations.any(|operation| operation.as_object().is_some());
    let is_relative = reports(site, "does not start with a slash") && is_path && is_item;
    // Renaming it would give the object two equal keys.
    (is_relative && site.node(1)?.get(&meant).is_none()).then_some(())?;
    site.rename_path(meant)
}

/// Names of other languages for types of JSON Schema.
const TYPES: [(&str, &str); 19] = [
    ("array", "array"),
    ("bool", "boolean"),
    ("boolean", "boolean"),
    ("decimal", "number"),
    ("dict", "object"),
    ("double", "number"),
    ("float", "number"),
    ("hash", "object"),
    ("int", "integer"),
    ("integer", "integer"),
    ("list", "array"),
    ("long", "integer"),
    ("map", "object"),
    ("number", "number"),
    ("object", "object"),
    ("short", "integer"),
    ("str", "string"),
    ("string", "string"),
    ("text", "string"),
];

/// Reads the name that another language has for a type, or a type in other letters.
pub(super) fn named_type(site: &mut Site<'_>) -> Option<()> {
    let written = unknown_type(site)?.trim().to_ascii_lowercase();
    let (_, meant) = TYPES.iter().find(|(name, _)| *name == written)?;
    set_type(site, meant)
}

/// Reads a format of strings that is written as a type, where no other format is.
pub(super) fn format_type(site: &mut Site<'_>) -> Option<()> {
    let meant = format_meant(&unknown_type(site)?.trim().to_ascii_lowercase())?;
    let up = (1..3).find(|up| site.key(up - 1) == Some("type"))?;
    // Beside another type, nothing says which of them has the format.
    if up == 2 {
        let types = site.node(1)?.as_array()?;
        let others = types.iter().filter(|other| !is_null_type(other));
        (others.count() == 1).then_some(())?;
    }
    set_type(site, "string")?;
    let schema = site.node_mut(up)?;
    if schema.get("format").is_none() {
        schema.set("format", text(meant))?;
    }
    Some(())
}

fn is_null_type(node: &Node) -> bool {
    node.as_str() == Some("null") || matches!(node.value, NodeValue::Null)
}

/// Reads a misspelt type as the one that the diagnostic suggests.
pub(super) fn misspelt_type(site: &mut Site<'_>) -> Option<()> {
    let meant = suggestion(site)?;
    let written = unknown_type(site)?;
    // `string[]` and `strings` are probably a list.
    let is_word = written.chars().all(|letter| letter.is_ascii_alphabetic());
    let is_several = written.eq_ignore_ascii_case(&format!("{meant}s"));
    (is_word && !is_several).then_some(())?;
    set_type(site, &meant)
}

/// Returns the type that the diagnostic is about: the whole `type` of a schema, or one of a list.
fn unknown_type<'n>(site: &'n Site<'_>) -> Option<&'n str> {
    let written = site.node(0)?.as_str()?;
    let is_type = (0..2).any(|up| site.key(up) == Some("type"));
    // What a repair has copied can have the place of another type.
    let is_meant = site.diagnostic.message.contains(&format!("`{written}`"));
    (is_type && is_meant).then_some(written)
}

/// Sets the type that the diagnostic is about. A list has each type once.
fn set_type(site: &mut Site<'_>, meant: &str) -> Option<()> {
    let types = site.node(1)?.as_array().unwrap_or_default();
    if types.iter().any(|other| other.as_str() == Some(meant)) {
        return site.remove(0);
    }
    site.node_mut(0)?.value = text(meant);
    Some(())
}
