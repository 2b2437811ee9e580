//! Flattening: a schema, its references and its `allOf` become one conjunction of keywords.
//!
//! In JSON Schema `allOf` intersects what its members accept, and inherits nothing. So most
//! keywords of the members can be merged into one that is as tight: the larger `minimum`, the
//! shorter list of values, the union of `required`. What cannot be merged, such as two patterns,
//! makes the conjunction *residual*: the Rust form holds the first, and the compiled schema checks
//! all of them.

mod merge;

use std::cmp::Ordering;

use contract::Contract;
use contract::model::{Discriminator, Formats, Keywords, MOST_LINKS, SchemaId, SchemaKind, Types};
use indexmap::{IndexMap, IndexSet};
use serde_json::{Number, Value};

use merge::{intersect, keep_first, smaller, tighten};

/// The conjunction of all keywords that a value has to fit.
#[derive(Debug, Default)]
pub(super) struct FlatSchema {
    /// The accepted types, or `None` if every type is.
    pub types: Option<Types>,
    /// The listed values (`enum` and `const`), or `None` if none are listed.
    pub values: Option<Vec<Value>>,
    /// Whether values may be added to the list later (`x-extensible-enum`).
    pub extensible: bool,
    /// Whether the value is secret (`x-secret` and `format: password`).
    pub secret: bool,
    pub minimum: Option<Number>,
    pub maximum: Option<Number>,
    pub exclusive_minimum: Option<Number>,
    pub exclusive_maximum: Option<Number>,
    pub multiple_of: Option<Number>,
    /// Whether a default is an integer beyond `i64::MAX` that a `u64` holds.
    pub has_unsigned_default: bool,
    pub min_length: Option<u64>,
    pub max_length: Option<u64>,
    pub pattern: Option<String>,
    pub format: Option<String>,
    /// The `items` of every member that has one.
    pub items: Vec<SchemaId>,
    pub min_items: Option<u64>,
    pub max_items: Option<u64>,
    pub unique_items: bool,
    /// Whether items differ by position (`prefixItems`).
    pub positional: bool,
    /// The properties, each with its schema in every member that declares it.
    pub properties: IndexMap<String, Vec<SchemaId>>,
    pub required: IndexSet<String>,
    pub additional: AdditionalProperties,
    /// Whether one schema was flattened, and not a conjunction of several.
    is_single: bool,
    /// Whether the conjunction rejects every property that no member declares
    /// (`unevaluatedProperties: false`).
    closed_as_a_whole: bool,
    pub min_properties: Option<u64>,
    pub max_properties: Option<u64>,
    pub dependent_required: IndexMap<String, Vec<String>>,
    /// Every `oneOf` and `anyOf`. At least one member of each has to accept the value.
    pub choices: Vec<Alternatives>,
    /// Whether there are keywords that only the compiled schema can check.
    pub residual: bool,
    /// Whether no value is accepted.
    pub never: bool,
    /// Whether members are left out because a chain of `allOf` is longer than [`MOST_LINKS`].
    pub too_deep: bool,
    /// The number of `allOf` that lead to the schema that is being added.
    links: usize,
    /// The number of members with `properties` or `additionalProperties`.
    object_members: usize,
}

/// The treatment of properties that a conjunction does not declare.
#[derive(Debug, Default, PartialEq, Eq)]
pub(super) enum AdditionalProperties {
    /// No keyword is about undeclared properties, so they are accepted.
    #[default]
    Unspecified,
    /// Undeclared properties are rejected.
    Refused,
    /// Undeclared properties have to fit this schema.
    Follow(SchemaId),
    /// Only the compiled schema can say which undeclared properties are accepted, so all are kept
    /// for its check.
    Any,
}

/// The members of a `oneOf` or `anyOf`.
#[derive(Debug, Clone)]
pub(super) struct Alternatives {
    /// Whether exactly one member has to accept the value (`oneOf`).
    pub exactly_one: bool,
    pub members: Vec<SchemaId>,
    pub discriminator: Option<Discriminator>,
}

impl FlatSchema {
    /// Flattens one schema, or the conjunction of several.
    pub(super) fn of(contract: &Contract, ids: &[SchemaId]) -> Self {
        let mut flat = Self {
            is_single: ids.len() == 1,
            ..Self::default()
        };
        let mut seen = Vec::new();
        for id in ids {
            flat.add(contract, *id, &mut seen);
        }
        flat.take_only_branches(contract);
        flat
    }

