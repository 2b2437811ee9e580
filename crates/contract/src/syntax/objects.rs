//! What the tables cannot express about an object: fields that depend on each other, and fixed sets
//! of values.

use super::grammar::{Grammar, Shape};
use super::walk::{Item, Walk};
use super::{
    addresses, bodies, examples, links, metadata, names, parameters, responses, security, since_32,
    tags,
};
use crate::model::{Dialect, PathPart};
use crate::node::{Node, NodeValue};
use crate::resolve::RefProblem;
use crate::spelling::nearest;
use crate::stability::Stability;

/// Checks what the table of fields cannot express about an object: fields that depend on each
/// other, and fixed sets of values.
pub(super) fn check<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>, grammar: &Grammar) {
    let has_deprecated = [
        "an operation",
        "a parameter",
        "a header",
        "a security scheme",
    ];
    addresses::lifetime(walk, item.node, has_deprecated.contains(&grammar.name));
    match grammar.name {
        "a parameter" => parameters::parameter(walk, item),
        "a header" => parameters::header(walk, item),
        "the document" => {
            metadata::document(walk, item);
            since_32::document(walk, item);
            security::requirements(walk, item);
            tags::check(walk, item);
        }
        "the info object" => metadata::info(walk, item),
        "a contact" => {
            addresses::urls(walk, item.node, &["url"]);
            addresses::email(walk, item.node);
        }
        "a license" => metadata::license(walk, item),
        "an external documentation object" => addresses::urls(walk, item.node, &["url"]),
        "a path item" => {
            metadata::servers(walk, item);
            since_32::path_item(walk, item);
        }
        "an example" => {
            examples::external(walk, item);
            since_32::example(walk, item);
        }
        "a media type" => examples::both(walk, item),
        "the flows object" => {
            security::flows(walk, item);
            since_32::flows(walk, item);
        }
        "an operation" => {
            security::requirements(walk, item);
            metadata::servers(walk, item);
            stability(walk, item);
            responses::check(walk, item);
        }
        "the components object" => components(walk, item),
        "a security scheme" => {
            security_scheme(walk, item);
            security::scheme(walk, item);
        }
        "a discriminator" => discriminator(walk, item),
        "a link" => links::check(walk, item),
        "a server" => {
            server(walk, item);
            metadata::server(walk, item);
        }
        "a server variable" => {
            server_variable(walk, item);
            metadata::server_variable(walk, item);
        }
        "a request body" => {
            responses::no_media_type(walk, item);
            responses::media_types(walk, item);
            bodies::check(walk, item);
        }
        "a response" => {
            responses::media_types(walk, item);
            bodies::check(walk, item);
            responses::headers(walk, item);
            responses::links(walk, item);
        }
        _ => {}
    }
}

fn components<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    for section in item.node.as_object().unwrap_or_default() {
        if section.key.starts_with("x-") {
            continue;
        }
        for entry in section.value.as_object().unwrap_or_default() {
            if !names::is_component(&entry.key) {
                walk.warning(
                    "component-name",
                    entry.key_span,
                    format!("`{}` is not a valid component name", entry.key),
                    "use letters, digits, `.`, `-` and `_`".to_owned(),
                );
            }
        }
    }
}

fn security_scheme<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let Some(node) = item.node.get("type") else {
        return;
    };
    let needed: &[&str] = match node.as_str() {
        Some("apiKey") => &["name", "in"],
        Some("http") => &["scheme"],
        Some("oauth2") => &["flows"],
        Some("openIdConnect") => &["openIdConnectUrl"],
        Some("mutualTLS") | None => &[],
        Some(other) => {
            let kinds = ["apiKey", "http", "oauth2", "openIdConnect", "mutualTLS"];
            let help = match (other, nearest(other, kinds.into_iter())) {
                ("basic" | "bearer", _) => format!("write `type: http` and `scheme: {other}`"),
                (_, Some(meant)) => format!("did you mean `{meant}`?"),
                _ => format!("write `{}`", kinds.join("` or `")),
            };
            return walk.error(
                "unknown-scheme-type",
                node.span,
                format!("there is no security scheme of type `{other}`"),
                help,
            );
        }
    };
    for key in needed {
        if is_missing(item.node, key) {
            walk.error(
                "missing-keyword",
                item.at,
                format!("this security scheme needs `{key}`"),
                format!("add `{key}`"),
            );
        }
    }
    // Of the fields that a type needs, only `in` has a fixed set of values.
    if needed.contains(&"in")
        && let Some(at) = item.node.get("in")
        && let Some(text) = at.as_str()
        && !["query", "header", "cookie"].contains(&text)
    {
        walk.error(
            "unknown-location",
            at.span,
            format!("a key cannot be in `{text}`"),
            "write `query`, `header` or `cookie`".to_owned(),
        );
    }
    if needed.contains(&"in")
        && let Some(location) = item.node.get("in").and_then(Node::as_str)
    {
        names::parameter(walk, item.node, location);
    }
}

