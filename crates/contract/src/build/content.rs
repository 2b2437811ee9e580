//! Bodies of requests and responses.

use indexmap::IndexMap;
use serde_json::Value;

use crate::model::{MediaType, PropertyEncoding, RequestBody, Response, StatusKey};
use crate::node::Node;
use crate::node_ref::NodeRef;

use super::builder::Builder;
use super::fields::{flag, text};
use super::parameter::{component, style};

impl<'a> Builder<'_, 'a> {
    pub(super) fn request_body(&mut self, at: &NodeRef<'a>) -> Option<RequestBody> {
        let target = self.resolver.follow(at)?;
        let node = target.node;
        node.as_object()?;
        if !self.charge(node) {
            return None;
        }
        let described = self.sibling(at, &target, "description");
        Some(RequestBody {
            required: flag(node, "required"),
            description: described.or_else(|| text(node, "description")),
            content: self.content(&target),
            component: component(&target, &["requestBodies"]),
            span: node.span,
        })
    }

    pub(super) fn response(&mut self, status: StatusKey, at: &NodeRef<'a>) -> Option<Response> {
        let target = self.resolver.follow(at)?;
        let node = target.node;
        node.as_object()?;
        if !self.charge(node) {
            return None;
        }
        let described = self.sibling(at, &target, "description");
        Some(Response {
            status,
            description: described
                .or_else(|| text(node, "description"))
                .unwrap_or_default(),
            headers: self.headers(&target),
            content: self.content(&target),
            component: component(&target, &["responses"]),
            is_rejection: flag(node, "x-rejection"),
            pointer: target.pointer.to_string(),
            span: node.span,
        })
    }

    fn headers(&mut self, at: &NodeRef<'a>) -> Vec<crate::model::Parameter> {
        let mut headers = Vec::new();
        if let Some(map) = at.key("headers") {
            for (entry, at) in map.entries() {
                headers.extend(self.header(&entry.key, &at));
            }
        }
        headers
    }

    fn content(&mut self, at: &NodeRef<'a>) -> Vec<MediaType> {
        let mut content = Vec::new();
        let Some(map) = at.key("content") else {
            return content;
        };
        for (entry, at) in map.entries() {
            if at.node.as_object().is_some() {
                content.push(self.media_type(&entry.key, &at));
            }
        }
        content
    }

    fn media_type(&mut self, name: &str, at: &NodeRef<'a>) -> MediaType {
        let schema = at.key("schema").map(|schema| self.schema(&schema));
        if let Some(schema) = schema
            // Other examples are text in the syntax of the media type, which no schema validates.
            && holds_json(name)
        {
            self.note_examples(at, schema);
        }
        MediaType {
            name: name.to_owned(),
            schema,
            encoding: self.encodings(at),
            examples: self.examples(at),
            pointer: at.pointer.to_string(),
            span: at.node.span,
        }
    }

    fn examples(&mut self, at: &NodeRef<'a>) -> IndexMap<String, Value> {
        let mut examples = IndexMap::new();
        if let Some(example) = at.node.get("example")
            && self.charge(example)
        {
            examples.insert("default".to_owned(), example.to_json());
        }
        let Some(map) = at.key("examples") else {
            return examples;
        };
        for (entry, at) in map.entries() {
            let target = self.resolver.follow(&at);
            if let Some(value) = target.and_then(|target| target.node.get("value"))
                && self.charge(value)
            {
                examples.insert(entry.key.clone(), value.to_json());
            }
        }
        examples
    }

    fn encodings(&mut self, at: &NodeRef<'a>) -> IndexMap<String, PropertyEncoding> {
        let mut encodings = IndexMap::new();
        let Some(map) = at.key("encoding") else {
            return encodings;
        };
        for (entry, at) in map.entries() {
            let node = at.node;
            let encoding = PropertyEncoding {
                content_type: text(node, "contentType"),
                style: node.get("style").and_then(Node::as_str).and_then(style),
                explode: node.get("explode").and_then(Node::as_bool),
                headers: self.headers(&at),
            };
            encodings.insert(entry.key.clone(), encoding);
        }
        encodings
    }
}

/// Returns whether the examples of a media type are JSON values that its schema can validate.
/// Returns `false` for XML, CSV and YAML, whose examples are strings in that syntax.
fn holds_json(name: &str) -> bool {
    let name = name.split(';').next().unwrap_or_default().trim();
    let name = name.to_ascii_lowercase();
    !(name.ends_with("/xml")
        || name.ends_with("+xml")
        || name == "text/csv"
        || name.contains("yaml"))
}
