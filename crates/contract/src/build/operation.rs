//! Builds operations from paths, webhooks and callbacks.

use crate::model::{
    Dialect, Method, Operation, PathPart, RequestBody, Response, StatusKey, label_query,
    split_label,
};
use crate::node::{Entry, Node};
use crate::node_ref::{NodeRef, address};
use crate::pointer;
use crate::source::Span;

use super::builder::Builder;
use super::fields::{flag, lifetime, text};
use super::id;
use super::metadata::{security, servers};
use super::origins::OperationSite;

/// The depth to which callbacks within callbacks are built. Deeper ones are dropped.
const DEEPEST_CALLBACK: usize = 4;

/// The place at which a path item is declared.
#[derive(Clone, Copy)]
struct Caller<'a> {
    /// The key of the path item: the path template, the webhook's name, or the callback's
    /// expression.
    path: &'a str,
    /// The span of that key.
    span: Span,
    kind: Kind,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    Path,
    Webhook,
    Callback,
}

impl<'a> Builder<'_, 'a> {
    pub(super) fn paths(&mut self, root: &NodeRef<'a>) -> Vec<Operation> {
        self.path_items(root.key("paths"), Kind::Path)
    }

    pub(super) fn webhooks(&mut self, root: &NodeRef<'a>) -> Vec<Operation> {
        if self.dialect == crate::model::Dialect::V30 {
            return Vec::new();
        }
        self.path_items(root.key("webhooks"), Kind::Webhook)
    }

    fn path_items(&mut self, map: Option<NodeRef<'a>>, kind: Kind) -> Vec<Operation> {
        let mut operations = Vec::new();
        let Some(map) = map else { return operations };
        for (entry, at) in map.entries() {
            // Authors choose the names of webhooks, so that there `x-` makes no extension.
            if kind != Kind::Webhook && entry.key.starts_with("x-") {
                continue;
            }
            let caller = Caller {
                path: &entry.key,
                span: entry.key_span,
                kind,
            };
            self.path_item(caller, &at, &mut operations);
        }
        operations
    }

    fn path_item(&mut self, caller: Caller<'a>, at: &NodeRef<'a>, into: &mut Vec<Operation>) {
        // A path item may have siblings beside its `$ref`. The siblings form the first layer and
        // take precedence over the target.
        let mut layers = vec![at.clone()];
        if at.node.get("$ref").is_some() {
            layers.extend(self.resolver.follow(at));
        }
        let mut found: Vec<Declared<'a>> = Vec::new();
        for layer in &layers {
            for declared in declared(layer, self.dialect) {
                if found.iter().all(|other| other.method != declared.method) {
                    found.push(declared);
                }
            }
        }
        let shared = |key: &str| layers.iter().find_map(|layer| layer.key(key));
        let parameters = shared("parameters");
        let item = layers
            .iter()
            .find(|layer| layer.node.get("servers").is_some());
        let item_servers = item.map(|layer| servers(layer.node)).unwrap_or_default();
        for Declared {
            method,
            entry,
            at: operation,
            section,
        } in found
        {
            let mut pointer = at.pointer.to_string();
            for token in section.into_iter().chain([entry.key.as_str()]) {
                pointer::push(&mut pointer, token);
            }
            if operation.node.as_object().is_none() || !self.charge(operation.node) {
                continue;
            }
            let mut built = self.operation(caller, method, &operation, parameters.as_ref());
            built.pointer = pointer;
            built.span = entry.key_span;
            if built.servers.is_empty() {
                built.servers.clone_from(&item_servers);
            }
            into.push(built);
        }
    }

    fn operation(
        &mut self,
        caller: Caller<'a>,
        method: Method,
        at: &NodeRef<'a>,
        shared: Option<&NodeRef<'a>>,
    ) -> Operation {
        let node = at.node;
        let (segments, query) = match caller.kind {
            Kind::Path => {
                let (template, label) = split_label(caller.path);
                (PathPart::split(template), label_query(label))
            }
            Kind::Webhook | Kind::Callback => {
                (vec![PathPart::Literal(caller.path.to_owned())], Vec::new())
            }
        };
        let given = text(node, "operationId").filter(|id| !id.is_empty());
        let (parameters, site) = self.parameters(at, shared);
        self.origins.operations.push(OperationSite {
            node,
            path_span: caller.span,
            template: (caller.kind == Kind::Path).then_some(caller.path),
            ..site
        });
        // The document's security protects the API, not the subscribers that webhooks and callbacks
        // call.
        let inherited = if caller.kind == Kind::Path {
            security(self.resolver, self.resolver.root().node)
        } else {
            None
        };
        Operation {
            id_is_derived: given.is_none(),
            id: given.unwrap_or_else(|| match caller.kind {
                // With the label, which is all that tells some paths apart.
                Kind::Path => id::derive(&method, &PathPart::split(caller.path)),
                Kind::Webhook | Kind::Callback => id::derive(&method, &segments),
            }),
            method,
            path: caller.path.to_owned(),
            segments,
            query,
            tags: tags(node),
            summary: text(node, "summary"),
            description: text(node, "description"),
            deprecated: flag(node, "deprecated"),
            deprecation: lifetime(node, "x-deprecation"),
            sunset: lifetime(node, "x-sunset"),
            parameters,
            request_body: self.body_of(at),
            responses: self.responses(at),
            security: security(self.resolver, node)
                .or(inherited)
                .unwrap_or_default(),
            servers: servers(node),
            callbacks: self.callbacks(at),
            pointer: String::new(),
            span: node.span,
        }
    }

    fn body_of(&mut self, operation: &NodeRef<'a>) -> Option<RequestBody> {
        let at = operation.key("requestBody")?;
        self.request_body(&at)
    }

    fn responses(&mut self, operation: &NodeRef<'a>) -> Vec<Response> {
        let Some(map) = operation.key("responses") else {
            return Vec::new();
        };
        let mut responses = Vec::new();
        for (entry, at) in map.entries() {
            if let Some(status) = StatusKey::parse(&entry.key) {
                responses.extend(self.response(status, &at));
            }
        }
        responses
    }

    fn callbacks(&mut self, operation: &NodeRef<'a>) -> Vec<Operation> {
        let mut callbacks = Vec::new();
        let Some(map) = operation.key("callbacks") else {
            return callbacks;
        };
        // A callback can lead back to the operation that declares it. Such cycles are valid, and
        // end at the second visit.
        let identity = address(operation.node);
        if self.callers.contains(&identity) || self.callers.len() >= DEEPEST_CALLBACK {
            return callbacks;
        }
        self.callers.push(identity);
        for (_, at) in map.entries() {
            let at = self.resolver.follow(&at);
            callbacks.extend(self.path_items(at, Kind::Callback));
        }
        self.callers.pop();
        callbacks
    }
}

