//! The readings of schemas and operations, each on a document that needs it.

use serde_json::{Value, json};

use super::{SCHEMA, foreign, repaired, with_path, with_schema};

/// Checks the repair of a schema, at `keyword` in it.
#[track_caller]
pub(super) fn schema(version: &str, schema: &str, rule: &str, keyword: &str, expected: &Value) {
    let pointer = format!("{SCHEMA}{keyword}");
    let read = repaired(&with_schema(version, schema), rule, &pointer, SCHEMA);
    assert_eq!(read, *expected);
}

#[test]
fn schemas_mean_what_their_authors_mean() {
    for default in ["null", "\"true\"", "\"[]\""] {
        schema(
            "3.0.3",
            &format!("{{ type: boolean, default: {default} }}"),
            "bad-default",
            "/default",
            &json!({"type": "boolean"}),
        );
    }
    schema(
        "3.0.3",
        "{ type: string, enum: [a], nullable: true }",
        "nullable-enum",
        "/nullable",
        &json!({"type": "string", "enum": ["a", null], "nullable": true}),
    );
    schema(
        "3.0.3",
        "{ $ref: '#/components/schemas/Thing', nullable: true }",
        "ignored-sibling",
        "/nullable",
        &json!({"nullable": true, "allOf": [{"$ref": "#/components/schemas/Thing"}]}),
    );
    schema(
        "3.1.0",
        "{ type: string, enum: [a], nullable: true }",
        "wrong-dialect",
        "/nullable",
        &json!({"type": ["string", "null"], "enum": ["a", null]}),
    );
    schema(
        "3.1.0",
        "{ $ref: '#/components/schemas/Thing', nullable: true, description: One. }",
        "wrong-dialect",
        "/nullable",
        &json!({
            "description": "One.",
            "anyOf": [{"$ref": "#/components/schemas/Thing"}, {"type": "null"}],
        }),
    );
    schema(
        "3.1.0",
        "{ type: number, minimum: 1, exclusiveMinimum: true }",
        "wrong-dialect",
        "/exclusiveMinimum",
        &json!({"type": "number", "exclusiveMinimum": 1}),
    );
    schema(
        "3.0.3",
        "{ type: number, exclusiveMaximum: 9 }",
        "wrong-dialect",
        "/exclusiveMaximum",
        &json!({"type": "number", "maximum": 9, "exclusiveMaximum": true}),
    );
    schema(
        "3.0.3",
        "{ type: [string, \"null\"] }",
        "wrong-dialect",
        "/type",
        &json!({"type": "string", "nullable": true}),
    );
    schema(
        "3.1.0",
        "{ type: any, description: Anything. }",
        "unknown-type",
        "/type",
        &json!({"description": "Anything."}),
    );
    schema(
        "3.1.0",
        "{ type: array, min_items: 1 }",
        "misspelt-keyword",
        "/min_items",
        &json!({"type": "array", "min_items": 1}),
    );
    schema(
        "3.1.0",
        "{ type: string, maxLength: \"9\" }",
        "wrong-type",
        "/maxLength",
        &json!({"type": "string", "maxLength": 9}),
    );
    schema(
        "3.1.0",
        "{ oneOf: [{ $ref: '#/components/schemas/Thing' }], discriminator: { propertyName: a, mapping: { b: Gone } } }",
        "unknown-mapping",
        "/discriminator/mapping/b",
        &json!({
            "oneOf": [{"$ref": "#/components/schemas/Thing"}],
            "discriminator": {"propertyName": "a", "mapping": {}},
        }),
    );
}

#[test]
fn bounds_that_exclude_each_other_are_dropped() {
    schema(
        "3.0.3",
        "{ type: number, maximum: 90, minimum: 1.8446744073709552e+19, exclusiveMaximum: true }",
        "impossible-bounds",
        "/minimum",
        &json!({"type": "number"}),
    );
    schema(
        "3.1.0",
        "{ type: string, minLength: 5, maxLength: 4 }",
        "impossible-bounds",
        "/minLength",
        &json!({"type": "string"}),
    );
    schema(
        "3.1.0",
        "{ type: number, multipleOf: 0, minimum: 1 }",
        "impossible-bounds",
        "/multipleOf",
        &json!({"type": "number", "minimum": 1}),
    );
}

