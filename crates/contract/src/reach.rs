//! Finds the components that the operations of a contract use, directly or through others.

use std::collections::{HashMap, HashSet};

use crate::node::Node;
use crate::node_ref::{NodeRef, address};
use crate::pointer;
use crate::resolve::Resolver;

/// Returns the addresses of the components of which operations, webhooks, the security or the
/// extensions of the document use at least a part.
pub(crate) fn used_components(resolver: &Resolver<'_>) -> HashSet<usize> {
    let root = resolver.root();
    let Some(components) = root.key("components") else {
        return HashSet::new();
    };
    let mut reach = Reach {
        resolver,
        heirs: heirs(resolver, &components),
        seen: HashSet::new(),
        pending: Vec::new(),
        used: HashSet::new(),
    };
    let starts = ["paths", "webhooks"];
    reach.pending.extend(
        starts
            .iter()
            .filter_map(|key| Some((root.document, root.node.get(key)?))),
    );
    // Extensions can use components too.
    let extensions = root.entries();
    let extensions = extensions.filter(|(entry, _)| entry.key.starts_with("x-"));
    let extensions = extensions.map(|(_, at)| (at.document, at.node));
    reach.pending.extend(extensions);
    if let Some(security) = root.key("security") {
        reach.security(security.node);
    }
    while let Some((document, node)) = reach.pending.pop() {
        reach.visit(document, node);
    }
    reach.used
}

/// Returns the addresses of the components that a node refers to, without those that these refer to.
pub(crate) fn named_components<'a>(resolver: &Resolver<'a>, at: &NodeRef<'a>) -> HashSet<usize> {
    let mut reach = Reach {
        resolver,
        heirs: HashMap::new(),
        seen: HashSet::new(),
        pending: vec![(at.document, at.node)],
        used: HashSet::new(),
    };
    while let Some((document, node)) = reach.pending.pop() {
        // Another component is pending because of a reference to it.
        if !reach.used.contains(&address(node)) || address(node) == address(at.node) {
            reach.visit(document, node);
        }
    }
    reach.used
}

struct Reach<'r, 'a> {
    resolver: &'r Resolver<'a>,
    /// The component schemas that refer to a schema in their `allOf`, by the address of that
    /// schema.
    heirs: HashMap<usize, Vec<NodeRef<'a>>>,
    seen: HashSet<usize>,
    /// The nodes to visit, each with its document.
    pending: Vec<(usize, &'a Node)>,
    /// The addresses of components of which at least a part is used.
    used: HashSet<usize>,
}

impl<'a> Reach<'_, 'a> {
    fn visit(&mut self, document: usize, node: &'a Node) {
        if !self.seen.insert(address(node)) {
            return;
        }
        let items = node.as_array().unwrap_or_default();
        self.pending
            .extend(items.iter().map(|item| (document, item)));
        for entry in node.as_object().unwrap_or_default() {
            match (entry.key.as_str(), entry.value.as_str()) {
                ("$ref" | "$dynamicRef", Some(reference)) => self.enter(document, node, reference),
                ("security", None) => self.security(&entry.value),
                ("discriminator", None) => self.discriminator(document, node, &entry.value),
                _ => {}
            }
            if entry.value.as_object().is_some() || entry.value.as_array().is_some() {
                self.pending.push((document, &entry.value));
            }
        }
    }

    fn enter(&mut self, document: usize, holder: &'a Node, reference: &'a str) {
        if let Ok(target) = self.resolver.resolve(document, holder, reference) {
            self.take(&target);
        }
    }

    /// Queues a node. If it is in a component of the first document, marks that as used and queues it
    /// whole.
    fn take(&mut self, target: &NodeRef<'a>) {
        let path = target.pointer.strip_prefix("/components/");
        let mut tokens = path.unwrap_or_default().split('/');
        if let (Some(section), Some(name)) = (tokens.next(), tokens.next()) {
            let name = pointer::unescape(name);
            let components = self.resolver.root().node.get("components");
            let member = components
                .and_then(|components| self.resolver.value(components.get(section)?, &name));
            // A reference to a part, such as `#/components/schemas/Pet/properties/name`, uses the
            // whole component, and so what its other parts refer to.
            self.used.extend(member.map(address));
            self.pending.extend(member.map(|member| (0, member)));
        }
        self.pending.push((target.document, target.node));
    }

    fn security(&mut self, list: &'a Node) {
        let components = self.resolver.root().key("components");
        let Some(schemes) = components.and_then(|at| at.key("securitySchemes")) else {
            return;
        };
        for alternative in list.as_array().unwrap_or_default() {
            for entry in alternative.as_object().unwrap_or_default() {
                let name = self.resolver.security_scheme(alternative, &entry.key);
                if let Some(scheme) = name.and_then(|name| schemes.key(&name)) {
                    self.take(&scheme);
                }
            }
        }
    }

    /// Marks the schemas that a discriminator can select as used: those in its mapping, and those
    /// that extend its schema with `allOf`.
    fn discriminator(&mut self, document: usize, schema: &'a Node, node: &'a Node) {
        // Taken out: a schema selects them once, however many references lead to it.
        for heir in self.heirs.remove(&address(schema)).unwrap_or_default() {
            self.take(&heir);
        }
        let mapping = node.get("mapping").and_then(Node::as_object);
        let default = node.entry("defaultMapping");
        for entry in mapping.unwrap_or_default().iter().chain(default) {
            if let Some(target) = entry.value.as_str() {
                // A name goes before a reference, as when the contract is built.
                match self.resolver.component_schema(target) {
                    Some(named) => self.take(&named),
                    None => self.enter(document, node, target),
                }
            }
        }
    }
}

fn heirs<'a>(
    resolver: &Resolver<'a>,
    components: &NodeRef<'a>,
) -> HashMap<usize, Vec<NodeRef<'a>>> {
    let mut heirs: HashMap<usize, Vec<NodeRef<'a>>> = HashMap::new();
    let Some(schemas) = components.key("schemas") else {
        return heirs;
    };
    for (_, schema) in schemas.entries() {
        for part in schema
            .node
            .get("allOf")
            .and_then(Node::as_array)
            .unwrap_or_default()
        {
            if let Some(reference) = part.get("$ref").and_then(Node::as_str)
                && let Ok(parent) = resolver.resolve(schema.document, part, reference)
            {
                heirs
                    .entry(address(parent.node))
                    .or_default()
                    .push(schema.clone());
            }
        }
    }
    heirs
}
