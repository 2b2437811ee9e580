//! Finds the requests that a new path takes from a template, as `/pets/mine` does from `/pets/{id}`.

use contract::model::{
    Contract, Location, Method, Operation, Parameter, ParameterEncoding, PathPart, Style,
};
use percent_encoding::percent_decode_str;
use serde_json::{Value, json};

use super::operations::is_same;
use super::routing::{Part, Request, Routed, Router, capture, segments};
use super::{Comparison, Found, encoding};
use crate::containment::Text;
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

/// The segments of a URL, and the query that only the new operation asks for.
type Url<'o> = (Vec<Segment>, Vec<&'o (String, String)>);

/// URLs that two operations fit.
struct Urls<'o> {
    list: Vec<Url<'o>>,
    /// Whether it is certain that a segment has no other texts that matter.
    is_clear: bool,
}

impl Urls<'_> {
    fn is_empty(&self) -> bool {
        self.list.is_empty() && self.is_clear
    }
}

/// The text of a parameter that both paths have in the same place.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unchanged {
    /// An example.
    Usual,
    /// One that is no literal of another path, where requests with the usual one go elsewhere.
    Other,
}

/// What happens to requests with certain URLs.
enum Judged<'o> {
    /// They go elsewhere since the change, and these texts may be in them.
    Taken(Vec<Fixed<'o>>, String),
    /// The same, if these texts may be in them, which is not decided.
    Unclear(Vec<Fixed<'o>>, String),
    /// Nothing: no such request is allowed.
    Free,
    /// Nothing: they went to another operation before, or still go where they went.
    Elsewhere,
}

/// The texts of a segment.
struct Texts {
    list: Vec<Segment>,
    is_clear: bool,
}

/// A text for a segment of a URL.
#[derive(Clone)]
struct Segment {
    text: String,
    /// Whether another text may lead elsewhere.
    is_fixed: bool,
}

impl<'c> Comparison<'c> {
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
        let refused = format!("are refused now, since `{}` has no such method", new.path);
        let beside: Vec<&Operation> = self.routers().0.beside(new).collect();
        for old in beside {
            let urls = self.urls(old, new, Unchanged::Usual);
            // One that is gone is reported as gone.
            if urls.is_empty() || !revision.operations.iter().any(|kept| is_same(old, kept)) {
                continue;
            }
            let goes = |to: Routed<'_>| match to {
                Routed::Operation(to) if to.id == new.id => {
                    Some(format!("go to {} now", name(new)))
                }
                Routed::OtherMethods(to) if is_first && is_same_path(to, new) => {
                    Some(refused.clone())
                }
                Routed::Operation(_) | Routed::OtherMethods(_) | Routed::Nowhere => None,
            };
            let mut judged = self.judge_urls(old, urls.list, &goes);
            if let Judged::Elsewhere = judged {
                let others = self.urls(old, new, Unchanged::Other);
                judged = self.judge_urls(old, others.list, &goes);
            }
            match judged {
                Judged::Taken(fixed, what) => {
                    self.add_taken((old, name(old)), &fixed, new, (Kind::Breaking, &what));
                }
                Judged::Unclear(fixed, what) => {
                    self.add_taken((old, name(old)), &fixed, new, (Kind::Undecided, &what));
                }
                Judged::Free | Judged::Elsewhere if !urls.is_clear => {
                    let what = if old.method == new.method {
                        format!("go to {} now", name(new))
                    } else if is_first && !serves(revision, new, &old.method) {
                        refused.clone()
                    } else {
                        continue;
                    };
                    self.add_taken((old, name(old)), &[], new, (Kind::Undecided, &what));
                }
                Judged::Free | Judged::Elsewhere => {}
            }
        }
    }

    /// Returns the routers of both contracts, which are built once.
    fn routers(&self) -> &(Router<'c>, Router<'c>) {
        let routers = || (Router::new(self.base()), Router::new(self.revision()));
        self.routers.get_or_init(routers)
    }

    /// Returns what happens to the requests of an operation that have these URLs.
    fn judge_urls<'o>(
        &self,
        old: &'o Operation,
        urls: Vec<Url<'o>>,
        goes: &dyn Fn(Routed<'_>) -> Option<String>,
    ) -> Judged<'o> {
        let (before, after) = self.routers();
        let mut judged = Judged::Free;
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
            let went = matches!(before.route(&request), Routed::Operation(to) if is_same(to, old));
            let routed = after.route(&request);
            let is_kept = matches!(&routed, Routed::Operation(to) if is_same(old, to));
            let what = goes(routed).filter(|_| went);
            let Some(what) = what else {
                if let (Judged::Free, false) = (&judged, went && is_kept) {
                    judged = Judged::Elsewhere;
                }
                continue;
            };
            let Some(fixed) = fixed(old, &path, &query) else {
                continue;
            };
            match self.all_may_be(old, &fixed) {
                Some(true) => return Judged::Taken(fixed, what),
                Some(false) => {}
                None => judged = Judged::Unclear(fixed, what),
            }
        }
        judged
    }

    /// Returns URLs that both operations fit.
    fn urls<'o>(&self, old: &'o Operation, new: &'o Operation, unchanged: Unchanged) -> Urls<'o> {
        let mut found = Urls {
            list: Vec::new(),
            is_clear: true,
        };
        // A request has the query of a path only if its operation knows these parameters.
        let is_known = |(name, _): &&(String, String)| query_parameter(old, name).is_some();
        let query = new.query.iter().filter(|pair| !old.query.contains(pair));
        let query: Vec<&(String, String)> = query.collect();
        let (ones, others) = (segments(old), segments(new));
        if ones.len() != others.len() || !query.iter().all(is_known) {
            return found;
        }
        let mut urls = vec![Vec::new()];
        let mut is_clear = true;
        for (at, (one, other)) in ones.iter().zip(&others).enumerate() {
            let mut texts = self.texts((old, one), (new, other));
            if let (Unchanged::Other, [Part::Parameter(name)], [Part::Parameter(_)]) =
                (unchanged, one.as_slice(), other.as_slice())
            {
                texts.list.extend(self.other_text(old, name, at));
            }
            // Where nothing is known of a segment, nothing may fit the others all the same.
            if texts.list.is_empty() && texts.is_clear {
                return found;
            }
            is_clear &= texts.is_clear;
            let longer = urls.iter().flat_map(|url: &Vec<Segment>| {
                texts
                    .list
                    .iter()
                    .map(|text| [url.as_slice(), std::slice::from_ref(text)].concat())
            });
            urls = longer.take(MOST_URLS).collect();
        }
        found.list = urls.into_iter().map(|url| (url, query.clone())).collect();
        found.is_clear = is_clear;
        found
    }

    /// Returns a text of a parameter that is no literal of any path in its place.
    fn other_text(&self, operation: &Operation, name: &str, at: usize) -> Option<Segment> {
        let parameter = path_parameter(operation, name)?;
        let mut excluded = vec![json!("")];
        for one in self
            .base()
            .operations
            .iter()
            .chain(&self.revision().operations)
        {
            if let Some([Part::Text(text)]) = segments(one).get(at).map(Vec::as_slice) {
                excluded.extend(readings(parameter, text));
            }
        }
        let value = self
            .context
            .other_example(Side::Base, parameter.schema, excluded)?;
        let text = encoding::in_path(parameter, &value)?;
        Some(Segment {
            text,
            is_fixed: true,
        })
    }

    /// Returns texts that two segments match.
    fn texts(
        &self,
        (old, one): (&Operation, &[Part<'_>]),
        (new, other): (&Operation, &[Part<'_>]),
    ) -> Texts {
        let text = |parts: &[Part<'_>]| match parts {
            [] => Some(String::new()),
            [Part::Text(text)] => Some((*text).to_owned()),
            _ => None,
        };
        let is_fixed = one != other;
        let mut is_clear = true;
        let mut found: Vec<String> = text(one).into_iter().chain(text(other)).collect();
        if found.is_empty() {
            if let ([Part::Parameter(name)], true) = (one, is_fixed) {
                match self.matching(old, name, other) {
                    Text::Found(text) => found.push(text),
                    Text::Nothing => {}
                    Text::Unclear => is_clear = false,
                }
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
        let list = found.into_iter().map(|text| Segment { text, is_fixed });
        Texts {
            list: list.collect(),
            is_clear,
        }
    }

    /// Returns a text that a parameter alone may have, and that a segment of text and parameters matches.
    fn matching(&self, operation: &Operation, name: &str, parts: &[Part<'_>]) -> Text {
        // One that is not declared may have any text, such as those that are tried anyway.
        let Some(parameter) = path_parameter(operation, name) else {
            return Text::Nothing;
        };
        let ParameterEncoding::Style {
            style: Style::Simple,
            ..
        } = &parameter.encoding
        else {
            return Text::Unclear;
        };
        let pattern = |any: &str| {
            let part = |part: &Part<'_>| match part {
                Part::Text(text) => escaped(text),
                Part::Parameter(_) => any.to_owned(),
            };
            format!("^{}$", parts.iter().map(part).collect::<String>())
        };
        // Plain characters first, since a witness shows them.
        let mut result = Text::Nothing;
        for any in ["[0-9A-Za-z_-]+", r"[\s\S]+"] {
            result = self
                .context
                .text_like(Side::Base, parameter.schema, &pattern(any));
            if let Text::Found(_) = result {
                break;
            }
        }
        let Text::Found(found) = result else {
            return result;
        };
        // The text of the template stands in a URL as it is, and only values are encoded.
        let Some(values) = capture(parts, &found) else {
            return Text::Unclear;
        };
        let mut values = values.into_iter();
        let mut out = String::new();
        for part in parts {
            match part {
                Part::Text(text) => out.push_str(text),
                Part::Parameter(_) => {
                    let text = values.next().map(|(_, text)| encoding::encoded(&text));
                    out.push_str(&text.unwrap_or_default());
                }
            }
        }
        Text::Found(out)
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
        let mut requests = format!("requests of {old_name}");
        if !values.is_empty() {
            requests.push_str(&format!(" with {}", values.join(" and ")));
        }
        let message = if kind == Kind::Breaking {
            format!("{requests} {what}")
        } else {
            format!(
                "not decided, because of the schema of the parameter: whether {requests} {what}"
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

/// Returns whether the path of an operation, with the same query, has a method.
fn serves(contract: &Contract, operation: &Operation, method: &Method) -> bool {
    contract.operations.iter().any(|one| {
        is_same_path(one, operation)
            && one.query == operation.query
            && (one.method == *method || *method == Method::Head && one.method == Method::Get)
    })
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
