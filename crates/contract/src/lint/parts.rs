//! The order in which what a schema says can be derived from what its parts say.

use crate::model::{Contract, SchemaId};

/// Returns the index of every schema, after those of the schemas that apply to the same value.
///
/// The search uses its own stack, because chains of references can be long. Normalising has broken
/// cycles.
pub(super) fn parts_first(contract: &Contract) -> Vec<usize> {
    let steps: Vec<Vec<usize>> = contract
        .schemas
        .iter()
        .map(|schema| {
            schema
                .kind
                .in_place()
                .into_iter()
                .map(SchemaId::index)
                .collect()
        })
        .collect();
    let mut order = Vec::with_capacity(steps.len());
    let mut is_seen = vec![false; steps.len()];
    for start in 0..steps.len() {
        if std::mem::replace(&mut is_seen[start], true) {
            continue;
        }
        // Each entry is a schema and the number of its parts that are done.
        let mut path = vec![(start, 0)];
        while let Some((at, step)) = path.last_mut() {
            if let Some(next) = steps[*at].get(*step).copied() {
                *step += 1;
                if !std::mem::replace(&mut is_seen[next], true) {
                    path.push((next, 0));
                }
                continue;
            }
            order.push(*at);
            path.pop();
        }
    }
    order
}
