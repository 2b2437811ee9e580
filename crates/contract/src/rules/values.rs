//! Rules about defaults, examples and listed values.

use super::frames::{CONTENT_32, SCHEMA};
use super::{Example, Rule, document};
use crate::diagnostic::Severity::{Error, Warning};
use crate::lint::LintSet::Correct;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "bad-default",
        set: Correct,
        severity: Error,
        summary: "A default does not fit its schema.",
        why: "A caller who leaves the value out gets one that is refused everywhere else.",
        example: document(
            &SCHEMA,
            "{ type: integer, minimum: 5, default: ⟦3 }",
            "{ type: integer, minimum: 5, default: 5 }",
        ),
    },
    Rule {
        code: "bad-example",
        set: Correct,
        severity: Warning,
        summary: "An example does not fit its schema.",
        why: "Readers copy examples; this one is refused.",
        example: document(
            &SCHEMA,
            "{ type: integer, examples: [1, ⟦a] }",
            "{ type: integer, examples: [1] }",
        ),
    },
    Rule {
        code: "bad-enum",
        set: Correct,
        severity: Warning,
        summary: "A value of an `enum`, or a `const`, does not fit the other keywords of its schema.",
        why: "The value is listed and refused at the same time.",
        example: document(
            &SCHEMA,
            "{ type: string, enum: [a, ⟦1] }",
            "{ type: string, enum: [a, \"1\"] }",
        ),
    },
    Rule {
        code: "contradicting-example",
        set: Correct,
        severity: Warning,
        summary: "An example of JSON has a `serializedValue` that is no JSON, or that of another value than its `dataValue`.",
        why: "Both are the same example, and readers copy either.",
        example: document(
            &CONTENT_32,
            r#"{ application/json: { schema: {}, examples: { a: { dataValue: { age: 1 }, serializedValue: ⟦'{"age": 2}' } } } }"#,
            r#"{ application/json: { schema: {}, examples: { a: { dataValue: { age: 1 }, serializedValue: '{"age": 1.0}' } } } }"#,
        ),
    },
    Rule {
        code: "unchecked-values",
        set: Correct,
        severity: Warning,
        summary: "Defaults and examples are not checked, because the schemas are too large or cannot be compiled.",
        why: "A report without findings about values would say more than is known.",
        example: Example::None("the smallest document has many schemas that refer to each other"),
    },
];
