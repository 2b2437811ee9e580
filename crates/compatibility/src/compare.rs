//! Compares two contracts, operation by operation.
//!
//! Requests of clients of the old contract must be accepted by the new one, and responses of the
//! new one understood by these clients. Webhooks and callbacks are the other way round: the API
//! sends their requests and receives their responses.

mod bodies;
mod credentials;
mod describe;
mod encoding;
mod events;
mod findings;
mod forms;
mod links;
mod message;
mod multipart;
mod oauth;
mod operations;
mod parameters;
mod responses;
mod routing;
mod security;
mod shape;
mod sunset;
mod taken;
mod walk;
mod written;

use std::cell::OnceCell;
use std::collections::BTreeSet;

use contract::model::{Contract, Operation};
use contract::source::Span;

use crate::containment::{Carrier, Context, Reading};
use crate::finding::{BREAKING_RULES, Finding, Kind, Report, Version, Witness};
use crate::pair::Side;
use findings::Findings;
use routing::Router;
use shape::Step;
use walk::Walks;

/// The stack size in bytes of the thread that compares. Schemas may nest as deep as the reader of
/// documents allows.
const STACK_BYTES: usize = 256 << 20;

/// Compares a contract with a later revision of it.
///
/// # Panics
///
/// If the system has no thread left.
#[must_use]
pub fn compare(base: &Contract, revision: &Contract) -> Report {
    std::thread::scope(|scope| {
        let compared = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, || compare_here(base, revision))
            .expect("the system has a thread");
        compared
            .join()
            .expect("no input makes the comparison panic")
    })
}

fn compare_here(base: &Contract, revision: &Contract) -> Report {
    let context = Context::new(base, revision);
    let mut comparison = Comparison {
        walks: Walks::default(),
        findings: Findings::default(),
        pairs: Vec::new(),
        routers: OnceCell::new(),
        context,
    };
    comparison.document();
    comparison.operations();
    comparison.finish()
}

/// A comparison in progress.
struct Comparison<'c> {
    context: Context<'c>,
    findings: Findings,
    /// The operations of both contracts. Walks refer to them by index.
    pairs: Vec<OperationPair<'c>>,
    walks: Walks,
    /// The routers of both contracts, built when a path is new.
    routers: OnceCell<(Router<'c>, Router<'c>)>,
}

/// An operation before and after the change.
#[derive(Clone)]
struct OperationPair<'c> {
    base: &'c Operation,
    revision: &'c Operation,
    /// The name for messages, such as `vm_list (GET /vm)`.
    name: String,
    /// Whether the API sends the requests: a webhook or a callback.
    is_reversed: bool,
}

/// The direction of a message: which side sends it, and how it is read.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
struct Flow {
    sender: Side,
    reading: Reading,
    carrier: Carrier,
}

impl Flow {
    /// Returns the direction of the requests of an operation.
    fn request(is_reversed: bool) -> Self {
        if is_reversed {
            Self::from_api()
        } else {
            Self::to_api()
        }
    }

    /// Returns the direction of the responses of an operation.
    fn response(is_reversed: bool) -> Self {
        Self::request(!is_reversed)
    }

    fn to_api() -> Self {
        Self {
            sender: Side::Base,
            reading: Reading::Request,
            carrier: Carrier::Json,
        }
    }

    fn from_api() -> Self {
        Self {
            sender: Side::Revision,
            reading: Reading::Response,
            carrier: Carrier::Json,
        }
    }

    /// Returns the direction of values that are written as text.
    fn of_text(self) -> Self {
        Self {
            carrier: Carrier::Text,
            ..self
        }
    }

    /// Returns whether the values of both go the same way, however they are written.
    fn goes_like(self, other: Self) -> bool {
        (self.sender, self.reading) == (other.sender, other.reading)
    }

    /// Returns the direction of a part of the values.
    fn of_part(self, step: Step) -> Self {
        let carrier = match (self.carrier, step) {
            (carrier, Step::Same) => carrier,
            (Carrier::Text, Step::Property) => Carrier::Field,
            (Carrier::Text | Carrier::Field, Step::Item) => Carrier::Item,
            (Carrier::Json | Carrier::Item, _) | (Carrier::Field, Step::Property) => Carrier::Json,
        };
        Self { carrier, ..self }
    }

    fn is_to_api(self) -> bool {
        self.sender == Side::Base
    }
}

/// A finding about an operation, in the making.
#[derive(Clone)]
struct Found {
    kind: Kind,
    rule: &'static str,
    message: String,
    base: Option<Span>,
    revision: Option<Span>,
    witness: Option<Witness>,
}

/// Returns whether a finding has what its kind promises: one that breaks somebody has a witness, and a
/// rule that is listed as one that can break.
fn is_shown(kind: Kind, rule: &str, witness: Option<&Witness>) -> bool {
    kind != Kind::Breaking || (BREAKING_RULES.contains(&rule) && witness.is_some())
}

impl<'c> Comparison<'c> {
    fn base(&self) -> &'c Contract {
        self.context.pair.contract(Side::Base)
    }

    fn revision(&self) -> &'c Contract {
        self.context.pair.contract(Side::Revision)
    }

    /// Adds a finding about an operation. One that several operations share, as those of a
    /// parameter that they refer to, is added once.
    fn add(&mut self, operation: Option<&str>, found: Found) {
        debug_assert!(is_shown(found.kind, found.rule, found.witness.as_ref()));
        if let Some(known) = self.findings.known(&found) {
            known.operations.extend(operation.map(str::to_owned));
            return;
        }
        self.findings.push(Finding {
            kind: found.kind,
            rule: found.rule,
            message: found.message,
            base: found.base,
            revision: found.revision,
            operations: operation.map(str::to_owned).into_iter().collect(),
            witness: found.witness,
        });
    }

    fn finish(mut self) -> Report {
        let of_schemas = self.schema_findings();
        let mut findings = std::mem::take(&mut self.findings).into_list();
        findings.extend(of_schemas);
        for finding in &mut findings {
            let sorted: BTreeSet<String> = finding.operations.drain(..).collect();
            finding.operations = sorted.into_iter().collect();
        }
        findings.sort_by(|one, other| {
            let key =
                |finding: &Finding| (finding.kind, finding.revision, finding.base, finding.rule);
            key(one)
                .cmp(&key(other))
                .then_with(|| one.message.cmp(&other.message))
        });
        let (base, revision) = (self.base(), self.revision());
        Report {
            version: Version::of(&base.info.version, &revision.info.version, &findings),
            operations: revision.operations.len() + revision.webhooks.len(),
            findings,
        }
    }
}
