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

/// The operations of a contract, as the generated server finds them.
pub(super) struct Router<'o> {
    paths: Paths,
    /// In the order of the router.
    operations: Vec<&'o Operation>,
    /// By the number of the segments of their paths, in the order of the document.
    by_length: HashMap<usize, Vec<Template<'o>>>,
}

/// An operation with the segments of its path.
pub(super) struct Template<'o> {
    pub(super) operation: &'o Operation,
    segments: Vec<Vec<Part<'o>>>,
}

impl<'o> Router<'o> {
    pub(super) fn new(contract: &'o Contract) -> Self {
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
        let mut by_length: HashMap<usize, Vec<Template<'o>>> = HashMap::new();
        for operation in &contract.operations {
            let segments = segments(operation);
            let alike = by_length.entry(segments.len()).or_default();
            alike.push(Template {
                operation,
                segments,
            });
        }
        Self {
            paths,
            operations,
            by_length,
        }
    }

    /// Returns the operations with paths that a request for this path may fit as well.
    pub(super) fn beside(&self, operation: &Operation) -> impl Iterator<Item = &'o Operation> {
        let own = segments(operation);
        let alike = self.by_length.get(&own.len());
        alike
            .into_iter()
            .flatten()
            .filter(move |one| may_meet(&one.segments, &own))
            .map(|one| one.operation)
    }

    /// Returns where a request goes.
    pub(super) fn route(&self, request: &Request<'_>) -> Routed<'o> {
        // The first segment is what is before the first slash: nothing.
        let path = request.segments.join("/");
        let pair = |(name, value): &(String, String)| {
            format!("{}={}", encoding::encoded(name), encoding::encoded(value))
        };
        let query: Vec<String> = request.query.iter().map(pair).collect();
        let query = query.join("&");
        match self
            .paths
            .find(request.method.as_str(), &path, Some(&query))
        {
            Found::Route(at, _) => Routed::Operation(self.operations[at]),
            Found::OtherMethods(path) => match path.routes().min() {
                Some(first) => Routed::OtherMethods(self.operations[first]),
                None => Routed::Nowhere,
            },
            Found::Nothing => Routed::Nowhere,
        }
    }
}

/// Returns whether a path may match both templates, by their plain text.
fn may_meet(ones: &[Vec<Part<'_>>], others: &[Vec<Part<'_>>]) -> bool {
    ones.iter()
        .zip(others)
        .all(|pair| match (pair.0.as_slice(), pair.1.as_slice()) {
            // Text may be encoded in more than one way.
            ([Part::Text(one)], [Part::Text(other)]) => {
                one == other || one.contains('%') || other.contains('%')
            }
            _ => true,
        })
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
