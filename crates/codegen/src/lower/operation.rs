//! Lowers operations with their parameters, bodies and responses.

mod media;
mod names;
mod paging;
mod parts;
mod rejections;
mod status;

use std::collections::HashMap;

use contract::Contract;
use contract::model::{self, Clash, Location, Method, ParameterEncoding, SchemaId, Style, clashes};
use serde_json::Value;

use self::media::media;
use self::names::{operation_names, parameter_names, response_names};
use self::paging::paged;
pub(super) use self::rejections::take_request_id;
use self::status::status_name;
use super::lowering::Lowering;
use crate::ir::{Body, Operation, Parameter, Response, Tag, TypeRef};
use crate::names::{identifier, pascal as pascal_case};

/// Lowers every operation of a contract, in the document's order.
pub(super) fn operations(
    lowering: &mut Lowering<'_>,
    contract: &Contract,
    tags: &[Tag],
) -> Vec<Operation> {
    let by_name: HashMap<Option<&str>, usize> = tags
        .iter()
        .enumerate()
        .map(|(at, tag)| (tag.name.as_deref(), at))
        .collect();
    let names = operation_names(contract, tags, &by_name);
    let served_by: HashMap<(&Method, &str), String> = clashes(&contract.operations)
        .into_iter()
        .map(|clash| {
            let Clash { first, second } = clash;
            let served = format!("{} {}", first.method.as_str(), first.path);
            ((&second.method, second.path.as_str()), served)
        })
        .collect();
    let components = response_names(contract);
    let mut operations: Vec<Operation> = contract
        .operations
        .iter()
        .zip(names)
        .enumerate()
        .map(|(index, (operation, (name, pascal)))| {
            let parameters = parameters(lowering, operation, &pascal);
            let body = operation
                .request_body
                .as_ref()
                .map(|body| request_body(lowering, body, &pascal));
            let responses = responses(lowering, operation, &pascal, &components);
            let paging = contract
                .paging
                .as_ref()
                .and_then(|paging| paged(lowering, paging, &parameters, &responses));
            Operation {
                index,
                id: operation.id.clone(),
                name: identifier(&name),
                pascal,
                method: operation.method.clone(),
                path: operation.path.clone(),
                segments: operation.segments.clone(),
                query: operation.query.clone(),
                tag: by_name[&operation.tag()],
                docs: join_docs(
                    operation.summary.as_deref(),
                    operation.description.as_deref(),
                ),
                deprecated: operation.deprecated,
                deprecation: operation.deprecation,
                sunset: operation.sunset,
                parameters,
                body,
                responses,
                security: operation.security.clone(),
                served_by: served_by
                    .get(&(&operation.method, operation.path.as_str()))
                    .cloned(),
                paging,
            }
        })
        .collect();
    rejections::settle(&mut operations);
    operations
}

/// Joins a summary and a description to two paragraphs, or one if they say the same.
fn join_docs(summary: Option<&str>, description: Option<&str>) -> String {
    match (summary, description) {
        (Some(summary), Some(description)) if summary.trim() != description.trim() => {
            format!("{}\n\n{}", summary.trim(), description.trim())
        }
        (Some(text), _) | (None, Some(text)) => text.trim().to_owned(),
        (None, None) => String::new(),
    }
}

/// Lowers the parameters of an operation whose types begin with `pascal`.
fn parameters(
    lowering: &mut Lowering<'_>,
    operation: &model::Operation,
    pascal: &str,
) -> Vec<Parameter> {
    let names = parameter_names(&operation.parameters, &["body"]);
    let each = operation
        .parameters
        .iter()
        .zip(names)
        .map(|(parameter, name)| {
            let hint = format!("{pascal}{}", pascal_case(&parameter.name));
            lowered_parameter(lowering, parameter, &hint, &name)
        });
    each.collect()
}

