//! The links of responses that lead to a known operation.

use std::collections::HashMap;

use crate::build::{OperationSite, ParameterSite};
use crate::node::Node;
use crate::node_ref::{NodeRef, address};
use crate::resolve::Resolver;
use crate::source::Span;

/// A link, with the operation of its response and the one that it leads to.
pub(crate) struct Linked<'l, 'a> {
    /// The link object.
    pub(crate) link: &'a Node,
    /// The span of the link's name.
    pub(crate) at: Span,
    /// The operation whose response has the link.
    pub(crate) from: &'l OperationSite<'a>,
    /// That response.
    pub(crate) response: NodeRef<'a>,
    /// The operation that the link leads to.
    pub(crate) target: &'l OperationSite<'a>,
}

/// Calls a function with each link of each response that leads to a known operation.
///
/// No list, because many operations can share a response with many links.
pub(crate) fn each_link<'l, 'a>(
    resolver: &Resolver<'a>,
    sites: &'l [OperationSite<'a>],
    mut visit: impl FnMut(&Linked<'l, 'a>),
) {
    let by_id: HashMap<&str, &OperationSite<'_>> = sites
        .iter()
        .filter_map(|site| Some((site.node.get("operationId")?.as_str()?, site)))
        .collect();
    let by_node: HashMap<usize, &OperationSite<'_>> = sites
        .iter()
        .map(|site| (address(site.node), site))
        .collect();
    for from in sites {
        let responses = from.at().key("responses");
        for (_, response) in responses.iter().flat_map(NodeRef::entries) {
            let Some(response) = resolver.follow(&response) else {
                continue;
            };
            let links = response.key("links");
            for (entry, link) in links.iter().flat_map(NodeRef::entries) {
                let Some(link) = resolver.follow(&link) else {
                    continue;
                };
                let id = link.node.get("operationId").and_then(Node::as_str);
                let reference = link.node.get("operationRef").and_then(Node::as_str);
                let target = match (id, reference) {
                    (Some(id), _) => by_id.get(id),
                    (None, Some(reference)) => resolver
                        .resolve(link.document, link.node, reference)
                        .ok()
                        .and_then(|target| by_node.get(&address(target.node))),
                    (None, None) => None,
                };
                if let Some(target) = target {
                    visit(&Linked {
                        link: link.node,
                        at: entry.key_span,
                        from,
                        response: response.clone(),
                        target,
                    });
                }
            }
        }
    }
}

impl<'a> Linked<'_, 'a> {
    /// Returns the value that the link gives to each parameter of its operation, with that parameter.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (&'a Node, &ParameterSite<'a>)> {
        let given = self.link.get("parameters").and_then(Node::as_object);
        given
            .unwrap_or_default()
            .iter()
            .filter_map(|entry| Some((&entry.value, self.target.parameter(&entry.key)?)))
    }
}
