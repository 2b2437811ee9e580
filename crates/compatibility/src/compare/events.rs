//! What the data of several events holds, which the schema of the events calls only a text.

use std::collections::HashSet;

use contract::model::{Contract, Keywords, SchemaId, SchemaKind};
use indexmap::IndexMap;
use serde_json::Value;

use super::shape::Declared;

/// Returns the schema of the JSON in the data of each of several events, or `None` for an event whose
/// data is a text. The key is the constant name of the event, else its component, else its number.
pub(super) fn contents(
    contract: &Contract,
    events: SchemaId,
) -> IndexMap<String, Option<SchemaId>> {
    let mut contents = IndexMap::new();
    // Branches may lead back to the events.
    let mut seen = HashSet::new();
    let mut pending = vec![events];
    let mut at = 0;
    while let Some(id) = pending.get(at).copied() {
        at += 1;
        let id = contract.resolve(id);
        if !seen.insert(id) {
            continue;
        }
        let Some(keywords) = keywords(contract, id) else {
            continue;
        };
        let branches = keywords.one_of.iter().chain(&keywords.any_of);
        let before = pending.len();
        pending.extend(branches.copied());
        // What all branches share is no event, and of a single one the media type knows the data.
        if pending.len() > before || at == 1 {
            continue;
        }
        let declared = Declared::of(contract, id);
        let part = |name: &str| declared.properties.get(name).into_iter().flatten();
        let own = |id: &SchemaId| self::keywords(contract, contract.resolve(*id));
        let event = part("event").filter_map(own).find_map(constant);
        let event = event.or_else(|| contract.schema(id).component.clone());
        let event = event.unwrap_or_else(|| format!("#{}", contents.len()));
        let content = part("data").filter_map(own).find_map(|it| it.event_content);
        contents.entry(event).or_insert(content);
    }
    contents
}

/// Returns the only text that a schema lists.
fn constant(keywords: &Keywords) -> Option<String> {
    match (&keywords.constant, keywords.enumeration.as_deref()) {
        (Some(Value::String(text)), _) | (None, Some([Value::String(text)])) => Some(text.clone()),
        _ => None,
    }
}

fn keywords(contract: &Contract, id: SchemaId) -> Option<&Keywords> {
    match &contract.schema(id).kind {
        SchemaKind::Object(keywords) => Some(keywords),
        SchemaKind::Bool(_) => None,
    }
}
