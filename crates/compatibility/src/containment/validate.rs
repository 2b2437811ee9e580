//! Validates values against the schemas of a contract with the `jsonschema` crate.

use std::cell::{Cell, OnceCell, RefCell};
use std::collections::{HashMap, HashSet};
use std::rc::Rc;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use contract::bundle::Excerpts;
use contract::model::{Contract, Formats, SchemaId};
use jsonschema::{Keyword, ValidationError, ValidationOptions, Validator};
use serde_json::Value;

use super::engines::{Engine, Engines};
use crate::pair::Side;

/// The validators of the schemas of two contracts, each compiled when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Validators {
    engines: Engines,
    /// Whether an engine could not tell whether a string matches.
    is_unclear: Arc<AtomicBool>,
    excerpts: RefCell<HashMap<Side, Rc<Excerpts>>>,
    compiled: RefCell<HashMap<(Side, SchemaId), Compiled>>,
    /// The number of ways that all compiled validators follow together.
    ways: Cell<usize>,
}

/// The maximum number of ways through the schemas beside `unevaluated…` that one validator follows.
const MOST_WAYS: usize = 20_000;
/// The maximum number of ways that all validators of a comparison follow.
const MOST_WAYS_IN_ALL: usize = 400_000;

/// The number of values for which a schema is compiled as far as each of them needs it, before it is
/// compiled as a whole.
const MOST_SINGLE: usize = 4;

/// The validator of a schema.
#[derive(Debug, Default)]
struct Compiled {
    /// The number of ways that a validator follows, if they are not too many, once they are counted.
    ways: OnceCell<Option<usize>>,
    /// The number of values that were validated without the whole.
    singles: usize,
    /// The validator for any value, once it is needed.
    whole: OnceCell<Option<Validator>>,
}

impl Validators {
    /// Returns validators with the engines of a comparison.
    pub(crate) fn with(engines: Engines) -> Self {
        Self {
            engines,
            ..Self::default()
        }
    }

    /// Returns whether a value fits a schema, or `None` if the schema cannot be compiled or has too many
    /// ways.
    pub(crate) fn is_valid(
        &self,
        side: Side,
        contract: &Contract,
        id: SchemaId,
        value: &Value,
    ) -> Option<bool> {
        let mut compiled = self.compiled.borrow_mut();
        let Compiled {
            ways,
            singles,
            whole,
        } = compiled.entry((side, id)).or_default();
        let excerpts = self.excerpts(side, contract);
        let ways = *ways.get_or_init(|| excerpts.ways(contract, id, MOST_WAYS));
        let compile = |names: Option<&HashSet<&str>>| {
            self.ways.set(self.ways.get().checked_add(ways?)?);
            if self.ways.get() > MOST_WAYS_IN_ALL {
                return None;
            }
            let excerpt = excerpts.excerpt(contract, id, names);
            self.options(contract).build(&excerpt).ok()
        };
        // A value has few of the properties, and nearly all the time goes into compiling them.
        if whole.get().is_none() && *singles < MOST_SINGLE {
            *singles += 1;
            return self.judge(&compile(Some(&names(value)))?, value);
        }
        let validator = whole.get_or_init(|| compile(None)).as_ref();
        self.judge(validator?, value)
    }

    /// Returns whether a validator of a schema would follow more ways than it may.
    pub(crate) fn has_many_ways(&self, side: Side, id: SchemaId) -> bool {
        let compiled = self.compiled.borrow();
        let known = compiled.get(&(side, id)).and_then(|one| one.ways.get());
        known.is_some_and(Option::is_none) || self.ways.get() > MOST_WAYS_IN_ALL
    }

    /// Returns whether a value fits all keywords of a schema but its `oneOf`, or `None` if they
    /// cannot be compiled.
    pub(crate) fn fits_beside_one_of(
        &self,
        side: Side,
        contract: &Contract,
        id: SchemaId,
        value: &Value,
    ) -> Option<bool> {
        let excerpts = self.excerpts(side, contract);
        excerpts.ways(contract, id, MOST_WAYS)?;
        // Not kept, unlike the others: it is needed only once a search has found a value.
        let mut excerpt = excerpts.excerpt(contract, id, None);
        let schema = excerpt.pointer_mut("/$defs/0")?.as_object_mut()?;
        schema.remove("oneOf")?;
        let validator = self.options(contract).build(&excerpt).ok()?;
        self.judge(&validator, value)
    }

    fn excerpts(&self, side: Side, contract: &Contract) -> Rc<Excerpts> {
        let mut excerpts = self.excerpts.borrow_mut();
        let known = excerpts
            .entry(side)
            .or_insert_with(|| Rc::new(Excerpts::of(contract)));
        Rc::clone(known)
    }

    /// Returns whether a value is valid, or `None` if an engine could not tell whether a string
    /// matches.
    fn judge(&self, validator: &Validator, value: &Value) -> Option<bool> {
        self.is_unclear.store(false, Ordering::Relaxed);
        let is_valid = validator.is_valid(value);
        (!self.is_unclear.load(Ordering::Relaxed)).then_some(is_valid)
    }

    /// Returns options with which patterns are compiled when a string is matched with them, and once
    /// for all validators: by themselves, validators compile every pattern of their schema.
    fn options(&self, contract: &Contract) -> ValidationOptions<'static> {
        let engines = self.engines.clone();
        let is_unclear = Arc::clone(&self.is_unclear);
        jsonschema::draft202012::options()
            .should_validate_formats(contract.formats == Formats::Assertion)
            .with_keyword("pattern", move |_, value, _| match value {
                Value::String(pattern) => Ok(Box::new(Pattern {
                    engine: engines.get(pattern),
                    is_unclear: Arc::clone(&is_unclear),
                })),
                _ => Err(ValidationError::custom("a pattern is a string")),
            })
    }
}

/// The keyword `pattern`.
struct Pattern {
    engine: Arc<Engine>,
    is_unclear: Arc<AtomicBool>,
}

impl<'i> Keyword<'i> for Pattern {
    fn validate(&self, instance: &'i Value) -> Result<(), ValidationError<'i>> {
        if self.is_valid(instance) {
            return Ok(());
        }
        Err(ValidationError::custom("the string does not match"))
    }

    fn is_valid(&self, instance: &'i Value) -> bool {
        let Value::String(text) = instance else {
            return true;
        };
        self.engine.matches(text).unwrap_or_else(|| {
            self.is_unclear.store(true, Ordering::Relaxed);
            false
        })
    }
}

/// Returns the names of the properties of a value and of its parts.
fn names(value: &Value) -> HashSet<&str> {
    let mut names = HashSet::new();
    let mut pending = vec![value];
    while let Some(value) = pending.pop() {
        match value {
            Value::Array(items) => pending.extend(items),
            Value::Object(entries) => {
                names.extend(entries.keys().map(String::as_str));
                pending.extend(entries.values());
            }
            Value::Null | Value::Bool(_) | Value::Number(_) | Value::String(_) => {}
        }
    }
    names
}
