//! A discriminator whose property has another name. Each branch has lost one property then and gained
//! another, and all of it is one finding.

use std::collections::{BTreeSet, HashSet};

use contract::model::{Contract, Discriminator, SchemaId, SchemaKind};

use super::super::{Comparison, Found, describe};
use super::Key;
use crate::finding::{Finding, Kind, Witness};
use crate::pair::Side;

/// The rule of the finding about a discriminator, with what it explains and without.
const RENAMED: &str = "discriminator-renamed";
const CHANGED: &str = "discriminator-changed";

/// A discriminator whose property has another name, and what was found because of that.
pub(super) struct Rename {
    old: String,
    new: String,
    union: (SchemaId, SchemaId),
    /// The branches in both contracts, by the schemas that they lead to.
    branches: HashSet<(SchemaId, SchemaId)>,
    operations: BTreeSet<String>,
    /// What was found of the discriminator itself.
    own: Found,
    /// The message that shows that a branch breaks somebody.
    pub(super) witness: Option<Witness>,
}

impl Comparison<'_> {
    /// Returns the discriminators whose property has another name.
    pub(super) fn renames(&self) -> Vec<Rename> {
        let mut seen = HashSet::new();
        let mut out = Vec::new();
        for node in &self.walks.nodes {
            let key = node.key;
            let Some(own) = node.found.iter().find(|found| found.rule == CHANGED) else {
                continue;
            };
            let one = discriminator(self.base(), key.base);
            let other = discriminator(self.revision(), key.revision);
            let (Some(one), Some(other)) = (one, other) else {
                continue;
            };
            if one.property == other.property || !seen.insert((key.base, key.revision)) {
                continue;
            }
            let pairs = one.mapping.iter().flat_map(|(value, old)| {
                let same = other.mapping.iter().filter(move |(new, _)| new == value);
                same.map(|(_, new)| self.ends((*old, *new)))
            });
            out.push(Rename {
                old: one.property.clone(),
                new: other.property.clone(),
                union: (key.base, key.revision),
                branches: pairs.collect(),
                operations: BTreeSet::new(),
                own: own.clone(),
                witness: None,
            });
        }
        out
    }

    fn ends(&self, (base, revision): (SchemaId, SchemaId)) -> (SchemaId, SchemaId) {
        let pair = &self.context.pair;
        (
            pair.end(Side::Base, base),
            pair.end(Side::Revision, revision),
        )
    }

    /// Returns the rename that is all that a finding is about, if there is one. It then reaches these
    /// operations too.
    pub(super) fn rename_of<'r>(
        &self,
        renames: &'r mut [Rename],
        key: Key,
        found: &Found,
        operations: &BTreeSet<String>,
    ) -> Option<&'r mut Rename> {
        let branch = self.ends((key.base, key.revision));
        let rename = renames.iter_mut().find(|rename| {
            if found.rule == CHANGED {
                return rename.union == (key.base, key.revision);
            }
            let is_property = |rule: &str, words: String| {
                found.rule.ends_with(rule) && found.message.contains(&words)
            };
            rename.branches.contains(&branch)
                && (is_property(
                    "-property-removed",
                    format!("the property `{}`", rename.old),
                ) || is_property("-property-added", format!("property `{}`", rename.new))
                    || self.is_only_rename(rename, key, found))
        })?;
        rename.operations.extend(operations.iter().cloned());
        Some(rename)
    }

    /// Returns whether nothing but the name of the property has changed in a branch.
    fn is_only_rename(&self, rename: &Rename, key: Key, found: &Found) -> bool {
        let is_of_values = found.rule.ends_with("-narrowed") || found.rule.ends_with("-widened");
        let (base, revision) = (self.base(), self.revision());
        let changes = || describe::changes(base, key.base, revision, key.revision);
        let lost =
            ["required", "properties"].map(|list| format!("`{list}` loses `{}`", rename.old));
        let gained =
            ["required", "properties"].map(|list| format!("`{list}` gains `{}`", rename.new));
        is_of_values
            && changes().split(", ").all(|change| {
                let mut known = lost.iter().chain(&gained);
                known.any(|known| known == change)
            })
    }
}

impl Rename {
    /// Returns the one finding.
    pub(super) fn into_finding(self) -> Finding {
        let (kind, rule) = match &self.witness {
            Some(_) => (Kind::Breaking, RENAMED),
            None => (self.own.kind, self.own.rule),
        };
        Finding {
            kind,
            rule,
            message: self.own.message,
            base: self.own.base,
            revision: self.own.revision,
            operations: self.operations.into_iter().collect(),
            witness: self.witness,
        }
    }
}

fn discriminator(contract: &Contract, id: SchemaId) -> Option<&Discriminator> {
    match &contract.schema(id).kind {
        SchemaKind::Object(keywords) => keywords.discriminator.as_ref(),
        SchemaKind::Bool(_) => None,
    }
}
