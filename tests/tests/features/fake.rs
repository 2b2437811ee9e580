//! The values that the feature `fake` makes of every type of all features, judged by a validator of
//! the contract.

use features_types::schemas::{FAKES, SCHEMAS, TYPES};
use proptest::strategy::{Strategy as _, ValueTree as _};
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use serde_json::{json, Value};

/// The schemas of the contract.
const BUNDLE: &str = include_str!("bundle.json");
/// The number of values of each type.
const CASES: usize = 64;
/// The values that may be drawn in vain for a type: one for each that is not.
const MOST_REJECTS: u32 = 64;
/// The most values that one value holds: 1,000, and those that a schema of these contracts demands.
const MOST_PARTS: usize = 1_100;

pub fn check() {
    let mut bundle: Value = serde_json::from_str(BUNDLE).expect("it is JSON");
    // A cat is another animal too by its properties. The discriminator tells them apart, of which JSON
    // Schema knows nothing.
    let pet = bundle["components"]["schemas"]["QueryPet"].as_object_mut().expect("the schema is there");
    let branches = pet.remove("oneOf").expect("it has alternatives");
    pet.insert("anyOf".to_owned(), branches);
    assert!(FAKES.len() > 20 && FAKES.len() == TYPES.len());
    for ((name, fake), (_, recode)) in FAKES.iter().zip(TYPES) {
        let mut root = bundle.clone();
        root["$ref"] = json!(format!("#/components/schemas/{name}"));
        let options = jsonschema::draft202012::options().should_validate_formats(true);
        let validator = options.build(&root).expect("a contract's schema compiles");
        let values = (fake.values)(&SCHEMAS);
        let config = Config { max_local_rejects: MOST_REJECTS, ..Config::default() };
        let rng = TestRng::deterministic_rng(RngAlgorithm::ChaCha);
        let mut runner = TestRunner::new_with_rng(config, rng);
        let drawn = (0..CASES).map(|_| {
            let drawn = values.new_tree(&mut runner);
            drawn.unwrap_or_else(|error| panic!("{name}: {error}")).current()
        });
        for value in drawn.chain([(fake.example)(&SCHEMAS)]) {
            assert!(validator.is_valid(&value), "{name}: {value}");
            assert!(parts(&value) < MOST_PARTS, "{name} has {} parts", parts(&value));
            let again = recode(value.to_string().as_bytes()).expect("the type encodes what it decodes");
            let again: Value = serde_json::from_slice(&again).expect("it is JSON");
            assert_eq!(again, value, "{name}");
        }
    }
}

/// Returns the number of values that a value holds, itself among them.
fn parts(value: &Value) -> usize {
    let inner: usize = match value {
        Value::Array(items) => items.iter().map(parts).sum(),
        Value::Object(members) => members.values().map(parts).sum(),
        _ => 0,
    };
    1 + inner
}
