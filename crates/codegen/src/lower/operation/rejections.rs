//! What the framework of a server adds to responses by itself: whole rejections, and the id of the
//! request.

use std::collections::BTreeMap;

use contract::Contract;
use contract::model::{ParameterEncoding, StatusKey, Style};

use crate::ir::{Operation, Parameter, Response};

/// The header with the id of the request.
const REQUEST_ID: &str = "x-request-id";

/// The statuses of the rejections that the framework makes, see `RejectionKind` of `api-runtime`.
const STATUSES: [u16; 12] = [400, 401, 403, 404, 405, 408, 413, 415, 429, 431, 500, 503];

/// Makes a rejection an ordinary response again if the framework could not make it: a response that
/// is no component, has a status that the framework never answers with, or is not the only rejection
/// with its status.
pub(super) fn settle(operations: &mut [Operation]) {
    let mut components: BTreeMap<StatusKey, Option<String>> = BTreeMap::new();
    let responses = operations.iter().flat_map(|operation| &operation.responses);
    for response in responses.filter(|response| response.is_rejection) {
        let first = components
            .entry(response.status)
            .or_insert_with(|| response.component.clone());
        if *first != response.component {
            *first = None;
        }
    }
    for operation in operations {
        for response in &mut operation.responses {
            response.is_rejection &= matches!(response.status, StatusKey::Code(code) if STATUSES.contains(&code))
                && response.component.is_some()
                && components.get(&response.status) == Some(&response.component);
        }
    }
}

/// Removes the header with the id of the request from all responses, and returns it. Returns `None`,
/// and removes nothing, if a response does not have it, or if not all of them share one component.
pub(in super::super) fn take_request_id(
    contract: &Contract,
    operations: &mut [Operation],
) -> Option<Parameter> {
    let mut pointers = operations.iter().flat_map(|operation| {
        let models = &contract.operations[operation.index].responses;
        operation.responses.iter().map(|response| {
            let headers = &models[response.index].headers;
            let header = headers.iter().find(|header| is_request_id(&header.name));
            header.and_then(|header| {
                header.component.as_ref()?;
                Some((&header.pointer, &header.name))
            })
        })
    });
    let first = pointers.next()??;
    if !pointers.all(|pointer| pointer == Some(first)) {
        return None;
    }
    let id = request_id(&operations.first()?.responses)?.clone();
    let is_plain = matches!(
        id.encoding,
        ParameterEncoding::Style {
            style: Style::Simple,
            explode: false,
            ..
        }
    );
    if !is_plain || !id.required {
        return None;
    }
    for operation in operations {
        for response in &mut operation.responses {
            response
                .headers
                .retain(|header| !is_request_id(&header.wire));
        }
    }
    Some(id)
}

fn request_id(responses: &[Response]) -> Option<&Parameter> {
    let mut headers = responses.first()?.headers.iter();
    headers.find(|header| is_request_id(&header.wire))
}

fn is_request_id(name: &str) -> bool {
    name.eq_ignore_ascii_case(REQUEST_ID)
}
