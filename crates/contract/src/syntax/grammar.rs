//! The fields of every object of the standard, as tables.
//!
//! The tables are written by hand rather than derived from the JSON Schemas that the OpenAPI
//! Initiative publishes: those cannot say what a misspelt field was meant to be, nor whether a
//! missing one prevents generation.

use crate::model::Dialect;

/// The values that a field may have.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Shape {
    /// Any value.
    Any,
    /// A string.
    Text,
    /// A boolean.
    Flag,
    /// A number.
    Number,
    /// An integer from 0.
    Count,
    /// An array.
    List(&'static Shape),
    /// An object with keys that the author chooses.
    Map(&'static Shape),
    /// An object with keys that the author chooses, except for extensions (`x-…`).
    ExtensibleMap(&'static Shape),
    /// An object of the standard.
    Object(&'static Grammar),
    /// A schema.
    Schema,
    /// A schema's `type`.
    Type,
    /// A schema's `exclusiveMinimum` or `exclusiveMaximum`.
    Exclusive,
    /// A schema's `examples`: an array in 3.1.
    Values,
}

/// An object of the standard.
#[derive(Debug)]
pub(crate) struct Grammar {
    /// The name with its article, for messages.
    pub(crate) name: &'static str,
    /// The fields.
    pub(crate) fields: &'static [Field],
    /// Whether a reference may replace the object.
    pub(crate) referable: bool,
}

/// A field of an object.
#[derive(Debug)]
pub(crate) struct Field {
    /// The name.
    pub(crate) name: &'static str,
    /// The values that it may have.
    pub(crate) shape: Shape,
    /// The only dialect that has the field; none if both have it.
    pub(crate) only: Option<Dialect>,
    /// The effect of a missing field.
    pub(crate) need: Need,
}

/// The effect of a missing field.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Need {
    /// None: the field is optional.
    Optional,
    /// An error: the standard requires the field, and nothing can be generated without it.
    Essential,
    /// A warning: the standard requires the field, but generating does not.
    Expected,
    /// As [`Essential`](Self::Essential), but in 3.0 only.
    Essential30,
    /// As [`Expected`](Self::Expected), but in 3.0 only.
    Expected30,
}

impl Field {
    /// Returns whether a dialect has the field.
    pub(crate) fn is_in(&self, dialect: Dialect) -> bool {
        self.only.is_none_or(|only| only == dialect)
    }

    /// Returns whether the field holds schemas.
    pub(crate) fn holds_schemas(&self) -> bool {
        matches!(
            self.shape,
            Shape::Schema | Shape::List(Shape::Schema) | Shape::Map(Shape::Schema)
        )
    }
}

impl Grammar {
    /// Returns the section of `components` for such objects, if both dialects have one.
    pub(crate) fn section(&self) -> Option<&'static str> {
        Some(match self.name {
            "a parameter" => "parameters",
            "a header" => "headers",
            "a request body" => "requestBodies",
            "a response" => "responses",
            "an example" => "examples",
            "a link" => "links",
            "a callback" => "callbacks",
            "a security scheme" => "securitySchemes",
            _ => return None,
        })
    }

    /// Returns the field with a name.
    pub(crate) fn field(&self, key: &str) -> Option<&'static Field> {
        self.fields.iter().find(|field| field.name == key)
    }
}

const fn may(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        shape,
        only: None,
        need: Need::Optional,
    }
}

const fn must(name: &'static str, shape: Shape, need: Need) -> Field {
    Field {
        name,
        shape,
        only: None,
        need,
    }
}

const fn v30(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        shape,
        only: Some(Dialect::V30),
        need: Need::Optional,
    }
}

const fn v31(name: &'static str, shape: Shape) -> Field {
    Field {
        name,
        shape,
        only: Some(Dialect::V31),
        need: Need::Optional,
    }
}

const fn plain(name: &'static str, fields: &'static [Field]) -> Grammar {
    Grammar {
        name,
        fields,
        referable: false,
    }
}

const fn referable(name: &'static str, fields: &'static [Field]) -> Grammar {
    Grammar {
        name,
        fields,
        referable: true,
    }
}

