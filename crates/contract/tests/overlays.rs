//! Overlays, applied to small documents: the results are written by hand from the rules of Overlay
//! 1.0 and 1.1, or come from a naive implementation of them.

use std::fs;
use std::path::Path;

use contract::overlay::{MAX_QUERY_BYTES, MOST_ACTIONS, MOST_OVERLAYS};
use contract::{Loaded, Options, Severity, load_with, render};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Reads a document with overlays, from files in a folder of their own.
fn read(document: &str, overlays: &[String]) -> Loaded {
    let folder = tempfile::tempdir().expect("a folder can be made");
    write(folder.path(), "api.yaml", document);
    let names = (0..overlays.len()).map(|index| format!("overlay-{index}.yaml"));
    let names: Vec<String> = names.collect();
    for (name, text) in names.iter().zip(overlays) {
        write(folder.path(), name, text);
    }
    read_in(folder.path(), &names)
}

fn read_in(folder: &Path, overlays: &[String]) -> Loaded {
    let options = Options {
        overlays: overlays.iter().map(|name| folder.join(name)).collect(),
        ..Options::default()
    };
    load_with(&folder.join("api.yaml"), &options)
}

fn write(folder: &Path, name: &str, text: &str) {
    fs::write(folder.join(name), text).expect("the folder is writable");
}

/// A document with any data in it.
fn with_data(data: &Value) -> String {
    format!("openapi: 3.1.0\ninfo: {{title: Data, version: '1'}}\npaths: {{}}\nx-data: {data}\n")
}

fn overlay(version: &str, actions: &Value) -> String {
    json!({"overlay": version, "info": {"title": "O", "version": "1"}, "actions": actions})
        .to_string()
}

fn codes(loaded: &Loaded) -> Vec<&'static str> {
    loaded.diagnostics.iter().map(|found| found.code).collect()
}

/// Returns the data after one overlay, or the rule of the error.
fn changed(version: &str, data: &Value, actions: &Value) -> Result<Value, &'static str> {
    let loaded = read(&with_data(data), &[overlay(version, actions)]);
    if let Some(contract) = &loaded.contract {
        return Ok(contract.document["x-data"].clone());
    }
    let mut errors = loaded.diagnostics.iter();
    let error = errors.find(|found| found.severity == Severity::Error);
    Err(error
        .expect("there is no contract because of an error")
        .code)
}

#[track_caller]
#[expect(clippy::needless_pass_by_value, reason = "the cases are literals")]
fn check(version: &str, data: Value, actions: Value, expected: Result<Value, &'static str>) {
    let changed = changed(version, &data, &actions);
    assert_eq!(changed, expected, "{version}: {data} {actions}");
}

const DATA: &str = "$['x-data']";

#[test]
fn objects_are_merged_recursively() {
    for version in ["1.0.0", "1.1.0"] {
        check(
            version,
            json!({"a": 1, "b": {"c": [1], "d": true}, "e": null}),
            json!([{"target": DATA, "update": {"b": {"c": [2, 3], "d": "x", "f": {}}, "e": 0, "g": []}}]),
            Ok(json!({"a": 1, "b": {"c": [1, 2, 3], "d": "x", "f": {}}, "e": 0, "g": []})),
        );
        for (target, update) in [
            (json!({"a": {}}), json!({"a": 1})),
            (json!({"a": 1}), json!({"a": {}})),
            (json!({"a": []}), json!({"a": {}})),
            (json!({"a": [1]}), json!({"a": null})),
        ] {
            check(
                version,
                target,
                json!([{"target": DATA, "update": update}]),
                Err("overlay-mismatch"),
            );
        }
        check(
            version,
            json!({"a": 1}),
            json!([{"target": DATA, "update": 1}]),
            Err("overlay-mismatch"),
        );
    }
}

