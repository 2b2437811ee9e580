//! Rules about schemas whose keywords contradict each other, patterns and formats.

use super::frames::{COMPONENT, REQUEST, SCHEMA, SCHEMA_30};
use super::{Rule, document};
use crate::diagnostic::Severity::{Error, Warning};
use crate::lint::LintSet::Correct;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "unknown-type",
        set: Correct,
        severity: Error,
        summary: "There is no such type.",
        why: "JSON Schema has seven types, and no value has another one.",
        example: document(&SCHEMA, "{ type: ⟦int }", "{ type: integer }"),
    },
    Rule {
        code: "misspelt-format",
        set: Correct,
        severity: Warning,
        summary: "A format looks like a known one.",
        why: "An unknown format is not checked, and its values are plain strings.",
        example: document(&SCHEMA, "{ format: ⟦datetime }", "{ format: date-time }"),
    },
    Rule {
        code: "bad-pattern",
        set: Correct,
        severity: Error,
        summary: "A pattern is no regular expression of ECMA 262.",
        why: "It matches nothing, or each tool reads it differently.",
        example: document(
            &SCHEMA,
            "{ pattern: ⟦\"^[a-\" }",
            "{ pattern: \"^[a-z]$\" }",
        ),
    },
    Rule {
        code: "impossible-bounds",
        set: Correct,
        severity: Error,
        summary: "A lower bound is above its upper bound, or `multipleOf` is not above zero.",
        why: "No value is within such bounds.",
        example: document(
            &SCHEMA,
            "{ minimum: ⟦5, maximum: 4 }",
            "{ minimum: 4, maximum: 5 }",
        ),
    },
    Rule {
        code: "impossible-schema",
        set: Correct,
        severity: Warning,
        summary: "No value fits a schema.",
        why: "A message with such a part can never be sent.",
        example: document(
            &SCHEMA,
            "{ ⟦allOf: [{ type: integer }, { type: string }] }",
            "{ anyOf: [{ type: integer }, { type: string }] }",
        ),
    },
    Rule {
        code: "endless-schema",
        set: Correct,
        severity: Warning,
        summary: "A schema requires another value of its own within itself, without end.",
        why: "No finite value is valid.",
        example: document(
            &COMPONENT,
            "{ type: object, required: [friend], properties: { ⟦friend: { $ref: \"#/components/schemas/Pet\" } } }",
            "{ type: object, properties: { friend: { $ref: \"#/components/schemas/Pet\" } } }",
        ),
    },
    Rule {
        code: "impossible-required",
        set: Correct,
        severity: Warning,
        summary: "A required property is forbidden by `additionalProperties: false`.",
        why: "No object is valid.",
        example: document(
            &SCHEMA,
            "{ properties: { name: {} }, required: [⟦size], additionalProperties: false }",
            "{ properties: { name: {} }, required: [name], additionalProperties: false }",
        ),
    },
    Rule {
        code: "undeclared-required",
        set: Correct,
        severity: Warning,
        summary: "`required` or `dependentRequired` names a property that is not declared.",
        why: "A misspelt name requires a property that nobody sends.",
        example: document(
            &SCHEMA,
            "{ properties: { name: {} }, required: [⟦nmae] }",
            "{ properties: { name: {} }, required: [name] }",
        ),
    },
    Rule {
        code: "duplicate-required",
        set: Correct,
        severity: Warning,
        summary: "`required` names a property twice.",
        why: "The standard forbids it; another name was probably meant.",
        example: document(
            &SCHEMA,
            "{ properties: { name: {} }, required: [name, ⟦name] }",
            "{ properties: { name: {} }, required: [name] }",
        ),
    },
    Rule {
        code: "empty-enum",
        set: Correct,
        severity: Warning,
        summary: "An `enum` lists no value.",
        why: "No value is valid.",
        example: document(&SCHEMA, "{ enum: ⟦[] }", "{ enum: [a] }"),
    },
    Rule {
        code: "duplicate-enum",
        set: Correct,
        severity: Warning,
        summary: "An `enum` lists a value twice.",
        why: "Another value was probably meant.",
        example: document(&SCHEMA, "{ enum: [a, ⟦a] }", "{ enum: [a, b] }"),
    },
    Rule {
        code: "nullable-enum",
        set: Correct,
        severity: Warning,
        summary: "A nullable schema lists its values, and null is not among them.",
        why: "By the standard null is not valid then, although the schema says `nullable: true`.",
        example: document(
            &SCHEMA_30,
            "{ type: string, enum: [a], ⟦nullable: true }",
            "{ type: string, enum: [a, null], nullable: true }",
        ),
    },
    Rule {
        code: "one-way-required",
        set: Correct,
        severity: Warning,
        summary: "A property is required, but sent in the other direction only.",
        why: "A request must contain a property that only the server may set, or a response one that it never shows.",
        example: document(
            &REQUEST,
            "{ type: object, required: [id], properties: { ⟦id: { type: string, readOnly: true } } }",
            "{ type: object, properties: { id: { type: string, readOnly: true } } }",
        ),
    },
    Rule {
        code: "bad-xml",
        set: Correct,
        severity: Warning,
        summary: "The `xml` of a schema has a name that XML does not have, or a field without effect.",
        why: "Tools differ in what they write, from nothing to a document that cannot be read.",
        example: document(
            &SCHEMA,
            "{ type: string, xml: { wrapped: ⟦true } }",
            "{ type: array, items: { type: string }, xml: { wrapped: true } }",
        ),
    },
    Rule {
        code: "empty-required",
        set: Correct,
        severity: Warning,
        summary: "`required` names no property, in OpenAPI 3.0.",
        why: "The JSON Schema of OpenAPI 3.0 wants at least one name, so validators refuse the document.",
        example: document(
            &SCHEMA_30,
            "{ type: object, ⟦required: [], properties: { a: {} } }",
            "{ type: object, properties: { a: {} } }",
        ),
    },
    Rule {
        code: "impossible-property",
        set: Correct,
        severity: Warning,
        summary: "No object can have a property that is declared: parts of an `allOf` exclude each other, or `propertyNames`, `patternProperties` or `dependentRequired` exclude it.",
        why: "What can never be there is a mistake in one of the places that say so.",
        example: document(
            &SCHEMA,
            "⟦{ allOf: [{ properties: { a: { type: string } } }, { properties: { a: { type: integer } } }] }",
            "{ allOf: [{ properties: { a: { type: string } } }, { properties: { b: { type: integer } } }] }",
        ),
    },
    Rule {
        code: "redundant-branch",
        set: Correct,
        severity: Warning,
        summary: "A branch of an `anyOf` accepts nothing that another branch does not accept.",
        why: "The branch says nothing, so one of the two is not what is meant. A branch is not looked at if it documents something: null, known values or a format beside their type, or an object with more properties than the other one names.",
        example: document(
            &SCHEMA,
            "{ anyOf: [{ type: string, maxLength: 20 }, ⟦{ type: string, maxLength: 10 }] }",
            "{ anyOf: [{ type: string, maxLength: 20 }, { type: integer }] }",
        ),
    },
];
