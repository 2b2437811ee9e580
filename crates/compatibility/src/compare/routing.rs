//! Routes requests as the generated server does, by the router of the run time.

use std::collections::HashMap;

use api_runtime::routing::{self, Found, Paths};
use contract::model::{Contract, Method, Operation, PathPart};

use super::encoding;

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
    let mut paths = Paths::default();
    for (at, one) in operations.iter().enumerate() {
        paths.add(&one.path, one.method.as_str(), at);
    }
    // The first segment is what is before the first slash: nothing.
    let path = request.segments.join("/");
    let pair = |(name, value): &(String, String)| {
        format!("{}={}", encoding::encoded(name), encoding::encoded(value))
    };
    let query: Vec<String> = request.query.iter().map(pair).collect();
    let query = query.join("&");
    match paths.find(request.method.as_str(), &path, Some(&query)) {
        Found::Route(at, _) => Routed::Operation(operations[at]),
        Found::OtherMethods(path) => match path.routes().min() {
            Some(first) => Routed::OtherMethods(operations[first]),
            None => Routed::Nowhere,
        },
        Found::Nothing => Routed::Nowhere,
    }
}

/// Returns the parameters of a segment with their texts, or `None` if a text does not match it.
pub(super) fn capture<'o>(parts: &[Part<'o>], text: &str) -> Option<Vec<(&'o str, String)>> {
    let written = |part: &Part<'_>| match part {
        Part::Text(text) => (*text).to_owned(),
        Part::Parameter(name) => format!("{{{name}}}"),
    };
    let template: String = parts.iter().map(written).collect();
    let texts = routing::segment(&template, text)?;
    let names = parts.iter().filter_map(|part| match part {
        Part::Text(_) => None,
        Part::Parameter(name) => Some(*name),
    });
    Some(names.zip(texts.into_iter().map(str::to_owned)).collect())
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
