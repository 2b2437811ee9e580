//! The set `interoperable`: what is right, but handled differently by tools.

use std::collections::{HashMap, HashSet};

use super::binary;
use super::context::Context;
use super::similar::folded;
use crate::diagnostic::Diagnostic;
use crate::format;
use crate::model::{Contract, Keywords, Operation, ParameterEncoding, SecurityKind};
use crate::model::{Dialect, Location, SchemaId, SchemaKind, Style, Types, split_label};
use crate::node::Node;
use crate::spelling::nearest;
use crate::syntax::{is_misspelt_format, is_unregistered};

/// Runs the lints of the set `interoperable`.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    schemas(context, diagnostics);
    components(context, diagnostics);
    for operation in &context.contract.operations {
        shared_names(operation, diagnostics);
        styles(context, operation, diagnostics);
        form_styles(context, operation, diagnostics);
    }
    paths(context, diagnostics);
    schemes(context, diagnostics);
    binary::check(context, diagnostics);
}

/// Reports what tools read in several ways in schemas: arrays without `items`, formats that no
/// standard has, several types, and integers beyond what JavaScript holds.
fn schemas(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    for (schema, node) in context.contract.schemas.iter().zip(&context.origins.nodes) {
        let SchemaKind::Object(keywords) = &schema.kind else {
            continue;
        };
        let at = |key: &str| node.entry(key).map_or(node.span, |entry| entry.key_span);
        let types = keywords.types.unwrap_or_default();
        // In 3.0 it is an error.
        if context.contract.dialect >= Dialect::V31
            && types == Types::ARRAY
            && keywords.items.is_none()
            && keywords.prefix_items.is_empty()
            && keywords.reference.is_none()
            && keywords.all_of.is_empty()
        {
            diagnostics.push(
                Diagnostic::warning(
                    "missing-items",
                    at("type"),
                    "many tools reject an array without `items`",
                )
                .help("add `items`; `items: {}` takes anything"),
            );
        }
        if let Some(value) = node.get("format")
            && value
                .as_str()
                .is_some_and(|name| format::lookup(name).is_none())
            && !is_misspelt_format(node)
        {
            diagnostics.push(
                Diagnostic::warning(
                    "unknown-format",
                    value.span,
                    "no standard has this format, so most tools ignore it",
                )
                .help("say the same with `pattern`, or explain it in the description"),
            );
        }
        texts(context.contract.dialect, node, diagnostics);
        if types.without(Types::NULL).names().count() > 1 && node.get("type").is_some() {
            diagnostics.push(
                Diagnostic::warning(
                    "several-types",
                    at("type"),
                    "many tools read only one type beside `null`",
                )
                .help("write `oneOf` with a schema for each type"),
            );
        }
    }
}

/// The values of `contentEncoding` that RFC 2045 and RFC 4648 define, and those in common use.
const ENCODINGS: [&str; 9] = [
    "7bit",
    "8bit",
    "base16",
    "base32",
    "base32hex",
    "base64",
    "base64url",
    "binary",
    "quoted-printable",
];

/// Reports what tools show or read in one of two ways: texts beside a `$ref` of 3.0, `example` beside
/// `examples`, and encodings that no standard has.
fn texts(dialect: Dialect, node: &Node, diagnostics: &mut Vec<Diagnostic>) {
    if dialect == Dialect::V30 && node.get("$ref").is_some() {
        let mut keys = ["description", "title", "summary"].into_iter();
        // They have one cause.
        if let Some(entry) = keys.find_map(|key| node.entry(key)) {
            diagnostics.push(
                Diagnostic::warning(
                    "ignored-text",
                    entry.key_span,
                    format!("in OpenAPI 3.0 `{}` beside `$ref` is ignored", entry.key),
                )
                .help("put the reference into `allOf` with one member, or write `openapi: 3.1.0`"),
            );
        }
        return;
    }
    if dialect >= Dialect::V31
        && node.get("examples").is_some()
        && let Some(entry) = node.entry("example")
    {
        diagnostics.push(
            Diagnostic::warning(
                "two-examples",
                entry.key_span,
                "`example` is deprecated, and tools show it or `examples`, but not both",
            )
            .help("move the example into `examples`"),
        );
    }
    if let Some(value) = node
        .get("contentEncoding")
        .filter(|_| dialect >= Dialect::V31)
        && let Some(text) = value.as_str()
        && !ENCODINGS.contains(&text.to_ascii_lowercase().as_str())
    {
        diagnostics.push(
            Diagnostic::warning(
                "unknown-encoding",
                value.span,
                format!("no standard has the encoding `{text}`, so most tools ignore it"),
            )
            .help(match nearest(text, ENCODINGS.into_iter()) {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "write one such as `base64`".to_owned(),
            }),
        );
    }
}

