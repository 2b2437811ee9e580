//! Rules about operations, their ids, bodies, responses and lists in pages.

use super::frames::{CONTENT, CONTENT_32, OPERATION, PAGING, PATHS, RESPONSES};
use super::{Rule, document};
use crate::diagnostic::Severity::{Error, Warning};
use crate::lint::LintSet::Correct;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "empty-operation-id",
        set: Correct,
        severity: Warning,
        summary: "The `operationId` of an operation is empty.",
        why: "It names nothing; without the field, a name is made from the method and the path.",
        example: document(
            &OPERATION,
            "{ operationId: ⟦\"\", responses: { \"204\": { description: Done. } } }",
            "{ operationId: pet_list, responses: { \"204\": { description: Done. } } }",
        ),
    },
    Rule {
        code: "duplicate-operation-id",
        set: Correct,
        severity: Error,
        summary: "Two operations have the same `operationId`.",
        why: "Links and generated code name operations by it.",
        example: document(
            &PATHS,
            "/pets: { get: { operationId: list, responses: { \"204\": { description: Done. } } } }\n  /toys: { get: { operationId: ⟦list, responses: { \"204\": { description: Done. } } } }",
            "/pets: { get: { operationId: pet_list, responses: { \"204\": { description: Done. } } } }\n  /toys: { get: { operationId: toy_list, responses: { \"204\": { description: Done. } } } }",
        ),
    },
    Rule {
        code: "impossible-body",
        set: Correct,
        severity: Warning,
        summary: "A TRACE request, or a response to HEAD or with a status such as 101 or 204, has a body.",
        why: "HTTP forbids it, and clients do not send or read it.",
        example: document(
            &PATHS,
            "/pets: { trace: { ⟦requestBody: { content: { text/plain: {} } }, responses: { \"204\": { description: Done. } } } }",
            "/pets: { trace: { responses: { \"204\": { description: Done. } } } }",
        ),
    },
    Rule {
        code: "impossible-status",
        set: Correct,
        severity: Error,
        summary: "A key of `responses` is no status.",
        why: "No response has it; ranges are written with upper-case X, as in `2XX`.",
        example: document(
            &RESPONSES,
            "⟦2xx: { description: Done. }",
            "2XX: { description: Done. }",
        ),
    },
    Rule {
        code: "form-of-no-object",
        set: Correct,
        severity: Warning,
        summary: "The schema of a form accepts no object.",
        why: "The fields of a form are read as the properties of an object, so no form is accepted.",
        example: document(
            &CONTENT,
            "⟦multipart/form-data: { schema: { type: string } }",
            "multipart/form-data: { schema: { type: object, properties: { name: { type: string } } } }",
        ),
    },
    Rule {
        code: "bad-media-type",
        set: Correct,
        severity: Warning,
        summary: "A key of `content` is no media type.",
        why: "No message has it.",
        example: document(
            &CONTENT,
            "⟦json: { schema: {} }",
            "application/json: { schema: {} }",
        ),
    },
    Rule {
        code: "unapplied-schema",
        set: Correct,
        severity: Warning,
        summary: "A body of bytes or text has the schema of an object or array.",
        why: "Such a body has no properties or items, so the schema is not applied.",
        example: document(
            &CONTENT,
            "application/octet-stream: { schema: { type: object, properties: { a: {} } } }",
            "application/json: { schema: { type: object, properties: { a: {} } } }",
        ),
    },
    Rule {
        code: "unapplied-encoding",
        set: Correct,
        severity: Warning,
        summary: "An encoding of parts is not applied.",
        why: "The parts would be read and written otherwise than the document says.",
        example: document(
            &CONTENT_32,
            "multipart/mixed: ⟦{ schema: { type: array, items: { type: string } }, itemEncoding: { style: form } }",
            "multipart/mixed: { schema: { type: array, items: { type: string } }, itemEncoding: { contentType: text/plain } }",
        ),
    },
    Rule {
        code: "bad-paging",
        set: Correct,
        severity: Error,
        summary: "`x-paging` names a parameter or property that no list has.",
        why: "The generated client could not walk through the pages.",
        example: document(&PAGING, "⟦sizes", "size"),
    },
];
