//! Values as generated types decode them: a type of the IR in place of a type of Rust, with the
//! checks and messages of the run time.

mod number;
mod object;
mod visit;

use std::future::Future;

use api_runtime::__private::{
    Items, NONE_MATCHES, SEVERAL_MATCH, Text, constraint_check, entries, json_eq, optional_tag,
    tag, unknown_tag,
};
use api_runtime::{ConstraintError, Pattern, Schemas, Wire, format};
use codegen::ir::{
    Api, Enumeration, Primitive, Scalar, Selection, Trial, TypeDef, TypeId, TypeKind, TypeRef,
    Union, Variant,
};
use contract::model::SchemaKind;
use serde::de::{DeserializeSeed, Deserializer, Error};
use serde::{Deserialize, Serialize, Serializer};
use serde_json::Value;

use visit::{Entries, List, Nullable};

/// The types of a contract, with what their checks need.
pub(crate) struct Types {
    pub(crate) api: &'static Api<'static>,
    pub(crate) schemas: &'static Schemas,
    /// The pattern of each type that has one.
    patterns: Vec<Option<&'static Pattern>>,
    /// The listed values of each enumeration, as messages show them.
    listed: Vec<&'static [&'static str]>,
}

/// The form that a value is decoded in.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// A type.
    Type(&'static TypeRef),
    /// A type, or nothing.
    Optional(&'static TypeRef),
    /// What the compiled schema at the pointer accepts, or nothing if the flag is set.
    Compiled(&'static str, bool),
}

impl Shape {
    /// Returns the form of a type, which may be absent if `is_optional`.
    pub(crate) fn of(ty: &'static TypeRef, is_optional: bool) -> Self {
        if is_optional {
            Self::Optional(ty)
        } else {
            Self::Type(ty)
        }
    }
}

/// A form together with the types that it refers to.
#[derive(Clone, Copy)]
pub(crate) struct Expected {
    pub(crate) types: &'static Types,
    pub(crate) shape: Shape,
}

tokio::task_local! {
    /// The form that a [`Decoded`] is decoded in: the run time decodes by the type alone.
    static EXPECTED: Expected;
}

impl Expected {
    /// Runs a function in which a [`Decoded`] has this form.
    pub(crate) fn sync_scope<R>(self, run: impl FnOnce() -> R) -> R {
        EXPECTED.sync_scope(self, run)
    }

    /// Runs a future in which a [`Decoded`] has this form.
    pub(crate) async fn scope<F: Future>(self, run: F) -> F::Output {
        EXPECTED.scope(self, run).await
    }

    fn with(self, ty: &'static TypeRef) -> Self {
        Self {
            shape: Shape::Type(ty),
            ..self
        }
    }
}

/// A value that was decoded in the form that [`Expected`] says.
pub(crate) struct Decoded(Value);

impl<'de> Deserialize<'de> for Decoded {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let expected = EXPECTED
            .try_with(|expected| *expected)
            .map_err(|_| D::Error::custom("has no expected form"))?;
        expected.deserialize(deserializer).map(Self)
    }
}

impl Decoded {
    /// Returns the value.
    pub(crate) fn into_value(self) -> Value {
        self.0
    }
}

impl Serialize for Decoded {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        self.0.serialize(serializer)
    }
}

impl Wire for Decoded {}

impl<'de> DeserializeSeed<'de> for Expected {
    type Value = Value;

    fn deserialize<D: Deserializer<'de>>(self, deserializer: D) -> Result<Value, D::Error> {
        match self.shape {
            Shape::Type(ty) => self.typed(ty, deserializer),
            Shape::Optional(ty) => deserializer.deserialize_option(Nullable(self.with(ty))),
            Shape::Compiled(pointer, true) => {
                let inner = Self {
                    shape: Shape::Compiled(pointer, false),
                    ..self
                };
                deserializer.deserialize_option(Nullable(inner))
            }
            Shape::Compiled(pointer, false) => {
                let value = Value::decode(deserializer)?;
                // The reasons are the run time's to find, which asks the same schema again.
                if self.types.schemas.accepts(pointer, &value) {
                    Ok(value)
                } else {
                    Err(D::Error::custom("does not match its schema"))
                }
            }
        }
    }
}

