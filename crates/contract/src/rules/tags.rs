//! Rules about tags.

use super::frames::{FIELD_32, OPERATION};
use super::{Rule, document};
use crate::diagnostic::Severity::{Error, Warning};
use crate::lint::LintSet::Correct;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "undeclared-tag",
        set: Correct,
        severity: Warning,
        summary: "An operation has a tag that the document does not declare, although it declares others.",
        why: "A misspelt tag puts the operation into a group of its own.",
        example: document(
            &OPERATION,
            "{ tags: [⟦pets], responses: { \"204\": { description: Done. } } }\ntags: [{ name: pet }]",
            "{ tags: [pet], responses: { \"204\": { description: Done. } } }\ntags: [{ name: pet }]",
        ),
    },
    Rule {
        code: "duplicate-tag",
        set: Correct,
        severity: Warning,
        summary: "A tag is declared twice, or an operation has it twice.",
        why: "Which of the two descriptions counts would be chance.",
        example: document(
            &FIELD_32,
            "tags: [{ name: pet }, { name: ⟦pet }]",
            "tags: [{ name: pet }, { name: toy }]",
        ),
    },
    Rule {
        code: "unknown-tag",
        set: Correct,
        severity: Error,
        summary: "The parent of a tag does not exist, or a YAML value has a tag that JSON has no type for.",
        why: "The tag is in no place of the tree, or the value has no type.",
        example: document(
            &FIELD_32,
            "tags: [{ name: pet, parent: ⟦al }, { name: all }]",
            "tags: [{ name: pet, parent: all }, { name: all }]",
        ),
    },
    Rule {
        code: "circular-tag",
        set: Correct,
        severity: Warning,
        summary: "A tag is its own ancestor.",
        why: "The tags form no tree.",
        example: document(
            &FIELD_32,
            "tags: [{ name: pet, parent: ⟦pet }]",
            "tags: [{ name: pet }]",
        ),
    },
];
