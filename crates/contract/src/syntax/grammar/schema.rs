//! The keywords of schemas, which are those of JSON Schema and a few of OpenAPI.

use super::Need::Essential;
use super::Shape::{
    Any, Count, Exclusive, Flag, List, Map, Number, Object, Schema, Text, Type, Values,
};
use super::document::EXTERNAL_DOCS;
use super::{Grammar, may, must, plain, referable, v30, v31, v32};

/// A schema, with the keywords of all dialects.
pub(crate) static SCHEMA: Grammar = referable(
    "a schema",
    &[
        may("$ref", Text),
        may("type", Type),
        may("properties", Map(&Schema)),
        may("required", List(&Text)),
        may("items", Schema),
        may("enum", List(&Any)),
        may("format", Text),
        may("description", Text),
        may("title", Text),
        may("default", Any),
        may("example", Any),
        may("minimum", Number),
        may("maximum", Number),
        may("exclusiveMinimum", Exclusive),
        may("exclusiveMaximum", Exclusive),
        may("multipleOf", Number),
        may("minLength", Count),
        may("maxLength", Count),
        may("pattern", Text),
        may("minItems", Count),
        may("maxItems", Count),
        may("uniqueItems", Flag),
        may("minProperties", Count),
        may("maxProperties", Count),
        may("additionalProperties", Schema),
        may("allOf", List(&Schema)),
        may("anyOf", List(&Schema)),
        may("oneOf", List(&Schema)),
        may("not", Schema),
        may("discriminator", Object(&DISCRIMINATOR)),
        may("deprecated", Flag),
        may("readOnly", Flag),
        may("writeOnly", Flag),
        may("xml", Object(&XML)),
        may("externalDocs", Object(&EXTERNAL_DOCS)),
        v30("nullable", Flag),
        v31("const", Any),
        v31("examples", Values),
        v31("if", Schema),
        v31("then", Schema),
        v31("else", Schema),
        v31("prefixItems", List(&Schema)),
        v31("contains", Schema),
        v31("minContains", Count),
        v31("maxContains", Count),
        v31("unevaluatedItems", Schema),
        v31("patternProperties", Map(&Schema)),
        v31("propertyNames", Schema),
        v31("dependentRequired", Map(&List(&Text))),
        v31("dependentSchemas", Map(&Schema)),
        v31("unevaluatedProperties", Schema),
        v31("contentEncoding", Text),
        v31("contentMediaType", Text),
        v31("contentSchema", Schema),
        v31("$defs", Map(&Schema)),
        v31("$id", Text),
        v31("$anchor", Text),
        v31("$dynamicAnchor", Text),
        v31("$dynamicRef", Text),
        v31("$schema", Text),
        v31("$vocabulary", Any),
        v31("$comment", Text),
    ],
);

static DISCRIMINATOR: Grammar = plain(
    "a discriminator",
    &[
        must("propertyName", Text, Essential),
        may("mapping", Map(&Text)),
        v32("defaultMapping", Text),
    ],
);

static XML: Grammar = plain(
    "an XML object",
    &[
        may("name", Text),
        may("namespace", Text),
        may("prefix", Text),
        may("attribute", Flag),
        may("wrapped", Flag),
        v32("nodeType", Text),
    ],
);

/// Keywords of older drafts of JSON Schema, each with its replacement.
pub(crate) static OLD_KEYWORDS: &[(&str, &str)] = &[
    ("definitions", "write `$defs`"),
    (
        "dependencies",
        "write `dependentRequired` or `dependentSchemas`",
    ),
    ("additionalItems", "write `prefixItems` with `items`"),
    ("id", "write `$id`"),
    ("divisibleBy", "write `multipleOf`"),
    ("extends", "write `allOf`"),
    ("disallow", "write `not`"),
    ("$recursiveRef", "write `$ref`"),
    ("$recursiveAnchor", "write `$anchor`"),
];

/// The names of the JSON types.
pub(crate) const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];
