//! The parameters of links: whether the operation that a link leads to has them.

use std::collections::HashMap;

use super::context::Context;
use crate::build::OperationSite;
use crate::diagnostic::Diagnostic;
use crate::model::Location;
use crate::node::Node;
use crate::node_ref::{NodeRef, address};
use crate::spelling::nearest;

/// Reports parameters of links that their operation does not have.
pub(super) fn check(context: &Context<'_, '_>, diagnostics: &mut Vec<Diagnostic>) {
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
            for (_, link) in links.iter().flat_map(NodeRef::entries) {
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
                    parameters(link.node, target, diagnostics);
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

/// Returns the words for a location, as in `in`.
fn words(location: Location) -> &'static [&'static str] {
    match location {
        Location::Path => &["path"],
        Location::Query => &["query", "querystring"],
        Location::Header => &["header"],
        Location::Cookie => &["cookie"],
    }
}