#[test]
fn an_array_gets_an_item_in_1_0_and_is_concatenated_in_1_1() {
    let concatenate = json!([{"target": DATA, "update": [2, 3]}]);
    check(
        "1.0.0",
        json!([1]),
        concatenate.clone(),
        Ok(json!([1, [2, 3]])),
    );
    check("1.1.0", json!([1]), concatenate, Ok(json!([1, 2, 3])));
    for version in ["1.0.0", "1.1.3"] {
        check(
            version,
            json!([1]),
            json!([{"target": DATA, "update": {"a": 1}}]),
            Ok(json!([1, {"a": 1}])),
        );
        check(
            version,
            json!([1]),
            json!([{"target": DATA, "update": null}]),
            Ok(json!([1, null])),
        );
    }
}

#[test]
fn primitives_are_replaced_since_1_1() {
    let data = json!({"a": "old", "tags": ["x", "dummy", "y"]});
    let replace = json!([{"target": "$['x-data'].a", "update": "new"}]);
    check(
        "1.1.0",
        data.clone(),
        replace.clone(),
        Ok(json!({"a": "new", "tags": ["x", "dummy", "y"]})),
    );
    check("1.0.0", data.clone(), replace, Err("overlay-mismatch"));
    check(
        "1.1.0",
        data.clone(),
        json!([{"target": "$['x-data'].a", "update": []}]),
        Err("overlay-mismatch"),
    );
    let remove = json!([{"target": "$['x-data'].tags[?@ == 'dummy']", "remove": true}]);
    check(
        "1.1.0",
        data.clone(),
        remove.clone(),
        Ok(json!({"a": "old", "tags": ["x", "y"]})),
    );
    check("1.0.0", data.clone(), remove, Err("overlay-target"));
    let property = json!([{"target": "$['x-data'].a", "remove": true}]);
    check(
        "1.0.0",
        data,
        property,
        Ok(json!({"tags": ["x", "dummy", "y"]})),
    );
}

#[test]
fn what_is_removed_does_not_move_what_is_still_to_be_removed() {
    check(
        "1.1.0",
        json!([0, 1, {"a": [0, 1, 2]}, 3]),
        json!([{"target": "$['x-data'][0,2,3,0]", "remove": true}]),
        Ok(json!([1])),
    );
    // A node inside a removed one goes with it.
    check(
        "1.1.0",
        json!({"a": {"gone": true, "b": {"gone": true}}, "c": {"d": {"gone": true}, "e": 1}}),
        json!([{"target": "$['x-data']..[?@.gone == true]", "remove": true}]),
        Ok(json!({"c": {"e": 1}})),
    );
    check(
        "1.1.0",
        json!({"a": 1}),
        json!([{"target": "$", "remove": true}]),
        Err("overlay-target"),
    );
}

#[test]
fn actions_follow_each_other_and_overlays_too() {
    check(
        "1.1.0",
        json!({"servers": [1, 2]}),
        json!([
            {"target": "$['x-data'].servers", "remove": true},
            {"target": DATA, "update": {"servers": [3]}},
            {"target": "$['x-data'].servers[0]", "update": 4},
        ]),
        Ok(json!({"servers": [4]})),
    );
    let first = overlay(
        "1.0.0",
        &json!([{"target": DATA, "update": {"a": {"b": [1]}}}]),
    );
    let second = overlay(
        "1.1.0",
        &json!([{"target": "$['x-data'].a.b", "update": [2]}]),
    );
    let loaded = read(&with_data(&json!({})), &[first.clone(), second.clone()]);
    let contract = loaded.contract.expect("both overlays fit");
    assert_eq!(contract.document["x-data"], json!({"a": {"b": [1, 2]}}));
    let loaded = read(&with_data(&json!({})), &[second, first]);
    assert_eq!(codes(&loaded), ["overlay-no-match"]);
}