#[test]
fn a_property_may_say_itself_that_it_is_required() {
    schema(
        "3.0.3",
        "{ type: string, required: true }",
        "wrong-type",
        "/required",
        &json!({"type": "string"}),
    );
    let text = with_schema(
        "3.1.0",
        "{ required: [b], properties: { a: { type: string, required: true }, b: true } }",
    );
    let at = format!("{SCHEMA}/properties/a/required");
    assert_eq!(
        repaired(&text, "wrong-type", &at, SCHEMA),
        json!({"required": ["b", "a"], "properties": {"a": {"type": "string"}, "b": true}})
    );
    let text = with_schema(
        "3.1.0",
        "{ properties: { a: { type: string, required: true } }, title: A }",
    );
    assert_eq!(
        repaired(&text, "wrong-type", &at, SCHEMA),
        json!({"properties": {"a": {"type": "string"}}, "title": "A", "required": ["a"]})
    );
    let text = with_schema(
        "3.1.0",
        "{ properties: { a: { type: string, required: false } } }",
    );
    assert_eq!(
        repaired(&text, "wrong-type", &at, SCHEMA),
        json!({"properties": {"a": {"type": "string"}}})
    );
}

#[test]
fn operations_mean_what_their_authors_mean() {
    let ok = r#"responses: { "204": { description: Done. } }"#;
    let at = |path: &str, item: &str, rule: &str, pointer: &str, place: &str| {
        repaired(&with_path(path, item), rule, pointer, place)
    };
    let declared = at(
        "/a/{b}",
        &format!("{{ get: {{ {ok} }} }}"),
        "path-parameter-undeclared",
        "/paths/~1a~1{b}",
        "/paths/~1a~1{b}/parameters",
    );
    let parameter =
        json!({"name": "b", "in": "path", "required": true, "schema": {"type": "string"}});
    assert_eq!(declared, json!([parameter]));
    let unused = at(
        "/a",
        &format!(
            "{{ get: {{ parameters: [{{ name: b, in: path, required: true, schema: {{}} }}], {ok} }} }}"
        ),
        "path-parameter-unused",
        "/paths/~1a/get/parameters/0/name",
        "/paths/~1a/get/parameters",
    );
    assert_eq!(unused, json!([]));
    let optional = at(
        "/a/{b}",
        &format!(
            "{{ get: {{ parameters: [{{ name: b, in: path, schema: {{ type: string }} }}], {ok} }} }}"
        ),
        "path-parameter-optional",
        "/paths/~1a~1{b}/get/parameters/0",
        "/paths/~1a~1{b}/get/parameters/0/required",
    );
    assert_eq!(optional, json!(true));
    let same = at(
        "/a/{b}/c/{b}",
        &format!(
            "{{ parameters: [{{ name: b, in: path, required: true, schema: {{ maxLength: 9 }} }}], get: {{ {ok} }} }}"
        ),
        "duplicate-template-name",
        "/paths/~1a~1{b}~1c~1{b}",
        "/paths/~1a~1{b}~1c~1{b_2}/parameters/1",
    );
    assert_eq!(
        same,
        json!({"name": "b_2", "in": "path", "required": true, "schema": {"maxLength": 9}})
    );
    let twice = at(
        "/a",
        &format!("{{ get: {{ operationId: do, {ok} }}, put: {{ operationId: do, {ok} }} }}"),
        "duplicate-operation-id",
        "/paths/~1a/put/operationId",
        "/paths/~1a/put/operationId",
    );
    assert_eq!(twice, json!("do_put_a"));
    let scheme = at(
        "/a",
        &format!("{{ get: {{ security: [{{ key: [] }}], {ok} }} }}"),
        "unknown-security-scheme",
        "/paths/~1a/get/security/0/key",
        "/paths/~1a/get/security",
    );
    assert_eq!(scheme, json!([{}]));
    let status = at(
        "/a",
        "{ get: { responses: { 4xx: { description: Refused. } } } }",
        "impossible-status",
        "/paths/~1a/get/responses/4xx",
        "/paths/~1a/get/responses/4XX/description",
    );
    assert_eq!(status, json!("Refused."));
    let simple = "{ name: a, in: query, style: simple, schema: { type: array, items: {} } }";
    let simple = at(
        "/a",
        &format!("{{ get: {{ parameters: [{simple}], {ok} }} }}"),
        "impossible-style",
        "/paths/~1a/get/parameters/0/style",
        "/paths/~1a/get/parameters/0",
    );
    assert_eq!(
        (&simple["style"], &simple["explode"]),
        (&Value::Null, &json!(false))
    );
    let same = at(
        "/a/{b}",
        &format!(
            "{{ parameters: [{{ name: b, in: path, required: true, schema: {{ type: string }} }}], get: {{ {ok} }} }}\n  /a/{{c}}: {{ parameters: [{{ name: c, in: path, required: true, schema: {{ type: string }} }}], put: {{ {ok} }} }}"
        ),
        "duplicate-path",
        "/paths/~1a~1{c}",
        "/paths/~1a~1{c}/put/responses/204/description",
    );
    assert_eq!(same, json!("Done."));
}

