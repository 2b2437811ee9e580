//! Reading secrets: from files, the standard input, or a terminal that does not show them.

use std::fs::File;
use std::io::{self, IsTerminal as _, Read};

use serde_json::Value;

use super::failure::Failure;
use super::terminal;
use crate::client::Secret;

/// The maximum number of bytes that a secret in a file may have.
const MOST_BYTES: u64 = 64 << 10;

/// What is shown in place of a secret.
pub(super) const HIDDEN: &str = "[secret]";

/// Replaces the values of properties with these names, wherever they are in a value.
pub(super) fn hide(value: &mut Value, names: &[String]) {
    match value {
        Value::Array(items) => items.iter_mut().for_each(|item| hide(item, names)),
        Value::Object(members) => {
            for (name, value) in members {
                if names.contains(name) && !value.is_null() {
                    *value = HIDDEN.into();
                } else {
                    hide(value, names);
                }
            }
        }
        Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
    }
}

/// Reads a secret from a file, or from the standard input if `path` is `-`. A line break at its end
/// is not part of it. `what` names it in errors.
pub(super) fn from_file(path: &str, what: &str) -> Result<Secret, Failure> {
    let bytes = bytes(path, MOST_BYTES).map_err(|error| {
        Failure::usage(format!(
            "{what} cannot be read from {}: {error}",
            place(path)
        ))
    })?;
    let text = String::from_utf8(bytes)
        .map_err(|_| Failure::usage(format!("{what} in {} is not text in UTF-8", place(path))))?;
    let secret = text.trim_end_matches(['\r', '\n']);
    if secret.is_empty() {
        return Err(Failure::usage(format!(
            "{what} in {} is empty",
            place(path)
        )));
    }
    Ok(Secret::from(secret))
}

/// Asks for a secret on the terminal, without showing what is typed. Returns `None` if nobody is
/// there.
pub(super) fn ask(what: &str) -> Result<Option<Secret>, Failure> {
    if !io::stdin().is_terminal() {
        return Ok(None);
    }
    terminal::ask_hidden(&format!("{what}: "))
        .map(|secret| Some(Secret::from(secret)))
        .map_err(|error| Failure::usage(format!("{what} cannot be asked for: {error}")))
}

/// Reads at most `most` bytes from a file, or from the standard input if `path` is `-`.
pub(super) fn bytes(path: &str, most: u64) -> io::Result<Vec<u8>> {
    let mut read = Vec::new();
    let mut source: Box<dyn Read> = if path == "-" {
        Box::new(io::stdin())
    } else {
        Box::new(File::open(path)?)
    };
    source.by_ref().take(most + 1).read_to_end(&mut read)?;
    if read.len() as u64 > most {
        let problem = format!("it has more than {most} bytes");
        return Err(io::Error::new(io::ErrorKind::InvalidData, problem));
    }
    Ok(read)
}

/// Returns the place that bytes are read from, as a part of a message.
pub(super) fn place(path: &str) -> &str {
    if path == "-" {
        "the standard input"
    } else {
        path
    }
}
