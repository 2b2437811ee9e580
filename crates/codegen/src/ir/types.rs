//! The items of the types crate, and the types by which fields and parameters name them.

use std::collections::BTreeSet;

use contract::model::SchemaId;

use super::{Additional, Array, Enumeration, Map, Object, Scalar, Union};

/// Index into [`Api::types`](super::Api::types).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TypeId(pub usize);

/// One item of the types crate.
#[derive(Debug, Clone)]
pub struct TypeDef {
    /// Rust name, `PascalCase`, unique in the crate.
    pub name: String,
    /// The schema it says.
    pub schema: SchemaId,
    /// Component name, if it is one.
    pub component: Option<String>,
    /// The tags whose operations reach it. One tag: it lives in that tag's module, behind its feature.
    /// None or several: it lives in `shared`.
    pub tags: BTreeSet<usize>,
    /// A request carries it (parameters and bodies).
    pub in_request: bool,
    /// A response carries it.
    pub in_response: bool,
    /// What it is.
    pub kind: TypeKind,
}

/// The forms of item.
#[derive(Debug, Clone)]
pub enum TypeKind {
    /// `pub type A = B;` for a component that only refers.
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
    /// One of several types.
    Union(Union),
    /// Any JSON, checked by the compiled schema if `check` is set.
    Json {
        /// Pointer into the schema bundle.
        check: Option<String>,
    },
}

/// A type as a field or parameter names it.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum TypeRef {
    /// An item of the types crate.
    Named(TypeId),
    /// One of Rust's own.
    Primitive(Primitive),
    /// `Vec<T>`
    Vec(Box<TypeRef>),
    /// `BTreeMap<String, T>`
    Map(Box<TypeRef>),
    /// `Option<T>`: null or a value.
    Nullable(Box<TypeRef>),
    /// `Box<T>`, where a type would hold itself.
    Boxed(Box<TypeRef>),
    /// `serde_json::Value`
    Any,
}

/// Rust's own types that stand for schemas.
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

impl TypeKind {
    /// Whether the name of a part is written in other letters than ASCII's.
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

    /// The items that an item mentions.
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
    /// Whether it mentions an item.
    pub(crate) fn mentions(&self, id: TypeId) -> bool {
        let mut ids = Vec::new();
        self.collect_mentions(&mut ids);
        ids.contains(&id)
    }

    /// Adds the items that a type mentions.
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