/// An operation as a path item declares it.
struct Declared<'a> {
    method: Method,
    entry: &'a Entry,
    at: NodeRef<'a>,
    /// The field of the path item that holds the operation, if it is not the path item itself.
    section: Option<&'static str>,
}

/// Returns the operations of a path item: those of its fields, then its additional ones.
fn declared<'a>(item: &NodeRef<'a>, dialect: Dialect) -> Vec<Declared<'a>> {
    let fixed = item.entries().filter_map(|(entry, at)| {
        let mut methods = Method::FIXED.into_iter();
        let method = methods.find(|method| {
            method.key() == entry.key && (dialect >= Dialect::V32 || *method != Method::Query)
        })?;
        Some(Declared {
            method,
            entry,
            at,
            section: None,
        })
    });
    let mut found: Vec<Declared<'a>> = fixed.collect();
    let section = "additionalOperations";
    let additional = item.key(section).filter(|_| dialect >= Dialect::V32);
    if let Some(additional) = additional {
        found.extend(additional.entries().map(|(entry, at)| Declared {
            method: Method::Other(entry.key.as_str().into()),
            entry,
            at,
            section: Some(section),
        }));
    }
    found
}

fn tags(node: &Node) -> Vec<String> {
    let tags = node.get("tags").and_then(Node::as_array);
    let tags = tags.unwrap_or_default().iter().map_while(Node::as_str);
    tags.map(str::to_owned).collect()
}
