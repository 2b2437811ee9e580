//! What is said about a pair of schemas as a whole.

use contract::model::{Contract, SchemaId, SchemaKind};
use serde_json::Value;

use super::super::{Comparison, Found, describe};
use super::Key;
use crate::finding::{Kind, Witness};

impl Comparison<'_> {
    /// Returns the name of the schema and what has changed in it.
    fn words(&self, key: Key) -> (String, String) {
        let (base, revision) = (self.base(), self.revision());
        (
            describe::name(revision, key.revision),
            describe::changes(base, key.base, revision, key.revision),
        )
    }

    pub(super) fn broken(&self, key: Key) -> Found {
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

    pub(super) fn undecided(&self, key: Key, why: &str, agreed: usize) -> Found {
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
    pub(super) fn enumeration(&self, key: Key) -> Option<Found> {
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
    pub(super) fn widened(&self, index: usize, key: Key, value: &Value) -> Option<Found> {
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
}
