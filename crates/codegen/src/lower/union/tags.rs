//! The tag of a union: the property whose value selects the variant.

use std::collections::HashSet;

use contract::model::{Discriminator, SchemaId, Types};
use serde_json::Value;

use crate::lower::flatten::FlatSchema;
use crate::lower::lowering::Lowering;

impl Lowering<'_> {
    /// Returns the property that `discriminator` names, with its values for each member: those that the
    /// member's own property can have. Without a mapping, values are the names of schemas, and some
    /// documents have a constant of another name in each.
    ///
    /// The member that the discriminator selects by default needs no value and no property. Returns
    /// `None` if another member has no value, since a tagged union could never select that
    /// variant, if a member accepts values other than objects, or if a member does not declare the
    /// property, since its type would not write the tag, nor accept it if it is closed.
    pub(super) fn declared_tags(
        &self,
        members: &[SchemaId],
        discriminator: &Discriminator,
    ) -> Option<(String, Vec<Vec<String>>)> {
        let default = discriminator.default.map(|id| self.contract.resolve(id));
        let is_default = |member: &SchemaId| Some(self.contract.resolve(*member)) == default;
        // Without the default among the members, no variant is selected for an absent property.
        if default.is_some() && !members.iter().any(is_default) {
            return None;
        }
        let tags: Vec<Vec<String>> = members
            .iter()
            .map(|member| {
                let listed = self.listed(*member, &discriminator.property);
                let may_be = |value: &str| {
                    let listed = listed.as_ref();
                    listed.is_none_or(|listed| listed.iter().any(|listed| listed == value))
                };
                let member = self.contract.resolve(*member);
                discriminator
                    .mapping
                    .iter()
                    .filter(|(_, target)| self.contract.resolve(*target) == member)
                    .filter(|(value, _)| may_be(value))
                    .map(|(value, _)| value.clone())
                    .collect()
            })
            .collect();
        // `discriminator` is only a hint in OpenAPI, so a member may accept values that have no
        // properties.
        let all_objects = members.iter().all(|member| {
            let flat = FlatSchema::of(self.contract, &[*member]);
            flat.types.is_none_or(|types| types == Types::OBJECT)
        });
        let all_declare = members.iter().all(|member| {
            is_default(member) || self.declares(*member, &discriminator.property, &mut Vec::new())
        });
        let all_have_tags = members
            .iter()
            .zip(&tags)
            .all(|(member, tags)| is_default(member) || !tags.is_empty());
        (all_objects && all_declare && all_have_tags)
            .then(|| (discriminator.property.clone(), tags))
    }

    /// Returns the strings that a property of a schema can be, if it lists them.
    fn listed(&self, schema: SchemaId, property: &str) -> Option<Vec<Value>> {
        let flat = FlatSchema::of(self.contract, &[schema]);
        self.string_values(flat.properties.get(property)?)
    }

    /// Returns whether a schema declares a property: itself, or each of its alternatives. `seen`
    /// holds the schemas that led to it.
    fn declares(&self, schema: SchemaId, property: &str, seen: &mut Vec<SchemaId>) -> bool {
        let is_declared = |flat: &FlatSchema| flat.properties.contains_key(property);
        self.everywhere(schema, &is_declared, seen)
    }

    /// Returns whether a schema requires a property: itself, or each of its alternatives.
    pub(super) fn requires(&self, schema: SchemaId, property: &str) -> bool {
        let is_required = |flat: &FlatSchema| flat.required.contains(property);
        self.everywhere(schema, &is_required, &mut Vec::new())
    }

    /// Returns whether a condition holds for a schema, or for each of its alternatives. `seen` holds
    /// the schemas that led to it.
    fn everywhere(
        &self,
        schema: SchemaId,
        holds: &dyn Fn(&FlatSchema) -> bool,
        seen: &mut Vec<SchemaId>,
    ) -> bool {
        let schema = self.contract.resolve(schema);
        if seen.contains(&schema) {
            return false;
        }
        seen.push(schema);
        let flat = FlatSchema::of(self.contract, &[schema]);
        let is_everywhere = holds(&flat)
            || flat.choices.iter().any(|choice| {
                let mut members = choice.members.iter();
                members.all(|member| self.everywhere(*member, holds, seen))
            });
        seen.pop();
        is_everywhere
    }

    /// Returns the first property that every member requires, and for which each has a constant
    /// string of its own, with these strings.
    ///
    /// Such a property selects the one member that can accept a value, as a declared tag does.
    pub(super) fn constant_tags(&self, members: &[SchemaId]) -> Option<(String, Vec<Vec<String>>)> {
        let flats = members
            .iter()
            .map(|member| FlatSchema::of(self.contract, &[*member]));
        self.constant_tags_of(&flats.collect::<Vec<_>>())
    }

    /// Returns the constant tags of members that are flattened already.
    pub(super) fn constant_tags_of(
        &self,
        flats: &[FlatSchema],
    ) -> Option<(String, Vec<Vec<String>>)> {
        let first = flats.first()?;
        first.properties.keys().find_map(|property| {
            let mut seen = HashSet::new();
            let mut tags = Vec::with_capacity(flats.len());
            for flat in flats {
                // Without either, a value that has no such property could still fit this member.
                if flat.types != Some(Types::OBJECT) || !flat.required.contains(property) {
                    return None;
                }
                let values = self.string_values(flat.properties.get(property)?)?;
                let [Value::String(value)] = values.as_slice() else {
                    return None;
                };
                if !seen.insert(value.clone()) {
                    return None;
                }
                tags.push(vec![value.clone()]);
            }
            Some((property.clone(), tags))
        })
    }

    /// Returns the listed values of a conjunction of schemas, if all are strings and nothing else
    /// constrains them.
    pub(super) fn string_values(&self, ids: &[SchemaId]) -> Option<Vec<Value>> {
        let flat = FlatSchema::of(self.contract, ids);
        let strings = flat.types.is_none_or(|types| types == Types::STRING)
            && flat.choices.is_empty()
            && !flat.residual
            && !flat.constrains_strings();
        flat.values
            .filter(|values| strings && !values.is_empty() && values.iter().all(Value::is_string))
    }
}
