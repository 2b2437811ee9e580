//! The input schema of a tool: JSON Schema that stands alone, with the parts of the contract that it
//! uses in `$defs`.

use std::collections::{HashMap, HashSet, VecDeque};

use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use super::access::Access;
use super::names::{self, BODY};
use super::tool::Tool;
use crate::Schemas;
use crate::cli::description::{Body, BodyKind, Input};
use crate::cli::mcp::arguments;

/// The maximum number of bytes of an input schema. A larger one says only which inputs there are,
/// of what type and what for: clients give the schemas of all tools to a language model, and a call
/// is checked all the same. If that is too large too, it does not say what for.
const MOST_BYTES: usize = 64 << 10;
/// Keywords whose values are objects of schemas.
const MAPS: [&str; 4] = [
    "properties",
    "patternProperties",
    "dependentSchemas",
    "$defs",
];
/// Keywords whose values are lists of schemas.
const LISTS: [&str; 4] = ["allOf", "anyOf", "oneOf", "prefixItems"];
/// Keywords whose values are schemas.
const SINGLES: [&str; 11] = [
    "items",
    "additionalProperties",
    "not",
    "if",
    "then",
    "else",
    "contains",
    "propertyNames",
    "unevaluatedItems",
    "unevaluatedProperties",
    "contentSchema",
];
/// Keywords of OpenAPI that JSON Schema does not have.
const OF_OPENAPI: [&str; 4] = ["discriminator", "xml", "externalDocs", "example"];

/// Returns the input schema of a tool.
pub(super) fn input(schemas: &Schemas, tool: &Tool, access: &Access) -> Map<String, Value> {
    let of = |detail: Detail| written(tool, access, Copies::new(schemas, tool, access, detail));
    let fits = |schema: &Map<String, Value>| {
        serde_json::to_vec(schema).is_ok_and(|written| written.len() <= MOST_BYTES)
    };
    let long = [Detail::Whole, Detail::Words]
        .into_iter()
        .map(of)
        .find(fits);
    long.unwrap_or_else(|| of(Detail::Types))
}

/// What a schema says about the inputs.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Detail {
    Whole,
    /// Of what type they are, and what for.
    Words,
    /// Of what type they are.
    Types,
}

fn written(tool: &Tool, access: &Access, mut copies: Copies<'_>) -> Map<String, Value> {
    let mut properties = Map::new();
    let mut required = Vec::new();
    for (name, bound) in &tool.inputs {
        properties.insert(name.clone(), parameter(bound.input, &mut copies));
        if bound.input.required {
            required.push(Value::from(name.clone()));
        }
    }
    if let Some(body) = access.body(tool.operation()) {
        properties.insert(BODY.to_owned(), self::body(body, access, &mut copies));
        if body.required {
            required.push(BODY.into());
        }
    }
    let mut schema = Map::new();
    schema.insert("type".to_owned(), "object".into());
    schema.insert("properties".to_owned(), Value::Object(properties));
    if !required.is_empty() {
        schema.insert("required".to_owned(), Value::Array(required));
    }
    schema.insert("additionalProperties".to_owned(), false.into());
    let parts = copies.finish();
    if !parts.is_empty() {
        schema.insert("$defs".to_owned(), Value::Object(parts));
    }
    schema
}

/// Returns the schema of a parameter.
fn parameter(input: &Input, copies: &mut Copies<'_>) -> Value {
    let schema = copies.at(input.schema.as_deref());
    let default = input.default.clone();
    let default = default.filter(|_| copies.detail == Detail::Whole);
    let schema = with(schema, "default", default);
    described(schema, &input.about, copies.detail)
}

/// Returns the schema of the request body.
fn body(body: &Body, access: &Access, copies: &mut Copies<'_>) -> Value {
    if body.kind != BodyKind::Bytes {
        let mut words = body.about.clone();
        if !access.secret_inputs && !body.secrets.is_empty() {
            let names = body.secrets.join(", ");
            words.push_str(&format!(" Leave out the secrets: {names}."));
        }
        let schema = copies.at(body.schema.as_deref());
        return described(schema, words.trim_start(), copies.detail);
    }
    let words = format!("{}, as {}", body.about, body.media);
    let text = json!({"type": "string"});
    let text = if arguments::is_text(body) {
        text
    } else {
        with(text, "contentEncoding", Some("base64".into()))
    };
    described(text, words.trim_start_matches(", "), copies.detail)
}

/// Returns a schema with `words` as its `description`, unless they are empty or `detail` is
/// [`Detail::Types`].
fn described(schema: Value, words: &str, detail: Detail) -> Value {
    let is_shown = detail != Detail::Types && !words.is_empty();
    let words = is_shown.then_some(words);
    with(schema, "description", words.map(Value::from))
}

