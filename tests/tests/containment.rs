//! Whether one schema is contained in another, on random schemas and random changes of them: what
//! is said is compared with a validator and with random values.

#[path = "containment/corpus.rs"]
mod corpus;
#[path = "containment/random.rs"]
mod random;
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
fn lengths_are_compared_beside_a_pattern_that_looks_around() {
    let text =
        |pattern: &str, max: u64| json!({"type": "string", "pattern": pattern, "maxLength": max});
    let not_x = "^(?!x).*$";
    assert_broken(&text(not_x, 30), &text(not_x, 20), Reading::Exact);
    assert_broken(
        &text("^(?=.*[A-Z])(?=.*[0-9]).{8,}$", 60),
        &text("^(?=.*[A-Z])(?=.*[0-9]).{12,}$", 60),
        Reading::Exact,
    );
}

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
fn the_bounds_of_whole_numbers_do_not_overflow() {
    // Patterns that refer back are not decided, so random values are tried.
    let object = |pattern: &str, number: Value| json!({"type": "object", "required": ["a", "b"], "properties": {"a": {"type": "string", "pattern": pattern}, "b": number}});
    for number in [
        json!({"type": "integer", "minimum": i64::MIN, "multipleOf": 10}),
        json!({"type": "number", "maximum": i64::MIN, "multipleOf": 7}),
        json!({"type": "integer", "minimum": i64::MAX, "multipleOf": 10}),
    ] {
        let decided = decide(
            &object("^(a|b)\\1$", number.clone()),
            &object("^(a|b)\\1(?=$)", number),
        );
        assert!(
            matches!(decided, Containment::Undecided { .. }),
            "{decided:?}"
        );
    }
}

#[test]
fn a_large_whole_number_is_an_integer() {
    let large = json!({"const": 1e40});
    assert_contained(&large, &json!({"type": "integer"}));
    assert_witness(&large, &json!({"not": {"type": "integer"}}), json!(1e40));
    assert_witness(
        &large,
        &json!({"type": "integer", "format": "int64"}),
        json!(1e40),
    );
    let small = json!({"const": 1e-40});
    assert_contained(&small, &json!({"not": {"type": "integer"}}));
    assert_witness(&small, &json!({"type": "integer"}), json!(1e-40));
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

/// Returns a union of objects, each of which requires a property of its own.
fn union(branches: u64, first: u64) -> Value {
    let branch = |number: u64| {
        let name = format!("p{number}");
        let max = if number == 0 { first } else { number };
        json!({"type": "object", "required": [name], "properties": {name: {"type": "string", "maxLength": max}}})
    };
    json!({"oneOf": (0..branches).map(branch).collect::<Vec<_>>()})
}

#[test]
fn a_union_of_many_schemas_is_decided_where_few_have_changed() {
    for branches in [4, 40, 45, 60] {
        // A value that the wider branch accepts too may fit two, and is then refused.
        for (one, other) in [(9, 5), (5, 9)] {
            let decided = decide(&union(branches, one), &union(branches, other));
            assert!(
                matches!(decided, Containment::Broken(_)),
                "{branches}: {decided:?}"
            );
        }
        // A client that sends only what a branch names sends nothing that fits two.
        let (narrow, wide) = (union(branches, 5), union(branches, 9));
        let decided = decide_as(&narrow, &wide, Reading::Request);
        assert!(
            !matches!(decided, Containment::Broken(_)),
            "{branches}: {decided:?}"
        );
        let decided = decide_as(&wide, &narrow, Reading::Request);
        assert_ne!(decided, Containment::Contained, "{branches}");
    }
    // That no two of very many accept a value is not searched: a value may still be found, but nothing is
    // said to be contained.
    let (narrow, wide) = (union(400, 5), union(400, 9));
    for (one, other) in [(&narrow, &wide), (&wide, &narrow)] {
        assert_ne!(decide(one, other), Containment::Contained);
    }
    // An extensible enumeration tells nothing apart for a lenient reader.
    let tagged = |extensible: bool, most: u64| {
        let branch = |number: u64| {
            let kind = json!({"enum": [format!("k{number}")], "x-extensible-enum": extensible});
            let value = json!({"type": "string", "maxLength": if number == 0 { most } else { 3 }});
            json!({"type": "object", "required": ["kind"], "properties": {"kind": kind, "v": value}})
        };
        json!({"oneOf": (0..60).map(branch).collect::<Vec<_>>()})
    };
    let (narrow, wide) = (tagged(false, 5), tagged(false, 9));
    let decided = decide_as(&narrow, &wide, Reading::Response);
    assert_eq!(decided, Containment::Contained);
    let (narrow, wide) = (tagged(true, 5), tagged(true, 9));
    let decided = decide_as(&narrow, &wide, Reading::Response);
    assert_ne!(decided, Containment::Contained);
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
fn a_value_of_several_branches_fits_no_single_one() {
    let object = |name: &str| json!({"type": "object", "required": [name], "properties": {name: {"type": "string"}}});
    let branches = ["a", "b", "c"].map(object);
    let (any, one) = (json!({"anyOf": branches}), json!({"oneOf": branches}));
    for reading in [Reading::Exact, Reading::Request, Reading::Response] {
        assert_broken(&any, &one, reading);
        assert_eq!(decide_as(&one, &any, reading), Containment::Contained);
        // Only a value of all three has so many properties.
        assert_broken(&any, &json!({"maxProperties": 2}), reading);
    }
    let few = json!({"maxProperties": 3});
    assert_eq!(
        decide_as(&any, &few, Reading::Request),
        Containment::Contained
    );
    // A value of two kinds is none, so branches with constants are exclusive.
    let kind = |name: &str| json!({"type": "object", "required": ["kind"], "properties": {"kind": {"const": name}, name: {"type": "string"}}});
    let kinds = ["a", "b", "c"].map(kind);
    let (any, one) = (json!({"anyOf": kinds}), json!({"oneOf": kinds}));
    for reading in [Reading::Exact, Reading::Request, Reading::Response] {
        assert_eq!(decide_as(&any, &one, reading), Containment::Contained);
    }
    assert_eq!(
        decide_as(&any, &json!({"maxProperties": 2}), Reading::Request),
        Containment::Contained
    );
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

#[test]
fn a_value_that_fits_two_branches_of_a_large_union_breaks_it() {
    let text = json!({"type": "string"});
    let both = json!({"type": "object", "required": ["p3", "p50"], "properties": {"p3": text, "p50": text}});
    for reading in [Reading::Exact, Reading::Request, Reading::Response] {
        assert_broken(&both, &union(60, 5), reading);
    }
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
fn numbers_beyond_64_bits_are_shown_as_they_are() {
    // The next multiple below the range would be rounded into it.
    let multiples = json!({"type": "integer", "maximum": 1000, "multipleOf": 5});
    let narrow = json!({"type": "integer", "format": "int64"});
    assert_broken(&multiples, &narrow, Reading::Exact);
    let above = json!({"type": "integer", "minimum": 1000, "multipleOf": 7});
    assert_broken(&above, &narrow, Reading::Exact);
}

#[test]
fn every_duration_consists_of_digits_and_letters() {
    let durations = json!({"type": "string", "format": "duration"});
    assert_contained(&durations, &json!({"pattern": r"^[\w .-]+$"}));
    assert_broken(&durations, &json!({"pattern": "^PT"}), Reading::Exact);
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
