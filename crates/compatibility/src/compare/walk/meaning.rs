//! What is said about values that mean something else: other defaults, other ways to read a value.

use contract::model::{Contract, Keywords, SchemaId, SchemaKind};
use serde_json::Value;

use super::super::{Comparison, Found, describe};
use super::{Key, MOST_DEPTH};
use crate::containment::{Carrier, is_narrower, written};
use crate::finding::Kind;
use crate::pair::Side;

impl Comparison<'_> {
    /// Returns a finding if what is meant by leaving a value out of a request has changed.
    pub(super) fn defaults(&self, key: Key) -> Option<Found> {
        if !key.flow.is_to_api() {
            return None;
        }
        let one = effective_default(self.base(), key.base, 0);
        let other = effective_default(self.revision(), key.revision, 0);
        let is_same = one == other
            || (key.flow.carrier != Carrier::Json
                && one.as_ref().map(written) == other.as_ref().map(written));
        if is_same || self.is_default_of_parts(key) {
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

    /// Returns a finding if the schemas differ in annotations, which say how to read a string.
    pub(super) fn annotations(&self, key: Key) -> Option<Found> {
        let said = |contract: &Contract, id: SchemaId| match &contract.schema(id).kind {
            SchemaKind::Object(keywords) => self.said(keywords),
            SchemaKind::Bool(_) => Default::default(),
        };
        let mut one = said(self.base(), key.base);
        let mut other = said(self.revision(), key.revision);
        // The search sees that a format which it knows has become one that extends it, or the reverse.
        let formats = (
            format(self.base(), key.base),
            format(self.revision(), key.revision),
        );
        if let (Some(old), Some(new)) = formats
            && ((is_narrower(old, new) && self.context.is_asserted(old))
                || (is_narrower(new, old) && self.context.is_asserted(new)))
        {
            one[2] = None;
            other[2] = None;
        }
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

    /// Returns a finding if a value of the tag selects another schema, or another value the same
    /// one. The search sees which schemas there are, but a client chooses by the tag.
    pub(super) fn discriminator(&self, key: Key) -> Option<Found> {
        let of = |contract: &Contract, id: SchemaId| match &contract.schema(id).kind {
            SchemaKind::Object(keywords) => keywords.discriminator.clone(),
            SchemaKind::Bool(_) => None,
        };
        let one = of(self.base(), key.base)?;
        let other = of(self.revision(), key.revision)?;
        let mut changes = Vec::new();
        if one.property != other.property {
            changes.push(format!(
                "the property is `{}` instead of `{}`",
                other.property, one.property
            ));
        }
        for (value, old) in &one.mapping {
            let same = other.mapping.iter().find(|(known, _)| known == value);
            let moved = other
                .mapping
                .iter()
                .find(|(_, new)| self.is_same_branch(*old, *new));
            match (same, moved) {
                (Some((_, new)), _) if !self.is_same_branch(*old, *new) => {
                    let new = describe::name(self.revision(), *new);
                    changes.push(format!("`{value}` selects {new}"));
                }
                (None, Some((new, _))) => {
                    changes.push(format!("`{new}` stands in place of `{value}`"));
                }
                _ => {}
            }
        }
        if changes.is_empty() {
            return None;
        }
        let name = describe::name(self.revision(), key.revision);
        let message = format!(
            "{name}: the discriminator has changed: {}",
            changes.join(", ")
        );
        Some(self.found(key, Kind::MeaningChanged, "discriminator-changed", message))
    }

    /// Returns whether two schemas are of one component, or mean the same.
    fn is_same_branch(&self, base: SchemaId, revision: SchemaId) -> bool {
        let pair = &self.context.pair;
        if pair.class(Side::Base, base) == pair.class(Side::Revision, revision) {
            return true;
        }
        let one = &self.base().schema(pair.end(Side::Base, base)).component;
        let other = &self
            .revision()
            .schema(pair.end(Side::Revision, revision))
            .component;
        one.is_some() && one == other
    }

    /// Returns the encoding, the media type and the format of a schema, of which the search sees
    /// nothing.
    fn said(&self, keywords: &Keywords) -> [Option<String>; 3] {
        let mut said = [
            keywords.content_encoding.clone(),
            keywords.content_media_type.clone(),
            self.unasserted(keywords),
        ];
        // OpenAPI 3.0 has formats for what 3.1 says by keywords.
        match keywords.format.as_deref() {
            Some("byte") => {
                said[0].get_or_insert_with(|| "base64".to_owned());
                said[2] = None;
            }
            Some("binary") => {
                said[1].get_or_insert_with(|| "application/octet-stream".to_owned());
                said[2] = None;
            }
            _ => {}
        }
        said
    }

    /// Returns the format of a schema, if the search does not see it.
    fn unasserted(&self, keywords: &Keywords) -> Option<String> {
        let format = keywords.format.as_ref()?;
        // It says how a value is shown, and not what it means.
        let is_seen = format == "password"
            || contract::format::integer_range(format).is_some()
            || self.context.is_asserted(format);
        (!is_seen).then(|| format.clone())
    }
}

fn format(contract: &Contract, id: SchemaId) -> Option<&str> {
    match &contract.schema(id).kind {
        SchemaKind::Object(keywords) => keywords.format.as_deref(),
        SchemaKind::Bool(_) => None,
    }
}

/// Returns the default of a schema: its own, that of the schema that it refers to, or that of its
/// only `allOf`.
fn effective_default(contract: &Contract, id: SchemaId, depth: usize) -> Option<Value> {
    let SchemaKind::Object(keywords) = &contract.schema(id).kind else {
        return None;
    };
    // References may lead in a cycle.
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
