//! [`Described`]: the JSON Schema of a type, derived from the tokens that enforce it.
//!
//! The tests compare these schemas with the contract, so generated code that enforces another rule
//! is found.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value, json};

/// The pointer to the component schemas of an OpenAPI document, as the start of a reference.
const COMPONENTS: &str = "#/components/schemas/";

/// A type that has a JSON Schema.
pub trait Described {
    /// The name of the schema among the contract's components, or `None` for an inline schema.
    const NAME: Option<&'static str> = None;

    /// Returns the schema, in which other components are references.
    fn schema() -> Value;

    /// Returns a reference to the schema, or the schema itself if it has no name.
    #[must_use]
    fn reference() -> Value {
        match Self::NAME {
            Some(name) => json!({"$ref": format!("{COMPONENTS}{name}")}),
            None => Self::schema(),
        }
    }

    /// Adds the component of the type, if it has one, and every component that its schema refers
    /// to.
    fn collect(into: &mut BTreeMap<String, Value>) {
        if let Some(name) = Self::NAME {
            if into.contains_key(name) {
                // Recursive schemas end here.
                return;
            }
            into.insert(name.to_owned(), Self::schema());
        }
        Self::collect_inner(into);
    }

    /// Adds the components that the schema refers to.
    fn collect_inner(_into: &mut BTreeMap<String, Value>) {}
}

macro_rules! plain {
    ($($ty:ty => $schema:tt;)*) => {
        $(impl Described for $ty {
            fn schema() -> Value {
                json!($schema)
            }
        })*
    };
}

plain! {
    bool => {"type": "boolean"};
    i8 => {"type": "integer", "format": "int8"};
    i16 => {"type": "integer", "format": "int16"};
    i32 => {"type": "integer", "format": "int32"};
    i64 => {"type": "integer", "format": "int64"};
    u8 => {"type": "integer", "format": "uint8", "minimum": 0};
    u16 => {"type": "integer", "format": "uint16", "minimum": 0};
    u32 => {"type": "integer", "format": "uint32", "minimum": 0};
    u64 => {"type": "integer", "format": "uint64", "minimum": 0};
    f32 => {"type": "number", "format": "float"};
    f64 => {"type": "number"};
    String => {"type": "string"};
    Ipv4Addr => {"type": "string", "format": "ipv4"};
    Ipv6Addr => {"type": "string", "format": "ipv6"};
    Value => {};
}

impl<T: Described> Described for Vec<T> {
    fn schema() -> Value {
        json!({"type": "array", "items": T::reference()})
    }

    fn collect_inner(into: &mut BTreeMap<String, Value>) {
        T::collect(into);
    }
}

impl<T: Described> Described for BTreeMap<String, T> {
    fn schema() -> Value {
        json!({"type": "object", "additionalProperties": T::reference()})
    }

    fn collect_inner(into: &mut BTreeMap<String, Value>) {
        T::collect(into);
    }
}

impl<T: Described> Described for Box<T> {
    const NAME: Option<&'static str> = T::NAME;

    fn schema() -> Value {
        T::schema()
    }

    fn collect_inner(into: &mut BTreeMap<String, Value>) {
        T::collect_inner(into);
    }
}

impl<T: Described> Described for Option<T> {
    fn schema() -> Value {
        nullable(T::reference())
    }

    fn collect_inner(into: &mut BTreeMap<String, Value>) {
        T::collect(into);
    }
}

/// Returns a schema that also accepts null: its `type` becomes a list with `null` if it is one
/// string, else the schema becomes part of a `oneOf`.
fn nullable(schema: Value) -> Value {
    match schema {
        Value::Object(mut keywords) if keywords.get("type").is_some_and(Value::is_string) => {
            let ty = keywords["type"].take();
            keywords.insert("type".to_owned(), json!([ty, "null"]));
            Value::Object(keywords)
        }
        other => json!({"oneOf": [other, {"type": "null"}]}),
    }
}

/// A function that returns the schema of the component with the given name.
pub type Component = fn(&str) -> Value;

/// Returns the schema of the component `name` whose type is `T`: the [`Component`] of `T`. If `T`
/// has another name, the component is an alias, whose schema is a reference.
#[must_use]
pub fn component<T: Described>(name: &str) -> Value {
    if T::NAME == Some(name) {
        T::schema()
    } else {
        T::reference()
    }
}

/// Adds keywords to a schema. They replace keywords of the same name.
#[must_use]
pub fn with(schema: Value, keywords: &[(&str, Value)]) -> Value {
    let mut made = match schema {
        Value::Object(map) => map,
        _ => Map::new(),
    };
    for (name, value) in keywords {
        made.insert((*name).to_owned(), value.clone());
    }
    Value::Object(made)
}

