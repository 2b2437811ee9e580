//! The values of parameters and bodies, read from arguments and checked against the contract.

use serde_json::{Map, Value};

use super::argument::Bound;
use super::description::{BodyKind, Input, Kind, Place};
use super::failure::Failure;
use super::secrets;
use super::settings::Settings;
use crate::Schemas;
use crate::pointer::unescape;

/// The maximum number of bytes of a request body.
const MOST_BYTES: u64 = 256 << 20;

/// What a request is made of.
pub(super) struct Arguments {
    /// The parameters that have a value.
    pub(super) parameters: Vec<(&'static Input, Value)>,
    pub(super) body: Option<Content>,
}

/// A request body.
pub(super) enum Content {
    /// A value that is written as JSON, as a form or as multipart.
    Value(Value),
    /// Bytes that are sent as they are.
    Bytes(Vec<u8>),
}

/// Reads the arguments of a call.
///
/// # Errors
///
/// All that does not fit the contract, by flag.
pub(super) fn read(settings: &Settings<'_>) -> Result<Arguments, Failure> {
    let mut problems = Problems::default();
    let mut parameters = Vec::new();
    let schemas = settings.sources.program.schemas;
    for bound in settings
        .bound
        .iter()
        .filter(|bound| bound.input.place != Place::Body)
    {
        if let Some(value) = value(settings, *bound, &mut problems)? {
            let (schema, shown) = (bound.input.schema.as_deref(), bound.shown());
            check(schemas, schema, &shown, &value, &mut problems);
            parameters.push((bound.input, value));
        } else if bound.input.required && !problems.is_unread(*bound) {
            let what = bound.shown();
            problems.add(if bound.input.context {
                format!("{what} is required: {}", settings.sources.words(bound.flag))
            } else {
                format!("{what} is required")
            });
        }
    }
    let body = body(settings, &mut problems)?;
    problems.end()?;
    // Hidden only now, since the checks above need the values. A dry run prints the request.
    if settings.sources.has("dry-run") {
        for (_, value) in parameters.iter_mut().filter(|(input, _)| input.secret) {
            *value = secrets::HIDDEN.into();
        }
    }
    Ok(Arguments { parameters, body })
}

/// What is wrong with arguments.
#[derive(Default)]
pub(super) struct Problems {
    list: Vec<String>,
    /// The flags that are given, but with a text that is no value. They are not missing.
    unread: Vec<&'static str>,
}

impl Problems {
    pub(super) fn add(&mut self, problem: String) {
        self.list.push(problem);
    }

    fn is_unread(&self, bound: Bound) -> bool {
        self.unread.contains(&bound.flag)
    }

