//! Rules about security schemes and what requires them.

use super::frames::{OPERATION, SCHEME, SECURITY};
use super::{Rule, document};
use crate::diagnostic::Severity::{Error, Warning};
use crate::lint::LintSet::Correct;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "unknown-security-scheme",
        set: Correct,
        severity: Error,
        summary: "A security requirement names a scheme that does not exist.",
        why: "Nobody knows which credential to send.",
        example: document(&SECURITY, "token: [] }, { ⟦tokne: []", "token: []"),
    },
    Rule {
        code: "undeclared-scope",
        set: Correct,
        severity: Warning,
        summary: "A security requirement names a scope that its scheme does not declare.",
        why: "A caller cannot ask for it.",
        example: document(&SECURITY, "token: [⟦raed]", "token: [read]"),
    },
    Rule {
        code: "unknown-scheme-type",
        set: Correct,
        severity: Error,
        summary: "There is no security scheme of such a type.",
        why: "Nobody knows which credential to send.",
        example: document(
            &SCHEME,
            "{ type: ⟦bearer }",
            "{ type: http, scheme: bearer }",
        ),
    },
    Rule {
        code: "credential-header",
        set: Correct,
        severity: Warning,
        summary: "A key is sent in a header that HTTP needs for something else, such as `Accept` or `Host`.",
        why: "Clients and proxies set these headers themselves, and overwrite the key.",
        example: document(
            &SCHEME,
            "{ type: apiKey, in: header, name: ⟦Content-Type }",
            "{ type: apiKey, in: header, name: X-API-Key }",
        ),
    },
    Rule {
        code: "duplicate-requirement",
        set: Correct,
        severity: Warning,
        summary: "`security` lists an alternative twice.",
        why: "The second one says nothing, or another scheme is meant.",
        example: document(
            &OPERATION,
            r#"{ security: [{}, ⟦{}], responses: { "204": { description: Done. } } }"#,
            r#"{ security: [{}], responses: { "204": { description: Done. } } }"#,
        ),
    },
];
