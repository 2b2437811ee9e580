//! Makes the model of the documents: references followed, both dialects in one form.
//!
//! What the lints refuse is left out here without a word, so this never fails; the caller throws the
//! result away when there was an error.

mod content;
mod discriminator;
mod id;
mod keywords;
mod operation;

mod parameter;
mod schema;
mod surroundings;

pub(crate) use operation::segments;

use std::collections::{HashMap, HashSet, VecDeque};

use indexmap::IndexMap;
use serde_json::Value;

use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Dialect, Formats, Operation, Schema, SchemaId, Tag};
use crate::node::{Entry, Node};
use crate::resolve::{Place, Resolver, address};
use crate::source::Span;

/// How many bytes the model may copy from the document, pointers and uses by reference included.
const MOST_COPIED_BYTES: u64 = 512 << 20;

/// The model, and what the lints need beside it.
pub(crate) struct Built<'a> {
    /// The model.
    pub(crate) contract: Contract,
    /// The node of each schema, by its index.
    pub(crate) nodes: Vec<&'a Node>,
    /// Values that a schema must accept.
    pub(crate) values: Vec<ValueSite<'a>>,
    /// The operations as they were written.
    pub(crate) sites: Vec<OperationSite<'a>>,
}

/// A value in the document that a schema must accept.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ValueSite<'a> {
    /// The schema.
    pub(crate) schema: SchemaId,
    /// The value.
    pub(crate) node: &'a Node,
    /// What it is there for.
    pub(crate) role: Role,
}

/// What a value is there for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// `default`
    Default,
    /// `example`, or one of `examples`
    Example,
    /// One of `enum`, or `const`
    Member,
}

/// An operation as it was written.
pub(crate) struct OperationSite<'a> {
    /// The operation object.
    pub(crate) node: &'a Node,
    /// The key of its path, or of its webhook or callback.
    pub(crate) path_span: Span,
    /// The path's template; none for webhooks and callbacks, which have none.
    pub(crate) template: Option<&'a str>,
    /// Its path parameters, path-level ones included: name, and where the name stands.
    pub(crate) path_parameters: Vec<(&'a str, Span)>,
    /// Parameters that were declared twice in one list.
    pub(crate) duplicates: Vec<(&'a str, Span)>,
}

/// Builds the model.
pub(crate) fn build<'a>(
    resolver: &Resolver<'a>,
    dialect: Dialect,
    formats: Formats,
    diagnostics: &mut Vec<Diagnostic>,
) -> Built<'a> {
    let root = resolver.root();
    let mut builder = Builder {
        resolver,
        dialect,
        schemas: Vec::new(),
        ids: HashMap::new(),
        untyped: HashMap::new(),
        nodes: Vec::new(),
        pending: VecDeque::new(),
        values: Vec::new(),
        sites: Vec::new(),
        examples_seen: HashSet::new(),
        moved: HashMap::new(),
        discriminated: Vec::new(),
        budget: MOST_COPIED_BYTES,
        callers: Vec::new(),
    };
    let components = builder.components(&root);
    builder.unused_parts(&root);
    let mut operations = builder.paths(&root);
    let mut webhooks = builder.webhooks(&root);
    builder.drain();
    builder.finish_discriminators(&components);
    builder.settle_pointers();
    id::separate(&mut operations);
    id::separate(&mut webhooks);
    if builder.budget == 0 {
        diagnostics.push(
            Diagnostic::error(
                "too-large",
                root.node.span,
                "the document is too deep, or uses the same parts by reference too often",
            )
            .help("name nested schemas in `components`, and refer to schemas instead of whole answers"),
        );
    }
    let contract = Contract {
        yaml: None,
        dialect,
        formats,
        version: text(root.node, "openapi").unwrap_or_default(),
        info: surroundings::info(root.node),
        servers: surroundings::servers(root.node),
        tags: tags(root.node, &operations),
        operations,
        webhooks,
        schemas: builder.schemas,
        components,
        security_schemes: surroundings::security_schemes(resolver),
        security: surroundings::security(root.node).unwrap_or_default(),
        paging: surroundings::paging(root.node),
        document: root.node.to_json(),
    };
    Built {
        contract,
        nodes: builder.nodes,
        values: builder.values,
        sites: builder.sites,
    }
}

