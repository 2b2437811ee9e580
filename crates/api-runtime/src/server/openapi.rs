//! Derives the document again from what the generated code enforces, so that a test can compare it with the contract.
//!
//! Types, required flags, defaults, statuses and security come from the Rust that serves requests; only words
//! that no Rust enforces (descriptions, examples, extensions) come from a file of JSON.

use serde_json::{Map, Value, json};
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::{Operation as UtoipaOperation, Parameter as UtoipaParameter};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Content, Header, OpenApi, PathItem, RefOr, Response};

use super::operation::{Body, ListedResponse, Location, Operation, Parameter, Style};
use super::written::decode_absent;
use crate::described::utoipa_schema;
use crate::{Described, Wire};

/// Where a schema stands until the document is done: `#slot/7`.
const SLOT: &str = "#slot/";

/// A document in the making.
#[derive(Debug)]
pub struct Document {
    words: Value,
    value: Map<String, Value>,
    paths: Map<String, Value>,
    schemas: Map<String, Value>,
    slots: Vec<Value>,
}

/// The schema of a place, and whether the place may stay empty.
#[derive(Debug, Clone)]
pub struct Slot {
    schema: Value,
    is_optional: bool,
}

/// The slot of a field: its type is what the field holds.
#[must_use]
pub fn field<R, T: Described + Wire>(_: fn(&R) -> &T) -> Slot {
    let schema = T::reference();
    if decode_absent::<T>().is_some() {
        Slot {
            schema: without_null(schema),
            is_optional: true,
        }
    } else {
        Slot {
            schema,
            is_optional: false,
        }
    }
}

/// The slot of a variant that holds a body.
#[must_use]
pub fn variant<T: Described, E>(_: fn(T) -> E) -> Slot {
    Slot {
        schema: T::reference(),
        is_optional: false,
    }
}

/// The slot of a variant that holds a status and a body.
#[must_use]
pub fn variant_with_status<S, T: Described, E>(_: fn(S, T) -> E) -> Slot {
    Slot {
        schema: T::reference(),
        is_optional: false,
    }
}

/// The slot of bytes, whose schema no type carries.
#[must_use]
pub fn opaque() -> Slot {
    Slot {
        schema: json!({}),
        is_optional: false,
    }
}

impl Document {
    /// Begins with the words of everything, and with what no operation says: title, servers, tags, security schemes.
    #[must_use]
    pub fn new(words: &str) -> Self {
        let words: Value = serde_json::from_str(words).unwrap_or_default();
        let mut value = object(&words["document"]);
        let paths = value
            .remove("paths")
            .and_then(|paths| paths.as_object().cloned())
            .unwrap_or_default();
        Self {
            words,
            value,
            paths,
            schemas: Map::new(),
            slots: Vec::new(),
        }
    }

    /// Adds a component schema.
    pub fn component<T: Described>(&mut self, name: &str) {
        let mut schema = if T::NAME == Some(name) {
            T::schema()
        } else {
            T::reference()
        };
        add_words(&mut schema, &object(&self.words["schemas"][name]));
        self.schemas.insert(name.to_owned(), schema);
    }

    /// Begins an operation.
    pub fn operation(&mut self, operation: &'static Operation) -> OperationDocument<'_> {
        let words = self.words["operations"][operation.id].clone();
        let mut value = object(&words["words"]);
        value.insert("operationId".to_owned(), operation.id.into());
        if let (Some(tag), None) = (operation.tag, value.get("tags")) {
            value.insert("tags".to_owned(), json!([tag]));
        }
        let security = operation.security.iter().map(|alternative| {
            let schemes = alternative
                .iter()
                .map(|scheme| (scheme.name.to_owned(), scheme.scopes.into()));
            Value::Object(schemes.collect())
        });
        value.insert("security".to_owned(), security.collect());
        OperationDocument {
            document: self,
            operation,
            words,
            value,
            status: None,
        }
    }

    /// The document as JSON.
    #[must_use]
    pub fn into_json(self) -> Value {
        let slots = self.slots;
        let mut paths = Value::Object(self.paths);
        fill(&mut paths, &slots);
        let mut value = self.value;
        value.insert("paths".to_owned(), paths);
        let components = value.entry("components").or_insert_with(|| json!({}));
        if let Some(components) = components.as_object_mut() {
            components.insert("schemas".to_owned(), Value::Object(self.schemas));
        }
        Value::Object(value)
    }

    /// The document as utoipa has it, in version 3.1.
    ///
    /// # Errors
    ///
    /// If the document says something that utoipa cannot hold.
    pub fn into_openapi(self) -> Result<OpenApi, serde_json::Error> {
        let mut value = self.value;
        value.insert("openapi".to_owned(), "3.1.0".into());
        value.insert("paths".to_owned(), Value::Object(self.paths));
        let written = Value::Object(value);
        let mut openapi: OpenApi = serde_json::from_value(written.clone())?;
        keep_beside(&mut openapi.info.extensions, &written["info"], "summary");
        openapi.components.get_or_insert_default().schemas = self
            .schemas
            .into_iter()
            .map(|(name, schema)| (name, utoipa_schema(schema)))
            .collect();
        for (name, path) in &mut openapi.paths.paths {
            fill_path(path, &written["paths"][name], &self.slots);
        }
        Ok(openapi)
    }

    /// Keeps a schema, so that no model of its keywords lies between it and the document.
    fn slot(&mut self, schema: Value) -> Value {
        self.slots.push(schema);
        json!({ "$ref": format!("{SLOT}{}", self.slots.len() - 1) })
    }
}

/// The schema that a placeholder stands for.
fn kept<'s>(reference: &str, slots: &'s [Value]) -> Option<&'s Value> {
    slots.get(reference.strip_prefix(SLOT)?.parse::<usize>().ok()?)
}

