//! The generated types accept exactly what their schemas accept, as the `jsonschema` crate
//! validates them.
//!
//! `STRATUS_SEED` repeats a run, `STRATUS_CASES` sets the number of values for each schema.

use std::collections::BTreeSet;

use api_runtime::json::Recode;
use api_types::schemas::TYPES;
use jsonschema::Validator;
use proptest::prelude::*;
use proptest::test_runner::{TestCaseError, TestError};
use serde_json::{Value, json};
use tests::random::{Choices, Run};
use tests::values;

/// Returns the contract, whose schemas are JSON Schema 2020-12.
fn contract() -> Value {
    serde_json::from_str(include_str!("../../crates/api-server/src/openapi.json"))
        .expect("openapi.json is JSON")
}

fn validator(contract: &Value, schema: &Value) -> Validator {
    let mut root = contract.clone();
    root["$ref"] = schema["$ref"].clone();
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(&root)
        .expect("the contract is valid")
}

#[test]
fn every_component_is_a_type() {
    let contract = contract();
    let components: BTreeSet<&str> = contract["components"]["schemas"]
        .as_object()
        .expect("an object")
        .keys()
        .map(String::as_str)
        .collect();
    let types: BTreeSet<&str> = TYPES.iter().map(|(name, _)| *name).collect();
    assert_eq!(components, types);
}

#[test]
fn types_accept_what_their_schemas_accept() {
    let Run { seed, cases } = Run::from_environment(300);
    let contract = contract();
    let mut failures = Vec::new();
    for (name, recode) in TYPES {
        let schema = json!({"$ref": format!("#/components/schemas/{name}")});
        let validator = validator(&contract, &schema);
        let mut seen = [0_usize; 2];
        let mut runner = Run { seed, cases }.runner();
        let strategy = proptest::collection::vec(any::<u8>(), 0..400);
        let seen_in_run = std::cell::RefCell::new(&mut seen);
        let result = runner.run(&strategy, |bytes| {
            let value = values::value(&contract, &schema, &mut Choices::new(&bytes), 0);
            let accepted = agree(&validator, *recode, &value)?;
            seen_in_run.borrow_mut()[usize::from(accepted)] += 1;
            Ok(())
        });
        if let Err(TestError::Fail(reason, bytes)) = result {
            let value = values::value(&contract, &schema, &mut Choices::new(&bytes), 0);
            failures.push(format!("{name}: {reason}\n  {value}"));
            continue;
        }
        // If all values were valid, or none, the test would show nothing.
        let few = usize::try_from(cases / 100).expect("a small number");
        assert!(
            seen[0] > few && seen[1] > few,
            "{name}: {} rejected and {} accepted are too few",
            seen[0],
            seen[1]
        );
    }
    assert!(
        failures.is_empty(),
        "STRATUS_SEED={seed}\n{}",
        failures.join("\n")
    );
}

/// Returns whether the schema and the type accept the value; an error if they differ, or if the
/// type encodes another value than it has decoded.
fn agree(validator: &Validator, recode: Recode, value: &Value) -> Result<bool, TestCaseError> {
    let expected = validator.is_valid(value);
    let written = recode(value.to_string().as_bytes());
    prop_assert_eq!(
        written.is_ok(),
        expected,
        "the schema says {}, the type says {:?}",
        expected,
        written
    );
    if let Ok(written) = written {
        let again: Value = serde_json::from_slice(&written).expect("a type writes JSON");
        prop_assert!(
            validator.is_valid(&again),
            "the type encodes what its schema rejects: {}",
            again
        );
        prop_assert!(
            holds(&again, value),
            "the type encodes another value: {}",
            again
        );
    }
    Ok(expected)
}

/// Returns whether everything in the written value was read, except defaults.
fn holds(written: &Value, read: &Value) -> bool {
    match (written, read) {
        (Value::Object(written), Value::Object(read)) => written
            .iter()
            .all(|(key, value)| read.get(key).is_none_or(|read| holds(value, read))),
        (Value::Array(written), Value::Array(read)) => {
            written.len() == read.len()
                && written
                    .iter()
                    .zip(read)
                    .all(|(written, read)| holds(written, read))
        }
        (Value::Number(written), Value::Number(read)) => {
            written == read || written.as_f64() == read.as_f64()
        }
        (written, read) => written == read,
    }
}
