//! Documents of others in several files.

use std::fs;
use std::path::Path;

use contract::{Contract, Loaded, Options, load_with, render};
use serde_json::json;

fn write(folder: &Path, name: &str, text: &str) {
    let path = folder.join(name);
    fs::create_dir_all(path.parent().expect("a parent")).expect("the folder can be made");
    fs::write(path, text).expect("the file can be written");
}

fn read(folder: &Path) -> Loaded {
    let options = Options {
        foreign: true,
        ..Options::default()
    };
    load_with(&folder.join("api.yaml"), &options)
}

/// Reads files as a document of others, which must be a contract.
#[track_caller]
fn contract(files: &[(&str, &str)]) -> (Contract, Vec<(&'static str, String)>) {
    let folder = tempfile::tempdir().expect("a folder");
    for (name, text) in files {
        write(folder.path(), name, text);
    }
    let loaded = read(folder.path());
    let printed = render(&loaded.sources, &loaded.diagnostics);
    let repairs = loaded.repairs.into_iter();
    let repairs = repairs
        .map(|repair| (repair.rule, repair.pointer))
        .collect();
    (
        loaded.contract.unwrap_or_else(|| panic!("{printed}")),
        repairs,
    )
}

const OK: &str = "operationId: it\nresponses: { '200': { description: Ok. } }\n";

#[test]
fn a_reference_in_place_of_an_operation_is_found_wherever_operations_are() {
    for api in [
        // A misspelt section.
        "path: { /a: { get: { $ref: it.yaml } } }",
        // A path item of another file.
        "paths: { /a: { $ref: items/a.yaml } }",
        // A path item of another part of another file.
        "paths: { /a: { $ref: 'items/all.yaml#/items/a' } }",
        "webhooks: { a: { get: { $ref: it.yaml } } }",
        "paths: { /a: { $ref: '#/components/pathItems/a' } }\ncomponents: { pathItems: { a: { get: { $ref: it.yaml } } } }",
        "paths: { /a: { put: { operationId: put, responses: { '200': { description: Ok. } }, callbacks: { a: { '{$url}': { get: { $ref: it.yaml } } } } } } }",
        "paths: { /a: { put: { operationId: put, responses: { '200': { description: Ok. } }, callbacks: { a: { $ref: '#/components/callbacks/a' } } } } }\ncomponents: { callbacks: { a: { '{$url}': { get: { $ref: it.yaml } } } } }",
    ] {
        let api = format!("openapi: 3.1.0\ninfo: {{ title: Others, version: '1' }}\n{api}\n");
        let (contract, repairs) = contract(&[
            ("api.yaml", &api),
            ("it.yaml", OK),
            ("items/a.yaml", "get: { $ref: ../it.yaml }\n"),
            (
                "items/all.yaml",
                "items: { a: { get: { $ref: ../it.yaml } } }\n",
            ),
        ]);
        let own = contract.operations.iter().chain(&contract.webhooks);
        let all = own.flat_map(|operation| operation.callbacks.iter().chain([operation]));
        let found: Vec<_> = all.filter(|operation| operation.id == "it").collect();
        assert_eq!(found.len(), 1, "{api}");
        assert_eq!(found[0].responses.len(), 1, "{api}");
        let misplaced = repairs.iter().filter(|(rule, _)| *rule == "misplaced-ref");
        assert_eq!(misplaced.count(), 1, "{api}\n{repairs:?}");
    }
}

#[test]
fn a_property_called_as_a_keyword_is_a_property() {
    let schema = "{ type: object, properties: { properties: { $ref: '#/components/schemas/Any' }, default: { type: object, properties: { $ref: '#/components/schemas/Parts' } } } }";
    let api = format!(
        "openapi: 3.1.0\ninfo: {{ title: Others, version: '1' }}\npaths: {{ /a: {{ get: {{ responses: {{ '200': {{ description: Ok., content: {{ application/json: {{ schema: {schema} }} }} }} }} }} }} }}\n\
         components: {{ schemas: {{ Any: {{ additionalProperties: true }}, Parts: {{ size: {{ type: integer }} }} }} }}\n"
    );
    let (contract, repairs) = contract(&[("api.yaml", &api)]);
    let place = "/paths/~1a/get/responses/200/content/application~1json/schema/properties";
    let misplaced: Vec<_> = repairs
        .iter()
        .filter(|(rule, _)| *rule == "misplaced-ref")
        .map(|(_, pointer)| pointer.as_str())
        .collect();
    assert_eq!(misplaced, [format!("{place}/default/properties")]);
    let properties = contract.document.pointer(place).expect("the properties");
    assert_eq!(
        properties["properties"],
        json!({"$ref": "#/components/schemas/Any"})
    );
    assert_eq!(
        properties["default"]["properties"],
        json!({"size": {"type": "integer"}})
    );
}

#[test]
fn a_property_called_mapping_keeps_its_words() {
    let mapping = "mapping: { type: object, description: '#1 of a/b.', properties: { far: { $ref: '#/far' } } }";
    let it = format!(
        "it: {{ operationId: it, responses: {{ '200': {{ description: Ok., content: {{ application/json: {{ schema: {{ type: object, properties: {{ {mapping} }} }} }} }} }} }} }}\nfar: {{ type: integer }}\n"
    );
    let api = "openapi: 3.1.0\ninfo: { title: Others, version: '1' }\npaths: { /a: { get: { $ref: 'it.yaml#/it' } } }\n";
    let (contract, _) = contract(&[("api.yaml", api), ("it.yaml", &it)]);
    let document = contract.document.to_string();
    assert!(document.contains("\"#1 of a/b.\""), "{document}");
    assert!(!document.contains(".yaml"), "{document}");
}

#[test]
fn a_repair_in_another_file_says_which() {
    let api = "openapi: 3.1.0\ninfo: { title: Others, version: '1' }\npaths: { /a: { $ref: items/a.yaml } }\n";
    let item = "get: { responses: { '200': { description: Ok. }, 4xx: { description: No. } } }\n";
    let (_, repairs) = contract(&[("api.yaml", api), ("items/a.yaml", item)]);
    assert_eq!(
        repairs,
        [(
            "impossible-status",
            "/$files/items~1a.yaml/get/responses/4xx".to_owned()
        )]
    );
}

#[test]
fn a_reference_from_another_file_follows_a_schema_that_accepts_null() {
    // The misspelt status is an error, so that the files are still apart when the schema is
    // repaired.
    let api = "openapi: 3.1.0\ninfo: { title: Others, version: '1' }\npaths: { /a: { $ref: items/a.yaml } }\n\
               components:\n  schemas:\n    Base: { type: object }\n    Pet: { allOf: [{ $ref: '#/components/schemas/Base' }], properties: { name: { type: string } }, nullable: true }\n";
    let item = "get:\n  responses:\n    4xx: { description: No. }\n    '200':\n      description: Ok.\n      content:\n        application/json:\n          schema:\n            type: array\n            items: { $ref: '../api.yaml#/components/schemas/Pet/properties/name' }\n";
    let (contract, _) = contract(&[("api.yaml", api), ("items/a.yaml", item)]);
    let items = "/paths/~1a/get/responses/200/content/application~1json/schema/items/$ref";
    assert_eq!(
        contract.document.pointer(items),
        Some(&json!("#/components/schemas/Pet/anyOf/0/properties/name"))
    );
}

#[test]
fn a_reference_in_place_of_an_operation_is_what_it_leads_to() {
    let folder = tempfile::tempdir().expect("a folder");
    let write = |name: &str, text: &str| write(folder.path(), name, text);
    write(
        "api.yaml",
        "openapi: 3.0.3\ninfo: { title: Others, version: '1', description: { $ref: 'texts.yaml#/about' } }\n\
         paths: { /a/b: { get: { $ref: 'things/get it.yaml' } } }\n",
    );
    write("texts.yaml", "about: What it is.\n");
    let size =
        "{ type: object, properties: { $ref: '../shared/ok.yaml#/size' }, min_properties: 1 }";
    write(
        "things/get it.yaml",
        &format!(
            "operationId: get_it\nresponses: {{ '200': {{ $ref: '../shared/ok.yaml#/ok' }} }}\n\
             parameters: [{{ name: size, in: query, schema: {size} }}]\n"
        ),
    );
    write(
        "shared/ok.yaml",
        "ok: { description: Ok. }\nsize: { wide: { $ref: '#/far' } }\nfar: { type: integer }\n",
    );
    assert!(
        contract::load(&folder.path().join("api.yaml"))
            .contract
            .is_none()
    );
    let loaded = read(folder.path());
    let printed = contract::render(&loaded.sources, &loaded.diagnostics);
    let contract = loaded.contract.unwrap_or_else(|| panic!("{printed}"));
    let operation = &contract.operations[0];
    assert_eq!(operation.id, "get_it");
    assert_eq!(operation.parameters[0].name, "size");
    assert_eq!(operation.responses[0].description, "Ok.");
    assert_eq!(
        contract.document.to_json()["info"]["description"],
        "What it is."
    );
    assert!(
        !contract.document.to_json().to_string().contains(".yaml"),
        "{}",
        contract.document.to_json()
    );
    let found = loaded.repairs.iter();
    let found = found.map(|repair| (repair.rule, repair.pointer.as_str()));
    assert_eq!(
        found.collect::<Vec<_>>(),
        [
            ("misplaced-ref", "/info/description"),
            ("misplaced-ref", "/paths/~1a~1b/get"),
            (
                "misplaced-ref",
                "/paths/~1a~1b/get/parameters/0/schema/properties"
            ),
            (
                "misspelt-keyword",
                "/paths/~1a~1b/get/parameters/0/schema/min_properties"
            ),
        ]
    );
}

#[test]
fn a_reference_in_place_of_a_section_is_what_it_leads_to() {
    let api = "openapi: 3.0.3
info: { title: Others, version: '1' }
paths: { $ref: 'paths.yaml' }
components:
  schemas: { $ref: parts/schemas.yaml }
  parameters: { $ref: parts/parameters.yaml }
  mediaTypes: { thing: { application/json: { schema: { $ref: '#/components/schemas/Thing' } } } }
";
    let paths = "/a/{id}:
  parameters: [{ $ref: 'parts/parameters.yaml#/Id' }]
  get:
    responses:
      '200': { description: Ok., content: { $ref: 'api.yaml#/components/mediaTypes/thing' } }
";
    let (contract, repairs) = contract(&[
        ("api.yaml", api),
        ("paths.yaml", paths),
        (
            "parts/schemas.yaml",
            "Thing: { properties: { part: { $ref: thing.yaml } } }\n",
        ),
        ("parts/thing.yaml", "{ type: integer }\n"),
        (
            "parts/parameters.yaml",
            "Id: { name: id, in: path, required: true, schema: { $ref: 'schemas.yaml#/Thing' } }\n",
        ),
    ]);
    let misplaced = repairs.iter().filter(|(rule, _)| *rule == "misplaced-ref");
    let misplaced: Vec<_> = misplaced.map(|(_, pointer)| pointer.as_str()).collect();
    assert_eq!(
        misplaced,
        [
            "/components/parameters",
            "/components/schemas",
            "/paths",
            "/paths/~1a~1{id}/get/responses/200/content",
        ]
    );
    assert_eq!(contract.operations.len(), 1);
    let content = "/paths/~1a~1{id}/get/responses/200/content/application~1json/schema/$ref";
    let reference = contract.document.pointer(content);
    assert_eq!(reference, Some(&"#/components/schemas/Thing".into()));
}

#[test]
fn a_path_item_of_another_file_has_an_id_for_each_path() {
    let api = "openapi: 3.0.3
info: { title: Others, version: '1' }
paths:
  /b/{x}: { $ref: 'paths.yaml#/b' }
  /c/{x}: { $ref: 'paths.yaml#/b' }
";
    let item = "b:
  parameters: [{ name: x, in: path, required: true, schema: { type: string } }]
  post: { operationId: dup, responses: { '200': { description: Ok. } } }
";
    let (contract, repairs) = contract(&[("api.yaml", api), ("paths.yaml", item)]);
    let ids: Vec<&str> = contract.operations.iter().map(|found| &*found.id).collect();
    assert_eq!(ids, ["dup", "dup_post_c_x"]);
    let at = "/paths/~1c~1{x}/post/operationId".to_owned();
    assert_eq!(repairs, [("duplicate-operation-id", at)]);
}

#[test]
fn a_file_of_markdown_is_a_text_as_a_whole() {
    let text = "# Pets\n\n| Name | Value |\n|---|---|\n- `a`: b\n  *c*\n";
    let api = "openapi: 3.0.3\ninfo: { title: Others, version: '1', description: { $ref: texts/about.md } }\npaths: {}\n";
    let (contract, repairs) = contract(&[("api.yaml", api), ("texts/about.md", text)]);
    assert_eq!(
        contract.document.pointer("/info/description"),
        Some(&json!(text))
    );
    assert_eq!(repairs.len(), 1, "{repairs:?}");
}
