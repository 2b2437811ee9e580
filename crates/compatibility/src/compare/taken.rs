//! Finds the requests that a new path takes from a template, as `/pets/mine` does from `/pets/{id}`.

use contract::model::{Location, Operation, Parameter, ParameterEncoding, PathPart, Style};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::operations::is_same;
use super::routing::{Part, Request, Routed, capture, route, segments};
use super::{Comparison, Found, encoding};
use crate::finding::Kind;
use crate::pair::Side;

/// The maximum number of URLs that are tried for two operations.
const MOST_URLS: usize = 64;

/// A text that a request has in place of a parameter.
#[derive(Clone)]
struct Fixed<'o> {
    /// The name of the parameter.
    name: &'o str,
    text: String,
    is_in_query: bool,
}

/// A text for a segment of a URL.
#[derive(Clone)]
struct Segment {
    text: String,
    /// Whether another text may lead elsewhere.
    is_fixed: bool,
}

impl Comparison<'_> {
    /// Reports requests that went to an operation, and go to a new operation now, or to a new path that
    /// does not have their method.
    pub(super) fn taken(&mut self, new: &Operation, name: impl Fn(&Operation) -> String) {
        let (base, revision) = (self.base(), self.revision());
        let is_here = |one: &Operation| is_same_path(one, new) && one.query == new.query;
        // A path that was there took these requests before, whichever methods it had.
        if base.operations.iter().any(is_here) {
            return;
        }
        // The methods that the path does not have are reported once, with its first operation: none of
        // those with this query was there before.
        let first = revision
            .operations
            .iter()
            .find(|one| is_same_path(one, new) && one.query == new.query);
        let is_first = first.is_some_and(|first| first.id == new.id);
        for old in &base.operations {
            let urls = self.urls(old, new);
            // One that is gone is reported as gone.
            if urls.is_empty() || !revision.operations.iter().any(|kept| is_same(old, kept)) {
                continue;
            }
            let mut unclear = None;
            for (path, query) in urls {
                let pairs: Vec<(String, String)> = old
                    .query
                    .iter()
                    .chain(query.iter().copied())
                    .cloned()
                    .collect();
                let texts: Vec<String> = path.iter().map(|one| one.text.clone()).collect();
                let request = Request {
                    method: &old.method,
                    segments: &texts,
                    query: &pairs,
                };
                let went =
                    matches!(route(base, &request), Routed::Operation(to) if is_same(to, old));
                if !went {
                    continue;
                }
                let what = match route(revision, &request) {
                    Routed::Operation(to) if to.id == new.id => format!("go to {} now", name(new)),
                    Routed::OtherMethods(to) if is_first && is_same_path(to, new) => {
                        format!("are refused now, since `{}` has no such method", new.path)
                    }
                    _ => continue,
                };
                let Some(fixed) = fixed(old, &path, &query) else {
                    continue;
                };
                match self.all_may_be(old, &fixed) {
                    Some(true) => {
                        self.add_taken((old, name(old)), &fixed, new, (Kind::Breaking, &what));
                        unclear = None;
                        break;
                    }
                    Some(false) => {}
                    None => unclear = Some((fixed, what)),
                }
            }
            if let Some((fixed, what)) = unclear {
                self.add_taken((old, name(old)), &fixed, new, (Kind::Undecided, &what));
            }
        }
    }

    /// Returns segments of URLs that both operations fit, and the query of the new one that the old one
    /// does not ask for.
    fn urls<'n>(
        &self,
        old: &Operation,
        new: &'n Operation,
    ) -> Vec<(Vec<Segment>, Vec<&'n (String, String)>)> {
        // A request has the query of a path only if its operation knows these parameters.
        let is_known = |(name, _): &&(String, String)| query_parameter(old, name).is_some();
        let query = new.query.iter().filter(|pair| !old.query.contains(pair));
        let query: Vec<&(String, String)> = query.collect();
        let (ones, others) = (segments(old), segments(new));
        if ones.len() != others.len() || !query.iter().all(is_known) {
            return Vec::new();
        }
        let mut urls = vec![Vec::new()];
        for (one, other) in ones.iter().zip(&others) {
            let texts = self.texts((old, one), (new, other));
            let longer = urls.iter().flat_map(|url: &Vec<Segment>| {
                texts
                    .iter()
                    .map(|text| [url.as_slice(), std::slice::from_ref(text)].concat())
            });
            urls = longer.take(MOST_URLS).collect();
            if urls.is_empty() {
                break;
            }
        }
        urls.into_iter().map(|url| (url, query.clone())).collect()
    }

    /// Returns texts that two segments match.
    fn texts(
        &self,
        (old, one): (&Operation, &[Part<'_>]),
        (new, other): (&Operation, &[Part<'_>]),
    ) -> Vec<Segment> {
        let text = |parts: &[Part<'_>]| match parts {
            [] => Some(String::new()),
            [Part::Text(text)] => Some((*text).to_owned()),
            _ => None,
        };
        let is_fixed = one != other;
        let mut found: Vec<String> = text(one).into_iter().chain(text(other)).collect();
        if found.is_empty() {
            if let ([Part::Parameter(name)], true) = (one, is_fixed) {
                found.extend(self.matching(old, name, other));
            }
            let fill = |operation: &Operation, parts: &[Part<'_>], usual: &str| -> String {
                let text = |part: &Part<'_>| match part {
                    Part::Text(text) => (*text).to_owned(),
                    Part::Parameter(name) => {
                        let parameter = path_parameter(operation, name);
                        let side = if std::ptr::eq(operation, old) {
                            Side::Base
                        } else {
                            Side::Revision
                        };
                        let example = parameter.filter(|_| usual.is_empty()).and_then(|one| {
                            let reading = crate::containment::Reading::Request;
                            let value = self.context.example(side, one.schema, reading)?;
                            encoding::in_path(one, &value).filter(|text| !text.is_empty())
                        });
                        example.unwrap_or_else(|| {
                            if usual.is_empty() { "a" } else { usual }.to_owned()
                        })
                    }
                };
                parts.iter().map(text).collect()
            };
            for usual in ["", "a", "1"] {
                found.extend([fill(old, one, usual), fill(new, other, usual)]);
            }
        }
        found.retain(|text| capture(one, text).is_some() && capture(other, text).is_some());
        found.dedup();
        if !is_fixed {
            found.truncate(1);
        }
        found
            .into_iter()
            .map(|text| Segment { text, is_fixed })
            .collect()
    }

    /// Returns a text that a parameter alone may have, and that a segment of text and parameters matches.
    fn matching(&self, operation: &Operation, name: &str, parts: &[Part<'_>]) -> Option<String> {
        let parameter = path_parameter(operation, name)?;
        let ParameterEncoding::Style {
            style: Style::Simple,
            ..
        } = &parameter.encoding
        else {
            return None;
        };
        let pattern = |any: &str| {
            let part = |part: &Part<'_>| match part {
                Part::Text(text) => escaped(text),
                Part::Parameter(_) => any.to_owned(),
            };
            format!("^{}$", parts.iter().map(part).collect::<String>())
        };
        // Plain characters first, since a witness shows them.
        let mut patterns = ["[0-9A-Za-z_-]+", r"[\s\S]+"]
            .iter()
            .map(|any| pattern(any));
        let found = patterns.find_map(|pattern| {
            self.context
                .text_like(Side::Base, parameter.schema, &pattern)
        })?;
        // The text of the template stands in a URL as it is, and only values are encoded.
        let mut values = capture(parts, &found)?.into_iter();
        let mut out = String::new();
        for part in parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Parameter(_) => out.push_str(&encoding::encoded(&values.next()?.1)),
            }
        }
        Some(out)
    }

    /// Reports what happens to the requests of an operation that have these texts.
    fn add_taken(
        &mut self,
        (old, old_name): (&Operation, String),
        fixed: &[Fixed<'_>],
        new: &Operation,
        (kind, what): (Kind, &str),
    ) {
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

    /// Returns whether texts may stand for the parameters of an operation, or `None` if that is not
    /// decided.
    fn all_may_be(&self, operation: &Operation, fixed: &[Fixed<'_>]) -> Option<bool> {
        let mut is_clear = true;
        for fixed in fixed {
            match self.may_be(operation, fixed) {
                Some(true) => {}
                Some(false) => return Some(false),
                None => is_clear = false,
            }
        }
        is_clear.then_some(true)
    }

    /// Returns whether a text may stand for a parameter, or `None` if that is not decided.
    fn may_be(&self, operation: &Operation, fixed: &Fixed<'_>) -> Option<bool> {
        let parameter = if fixed.is_in_query {
            query_parameter(operation, fixed.name)
        } else {
            path_parameter(operation, fixed.name)
        };
        // A parameter that is not declared takes any text.
        let Some(parameter) = parameter else {
            return Some(true);
        };
        let asked = decoded(&fixed.text);
        let written = |value: &Value| {
            if fixed.is_in_query {
                let pairs = encoding::in_query(parameter, value)?;
                let [pair] = pairs.as_slice() else {
                    return None;
                };
                return Some(pair.split_once('=')?.1.to_owned());
            }
            encoding::in_path(parameter, value)
        };
        let mut is_unclear = false;
        for value in readings(parameter, &asked) {
            if written(&value).is_none_or(|written| decoded(&written) != asked) {
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

/// Returns the texts that a URL has in place of the parameters of an operation.
fn fixed<'o>(
    old: &'o Operation,
    path: &[Segment],
    query: &[&'o (String, String)],
) -> Option<Vec<Fixed<'o>>> {
    let mut out = Vec::new();
    for (parts, segment) in segments(old).iter().zip(path) {
        let captured = capture(parts, &segment.text)?;
        let captured = captured.into_iter().filter(|_| segment.is_fixed);
        out.extend(captured.map(|(name, text)| Fixed {
            name,
            text,
            is_in_query: false,
        }));
    }
    out.extend(query.iter().map(|(name, text)| Fixed {
        name,
        text: text.clone(),
        is_in_query: true,
    }));
    Some(out)
}

fn path_parameter<'o>(operation: &'o Operation, name: &str) -> Option<&'o Parameter> {
    let mut parameters = operation.parameters.iter();
    parameters.find(|one| one.location == Location::Path && one.name == name)
}

fn query_parameter<'o>(operation: &'o Operation, name: &str) -> Option<&'o Parameter> {
    let mut parameters = operation.parameters.iter();
    parameters
        .find(|one| one.location == Location::Query && !one.is_whole_query && one.name == name)
}

/// Returns a text as a pattern that matches it alone.
fn escaped(text: &str) -> String {
    let mut out = String::new();
    for character in text.chars() {
        if r"^$\.*+?()[]{}|/".contains(character) {
            out.push('\\');
        }
        out.push(character);
    }
    out
}

/// Returns the values that a text may stand for.
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

/// Returns an operation in which texts stand in place of parameters.
fn with_texts(operation: &Operation, fixed: &[Fixed<'_>]) -> Operation {
    let mut operation = operation.clone();
    for part in &mut operation.segments {
        let PathPart::Parameter(name) = &*part else {
            continue;
        };
        let text = fixed
            .iter()
            .find(|fixed| !fixed.is_in_query && fixed.name == name);
        if let Some(text) = text.map(|fixed| fixed.text.clone()) {
            *part = PathPart::Literal(text);
        }
    }
    for fixed in fixed.iter().filter(|fixed| fixed.is_in_query) {
        let is_other = |one: &Parameter| one.location != Location::Query || one.name != fixed.name;
        operation.parameters.retain(is_other);
        operation
            .query
            .push((fixed.name.to_owned(), fixed.text.clone()));
    }
    operation
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
