//! Keywords and formats that say nothing about values of the schema's type.

use super::grammar::SCHEMA;
use super::schema::TYPES;
use super::syntax::Walk;
use crate::node::Node;

/// Keywords by the types that they are about.
static KEYWORDS: &[(&[&str], &[&str])] = &[
    (
        &["integer", "number"],
        &[
            "minimum",
            "maximum",
            "exclusiveMinimum",
            "exclusiveMaximum",
            "multipleOf",
        ],
    ),
    (
        &["string"],
        &[
            "minLength",
            "maxLength",
            "pattern",
            "contentEncoding",
            "contentMediaType",
        ],
    ),
    (
        &["array"],
        &[
            "items",
            "prefixItems",
            "minItems",
            "maxItems",
            "uniqueItems",
            "contains",
            "minContains",
            "maxContains",
            "unevaluatedItems",
        ],
    ),
    (
        &["object"],
        &[
            "properties",
            "required",
            "additionalProperties",
            "minProperties",
            "maxProperties",
            "patternProperties",
            "propertyNames",
            "dependentRequired",
            "dependentSchemas",
            "unevaluatedProperties",
        ],
    ),
];

/// Formats by the types that they are about.
static FORMATS: &[(&[&str], &[&str])] = &[
    (
        &["integer", "number"],
        &[
            "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64", "float",
            "double",
        ],
    ),
    (
        &["string"],
        &[
            "date-time",
            "date",
            "time",
            "duration",
            "email",
            "idn-email",
            "hostname",
            "idn-hostname",
            "ipv4",
            "ipv6",
            "uri",
            "uri-reference",
            "uri-template",
            "iri",
            "iri-reference",
            "uuid",
            "json-pointer",
            "relative-json-pointer",
            "regex",
            "byte",
            "binary",
            "password",
        ],
    ),
];

/// Reports what is about other types than the schema's.
pub(super) fn check(walk: &mut Walk<'_, '_>, node: &Node) {
    let types: Vec<&str> = match node.get("type") {
        Some(list) if list.as_array().is_some() => list
            .as_array()
            .unwrap_or_default()
            .iter()
            .filter_map(Node::as_str)
            .collect(),
        Some(one) => one.as_str().into_iter().collect(),
        None => return,
    };
    // A type that does not exist is reported already, and may be about anything.
    if types.is_empty() || !types.iter().all(|name| TYPES.contains(name)) {
        return;
    }
    for entry in node.as_object().unwrap_or_default() {
        let about = KEYWORDS
            .iter()
            .find(|(_, keywords)| keywords.contains(&entry.key.as_str()));
        if let Some((about, _)) = about
            && SCHEMA
                .field(&entry.key)
                .is_some_and(|field| field.is_in(walk.dialect))
            && !types.iter().any(|name| about.contains(name))
        {
            walk.warning(
                "idle-keyword",
                entry.key_span,
                format!(
                    "`{}` is about {}, and the type is {}",
                    entry.key,
                    listed(about),
                    listed(&types)
                ),
                "leave it out, or correct the `type`".to_owned(),
            );
        }
    }
    let format = node
        .get("format")
        .and_then(|format| Some((format.span, format.as_str()?)));
    if let Some((span, format)) = format
        && let Some((about, _)) = FORMATS
            .iter()
            .find(|(_, formats)| formats.contains(&format))
        && !types.iter().any(|name| about.contains(name))
    {
        walk.warning(
            "idle-keyword",
            span,
            format!(
                "the format `{format}` is about {}, and the type is {}",
                listed(about),
                listed(&types)
            ),
            "leave it out, or correct the `type`".to_owned(),
        );
    }
}

fn listed(types: &[&str]) -> String {
    format!("`{}`", types.join("` or `"))
}
