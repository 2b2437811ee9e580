//! The constants of links, which the parameters and request bodies of other operations must accept.

use std::collections::HashSet;

use serde::de::IgnoredAny;
use serde_json::Value;

use super::builder::Builder;
use super::origins::{ParameterSite, Role, ValueSite};
use crate::expression::embedded;
use crate::linked::{Linked, each_link};
use crate::media_type;
use crate::model::{SchemaId, SchemaKind, Types};
use crate::node::{Node, NodeValue};
use crate::node_ref::address;

/// The number of schemas that are looked at for the types of a parameter.
const MOST_STEPS: usize = 64;

impl<'a> Builder<'_, 'a> {
    /// Records the constants of links for validation, once the schemas have been read.
    pub(super) fn link_values(&mut self) {
        let mut found = HashSet::new();
        let mut values = Vec::new();
        each_link(self.resolver, &self.origins.operations, |linked| {
            // A response that operations share has its links in each of them.
            let mut add = |schema: SchemaId, node: &'a Node| {
                if found.insert((schema, address(node))) {
                    values.push(ValueSite {
                        schema,
                        node,
                        role: Role::Link,
                    });
                }
            };
            for (node, parameter) in linked.parameters() {
                if is_constant(node) && !self.is_text(node, parameter) {
                    add(parameter.schema, node);
                }
            }
            let body = linked.link.get("requestBody");
            // A string can be the text of the whole body.
            let is_json = |node: &Node| node.as_str().is_some_and(is_json_text);
            if let Some(node) = body.filter(|node| is_constant(node) && !is_json(node))
                && let Some(schema) = self.body_of_link(linked)
            {
                add(schema, node);
            }
        });
        self.origins.values.extend(values);
    }

    /// Returns whether a constant stands for the text of a value: a number or boolean for a parameter
    /// that takes strings, or a string for one that takes others, such as `"10"` for an integer.
    fn is_text(&self, node: &Node, parameter: &ParameterSite<'_>) -> bool {
        if !parameter.has_style {
            return false;
        }
        let types = self.types(parameter.schema, &mut { MOST_STEPS });
        let may_be = |kind| types.is_none_or(|types| types.contains(kind));
        match &node.value {
            NodeValue::String(text) => {
                let only_strings = types
                    .is_some_and(|types| types.without(Types::STRING.with(Types::NULL)).is_empty());
                // Where the types are not known, a schema that refuses strings may take arrays.
                is_scalar(text) && !only_strings || may_be(Types::ARRAY) || may_be(Types::OBJECT)
            }
            // A single value is an array of one item.
            NodeValue::Number(_) | NodeValue::Bool(_) => {
                may_be(Types::STRING) || may_be(Types::ARRAY)
            }
            // The parts of a value are written as text too.
            NodeValue::Array(items) => items.iter().any(may_be_text),
            NodeValue::Object(entries) => entries.iter().any(|entry| may_be_text(&entry.value)),
            NodeValue::Null => false,
        }
    }

    /// Returns the types that a schema takes at most, or `None` if it does not say them.
    fn types(&self, id: SchemaId, steps: &mut usize) -> Option<Types> {
        *steps = steps.checked_sub(1)?;
        let SchemaKind::Object(keywords) = &self.schemas[id.index()].kind else {
            return None;
        };
        if let Some(types) = keywords.types {
            return Some(types);
        }
        for choices in [&keywords.any_of, &keywords.one_of] {
            let mut types = choices.iter().map(|choice| self.types(*choice, steps));
            let all = types.try_fold(Types::default(), |all, types| Some(all.with(types?)));
            if let Some(all) = all.filter(|all| !all.is_empty()) {
                return Some(all);
            }
        }
        let mut parts = keywords.reference.iter().chain(&keywords.all_of);
        parts.find_map(|part| self.types(*part, steps))
    }

    /// Returns the schema of the request body of the operation that a link leads to, if it is JSON in
    /// each media type and these have one schema.
    fn body_of_link(&self, linked: &Linked<'_, 'a>) -> Option<SchemaId> {
        let body = linked.target.at().key("requestBody")?;
        let content = self.resolver.follow(&body)?.key("content")?;
        let mut found = None;
        for (entry, media) in content.entries() {
            let schema = self.media_type_at(&media)?.key("schema")?;
            let id = *self.ids.get(&address(schema.node))?;
            if !media_type::is_json(&entry.key) || found.is_some_and(|known| known != id) {
                return None;
            }
            found = Some(id);
        }
        found
    }
}

/// Returns whether a value of a link is a constant, with no expression in it.
fn is_constant(node: &Node) -> bool {
    let mut pending = vec![node];
    while let Some(node) = pending.pop() {
        match &node.value {
            NodeValue::String(text) if text.starts_with('$') || !embedded(text).is_empty() => {
                return false;
            }
            NodeValue::Array(items) => pending.extend(items),
            NodeValue::Object(entries) => pending.extend(entries.iter().map(|entry| &entry.value)),
            NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::String(_) => {}
        }
    }
    true
}

/// Returns whether a part of a value may stand for the text of another value.
fn may_be_text(node: &Node) -> bool {
    match &node.value {
        NodeValue::Null => false,
        NodeValue::String(text) => is_scalar(text),
        NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::Array(_) | NodeValue::Object(_) => {
            true
        }
    }
}

/// Returns whether a text is that of null, a number or a boolean.
fn is_scalar(text: &str) -> bool {
    let value = serde_json::from_str(text);
    matches!(value, Ok(Value::Null | Value::Bool(_) | Value::Number(_)))
}

fn is_json_text(text: &str) -> bool {
    serde_json::from_str::<IgnoredAny>(text).is_ok()
}
