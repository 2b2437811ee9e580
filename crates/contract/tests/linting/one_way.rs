//! Required properties that only requests or only responses have.

use contract::load_text;

use crate::{SCHEMA_31, diagnostics, warning};

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
fn a_property_can_be_read_only_by_its_reference() {
    let property = r##"{ type: object, required: [id], properties: { ⟦id: { $ref: "#/components/schemas/Id" } } }"##;
    let optional = property.replace("required: [id], ", "").replace('⟦', "");
    for version in ["3.0.3", "3.1.0"] {
        let template = taking(version)
            + "components: { schemas: { Id: { $ref: \"#/components/schemas/Text\" }, Text: { type: string, readOnly: true } } }\n";
        warning("one-way-required", &template, property, &optional);
    }
}

#[test]
fn a_property_can_be_read_only_by_a_part_of_it() {
    let property = r##"{ type: object, required: [id], properties: { ⟦id: { allOf: [{ type: string }, { $ref: "#/components/schemas/Mark" }] } } }"##;
    let optional = property.replace("required: [id], ", "").replace('⟦', "");
    for version in ["3.0.3", "3.1.0"] {
        let template = taking(version)
            + "components: { schemas: { Mark: { allOf: [{ readOnly: true }] } } }\n";
        warning("one-way-required", &template, property, &optional);
        // A branch of an `anyOf` may be another one.
        let any = property.replace("allOf: [{ type", "anyOf: [{ type");
        let text = template.replace("@@", &any.replace('⟦', ""));
        assert_eq!(diagnostics(&text), vec![]);
    }
}

#[test]
fn required_properties_travel_in_callbacks() {
    let template = r#"openapi: 3.0.3
info: { title: Pets, version: "1" }
paths:
  /pets:
    post:
      parameters: [{ name: url, in: query, schema: { type: string } }]
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
        // The API sends this request.
        "{ type: object, required: [id], properties: { ⟦id: { type: string, writeOnly: true } } }",
        "{ type: object, required: [id], properties: { id: { type: string, readOnly: true } } }",
    );
}
