//! The values of a discriminator that the document implies: the names of the schemas to choose
//! from.

use std::collections::{HashMap, HashSet};

use indexmap::IndexMap;

use crate::model::{Keywords, SchemaId, SchemaKind};

use super::builder::Builder;

impl Builder<'_, '_> {
    /// Adds the values that the document implies to the mapping of every discriminator: the
    /// component name of each schema that it can select, unless the mapping has the schema or the
    /// value already.
    pub(super) fn finish_discriminators(&mut self, components: &IndexMap<String, SchemaId>) {
        if self.discriminated.is_empty() {
            return;
        }
        let heirs = self.heirs(components);
        for id in std::mem::take(&mut self.discriminated) {
            let implied = self.implied(id, &heirs);
            let SchemaKind::Object(keywords) = &mut self.schemas[id.0 as usize].kind else {
                continue;
            };
            if let Some(discriminator) = &mut keywords.discriminator {
                let explicit: HashSet<SchemaId> =
                    discriminator.mapping.iter().map(|(_, id)| *id).collect();
                let mut values: HashSet<String> = discriminator
                    .mapping
                    .iter()
                    .map(|(value, _)| value.clone())
                    .collect();
                // A schema that the author has mapped is chosen by that value only, not by its name
                // as well.
                for (name, target) in implied {
                    if !explicit.contains(&target) && values.insert(name.clone()) {
                        discriminator.mapping.push((name, target));
                    }
                }
            }
        }
    }

    /// Returns the component schemas that refer to a schema in their `allOf`, by that schema.
    fn heirs(&self, components: &IndexMap<String, SchemaId>) -> HashMap<SchemaId, Vec<SchemaId>> {
        let mut heirs: HashMap<SchemaId, Vec<SchemaId>> = HashMap::new();
        for id in components.values() {
            let Some(keywords) = self.keywords_of(*id) else {
                continue;
            };
            for part in &keywords.all_of {
                if let Some(parent) = self.keywords_of(*part).and_then(|part| part.reference) {
                    heirs.entry(parent).or_default().push(*id);
                }
            }
        }
        heirs
    }

    fn implied(
        &self,
        id: SchemaId,
        heirs: &HashMap<SchemaId, Vec<SchemaId>>,
    ) -> Vec<(String, SchemaId)> {
        let Some(keywords) = self.keywords_of(id) else {
            return Vec::new();
        };
        let branches = keywords.one_of.iter().chain(&keywords.any_of);
        let mut targets: Vec<SchemaId> = branches
            .filter_map(|branch| self.keywords_of(*branch)?.reference)
            .collect();
        // Without branches, the discriminator is on a base schema, and the schemas to choose from
        // are those that extend it with `allOf`.
        if keywords.one_of.is_empty() && keywords.any_of.is_empty() {
            targets = descendants(id, heirs);
        }
        targets
            .into_iter()
            .filter_map(|target| Some((self.component_name(target)?.clone(), target)))
            .collect()
    }

    fn keywords_of(&self, id: SchemaId) -> Option<&Keywords> {
        match &self.schemas[id.0 as usize].kind {
            SchemaKind::Object(keywords) => Some(keywords),
            SchemaKind::Bool(_) => None,
        }
    }
}

/// Returns every component schema that extends the schema `id` with `allOf`, directly or through
/// others.
fn descendants(id: SchemaId, heirs: &HashMap<SchemaId, Vec<SchemaId>>) -> Vec<SchemaId> {
    let mut found = Vec::new();
    let mut seen = HashSet::from([id]);
    let mut next = 0;
    let mut from = id;
    loop {
        for heir in heirs.get(&from).into_iter().flatten() {
            if seen.insert(*heir) {
                found.push(*heir);
            }
        }
        let Some(heir) = found.get(next) else { break };
        from = *heir;
        next += 1;
    }
    found
}
