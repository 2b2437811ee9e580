//! Overlays, applied to small documents: the results are written by hand from the rules of Overlay
//! 1.0 and 1.1, or come from a naive implementation of them.

mod diagnostics;
mod files;
mod jsonpaths;
mod naive;

use std::fs;
use std::path::Path;

use contract::{Loaded, Options, Severity, load_with, render};
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
