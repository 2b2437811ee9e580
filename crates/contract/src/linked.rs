//! The links of responses that lead to a known operation.

use std::collections::HashMap;

use indexmap::IndexMap;

use crate::build::{OperationSite, ParameterSite};
use crate::node::Node;
use crate::node_ref::{NodeRef, address};
use crate::resolve::Resolver;
use crate::source::Span;

/// The number of operations with one response for which its links are judged.
const MOST_SENDERS: usize = 100;

/// A link, with the operation of its response and the one that it leads to.
pub(crate) struct Linked<'l, 'a> {
    /// The link object.
    pub(crate) link: &'a Node,
    /// The span of the link's name.
    pub(crate) at: Span,
    /// The first operations whose response has the link, of which there is at least one.
    pub(crate) from: &'l [&'l OperationSite<'a>],
    /// That response.
    pub(crate) response: NodeRef<'a>,
    /// The operation that the link leads to.
    pub(crate) target: &'l OperationSite<'a>,
}

/// Calls a function with each link of each response that leads to a known operation, once however many
/// operations share the response.
pub(crate) fn each_link<'a>(
    resolver: &Resolver<'a>,
    sites: &[OperationSite<'a>],
    mut visit: impl FnMut(&Linked<'_, 'a>),
) {
    let by_id: HashMap<&str, &OperationSite<'_>> = sites
        .iter()
        .filter_map(|site| Some((site.node.get("operationId")?.as_str()?, site)))
        .collect();
    let by_node: HashMap<usize, &OperationSite<'_>> = sites
        .iter()
        .map(|site| (address(site.node), site))
        .collect();
    for (response, from) in with_links(resolver, sites).values() {
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

/// A response with the first operations that have it.
pub(crate) type Shared<'l, 'a> = (NodeRef<'a>, Vec<&'l OperationSite<'a>>);

/// Returns each response that has links, by the address of its node.
///
/// Many operations can share a response that has many links.
pub(crate) fn with_links<'l, 'a>(
    resolver: &Resolver<'a>,
    sites: &'l [OperationSite<'a>],
) -> IndexMap<usize, Shared<'l, 'a>> {
    let mut found: IndexMap<usize, Shared<'l, 'a>> = IndexMap::new();
    for from in sites {
        let responses = from.at().key("responses");
        for (_, response) in responses.iter().flat_map(NodeRef::entries) {
            if let Some(response) = resolver.follow(&response)
                && response.node.get("links").is_some()
            {
                let entry = found.entry(address(response.node));
                let (_, having) = entry.or_insert_with(|| (response, Vec::new()));
                if having.len() < MOST_SENDERS {
                    having.push(from);
                }
            }
        }
    }
    found
}

impl<'a> Linked<'_, 'a> {
    /// Returns the value that the link gives to each parameter of its operation, with that parameter.
    /// A name that parameters in several locations have can mean each of them, and is left out.
    pub(crate) fn parameters(&self) -> impl Iterator<Item = (&'a Node, &ParameterSite<'a>)> {
        let given = self.link.get("parameters").and_then(Node::as_object);
        given
            .unwrap_or_default()
            .iter()
            .filter(|entry| !self.is_ambiguous(&entry.key))
            .filter_map(|entry| Some((&entry.value, self.target.parameter(&entry.key)?)))
    }

    fn is_ambiguous(&self, name: &str) -> bool {
        let parameters = self.target.parameters.iter();
        parameters.filter(|one| one.name == name).count() > 1
    }
}