use Need::{Essential, Essential30, Expected, Expected30};
use Shape::{
    Any, Count, Exclusive, ExtensibleMap, Flag, List, Map, Number, Object, Schema, Text, Type,
    Values,
};

/// The document.
pub(crate) static DOCUMENT: Grammar = plain(
    "the document",
    &[
        must("openapi", Text, Essential),
        must("info", Object(&INFO), Expected),
        v31("jsonSchemaDialect", Text),
        may("servers", List(&Object(&SERVER))),
        must("paths", ExtensibleMap(&Object(&PATH_ITEM)), Expected30),
        v31("webhooks", Map(&Object(&PATH_ITEM))),
        may("components", Object(&COMPONENTS)),
        may("security", List(&Map(&List(&Text)))),
        may("tags", List(&Object(&TAG))),
        may("externalDocs", Object(&EXTERNAL_DOCS)),
    ],
);

static INFO: Grammar = plain(
    "the info object",
    &[
        must("title", Text, Expected),
        v31("summary", Text),
        may("description", Text),
        may("termsOfService", Text),
        may("contact", Object(&CONTACT)),
        may("license", Object(&LICENSE)),
        must("version", Text, Expected),
    ],
);

static CONTACT: Grammar = plain(
    "a contact",
    &[may("name", Text), may("url", Text), may("email", Text)],
);

static LICENSE: Grammar = plain(
    "a license",
    &[
        must("name", Text, Expected),
        v31("identifier", Text),
        may("url", Text),
    ],
);

static SERVER: Grammar = plain(
    "a server",
    &[
        must("url", Text, Expected),
        may("description", Text),
        may("variables", Map(&Object(&SERVER_VARIABLE))),
    ],
);

static SERVER_VARIABLE: Grammar = plain(
    "a server variable",
    &[
        may("enum", List(&Text)),
        must("default", Text, Expected),
        may("description", Text),
    ],
);

/// The `components` object.
pub(crate) static COMPONENTS: Grammar = plain(
    "the components object",
    &[
        may("schemas", Map(&Schema)),
        may("responses", Map(&Object(&RESPONSE))),
        may("parameters", Map(&Object(&PARAMETER))),
        may("examples", Map(&Object(&EXAMPLE))),
        may("requestBodies", Map(&Object(&REQUEST_BODY))),
        may("headers", Map(&Object(&HEADER))),
        may("securitySchemes", Map(&Object(&SECURITY_SCHEME))),
        may("links", Map(&Object(&LINK))),
        may("callbacks", Map(&CALLBACK)),
        v31("pathItems", Map(&Object(&PATH_ITEM))),
    ],
);

static TAG: Grammar = plain(
    "a tag",
    &[
        must("name", Text, Essential),
        may("description", Text),
        may("externalDocs", Object(&EXTERNAL_DOCS)),
    ],
);

static EXTERNAL_DOCS: Grammar = plain(
    "an external documentation object",
    &[may("description", Text), must("url", Text, Expected)],
);

static PATH_ITEM: Grammar = referable(
    "a path item",
    &[
        may("summary", Text),
        may("description", Text),
        may("get", Object(&OPERATION)),
        may("put", Object(&OPERATION)),
        may("post", Object(&OPERATION)),
        may("delete", Object(&OPERATION)),
        may("options", Object(&OPERATION)),
        may("head", Object(&OPERATION)),
        may("patch", Object(&OPERATION)),
        may("trace", Object(&OPERATION)),
        may("servers", List(&Object(&SERVER))),
        may("parameters", List(&Object(&PARAMETER))),
    ],
);

static OPERATION: Grammar = plain(
    "an operation",
    &[
        may("tags", List(&Text)),
        may("summary", Text),
        may("description", Text),
        may("externalDocs", Object(&EXTERNAL_DOCS)),
        may("operationId", Text),
        may("parameters", List(&Object(&PARAMETER))),
        may("requestBody", Object(&REQUEST_BODY)),
        must("responses", ExtensibleMap(&Object(&RESPONSE)), Essential30),
        may("callbacks", Map(&CALLBACK)),
        may("deprecated", Flag),
        may("security", List(&Map(&List(&Text)))),
        may("servers", List(&Object(&SERVER))),
    ],
);

