//! Finds the operations that reach each type, which decides the type's module and its feature.

use std::collections::BTreeSet;

use crate::ir::{Media, Operation, TypeDef, TypeId, TypeRef};

/// Marks every type with the tags that reach it, and with whether it is part of requests or of
/// responses.
///
/// A type without tags is in the module `shared`, and is compiled whichever features are on. The
/// type of every error is such a type, since client and router name it in code without a feature.
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
    // A feature stands for a tag of the API's own operations, so the types of webhooks and
    // callbacks have none.
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

/// Returns the types of an operation's parameters and request body.
fn request_types(operation: &Operation) -> impl Iterator<Item = &TypeRef> {
    let parameters = operation.parameters.iter().map(|parameter| &parameter.ty);
    let bodies = operation
        .body
        .iter()
        .flat_map(|body| body.media.iter().flat_map(Media::types));
    parameters.chain(bodies)
}

/// Returns the types of the headers and bodies of an operation's responses.
fn response_types(operation: &Operation) -> impl Iterator<Item = &TypeRef> {
    operation.responses.iter().flat_map(|response| {
        let headers = response.headers.iter().map(|header| &header.ty);
        headers.chain(response.media.iter().flat_map(Media::types))
    })
}

/// Removes the tags from all types that a type of the module `shared` refers to.
///
/// `shared` is compiled without any feature, so what it refers to has to be as well.
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

/// Returns every item that can be reached from some types, each once, however they refer to each
/// other.
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
