//! One conjunction out of a schema, its references and its `allOf`.

use std::cmp::Ordering;

use contract::Contract;
use contract::model::{Discriminator, Formats, Keywords, SchemaId, SchemaKind, Types};
use contract::number::compare;
use indexmap::{IndexMap, IndexSet};
use serde_json::{Number, Value};

/// Everything that holds at once for a value.
#[derive(Debug, Default)]
pub(super) struct FlatSchema {
    /// Allowed types; none means any.
    pub types: Option<Types>,
    /// Allowed values.
    pub values: Option<Vec<Value>>,
    /// Whether the values may grow.
    pub extensible: bool,
    /// Whether the value is never printed.
    pub secret: bool,
    pub minimum: Option<Number>,
    pub maximum: Option<Number>,
    pub exclusive_minimum: Option<Number>,
    pub exclusive_maximum: Option<Number>,
    pub multiple_of: Option<Number>,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub pattern: Option<String>,
    pub format: Option<String>,
    /// `items` of every part.
    pub items: Vec<SchemaId>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
    pub unique_items: bool,
    /// Whether items differ by position.
    pub positional: bool,
    /// Properties with every schema that speaks of them.
    pub properties: IndexMap<String, Vec<SchemaId>>,
    pub required: IndexSet<String>,
    pub additional: AdditionalProperties,
    /// Whether it is the conjunction of one schema.
    is_single: bool,
    /// Whether the conjunction as a whole refuses what none of its parts declares.
    closed_as_a_whole: bool,
    pub min_properties: Option<u64>,
    pub max_properties: Option<u64>,
    pub dependent_required: IndexMap<String, Vec<String>>,
    /// `oneOf` and `anyOf`, each a choice of its own.
    pub choices: Vec<Alternatives>,
    /// Whether keywords remain that only the compiled schema can check.
    pub residual: bool,
    /// Whether nothing is accepted.
    pub never: bool,
    /// Whether some keyword constrains strings, numbers, arrays or objects without naming the type.
    parts: usize,
}

/// What a conjunction says of undeclared properties.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum AdditionalProperties {
    /// Nothing.
    #[default]
    Unspecified,
    /// They are refused.
    Refused,
    /// They follow this schema.
    Follow(SchemaId),
    /// They must be kept, and only the compiled schema knows which are allowed.
    Any,
}

/// A `oneOf` or `anyOf`.
#[derive(Debug, Clone)]
pub(super) struct Alternatives {
    pub exactly_one: bool,
    pub members: Vec<SchemaId>,
    pub discriminator: Option<Discriminator>,
}

impl FlatSchema {
    /// Flattens the conjunction of several schemas.
    pub(super) fn of(contract: &Contract, ids: &[SchemaId]) -> Self {
        let mut flat = Self {
            is_single: ids.len() == 1,
            ..Self::default()
        };
        let mut seen = Vec::new();
        for id in ids {
            flat.add(contract, *id, &mut seen);
        }
        flat
    }

    /// Whether some keyword speaks of objects.
    pub(super) fn constrains_objects(&self) -> bool {
        !self.properties.is_empty()
            || self.closed_as_a_whole
            || !self.required.is_empty()
            || self.additional != AdditionalProperties::Unspecified
            || self.min_properties.is_some()
            || self.max_properties.is_some()
            || !self.dependent_required.is_empty()
    }

    /// Whether some keyword speaks of arrays.
    pub(super) fn constrains_arrays(&self) -> bool {
        !self.items.is_empty()
            || self.positional
            || self.min_items.is_some()
            || self.max_items.is_some()
            || self.unique_items
    }

    /// Whether some keyword speaks of strings.
    pub(super) fn constrains_strings(&self) -> bool {
        self.min_length.is_some()
            || self.max_length.is_some()
            || self.pattern.is_some()
            || self
                .format
                .as_deref()
                .is_some_and(crate::ir::format_is_enforced)
    }

    /// Whether some keyword speaks of numbers.
    pub(super) fn constrains_numbers(&self) -> bool {
        self.minimum.is_some()
            || self.maximum.is_some()
            || self.exclusive_minimum.is_some()
            || self.exclusive_maximum.is_some()
            || self.multiple_of.is_some()
    }

