//! What operations, paths and tags leave unsaid, and what they say unusually.

use std::collections::HashSet;

use crate::build::OperationSite;
use crate::diagnostic::Diagnostic;
use crate::lint::context::Context;
use crate::model::{Method, Operation, SchemaKind, StatusKey};
use crate::node::{Entry, Node};
use crate::node_ref::address;

/// Checks the operations of the paths, the paths, and the tags.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    for operation in &context.contract.operations {
        body(context, operation, diagnostics);
        contents(operation, diagnostics);
        defaults(context, operation, diagnostics);
        client_error(operation, diagnostics);
        only_default(operation, diagnostics);
    }
    let mut seen = HashSet::new();
    for site in &context.origins.operations {
        // A callback component that several operations use is one operation.
        if seen.insert(address(site.node)) {
            words(site, diagnostics);
        }
    }
    paths(context, diagnostics);
    tags(context, diagnostics);
    untagged(context, diagnostics);
}

/// Reports operations without a tag in a document that declares tags.
fn untagged(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let declared = context.resolver.root().node.get("tags");
    if declared
        .and_then(Node::as_array)
        .is_none_or(<[Node]>::is_empty)
    {
        return;
    }
    for operation in &context.contract.operations {
        // What is no list of tags is reported as such.
        let written = key_of(context, operation, "tags");
        let is_empty =
            written.is_none_or(|entry| entry.value.as_array().is_some_and(<[_]>::is_empty));
        if operation.tags.is_empty() && is_empty {
            diagnostics.push(
                Diagnostic::warning(
                    "untagged-operation",
                    operation.span,
                    "the operation has none of the tags that the document declares",
                )
                .help("add `tags`: readers look for it there"),
            );
        }
    }
}

/// Reports operations without a summary or an id.
fn words(site: &OperationSite<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let says = |key: &str| {
        let text = site.node.get(key).and_then(Node::as_str);
        text.is_some_and(|text| !text.trim().is_empty())
    };
    let first = site.node.as_object().and_then(<[_]>::first);
    let span = first.map_or(site.node.span, |entry| entry.key_span);
    if !says("summary") {
        diagnostics.push(
            Diagnostic::warning("missing-summary", span, "the operation has no summary")
                .help("say in one line what it does"),
        );
    }
    if site.node.get("operationId").is_none() {
        diagnostics.push(
            Diagnostic::warning(
                "missing-operation-id",
                span,
                "the operation has no operationId",
            )
            .help("add one: without it, each tool derives its own name"),
        );
    }
}

/// Reports a body of a request that most servers and proxies do not expect one with.
fn body(context: &Context<'_, '_>, operation: &Operation, diagnostics: &mut Vec<Diagnostic>) {
    let is_unusual = matches!(
        operation.method,
        Method::Get | Method::Head | Method::Delete | Method::Options
    );
    if !is_unusual || operation.request_body.is_none() {
        return;
    }
    let entry = key_of(context, operation, "requestBody");
    let span = entry.map_or(operation.span, |entry| entry.key_span);
    diagnostics.push(
        Diagnostic::warning(
            "unexpected-body",
            span,
            format!(
                "the body of a {} request has no defined meaning",
                operation.method.as_str()
            ),
        )
        .help("use parameters, or `POST`"),
    );
}

/// Reports media types of structured bodies that have no schema. Bodies such as images need none.
fn contents(operation: &Operation, diagnostics: &mut Vec<Diagnostic>) {
    let bodies = operation.request_body.iter().map(|body| &body.content);
    let responses = operation.responses.iter().map(|response| &response.content);
    for media in bodies.chain(responses).flatten() {
        let essence = media.name.split(';').next().unwrap_or_default().trim();
        let essence = essence.to_ascii_lowercase();
        let is_structured = ["json", "xml"].iter().any(|kind| {
            let rest = essence.strip_suffix(kind);
            rest.is_some_and(|rest| rest.ends_with(['/', '+']))
        }) || ["application/x-www-form-urlencoded", "multipart/form-data"]
            .contains(&essence.as_str());
        if is_structured && media.schemas().next().is_none() {
            diagnostics.push(
                Diagnostic::warning(
                    "missing-schema",
                    media.span,
                    format!(
                        "nothing says what a body of the media type `{}` has",
                        media.name
                    ),
                )
                .help("add a `schema`"),
            );
        }
    }
}

