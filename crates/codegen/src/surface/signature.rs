//! The type of a member, as text in which the items of generated crates are marked.

use std::fmt;

use crate::ir::{Api, TypeRef};
use crate::tokens::primitive_tokens;

/// The type of a member, or what a method takes and returns.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Signature {
    pieces: Vec<Piece>,
}

/// A part of a signature.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Piece {
    /// Text, such as `Option<`.
    Text(String),
    /// The path of an item of a generated crate.
    Item(String),
}

impl Signature {
    /// Returns the parts: text and items by turns.
    #[must_use]
    pub fn pieces(&self) -> &[Piece] {
        &self.pieces
    }

    /// Returns a signature of text alone.
    pub(crate) fn text(text: &str) -> Self {
        Self::default().then(text)
    }

    /// Returns the signature of an item.
    pub(crate) fn item(path: String) -> Self {
        Self {
            pieces: vec![Piece::Item(path)],
        }
    }

    /// Returns the signature of a type.
    pub(crate) fn of(api: &Api<'_>, ty: &TypeRef) -> Self {
        match ty {
            TypeRef::Named(id) => Self::item(format!(
                "{}::{}",
                api.names.krate("types"),
                api.type_def(*id).name
            )),
            TypeRef::Primitive(primitive) => Self::text(&primitive_tokens(*primitive).to_string()),
            TypeRef::Vec(items) => Self::of(api, items).within("Vec"),
            TypeRef::Map(values) => {
                let values = Self::of(api, values);
                Self::text("BTreeMap<String, ").and(values).then(">")
            }
            TypeRef::Nullable(inner) => Self::of(api, inner).within("Option"),
            TypeRef::Boxed(inner) => Self::of(api, inner).within("Box"),
            TypeRef::Any => Self::text("serde_json::Value"),
        }
    }

    /// Returns the signature as the argument of a generic type.
    pub(crate) fn within(self, generic: &str) -> Self {
        Self::text(generic).then("<").and(self).then(">")
    }

    /// Returns the signature, within `Option` if `is_optional`.
    pub(crate) fn optional(self, is_optional: bool) -> Self {
        if is_optional {
            self.within("Option")
        } else {
            self
        }
    }

    /// Returns the signature with text after it.
    pub(crate) fn then(mut self, text: &str) -> Self {
        match self.pieces.last_mut() {
            Some(Piece::Text(last)) => last.push_str(text),
            _ if text.is_empty() => {}
            _ => self.pieces.push(Piece::Text(text.to_owned())),
        }
        self
    }

    /// Returns the signature with another one after it.
    pub(crate) fn and(mut self, other: Self) -> Self {
        for piece in other.pieces {
            match piece {
                Piece::Text(text) => self = self.then(&text),
                item @ Piece::Item(_) => self.pieces.push(item),
            }
        }
        self
    }
}

impl fmt::Display for Signature {
    /// Writes the signature with the names of items, without their crates and modules.
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        for piece in &self.pieces {
            out.write_str(match piece {
                Piece::Text(text) => text,
                Piece::Item(path) => path.rsplit("::").next().unwrap_or(path),
            })?;
        }
        Ok(())
    }
}
