//! Compares the document and its operations: which are there, and what they say as a whole.

use std::cmp::Ordering;

use contract::Stability;
use contract::model::{Operation, Server};
use indexmap::IndexMap;
use serde_json::json;

use super::taken::is_same_path;
use super::{Comparison, Flow, Found, OperationPair, sunset};
use crate::finding::{Kind, Witness};
use crate::pair::Side;

impl<'c> Comparison<'c> {
    /// Compares what the documents say for all operations.
    pub(super) fn document(&mut self) {
        let (base, revision) = (self.base(), self.revision());
        self.servers(None, &base.servers, &revision.servers);
        self.flows_of_oauth();
        if base.paging == revision.paging {
            return;
        }
        let (kind, rule, message) = if base.paging.is_none() {
            let message = "`x-paging` says how to walk lists";
            (Kind::Compatible, "paging-added", message)
        } else {
            let message = "`x-paging` has changed: clients that walk lists by it go wrong";
            (Kind::MeaningChanged, "paging-changed", message)
        };
        self.add(
            None,
            Found {
                kind,
                rule,
                message: message.to_owned(),
                base: None,
                revision: None,
                witness: None,
            },
        );
    }

    /// Compares all operations, webhooks and callbacks.
    pub(super) fn operations(&mut self) {
        let (base, revision) = (self.base(), self.revision());
        self.lists(&base.operations, &revision.operations, "", false);
        self.lists(&base.webhooks, &revision.webhooks, "webhook ", true);
        self.requests_taken();
    }

    /// Compares two lists of operations. `prefix` names what they are.
    fn lists(
        &mut self,
        base: &'c [Operation],
        revision: &'c [Operation],
        prefix: &str,
        is_reversed: bool,
    ) {
        let name = |operation: &Operation| name(prefix, operation);
        for old in base {
            match revision.iter().find(|new| is_same(old, new)) {
                Some(new) => self.operation(&OperationPair {
                    base: old,
                    revision: new,
                    name: name(new),
                    is_reversed,
                }),
                None => self.gone(old, &name(old), is_reversed),
            }
        }
        for new in revision {
            if !base.iter().any(|old| is_same(old, new)) {
                let name = name(new);
                self.add(
                    Some(&name),
                    Found {
                        kind: Kind::Compatible,
                        rule: "operation-added",
                        message: format!("{name} is new"),
                        base: None,
                        revision: Some(new.span),
                        witness: None,
                    },
                );
            }
        }
    }

    /// Reports the requests that new operations of paths take from others.
    fn requests_taken(&mut self) {
        let (base, revision) = (self.base(), self.revision());
        let known = |new: &Operation| base.operations.iter().any(|old| is_same(old, new));
        for new in revision.operations.iter().filter(|new| !known(new)) {
            self.taken(new, |operation| name("", operation));
        }
    }

    fn gone(&mut self, old: &Operation, name: &str, is_reversed: bool) {
        let (kind, message) = if is_reversed {
            (
                Kind::InformationRemoved,
                format!("{name} is no longer sent"),
            )
        } else {
            (Kind::Breaking, format!("{name} is gone"))
        };
        let witness = if is_reversed {
            None
        } else {
            Some(self.asked(old))
        };
        self.add(
            Some(name),
            Found {
                kind,
                rule: "operation-removed",
                message,
                base: Some(old.span),
                revision: None,
                witness,
            },
        );
    }