/// Returns whether an object lacks a field, or has null there, which says no more.
fn is_missing(node: &Node, key: &str) -> bool {
    node.get(key)
        .is_none_or(|value| matches!(value.value, NodeValue::Null))
}

/// Reports an `x-stability` that says nothing.
fn stability(walk: &mut Walk<'_, '_>, item: Item<'_>) {
    let Some(value) = item.node.get("x-stability") else {
        return;
    };
    let name = value.as_str().unwrap_or_default();
    if Stability::named(name).is_some() {
        return;
    }
    let names = Stability::ALL.map(Stability::name);
    let help = match nearest(name, names.into_iter()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("write `{}`", names.join("`, `")),
    };
    walk.warning(
        "bad-stability",
        value.span,
        "this is no stability, so the operation counts as stable".to_owned(),
        help,
    );
}

fn discriminator<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let mapping = item.node.get("mapping").and_then(Node::as_object);
    let default = item
        .node
        .entry("defaultMapping")
        .filter(|_| walk.dialect >= Dialect::V32);
    let root = walk.resolver.root().node;
    let components = root.get("components");
    let schemas = components.and_then(|components| components.get("schemas"));
    for entry in mapping.unwrap_or_default().iter().chain(default) {
        let Some(target) = entry.value.as_str() else {
            continue;
        };
        if schemas.is_some_and(|schemas| walk.resolver.value(schemas, target).is_some()) {
            continue;
        }
        // The standard allows both names and references here. What contains no `#` or `/` is
        // reported as a misspelt name, which is far more likely than a file without an extension.
        let is_reference = target.contains('#') || target.contains('/');
        let problem = match walk.resolver.resolve(item.document, item.node, target) {
            Ok(meant) if is_reference => {
                walk.note(&entry.value, &meant, Shape::Schema);
                continue;
            }
            Err(problem) if is_reference => problem,
            _ => RefProblem::Dangling(
                nearest(
                    target,
                    schemas
                        .and_then(Node::as_object)
                        .unwrap_or_default()
                        .iter()
                        .map(|entry| entry.key.as_str()),
                )
                .map(str::to_owned),
            ),
        };
        let RefProblem::Dangling(meant) = problem else {
            walk.report_reference(target, entry.value.span, problem);
            continue;
        };
        walk.error(
            "unknown-mapping",
            entry.value.span,
            format!("the mapping names a schema `{target}`, which does not exist"),
            match meant {
                Some(meant) => format!("did you mean `{meant}`?"),
                None => "write the name of a schema in `components`, or a reference".to_owned(),
            },
        );
    }
}

fn server<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let Some(url) = item.node.get("url") else {
        return;
    };
    let declared = item
        .node
        .get("variables")
        .and_then(Node::as_object)
        .unwrap_or_default();
    for part in PathPart::split(url.as_str().unwrap_or_default()) {
        let PathPart::Parameter(name) = part else {
            continue;
        };
        if declared.iter().any(|entry| entry.key == name) {
            continue;
        }
        walk.warning(
            "undeclared-server-variable",
            url.span,
            format!("the variable `{{{name}}}` of the server's URL is not declared"),
            match nearest(&name, declared.iter().map(|entry| entry.key.as_str())) {
                Some(meant) => format!("did you mean `{{{meant}}}`?"),
                None => format!("add `variables`, with a `default` for `{name}`"),
            },
        );
    }
}

fn server_variable<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let (Some(default), Some(allowed)) = (
        item.node.get("default"),
        item.node.get("enum").and_then(Node::as_array),
    ) else {
        return;
    };
    if !allowed.is_empty()
        && !allowed
            .iter()
            .any(|value| value.as_str() == default.as_str())
    {
        walk.warning(
            "bad-default",
            default.span,
            "the default of the server variable is not in its `enum`".to_owned(),
            "write one of the listed values".to_owned(),
        );
    }
}
