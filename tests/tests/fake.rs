//! The values that the feature `fake` makes are valid by the contract, as the `jsonschema` crate
//! reads it, and shrink.
//!
//! `STRATUS_SEED` repeats a run, `STRATUS_CASES` sets the number of values for each type.

use std::cell::RefCell;
use std::collections::BTreeSet;

use api_types::schemas::{FAKES, SCHEMAS, TYPES};
use api_types::{LoadBalancerUpdate, Name, Vm, VmState};
use jsonschema::Validator;
use proptest::prelude::*;
use proptest::test_runner::TestError;
use serde_json::{Value, json};
use tests::random::Run;

/// The number of values of each type, by default.
const CASES: u32 = 25;
/// The types that have one value.
const SINGLE: [&str; 4] = [
    "InferenceApiKeyCreate",
    "NoStore",
    "BearerChallenge",
    "IdempotencyReplayed",
];

/// Returns the validator of a component of the contract, whose schemas are JSON Schema 2020-12.
fn validator(name: &str) -> Validator {
    let text = include_str!("../../crates/api-server/src/openapi.json");
    let mut contract: Value = serde_json::from_str(text).expect("openapi.json is JSON");
    contract["$ref"] = json!(format!("#/components/schemas/{name}"));
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(&contract)
        .expect("the contract is valid")
}

#[test]
fn every_value_and_every_example_of_a_type_is_valid() {
    let Run { seed, cases } = Run::from_environment(CASES);
    let mut single = Vec::new();
    assert_eq!(FAKES.len(), TYPES.len());
    for ((name, fake), (_, recode)) in FAKES.iter().zip(TYPES) {
        let validator = validator(name);
        let check = |value: &Value| {
            let text = value.to_string();
            prop_assert!(validator.is_valid(value), "{name}: {text}");
            let again = recode(text.as_bytes()).expect("the type decodes what it has encoded");
            prop_assert_eq!(
                &serde_json::from_slice::<Value>(&again).expect("JSON"),
                value
            );
            Ok(())
        };
        let example = (fake.example)(&SCHEMAS);
        check(&example).expect("the example is valid");
        let seen = RefCell::new(BTreeSet::new());
        let mut runner = Run { seed, cases }.runner();
        let result = runner.run(&(fake.values)(&SCHEMAS), |value| {
            seen.borrow_mut().insert(value.to_string());
            check(&value)
        });
        assert!(result.is_ok(), "STRATUS_SEED={seed} {name}: {result:?}");
        if seen.borrow().len() == 1 {
            single.push(*name);
        }
    }
    // Fewer values of a type may be the same by chance.
    if cases >= CASES {
        assert_eq!(single, SINGLE);
    }
}

#[test]
fn an_example_is_that_of_the_contract() {
    assert_eq!(Name::example(), "orders");
    let vm = Vm::example();
    assert_eq!(
        (vm.name.as_str(), &vm.state),
        ("orders", &VmState::Creating)
    );
    // With what is optional, each by its own example.
    assert_eq!(vm.ip4.expect("an address"), "203.0.113.21");
    assert_eq!(Vm::example().id, vm.id);
}

#[test]
fn a_value_shrinks_to_the_smallest_that_fails() {
    let Run { seed, cases } = Run::from_environment(1000);
    // Among few values none may fail.
    let cases = cases.max(1000);
    let mut runner = Run { seed, cases }.runner();
    let result = runner.run(&any::<LoadBalancerUpdate>(), |update| {
        prop_assert!(update.vms.len() < 2 || update.src_port < 100.try_into().expect("a port"));
        Ok(())
    });
    let Err(TestError::Fail(_, smallest)) = result else {
        panic!("{result:?}");
    };
    assert_eq!(smallest.vms.len(), 2, "{smallest:?}");
    assert_eq!(i32::from(smallest.src_port), 100, "{smallest:?}");
    assert_eq!(i32::from(smallest.dst_port), 1, "{smallest:?}");
}
