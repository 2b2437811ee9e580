//! Rules about fields and keywords: unknown, misspelt, of another version or of the wrong type.

use super::frames::{CONTENT_32, DOCUMENT, FIELD_32, OPERATION, PARAMETER, SCHEMA, SCHEMA_30};
use super::{Rule, document};
use crate::diagnostic::Severity::{Error, Warning};
use crate::lint::LintSet::Correct;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "swagger-2",
        set: Correct,
        severity: Error,
        summary: "The document is written in Swagger 2.0.",
        why: "OpenAPI 3 says most things in other places, so nothing of it could be read.",
        example: document(
            &DOCUMENT,
            "{ ⟦swagger: \"2.0\", info: { title: Pets, version: \"1\" }, paths: {} }",
            "{ openapi: 3.1.0, info: { title: Pets, version: \"1\" }, paths: {} }",
        ),
    },
    Rule {
        code: "missing-version",
        set: Correct,
        severity: Error,
        summary: "The document does not say which version of OpenAPI it is written in.",
        why: "The same keywords mean different things in 3.0 and 3.1.",
        example: document(
            &DOCUMENT,
            "{ info: { title: Pets, version: \"1\" }, paths: {} }",
            "{ openapi: 3.1.0, info: { title: Pets, version: \"1\" }, paths: {} }",
        ),
    },
    Rule {
        code: "unsupported-version",
        set: Correct,
        severity: Error,
        summary: "The document is written in a version of OpenAPI that is not read, or the version is not spelt out.",
        why: "What a newer version adds would be lost without a word.",
        example: document(
            &DOCUMENT,
            "{ openapi: ⟦3.1, info: { title: Pets, version: \"1\" }, paths: {} }",
            "{ openapi: 3.1.0, info: { title: Pets, version: \"1\" }, paths: {} }",
        ),
    },
    Rule {
        code: "wrong-dialect",
        set: Correct,
        severity: Error,
        summary: "A keyword or value belongs to another version of OpenAPI than the document's.",
        why: "Tools for the document's version ignore it, so it does not say what its author means.",
        example: document(
            &SCHEMA,
            "{ exclusiveMinimum: ⟦true, minimum: 3 }",
            "{ exclusiveMinimum: 3 }",
        ),
    },
    Rule {
        code: "misspelt-keyword",
        set: Correct,
        severity: Error,
        summary: "An object has no such field, but one of a similar name.",
        why: "A misspelt keyword has no effect, and nobody notices.",
        example: document(
            &SCHEMA,
            "{ type: string, ⟦minLenght: 3 }",
            "{ type: string, minLength: 3 }",
        ),
    },
    Rule {
        code: "misspelt-section",
        set: Correct,
        severity: Error,
        summary: "The document or `components` has no such section, but one of a similar name.",
        why: "Every reference into the section would lead nowhere; the section is read as the one that is meant, so that these are not reported too.",
        example: document(
            &DOCUMENT,
            "{ openapi: 3.1.0, info: { title: Pets, version: \"1\" }, ⟦path: {} }",
            "{ openapi: 3.1.0, info: { title: Pets, version: \"1\" }, paths: {} }",
        ),
    },
    Rule {
        code: "unknown-keyword",
        set: Correct,
        severity: Warning,
        summary: "An object has no such field.",
        why: "The field has no effect; what is meant for people or tools of your own begins with `x-`.",
        example: document(
            &SCHEMA,
            "{ type: string, ⟦colour: red }",
            "{ type: string, x-colour: red }",
        ),
    },
    Rule {
        code: "idle-keyword",
        set: Correct,
        severity: Warning,
        summary: "A keyword, format or field has no effect where it stands, as one about values of another type than the schema's.",
        why: "It has no effect: `minLength` does not bound an integer.",
        example: document(
            &SCHEMA,
            "{ type: integer, ⟦minLength: 3 }",
            "{ type: integer, minimum: 3 }",
        ),
    },
    Rule {
        code: "ignored-keyword",
        set: Correct,
        severity: Warning,
        summary: "A field is deprecated and has no effect.",
        why: "`allowEmptyValue` is ignored by most tools: an empty value must match the schema anyway.",
        example: document(
            &PARAMETER,
            "{ name: page, in: query, ⟦allowEmptyValue: true, schema: { type: string } }",
            "{ name: page, in: query, schema: { type: string } }",
        ),
    },
    Rule {
        code: "unsupported-keyword",
        set: Correct,
        severity: Error,
        summary: "A combination of keywords is right, but not supported here.",
        why: "Ignoring one of them would accept values that the contract forbids.",
        example: document(
            &SCHEMA,
            "{ $defs: { a: { $dynamicAnchor: a } }, ⟦$dynamicRef: \"#a\", $ref: \"#/paths/~1pets/get/responses/200/content/application~1json/schema/$defs/a\" }",
            "{ $defs: { a: { $dynamicAnchor: a } }, allOf: [{ $ref: \"#/paths/~1pets/get/responses/200/content/application~1json/schema/$defs/a\" }] }",
        ),
    },
    Rule {
        code: "missing-keyword",
        set: Correct,
        severity: Error,
        summary: "An object lacks a field that it needs.",
        why: "The standard requires it, and without it the object means nothing.",
        example: document(
            &PARAMETER,
            "{ name: page, schema: { type: string } }",
            "{ name: page, in: query, schema: { type: string } }",
        ),
    },
    Rule {
        code: "wrong-type",
        set: Correct,
        severity: Error,
        summary: "A value has another type than its field, such as a string in place of a number.",
        why: "Readers differ in what they make of it, from refusing the document to ignoring the field.",
        example: document(&SCHEMA, "{ minLength: ⟦\"3\" }", "{ minLength: 3 }"),
    },
    Rule {
        code: "contradicting-fields",
        set: Correct,
        severity: Error,
        summary: "Two fields of an object exclude each other.",
        why: "Each tool would follow another one of them. What is `readOnly` and `writeOnly`, in one schema or by its parts, is a warning.",
        example: document(
            &CONTENT_32,
            "application/json: { schema: {}, examples: { A: { value: a, ⟦dataValue: a } } }",
            "application/json: { schema: {}, examples: { A: { dataValue: a } } }",
        ),
    },
    Rule {
        code: "bad-self",
        set: Correct,
        severity: Error,
        summary: "`$self` is no address of a whole document.",
        why: "References to the document are resolved against it.",
        example: document(
            &FIELD_32,
            "$self: ⟦https://example.com/pets.yaml#pets",
            "$self: https://example.com/pets.yaml",
        ),
    },
    Rule {
        code: "missing-responses",
        set: Correct,
        severity: Error,
        summary: "An operation has no responses.",
        why: "Callers cannot know what they get.",
        example: document(
            &OPERATION,
            "{ ⟦responses: {} }",
            "{ responses: { \"204\": { description: Done. } } }",
        ),
    },
    Rule {
        code: "ignored-sibling",
        set: Correct,
        severity: Warning,
        summary: "A field beside `$ref` has no effect.",
        why: "In OpenAPI 3.0, and beside references to other objects than schemas, a reference stands for the whole object.",
        example: document(
            &SCHEMA_30,
            "{ properties: { a: { type: string }, b: { $ref: \"#/paths/~1pets/get/responses/200/content/application~1json/schema/properties/a\", ⟦maxLength: 3 } } }",
            "{ properties: { a: { type: string }, b: { $ref: \"#/paths/~1pets/get/responses/200/content/application~1json/schema/properties/a\" } } }",
        ),
    },
];
