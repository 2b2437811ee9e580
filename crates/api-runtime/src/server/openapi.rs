//! Re-derives the OpenAPI document from what the generated code enforces, so that a test can
//! compare it with the contract.
//!
//! Types, required flags, defaults, statuses and security come from the descriptions that serve
//! requests. Only texts that no Rust enforces (summaries, descriptions, examples, extensions) come
//! from a file of JSON.

use serde_json::{Map, Value, json};
use utoipa::openapi::extensions::Extensions;
use utoipa::openapi::path::{Operation as UtoipaOperation, Parameter as UtoipaParameter};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::{Content, Header, OpenApi, PathItem, RefOr, Response};

use super::messages::ResponseParts;
use super::operation::{Body, ListedResponse, Location, Media, Operation, Parameter, Style};
use super::schema_source::{SchemaSource, ValueSchema};
use crate::described::{Component, utoipa_schema};
use crate::{Described, Wire};

/// The prefix of references that stand for schemas until the document is complete: `#slot/7`.
const SLOT: &str = "#slot/";

/// An OpenAPI document that is being built.
#[derive(Debug)]
pub struct Document {
    words: Value,
    value: Map<String, Value>,
    paths: Map<String, Value>,
    schemas: Map<String, Value>,
    slots: Vec<Value>,
    /// The responses that the router makes by itself.
    rejections: Vec<ListedResponse>,
    /// The headers that the router adds to every response.
    headers: Vec<Parameter>,
}

impl Parameter {
    /// Sets the type whose schema describes the parameter: that of the field that holds its value.
    #[must_use]
    pub const fn described<T: Described + Wire>(mut self) -> Self {
        self.schema = SchemaSource::field::<T>();
        self
    }
}

impl Media {
    /// Sets the type whose schema describes the body.
    #[must_use]
    pub const fn described<T: Described>(mut self) -> Self {
        self.described = SchemaSource::body::<T>();
        self
    }
}

