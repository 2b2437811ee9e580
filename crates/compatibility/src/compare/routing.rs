//! Routes requests as the generated server does (`api_runtime`'s path templates): text in a segment
//! counts before a mixture of text and parameters, that before a parameter alone; of several mixtures
//! the one with the most text; and a path that asks for a query before the same one that does not.

use std::cmp::Reverse;
use std::collections::HashMap;

use contract::model::{Contract, Method, Operation, PathPart};
use percent_encoding::percent_decode_str;

/// A part of a segment of a path.
#[derive(Debug, Clone, Copy)]
pub(super) enum Part<'o> {
    Text(&'o str),
    /// A parameter with this name.
    Parameter(&'o str),
}

/// Names do not matter: two templates that differ only in them are one path.
impl PartialEq for Part<'_> {
    fn eq(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Text(one), Self::Text(other)) => one == other,
            (Self::Parameter(_), Self::Parameter(_)) => true,
            _ => false,
        }
    }
}

/// A request, as a router sees it.
pub(super) struct Request<'r> {
    pub(super) method: &'r Method,
    /// The segments of the path, as the URL has them.
    pub(super) segments: &'r [String],
    pub(super) query: &'r [(String, String)],
}

/// Where a request goes.
pub(super) enum Routed<'o> {
    Operation(&'o Operation),
    /// To a path without the method, one of whose operations is this.
    OtherMethods(&'o Operation),
    Nowhere,
}

/// How early a router tries a segment of a template: the kind, the length of its text, and the place
/// among the operations.
type Rank = (u8, Reverse<usize>, usize);

/// Returns where a request goes.
pub(super) fn route<'o>(contract: &'o Contract, request: &Request<'_>) -> Routed<'o> {
    // The router has the operations of one tag after those of another, and those without a tag last.
    let tags: HashMap<&str, usize> = contract
        .tags
        .iter()
        .enumerate()
        .map(|(at, tag)| (tag.name.as_str(), at))
        .collect();
    let mut operations: Vec<&Operation> = contract.operations.iter().collect();
    operations.sort_by_key(|one| {
        one.tag()
            .and_then(|tag| tags.get(tag))
            .copied()
            .unwrap_or(usize::MAX)
    });
    let all: Vec<Vec<Vec<Part<'o>>>> = operations.iter().map(|one| segments(one)).collect();
    // The paths that fit the URL, each with its operations.
    let mut nodes: Vec<(Vec<Rank>, usize, Vec<&'o Operation>)> = Vec::new();
    for (at, template) in all.iter().enumerate() {
        if !fits(template, request.segments) {
            continue;
        }
        match nodes
            .iter_mut()
            .find(|(_, first, _)| all[*first] == *template)
        {
            Some((_, _, here)) => here.push(operations[at]),
            None => nodes.push((ranks(&all, template), at, vec![operations[at]])),
        }
    }
    nodes.sort_by(|(one, ..), (other, ..)| one.cmp(other));
    let takes = |one: &Operation| one.query.iter().all(|pair| request.query.contains(pair));
    let found = |here: &[&'o Operation], method: &Method| {
        let mut served: Vec<&Operation> = here.to_vec();
        served.retain(|one| one.method == *method && takes(one));
        served.sort_by_key(|one| Reverse(one.query.len()));
        served.first().copied()
    };
    let served = |here: &[&'o Operation]| {
        let by_get = || (*request.method == Method::Head).then(|| found(here, &Method::Get));
        found(here, request.method).or_else(|| by_get().flatten())
    };
    let has_method = |here: &[&'o Operation]| {
        here.iter().any(|one| {
            one.method == *request.method
                || *request.method == Method::Head && one.method == Method::Get
        })
    };
    let is_for = |here: &[&'o Operation]| {
        served(here).is_some() || !has_method(here) && here.iter().any(|one| takes(one))
    };
    let mut fitting = nodes.iter().filter(|(_, _, here)| is_for(here));
    let Some((_, _, here)) = fitting.next().or(nodes.first()) else {
        return Routed::Nowhere;
    };
    match (served(here), here.first()) {
        (Some(operation), _) => Routed::Operation(operation),
        (None, Some(first)) if !has_method(here) => Routed::OtherMethods(first),
        (None, _) => Routed::Nowhere,
    }
}

/// Returns how early each segment of a template is tried.
fn ranks(all: &[Vec<Vec<Part<'_>>>], template: &[Vec<Part<'_>>]) -> Vec<Rank> {
    let rank = |(at, segment): (usize, &Vec<Part<'_>>)| match segment.as_slice() {
        [] | [Part::Text(_)] => (0, Reverse(0), 0),
        [Part::Parameter(_)] => (2, Reverse(0), 0),
        parts => {
            let start = &template[..=at];
            let first = all.iter().position(|other| other.starts_with(start));
            (1, Reverse(written_out(parts)), first.unwrap_or_default())
        }
    };
    template.iter().enumerate().map(rank).collect()
}

/// Returns the length of the text in a segment.
fn written_out(parts: &[Part<'_>]) -> usize {
    let length = |part: &Part<'_>| match part {
        Part::Text(text) => text.len(),
        Part::Parameter(_) => 0,
    };
    parts.iter().map(length).sum()
}

fn fits(template: &[Vec<Part<'_>>], segments: &[String]) -> bool {
    let pairs = || template.iter().zip(segments);
    template.len() == segments.len() && pairs().all(|(parts, text)| capture(parts, text).is_some())
}

/// Returns the parameters of a segment with their texts, or `None` if a text does not match it. A
/// parameter has at least one character, and as few as possible; text at the end ends the segment.
pub(super) fn capture<'o>(parts: &[Part<'o>], text: &str) -> Option<Vec<(&'o str, String)>> {
    match parts {
        [] => return text.is_empty().then(Vec::new),
        [Part::Text(literal)] => {
            let decoded = |text: &str| percent_decode_str(text).decode_utf8_lossy().into_owned();
            let is_same = *literal == text || decoded(literal) == decoded(text);
            return is_same.then(Vec::new);
        }
        _ => {}
    }
    let mut captures = Vec::new();
    let mut rest = text;
    for (at, part) in parts.iter().enumerate() {
        let name = match part {
            Part::Text(literal) => {
                rest = rest.strip_prefix(literal)?;
                continue;
            }
            Part::Parameter(name) => *name,
        };
        let least = rest.chars().next()?.len_utf8();
        let length = match &parts[at + 1..] {
            [] => rest.len(),
            [Part::Parameter(_), ..] => least,
            [Part::Text(end)] => least + rest[least..].strip_suffix(end)?.len(),
            [Part::Text(next), ..] => least + rest[least..].find(next)?,
        };
        captures.push((name, rest[..length].to_owned()));
        rest = &rest[length..];
    }
    rest.is_empty().then_some(captures)
}

/// Returns the segments of a path, each with its parts.
pub(super) fn segments(operation: &Operation) -> Vec<Vec<Part<'_>>> {
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
