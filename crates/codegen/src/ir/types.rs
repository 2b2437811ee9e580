//! What an item of the types crate is, and how fields and parameters refer to one.

use std::collections::BTreeSet;

use contract::model::SchemaId;

use super::{Additional, Array, Enumeration, Map, Object, Scalar, Union};

/// An index into [`Api::types`](super::Api::types).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub usize);

/// One item of the types crate.
#[derive(Debug, Clone)]
pub struct TypeDef {
    /// The Rust name, in `PascalCase`, unique in the crate.
    pub name: String,
    /// The schema that the item was made from.
    pub schema: SchemaId,
    /// The name of the schema's component, if it is one.
    pub component: Option<String>,
    /// The tags whose operations reach the item.
    ///
    /// An item of one tag is in that tag's module, behind its feature; any other is in the module
    /// `shared`.
    pub tags: BTreeSet<usize>,
    /// Whether the item is part of a parameter or body of some request.
    pub in_request: bool,
    /// Whether the item is part of a header or body of some response.
    pub in_response: bool,
    /// The form of the item.
    pub kind: TypeKind,
}

/// The forms that an item can have.
#[derive(Debug, Clone)]
pub enum TypeKind {
    /// `pub type A = B;`, for a component that is only a reference.
    Alias(TypeRef),
    /// A struct with named fields.
    Object(Object),
    /// A newtype over a string or number.
    Scalar(Scalar),
    /// A newtype over a list.
    Array(Array),
    /// A newtype over a map.
    Map(Map),
    /// A fixed set of values.
    Enumeration(Enumeration),
    /// An enum with a variant for each of several types.
    Union(Union),
    /// A newtype over any JSON value, checked by the compiled schema if there is one.
    Json {
        /// The pointer of the compiled schema in the schema bundle.
        check: Option<String>,
    },
}

/// The type of a field, parameter or body.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TypeRef {
    /// An item of the types crate.
    Named(TypeId),
    /// A type of the standard library.
    Primitive(Primitive),
    /// `Vec<T>`
    Vec(Box<TypeRef>),
    /// `BTreeMap<String, T>`
    Map(Box<TypeRef>),
    /// `Option<T>`, where `None` is null
    Nullable(Box<TypeRef>),
    /// `Box<T>`, where a type would otherwise hold itself
    Boxed(Box<TypeRef>),
    /// `serde_json::Value`
    Any,
}

/// The types of the standard library that represent schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "the variants are Rust's names")]
pub enum Primitive {
    Bool,
    I8,
    I16,
    I32,
    I64,
    U8,
    U16,
    U32,
    U64,
    F32,
    F64,
    String,
    Ipv4Addr,
    Ipv6Addr,
}

impl TypeDef {
    /// Returns the constraints of a string that is an alias of the run time's `Text`: an inline
    /// schema without secrets. Returns `None` for an item with impls of its own.
    ///
    /// A contract may have thousands of such strings, whose names are made up. A type with impls of
    /// its own for each would take most of the compiler's time.
    pub(crate) fn as_text(&self) -> Option<&Scalar> {
        match &self.kind {
            TypeKind::Scalar(scalar) => Some(scalar).filter(|scalar| {
                self.component.is_none()
                    && scalar.inner == Primitive::String
                    && scalar.is_constrained()
                    && !scalar.secret
            }),
            _ => None,
        }
    }
}

impl TypeKind {
    /// Returns whether the name of a field or variant holds a character outside ASCII.
    pub(super) fn has_non_ascii_names(&self) -> bool {
        match self {
            Self::Object(object) => object.fields.iter().any(|field| !field.name.is_ascii()),
            Self::Enumeration(values) => values.variants.iter().any(|(name, _)| !name.is_ascii()),
            Self::Union(union) => union
                .variants
                .iter()
                .any(|variant| !variant.name.is_ascii()),
            Self::Alias(_)
            | Self::Scalar(_)
            | Self::Array(_)
            | Self::Map(_)
            | Self::Json { .. } => false,
        }
    }

    /// Returns the items that this item refers to.
    #[must_use]
    pub fn mentions(&self) -> Vec<TypeId> {
        let mut ids = Vec::new();
        match self {
            Self::Alias(ty) => ty.collect_mentions(&mut ids),
            Self::Object(object) => {
                for field in &object.fields {
                    field.ty.collect_mentions(&mut ids);
                }
                if let Additional::Kept { ty, .. } = &object.additional {
                    ty.collect_mentions(&mut ids);
                }
            }
            Self::Array(array) => array.items.collect_mentions(&mut ids),
            Self::Map(map) => map.values.collect_mentions(&mut ids),
            Self::Union(union) => {
                for variant in &union.variants {
                    variant.ty.collect_mentions(&mut ids);
                }
            }
            Self::Scalar(_) | Self::Enumeration(_) | Self::Json { .. } => {}
        }
        ids
    }
}

impl TypeRef {
    /// Returns whether the type refers to an item.
    pub(crate) fn mentions(&self, id: TypeId) -> bool {
        let mut ids = Vec::new();
        self.collect_mentions(&mut ids);
        ids.contains(&id)
    }

    /// Adds the items that the type refers to.
    pub(crate) fn collect_mentions(&self, ids: &mut Vec<TypeId>) {
        match self {
            Self::Named(id) => ids.push(*id),
            Self::Vec(inner) | Self::Map(inner) | Self::Nullable(inner) | Self::Boxed(inner) => {
                inner.collect_mentions(ids);
            }
            Self::Primitive(_) | Self::Any => {}
        }
    }
}