#[test]
fn copies_merge_one_node_of_the_document() {
    let data =
        json!({"items": {"get": {"tags": ["a"]}}, "some": {"get": {"tags": ["b"]}, "delete": 1}});
    check(
        "1.1.0",
        data.clone(),
        json!([{"target": "$['x-data'].some", "copy": "$['x-data'].items"}]),
        Ok(
            json!({"items": {"get": {"tags": ["a"]}}, "some": {"get": {"tags": ["b", "a"]}, "delete": 1}}),
        ),
    );
    // A move: create, copy, remove.
    check(
        "1.1.0",
        data.clone(),
        json!([
            {"target": DATA, "update": {"new": {}}},
            {"target": "$['x-data'].new", "copy": "$['x-data'].items"},
            {"target": "$['x-data'].items", "remove": true},
        ]),
        Ok(json!({"some": {"get": {"tags": ["b"]}, "delete": 1}, "new": {"get": {"tags": ["a"]}}})),
    );
    for copy in ["$['x-data'].none", "$['x-data'].*"] {
        check(
            "1.1.0",
            data.clone(),
            json!([{"target": "$['x-data'].some", "copy": copy}]),
            Err("overlay-copy"),
        );
    }
    check(
        "1.1.0",
        data.clone(),
        json!([{"target": "$['x-data'].some.delete", "copy": "$['x-data'].items"}]),
        Err("overlay-mismatch"),
    );
    check(
        "1.0.0",
        data,
        json!([{"target": "$['x-data'].some", "copy": "$['x-data'].items"}]),
        Err("overlay-field"),
    );
}

#[test]
fn nodes_of_several_kinds_are_not_updated_together() {
    check(
        "1.1.0",
        json!({"a": {}, "b": []}),
        json!([{"target": "$['x-data'].*", "update": {}}]),
        Err("overlay-mismatch"),
    );
    check(
        "1.1.0",
        json!({"a": 1, "b": "x", "c": null}),
        json!([{"target": "$['x-data'].*", "update": false}]),
        Ok(json!({"a": false, "b": false, "c": false})),
    );
    // A node that is selected twice is updated once.
    check(
        "1.1.0",
        json!({"a": [1]}),
        json!([{"target": "$['x-data']['a', 'a']", "update": 2}]),
        Ok(json!({"a": [1, 2]})),
    );
}

#[test]
fn filters_select_as_the_rfc_says() {
    let data = json!([
        {"n": 1, "s": "ab", "l": []},
        {"n": 2.5, "s": "a\rb", "l": [1]},
        {"n": "2", "s": "ba", "l": {"k": 1}},
        {"s": "", "l": null},
        {"n": 9_007_199_254_740_993_i64, "l": [[1], {"x": 1}]},
    ]);
    for (filter, expected) in [
        ("@.n", &[0, 1, 2, 4][..]),
        ("!@.n", &[3]),
        ("@.s", &[0, 1, 2, 3]),
        ("@.l[0]", &[1, 4]),
        ("@.l == null", &[3]),
        ("@.n == @.none", &[3]),
        ("@.n < 2", &[0]),
        ("@.n >= 2.5", &[1, 4]),
        ("@.n == 9007199254740991", &[]),
        ("@.n == 1E0 || @.n == '2'", &[0, 2]),
        ("@.n && !(@.n == 1) && @.n != 2.5", &[2, 4]),
        ("length(@.l) == 1", &[1, 2]),
        ("length(@.s) < 1", &[3]),
        ("count(@.l.*) == 2", &[4]),
        ("count(@..*) > 5", &[4]),
        ("value(@.l.*) == 1", &[1, 2]),
        ("match(@.s, 'a.?b')", &[0]),
        ("match(@.s, 'a|ab')", &[0]),
        ("search(@.s, 'b')", &[0, 1, 2]),
        ("search(@.s, $['x-data'][2].s)", &[2]),
        ("match(@.s, '[ab]{2}')", &[0, 2]),
        ("@.l == $['x-data'][2].l", &[2]),
    ] {
        let mut expected: Vec<Value> = {
            let marked = |(index, item): (usize, &Value)| {
                let mut item = item.clone();
                if expected.contains(&index) {
                    item["x"] = json!(true);
                }
                item
            };
            data.as_array()
                .expect("an array")
                .iter()
                .enumerate()
                .map(marked)
                .collect()
        };
        let target = format!("$['x-data'][?{filter}]");
        let actions = json!([{"target": target, "update": {"x": true}}]);
        let changed = changed("1.1.0", &data, &actions).expect("the overlay fits");
        let found = changed.as_array().expect("an array");
        assert_eq!(*found, std::mem::take(&mut expected), "{filter}");
    }
}

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

