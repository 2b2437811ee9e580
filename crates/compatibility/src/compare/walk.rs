//! Compares two schemas and their parts, so that each change is found where it was made.
//!
//! A pair of schemas that several operations use is compared once. A change that the parts explain
//! is reported at the parts: a pair has a finding of its own only if it is not contained even when
//! its parts are taken to be.

mod found;
mod meaning;
mod properties;
mod renamed;
mod report;

use std::collections::{HashMap, HashSet};

use contract::model::SchemaId;
use contract::source::Span;
use serde_json::Value;

use super::shape::{Parts, pairs};
use super::{Comparison, Flow, Found};
use crate::containment::{Containment, Question};
use crate::finding::Kind;
use crate::pair::{Class, Side};

/// The comparisons of pairs of schemas so far.
#[derive(Default)]
pub(super) struct Walks {
    nodes: Vec<Node>,
    known: HashMap<Key, usize>,
    roots: Vec<Root>,
    /// The number of pairs that are being judged, each a part of the one before.
    depth: usize,
}

/// The deepest nesting of pairs of schemas that are judged by their parts.
const MOST_DEPTH: usize = 250;

/// A pair of schemas, and what was found there.
struct Node {
    key: Key,
    parts: Vec<usize>,
    found: Vec<Found>,
    /// Whether values that are sent are not accepted, because of this pair and not of its parts.
    is_broken: bool,
    /// Whether the pair is being judged and is not contained. A part that leads back to it takes it
    /// to be contained, since the cause is elsewhere on the way.
    is_doubted: bool,
    /// The value that shows it.
    value: Option<Value>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Key {
    base: SchemaId,
    revision: SchemaId,
    flow: Flow,
    concern: Concern,
}

impl Key {
    /// Returns the comparison in which the other contract sends.
    fn back(self) -> Self {
        Self {
            flow: Flow {
                sender: self.flow.sender.other(),
                ..self.flow
            },
            ..self
        }
    }
}

/// What matters about a pair of schemas.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Concern {
    /// Whether every value that is sent is accepted.
    Breaks,
    /// Whether more is accepted than before, or less is sent. The whole is contained, so what its
    /// parts accept breaks nobody.
    Widens,
    /// Only which properties there are. The whole means the same in both contracts.
    Properties,
}

/// A place in an operation at which two schemas are compared.
struct Root {
    node: usize,
    /// The index of the operation.
    operation: usize,
    place: Place,
}

/// The part of a message that a schema describes.
#[derive(Debug, Clone)]
pub(super) enum Place {
    /// The request body with this media type.
    RequestBody(String),
    /// The parameter with this index in the operation before the change.
    Parameter(usize),
    /// The body of the response with this status and media type.
    ResponseBody(String, String),
    /// The header of the response with this status.
    Header(String, String),
    /// A header of a part of a multipart body.
    PartHeader(Box<PartHeader>),
}

/// A header of a part of a request body, and a body that has the part.
#[derive(Debug, Clone)]
pub(super) struct PartHeader {
    pub(super) media: String,
    pub(super) way: Vec<super::forms::Key>,
    pub(super) header: contract::model::Parameter,
    pub(super) body: Option<Value>,
}