#[test]
fn arrays_in_brackets_stay_as_they_are_described() {
    let ok = r#"responses: { "204": { description: Done. } }"#;
    let list = "{ type: array, items: { type: string } }";
    let at = "/paths/~1a/post/parameters/0";
    let parameter = |name: &str| {
        let item = format!(
            "{{ post: {{ parameters: [{{ name: {name}, in: query, style: deepObject, schema: {list} }}], {ok} }} }}"
        );
        repaired(
            &with_path("/a", &item),
            "deep-object-array",
            &format!("{at}/style"),
            at,
        )
    };
    assert_eq!(parameter("a")["style"], "deepObject");
    // Brackets would be doubled.
    let named = parameter("'a[]'");
    assert_eq!(
        (&named["name"], &named["style"], &named["explode"]),
        (&json!("a[]"), &Value::Null, &json!(true))
    );
    let body = "/paths/~1a/post/requestBody/content/application~1x-www-form-urlencoded";
    let style = format!("{body}/encoding/a/style");
    let form = format!(
        "{{ encoding: {{ a: {{ style: deepObject }} }}, schema: {{ allOf: [{{ properties: {{ a: {list} }} }}] }} }}"
    );
    let item = format!(
        "{{ post: {{ requestBody: {{ content: {{ application/x-www-form-urlencoded: {form} }} }}, {ok} }} }}"
    );
    let form = repaired(&with_path("/a", &item), "deep-object-array", &style, &style);
    assert_eq!(form, "deepObject");
}

#[test]
fn what_was_probably_meant_is_still_said() {
    let text = with_schema("3.1.0", "{ type: array, min_items: 1 }");
    let helps = |text: &str, code: &str| -> Vec<String> {
        let found = foreign(text).diagnostics.into_iter();
        let found = found.filter(|found| found.code == code);
        found.filter_map(|found| found.help).collect()
    };
    assert_eq!(
        helps(&text, "misspelt-keyword"),
        [
            "read as a document of others: the keyword is an annotation without effect; did you mean `minItems`?"
        ]
    );
    let text = with_schema(
        "3.1.0",
        "{ oneOf: [{ $ref: '#/components/schemas/Thing' }], discriminator: { propertyName: a, mapping: { b: '#/components/schemas/Thng' } } }",
    );
    let found = helps(&text, "unknown-mapping");
    assert!(
        found[0].ends_with("dropped; did you mean `#/components/schemas/Thing`?"),
        "{found:?}"
    );
}

#[test]
fn a_clash_of_paths_names_the_operation_that_no_server_has() {
    let ok = "{ responses: { '204': { description: Done. } } }";
    let said = |first: &str, second: &str| {
        let of = |name: &str, operations: &str| {
            format!(
                "{{ parameters: [{{ name: {name}, in: path, required: true, schema: {{ type: string }} }}], {operations} }}"
            )
        };
        let text =
            with_path("/a/{b}", &of("b", first)) + &format!("  /a/{{c}}: {}\n", of("c", second));
        let found = foreign(&text.replace("3.1.0", "3.2.0"))
            .diagnostics
            .into_iter();
        let found = found.filter(|found| found.code == "duplicate-path");
        found.map(|found| found.message).collect::<Vec<_>>()
    };
    assert_eq!(
        said(&format!("get: {ok}"), &format!("put: {ok}")),
        ["`/a/{c}` and `/a/{b}` match the same paths, with different methods"]
    );
    let both = format!("get: {ok}, additionalOperations: {{ COPY: {ok} }}");
    assert_eq!(
        said(&both, &format!("put: {ok}, {both}")),
        [
            "`/a/{c}` and `/a/{b}` match the same paths: a server serves `GET /a/{b}`, and only clients have `GET /a/{c}`; a server serves `COPY /a/{b}`, and only clients have `COPY /a/{c}`"
        ]
    );
}