    fn operation(&mut self, pair: &OperationPair<'c>) {
        let index = self.pairs.len();
        self.pairs.push(pair.clone());
        let OperationPair {
            base,
            revision,
            name,
            is_reversed,
        } = pair;
        if revision.deprecated && !base.deprecated {
            self.add(
                Some(name),
                Found {
                    kind: Kind::Compatible,
                    rule: "operation-deprecated",
                    message: sunset::deprecated(name, revision.sunset),
                    base: Some(base.span),
                    revision: Some(revision.span),
                    witness: None,
                },
            );
        } else if let Some(sunset) = sunset::changed(name, base.sunset, revision.sunset) {
            self.add(
                Some(name),
                Found {
                    kind: sunset.kind,
                    rule: sunset.rule,
                    message: sunset.message,
                    base: Some(base.span),
                    revision: Some(revision.span),
                    witness: None,
                },
            );
        }
        self.stability(pair);
        // Otherwise both have the servers of the document, which are compared once for all.
        if !base.servers.is_empty() || !revision.servers.is_empty() {
            let of = |side: Side, operation: &'c Operation| {
                if operation.servers.is_empty() {
                    &self.context.pair.contract(side).servers
                } else {
                    &operation.servers
                }
            };
            let (old, new) = (of(Side::Base, base), of(Side::Revision, revision));
            self.servers(Some(pair), old, new);
        }
        self.parameters(index, pair);
        self.request_body(index, pair);
        self.responses(index, pair);
        if !is_reversed {
            self.security(pair);
        }
        self.lists(
            &base.callbacks,
            &revision.callbacks,
            &format!("callback of {}: ", revision.id),
            // What an operation calls back goes the other way.
            !is_reversed,
        );
    }

    /// Reports an operation that promises less than before, or more. With a lower stability, the next
    /// change may break clients that have relied on the higher one.
    fn stability(&mut self, pair: &OperationPair<'c>) {
        let old = Stability::of(self.base(), pair.base);
        let new = Stability::of(self.revision(), pair.revision);
        let (kind, rule) = match new.cmp(&old) {
            Ordering::Equal => return,
            Ordering::Less => (Kind::StabilityLowered, "stability-lowered"),
            Ordering::Greater => (Kind::Compatible, "stability-raised"),
        };
        let message = format!("{} is {} instead of {}", pair.name, new.name(), old.name());
        self.add(
            Some(&pair.name),
            Found {
                kind,
                rule,
                message,
                base: Some(pair.base.span),
                revision: Some(pair.revision.span),
                witness: None,
            },
        );
    }

    /// Reports servers that are gone, of the document or of an operation.
    fn servers(&mut self, pair: Option<&OperationPair<'c>>, base: &[Server], revision: &[Server]) {
        // Without servers, the only one is that of the document.
        let own = [Server {
            url: "/".to_owned(),
            description: None,
            variables: IndexMap::new(),
        }];
        let base = if base.is_empty() { &own } else { base };
        let revision = if revision.is_empty() { &own } else { revision };
        for old in base {
            let same = revision.iter().find(|new| new.url == old.url);
            let mut filled = old.default_url();
            let message = match same {
                None => format!("the server `{}` is gone", old.url),
                Some(new) => {
                    let gone = old.variables.iter().find_map(|(name, variable)| {
                        let other = new.variables.get(name)?;
                        let is_narrower = !other.allowed.is_empty()
                            && (variable.allowed.is_empty()
                                || variable
                                    .allowed
                                    .iter()
                                    .any(|value| !other.allowed.contains(value)));
                        // Clients that leave a variable out take its default, so it must stay as
                        // well.
                        (is_narrower || variable.default != other.default).then_some(name)
                    });
                    match gone {
                        Some(name) => {
                            filled = with_lost_value(old, new, name).unwrap_or(filled);
                            format!(
                                "the server `{}` has other values of its variable `{name}`",
                                old.url
                            )
                        }
                        None => continue,
                    }
                }
            };
            let example =
                pair.map_or_else(|| self.base().operations.first(), |pair| Some(pair.base));
            let command = example.and_then(|operation| self.request_to(operation, &filled));
            let outline = || Witness::Message(json!({ "server": filled }).to_string());
            let witness = Some(command.unwrap_or_else(outline));
            self.add(
                pair.map(|pair| pair.name.as_str()),
                Found {
                    kind: Kind::Breaking,
                    rule: "server-changed",
                    message,
                    base: pair.map(|pair| pair.base.span),
                    revision: pair.map(|pair| pair.revision.span),
                    witness,
                },
            );
        }
    }

    /// Returns the directions of the requests and of the responses of an operation.
    pub(super) fn flows(pair: &OperationPair<'_>) -> (Flow, Flow) {
        (
            Flow::request(pair.is_reversed),
            Flow::response(pair.is_reversed),
        )
    }
}

/// Returns an operation in words. `prefix` says what it is.
fn name(prefix: &str, operation: &Operation) -> String {
    let (id, method) = (&operation.id, operation.method.as_str());
    format!("{prefix}{id} ({method} {})", operation.path)
}

/// Returns the URL of a server with a value of a variable that it has before a change and not after it,
/// and with the defaults of the others.
fn with_lost_value(old: &Server, new: &Server, name: &str) -> Option<String> {
    let (before, after) = (old.variables.get(name)?, new.variables.get(name)?);
    let lost = before
        .allowed
        .iter()
        .find(|value| !after.allowed.contains(value))?;
    Some(old.url_with(|other, variable| {
        if other == name {
            lost
        } else {
            &variable.default
        }
    }))
}

/// Returns whether two operations have the same method and path. The names of path parameters do
/// not matter.
pub(super) fn is_same(one: &Operation, other: &Operation) -> bool {
    one.method == other.method && one.query == other.query && is_same_path(one, other)
}
