//! Fields and keywords that are misspelt, unknown, of another version or without effect.

use contract::Severity;

use crate::{
    OPERATION, SCHEMA_31, component, diagnostics, error, help, ok, place, schema_30, warning,
};

#[test]
fn versions_that_are_not_read() {
    let rest = "\ninfo: { title: Pets, version: \"1\" }\npaths: {}\n";
    error(
        "unsupported-version",
        &format!("openapi: @@{rest}"),
        "3.3.0",
        "3.2.1",
    );
    error(
        "unsupported-version",
        &format!("openapi: @@{rest}"),
        "3.1",
        "3.1.0",
    );
    error(
        "unsupported-version",
        &format!("openapi: @@{rest}"),
        "[3]",
        "3.0.0",
    );
    error(
        "missing-version",
        "@@",
        "info: { title: Pets }",
        &format!("openapi: 3.0.4{rest}"),
    );
    error(
        "swagger-2",
        "@@",
        "⟦swagger: \"2.0\"",
        &format!("openapi: 3.0.4{rest}"),
    );
    error("wrong-type", "@@", "[1]", &format!("openapi: 3.0.4{rest}"));
    for (version, meant) in [("3.0", "3.0.0"), ("3.2", "3.2.0"), ("3", "3.1.0")] {
        let said = help(&format!("openapi: {version}{rest}"));
        assert_eq!(
            said,
            format!("write all three parts, such as `{meant}`, or quote it")
        );
    }
}

#[test]
fn misspelt_and_unknown_keywords() {
    error(
        "misspelt-keyword",
        SCHEMA_31,
        "{ type: string, ⟦minLenght: 3 }",
        "{ type: string, minLength: 3 }",
    );
    error(
        "misspelt-keyword",
        SCHEMA_31,
        "{ type: string, ⟦min_length: 3 }",
        "{ type: string, x-min-len: 3 }",
    );
    warning(
        "unknown-keyword",
        SCHEMA_31,
        "{ type: string, ⟦colour: red }",
        "{ type: string, x-colour: red }",
    );
    warning(
        "unknown-keyword",
        SCHEMA_31,
        "{ ⟦definitions: { A: {} } }",
        "{ $defs: { A: {} } }",
    );
    let wrong = SCHEMA_31.replace("@@", "{ type: string, minLenght: 3 }");
    assert_eq!(help(&wrong), "did you mean `minLength`?");
}

#[test]
fn a_misspelt_section_is_one_diagnostic() {
    let template = r##"openapi: 3.1.0
info: { title: Pets, version: "1" }
security: [{ token: [] }]
paths:
  /pets/{id}:
    parameters: [{ $ref: "#/components/parameters/Id" }]
    get: { responses: { "200": { $ref: "#/components/responses/Missing" } } }
@@:
  parameters: { Id: { name: id, in: path, required: true, schema: { type: string } } }
  securitySchemes: { token: { type: http, scheme: bearer } }
  responses: { Missing: { description: Nothing here. } }
"##;
    error("misspelt-section", template, "component", "components");
    let template = template
        .replace("  responses:", "  @@:")
        .replace("\n@@:", "\ncomponents:");
    error("misspelt-section", &template, "response", "responses");
}

#[test]
fn misspelt_fields_of_an_operation() {
    let wrong = ok("⟦operationID: a,");
    error(
        "misspelt-keyword",
        OPERATION,
        &wrong,
        &ok("operationId: a,"),
    );
    error(
        "misspelt-keyword",
        OPERATION,
        &ok("⟦tag: [a],"),
        &ok("tags: [a],"),
    );
}

#[test]
fn keywords_of_the_other_dialect() {
    let old = schema_30();
    warning(
        "wrong-dialect",
        SCHEMA_31,
        "{ type: string, ⟦nullable: true }",
        "{ type: [string, \"null\"] }",
    );
    warning("wrong-dialect", &old, "{ ⟦const: 1 }", "{ enum: [1] }");
    warning(
        "wrong-dialect",
        &old,
        "{ type: string, ⟦examples: [a] }",
        "{ type: string, example: a }",
    );
    error(
        "wrong-dialect",
        &old,
        "{ type: ⟦[string, \"null\"] }",
        "{ type: string, nullable: true }",
    );
    error(
        "wrong-dialect",
        &old,
        "{ type: ⟦\"null\" }",
        "{ type: string, nullable: true }",
    );
    error(
        "wrong-dialect",
        &old,
        "{ exclusiveMinimum: ⟦3 }",
        "{ minimum: 3, exclusiveMinimum: true }",
    );
    error(
        "wrong-dialect",
        SCHEMA_31,
        "{ minimum: 3, exclusiveMinimum: ⟦true }",
        "{ exclusiveMinimum: 3 }",
    );
    error(
        "wrong-dialect",
        &old,
        "{ properties: { a: ⟦true } }",
        "{ properties: { a: {} } }",
    );
}