    /// Returns an error if there are problems.
    pub(super) fn end(self) -> Result<(), Failure> {
        if self.list.is_empty() {
            return Ok(());
        }
        Err(Failure::usage(format!(
            "the arguments do not fit the contract, and nothing was sent\n  {}",
            self.list.join("\n  ")
        )))
    }
}

/// Returns the value of an input, or `None` if it is not given.
pub(super) fn value(
    settings: &Settings<'_>,
    bound: Bound,
    problems: &mut Problems,
) -> Result<Option<Value>, Failure> {
    let input = bound.input;
    if input.secret {
        return secret(settings, bound);
    }
    if input.context {
        let text = settings.sources.value(bound.flag)?;
        return Ok(text.and_then(|text| parsed(bound, &text, problems)));
    }
    let given = settings.sources.matches.get_many::<String>(bound.flag);
    let Some(given) = given else {
        return Ok(None);
    };
    let mut values = Vec::new();
    for text in given {
        // An argument by position is one text, with a comma between items.
        let is_split = input.list && bound.is_positional();
        let texts = if is_split {
            text.split(',').collect()
        } else {
            vec![text.as_str()]
        };
        values.extend(
            texts
                .into_iter()
                .filter_map(|text| parsed(bound, text, problems)),
        );
    }
    Ok(if input.list {
        Some(Value::Array(values))
    } else {
        values.pop()
    })
}

/// Returns a secret: that of a file, or what a person types if it is required.
fn secret(settings: &Settings<'_>, bound: Bound) -> Result<Option<Value>, Failure> {
    let name = &bound.input.name;
    if let Some(path) = settings.sources.matches.get_one::<String>(bound.flag) {
        let secret = secrets::from_file(path, &format!("`{name}`"))?;
        return Ok(Some(secret.expose().into()));
    }
    let has_body =
        settings.operation.body.is_some() && settings.sources.matches.contains_id("body");
    // A body in `--body` may have the secret in it.
    if bound.input.required && !has_body {
        let typed = secrets::ask(name)?;
        return Ok(typed.map(|secret| secret.expose().into()));
    }
    Ok(None)
}

/// Parses the text of a flag. If it is wrong, adds a problem and returns `None`.
fn parsed(bound: Bound, text: &str, problems: &mut Problems) -> Option<Value> {
    let parsed = parse(bound.input.kind, text);
    parsed
        .map_err(|problem| {
            problems.add(format!("{} {problem}", bound.shown()));
            problems.unread.push(bound.flag);
        })
        .ok()
}

fn parse(kind: Kind, text: &str) -> Result<Value, String> {
    let number = || {
        serde_json::from_str::<Value>(text)
            .ok()
            .filter(Value::is_number)
    };
    match kind {
        Kind::Text => Ok(text.into()),
        Kind::Boolean => match text {
            "true" => Ok(true.into()),
            "false" => Ok(false.into()),
            _ => Err("must be true or false".to_owned()),
        },
        // The schema refuses fractions, for which it does not take `1.0`.
        Kind::Integer => number().ok_or_else(|| "must be an integer".to_owned()),
        Kind::Number => number().ok_or_else(|| "must be a number".to_owned()),
        // What is not JSON is a text, so that a word needs no quotes.
        Kind::Any => Ok(serde_json::from_str(text).unwrap_or_else(|_| text.into())),
        Kind::Json => json(text),
    }
}

/// Returns JSON: a text, or what is in a file behind `@`.
fn json(text: &str) -> Result<Value, String> {
    let bytes = source(text)?;
    serde_json::from_slice(&bytes).map_err(|error| format!("is not JSON ({error})"))
}

/// Returns the bytes of a text, of a file behind `@`, or of the standard input if it is `-`.
fn source(text: &str) -> Result<Vec<u8>, String> {
    let path = match (text, text.strip_prefix('@')) {
        ("-", _) => "-",
        (_, Some(path)) => path,
        (text, None) => return Ok(text.as_bytes().to_vec()),
    };
    let place = secrets::place(path);
    secrets::bytes(path, MOST_BYTES)
        .map_err(|error| format!("cannot be read from {place}: {error}"))
}

/// Checks a value against the schema at a pointer, if there is one. `shown` is the name by which
/// callers know it.
pub(super) fn check(
    schemas: &Schemas,
    pointer: Option<&str>,
    shown: &str,
    value: &Value,
    problems: &mut Problems,
) {
    let Some(pointer) = pointer else {
        return;
    };
    // A text where the schema wants a number is only known to be wrong here.
    if let Err(violations) = schemas.validate(pointer, value) {
        for violation in violations {
            let part = &violation.pointer;
            problems.add(format!("{shown}{part} {}", violation.message));
        }
    }
}

/// Returns the request body, or `None` if none is sent.
fn body(settings: &Settings<'_>, problems: &mut Problems) -> Result<Option<Content>, Failure> {
    let Some(body) = &settings.operation.body else {
        return Ok(None);
    };
    let given = settings.sources.matches.get_one::<String>("body");
    let given = given
        .map(|text| source(text).map_err(|problem| Failure::usage(format!("--body {problem}"))));
    let given = given.transpose()?;
    if body.kind == BodyKind::Bytes {
        if given.is_none() && body.required {
            problems.add(format!(
                "--body is required: the {} to send, as @FILE",
                body.media
            ));
        }
        return Ok(given.map(Content::Bytes));
    }
    let base = given.map(|bytes| {
        serde_json::from_slice::<Value>(&bytes)
            .map_err(|error| Failure::usage(format!("--body is not JSON ({error})")))
    });
    let base = base.transpose()?;
    let flags = properties(settings, problems)?;
    let value = match (base, flags.is_empty()) {
        (None, true) if !body.required => return Ok(None),
        (None, true) if body.fields.is_empty() => {
            problems.add("--body is required".to_owned());
            return Ok(None);
        }
        (None, _) => Value::Object(flags),
        (Some(base), true) => base,
        (Some(Value::Object(mut members)), false) => {
            members.extend(flags);
            Value::Object(members)
        }
        (Some(_), false) => {
            problems.add("--body must be an object, since flags set properties of it".to_owned());
            return Ok(None);
        }
    };
    if let Some(pointer) = body.schema.as_ref().filter(|_| body.kind == BodyKind::Json) {
        check_body(settings, pointer, &value, problems);
    }
    Ok(Some(Content::Value(value)))
}

/// Returns the properties that flags set.
fn properties(
    settings: &Settings<'_>,
    problems: &mut Problems,
) -> Result<Map<String, Value>, Failure> {
    let mut members = Map::new();
    for bound in settings
        .bound
        .iter()
        .filter(|bound| bound.input.place == Place::Body)
    {
        if let Some(value) = value(settings, *bound, problems)? {
            members.insert(bound.input.name.clone(), value);
        }
    }
    let nulls = settings.sources.matches.try_get_many::<String>("null");
    for name in nulls.ok().flatten().into_iter().flatten() {
        if members.insert(name.clone(), Value::Null).is_some() {
            problems.add(format!("--null {name} contradicts the flag that sets it"));
        }
    }
    Ok(members)
}

/// Checks a body of JSON against its schema, and names the flag of each property that is wrong.
fn check_body(settings: &Settings<'_>, pointer: &str, body: &Value, problems: &mut Problems) {
    let Err(violations) = settings.sources.program.schemas.validate(pointer, body) else {
        return;
    };
    for violation in violations {
        let mut parts = violation.pointer.trim_start_matches('/').splitn(2, '/');
        let name = unescape(parts.next().unwrap_or_default());
        let rest = parts
            .next()
            .map_or_else(String::new, |rest| format!(" at /{rest}"));
        let mut fields = settings
            .bound
            .iter()
            .filter(|bound| bound.input.place == Place::Body);
        let subject = match fields.find(|bound| bound.input.name == name) {
            // Its text is reported already, and so the body lacks it.
            Some(bound) if rest.is_empty() && problems.is_unread(*bound) => continue,
            Some(bound) => format!("{}{rest}", bound.shown()),
            None if violation.pointer.is_empty() => "the body".to_owned(),
            None => format!("the body at {}", violation.pointer),
        };
        problems.add(format!("{subject} {}", violation.message));
    }
}
