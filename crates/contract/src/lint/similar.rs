//! Names that differ only by case or separators, so that generated code has one name for both, and
//! media types that are written twice.

use std::collections::HashMap;

use super::context::Context;
use crate::diagnostic::Diagnostic;
use crate::model::{Location, MediaType, Parameter, SchemaKind};
use crate::node::Node;
use crate::source::Span;

/// Reports properties of one schema, parameters of one operation in one location, headers of one
/// response, and operation ids, that differ only by case or separators, and media types of one body
/// that are equal.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    for (schema, node) in context.contract.schemas.iter().zip(&context.origins.nodes) {
        if !matches!(&schema.kind, SchemaKind::Object(_)) {
            continue;
        }
        let properties = node.get("properties").and_then(Node::as_object);
        let names = properties.unwrap_or_default().iter();
        let names = names.map(|entry| (entry.key.as_str(), entry.key_span));
        compare(names, "the properties", diagnostics);
    }
    for operation in context.contract.all_operations() {
        for (location, what) in [
            (Location::Path, "the path parameters"),
            (Location::Query, "the query parameters"),
            (Location::Header, "the header parameters"),
            (Location::Cookie, "the cookies"),
        ] {
            let parameters = operation.parameters.iter();
            let parameters = parameters.filter(|parameter| parameter.location == location);
            compare(parameters.map(named), what, diagnostics);
        }
        for response in &operation.responses {
            compare(
                response.headers.iter().map(named),
                "the headers",
                diagnostics,
            );
            media_types(&response.content, diagnostics);
        }
        if let Some(body) = &operation.request_body {
            media_types(&body.content, diagnostics);
        }
    }
    let mut ids: Vec<(&str, Span)> = Vec::new();
    for site in &context.origins.operations {
        if site.template.is_some()
            && let Some(id) = site.node.get("operationId")
            && let Some(text) = id.as_str()
        {
            ids.push((text, id.span));
        }
    }
    compare(ids.into_iter(), "the operation ids", diagnostics);
}

fn named(parameter: &Parameter) -> (&str, Span) {
    (&parameter.name, parameter.span)
}

/// Reports names after the first that are equal to it without case and separators.
fn compare<'n>(
    names: impl Iterator<Item = (&'n str, Span)>,
    what: &str,
    diagnostics: &mut Vec<Diagnostic>,
) {
    let mut seen: HashMap<String, (&str, Span)> = HashMap::new();
    for (name, span) in names {
        let first = *seen.entry(folded(name)).or_insert((name, span));
        // Equal names are reported as duplicates.
        if first.0 == name {
            continue;
        }
        let (first, place) = first;
        diagnostics.push(
            Diagnostic::warning(
                "similar-names",
                span,
                format!("{what} `{first}` and `{name}` differ only by case or separators"),
            )
            .help("rename one of them: in generated code they differ by a number alone")
            .related(place, "the other one"),
        );
    }
}

/// Reports media types that are the same as an earlier one: only the values of parameters may depend
/// on the case of their letters (RFC 9110, section 8.3.1).
fn media_types(content: &[MediaType], diagnostics: &mut Vec<Diagnostic>) {
    let mut seen: HashMap<String, &MediaType> = HashMap::new();
    for media_type in content {
        let (essence, parameters) = match media_type.name.split_once(';') {
            Some((essence, parameters)) => (essence, parameters.trim()),
            None => (media_type.name.as_str(), ""),
        };
        let key = format!("{};{parameters}", essence.trim().to_ascii_lowercase());
        let first = *seen.entry(key).or_insert(media_type);
        // A component that several operations use is reported once.
        if first.name == media_type.name {
            continue;
        }
        diagnostics.push(
            Diagnostic::warning(
                "duplicate-media-type",
                media_type.span,
                format!(
                    "`{}` and `{}` are the same media type",
                    first.name, media_type.name
                ),
            )
            .help("remove one of them: a body with this type is read by only one")
            .related(first.span, "the other one"),
        );
    }
}

/// Returns a name in lower case and without separators between its words. A separator at an end
/// stays, since it is all that sets apart names such as `id` and `_id`.
pub(super) fn folded(name: &str) -> String {
    let is_separator = |char| matches!(char, '-' | '_' | ' ' | '.');
    let start = name.len() - name.trim_start_matches(is_separator).len();
    let end = name.trim_end_matches(is_separator).len().max(start);
    let inner = name[start..end].chars().filter(|char| !is_separator(*char));
    let inner: String = inner.flat_map(char::to_lowercase).collect();
    format!("{}{inner}{}", &name[..start], &name[end..])
}
