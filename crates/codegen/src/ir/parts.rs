//! The parts of multipart bodies that have positions and no names.

use contract::model::SchemaId;

use super::TypeRef;

/// The parts of a multipart body, by position.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartList {
    /// The parts whose positions are described by themselves.
    pub prefix: Vec<Part>,
    /// All further parts.
    pub item: Box<Part>,
    /// The least number of parts.
    pub least: usize,
    /// The greatest number of parts.
    pub most: Option<usize>,
    /// Whether the media type is `multipart/form-data`, whose parts need a name in a header.
    pub is_form: bool,
}

/// A part of a multipart body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Part {
    /// What the part holds.
    pub content: PartContent,
    /// The media types that the part may have; empty for any.
    pub media_types: Vec<String>,
    /// The headers of the part.
    pub headers: Vec<PartHeader>,
}

/// What a part holds.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum PartContent {
    /// JSON of this type.
    Json(TypeRef),
    /// One value of this type, as text.
    Text(TypeRef),
    /// Bytes.
    Bytes,
    /// Parts.
    Parts(PartList),
    /// Nothing: there is no such part.
    Nothing,
}

/// A header of a part.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PartHeader {
    /// The name as the document writes it.
    pub name: String,
    /// The schema of the value.
    pub schema: SchemaId,
    /// Whether the part must have the header.
    pub is_required: bool,
    /// Whether the part must not have the header, whose schema accepts nothing.
    pub is_forbidden: bool,
    /// The only value of the header, if its schema has one.
    pub value: Option<String>,
    /// The type of the value, if it is one value as text or JSON.
    pub ty: Option<TypeRef>,
    /// Whether the value is JSON.
    pub is_json: bool,
}

impl PartList {
    /// Adds every type of the parts and of their headers.
    pub(super) fn collect_types<'p>(&'p self, types: &mut Vec<&'p TypeRef>) {
        for part in self.prefix.iter().chain([&*self.item]) {
            types.extend(part.headers.iter().filter_map(|header| header.ty.as_ref()));
            match &part.content {
                PartContent::Json(ty) | PartContent::Text(ty) => types.push(ty),
                PartContent::Parts(parts) => parts.collect_types(types),
                PartContent::Bytes | PartContent::Nothing => {}
            }
        }
    }
}
