//! Random changes of unions of many schemas, compared with a validator.

use std::cell::Cell;

use compatibility::{Containment, Reading, contain};
use proptest::prelude::any;
use serde_json::{Map, Value, json};
use tests::random::Run;

use super::sent::sent;
use crate::{contract, validator};

/// Random numbers of a seed.
struct Choices(u64);

impl Choices {
    /// Returns a number below a bound.
    fn below(&mut self, bound: u64) -> u64 {
        self.0 = self
            .0
            .wrapping_mul(6_364_136_223_846_793_005)
            .wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % bound
    }
}

/// Returns a branch: an object with a tag, an object with a property of its own, a range or a text.
fn branch(number: u64, kind: u64, most: u64) -> Value {
    let own = format!("p{number}");
    let text = json!({"type": "string", "maxLength": most});
    match kind {
        0 => {
            json!({"type": "object", "required": ["kind"], "properties": {"kind": {"const": number}, "v": text}})
        }
        1 => json!({"type": "object", "required": [own], "properties": {own: text}}),
        2 => {
            json!({"type": "object", "required": [own], "properties": {own: text}, "additionalProperties": false})
        }
        3 => json!({"type": "integer", "minimum": number * 10, "maximum": number * 10 + most}),
        _ => json!({"const": number.to_string()}),
    }
}

fn value(choices: &mut Choices, branches: u64) -> Value {
    match choices.below(6) {
        0 => json!(choices.below(branches * 10)),
        1 => json!(choices.below(branches).to_string()),
        _ => {
            let mut fields = Map::new();
            for _ in 0..=choices.below(2) {
                let length = usize::try_from(choices.below(12)).expect("it is small");
                let text = json!("a".repeat(length));
                match choices.below(3) {
                    0 => fields.insert("kind".to_owned(), json!(choices.below(branches))),
                    1 => fields.insert("v".to_owned(), text),
                    _ => fields.insert(format!("p{}", choices.below(branches)), text),
                };
            }
            Value::Object(fields)
        }
    }
}

/// The number of pairs of unions that are compared in each reading, unless `STRATUS_CASES` sets it. A pair
/// takes about a tenth of a second in a build without optimisation.
const CASES: u32 = 10;
/// The least number of cases of which shares are asserted.
const MANY: u32 = 20;

#[test]
fn no_value_contradicts_what_is_said_of_large_unions() {
    let mut decided = 0;
    for reading in [Reading::Exact, Reading::Request, Reading::Response] {
        let run = Run::from_environment(CASES);
        let (contained, broken, undecided) = (Cell::new(0), Cell::new(0), Cell::new(0));
        let add = |counted: &Cell<u32>| counted.set(counted.get() + 1);
        let checked = run.runner().run(&any::<u64>(), |seed| {
            match check(seed, reading) {
                Containment::Contained => add(&contained),
                Containment::Broken(_) => add(&broken),
                Containment::Undecided { .. } => add(&undecided),
            }
            Ok(())
        });
        let [contained, broken, undecided] = [contained, broken, undecided].map(|one| one.get());
        println!("{reading:?}: {contained} contained, {broken} broken, {undecided} undecided");
        checked.expect("no case fails");
        decided += contained + broken;
        if run.cases < MANY {
            continue;
        }
        assert!(
            contained * 10 > run.cases && broken * 10 > run.cases,
            "the cases are one-sided"
        );
        assert!(
            undecided * 10 < run.cases,
            "{undecided} cases are undecided"
        );
    }
    assert!(decided > 0, "no case is decided");
}

/// Compares two large unions of a seed, and what is said of them with a validator.
fn check(seed: u64, reading: Reading) -> Containment {
    let mut choices = Choices(seed);
    let branches = 45 + choices.below(30);
    let kinds = 1 + choices.below(5);
    let own: Vec<u64> = (0..branches).map(|_| choices.below(kinds)).collect();
    let mut one: Vec<Value> = (0..)
        .zip(&own)
        .map(|(number, kind)| branch(number, *kind, 5))
        .collect();
    let mut other = one.clone();
    for _ in 0..choices.below(4) {
        let number = choices.below(branches);
        let at = usize::try_from(number).expect("it is small");
        match choices.below(6) {
            0 => one[at] = branch(number, choices.below(5), 7),
            1 => other[at] = branch(number, choices.below(5), 9),
            2 => other.swap(at, 0),
            3 => other.push(other[at].clone()),
            // Wider, so that it still contains the one before.
            _ => other[at] = branch(number, own[at], 9),
        }
    }
    let (one, other) = (json!({"oneOf": one}), json!({"oneOf": other}));
    let contract = contract(&one, &other).expect("the schemas have no errors");
    let (first, second) = (contract.components["One"], contract.components["Other"]);
    let (fits, accepts) = (validator(&contract, first), validator(&contract, second));
    let decided = contain((&contract, first), (&contract, second), reading);
    match &decided {
        Containment::Broken(value) => assert!(
            fits.is_valid(value) && !accepts.is_valid(value),
            "{value}: {one} {other}"
        ),
        Containment::Contained => {
            let is_sent = sent(&one, reading);
            for _ in 0..400 {
                let value = value(&mut choices, branches);
                assert!(
                    !is_sent.is_valid(&value) || accepts.is_valid(&value),
                    "{value} as {reading:?}: {one} {other}"
                );
            }
        }
        Containment::Undecided { .. } => {}
    }
    decided
}