/// Returns a schema with a keyword.
fn with(schema: Value, keyword: &str, value: Option<Value>) -> Value {
    let Some(value) = value else {
        return schema;
    };
    let mut members = match schema {
        Value::Object(members) => members,
        // What accepts everything, since no input has a schema that accepts nothing.
        _ => Map::new(),
    };
    members.insert(keyword.to_owned(), value);
    Value::Object(members)
}

/// Copies of the contract's schemas, whose references lead into `$defs`.
struct Copies<'s> {
    document: &'s Value,
    /// The properties that are left out.
    hidden: &'s [String],
    detail: Detail,
    /// The name of each part, by its pointer.
    names: HashMap<String, String>,
    taken: HashSet<String>,
    /// The pointers and names of the parts that are still to be copied.
    left: VecDeque<(String, String)>,
}

impl<'s> Copies<'s> {
    fn new(schemas: &'s Schemas, tool: &Tool, access: &Access, detail: Detail) -> Self {
        let body = tool.operation().body.as_ref();
        let secrets = body.map_or(&[][..], |body| &body.secrets);
        Self {
            document: schemas.document(),
            hidden: if access.secret_inputs { &[] } else { secrets },
            detail,
            names: HashMap::new(),
            taken: HashSet::new(),
            left: VecDeque::new(),
        }
    }

    /// Returns a copy of the schema at a pointer.
    fn at(&mut self, pointer: Option<&str>) -> Value {
        let document = self.document;
        let schema = pointer.and_then(|pointer| document.pointer(pointer));
        match schema {
            None => json!({}),
            Some(schema) if self.detail != Detail::Whole => match schema.get("type") {
                Some(types) => json!({"type": types}),
                None => json!({}),
            },
            Some(schema) => self.copy(schema),
        }
    }

    fn copy(&mut self, schema: &Value) -> Value {
        let Value::Object(keywords) = schema else {
            return schema.clone();
        };
        let mut copy = Map::new();
        for (keyword, value) in keywords {
            if keyword.starts_with("x-") || OF_OPENAPI.contains(&keyword.as_str()) {
                continue;
            }
            copy.insert(keyword.clone(), self.keyword(keyword, value));
        }
        Value::Object(copy)
    }

    /// Returns a copy of the value of a keyword.
    fn keyword(&mut self, keyword: &str, value: &Value) -> Value {
        match value {
            Value::String(reference) if keyword == "$ref" => self.reference(reference).into(),
            Value::Array(names) if keyword == "required" => {
                let is_hidden = |name: &Value| {
                    let mut hidden = self.hidden.iter();
                    name.as_str()
                        .is_some_and(|name| hidden.any(|own| own == name))
                };
                let shown = names.iter().filter(|name| !is_hidden(name));
                Value::Array(shown.cloned().collect())
            }
            Value::Object(members) if MAPS.contains(&keyword) => {
                let is_shown =
                    |name: &&String| keyword != "properties" || !self.hidden.contains(name);
                let names: Vec<&String> = members.keys().filter(is_shown).collect();
                let copies = names.into_iter();
                let copies = copies.map(|name| (name.clone(), self.copy(&members[name])));
                Value::Object(copies.collect())
            }
            Value::Array(items) if LISTS.contains(&keyword) => {
                items.iter().map(|item| self.copy(item)).collect()
            }
            Value::Object(_) if SINGLES.contains(&keyword) => self.copy(value),
            // Such as `enum`, whose values are no schemas, though they may look like some.
            other => other.clone(),
        }
    }

    /// Returns the reference to the copy of what a reference leads to.
    fn reference(&mut self, reference: &str) -> String {
        let pointer = percent_decode_str(reference.trim_start_matches('#'));
        let pointer = pointer.decode_utf8_lossy().into_owned();
        if let Some(name) = self.names.get(&pointer) {
            return format!("#/$defs/{name}");
        }
        let last = pointer.rsplit('/').next().unwrap_or_default();
        let name = names::free(last, &mut self.taken);
        // Named before it is copied, since a schema may refer to itself.
        self.names.insert(pointer.clone(), name.clone());
        self.left.push_back((pointer, name.clone()));
        format!("#/$defs/{name}")
    }

    /// Returns the parts that references lead to, by name.
    fn finish(mut self) -> Map<String, Value> {
        let mut parts = Map::new();
        while let Some((pointer, name)) = self.left.pop_front() {
            let part = self.at(Some(&pointer));
            parts.insert(name, part);
        }
        parts
    }
}
