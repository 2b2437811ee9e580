//! Normalises a document and its contract: the one step that changes what was read.
//!
//! Each change either applies what the standard says about a keyword, or drops what is reported as
//! wrong, so that everything else can still be checked. Keywords of 3.0 become those of 2020-12
//! earlier, when the contract is built: they are never stored in any other form.

mod one_way;
mod sections;

pub(crate) use one_way::{OneWay, Way};
pub(crate) use sections::correct_sections;

use std::collections::{BTreeSet, HashSet};

use crate::build::Role;
use crate::circles;
use crate::model::{Contract, Dialect, SchemaId, SchemaKind};
use crate::node::{Node, NodeValue};
use crate::source::Span;
use crate::syntax::{Syntax, why_unusable};
use crate::validate::Validation;

/// The changes that were made to a contract, for the lints that report them.
pub(crate) struct Changes {
    /// The cycles of schemas that contain themselves without a property or item in between. Each
    /// of these schemas now accepts anything.
    pub(crate) circles: Vec<Vec<SchemaId>>,
    /// Required properties that are sent in one direction only. Under 3.0 they are no longer
    /// required.
    pub(crate) one_way: Vec<OneWay>,
}

/// Normalises a contract, and returns the changes that lints report. The values in it are left as
/// they are, see [`drop_rejected_defaults`].
pub(crate) fn normalise(contract: &mut Contract, syntax: &Syntax<'_>) -> Changes {
    // Cycles go first: following references would not end otherwise.
    let circles = break_circles(contract);
    let one_way = one_way::relax(contract);
    // Hardly any document has one, and looking for it compiles every pattern again.
    if syntax.has_unusable_patterns {
        drop_unusable_patterns(contract);
    }
    Changes { circles, one_way }
}

/// Makes schemas that contain themselves, without a property or item in between, accept anything.
/// Returns the cycles of these schemas.
fn break_circles(contract: &mut Contract) -> Vec<Vec<SchemaId>> {
    let steps: Vec<Vec<usize>> = contract
        .schemas
        .iter()
        .map(|schema| {
            schema
                .kind
                .in_place()
                .into_iter()
                .map(SchemaId::index)
                .collect()
        })
        .collect();
    let mut found: Vec<Vec<SchemaId>> = Vec::new();
    circles::find(&steps, |circle| {
        let ids = circle.iter().map(|index| SchemaId::at(*index));
        found.push(ids.collect());
    });
    // `true` rather than `false`: if the schema accepted nothing, each of its values would be
    // reported as well.
    for id in found.iter().flatten() {
        contract.schemas[id.index()].kind = SchemaKind::Bool(true);
    }
    found
}

/// Drops texts that are null from the document that is published. Each counts as left out, as the check of
/// the syntax has reported. `spans` has those of their keys, or of items in a list.
pub(crate) fn drop_null_texts(node: &mut Node, spans: &HashSet<Span>) {
    if spans.is_empty() {
        return;
    }
    let is_dropped =
        |node: &Node, span: &Span| matches!(node.value, NodeValue::Null) && spans.contains(span);
    match &mut node.value {
        NodeValue::Object(entries) => {
            entries.retain(|entry| !is_dropped(&entry.value, &entry.key_span));
            for entry in entries {
                if entry.key == "scopes" {
                    describe_scopes(&mut entry.value, spans);
                }
                drop_null_texts(&mut entry.value, spans);
            }
        }
        NodeValue::Array(items) => {
            items.retain(|item| !is_dropped(item, &item.span));
            for item in items {
                drop_null_texts(item, spans);
            }
        }
        NodeValue::Null | NodeValue::Bool(_) | NodeValue::Number(_) | NodeValue::String(_) => {}
    }
}

/// Gives the scopes of a flow whose description is null an empty one, without which they would be gone.
fn describe_scopes(scopes: &mut Node, spans: &HashSet<Span>) {
    for entry in scopes.entries_mut().into_iter().flatten() {
        if matches!(entry.value.value, NodeValue::Null) && spans.contains(&entry.key_span) {
            entry.value.value = NodeValue::String(String::new());
        }
    }
}

/// Drops patterns that no regular expression engine supports, so that a validator can be compiled
/// from the schemas. The check of the syntax has reported them.
fn drop_unusable_patterns(contract: &mut Contract) {
    for schema in contract.schemas.iter_mut() {
        if let SchemaKind::Object(keywords) = &mut schema.kind {
            keywords.pattern = keywords
                .pattern
                .take()
                .filter(|pattern| why_unusable(pattern).is_none());
            keywords
                .pattern_properties
                .retain(|pattern, _| why_unusable(pattern).is_none());
        }
    }
}

/// Drops defaults that their schemas reject, so that they are never applied. Returns their pointers.
pub(crate) fn drop_rejected_defaults(
    contract: &mut Contract,
    validation: &Validation<'_>,
) -> BTreeSet<String> {
    let mut pointers = BTreeSet::new();
    let Validation::Judged(rejected) = validation else {
        return pointers;
    };
    for (site, _) in rejected {
        let schema = &mut contract.schemas[site.schema.index()];
        if site.role == Role::Default
            && let SchemaKind::Object(keywords) = &mut schema.kind
        {
            keywords.default = None;
            pointers.insert(format!("{}/default", schema.pointer));
        }
    }
    pointers
}

/// Drops the text of the defaults that [`drop_rejected_defaults`] has dropped, of which the document
/// says nothing any more.
pub(crate) fn forget_rejected_defaults(contract: &mut Contract) {
    let is_30 = contract.dialect == Dialect::V30;
    for schema in contract.schemas.iter_mut() {
        if let SchemaKind::Object(keywords) = &mut schema.kind
            && keywords.default.is_none()
            // In 3.0 nothing beside a reference is read.
            && !(is_30 && keywords.only_reference)
        {
            keywords.raw.retain(|(key, _)| key != "default");
        }
    }
}