impl Types {
    /// Prepares the types of a contract.
    pub(crate) fn new(api: &'static Api<'static>, schemas: &'static Schemas) -> Self {
        // Leaked, like the whole description of the contract, since the run time takes what
        // generated crates have as constants.
        let pattern = |def: &'static TypeDef| match &def.kind {
            TypeKind::Scalar(scalar) => scalar
                .pattern
                .as_deref()
                .map(|source| &*Box::leak(Box::new(Pattern::new(source)))),
            _ => None,
        };
        let listed = |def: &'static TypeDef| -> &'static [&'static str] {
            let TypeKind::Enumeration(enumeration) = &def.kind else {
                return &[];
            };
            let values = enumeration.variants.iter().map(|(_, value)| match value {
                Value::String(text) if enumeration.strings => text.as_str(),
                other => other.to_string().leak(),
            });
            Vec::leak(values.collect())
        };
        Self {
            api,
            schemas,
            patterns: api.types.iter().map(pattern).collect(),
            listed: api.types.iter().map(listed).collect(),
        }
    }
}

impl Expected {
    fn typed<'de, D: Deserializer<'de>>(
        self,
        ty: &'static TypeRef,
        deserializer: D,
    ) -> Result<Value, D::Error> {
        match ty {
            TypeRef::Any => Value::decode(deserializer),
            TypeRef::Boxed(inner) => self.typed(inner, deserializer),
            TypeRef::Nullable(inner) => deserializer.deserialize_option(Nullable(self.with(inner))),
            TypeRef::Vec(inner) => deserializer.deserialize_seq(List(self.with(inner))),
            TypeRef::Map(inner) => deserializer.deserialize_map(Entries(self.with(inner))),
            TypeRef::Primitive(primitive) => number::primitive(*primitive, deserializer),
            TypeRef::Named(id) => self.named(*id, deserializer),
        }
    }

    fn named<'de, D: Deserializer<'de>>(
        self,
        id: TypeId,
        deserializer: D,
    ) -> Result<Value, D::Error> {
        let def = self.types.api.type_def(id);
        match &def.kind {
            TypeKind::Alias(target) => self.typed(target, deserializer),
            TypeKind::Object(object) => match &object.check {
                Some(check) => {
                    let value = Value::decode(deserializer)?;
                    self.check(Some(check), &value)?;
                    object::read(self, object, value).map_err(D::Error::custom)
                }
                None => object::read(self, object, deserializer),
            },
            TypeKind::Scalar(scalar) => self.scalar(id, def, scalar, deserializer),
            TypeKind::Array(array) => {
                let made = self.typed_vec(&array.items, deserializer)?;
                let bounds = Items {
                    min: array.min_items.map(size),
                    max: array.max_items.map(size),
                    unique: array.unique_items,
                };
                bounds.check(&made).map_err(D::Error::custom)?;
                let made = Value::Array(made);
                self.check(array.check.as_deref(), &made)?;
                Ok(made)
            }
            TypeKind::Map(map) => {
                let made = deserializer.deserialize_map(Entries(self.with(&map.values)))?;
                let count = made.as_object().map_or(0, serde_json::Map::len);
                entries(
                    count,
                    map.min_properties.map(size),
                    map.max_properties.map(size),
                )
                .map_err(D::Error::custom)?;
                self.check(map.check.as_deref(), &made)?;
                Ok(made)
            }
            TypeKind::Enumeration(listed) => self.listed(id, listed, deserializer),
            TypeKind::Union(union) => {
                let value = Value::decode(deserializer)?;
                self.check(union.check.as_deref(), &value)?;
                self.union(union, value)
            }
            TypeKind::Json { check } => {
                let value = Value::decode(deserializer)?;
                self.check(check.as_deref(), &value)?;
                Ok(value)
            }
        }
    }

    fn typed_vec<'de, D: Deserializer<'de>>(
        self,
        items: &'static TypeRef,
        deserializer: D,
    ) -> Result<Vec<Value>, D::Error> {
        match deserializer.deserialize_seq(List(self.with(items)))? {
            Value::Array(made) => Ok(made),
            // Never: `List` makes arrays alone.
            other => Ok(vec![other]),
        }
    }

    /// Checks a value against the compiled schema of its type, if the type has one.
    fn check<E: Error>(self, check: Option<&str>, value: &Value) -> Result<(), E> {
        match check {
            Some(pointer) => {
                constraint_check(self.types.schemas, pointer, value).map_err(E::custom)
            }
            None => Ok(()),
        }
    }