/// Reports component schemas whose names differ only by case or separators.
fn components(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let root = context.resolver.root().node;
    let components = root
        .get("components")
        .and_then(|components| components.get("schemas"));
    let mut seen: HashMap<String, &str> = HashMap::new();
    for entry in components.and_then(Node::as_object).unwrap_or_default() {
        let first = *seen.entry(folded(&entry.key)).or_insert(&entry.key);
        if first != entry.key {
            diagnostics.push(
                Diagnostic::warning(
                    "similar-components",
                    entry.key_span,
                    format!(
                        "the schemas `{first}` and `{}` differ only by case or separators",
                        entry.key
                    ),
                )
                .help("rename one of them: many tools write a file or type for each"),
            );
        }
    }
}

/// Reports parameters of one operation that have the same name in several locations.
fn shared_names(operation: &Operation, diagnostics: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<String, Location> = HashMap::new();
    for parameter in &operation.parameters {
        let first = *seen
            .entry(folded(&parameter.name))
            .or_insert(parameter.location);
        if first != parameter.location {
            diagnostics.push(
                Diagnostic::warning(
                    "shared-name",
                    parameter.span,
                    format!(
                        "two parameters in different locations are called `{}`",
                        parameter.name
                    ),
                )
                .help("rename one of them: in most languages they are arguments of one function"),
            );
        }
    }
}

/// Reports HTTP authentication schemes that are not registered, other than misspelt ones, which are
/// reported always, and keys in the header `Authorization`.
fn schemes(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    for scheme in context.contract.security_schemes.values() {
        if let SecurityKind::ApiKey { name, location } = &scheme.kind
            && *location == Location::Header
            && name.eq_ignore_ascii_case("authorization")
        {
            diagnostics.push(
                Diagnostic::warning(
                    "api-key-authorization",
                    scheme.span,
                    "a key in the header `Authorization` has no scheme in front of it, which HTTP requires",
                )
                .help("write `type: http` with its scheme, such as `bearer`, or another header"),
            );
        }
        let SecurityKind::Http(name) = &scheme.kind else {
            continue;
        };
        if !is_unregistered(name) {
            continue;
        }
        diagnostics.push(
            Diagnostic::warning(
                "unknown-http-scheme",
                scheme.span,
                format!("`{name}` is not a registered authentication scheme of HTTP"),
            )
            .help(
                "write a registered one, such as `bearer`, or `type: apiKey` for a header of your own",
            ),
        );
    }
}

