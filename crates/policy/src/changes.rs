//! Which changes of a contract are refused: by their kind, the stability of what they reach, sunsets
//! that have come, and approvals.

use std::cell::OnceCell;
use std::collections::HashMap;

use contract::model::Operation;
use contract::node::Node;
use contract::source::Span;
use contract::{Contract, Moment, Sources, Stability};
use toml::value::Date;

use crate::approvals::fingerprint;
use crate::places::Places;
use crate::read::Policy;

/// A change of a contract.
#[derive(Debug, Clone, Copy)]
pub struct Change<'a> {
    /// Whether changes of its kind are refused.
    pub gates: bool,
    /// The rule, such as `request-narrowed`.
    pub rule: &'a str,
    /// The message.
    pub message: &'a str,
    /// The span in the contract before the change, if the part is there.
    pub base: Option<Span>,
    /// The span in the contract after the change, if the part is there.
    pub revision: Option<Span>,
    /// The operations that it reaches, such as `pet_view (GET /pet/{id})`.
    pub operations: &'a [String],
}

/// Why a change is refused or not.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Judged {
    /// The fingerprint by which a policy approves the change.
    pub fingerprint: String,
    /// Whether it is refused.
    pub refuses: bool,
    /// The reason why it is not, if changes of its kind are.
    pub accepted: Option<String>,
}

/// A policy on a day, with the contracts whose changes it judges.
#[derive(Debug)]
pub struct Judge<'a> {
    policy: &'a Policy,
    today: Date,
    base: &'a Sources,
    revision: &'a Sources,
    before: OnceCell<Places>,
    after: OnceCell<Places>,
    /// The operations of the contract before the change, by [`key`].
    operations: HashMap<String, Reached>,
}

/// What counts of an operation of the contract before the change.
#[derive(Debug)]
struct Reached {
    stability: Stability,
    sunset: Option<Moment>,
}

impl<'a> Judge<'a> {
    /// Creates the judge of the changes from one contract, with its sources, to another one.
    #[must_use]
    pub fn new(
        policy: &'a Policy,
        today: Date,
        (contract, base): (&'a Contract, &'a Sources),
        revision: &'a Sources,
    ) -> Self {
        let mut operations = HashMap::new();
        let paths = contract.operations.iter().map(|one| ("", one));
        let webhooks = contract.webhooks.iter().map(|one| ("webhook ", one));
        for (prefix, operation) in paths.chain(webhooks) {
            add(contract, prefix, operation, &mut operations);
        }
        Self {
            policy,
            today,
            base,
            revision,
            before: OnceCell::new(),
            after: OnceCell::new(),
            operations,
        }
    }

    /// Returns whether a change is refused, and why not.
    #[must_use]
    pub fn judge(&self, change: &Change<'_>) -> Judged {
        // A pointer and not the span, which changes with every line above it.
        let place = match (change.base, change.revision) {
            (Some(span), _) => self.before().pointer(span),
            (None, Some(span)) => {
                let after = self.after.get_or_init(|| Places::of(self.revision));
                after.pointer(span)
            }
            (None, None) => None,
        };
        let place = place.unwrap_or_default();
        let fingerprint = fingerprint(&[change.rule, change.message, &place]);
        let accepted = change.gates.then(|| self.accepted(change, &fingerprint));
        let accepted = accepted.flatten();
        Judged {
            fingerprint,
            refuses: change.gates && accepted.is_none(),
            accepted,
        }
    }

    fn before(&self) -> &Places {
        self.before.get_or_init(|| Places::of(self.base))
    }

    /// Returns why a change is accepted although changes of its kind are refused.
    fn accepted(&self, change: &Change<'_>, fingerprint: &str) -> Option<String> {
        if let Some(approval) = self.policy.approval(fingerprint, self.today) {
            return Some(format!(
                "approved by {} until {}: {}",
                approval.by, approval.until, approval.reason
            ));
        }
        let reached = change.operations.iter();
        // One that is not known, as a new one is, has nothing that lets the change through.
        let reached: Option<Vec<&Reached>> = reached
            .map(|name| self.operations.get(&key(name)))
            .collect();
        // Of no operation at all, everything would be true.
        let reached = reached.filter(|reached| !reached.is_empty());
        let is_draft = |operation: &&Reached| self.policy.is_ungated(operation.stability);
        if let Some(reached) = &reached
            && reached.iter().all(is_draft)
        {
            return Some(
                "the stability of each operation that it reaches lets it change".to_owned(),
            );
        }
        if !self.policy.allows_sunset() {
            return None;
        }
        let has_ended = reached.is_some_and(|reached| {
            reached
                .iter()
                .all(|one| one.sunset.is_some_and(|end| self.has_come(end)))
        });
        let is_past = has_ended || change.base.is_some_and(|span| self.is_gone(span));
        is_past.then(|| "it is deprecated, and its sunset has come".to_owned())
    }

    /// Returns whether a part of the contract before the change is deprecated, and its sunset has
    /// come.
    fn is_gone(&self, span: Span) -> bool {
        let places = self.before();
        let pointer = places.pointer(span);
        let node = pointer.and_then(|pointer| places.node(span.file, &pointer));
        node.is_some_and(|node| {
            let sunset = node.get("x-sunset").and_then(Node::as_str);
            node.get("deprecated").and_then(Node::as_bool) == Some(true)
                && sunset
                    .and_then(Moment::parse)
                    .is_some_and(|end| self.has_come(end))
        })
    }

    fn has_come(&self, sunset: Moment) -> bool {
        crate::date(&sunset.to_string()).is_some_and(|day| day <= self.today)
    }
}

/// Adds an operation and those that it calls back.
fn add<'a>(
    contract: &'a Contract,
    prefix: &str,
    operation: &'a Operation,
    into: &mut HashMap<String, Reached>,
) {
    let (id, method) = (&operation.id, operation.method.as_str());
    let name = format!("{prefix}{id} ({method} {})", operation.path);
    let reached = Reached {
        stability: Stability::of(contract, operation),
        sunset: operation.sunset,
    };
    into.insert(key(&name), reached);
    for callback in &operation.callbacks {
        add(contract, &format!("callback of {id}: "), callback, into);
    }
}

/// Returns what the names of an operation before and after a change have in common: not the
/// operation's id, unless it is a callback, and not the names of the path's parameters.
fn key(name: &str) -> String {
    let is_callback = name.starts_with("callback of ");
    let is_webhook = name.starts_with("webhook ");
    let Some(at) = name.rfind(" (").filter(|_| !is_callback) else {
        return name.to_owned();
    };
    let mut key = if is_webhook { "webhook" } else { "" }.to_owned();
    let mut is_named = false;
    for character in name[at..].chars() {
        is_named &= character != '}';
        if !is_named {
            key.push(character);
        }
        is_named |= character == '{';
    }
    key
}