impl Document {
    /// Creates a document without operations. `words` is JSON with what no Rust enforces, such as
    /// title, servers, tags, security schemes and the descriptions of operations.
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
            rejections: Vec::new(),
            headers: Vec::new(),
        }
    }

    /// Adds the response that the router makes by itself with a status. It is one of the operations
    /// that have the status among their `rejections`.
    ///
    /// # Panics
    ///
    /// If the number is not a status.
    pub fn rejection<T: ResponseParts>(&mut self, status: u16) {
        self.rejections
            .push(ListedResponse::code(status).parts::<T>());
    }

    /// Adds a required header that the router adds to every response.
    pub fn header<T: Described + Wire>(&mut self, name: &'static str) {
        self.headers
            .push(Parameter::header(name).required().described::<T>());
    }

    /// Adds the schemas of components.
    pub fn components(&mut self, components: &[(&str, Component)]) {
        for (name, schema) in components {
            let mut schema = schema(name);
            add_words(&mut schema, &object(&self.words["schemas"][name]));
            self.schemas.insert((*name).to_owned(), schema);
        }
    }

    /// Adds an operation.
    pub fn operation(&mut self, operation: &Operation) {
        let words = self.words["operations"][operation.id].clone();
        let mut value = object(&words["words"]);
        value.insert("operationId".to_owned(), operation.id.into());
        if let (Some(tag), None) = (operation.tag, value.get("tags")) {
            value.insert("tags".to_owned(), json!([tag]));
        }
        value.insert("security".to_owned(), security(operation));
        for (name, header) in [
            ("x-deprecation", operation.deprecation),
            ("x-sunset", operation.sunset),
        ] {
            value.extend(header.map(|header| (name.to_owned(), header.into())));
        }
        let parameters = operation.parameters.iter();
        let parameters: Vec<Value> = parameters
            .map(|parameter| {
                let key = format!("{} {}", parameter.location.as_str(), parameter.name);
                let words = self.words_of(&words["parameters"][key]);
                self.parameter(parameter, &words)
            })
            .collect();
        if !parameters.is_empty() {
            value.insert("parameters".to_owned(), parameters.into());
        }
        if let Some(body) = &operation.body {
            value.insert("requestBody".to_owned(), self.body(body, &words["body"]));
        }
        let rejections = self.rejections.clone();
        let rejections = rejections.iter().filter(|rejection| {
            let status = rejection.status().as_u16();
            operation.rejections.contains(&status)
        });
        let handled = operation.responses.iter().chain(operation.errors);
        for listed in handled.chain(rejections) {
            let status = listed.key.to_string();
            let words = self.words_of(&words["responses"][&status]);
            let response = self.response(listed, &words);
            let responses = value.entry("responses").or_insert_with(|| json!({}));
            responses[&status] = response;
        }
        let path = self
            .paths
            .entry(operation.path)
            .or_insert_with(|| json!({}));
        let method = operation.method;
        if method.is_fixed() {
            path[method.as_str().to_ascii_lowercase()] = Value::Object(value);
        } else {
            path["additionalOperations"][method.as_str()] = Value::Object(value);
        }
    }

    /// Returns the texts of a parameter or response: `words` itself, or what it names among the
    /// texts of components.
    fn words_of(&self, words: &Value) -> Value {
        match words {
            Value::String(pointer) => self.words["components"][pointer].clone(),
            words => words.clone(),
        }
    }

    fn parameter(&mut self, parameter: &Parameter, words: &Value) -> Value {
        let mut value = self.value(parameter, words);
        value.insert("name".to_owned(), parameter.name.into());
        let location = if parameter.whole_query {
            "querystring"
        } else {
            parameter.location.as_str()
        };
        value.insert("in".to_owned(), location.into());
        // utoipa reads no parameter that leaves it out.
        value.entry("required").or_insert(false.into());
        Value::Object(value)
    }

    fn body(&mut self, body: &Body, words: &Value) -> Value {
        let mut value = object(&words["words"]);
        if body.required {
            value.insert("required".to_owned(), true.into());
        }
        self.content(body.media, words, &mut value);
        Value::Object(value)
    }

    fn response(&mut self, listed: &ListedResponse, words: &Value) -> Value {
        let mut value = object(&words["words"]);
        self.content(listed.media, words, &mut value);
        let added = self.headers.clone();
        for header in listed.headers.iter().chain(&added) {
            let described = self.value(header, &words["headers"][header.name]);
            let headers = value.entry("headers").or_insert_with(|| json!({}));
            headers[header.name] = Value::Object(described);
        }
        Value::Object(value)
    }

    /// Adds the media types of a body to its description `into`.
    fn content(&mut self, media: &[Media], words: &Value, into: &mut Map<String, Value>) {
        for media in media {
            let mut value = object(&words["content"][media.name]);
            let ValueSchema { mut schema, .. } = media.described.schema();
            let words = value.remove("schema");
            // A sequence has a schema of its items, and only rarely one of the whole as well.
            let is_sequence = ["itemSchema", "x-item-schema"]
                .iter()
                .any(|key| value.contains_key(*key));
            if words.is_some() || !is_sequence {
                if let Some(Value::Object(words)) = words {
                    add_words(&mut schema, &words);
                }
                value.insert("schema".to_owned(), self.slot(schema));
            }
            let content = into.entry("content").or_insert_with(|| json!({}));
            content[media.name] = Value::Object(value);
        }
    }

    /// Returns what the descriptions of parameters and headers have in common.
    fn value(&mut self, parameter: &Parameter, words: &Value) -> Map<String, Value> {
        let mut value = object(words);
        let ValueSchema {
            mut schema,
            is_optional,
            default,
        } = parameter.schema.schema();
        if let Some(Value::Object(words)) = value.remove("schema") {
            add_words(&mut schema, &words);
        }
        if let (Some(own), Some(schema)) = (parameter.default, schema.as_object_mut()) {
            let own: Value = serde_json::from_str(own).unwrap_or(Value::Null);
            // A reference to a schema with the same default says it already.
            if !schema.contains_key("$ref") || default.as_ref() != Some(&own) {
                schema.insert("default".to_owned(), own);
            }
        }
        // Only an `Option` or a default has a value for absence, so all others are required in
        // effect.
        if parameter.required || (parameter.default.is_none() && !is_optional) {
            value.insert("required".to_owned(), true.into());
        }
        let schema = self.slot(schema);
        let media_type = match parameter.style {
            Style::Json => Some("application/json"),
            Style::Simple if parameter.whole_query => Some("text/plain"),
            _ => parameter
                .whole_query
                .then_some("application/x-www-form-urlencoded"),
        };
        if let Some(media_type) = media_type {
            value.insert(
                "content".to_owned(),
                json!({ media_type: { "schema": schema } }),
            );
            return value;
        }
        value.insert("schema".to_owned(), schema);
        // The defaults of OpenAPI, which the contract need not write either.
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

    /// Returns the document as JSON.
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

    /// Returns the document in utoipa's model, in version 3.1.
    ///
    /// # Errors
    ///
    /// If the document has something that utoipa cannot hold.
    pub fn into_openapi(self) -> Result<OpenApi, serde_json::Error> {
        let mut value = self.value;
        // utoipa's model has no other version.
        value.insert("openapi".to_owned(), "3.1.0".into());
        value.insert("paths".to_owned(), Value::Object(self.paths));
        let written = Value::Object(value);
        // A copy, since the model drops some keywords, which are added to it below.
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

    /// Keeps a schema aside and returns its placeholder, so that utoipa's model of schemas loses
    /// none of its keywords.
    fn slot(&mut self, schema: Value) -> Value {
        self.slots.push(schema);
        json!({ "$ref": format!("{SLOT}{}", self.slots.len() - 1) })
    }
}

/// Returns the security requirements of an operation.
fn security(operation: &Operation) -> Value {
    let alternatives = operation.security.alternatives.iter().map(|alternative| {
        let schemes = alternative
            .iter()
            .map(|scheme| (scheme.name.to_owned(), scheme.scopes.into()));
        Value::Object(schemes.collect())
    });
    alternatives.collect()
}

/// Returns the schema that a placeholder stands for, or `None` for any other reference.
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

/// Copies the member `key` of `written`, if it is there, to the extensions, which utoipa writes
/// unchanged. For what utoipa's model has no field for.
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

fn style(style: Style) -> &'static str {
    match style {
        Style::Simple => "simple",
        Style::Label => "label",
        Style::Matrix => "matrix",
        Style::Form | Style::Json => "form",
        Style::SpaceDelimited => "spaceDelimited",
        Style::PipeDelimited => "pipeDelimited",
        Style::DeepObject => "deepObject",
        Style::Cookie => "cookie",
    }
}

/// Adds annotations to a schema, except for keywords that it has already.
fn add_words(schema: &mut Value, words: &Map<String, Value>) {
    let Some(schema) = schema.as_object_mut() else {
        return;
    };
    for (key, value) in words {
        // The own keywords of the type win, since they are what the code enforces.
        schema.entry(key).or_insert_with(|| value.clone());
    }
}

fn object(words: &Value) -> Map<String, Value> {
    words.as_object().cloned().unwrap_or_default()
}
