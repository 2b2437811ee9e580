//! Items: those that are excluded, equal or counted.

use compatibility::{Containment, Reading};
use serde_json::json;

use crate::{assert_broken, assert_contained, assert_witness, decide};

#[test]
fn a_value_beside_an_excluded_one_is_not_overlooked() {
    assert_broken(
        &json!({"type": "object", "required": ["a"], "properties": {"a": {"enum": [0, 1]}}, "maxProperties": 1}),
        &json!({"const": {"a": 0}}),
        Reading::Exact,
    );
    assert_broken(
        &json!({"type": "array", "items": {"enum": [0, 1]}, "minItems": 1, "maxItems": 1}),
        &json!({"const": [0]}),
        Reading::Exact,
    );
}

#[test]
fn equal_items_are_looked_for_after_those_that_are_asked_for() {
    let both = json!({
        "type": "array",
        "items": {"type": "string"},
        "allOf": [{"contains": {"const": "x"}}, {"contains": {"const": "y"}}],
        "maxItems": 3,
    });
    assert_broken(&both, &json!({"uniqueItems": true}), Reading::Exact);
}

#[test]
fn items_that_a_schema_counts_are_decided() {
    let counts = |least: u64, most: Option<u64>| {
        let mut schema =
            json!({"type": "array", "contains": {"type": "string"}, "minContains": least});
        if let Some(most) = most {
            schema["maxContains"] = most.into();
        }
        schema
    };
    assert_witness(&counts(1, None), &counts(2, None), json!([""]));
    assert_contained(&counts(3, None), &counts(2, None));
    assert_contained(&counts(2, Some(3)), &counts(1, Some(4)));
    assert_witness(
        &counts(2, Some(3)),
        &counts(2, Some(2)),
        json!(["", "", ""]),
    );
    assert_witness(&counts(0, None), &counts(0, Some(0)), json!([""]));
    assert_contained(
        &counts(0, Some(0)),
        &json!({"not": {"contains": {"type": "string"}}}),
    );
    let prefix = json!({"type": "array", "prefixItems": [{"type": "integer"}, {"type": "string"}], "items": {"type": "string"}, "minItems": 3});
    assert_contained(&prefix, &counts(2, None));
    assert_witness(&prefix, &counts(3, None), json!([0, "", ""]));
    let short = json!({"type": "array", "maxItems": 2, "items": {"type": ["string", "null"]}});
    assert_contained(&short, &counts(0, Some(2)));
    assert_witness(&short, &counts(0, Some(1)), json!(["", ""]));
    // Two keywords may count the same item.
    let both = json!({"type": "array", "maxItems": 1, "allOf": [counts(1, None), {"contains": {"maxLength": 3}}]});
    assert_witness(&both, &json!({"maxItems": 0}), json!([""]));
    let decided = decide(&counts(0, None), &counts(20, None));
    assert!(!matches!(decided, Containment::Contained), "{decided:?}");
    // Two keywords may each leave out an item of their own.
    let few = |value: &str, most: u64| json!({"contains": {"const": value}, "minContains": 0, "maxContains": most});
    let each = json!({"type": "array", "items": {"enum": ["a", "b"]}, "allOf": [few("a", 1), few("b", 2)]});
    assert_broken(&each, &json!({"maxItems": 2}), Reading::Exact);
    assert_contained(&each, &json!({"maxItems": 3}));
}
