//! The objects of OpenAPI, from the document down to media types and security schemes.

use super::Need::{Essential, Essential30, Expected, Expected30, Expected31};
use super::Shape::{Any, ExtensibleMap, Flag, List, Map, Object, Schema, Text};
use super::{Grammar, Shape, may, must, plain, referable, referable_since, v31, v32};
use crate::model::Dialect;

/// The object at the top level of a document.
pub(crate) static DOCUMENT: Grammar = plain(
    "the document",
    &[
        must("openapi", Text, Essential),
        v32("$self", Text),
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
        v32("name", Text),
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
        v32("mediaTypes", Map(&Object(&MEDIA_TYPE))),
    ],
);

static TAG: Grammar = plain(
    "a tag",
    &[
        must("name", Text, Essential),
        v32("summary", Text),
        may("description", Text),
        may("externalDocs", Object(&EXTERNAL_DOCS)),
        v32("parent", Text),
        v32("kind", Text),
    ],
);

pub(super) static EXTERNAL_DOCS: Grammar = plain(
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
        v32("query", Object(&OPERATION)),
        v32("additionalOperations", Map(&Object(&OPERATION))),
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

/// The shape of the values in a callback, which are path items.
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

static MEDIA_TYPE: Grammar = referable_since(
    Dialect::V32,
    "a media type",
    &[
        may("schema", Schema),
        v32("itemSchema", Schema),
        // Our extension: `itemSchema` for documents of every version.
        may("x-item-schema", Schema),
        may("example", Any),
        may("examples", Map(&Object(&EXAMPLE))),
        may("encoding", Map(&Object(&ENCODING))),
        v32("prefixEncoding", List(&Object(&ENCODING))),
        v32("itemEncoding", Object(&ENCODING)),
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
        v32("encoding", Map(&Object(&ENCODING))),
        v32("prefixEncoding", List(&Object(&ENCODING))),
        v32("itemEncoding", Object(&ENCODING)),
    ],
);

static RESPONSE: Grammar = referable(
    "a response",
    &[
        v32("summary", Text),
        must("description", Text, Expected31),
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
        v32("dataValue", Any),
        v32("serializedValue", Text),
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

pub(crate) static SECURITY_SCHEME: Grammar = referable(
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
        v32("oauth2MetadataUrl", Text),
        v32("deprecated", Flag),
    ],
);

static FLOWS: Grammar = plain(
    "the flows object",
    &[
        may("implicit", Object(&FLOW)),
        may("password", Object(&FLOW)),
        may("clientCredentials", Object(&FLOW)),
        may("authorizationCode", Object(&FLOW)),
        v32("deviceAuthorization", Object(&FLOW)),
    ],
);

static FLOW: Grammar = plain(
    "a flow",
    &[
        may("authorizationUrl", Text),
        v32("deviceAuthorizationUrl", Text),
        may("tokenUrl", Text),
        may("refreshUrl", Text),
        must("scopes", Map(&Text), Expected),
    ],
);
