//! Rules about paths and methods.

use super::frames::{PATHS, PATHS_32};
use super::{Rule, document};
use crate::diagnostic::Severity::{Error, Warning};
use crate::lint::LintSet::Correct;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "bad-path",
        set: Correct,
        severity: Error,
        summary: "A path does not start with `/`, or its braces do not match.",
        why: "No request has such a path.",
        example: document(&PATHS, "⟦pets: {}", "/pets: {}"),
    },
    Rule {
        code: "duplicate-path",
        set: Correct,
        severity: Error,
        summary: "Two paths match the same requests.",
        why: "Which of the operations is called would be chance.",
        example: document(
            &PATHS,
            "/pets/{a}: { parameters: [{ name: a, in: path, required: true, schema: {} }] }\n  ⟦/pets/{b}: {}",
            "/pets/{a}: { parameters: [{ name: a, in: path, required: true, schema: {} }] }\n  /toys: {}",
        ),
    },
    Rule {
        code: "duplicate-template-name",
        set: Correct,
        severity: Error,
        summary: "A path has two parameters of the same name.",
        why: "The parameter would have two values.",
        example: document(
            &PATHS,
            "/pets/{a}/⟦{a}: { parameters: [{ name: a, in: path, required: true, schema: {} }] }",
            "/pets/{a}: { parameters: [{ name: a, in: path, required: true, schema: {} }] }",
        ),
    },
    Rule {
        code: "path-parameter-undeclared",
        set: Correct,
        severity: Error,
        summary: "A path has a parameter that an operation does not declare.",
        why: "Callers do not know what to write there.",
        example: document(
            &PATHS,
            "/pets/⟦{id}: { get: { responses: { \"204\": { description: Done. } } } }",
            "/pets/{id}: { get: { parameters: [{ name: id, in: path, required: true, schema: {} }], responses: { \"204\": { description: Done. } } } }",
        ),
    },
    Rule {
        code: "path-parameter-unused",
        set: Correct,
        severity: Error,
        summary: "An operation declares a path parameter that its path does not have, or a webhook or callback declares one.",
        why: "The parameter has no place in a request.",
        example: document(
            &PATHS,
            "/pets: { get: { parameters: [{ name: ⟦id, in: path, required: true, schema: {} }], responses: { \"204\": { description: Done. } } } }",
            "/pets: { get: { responses: { \"204\": { description: Done. } } } }",
        ),
    },
    Rule {
        code: "path-parameter-optional",
        set: Correct,
        severity: Error,
        summary: "A path parameter is not required.",
        why: "A path without it is another path.",
        example: document(
            &PATHS,
            "/pets/{id}: { get: { parameters: [⟦{ name: id, in: path, schema: {} }], responses: { \"204\": { description: Done. } } } }",
            "/pets/{id}: { get: { parameters: [{ name: id, in: path, required: true, schema: {} }], responses: { \"204\": { description: Done. } } } }",
        ),
    },
    Rule {
        code: "query-parameter-undeclared",
        set: Correct,
        severity: Warning,
        summary: "The query of a path has a value in braces, and no parameter of the query has its name.",
        why: "Callers cannot give the value, so no request has it.",
        example: document(
            &PATHS,
            "/pets?kind=⟦{kind}: { get: { responses: { \"204\": { description: Done. } } } }",
            "/pets?kind={kind}: { get: { parameters: [{ name: kind, in: query, schema: {} }], responses: { \"204\": { description: Done. } } } }",
        ),
    },
    Rule {
        code: "shared-url",
        set: Correct,
        severity: Warning,
        summary: "Two operations have paths that differ only in what follows `#` or `?`.",
        why: "A server sees the same request, and only ever serves the first of them.",
        example: document(
            &PATHS,
            "/pets#cats: { get: { responses: { \"204\": { description: Done. } } } }\n  /pets#dogs: { ⟦get: { responses: { \"204\": { description: Done. } } } }",
            "/pets/cats: { get: { responses: { \"204\": { description: Done. } } } }\n  /pets/dogs: { get: { responses: { \"204\": { description: Done. } } } }",
        ),
    },
    Rule {
        code: "bad-method",
        set: Correct,
        severity: Error,
        summary: "A key of `additionalOperations` is no method, or has a field of its own.",
        why: "HTTP does not know it, or tools would look for it elsewhere.",
        example: document(
            &PATHS_32,
            "/pets: { additionalOperations: { ⟦POST: { responses: { \"204\": {} } } } }",
            "/pets: { additionalOperations: { COPY: { responses: { \"204\": {} } } } }",
        ),
    },
];
