//! Each lint with a small document that it reports, at a span that the test marks in the text, and
//! with a similar document that is correct and has no diagnostics.

use contract::{Severity, load_text};

const SCHEMA_31: &str = r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  /pets:
    get:
      responses:
        "200":
          description: All pets.
          content:
            application/json:
              schema: @@
"#;

const OPERATION: &str = r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  /pets/{pet_id}:
    get: @@
components:
  parameters:
    PetId: { name: pet_id, in: path, required: true, schema: { type: string } }
"#;

const OK: &str = r#"responses: { "204": { description: Done. } }"#;

fn schema_30() -> String {
    SCHEMA_31.replace("3.1.0", "3.0.3")
}

/// A diagnostic of a document: code, severity, line and column.
type Found = (String, Severity, usize, usize);

fn diagnostics(text: &str) -> Vec<Found> {
    let loaded = load_text("pets.yaml", text.as_bytes());
    let wrong = loaded
        .diagnostics
        .iter()
        .any(|diagnostic| diagnostic.severity == Severity::Error);
    assert_eq!(
        loaded.contract.is_none(),
        wrong,
        "{:#?}",
        loaded.diagnostics
    );
    loaded
        .diagnostics
        .iter()
        .map(|diagnostic| {
            let at = loaded.sources.line_column(diagnostic.span);
            let code = diagnostic.code.to_owned();
            (code, diagnostic.severity, at.line, at.column)
        })
        .collect()
}

fn help(text: &str) -> String {
    let loaded = load_text("pets.yaml", text.replace('⟦', "").as_bytes());
    let helps = loaded
        .diagnostics
        .into_iter()
        .filter_map(|diagnostic| diagnostic.help);
    helps.collect::<Vec<_>>().join("; ")
}

/// Returns the line and column of a marker, from 1 and in characters. Counted without the code
/// under test.
fn place(text: &str, marker: &str) -> (usize, usize) {
    let (before, _) = text.split_once(marker).expect("the text has the marker");
    let line = before.split('\n').count();
    let column = before.split('\n').next_back().unwrap().chars().count() + 1;
    (line, column)
}

/// Checks that the wrong text yields exactly this diagnostic, and the right text none. The
/// diagnostic is expected at `⟦`, or else at the start of the text.
#[track_caller]
fn reports(severity: Severity, code: &str, template: &str, wrong: &str, right: &str) {
    let marked = if wrong.contains('⟦') {
        template.replace("@@", wrong)
    } else {
        template.replace("@@", &format!("⟦{wrong}"))
    };
    let (line, column) = place(&marked, "⟦");
    let found = diagnostics(&marked.replace('⟦', ""));
    assert_eq!(
        found,
        vec![(code.to_owned(), severity, line, column)],
        "{marked}"
    );
    assert_eq!(
        diagnostics(&template.replace("@@", right)),
        vec![],
        "{right}"
    );
}

#[track_caller]
fn error(code: &str, template: &str, wrong: &str, right: &str) {
    reports(Severity::Error, code, template, wrong, right);
}

#[track_caller]
fn warning(code: &str, template: &str, wrong: &str, right: &str) {
    reports(Severity::Warning, code, template, wrong, right);
}