/// Lowers a parameter or a header. If its schema is inline and needs an item, the item is called
/// `hint`, or by the name of the parameter's component.
fn lowered_parameter(
    lowering: &mut Lowering<'_>,
    parameter: &model::Parameter,
    hint: &str,
    name: &str,
) -> Parameter {
    // A shared parameter names its type by itself, not by the operation that happens to be the
    // first.
    let hint = match &parameter.component {
        Some(component) => pascal_case(component),
        None => hint.to_owned(),
    };
    // A parameter is written as text, which has no null.
    let ty = match lowering.type_of(parameter.schema, &hint) {
        TypeRef::Nullable(inner) => *inner,
        other => other,
    };
    Parameter {
        wire: parameter.name.clone(),
        name: identifier(name),
        location: parameter.location,
        is_whole_query: parameter.is_whole_query,
        encoding: encoding(parameter),
        ty,
        schema: parameter.schema,
        required: parameter.required,
        default: if parameter.required {
            None
        } else {
            default_of(lowering, parameter.schema)
        },
        description: parameter.description.clone(),
        deprecated: parameter.deprecated,
    }
}

/// Returns how a parameter is written. Of content, only JSON is left: any other is one text, as a
/// single value is in the usual style of the location, and in the style `simple` if it is the whole
/// query.
fn encoding(parameter: &model::Parameter) -> ParameterEncoding {
    if parameter.encoding.is_json() || matches!(parameter.encoding, ParameterEncoding::Style { .. })
    {
        return parameter.encoding.clone();
    }
    let style = match parameter.location {
        Location::Path | Location::Header => Style::Simple,
        Location::Query if parameter.is_whole_query => Style::Simple,
        Location::Query | Location::Cookie => Style::Form,
    };
    ParameterEncoding::Style {
        style,
        explode: style == Style::Form,
        allow_reserved: false,
    }
}

/// Returns the default of a parameter, at its schema or behind a reference.
///
/// Unlike a property, a parameter is never part of a partial update, so any default may fill it in.
fn default_of(lowering: &Lowering<'_>, schema: SchemaId) -> Option<Value> {
    lowering
        .own_default(schema)
        .or_else(|| lowering.own_default(lowering.contract.resolve(schema)))
}

/// Lowers a request body. `pascal` is what the names of the operation's types begin with.
fn request_body(lowering: &mut Lowering<'_>, body: &model::RequestBody, pascal: &str) -> Body {
    let hint = match &body.component {
        Some(component) => pascal_case(component),
        None => format!("{pascal}Body"),
    };
    Body {
        required: body.required,
        media: media(lowering, &body.content, &hint),
        description: body.description.clone(),
    }
}

/// Lowers the responses of an operation, sorted by status.
fn responses(
    lowering: &mut Lowering<'_>,
    operation: &model::Operation,
    pascal: &str,
    components: &HashMap<String, String>,
) -> Vec<Response> {
    let mut responses: Vec<Response> = operation
        .responses
        .iter()
        .enumerate()
        .map(|(index, response)| {
            let name = status_name(response.status);
            let component = response
                .component
                .as_ref()
                .map(|component| components[component].clone());
            let stem = component
                .clone()
                .unwrap_or_else(|| format!("{pascal}{name}"));
            let names = parameter_names(&response.headers, &["body", "status", "media"]);
            Response {
                status: response.status,
                index,
                headers: response
                    .headers
                    .iter()
                    .zip(names)
                    .map(|(header, name)| {
                        let hint = format!("{stem}{}", pascal_case(&header.name));
                        lowered_parameter(lowering, header, &hint, &name)
                    })
                    .collect(),
                media: media(lowering, &response.content, &format!("{stem}Body")),
                name,
                component,
                is_rejection: response.is_rejection,
                description: join_docs(
                    response.summary.as_deref(),
                    Some(response.description.as_str()).filter(|text| !text.trim().is_empty()),
                ),
            }
        })
        .collect();
    responses.sort_by_key(|response| response.status);
    responses
}
