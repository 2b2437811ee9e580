//! Random schemas and random changes of them.

use std::cell::RefCell;

use compatibility::{Containment, Reading, contain};
use proptest::collection::vec;
use proptest::prelude::any;
use serde_json::{Map, Value, json};
use tests::random::{Choices, Run};
use tests::values::value;

use super::sent::sent;
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
    match choices.below(22) {
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
        // Branches that a value may fit at once, each with properties of its own.
        12 => {
            let branches = ["a", "b", "c"].map(|name| {
                let mut branch =
                    json!({"type": "object", "properties": {(name): schema(choices, depth + 1)}});
                if choices.below(3) > 0 {
                    branch["required"] = json!([name]);
                }
                branch
            });
            json!({(*choices.of(&["anyOf", "anyOf", "oneOf"])): branches})
        }
        21 => {
            let least = choices.below(3);
            let mut array = json!({"type": "array", "contains": schema(choices, depth + 1), "minContains": least, "maxItems": choices.below(3) + 1});
            if choices.below(2) == 1 {
                array["maxContains"] = json!(least + choices.below(2));
            }
            array
        }
        13 => {
            let mut property = schema(choices, depth + 1);
            property[*choices.of(&["readOnly", "writeOnly"])] = true.into();
            json!({"type": "object", "properties": {"a": property, "b": schema(choices, depth + 1)}})
        }
        number @ 14..=20 => rarer(number, choices, depth),
        _ => json!({"type": "number", "multipleOf": ([1.0, 2.0, 0.5, 3.0][choices.below(4)])}),
    }
}

/// Returns a random schema with keywords that are rarer.
fn rarer(number: usize, choices: &mut Choices<'_>, depth: usize) -> Value {
    match number {
        14 => {
            let rest = match choices.below(3) {
                0 => json!(false),
                _ => schema(choices, depth + 1),
            };
            let mut object = json!({"type": "object", "properties": {"a": schema(choices, depth + 1)}, "unevaluatedProperties": rest});
            // What only some objects evaluate.
            match choices.below(4) {
                0 => {}
                1 => {
                    object["if"] = branch("b", choices, depth);
                    object["then"] = branch("c", choices, depth);
                    object["else"] = branch("d", choices, depth);
                }
                _ => {
                    let names = [["b", "c"], ["b", "b"], ["a", "c"]];
                    let [one, other] = *choices.of(&names);
                    let branches = [branch(one, choices, depth), branch(other, choices, depth)];
                    let keyword = *choices.of(&["anyOf", "oneOf", "allOf"]);
                    object[keyword] = json!(branches);
                }
            }
            object
        }
        15 => {
            let names = [
                json!({"pattern": "^[ab]"}),
                json!({"maxLength": 1}),
                json!({"enum": ["a", "b", "c"]}),
            ];
            let names = choices.of(&names).clone();
            json!({"type": "object", "propertyNames": names, "additionalProperties": schema(choices, depth + 1), "maxProperties": choices.below(4)})
        }
        16 => {
            json!({"type": "object", "patternProperties": {"^a": schema(choices, depth + 1)}, "properties": {"b": schema(choices, depth + 1)}, "minProperties": choices.below(3)})
        }
        17 => {
            let wanted = [json!(["b"]), json!(["b", "c"])];
            let wanted = choices.of(&wanted).clone();
            json!({"type": "object", "properties": {"a": schema(choices, depth + 1), "b": {}, "c": {}}, "dependentRequired": {"a": wanted}})
        }
        18 => {
            json!({"type": "array", "prefixItems": [schema(choices, depth + 1)], "items": schema(choices, depth + 1), "uniqueItems": choices.below(2) == 1, "maxItems": 3})
        }
        19 => json!({"not": schema(choices, depth + 1)}),
        _ => json!({"const": (*choices.of(&[json!("a"), json!(1), json!({"a": 1}), json!([])]))}),
    }
}

/// Returns a part of an object with a property of its own, which it requires, names by a pattern or leaves
/// to a part of its own.
fn branch(name: &str, choices: &mut Choices<'_>, depth: usize) -> Value {
    let property = schema(choices, depth + 1);
    match choices.below(5) {
        0 => json!({"properties": {(name): property}, "required": [name]}),
        1 => json!({"patternProperties": {(format!("^{name}")): property}}),
        2 => json!({"anyOf": [{"properties": {(name): property}}, {"required": ["a"]}]}),
        3 => json!({"required": [name]}),
        _ => json!({"properties": {(name): property}}),
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
        Value::Array(parts) if key == "prefixItems" => {
            parts[0] = change(&parts[0], choices);
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

/// How many pairs of schemas have which result.
#[derive(Debug, Default)]
struct Counts {
    contained: u32,
    broken: u32,
    undecided: u32,
    /// Values that were sent by a schema that is said to be contained.
    values: u32,
}

#[test]
fn no_value_contradicts_what_is_said() {
    for reading in [Reading::Exact, Reading::Request, Reading::Response] {
        let run = Run::from_environment(1000);
        let counts = RefCell::new(Counts::default());
        let checked = run.runner().run(&vec(any::<u8>(), 64..256), |bytes| {
            let mut choices = Choices::new(&bytes);
            let one = schema(&mut choices, 0);
            let other = match choices.below(3) {
                0 => schema(&mut choices, 0),
                _ => change(&one, &mut choices),
            };
            check(
                &one,
                &other,
                reading,
                &mut choices,
                &mut counts.borrow_mut(),
            );
            Ok(())
        });
        let counts = counts.into_inner();
        println!("{reading:?}: {counts:?}");
        checked.expect("no case fails");
        assert!(
            counts.contained * 10 > run.cases && counts.broken * 10 > run.cases,
            "the cases are one-sided"
        );
        assert!(counts.values > run.cases, "few values are tried");
        // With one seed, 45 of 1000 were.
        assert!(
            counts.undecided * 15 < run.cases,
            "{} cases are undecided",
            counts.undecided
        );
    }
}

fn check(
    one: &Value,
    other: &Value,
    reading: Reading,
    choices: &mut Choices<'_>,
    counts: &mut Counts,
) {
    let Some(contract) = contract(one, other) else {
        return;
    };
    let (first, second) = (contract.components["One"], contract.components["Other"]);
    let (fits, accepts) = (validator(&contract, first), validator(&contract, second));
    match contain((&contract, first), (&contract, second), reading) {
        Containment::Contained => {
            counts.contained += 1;
            let is_sent = sent(one, reading);
            let bundle = contract::bundle::schema_bundle(&contract);
            for _ in 0..VALUES {
                let mut sample = value(&bundle, one, choices, 0);
                // The properties of two values, since a value may fit two branches.
                if choices.below(2) == 1
                    && let Value::Object(more) = value(&bundle, one, choices, 0)
                    && let Some(entries) = sample.as_object_mut()
                {
                    entries.extend(more);
                }
                if is_sent.is_valid(&sample) {
                    counts.values += 1;
                    assert!(
                        accepts.is_valid(&sample),
                        "{one} is said to be in {other} as {reading:?}, but {sample} is not"
                    );
                }
            }
        }
        Containment::Broken(value) => {
            counts.broken += 1;
            assert!(fits.is_valid(&value), "{value} does not fit {one}");
            assert!(!accepts.is_valid(&value), "{value} fits {other}");
        }
        Containment::Undecided { .. } => counts.undecided += 1,
    }
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
