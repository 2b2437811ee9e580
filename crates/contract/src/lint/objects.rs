//! What the tables cannot say about an object of the standard: fields that depend on each other, and closed vocabularies.

use super::bodies;
use super::grammar::{Grammar, Shape};
use super::syntax::{Item, Walk};
use crate::model::{PathPart, StatusKey};
use crate::node::Node;
use crate::resolve::RefProblem;
use crate::spelling::nearest;

/// Checks one object whose fields have been checked one by one.
pub(super) fn check<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>, grammar: &Grammar) {
    match grammar.name {
        "a parameter" => parameter(walk, item),
        "a header" => {
            style(walk, item, "header");
            typed(walk, item, "a header");
        }
        "an operation" => responses(walk, item),
        "the components object" => components(walk, item),
        "a security scheme" => security_scheme(walk, item),
        "a discriminator" => discriminator(walk, item),
        "a link" => {
            if let Some(id) = item.node.get("operationId")
                && let Some(name) = id.as_str()
            {
                walk.findings.named.push((name, id.span));
            }
        }
        "a server" => server(walk, item),
        "a server variable" => server_variable(walk, item),
        "a request body" => {
            media_types(walk, item);
            bodies::check(walk, item);
        }
        "a response" => {
            media_types(walk, item);
            bodies::check(walk, item);
            answer_headers(walk, item);
        }
        _ => {}
    }
}

fn parameter<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    if let Some(node) = item.node.get("in")
        && let Some(location) = node.as_str()
    {
        match location {
            "path" => path_parameter(walk, item),
            "query" | "cookie" => {}
            "header" => header_parameter(walk, item),
            "body" | "formData" => walk.error(
                "unknown-location",
                node.span,
                format!("a parameter `in: {location}` belongs to Swagger 2.0"),
                "write a `requestBody`".to_owned(),
            ),
            other => walk.error(
                "unknown-location",
                node.span,
                format!("a parameter cannot be in `{other}`"),
                "write `path`, `query`, `header` or `cookie`".to_owned(),
            ),
        }
        style(walk, item, location);
    }
    if let Some(entry) = item.node.entry("allowEmptyValue")
        && entry.value.as_bool() == Some(true)
    {
        walk.warning(
            "ignored-keyword",
            entry.key_span,
            "`allowEmptyValue` is deprecated and ignored: an empty value is one of the schema, or refused".to_owned(),
            "leave it out, and have the schema accept the empty text".to_owned(),
        );
    }
    typed(walk, item, "a parameter");
}

fn path_parameter<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let required = item.node.entry("required");
    if required.is_none_or(|entry| entry.value.as_bool() == Some(false)) {
        let name = name_of(item.node);
        walk.error(
            "path-parameter-optional",
            required.map_or(item.at, |entry| entry.value.span),
            format!("the path parameter `{name}` must be required"),
            "write `required: true`".to_owned(),
        );
    }
}

fn header_parameter<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let Some(node) = item.node.get("name") else {
        return;
    };
    let name = name_of(item.node);
    if ["accept", "content-type", "authorization"].contains(&name.to_ascii_lowercase().as_str()) {
        walk.warning(
            "ignored-header",
            node.span,
            format!("tools that follow the standard ignore a header parameter `{name}`"),
            "media types say it in `content`, and `security` says who may call".to_owned(),
        );
    }
}

/// Media types say what `Content-Type` is, so a header of that name says nothing.
fn answer_headers<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    for entry in item
        .node
        .get("headers")
        .and_then(Node::as_object)
        .unwrap_or_default()
    {
        if entry.key.eq_ignore_ascii_case("content-type") {
            walk.warning(
                "ignored-header",
                entry.key_span,
                format!(
                    "tools that follow the standard ignore an answer's header `{}`",
                    entry.key
                ),
                "media types say it in `content`".to_owned(),
            );
        }
    }
}

fn name_of(node: &Node) -> &str {
    node.get("name").and_then(Node::as_str).unwrap_or_default()
}

fn style<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>, location: &str) {
    let allowed: &[&str] = match location {
        "path" => &["matrix", "label", "simple"],
        "query" => &["form", "spaceDelimited", "pipeDelimited", "deepObject"],
        "header" => &["simple"],
        "cookie" => &["form"],
        _ => return,
    };
    let Some(node) = item.node.get("style") else {
        return;
    };
    let Some(style) = node.as_str() else { return };
    if allowed.contains(&style) {
        if style == "deepObject"
            && item
                .node
                .get("schema")
                .is_some_and(|schema| bodies::is_no_object(walk, item, schema))
        {
            walk.error(
                "impossible-style",
                node.span,
                "`deepObject` writes the properties of an object, and the schema accepts none"
                    .to_owned(),
                "leave `style` out, or write a schema of type object".to_owned(),
            );
        }
        return;
    }
    let help = match nearest(style, allowed.iter().copied()) {
        Some(meant) => format!("did you mean `{meant}`?"),
        None => format!("write `{}`", allowed.join("` or `")),
    };
    walk.error(
        "impossible-style",
        node.span,
        format!("in a {location} there is no style `{style}`"),
        help,
    );
}

