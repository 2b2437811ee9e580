//! Rules about overlays.

use super::frames::{ACTION, ACTION_10, OVERLAY};
use super::{Example, Frame, Pair, Rule};
use crate::diagnostic::Severity::{Error, Warning};
use crate::lint::LintSet::Correct;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "overlay-version",
        set: Correct,
        severity: Error,
        summary: "An overlay does not say its version, or has one that is not read.",
        why: "Versions differ in what an action does.",
        example: overlay(
            &OVERLAY,
            "{ overlay: ⟦1.2.0, info: { title: Changes, version: \"1\" }, actions: [{ target: $.info, update: { x-a: 1 } }] }",
            "{ overlay: 1.1.0, info: { title: Changes, version: \"1\" }, actions: [{ target: $.info, update: { x-a: 1 } }] }",
        ),
    },
    Rule {
        code: "overlay-field",
        set: Correct,
        severity: Error,
        summary: "A field of an overlay is unknown, missing or has the wrong type.",
        why: "The overlay would not do what its author means.",
        example: overlay(
            &ACTION,
            "{ target: \"$['x-data']\", ⟦extra: 1, remove: true }",
            "{ target: \"$['x-data']\", remove: true }",
        ),
    },
    Rule {
        code: "overlay-target",
        set: Correct,
        severity: Error,
        summary: "A target is no JSONPath of RFC 9535, or selects what cannot be changed.",
        why: "The action has no place to act on.",
        example: overlay(
            &ACTION,
            "{ target: ⟦x-data, remove: true }",
            "{ target: \"$['x-data']\", remove: true }",
        ),
    },
    Rule {
        code: "overlay-no-match",
        set: Correct,
        severity: Warning,
        summary: "A target selects nothing.",
        why: "The document has changed since, or the target is misspelt; the action does nothing.",
        example: overlay(
            &ACTION,
            "{ target: ⟦\"$['x-data'].pet\", remove: true }",
            "{ target: \"$['x-data'].pets\", remove: true }",
        ),
    },
    Rule {
        code: "overlay-idle",
        set: Correct,
        severity: Warning,
        summary: "An action, or a field of it, changes nothing.",
        why: "It does not do what its author means.",
        example: overlay(
            &ACTION,
            "⟦{ target: \"$['x-data']\" }",
            "{ target: \"$['x-data']\", remove: true }",
        ),
    },
    Rule {
        code: "overlay-pattern",
        set: Correct,
        severity: Warning,
        summary: "A pattern in a JSONPath is no regular expression of RFC 9485, or a too large one.",
        why: "By RFC 9535 it matches nothing.",
        example: overlay(
            &ACTION,
            "{ target: ⟦\"$['x-data'].names[?match(@, '(') || @ == 'a']\", remove: true }",
            "{ target: \"$['x-data'].names[?match(@, 'a')]\", remove: true }",
        ),
    },
    Rule {
        code: "overlay-copy",
        set: Correct,
        severity: Error,
        summary: "`copy` does not select exactly one value.",
        why: "Which of several values is meant is unknown.",
        example: overlay(
            &ACTION,
            "{ target: \"$['x-data'].names\", copy: ⟦\"$['x-data'].names[*]\" }",
            "{ target: \"$['x-data'].names\", copy: \"$['x-data'].names[0]\" }",
        ),
    },
    Rule {
        code: "overlay-mismatch",
        set: Correct,
        severity: Error,
        summary: "An update has another type than what it is merged with.",
        why: "Overlay says how objects are merged with objects and arrays with arrays, and nothing else.",
        example: overlay(
            &ACTION_10,
            "{ target: \"$['x-data']\", update: { pets: ⟦{} } }",
            "{ target: \"$['x-data']\", update: { pets: 2 } }",
        ),
    },
    Rule {
        code: "overlay-extends",
        set: Correct,
        severity: Error,
        summary: "An overlay extends a document that is no part of the contract.",
        why: "It would not be applied.",
        example: overlay(
            &OVERLAY,
            "{ overlay: 1.1.0, extends: ⟦other.yaml, info: { title: Changes, version: \"1\" }, actions: [{ target: $.info, update: { x-a: 1 } }] }",
            "{ overlay: 1.1.0, extends: openapi.yaml, info: { title: Changes, version: \"1\" }, actions: [{ target: $.info, update: { x-a: 1 } }] }",
        ),
    },
    Rule {
        code: "overlay-too-large",
        set: Correct,
        severity: Error,
        summary: "An overlay, one of its JSONPaths or its result exceeds a bound.",
        why: "The bounds keep the time and memory that an overlay of others can take within reason.",
        example: Example::None("the smallest overlay has thousands of actions"),
    },
];

/// Returns an example of two overlays.
const fn overlay(frame: &'static Frame, bad: &'static str, good: &'static str) -> Example {
    Example::Overlay(Pair { frame, bad, good })
}
