//! The dialect of a document.

use crate::diagnostic::Diagnostic;
use crate::model::Dialect;
use crate::node::{Node, NodeValue};

/// Returns whether a document is one of 3.2, also if its version is a number, as in documents of others.
pub(crate) fn is_32(root: &Node) -> bool {
    match root.get("openapi").map(|version| &version.value) {
        Some(NodeValue::String(version)) => is_version(version, "3.2"),
        Some(NodeValue::Number(version)) => version.to_string() == "3.2",
        _ => false,
    }
}

/// Returns the version of OpenAPI that a document is written in. Reports an error and returns
/// `None` if it is not 3.0, 3.1 or 3.2.
pub(super) fn dialect(root: &Node, diagnostics: &mut Vec<Diagnostic>) -> Option<Dialect> {
    if !matches!(root.value, NodeValue::Object(_)) {
        diagnostics.push(
            Diagnostic::error(
                "wrong-type",
                root.span,
                format!("the document must be an object, not {}", root.kind()),
            )
            .help("an OpenAPI document starts with `openapi: 3.1.0`"),
        );
        return None;
    }
    if let Some(swagger) = root.entry("swagger") {
        diagnostics.push(
            Diagnostic::error(
                "swagger-2",
                swagger.key_span,
                "this is a Swagger 2.0 document, and only OpenAPI 3.0, 3.1 and 3.2 are read",
            )
            .help("convert it to OpenAPI 3, for example at https://converter.swagger.io"),
        );
        return None;
    }
    let Some(version) = root.get("openapi") else {
        diagnostics.push(
            Diagnostic::error(
                "missing-version",
                root.span,
                "the document does not say which version of OpenAPI it is written in",
            )
            .help("add `openapi: 3.1.0` at the top level"),
        );
        return None;
    };
    let diagnostic = match (&version.value, version.as_str()) {
        (_, Some(text)) if is_version(text, "3.0") => return Some(Dialect::V30),
        (_, Some(text)) if is_version(text, "3.1") => return Some(Dialect::V31),
        (_, Some(text)) if is_version(text, "3.2") => return Some(Dialect::V32),
        (_, Some(text)) if is_newer(text) => newer(version, text),
        (_, Some(text)) => Diagnostic::error(
            "unsupported-version",
            version.span,
            format!("OpenAPI `{text}` is not read, only 3.0, 3.1 and 3.2 are"),
        )
        .help("write `3.1.0`, and only what that version knows"),
        (NodeValue::Number(number), _) if is_newer(&number.to_string()) => {
            newer(version, &number.to_string())
        }
        (NodeValue::Number(number), _) => {
            let written = number.to_string();
            let known = ["3.0", "3.1", "3.2"].into_iter();
            let minor = known.into_iter().find(|minor| is_version(&written, minor));
            let minor = minor.unwrap_or("3.1");
            Diagnostic::error(
                "unsupported-version",
                version.span,
                format!("`openapi` must be a string, and {number} is a number"),
            )
            .help(format!(
                "write all three parts, such as `{minor}.0`, or quote it"
            ))
        }
        _ => Diagnostic::error(
            "unsupported-version",
            version.span,
            format!("`openapi` must be a string, not {}", version.kind()),
        )
        .help("write `3.1.0`"),
    };
    diagnostics.push(diagnostic);
    None
}

fn newer(version: &Node, text: &str) -> Diagnostic {
    Diagnostic::error(
        "unsupported-version",
        version.span,
        format!("OpenAPI `{text}` is newer than 3.2, and what it adds would be lost"),
    )
    .help("write `3.2.0`, and only what that version knows, or update this generator")
}

/// Returns whether a version is 3.3 or later.
fn is_newer(text: &str) -> bool {
    let mut parts = text.split('.').map(str::parse::<u32>);
    match (parts.next(), parts.next()) {
        (Some(Ok(3)), Some(Ok(minor))) => minor > 2,
        (Some(Ok(major)), _) => major > 3,
        _ => false,
    }
}

fn is_version(text: &str, minor: &str) -> bool {
    text.strip_prefix(minor)
        .is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
}
