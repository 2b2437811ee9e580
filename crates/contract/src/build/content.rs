//! Bodies of requests and responses.

use indexmap::IndexMap;
use serde_json::Value;

use crate::events::{contents_of_branches, is_event_stream, typed_data};
use crate::model::{
    Dialect, MediaType, PropertyEncoding, RequestBody, Response, SchemaKind, StatusKey,
};
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
        let summed_up = self.sibling(at, &target, "summary");
        let summary = summed_up.or_else(|| text(node, "summary"));
        Some(Response {
            status,
            // Before 3.2 a response has none.
            summary: summary.filter(|_| self.dialect >= Dialect::V32),
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
            if let Some(at) = self.media_type_at(&at)
                && at.node.as_object().is_some()
            {
                content.push(self.media_type(&entry.key, &at));
            }
        }
        content
    }

    /// Returns the media type object at a node, behind its references, which it may have since 3.2.
    pub(super) fn media_type_at(&self, at: &NodeRef<'a>) -> Option<NodeRef<'a>> {
        if self.dialect < Dialect::V32 {
            return Some(at.clone());
        }
        self.resolver.follow(at)
    }

    pub(super) fn media_type(&mut self, name: &str, at: &NodeRef<'a>) -> MediaType {
        let schema = at.key("schema").map(|schema| self.schema(&schema));
        let items = at
            // Before 3.2 this keyword means nothing, and only the extension does.
            .key("itemSchema")
            .filter(|_| self.dialect >= Dialect::V32)
            .or_else(|| at.key("x-item-schema"));
        let item_schema = items.as_ref().map(|schema| self.schema(schema));
        let event = items.filter(|_| is_event_stream(name));
        let event_data = event
            .as_ref()
            .and_then(|event| typed_data(self.resolver, event)?.key("contentSchema"))
            .map(|schema| self.schema(&schema));
        if let Some(events) = event.filter(|_| event_data.is_none()) {
            self.event_contents(&events);
        }
        if let Some(schema) = schema
            // Other examples are text in the syntax of the media type, which no schema validates.
            && holds_json(name)
        {
            self.note_examples(at, schema);
        }
        MediaType {
            name: name.to_owned(),
            schema,
            item_schema,
            event_data,
            encoding: self.encodings(at),
            prefix_encoding: self.prefix_encodings(at),
            item_encoding: self.item_encoding(at),
            is_assumed: at.node.get("x-media-range").is_some(),
            examples: self.examples(at),
            serialized: self.serialized(at),
            pointer: at.pointer.to_string(),
            span: at.node.span,
        }
    }

    /// Notes what the data of several events holds. Their keywords may not have been read yet.
    fn event_contents(&mut self, events: &NodeRef<'a>) {
        for data in contents_of_branches(self.resolver, events).texts {
            if let Some(content) = data.key("contentSchema") {
                let (data, content) = (self.schema(&data), self.schema(&content));
                self.event_contents.insert(data, content);
            }
        }
    }

    /// Sets what the data of events holds, when all keywords have been read.
    pub(super) fn settle_event_contents(&mut self) {
        for (data, content) in std::mem::take(&mut self.event_contents) {
            if let SchemaKind::Object(keywords) = &mut self.schemas[data.index()].kind {
                keywords.event_content = Some(content);
            }
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
            let value = target.and_then(|target| {
                target
                    .node
                    .get("value")
                    .or_else(|| target.node.get("dataValue"))
            });
            if let Some(value) = value
                && self.charge(value)
            {
                examples.insert(entry.key.clone(), value.to_json());
            }
        }
        examples
    }

    fn serialized(&mut self, at: &NodeRef<'a>) -> IndexMap<String, String> {
        let mut texts = IndexMap::new();
        // Before 3.2 this field means nothing.
        let map = at.key("examples").filter(|_| self.dialect >= Dialect::V32);
        for (entry, at) in map.iter().flat_map(NodeRef::entries) {
            let target = self.resolver.follow(&at);
            let written = target.and_then(|target| target.node.get("serializedValue"));
            if let Some(written) = written
                && let Some(text) = written.as_str()
                && self.charge(written)
            {
                texts.insert(entry.key.clone(), text.to_owned());
            }
        }
        texts
    }

    fn encodings(&mut self, at: &NodeRef<'a>) -> IndexMap<String, PropertyEncoding> {
        let mut encodings = IndexMap::new();
        let Some(map) = at.key("encoding") else {
            return encodings;
        };
        for (entry, at) in map.entries() {
            encodings.insert(entry.key.clone(), self.encoding_of_part(&at));
        }
        encodings
    }

    fn prefix_encodings(&mut self, at: &NodeRef<'a>) -> Vec<PropertyEncoding> {
        // Before 3.2 this keyword means nothing.
        let list = at.key("prefixEncoding");
        let list = list.filter(|_| self.dialect >= Dialect::V32);
        let parts = list.iter().flat_map(NodeRef::items);
        parts.map(|at| self.encoding_of_part(&at)).collect()
    }

    fn item_encoding(&mut self, at: &NodeRef<'a>) -> Option<PropertyEncoding> {
        let at = at
            .key("itemEncoding")
            .filter(|_| self.dialect >= Dialect::V32)?;
        Some(self.encoding_of_part(&at))
    }

    fn encoding_of_part(&mut self, at: &NodeRef<'a>) -> PropertyEncoding {
        let node = at.node;
        let encoding = if self.dialect < Dialect::V32 {
            IndexMap::new()
        } else {
            self.encodings(at)
        };
        PropertyEncoding {
            content_type: text(node, "contentType"),
            style: node.get("style").and_then(Node::as_str).and_then(style),
            explode: node.get("explode").and_then(Node::as_bool),
            headers: self.headers(at),
            encoding,
            prefix_encoding: self.prefix_encodings(at),
            item_encoding: self.item_encoding(at).map(Box::new),
        }
    }
}

/// Returns whether the schema of a media type can validate its examples. Returns `false` for XML, CSV
/// and YAML, whose examples are strings in that syntax, and for an empty name.
fn holds_json(name: &str) -> bool {
    let name = name.split(';').next().unwrap_or_default().trim();
    let name = name.to_ascii_lowercase();
    !(name.is_empty()
        || name.ends_with("/xml")
        || name.ends_with("+xml")
        || name == "text/csv"
        || name.contains("yaml"))
}