impl Comparison<'_> {
    /// Compares two schemas at a place of an operation.
    pub(super) fn schemas(
        &mut self,
        operation: usize,
        place: Place,
        base: SchemaId,
        revision: SchemaId,
        flow: Flow,
    ) {
        let key = Key {
            base,
            revision,
            flow,
            concern: Concern::Breaks,
        };
        if let Some(node) = self.walk(key) {
            self.walks.roots.push(Root {
                node,
                operation,
                place,
            });
        }
    }

    /// Compares two schemas; returns `None` if they are of the same class.
    fn walk(&mut self, key: Key) -> Option<usize> {
        let pair = &self.context.pair;
        if pair.class(Side::Base, key.base) == pair.class(Side::Revision, key.revision) {
            return None;
        }
        if let Some(known) = self.walks.known.get(&key) {
            return Some(*known);
        }
        let index = self.walks.nodes.len();
        // Known before it is judged, so that a schema that contains itself leads back here.
        self.walks.known.insert(key, index);
        self.walks.nodes.push(Node {
            key,
            parts: Vec::new(),
            found: Vec::new(),
            is_broken: false,
            is_doubted: false,
            value: None,
        });
        let end = Key {
            base: pair.end(Side::Base, key.base),
            revision: pair.end(Side::Revision, key.revision),
            ..key
        };
        // Where references lead to, a pair is the same for everyone who refers to it.
        if end != key {
            let part = self.walk(end);
            self.walks.nodes[index].parts.extend(part);
            return Some(index);
        }
        if self.walks.depth >= MOST_DEPTH {
            let found = self.undecided(key, "schemas that nest deeply", 0);
            self.walks.nodes[index].found.push(found);
            // So that the pairs around this one are not reported for the same reason.
            self.walks.nodes[index].is_broken = key.concern == Concern::Breaks;
            return Some(index);
        }
        let changed = [
            self.defaults(key),
            self.annotations(key),
            self.discriminator(key),
        ];
        let found = changed.into_iter().flatten();
        self.walks.nodes[index].found.extend(found);
        self.walks.depth += 1;
        self.judge(index, key);
        self.walks.depth -= 1;
        Some(index)
    }

    fn judge(&mut self, index: usize, key: Key) {
        let none = HashSet::new();
        let whole = self.contain(key, &none);
        let is_contained = whole == Containment::Contained;
        // Whether anything has become wider matters only where nothing breaks.
        let back = is_contained.then(|| self.contain(key.back(), &none));
        let concern = match (&back, key.concern) {
            (None, concern) => concern,
            (Some(_), Concern::Properties) | (Some(Containment::Contained), _) => {
                Concern::Properties
            }
            (Some(_), _) => Concern::Widens,
        };
        let parts = pairs(&self.context, key.base, key.revision);
        self.walks.nodes[index].is_doubted = !is_contained && key.concern == Concern::Breaks;
        let mut assumed = HashSet::new();
        let mut proven = HashSet::new();
        for Parts {
            base,
            revision,
            step,
        } in parts
        {
            let part = Key {
                base,
                revision,
                concern,
                flow: key.flow.of_part(step),
            };
            let Some(node) = self.walk(part) else {
                continue;
            };
            self.walks.nodes[index].parts.push(node);
            if self.is_broken(node) {
                assumed.insert(self.classes(part));
            } else if concern == Concern::Breaks {
                proven.insert(self.classes(part));
            }
        }
        self.walks.nodes[index].is_doubted = false;
        // A part of the same classes as the whole would otherwise explain the whole by itself.
        assumed.remove(&self.classes(key));
        proven.remove(&self.classes(key));
        // Before `widened`, which is silent where these say something.
        let removed = self.properties(key, is_contained);
        self.walks.nodes[index].found.extend(removed);
        let listed = self.enumeration(key);
        self.walks.nodes[index].found.extend(listed);
        if let (Some(Containment::Broken(value)), Concern::Widens) = (back, concern) {
            let widened = self.widened(index, key, &value);
            self.walks.nodes[index].found.extend(widened);
        }
        if is_contained || key.concern != Concern::Breaks {
            return;
        }
        // Asked again with the broken parts taken to be contained. What is still broken then is the
        // pair's own fault.
        let is_undecided = matches!(whole, Containment::Undecided { .. });
        let rest = if assumed.is_empty() && (proven.is_empty() || !is_undecided) {
            whole
        } else {
            // What is known of the parts need not be found out again, in all combinations of the
            // branches of a union.
            assumed.extend(proven);
            self.contain(key, &assumed)
        };
        let found = match rest {
            Containment::Contained => return,
            Containment::Broken(value) => {
                let found = self.broken(key);
                self.walks.nodes[index].value = Some(value);
                found
            }
            Containment::Undecided { why, agreed } => self.undecided(key, why, agreed),
        };
        let node = &mut self.walks.nodes[index];
        node.is_broken = true;
        node.found.push(found);
    }

    /// Returns whether a pair or one of its parts is not contained.
    fn is_broken(&self, node: usize) -> bool {
        self.any(node, None, |node| node.is_broken || node.is_doubted)
    }

    /// Returns whether a pair or one of its parts, except one, is of a kind.
    fn any(&self, node: usize, except: Option<usize>, is_one: impl Fn(&Node) -> bool) -> bool {
        let mut seen: HashSet<usize> = except.into_iter().collect();
        let mut pending = vec![node];
        while let Some(node) = pending.pop() {
            if seen.insert(node) {
                let node = &self.walks.nodes[node];
                if is_one(node) {
                    return true;
                }
                pending.extend(&node.parts);
            }
        }
        false
    }

    fn contain(&self, key: Key, assumed: &HashSet<(Class, Class)>) -> Containment {
        let (sent, received) = match key.flow.sender {
            Side::Base => (key.base, key.revision),
            Side::Revision => (key.revision, key.base),
        };
        self.context.contain(&Question {
            sender: key.flow.sender,
            sent,
            received,
            reading: key.flow.reading,
            carrier: key.flow.carrier,
            assumed,
        })
    }

    fn classes(&self, key: Key) -> (Class, Class) {
        let base = self.context.pair.class(Side::Base, key.base);
        let revision = self.context.pair.class(Side::Revision, key.revision);
        match key.flow.sender {
            Side::Base => (base, revision),
            Side::Revision => (revision, base),
        }
    }

    fn spans(&self, base: SchemaId, revision: SchemaId) -> (Option<Span>, Option<Span>) {
        (
            Some(self.base().schema(base).span),
            Some(self.revision().schema(revision).span),
        )
    }

    fn found(&self, key: Key, kind: Kind, rule: &'static str, message: String) -> Found {
        let (base, revision) = self.spans(key.base, key.revision);
        Found {
            kind,
            rule,
            message,
            base,
            revision,
            witness: None,
        }
    }
}
