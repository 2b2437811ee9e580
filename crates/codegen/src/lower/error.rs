//! The type that all error bodies of an API have in common.

use crate::ir::{MediaKind, Operation, TypeDef, TypeKind, TypeRef};

/// Returns the JSON type of every error body, if all of them have the same one and it is a struct.
///
/// It must be a struct because the generated router makes the bodies of rejections with it.
pub(super) fn shared_error(types: &[TypeDef], operations: &[Operation]) -> Option<TypeRef> {
    let mut shared: Option<&TypeRef> = None;
    let errors = operations
        .iter()
        .flat_map(|operation| &operation.responses)
        .filter(|response| !response.is_success());
    for media in errors.flat_map(|response| &response.media) {
        let ty = media
            .ty
            .as_ref()
            .filter(|_| media.kind == MediaKind::Json)?;
        match shared {
            None => shared = Some(ty),
            Some(before) if before == ty => {}
            Some(_) => return None,
        }
    }
    match shared {
        Some(TypeRef::Named(id)) if matches!(types[id.0].kind, TypeKind::Object(_)) => {
            shared.cloned()
        }
        _ => None,
    }
}
