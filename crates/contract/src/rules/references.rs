//! Rules about references, components and what refers by a name.

use super::frames::{COMPONENT, PATHS, RESPONSES};
use super::{Example, Rule, document};
use crate::diagnostic::Severity::{Error, Warning};
use crate::lint::LintSet::Correct;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "dangling-ref",
        set: Correct,
        severity: Error,
        summary: "A reference leads to nothing.",
        why: "What is meant to be there is unknown.",
        example: document(
            &COMPONENT,
            "{ properties: { friend: { $ref: ⟦\"#/components/schemas/Pte\" } } }",
            "{ properties: { friend: { $ref: \"#/components/schemas/Pet\" } } }",
        ),
    },
    Rule {
        code: "remote-ref",
        set: Correct,
        severity: Error,
        summary: "A reference leads to another host.",
        why: "Nothing is fetched, so that a contract says the same tomorrow and without a network; `--map` names a local copy.",
        example: document(
            &COMPONENT,
            "{ properties: { friend: { $ref: ⟦\"https://pets.example/pet.yaml\" } } }",
            "{ properties: { friend: { $ref: \"#/components/schemas/Pet\" } } }",
        ),
    },
    Rule {
        code: "file-ref",
        set: Correct,
        severity: Error,
        summary: "A reference leads to a file, but the document was read from memory.",
        why: "A document that comes from a program has no folder, in which the file would be.",
        example: document(
            &COMPONENT,
            "{ properties: { friend: { $ref: ⟦\"pet.yaml\" } } }",
            "{ properties: { friend: { $ref: \"#/components/schemas/Pet\" } } }",
        ),
    },
    Rule {
        code: "misplaced-ref",
        set: Correct,
        severity: Error,
        summary: "A reference stands where the standard allows none.",
        why: "Other tools take the reference itself for the object; only `--foreign` reads what it leads to.",
        example: Example::None("it is reported with `--foreign` only"),
    },
    Rule {
        code: "circular-ref",
        set: Correct,
        severity: Error,
        summary: "A reference leads back to itself without a property or item in between.",
        why: "Such a schema says nothing about a value: it means itself.",
        example: document(
            &COMPONENT,
            "{ allOf: [{ $ref: ⟦\"#/components/schemas/Pet\" }] }",
            "{ properties: { friend: { $ref: \"#/components/schemas/Pet\" } } }",
        ),
    },
    Rule {
        code: "component-name",
        set: Correct,
        severity: Warning,
        summary: "The name of a component has other characters than letters, digits, `.`, `-` and `_`.",
        why: "The standard forbids it, and some tools refuse the document.",
        example: document(
            &RESPONSES,
            "\"204\": { $ref: \"#/components/responses/my%20pet\" }\ncomponents: { responses: { ⟦my pet: { description: Done. } } }",
            "\"204\": { $ref: \"#/components/responses/my_pet\" }\ncomponents: { responses: { my_pet: { description: Done. } } }",
        ),
    },
    Rule {
        code: "unused-component",
        set: Correct,
        severity: Warning,
        summary: "Nothing refers to a component.",
        why: "It is a leftover, or the reference that was meant to lead to it leads somewhere else.",
        example: document(
            &COMPONENT,
            "{ type: string }\n    ⟦Cat: { type: string }",
            "{ properties: { cat: { $ref: \"#/components/schemas/Cat\" } } }\n    Cat: { type: string }",
        ),
    },
    Rule {
        code: "unknown-mapping",
        set: Correct,
        severity: Error,
        summary: "The mapping of a discriminator names a schema that does not exist.",
        why: "Values with that discriminator could not be read.",
        example: document(
            &COMPONENT,
            "{ oneOf: [{ $ref: \"#/components/schemas/Cat\" }], discriminator: { propertyName: kind, mapping: { cat: ⟦Cta } } }\n    Cat: { type: object, required: [kind], properties: { kind: { type: string } } }",
            "{ oneOf: [{ $ref: \"#/components/schemas/Cat\" }], discriminator: { propertyName: kind, mapping: { cat: Cat } } }\n    Cat: { type: object, required: [kind], properties: { kind: { type: string } } }",
        ),
    },
    Rule {
        code: "unknown-operation",
        set: Correct,
        severity: Warning,
        summary: "A link names an operation that does not exist.",
        why: "A reader who follows the link finds nothing.",
        example: document(
            &RESPONSES,
            "\"204\": { description: Done., links: { self: { operationId: ⟦pet_lits } } }",
            "\"204\": { description: Done., links: { self: { operationId: pet_list } } }",
        ),
    },
    Rule {
        code: "unknown-choice",
        set: Correct,
        severity: Error,
        summary: "`--only` names no tag and no operation of the document.",
        why: "What is generated would not have what was asked for.",
        example: Example::None("it is about an argument, not about a document"),
    },
    Rule {
        code: "unchosen-operation",
        set: Correct,
        severity: Error,
        summary: "A reference leads into an operation that `--only` leaves out.",
        why: "What it leads to is gone.",
        example: Example::None("it is about an argument, not about a document"),
    },
    Rule {
        code: "unchoosable",
        set: Correct,
        severity: Error,
        summary: "`--only` is used with a contract in several files that has `$dynamicRef`.",
        why: "Such files stay apart, and operations are chosen from one document.",
        example: Example::None("it is about an argument, not about a document"),
    },
    Rule {
        code: "undeclared-server-variable",
        set: Correct,
        severity: Warning,
        summary: "The URL of a server has a variable that is not declared.",
        why: "Nobody knows what to write in its place.",
        example: document(
            &PATHS,
            "/pets:\n    servers: [{ url: ⟦\"https://{host}/v1\" }]\n    get: { responses: { \"204\": { description: Done. } } }",
            "/pets:\n    servers: [{ url: \"https://{host}/v1\", variables: { host: { default: example.com } } }]\n    get: { responses: { \"204\": { description: Done. } } }",
        ),
    },
];
