//! The JSON Schema of a type, told by the type itself: what the closed loop compares with the contract.

use std::collections::BTreeMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use serde_json::{Map, Value, json};

/// Where component schemas live in an OpenAPI document.
const COMPONENTS: &str = "#/components/schemas/";

/// A type that knows its schema.
pub trait Described {
    /// Its name among the contract's components; none for an inline schema.
    const NAME: Option<&'static str> = None;

    /// Its schema in full; other components stand as references.
    fn schema() -> Value;

    /// Its reference, or the schema itself where it has no name.
    #[must_use]
    fn reference() -> Value {
        match Self::NAME {
            Some(name) => json!({"$ref": format!("{COMPONENTS}{name}")}),
            None => Self::schema(),
        }
    }

    /// Adds it and every component that it mentions.
    fn collect(into: &mut BTreeMap<String, Value>) {
        if let Some(name) = Self::NAME {
            if into.contains_key(name) {
                return;
            }
            into.insert(name.to_owned(), Self::schema());
        }
        Self::collect_inner(into);
    }

    /// Adds the components that it mentions.
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

/// The schema with null: in the list of types where there is one, else as an alternative.
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

/// Makes the schema of the component with this name.
pub type Component = fn(&str) -> Value;

/// The [`Component`] of a type; a type of another name is an alias, whose schema is a reference.
#[must_use]
pub fn component<T: Described>(name: &str) -> Value {
    if T::NAME == Some(name) {
        T::schema()
    } else {
        T::reference()
    }
}

/// A schema with more keywords; those that are already there stay.
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

/// Writes extensions (`x-…`), given as a JSON object, into a schema.
#[must_use]
pub fn with_extensions(schema: Value, extensions: &str) -> Value {
    let extensions: Map<String, Value> = serde_json::from_str(extensions).unwrap_or_default();
    let pairs: Vec<(&str, Value)> = extensions
        .iter()
        .map(|(name, value)| (name.as_str(), value.clone()))
        .collect();
    with(schema, &pairs)
}

/// A type as `schemars` has it: everything it mentions is registered with the generator.
#[cfg(feature = "schemars")]
pub fn schemars_schema<T: Described>(
    generator: &mut schemars::SchemaGenerator,
) -> schemars::Schema {
    let prefix = format!("#{}", generator.settings().definitions_path);
    let mut components = BTreeMap::new();
    T::collect(&mut components);
    for (name, schema) in components {
        if T::NAME != Some(name.as_str()) {
            let schema = moved(schema, &prefix);
            generator.definitions_mut().entry(name).or_insert(schema);
        }
    }
    schemars::Schema::try_from(moved(T::schema(), &prefix)).unwrap_or_default()
}

/// Makes the JSON Schema of a type, everything it mentions under `$defs`.
#[cfg(feature = "schemars")]
pub type JsonSchemaOf = fn() -> schemars::Schema;

/// The [`JsonSchemaOf`] of a type.
#[cfg(feature = "schemars")]
#[must_use]
pub fn json_schema<T: schemars::JsonSchema>() -> schemars::Schema {
    schemars::generate::SchemaSettings::draft2020_12()
        .into_generator()
        .into_root_schema_for::<T>()
}

/// The schema with its references pointing below another place.
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

/// A schema as `utoipa` has it. What its own fields cannot say goes along as it is, so nothing is lost.
#[cfg(feature = "utoipa")]
#[must_use]
pub fn utoipa_schema(schema: Value) -> utoipa::openapi::RefOr<utoipa::openapi::Schema> {
    use utoipa::openapi::schema::SchemaType;
    use utoipa::openapi::{Object, Ref, RefOr, Schema};
    let Value::Object(mut keywords) = schema else {
        // `true` and `false` have no place in utoipa's model but their long forms mean the same.
        let long = if schema == Value::Bool(false) {
            json!({"not": {}})
        } else {
            json!({})
        };
        return utoipa_schema(long);
    };
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

/// Adds every component that a type mentions, as `utoipa` has them.
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
