//! Finds the requests that a new path takes from a template, as `/pets/mine` does from `/pets/{id}`.
//!
//! Of several paths that fit a URL, the one with fewer parameters counts (OpenAPI, "Path Templating
//! Matching").

use contract::model::{Location, Method, Operation, Parameter, ParameterEncoding, PathPart, Style};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::operations::is_same;
use super::{Comparison, Found, encoding};
use crate::finding::Kind;
use crate::pair::Side;

/// What a new path has in place of a parameter of a template.
struct Fixed<'o> {
    /// The name of the parameter.
    name: &'o str,
    text: String,
}

impl Comparison<'_> {
    /// Reports requests that went to an operation with a template, and go to a new operation now, or to
    /// a new path that does not have their method.
    pub(super) fn taken(&mut self, new: &Operation, name: impl Fn(&Operation) -> String) {
        let (base, revision) = (self.base(), self.revision());
        // A path that was there took these requests before, whichever methods it had.
        if base.operations.iter().any(|old| is_same_path(old, new)) || !new.query.is_empty() {
            return;
        }
        let fits = base.operations.iter().filter_map(|old| {
            let fixed = fixed(old, new)?;
            old.query.is_empty().then_some((old, fixed))
        });
        let fits: Vec<(&Operation, Vec<Fixed<'_>>)> = fits.collect();
        // Of the templates that fit, requests went to that with the first text.
        let Some(best) = fits.iter().map(|(old, _)| texts(old)).max() else {
            return;
        };
        let on_path = |one: &&Operation| is_same_path(one, new);
        let has = |method: &Method| {
            let mut all = revision.operations.iter().filter(on_path);
            // A server that has a GET answers a HEAD.
            all.any(|one| {
                one.method == *method || (*method == Method::Head && one.method == Method::Get)
            })
        };
        // The methods that the path does not have are reported once, with its first operation.
        let is_first = revision.operations.iter().find(on_path).map(|one| &one.id) == Some(&new.id);
        for (old, fixed) in fits.into_iter().filter(|(old, _)| texts(old) == best) {
            // One that is gone is reported as gone.
            if !revision.operations.iter().any(|kept| is_same(old, kept)) {
                continue;
            }
            let what = if old.method == new.method {
                format!("go to {} now", name(new))
            } else if is_first && !has(&old.method) {
                format!("are refused now, since `{}` has no such method", new.path)
            } else {
                continue;
            };
            self.add_taken((old, name(old)), &fixed, new, &what);
        }
    }

    /// Reports what happens to the requests of an operation that have these texts.
    fn add_taken(
        &mut self,
        (old, old_name): (&Operation, String),
        fixed: &[Fixed<'_>],
        new: &Operation,
        what: &str,
    ) {
        let mut kind = Kind::Breaking;
        for fixed in fixed {
            match self.may_be(old, fixed) {
                Some(true) => {}
                Some(false) => return,
                None => kind = Kind::Undecided,
            }
        }
        let values: Vec<String> = fixed
            .iter()
            .map(|fixed| format!("`{}` `{}`", fixed.name, fixed.text))
            .collect();
        let values = values.join(" and ");
        let message = if kind == Kind::Breaking {
            format!("requests of {old_name} with {values} {what}")
        } else {
            format!(
                "not decided, because of the schema of the parameter: whether requests of {old_name} with {values} {what}"
            )
        };
        let witness = (kind == Kind::Breaking).then(|| self.asked(&with_texts(old, fixed)));
        self.add(
            Some(&old_name),
            Found {
                kind,
                rule: "path-taken",
                message,
                base: Some(old.span),
                revision: Some(new.span),
                witness,
            },
        );
    }

    /// Returns whether a text may stand for a parameter of a path, or `None` if that is not decided.
    fn may_be(&self, operation: &Operation, fixed: &Fixed<'_>) -> Option<bool> {
        let mut parameters = operation.parameters.iter();
        let parameter = parameters
            .find(|parameter| parameter.location == Location::Path && parameter.name == fixed.name);
        // A parameter that is not declared takes any text.
        let Some(parameter) = parameter else {
            return Some(true);
        };
        let asked = decoded(&fixed.text);
        let mut is_unclear = false;
        for value in readings(parameter, &asked) {
            let written = encoding::in_path(parameter, &value);
            if written.is_none_or(|written| decoded(&written) != asked) {
                continue;
            }
            match self.context.is_valid(Side::Base, parameter.schema, &value) {
                Some(true) => return Some(true),
                Some(false) => {}
                None => is_unclear = true,
            }
        }
        (!is_unclear).then_some(false)
    }
}

/// Returns the values that a text in a path may stand for.
fn readings(parameter: &Parameter, text: &str) -> Vec<Value> {
    let text = match &parameter.encoding {
        ParameterEncoding::Style { style, .. } => match style {
            Style::Label => text.strip_prefix('.'),
            Style::Matrix => text.strip_prefix(&format!(";{}=", parameter.name)),
            _ => Some(text),
        },
        ParameterEncoding::Content(_) => Some(text),
    };
    let Some(text) = text else { return Vec::new() };
    let items: Vec<&str> = text.split(',').collect();
    let mut values = vec![json!(text), json!(items)];
    // Numbers and Booleans are written as in JSON, and so is what has the media type.
    values.extend(serde_json::from_str(text).ok());
    values
}

fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// Returns an operation in whose path texts stand in place of parameters.
fn with_texts(operation: &Operation, fixed: &[Fixed<'_>]) -> Operation {
    let mut operation = operation.clone();
    for part in &mut operation.segments {
        let PathPart::Parameter(name) = &*part else {
            continue;
        };
        let text = fixed.iter().find(|fixed| fixed.name == name);
        if let Some(text) = text.map(|fixed| fixed.text.clone()) {
            *part = PathPart::Literal(text);
        }
    }
    operation
}

/// Returns what a path has in place of the parameters of another one, or `None` if it is not a part of
/// what the other one fits.
fn fixed<'o>(old: &'o Operation, new: &'o Operation) -> Option<Vec<Fixed<'o>>> {
    let (old, new) = (segments(old), segments(new));
    if old.len() != new.len() {
        return None;
    }
    let mut out = Vec::new();
    for (old, new) in old.iter().zip(&new) {
        let (name, text, (start, end)) = match (old.as_slice(), new.as_slice()) {
            ([Part::Parameter(name)], [Part::Text(text)]) => (name, text, ("", "")),
            ([Part::Parameter(name), Part::Text(end)], [Part::Text(text)]) => {
                (name, text, ("", *end))
            }
            ([Part::Text(start), Part::Parameter(name)], [Part::Text(text)]) => {
                (name, text, (*start, ""))
            }
            ([Part::Text(start), Part::Parameter(name), Part::Text(end)], [Part::Text(text)]) => {
                (name, text, (*start, *end))
            }
            (old, new) if is_same_segment(old, new) => continue,
            _ => return None,
        };
        out.push(Fixed {
            name,
            text: within(text, start, end)?,
        });
    }
    (!out.is_empty()).then_some(out)
}

fn is_same_segment(one: &[Part<'_>], other: &[Part<'_>]) -> bool {
    one.len() == other.len()
        && one.iter().zip(other).all(|parts| match parts {
            (Part::Text(one), Part::Text(other)) => one == other,
            (Part::Parameter(_), Part::Parameter(_)) => true,
            _ => false,
        })
}

/// Returns what is between the start and the end of a text.
fn within(text: &str, start: &str, end: &str) -> Option<String> {
    let middle = text.strip_prefix(start)?.strip_suffix(end)?;
    (!middle.is_empty()).then(|| middle.to_owned())
}

/// A part of a segment of a path.
enum Part<'o> {
    Text(&'o str),
    Parameter(&'o str),
}

/// Returns the segments of a path, each with its parts.
fn segments(operation: &Operation) -> Vec<Vec<Part<'_>>> {
    let mut out = vec![Vec::new()];
    for part in &operation.segments {
        match part {
            PathPart::Parameter(name) => {
                if let Some(segment) = out.last_mut() {
                    segment.push(Part::Parameter(name));
                }
            }
            PathPart::Literal(text) => {
                for (at, text) in text.split('/').enumerate() {
                    if at > 0 {
                        out.push(Vec::new());
                    }
                    if let Some(segment) = out.last_mut().filter(|_| !text.is_empty()) {
                        segment.push(Part::Text(text));
                    }
                }
            }
        }
    }
    out
}

/// Returns for each segment of a path whether it is a text alone.
fn texts(operation: &Operation) -> Vec<bool> {
    let segments = segments(operation).into_iter();
    segments
        .map(|segment| matches!(segment.as_slice(), [] | [Part::Text(_)]))
        .collect()
}

/// Returns whether two operations have the same path, apart from the names of its parameters.
pub(super) fn is_same_path(one: &Operation, other: &Operation) -> bool {
    one.segments.len() == other.segments.len()
        && one
            .segments
            .iter()
            .zip(&other.segments)
            .all(|parts| match parts {
                (PathPart::Literal(one), PathPart::Literal(other)) => one == other,
                (PathPart::Parameter(_), PathPart::Parameter(_)) => true,
                _ => false,
            })
}
