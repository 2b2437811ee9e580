//! Operations that are the same request, of which a server only ever serves the first.

use std::collections::HashMap;
use std::collections::hash_map::Entry;

use super::operation::{Method, Operation, PathPart, split_label};

/// What a server sees of a call: the method, the shape of the URL, and the query that every such
/// request has.
type Call = (Method, String, Vec<(String, String)>);

/// Two operations that are the same request, so that a server only ever serves the first.
#[derive(Debug, Clone, Copy)]
pub struct Clash<'c> {
    /// The operation that is served.
    pub first: &'c Operation,
    /// The operation that exists in clients only.
    pub second: &'c Operation,
}

/// Returns the operations that no server can tell from an earlier one. Those of the contract are
/// compared, so that it does not matter how their path items declare them.
#[must_use]
pub fn clashes(operations: &[Operation]) -> Vec<Clash<'_>> {
    let mut calls: HashMap<Call, &Operation> = HashMap::new();
    let mut found = Vec::new();
    for operation in operations {
        let mut query = operation.query.clone();
        // A server reads the pairs in any order.
        query.sort();
        let url = shape(split_label(&operation.path).0);
        match calls.entry((operation.method.clone(), url, query)) {
            Entry::Occupied(first) => found.push(Clash {
                first: first.get(),
                second: operation,
            }),
            Entry::Vacant(place) => {
                place.insert(operation);
            }
        }
    }
    found
}

/// Returns a path template with its parameters nameless, which two templates of one URL share.
pub(crate) fn shape(template: &str) -> String {
    let parts = PathPart::split(template);
    let parts = parts.into_iter().map(|part| match part {
        PathPart::Literal(text) => text,
        PathPart::Parameter(_) => "{}".to_owned(),
    });
    parts.collect()
}
