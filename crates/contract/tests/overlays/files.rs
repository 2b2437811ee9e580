//! Overlays of contracts of several files.

use std::fs;
use std::path::Path;

use contract::render;
use serde_json::{Value, json};

use crate::{codes, overlay, read_in, write};

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
