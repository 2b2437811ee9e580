//! Reads the keywords of a schema.

use std::borrow::Cow;
use std::collections::HashSet;

use serde_json::Number;

use crate::model::{Dialect, Keywords, Raw, SchemaId, Types};
use crate::node::{Entry, Node, NodeValue};
use crate::node_ref::NodeRef;
use crate::pattern::{canonical, canonical_keys};
use crate::syntax::SCHEMA;

use super::builder::Builder;
use super::fields::{extensions, flag, text};

/// The keywords of a schema that constrain no value.
const ANNOTATIONS: [&str; 16] = [
    "title",
    "description",
    "summary",
    "default",
    "example",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "externalDocs",
    "xml",
    "$comment",
    "$id",
    "$anchor",
    "$schema",
    "$defs",
];

impl<'a> Builder<'_, 'a> {
    /// Returns the keywords of a schema that constrain values, in the terms of JSON Schema 2020-12.
    pub(super) fn assertions(&mut self, id: SchemaId, at: &NodeRef<'a>) -> Keywords {
        let node = at.node;
        let mut keywords = Keywords {
            types: types(node),
            enumeration: node
                .get("enum")
                .and_then(Node::as_array)
                .map(|values| values.iter().map(Node::to_json).collect()),
            multiple_of: number(node, "multipleOf"),
            min_length: node.get("minLength").and_then(Node::as_count),
            max_length: node.get("maxLength").and_then(Node::as_count),
            pattern: node
                .get("pattern")
                .and_then(Node::as_str)
                .map(|pattern| canonical(pattern).into_owned()),
            format: text(node, "format"),
            min_items: node.get("minItems").and_then(Node::as_count),
            max_items: node.get("maxItems").and_then(Node::as_count),
            unique_items: flag(node, "uniqueItems"),
            min_properties: node.get("minProperties").and_then(Node::as_count),
            max_properties: node.get("maxProperties").and_then(Node::as_count),
            required: strings(node.get("required")),
            properties: self.map(at, "properties"),
            additional_properties: self.one(at, "additionalProperties"),
            items: self.one(at, "items"),
            all_of: self.many(at, "allOf"),
            any_of: self.many(at, "anyOf"),
            one_of: self.many(at, "oneOf"),
            not: self.one(at, "not"),
            discriminator: self.discriminator(id, at),
            ..Keywords::default()
        };
        self.bounds(&mut keywords, node);
        if self.dialect >= Dialect::V31 {
            self.assertions_31(&mut keywords, at);
        }
        keywords
    }

    fn bounds(&self, keywords: &mut Keywords, node: &Node) {
        keywords.minimum = number(node, "minimum");
        keywords.maximum = number(node, "maximum");
        if self.dialect >= Dialect::V31 {
            keywords.exclusive_minimum = number(node, "exclusiveMinimum");
            keywords.exclusive_maximum = number(node, "exclusiveMaximum");
            return;
        }
        // In 3.0 a flag makes the plain bound exclusive; in 2020-12 an exclusive bound is a keyword
        // of its own.
        if flag(node, "exclusiveMinimum") {
            keywords.exclusive_minimum = keywords.minimum.take();
        }
        if flag(node, "exclusiveMaximum") {
            keywords.exclusive_maximum = keywords.maximum.take();
        }
    }

    fn assertions_31(&mut self, keywords: &mut Keywords, at: &NodeRef<'a>) {
        let node = at.node;
        keywords.reference = self.reference(at);
        keywords.only_reference = keywords.reference.is_some()
            && node.as_object().unwrap_or_default().iter().all(|entry| {
                let key = entry.key.as_str();
                matches!(key, "$ref" | "$dynamicRef" | "$dynamicAnchor")
                    || is_annotation(key)
                    || !is_keyword(key)
            });
        keywords.constant = node.get("const").map(Node::to_json);
        keywords.content_encoding = text(node, "contentEncoding");
        keywords.content_media_type = text(node, "contentMediaType");
        keywords.prefix_items = self.many(at, "prefixItems");
        keywords.contains = self.one(at, "contains");
        keywords.min_contains = node.get("minContains").and_then(Node::as_count);
        keywords.max_contains = node.get("maxContains").and_then(Node::as_count);
        keywords.unevaluated_items = self.one(at, "unevaluatedItems");
        keywords.pattern_properties = canonical_keys(self.map(at, "patternProperties"));
        keywords.property_names = self.one(at, "propertyNames");
        keywords.dependent_required = node
            .get("dependentRequired")
            .and_then(Node::as_object)
            .unwrap_or_default()
            .iter()
            .map(|entry| (entry.key.clone(), strings(Some(&entry.value))))
            .collect();
        keywords.dependent_schemas = self.map(at, "dependentSchemas");
        keywords.unevaluated_properties = self.one(at, "unevaluatedProperties");
        keywords.if_schema = self.one(at, "if");
        keywords.then_schema = self.one(at, "then");
        keywords.else_schema = self.one(at, "else");
        keywords.defs = self.map(at, "$defs");
    }
}