#[test]
fn a_pattern_takes_linear_time() {
    let data = json!(["a".repeat(50_000)]);
    let actions = json!([{"target": "$['x-data'][?match(@, '(a*)*b')]", "remove": true}]);
    let start = std::time::Instant::now();
    assert_eq!(changed("1.1.0", &data, &actions), Ok(data));
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

/// A contract of two files.
fn two_files(folder: &Path) {
    let api = "openapi: 3.1.0\ninfo: {title: Two, version: '1'}\npaths:\n  /pets: {$ref: 'parts/pets.yaml'}\n";
    let pets = "get:\n  operationId: pet_list\n  responses:\n    '200': {description: Pets.}\n";
    fs::create_dir_all(folder.join("parts")).expect("the folder is writable");
    write(folder, "api.yaml", api);
    write(folder, "parts/pets.yaml", pets);
}

fn extending(extends: &str, actions: &Value) -> String {
    json!({"overlay": "1.1.0", "info": {"title": "O", "version": "1"}, "extends": extends, "actions": actions})
        .to_string()
}

#[test]
fn an_overlay_changes_the_document_that_it_extends() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let folder = folder.path();
    two_files(folder);
    let rename = json!([{"target": "$.get.operationId", "update": "pets"}]);
    write(folder, "parts/one.yaml", &extending("./pets.yaml", &rename));
    let loaded = read_in(folder, &["parts/one.yaml".to_owned()]);
    let contract = loaded.contract.expect("the overlay fits");
    assert_eq!(contract.operations[0].id, "pets");

    let title = json!([{"target": "$.info.title", "update": "Other"}]);
    for extends in ["../api.yaml", "https://example.com/api.yaml"] {
        write(folder, "parts/one.yaml", &extending(extends, &title));
        let loaded = read_in(folder, &["parts/one.yaml".to_owned()]);
        let contract = loaded.contract.expect("the overlay fits");
        assert_eq!(contract.document["info"]["title"], "Other");
    }

    write(folder, "parts/one.yaml", &extending("api.yaml", &title));
    let loaded = read_in(folder, &["parts/one.yaml".to_owned()]);
    assert_eq!(codes(&loaded), ["overlay-extends"]);
    assert!(loaded.contract.is_none());

    // What an overlay of the first document selects is that document, not what it refers to.
    write(
        folder,
        "one.yaml",
        &overlay(
            "1.1.0",
            &json!([{"target": "$.paths['/pets'].get", "remove": true}]),
        ),
    );
    let loaded = read_in(folder, &["one.yaml".to_owned()]);
    assert_eq!(codes(&loaded), ["overlay-no-match"]);
    let printed = render(&loaded.sources, &loaded.diagnostics);
    assert!(
        printed.contains("an overlay that `extends` that file"),
        "{printed}"
    );
}

#[test]
fn a_reference_that_an_overlay_adds_starts_from_the_document() {
    let folder = tempfile::tempdir().expect("a folder can be made");
    let folder = folder.path();
    two_files(folder);
    write(
        folder,
        "api.yaml",
        "openapi: 3.1.0\ninfo: {title: Two, version: '1'}\npaths: {}\n",
    );
    fs::create_dir(folder.join("overlays")).expect("the folder is writable");
    let add = json!([{"target": "$.paths", "update": {"/pets": {"$ref": "parts/pets.yaml"}}}]);
    write(folder, "overlays/one.yaml", &overlay("1.1.0", &add));
    let loaded = read_in(folder, &["overlays/one.yaml".to_owned()]);
    let contract = loaded.contract.expect("the reference leads to a file");
    assert_eq!(contract.operations[0].id, "pet_list");
}

#[test]
fn a_node_keeps_the_position_of_the_file_that_it_came_from() {
    let document = "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths: {}\ncomponents:\n  schemas:\n    Pet: {type: object}\n";
    let overlay = "overlay: 1.1.0\ninfo: {title: O, version: '1'}\nactions:\n  - target: $.components.schemas.Pet\n    update:\n      minProperties: many\n";
    let loaded = read(document, &[overlay.to_owned()]);
    let found = loaded
        .diagnostics
        .iter()
        .find(|found| found.code == "wrong-type");
    let found = found.expect("`many` is no number");
    let at = loaded.sources.line_column(found.span);
    let file = &loaded.sources.file(found.span.file).name;
    assert!(file.ends_with("overlay-0.yaml"), "{file}");
    assert_eq!((at.line, at.column), (6, 22));
}