/// Returns a document with one operation, whose response has a component schema.
fn component(schema: &str) -> String {
    let used = SCHEMA_31.replace("@@", r##"{ $ref: "#/components/schemas/Pet" }"##);
    format!("{used}components:\n  schemas:\n    Pet: {schema}\n")
}

#[test]
fn versions_that_are_not_read() {
    let rest = "\ninfo: { title: Pets, version: \"1\" }\npaths: {}\n";
    error(
        "unsupported-version",
        &format!("openapi: @@{rest}"),
        "3.2.0",
        "3.1.1",
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
    get: { responses: { "404": { $ref: "#/components/responses/Missing" } } }
@@:
  parameters: { Id: { name: id, in: path, required: true, schema: { type: string } } }
  securitySchemes: { token: { type: http, scheme: bearer } }
  responses: { Missing: { description: Nothing here. } }
"##;
    error("misspelt-keyword", template, "component", "components");
    let template = template
        .replace("  responses:", "  @@:")
        .replace("\n@@:", "\ncomponents:");
    error("misspelt-keyword", &template, "response", "responses");
}

/// Returns a valid operation with an additional field.
fn ok(more: &str) -> String {
    format!("{{ {more} parameters: [{{ $ref: \"#/components/parameters/PetId\" }}], {OK} }}")
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
fn references_that_lead_nowhere() {
    let pet = component("{ properties: { friend: { $ref: @@ } } }");
    error(
        "dangling-ref",
        &pet,
        "\"#/components/schemas/Pte\"",
        "\"#/components/schemas/Pet\"",
    );
    error(
        "dangling-ref",
        &pet,
        "\"#\"",
        "\"#/components/schemas/Pet\"",
    );
    error(
        "remote-ref",
        &pet,
        "\"https://pets.example/pet.yaml\"",
        "\"#/components/schemas/Pet\"",
    );
    error(
        "file-ref",
        &pet,
        "\"pet.yaml#/Pet\"",
        "\"#/components/schemas/Pet\"",
    );
    error(
        "dangling-ref",
        &pet,
        "\"#Pet\"",
        "\"#/components/schemas/Pet\"",
    );
    let wrong = pet.replace("@@", "\"#/components/schemas/pet\"");
    assert_eq!(help(&wrong), "did you mean `#/components/schemas/Pet`?");
}

#[test]
fn references_that_go_in_circles() {
    let schemas = component(
        "{ $ref: \"#/components/schemas/Cat\" }\n    Cat: { $ref: @@ }\n    Dog: { items: { $ref: \"#/components/schemas/Dog\" } }",
    );
    let schemas = schemas.replace(
        "Dog: {",
        "Dog: { properties: { a: { $ref: \"#/components/schemas/Dog\" } },",
    );
    let wrong = schemas.replace("@@", "\"#/components/schemas/Pet\"");
    let found = diagnostics(&wrong);
    let (line, column) = place(&wrong, "\"#/components/schemas/Cat\"");
    assert!(
        found.contains(&("circular-ref".to_owned(), Severity::Error, line, column)),
        "{found:?}"
    );
    let right = schemas.replace("@@", "\"#/components/schemas/Dog\"");
    assert_eq!(diagnostics(&right), vec![]);
}

#[test]
fn schemas_that_contain_themselves_without_going_into_the_value() {
    let composed = component("{ @@: [{ $ref: ⟦\"#/components/schemas/Pet\" }] }");
    let (line, column) = place(&composed.replace("@@", "allOf"), "⟦");
    let composed = composed.replace('⟦', "");
    let found = diagnostics(&composed.replace("@@", "allOf"));
    assert_eq!(
        found,
        vec![("circular-ref".to_owned(), Severity::Error, line, column)]
    );
    assert_eq!(diagnostics(&composed.replace("@@", "prefixItems")), vec![]);
}

#[test]
fn parameters_that_mean_each_other() {
    let template = OPERATION.replace("@@", &ok("")).replace(
        "PetId: { name: pet_id, in: path, required: true, schema: { type: string } }",
        "PetId: { $ref: \"#/components/parameters/Id\" }\n    Id: @@",
    );
    let right = "{ name: pet_id, in: path, required: true, schema: {} }";
    assert_eq!(diagnostics(&template.replace("@@", right)), vec![]);
    let wrong = template.replace("@@", "{ $ref: \"#/components/parameters/PetId\" }");
    let (line, column) = place(&wrong, "\"#/components/parameters/Id\"");
    let found = diagnostics(&wrong);
    assert!(
        found.contains(&("circular-ref".to_owned(), Severity::Error, line, column)),
        "{found:?}"
    );
}

#[test]
fn what_must_contain_itself_has_no_end() {
    let pet = component("{ type: object, required: [friend], properties: { @@ } }");
    let reference = "{ $ref: \"#/components/schemas/Pet\" }";
    let right = format!("friend: {{ anyOf: [{reference}, {{ type: \"null\" }}] }}");
    warning(
        "endless-schema",
        &pet,
        &format!("⟦friend: {reference}"),
        &right,
    );
    let list = format!("friend: {{ type: array, items: {reference} }}");
    warning(
        "endless-schema",
        &pet,
        &list.replace("items", "minItems: 1, items"),
        &list,
    );
    let around = component(
        "{ required: [a], properties: { @@ } }\n    \
         Cat: { allOf: [{ required: [b], properties: { b: { $ref: \"#/components/schemas/Pet\" } } }] }",
    );
    let (wrong, right) = (
        "⟦a: { $ref: \"#/components/schemas/Cat\" }",
        "a: { items: { $ref: \"#/components/schemas/Cat\" } }",
    );
    warning("endless-schema", &around, wrong, right);
}

#[test]
fn types_that_exclude_each_other() {
    for (wrong, right) in [
        (
            "{ ⟦allOf: [{ type: integer }, { type: string }] }",
            "{ allOf: [{ type: integer }, { type: number }] }",
        ),
        (
            "{ type: object, ⟦anyOf: [{ type: string }, { type: array }] }",
            "{ type: object, anyOf: [{ type: string }, {}] }",
        ),
        (
            "{ type: object, ⟦allOf: [{ type: [string, array] }] }",
            "{ type: object, allOf: [{ type: [string, object] }] }",
        ),
    ] {
        warning("impossible-schema", SCHEMA_31, wrong, right);
    }
    let alike = "{ properties: { a: { allOf: [{ type: integer }, { enum: [a] }] } } }";
    assert_eq!(diagnostics(&SCHEMA_31.replace("@@", alike)).len(), 1);
}

#[test]
fn recursive_schemas_are_fine() {
    let text =
        component("{ properties: { friends: { items: { $ref: \"#/components/schemas/Pet\" } } } }");
    assert_eq!(diagnostics(&text), vec![]);
}

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
fn templates_and_parameters_agree() {
    let parameter = |name: &str, more: &str| {
        format!(
            "parameters: [{{ name: {name}, in: path, {more}schema: {{ type: string }} }}], {OK} }}"
        )
    };
    let right = format!("{{ {}", parameter("pet_id", "required: true, "));
    let operation = OPERATION.split("components:").next().unwrap();
    error(
        "path-parameter-optional",
        operation,
        &format!(
            "{{ parameters: [⟦{{ name: pet_id, in: path, schema: {{ type: string }} }}], {OK} }}"
        ),
        &right,
    );
    error(
        "path-parameter-optional",
        operation,
        &format!("{{ {}", parameter("pet_id", "required: ⟦false, ")),
        &right,
    );
    let template = operation.replace("@@", &right).replace("{pet_id}:", "@@:");
    error(
        "path-parameter-undeclared",
        &template,
        "{pet_id}/⟦{toy_id}",
        "{pet_id}",
    );
    let extra = |wrong: &str| right.replace("parameters: [", &format!("parameters: [{wrong}"));
    let unused = extra("{ name: ⟦toy_id, in: path, required: true, schema: {} }, ");
    error("path-parameter-unused", operation, &unused, &right);
    let twice = extra("{ name: pet_id, in: path, required: true, schema: {} }, ");
    error(
        "duplicate-parameter",
        operation,
        &twice.replace(
            "name: pet_id, in: path, required: true, schema: { type",
            "name: ⟦pet_id, in: path, required: true, schema: { type",
        ),
        &right,
    );
}

#[test]
fn misspelt_template_names_are_suggested() {
    let operation = OPERATION
        .replace("@@", &ok(""))
        .replace("/pets/{pet_id}", "/pets/{petid}");
    let found: Vec<String> = diagnostics(&operation)
        .into_iter()
        .map(|(code, ..)| code)
        .collect();
    assert_eq!(
        found,
        ["path-parameter-undeclared", "path-parameter-unused"]
    );
    assert_eq!(
        help(&operation),
        "did you mean `{pet_id}`?; did you mean `petid`?"
    );
}

#[test]
fn path_templates_are_distinct_and_well_formed() {
    let template = r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  /pets/{a}: { parameters: [{ name: a, in: path, required: true, schema: {} }] }
  @@: { parameters: [] }
"#;
    error("duplicate-path", template, "/pets/{b}", "/toys/{b}");
    error("bad-path", template, "pets", "/pets");
    error("bad-path", template, "/pets/{b", "/pets");
    error("bad-path", template, "/pets/{}", "/pets");
    error("bad-path", template, "/toys?kind=ball", "/toys");
    error("bad-path", template, "\"/toys#top\"", "\"/toys/{b#}\"");
    error("duplicate-template-name", template, "/{b}/⟦{b}", "/{b}/{c}");
}

#[test]
fn patterns_are_regular_expressions() {
    error(
        "bad-pattern",
        SCHEMA_31,
        "{ pattern: ⟦\"[a-\" }",
        "{ pattern: \"^[a-z]+$\" }",
    );
    error(
        "bad-pattern",
        SCHEMA_31,
        "{ patternProperties: { ⟦\"(\": {} } }",
        "{ patternProperties: { \"^(?!x)\": {} } }",
    );
    warning(
        "bad-pattern",
        SCHEMA_31,
        "{ pattern: ⟦\"(?x)a\" }",
        "{ pattern: \"(a)\\\\1\" }",
    );
}

#[test]
fn a_bad_pattern_is_explained() {
    for (pattern, why) in [
        ("[a-", "unclosed character class at character 1"),
        ("é(", "unclosed group at character 2"),
        ("a{2,1}", "at character 2"),
        ("(?=a)(", "position"),
        ("b\\\\Aa", "`\\A` at character 2"),
        ("(?P<name>a)", "`(?P<` at character 1"),
    ] {
        let text = SCHEMA_31.replace("@@", &format!("{{ pattern: \"{pattern}\" }}"));
        let loaded = load_text("pets.yaml", text.as_bytes());
        let messages: Vec<&str> = loaded
            .diagnostics
            .iter()
            .map(|diagnostic| diagnostic.message.as_str())
            .collect();
        assert!(
            messages.len() == 1 && messages[0].contains(why),
            "{pattern}: {messages:?}"
        );
    }
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
    ] {
        warning("idle-keyword", SCHEMA_31, wrong, right);
    }
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
        ("application/xml", object),
        ("application/x-ndjson", "{ type: object }"),
        ("text/csv", "{ type: array, items: {} }"),
        ("\"*/*\"", "{ allOf: [{ type: object }] }"),
    ] {
        warning(
            "unapplied-schema",
            &template,
            &media(name, schema),
            &media(name, "{ type: string, format: binary }"),
        );
    }
    for name in [
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
        found[1],
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
    let template = OPERATION.replace("@@", &ok("").replace("Done.", "Done., @@"));
    let right = "content: { application/json: { schema: {} } }";
    warning("unknown-keyword", &template, "schema: {}", right);
    let help = help(&template.replace("@@", "schema: {}"));
    assert!(
        help.starts_with("put it into `content`, as in `content: { application/json"),
        "{help}"
    );
}

#[test]
fn formats_that_look_like_known_ones() {
    for (wrong, meant) in [
        ("datetime", "date-time"),
        ("date_time", "date-time"),
        ("int-32", "int32"),
        ("ip4", "ipv4"),
        ("e-mail", "email"),
        ("UUID", "uuid"),
        ("guid", "uuid"),
    ] {
        warning(
            "misspelt-format",
            SCHEMA_31,
            &format!("{{ format: ⟦{wrong} }}"),
            &format!("{{ format: {meant} }}"),
        );
        let text = SCHEMA_31.replace("@@", &format!("{{ format: {wrong} }}"));
        assert_eq!(help(&text), format!("did you mean `{meant}`?"));
    }
    assert_eq!(
        diagnostics(&SCHEMA_31.replace("@@", "{ format: shoe-size }")),
        vec![]
    );
}

#[test]
fn security_names_schemes_that_exist() {
    let template = r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
security: [{ @@ }]
paths: { /pets: { get: { responses: { "204": { description: Done. } } } } }
components:
  securitySchemes:
    token: { type: oauth2, flows: { clientCredentials: { tokenUrl: /t, scopes: { read: Read. } } } }
"#;
    let found = diagnostics(&template.replace("@@", "tokne: []"));
    let (line, column) = place(template, "@@");
    let expected = (
        "unknown-security-scheme".to_owned(),
        Severity::Error,
        line,
        column,
    );
    assert_eq!(found[0], expected);
    warning(
        "undeclared-scope",
        template,
        "token: [⟦raed]",
        "token: [read]",
    );
    assert!(help(&template.replace("@@", "tokne: []")).starts_with("did you mean `token`?"));
}

#[test]
fn security_schemes_are_complete() {
    let template = r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
security: [{ key: [] }]
paths: { /pets: { get: { responses: { "204": { description: Done. } } } } }
components: { securitySchemes: { @@ } }
"#;
    let right = "key: { type: apiKey, in: header, name: X-Key }";
    error(
        "missing-keyword",
        template,
        "key: { type: apiKey, in: header }",
        right,
    );
    error(
        "unknown-location",
        template,
        "key: { type: apiKey, in: ⟦body, name: X-Key }",
        right,
    );
    error(
        "unknown-scheme-type",
        template,
        "key: { type: ⟦bearer }",
        "key: { type: http, scheme: bearer }",
    );
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
fn operations_have_answers() {
    let template = r#"openapi: @@
info: { title: Pets, version: "1" }
paths: { /pets: { get: { summary: List. } } }
"#;
    let found = diagnostics(&template.replace("@@", "3.0.3"));
    let (line, column) = place(template, "get:");
    assert_eq!(
        found,
        vec![(
            "missing-responses".to_owned(),
            Severity::Error,
            line,
            column
        )]
    );
    assert_eq!(diagnostics(&template.replace("@@", "3.1.0")), vec![]);
    warning(
        "missing-responses",
        OPERATION,
        &ok("").replace(OK, "⟦responses: {}"),
        &ok(""),
    );
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
fn values_fit_their_schema() {
    error(
        "bad-default",
        SCHEMA_31,
        "{ type: integer, minimum: 5, default: ⟦3 }",
        "{ type: integer, minimum: 5, default: 5 }",
    );
    error(
        "bad-default",
        SCHEMA_31,
        "{ format: date, type: string, default: ⟦\"2020-13-01\" }",
        "{ format: date, type: string, default: \"2020-12-01\" }",
    );
    error(
        "bad-default",
        SCHEMA_31,
        "{ type: integer, format: int32, default: ⟦2147483648 }",
        "{ type: integer, format: int32, default: 2147483647 }",
    );
    error(
        "bad-default",
        SCHEMA_31,
        "{ type: integer, format: uint16, maximum: 100000, default: ⟦-1 }",
        "{ type: integer, format: uint16, maximum: 100000, default: 65535 }",
    );
    warning(
        "bad-example",
        SCHEMA_31,
        "{ type: integer, examples: [1, ⟦a] }",
        "{ type: integer, examples: [1] }",
    );
    warning(
        "bad-example",
        SCHEMA_31,
        "{ properties: { a: { maxLength: 1 } }, example: { a: ⟦bc } }",
        "{ properties: { a: { maxLength: 1 } }, example: { a: b } }",
    );
    warning(
        "bad-example",
        SCHEMA_31,
        "{ properties: { a: {} }, additionalProperties: false, example: { a: 1, ⟦b: 2 } }",
        "{ properties: { a: {} }, additionalProperties: false, example: { a: 1 } }",
    );
    warning(
        "bad-enum",
        SCHEMA_31,
        "{ type: string, enum: [a, ⟦1] }",
        "{ type: string, enum: [a, \"1\"] }",
    );
    warning(
        "bad-example",
        &schema_30(),
        "{ type: string, example: ⟦null }",
        "{ type: string, nullable: true, example: null }",
    );
}

#[test]
fn examples_of_media_types_and_parameters_fit() {
    let media = SCHEMA_31.replace(
        "schema: @@",
        "schema: { type: array }\n              examples: { all: { value: @@ } }",
    );
    warning("bad-example", &media, "{}", "[]");
    let parameter = OPERATION.replace(
        "@@",
        &ok("").replace(
            "parameters: [",
            "parameters: [{ name: q, in: query, schema: { type: integer }, example: @@ }, ",
        ),
    );
    warning("bad-example", &parameter, "a", "1");
}

#[test]
fn an_example_may_leave_out_what_only_the_other_side_sends() {
    let text = SCHEMA_31.replace(
        "@@",
        "{ required: [id], properties: { id: { type: string, readOnly: true } }, example: {} }",
    );
    assert_eq!(diagnostics(&text), vec![]);
}

/// Returns a document with one operation, whose request body has the schema to fill in.
fn taking(version: &str) -> String {
    format!(
        "openapi: {version}\ninfo: {{ title: Pets, version: \"1\" }}\npaths:\n  /pets:\n    post:\n      requestBody: \
         {{ required: true, content: {{ application/json: {{ schema: @@ }} }} }}\n      responses: {{ \"204\": {{ \
         description: Done. }} }}\n"
    )
}

#[test]
fn required_properties_travel_both_ways() {
    let read_only =
        "{ type: object, required: [id], properties: { ⟦id: { type: string, readOnly: true } } }";
    let optional = "{ type: object, properties: { id: { type: string, readOnly: true } } }";
    let write_only = "{ type: object, required: [key], properties: { ⟦key: { type: string, writeOnly: true } } }";
    for version in ["3.0.3", "3.1.0"] {
        warning("one-way-required", &taking(version), read_only, optional);
        assert_eq!(
            diagnostics(&taking(version).replace("@@", &write_only.replace('⟦', ""))),
            vec![]
        );
    }
    warning(
        "one-way-required",
        SCHEMA_31,
        write_only,
        &read_only.replace('⟦', ""),
    );
    // By 3.0, a read-only property is required in responses only.
    for (version, required) in [("3.0.3", 0), ("3.1.0", 1)] {
        let text = taking(version).replace("@@", &read_only.replace('⟦', ""));
        let contract = load_text("pets.yaml", text.as_bytes())
            .contract
            .expect("a document with only warnings is a contract");
        let body = contract.operations[0]
            .request_body
            .as_ref()
            .expect("the operation has a request body");
        let schema = contract.schema(body.content[0].schema.expect("the media type has a schema"));
        let contract::model::SchemaKind::Object(keywords) = &schema.kind else {
            panic!("an object")
        };
        assert_eq!(keywords.required.len(), required);
    }
}

#[test]
fn required_properties_travel_in_callbacks() {
    let template = r#"openapi: 3.0.3
info: { title: Pets, version: "1" }
paths:
  /pets:
    post:
      responses: { "204": { description: Done. } }
      callbacks:
        born:
          "{$request.query.url}":
            post:
              requestBody: { content: { application/json: { schema: @@ } } }
              responses: { "204": { description: Done. } }
"#;
    warning(
        "one-way-required",
        template,
        "{ type: object, required: [id], properties: { ⟦id: { type: string, readOnly: true } } }",
        "{ type: object, properties: { id: { type: string, readOnly: true } } }",
    );
}

#[test]
fn many_required_names_are_judged_in_time() {
    let list = |name: &str, end: &str| {
        (0..3000)
            .map(|at| format!("{name}{at}{end}, "))
            .collect::<String>()
    };
    let schema = format!(
        "{{ required: [{}], properties: {{ {} }} }}",
        list("some_needed_name_", ""),
        list("a_declared_property_", ": {}")
    );
    let start = std::time::Instant::now();
    assert_eq!(diagnostics(&SCHEMA_31.replace("@@", &schema)), vec![]);
    assert!(start.elapsed().as_secs() < 10, "{:?}", start.elapsed());
}

#[test]
fn a_default_that_nothing_uses_is_only_a_warning_and_not_applied() {
    let text = "openapi: 3.1.0\ninfo: { title: T, version: \"1\" }\ncomponents: { schemas: { A: { type: integer, default: a } } }\n";
    let loaded = load_text("a.yaml", text.as_bytes());
    assert_eq!(loaded.diagnostics[0].code, "bad-default");
    let contract = loaded
        .contract
        .expect("a document with only warnings is a contract");
    let contract::model::SchemaKind::Object(keywords) = &contract.schemas[0].kind else {
        panic!("an object")
    };
    assert_eq!(keywords.default, None);
}

#[test]
fn bounds_leave_room() {
    for (wrong, right) in [
        ("{ minimum: ⟦5, maximum: 4 }", "{ minimum: 4, maximum: 4 }"),
        (
            "{ minLength: ⟦5, maxLength: 4 }",
            "{ minLength: 4, maxLength: 4 }",
        ),
        (
            "{ minItems: ⟦5, maxItems: 4 }",
            "{ minItems: 4, maxItems: 4 }",
        ),
        (
            "{ exclusiveMinimum: ⟦4, maximum: 4 }",
            "{ exclusiveMinimum: 3, maximum: 4 }",
        ),
        (
            "{ minimum: ⟦9007199254740993, maximum: 9007199254740992 }",
            "{ minimum: 9007199254740992, maximum: 9007199254740993 }",
        ),
        ("{ multipleOf: ⟦0 }", "{ multipleOf: 0.5 }"),
    ] {
        error("impossible-bounds", SCHEMA_31, wrong, right);
    }
    warning(
        "duplicate-enum",
        SCHEMA_31,
        "{ enum: [1, ⟦1.0] }",
        "{ enum: [1, \"1\"] }",
    );
    warning("empty-enum", SCHEMA_31, "{ enum: ⟦[] }", "{ enum: [1] }");
    warning(
        "nullable-enum",
        &schema_30(),
        "{ type: string, enum: [a], ⟦nullable: true }",
        "{ type: string, enum: [a, null], nullable: true }",
    );
    warning(
        "impossible-bounds",
        &schema_30(),
        "{ ⟦exclusiveMinimum: true }",
        "{ minimum: 1, exclusiveMinimum: true }",
    );
}

#[test]
fn required_properties_are_allowed() {
    warning(
        "impossible-required",
        SCHEMA_31,
        "{ properties: { name: {} }, required: [⟦b], additionalProperties: false }",
        "{ properties: { name: {} }, required: [name], additionalProperties: false }",
    );
    warning(
        "undeclared-required",
        SCHEMA_31,
        "{ properties: { name: {} }, required: [⟦nmae] }",
        "{ properties: { name: {} }, required: [name] }",
    );
    warning(
        "duplicate-required",
        SCHEMA_31,
        "{ properties: { name: {} }, required: [name, ⟦name] }",
        "{ required: [anything] }",
    );
}

#[test]
fn components_are_used() {
    let template = component("{ type: string }\n    @@");
    warning("unused-component", &template, "Cat: { type: string }", "");
    let heirs = component(
        "{ required: [kind], properties: { kind: { type: string } }, discriminator: { propertyName: kind } }\n    Cat: { allOf: [{ $ref: \"#/components/schemas/Pet\" }] }",
    );
    assert_eq!(
        diagnostics(&heirs),
        vec![],
        "a discriminator implies its heirs"
    );
}

#[test]
fn mappings_mean_schemas() {
    let template = component(
        "{ oneOf: [{ $ref: \"#/components/schemas/Cat\" }], discriminator: { propertyName: kind, mapping: { cat: @@ } } }\n    Cat: { required: [kind], properties: { kind: { type: string } } }",
    );
    error("unknown-mapping", &template, "Cta", "Cat");
    error(
        "unknown-mapping",
        &template,
        "\"#/components/schemas/Dog\"",
        "\"#/components/schemas/Cat\"",
    );
    assert_eq!(help(&template.replace("@@", "Cta")), "did you mean `Cat`?");
}

#[test]
fn tags_are_declared_where_there_is_a_list() {
    let template = OPERATION
        .replace("paths:", "tags: [{ name: pet }]\npaths:")
        .replace("@@", &ok("tags: [@@],"));
    warning("undeclared-tag", &template, "pets", "pet");
}

#[test]
fn links_mean_operations() {
    let template = OPERATION
        .replace(
            "@@",
            &ok("operationId: pet_view,")
                .replace("Done. }", "Done., links: { self: { operationId: @@ } } }"),
        )
        .replace("Done.,", "Done,");
    warning("unknown-operation", &template, "pet_veiw", "pet_view");
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

#[test]
fn every_diagnostic_comes_in_one_run() {
    let text =
        component("{ type: strin, minLenght: 3, pattern: \"(\", $ref: \"#/nowhere\", default: 1 }");
    let codes: Vec<String> = diagnostics(&text)
        .into_iter()
        .map(|(code, ..)| code)
        .collect();
    assert_eq!(
        codes,
        [
            "unknown-type",
            "misspelt-keyword",
            "bad-pattern",
            "dangling-ref"
        ]
    );
}

#[test]
fn what_is_said_of_many_places_in_the_same_words_is_shown_for_a_few() {
    let properties: String = (0..50)
        .map(|at| format!("        p{at}: {{ type: string, nullable: true }}\n"))
        .collect();
    let text = SCHEMA_31.replace(
        "@@",
        &format!(
            "\n                type: object\n                properties:\n{}",
            properties.replace("        p", "                  p")
        ),
    );
    let loaded = load_text("pets.yaml", text.as_bytes());
    assert_eq!(loaded.diagnostics.len(), 50);
    let printed = contract::render(&loaded.sources, &loaded.diagnostics);
    assert_eq!(printed.matches("--> pets.yaml:").count(), 3, "{printed}");
    assert!(printed.contains("= and 47 more: pets.yaml:"), "{printed}");
    for diagnostic in &loaded.diagnostics {
        let at = loaded.sources.line_column(diagnostic.span);
        assert!(
            printed.contains(&format!("{}:{}", at.line, at.column)),
            "{printed}"
        );
    }
    assert!(
        printed.ends_with("50 warnings\n") && printed.lines().all(|line| line.len() < 130),
        "{printed}"
    );
}