#[test]
fn methods_in_capitals_are_read_wherever_path_items_are() {
    let answers = "{ responses: { default: { description: Done. } } }";
    let head = "openapi: 3.1.0\ninfo: { title: Others, version: \"1\" }\n";
    let callbacks = format!("{{ done: {{ '{{$request.body#/url}}': {{ POST: {answers} }} }} }}");
    let callback = "done/{$request.body#~1url}/POST";
    for (rest, pointer) in [
        (
            format!("webhooks: {{ hook: {{ POST: {answers} }} }}\n"),
            "/webhooks/hook/POST".to_owned(),
        ),
        (
            format!(
                "paths: {{ /a: {{ post: {{ responses: {{ default: {{ description: Done. }} }}, callbacks: {callbacks} }} }} }}\n"
            ),
            format!("/paths/~1a/post/callbacks/{callback}"),
        ),
        (
            format!("paths: {{}}\ncomponents: {{ callbacks: {callbacks} }}\n"),
            format!("/components/callbacks/{callback}"),
        ),
    ] {
        let place = pointer.replace("POST", "post");
        let found = crate::repaired(
            &(head.to_owned() + &rest),
            "misspelt-keyword",
            &pointer,
            &place,
        );
        assert_eq!(found["responses"]["default"]["description"], "Done.");
    }
    // A property of that name is no path item.
    let schema =
        "{ type: object, properties: { callbacks: { properties: { get: { POST: {} } } } } }";
    let loaded = crate::foreign(&crate::with_schema("3.1.0", schema));
    assert!(
        loaded.contract.is_some_and(|contract| contract
            .document
            .to_json()
            .to_string()
            .contains("\"POST\"")),
    );
}

#[test]
fn a_child_in_a_choice_of_its_parent_has_the_rest_of_the_parent() {
    let text = r##"openapi: 3.0.3
info: { title: Others, version: "1" }
paths:
  /keys:
    get:
      responses: { "200": { description: A key., content: { application/json: { schema: { $ref: "#/components/schemas/Key" } } } } }
components:
  schemas:
    Key:
      type: object
      required: [kty]
      properties: { kty: { type: string } }
      oneOf: [{ $ref: "#/components/schemas/Ec" }, { $ref: "#/components/schemas/Rsa" }]
      discriminator: { propertyName: kty, mapping: { EC: "#/components/schemas/Ec", RSA: "#/components/schemas/Rsa" } }
    Ec:
      allOf: [{ $ref: "#/components/schemas/Key" }, { type: object, properties: { crv: { type: string } } }]
    Rsa:
      allOf: [{ $ref: "#/components/schemas/Key" }, { type: object, properties: { n: { type: string } } }]
"##;
    assert!(
        contract::load_text("own.yaml", text.as_bytes())
            .contract
            .is_none()
    );
    let loaded = foreign(text);
    let printed = contract::render(&loaded.sources, &loaded.diagnostics);
    let repairs = loaded.repairs.iter().map(|repair| repair.pointer.as_str());
    let places = ["Ec", "Rsa"].map(|child| format!("/components/schemas/{child}/allOf/0/$ref"));
    assert_eq!(repairs.collect::<Vec<_>>(), places, "{printed}");
    let contract = loaded.contract.expect("a document of others is a contract");
    let parent =
        json!({"type": "object", "required": ["kty"], "properties": {"kty": {"type": "string"}}});
    let schemas = &contract.document["components"]["schemas"];
    assert_eq!(schemas["Ec"]["allOf"][0], parent);
    assert_eq!(schemas["Rsa"]["allOf"][0], parent);
    assert!(schemas["Key"]["oneOf"].is_array());
    // Any other circle has no meaning.
    let circle = text.replace(
        "oneOf: [{ $ref: \"#/components/schemas/Ec\" }",
        "allOf: [{ $ref: \"#/components/schemas/Ec\" }",
    );
    assert!(foreign(&circle).contract.is_none());
}
