//! Links and callbacks whose values nobody takes, and what else operations say in vain.

use std::fmt::Write as _;

use crate::seeded::with;
use crate::{diagnostics, warning};

/// Two operations: the links of the first lead to both, with what is filled in for `@@`.
const LINKED: &str = r##"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  /pets:
    get:
      operationId: pet_list
      parameters:
        - { name: limit, in: query, schema: { type: integer, maximum: 100 } }
        - { name: X-Call, in: header, schema: { type: string } }
        - { name: id, in: query, schema: { type: string, format: uuid } }
        - { name: ids, in: query, schema: { type: array, items: { type: string } } }
        - { name: any, in: query, schema: { anyOf: [{ type: string, maxLength: 3 }, { type: boolean }] } }
        - { name: tags, in: query, schema: { anyOf: [{ type: array, items: { type: string } }, { type: "null" }] } }
        - { name: counts, in: query, schema: { allOf: [{ $ref: "#/components/schemas/Counts" }] } }
        - { name: deep, in: query, style: deepObject, schema: { type: object, properties: { a: { type: integer } } } }
        - { name: both, in: query, schema: { type: integer } }
        - { name: both, in: header, schema: { type: string, maxLength: 3 } }
        - { name: whole, in: query, content: { application/json: { schema: { type: object, properties: { a: { type: integer } } } } } }
      responses:
        "200":
          description: All pets.
          headers: { X-Next: { schema: { type: integer } } }
          content: { application/json: { schema: { $ref: "#/components/schemas/Page" } } }
          links: { next: { operationId: @@ } }
    post:
      operationId: pet_create
      requestBody: { content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } } }
      responses: { "204": { description: Done. } }
components:
  schemas:
    Counts: { type: array, items: { type: integer } }
    Page: { type: object, properties: { count: { type: integer }, done: { type: boolean }, born: { type: string, format: date }, name: { type: string }, first: { $ref: "#/components/schemas/Pet" }, pets: { type: array, items: { $ref: "#/components/schemas/Pet" } } } }
    Pet: { type: object, additionalProperties: false, properties: { id: { type: [string, "null"], format: uuid }, age: { type: integer } } }
"##;

#[test]
fn links_give_values_that_their_operations_take() {
    let right = "pet_list";
    for wrong in [
        "pet_list, parameters: { limit: ⟦many }",
        "pet_list, parameters: { limit: ⟦101 }",
        "pet_list, parameters: { query.limit: ⟦1.5 }",
        "pet_list, parameters: { id: ⟦Rex }",
        "pet_list, parameters: { any: ⟦long }",
        "pet_list, parameters: { limit: ⟦$response.body#/done }",
        "pet_list, parameters: { limit: ⟦$response.body#/first/id }",
        "pet_list, parameters: { limit: ⟦$response.body#/pets }",
        "pet_list, parameters: { limit: ⟦$response.body#/first }",
        "pet_list, parameters: { id: ⟦$response.body#/count }",
        "pet_list, parameters: { id: ⟦$response.body#/pets/0/age }",
        "pet_list, parameters: { id: ⟦$response.body#/born }",
        "pet_list, parameters: { id: ⟦$response.header.x-next }",
        "pet_list, parameters: { id: ⟦$request.query.limit }",
        "pet_list, parameters: { whole: { a: ⟦x } }",
        "pet_list, parameters: { deep: { a: ⟦x } }",
        "pet_list, parameters: { counts: [⟦x] }",
        "pet_list, parameters: { query.both: ⟦many }",
        "pet_list, parameters: { header.both: ⟦many }",
        "pet_create, requestBody: { age: ⟦old }",
        "pet_create, requestBody: { ⟦name: Rex }",
    ] {
        warning("bad-link-value", LINKED, wrong, right);
    }
    for legal in [
        "pet_list, parameters: { limit: 100 }",
        // The text of a parameter.
        "pet_list, parameters: { limit: \"100\", any: true }",
        "pet_list, parameters: { ids: \"a,b\" }",
        "pet_list, parameters: { any: 5 }",
        "pet_list, parameters: { tags: \"a,b\", counts: \"1,2\" }",
        "pet_list, parameters: { tags: a, counts: 1 }",
        "pet_list, parameters: { counts: [\"1\", \"2\"], deep: { a: \"1\" } }",
        // Either of two parameters.
        "pet_list, parameters: { both: many }",
        "pet_list, parameters: { both: $response.body#/done }",
        "pet_list, parameters: { limit: $response.body#/name }",
        "pet_list, parameters: { limit: $response.body#/count, id: $response.body#/first/id }",
        "pet_list, parameters: { id: $response.body#/name, ids: $response.body#/count }",
        "pet_list, parameters: { whole: $response.body#/name }",
        "pet_create, requestBody: { age: 5 }",
        "pet_create, requestBody: { id: \"{$response.body#/first/id}\" }",
        "pet_create, requestBody: $response.body#/first",
        // The text of the whole body.
        "pet_create, requestBody: '{\"age\": 5}'",
    ] {
        assert_eq!(diagnostics(&LINKED.replace("@@", legal)), [], "{legal}");
    }
}