/// A parameter has a schema or one media type.
fn typed<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>, what: &str) {
    let content = item.node.entry("content");
    match (item.node.get("schema"), content) {
        (None, None) => walk.warning(
            "missing-keyword",
            item.at,
            format!("{what} needs `schema` or `content`"),
            "add a `schema`".to_owned(),
        ),
        (Some(_), Some(entry)) => walk.warning(
            "unknown-keyword",
            entry.key_span,
            format!("{what} has either `schema` or `content`, and `schema` counts"),
            "leave out one of them".to_owned(),
        ),
        (None, Some(entry)) => {
            let media = entry.value.as_object().unwrap_or_default();
            if media.len() != 1 {
                walk.error(
                    "wrong-type",
                    entry.key_span,
                    format!("the `content` of {what} must have exactly one media type"),
                    "keep one".to_owned(),
                );
            }
            media_types(walk, item);
        }
        (Some(_), None) => {}
    }
}

fn responses<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    if item.node.get("requestBody").is_some() && item.key == "trace" {
        walk.warning(
            "impossible-body",
            item.at,
            "TRACE has no body".to_owned(),
            "leave out `requestBody`".to_owned(),
        );
    }
    let Some(entry) = item.node.entry("responses") else {
        return;
    };
    let Some(responses) = entry.value.as_object() else {
        return;
    };
    let statuses = responses
        .iter()
        .filter(|entry| !entry.key.starts_with("x-"));
    let mut count = 0;
    for status in statuses {
        count += 1;
        if StatusKey::parse(&status.key).is_none() {
            walk.error(
                "impossible-status",
                status.key_span,
                format!("`{}` is not a status", status.key),
                status_help(&status.key),
            );
        }
    }
    if count == 0 {
        walk.warning(
            "missing-responses",
            entry.key_span,
            "the operation lists no answer".to_owned(),
            "add at least the answer to a successful call".to_owned(),
        );
    }
}

fn status_help(key: &str) -> String {
    let upper = key.to_ascii_uppercase();
    if matches!(StatusKey::parse(&upper), Some(StatusKey::Range(_))) {
        return format!("write `{upper}`");
    }
    if key.eq_ignore_ascii_case("default") {
        return "write `default`".to_owned();
    }
    "write 100 to 599, a range such as `2XX`, or `default`".to_owned()
}

fn components<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    for section in item.node.as_object().unwrap_or_default() {
        if section.key.starts_with("x-") {
            continue;
        }
        for entry in section.value.as_object().unwrap_or_default() {
            let legal = !entry.key.is_empty()
                && entry
                    .key
                    .chars()
                    .all(|char| char.is_ascii_alphanumeric() || matches!(char, '.' | '-' | '_'));
            if !legal {
                walk.warning(
                    "component-name",
                    entry.key_span,
                    format!("`{}` is not a name for a component", entry.key),
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
        if item.node.get(key).is_none() {
            walk.error(
                "missing-keyword",
                item.at,
                format!("this security scheme needs `{key}`"),
                format!("add `{key}`"),
            );
        }
    }
    if needed.contains(&"in")
        && let Some(place) = item.node.get("in")
        && let Some(text) = place.as_str()
        && !["query", "header", "cookie"].contains(&text)
    {
        walk.error(
            "unknown-location",
            place.span,
            format!("a key cannot be in `{text}`"),
            "write `query`, `header` or `cookie`".to_owned(),
        );
    }
}

fn discriminator<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let Some(mapping) = item.node.get("mapping").and_then(Node::as_object) else {
        return;
    };
    let root = walk.resolver.root().node;
    let components = root.get("components");
    let schemas = components.and_then(|components| components.get("schemas"));
    for entry in mapping {
        let Some(target) = entry.value.as_str() else {
            continue;
        };
        if schemas.is_some_and(|schemas| walk.resolver.value(schemas, target).is_some()) {
            continue;
        }
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
            walk.refuse_reference(target, entry.value.span, problem);
            continue;
        };
        walk.error(
            "unknown-mapping",
            entry.value.span,
            format!("the mapping means a schema `{target}`, which is not there"),
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
            format!("nothing says what `{{{name}}}` in the server's URL is"),
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
    if !allowed
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

fn media_types<'a>(walk: &mut Walk<'_, 'a>, item: Item<'a>) {
    let Some(content) = item.node.get("content").and_then(Node::as_object) else {
        return;
    };
    for entry in content {
        let range = entry.key.split(';').next().unwrap_or_default().trim();
        let legal = range.split_once('/').is_some_and(|(kind, sub)| {
            !kind.is_empty() && !sub.is_empty() && !sub.contains('/') && !range.contains(' ')
        });
        if !legal {
            walk.warning(
                "bad-media-type",
                entry.key_span,
                format!("`{}` is not a media type", entry.key),
                "write one such as `application/json`".to_owned(),
            );
        }
    }
}