/// Adds extensions (`x-…`) to a schema, given as a JSON object.
#[must_use]
pub fn with_extensions(schema: Value, extensions: &str) -> Value {
    let extensions: Map<String, Value> = serde_json::from_str(extensions).unwrap_or_default();
    let pairs: Vec<(&str, Value)> = extensions
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    with(schema, &pairs)
}

/// Returns the schema of a type for `schemars`, and registers the components that it refers to with
/// the generator.
#[cfg(feature = "schemars")]
pub fn schemars_schema<T: Described>(
    generator: &mut schemars::SchemaGenerator,
) -> schemars::Schema {
    let prefix = format!("#{}", generator.settings().definitions_path);
    let mut components = BTreeMap::new();
    T::collect(&mut components);
    for (name, schema) in components {
        // schemars registers the type itself.
        if T::NAME != Some(name.as_str()) {
            let schema = moved(schema, &prefix);
            generator.definitions_mut().entry(name).or_insert(schema);
        }
    }
    schemars::Schema::try_from(moved(T::schema(), &prefix)).unwrap_or_default()
}

/// A function that returns the JSON Schema of a type, with the schemas that it refers to under
/// `$defs`.
#[cfg(feature = "schemars")]
pub type JsonSchemaOf = fn() -> schemars::Schema;

/// Returns the JSON Schema of `T`: the [`JsonSchemaOf`] of `T`.
#[cfg(feature = "schemars")]
#[must_use]
pub fn json_schema<T: schemars::JsonSchema>() -> schemars::Schema {
    schemars::generate::SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
}

/// Returns a schema whose references to components point below `prefix` instead.
#[cfg(feature = "schemars")]
fn moved(schema: Value, prefix: &str) -> Value {
    match schema {
        Value::Object(map) => Value::Object(
            map.into_iter()
                .map(|(key, value)| {
                    if let ("$ref", Value::String(target)) = (key.as_str(), &value) {
                        let name = target.trim_start_matches(COMPONENTS);
                        let slash = if prefix.ends_with('/') { "" } else { "/" };
                        (key, Value::String(format!("{prefix}{slash}{name}")))
                    } else {
                        let value = moved(value, prefix);
                        (key, value)
                    }
                })
                .collect(),
        ),
        Value::Array(items) => items.into_iter().map(|item| moved(item, prefix)).collect(),
        other => other,
    }
}

/// Converts a schema to the model of `utoipa`.
///
/// Keywords that the model has no field for become its extensions, which it writes as they are, so
/// nothing is lost.
#[cfg(feature = "utoipa")]
#[must_use]
pub fn utoipa_schema(schema: Value) -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    use utoipa::openapi::schema::SchemaType;
    use utoipa::openapi::{Object, Ref, RefOr, Schema};
    let Value::Object(mut keywords) = schema else {
        // The model has no boolean schemas. `{}` and `{"not": {}}` mean the same as `true` and
        // `false`.
        let long = if schema == Value::Bool(false) {
            json!({"not": {}})
        } else {
            json!({})
        };
        return utoipa_schema(long);
    };
    // With other keywords beside it a reference stays in the extensions: `Ref` has no room for
    // them.
    if let (1, Some(Value::String(target))) = (keywords.len(), keywords.get("$ref")) {
        return RefOr::Ref(Ref::new(target.clone()));
    }
    let mut object = Object::default();
    object.schema_type = keywords
        .remove("type")
        .and_then(|ty| serde_json::from_value(ty).ok())
        .unwrap_or(SchemaType::AnyValue);
    if let Some(Value::Object(properties)) = keywords.remove("properties") {
        for (name, property) in properties {
            object.properties.insert(name, utoipa_schema(property));
        }
    }
    if let Some(Value::Array(required)) = keywords.remove("required") {
        object.required = required
            .iter()
            .filter_map(|name| name.as_str().map(str::to_owned))
            .collect();
    }
    let text = |keywords: &mut Map<String, Value>, name: &str| match keywords.remove(name) {
        Some(Value::String(text)) => Some(text),
        _ => None,
    };
    object.title = text(&mut keywords, "title");
    object.description = text(&mut keywords, "description");
    object.pattern = text(&mut keywords, "pattern");
    object.default = keywords.remove("default");
    if !keywords.is_empty() {
        object.extensions = Some(keywords.into_iter().collect());
    }
    RefOr::T(Schema::Object(object))
}

/// Adds the component of a type and every component that it refers to, in the model of `utoipa`.
#[cfg(feature = "utoipa")]
pub fn utoipa_schemas<T: Described>(
    schemas: &mut Vec<(String, utoipa::openapi::RefOr<utoipa::openapi::Schema>)>,
) {
    let mut components = BTreeMap::new();
    T::collect(&mut components);
    schemas.extend(
        components
            .into_iter()
            .map(|(name, schema)| (name, utoipa_schema(schema))),
    );
}
