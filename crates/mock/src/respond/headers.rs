//! The headers that the contract lists for a response.

use api_runtime::server::{Response, StatusCode, Style, with_header};
use serde_json::Value;

use super::{Refused, Task, hash};

/// The headers that belong to the connection or to the bytes of the body, whose values are not the
/// contract's to choose.
const FRAMING: [&str; 8] = [
    "connection",
    "content-encoding",
    "content-length",
    "content-range",
    "keep-alive",
    "trailer",
    "transfer-encoding",
    "upgrade",
];

/// Returns whether a header belongs to the connection or to the bytes of the body.
pub(crate) fn is_framing(name: &str) -> bool {
    FRAMING.iter().any(|known| known.eq_ignore_ascii_case(name))
}

/// Adds a value for each header. An optional header without a value is left out.
pub(super) fn headers(task: &Task<'_>, mut response: Response) -> Result<Response, Refused> {
    for (declared, header) in task.listed.headers.iter().zip(task.described.headers) {
        let name = header.name.to_ascii_lowercase();
        if is_framing(&name) {
            continue;
        }
        let values = &task.state.values;
        let is_dynamic = task.preferences.dynamic == Some(true);
        match values.value(declared.schema, hash(task.seed, &name), is_dynamic) {
            Ok(value) => {
                let value = match header.style {
                    Style::Json => Value::String(value.to_string()),
                    _ => value,
                };
                // Items of a list are separated by commas, so none can have one.
                let written = with_header(Response::default(), header, &value);
                if !written.status().is_server_error() {
                    let (parts, _) = written.into_parts();
                    response.headers_mut().extend(parts.headers);
                } else if declared.required {
                    return Err(lacking(header.name, "an item of the list has a comma"));
                }
            }
            Err(error) if declared.required => {
                return Err(lacking(header.name, &error.to_string()));
            }
            Err(_) => {}
        }
    }
    Ok(response)
}

fn lacking(name: &str, why: &str) -> Refused {
    Refused(
        StatusCode::INTERNAL_SERVER_ERROR,
        format!("the header `{name}` cannot be made up: {why}"),
    )
}
