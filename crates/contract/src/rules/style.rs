//! Rules of the set `style`.

use super::frames::{
    CONTENT, FIELD, OPERATION, PARAMETER, PATHS, REQUEST, RESPONSES, SCHEMA, SCHEME,
};
use super::{Rule, document};
use crate::diagnostic::Severity::Warning;
use crate::lint::LintSet::Style;

pub(super) const RULES: &[Rule] = &[
    Rule {
        code: "unbounded-array",
        set: Style,
        severity: Warning,
        summary: "An array in a request may have any number of items.",
        why: "A request of any size can reach the handler, up to the bound of the whole body.",
        example: document(
            &REQUEST,
            "{ ⟦type: array, items: { type: integer } }",
            "{ type: array, maxItems: 3, items: { type: integer } }",
        ),
    },
    Rule {
        code: "unbounded-text",
        set: Style,
        severity: Warning,
        summary: "A string in a request may have any length.",
        why: "A request of any size can reach the handler, up to the bound of the whole body.",
        example: document(
            &REQUEST,
            "{ ⟦type: string }",
            "{ type: string, maxLength: 3 }",
        ),
    },
    Rule {
        code: "missing-schema",
        set: Style,
        severity: Warning,
        summary: "A body of JSON, XML or a form has no schema.",
        why: "It may have anything, so callers cannot know what to write or to expect. Bodies without structure, such as images, need none.",
        example: document(
            &CONTENT,
            "{ application/json: ⟦{} }",
            "{ application/json: { schema: { type: boolean } } }",
        ),
    },
    Rule {
        code: "missing-summary",
        set: Style,
        severity: Warning,
        summary: "An operation has no summary.",
        why: "Readers see only its path.",
        example: document(
            &PATHS,
            r#"/pets: { get: { ⟦operationId: a, responses: { "204": { description: Done. } } } }"#,
            r#"/pets: { get: { operationId: a, summary: List pets, responses: { "204": { description: Done. } } } }"#,
        ),
    },
    Rule {
        code: "missing-operation-id",
        set: Style,
        severity: Warning,
        summary: "An operation has no operationId.",
        why: "Each tool derives its own name.",
        example: document(
            &PATHS,
            r#"/pets: { get: { ⟦summary: List pets, responses: { "204": { description: Done. } } } }"#,
            r#"/pets: { get: { operationId: a, summary: List pets, responses: { "204": { description: Done. } } } }"#,
        ),
    },
    Rule {
        code: "missing-client-error",
        set: Style,
        severity: Warning,
        summary: "An operation has no response to a request that it refuses.",
        why: "Callers do not learn how errors look.",
        example: document(
            &PATHS,
            r#"/pets: { ⟦get: { responses: { "204": { description: Done. } } } }"#,
            r#"/pets: { get: { responses: { "204": { description: Done. }, "400": { description: Refused. } } } }"#,
        ),
    },
    Rule {
        code: "unexpected-body",
        set: Style,
        severity: Warning,
        summary: "A GET, HEAD, DELETE or OPTIONS request has a body.",
        why: "Its meaning is not defined, and servers and proxies may drop it.",
        example: document(
            &PATHS,
            r#"/pets: { get: { ⟦requestBody: { content: { text/plain: {} } }, responses: { "204": { description: Done. } } } }"#,
            r#"/pets: { post: { requestBody: { content: { text/plain: {} } }, responses: { "204": { description: Done. } } } }"#,
        ),
    },
    Rule {
        code: "defaulted-required",
        set: Style,
        severity: Warning,
        summary: "A required parameter or property has a default.",
        why: "The default never applies.",
        example: document(
            &PARAMETER,
            "{ name: a, in: query, required: true, schema: { type: integer, ⟦default: 1 } }",
            "{ name: a, in: query, schema: { type: integer, default: 1 } }",
        ),
    },
    Rule {
        code: "trailing-slash",
        set: Style,
        severity: Warning,
        summary: "A path, or the URL of a server, ends in a slash.",
        why: "With and without it, URLs are different ones.",
        example: document(
            &PATHS,
            r#"⟦/pets/: { get: { responses: { "204": { description: Done. } } } }"#,
            r#"/pets: { get: { responses: { "204": { description: Done. } } } }"#,
        ),
    },
    Rule {
        code: "unused-tag",
        set: Style,
        severity: Warning,
        summary: "No operation has a tag that the document declares.",
        why: "Readers find an empty group.",
        example: document(
            &FIELD,
            "tags: [{ name: ⟦pets }]",
            "x-tags: [{ name: pets }]",
        ),
    },
    Rule {
        code: "untagged-operation",
        set: Style,
        severity: Warning,
        summary: "An operation has no tag, in a document that declares tags.",
        why: "Readers who look through the groups do not find it.",
        example: document(
            &PATHS,
            "/pets: { ⟦get: { operationId: a, responses: { \"204\": { description: Done. } } }, put: { operationId: b, tags: [pet], responses: { \"204\": { description: Done. } } } }\ntags: [{ name: pet }]",
            "/pets: { get: { operationId: a, tags: [pet], responses: { \"204\": { description: Done. } } } }\ntags: [{ name: pet }]",
        ),
    },
    Rule {
        code: "plain-http",
        set: Style,
        severity: Warning,
        summary: "The URL of a server, or of an OAuth flow, begins with `http:`, and is not on the caller's own machine.",
        why: "Others can read and change what callers send.",
        example: document(
            &FIELD,
            "servers: [{ url: ⟦\"http://pets.example\" }]",
            "servers: [{ url: \"https://pets.example\" }]",
        ),
    },
    Rule {
        code: "credential-in-query",
        set: Style,
        severity: Warning,
        summary: "An API key is sent in the query.",
        why: "Logs and browsers keep URLs, and so the credential.",
        example: document(
            &SCHEME,
            "⟦{ type: apiKey, in: query, name: key }",
            "{ type: apiKey, in: header, name: key }",
        ),
    },
    Rule {
        code: "missing-security",
        set: Style,
        severity: Warning,
        summary: "Nothing says which credential an operation needs, in a document with security schemes.",
        why: "Readers cannot tell a public operation from a forgotten one.",
        example: document(
            &PATHS,
            "/pets: { ⟦get: { responses: { \"204\": { description: Done. } } }, put: { security: [{ key: [] }], responses: { \"204\": { description: Done. } } } }\ncomponents: { securitySchemes: { key: { type: http, scheme: bearer } } }",
            "/pets: { get: { security: [], responses: { \"204\": { description: Done. } } }, put: { security: [{ key: [] }], responses: { \"204\": { description: Done. } } } }\ncomponents: { securitySchemes: { key: { type: http, scheme: bearer } } }",
        ),
    },
    Rule {
        code: "similar-values",
        set: Style,
        severity: Warning,
        summary: "Two values of an `enum` differ only by case.",
        why: "Callers mistake one for the other.",
        example: document(&SCHEMA, "{ enum: [cat, ⟦CAT] }", "{ enum: [cat, dog] }"),
    },
    Rule {
        code: "mixed-casing",
        set: Style,
        severity: Warning,
        summary: "A name is in another case than most names of its kind.",
        why: "Callers misspell it.",
        example: document(
            &SCHEMA,
            "{ properties: { first_pet: {}, last_pet: {}, ⟦nextPet: {} } }",
            "{ properties: { first_pet: {}, last_pet: {}, next_pet: {} } }",
        ),
    },
    Rule {
        code: "unanchored-pattern",
        set: Style,
        severity: Warning,
        summary: "A pattern is anchored at no end, or its anchors are for an alternative or repetition that is not all of it.",
        why: "It accepts every text with a part that matches.",
        example: document(
            &SCHEMA,
            r#"{ type: string, pattern: ⟦"[a-z]" }"#,
            r#"{ type: string, pattern: "^[a-z]$" }"#,
        ),
    },
    Rule {
        code: "backtracking-pattern",
        set: Style,
        severity: Warning,
        summary: "A pattern repeats what is itself repeated, or a choice of alternatives that match the same.",
        why: "Engines that backtrack take exponential time for some texts.",
        example: document(
            &SCHEMA,
            r#"{ type: string, pattern: ⟦"^(a+)+$" }"#,
            r#"{ type: string, pattern: "^a+$" }"#,
        ),
    },
    Rule {
        code: "only-default",
        set: Style,
        severity: Warning,
        summary: "`default` is the only response of an operation.",
        why: "Readers cannot tell a success from an error.",
        example: document(
            &PATHS,
            "/pets: { ⟦get: { responses: { default: { description: Done. } } } }",
            r#"/pets: { get: { responses: { "204": { description: Done. }, default: { description: Refused. } } } }"#,
        ),
    },
    Rule {
        code: "long-summary",
        set: Style,
        severity: Warning,
        summary: "The summary of an operation is longer than a line.",
        why: "It is the title of the operation in menus and tables.",
        example: document(
            &OPERATION,
            r#"{ summary: ⟦Lists all pets of the shop that are for sale and that nobody has reserved before the day on which the request comes in or later, responses: { "204": { description: Done. } } }"#,
            r#"{ summary: List pets, responses: { "204": { description: Done. } } }"#,
        ),
    },
    Rule {
        code: "empty-description",
        set: Style,
        severity: Warning,
        summary: "The description of a response is empty.",
        why: "Readers do not learn when the response is sent.",
        example: document(
            &RESPONSES,
            r#""204": { description: ⟦"" }"#,
            r#""204": { description: Done. }"#,
        ),
    },
    Rule {
        code: "script-in-text",
        set: Style,
        severity: Warning,
        summary: "A text for readers has code that a page may run which shows it.",
        why: "The author of the text decides what runs in the browsers of readers.",
        example: document(
            &OPERATION,
            r#"{ description: ⟦"<script>alert(1)</script>", responses: { "204": { description: Done. } } }"#,
            r#"{ description: "`<script>` is removed", responses: { "204": { description: Done. } } }"#,
        ),
    },
    Rule {
        code: "verb-in-path",
        set: Style,
        severity: Warning,
        summary: "A segment of a path repeats a method.",
        why: "The method says already what happens, and callers have two names for it to know.",
        example: document(
            &PATHS,
            r#"⟦/get-pets: { get: { responses: { "204": { description: Done. } } } }"#,
            r#"/pets: { get: { responses: { "204": { description: Done. } } } }"#,
        ),
    },
    Rule {
        code: "empty-path",
        set: Style,
        severity: Warning,
        summary: "A path has no operation.",
        why: "Nothing can be called there.",
        example: document(
            &PATHS,
            r#"/pets: { get: { responses: { "204": { description: Done. } } } }
  ⟦/cats: {}"#,
            r#"/pets: { get: { responses: { "204": { description: Done. } } } }
  /cats: { get: { responses: { "204": { description: Done. } } } }"#,
        ),
    },
    Rule {
        code: "missing-servers",
        set: Style,
        severity: Warning,
        summary: "The list of servers is empty.",
        why: "Readers do not know where the API is.",
        example: document(
            &FIELD,
            "⟦servers: []",
            r#"servers: [{ url: "https://pets.example" }]"#,
        ),
    },
    Rule {
        code: "padded-value",
        set: Style,
        severity: Warning,
        summary: "A listed value begins or ends with a space.",
        why: "Nobody sees the space, and callers leave it out.",
        example: document(
            &SCHEMA,
            r#"{ enum: [cat, ⟦"dog "] }"#,
            "{ enum: [cat, dog] }",
        ),
    },
    Rule {
        code: "redundant-keyword",
        set: Style,
        severity: Warning,
        summary: "A keyword says nothing beside a narrower one.",
        why: "Readers look for a difference that is not there.",
        example: document(
            &SCHEMA,
            "{ type: integer, ⟦minimum: 1, exclusiveMinimum: 5 }",
            "{ type: integer, exclusiveMinimum: 5 }",
        ),
    },
    Rule {
        code: "unfilled-link",
        set: Style,
        severity: Warning,
        summary: "A link gives no value to a path parameter of its operation.",
        why: "Readers who follow the link have to know the value from elsewhere.",
        example: document(
            &PATHS,
            r#"/pets: { get: { responses: { "200": { description: Pets., links: { ⟦first: { operationId: view } } } } } }
  "/pets/{id}": { get: { operationId: view, parameters: [{ name: id, in: path, required: true, schema: {} }], responses: { "204": { description: Done. } } } }"#,
            r#"/pets: { get: { responses: { "200": { description: Pets., links: { first: { operationId: view, parameters: { id: 7 } } } } } } }
  "/pets/{id}": { get: { operationId: view, parameters: [{ name: id, in: path, required: true, schema: {} }], responses: { "204": { description: Done. } } } }"#,
        ),
    },
];
