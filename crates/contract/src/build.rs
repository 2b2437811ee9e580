//! Builds the contract from the documents, with references followed and both dialects in one form.
//!
//! Building never fails. Parts that the checks of the syntax reject are left out without a message
//! here; the caller discards the contract if there was an error.

mod builder;
mod content;
mod discriminator;
mod fields;
mod id;
mod keywords;
mod links;
mod metadata;
mod operation;
mod origins;
mod parameter;
mod schema;

pub(crate) use origins::{OperationSite, Origins, ParameterSite, Role, ValueSite};

use std::collections::{HashMap, HashSet, VecDeque};

use indexmap::IndexMap;

use crate::diagnostic::Diagnostic;
use crate::model::{Contract, Dialect, Document, Formats, Operation, SchemaId, Schemas, Tag};
use crate::node::Node;
use crate::node_ref::NodeRef;
use crate::resolve::Resolver;
use builder::Builder;
use fields::text;

/// The maximum number of bytes that building may copy from the documents. Each use of a part by
/// reference counts again, and so does the pointer of each schema.
const MOST_COPIED_BYTES: u64 = 512 << 20;

/// A contract, and the nodes that its parts were read from.
pub(crate) struct Built<'a> {
    /// The contract that was built.
    pub(crate) contract: Contract,
    /// The nodes that the parts of the contract were read from.
    pub(crate) origins: Origins<'a>,
}

/// Builds the contract of the first document. Adds a diagnostic if more than [`MOST_COPIED_BYTES`]
/// would be copied.
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
        pending: VecDeque::new(),
        origins: Origins::default(),
        examples_seen: HashSet::new(),
        moved: HashMap::new(),
        discriminated: Vec::new(),
        event_contents: HashMap::new(),
        budget: MOST_COPIED_BYTES,
        callers: Vec::new(),
    };
    let components = builder.components(&root);
    builder.unused_parts(&root);
    let mut operations = builder.paths(&root);
    let mut webhooks = builder.webhooks(&root);
    builder.drain();
    builder.settle_event_contents();
    builder.link_values();
    builder.finish_discriminators(&components);
    builder.settle_pointers();
    // Each by themselves: webhooks become a contract of their own, whose ids need not differ from
    // those of the API.
    id::separate(&mut operations);
    id::separate(&mut webhooks);
    if builder.budget == 0 {
        diagnostics.push(
            Diagnostic::error(
                "too-large",
                root.node.span,
                "the document is too deep, or uses the same parts by reference too often",
            )
            .help("name nested schemas in `components`, and refer to schemas rather than to whole responses"),
        );
    }
    let contract = Contract {
        yaml: None,
        dialect,
        formats,
        version: text(root.node, "openapi").unwrap_or_default(),
        info: metadata::info(root.node),
        servers: metadata::servers(root.node),
        tags: tags(root.node, &operations),
        operations,
        webhooks,
        schemas: Schemas::new(builder.schemas),
        components,
        security_schemes: metadata::security_schemes(resolver),
        security: metadata::security(resolver, root.node).unwrap_or_default(),
        paging: metadata::paging(root.node),
        // The loader moves the nodes here, once nothing else reads them.
        document: Document::later(|| serde_json::Value::Null),
    };
    Built {
        contract,
        origins: builder.origins,
    }
}

impl<'a> Builder<'_, 'a> {
    fn components(&mut self, root: &NodeRef<'a>) -> IndexMap<String, SchemaId> {
        let Some(schemas) = root.key("components").and_then(|at| at.key("schemas")) else {
            return IndexMap::new();
        };
        let mut components = IndexMap::new();
        for (entry, at) in schemas.entries() {
            let id = self.schema(&at);
            self.schemas[id.0 as usize].component = Some(entry.key.clone());
            components.insert(entry.key.clone(), id);
        }
        components
    }

    /// Reads the parameters, headers, request bodies and responses in `components`, so that the
    /// schemas and examples in them are checked even if nothing uses them.
    fn unused_parts(&mut self, root: &NodeRef<'a>) {
        let Some(components) = root.key("components") else {
            return;
        };
        for (section, at) in components.entries() {
            for (_, at) in at.entries() {
                // Only the schemas and examples that are recorded on the way count, so the name of
                // the header and the status are arbitrary.
                match section.key.as_str() {
                    "parameters" => drop(self.parameter(&at)),
                    "headers" => drop(self.header("", &at)),
                    "requestBodies" => drop(self.request_body(&at)),
                    "mediaTypes" => {
                        // Only a use says which media type it is, and so how examples are written.
                        if let Some(at) = self.media_type_at(&at) {
                            drop(self.media_type("", &at));
                        }
                    }
                    "responses" => drop(self.response(crate::model::StatusKey::Default, &at)),
                    _ => {}
                }
            }
        }
    }
}

/// Returns the tags that the document declares, then those that only operations name, in the order
/// of their first use.
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
        .filter_map(|operation| operation.tags.first())
    {
        tags.entry(name.clone()).or_insert_with(|| Tag {
            name: name.clone(),
            description: None,
        });
    }
    tags.into_values().collect()
}
