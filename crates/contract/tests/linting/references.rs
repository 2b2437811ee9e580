//! References, and what refers by a name: mappings, links and components that nothing refers to.

use contract::Severity;

use crate::{OPERATION, component, diagnostics, error, help, ok, place, warning};

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
fn recursive_schemas_are_fine() {
    let text =
        component("{ properties: { friends: { items: { $ref: \"#/components/schemas/Pet\" } } } }");
    assert_eq!(diagnostics(&text), vec![]);
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
        "a discriminator implies the schemas that inherit from its schema"
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
