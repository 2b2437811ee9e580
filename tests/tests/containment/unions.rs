//! Random changes of unions of many schemas, compared with a validator.

use compatibility::Containment;
use proptest::prelude::any;
use proptest::{prop_assert, proptest};
use serde_json::{Map, Value, json};

use crate::{contract, decide, validator};

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

proptest! {
    #[test]
    fn no_value_contradicts_what_is_said_of_large_unions(seed in any::<u64>()) {
        let mut choices = Choices(seed);
        let branches = 45 + choices.below(30);
        let kinds = 1 + choices.below(5);
        let mut one: Vec<Value> = (0..branches).map(|number| branch(number, choices.below(kinds), 5)).collect();
        let mut other = one.clone();
        for _ in 0..choices.below(4) {
            let number = choices.below(branches);
            let at = usize::try_from(number).expect("it is small");
            match choices.below(4) {
                0 => one[at] = branch(number, choices.below(5), 7),
                1 => other[at] = branch(number, choices.below(5), 9),
                2 => other.swap(at, 0),
                _ => other.push(other[at].clone()),
            }
        }
        let (one, other) = (json!({"oneOf": one}), json!({"oneOf": other}));
        let contract = contract(&one, &other).expect("the schemas have no errors");
        let [sent, received] = ["One", "Other"].map(|name| validator(&contract, contract.components[name]));
        match decide(&one, &other) {
            Containment::Broken(value) => {
                prop_assert!(sent.is_valid(&value) && !received.is_valid(&value), "{value}: {one} {other}");
            }
            Containment::Contained => {
                for _ in 0..400 {
                    let value = value(&mut choices, branches);
                    prop_assert!(!sent.is_valid(&value) || received.is_valid(&value), "{value}: {one} {other}");
                }
            }
            Containment::Undecided { .. } => {}
        }
    }
}
