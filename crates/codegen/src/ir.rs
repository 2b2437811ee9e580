//! The intermediate representation (IR) that the passes read: the contract with every Rust name and
//! type decided.
//!
//! [`lower`](crate::lower()) makes it once. A pass never looks at a schema's keywords to choose a
//! type, and never invents a name, so that the crates of one contract agree with each other.

mod item;
mod operation;
mod paging;
mod parts;
mod types;

pub use item::{
    Additional, Array, Enumeration, Field, JsonText, Map, Object, Scalar, Selection, Trial, Union,
    Variant, format_is_enforced,
};
pub use operation::{Body, Media, MediaKind, Operation, Parameter, Response};
pub use paging::PagedOperation;
pub use parts::{Part, PartContent, PartHeader, PartList};
pub use types::{Primitive, TypeDef, TypeId, TypeKind, TypeRef};

use std::sync::OnceLock;

use contract::Contract;
use contract::model::{Security, SecurityKind};

/// An API with every Rust name and type decided.
#[derive(Debug)]
pub struct Api<'c> {
    /// The contract that the API was lowered from.
    pub contract: &'c Contract,
    /// The names of the crates.
    pub names: CrateNames,
    /// The groups of operations, in the order in which the document declares them. Each is a module
    /// and a cargo feature.
    pub tags: Vec<Tag>,
    /// Every item of the types crate: components in the document's order, then inline schemas in
    /// the order in which lowering met them.
    pub types: Vec<TypeDef>,
    /// Every operation, in the document's order.
    pub operations: Vec<Operation>,
    /// The security schemes that operations or the document as a whole require, in the document's
    /// order.
    pub security: Vec<SecurityScheme>,
    /// The type of every error body, if all 4XX, 5XX and default responses with a body have the
    /// same JSON type, and it is a struct.
    pub error: Option<TypeRef>,
    /// The header `x-request-id`, if every response of the contract has it. The framework adds it, so
    /// it is none of [`Response::headers`].
    pub request_id: Option<Parameter>,
    /// Every combination of security schemes that is asked for, with the name of its check. Found
    /// when it is first asked, since each operation asks and the search goes over all operations.
    pub(crate) checks: OnceLock<Vec<(String, Security)>>,
}

impl Api<'_> {
    /// Returns the item with this index.
    #[must_use]
    pub fn type_def(&self, id: TypeId) -> &TypeDef {
        &self.types[id.0]
    }

    /// Returns whether some Rust name holds a character outside ASCII.
    #[must_use]
    pub fn has_non_ascii_names(&self) -> bool {
        let of_operations = self.operations.iter().any(|operation| {
            let inputs = operation.parameters.iter().map(|parameter| &parameter.name);
            let outputs = operation
                .responses
                .iter()
                .flat_map(|response| &response.headers)
                .map(|header| &header.name);
            inputs
                .chain(outputs)
                .chain([&operation.name])
                .any(|name| !name.is_ascii())
        });
        of_operations
            || self.tags.iter().any(|tag| !tag.module.is_ascii())
            || self
                .types
                .iter()
                .any(|def| !def.name.is_ascii() || def.kind.has_non_ascii_names())
    }

    /// Returns the operations of a tag, in the document's order.
    pub fn operations_of(&self, tag: usize) -> impl Iterator<Item = &Operation> {
        self.operations
            .iter()
            .filter(move |operation| operation.tag == tag)
    }
}

/// The names of the crates of one contract.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrateNames {
    /// The start of every crate's name, in kebab-case, such as `api`.
    pub prefix: String,
    /// Whether the operations are webhooks and callbacks, which the API calls, instead of its own.
    pub is_reversed: bool,
}

impl CrateNames {
    /// Returns the package name of a part, which is `types`, `client` or `server`. The API and its
    /// webhooks and callbacks share one types crate.
    #[must_use]
    pub fn package(&self, part: &str) -> String {
        let part = match part {
            "client" if self.is_reversed => "webhook-sender",
            "server" if self.is_reversed => "webhook-receiver",
            part => part,
        };
        format!("{}-{part}", self.prefix)
    }

    /// Returns the package name of a part as a Rust identifier.
    #[must_use]
    pub fn krate(&self, part: &str) -> String {
        self.package(part).replace('-', "_")
    }
}

/// A group of operations.
#[derive(Debug, Clone)]
pub struct Tag {
    /// The name in the document; `None` for the operations without a tag.
    pub name: Option<String>,
    /// The name of the module, in `snake_case`: `load_balancer`.
    pub module: String,
    /// The name of the module's file without `.rs`. The same as `module`, except that it is in
    /// ASCII, since Rust finds no other file by itself and not every file system keeps one.
    pub file: String,
    /// The cargo feature: `load_balancer`. The same as `module`, so that one search finds both,
    /// except where the module's name ends in `_`: `default_` has `default-operations`.
    pub feature: String,
    /// The name of the server's trait: `LoadBalancerApi`.
    pub server_trait: String,
    /// The name of the client's trait: `ClientLoadBalancerExt`.
    pub client_trait: String,
    /// The description, in `CommonMark`.
    pub description: Option<String>,
}

/// A security scheme that some operation or the document as a whole requires.
#[derive(Debug, Clone)]
pub struct SecurityScheme {
    /// The name in the document.
    pub wire: String,
    /// The Rust identifier: `bearer`.
    pub name: String,
    /// The kind of scheme.
    pub kind: SecurityKind,
    /// The description, in `CommonMark`.
    pub description: Option<String>,
}
