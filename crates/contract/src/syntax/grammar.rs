//! The fields of every object of the standard, as tables: this file has the types of the tables,
//! and the files of this module have the tables.
//!
//! The tables are written by hand rather than derived from the JSON Schemas that the OpenAPI
//! Initiative publishes: those cannot say what a misspelt field was meant to be, nor whether a
//! missing one prevents generation.

mod document;
mod schema;

pub(super) use document::SECURITY_SCHEME;
pub(crate) use document::{CALLBACK_GRAMMAR, CALLBACK_ITEM, COMPONENTS, DOCUMENT};
pub(crate) use schema::SCHEMA;
pub(super) use schema::{OLD_KEYWORDS, TYPES};

use crate::model::Dialect;
use crate::node::{Node, NodeValue};

/// The values that a field may have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Any value.
    Any,
    /// A string.
    Text,
    /// A boolean.
    Flag,
    /// A number.
    Number,
    /// An integer from 0.
    Count,
    /// An array with items of this shape.
    List(&'static Shape),
    /// An object with keys that the author chooses, and values of this shape.
    Map(&'static Shape),
    /// An object with keys that the author chooses, and values of this shape, except for extensions
    /// (`x-…`), whose values are not checked.
    ExtensibleMap(&'static Shape),
    /// An object of the standard, with these fields.
    Object(&'static Grammar),
    /// A schema.
    Schema,
    /// A schema's `type`.
    Type,
    /// A schema's `exclusiveMinimum` or `exclusiveMaximum`: a boolean in 3.0, a number in 3.1.
    Exclusive,
    /// A schema's `examples`: an array in 3.1.
    Values,
}

impl Shape {
    /// Returns whether a value is of the JSON type that this shape asks for. What is inside it may still
    /// be wrong.
    pub(super) fn fits(self, node: &Node) -> bool {
        match (self, &node.value) {
            (Self::Any, _)
            | (Self::Text, NodeValue::String(_))
            | (Self::Flag | Self::Schema, NodeValue::Bool(_))
            | (Self::Number | Self::Count, NodeValue::Number(_))
            | (Self::List(_), NodeValue::Array(_))
            | (
                Self::Map(_) | Self::ExtensibleMap(_) | Self::Object(_) | Self::Schema,
                NodeValue::Object(_),
            ) => true,
            // Only schemas have fields of the last three shapes.
            (
                Self::Text
                | Self::Flag
                | Self::Number
                | Self::Count
                | Self::List(_)
                | Self::Map(_)
                | Self::ExtensibleMap(_)
                | Self::Object(_)
                | Self::Schema
                | Self::Type
                | Self::Exclusive
                | Self::Values,
                _,
            ) => false,
        }
    }
}

/// A kind of object in the standard: its name and its fields.
#[derive(Debug)]
pub(crate) struct Grammar {
    /// The name with its article, such as `a parameter`, for messages.
    pub(crate) name: &'static str,
    /// The fields.
    pub(crate) fields: &'static [Field],
    /// The first dialect in which a reference may replace the object, or `None` if it never may.
    pub(crate) referable: Option<Dialect>,
}

/// A field of an object.
#[derive(Debug)]
pub(crate) struct Field {
    /// The name.
    pub(crate) name: &'static str,
    /// The values that it may have.
    pub(crate) shape: Shape,
    /// The first dialect that has the field.
    pub(crate) first: Dialect,
    /// The last dialect that has the field.
    pub(crate) last: Dialect,
    /// The effect of a missing field.
    pub(crate) need: Need,
}

/// The effect of a missing field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// None: the field is optional.
    Optional,
    /// An error: the standard requires the field, and nothing can be generated without it.
    Essential,
    /// A warning: the standard requires the field, but generating does not.
    Expected,
    /// An error as of [`Essential`](Self::Essential), in 3.0 only.
    Essential30,
    /// A warning as of [`Expected`](Self::Expected), in 3.0 only.
    Expected30,
    /// A warning as of [`Expected`](Self::Expected), before 3.2 only.
    Expected31,
}

impl Need {
    /// Returns whether nothing can be generated without the field, or `None` if the dialect does not
    /// require it.
    pub(super) fn is_essential(self, dialect: Dialect) -> Option<bool> {
        let is_30 = dialect == Dialect::V30;
        match self {
            Self::Essential => Some(true),
            Self::Expected => Some(false),
            Self::Essential30 => is_30.then_some(true),
            Self::Expected30 => is_30.then_some(false),
            Self::Expected31 => (dialect < Dialect::V32).then_some(false),
            Self::Optional => None,
        }
    }
}

impl Field {
    /// Returns whether a dialect has the field.
    pub(crate) fn is_in(&self, dialect: Dialect) -> bool {
        (self.first..=self.last).contains(&dialect)
    }

    /// Returns whether the field holds schemas.
    pub(crate) fn holds_schemas(&self) -> bool {
        matches!(
            self.shape,
            Shape::Schema | Shape::List(Shape::Schema) | Shape::Map(Shape::Schema)
        )
    }
}

impl Grammar {
    /// Returns whether a dialect lets a reference replace the object.
    pub(crate) fn is_referable(&self, dialect: Dialect) -> bool {
        self.referable.is_some_and(|first| first <= dialect)
    }

    /// Returns the section of `components` for such objects, if every dialect that lets references
    /// replace them has one.
    pub(crate) fn section(&self) -> Option<&'static str> {
        Some(match self.name {
            "a parameter" => "parameters",
            "a header" => "headers",
            "a request body" => "requestBodies",
            "a response" => "responses",
            "an example" => "examples",
            "a link" => "links",
            "a callback" => "callbacks",
            "a security scheme" => "securitySchemes",
            "a media type" => "mediaTypes",
            _ => return None,
        })
    }

    /// Returns the field with a name.
    pub(crate) fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == key)
    }
}

const fn may(name: &'static str, shape: Shape) -> Field {
    must(name, shape, Need::Optional)
}

const fn must(name: &'static str, shape: Shape, need: Need) -> Field {
    Field {
        name,
        shape,
        first: Dialect::V30,
        last: Dialect::V32,
        need,
    }
}

const fn v30(name: &'static str, shape: Shape) -> Field {
    Field {
        last: Dialect::V30,
        ..may(name, shape)
    }
}

/// Returns a field that documents have since 3.1.
const fn v31(name: &'static str, shape: Shape) -> Field {
    Field {
        first: Dialect::V31,
        ..may(name, shape)
    }
}

/// Returns a field that documents have since 3.2.
const fn v32(name: &'static str, shape: Shape) -> Field {
    Field {
        first: Dialect::V32,
        ..may(name, shape)
    }
}

const fn plain(name: &'static str, fields: &'static [Field]) -> Grammar {
    Grammar {
        name,
        fields,
        referable: None,
    }
}

const fn referable(name: &'static str, fields: &'static [Field]) -> Grammar {
    referable_since(Dialect::V30, name, fields)
}

const fn referable_since(first: Dialect, name: &'static str, fields: &'static [Field]) -> Grammar {
    Grammar {
        name,
        fields,
        referable: Some(first),
    }
}