    /// Returns whether some keyword constrains objects, arrays, strings or numbers.
    pub(super) fn constrains_any_type(&self) -> bool {
        self.constrains_objects()
            || self.constrains_arrays()
            || self.constrains_strings()
            || self.constrains_numbers()
    }

    /// Returns whether some keyword constrains objects.
    pub(super) fn constrains_objects(&self) -> bool {
        !self.properties.is_empty()
            || self.closed_as_a_whole
            || !self.required.is_empty()
            || self.additional != AdditionalProperties::Unspecified
            || self.min_properties.is_some()
            || self.max_properties.is_some()
            || !self.dependent_required.is_empty()
    }

    /// Returns whether some keyword constrains arrays.
    pub(super) fn constrains_arrays(&self) -> bool {
        !self.items.is_empty()
            || self.positional
            || self.min_items.is_some()
            || self.max_items.is_some()
            || self.unique_items
    }

    /// Returns whether some keyword constrains strings.
    pub(super) fn constrains_strings(&self) -> bool {
        self.min_length.is_some()
            || self.max_length.is_some()
            || self.pattern.is_some()
            || self
                .format
                .as_deref()
                .is_some_and(crate::ir::format_is_enforced)
    }

    /// Returns whether some keyword constrains numbers.
    pub(super) fn constrains_numbers(&self) -> bool {
        self.minimum.is_some()
            || self.maximum.is_some()
            || self.exclusive_minimum.is_some()
            || self.exclusive_maximum.is_some()
            || self.multiple_of.is_some()
    }

    /// Adds the keywords of a schema. `seen` holds the schemas that led to it, since `$ref` and
    /// `allOf` can lead in a cycle.
    fn add(&mut self, contract: &Contract, id: SchemaId, seen: &mut Vec<SchemaId>) {
        if seen.contains(&id) {
            // A schema that is a member of itself constrains nothing more the second time.
            return;
        }
        seen.push(id);
        match &contract.schema(id).kind {
            SchemaKind::Bool(true) => {}
            SchemaKind::Bool(false) => self.never = true,
            SchemaKind::Object(keywords) => self.add_keywords(contract, keywords, seen),
        }
        // Only the schemas on the way to this one are kept: one that two members refer to is no
        // cycle.
        seen.pop();
    }

    /// Adds the keywords of a schema that is an object, and of the schemas that they refer to.
    fn add_keywords(&mut self, contract: &Contract, k: &Keywords, seen: &mut Vec<SchemaId>) {
        if let Some(target) = k.reference {
            self.add(contract, target, seen);
            // Annotations beside `$ref` describe this use of the type, so they are not merged into
            // it.
            if k.only_reference {
                return;
            }
        }
        self.add_members(contract, &k.all_of, seen);
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
        // One member is enough: a text that one schema calls secret must not be printed.
        self.secret |= k.secret;
        self.residual |= k.not.is_some() || k.if_schema.is_some();
    }

    /// Adds the members of an `allOf`.
    fn add_members(&mut self, contract: &Contract, members: &[SchemaId], seen: &mut Vec<SchemaId>) {
        if self.links >= MOST_LINKS && !members.is_empty() {
            self.too_deep = true;
            self.residual = true;
            return;
        }
        self.links += 1;
        for member in members {
            self.add(contract, *member, seen);
        }
        self.links -= 1;
    }

    /// Adds the members of alternatives of which the types that are accepted leave one: of an
    /// object or null, beside `type: object`, the object.
    fn take_only_branches(&mut self, contract: &Contract) {
        let Some(types) = self.types else { return };
        for choice in std::mem::take(&mut self.choices) {
            let mut left = choice.members.iter().filter(|id| {
                let schema = contract.schema(contract.resolve(**id));
                match &schema.kind {
                    SchemaKind::Bool(accepts) => *accepts,
                    SchemaKind::Object(k) => {
                        k.types.is_none_or(|own| !intersect(own, types).is_empty())
                    }
                }
            });
            match (left.next(), left.next()) {
                (Some(only), None) if choice.members.len() > 1 => {
                    // It is a part beside others, as a member of an `allOf` is.
                    self.is_single = false;
                    self.add(contract, *only, &mut Vec::new());
                }
                _ => self.choices.push(choice),
            }
        }
    }

    /// Adds the keywords of every type: `type`, `enum` and `const`.
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

    /// Intersects the listed values with `values`, or lists `values` if none were listed before.
    fn restrict(&mut self, values: &[Value]) {
        self.values = Some(match self.values.take() {
            Some(before) => before
                .into_iter()
                .filter(|value| values.contains(value))
                .collect(),
            None => values.to_vec(),
        });
    }