    fn scalar<'de, D: Deserializer<'de>>(
        self,
        id: TypeId,
        def: &'static TypeDef,
        scalar: &'static Scalar,
        deserializer: D,
    ) -> Result<Value, D::Error> {
        if scalar.inner != Primitive::String {
            let made = number::scalar(scalar, deserializer)?;
            self.check(scalar.check.as_deref(), &made)?;
            return Ok(made);
        }
        let text = String::decode(deserializer)?;
        let description = match &self.types.api.contract.schema(def.schema).kind {
            SchemaKind::Object(keywords) => keywords.description.as_deref(),
            SchemaKind::Bool(_) => None,
        };
        let rules = Text {
            schema: def.component.as_deref(),
            // Messages say it in place of a pattern only.
            description: description.filter(|_| scalar.pattern.is_some()),
            min_length: scalar.min_length.map(size),
            max_length: scalar.max_length.map(size),
            pattern: self.types.patterns.get(id.0).copied().flatten(),
            format: scalar.format.as_deref().and_then(enforced),
        };
        rules.check(&text).map_err(D::Error::custom)?;
        let made = Value::String(text);
        self.check(scalar.check.as_deref(), &made)?;
        Ok(made)
    }

    fn listed<'de, D: Deserializer<'de>>(
        self,
        id: TypeId,
        enumeration: &'static Enumeration,
        deserializer: D,
    ) -> Result<Value, D::Error> {
        // As generated types, which refuse what is no string before they look at the values.
        let value = if enumeration.strings {
            Value::String(String::decode(deserializer)?)
        } else {
            Value::decode(deserializer)?
        };
        let mut values = enumeration.variants.iter().map(|(_, value)| value);
        if values.any(|listed| json_eq(listed, &value)) {
            return Ok(value);
        }
        let listed = self.types.listed.get(id.0).copied().unwrap_or_default();
        Err(D::Error::custom(ConstraintError::Enum(listed)))
    }

    fn union<E: Error>(self, union: &'static Union, value: Value) -> Result<Value, E> {
        let property = match &union.selection {
            Selection::Trial(trial) => return self.tried(union, *trial, value),
            Selection::OptionalTag(property, trial) if optional_tag(&value, property).is_none() => {
                return self.tried(union, *trial, value);
            }
            Selection::OptionalTag(property, _) | Selection::Tag(property) => property,
        };
        let default = union.variants.iter().find(|variant| variant.is_default);
        // A variant that is the default also takes values without the property.
        let written = if default.is_some() {
            optional_tag(&value, property)
        } else {
            Some(tag(&value, property)?.to_owned())
        };
        let tagged = union.variants.iter().find(|variant| {
            written
                .as_ref()
                .is_some_and(|tag| variant.tags.contains(tag))
        });
        if let Some(variant) = tagged.or(default) {
            return self.typed(&variant.ty, value).map_err(E::custom);
        }
        let known: Vec<&str> = union
            .variants
            .iter()
            .flat_map(|variant| variant.tags.iter().map(String::as_str))
            .collect();
        Err(unknown_tag(property, &known))
    }

    /// Returns a value of a union whose variants are tried.
    fn tried<E: Error>(
        self,
        union: &'static Union,
        trial: Trial,
        value: Value,
    ) -> Result<Value, E> {
        let fits = |variant: &&'static Variant| self.typed(&variant.ty, value.clone()).is_ok();
        let fitting = union.variants.iter().filter(fits);
        // Two are enough to refuse a `oneOf`, and one to accept an `anyOf`.
        let most = match trial {
            Trial::OneOf => 2,
            Trial::AnyOf => 1,
        };
        match fitting.take(most).count() {
            0 => Err(E::custom(NONE_MATCHES)),
            1 => Ok(value),
            _ => Err(E::custom(SEVERAL_MATCH)),
        }
    }
}

/// Returns a count of the contract as a size; one that no memory can hold is the largest.
pub(crate) fn size(count: u64) -> usize {
    usize::try_from(count).unwrap_or(usize::MAX)
}

/// Returns a format that generated types check, with the function that checks it.
fn enforced(name: &'static str) -> Option<(&'static str, fn(&str) -> bool)> {
    let check: fn(&str) -> bool = match name {
        "date-time" => format::date_time,
        "date" => format::date,
        "time" => format::time,
        "duration" => format::duration,
        "email" => format::email,
        "idn-email" => format::idn_email,
        "hostname" => format::hostname,
        "idn-hostname" => format::idn_hostname,
        "ipv4" => format::ipv4,
        "ipv6" => format::ipv6,
        "uri" => format::uri,
        "uri-reference" => format::uri_reference,
        "uri-template" => format::uri_template,
        "iri" => format::iri,
        "iri-reference" => format::iri_reference,
        "uuid" => format::uuid,
        "json-pointer" => format::json_pointer,
        "relative-json-pointer" => format::relative_json_pointer,
        "regex" => format::regex,
        "byte" => format::byte,
        _ => return None,
    };
    Some((name, check))
}