#[test]
fn an_overlay_mends_a_dangling_reference() {
    let document = "openapi: 3.1.0\ninfo: {title: T, version: '1'}\npaths:\n  /a:\n    get:\n      responses:\n        '200': {$ref: '#/components/responses/Gone'}\n";
    assert!(read(document, &[]).contract.is_none());
    let overlay = overlay(
        "1.0.0",
        &json!([{"target": "$", "update": {"components": {"responses": {"Gone": {"description": "Back."}}}}}]),
    );
    let loaded = read(document, &[overlay]);
    assert!(
        loaded.contract.is_some(),
        "{}",
        render(&loaded.sources, &loaded.diagnostics)
    );
}

// A naive implementation of Overlay 1.1 over JSON values, and random overlays.

#[derive(Debug, Clone)]
enum Step {
    Key(&'static str),
    Index(usize),
    All,
}

#[derive(Debug, Clone)]
enum Change {
    Update(Value),
    Copy(Vec<Step>),
    Remove,
}

fn path_of(steps: &[Step]) -> String {
    let step = |step: &Step| match step {
        Step::Key(key) => format!("['{key}']"),
        Step::Index(index) => format!("[{index}]"),
        Step::All => "[*]".to_owned(),
    };
    format!("{DATA}{}", steps.iter().map(step).collect::<String>())
}

/// Returns the JSON Pointers of what a path selects.
fn pointers(value: &Value, steps: &[Step], at: &str) -> Vec<String> {
    let Some((step, rest)) = steps.split_first() else {
        return vec![at.to_owned()];
    };
    let below = |key: String, value: &Value| pointers(value, rest, &format!("{at}/{key}"));
    match (step, value) {
        (Step::Key(key), Value::Object(map)) => map
            .get(*key)
            .map_or(Vec::new(), |value| below((*key).to_owned(), value)),
        (Step::Index(index), Value::Array(items)) => items
            .get(*index)
            .map_or(Vec::new(), |value| below(index.to_string(), value)),
        (Step::All, Value::Object(map)) => map
            .iter()
            .flat_map(|(key, value)| below(key.clone(), value))
            .collect(),
        (Step::All, Value::Array(items)) => {
            let items = items.iter().enumerate();
            items
                .flat_map(|(index, value)| below(index.to_string(), value))
                .collect()
        }
        _ => Vec::new(),
    }
}

fn naive_merge(target: &mut Value, update: &Value, is_top: bool) -> bool {
    match (target, update) {
        (Value::Object(map), Value::Object(updates)) => {
            updates.iter().all(|(key, update)| match map.get_mut(key) {
                Some(value) => naive_merge(value, update, false),
                None => map.insert(key.clone(), update.clone()).is_none(),
            })
        }
        (Value::Array(items), Value::Array(more)) => {
            items.extend(more.iter().cloned());
            true
        }
        (Value::Array(items), update) if is_top => {
            items.push(update.clone());
            true
        }
        (target, update)
            if !target.is_object()
                && !target.is_array()
                && !update.is_object()
                && !update.is_array() =>
        {
            *target = update.clone();
            true
        }
        _ => false,
    }
}

/// Applies an action; returns `None` if it is an error.
fn naive(mut data: Value, target: &[Step], change: &Change) -> Option<Value> {
    let mut found = pointers(&data, target, "");
    let copied = match change {
        Change::Copy(from) => {
            let from = pointers(&data, from, "");
            match from.as_slice() {
                _ if found.is_empty() => Value::Null,
                [one] => data.pointer(one)?.clone(),
                _ => return None,
            }
        }
        _ => Value::Null,
    };
    if let Change::Remove = change {
        found.sort_by_key(|pointer| {
            pointer
                .rsplit('/')
                .next()
                .and_then(|last| last.parse::<usize>().ok())
        });
        for pointer in found.iter().rev() {
            let (parent, last) = pointer.rsplit_once('/')?;
            match data.pointer_mut(parent)? {
                Value::Object(map) => drop(map.shift_remove(last)),
                Value::Array(items) => drop(items.remove(last.parse().ok()?)),
                _ => return None,
            }
        }
        return Some(data);
    }
    let kind = |pointer: &String| {
        let value = data.pointer(pointer).cloned().unwrap_or_default();
        (value.is_object(), value.is_array())
    };
    let kinds: std::collections::BTreeSet<_> = found.iter().map(kind).collect();
    if kinds.len() > 1 {
        return None;
    }
    let update = match change {
        Change::Update(update) => update,
        _ => &copied,
    };
    for pointer in &found {
        if !naive_merge(data.pointer_mut(pointer)?, update, true) {
            return None;
        }
    }
    Some(data)
}

fn values() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![
        Just(Value::Null),
        any::<bool>().prop_map(Value::from),
        (0..3_u8).prop_map(Value::from),
        "[a-c]{0,2}".prop_map(Value::from),
    ];
    leaf.prop_recursive(4, 24, 4, |inner| {
        prop_oneof![
            prop::collection::vec(inner.clone(), 0..4).prop_map(Value::from),
            prop::collection::btree_map(prop::sample::select(&["a", "b", "c"][..]), inner, 0..4)
                .prop_map(|map| map
                    .into_iter()
                    .map(|(key, value)| (key.to_owned(), value))
                    .collect()),
        ]
    })
}

