//! What is beyond a bound, and is undecided or is decided in time.

use compatibility::{Containment, Reading, contain};
use serde_json::{Value, json};

use crate::{assert_broken, decide, decide_as};

/// Returns a list of schemas, each the part of the one before, as one schema.
fn nested(part: impl Fn(Value) -> Value, depth: usize, mut leaf: Value) -> Value {
    for _ in 0..depth {
        leaf = part(leaf);
    }
    leaf
}

#[test]
fn values_that_grow_beyond_bounds_are_undecided() {
    let long = |items: Value| json!({"type": "array", "minItems": 1500, "items": items});
    let text = |max: u64| json!({"type": "string", "maxLength": max});
    let decided = decide(&nested(long, 3, text(9)), &nested(long, 3, text(5)));
    assert!(
        matches!(decided, Containment::Undecided { .. }),
        "{decided:?}"
    );
    // A value has as many leaves as two to the power of the number of schemas.
    let pairs = |leaf: Value| {
        let mut schemas = json!({"S30": leaf});
        for number in 0..30 {
            let next = json!({"$ref": format!("#/components/schemas/S{}", number + 1)});
            schemas[format!("S{number}")] = json!({"type": "object", "required": ["a", "b"], "properties": {"a": next, "b": next}});
        }
        let document = json!({
            "openapi": "3.1.0",
            "info": { "title": "Small", "version": "0.1.0" },
            "paths": {},
            "components": { "schemas": schemas },
        });
        let loaded = contract::load_text("small.json", document.to_string().as_bytes());
        loaded.contract.expect("the schemas have no errors")
    };
    let (one, other) = (pairs(text(9)), pairs(text(5)));
    let (first, second) = (one.components["S0"], other.components["S0"]);
    let decided = contain((&one, first), (&other, second), Reading::Exact);
    assert!(
        matches!(decided, Containment::Undecided { .. }),
        "{decided:?}"
    );
}

#[test]
fn values_of_very_many_branches_are_undecided() {
    let object = |number: usize| {
        let name = format!("p{number}");
        json!({"type": "object", "required": [name], "properties": {name: {"type": "string"}}})
    };
    let any = |count: usize| json!({"anyOf": (0..count).map(object).collect::<Vec<_>>()});
    let most = |most: usize| json!({"maxProperties": most});
    assert_broken(&any(17), &most(16), Reading::Request);
    let decided = decide_as(&any(18), &most(17), Reading::Request);
    assert!(
        matches!(decided, Containment::Undecided { .. }),
        "{decided:?}"
    );
}

#[test]
fn what_cannot_be_decided_is_said() {
    let looks_around = json!({"type": "string", "pattern": "^(?!a)[a-z]+$"});
    let decided = decide(&looks_around, &json!({"pattern": "^[b-z][a-z]*$"}));
    assert!(
        matches!(decided, Containment::Undecided { .. }),
        "{decided:?}"
    );
}
