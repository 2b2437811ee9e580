//! Paths and operations: misspelt fields, ids that several have, and parameters in the wrong place.

use serde_json::{Value, json};

use super::{foreign, read, repaired, with_path};

const OK: &str = "responses: { '204': { description: Done. } }";

#[test]
fn a_misspelt_field_of_an_operation_is_the_field() {
    let path = "{ name: id, in: path, required: true, schema: { type: integer } }";
    let query = "{ name: z, in: query, requierd: true, schema: { type: integer } }";
    let text = "{ content: { application/json: { shema: { type: string } } } }";
    let item = format!(
        "{{ put: {{ operationID: q, paramters: [{path}, {query}], requestbody: {text}, respones: {{ '200': {{ description: Done. }} }} }} }}"
    );
    let (operation, repairs) = read(&with_path("/a/{id}", &item), "/paths/~1a~1{id}/put");
    let expected = json!({
        "operationId": "q",
        "parameters": [
            {"name": "id", "in": "path", "required": true, "schema": {"type": "integer"}},
            {"name": "z", "in": "query", "required": true, "schema": {"type": "integer"}},
        ],
        "requestBody": {"content": {"application/json": {"schema": {"type": "string"}}}},
        "responses": {"200": {"description": "Done."}},
    });
    assert_eq!(operation, expected);
    assert_eq!(repairs.len(), 6, "{repairs:?}");
}

#[test]
fn a_misspelt_field_beside_the_right_one_or_of_another_shape_is_an_annotation() {
    let at = "/paths/~1a/get";
    for field in ["paramters: [], parameters: []", "paramters: none"] {
        let item = format!("{{ get: {{ {field}, {OK} }} }}");
        let rule = "misspelt-keyword";
        let operation = repaired(
            &with_path("/a", &item),
            rule,
            &format!("{at}/paramters"),
            at,
        );
        assert!(operation.get("paramters").is_some(), "{operation}");
    }
}

/// Returns the ids of a document's operations, each with its path, and the pointers that were
/// repaired.
#[track_caller]
fn ids(text: &str) -> (Vec<(String, String)>, Vec<String>) {
    let loaded = foreign(text);
    let printed = contract::render(&loaded.sources, &loaded.diagnostics);
    let contract = loaded.contract.unwrap_or_else(|| panic!("{printed}"));
    assert!(!printed.contains("the other operation"), "{printed}");
    let operations = contract.operations.into_iter();
    let repairs = loaded.repairs.into_iter();
    (
        operations.map(|found| (found.path, found.id)).collect(),
        repairs.map(|repair| repair.pointer).collect(),
    )
}

fn owned(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
    let pairs = pairs.iter();
    pairs
        .map(|(path, id)| ((*path).to_owned(), (*id).to_owned()))
        .collect()
}

#[test]
fn a_path_item_of_two_paths_has_an_id_for_each() {
    let both =
        format!("{{ get: {{ operationId: it, {OK} }}, put: {{ operationId: put_it, {OK} }} }}");
    let expected = owned(&[
        ("/a", "it"),
        ("/a", "put_it"),
        ("/b", "it_get_b"),
        ("/b", "put_it_put_b"),
        ("/c", "it_get_c"),
        ("/c", "put_it_put_c"),
    ]);
    let own =
        with_path("/a", &both) + "  /b: { $ref: '#/paths/~1a' }\n  /c: { $ref: '#/paths/~1a' }\n";
    let shared = with_path("/a", "{ $ref: '#/components/pathItems/It' }")
        + "  /b: { $ref: '#/components/pathItems/It' }\n  /c: { $ref: '#/components/pathItems/It' }\n"
        + &format!("components: {{ pathItems: {{ It: {both} }} }}\n");
    for text in [own, shared] {
        let (found, repairs) = ids(&text);
        assert_eq!(found, expected, "{text}");
        assert_eq!(
            repairs,
            ["/paths/~1b", "/paths/~1b", "/paths/~1c", "/paths/~1c"]
        );
    }
    let alias = with_path("/a", &format!("&it {both}")) + "  /b: *it\n  /c: *it\n";
    let (found, repairs) = ids(&alias);
    assert_eq!(found, expected);
    let at = ["b/get", "b/put", "c/get", "c/put"];
    assert_eq!(repairs, at.map(|at| format!("/paths/~1{at}/operationId")));
}

#[test]
fn the_copies_of_path_items_are_bounded() {
    let item = format!(
        "{{ get: {{ operationId: it, {OK}, x-large: [{}] }} }}",
        "1, ".repeat(100_000)
    );
    let paths = |count: usize| -> String {
        let more = (0..count).map(|index| format!("  /p{index}: {{ $ref: '#/paths/~1a' }}\n"));
        with_path("/a", &item) + &more.collect::<String>()
    };
    assert!(foreign(&paths(9)).contract.is_some());
    let loaded = foreign(&paths(10));
    assert_eq!(loaded.repairs.len(), 9);
    assert!(loaded.contract.is_none());
}

#[test]
fn a_value_in_the_query_of_a_path_is_a_parameter_of_the_query() {
    let at = "/paths/~1a~1{y}?x={z}";
    let parameters = |z: &str| {
        let y = "{ name: y, in: path, required: true, schema: { type: string } }";
        let item = format!("{{ get: {{ parameters: [{y}, {z}], {OK} }} }}");
        with_path("'/a/{y}?x={z}'", &item)
    };
    let z = "{ name: z, in: path, required: true, style: simple, schema: { type: array } }";
    let expected = json!({
        "name": "x", "in": "query", "required": true, "explode": false, "schema": {"type": "array"}
    });
    let (parameter, repairs) = read(&parameters(z), &format!("{at}/get/parameters/1"));
    assert_eq!(parameter, expected);
    assert_eq!(repairs, [format!("{at}/get/parameters/1/name")]);
    // A component stays in the path for others.
    let component = parameters("{ $ref: '#/components/parameters/Z' }")
        + &format!("components: {{ parameters: {{ Z: {z} }} }}\n");
    let (root, _) = read(&component, "");
    let found = root.pointer(&format!("{at}/get/parameters/1"));
    assert_eq!(found, Some(&expected));
    assert_eq!(root["components"]["parameters"]["Z"]["in"], "path");
    // What is in a fragment is never sent.
    let text = parameters(z).replace("?x=", "#x=");
    assert!(foreign(&text).contract.is_none());
}

#[test]
fn a_list_of_types_may_name_any_and_those_of_other_languages() {
    let types = |version: &str, types: &str| -> Value {
        let text = crate::with_schema(version, &format!("{{ type: {types} }}"));
        read(&text, crate::SCHEMA).0
    };
    for list in ["[string, any]", "[any, \"null\"]"] {
        assert_eq!(types("3.1.0", list), json!({}));
    }
    assert_eq!(types("3.0.3", "[any, \"null\"]"), json!({"nullable": true}));
    assert_eq!(
        types("3.1.0", "[String, \"null\"]"),
        json!({"type": ["string", "null"]})
    );
}

#[test]
fn the_whole_query_is_a_location_of_3_2() {
    let parameter = "{ name: all, in: Querystring, content: { application/json: { schema: { type: string } } } }";
    let text = with_path(
        "/a",
        &format!("{{ get: {{ parameters: [{parameter}], {OK} }} }}"),
    );
    assert!(foreign(&text).contract.is_none());
    let at = "/paths/~1a/get/parameters/0/in";
    let text = text.replace("3.1.0", "3.2.0");
    let location = repaired(&text, "unknown-location", at, at);
    assert_eq!(location, "querystring");
}