pub(super) fn is_annotation(key: &str) -> bool {
    key.starts_with("x-") || ANNOTATIONS.contains(&key)
}

fn is_keyword(key: &str) -> bool {
    SCHEMA
        .field(key)
        .is_some_and(|field| field.is_in(Dialect::V32))
}

pub(super) fn annotate(keywords: &mut Keywords, node: &Node, entries: &[Entry]) {
    keywords.title = text(node, "title");
    keywords.description = text(node, "description");
    keywords.default = node.get("default").map(Node::to_json);
    keywords.examples = list(node, "examples").iter().map(Node::to_json).collect();
    keywords
        .examples
        .extend(node.get("example").map(Node::to_json));
    keywords.deprecated = flag(node, "deprecated");
    keywords.read_only = flag(node, "readOnly");
    keywords.write_only = flag(node, "writeOnly");
    // A number that is not listed is no variant that a client could read.
    let is_text = |value: &Node| value.as_str().is_some() || matches!(value.value, NodeValue::Null);
    keywords.extensible = flag(node, "x-extensible-enum") && list(node, "enum").iter().all(is_text);
    keywords.secret =
        flag(node, "x-secret") || node.get("format").and_then(Node::as_str) == Some("password");
    keywords.extensions = extensions(entries);
}

/// Returns the keywords of a schema that are `wanted`, as the author wrote them.
/// Keywords that hold schemas are left out: each of those schemas has an id of its own.
pub(super) fn raw(entries: &[Entry], wanted: impl Fn(&str) -> bool) -> Raw {
    let own = entries.iter().filter_map(|entry| {
        let field = SCHEMA.field(&entry.key);
        if !wanted(&entry.key) || field.is_some_and(crate::syntax::Field::holds_schemas) {
            return None;
        }
        let name = match field {
            Some(field) => Cow::Borrowed(field.name),
            None => Cow::Owned(entry.key.clone()),
        };
        Some((name, entry.value.to_json()))
    });
    own.collect()
}

pub(super) fn list<'n>(node: &'n Node, key: &str) -> &'n [Node] {
    node.get(key).and_then(Node::as_array).unwrap_or_default()
}

fn strings(node: Option<&Node>) -> Vec<String> {
    let mut strings: Vec<String> = Vec::new();
    let mut seen = HashSet::new();
    for item in node.and_then(Node::as_array).unwrap_or_default() {
        if let Some(text) = item.as_str()
            && seen.insert(text)
        {
            strings.push(text.to_owned());
        }
    }
    strings
}

fn number(node: &Node, key: &str) -> Option<Number> {
    node.get(key)?.as_number().cloned()
}

fn types(node: &Node) -> Option<Types> {
    let value = node.get("type")?;
    let names = match &value.value {
        // YAML reads an unquoted null as null, and the author can only have meant the type.
        NodeValue::Array(items) => items
            .iter()
            .filter_map(|item| match item.value {
                NodeValue::Null => Some("null"),
                _ => item.as_str(),
            })
            .collect(),
        _ => vec![value.as_str()?],
    };
    // An unknown type is reported elsewhere, and is ignored here.
    names.into_iter().filter_map(type_of).reduce(Types::with)
}

fn type_of(name: &str) -> Option<Types> {
    Some(match name {
        "null" => Types::NULL,
        "boolean" => Types::BOOLEAN,
        "integer" => Types::INTEGER,
        "number" => Types::NUMBER,
        "string" => Types::STRING,
        "array" => Types::ARRAY,
        "object" => Types::OBJECT,
        _ => return None,
    })
}
