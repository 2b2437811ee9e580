//! The flag of each input: its name, its values and its help.

use clap::builder::PossibleValuesParser;
use clap::{Arg, ArgAction, ValueHint};

use super::command::first_line;
use super::credentials::scheme_name;
use super::description::{Description, Input, Kind, Operation, Place};

/// An input with its flag, or with its name if it is an argument by position.
#[derive(Clone, Copy)]
pub(super) struct Bound {
    pub(super) input: &'static Input,
    pub(super) flag: &'static str,
}

impl Bound {
    /// Returns whether the input is an argument by position.
    pub(super) fn is_positional(self) -> bool {
        self.input.place == Place::Path && !self.input.context
    }

    /// Returns the input as people know it, such as `--name` or `REFERENCE`.
    pub(super) fn shown(self) -> String {
        if self.is_positional() {
            format!("<{}>", value_name(self.input))
        } else {
            format!("--{}", self.flag)
        }
    }
}

/// Returns the inputs of an operation with their flags. Where two would have the same flag, or one
/// has that of a setting, it gets the part of the request behind it: `output-query`.
pub(super) fn bound(description: &Description, operation: &'static Operation) -> Vec<Bound> {
    let schemes = 0..description.schemes.len();
    let schemes: Vec<String> = schemes
        .map(|at| format!("{}-file", scheme_name(description, at)))
        .collect();
    let inputs = operation.parameters.iter().chain(operation.fields());
    let mut bound: Vec<Bound> = Vec::new();
    for input in inputs {
        let wanted = self::flag(input, &input.flag);
        let is_free = |flag: &String| {
            !SETTINGS.contains(&flag.as_str())
                && !schemes.contains(flag)
                && bound.iter().all(|other| other.flag != flag)
        };
        let base = format!("{}-{}", input.flag, input.place.word());
        let others = (1..).map(|number| match number {
            1 => self::flag(input, &base),
            number => self::flag(input, &format!("{base}{number}")),
        });
        let mut candidates = std::iter::once(wanted).chain(others);
        let flag = candidates.find(is_free).unwrap_or(base);
        bound.push(Bound {
            input,
            flag: flag.leak(),
        });
    }
    bound
}

/// Returns the flag of an input. The value of a secret is in a file.
fn flag(input: &Input, name: &str) -> String {
    if input.secret {
        format!("{name}-file")
    } else {
        name.to_owned()
    }
}

/// The flags that belong to no input.
const SETTINGS: [&str; 17] = [
    "all",
    "body",
    "config",
    "connect-timeout",
    "dry-run",
    "help",
    "null",
    "output",
    "profile",
    "query",
    "retries",
    "save",
    "show-secrets",
    "timeout",
    "url",
    "wait",
    "wait-timeout",
];

/// Returns the argument of an input.
pub(super) fn argument(bound: Bound) -> Arg {
    let Bound { input, flag } = bound;
    let mut argument = Arg::new(flag)
        .value_name(value_name(input))
        .help(help(input))
        .long_help(long_help(input));
    if bound.is_positional() {
        return argument.required(true);
    }
    argument = argument.long(flag);
    if input.secret {
        return argument.value_name("FILE").value_hint(ValueHint::FilePath);
    }
    if input.list {
        argument = argument.action(ArgAction::Append);
    }
    if !input.values.is_empty() {
        let values: Vec<&'static str> = input.values.iter().map(String::as_str).collect();
        argument = argument.value_parser(PossibleValuesParser::new(values));
    }
    match input.kind {
        Kind::Boolean => argument
            .num_args(0..=1)
            // Otherwise the flag would take the argument behind it for its value.
            .require_equals(true)
            .default_missing_value("true")
            .value_parser(PossibleValuesParser::new(["true", "false"])),
        Kind::Integer | Kind::Number | Kind::Any => argument.allow_negative_numbers(true),
        Kind::Text | Kind::Json => argument,
    }
}

/// Returns the name of a value in help.
fn value_name(input: &Input) -> String {
    match (input.place, input.kind) {
        (Place::Path, _) => input.flag.to_uppercase().replace('-', "_"),
        (_, Kind::Text) => "TEXT".to_owned(),
        (_, Kind::Integer | Kind::Number) => "NUMBER".to_owned(),
        (_, Kind::Boolean) => "true|false".to_owned(),
        (_, Kind::Any) => "VALUE".to_owned(),
        (_, Kind::Json) => "JSON|@FILE".to_owned(),
    }
}

/// Returns the help of an input in one line.
fn help(input: &Input) -> String {
    let notes = notes(input);
    let about = first_line(&input.about);
    let about = about.trim_end_matches('.');
    match (about.is_empty(), notes.is_empty()) {
        (true, _) => notes,
        (false, true) => about.to_owned(),
        (false, false) => format!("{about} [{notes}]"),
    }
}

fn long_help(input: &Input) -> String {
    let mut long = input.about.clone();
    let notes = notes(input);
    if !notes.is_empty() {
        long.push_str(if long.is_empty() { "[" } else { "\n\n[" });
        long.push_str(&notes);
        long.push(']');
    }
    long
}

/// Returns what there is to know of an input beside its description.
fn notes(input: &Input) -> String {
    let mut notes = Vec::new();
    if input.required && input.place != Place::Path {
        notes.push("required".to_owned());
    }
    if input.secret {
        notes.push("in a file; `-` is the standard input".to_owned());
    }
    if input.list {
        notes.push("may be repeated".to_owned());
    }
    if !input.rule.is_empty() {
        notes.push(input.rule.clone());
    }
    if let Some(default) = &input.default {
        notes.push(format!("default: {default}"));
    }
    if input.context {
        notes.push("also a setting".to_owned());
    }
    if input.deprecated {
        notes.push("deprecated".to_owned());
    }
    notes.join("; ")
}