/// Returns the entry of a key of an operation.
fn key_of<'a>(context: &Context<'_, 'a>, operation: &Operation, key: &str) -> Option<&'a Entry> {
    let method = operation.method.key();
    let paths = context.resolver.root().node.get("paths")?;
    let item = paths.get(&operation.path)?;
    item.get(&method)?.entry(key)
}

/// Reports defaults of required parameters, which never apply.
fn defaults(context: &Context<'_, '_>, operation: &Operation, diagnostics: &mut Vec<Diagnostic>) {
    for parameter in operation
        .parameters
        .iter()
        .filter(|parameter| parameter.required)
    {
        let node = context.origins.nodes[parameter.schema.index()];
        let SchemaKind::Object(keywords) = &context.contract.schema(parameter.schema).kind else {
            continue;
        };
        if keywords.default.is_some() {
            let span = node
                .entry("default")
                .map_or(parameter.span, |entry| entry.key_span);
            diagnostics.push(
                Diagnostic::warning(
                    "defaulted-required",
                    span,
                    "the default of a required parameter never applies",
                )
                .help("remove it, or make the parameter optional"),
            );
        }
    }
}

/// Reports an operation that lists no response to requests that it refuses: no 4XX and no default.
fn client_error(operation: &Operation, diagnostics: &mut Vec<Diagnostic>) {
    let is_refusal = |status: &StatusKey| {
        matches!(
            status,
            StatusKey::Code(400..=499) | StatusKey::Range(4) | StatusKey::Default
        )
    };
    let mut responses = operation.responses.iter();
    if !operation.responses.is_empty() && !responses.any(|response| is_refusal(&response.status)) {
        diagnostics.push(
            Diagnostic::warning(
                "missing-client-error",
                operation.span,
                "the operation has no response to a request that it refuses",
            )
            .help("add one such as `\"400\"` or `4XX`"),
        );
    }
}

/// Reports an operation whose only response is `default`.
fn only_default(operation: &Operation, diagnostics: &mut Vec<Diagnostic>) {
    if let [response] = &operation.responses[..]
        && response.status == StatusKey::Default
    {
        diagnostics.push(
            Diagnostic::warning(
                "only-default",
                operation.span,
                "`default` is the only response, so nothing says how a success differs from an error",
            )
            .help("add the response to a successful call, such as `\"200\"`"),
        );
    }
}

/// Reports paths and servers that end in a slash.
fn paths(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let root = context.resolver.root().node;
    let keys = root.get("paths").and_then(Node::as_object);
    let paths = keys.unwrap_or_default().iter();
    let paths = paths.map(|entry| (entry.key.as_str(), entry.key_span, "the path"));
    let servers = root.get("servers").and_then(Node::as_array);
    let servers = servers.unwrap_or_default().iter().filter_map(|server| {
        let url = server.get("url")?;
        Some((url.as_str()?, url.span, "the URL of the server"))
    });
    for (text, span, what) in paths.chain(servers) {
        if text.len() > 1 && text.ends_with('/') {
            diagnostics.push(
                Diagnostic::warning("trailing-slash", span, format!("{what} ends in a slash"))
                    .help("remove it: with and without it, URLs are different ones"),
            );
        }
    }
}

/// Reports tags that no operation has.
fn tags(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    let mut used: HashSet<&str> = HashSet::new();
    for site in &context.origins.operations {
        let tags = site.node.get("tags").and_then(Node::as_array);
        used.extend(tags.unwrap_or_default().iter().filter_map(Node::as_str));
    }
    let list = context
        .resolver
        .root()
        .node
        .get("tags")
        .and_then(Node::as_array);
    let list = list.unwrap_or_default();
    // A tag that groups others needs no operation of its own.
    used.extend(list.iter().filter_map(|tag| tag.get("parent")?.as_str()));
    for tag in list {
        if let Some(name) = tag.get("name")
            && let Some(text) = name.as_str()
            && !used.contains(text)
        {
            diagnostics.push(
                Diagnostic::warning(
                    "unused-tag",
                    name.span,
                    format!("no operation has the tag `{text}`"),
                )
                .help("remove it, or give it to an operation"),
            );
        }
    }
}
