//! Puts a `Box` where a type would hold itself by value, which Rust does not allow.

use crate::ir::{Additional, TypeDef, TypeId, TypeKind, TypeRef};

/// Boxes every field and variant that is part of a cycle, and replaces aliases that lead only to
/// themselves with any JSON.
///
/// One box per cycle would be enough. All edges of the cycle get one, so that which fields are
/// boxed does not depend on the order of the schemas in the document.
pub(super) fn break_cycles(types: &mut [TypeDef]) {
    break_alias_cycles(types);
    let edges: Vec<Vec<TypeId>> = types.iter().map(|def| held_by_value(&def.kind)).collect();
    let components = strongly_connected(&edges);
    for at in 0..types.len() {
        let in_cycle = |target: TypeId| components[target.0] == components[at];
        match &mut types[at].kind {
            TypeKind::Object(object) => {
                for field in &mut object.fields {
                    box_edge(&mut field.ty, &in_cycle);
                }
            }
            TypeKind::Union(union) => {
                for variant in &mut union.variants {
                    box_edge(&mut variant.ty, &in_cycle);
                }
            }
            TypeKind::Alias(_)
            | TypeKind::Scalar(_)
            | TypeKind::Array(_)
            | TypeKind::Map(_)
            | TypeKind::Enumeration(_)
            | TypeKind::Json { .. } => {}
        }
    }
}

/// Turns every alias that leads back to itself through aliases alone into any JSON, since it names
/// no type.
fn break_alias_cycles(types: &mut [TypeDef]) {
    for start in 0..types.len() {
        // Bounded, since the cycle may be one that `start` leads into and is no part of.
        let mut at = start;
        for _ in 0..=types.len() {
            let TypeKind::Alias(target) = &types[at].kind else {
                break;
            };
            let Some(next) = named_directly(target) else {
                break;
            };
            at = next.0;
            if at == start {
                types[start].kind = TypeKind::Json { check: None };
                break;
            }
        }
    }
}

/// Returns the items that an item holds by value. Lists and maps hold theirs behind a pointer
/// already.
fn held_by_value(kind: &TypeKind) -> Vec<TypeId> {
    match kind {
        TypeKind::Alias(ty) => named_directly(ty).into_iter().collect(),
        TypeKind::Object(object) => {
            // Kept properties are in a map. All variants are named, so that another one has to be
            // thought about.
            let (Additional::Open | Additional::Closed | Additional::Kept { .. }) =
                &object.additional;
            object
                .fields
                .iter()
                .filter_map(|field| named_directly(&field.ty))
                .collect()
        }
        TypeKind::Union(union) => union
            .variants
            .iter()
            .filter_map(|variant| named_directly(&variant.ty))
            .collect(),
        TypeKind::Scalar(_)
        | TypeKind::Array(_)
        | TypeKind::Map(_)
        | TypeKind::Enumeration(_)
        | TypeKind::Json { .. } => Vec::new(),
    }
}

/// Returns the item that a type holds by value, if it holds one.
fn named_directly(ty: &TypeRef) -> Option<TypeId> {
    match ty {
        TypeRef::Named(id) => Some(*id),
        TypeRef::Nullable(inner) => named_directly(inner),
        TypeRef::Primitive(_)
        | TypeRef::Vec(_)
        | TypeRef::Map(_)
        | TypeRef::Boxed(_)
        | TypeRef::Any => None,
    }
}

/// Boxes a type if it holds an item of its own cycle by value.
fn box_edge(ty: &mut TypeRef, in_cycle: &dyn Fn(TypeId) -> bool) {
    match ty {
        TypeRef::Named(id) if in_cycle(*id) => *ty = TypeRef::Boxed(Box::new(ty.clone())),
        TypeRef::Nullable(inner) => box_edge(inner, in_cycle),
        TypeRef::Named(_)
        | TypeRef::Primitive(_)
        | TypeRef::Vec(_)
        | TypeRef::Map(_)
        | TypeRef::Boxed(_)
        | TypeRef::Any => {}
    }
}

/// Returns the strongly connected component of each node, as a number that its nodes share.
///
/// This is Tarjan's algorithm. It keeps a stack of its own instead of calling itself, because types
/// can refer to each other in chains that are longer than a thread's stack allows.
fn strongly_connected(edges: &[Vec<TypeId>]) -> Vec<usize> {
    const UNSEEN: usize = usize::MAX;
    let mut order = vec![UNSEEN; edges.len()];
    let mut low = vec![0; edges.len()];
    let mut on_stack = vec![false; edges.len()];
    let mut component = vec![UNSEEN; edges.len()];
    let mut stack = Vec::new();
    let mut next = 0;
    for root in 0..edges.len() {
        if order[root] != UNSEEN {
            continue;
        }
        let mut path: Vec<(usize, usize)> = vec![(root, 0)];
        while let Some((node, edge)) = path.last_mut() {
            let node = *node;
            // The node is met for the first time.
            if *edge == 0 && order[node] == UNSEEN {
                order[node] = next;
                low[node] = next;
                next += 1;
                stack.push(node);
                on_stack[node] = true;
            }
            if let Some(target) = edges[node].get(*edge) {
                *edge += 1;
                let target = target.0;
                // A target that was seen and has left the stack is in a finished component, which
                // cannot reach this node.
                if order[target] == UNSEEN {
                    path.push((target, 0));
                } else if on_stack[target] {
                    low[node] = low[node].min(order[target]);
                }
                continue;
            }
            path.pop();
            if let Some((parent, _)) = path.last() {
                low[*parent] = low[*parent].min(low[node]);
            }
            // The node reaches nothing above itself on the stack: it closes a component.
            if low[node] == order[node] {
                while let Some(member) = stack.pop() {
                    on_stack[member] = false;
                    component[member] = node;
                    if member == node {
                        break;
                    }
                }
            }
        }
    }
    component
}
