//! The constants of links, which the parameters and request bodies of other operations must accept.

use std::collections::HashSet;

use serde_json::Value;

use super::builder::Builder;
use super::origins::{ParameterSite, Role, ValueSite};
use crate::expression::embedded;
use crate::linked::{Linked, each_link};
use crate::model::{SchemaId, SchemaKind, Types};
use crate::node::{Node, NodeValue};
use crate::node_ref::address;

/// The number of references that are followed to the type of a parameter.
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
            if let Some(node) = body.filter(|node| is_constant(node))
                && let Some(schema) = self.body_of_link(linked)
            {
                add(schema, node);
            }
        });
        self.origins.values.extend(values);
    }

    /// Returns whether a constant stands for the text of a value: a number or boolean for a parameter
    /// that takes strings, or a string for one that takes no string, such as `"10"` for an integer.
    fn is_text(&self, node: &Node, parameter: &ParameterSite<'_>) -> bool {
        if !parameter.has_style {
            return false;
        }
        let types = self.types(parameter.schema);
        match &node.value {
            NodeValue::String(text) => {
                let written = serde_json::from_str(text);
                let is_scalar =
                    matches!(written, Ok(Value::Null | Value::Bool(_) | Value::Number(_)));
                let has_parts = types.contains(Types::ARRAY) || types.contains(Types::OBJECT);
                !types.contains(Types::STRING) && (is_scalar || has_parts)
            }
            NodeValue::Number(_) | NodeValue::Bool(_) => {
                types.is_empty() || types.contains(Types::STRING)
            }
            NodeValue::Null | NodeValue::Array(_) | NodeValue::Object(_) => false,
        }
    }

    /// Returns the types of a schema, or none if it does not say them by itself.
    fn types(&self, mut id: SchemaId) -> Types {
        for _ in 0..MOST_STEPS {
            let SchemaKind::Object(keywords) = &self.schemas[id.index()].kind else {
                break;
            };
            match (keywords.types, keywords.reference) {
                (Some(types), _) => return types,
                (None, Some(target)) => id = target,
                (None, None) => break,
            }
        }
        Types::default()
    }

    /// Returns the schema of the request body of the operation that a link leads to, if it is JSON in
    /// each media type and these have one schema.
    fn body_of_link(&self, linked: &Linked<'_, 'a>) -> Option<SchemaId> {
        let body = linked.target.at().key("requestBody")?;
        let content = self.resolver.follow(&body)?.key("content")?;
        let mut found = None;
        for (entry, media) in content.entries() {
            let essence = entry.key.split(';').next().unwrap_or_default().trim();
            let schema = self.media_type_at(&media)?.key("schema")?;
            let id = *self.ids.get(&address(schema.node))?;
            if !essence.ends_with("json") || found.is_some_and(|known| known != id) {
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