fn fill(value: &mut Value, slots: &[Value]) {
    match value {
        Value::Object(entries) => {
            if let Some(schema) = entries
                .get("$ref")
                .and_then(Value::as_str)
                .and_then(|target| kept(target, slots))
            {
                *value = schema.clone();
                return;
            }
            entries.values_mut().for_each(|entry| fill(entry, slots));
        }
        Value::Array(items) => items.iter_mut().for_each(|item| fill(item, slots)),
        _ => {}
    }
}

/// What utoipa's model has no field for goes along as an extension, which it writes as it stands.
fn keep_beside(extensions: &mut Option<Extensions>, written: &Value, key: &str) {
    if let Some(value) = written.get(key) {
        extensions
            .get_or_insert_default()
            .insert(key.to_owned(), value.clone());
    }
}

fn fill_path(path: &mut PathItem, written: &Value, slots: &[Value]) {
    let methods = [
        ("get", &mut path.get),
        ("put", &mut path.put),
        ("post", &mut path.post),
        ("delete", &mut path.delete),
        ("options", &mut path.options),
        ("head", &mut path.head),
        ("patch", &mut path.patch),
        ("trace", &mut path.trace),
    ];
    for (method, operation) in methods {
        if let Some(operation) = operation {
            fill_operation(operation, &written[method], slots);
        }
    }
}

fn fill_operation(operation: &mut UtoipaOperation, written: &Value, slots: &[Value]) {
    for (at, parameter) in operation.parameters.iter_mut().flatten().enumerate() {
        if let RefOr::T(UtoipaParameter {
            schema,
            content,
            extensions,
            ..
        }) = parameter
        {
            fill_schema(schema, slots);
            fill_contents(content, slots);
            keep_beside(extensions, &written["parameters"][at], "examples");
        }
    }
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        fill_contents(&mut body.content, slots);
    }
    for (status, response) in &mut operation.responses.responses {
        let RefOr::T(Response {
            headers, content, ..
        }) = response
        else {
            continue;
        };
        fill_contents(content, slots);
        for (name, header) in headers {
            if let RefOr::T(Header {
                schema, extensions, ..
            }) = header
            {
                fill_schema(schema, slots);
                keep_beside(
                    extensions,
                    &written["responses"][status]["headers"][name],
                    "required",
                );
            }
        }
    }
}

fn fill_contents<'c>(
    contents: impl IntoIterator<Item = (&'c String, &'c mut RefOr<Content>)>,
    slots: &[Value],
) {
    for (_, content) in contents {
        fill_content(content, slots);
    }
}

fn fill_content(content: &mut RefOr<Content>, slots: &[Value]) {
    if let RefOr::T(content) = content {
        fill_schema(&mut content.schema, slots);
    }
}

fn fill_schema(schema: &mut Option<RefOr<Schema>>, slots: &[Value]) {
    if let Some(RefOr::Ref(reference)) = schema
        && let Some(kept) = kept(&reference.ref_location, slots)
    {
        *schema = Some(utoipa_schema(kept.clone()));
    }
}

/// An operation in the making.
#[derive(Debug)]
pub struct OperationDocument<'d> {
    document: &'d mut Document,
    operation: &'static Operation,
    words: Value,
    value: Map<String, Value>,
    /// The answer that was begun; none while the body is written.
    status: Option<String>,
}

