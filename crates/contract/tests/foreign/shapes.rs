//! The readings of values in another shape than the standard wants.

use serde_json::{Value, json};

use super::meanings::schema;
use super::{foreign, repaired, with_path};

const OK: &str = r#"responses: { "204": { description: Done. } }"#;

/// Checks the repair of the operation `GET /a`, at `pointer` in it. Returns what it has at `place`.
#[track_caller]
fn operation(fields: &str, rule: &str, pointer: &str, place: &str) -> Value {
    let text = with_path("/a", &format!("{{ get: {{ {fields}, {OK} }} }}"));
    let of = |place: &str| format!("/paths/~1a/get{place}");
    repaired(&text, rule, &of(pointer), &of(place))
}

#[test]
fn names_of_types_in_other_languages_are_types() {
    for (written, meant) in [
        ("String", "string"),
        ("int", "integer"),
        ("long", "integer"),
        ("float", "number"),
        ("bool", "boolean"),
        ("dict", "object"),
    ] {
        let text = format!("{{ type: {written} }}");
        schema(
            "3.0.3",
            &text,
            "unknown-type",
            "/type",
            &json!({ "type": meant }),
        );
    }
    // Two meanings are none.
    for refused in ["integer|string", "string[]", "strings", "Strings", "thing"] {
        let refused = foreign(&super::with_schema(
            "3.0.3",
            &format!("{{ type: {refused} }}"),
        ));
        assert!(refused.contract.is_none());
    }
}

#[test]
fn misspelt_types_and_formats_as_types_are_types() {
    for (written, meant) in [
        ("type: strin", json!({ "type": "string" })),
        ("type: obect", json!({ "type": "object" })),
        ("type: date", json!({ "type": "string", "format": "date" })),
        (
            "type: DateTime",
            json!({ "type": "string", "format": "date-time" }),
        ),
        (
            "type: file",
            json!({ "type": "string", "format": "binary" }),
        ),
        (
            "type: date, format: date-time",
            json!({ "type": "string", "format": "date-time" }),
        ),
    ] {
        schema(
            "3.0.3",
            &format!("{{ {written} }}"),
            "unknown-type",
            "/type",
            &meant,
        );
    }
}

#[test]
fn one_of_several_types_keeps_the_others() {
    let types = |version: &str, types: &str| {
        let loaded = foreign(&super::with_schema(version, &format!("{{ {types} }}")));
        let printed = contract::render(&loaded.sources, &loaded.diagnostics);
        let contract = loaded.contract.unwrap_or_else(|| panic!("{printed}"));
        contract
            .document
            .pointer(super::SCHEMA)
            .cloned()
            .unwrap_or_default()
    };
    for (list, published) in [
        ("[strin, intger]", json!(["string", "integer"])),
        ("[strin, string]", json!(["string"])),
        (
            "[intger, obect, 'null']",
            json!(["integer", "object", "null"]),
        ),
    ] {
        let found = types("3.1.0", &format!("type: {list}"));
        assert_eq!(found, json!({ "type": published }), "{list}");
    }
    let found = types("3.0.3", "type: [strin, intger]");
    assert_eq!(
        found,
        json!({"anyOf": [{"type": "string"}, {"type": "integer"}]})
    );
    let day = json!({"type": ["string", "null"], "format": "date"});
    assert_eq!(types("3.1.0", "type: [date, 'null']"), day);
    assert_eq!(types("3.1.0", "type: date, nullable: true"), day);
    let day = json!({"type": "string", "nullable": true, "format": "date"});
    assert_eq!(types("3.0.3", "type: [date, 'null']"), day);
    // Nothing says which of the types has the format.
    let refused = foreign(&super::with_schema("3.1.0", "{ type: [date, integer] }"));
    assert!(refused.contract.is_none());
}

#[test]
fn an_empty_value_has_the_shape_that_is_due() {
    schema(
        "3.0.3",
        "{ type: object, properties: [] }",
        "wrong-type",
        "/properties",
        &json!({ "type": "object", "properties": {} }),
    );
    schema(
        "3.0.3",
        "{ type: array, items: [] }",
        "wrong-type",
        "/items",
        &json!({ "type": "array", "items": {} }),
    );
    let parameters = operation("parameters: {}", "wrong-type", "/parameters", "/parameters");
    assert_eq!(parameters, json!([]));
    for refused in [
        // What is in a list has no name that it could have in a map.
        "{ type: object, properties: [{ type: string }] }",
        // These would accept nothing.
        "{ enum: {} }",
        "{ not: [] }",
        "{ anyOf: {} }",
    ] {
        let refused = foreign(&super::with_schema("3.0.3", refused));
        assert!(refused.contract.is_none());
    }
    // An empty requirement would make the credential optional.
    let schemes = "components: { securitySchemes: { key: { type: http, scheme: bearer } } }\n";
    for security in ["[{ key: [] }, []]", "[[]]", "{}"] {
        let item = format!("{{ get: {{ security: {security}, {OK} }} }}");
        let read = foreign(&(with_path("/a", &item) + schemes));
        assert!(read.contract.is_none(), "{security}");
    }
}

