//! Path templates and their parameters.

use crate::{OK, OPERATION, diagnostics, error, help, ok};

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
    // One finding for both names.
    assert_eq!(found, ["path-parameter-unused"]);
    assert_eq!(help(&operation), "did you mean `petid`?");
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
    error("duplicate-template-name", template, "/{b}/⟦{b}", "/{b}/{c}");
}
