//! The parts of multipart bodies that have positions and no names.

use contract::model::{self, SchemaId, SchemaKind, Types};
use contract::positions::{self, Position, Positions};

use crate::ir::{Part, PartContent, PartHeader, PartList, TypeRef};
use crate::lower::flatten::FlatSchema;
use crate::lower::lowering::Lowering;
use crate::names::pascal;

/// Lowers the parts of a body. Items that are made for inline schemas begin with `hint`.
pub(super) fn lowered(lowering: &mut Lowering<'_>, found: &Positions<'_>, hint: &str) -> PartList {
    let prefix = found.prefix.iter().enumerate();
    let prefix = prefix.map(|(at, position)| {
        let hint = format!("{hint}Part{}", at + 1);
        part(lowering, position, &hint)
    });
    PartList {
        prefix: prefix.collect(),
        item: Box::new(part(lowering, &found.item, &format!("{hint}Part"))),
        least: found.least,
        most: found.most,
        is_form: found.is_form,
    }
}

fn part(lowering: &mut Lowering<'_>, position: &Position<'_>, hint: &str) -> Part {
    let mut ty = |schema: Option<SchemaId>| {
        schema.map_or(TypeRef::Any, |schema| lowering.type_of(schema, hint))
    };
    let content = match &position.content {
        positions::PartContent::Json => PartContent::Json(ty(position.schema)),
        positions::PartContent::Text => PartContent::Text(ty(position.schema)),
        positions::PartContent::Bytes => PartContent::Bytes,
        positions::PartContent::Nothing => PartContent::Nothing,
        positions::PartContent::Parts(parts) => PartContent::Parts(lowered(lowering, parts, hint)),
    };
    let headers = position.headers.iter();
    let headers = headers.map(|header| {
        let hint = format!("{hint}{}", pascal(&header.name));
        part_header(lowering, header, &hint)
    });
    Part {
        content,
        media_types: position.media_types.clone(),
        headers: headers.collect(),
    }
}

fn part_header(lowering: &mut Lowering<'_>, header: &model::Parameter, hint: &str) -> PartHeader {
    let id = lowering.contract.resolve(header.schema);
    let is_forbidden = matches!(lowering.contract.schema(id).kind, SchemaKind::Bool(false));
    let flat = FlatSchema::of(lowering.contract, &[id]);
    let value = match flat.values.as_deref() {
        Some([serde_json::Value::String(only)]) => Some(only.clone()),
        _ => None,
    };
    let is_json = header.encoding.is_json();
    let structured = Types::OBJECT.with(Types::ARRAY);
    let is_single = flat
        .types
        .is_some_and(|types| types.0 & structured.0 == 0 && !types.is_empty());
    let hint = header.component.as_deref().map_or(hint.to_owned(), pascal);
    let is_typed = !is_forbidden && (is_json || is_single);
    PartHeader {
        name: header.name.clone(),
        schema: header.schema,
        is_required: header.required,
        is_forbidden,
        value: value.filter(|_| !is_json),
        ty: is_typed.then(|| match lowering.type_of(id, &hint) {
            // A header is written as text, which has no null.
            TypeRef::Nullable(inner) if !is_json => *inner,
            other => other,
        }),
        is_json,
    }
}
