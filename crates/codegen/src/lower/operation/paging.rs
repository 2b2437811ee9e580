//! Finds the operations that follow the contract's paging convention.

use contract::model::{self, Paging};

use crate::ir::{
    Field, MediaKind, PagedOperation, Parameter, Response, TypeDef, TypeKind, TypeRef,
};
use crate::lower::lowering::Lowering;

/// Returns how to request the pages of an operation, if it follows the paging convention.
///
/// It does if it has the cursor among its query parameters and its first success is an object of
/// JSON with the list of items.
pub(super) fn paged(
    lowering: &Lowering<'_>,
    paging: &Paging,
    parameters: &[Parameter],
    responses: &[Response],
) -> Option<PagedOperation> {
    let query = |name: &str| {
        parameters.iter().position(|parameter| {
            parameter.location == model::Location::Query && parameter.wire == name
        })
    };
    let start_after = query(&paging.start_after)?;
    let success = responses.iter().find(|response| response.is_success())?;
    let page = success
        .media
        .iter()
        .find(|media| media.kind == MediaKind::Json)?
        .ty
        .clone()?;
    let items = fields_of(&lowering.types, &page)?
        .iter()
        .find(|field| field.wire == paging.items)?;
    let order_column = paging.order_column.as_deref().and_then(query);
    // The property that orders this list, if the caller chooses none, is the one that a page starts
    // after.
    let default = order_column.and_then(|at| parameters[at].default.as_ref()?.as_str());
    Some(PagedOperation {
        start_after,
        order_column,
        items: items.name.clone(),
        item: items_of(&lowering.types, &items.ty)?,
        page,
        key: default.unwrap_or(&paging.key).to_owned(),
    })
}

/// Returns the fields of a type that is a struct, or an alias of one.
fn fields_of<'t>(types: &'t [Option<TypeDef>], ty: &TypeRef) -> Option<&'t [Field]> {
    let TypeRef::Named(id) = ty else { return None };
    match &types[id.0].as_ref()?.kind {
        TypeKind::Object(object) => Some(&object.fields),
        TypeKind::Alias(target) => fields_of(types, target),
        _ => None,
    }
}

/// Returns the items' type of a type that is a list, or an alias of one.
fn items_of(types: &[Option<TypeDef>], ty: &TypeRef) -> Option<TypeRef> {
    match ty {
        TypeRef::Vec(items) => Some((**items).clone()),
        TypeRef::Named(id) => match &types[id.0].as_ref()?.kind {
            TypeKind::Array(array) => Some(array.items.clone()),
            TypeKind::Alias(target) => items_of(types, target),
            _ => None,
        },
        _ => None,
    }
}
