//! Makes a value by the keywords of a schema, with random choices.

use std::collections::BTreeSet;

use contract::Contract;
use contract::model::{Keywords, SchemaId, SchemaKind, Types};
use rand::RngExt as _;
use rand::rngs::StdRng;
use serde_json::{Map, Value};

use super::gather::{Gathered, equal};
use super::{numbers, texts};
use crate::bounds::{MOST_DEPTH, MOST_LENGTH, MOST_PARTS};

/// The depth from which optional parts are left out.
const DEEP: usize = 5;
/// The number of items that an array has if its schema leaves the choice.
const ITEMS: u64 = 2;
/// How often an item is made again if it must differ from the others.
const TRIES: usize = 24;

/// The maximum number of pairs of a member of `oneOf` and one of `anyOf` that are tried if a schema
/// has both.
const MOST_PAIRS: usize = 64;

/// A maker of one value.
pub(super) struct Maker {
    contract: &'static Contract,
    pub(super) random: StdRng,
    uses_examples: bool,
    makes_optional: bool,
    parts: usize,
}

impl Maker {
    pub(super) fn new(contract: &'static Contract, random: StdRng) -> Self {
        Self {
            contract,
            random,
            uses_examples: false,
            makes_optional: false,
            parts: MOST_PARTS,
        }
    }

    /// Sets whether examples and defaults of schemas are taken.
    pub(super) fn with_examples(mut self, uses_examples: bool) -> Self {
        self.uses_examples = uses_examples;
        self
    }

    /// Sets whether optional properties are made.
    pub(super) fn with_optional(mut self, makes_optional: bool) -> Self {
        self.makes_optional = makes_optional;
        self
    }

    /// Returns whether the value needs more parts than may be made.
    pub(super) fn is_exhausted(&self) -> bool {
        self.parts == 0
    }

    /// Returns a value that mostly fits a schema, or `None` if none was found.
    pub(super) fn value(&mut self, id: SchemaId) -> Option<Value> {
        self.all_of(vec![id], 0)
    }

    /// Returns a value for several schemas at once.
    fn all_of(&mut self, pending: Vec<SchemaId>, depth: usize) -> Option<Value> {
        if depth > MOST_DEPTH || self.parts == 0 {
            return None;
        }
        self.parts -= 1;
        self.expand(pending, Gathered::default(), depth)
    }