#[test]
fn a_response_that_many_operations_share_is_judged_once() {
    let mut paths = String::new();
    let mut links = String::new();
    for number in 0..2000 {
        let response = r##""200": { $ref: "#/components/responses/Many" }"##;
        let limit = "parameters: [{ name: limit, in: query, schema: { type: integer } }]";
        writeln!(
            paths,
            "  /{number}: {{ get: {{ operationId: o{number}, {limit}, responses: {{ {response} }} }} }}"
        )
        .expect("a string takes it");
        writeln!(
            links,
            "        l{number}: {{ operationId: o{number}, parameters: {{ limit: $response.body#/done }} }}"
        )
        .expect("a string takes it");
    }
    let text = format!(
        "openapi: 3.1.0\ninfo: {{ title: Pets, version: \"1\" }}\npaths:\n{paths}components:\n  responses:\n    Many:\n      description: All.\n      content: {{ application/json: {{ schema: {{ type: object, properties: {{ done: {{ type: boolean }} }} }} }} }}\n      links:\n{links}"
    );
    let start = std::time::Instant::now();
    let found = diagnostics(&text);
    assert_eq!(found.len(), 2000);
    // Each link for each operation took minutes.
    assert!(start.elapsed().as_secs() < 30, "{:?}", start.elapsed());
}

#[test]
fn expressions_name_headers_that_are_sent() {
    let right = "pet_list";
    for wrong in [
        "pet_list, parameters: { X-Call: ⟦$response.header.X-Nxt }",
        "pet_list, parameters: { X-Call: ⟦$request.header.X-Next }",
    ] {
        warning("bad-expression", LINKED, wrong, right);
    }
    for legal in [
        "pet_list, parameters: { X-Call: $response.header.x-next }",
        "pet_list, parameters: { X-Call: $response.header.location }",
        "pet_list, parameters: { X-Call: $response.header.Accept-Ranges }",
        "pet_list, parameters: { X-Call: $request.header.If-Modified-Since }",
        "pet_list, parameters: { X-Call: $request.header.x-call }",
        "pet_list, parameters: { X-Call: $request.header.Authorization }",
        "pet_list, parameters: { X-Call: $request.header.traceparent }",
        "pet_list, parameters: { X-Call: $request.header.X-Forwarded-For }",
        "pet_list, parameters: { X-Call: $response.header.Access-Control-Allow-Origin }",
        "pet_list, parameters: { X-Call: $response.header.Content-Digest }",
        "pet_list, parameters: { X-Call: $response.header.Via }",
    ] {
        assert_eq!(diagnostics(&LINKED.replace("@@", legal)), [], "{legal}");
    }
    // A key of a security scheme is sent too.
    let key = "pet_list, parameters: { X-Call: $request.header.x-key }";
    let key = LINKED.replace("@@", key);
    let scheme =
        "components:\n  securitySchemes: { key: { type: apiKey, in: header, name: X-Key } }";
    let key = key.replace("components:", scheme);
    let key = key.replace("paths:", "security: [{ key: [] }]\npaths:");
    assert_eq!(diagnostics(&key), []);
}

