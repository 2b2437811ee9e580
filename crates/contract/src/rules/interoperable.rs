//! Rules of the set `interoperable`.

use super::frames::{COMPONENT, OPERATION, PARAMETER, PATHS, SCHEMA, SCHEMA_30, SCHEME};
use super::{Rule, document};
use crate::diagnostic::Severity::Warning;
use crate::lint::LintSet::Interoperable;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "missing-items",
        set: Interoperable,
        severity: Warning,
        summary: "An array has no `items`.",
        why: "OpenAPI 3.0 requires them, and many tools of later versions too.",
        example: document(&SCHEMA, "{ ⟦type: array }", "{ type: array, items: {} }"),
    },
    Rule {
        code: "unknown-format",
        set: Interoperable,
        severity: Warning,
        summary: "No standard has such a format.",
        why: "Most tools ignore it.",
        example: document(
            &SCHEMA,
            "{ type: string, format: ⟦shoe-size }",
            "{ type: string, format: date }",
        ),
    },
    Rule {
        code: "several-types",
        set: Interoperable,
        severity: Warning,
        summary: "A schema has several types beside null.",
        why: "Many tools read only one.",
        example: document(
            &SCHEMA,
            "{ ⟦type: [string, integer] }",
            r#"{ type: [string, "null"] }"#,
        ),
    },
    Rule {
        code: "similar-components",
        set: Interoperable,
        severity: Warning,
        summary: "Two component schemas differ only by case or separators in their names.",
        why: "Tools write a file or type for each, and one overwrites the other.",
        example: document(
            &COMPONENT,
            r##"{ properties: { a: { $ref: "#/components/schemas/pet" } } }
    ⟦pet: {}"##,
            r##"{ properties: { a: { $ref: "#/components/schemas/Dog" } } }
    Dog: {}"##,
        ),
    },
    Rule {
        code: "shared-name",
        set: Interoperable,
        severity: Warning,
        summary: "Two parameters of an operation have one name in different locations.",
        why: "In most languages they are arguments of one function.",
        example: document(
            &OPERATION,
            r#"{ parameters: [{ name: a, in: query, schema: {} }, ⟦{ name: a, in: header, schema: {} }], responses: { "204": { description: Done. } } }"#,
            r#"{ parameters: [{ name: a, in: query, schema: {} }, { name: b, in: header, schema: {} }], responses: { "204": { description: Done. } } }"#,
        ),
    },
    Rule {
        code: "undefined-style",
        set: Interoperable,
        severity: Warning,
        summary: "The standard does not say how a style writes values of the parameter, or of the property of a form.",
        why: "Each tool writes them in its own way.",
        example: document(
            &PARAMETER,
            "{ name: a, in: query, style: pipeDelimited, schema: { type: string } }",
            "{ name: a, in: query, style: pipeDelimited, explode: false, schema: { type: array, items: { type: string } } }",
        ),
    },
    Rule {
        code: "binary-in-json",
        set: Interoperable,
        severity: Warning,
        summary: "A string in JSON has `format: binary`, and no `contentEncoding`.",
        why: "JSON cannot hold bytes as they are: some tools write Base64, others any text.",
        example: document(
            &SCHEMA_30,
            "{ type: string, format: ⟦binary }",
            "{ type: string, format: byte }",
        ),
    },
    Rule {
        code: "api-key-authorization",
        set: Interoperable,
        severity: Warning,
        summary: "A key is sent in the header `Authorization`.",
        why: "By HTTP a scheme such as `Bearer` stands in front of a credential there; some tools write it, others do not, and others leave the header out.",
        example: document(
            &SCHEME,
            "⟦{ type: apiKey, in: header, name: Authorization }",
            "{ type: apiKey, in: header, name: X-API-Key }",
        ),
    },
    Rule {
        code: "unknown-http-scheme",
        set: Interoperable,
        severity: Warning,
        summary: "A scheme of `type: http` is not in IANA's registry of HTTP authentication schemes.",
        why: "OpenAPI recommends registered ones, and tools know few others.",
        example: document(
            &SCHEME,
            "{ type: http, scheme: berer }",
            "{ type: http, scheme: bearer }",
        ),
    },
    Rule {
        code: "unusual-path",
        set: Interoperable,
        severity: Warning,
        summary: "A path has an empty segment, a query, parameters side by side, or characters that URLs encode.",
        why: "Tools match such paths differently.",
        example: document(
            &PATHS,
            r#"⟦/pets//all: { get: { responses: { "204": { description: Done. } } } }"#,
            r#"/pets/all: { get: { responses: { "204": { description: Done. } } } }"#,
        ),
    },
    Rule {
        code: "ignored-text",
        set: Interoperable,
        severity: Warning,
        summary: "A text stands beside a `$ref`, in OpenAPI 3.0.",
        why: "The standard ignores what is beside `$ref`, and only some tools show the text.",
        example: document(
            &SCHEMA_30,
            r##"{ properties: { a: { $ref: "#/components/schemas/A", ⟦description: The first. } } }
components: { schemas: { A: { type: string } } }"##,
            r##"{ properties: { a: { allOf: [{ $ref: "#/components/schemas/A" }], description: The first. } } }
components: { schemas: { A: { type: string } } }"##,
        ),
    },
    Rule {
        code: "two-examples",
        set: Interoperable,
        severity: Warning,
        summary: "A schema has both `example` and `examples`.",
        why: "The first is deprecated since OpenAPI 3.1, and tools show one of them.",
        example: document(
            &SCHEMA,
            "{ type: integer, ⟦example: 1, examples: [2] }",
            "{ type: integer, examples: [1, 2] }",
        ),
    },
    Rule {
        code: "unknown-encoding",
        set: Interoperable,
        severity: Warning,
        summary: "A `contentEncoding` is not one of RFC 2045 and RFC 4648.",
        why: "Most tools ignore it.",
        example: document(
            &SCHEMA,
            "{ type: string, contentEncoding: ⟦base46 }",
            "{ type: string, contentEncoding: base64 }",
        ),
    },
];