fn steps() -> impl Strategy<Value = Vec<Step>> {
    let step = prop_oneof![
        4 => prop::sample::select(&["a", "b", "c"][..]).prop_map(Step::Key),
        2 => (0..3_usize).prop_map(Step::Index),
        2 => Just(Step::All),
    ];
    prop::collection::vec(step, 0..4)
}

fn changes() -> impl Strategy<Value = (Vec<Step>, Change)> {
    let change = prop_oneof![
        4 => values().prop_map(Change::Update),
        2 => steps().prop_map(Change::Copy),
        1 => Just(Change::Remove),
    ];
    (steps(), change)
}

/// Changes of which none is an error, one behind the other.
fn fitting(data: &Value, changes: Vec<(Vec<Step>, Change)>) -> (Value, Vec<(Vec<Step>, Change)>) {
    let mut data = data.clone();
    let mut kept = Vec::new();
    for (target, change) in changes {
        if let Some(next) = naive(data.clone(), &target, &change) {
            data = next;
            kept.push((target, change));
        }
    }
    (data, kept)
}

fn to_actions(changes: &[(Vec<Step>, Change)]) -> Value {
    let action = |(target, change): &(Vec<Step>, Change)| match change {
        Change::Update(update) => json!({"target": path_of(target), "update": update}),
        Change::Copy(from) => json!({"target": path_of(target), "copy": path_of(from)}),
        Change::Remove => json!({"target": path_of(target), "remove": true}),
    };
    changes.iter().map(action).collect()
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(256) })]

    #[test]
    fn an_overlay_changes_what_a_naive_implementation_changes(
        inner in values(),
        changes in prop::collection::vec(changes(), 1..8),
        wrong in changes(),
    ) {
        // One level below, so that everything can be removed.
        let data = json!({"a": inner, "b": [1, {"c": 2}]});
        // A removal of all data would leave nothing to compare.
        let changes = changes.into_iter().filter(|(target, change)| !(target.is_empty() && matches!(change, Change::Remove)));
        let (expected, kept) = fitting(&data, changes.collect());
        prop_assume!(!kept.is_empty());
        let actions = to_actions(&kept);
        prop_assert_eq!(changed("1.1.0", &data, &actions), Ok(expected.clone()), "{}", actions);
        prop_assume!(!(wrong.0.is_empty() && matches!(wrong.1, Change::Remove)));
        let naive = naive(expected.clone(), &wrong.0, &wrong.1);
        let actions = to_actions(std::slice::from_ref(&wrong));
        prop_assert_eq!(changed("1.1.0", &expected, &actions).ok(), naive, "{} {}", expected, actions);
    }
}
