//! The schemas of the values that operations describe, for the re-derived OpenAPI document.

use serde_json::{Value, json};

use super::absent::decode_absent;
use crate::{Described, Wire};

/// The function that returns the schema of a described value.
///
/// Any two are equal, so that the comparison of two descriptions ignores them.
#[derive(Clone, Copy)]
pub(super) struct SchemaSource(fn() -> ValueSchema);

/// The schema of a described value.
pub(super) struct ValueSchema {
    pub(super) schema: Value,
    /// Whether the value may be absent.
    pub(super) is_optional: bool,
    /// The default that the type's own schema has.
    pub(super) default: Option<Value>,
}

impl SchemaSource {
    /// The source of the schema of bytes, which accepts everything.
    pub(super) const UNKNOWN: Self = Self(|| ValueSchema {
        schema: json!({}),
        is_optional: false,
        default: None,
    });

    /// Creates the source of the schema of a field's type. For an `Option`, which may be absent, it
    /// is the schema of the type inside.
    pub(super) const fn field<T: Described + Wire>() -> Self {
        Self(|| {
            let is_optional = decode_absent::<T>().is_some();
            let schema = T::reference();
            ValueSchema {
                schema: if is_optional {
                    without_null(schema)
                } else {
                    schema
                },
                is_optional,
                default: T::schema().get("default").cloned(),
            }
        })
    }

    /// Creates the source of the schema of a body's type.
    pub(super) const fn body<T: Described>() -> Self {
        Self(|| ValueSchema {
            schema: T::reference(),
            is_optional: false,
            default: None,
        })
    }

    /// Returns the schema.
    pub(super) fn schema(self) -> ValueSchema {
        (self.0)()
    }
}

impl PartialEq for SchemaSource {
    fn eq(&self, _: &Self) -> bool {
        true
    }
}

impl Eq for SchemaSource {}

impl std::fmt::Debug for SchemaSource {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("SchemaSource")
    }
}

/// Returns the schema of `T` from that of `Option<T>`.
fn without_null(schema: Value) -> Value {
    let Value::Object(mut schema) = schema else {
        return schema;
    };
    // `Option<T>` accepts null by a `oneOf`, or by the `type` below.
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