    /// Gathers the keywords of the pending schemas. Where a schema has alternatives, each is tried
    /// until one has a value.
    fn expand(
        &mut self,
        mut pending: Vec<SchemaId>,
        mut gathered: Gathered,
        depth: usize,
    ) -> Option<Value> {
        let contract = self.contract;
        while let Some(id) = pending.pop() {
            if gathered.seen.contains(&id) {
                continue;
            }
            gathered.seen.push(id);
            let keywords: &'static Keywords = match &contract.schema(id).kind {
                SchemaKind::Bool(true) => continue,
                SchemaKind::Bool(false) => return None,
                SchemaKind::Object(keywords) => keywords,
            };
            gathered.all.push(keywords);
            pending.extend(keywords.reference);
            // Reversed, since the last one is taken first.
            pending.extend(keywords.all_of.iter().rev());
            if let Some(condition) = keywords.if_schema {
                // The condition is made true, unless there is only an `else`.
                match (keywords.then_schema, keywords.else_schema) {
                    (Some(then), _) => pending.extend([condition, then]),
                    (None, Some(other)) => pending.push(other),
                    (None, None) => {}
                }
            }
            if !keywords.one_of.is_empty() || !keywords.any_of.is_empty() {
                return self.choose(keywords, &pending, &gathered, depth);
            }
        }
        self.gathered(&gathered, depth)
    }

    /// Tries the branches of a schema with alternatives, from a random one on.
    fn choose(
        &mut self,
        keywords: &'static Keywords,
        pending: &[SchemaId],
        gathered: &Gathered,
        depth: usize,
    ) -> Option<Value> {
        let pairs: Vec<Vec<SchemaId>> = match (&*keywords.one_of, &*keywords.any_of) {
            (branches, []) | ([], branches) => branches.iter().map(|id| vec![*id]).collect(),
            (ones, others) => ones
                .iter()
                .flat_map(|one| others.iter().map(|other| vec![*one, *other]))
                .take(MOST_PAIRS)
                .collect(),
        };
        // The first, which documents mean to be typical, unless it is null or everything may vary.
        let start = if self.uses_examples {
            0
        } else {
            self.below(pairs.len())
        };
        let (nulls, others): (Vec<_>, Vec<_>) = pairs
            .iter()
            .cycle()
            .skip(start)
            .take(pairs.len())
            .partition(|ids| ids.iter().any(|id| self.is_null(*id)));
        for ids in others.into_iter().chain(nulls) {
            let mut pending = pending.to_vec();
            pending.extend(ids);
            let mut gathered = gathered.clone();
            if let Some(tag) = ids.iter().find_map(|id| self.tag(keywords, *id)) {
                gathered.tags.push(tag);
            }
            if let Some(value) = self.expand(pending, gathered, depth) {
                return Some(value);
            }
            if self.parts == 0 {
                return None;
            }
        }
        None
    }

    /// Returns whether a schema accepts null alone.
    fn is_null(&self, id: SchemaId) -> bool {
        match &self.contract.schema(self.contract.resolve(id)).kind {
            SchemaKind::Object(keywords) => {
                keywords.types == Some(Types::NULL) || keywords.constant == Some(Value::Null)
            }
            SchemaKind::Bool(_) => false,
        }
    }

    /// Returns the property, and its value, by which a discriminator selects a branch.
    fn tag(&self, keywords: &'static Keywords, branch: SchemaId) -> Option<(&'static str, Value)> {
        let discriminator = keywords.discriminator.as_ref()?;
        let branch = self.contract.resolve(branch);
        let (value, _) = discriminator
            .mapping
            .iter()
            .find(|(_, target)| self.contract.resolve(*target) == branch)?;
        Some((&discriminator.property, Value::String(value.clone())))
    }

    /// Returns a value for keywords without alternatives.
    fn gathered(&mut self, gathered: &Gathered, depth: usize) -> Option<Value> {
        if let Some(listed) = gathered.listed() {
            let types = gathered.all.iter().filter_map(|keywords| keywords.types);
            let types: Vec<Types> = types.collect();
            let fits = |value: &&&Value| types.iter().all(|types| is_of(*types, value));
            let fitting: Vec<&Value> = listed.iter().filter(fits).copied().collect();
            let at = if self.uses_examples {
                0
            } else {
                self.below(fitting.len())
            };
            return fitting.get(at).copied().cloned();
        }
        if self.uses_examples {
            let mut examples = gathered
                .all
                .iter()
                .flat_map(|keywords| keywords.examples.iter().chain(&keywords.default));
            // The example of one schema need not be of the type that all of them accept.
            if let Some(example) = examples.find(|value| is_of(gathered.types(), value)) {
                return Some(example.clone());
            }
        }
        let mut contents = gathered.all.iter().filter_map(|it| it.event_content);
        if let Some(content) = contents.next() {
            // The data of an event is the text of its JSON.
            let content = self.part(&[content], depth)?;
            return Some(Value::String(content.to_string()));
        }
        match kind(gathered.types(), depth)? {
            Types::OBJECT => self.object(gathered, depth),
            Types::ARRAY => self.array(gathered, depth),
            Types::STRING => texts::text(gathered, &mut self.random).map(Value::String),
            Types::INTEGER => numbers::integer(gathered, &mut self.random),
            Types::NUMBER => numbers::number(gathered, &mut self.random),
            Types::BOOLEAN => Some(Value::Bool(self.random.random())),
            _ => Some(Value::Null),
        }
    }

    fn array(&mut self, gathered: &Gathered, depth: usize) -> Option<Value> {
        let least = gathered.least(|keywords| keywords.min_items);
        let contained = gathered.least(|keywords| {
            let needed = keywords.min_contains.unwrap_or(1);
            keywords.contains.is_some().then_some(needed)
        });
        let most = gathered.most(|keywords| keywords.max_items);
        let is_unique = gathered.all.iter().any(|keywords| keywords.unique_items);
        let is_open = self.makes_optional && depth <= DEEP;
        let wanted = if is_open { ITEMS } else { 0 };
        let count = least.max(wanted).max(contained);
        // If the bounds contradict each other, the least wins, and the check of the value says what
        // is wrong.
        let count = usize::try_from(most.map_or(count, |most| count.min(most.max(least)))).ok()?;
        let contained = usize::try_from(contained).ok()?;
        if count > MOST_LENGTH {
            return None;
        }
        let least = usize::try_from(least).ok()?.max(contained);
        let mut items: Vec<Value> = Vec::new();
        while items.len() < count {
            let at = items.len();
            let mut schemas = item_schemas(gathered, at);
            if at < contained {
                schemas.extend(gathered.all.iter().filter_map(|keywords| keywords.contains));
            }
            let mut made = None;
            for _ in 0..TRIES {
                made = self.part(&schemas, depth);
                let is_new = |value: &Value| !items.iter().any(|item| equal(item, value));
                if !is_unique || made.as_ref().is_none_or(is_new) {
                    break;
                }
                made = None;
            }
            match made {
                Some(value) => items.push(value),
                None if at >= least => break,
                None => return None,
            }
        }
        Some(Value::Array(items))
    }

    /// Returns a value of a part, which may be anything if no schema is about it.
    fn part(&mut self, schemas: &[SchemaId], depth: usize) -> Option<Value> {
        // In the order in which they were found, since the last is expanded first.
        let pending = schemas.iter().rev().copied().collect();
        self.all_of(pending, depth + 1)
    }

    fn object(&mut self, gathered: &Gathered, depth: usize) -> Option<Value> {
        let mut names: Vec<(&str, bool)> = Vec::new();
        let required: BTreeSet<&str> = required(gathered);
        for keywords in &gathered.all {
            let own = keywords.properties.keys().map(String::as_str);
            let needed = required.iter().copied();
            for name in own.chain(needed) {
                if !names.iter().any(|(known, _)| *known == name) {
                    names.push((name, required.contains(name)));
                }
            }
        }
        let is_open = self.makes_optional && depth <= DEEP;
        let least = size(gathered.least(|keywords| keywords.min_properties))?;
        let most = gathered.most(|keywords| keywords.max_properties);
        let most = most.and_then(|most| usize::try_from(most).ok());
        if least > MOST_LENGTH {
            return None;
        }
        // Required ones first, so that `maxProperties` leaves them room.
        let mut chosen: BTreeSet<&str> = required.clone();
        for (name, is_required) in &names {
            let has_room = most.is_none_or(|most| chosen.len() < most);
            let is_wanted = is_open || chosen.len() < least;
            if !is_required && has_room && is_wanted && self.may_have(gathered, name) {
                chosen.insert(name);
            }
        }
        let mut made = Map::new();
        for (name, is_required) in names.iter().filter(|(name, _)| chosen.contains(name)) {
            let tag = gathered.tags.iter().find(|(property, _)| property == name);
            let value = match tag {
                Some((_, value)) => Some(value.clone()),
                None => self.part(&property_schemas(gathered, name), depth),
            };
            match value {
                Some(value) => {
                    made.insert((*name).to_owned(), value);
                }
                None if *is_required => return None,
                None => {}
            }
        }
        self.more(gathered, least, depth, &mut made)?;
        Some(Value::Object(made))
    }

    /// Returns whether an object may have an optional property: every schema allows it, it needs no
    /// other, and a response sends it.
    fn may_have(&self, gathered: &Gathered, name: &str) -> bool {
        let is_allowed = gathered.all.iter().all(|keywords| {
            keywords.properties.contains_key(name)
                || keywords
                    .pattern_properties
                    .keys()
                    .any(|pattern| texts::matches(pattern, name))
                || keywords
                    .additional_properties
                    .is_none_or(|id| !self.is_false(id))
        });
        let has_dependants = gathered.all.iter().any(|keywords| {
            keywords.dependent_required.contains_key(name)
                || keywords.dependent_schemas.contains_key(name)
        });
        let schemas = property_schemas(gathered, name);
        let is_sent = schemas.iter().all(|id| !self.is_write_only(*id));
        // A property with dependants would need others that may not be chosen.
        is_allowed && !has_dependants && is_sent
    }

    fn is_false(&self, id: SchemaId) -> bool {
        matches!(self.contract.schema(id).kind, SchemaKind::Bool(false))
    }

    fn is_write_only(&self, id: SchemaId) -> bool {
        let is_own = |id: SchemaId| match &self.contract.schema(id).kind {
            SchemaKind::Object(keywords) => keywords.write_only,
            SchemaKind::Bool(_) => false,
        };
        is_own(id) || is_own(self.contract.resolve(id))
    }

    /// Adds properties that the schema does not name until there are enough. A map without any has
    /// one, so that its form can be seen.
    fn more(
        &mut self,
        gathered: &Gathered,
        least: usize,
        depth: usize,
        made: &mut Map<String, Value>,
    ) -> Option<()> {
        let is_map = gathered.all.iter().any(|keywords| {
            let has_values = keywords
                .additional_properties
                .is_some_and(|id| matches!(self.contract.schema(id).kind, SchemaKind::Object(_)));
            has_values || !keywords.pattern_properties.is_empty()
        });
        let is_shown = is_map && made.is_empty() && self.makes_optional && depth <= DEEP;
        let most = gathered.most(|keywords| keywords.max_properties);
        let is_shown = is_shown && most != Some(0);
        let wanted = least.max(usize::from(is_shown));
        // A pattern or a list of names can yield the same name each time.
        let mut tries = wanted.saturating_mul(4);
        while made.len() < wanted {
            let is_needed = made.len() < least;
            let added = self.another(gathered, depth);
            match added {
                Some((name, value)) => {
                    made.entry(name).or_insert(value);
                }
                None if is_needed => return None,
                None => return Some(()),
            }
            tries = tries.checked_sub(1)?;
        }
        Some(())
    }

    /// Returns a property that the schema does not name.
    fn another(&mut self, gathered: &Gathered, depth: usize) -> Option<(String, Value)> {
        let mut patterns = gathered
            .all
            .iter()
            .flat_map(|keywords| keywords.pattern_properties.keys());
        let named = gathered
            .all
            .iter()
            .find_map(|keywords| keywords.property_names);
        let name = if let Some(names) = named {
            match self.part(&[names], depth)? {
                Value::String(name) => name,
                _ => return None,
            }
        } else if let Some(pattern) = patterns.next() {
            texts::of_pattern(pattern, &mut self.random)?
        } else {
            texts::word(&mut self.random)
        };
        if !self.may_have(gathered, &name) {
            return None;
        }
        let value = self.part(&property_schemas(gathered, &name), depth)?;
        Some((name, value))
    }

    fn below(&mut self, count: usize) -> usize {
        if count == 0 {
            0
        } else {
            self.random.random_range(0..count)
        }
    }
}

