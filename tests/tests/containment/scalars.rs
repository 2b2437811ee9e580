//! Numbers and strings at the ends of their ranges.

use compatibility::{Containment, Reading};
use serde_json::{Value, json};

use crate::{assert_broken, assert_contained, assert_witness, decide};

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
