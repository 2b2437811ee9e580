//! The findings of a comparison, each of which is there once.

use std::collections::HashMap;

use contract::source::Span;

use super::{Found, encoding};
use crate::finding::{Finding, Witness};

/// What tells findings apart: the rule, the places in both documents, and the message.
type Identity = (&'static str, Option<Span>, Option<Span>, String);

/// Findings in the order in which they were found.
#[derive(Default)]
pub(super) struct Findings {
    list: Vec<Finding>,
    /// The index of each finding. A change of a large document can have tens of thousands, which
    /// cannot all be compared with each other.
    known: HashMap<Identity, usize>,
}

impl Findings {
    /// Returns the finding that is the same but for its operations, if there is one.
    pub(super) fn known(&mut self, found: &Found) -> Option<&mut Finding> {
        let message = found.message.clone();
        let identity = (found.rule, found.base, found.revision, message);
        let at = self.known.get(&identity)?;
        self.list.get_mut(*at)
    }

    /// Adds a finding that is not known yet.
    pub(super) fn push(&mut self, mut finding: Finding) {
        if let Some(Witness::Message(text) | Witness::Value(text)) = &mut finding.witness {
            *text = encoding::shown(text);
        }
        let message = finding.message.clone();
        let identity = (finding.rule, finding.base, finding.revision, message);
        self.known.insert(identity, self.list.len());
        self.list.push(finding);
    }

    pub(super) fn into_list(self) -> Vec<Finding> {
        self.list
    }
}