/// Chooses one of the types: null only if there is no other, and no object or array where a
/// value is deep.
fn kind(types: Types, depth: usize) -> Option<Types> {
    let plain = [Types::STRING, Types::NUMBER, Types::INTEGER, Types::BOOLEAN];
    let nested = [Types::OBJECT, Types::ARRAY];
    let order: Vec<Types> = if depth > DEEP {
        plain
            .into_iter()
            .chain([Types::NULL])
            .chain(nested)
            .collect()
    } else {
        nested
            .into_iter()
            .chain(plain)
            .chain([Types::NULL])
            .collect()
    };
    order.into_iter().find(|kind| types.contains(*kind))
}

/// Returns the names that an object must have.
fn required(gathered: &Gathered) -> BTreeSet<&'static str> {
    let required = gathered.all.iter().flat_map(|keywords| &keywords.required);
    let mut required: BTreeSet<&'static str> = required.map(String::as_str).collect();
    required.extend(gathered.tags.iter().map(|(name, _)| *name));
    loop {
        // A name that is added may need others in turn.
        let dependent = gathered.all.iter().flat_map(|keywords| {
            let entries = keywords.dependent_required.iter();
            let entries = entries.filter(|(name, _)| required.contains(name.as_str()));
            entries.flat_map(|(_, needed)| needed.iter().map(String::as_str))
        });
        let more: Vec<&str> = dependent.filter(|name| !required.contains(name)).collect();
        if more.is_empty() {
            return required;
        }
        required.extend(more);
    }
}