struct Builder<'r, 'a> {
    resolver: &'r Resolver<'a>,
    dialect: Dialect,
    schemas: Vec<Schema>,
    /// Schemas by the address of their node.
    ids: HashMap<usize, SchemaId>,
    /// Schemas of parameters that have none, by the address of the parameter.
    untyped: HashMap<usize, SchemaId>,
    /// The node of each schema.
    nodes: Vec<&'a Node>,
    /// Schemas whose keywords have not been read yet.
    pending: VecDeque<(SchemaId, Place<'a>)>,
    values: Vec<ValueSite<'a>>,
    sites: Vec<OperationSite<'a>>,
    /// Addresses of parameters and media types whose examples have been noted.
    examples_seen: HashSet<usize>,
    /// Pointers below which everything has moved under `/anyOf/0`, because null stands beside it.
    moved: HashMap<std::rc::Rc<str>, (SchemaId, SchemaId)>,
    /// Schemas with a discriminator.
    discriminated: Vec<SchemaId>,
    budget: u64,
    /// Operations being built, outermost first, by address: a callback may lead back to its caller.
    callers: Vec<usize>,
}

impl<'a> Builder<'_, 'a> {
    fn components(&mut self, root: &Place<'a>) -> IndexMap<String, SchemaId> {
        let Some(schemas) = root
            .key("components")
            .and_then(|place| place.key("schemas"))
        else {
            return IndexMap::new();
        };
        let mut components = IndexMap::new();
        for (entry, place) in schemas.entries() {
            let id = self.schema(&place);
            self.schemas[id.0 as usize].component = Some(entry.key.clone());
            components.insert(entry.key.clone(), id);
        }
        components
    }

    /// Components that are no schemas, so that the schemas and examples in them are read even if nothing uses them.
    fn unused_parts(&mut self, root: &Place<'a>) {
        let Some(components) = root.key("components") else {
            return;
        };
        for (section, place) in components.entries() {
            for (_, place) in place.entries() {
                match section.key.as_str() {
                    "parameters" => drop(self.parameter(&place)),
                    "headers" => drop(self.header("", &place)),
                    "requestBodies" => drop(self.request_body(&place)),
                    "responses" => drop(self.response(crate::model::StatusKey::Default, &place)),
                    _ => {}
                }
            }
        }
    }

    /// Pays for a copy of what a node says; false when there have been too many.
    fn pay(&mut self, node: &Node) -> bool {
        self.spend(node.span.end.saturating_sub(node.span.start) as usize);
        self.budget > 0
    }

    fn spend(&mut self, bytes: usize) {
        self.budget = self.budget.saturating_sub(bytes as u64 + 1);
    }

    /// Notes the `example` and `examples` of a parameter or media type, once however often it is used.
    fn note_examples(&mut self, place: &Place<'a>, schema: SchemaId) {
        if !self.examples_seen.insert(address(place.node)) {
            return;
        }
        let mut values: Vec<&'a Node> = place.node.get("example").into_iter().collect();
        if let Some(examples) = place.key("examples") {
            for (_, example) in examples.entries() {
                let target = self.resolver.follow(&example);
                values.extend(target.and_then(|target| target.node.get("value")));
            }
        }
        self.values.extend(values.into_iter().map(|node| ValueSite {
            schema,
            node,
            role: Role::Example,
        }));
    }
}

/// Declared tags, then others in the order of their first use.
fn tags(root: &Node, operations: &[Operation]) -> Vec<Tag> {
    let mut tags: IndexMap<String, Tag> = IndexMap::new();
    for node in root
        .get("tags")
        .and_then(Node::as_array)
        .unwrap_or_default()
    {
        if let Some(name) = text(node, "name") {
            tags.entry(name.clone()).or_insert(Tag {
                name,
                description: text(node, "description"),
            });
        }
    }
    for name in operations
        .iter()
        .filter_map(|operation| operation.tag.as_ref())
    {
        tags.entry(name.clone()).or_insert_with(|| Tag {
            name: name.clone(),
            description: None,
        });
    }
    tags.into_values().collect()
}

/// The string under a key.
fn text(node: &Node, key: &str) -> Option<String> {
    node.get(key)?.as_str().map(str::to_owned)
}

/// Whether a key says `true`.
fn flag(node: &Node, key: &str) -> bool {
    node.get(key).and_then(Node::as_bool) == Some(true)
}

fn extensions(entries: &[Entry]) -> IndexMap<String, Value> {
    entries
        .iter()
        .filter(|entry| entry.key.starts_with("x-"))
        .map(|entry| (entry.key.clone(), entry.value.to_json()))
        .collect()
}
