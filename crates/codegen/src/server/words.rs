//! The words of the contract, which Rust does not enforce: summaries, descriptions, examples and
//! extensions.
//!
//! They are in the file `words.json`, beside the code that derives the document again, by
//! operation, parameter and status. The words of a component are there once, by its pointer.

use contract::model;
use serde_json::{Map, Value, json};

use super::payload::is_opaque;
use crate::ir::{Api, Media, Operation, Parameter, Response, TypeKind, TypeRef};

/// The keywords that do not constrain a value, so that a type such as `String` cannot express them.
const ANNOTATIONS: &[&str] = &[
    "title",
    "description",
    "default",
    "example",
    "examples",
    "deprecated",
    "readOnly",
    "writeOnly",
    "format",
    "externalDocs",
    "xml",
    "$comment",
];

/// Generates `words.json`: the words of the document, of schemas, of components, and of each
/// operation.
pub(super) fn write(api: &Api<'_>) -> String {
    let schemas = api.types.iter().filter_map(|def| {
        // Only an alias has no attributes for its texts.
        let TypeKind::Alias(_) = &def.kind else {
            return None;
        };
        entry(def.component.clone()?, annotations(api, def.schema))
    });
    let mut components = Map::new();
    let operations: Map<_, _> = api
        .operations
        .iter()
        .map(|operation| {
            (
                operation.id.clone(),
                of_operation(api, operation, &mut components),
            )
        })
        .collect();
    let words = json!({
        "document": base(api),
        "schemas": schemas.collect::<Map<_, _>>(),
        "components": components,
        "operations": operations,
    });
    let mut text = serde_json::to_string_pretty(&words).expect("JSON values are written as JSON");
    text.push('\n');
    text
}

/// Returns an entry of a map in `words.json`, or `None` if `words` is empty.
fn entry(key: String, words: Map<String, Value>) -> Option<(String, Value)> {
    (!words.is_empty()).then_some((key, Value::Object(words)))
}

/// Moves the words of a component to `components` and returns the component's pointer. Returns the
/// words of anything else as they are.
fn shared(pointer: &str, words: Value, components: &mut Map<String, Value>) -> Value {
    if !pointer.starts_with("/components/") {
        return words;
    }
    components.entry(pointer).or_insert(words);
    pointer.into()
}

/// Returns the words of an operation, its parameters, its body and its responses, and adds those of
/// components to `components`.
fn of_operation(
    api: &Api<'_>,
    operation: &Operation,
    components: &mut Map<String, Value>,
) -> Value {
    let model = &api.contract.operations[operation.index];
    let raw = api.contract.document.pointer(&model.pointer);
    let mut words = without(
        raw,
        &[
            "parameters",
            "requestBody",
            "responses",
            "security",
            "operationId",
        ],
    );
    // The code has them as headers.
    for (key, value) in [
        ("x-deprecation", operation.deprecation),
        ("x-sunset", operation.sunset),
    ] {
        if value.is_some() {
            words.remove(key);
        }
    }
    // The code has one tag for each operation, so only another list of tags is a text.
    let own_tag = api.tags[operation.tag].name.as_deref();
    if words
        .get("tags")
        .and_then(Value::as_array)
        .is_some_and(|tags| tags.iter().map(Value::as_str).eq([own_tag]))
    {
        words.remove("tags");
    }
    let parameters: Map<_, _> = operation
        .parameters
        .iter()
        .zip(&model.parameters)
        .filter_map(|(parameter, model)| {
            let location = match model.location {
                model::Location::Path => "path",
                model::Location::Query => "query",
                model::Location::Header => "header",
                model::Location::Cookie => "cookie",
            };
            let (key, words) = entry(
                format!("{location} {}", model.name),
                of_parameter(api, parameter, model),
            )?;
            Some((key, shared(&model.pointer, words, components)))
        })
        .collect();
    let responses: Map<_, _> = operation
        .responses
        .iter()
        .map(|response| {
            let model = &model.responses[response.index];
            let words = of_response(api, response, model);
            let words = shared(&model.pointer, words, components);
            (model.status.to_string(), words)
        })
        .collect();
    json!({
        "words": words,
        "parameters": parameters,
        "body": of_body(api, operation, model),
        "responses": responses,
    })
}

/// Returns the words of a request body, or null if the operation has none.
fn of_body(api: &Api<'_>, operation: &Operation, model: &model::Operation) -> Value {
    let (Some(body), Some(body_model)) = (&operation.body, &model.request_body) else {
        return Value::Null;
    };
    let pointer = match &body_model.component {
        Some(component) => format!(
            "/components/requestBodies/{}",
            contract::pointer::escape(component)
        ),
        None => format!("{}/requestBody", model.pointer),
    };
    json!({
        "words": without(api.contract.document.pointer(&pointer), &["required", "content"]),
        "content": of_content(api, &body.media, &body_model.content),
    })
}

/// Returns the words of a response, its headers and its media types.
fn of_response(api: &Api<'_>, response: &Response, model: &model::Response) -> Value {
    let headers = model.headers.iter().filter_map(|model| {
        let mut headers = response.headers.iter().chain(&api.request_id);
        let header = headers.find(|header| header.wire == model.name)?;
        entry(model.name.clone(), of_parameter(api, header, model))
    });
    json!({
        "words": without(api.contract.document.pointer(&model.pointer), &["headers", "content"]),
        "content": of_content(api, &response.media, &model.content),
        "headers": headers.collect::<Map<_, _>>(),
    })
}

