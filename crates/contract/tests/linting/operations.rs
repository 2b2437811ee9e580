//! Operations: ids, tags, parameters, media types, responses, servers and paging.

use contract::Severity;

use crate::{OK, OPERATION, SCHEMA_31, diagnostics, error, help, ok, place, warning};

#[test]
fn operation_ids_are_unique() {
    let template = r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  /pets:
    get: { operationId: list, responses: { "204": { description: Done. } } }
    put: { operationId: @@, responses: { "204": { description: Done. } } }
"#;
    error("duplicate-operation-id", template, "list", "replace");
}

#[test]
fn tags_are_declared_where_there_is_a_list() {
    let template = OPERATION
        .replace("paths:", "tags: [{ name: pet }]\npaths:")
        .replace("@@", &ok("tags: [@@],"));
    warning("undeclared-tag", &template, "pets", "pet");
}

#[test]
fn locations_and_styles_exist() {
    let template = OPERATION.replace(
        "@@",
        &ok("").replace(
            "parameters: [",
            "parameters: [{ name: q, @@, schema: {} }, ",
        ),
    );
    error("unknown-location", &template, "in: ⟦querry", "in: query");
    error(
        "impossible-style",
        &template,
        "in: query, style: ⟦simple",
        "in: query, style: form",
    );
    error(
        "missing-keyword",
        &OPERATION.replace("@@", &ok("").replace("parameters: [", "parameters: [@@, ")),
        "{ name: q, schema: {} }",
        "{ name: q, in: query, schema: {} }",
    );
    // Null says no more.
    for wrong in [
        "{ name: q, in: , schema: {} }",
        "{ name: null, in: query, schema: {} }",
    ] {
        error(
            "missing-keyword",
            &OPERATION.replace("@@", &ok("").replace("parameters: [", "parameters: [@@, ")),
            wrong,
            "{ name: q, in: query, schema: {} }",
        );
    }
    warning(
        "ignored-header",
        &OPERATION.replace(
            "@@",
            &ok("").replace(
                "parameters: [",
                "parameters: [{ name: @@, in: header, schema: {} }, ",
            ),
        ),
        "Accept",
        "X-Accept",
    );
}

#[test]
fn a_deep_object_is_an_object() {
    let template = OPERATION.replace(
        "@@",
        &ok("").replace("parameters: [", "parameters: [{ name: q, in: query, @@ }, "),
    );
    let text = template.replace(
        "components:",
        "components:\n  schemas: { Name: { type: string }, Span: { type: [object, \"null\"] } }",
    );
    let right = "style: deepObject, schema: { $ref: \"#/components/schemas/Span\" }";
    for schema in [
        "{ type: array }",
        "{ oneOf: [{ type: array, items: {} }, { type: string }] }",
    ] {
        error(
            "deep-object-array",
            &template,
            &format!("style: ⟦deepObject, schema: {schema}"),
            "style: deepObject, schema: {}",
        );
    }
    for schema in [
        "{ allOf: [{ type: integer }] }",
        "{ oneOf: [{ type: string }, { type: integer }] }",
    ] {
        error(
            "impossible-style",
            &template,
            &format!("style: ⟦deepObject, schema: {schema}"),
            "style: deepObject, schema: {}",
        );
    }
    let used = text.replace("parameters: [{ name: q", "parameters: [{ name: m, in: query, schema: { $ref: \"#/components/schemas/Name\" } }, { name: s, in: query, style: deepObject, schema: { $ref: \"#/components/schemas/Span\" } }, { name: q");
    error(
        "impossible-style",
        &used,
        "style: ⟦deepObject, schema: { $ref: \"#/components/schemas/Name\" }",
        right,
    );
}