#[test]
fn one_item_is_a_list() {
    let tags = operation("tags: pets", "wrong-type", "/tags", "/tags");
    assert_eq!(tags, json!(["pets"]));
    schema(
        "3.0.3",
        "{ type: object, properties: { a: { type: string } }, required: a }",
        "wrong-type",
        "/required",
        &json!({ "type": "object", "properties": { "a": { "type": "string" } }, "required": ["a"] }),
    );
    // One text may mean several.
    for refused in [
        "{ type: string, enum: a }",
        "{ type: object, properties: { a: {}, b: {} }, required: 'a, b' }",
        "{ type: object, properties: { a: {} }, required: 'True' }",
    ] {
        let refused = foreign(&super::with_schema("3.0.3", refused));
        assert!(refused.contract.is_none());
    }
    let schemes = "components: { securitySchemes: { key: { type: http, scheme: bearer } } }\n";
    for (written, pointer) in [("{ key: [] }", "/security"), ("[key]", "/security/0")] {
        let item = format!("{{ get: {{ security: {written}, {OK} }} }}");
        let text = with_path("/a", &item) + schemes;
        let of = |place: &str| format!("/paths/~1a/get{place}");
        let security = repaired(&text, "wrong-type", &of(pointer), &of("/security"));
        assert_eq!(security, json!([{ "key": [] }]));
    }
}

#[test]
fn examples_in_another_shape_are_dropped() {
    let parameter = "{ name: a, in: query, schema: { type: string }, examples: [x, y] }";
    let parameter = operation(
        &format!("parameters: [{parameter}]"),
        "wrong-type",
        "/parameters/0/examples",
        "/parameters/0",
    );
    let expected = json!({ "name": "a", "in": "query", "schema": { "type": "string" } });
    assert_eq!(parameter, expected);
    schema(
        "3.1.0",
        "{ type: string, examples: { a: { value: x } } }",
        "wrong-type",
        "/examples",
        &json!({ "type": "string" }),
    );
}

#[test]
fn what_swagger_2_wrote_has_its_meaning() {
    schema(
        "3.0.3",
        "{ type: object, discriminator: kind, required: [kind], properties: { kind: { type: string } } }",
        "wrong-type",
        "/discriminator",
        &json!({
            "type": "object",
            "discriminator": { "propertyName": "kind" },
            "required": ["kind"],
            "properties": { "kind": { "type": "string" } },
        }),
    );
    let schemes = "components: { securitySchemes: { key: { type: basic } } }\n";
    let item = format!("{{ get: {{ security: [{{ key: [] }}], {OK} }} }}");
    let scheme = repaired(
        &(with_path("/a", &item) + schemes),
        "unknown-scheme-type",
        "/components/securitySchemes/key/type",
        "/components/securitySchemes/key",
    );
    assert_eq!(scheme, json!({ "type": "http", "scheme": "basic" }));
    // A key of its own is no bearer token.
    let schemes =
        "components: { securitySchemes: { key: { type: bearer, in: header, name: X-Token } } }\n";
    assert!(
        foreign(&(with_path("/a", &item) + schemes))
            .contract
            .is_none()
    );
}

#[test]
fn letters_spaces_and_slashes_are_as_the_standard_writes_them() {
    let location = operation(
        "parameters: [{ name: a, in: Query, schema: { type: string } }]",
        "unknown-location",
        "/parameters/0/in",
        "/parameters/0/in",
    );
    assert_eq!(location, json!("query"));
    let method = with_path("/a", &format!("{{ GET: {{ {OK} }} }}"));
    let method = repaired(
        &method,
        "misspelt-keyword",
        "/paths/~1a/GET",
        "/paths/~1a/get",
    );
    assert!(method.is_object());
    let path = with_path("a/b", &format!("{{ get: {{ {OK} }} }}"));
    let path = repaired(&path, "bad-path", "/paths/a~1b", "/paths/~1a~1b/get");
    assert!(path.is_object());
    let spaces = with_path(
        "/a",
        r#"{ get: { responses: { "200 ": { description: Done. } } } }"#,
    );
    let status = repaired(
        &spaces,
        "impossible-status",
        "/paths/~1a/get/responses/200 ",
        "/paths/~1a/get/responses/200/description",
    );
    assert_eq!(status, json!("Done."));
    // Either of two may be meant.
    let two = with_path(
        "/a",
        r#"{ get: { responses: { "200 ": { description: Done. }, "200": { description: Other. } } } }"#,
    );
    assert!(foreign(&two).contract.is_none());
    // What lies one level too deep is no path.
    for misplaced in ["components", "get", "GET /b", "'#/b'", "'{base}/b'"] {
        let text = with_path("/a", &format!("{{ get: {{ {OK} }} }}"));
        let text = text.replacen(
            "paths:",
            &format!("paths:\n  {misplaced}: {{ schemas: {{}} }}"),
            1,
        );
        assert!(foreign(&text).contract.is_none(), "{misplaced}");
    }
}

#[test]
fn bodies_of_ranges_with_json_are_json() {
    for range in ["*/*", "application/*"] {
        let body = format!("{{ '{range}': {{ schema: {{ type: object }} }} }}");
        let response = format!("'200': {{ description: A., content: {body} }}");
        let text = with_path(
            "/a",
            &format!("{{ get: {{ responses: {{ {response} }} }} }}"),
        );
        let place = "/paths/~1a/get/responses/200/content";
        let pointer = format!("{place}/{}", range.replace('/', "~1"));
        assert_eq!(
            repaired(&text, "unapplied-schema", &pointer, place),
            json!({"application/json": {"schema": {"type": "object"}, "x-media-range": range}})
        );
    }
}
