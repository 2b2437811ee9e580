//! The media types of bodies: how each is read and written, and its type.

use contract::model::{self, Location, ParameterEncoding, SchemaId, Style, Types};

use super::parts::lowered;
use crate::ir::{Media, MediaKind, Parameter, Primitive, TypeRef};
use crate::lower::flatten::FlatSchema;
use crate::lower::lowering::Lowering;
use crate::names::identifier;

/// Lowers the media types of a body. An item that is made for an inline schema is called `hint`.
pub(super) fn media(
    lowering: &mut Lowering<'_>,
    content: &[model::MediaType],
    hint: &str,
) -> Vec<Media> {
    content
        .iter()
        .map(|media| {
            if let Some(items) = items(lowering, media, hint) {
                return items;
            }
            if let Some(parts) = parts(lowering, media, hint) {
                return parts;
            }
            let kind = media_kind(&media.name, is_scalar_text(lowering, media.schema));
            let ty = match kind {
                // Only `items` and `parts` make the last four.
                MediaKind::Bytes
                | MediaKind::Items
                | MediaKind::TypedEvents
                | MediaKind::Parts
                | MediaKind::PartStream => None,
                MediaKind::Text => Some(match media.schema {
                    Some(schema) => lowering.type_of(schema, hint),
                    None => TypeRef::Primitive(Primitive::String),
                }),
                MediaKind::Json
                | MediaKind::Form
                | MediaKind::Multipart
                | MediaKind::EventStream => Some(
                    media
                        .schema
                        .map_or(TypeRef::Any, |schema| lowering.type_of(schema, hint)),
                ),
            };
            let fields = match kind {
                MediaKind::Form => fields(lowering, media),
                _ => Vec::new(),
            };
            Media {
                name: media.name.clone(),
                kind,
                is_assumed: media.is_assumed,
                ty,
                schema: media.schema,
                fields,
                parts: None,
            }
        })
        .collect()
}

/// Lowers the properties of a form whose `encoding` says how they are written. Without a style, an
/// array is JSON if its `contentType` is; an object is JSON anyway, and a single value is a text.
fn fields(lowering: &mut Lowering<'_>, media: &model::MediaType) -> Vec<Parameter> {
    let Some(body) = media.schema else {
        return Vec::new();
    };
    let flat = FlatSchema::of(lowering.contract, &[body]);
    let mut fields = Vec::new();
    for (name, encoding) in &media.encoding {
        // A property in several parts of an `allOf` has the type of all of them, which no one has.
        let schema = match flat.properties.get(name).map(Vec::as_slice) {
            Some([only]) => Some(*only),
            _ => None,
        };
        let written = match (encoding.style, encoding.explode) {
            (None, None) => {
                let written = encoding
                    .content_type
                    .clone()
                    .map(ParameterEncoding::Content);
                let is_list = schema.is_some_and(|schema| is_list(lowering, schema));
                match written.filter(|written| is_list && written.is_json()) {
                    Some(written) => written,
                    None => continue,
                }
            }
            // The defaults of OpenAPI: `form`, which alone is exploded.
            (style, explode) => {
                let style = style.unwrap_or(Style::Form);
                ParameterEncoding::Style {
                    style,
                    explode: explode.unwrap_or(style == Style::Form),
                    allow_reserved: false,
                }
            }
        };
        fields.push(Parameter {
            wire: name.clone(),
            name: identifier(name),
            location: Location::Query,
            is_whole_query: false,
            encoding: written,
            ty: schema.map_or(TypeRef::Any, |schema| lowering.type_of(schema, name)),
            schema: schema.unwrap_or(body),
            required: flat.required.contains(name),
            default: None,
            description: None,
            deprecated: false,
        });
    }
    fields
}

/// Returns whether a schema accepts arrays, and perhaps null, and nothing else.
fn is_list(lowering: &Lowering<'_>, schema: SchemaId) -> bool {
    let types = FlatSchema::of(lowering.contract, &[schema]).types;
    types.is_some_and(|types| types.without(Types::NULL) == Types::ARRAY)
}

/// Lowers a multipart media type whose parts have positions and no names. Returns `None` for any
/// other.
fn parts(lowering: &mut Lowering<'_>, media: &model::MediaType, hint: &str) -> Option<Media> {
    let (found, _) = contract::positions::positions(lowering.contract, media);
    let found = found?;
    let kind = if found.is_streamed {
        MediaKind::PartStream
    } else {
        MediaKind::Parts
    };
    let hint = hint.strip_suffix("Body").unwrap_or(hint);
    Some(Media {
        name: media.name.clone(),
        kind,
        is_assumed: false,
        ty: None,
        schema: media.schema,
        fields: Vec::new(),
        parts: Some(lowered(lowering, &found, hint)),
    })
}

/// Lowers a media type that is a sequence of items with a schema. Returns `None` for any other.
fn items(lowering: &mut Lowering<'_>, media: &model::MediaType, hint: &str) -> Option<Media> {
    let item = media
        .item_schema
        .filter(|_| model::is_sequential(&media.name))?;
    let (kind, schema) = match media.event_data {
        Some(data) => (MediaKind::TypedEvents, data),
        None => (MediaKind::Items, item),
    };
    let hint = format!("{}Item", hint.strip_suffix("Body").unwrap_or(hint));
    Some(Media {
        name: media.name.clone(),
        kind,
        is_assumed: false,
        ty: Some(lowering.type_of(schema, &hint)),
        schema: Some(schema),
        fields: Vec::new(),
        parts: None,
    })
}

/// Returns whether a body of `text/*` is read as a value of its schema, and not as bytes: if the
/// schema accepts no arrays or objects, or if there is no schema.
///
/// With `format: binary` it is read as bytes.
fn is_scalar_text(lowering: &Lowering<'_>, schema: Option<SchemaId>) -> bool {
    let Some(schema) = schema else { return true };
    let flat = FlatSchema::of(lowering.contract, &[schema]);
    flat.format.as_deref() != Some("binary")
        && flat
            .types
            .is_some_and(|types| !types.contains(Types::OBJECT) && !types.contains(Types::ARRAY))
}

/// Returns how a body of a media type is read and written. Parameters and case of the media type
/// are ignored. `scalar` is whether a `text/*` body is read as a value and not as bytes.
fn media_kind(name: &str, scalar: bool) -> MediaKind {
    let essence = name
        .split(';')
        .next()
        .unwrap_or_default()
        .trim()
        .to_ascii_lowercase();
    match essence.as_str() {
        "application/json" | "text/json" => MediaKind::Json,
        json if json.ends_with("+json") => MediaKind::Json,
        "application/x-www-form-urlencoded" => MediaKind::Form,
        multipart if multipart.starts_with("multipart/") => MediaKind::Multipart,
        "text/event-stream" => MediaKind::EventStream,
        text if text.starts_with("text/") && scalar => MediaKind::Text,
        _ => MediaKind::Bytes,
    }
}
