//! The texts around the examples of the rules.

use super::Frame;

pub(super) static DOCUMENT: Frame = Frame {
    file: "openapi.yaml",
    place: "the document",
    text: "@@",
};

pub(super) static JSON: Frame = Frame {
    file: "openapi.json",
    place: "a field of a JSON document",
    text: r#"{ "openapi": "3.1.0", "info": { "title": "Pets", "version": "1" }, "paths": {}, @@ }"#,
};

pub(super) static INFO: Frame = Frame {
    file: "openapi.yaml",
    place: "the info object",
    text: r#"openapi: 3.1.0
info: @@
paths: { /pets: { get: { responses: { "204": { description: Done. } } } } }
"#,
};

pub(super) static FIELD: Frame = Frame {
    file: "openapi.yaml",
    place: "a field of the document",
    text: r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
@@
paths: { /pets: { get: { responses: { "204": { description: Done. } } } } }
"#,
};

pub(super) static FIELD_32: Frame = Frame {
    file: "openapi.yaml",
    place: "a field of the document, of OpenAPI 3.2",
    text: r#"openapi: 3.2.0
info: { title: Pets, version: "1" }
@@
paths: { /pets: { get: { responses: { "204": { description: Done. } } } } }
"#,
};

pub(super) static PATHS: Frame = Frame {
    file: "openapi.yaml",
    place: "`paths`",
    text: r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  @@
"#,
};

pub(super) static PATHS_32: Frame = Frame {
    file: "openapi.yaml",
    place: "`paths`, of OpenAPI 3.2",
    text: r#"openapi: 3.2.0
info: { title: Pets, version: "1" }
paths:
  @@
"#,
};

pub(super) static OPERATION: Frame = Frame {
    file: "openapi.yaml",
    place: "the operation `GET /pets`",
    text: r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  /pets:
    get: @@
"#,
};

pub(super) static PARAMETER: Frame = Frame {
    file: "openapi.yaml",
    place: "a parameter of `GET /pets`",
    text: r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  /pets:
    get:
      parameters:
        - @@
      responses: { "204": { description: Done. } }
"#,
};

pub(super) static PARAMETER_32: Frame = Frame {
    file: "openapi.yaml",
    place: "a parameter of `GET /pets`, of OpenAPI 3.2",
    text: r#"openapi: 3.2.0
info: { title: Pets, version: "1" }
paths:
  /pets:
    get:
      parameters:
        - @@
      responses: { "204": { description: Done. } }
"#,
};

pub(super) static RESPONSES: Frame = Frame {
    file: "openapi.yaml",
    place: "the `responses` of an operation",
    text: r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  /pets:
    get:
      operationId: pet_list
      responses:
        @@
"#,
};

pub(super) static CONTENT: Frame = Frame {
    file: "openapi.yaml",
    place: "the `content` of a response",
    text: r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  /pets:
    get:
      responses:
        "200":
          description: All pets.
          content:
            @@
"#,
};

pub(super) static CONTENT_32: Frame = Frame {
    file: "openapi.yaml",
    place: "the `content` of a response, of OpenAPI 3.2",
    text: r#"openapi: 3.2.0
info: { title: Pets, version: "1" }
paths:
  /pets:
    get:
      responses:
        "200":
          description: All pets.
          content:
            @@
"#,
};

pub(super) static SCHEMA: Frame = Frame {
    file: "openapi.yaml",
    place: "the schema of a response",
    text: r#"openapi: 3.1.0
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
"#,
};

pub(super) static SCHEMA_30: Frame = Frame {
    file: "openapi.yaml",
    place: "the schema of a response, of OpenAPI 3.0",
    text: r#"openapi: 3.0.3
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
"#,
};

pub(super) static REQUEST: Frame = Frame {
    file: "openapi.yaml",
    place: "the schema of a request body",
    text: r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  /pets:
    post:
      requestBody: { required: true, content: { application/json: { schema: @@ } } }
      responses: { "204": { description: Done. } }
"#,
};

pub(super) static COMPONENT: Frame = Frame {
    file: "openapi.yaml",
    place: "the component `Pet`, which a response has",
    text: r##"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths:
  /pets:
    get:
      responses:
        "200":
          description: A pet.
          content: { application/json: { schema: { $ref: "#/components/schemas/Pet" } } }
components:
  schemas:
    Pet: @@
"##,
};

pub(super) static SECURITY: Frame = Frame {
    file: "openapi.yaml",
    place: "the requirement of a security scheme",
    text: r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
security: [{ @@ }]
paths: { /pets: { get: { responses: { "204": { description: Done. } } } } }
components:
  securitySchemes:
    token: { type: oauth2, flows: { clientCredentials: { tokenUrl: https://example.com/token, scopes: { read: Read. } } } }
"#,
};

pub(super) static SCHEME: Frame = Frame {
    file: "openapi.yaml",
    place: "a security scheme",
    text: r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
security: [{ key: [] }]
paths: { /pets: { get: { responses: { "204": { description: Done. } } } } }
components: { securitySchemes: { key: @@ } }
"#,
};

pub(super) static PAGING: Frame = Frame {
    file: "openapi.yaml",
    place: "a document with lists in pages",
    text: r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
x-paging: { start_after: after, page_size: @@, items: pets, key: id }
paths:
  /pets:
    get:
      parameters:
        - { name: after, in: query, schema: { type: string } }
        - { name: size, in: query, schema: { type: integer } }
      responses:
        "200":
          description: A page.
          content:
            application/json:
              schema: { properties: { pets: { items: { properties: { id: {} } } } } }
"#,
};

/// The document that the overlays of examples are applied to.
pub(super) const OVERLAID: &str = r#"openapi: 3.1.0
info: { title: Pets, version: "1" }
paths: {}
x-data: { pets: 1, names: [a, b] }
"#;

pub(super) static OVERLAY: Frame = Frame {
    file: "overlay.yaml",
    place: "an overlay",
    text: "@@",
};

pub(super) static ACTION: Frame = Frame {
    file: "overlay.yaml",
    place: "an action of an overlay",
    text: r#"overlay: 1.1.0
info: { title: Changes, version: "1" }
actions:
  - @@
"#,
};

pub(super) static ACTION_10: Frame = Frame {
    file: "overlay.yaml",
    place: "an action of an overlay, of Overlay 1.0",
    text: r#"overlay: 1.0.0
info: { title: Changes, version: "1" }
actions:
  - @@
"#,
};
