//! Unions of a few branches and of many.

use compatibility::{Containment, Reading};
use serde_json::{Value, json};

use crate::{assert_broken, decide, decide_as};

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
fn a_value_that_fits_two_branches_of_a_large_union_breaks_it() {
    let text = json!({"type": "string"});
    let both = json!({"type": "object", "required": ["p3", "p50"], "properties": {"p3": text, "p50": text}});
    for reading in [Reading::Exact, Reading::Request, Reading::Response] {
        assert_broken(&both, &union(60, 5), reading);
    }
}
