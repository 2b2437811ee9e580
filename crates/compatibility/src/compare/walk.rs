//! Compares two schemas and their parts, so that each change is found where it was made.
//!
//! A pair of schemas that several operations use is compared once. A change that the parts explain
//! is reported at the parts: a pair has a finding of its own only if it is not contained even when
//! its parts are taken to be.

use std::collections::{BTreeSet, HashMap, HashSet};

use contract::model::{Contract, Keywords, SchemaId, SchemaKind};
use contract::source::Span;
use serde_json::Value;

use super::shape::{Declared, pairs};
use super::{Comparison, Flow, Found, describe};
use crate::containment::{Containment, Question};
use crate::finding::{Finding, Kind, Witness};
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
            self.walks.nodes[index].is_broken = key.concern == Concern::Breaks;
            return Some(index);
        }
        let changed = self.defaults(key).into_iter().chain(self.annotations(key));
        self.walks.nodes[index].found.extend(changed);
        self.walks.depth += 1;
        self.judge(index, key);
        self.walks.depth -= 1;
        Some(index)
    }

    fn judge(&mut self, index: usize, key: Key) {
        let none = HashSet::new();
        let whole = self.contain(key, &none);
        let is_contained = whole == Containment::Contained;
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
        for (base, revision) in parts {
            let part = Key {
                base,
                revision,
                concern,
                ..key
            };
            let Some(node) = self.walk(part) else {
                continue;
            };
            self.walks.nodes[index].parts.push(node);
            if self.is_broken(node) {
                assumed.insert(self.classes(part));
            }
        }
        self.walks.nodes[index].is_doubted = false;
        assumed.remove(&self.classes(key));
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
        let rest = if assumed.is_empty() {
            whole
        } else {
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

    /// Returns the name of the schema and what has changed in it.
    fn words(&self, key: Key) -> (String, String) {
        let (base, revision) = (self.base(), self.revision());
        (
            describe::name(revision, key.revision),
            describe::changes(base, key.base, revision, key.revision),
        )
    }

    fn broken(&self, key: Key) -> Found {
        let (name, changes) = self.words(key);
        let (rule, what) = if key.flow.is_to_api() {
            ("request-narrowed", "what could be sent is refused")
        } else {
            (
                "response-widened",
                "clients may get what they do not expect",
            )
        };
        self.found(
            key,
            Kind::Breaking,
            rule,
            format!("{name}: {what}: {changes}"),
        )
    }

    fn undecided(&self, key: Key, why: &str, agreed: usize) -> Found {
        let (name, changes) = self.words(key);
        let tried = match agreed {
            0 => "no generated value could be tried".to_owned(),
            1 => "1 generated value agrees".to_owned(),
            _ => format!("{agreed} generated values agree"),
        };
        let message = format!("{name}: not decided, because of {why}; {tried}: {changes}");
        self.found(key, Kind::Undecided, "undecided", message)
    }

    /// Returns a finding if an extensible enumeration of responses lists other values. Clients accept
    /// unknown ones, so the search does not see this.
    fn enumeration(&self, key: Key) -> Option<Found> {
        let listed = |contract: &Contract, id: SchemaId| match &contract.schema(id).kind {
            SchemaKind::Object(keywords) if keywords.extensible => keywords.enumeration.clone(),
            _ => None,
        };
        let one = listed(self.base(), key.base)?;
        let other = listed(self.revision(), key.revision)?;
        let is_same = one.len() == other.len() && one.iter().all(|value| other.contains(value));
        if key.flow.is_to_api() || is_same {
            return None;
        }
        let (name, changes) = self.words(key);
        let message = format!("{name}: responses have other values: {changes}");
        Some(self.found(key, Kind::Compatible, "response-values-changed", message))
    }

    /// Returns a finding if more values are accepted, or fewer are sent, and no part says so.
    fn widened(&self, index: usize, key: Key, value: &Value) -> Option<Found> {
        let mut parts = self.walks.nodes[index].parts.iter();
        let is_said = parts.any(|part| self.any(*part, Some(index), |node| !node.found.is_empty()));
        if is_said || !self.walks.nodes[index].found.is_empty() {
            return None;
        }
        let (name, changes) = self.words(key);
        let (rule, what) = if key.flow.is_to_api() {
            ("request-widened", "more is accepted")
        } else {
            ("response-narrowed", "less is sent")
        };
        let found = self.found(
            key,
            Kind::Compatible,
            rule,
            format!("{name}: {what}: {changes}"),
        );
        Some(Found {
            witness: Some(Witness::Value(value.to_string())),
            ..found
        })
    }

    /// Returns findings about properties that only one of two schemas has.
    fn properties(&self, key: Key, is_contained: bool) -> Vec<Found> {
        let (old, new) = (self.base(), self.revision());
        let (one, other) = (Declared::of(old, key.base), Declared::of(new, key.revision));
        let name = describe::name(new, key.revision);
        let is_to_api = key.flow.is_to_api();
        let mut out = Vec::new();
        for (property, ids) in &one.properties {
            let span = ids.first().map(|id| old.schema(*id).span);
            let Some(others) = other.properties.get(property) else {
                let found = Found {
                    base: span,
                    ..self.found(key, Kind::InformationRemoved, "", String::new())
                };
                // A closed schema refuses the property, and a required one is missed: both are
                // found by the search.
                let is_known = !other.properties.is_empty() || !other.is_open;
                if is_to_api && !other.is_closed && is_known {
                    out.push(Found {
                        rule: "request-property-removed",
                        message: format!("{name}: the property `{property}` is no longer read"),
                        ..found
                    });
                } else if !is_to_api && !one.required.contains(property) {
                    out.push(Found {
                        rule: "response-property-removed",
                        message: format!("{name}: the property `{property}` is no longer sent"),
                        ..found
                    });
                }
                continue;
            };
            let becomes = |is_one: &dyn Fn(&Keywords) -> bool| {
                others.iter().any(|id| is_marked(new, *id, is_one))
                    && !ids.iter().any(|id| is_marked(old, *id, is_one))
            };
            // The search misses a required property that is no longer sent.
            let is_optional =
                !one.required.contains(property) && !other.required.contains(property);
            if !is_to_api && is_optional && becomes(&|keywords| keywords.write_only) {
                out.push(Found {
                    base: span,
                    revision: others.first().map(|id| new.schema(*id).span),
                    ..self.found(
                        key,
                        Kind::InformationRemoved,
                        "response-property-removed",
                        format!("{name}: the property `{property}` is no longer sent"),
                    )
                });
            }
            if is_to_api && becomes(&|keywords| keywords.read_only) {
                let message = format!("{name}: the property `{property}` has become read-only");
                out.push(Found {
                    base: span,
                    revision: others.first().map(|id| new.schema(*id).span),
                    ..self.found(
                        key,
                        Kind::PropertyBecameReadOnly,
                        "property-became-read-only",
                        message,
                    )
                });
            }
        }
        if !is_contained {
            return out;
        }
        for (property, ids) in &other.properties {
            if one.properties.contains_key(property) || one.properties.is_empty() {
                continue;
            }
            let (rule, what) = if is_to_api {
                ("request-property-added", "can be sent")
            } else {
                ("response-property-added", "is sent")
            };
            let message = format!("{name}: the new property `{property}` {what}");
            out.push(Found {
                revision: ids.first().map(|id| new.schema(*id).span),
                ..self.found(key, Kind::Compatible, rule, message)
            });
        }
        out
    }

    /// Returns a finding if what is meant by leaving a value out of a request has changed.
    fn defaults(&self, key: Key) -> Option<Found> {
        if !key.flow.is_to_api() {
            return None;
        }
        let one = effective_default(self.base(), key.base, 0);
        let other = effective_default(self.revision(), key.revision, 0);
        if one == other || self.is_default_of_parts(key) {
            return None;
        }
        let name = describe::name(self.revision(), key.revision);
        let shown =
            |value: Option<Value>| value.map_or("none".to_owned(), |value| format!("`{value}`"));
        let message = format!(
            "{name}: leaving it out means something else: the default is {} instead of {}",
            shown(other),
            shown(one)
        );
        Some(self.found(key, Kind::MeaningChanged, "default-changed", message))
    }

    /// Returns whether the defaults of both schemas are those of parts that are compared as well.
    fn is_default_of_parts(&self, key: Key) -> bool {
        let (SchemaKind::Object(one), SchemaKind::Object(other)) = (
            &self.base().schema(key.base).kind,
            &self.revision().schema(key.revision).kind,
        ) else {
            return false;
        };
        let is_own = one.default.is_some() || other.default.is_some();
        let has_pair = one.reference.is_some() && other.reference.is_some()
            || one.all_of.len() == 1 && other.all_of.len() == 1;
        !is_own && has_pair
    }

    /// Returns a finding if the schemas say differently how a value is to be read.
    fn annotations(&self, key: Key) -> Option<Found> {
        let said = |contract: &Contract, id: SchemaId| match &contract.schema(id).kind {
            SchemaKind::Object(keywords) => [
                keywords.content_encoding.clone(),
                keywords.content_media_type.clone(),
                self.unasserted(keywords),
            ],
            SchemaKind::Bool(_) => Default::default(),
        };
        let one = said(self.base(), key.base);
        let other = said(self.revision(), key.revision);
        let shown = |value: &Option<String>| match value {
            Some(value) => format!("`{value}`"),
            None => "none".to_owned(),
        };
        let rows = ["contentEncoding", "contentMediaType", "format"]
            .into_iter()
            .zip(one.iter().zip(&other));
        let changes: Vec<String> = rows
            .filter(|(_, (one, other))| one != other)
            .map(|(keyword, (one, other))| {
                format!("`{keyword}` is {} instead of {}", shown(other), shown(one))
            })
            .collect();
        if changes.is_empty() {
            return None;
        }
        let name = describe::name(self.revision(), key.revision);
        let message = format!(
            "{name}: the same value means something else: {}",
            changes.join(", ")
        );
        Some(self.found(key, Kind::MeaningChanged, "content-changed", message))
    }

    /// Returns the format of a schema, if the search does not see it.
    fn unasserted(&self, keywords: &Keywords) -> Option<String> {
        let format = keywords.format.as_ref()?;
        let is_seen = format == "password"
            || contract::format::integer_range(format).is_some()
            || self.context.is_asserted(format);
        (!is_seen).then(|| format.clone())
    }

    /// Returns the findings of all pairs, each with the operations that it reaches and a message
    /// that shows it.
    pub(super) fn schema_findings(&mut self) -> Vec<Finding> {
        let mut reached: HashMap<usize, Vec<usize>> = HashMap::new();
        for (index, root) in self.walks.roots.iter().enumerate() {
            let mut seen = HashSet::new();
            let mut pending = vec![root.node];
            while let Some(node) = pending.pop() {
                if seen.insert(node) {
                    pending.extend(&self.walks.nodes[node].parts);
                    if !self.walks.nodes[node].found.is_empty() {
                        reached.entry(node).or_default().push(index);
                    }
                }
            }
        }
        let mut findings: Vec<Finding> = Vec::new();
        for (index, node) in self.walks.nodes.iter().enumerate() {
            let Some(roots) = reached.get(&index) else {
                continue;
            };
            let operations: BTreeSet<String> = roots
                .iter()
                .map(|root| self.pairs[self.walks.roots[*root].operation].name.clone())
                .collect();
            for found in &node.found {
                // The same pair can be compared for several concerns.
                let known = findings.iter_mut().find(|known| {
                    known.rule == found.rule
                        && known.message == found.message
                        && (known.base, known.revision) == (found.base, found.revision)
                });
                if let Some(known) = known {
                    known.operations.extend(operations.iter().cloned());
                    continue;
                }
                let witness = match (&found.witness, &node.value) {
                    (Some(witness), _) => Some(witness.clone()),
                    (None, Some(value)) if found.kind == Kind::Breaking => {
                        Some(self.witness(node.key, roots, value))
                    }
                    _ => None,
                };
                findings.push(Finding {
                    kind: found.kind,
                    rule: found.rule,
                    message: found.message.clone(),
                    base: found.base,
                    revision: found.revision,
                    operations: operations.iter().cloned().collect(),
                    witness,
                });
            }
        }
        findings
    }

    /// Returns a whole message that shows that a pair of schemas is not contained, or the value
    /// alone if no message shows this and nothing else.
    fn witness(&self, key: Key, roots: &[usize], value: &Value) -> Witness {
        let cause = self.classes(key);
        let mut others = HashSet::new();
        for node in self.walks.nodes.iter().filter(|node| node.is_broken) {
            let classes = self.classes(node.key);
            if classes != cause && node.key.flow == key.flow {
                others.insert(classes);
            }
        }
        for root in roots.iter().take(MOST_ROOTS) {
            let root = &self.walks.roots[*root];
            let whole = self.walks.nodes[root.node].key;
            let body = if self.classes(whole) == cause {
                Containment::Broken(value.clone())
            } else {
                self.contain(whole, &others)
            };
            let Containment::Broken(body) = body else {
                continue;
            };
            if let Some(witness) = self.message(root.operation, &root.place, &body) {
                return witness;
            }
        }
        Witness::Value(value.to_string())
    }
}

/// The most operations that are tried for a message that shows a finding.
const MOST_ROOTS: usize = 4;

/// Returns whether a schema, or the one that it refers to, has a keyword.
fn is_marked(contract: &Contract, id: SchemaId, is_one: &dyn Fn(&Keywords) -> bool) -> bool {
    [id, contract.resolve(id)]
        .into_iter()
        .any(|id| match &contract.schema(id).kind {
            SchemaKind::Object(keywords) => is_one(keywords),
            SchemaKind::Bool(_) => false,
        })
}

/// Returns the default of a schema: its own, that of the schema that it refers to, or that of its
/// only `allOf`.
fn effective_default(contract: &Contract, id: SchemaId, depth: usize) -> Option<Value> {
    let SchemaKind::Object(keywords) = &contract.schema(id).kind else {
        return None;
    };
    if keywords.default.is_some() || depth > MOST_DEPTH {
        return keywords.default.clone();
    }
    let only = match keywords.all_of.as_slice() {
        [only] => Some(*only),
        _ => None,
    };
    let parts = keywords.reference.into_iter().chain(only);
    let mut defaults = parts.filter_map(|part| effective_default(contract, part, depth + 1));
    defaults.next()
}