    fn add(&mut self, contract: &Contract, id: SchemaId, seen: &mut Vec<SchemaId>) {
        if seen.contains(&id) {
            // A schema that is part of its own conjunction adds nothing the second time.
            return;
        }
        seen.push(id);
        match &contract.schema(id).kind {
            SchemaKind::Bool(true) => {}
            SchemaKind::Bool(false) => self.never = true,
            SchemaKind::Object(keywords) => self.add_keywords(contract, keywords, seen),
        }
        seen.pop();
    }

    fn add_keywords(&mut self, contract: &Contract, k: &Keywords, seen: &mut Vec<SchemaId>) {
        if let Some(target) = k.reference {
            self.add(contract, target, seen);
            if k.only_reference {
                return;
            }
        }
        for part in &k.all_of {
            self.add(contract, *part, seen);
        }
        self.add_values(k);
        self.add_numbers(k);
        self.add_strings(k, contract.formats);
        self.add_arrays(k);
        self.add_objects(contract, k, self.is_single && seen.len() == 1);
        for (members, exactly_one) in [(&k.one_of, true), (&k.any_of, false)] {
            if !members.is_empty() {
                self.choices.push(Alternatives {
                    exactly_one,
                    members: members.clone(),
                    discriminator: k.discriminator.clone(),
                });
            }
        }
        self.extensible |= k.extensible;
        self.secret |= k.secret;
        self.residual |= k.not.is_some() || k.if_schema.is_some();
    }

    fn add_values(&mut self, k: &Keywords) {
        if let Some(types) = k.types {
            self.types = Some(match self.types {
                Some(before) => intersect(before, types),
                None => types,
            });
        }
        if let Some(values) = &k.enumeration {
            self.restrict(values);
        }
        if let Some(value) = &k.constant {
            self.restrict(std::slice::from_ref(value));
        }
    }

    fn restrict(&mut self, values: &[Value]) {
        self.values = Some(match self.values.take() {
            Some(before) => before
                .into_iter()
                .filter(|value| values.contains(value))
                .collect(),
            None => values.to_vec(),
        });
    }

    fn add_numbers(&mut self, k: &Keywords) {
        tighten(&mut self.minimum, k.minimum.as_ref(), Ordering::Greater);
        tighten(&mut self.maximum, k.maximum.as_ref(), Ordering::Less);
        tighten(
            &mut self.exclusive_minimum,
            k.exclusive_minimum.as_ref(),
            Ordering::Greater,
        );
        tighten(
            &mut self.exclusive_maximum,
            k.exclusive_maximum.as_ref(),
            Ordering::Less,
        );
        self.residual |= keep_first(&mut self.multiple_of, k.multiple_of.as_ref());
    }

    fn add_strings(&mut self, k: &Keywords, formats: Formats) {
        self.min_length = self.min_length.max(k.min_length);
        self.max_length = least(self.max_length, k.max_length);
        self.residual |= keep_first(&mut self.pattern, k.pattern.as_ref());
        let counts = |format: &&String| {
            formats == Formats::Assertion || !crate::ir::format_is_enforced(format)
        };
        self.residual |= keep_first(&mut self.format, k.format.as_ref().filter(counts));
    }

    fn add_arrays(&mut self, k: &Keywords) {
        self.items.extend(k.items);
        self.min_items = self.min_items.max(k.min_items);
        self.max_items = least(self.max_items, k.max_items);
        self.unique_items |= k.unique_items;
        self.positional |= !k.prefix_items.is_empty();
        self.residual |=
            !k.prefix_items.is_empty() || k.contains.is_some() || k.unevaluated_items.is_some();
    }