/// Returns the words of the media types of a body, by media type.
fn of_content(api: &Api<'_>, media: &[Media], models: &[model::MediaType]) -> Map<String, Value> {
    let contents = media.iter().zip(models).filter_map(|(media, model)| {
        let raw = api.contract.document.pointer(&model.pointer);
        let mut words = without(raw, &["schema"]);
        resolve_examples(api, &mut words);
        let schema = if is_opaque(media) {
            // No type describes it, so the contract's own schema is taken.
            raw.and_then(|raw| raw.get("schema"))
                .and_then(Value::as_object)
                .cloned()
                .unwrap_or_default()
        } else {
            model.schema.map_or_else(Map::new, |schema| {
                loose_annotations(api, media.ty.as_ref(), schema)
            })
        };
        words.extend(entry("schema".to_owned(), schema));
        entry(media.name.clone(), words)
    });
    contents.collect()
}

/// Returns the members of the document without operations, and without components other than
/// security schemes.
fn base(api: &Api<'_>) -> Map<String, Value> {
    let Some(document) = api.contract.document.as_object() else {
        return Map::new();
    };
    let mut base: Map<String, Value> = Map::new();
    for (key, value) in document {
        match key.as_str() {
            "paths" => {
                let paths = path_words(value);
                if !paths.is_empty() {
                    base.insert(key.clone(), Value::Object(paths));
                }
            }
            // Schemas come from the types, and the other components from the operations that use
            // them.
            "components" => {
                if let Some(schemes) = value.get("securitySchemes") {
                    let mut components = Map::new();
                    components.insert("securitySchemes".to_owned(), schemes.clone());
                    base.insert(key.clone(), Value::Object(components));
                }
            }
            _ => {
                base.insert(key.clone(), value.clone());
            }
        }
    }
    base
}

/// Returns the summaries, descriptions, servers and extensions of paths.
fn path_words(paths: &Value) -> Map<String, Value> {
    let methods = [
        "get",
        "put",
        "post",
        "delete",
        "options",
        "head",
        "patch",
        "trace",
        "query",
        "additionalOperations",
        "parameters",
        "$ref",
    ];
    let mut words = Map::new();
    for (path, item) in paths.as_object().into_iter().flatten() {
        let kept = without(Some(item), &methods);
        if !kept.is_empty() {
            words.insert(path.clone(), Value::Object(kept));
        }
    }
    words
}

/// Returns the words of a parameter or header, with those of its schema if no item of the types
/// crate has them.
fn of_parameter(
    api: &Api<'_>,
    parameter: &Parameter,
    model: &model::Parameter,
) -> Map<String, Value> {
    let raw = api.contract.document.pointer(&model.pointer);
    let mut words = without(
        raw,
        &[
            "name", "in", "required", "style", "explode", "schema", "content",
        ],
    );
    resolve_examples(api, &mut words);
    let schema = loose_annotations(api, Some(&parameter.ty), parameter.schema);
    words.extend(entry("schema".to_owned(), schema));
    words
}

/// Returns the annotations of an inline schema, or an empty map if an item of the types crate has
/// them, or if the schema is a component.
fn loose_annotations(
    api: &Api<'_>,
    ty: Option<&TypeRef>,
    schema: model::SchemaId,
) -> Map<String, Value> {
    let is_carried = match ty {
        Some(TypeRef::Named(id)) => api.type_def(*id).schema == schema,
        _ => false,
    };
    if is_carried || api.contract.schema(schema).component.is_some() {
        return Map::new();
    }
    annotations(api, schema)
}

/// Returns the annotations of a schema, with its extensions.
fn annotations(api: &Api<'_>, schema: model::SchemaId) -> Map<String, Value> {
    match &api.contract.schema(schema).kind {
        model::SchemaKind::Bool(_) => Map::new(),
        model::SchemaKind::Object(keywords) => keywords
            .raw
            .iter()
            .filter(|(key, _)| ANNOTATIONS.contains(&&**key) || key.starts_with("x-"))
            .map(|(key, value)| (key.to_string(), value.clone()))
            .collect(),
    }
}

/// Replaces references to examples by the examples, since the derived document has no components
/// for them.
fn resolve_examples(api: &Api<'_>, words: &mut Map<String, Value>) {
    let Some(Value::Object(examples)) = words.get_mut("examples") else {
        return;
    };
    for example in examples.values_mut() {
        let target = example
            .get("$ref")
            .and_then(Value::as_str)
            .and_then(|reference| reference.strip_prefix('#'));
        if let Some(resolved) = target.and_then(|pointer| api.contract.document.pointer(pointer)) {
            *example = resolved.clone();
        }
    }
}

/// Returns the members of an object except those of some keys.
fn without(value: Option<&Value>, keys: &[&str]) -> Map<String, Value> {
    value
        .and_then(Value::as_object)
        .into_iter()
        .flatten()
        .filter(|(key, _)| !keys.contains(&key.as_str()))
        .map(|(key, value)| (key.clone(), value.clone()))
        .collect()
}
