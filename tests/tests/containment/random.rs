//! Random schemas and random changes of them.

use compatibility::{Containment, Reading, contain};
use proptest::collection::vec;
use proptest::prelude::any;
use serde_json::{Map, Value, json};
use tests::random::{Choices, Run};
use tests::values::value;

use super::{VALUES, contract, decide, validator};

/// Returns a random schema.
fn schema(choices: &mut Choices<'_>, depth: usize) -> Value {
    if depth > 2 {
        return [
            json!({"type": "string"}),
            json!({"type": "integer"}),
            json!({}),
        ][choices.below(3)]
        .clone();
    }
    let small = |choices: &mut Choices<'_>| choices.below(5);
    match choices.below(13) {
        0 => {
            json!({"type": (["string", "integer", "number", "boolean", "null"][choices.below(5)])})
        }
        1 => json!({"type": "integer", "minimum": small(choices), "maximum": small(choices) + 3}),
        2 => json!({"type": ["string", "null"], "maxLength": small(choices)}),
        3 => {
            json!({"type": "string", "pattern": (["^[a-c]+$", "^a", "b$", "^[a-c0-2]{1,3}$", "^(?:ab)*$"][choices.below(5)])})
        }
        4 => {
            json!({"enum": ([json!("a"), json!(1), json!(null), json!("abc"), json!(true)][..=small(choices)])})
        }
        5 => {
            json!({"type": "array", "items": schema(choices, depth + 1), "minItems": choices.below(2), "maxItems": choices.below(3) + 1})
        }
        6 | 7 => {
            let mut properties = Map::new();
            for name in ["a", "b", "c"] {
                if choices.below(3) > 0 {
                    properties.insert(name.to_owned(), schema(choices, depth + 1));
                }
            }
            let required: Vec<&str> = ["a", "b"]
                .into_iter()
                .filter(|_| choices.below(2) == 1)
                .collect();
            let mut object =
                json!({"type": "object", "properties": properties, "required": required});
            match choices.below(4) {
                0 => object["additionalProperties"] = false.into(),
                1 => object["additionalProperties"] = schema(choices, depth + 1),
                _ => {}
            }
            object
        }
        8 => json!({"anyOf": [schema(choices, depth + 1), schema(choices, depth + 1)]}),
        9 => json!({"oneOf": [schema(choices, depth + 1), schema(choices, depth + 1)]}),
        10 => json!({"allOf": [schema(choices, depth + 1), schema(choices, depth + 1)]}),
        11 => {
            json!({"$ref": (["#/components/schemas/Shared", "#/components/schemas/List"][choices.below(2)])})
        }
        _ => json!({"type": "number", "multipleOf": ([1.0, 2.0, 0.5, 3.0][choices.below(4)])}),
    }
}

/// Changes one keyword of a schema, or of one of its parts.
pub(super) fn change(schema_value: &Value, choices: &mut Choices<'_>) -> Value {
    let mut changed = schema_value.clone();
    let Some(keywords) = changed.as_object_mut() else {
        return changed;
    };
    let keys: Vec<String> = keywords.keys().cloned().collect();
    let Some(key) = keys.get(choices.below(keys.len())) else {
        return schema(choices, 1);
    };
    let keyword = &mut keywords[key.as_str()];
    match keyword {
        Value::Number(number) => {
            let number = number.as_i64().unwrap_or(1);
            *keyword = json!(
                (number + 1 - 2 * i64::from(choices.below(2) == 1))
                    .max(i64::from(key == "multipleOf" || key == "maxItems"))
            );
        }
        Value::Array(parts) if matches!(key.as_str(), "anyOf" | "oneOf" | "allOf") => {
            let index = choices.below(parts.len());
            parts[index] = change(&parts[index], choices);
        }
        Value::Array(parts) if key == "required" => {
            if parts.pop().is_none() {
                parts.push("a".into());
            }
        }
        Value::Array(parts) if parts.len() > 1 => {
            parts.pop();
        }
        Value::Object(parts) if key == "properties" => {
            let names: Vec<String> = parts.keys().cloned().collect();
            if let Some(name) = names.get(choices.below(names.len())) {
                parts[name.as_str()] = change(&parts[name.as_str()], choices);
            }
        }
        Value::Object(_) => *keyword = change(keyword, choices),
        _ => {
            keywords.remove(key.as_str());
        }
    }
    changed
}

#[test]
fn no_value_contradicts_what_is_said() {
    let run = Run::from_environment(1500);
    let (mut contained, mut broken, mut undecided) = (0, 0, 0);
    let counted = std::cell::RefCell::new((&mut contained, &mut broken, &mut undecided));
    let checked = run.runner().run(&vec(any::<u8>(), 64..256), |bytes| {
        let mut choices = Choices::new(&bytes);
        let one = schema(&mut choices, 0);
        let other = match choices.below(3) {
            0 => schema(&mut choices, 0),
            _ => change(&one, &mut choices),
        };
        let Some(contract) = contract(&one, &other) else {
            return Ok(());
        };
        let (first, second) = (contract.components["One"], contract.components["Other"]);
        let (fits, accepts) = (validator(&contract, first), validator(&contract, second));
        let mut counted = counted.borrow_mut();
        match contain((&contract, first), (&contract, second), Reading::Exact) {
            Containment::Contained => {
                *counted.0 += 1;
                let bundle = contract::bundle::schema_bundle(&contract);
                for _ in 0..VALUES {
                    let value = value(&bundle, &one, &mut choices, 0);
                    assert!(
                        !fits.is_valid(&value) || accepts.is_valid(&value),
                        "{one} is said to be in {other}, but {value} is not"
                    );
                }
            }
            Containment::Broken(value) => {
                *counted.1 += 1;
                assert!(fits.is_valid(&value), "{value} does not fit {one}");
                assert!(!accepts.is_valid(&value), "{value} fits {other}");
            }
            Containment::Undecided { .. } => *counted.2 += 1,
        }
        Ok(())
    });
    println!("{contained} contained, {broken} broken, {undecided} undecided");
    checked.expect("no case fails");
    assert!(
        contained * 10 > run.cases && broken * 10 > run.cases,
        "the cases are one-sided"
    );
    assert!(
        undecided * 50 < run.cases,
        "{undecided} cases are undecided"
    );
}

#[test]
fn every_schema_is_contained_in_itself_and_in_its_union() {
    let run = Run::from_environment(500);
    let checked = run.runner().run(&vec(any::<u8>(), 64..256), |bytes| {
        let mut choices = Choices::new(&bytes);
        let (one, other) = (schema(&mut choices, 0), schema(&mut choices, 0));
        let wrapped = json!({"allOf": [one]});
        let union = json!({"anyOf": [other, one]});
        if contract(&wrapped, &union).is_none() {
            return Ok(());
        }
        for (one, other) in [(&one, &wrapped), (&wrapped, &one), (&one, &union)] {
            let decided = decide(one, other);
            assert_eq!(decided, Containment::Contained, "{one} in {other}");
        }
        Ok(())
    });
    checked.expect("no case fails");
}