#[test]
fn schemas_of_bytes_are_not_applied() {
    let template = SCHEMA_31
        .replace("application/json:\n              schema: @@", "@@")
        .replace("              @@", "@@");
    let media = |name: &str, schema: &str| format!("{name}: {{ schema: {schema} }}");
    let object = "{ properties: { a: {} } }";
    for (name, schema) in [
        ("application/octet-stream", object),
        ("image/png", "{ type: object }"),
        ("text/plain", "{ type: array, items: {} }"),
        ("\"*/*\"", "{ allOf: [{ type: object }] }"),
        ("application/*", object),
        ("text/*", "{ type: array, items: {} }"),
    ] {
        warning(
            "unapplied-schema",
            &template,
            &media(name, schema),
            &media(name, "{ type: string, format: binary }"),
        );
    }
    for name in [
        // That no code applies the schema is a limit of ours.
        "application/xml",
        "application/problem+json",
        "multipart/form-data",
        "text/json",
        "application/json; charset=utf-8",
    ] {
        assert_eq!(
            diagnostics(&template.replace("@@", &media(name, object))),
            vec![],
            "{name}"
        );
    }
}

#[test]
fn statuses_are_possible() {
    let template = OPERATION.replace("@@", &ok("")).replace("\"204\"", "@@");
    for wrong in ["\"600\"", "\"99\"", "abc", "2xx", "Default"] {
        error("impossible-status", &template, wrong, "2XX");
    }
    assert_eq!(help(&template.replace("@@", "2xx")), "write `2XX`");
    assert_eq!(diagnostics(&template.replace("@@", "default")), vec![]);
}

#[test]
fn operations_have_responses() {
    let template = r#"openapi: @@
info: { title: Pets, version: "1" }
paths: { /pets: { get: { summary: List. } } }
"#;
    let (line, column) = place(template, "get:");
    // The standard requires them in 3.0 only, and without them no server can answer.
    for (version, severity) in [
        ("3.0.3", Severity::Error),
        ("3.1.0", Severity::Warning),
        ("3.2.0", Severity::Warning),
    ] {
        let found = diagnostics(&template.replace("@@", version));
        let code = "missing-responses".to_owned();
        assert_eq!(found, vec![(code, severity, line, column)]);
    }
    warning(
        "missing-responses",
        OPERATION,
        &ok("").replace(OK, "⟦responses: {}"),
        &ok(""),
    );
}

#[test]
fn server_variables_are_declared() {
    let template = OPERATION
        .replace("paths:", "servers: [@@]\npaths:")
        .replace("@@\ncomponents", "OPERATION\ncomponents");
    let template = template.replace("OPERATION", &ok(""));
    let right = "{ url: \"https://{host}/v1\", variables: { host: { default: example.com } } }";
    warning(
        "undeclared-server-variable",
        &template,
        "{ url: ⟦\"https://{host}/v1\" }",
        right,
    );
    warning(
        "undeclared-server-variable",
        &template,
        &right.replace("\"https://{host}", "⟦\"https://{hots}"),
        right,
    );
    assert_eq!(
        help(&template.replace("@@", &right.replace("{host}", "{hots}"))),
        "did you mean `{host}`?"
    );
}

#[test]
fn paging_names_what_is_there() {
    let template = r##"openapi: 3.1.0
info: { title: Pets, version: "1" }
x-paging: { start_after: after, page_size: size, items: @@, key: id }
paths:
  /pets:
    get:
      parameters:
        - { name: after, in: query, schema: { type: string } }
        - { name: size, in: query, schema: { type: integer } }
      responses:
        "200":
          description: A page.
          content: { application/json: { schema: { $ref: "#/components/schemas/Page" } } }
components: { schemas: { Page: { properties: { pets: { items: { properties: { id: {} } } } } } } }
"##;
    assert_eq!(diagnostics(&template.replace("@@", "pets")), vec![]);
    let (line, column) = place(template, "@@");
    let found = diagnostics(&template.replace("@@", "pet"));
    assert_eq!(
        found[0],
        ("bad-paging".to_owned(), Severity::Error, line, column)
    );
    let template = template.replace("size, items: @@", "@@, items: pets");
    error("bad-paging", &template, "sizes", "size");
    let template = template.replace("page_size: @@", "page_size: size, @@");
    error(
        "misspelt-keyword",
        &template,
        "order_colunm: after",
        "order_column: after",
    );
}