/// Reports styles that the standard does not define for the type of their parameter.
fn styles(context: &Context<'_, '_>, operation: &Operation, diagnostics: &mut Vec<Diagnostic>) {
    let contract = context.contract;
    for parameter in &operation.parameters {
        let ParameterEncoding::Style { style, explode, .. } = &parameter.encoding else {
            continue;
        };
        let SchemaKind::Object(keywords) =
            &contract.schema(contract.resolve(parameter.schema)).kind
        else {
            continue;
        };
        let Some(types) = keywords.types else {
            continue;
        };
        if parameter.location == Location::Path && types.contains(Types::NULL) {
            diagnostics.push(
                Diagnostic::warning(
                    "undefined-style",
                    parameter.span,
                    "the standard does not say how null is written in a path",
                )
                .help("leave null out of the schema: a path has each of its segments"),
            );
            continue;
        }
        let has_parts = types.contains(Types::ARRAY) || types.contains(Types::OBJECT);
        if has_nested_parts(contract, keywords) {
            diagnostics.push(
                Diagnostic::warning(
                    "undefined-style",
                    parameter.span,
                    "the standard does not say how items and properties that are arrays or objects are written",
                )
                .help("declare the value as JSON, by `content: { application/json: … }` instead of `schema`"),
            );
            continue;
        }
        let is_undefined = match style {
            Style::SpaceDelimited | Style::PipeDelimited => !has_parts || *explode,
            Style::Form
            | Style::Simple
            | Style::Matrix
            | Style::Label
            | Style::DeepObject
            | Style::Cookie => false,
        };
        if is_undefined {
            diagnostics.push(
                Diagnostic::warning(
                    "undefined-style",
                    parameter.span,
                    "the standard does not say how this style writes such a value",
                )
                .help("remove `style`, or write `explode: false` with an array"),
            );
        }
    }
}

/// Reports properties of forms in the style `deepObject` whose own properties are arrays or objects.
fn form_styles(
    context: &Context<'_, '_>,
    operation: &Operation,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let contract = context.contract;
    let content = operation.request_body.iter().flat_map(|body| &body.content);
    for media in content {
        let Some(schema) = media.schema else { continue };
        let SchemaKind::Object(body) = &contract.schema(contract.resolve(schema)).kind else {
            continue;
        };
        for (name, encoding) in &media.encoding {
            let property = body.properties.get(name).copied();
            if encoding.style == Some(Style::DeepObject)
                && let Some(property) = property
                && let SchemaKind::Object(keywords) =
                    &contract.schema(contract.resolve(property)).kind
                && keywords.types == Some(Types::OBJECT)
                && has_nested_parts(contract, keywords)
            {
                diagnostics.push(
                    Diagnostic::warning(
                        "undefined-style",
                        media.span,
                        format!("the standard does not say how `deepObject` writes the arrays and objects in `{name}`"),
                    )
                    .help("leave the style out: the property is then written as JSON"),
                );
            }
        }
    }
}

/// Returns whether all values of a schema are arrays or objects, with items or a property that are
/// arrays or objects.
fn has_nested_parts(contract: &Contract, keywords: &Keywords) -> bool {
    let is_of_parts = |id: SchemaId| match &contract.schema(contract.resolve(id)).kind {
        SchemaKind::Object(part) => part
            .types
            .is_some_and(|types| types == Types::OBJECT || types == Types::ARRAY),
        SchemaKind::Bool(_) => false,
    };
    match keywords.types {
        Some(Types::ARRAY) => keywords.items.is_some_and(is_of_parts),
        Some(Types::OBJECT) => keywords.properties.values().copied().any(is_of_parts),
        _ => false,
    }
}

/// Reports paths that tools match differently: with an empty segment, two parameters side by side, a
/// query, a fragment, or characters that URLs do not have.
fn paths(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let root = context.resolver.root().node;
    let paths = root.get("paths").and_then(Node::as_object);
    let mut seen = HashSet::new();
    for entry in paths.unwrap_or_default() {
        let (template, label) = split_label(&entry.key);
        let is_encoded = |char: char| char.is_ascii_graphic() && !"\"<>\\^`|".contains(char);
        let why = if !label.is_empty() {
            "a query or fragment in a path is no part of what most tools match"
        } else if template.contains("}{") {
            "nothing separates two parameters of the path"
        } else if template.contains("//") {
            "the path has an empty segment"
        } else if !template.chars().all(is_encoded) {
            "the path has characters that a URL must encode"
        } else if !seen.insert(template.trim_end_matches('/').to_ascii_lowercase()) {
            "the path differs from another one only by case or a slash"
        } else {
            continue;
        };
        diagnostics.push(
            Diagnostic::warning("unusual-path", entry.key_span, why).help(
                "write segments of letters, digits and `-`, and each parameter as a whole segment",
            ),
        );
    }
}
