//! What is wrong with an overlay, and its bounds.

use contract::overlay::{MAX_QUERY_BYTES, MOST_ACTIONS, MOST_OVERLAYS};
use contract::render;
use serde_json::{Value, json};

use crate::{DATA, codes, overlay, read, with_data};

#[test]
#[expect(clippy::too_many_lines, reason = "a table of cases")]
fn what_is_wrong_with_an_overlay_is_said() {
    let info = r#""info": {"title": "O", "version": "1"}"#;
    let action = r#""actions": [{"target": "$.info", "update": {"x-a": 1}}]"#;
    let nested = format!("$.a{}", "[?@.a".repeat(9) + &"]".repeat(9));
    let long = format!("$.{}", "a".repeat(MAX_QUERY_BYTES));
    let deep = format!("$[?{}{}]", "length(".repeat(40), ")".repeat(39));
    let target = |target: &str| {
        format!(
            r#"{{"overlay": "1.1.0", {info}, "actions": [{{"target": {}, "remove": true}}]}}"#,
            json!(target)
        )
    };
    for (text, code, words) in [
        (
            format!(r#"{{"overlay": "1.2.0", {info}, {action}}}"#),
            "overlay-version",
            "only 1.0 and 1.1",
        ),
        (
            format!(r#"{{"overlay": 1.1, {info}, {action}}}"#),
            "overlay-version",
            "1.1 is a number",
        ),
        (
            format!(r#"{{"overlay": "1.1", {info}, {action}}}"#),
            "overlay-version",
            "all three parts",
        ),
        (
            format!("{{{info}, {action}}}"),
            "overlay-version",
            "does not say",
        ),
        ("[]".to_owned(), "overlay-field", "must be an object"),
        (
            format!(r#"{{"overlay": "1.1.0", {action}}}"#),
            "overlay-field",
            "needs `info`",
        ),
        (
            format!(r#"{{"overlay": "1.1.0", {info}}}"#),
            "overlay-field",
            "needs `actions`",
        ),
        (
            format!(r#"{{"overlay": "1.1.0", {info}, "actions": []}}"#),
            "overlay-field",
            "at least one",
        ),
        (
            format!(r#"{{"overlay": "1.1.0", {info}, {action}, "extnds": "a"}}"#),
            "overlay-field",
            "did you mean `extends`?",
        ),
        (
            format!(r#"{{"overlay": "1.1.0", {info}, "actions": [{{"remove": true}}]}}"#),
            "overlay-field",
            "needs `target`",
        ),
        (
            format!(
                r#"{{"overlay": "1.1.0", {info}, "actions": [{{"target": "$.info", "remvoe": true}}]}}"#
            ),
            "overlay-field",
            "did you mean `remove`?",
        ),
        (
            format!(
                r#"{{"overlay": "1.1.0", {info}, "actions": [{{"target": "$.info", "remove": "yes"}}]}}"#
            ),
            "overlay-field",
            "must be true or false",
        ),
        (
            format!(
                r#"{{"overlay": "1.0.0", "info": {{"title": "O", "version": "1", "description": "d"}}, {action}}}"#
            ),
            "overlay-field",
            "only since Overlay 1.1",
        ),
        (
            target("$.paths./pets"),
            "overlay-target",
            "in brackets and quotes",
        ),
        (target("#/paths"), "overlay-target", "JSON Pointer"),
        (target("paths"), "overlay-target", "starts with `$`"),
        (
            target("$.a[?count(1) == 1]"),
            "overlay-target",
            "not a JSONPath",
        ),
        (
            target("$.a[?length(@.*) == 1]"),
            "overlay-target",
            "`length`",
        ),
        (target("$.a[?in(@, $.b)]"), "overlay-target", "`in`"),
        (target("$.a[?length(@.b)]"), "overlay-target", "`length`"),
        (target(&nested), "overlay-target", "nests deeper than 8"),
        (target(&deep), "overlay-target", "nests deeper than 8"),
        (target(&long), "overlay-target", "more than 4096"),
        (
            "openapi: 3.1.0".to_owned(),
            "overlay-version",
            "this is the document",
        ),
        ("overlay: [".to_owned(), "yaml-syntax", "not YAML"),
    ] {
        let loaded = read(&with_data(&json!(1)), std::slice::from_ref(&text));
        let printed = render(&loaded.sources, &loaded.diagnostics);
        assert!(loaded.contract.is_none(), "{text}");
        assert!(codes(&loaded).contains(&code), "{text}\n{printed}");
        assert!(printed.contains(words), "{words}\n{printed}");
        assert!(printed.contains("overlay-0.yaml:"), "{printed}");
    }
}

#[test]
fn what_has_no_effect_is_a_warning() {
    let data = json!({"a": {"$ref": "other.yaml"}, "pets": 1});
    for (action, code, words) in [
        (
            json!({"target": "$['x-data'].pet", "remove": true}),
            "overlay-no-match",
            "did you mean `pets`?",
        ),
        (
            json!({"target": "$['x-data'].pets.cats", "remove": true}),
            "overlay-no-match",
            "is a number",
        ),
        (
            json!({"target": "$['x-data'].a.b", "remove": true}),
            "overlay-no-match",
            "does not follow references",
        ),
        (
            json!({"target": "$['x-data'][?@.none]", "update": {}}),
            "overlay-no-match",
            "selects nothing",
        ),
        (
            json!({"target": DATA}),
            "overlay-idle",
            "neither updates nor removes",
        ),
        (
            json!({"target": "$['x-data'].pets", "remove": true, "update": 1}),
            "overlay-idle",
            "`update` has no effect",
        ),
        (
            json!({"target": DATA, "update": {}, "copy": "$.info"}),
            "overlay-idle",
            "neither has `copy`",
        ),
        (
            json!({"target": "$['x-data'][?match(@, '(')]", "remove": true}),
            "overlay-pattern",
            "matches nothing",
        ),
        (
            json!({"target": "$['x-data'][?search(@, '(((a{99}){99}){99}){99}')]", "remove": true}),
            "overlay-pattern",
            "too large",
        ),
    ] {
        let loaded = read(&with_data(&data), &[overlay("1.1.0", &json!([action]))]);
        let printed = render(&loaded.sources, &loaded.diagnostics);
        assert!(loaded.contract.is_some(), "{printed}");
        assert!(codes(&loaded).contains(&code), "{printed}");
        assert!(printed.contains(words), "{words}\n{printed}");
        assert!(printed.contains("overlay-0.yaml:"), "{printed}");
    }
}

#[test]
fn extensions_are_no_findings() {
    let text = json!({
        "overlay": "1.0.1", "x-a": 1, "info": {"title": "O", "version": "1", "x-b": 2},
        "actions": [{"target": DATA, "description": "d", "x-c": 3, "update": {"a": 1}}],
    });
    let loaded = read(&with_data(&json!({})), &[text.to_string()]);
    assert_eq!(codes(&loaded), [""; 0]);
}

#[test]
fn bounds_are_kept() {
    let action = json!({"target": "$.info", "update": {"x-a": 1}});
    let many = overlay(
        "1.1.0",
        &Value::Array(vec![action.clone(); MOST_ACTIONS + 1]),
    );
    let selects =
        json!([{"target": format!("$['x-data'][{}*]", "*,".repeat(1_000)), "remove": true}]);
    let visits = json!([{"target": "$..[?count($..[?count($..*) > 0]) > 0]", "remove": true}]);
    let doubles: Vec<Value> = (0..30)
        .flat_map(|index| {
            let key = format!("k{index}");
            let target = format!("$['x-data'].{key}");
            [
                json!({"target": DATA, "update": {key: []}}),
                json!({"target": target, "copy": "$['x-data']"}),
            ]
        })
        .collect();
    let deep: Vec<Value> = (0..130)
        .map(|depth| json!({"target": format!("$['x-data']{}", ".a".repeat(depth)), "update": {"a": {}}}))
        .collect();
    let array: Value = (0..1_000).collect();
    for (data, text, words) in [
        (json!({}), many, "more than 10000"),
        (
            array.clone(),
            overlay("1.1.0", &selects),
            "selects more than 500000",
        ),
        (array, overlay("1.1.0", &visits), "visit more than 50000000"),
        (
            json!({"a": 1}),
            overlay("1.1.0", &Value::Array(doubles)),
            "adds more than 1000000",
        ),
        (
            json!({}),
            overlay("1.1.0", &Value::Array(deep)),
            "deeper than 120",
        ),
    ] {
        let loaded = read(&with_data(&data), &[text]);
        let printed = render(&loaded.sources, &loaded.diagnostics);
        assert_eq!(
            codes(&loaded).last(),
            Some(&"overlay-too-large"),
            "{printed}"
        );
        assert!(printed.contains(words), "{words}\n{printed}");
    }
    // Copies that double an array without nesting it.
    let actions = vec![json!({"target": DATA, "copy": DATA}); 30];
    let loaded = read(
        &with_data(&json!([1])),
        &[overlay("1.1.0", &Value::Array(actions))],
    );
    let printed = render(&loaded.sources, &loaded.diagnostics);
    assert!(printed.contains("adds more than 1000000"), "{printed}");
    let one = overlay("1.1.0", &json!([action]));
    let loaded = read(&with_data(&json!(1)), &vec![one; MOST_OVERLAYS + 1]);
    assert_eq!(codes(&loaded), ["overlay-too-large"]);
    let large = "#".repeat(contract::overlay::MAX_OVERLAY_BYTES + 1);
    let loaded = read(&with_data(&json!(1)), &[large]);
    assert_eq!(codes(&loaded), ["overlay-too-large"]);
}
