//! Whether one schema is contained in another: by topic, and on random schemas and changes of them,
//! where what is said is compared with a validator and with random values.

#[path = "containment/arrays.rs"]
mod arrays;
#[path = "containment/branches.rs"]
mod branches;
#[path = "containment/corpus.rs"]
mod corpus;
#[path = "containment/limits.rs"]
mod limits;
#[path = "containment/meanings.rs"]
mod meanings;
#[path = "containment/objects.rs"]
mod objects;
#[path = "containment/random.rs"]
mod random;
#[path = "containment/scalars.rs"]
mod scalars;
#[path = "containment/sent.rs"]
mod sent;
#[path = "containment/unions.rs"]
mod unions;

use compatibility::{Containment, Reading, contain};
use contract::model::{Contract, SchemaId};
use jsonschema::Validator;
use serde_json::{Value, json};

/// The number of random values that are tried on schemas that are said to be contained.
const VALUES: usize = 12;

/// Returns a contract with the schemas `One` and `Other`, and two that they may refer to, or `None`
/// if it has errors.
fn contract(one: &Value, other: &Value) -> Option<Contract> {
    let document = json!({
        "openapi": "3.1.0",
        "info": { "title": "Small", "version": "0.1.0" },
        "paths": {},
        "components": { "schemas": {
            "One": one,
            "Other": other,
            "Shared": { "type": "string", "maxLength": 3 },
            "List": {
                "type": "object",
                "properties": {
                    "next": { "$ref": "#/components/schemas/List" },
                    "value": { "type": "integer" },
                },
                "required": ["value"],
            },
        }},
    });
    contract::load_text("small.json", document.to_string().as_bytes()).contract
}

fn decide(one: &Value, other: &Value) -> Containment {
    decide_as(one, other, Reading::Exact)
}

fn decide_as(one: &Value, other: &Value, reading: Reading) -> Containment {
    let contract = contract(one, other).expect("the schemas have no errors");
    let (one, other) = (contract.components["One"], contract.components["Other"]);
    contain((&contract, one), (&contract, other), reading)
}

fn validator(contract: &Contract, id: SchemaId) -> Validator {
    let mut bundle = contract::bundle::schema_bundle(contract);
    bundle["$ref"] = contract::bundle::schema_reference(contract, id).into();
    jsonschema::draft202012::options()
        .should_validate_formats(true)
        .build(&bundle)
        .expect("the schemas compile")
}

#[track_caller]
fn assert_contained(one: &Value, other: &Value) {
    assert_eq!(
        decide(one, other),
        Containment::Contained,
        "{one} in {other}"
    );
}

#[track_caller]
fn assert_witness(one: &Value, other: &Value, witness: Value) {
    assert_eq!(
        decide(one, other),
        Containment::Broken(witness),
        "{one} in {other}"
    );
}

#[track_caller]
fn assert_broken(one: &Value, other: &Value, reading: Reading) {
    let decided = decide_as(one, other, reading);
    assert!(
        matches!(decided, Containment::Broken(_)),
        "{one} in {other}: {decided:?}"
    );
}
