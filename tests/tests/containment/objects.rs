//! Properties: their names, those that several branches name, and those that are not sent.

use compatibility::{Containment, Reading};
use serde_json::{Value, json};

use crate::{assert_broken, assert_contained, decide_as};

#[test]
fn a_property_is_looked_for_under_every_name() {
    let texts = json!({"type": "object", "additionalProperties": {"type": "string"}});
    assert_broken(
        &texts,
        &json!({"patternProperties": {"^[a-z]+$": {"type": "string"}}, "additionalProperties": false}),
        Reading::Exact,
    );
    let number = json!({"type": "integer"});
    let three = json!({"a": number, "b": number, "c": number});
    assert_broken(
        &json!({"type": "object", "properties": three, "additionalProperties": {"type": "string"}}),
        &json!({"properties": three, "patternProperties": {"^[a-z]$": number}}),
        Reading::Exact,
    );
    assert_broken(
        &json!({"type": "object", "properties": {"long_name": {"type": "string"}}}),
        &json!({"propertyNames": {"maxLength": 3}}),
        Reading::Request,
    );
    let not_e = json!({"type": "object", "patternProperties": {"^e": false}, "additionalProperties": {"type": "string"}});
    assert_broken(&not_e, &json!({"maxProperties": 1}), Reading::Exact);
    assert_broken(
        &json!({"type": "object", "additionalProperties": {"type": "boolean"}}),
        &json!({"anyOf": [{"additionalProperties": {"const": true}}, {"additionalProperties": {"const": false}}]}),
        Reading::Exact,
    );
    assert_broken(
        &json!({"type": "object", "properties": {"extra": false}, "additionalProperties": number}),
        &json!({"additionalProperties": false}),
        Reading::Exact,
    );
}

#[test]
fn names_of_a_finite_pattern_are_all_looked_at() {
    assert_contained(
        &json!({"type": "object", "patternProperties": {"^[ab]$": {"type": "string"}}, "additionalProperties": false}),
        &json!({"maxProperties": 2}),
    );
}

#[test]
fn names_that_a_schema_restricts_are_those_of_a_pattern() {
    let text = json!({"type": "string"});
    let restricted = json!({"type": "object", "propertyNames": {"pattern": "^[a-z]+$"}, "additionalProperties": text});
    let named = |pattern: &str| json!({"type": "object", "patternProperties": {pattern: text}, "additionalProperties": false});
    assert_contained(&restricted, &named("^[a-z]+$"));
    assert_contained(&restricted, &named("^[a-z0-9]+$"));
    assert_broken(&restricted, &named("^[a-y]+$"), Reading::Exact);
}

#[test]
fn a_value_of_one_branch_may_have_the_properties_of_another() {
    let object = |name: &str| json!({"type": "object", "properties": {name: {"type": "string"}}});
    let (one, other) = (object("a"), object("b"));
    let mut closed = one.clone();
    closed["additionalProperties"] = json!(false);
    let both = json!({"allOf": [one, {"anyOf": [one, other]}]});
    for sent in [both, json!({"anyOf": [one, other]})] {
        let decided = decide_as(&sent, &closed, Reading::Request);
        assert!(
            matches!(decided, Containment::Broken(_)),
            "{sent}: {decided:?}"
        );
    }
}

#[test]
fn a_mark_of_a_part_of_all_of_counts() {
    let object = |property: &Value| json!({"type": "object", "properties": {"a": property, "b": {"type": "string"}}});
    let text = json!({"type": "string"});
    let wrapped = json!({"allOf": [{"$ref": "#/components/schemas/Shared"}, {"allOf": [{"readOnly": true}]}]});
    let closed =
        json!({"type": "object", "properties": {"b": text}, "additionalProperties": false});
    let sent = object(&wrapped);
    assert_eq!(
        decide_as(&sent, &closed, Reading::Request),
        Containment::Contained
    );
    assert_broken(&sent, &closed, Reading::Response);
    let never = json!({"allOf": [{"readOnly": true}, {"writeOnly": true}, text]});
    for reading in [Reading::Request, Reading::Response] {
        assert_eq!(
            decide_as(&object(&never), &closed, reading),
            Containment::Contained
        );
    }
}