#[test]
fn values_of_the_wrong_kind() {
    error(
        "wrong-type",
        SCHEMA_31,
        "{ minLength: ⟦\"3\" }",
        "{ minLength: 3 }",
    );
    error(
        "wrong-type",
        SCHEMA_31,
        "{ minLength: ⟦-1 }",
        "{ minLength: 3.0 }",
    );
    error(
        "wrong-type",
        SCHEMA_31,
        "{ properties: { a: { required: ⟦true } } }",
        "{ required: [a], properties: { a: {} } }",
    );
    error(
        "wrong-type",
        SCHEMA_31,
        "{ properties: ⟦[a] }",
        "{ properties: { a: {} } }",
    );
    error(
        "wrong-type",
        SCHEMA_31,
        "{ allOf: ⟦{ type: string } }",
        "{ allOf: [{ type: string }] }",
    );
    error(
        "wrong-type",
        SCHEMA_31,
        "{ required: [a, ⟦1] }",
        "{ required: [a] }",
    );
    error(
        "wrong-type",
        SCHEMA_31,
        "{ x-secret: ⟦1 }",
        "{ x-secret: true }",
    );
    error(
        "wrong-type",
        OPERATION,
        &ok("tags: ⟦pets,"),
        &ok("tags: [pets],"),
    );
    warning(
        "wrong-type",
        SCHEMA_31,
        "{ type: [string, ⟦null] }",
        "{ type: [string, \"null\"] }",
    );
    let wrong = SCHEMA_31.replace("@@", "{ minLength: \"3\" }");
    assert_eq!(help(&wrong), "write 3 without quotes");
    let wrong = SCHEMA_31.replace("@@", "{ properties: { a: { required: true } } }");
    assert!(help(&wrong).contains("list the names of the required properties"));
}

#[test]
fn types_that_do_not_exist() {
    error(
        "unknown-type",
        SCHEMA_31,
        "{ type: ⟦int }",
        "{ type: integer }",
    );
    error(
        "unknown-type",
        SCHEMA_31,
        "{ type: [string, ⟦numbr] }",
        "{ type: [string, number] }",
    );
    assert_eq!(
        help(&SCHEMA_31.replace("@@", "{ type: bool }")),
        "did you mean `boolean`?"
    );
}

#[test]
fn keywords_are_about_the_type() {
    for (wrong, right) in [
        (
            "{ type: integer, ⟦minLength: 3 }",
            "{ type: integer, minimum: 3 }",
        ),
        (
            "{ type: [string, \"null\"], ⟦maximum: 3 }",
            "{ type: [string, number], maximum: 3 }",
        ),
        (
            "{ type: string, ⟦properties: { a: {} } }",
            "{ properties: { a: {} } }",
        ),
        ("{ type: object, ⟦items: {} }", "{ type: array, items: {} }"),
        (
            "{ type: string, format: ⟦int32 }",
            "{ type: integer, format: int32 }",
        ),
        (
            "{ type: integer, format: ⟦uuid }",
            "{ type: [\"null\", string], format: uuid }",
        ),
        // What may grow is an enumeration of strings, here or in what the schema is made of.
        (
            "{ type: string, ⟦x-extensible-enum: true }",
            "{ type: string, enum: [a], x-extensible-enum: true }",
        ),
        (
            "{ const: a, ⟦x-extensible-enum: true }",
            "{ allOf: [{ enum: [a] }], x-extensible-enum: true }",
        ),
        (
            "{ type: integer, enum: [1, 2], ⟦x-extensible-enum: true }",
            "{ type: [string, \"null\"], enum: [a, null], x-extensible-enum: true }",
        ),
        (
            "{ type: string, enum: [a], ⟦x-extensible-enum: grows }",
            "{ type: string, x-extensible-enum: [a, b] }",
        ),
    ] {
        warning("idle-keyword", SCHEMA_31, wrong, right);
    }
}

#[test]
fn what_is_ignored_is_reported() {
    let template = OPERATION.replace("@@", &ok("").replace("parameters: [", "parameters: [@@, "));
    let parameter = "{ name: q, in: query, ⟦allowEmptyValue: true, schema: {} }";
    warning(
        "ignored-keyword",
        &template,
        parameter,
        &parameter.replace("⟦allowEmptyValue: true, ", ""),
    );
    let template = OPERATION.replace(
        "@@",
        &ok("").replace(
            "Done.",
            "Done., headers: { @@: { required: true, schema: {} } }",
        ),
    );
    warning(
        "ignored-header",
        &template,
        "content-type",
        "X-Content-Type",
    );
}

#[test]
fn habits_of_the_older_standard_get_help() {
    let template = OPERATION.replace("@@", &ok("").replace("parameters: [", "parameters: [@@, "));
    let wrong = template.replace("@@", "{ name: q, in: query, type: string }");
    let found = diagnostics(&wrong);
    let (line, column) = place(&wrong, "type: string }, {");
    assert_eq!(
        // The first and only one: that `schema` is missing follows from it.
        found[0],
        (
            "unknown-keyword".to_owned(),
            Severity::Warning,
            line,
            column
        ),
        "{found:?}"
    );
    assert!(
        help(&wrong).contains("put it into `schema`, as in `schema: { type: … }`"),
        "{}",
        help(&wrong)
    );
    let done = ok("").replace("Done.", "Done., @@").replace("204", "200");
    let template = OPERATION.replace("@@", &done);
    let right = "content: { application/json: { schema: {} } }";
    warning("unknown-keyword", &template, "schema: {}", right);
    let help = help(&template.replace("@@", "schema: {}"));
    assert!(
        help.starts_with("put it into `content`, as in `content: { application/json"),
        "{help}"
    );
}

#[test]
fn what_stands_beside_a_reference_counts_in_the_newer_dialect_alone() {
    let new = component(
        "{ properties: { a: { $ref: \"#/components/schemas/Name\", maxLength: 3 } } }\n    Name: { type: string }",
    );
    assert_eq!(diagnostics(&new), vec![]);
    let old = component("{ properties: { a: { $ref: \"#/components/schemas/Name\"@@ } } }\n    Name: { type: string }")
        .replace("3.1.0", "3.0.3");
    warning(
        "ignored-sibling",
        &old,
        ", ⟦maxLength: 3",
        ", description: A name.",
    );
}