impl OperationDocument<'_> {
    /// Adds a parameter.
    #[must_use]
    pub fn parameter(mut self, parameter: &Parameter, slot: Slot) -> Self {
        let location = parameter.location.as_str();
        let words = &self.words["parameters"][format!("{location} {}", parameter.name)];
        let mut value = described(self.document, parameter, slot, words);
        value.insert("name".to_owned(), parameter.name.into());
        value.insert("in".to_owned(), location.into());
        // utoipa reads no parameter that leaves it out.
        value.entry("required").or_insert(false.into());
        self.list("parameters").push(Value::Object(value));
        self
    }

    /// Begins the body.
    #[must_use]
    pub fn body(mut self, body: &Body, is_optional: bool) -> Self {
        let mut value = object(&self.words["body"]["words"]);
        if body.required || !is_optional {
            value.insert("required".to_owned(), true.into());
        }
        self.value
            .insert("requestBody".to_owned(), Value::Object(value));
        self
    }

    /// Begins an answer.
    #[must_use]
    pub fn response(mut self, listed: &ListedResponse) -> Self {
        let status = listed.key.to_string();
        let words = object(&self.words["responses"][&status]["words"]);
        let responses = self.value.entry("responses").or_insert_with(|| json!({}));
        responses[&status] = Value::Object(words);
        self.status = Some(status);
        self
    }

    /// Adds the next media type of the body or answer that was begun.
    #[must_use]
    pub fn content(mut self, media: &str, slot: Slot) -> Self {
        let (words, _) = self.begun();
        let mut value = object(&words["content"][media]);
        let schema_words = value.remove("schema");
        let mut schema = slot.schema;
        if let Some(Value::Object(words)) = &schema_words {
            add_words(&mut schema, words);
        }
        value.insert("schema".to_owned(), self.document.slot(schema));
        let content = self.begun().1.entry("content").or_insert_with(|| json!({}));
        content[media] = Value::Object(value);
        self
    }

    /// Adds a header of the answer that was begun.
    #[must_use]
    pub fn header(mut self, header: &Parameter, slot: Slot) -> Self {
        let words = self.begun().0["headers"][header.name].clone();
        let value = described(self.document, header, slot, &words);
        let headers = self.begun().1.entry("headers").or_insert_with(|| json!({}));
        headers[header.name] = Value::Object(value);
        self
    }

    /// Puts the operation into the document.
    pub fn end(self) {
        let method = self.operation.method.as_str().to_ascii_lowercase();
        let path = self
            .document
            .paths
            .entry(self.operation.path)
            .or_insert_with(|| json!({}));
        path[&method] = Value::Object(self.value);
    }

    /// The body or answer that was begun: its words, and what is there of it.
    fn begun(&mut self) -> (&Value, &mut Map<String, Value>) {
        let (words, begun) = match &self.status {
            Some(status) => (
                &self.words["responses"][status],
                &mut self.value["responses"][status],
            ),
            None => (&self.words["body"], &mut self.value["requestBody"]),
        };
        (
            words,
            begun
                .as_object_mut()
                .expect("a body or answer was begun as an object"),
        )
    }

    fn list(&mut self, key: &str) -> &mut Vec<Value> {
        let list = self.value.entry(key).or_insert_with(|| json!([]));
        list.as_array_mut().expect("a list was begun as a list")
    }
}

/// What parameters and headers have in common.
fn described(
    document: &mut Document,
    parameter: &Parameter,
    slot: Slot,
    words: &Value,
) -> Map<String, Value> {
    let mut value = object(words);
    let schema_words = value.remove("schema");
    let mut schema = slot.schema;
    if let Some(Value::Object(words)) = &schema_words {
        add_words(&mut schema, words);
    }
    if let (Some(default), Some(schema)) = (parameter.default, schema.as_object_mut())
        && !schema.contains_key("$ref")
    {
        schema.insert(
            "default".to_owned(),
            serde_json::from_str(default).unwrap_or(Value::Null),
        );
    }
    if parameter.required || (parameter.default.is_none() && !slot.is_optional) {
        value.insert("required".to_owned(), true.into());
    }
    let schema = document.slot(schema);
    if parameter.style == Style::Json {
        value.insert(
            "content".to_owned(),
            json!({ "application/json": { "schema": schema } }),
        );
        return value;
    }
    value.insert("schema".to_owned(), schema);
    let usual = match parameter.location {
        Location::Query | Location::Cookie => (Style::Form, true),
        Location::Path | Location::Header | Location::Body => (Style::Simple, false),
    };
    if (parameter.style, parameter.explode) != usual {
        value.insert("style".to_owned(), style(parameter.style).into());
        value.insert("explode".to_owned(), parameter.explode.into());
    }
    value
}

fn style(style: Style) -> &'static str {
    match style {
        Style::Simple => "simple",
        Style::Label => "label",
        Style::Matrix => "matrix",
        Style::Form | Style::Json => "form",
        Style::SpaceDelimited => "spaceDelimited",
        Style::PipeDelimited => "pipeDelimited",
        Style::DeepObject => "deepObject",
    }
}

/// Adds annotations that the type does not carry itself.
fn add_words(schema: &mut Value, words: &Map<String, Value>) {
    let Some(schema) = schema.as_object_mut() else {
        return;
    };
    for (key, value) in words {
        schema.entry(key).or_insert_with(|| value.clone());
    }
}

/// The schema of `T` from that of `Option<T>`.
fn without_null(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else {
        return schema;
    };
    for key in ["oneOf", "anyOf"] {
        if let Some(Value::Array(choices)) = schema.get(key)
            && let [inner, null] = choices.as_slice()
            && *null == json!({ "type": "null" })
        {
            return inner.clone();
        }
    }
    if let Some(Value::Array(types)) = schema.get_mut("type") {
        types.retain(|ty| ty != "null");
        if let [only] = types.as_slice() {
            let only = only.clone();
            schema.insert("type".to_owned(), only);
        }
    }
    Value::Object(schema)
}

fn object(words: &Value) -> Map<String, Value> {
    words.as_object().cloned().unwrap_or_default()
}
