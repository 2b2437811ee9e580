//! The arguments of a call, as an assistant gives them, checked against the contract.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Map, Value};

use super::access::{self, Access};
use super::is_setting;
use super::names::BODY;
use super::tool::Tool;
use crate::cli::description::{Body, BodyKind, Place};
use crate::cli::failure::Failure;
use crate::cli::input::{self, Arguments, Content, Problems};
use crate::cli::request;

/// Reads the arguments of a call.
///
/// # Errors
///
/// All that does not fit the contract, by the name of the input.
pub(super) fn read(
    tool: &Tool,
    access: &Access,
    mut given: Map<String, Value>,
) -> Result<Arguments, Failure> {
    let mut problems = Problems::default();
    let mut parameters = Vec::new();
    let schemas = tool.settings.sources.program.schemas;
    for bound in settings_of(tool) {
        if let Some(value) = input::value(&tool.settings, bound, &mut problems)? {
            input::check(
                schemas,
                bound.input.schema.as_deref(),
                &bound.shown(),
                &value,
                &mut problems,
            );
            parameters.push((bound.input, value));
        }
    }
    for (name, bound) in &tool.inputs {
        // Language models write null for what they leave out.
        // Removed, so that only names which are no inputs are left.
        let value = given.shift_remove(name).filter(|value| !value.is_null());
        match value {
            Some(value) => {
                input::check(
                    schemas,
                    bound.input.schema.as_deref(),
                    name,
                    &value,
                    &mut problems,
                );
                parameters.push((bound.input, value));
            }
            None if bound.input.required => problems.add(format!("{name} is required")),
            None => {}
        }
    }
    let offered = access.body(tool.operation());
    let body = offered.and_then(|_| given.shift_remove(BODY));
    let body = body.filter(|body| !body.is_null());
    let body = content(tool, access, body, &mut problems);
    for name in given.keys() {
        let known = known(tool, access);
        problems.add(format!("{name} is not an input; the inputs are: {known}"));
    }
    problems.end()?;
    Ok(Arguments { parameters, body })
}

/// Returns the settings that are parameters of the operation and not inputs of its tool.
fn settings_of(tool: &Tool) -> impl Iterator<Item = crate::cli::argument::Bound> {
    let bound = tool.settings.bound.iter().copied();
    bound.filter(|bound| {
        let mut inputs = tool.inputs.iter();
        is_setting(*bound) && !inputs.any(|(_, input)| input.flag == bound.flag)
    })
}

/// Returns the names of the inputs of a tool.
fn known(tool: &Tool, access: &Access) -> String {
    let mut names: Vec<&str> = tool.inputs.iter().map(|(name, _)| name.as_str()).collect();
    names.extend(access.body(tool.operation()).map(|_| BODY));
    names.join(", ")
}

/// Returns the request body, or `None` if none is sent.
fn content(
    tool: &Tool,
    access: &Access,
    given: Option<Value>,
    problems: &mut Problems,
) -> Option<Content> {
    let body = tool.operation().body.as_ref();
    let (Some(body), Some(value)) = (body, given) else {
        if body.is_some_and(|body| body.required) {
            problems.add(format!("{BODY} is required"));
        }
        return None;
    };
    match body.kind {
        BodyKind::Bytes => return bytes(body, &value, problems).map(Content::Bytes),
        BodyKind::Multipart => check_parts(&value, problems),
        BodyKind::Json | BodyKind::Form => {}
    }
    if !access.secret_inputs {
        check_secrets(&value, &body.secrets, BODY, problems);
    }
    let schema = body.schema.as_deref();
    let schema = schema.filter(|_| body.kind == BodyKind::Json);
    let schemas = tool.settings.sources.program.schemas;
    input::check(schemas, schema, BODY, &value, problems);
    Some(Content::Value(value))
}

/// Returns whether an assistant gives a body of bytes as text.
pub(super) fn is_text(body: &Body) -> bool {
    body.media.starts_with("text/") || body.media.contains("json") || body.media.contains("xml")
}

/// Returns the bytes of a body that is a text, or else in base64.
fn bytes(body: &Body, value: &Value, problems: &mut Problems) -> Option<Vec<u8>> {
    let Some(text) = value.as_str() else {
        problems.add(format!("{BODY} must be a string"));
        return None;
    };
    if is_text(body) {
        return Some(text.as_bytes().to_vec());
    }
    let decoded = STANDARD.decode(text);
    if decoded.is_err() {
        problems.add(format!("{BODY} must be in base64"));
    }
    decoded.ok()
}

/// Refuses parts that would be read from files: a person may send a file, and an assistant only what
/// it says itself.
fn check_parts(value: &Value, problems: &mut Problems) {
    for (name, part) in value.as_object().into_iter().flatten() {
        let parts = part.as_array();
        let mut parts = parts
            .map_or(std::slice::from_ref(part), Vec::as_slice)
            .iter();
        if parts.any(|part| request::file(part).is_some()) {
            problems.add(format!(
                "{BODY}/{name} must not begin with `@`, which stands for a file of the machine"
            ));
        }
    }
}

/// Refuses secrets, wherever they are in a value.
fn check_secrets(value: &Value, names: &[String], place: &str, problems: &mut Problems) {
    match value {
        Value::Array(items) => {
            for (at, item) in items.iter().enumerate() {
                check_secrets(item, names, &format!("{place}/{at}"), problems);
            }
        }
        Value::Object(members) => {
            for (name, value) in members {
                let place = format!("{place}/{name}");
                if names.contains(name) && !value.is_null() {
                    problems.add(format!(
                        "{place} is a secret, which an assistant may not give: leave it out, or start the program with --{}",
                        access::SECRET_INPUTS
                    ));
                } else {
                    check_secrets(value, names, &place, problems);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Returns the value that a call has for a parameter.
pub(super) fn value<'a>(arguments: &'a Arguments, name: &str) -> Option<&'a Value> {
    let mut parameters = arguments.parameters.iter();
    let found = parameters.find(|(input, _)| input.name == name && input.place != Place::Body);
    found.map(|(_, value)| value)
}
