//! Rules about parameters and headers.

use super::frames::{PARAMETER, PARAMETER_32};
use super::{Rule, document};
use crate::diagnostic::Severity::{Error, Warning};
use crate::lint::LintSet::Correct;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "unknown-location",
        set: Correct,
        severity: Error,
        summary: "A parameter or key is in no part of a request.",
        why: "Nobody knows where to write it.",
        example: document(
            &PARAMETER,
            "{ name: page, in: ⟦querry, schema: { type: string } }",
            "{ name: page, in: query, schema: { type: string } }",
        ),
    },
    Rule {
        code: "unsupported-location",
        set: Correct,
        severity: Error,
        summary: "A parameter that is the whole query is a form of no object, or has parts in a media type that is neither a form nor JSON.",
        why: "Nothing says how its parts are read and written.",
        example: document(
            &PARAMETER_32,
            "{ name: filter, in: querystring, content: { ⟦application/xml: { schema: { type: object } } } }",
            "{ name: filter, in: querystring, content: { application/x-www-form-urlencoded: { schema: { type: object } } } }",
        ),
    },
    Rule {
        code: "shared-query",
        set: Correct,
        severity: Error,
        summary: "An operation has a parameter that is the whole query, and another one in the query.",
        why: "The other one cannot be in the query too.",
        example: document(
            &PARAMETER_32,
            "{ name: filter, in: querystring, content: { application/x-www-form-urlencoded: { schema: { type: object } } } }\n        - ⟦{ name: page, in: query, schema: {} }",
            "{ name: filter, in: querystring, content: { application/x-www-form-urlencoded: { schema: { type: object, properties: { page: {} } } } } }",
        ),
    },
    Rule {
        code: "duplicate-parameter",
        set: Correct,
        severity: Error,
        summary: "An operation declares a parameter twice.",
        why: "Which of the two counts would be chance.",
        example: document(
            &PARAMETER,
            "{ name: page, in: query, schema: { type: string } }\n        - { name: ⟦page, in: query, schema: { type: integer } }",
            "{ name: page, in: query, schema: { type: string } }\n        - { name: size, in: query, schema: { type: integer } }",
        ),
    },
    Rule {
        code: "impossible-style",
        set: Correct,
        severity: Error,
        summary: "A parameter has a style that its location, its schema or its `explode` does not allow.",
        why: "The standard does not say how such a value is written.",
        example: document(
            &PARAMETER,
            "{ name: page, in: query, style: ⟦simple, schema: { type: string } }",
            "{ name: page, in: query, style: form, schema: { type: string } }",
        ),
    },
    Rule {
        code: "deep-object-array",
        set: Correct,
        severity: Error,
        summary: "A parameter, or a property of a form, has the style `deepObject`, and is an array.",
        why: "The standard defines this style for objects only, and APIs that send arrays in it do so in several ways.",
        example: document(
            &PARAMETER,
            "{ name: tags, in: query, style: ⟦deepObject, schema: { type: array, items: { type: string } } }",
            "{ name: tags, in: query, style: form, schema: { type: array, items: { type: string } } }",
        ),
    },
    Rule {
        code: "ignored-header",
        set: Correct,
        severity: Warning,
        summary: "A parameter is named `Accept`, `Content-Type` or `Authorization`, or a response header `Content-Type`.",
        why: "By the standard such declarations are ignored: media types and security schemes determine these headers.",
        example: document(
            &PARAMETER,
            "{ name: ⟦Accept, in: header, schema: { type: string } }",
            "{ name: X-Accept, in: header, schema: { type: string } }",
        ),
    },
];
