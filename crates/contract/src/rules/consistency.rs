//! Rules about what the parts of a document say of each other.

use super::frames::{
    COMPONENT, CONTENT, FIELD, FIELD_32, INFO, OPERATION, PARAMETER, PATHS, RESPONSES, SCHEMA,
    SCHEME,
};
use super::{Rule, document};
use crate::diagnostic::Severity::{Error, Warning};
use crate::lint::LintSet::Correct;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "bad-email",
        set: Correct,
        severity: Warning,
        summary: "The e-mail address of the contact is none.",
        why: "Nobody can write to it.",
        example: document(
            &INFO,
            r#"{ title: Pets, version: "1", contact: { email: ⟦pets } }"#,
            r#"{ title: Pets, version: "1", contact: { email: pets@example.com } }"#,
        ),
    },
    Rule {
        code: "bad-url",
        set: Correct,
        severity: Warning,
        summary: "A field that holds a URL has something else.",
        why: "Readers and tools cannot follow it.",
        example: document(
            &INFO,
            r#"{ title: Pets, version: "1", contact: { url: ⟦www.example.com } }"#,
            r#"{ title: Pets, version: "1", contact: { url: https://www.example.com } }"#,
        ),
    },
    Rule {
        code: "empty-text",
        set: Correct,
        severity: Warning,
        summary: "The title or version of the document is empty.",
        why: "Both are required, and name what is generated.",
        example: document(
            &INFO,
            r#"{ title: ⟦"", version: "1" }"#,
            r#"{ title: Pets, version: "1" }"#,
        ),
    },
    Rule {
        code: "duplicate-server",
        set: Correct,
        severity: Warning,
        summary: "A server is listed twice.",
        why: "One of them probably has the wrong URL.",
        example: document(
            &FIELD,
            "servers: [{ url: /v1 }, { url: ⟦/v1 }]",
            "servers: [{ url: /v1 }, { url: /v2 }]",
        ),
    },
    Rule {
        code: "duplicate-server-variable",
        set: Correct,
        severity: Warning,
        summary: "The URL of a server has a variable twice, in OpenAPI 3.2.",
        why: "The standard forbids it since 3.2, and tools may replace only one of them.",
        example: document(
            &FIELD_32,
            "servers: [{ url: ⟦\"https://{region}.{region}.example.com\", variables: { region: { default: eu } } }]",
            "servers: [{ url: \"https://{region}.example.com\", variables: { region: { default: eu } } }]",
        ),
    },
    Rule {
        code: "unused-server-variable",
        set: Correct,
        severity: Warning,
        summary: "The URL of a server lacks a variable that the server declares.",
        why: "The variable has no effect.",
        example: document(
            &FIELD,
            r#"servers: [{ url: https://example.com, variables: { ⟦port: { default: "80" } } }]"#,
            r#"servers: [{ url: "https://example.com:{port}", variables: { port: { default: "80" } } }]"#,
        ),
    },
    Rule {
        code: "misspelt-scheme",
        set: Correct,
        severity: Warning,
        summary: "An HTTP security scheme is similar to a registered one.",
        why: "Clients do not know how to send the credential.",
        example: document(
            &SCHEME,
            "{ type: http, scheme: ⟦baerer }",
            "{ type: http, scheme: bearer }",
        ),
    },
    Rule {
        code: "bad-name",
        set: Correct,
        severity: Warning,
        summary: "A parameter or header has a name that no request can have.",
        why: "Nobody can send it.",
        example: document(
            &PARAMETER,
            r#"{ name: ⟦"X Pet", in: header, schema: {} }"#,
            "{ name: X-Pet, in: header, schema: {} }",
        ),
    },
    Rule {
        code: "bad-sunset",
        set: Correct,
        severity: Warning,
        summary: "An `x-sunset` or `x-deprecation` is no date.",
        why: "Nobody knows until when this can be used.",
        example: document(
            &OPERATION,
            r#"{ deprecated: true, x-sunset: ⟦soon, responses: { "204": { description: Done. } } }"#,
            r#"{ deprecated: true, x-sunset: "2030-01-31", responses: { "204": { description: Done. } } }"#,
        ),
    },
    Rule {
        code: "bad-stability",
        set: Correct,
        severity: Warning,
        summary: "An `x-stability` is none of `draft`, `beta` and `stable`.",
        why: "The operation counts as stable, so `diff` refuses changes that its author allows.",
        example: document(
            &OPERATION,
            r#"{ x-stability: ⟦betta, responses: { "204": { description: Done. } } }"#,
            r#"{ x-stability: beta, responses: { "204": { description: Done. } } }"#,
        ),
    },
    Rule {
        code: "sunset-before-deprecation",
        set: Correct,
        severity: Warning,
        summary: "An `x-sunset` is before the `x-deprecation` beside it.",
        why: "RFC 9745 forbids it: what has ended cannot become deprecated.",
        example: document(
            &OPERATION,
            r#"{ deprecated: true, x-deprecation: "2030-01-31", x-sunset: ⟦"2029-01-31", responses: { "204": { description: Done. } } }"#,
            r#"{ deprecated: true, x-deprecation: "2030-01-31", x-sunset: "2031-01-31", responses: { "204": { description: Done. } } }"#,
        ),
    },
    Rule {
        code: "undeprecated-sunset",
        set: Correct,
        severity: Warning,
        summary: "An `x-sunset` or `x-deprecation` is beside no `deprecated: true`.",
        why: "It has no effect: servers send no headers, and `diff` does not let it go.",
        example: document(
            &OPERATION,
            r#"{ x-sunset: ⟦"2030-01-31", responses: { "204": { description: Done. } } }"#,
            r#"{ deprecated: true, x-sunset: "2030-01-31", responses: { "204": { description: Done. } } }"#,
        ),
    },
    Rule {
        code: "bad-operation-id",
        set: Correct,
        severity: Warning,
        summary: "An operationId is a name that no language has.",
        why: "Each tool makes another name of it.",
        example: document(
            &OPERATION,
            r#"{ operationId: ⟦list all pets, responses: { "204": { description: Done. } } }"#,
            r#"{ operationId: list_all_pets, responses: { "204": { description: Done. } } }"#,
        ),
    },
    Rule {
        code: "missing-success",
        set: Correct,
        severity: Warning,
        summary: "An operation has only responses to requests that fail.",
        why: "Nobody knows what a successful call returns.",
        example: document(
            &OPERATION,
            r#"{ ⟦responses: { "404": { description: Not found. } } }"#,
            r#"{ responses: { "200": { description: Found. } } }"#,
        ),
    },
    Rule {
        code: "integer-status",
        set: Correct,
        severity: Warning,
        summary: "A status is an integer in YAML.",
        why: "The standard has strings, and strict readers of YAML reject integers as keys. Reported once for a document.",
        example: document(
            &RESPONSES,
            "200: { description: All pets. }",
            r#""200": { description: All pets. }"#,
        ),
    },
    Rule {
        code: "bad-expression",
        set: Correct,
        severity: Warning,
        summary: "A runtime expression cannot be read, names what does not exist, or is the URL of a callback and no string.",
        why: "The callback or link leads nowhere. Headers that IANA registers as permanent, such as `Location`, and those that proxies set, such as `X-Forwarded-For`, need no declaration.",
        example: document(
            &OPERATION,
            r#"{ parameters: [{ name: url, in: query, schema: {} }], responses: { "204": { description: Done. } }, callbacks: { born: { ⟦"{$request.query.uri}": { post: { responses: { "204": { description: Done. } } } } } } }"#,
            r#"{ parameters: [{ name: url, in: query, schema: {} }], responses: { "204": { description: Done. } }, callbacks: { born: { "{$request.query.url}": { post: { responses: { "204": { description: Done. } } } } } } }"#,
        ),
    },
    Rule {
        code: "unknown-link-parameter",
        set: Correct,
        severity: Warning,
        summary: "A link names a parameter that its operation does not have.",
        why: "The parameter is sent to nobody.",
        example: document(
            &OPERATION,
            r#"{ operationId: list, responses: { "204": { description: Done., links: { again: { operationId: list, parameters: { ⟦pag: 1 } } } } }, parameters: [{ name: page, in: query, schema: {} }] }"#,
            r#"{ operationId: list, responses: { "204": { description: Done., links: { again: { operationId: list, parameters: { page: 1 } } } } }, parameters: [{ name: page, in: query, schema: {} }] }"#,
        ),
    },
    Rule {
        code: "bad-link-value",
        set: Correct,
        severity: Warning,
        summary: "A link gives a parameter or request body a value that the operation refuses.",
        why: "Who follows the link gets an error. Constants are validated; of expressions, only values are reported whose type or format can never be right.",
        example: document(
            &OPERATION,
            r#"{ operationId: list, responses: { "204": { description: Done., links: { next: { operationId: list, parameters: { page: ⟦many } } } } }, parameters: [{ name: page, in: query, schema: { type: integer } }] }"#,
            r#"{ operationId: list, responses: { "204": { description: Done., links: { next: { operationId: list, parameters: { page: 2 } } } } }, parameters: [{ name: page, in: query, schema: { type: integer } }] }"#,
        ),
    },
    Rule {
        code: "overlapping-paths",
        set: Correct,
        severity: Warning,
        summary: "Two paths match the same request, and neither is more specific.",
        why: "Tools may choose either.",
        example: document(
            &PATHS,
            r#"/{kind}/mine: { get: { parameters: [{ name: kind, in: path, required: true, schema: {} }], responses: { "204": { description: Done. } } } }
  ⟦/pets/{id}: { get: { parameters: [{ name: id, in: path, required: true, schema: {} }], responses: { "204": { description: Done. } } } }"#,
            r#"/pets/mine: { get: { responses: { "204": { description: Done. } } } }
  /pets/{id}: { get: { parameters: [{ name: id, in: path, required: true, schema: {} }], responses: { "204": { description: Done. } } } }"#,
        ),
    },
    Rule {
        code: "similar-names",
        set: Correct,
        severity: Warning,
        summary: "Two properties, parameters, headers or operation ids differ only by case or separators.",
        why: "In generated code they differ by a number alone.",
        example: document(
            &SCHEMA,
            "{ properties: { petId: {}, ⟦pet_id: {} } }",
            "{ properties: { petId: {} } }",
        ),
    },
    Rule {
        code: "duplicate-media-type",
        set: Correct,
        severity: Warning,
        summary: "Two media types of a body differ only by case or spaces.",
        why: "They are the same media type, so a body of it is read by only one of the schemas.",
        example: document(
            &CONTENT,
            "{ application/json: {}, Application/JSON: ⟦{} }",
            "{ application/json: {}, application/cbor: {} }",
        ),
    },
    Rule {
        code: "wrong-ref-kind",
        set: Correct,
        severity: Error,
        summary: "A reference leads to another kind of component than is wanted.",
        why: "What is there has other fields, so nothing of it applies.",
        example: document(
            &CONTENT,
            r##"application/json: { schema: { $ref: ⟦"#/paths/~1pets" } }"##,
            "application/json: { schema: { type: object } }",
        ),
    },
    Rule {
        code: "bound-beyond-format",
        set: Correct,
        severity: Warning,
        summary: "A bound is beyond the range of the schema's format.",
        why: "No value of the format reaches it.",
        example: document(
            &SCHEMA,
            "{ type: integer, format: int32, maximum: ⟦3000000000 }",
            "{ type: integer, format: int64, maximum: 3000000000 }",
        ),
    },
    Rule {
        code: "closed-part",
        set: Correct,
        severity: Warning,
        summary: "A part of `allOf` declares a property that a closed part forbids.",
        why: "No value has the property: `additionalProperties` knows only the properties beside it.",
        example: document(
            &SCHEMA,
            "{ allOf: [{ properties: { a: {} } }, { properties: { b: {} }, ⟦additionalProperties: false }] }",
            "{ allOf: [{ properties: { a: {} } }, { properties: { b: {} } }], unevaluatedProperties: false }",
        ),
    },
    Rule {
        code: "duplicate-branch",
        set: Correct,
        severity: Warning,
        summary: "A composition has the same schema twice.",
        why: "It says nothing new, and `oneOf` rejects what two branches accept.",
        example: document(
            &SCHEMA,
            "{ oneOf: [{ type: string }, ⟦{ type: string }] }",
            "{ oneOf: [{ type: string }, { type: integer }] }",
        ),
    },
    Rule {
        code: "overlapping-branches",
        set: Correct,
        severity: Warning,
        summary: "Two branches of a `oneOf` accept the same value, which is shown.",
        why: "The `oneOf` rejects the value, although it fits what a branch describes. \
            A `oneOf` with a discriminator is not looked at, because its property chooses the branch, \
            nor are branches that only say which properties are required.",
        example: document(
            &SCHEMA,
            "{ oneOf: [{ type: number }, ⟦{ type: integer, minimum: 1 }] }",
            "{ oneOf: [{ type: string }, { type: integer, minimum: 1 }] }",
        ),
    },
    Rule {
        code: "duplicate-type",
        set: Correct,
        severity: Warning,
        summary: "A type is listed twice.",
        why: "The list must have each type once.",
        example: document(
            &SCHEMA,
            "{ type: [string, ⟦string] }",
            r#"{ type: [string, "null"] }"#,
        ),
    },
    Rule {
        code: "empty-composition",
        set: Correct,
        severity: Warning,
        summary: "An `allOf`, `anyOf` or `oneOf` has no schema.",
        why: "The standard requires at least one, and without any nothing fits.",
        example: document(&SCHEMA, "{ ⟦anyOf: [] }", "{ anyOf: [{ type: string }] }"),
    },
    Rule {
        code: "discriminator-property",
        set: Correct,
        severity: Warning,
        summary: "A branch lacks the property of its discriminator, does not require it, or has it as no scalar.",
        why: "Without the property, nothing says which branch a value is of.",
        example: document(
            &COMPONENT,
            r##"{ oneOf: [⟦{ $ref: "#/components/schemas/Dog" }], discriminator: { propertyName: kind } }
    Dog: { properties: { kind: { type: string } } }"##,
            r##"{ oneOf: [{ $ref: "#/components/schemas/Dog" }], discriminator: { propertyName: kind } }
    Dog: { required: [kind], properties: { kind: { type: string } } }"##,
        ),
    },
    Rule {
        code: "discriminator-value",
        set: Correct,
        severity: Warning,
        summary: "A branch allows no value of the discriminator's property that chooses it.",
        why: "Each value of the branch is taken for another one, unless a constant of its own tells each branch apart.",
        example: document(
            &COMPONENT,
            r##"{ oneOf: [⟦{ $ref: "#/components/schemas/Dog" }], discriminator: { propertyName: kind } }
    Dog: { required: [kind], properties: { kind: { const: dog } } }"##,
            r##"{ oneOf: [{ $ref: "#/components/schemas/Dog" }], discriminator: { propertyName: kind, mapping: { dog: Dog } } }
    Dog: { required: [kind], properties: { kind: { const: dog } } }"##,
        ),
    },
    Rule {
        code: "mapping-no-branch",
        set: Correct,
        severity: Warning,
        summary: "The mapping of a discriminator leads to a schema that is no branch, or does not extend the base schema.",
        why: "A value of it is chosen and then rejected.",
        example: document(
            &COMPONENT,
            r##"{ oneOf: [{ $ref: "#/components/schemas/Dog" }], discriminator: { propertyName: kind, mapping: { dog: Dog, cow: ⟦Cow } } }
    Dog: { required: [kind], properties: { kind: { type: string } } }
    Cow: { required: [kind], properties: { kind: { type: string } } }"##,
            r##"{ oneOf: [{ $ref: "#/components/schemas/Dog" }], discriminator: { propertyName: kind, mapping: { dog: Dog } } }
    Dog: { required: [kind], properties: { kind: { type: string } } }"##,
        ),
    },
    Rule {
        code: "bad-license",
        set: Correct,
        severity: Warning,
        summary: "The identifier of a license is no license expression of SPDX.",
        why: "Tools that collect licenses do not know which one it is.",
        example: document(
            &INFO,
            r#"{ title: Pets, version: "1", license: { name: MIT, identifier: ⟦The MIT License } }"#,
            r#"{ title: Pets, version: "1", license: { name: MIT, identifier: MIT } }"#,
        ),
    },
];