    fn add_objects(&mut self, contract: &Contract, k: &Keywords, is_outermost: bool) {
        for (name, schema) in &k.properties {
            let schemas = self.properties.entry(name.clone()).or_default();
            if !schemas.contains(schema) {
                schemas.push(*schema);
            }
        }
        self.required.extend(k.required.iter().cloned());
        self.min_properties = self.min_properties.max(k.min_properties);
        self.max_properties = least(self.max_properties, k.max_properties);
        for (name, needed) in &k.dependent_required {
            self.dependent_required
                .entry(name.clone())
                .or_default()
                .extend(needed.iter().cloned());
        }
        if !k.pattern_properties.is_empty()
            || k.property_names.is_some()
            || !k.dependent_schemas.is_empty()
        {
            self.additional = AdditionalProperties::Any;
            self.residual = true;
        }
        if let Some(additional) = k.additional_properties {
            // Beside another part, `additionalProperties` forbids what that part declares: the compiled
            // schema sorts that out.
            self.additional = match self.additional {
                AdditionalProperties::Unspecified => AdditionalProperties::Follow(additional),
                _ => AdditionalProperties::Any,
            };
            self.residual |= self.parts > 0;
        } else if self.parts > 0
            && matches!(self.additional, AdditionalProperties::Follow(_))
            && !k.properties.is_empty()
        {
            self.residual = true;
        }
        if let Some(unevaluated) = k.unevaluated_properties {
            let refuses = matches!(contract.schema(unevaluated).kind, SchemaKind::Bool(false));
            if refuses && is_outermost {
                self.closed_as_a_whole = true;
            } else {
                self.additional = AdditionalProperties::Any;
                self.residual = true;
            }
        }
        if !k.properties.is_empty() || k.additional_properties.is_some() {
            self.parts += 1;
        }
    }

    /// Settles `additionalProperties: false` (or `unevaluatedProperties: false` on plain parts) as refusal.
    pub(super) fn settle_additional_properties(&mut self, contract: &Contract) {
        if self.closed_as_a_whole {
            let is_plain = !self.residual
                && self.choices.is_empty()
                && self.additional == AdditionalProperties::Unspecified;
            self.additional = if is_plain {
                AdditionalProperties::Refused
            } else {
                AdditionalProperties::Any
            };
            self.residual |= !is_plain;
            return;
        }
        if let AdditionalProperties::Follow(id) = self.additional {
            match contract.schema(id).kind {
                SchemaKind::Bool(false) => {
                    self.additional = if self.residual && self.parts > 1 {
                        AdditionalProperties::Any
                    } else {
                        AdditionalProperties::Refused
                    };
                }
                SchemaKind::Bool(true) | SchemaKind::Object(_) => {
                    if self.residual && self.parts > 1 {
                        self.additional = AdditionalProperties::Any;
                    }
                }
            }
        }
    }
}

/// Both sets at once; an integer is a number.
fn intersect(one: Types, other: Types) -> Types {
    let mut both = Types(one.0 & other.0);
    for (a, b) in [(one, other), (other, one)] {
        if a.contains(Types::INTEGER) && b.contains(Types::NUMBER) {
            both = both.with(Types::INTEGER);
        }
    }
    both
}

fn tighten(kept: &mut Option<Number>, new: Option<&Number>, tighter: Ordering) {
    let Some(new) = new else { return };
    if kept
        .as_ref()
        .is_none_or(|old| compare(new, old) == Some(tighter))
    {
        *kept = Some(new.clone());
    }
}

/// Keeps the first of two values that cannot be merged; says whether a second, different one remains.
fn keep_first<T: PartialEq + Clone>(kept: &mut Option<T>, new: Option<&T>) -> bool {
    match (kept.as_ref(), new) {
        (None, Some(new)) => {
            *kept = Some(new.clone());
            false
        }
        (Some(old), Some(new)) => old != new,
        (_, None) => false,
    }
}

fn least(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.min(other)),
        (one, other) => one.or(other),
    }
}

#[cfg(test)]
mod tests {
    use std::cmp::Ordering;

    use serde_json::Number;

    use super::tighten;

    #[test]
    fn the_tighter_bound_is_found_where_floats_are_too_coarse() {
        let mut kept = None;
        let least = 1_u64 << 53;
        for (bound, tightest) in [(least, least), (least + 1, least + 1), (least, least + 1)] {
            tighten(&mut kept, Some(&Number::from(bound)), Ordering::Greater);
            assert_eq!(kept, Some(Number::from(tightest)));
        }
    }
}
