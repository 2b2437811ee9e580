//! Required properties that are sent in one direction only, in bodies of the other direction.
//!
//! By 3.0, a read-only property in `required` is required in responses only, and a write-only one
//! in requests only. A schema that is used in both directions therefore leaves it optional. In 3.1,
//! `required` always applies.

use std::collections::BTreeSet;

use crate::model::{Contract, Dialect, MediaType, Operation, SchemaId, SchemaKind};

/// A required property that is not sent in a direction in which its schema is used.
pub(crate) struct OneWay {
    /// The schema that requires the property.
    pub(crate) schema: SchemaId,
    /// The property.
    pub(crate) property: String,
    /// The direction in which the property is not sent.
    pub(crate) way: Way,
}

/// The direction of a body.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// From the caller to the API: the body of a request.
    Request,
    /// From the API to the caller: the body of a response, or of a webhook or callback.
    Response,
}

/// Finds required properties that are sent in one direction only, and under 3.0 drops them from
/// `required`.
pub(super) fn relax(contract: &mut Contract) -> Vec<OneWay> {
    let found = find(contract);
    if contract.dialect == Dialect::V30 {
        for OneWay {
            schema, property, ..
        } in &found
        {
            if let SchemaKind::Object(keywords) = &mut contract.schemas[schema.index()].kind {
                keywords.required.retain(|required| required != property);
            }
        }
    }
    found
}

fn find(contract: &Contract) -> Vec<OneWay> {
    let in_requests = reached(contract, Way::Request);
    let in_responses = reached(contract, Way::Response);
    let mut found = Vec::new();
    for (way, ids) in [(Way::Request, in_requests), (Way::Response, in_responses)] {
        for schema in ids {
            let properties = misplaced(contract, schema, way);
            found.extend(properties.into_iter().map(|property| OneWay {
                schema,
                property,
                way,
            }));
        }
    }
    found
}

/// Returns the schemas that the bodies of one direction consist of, directly or through others.
///
/// A webhook or callback is a request that the API sends, so its body goes the way of a response.
fn reached(contract: &Contract, way: Way) -> BTreeSet<SchemaId> {
    let mut pending: Vec<SchemaId> = Vec::new();
    let own = contract.operations.iter();
    let own = own.map(|operation| (operation, way));
    let reversed = match way {
        Way::Request => Way::Response,
        Way::Response => Way::Request,
    };
    let called = contract.called_operations().into_iter();
    for (operation, way) in own.chain(called.map(|operation| (operation, reversed))) {
        pending.extend(
            bodies(operation, way)
                .into_iter()
                .flat_map(crate::model::MediaType::schemas),
        );
    }
    // Sorted, so that diagnostics come in the order of the document.
    let mut seen = BTreeSet::new();
    while let Some(id) = pending.pop() {
        if seen.insert(id)
            && let SchemaKind::Object(keywords) = &contract.schema(id).kind
        {
            pending.extend(keywords.reference);
            keywords.for_each_child(|child| pending.push(child));
        }
    }
    seen
}

/// Returns the media types of the request body of an operation, or of its responses.
fn bodies(operation: &Operation, way: Way) -> Vec<&MediaType> {
    match way {
        Way::Request => {
            let body = operation.request_body.iter();
            body.flat_map(|body| &body.content).collect()
        }
        Way::Response => {
            let responses = operation.responses.iter();
            responses.flat_map(|response| &response.content).collect()
        }
    }
}

/// Returns the required properties of a schema that are read-only, for a request, or write-only,
/// for a response.
fn misplaced(contract: &Contract, id: SchemaId, way: Way) -> Vec<String> {
    let SchemaKind::Object(keywords) = &contract.schema(id).kind else {
        return Vec::new();
    };
    let is_one_way = |id: SchemaId| {
        contract.is_marked(id, |property| match way {
            Way::Request => property.read_only,
            Way::Response => property.write_only,
        })
    };
    let is_misplaced = |name: &&String| {
        keywords
            .properties
            .get(*name)
            .copied()
            .is_some_and(is_one_way)
    };
    keywords
        .required
        .iter()
        .filter(is_misplaced)
        .cloned()
        .collect()
}