#[test]
fn fields_that_iana_registers_need_no_declaration() {
    // The file names its source.
    let registry = include_str!("http-fields.txt");
    let fields = registry.lines().filter(|line| !line.starts_with('#'));
    let (mut permanent, mut unknown) = (0, 0);
    for (status, name) in fields.filter_map(|line| line.split_once(' ')) {
        let link = format!("pet_list, parameters: {{ X-Call: $request.header.{name} }}");
        let found = diagnostics(&LINKED.replace("@@", &link));
        if status == "permanent" {
            assert_eq!(found, [], "{name}");
            permanent += 1;
        } else if !found.is_empty() {
            assert_eq!(found[0].0, "bad-expression", "{name}");
            unknown += 1;
        }
    }
    // Most of what is no longer used has to be declared, as any other name.
    assert!(permanent > 170 && unknown > 50, "{permanent} {unknown}");
}

#[test]
fn callbacks_are_sent_to_strings() {
    let answer = r#"post: { responses: { "204": { description: Done. } } }"#;
    let template = with(
        "      FIELD",
        &format!("      callbacks: {{ event: {{ @@: {{ {answer} }} }} }}"),
    );
    let template = template.replace(
        "url: { type: string } }",
        "url: { type: string }, port: { type: integer }, maybe: { type: [integer, string] } }",
    );
    let right = "\"{$request.body#/url}\"";
    for wrong in ["\"{$request.body#/port}\"", "$request.body#/port"] {
        warning("bad-expression", &template, wrong, right);
    }
    for legal in [
        "\"http://localhost:{$request.body#/port}/\"",
        "\"{$request.body#/maybe}\"",
        "\"{$request.path.pet_id}\"",
    ] {
        assert_eq!(diagnostics(&template.replace("@@", legal)), [], "{legal}");
    }
}

#[test]
fn keys_are_in_headers_of_their_own() {
    let template = with("      FIELD", "      security: [{ key: [] }]").replace(
        "components:",
        "components:\n  securitySchemes: { key: { type: apiKey, @@ } }",
    );
    for wrong in ["Accept", "content-type", "HOST"] {
        warning(
            "credential-header",
            &template,
            &format!("in: header, name: ⟦{wrong}"),
            "in: header, name: X-API-Key",
        );
    }
    for legal in [
        "in: query, name: host",
        "in: header, name: Authorization",
        "in: header, name: User-Agent",
    ] {
        assert_eq!(diagnostics(&template.replace("@@", legal)), [], "{legal}");
    }
}

#[test]
fn deep_objects_are_exploded() {
    let schema = "schema: { type: object, properties: { a: { type: integer } } }";
    let template = with(
        "      FIELD",
        &format!("      parameters: [{{ name: q, in: query, style: deepObject, @@, {schema} }}]"),
    );
    warning(
        "impossible-style",
        &template,
        "explode: ⟦false",
        "explode: true",
    );
    assert_eq!(diagnostics(&template.replace("@@, ", "")), []);
}

#[test]
fn interim_responses_have_no_body() {
    let template = LINKED.replace("@@", "pet_list").replace(
        "{ \"204\": { description: Done. } }",
        "{ @@, \"204\": { description: Done. } }",
    );
    for status in ["\"101\"", "\"199\"", "1XX"] {
        warning(
            "impossible-body",
            &template,
            &format!("{status}: {{ description: Wait., ⟦content: {{ text/plain: {{}} }} }}"),
            &format!("{status}: {{ description: Wait. }}"),
        );
    }
}
