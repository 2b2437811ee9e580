//! Documents that are legal although they look like mistakes.

use crate::{SCHEMA_31, component, diagnostics, schema_30};

#[track_caller]
fn legal(text: &str) {
    assert_eq!(diagnostics(text), vec![], "{text}");
}

/// Returns a document with fields of the document and an operation.
fn document(fields: &str, operation: &str) -> String {
    format!(
        "openapi: 3.2.0\ninfo: {{ title: Pets, version: \"1\", contact: {{ email: pets@exämple.com }}, termsOfService: terms.html }}\n{fields}\npaths:\n  /pets:\n    get: {operation}\n"
    )
}

#[test]
fn schemas_that_accept_something() {
    for schema in [
        "{ allOf: [{ enum: [1] }, { const: 1.0 }] }",
        "{ type: integer, format: uint8, exclusiveMinimum: -1, exclusiveMaximum: 256 }",
        "{ allOf: [{ properties: { a: false } }, { properties: { b: {} }, additionalProperties: false }] }",
    ] {
        legal(&SCHEMA_31.replace("@@", schema));
    }
    legal(&schema_30().replace(
        "@@",
        "{ type: integer, format: int32, maximum: 2147483648, exclusiveMaximum: true }",
    ));
}

#[test]
fn discriminators_of_scalars_and_open_branches() {
    let union = "{ oneOf: [{ $ref: \"#/components/schemas/Cat\" }], discriminator: { propertyName: kind, mapping: { \"1\": Cat } } }";
    for cat in [
        "{ type: object, required: [kind], properties: { kind: { type: integer, enum: [1] } } }",
        "{ type: object, required: [kind], additionalProperties: { type: string } }",
    ] {
        legal(&component(&format!("{union}\n    Cat: {cat}")));
    }
}

#[test]
fn paths_whose_parameters_have_types() {
    for schema in ["type: integer", "type: string, format: uuid", "const: a"] {
        let responses = "responses: { \"204\": { description: Done. } }";
        let path = |key: &str, name: &str, schema: &str| {
            format!(
                "  {key}:\n    get: {{ parameters: [{{ name: {name}, in: path, required: true, schema: {{ {schema} }} }}], {responses} }}\n"
            )
        };
        legal(&format!(
            "openapi: 3.1.0\ninfo: {{ title: Pets, version: \"1\" }}\npaths:\n{}{}",
            path("/a/{id}/mine", "id", schema),
            path("/a/names/{name}", "name", "type: string"),
        ));
    }
}

#[test]
fn addresses_expressions_and_extensions() {
    let done = "responses: { \"204\": { description: Done. } }";
    legal(&document(
        "servers: [{ url: v1 }]\nexternalDocs: { url: docs/index.html }",
        &format!("{{ deprecated: true, x-sunset: \"Thu, 31 Jan 2030 00:00:00 GMT\", {done} }}"),
    ));
    for sunset in [
        "9999-12-31",
        "2030-01-31T23:59:60Z",
        "2030-01-31t00:00:00.5-23:00",
    ] {
        legal(&document(
            "",
            &format!("{{ deprecated: true, x-sunset: \"{sunset}\", {done} }}"),
        ));
    }
    legal(&document(
        "x-models: [{ $ref: \"#/components/schemas/Pet\" }]\ncomponents: { schemas: { Pet: { type: string } } }",
        &format!("{{ {done} }}"),
    ));
    let filter = "{ name: filter, in: query, schema: { type: object, additionalProperties: { type: string } } }";
    legal(&document(
        "",
        &format!(
            "{{ parameters: [{filter}], {done}, callbacks: {{ done: {{ \"{{$request.query.url}}\": {{ post: {{ {done} }} }} }} }} }}"
        ),
    ));
    for value in ["$5.00", "'{\"id\": \"{$method}\"}'"] {
        legal(&document(
            "",
            &format!(
                "{{ operationId: list, parameters: [{{ name: price, in: query, schema: {{ type: string }} }}], responses: {{ \"204\": {{ description: Done., links: {{ again: {{ operationId: list, parameters: {{ price: {value} }} }} }} }} }} }}"
            ),
        ));
    }
}

#[test]
fn what_a_whole_query_and_subtypes_declare() {
    let query = "{ name: q, in: querystring, content: { application/x-www-form-urlencoded: { schema: { type: object, properties: { size: { type: integer } } } } } }";
    let with_link = |parameters: &str| {
        document(
            "components: { schemas: { Pet: { type: object, required: [kind], properties: { kind: { type: string } }, discriminator: { propertyName: kind } }, Dog: { allOf: [{ $ref: \"#/components/schemas/Pet\" }], properties: { bark: { type: integer } } } } }",
            &format!(
                "{{ operationId: pet_find, parameters: [{query}], responses: {{ \"200\": {{ description: A pet., content: {{ application/json: {{ schema: {{ $ref: \"#/components/schemas/Pet\" }} }} }}, links: {{ next: {{ operationId: pet_find, parameters: {{ {parameters} }} }} }} }} }} }}"
            ),
        )
    };
    // A link names the parameter by its location, and any name can be in such a query.
    legal(&with_link("querystring.q: $request.query.size"));
    legal(&with_link("q: $request.query.size"));
    // A dog has a bark, though not every pet does.
    legal(&with_link("q: \"$response.body#/bark\""));
    let found = diagnostics(&with_link("header.q: $request.query.size"));
    assert_eq!(found.len(), 1, "{found:?}");
    assert_eq!(found[0].0, "unknown-link-parameter");
}