static CALLBACK: Shape = Object(&CALLBACK_GRAMMAR);

/// A callback, which is a reference or a map of path items. Its keys are expressions, so it has no
/// fields.
pub(crate) static CALLBACK_GRAMMAR: Grammar = referable("a callback", &[]);

/// The value of a callback's key.
pub(crate) static CALLBACK_ITEM: Shape = Object(&PATH_ITEM);

static PARAMETER: Grammar = referable(
    "a parameter",
    &[
        must("name", Text, Essential),
        must("in", Text, Essential),
        may("description", Text),
        may("required", Flag),
        may("deprecated", Flag),
        may("allowEmptyValue", Flag),
        may("style", Text),
        may("explode", Flag),
        may("allowReserved", Flag),
        may("schema", Schema),
        may("example", Any),
        may("examples", Map(&Object(&EXAMPLE))),
        may("content", Map(&Object(&MEDIA_TYPE))),
    ],
);

static HEADER: Grammar = referable(
    "a header",
    &[
        may("description", Text),
        may("required", Flag),
        may("deprecated", Flag),
        may("allowEmptyValue", Flag),
        may("style", Text),
        may("explode", Flag),
        may("allowReserved", Flag),
        may("schema", Schema),
        may("example", Any),
        may("examples", Map(&Object(&EXAMPLE))),
        may("content", Map(&Object(&MEDIA_TYPE))),
    ],
);

static REQUEST_BODY: Grammar = referable(
    "a request body",
    &[
        may("description", Text),
        must("content", Map(&Object(&MEDIA_TYPE)), Expected),
        may("required", Flag),
    ],
);

static MEDIA_TYPE: Grammar = plain(
    "a media type",
    &[
        may("schema", Schema),
        may("example", Any),
        may("examples", Map(&Object(&EXAMPLE))),
        may("encoding", Map(&Object(&ENCODING))),
    ],
);

static ENCODING: Grammar = plain(
    "an encoding",
    &[
        may("contentType", Text),
        may("headers", Map(&Object(&HEADER))),
        may("style", Text),
        may("explode", Flag),
        may("allowReserved", Flag),
    ],
);

static RESPONSE: Grammar = referable(
    "a response",
    &[
        must("description", Text, Expected),
        may("headers", Map(&Object(&HEADER))),
        may("content", Map(&Object(&MEDIA_TYPE))),
        may("links", Map(&Object(&LINK))),
    ],
);

static EXAMPLE: Grammar = referable(
    "an example",
    &[
        may("summary", Text),
        may("description", Text),
        may("value", Any),
        may("externalValue", Text),
    ],
);

static LINK: Grammar = referable(
    "a link",
    &[
        may("operationRef", Text),
        may("operationId", Text),
        may("parameters", Map(&Any)),
        may("requestBody", Any),
        may("description", Text),
        may("server", Object(&SERVER)),
    ],
);

static SECURITY_SCHEME: Grammar = referable(
    "a security scheme",
    &[
        must("type", Text, Essential),
        may("description", Text),
        may("name", Text),
        may("in", Text),
        may("scheme", Text),
        may("bearerFormat", Text),
        may("flows", Object(&FLOWS)),
        may("openIdConnectUrl", Text),
    ],
);

static FLOWS: Grammar = plain(
    "the flows object",
    &[
        may("implicit", Object(&FLOW)),
        may("password", Object(&FLOW)),
        may("clientCredentials", Object(&FLOW)),
        may("authorizationCode", Object(&FLOW)),
    ],
);

static FLOW: Grammar = plain(
    "a flow",
    &[
        may("authorizationUrl", Text),
        may("tokenUrl", Text),
        may("refreshUrl", Text),
        must("scopes", Map(&Text), Expected),
    ],
);

static DISCRIMINATOR: Grammar = plain(
    "a discriminator",
    &[
        must("propertyName", Text, Essential),
        may("mapping", Map(&Text)),
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
    ],
);

/// A schema, with the keywords of both dialects.
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
pub(super) const TYPES: [&str; 7] = [
    "null", "boolean", "integer", "number", "string", "array", "object",
];
