//! What the standard allows at a place of a document, for editors that complete what is typed.
//!
//! Start at [`Place::document`], and go down with [`Place::entry`] and [`Place::item`].

use crate::model::Dialect;
use crate::syntax::{CALLBACK_GRAMMAR, CALLBACK_ITEM, DOCUMENT, Need, SCHEMA, Shape};

/// A place of a document: what the standard allows there.
#[derive(Debug, Clone, Copy)]
pub struct Place(Shape);

/// A field that an object may have.
#[derive(Debug, Clone, Copy)]
pub struct PlaceField {
    /// The name.
    pub name: &'static str,
    /// What its value may be.
    pub place: Place,
    /// Whether the standard requires the field in some version.
    pub is_needed: bool,
}

/// The form of the values at a place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Form {
    /// Any value.
    Any,
    /// A string.
    Text,
    /// A boolean.
    Flag,
    /// A number.
    Number,
    /// The types of a schema: a string, or since 3.1 an array of them.
    Types,
    /// An array.
    List,
    /// An object with keys that the author chooses.
    Map,
    /// An object with the fields of the standard.
    Object,
}

impl Place {
    /// Returns the place of a whole document.
    #[must_use]
    pub fn document() -> Self {
        Self(Shape::Object(&DOCUMENT))
    }

    /// Returns the place of a schema.
    #[must_use]
    pub fn schema() -> Self {
        Self(Shape::Schema)
    }

    /// Returns the place of the value of a key, or `None` if the standard says nothing about it.
    #[must_use]
    pub fn entry(self, key: &str, dialect: Dialect) -> Option<Self> {
        let grammar = match self.0 {
            Shape::Map(inner) => return Some(Self(*inner)),
            Shape::ExtensibleMap(inner) => return (!key.starts_with("x-")).then_some(Self(*inner)),
            // The keys of a callback are expressions, which no table can list.
            Shape::Object(grammar) if std::ptr::eq(grammar, &raw const CALLBACK_GRAMMAR) => {
                let is_item = key != "$ref" && !key.starts_with("x-");
                return is_item.then_some(Self(CALLBACK_ITEM));
            }
            Shape::Object(grammar) => grammar,
            Shape::Schema => &SCHEMA,
            _ => return None,
        };
        let field = grammar.field(key).filter(|field| field.is_in(dialect))?;
        Some(Self(field.shape))
    }

    /// Returns the place of the items of an array, or `None` if there is no array here.
    #[must_use]
    pub fn item(self) -> Option<Self> {
        match self.0 {
            Shape::List(inner) => Some(Self(*inner)),
            Shape::Type => Some(self),
            Shape::Values => Some(Self(Shape::Any)),
            _ => None,
        }
    }

    /// Returns the fields of an object, in the order in which people look for them. Other places
    /// have none.
    #[must_use]
    pub fn fields(self, dialect: Dialect) -> Vec<PlaceField> {
        let grammar = match self.0 {
            Shape::Object(grammar) => grammar,
            Shape::Schema => &SCHEMA,
            _ => return Vec::new(),
        };
        let fields = grammar.fields.iter().filter(|field| field.is_in(dialect));
        fields
            .map(|field| PlaceField {
                name: field.name,
                place: Self(field.shape),
                is_needed: field.need != Need::Optional,
            })
            .collect()
    }

    /// Returns the form of the values here.
    #[must_use]
    pub fn form(self) -> Form {
        match self.0 {
            Shape::Any | Shape::Exclusive => Form::Any,
            Shape::Text => Form::Text,
            Shape::Flag => Form::Flag,
            Shape::Number | Shape::Count => Form::Number,
            Shape::Type => Form::Types,
            Shape::List(_) | Shape::Values => Form::List,
            Shape::Map(_) | Shape::ExtensibleMap(_) => Form::Map,
            Shape::Object(_) | Shape::Schema => Form::Object,
        }
    }

    /// Returns the name of the objects here, with its article, such as `a parameter`.
    #[must_use]
    pub fn name(self) -> Option<&'static str> {
        match self.0 {
            Shape::Object(grammar) => Some(grammar.name),
            Shape::Schema => Some(SCHEMA.name),
            _ => None,
        }
    }

    /// Returns whether a reference may replace the object here.
    #[must_use]
    pub fn is_referable(self, dialect: Dialect) -> bool {
        match self.0 {
            Shape::Object(grammar) => grammar.is_referable(dialect),
            Shape::Schema => true,
            _ => false,
        }
    }

    /// Returns the section of `components` for the objects here, if there is one.
    #[must_use]
    pub fn section(self) -> Option<&'static str> {
        match self.0 {
            Shape::Object(grammar) if grammar.name == "a path item" => Some("pathItems"),
            Shape::Object(grammar) => grammar.section(),
            Shape::Schema => Some("schemas"),
            _ => None,
        }
    }
}
