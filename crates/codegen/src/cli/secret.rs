//! Which parts of bodies are secrets.

use std::collections::{BTreeSet, HashSet};

use contract::model::{SchemaId, StatusKey};

use super::input::keywords;
use crate::ir::{Additional, Api, Field, Media, Operation, TypeId, TypeKind, TypeRef};

/// Returns the names of the secret properties that bodies can have.
pub(super) fn secrets<'a>(
    api: &Api<'_>,
    bodies: impl Iterator<Item = &'a Media>,
) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let mut seen = HashSet::new();
    for ty in bodies.filter_map(|media| media.ty.as_ref()) {
        let mut left = Vec::new();
        ty.collect_mentions(&mut left);
        while let Some(id) = left.pop() {
            if seen.insert(id) {
                let secret = fields(api, id).iter().filter(|it| is_secret_field(api, it));
                names.extend(secret.map(|field| field.wire.clone()));
                left.extend(api.type_def(id).kind.mentions());
            }
        }
    }
    names
}

/// Returns the statuses of the responses whose body is a secret as a whole: `200`, `4XX`, `default`.
pub(super) fn secret_bodies(api: &Api<'_>, operation: &Operation) -> Vec<String> {
    let secret = operation.responses.iter().filter(|response| {
        let mut bodies = response.media.iter();
        bodies.any(|media| is_secret_body(api, media))
    });
    let key = |status: StatusKey| match status {
        StatusKey::Code(code) => code.to_string(),
        StatusKey::Range(digit) => format!("{digit}XX"),
        StatusKey::Default => "default".to_owned(),
    };
    secret.map(|response| key(response.status)).collect()
}

/// Returns whether a body is a secret as a whole.
pub(super) fn is_secret_body(api: &Api<'_>, media: &Media) -> bool {
    let own = media.schema.is_some_and(|schema| is_marked(api, schema));
    own || media.ty.as_ref().is_some_and(|ty| is_secret(api, ty))
}

/// Returns the path of a secret that every body has: `password`, or `login/password`.
pub(super) fn needed_secret(api: &Api<'_>, media: &Media) -> Option<String> {
    let id = object(api, media.ty.as_ref()?)?;
    needed(api, id, &mut HashSet::new())
}

fn needed(api: &Api<'_>, id: TypeId, seen: &mut HashSet<TypeId>) -> Option<String> {
    if !seen.insert(id) {
        return None;
    }
    let is_written = |field: &&Field| !keywords(api, field.schema).is_some_and(|it| it.read_only);
    let required = fields(api, id).iter().filter(|field| field.required);
    let mut required = required.filter(is_written);
    required.find_map(|field| {
        if is_secret_field(api, field) {
            return Some(field.wire.clone());
        }
        let object = object(api, &field.ty).filter(|_| !field.nullable)?;
        let inner = needed(api, object, seen)?;
        Some(format!("{}/{inner}", field.wire))
    })
}

/// Returns the object that a type stands for, unless it may be null.
fn object(api: &Api<'_>, ty: &TypeRef) -> Option<TypeId> {
    match ty {
        TypeRef::Named(id) => match &api.type_def(*id).kind {
            TypeKind::Alias(target) => object(api, target),
            TypeKind::Object(_) => Some(*id),
            _ => None,
        },
        TypeRef::Boxed(inner) => object(api, inner),
        _ => None,
    }
}

/// Returns the properties of an object, or none of what is no object.
fn fields<'a>(api: &'a Api<'_>, id: TypeId) -> &'a [Field] {
    match &api.type_def(id).kind {
        TypeKind::Object(object) => &object.fields,
        _ => &[],
    }
}

fn is_secret_field(api: &Api<'_>, field: &Field) -> bool {
    is_marked(api, field.schema) || is_secret(api, &field.ty)
}

/// Returns whether a schema, or the one that it refers to, is marked as a secret.
fn is_marked(api: &Api<'_>, schema: SchemaId) -> bool {
    let target = api.contract.resolve(schema);
    let mut schemas = [schema, target].into_iter();
    schemas.any(|schema| keywords(api, schema).is_some_and(|own| own.secret))
}

/// Returns whether values of a type are secrets, or lists, maps or alternatives of them.
fn is_secret(api: &Api<'_>, ty: &TypeRef) -> bool {
    is_secret_within(api, ty, &mut HashSet::new())
}

fn is_secret_within(api: &Api<'_>, ty: &TypeRef, seen: &mut HashSet<TypeId>) -> bool {
    match ty {
        TypeRef::Primitive(_) | TypeRef::Any => false,
        TypeRef::Nullable(inner)
        | TypeRef::Boxed(inner)
        | TypeRef::Vec(inner)
        | TypeRef::Map(inner) => is_secret_within(api, inner, seen),
        TypeRef::Named(id) => {
            let def = api.type_def(*id);
            if !seen.insert(*id) {
                return false;
            }
            let mut inner = |ty: &TypeRef| is_secret_within(api, ty, seen);
            is_marked(api, def.schema)
                || match &def.kind {
                    TypeKind::Alias(target) => inner(target),
                    TypeKind::Scalar(scalar) => scalar.secret,
                    TypeKind::Array(array) => inner(&array.items),
                    TypeKind::Map(map) => inner(&map.values),
                    TypeKind::Object(object) => match &object.additional {
                        // Their names are not known.
                        Additional::Kept { ty, .. } => inner(ty),
                        Additional::Open | Additional::Closed => false,
                    },
                    TypeKind::Union(union) => {
                        let mut variants = union.variants.iter();
                        variants.any(|variant| inner(&variant.ty))
                    }
                    TypeKind::Enumeration(_) | TypeKind::Json { .. } => false,
                }
        }
    }
}
