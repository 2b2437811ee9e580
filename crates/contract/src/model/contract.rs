//! The contract as a whole, and the parts that concern the document itself.

use indexmap::IndexMap;
use serde_json::Value;

use super::operation::Operation;
use super::paging::Paging;
use super::schema::{Schema, SchemaId, SchemaKind};
use super::security::{Security, SecurityScheme};
use super::server::Server;

/// A whole document.
#[derive(Debug, Clone)]
pub struct Contract {
    /// Which dialect the document is written in.
    pub dialect: Dialect,
    /// What `format` means.
    pub formats: Formats,
    /// The `openapi` field as written, such as `3.1.0`.
    pub version: String,
    /// Title, version, description, licence.
    pub info: Info,
    /// Document-level servers.
    pub servers: Vec<Server>,
    /// Declared tags in order, then undeclared ones in the order of their first use.
    pub tags: Vec<Tag>,
    /// Operations in the document's order.
    pub operations: Vec<Operation>,
    /// Operations that the API calls on its client's side (3.1); `path` holds the webhook's name.
    pub webhooks: Vec<Operation>,
    /// Every schema, component or inline.
    pub schemas: Vec<Schema>,
    /// Component schemas by name, in the document's order.
    pub components: IndexMap<String, SchemaId>,
    /// Security schemes by name, in the document's order.
    pub security_schemes: IndexMap<String, SecurityScheme>,
    /// Document-level security: what protects an operation that says nothing itself, and unknown routes.
    pub security: Security,
    /// The paging convention (`x-paging` at the top level).
    pub paging: Option<Paging>,
    /// The whole document as JSON, in its author's words and order. Of several files it is the one that they were
    /// gathered into, with references that lead there.
    pub document: Value,
}

impl Contract {
    /// The schema behind an index.
    #[must_use]
    pub fn schema(&self, id: SchemaId) -> &Schema {
        &self.schemas[id.0 as usize]
    }

    /// Follows `$ref`s that stand alone (no sibling keyword that constrains) to the schema they mean.
    #[must_use]
    pub fn resolve(&self, mut id: SchemaId) -> SchemaId {
        // The reader refuses circular references, so this ends.
        while let SchemaKind::Object(keywords) = &self.schema(id).kind {
            match keywords.reference {
                Some(target) if keywords.only_reference => id = target,
                _ => break,
            }
        }
        id
    }
}

/// The dialects that are read.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Dialect {
    /// OpenAPI 3.0.x
    V30,
    /// OpenAPI 3.1.x
    V31,
}

/// What `format` means, which JSON Schema leaves to its reader (2020-12 Validation, section 7.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Formats {
    /// A known format refuses what is not of it.
    #[default]
    Assertion,
    /// A format describes, and refuses nothing.
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
    /// The licence's SPDX expression or name.
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
