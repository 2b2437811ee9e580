//! The parameters of links: whether the operation that a link leads to has them.

use std::collections::HashMap;

use super::context::Context;
use crate::build::OperationSite;
use crate::diagnostic::Diagnostic;
use crate::model::Location;
use crate::node::Node;
use crate::node_ref::{NodeRef, address};
use crate::source::Span;
use crate::spelling::nearest;

/// Reports parameters of links that their operation does not have, and bodies for operations without
/// one.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    each(context, |link, _, target| {
        parameters(link, target, diagnostics);
        body(link, target, diagnostics);
    });
}

/// Reports links that give no value to a path parameter of their operation, of the set `style`.
pub(super) fn unfilled(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
    each(context, |link, span, target| {
        let given = link.get("parameters").and_then(Node::as_object);
        let is_given = |name: &str| {
            let mut given = given.unwrap_or_default().iter();
            given.any(|entry| entry.key == name || entry.key.strip_prefix("path.") == Some(name))
        };
        let mut wanted = target.path_parameters.iter();
        if let Some((name, _)) = wanted.find(|(name, _)| !is_given(name)) {
            diagnostics.push(
                Diagnostic::warning(
                    "unfilled-link",
                    span,
                    format!(
                        "the link gives no value to the path parameter `{name}` of its operation"
                    ),
                )
                .help(format!(
                    "add it to `parameters`, as in `{name}: $response.body#/id`"
                )),
            );
        }
    });
}

/// Calls a function with each link that leads to a known operation, the span of its name, and the
/// operation.
fn each<'l, 'a>(
    context: &'l Context<'_, 'a>,
    mut judge: impl FnMut(&'a Node, Span, &'l OperationSite<'a>),
) {
    let sites = &context.origins.operations;
    let by_id: HashMap<&str, &OperationSite<'_>> = sites
        .iter()
        .filter_map(|site| Some((site.node.get("operationId")?.as_str()?, site)))
        .collect();
    let by_node: HashMap<usize, &OperationSite<'_>> = sites
        .iter()
        .map(|site| (address(site.node), site))
        .collect();
    for site in sites {
        let responses = NodeRef {
            document: site.document,
            node: site.node,
            pointer: "".into(),
        };
        let responses = responses.key("responses");
        for (_, response) in responses.iter().flat_map(NodeRef::entries) {
            let response = context.resolver.follow(&response);
            let links = response.and_then(|response| response.key("links"));
            for (entry, link) in links.iter().flat_map(NodeRef::entries) {
                let Some(link) = context.resolver.follow(&link) else {
                    continue;
                };
                let id = link.node.get("operationId").and_then(Node::as_str);
                let reference = link.node.get("operationRef").and_then(Node::as_str);
                let target = match (id, reference) {
                    (Some(id), _) => by_id.get(id),
                    (None, Some(reference)) => context
                        .resolver
                        .resolve(link.document, link.node, reference)
                        .ok()
                        .and_then(|target| by_node.get(&address(target.node))),
                    (None, None) => None,
                };
                if let Some(target) = target {
                    judge(link.node, entry.key_span, target);
                }
            }
        }
    }
}

fn parameters(link: &Node, target: &OperationSite<'_>, diagnostics: &mut Vec<Diagnostic>) {
    let given = link.get("parameters").and_then(Node::as_object);
    for entry in given.unwrap_or_default() {
        // A name can be qualified by its location, as in `path.id`.
        let is_known = target.parameters.iter().any(|(name, location)| {
            let (word, rest) = entry.key.split_once('.').unwrap_or_default();
            let is_here = words(*location).contains(&word);
            *name == entry.key || (is_here && rest == *name)
        });
        if !is_known {
            let known = target.parameters.iter().map(|(name, _)| *name);
            diagnostics.push(
                Diagnostic::warning(
                    "unknown-link-parameter",
                    entry.key_span,
                    format!(
                        "the operation that the link leads to has no parameter `{}`",
                        entry.key
                    ),
                )
                .help(match nearest(&entry.key, known) {
                    Some(meant) => format!("did you mean `{meant}`?"),
                    None => "write the name of one of its parameters".to_owned(),
                }),
            );
        }
    }
}

/// Reports a body for an operation that has none.
fn body(link: &Node, target: &OperationSite<'_>, diagnostics: &mut Vec<Diagnostic>) {
    if let Some(entry) = link.entry("requestBody")
        && target.node.get("requestBody").is_none()
    {
        diagnostics.push(
            Diagnostic::warning(
                "idle-keyword",
                entry.key_span,
                "the operation that the link leads to has no request body",
            )
            .help("remove it, or correct the operation"),
        );
    }
}

/// Returns the words for a location, as in `in`.
fn words(location: Location) -> &'static [&'static str] {
    match location {
        Location::Path => &["path"],
        Location::Query => &["query", "querystring"],
        Location::Header => &["header"],
        Location::Cookie => &["cookie"],
    }
}
