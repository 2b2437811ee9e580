//! The contract as a whole, and the parts that describe the document itself.

use std::collections::HashSet;

use indexmap::IndexMap;

use super::document::Document;
use super::operation::Operation;
use super::paging::Paging;
use super::schema::{Keywords, Schema, SchemaId, SchemaKind};
use super::schemas::Schemas;
use super::security::{Security, SecurityScheme};
use super::server::Server;

/// A contract: an OpenAPI document with all that it refers to.
#[derive(Debug, Clone)]
pub struct Contract {
    /// The dialect of the document.
    pub dialect: Dialect,
    /// Whether `format` constrains values.
    pub formats: Formats,
    /// The `openapi` field as written, such as `3.1.0`.
    pub version: String,
    /// The `info` object.
    pub info: Info,
    /// The servers of the document.
    pub servers: Vec<Server>,
    /// The tags that the document declares, then those that only operations name, in the order of
    /// their first use.
    pub tags: Vec<Tag>,
    /// The operations, in the document's order.
    pub operations: Vec<Operation>,
    /// The webhooks (3.1), which the API calls. `path` is the webhook's name.
    pub webhooks: Vec<Operation>,
    /// Every schema, including inline ones. A [`SchemaId`] is the index of a schema here.
    pub schemas: Schemas,
    /// The component schemas by name, in the document's order.
    pub components: IndexMap<String, SchemaId>,
    /// The security schemes by name, in the document's order.
    pub security_schemes: IndexMap<String, SecurityScheme>,
    /// The document's security. It protects operations that declare none, and unknown routes.
    pub security: Security,
    /// The paging convention (`x-paging` at the top level).
    pub paging: Option<Paging>,
    /// The whole document as JSON, in the author's order. If there are several files, it is the one
    /// document that they were combined into.
    pub document: Document,
    /// The author's text, if the whole contract is one YAML file.
    pub yaml: Option<String>,
}

impl Contract {
    /// Returns the schema with an id.
    #[must_use]
    pub fn schema(&self, id: SchemaId) -> &Schema {
        &self.schemas[id.0 as usize]
    }

    /// Returns the operations that the API calls: the webhooks and the callbacks, in no particular
    /// order.
    pub(crate) fn called_operations(&self) -> Vec<&Operation> {
        let callbacks = self
            .operations
            .iter()
            .flat_map(|operation| &operation.callbacks);
        let mut found: Vec<&Operation> = self.webhooks.iter().chain(callbacks).collect();
        let mut next = 0;
        while let Some(operation) = found.get(next) {
            next += 1;
            found.extend(&operation.callbacks);
        }
        found
    }

    /// Returns the operations, webhooks and callbacks, with the callbacks of those, in no
    /// particular order.
    pub(crate) fn all_operations(&self) -> Vec<&Operation> {
        let mut found: Vec<&Operation> = self.operations.iter().chain(&self.webhooks).collect();
        let mut next = 0;
        while let Some(operation) = found.get(next) {
            next += 1;
            found.extend(&operation.callbacks);
        }
        found
    }

    /// Follows `$ref`s without other constraints beside them, and returns the id of the schema at
    /// the end.
    #[must_use]
    pub fn resolve(&self, mut id: SchemaId) -> SchemaId {
        // This ends, because normalising has broken cycles of references.
        while let SchemaKind::Object(keywords) = &self.schema(id).kind {
            match keywords.reference {
                Some(target) if keywords.only_reference => id = target,
                _ => break,
            }
        }
        id
    }

    /// Returns whether a schema has a mark such as `readOnly`, by itself, by what it refers to or by a
    /// part of its `allOf`.
    #[must_use]
    pub fn is_marked(&self, id: SchemaId, mark: impl Fn(&Keywords) -> bool) -> bool {
        // Most schemas have no parts, so nothing is kept of them.
        match &self.schema(id).kind {
            SchemaKind::Object(keywords) if mark(keywords) => return true,
            SchemaKind::Object(keywords)
                if keywords.reference.is_some() || !keywords.all_of.is_empty() => {}
            SchemaKind::Object(_) | SchemaKind::Bool(_) => return false,
        }
        let mut seen = HashSet::new();
        let mut pending = vec![id];
        while let Some(id) = pending.pop() {
            if let SchemaKind::Object(keywords) = &self.schema(id).kind
                && seen.len() < MOST_PARTS
                && seen.insert(id)
            {
                if mark(keywords) {
                    return true;
                }
                pending.extend(keywords.reference.iter().chain(&keywords.all_of));
            }
        }
        false
    }
}

/// The maximum number of parts of a schema in which a mark is looked for.
const MOST_PARTS: usize = 200;

/// A version of OpenAPI. Later versions are greater.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Dialect {
    /// OpenAPI 3.0
    V30,
    /// OpenAPI 3.1
    V31,
    /// OpenAPI 3.2
    V32,
}

impl Dialect {
    /// Returns the version as `openapi` begins with it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::V30 => "3.0",
            Self::V31 => "3.1",
            Self::V32 => "3.2",
        }
    }
}

/// Whether `format` constrains values. JSON Schema leaves the choice to the implementation (2020-12
/// Validation, section 7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Formats {
    /// A known format rejects values that do not match it.
    #[default]
    Assertion,
    /// A format describes values and rejects none.
    Annotation,
}

/// The `info` object.
#[derive(Debug, Clone, Default)]
pub struct Info {
    /// The API's title.
    pub title: String,
    /// The contract's version.
    pub version: String,
    /// A description in `CommonMark`.
    pub description: Option<String>,
    /// The SPDX expression or the name of the licence.
    pub license: Option<String>,
}

/// A group of operations.
#[derive(Debug, Clone)]
pub struct Tag {
    /// The name as the document spells it.
    pub name: String,
    /// A description in `CommonMark`.
    pub description: Option<String>,
}
