//! Which operations reach which types: where a type lives, and whether requests or responses carry it.

use std::collections::BTreeSet;

use crate::ir::{Operation, TypeDef, TypeId, TypeRef};

/// Marks every type with the tags that reach it and the directions it travels.
///
/// The type of every error is there whatever the tags, since client and router name it.
pub(super) fn mark(
    types: &mut [TypeDef],
    operations: &[Operation],
    events: &[Operation],
    error: Option<&TypeRef>,
) {
    let edges: Vec<Vec<TypeId>> = types.iter().map(|def| def.kind.mentions()).collect();
    for operation in operations {
        for id in reached(&edges, request_types(operation)) {
            types[id.0].tags.insert(operation.tag);
            types[id.0].in_request = true;
        }
        for id in reached(&edges, response_types(operation)) {
            types[id.0].tags.insert(operation.tag);
            types[id.0].in_response = true;
        }
    }
    // Features name the tags of the API's own operations: what travels the other way is there without any.
    for event in events {
        for id in reached(&edges, request_types(event).chain(response_types(event))) {
            types[id.0].tags = BTreeSet::new();
        }
    }
    if let Some(TypeRef::Named(id)) = error {
        types[id.0].tags = BTreeSet::new();
    }
    untag_mentioned(types, &edges);
}

/// The types of a request.
fn request_types(operation: &Operation) -> impl Iterator<Item = &TypeRef> {
    let parameters = operation.parameters.iter().map(|parameter| &parameter.ty);
    let bodies = operation
        .body
        .iter()
        .flat_map(|body| body.media.iter().filter_map(|media| media.ty.as_ref()));
    parameters.chain(bodies)
}

/// The types of all responses.
fn response_types(operation: &Operation) -> impl Iterator<Item = &TypeRef> {
    operation.responses.iter().flat_map(|response| {
        let headers = response.headers.iter().map(|header| &header.ty);
        headers.chain(response.media.iter().filter_map(|media| media.ty.as_ref()))
    })
}

/// What a type without tags mentions must be there without any feature as well.
fn untag_mentioned(types: &mut [TypeDef], edges: &[Vec<TypeId>]) {
    let free: Vec<TypeRef> = types
        .iter()
        .enumerate()
        .filter(|(_, def)| def.tags.len() != 1)
        .map(|(at, _)| TypeRef::Named(TypeId(at)))
        .collect();
    for id in reached(edges, free.iter()) {
        if types[id.0].tags.len() == 1 {
            types[id.0].tags = BTreeSet::new();
        }
    }
}

fn reached<'t>(
    edges: &[Vec<TypeId>],
    roots: impl Iterator<Item = &'t TypeRef>,
) -> BTreeSet<TypeId> {
    let mut found = BTreeSet::new();
    let mut open = Vec::new();
    for root in roots {
        root.collect_mentions(&mut open);
    }
    while let Some(id) = open.pop() {
        if found.insert(id) {
            open.extend(&edges[id.0]);
        }
    }
    found
}