    /// Adds the keywords of numbers.
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
        // The first step is kept and not the least common multiple, which may be too large for a
        // number.
        self.residual |= keep_first(&mut self.multiple_of, k.multiple_of.as_ref());
        let default = k.default.as_ref();
        self.has_unsigned_default |= default.is_some_and(|it| it.is_u64() && !it.is_i64());
    }

    /// Adds the keywords of strings.
    fn add_strings(&mut self, k: &Keywords, formats: Formats) {
        // `None` is less than every number, so this is the larger bound, if there is one.
        self.min_length = self.min_length.max(k.min_length);
        self.max_length = smaller(self.max_length, k.max_length);
        self.residual |= keep_first(&mut self.pattern, k.pattern.as_ref());
        // Formats that the run time would check are left out where the contract has them as
        // annotations only. Those of integers remain, since they are types of Rust in either mode.
        let counts = |format: &&String| {
            formats == Formats::Assertion || !crate::ir::format_is_enforced(format)
        };
        self.residual |= keep_first(&mut self.format, k.format.as_ref().filter(counts));
    }

    /// Adds the keywords of arrays.
    fn add_arrays(&mut self, k: &Keywords) {
        self.items.extend(k.items);
        self.min_items = self.min_items.max(k.min_items);
        self.max_items = smaller(self.max_items, k.max_items);
        self.unique_items |= k.unique_items;
        self.positional |= !k.prefix_items.is_empty();
        self.residual |=
            !k.prefix_items.is_empty() || k.contains.is_some() || k.unevaluated_items.is_some();
    }

    /// Adds the keywords of objects.
    fn add_objects(&mut self, contract: &Contract, k: &Keywords, is_outermost: bool) {
        for (name, schema) in &k.properties {
            let schemas = self.properties.entry(name.clone()).or_default();
            if !schemas.contains(schema) {
                schemas.push(*schema);
            }
        }
        self.required.extend(k.required.iter().cloned());
        self.min_properties = self.min_properties.max(k.min_properties);
        self.max_properties = smaller(self.max_properties, k.max_properties);
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
            // A struct's fields cannot express which of the undeclared properties these accept.
            self.additional = AdditionalProperties::Any;
            self.residual = true;
        }
        self.add_additional_properties(k);
        self.add_unevaluated_properties(contract, k, is_outermost);
        if !k.properties.is_empty() || k.additional_properties.is_some() {
            self.object_members += 1;
        }
    }

    /// Adds `additionalProperties`.
    fn add_additional_properties(&mut self, k: &Keywords) {
        if let Some(additional) = k.additional_properties {
            // `additionalProperties` only sees the `properties` beside it. So in a conjunction it
            // also constrains what the other members declare, which only the compiled schema can
            // check.
            self.additional = match self.additional {
                AdditionalProperties::Unspecified => AdditionalProperties::Follow(additional),
                _ => AdditionalProperties::Any,
            };
            self.residual |= self.object_members > 0;
        } else if self.object_members > 0
            && matches!(self.additional, AdditionalProperties::Follow(_))
            && !k.properties.is_empty()
        {
            // An earlier member has `additionalProperties`, which also constrains what this one
            // declares.
            self.residual = true;
        }
    }

    /// Adds `unevaluatedProperties`.
    fn add_unevaluated_properties(
        &mut self,
        contract: &Contract,
        k: &Keywords,
        is_outermost: bool,
    ) {
        let Some(unevaluated) = k.unevaluated_properties else {
            return;
        };
        // `unevaluatedProperties` sees what the members below it declare. Only at the outermost
        // schema are these all members, so that a closed struct does the same.
        let rejects = matches!(contract.schema(unevaluated).kind, SchemaKind::Bool(false));
        if rejects && is_outermost {
            self.closed_as_a_whole = true;
        } else {
            self.additional = AdditionalProperties::Any;
            self.residual = true;
        }
    }

    /// Decides what happens to undeclared properties, once all keywords are known.
    ///
    /// They are rejected by `additionalProperties: false` in one member, and by
    /// `unevaluatedProperties: false` if there are no alternatives and nothing needs the compiled
    /// schema. Where only the compiled schema can check them, the struct keeps all of them.
    pub(super) fn settle_additional_properties(&mut self, contract: &Contract) {
        if self.closed_as_a_whole {
            // Alternatives declare properties too, which a closed struct would reject.
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
            if self.residual && self.object_members > 1 {
                self.additional = AdditionalProperties::Any;
            } else if matches!(contract.schema(id).kind, SchemaKind::Bool(false)) {
                self.additional = AdditionalProperties::Refused;
            }
        }
    }
}
