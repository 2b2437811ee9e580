//! Validates values against the schemas of a contract with the `jsonschema` crate.

use std::cell::{OnceCell, RefCell};
use std::collections::{HashMap, HashSet};

use contract::bundle::{schema_bundle, schema_reference};
use contract::model::{Contract, Formats, SchemaId};
use indexmap::IndexMap;
use jsonschema::{ValidationOptions, Validator};
use percent_encoding::percent_decode_str;
use serde_json::{Map, Value, json};

use crate::pair::Side;

/// The keywords whose value is a map from names to schemas.
const NAMED_SCHEMAS: [&str; 4] = [
    "$defs",
    "dependentSchemas",
    "patternProperties",
    "properties",
];

/// The validators of the schemas of two contracts, each compiled when it is first needed.
#[derive(Debug, Default)]
pub(crate) struct Validators {
    bundles: RefCell<HashMap<Side, Value>>,
    compiled: RefCell<HashMap<(Side, SchemaId), Compiled>>,
}

/// The number of values for which a schema is compiled as far as each of them needs it, before it is
/// compiled as a whole.
const MOST_SINGLE: usize = 4;

/// The validator of a schema.
#[derive(Debug, Default)]
struct Compiled {
    /// The number of values that were validated without the whole.
    singles: usize,
    /// The validator for any value, once it is needed.
    whole: OnceCell<Option<Validator>>,
}

impl Validators {
    /// Returns whether a value fits a schema, or `None` if the schema cannot be compiled.
    pub(crate) fn is_valid(
        &self,
        side: Side,
        contract: &Contract,
        id: SchemaId,
        value: &Value,
    ) -> Option<bool> {
        let mut compiled = self.compiled.borrow_mut();
        let Compiled { singles, whole } = compiled.entry((side, id)).or_default();
        let compile = |names: Option<&HashSet<&str>>| {
            let mut bundles = self.bundles.borrow_mut();
            let bundle = bundles
                .entry(side)
                .or_insert_with(|| schema_bundle(contract));
            options(contract)
                .build(&excerpt(bundle, schema_reference(contract, id), names))
                .ok()
        };
        // Nearly all the time goes into compiling patterns, and a witness has few of the properties.
        if whole.get().is_none() && *singles < MOST_SINGLE {
            *singles += 1;
            return Some(compile(Some(&names(value)))?.is_valid(value));
        }
        let validator = whole.get_or_init(|| compile(None)).as_ref();
        Some(validator?.is_valid(value))
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
        let mut bundles = self.bundles.borrow_mut();
        let bundle = bundles
            .entry(side)
            .or_insert_with(|| schema_bundle(contract));
        // Not kept, unlike the others: it is needed only once a search has found a value.
        let mut excerpt = excerpt(bundle, schema_reference(contract, id), None);
        let schema = excerpt.pointer_mut("/$defs/0")?.as_object_mut()?;
        schema.remove("oneOf")?;
        let validator = options(contract).build(&excerpt).ok()?;
        Some(validator.is_valid(value))
    }
}

fn options(contract: &Contract) -> ValidationOptions<'_> {
    jsonschema::draft202012::options()
        .should_validate_formats(contract.formats == Formats::Assertion)
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

/// Returns a schema with all that it refers to. The validator looks through all that it is given,
/// and most of a large bundle has nothing to do with one schema.
///
/// With `names`, it is the schema of values whose properties have these names only: the entries of
/// `properties` for others say nothing about them.
fn excerpt(bundle: &Value, reference: String, names: Option<&HashSet<&str>>) -> Value {
    let mut references = IndexMap::from([(reference, ())]);
    let mut definitions = Map::new();
    let mut next = 0;
    while let Some((reference, ())) = references.get_index(next) {
        let pointer = percent_decode_str(reference.trim_start_matches('#')).decode_utf8_lossy();
        let mut schema = bundle
            .pointer(&pointer)
            .cloned()
            .unwrap_or(Value::Bool(true));
        redirect(&mut schema, &mut references, names);
        definitions.insert(next.to_string(), schema);
        next += 1;
    }
    json!({ "$ref": "#/$defs/0", "$defs": definitions })
}

/// Replaces the references of a schema by those of the excerpt, and records where they led. Removes
/// the properties that have none of the `names`.
fn redirect(
    schema: &mut Value,
    references: &mut IndexMap<String, ()>,
    names: Option<&HashSet<&str>>,
) {
    match schema {
        Value::Array(items) => items
            .iter_mut()
            .for_each(|item| redirect(item, references, names)),
        Value::Object(entries) => {
            for (key, value) in entries.iter_mut() {
                match (key.as_str(), value) {
                    // Values are no schemas, though they can look like one.
                    ("enum" | "const", _) => {}
                    ("$ref", Value::String(reference)) => {
                        let (index, _) = references.insert_full(reference.clone(), ());
                        *reference = format!("#/$defs/{index}");
                    }
                    // The keys are names here, such as a property `const`.
                    (key, Value::Object(named)) if NAMED_SCHEMAS.contains(&key) => {
                        if let Some(names) = names.filter(|_| key == "properties") {
                            named.retain(|name, _| names.contains(name.as_str()));
                        }
                        named
                            .values_mut()
                            .for_each(|schema| redirect(schema, references, names));
                    }
                    (_, value) => redirect(value, references, names),
                }
            }
        }
        _ => {}
    }
}