/// Returns the schemas of an item.
fn item_schemas(gathered: &Gathered, at: usize) -> Vec<SchemaId> {
    let has_items = gathered
        .all
        .iter()
        .any(|keywords| keywords.items.is_some() || at < keywords.prefix_items.len());
    let schemas = gathered.all.iter().filter_map(|keywords| {
        // `unevaluatedItems` is only about what no other keyword is about.
        let rest = if has_items {
            keywords.items
        } else {
            keywords.items.or(keywords.unevaluated_items)
        };
        keywords.prefix_items.get(at).copied().or(rest)
    });
    schemas.collect()
}

/// Returns the schemas of a property.
fn property_schemas(gathered: &Gathered, name: &str) -> Vec<SchemaId> {
    let mut schemas = Vec::new();
    for keywords in &gathered.all {
        let before = schemas.len();
        schemas.extend(keywords.properties.get(name));
        let patterns = keywords.pattern_properties.iter();
        let matching = patterns.filter(|(pattern, _)| texts::matches(pattern, name));
        schemas.extend(matching.map(|(_, id)| *id));
        if schemas.len() == before {
            schemas.extend(keywords.additional_properties);
        }
    }
    // `unevaluatedProperties` is only about what no other keyword is about.
    if schemas.is_empty() {
        let others = gathered.all.iter();
        schemas.extend(others.filter_map(|keywords| keywords.unevaluated_properties));
    }
    schemas
}

/// Returns whether a value is of one of the types.
fn is_of(types: Types, value: &Value) -> bool {
    match value {
        Value::Null => types.contains(Types::NULL),
        Value::Bool(_) => types.contains(Types::BOOLEAN),
        Value::Number(number) => {
            let is_whole = !number.is_f64() || number.as_f64().is_some_and(|it| it.fract() == 0.0);
            types.contains(Types::NUMBER) || (is_whole && types.contains(Types::INTEGER))
        }
        Value::String(_) => types.contains(Types::STRING),
        Value::Array(_) => types.contains(Types::ARRAY),
        Value::Object(_) => types.contains(Types::OBJECT),
    }
}

fn size(count: u64) -> Option<usize> {
    usize::try_from(count).ok()
}
