//! Schemas that mean the same, that are narrower, and the smallest values that tell two apart.

use compatibility::Reading;
use serde_json::json;

use crate::{assert_broken, assert_contained, assert_witness};

#[test]
fn equal_meanings_are_contained_in_each_other() {
    let pairs = [
        (
            json!({"type": ["string", "null"]}),
            json!({"anyOf": [{"type": "string"}, {"type": "null"}]}),
        ),
        (
            json!({"type": "string", "maxLength": 3}),
            json!({"$ref": "#/components/schemas/Shared"}),
        ),
        (
            json!({"allOf": [{"type": "integer"}, {"minimum": 1}]}),
            json!({"type": "integer", "exclusiveMinimum": 0}),
        ),
        (
            json!({"enum": ["a", "b"]}),
            json!({"oneOf": [{"const": "a"}, {"const": "b"}]}),
        ),
        (json!({"type": "boolean"}), json!({"enum": [true, false]})),
        (
            json!({"type": "integer", "multipleOf": 6}),
            json!({"allOf": [{"multipleOf": 2}, {"type": "integer", "multipleOf": 3}]}),
        ),
        (
            json!({"type": "string", "pattern": "^a+$"}),
            json!({"type": "string", "pattern": "^a(a*)$", "minLength": 1}),
        ),
        (
            json!({"not": {"type": "string"}}),
            json!({"type": ["null", "boolean", "number", "array", "object"]}),
        ),
        (
            json!({"type": "object", "properties": {"a": false}}),
            json!({"type": "object", "not": {"required": ["a"]}}),
        ),
        (
            json!({"type": "object", "properties": {"next": {"$ref": "#/components/schemas/List"}, "value": {"type": "integer"}}, "required": ["value"]}),
            json!({"$ref": "#/components/schemas/List"}),
        ),
        (
            json!({"type": "array", "items": {"type": "string"}, "minItems": 1}),
            json!({"type": "array", "prefixItems": [{"type": "string"}], "items": {"type": "string"}, "minItems": 1}),
        ),
        (
            json!({"type": "string", "minLength": 2, "maxLength": 2, "pattern": "^[ab]*$"}),
            json!({"enum": ["aa", "ab", "ba", "bb"]}),
        ),
    ];
    for (one, other) in pairs {
        assert_contained(&one, &other);
        assert_contained(&other, &one);
    }
}

#[test]
fn what_is_narrower_is_contained() {
    assert_contained(&json!({"type": "integer"}), &json!({"type": "number"}));
    assert_contained(
        &json!({"format": "email", "type": "string"}),
        &json!({"format": "idn-email"}),
    );
    assert_contained(
        &json!({"type": "string", "pattern": "^[0-9]{3}$"}),
        &json!({"pattern": "[0-9]", "maxLength": 3}),
    );
    assert_contained(
        &json!({"type": "object", "required": ["a"], "properties": {"a": {"const": 1}}, "additionalProperties": false}),
        &json!({"type": "object", "minProperties": 1, "maxProperties": 1}),
    );
    assert_contained(
        &json!({"type": "array", "items": {"enum": [1, 2]}, "uniqueItems": true, "maxItems": 2}),
        &json!({"items": {"type": "integer", "minimum": 1, "maximum": 2}}),
    );
    assert_contained(
        &json!({"type": "object", "patternProperties": {"^x": {"type": "integer"}}, "additionalProperties": false}),
        &json!({"additionalProperties": {"type": "number"}}),
    );
}

#[test]
fn witnesses_are_small() {
    assert_witness(
        &json!({"type": "integer", "maximum": 9}),
        &json!({"maximum": 4}),
        json!(5),
    );
    assert_witness(
        &json!({"type": "number"}),
        &json!({"type": "integer"}),
        json!(0.1),
    );
    assert_witness(
        &json!({"type": "string"}),
        &json!({"maxLength": 2}),
        json!("aaa"),
    );
    assert_witness(
        &json!({"type": "string", "pattern": "^[a-f]+$"}),
        &json!({"pattern": "^[a-e]+$"}),
        json!("f"),
    );
    assert_witness(
        &json!({"type": "array"}),
        &json!({"maxItems": 1}),
        json!([null, null]),
    );
    assert_witness(
        &json!({"type": "array"}),
        &json!({"uniqueItems": true}),
        json!([null, null]),
    );
    assert_witness(
        &json!({"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "string"}}}),
        &json!({"properties": {"b": {"type": "string", "minLength": 1}}}),
        json!({"b": ""}),
    );
    assert_witness(
        &json!({"type": "object"}),
        &json!({"additionalProperties": false}),
        json!({"extra": null}),
    );
    assert_witness(
        &json!({"$ref": "#/components/schemas/List"}),
        &json!({"properties": {"next": {"properties": {"next": false}}}}),
        json!({"next": {"next": {"value": 0}, "value": 0}, "value": 0}),
    );
    assert_witness(
        &json!({"format": "ipv6", "type": "string"}),
        &json!({"format": "ipv4"}),
        json!("::"),
    );
    assert_witness(
        &json!({"oneOf": [{"type": "string"}, {"maxLength": 1}]}),
        &json!({"type": "string"}),
        json!(null),
    );
}

#[test]
fn a_listed_value_is_no_reference() {
    let value = json!({"$ref": "#/components/schemas/Shared"});
    for one in [
        json!({"const": value}),
        json!({"enum": [value]}),
        json!({"type": "array", "minItems": 1, "maxItems": 1, "items": {"const": value}}),
    ] {
        assert_broken(&one, &json!({"type": "string"}), Reading::Exact);
        assert_contained(&one, &json!({"type": ["array", "object"]}));
    }
    // A property with such a name has a schema.
    let named = |max: u64| json!({"type": "object", "properties": {"const": {"$ref": "#/components/schemas/Shared", "maxLength": max}}});
    assert_witness(&named(3), &named(2), json!({"const": "aaa"}));
}
