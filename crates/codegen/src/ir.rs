//! What the passes read: the contract with every Rust name and type decided.
//!
//! [`lower`](crate::lower) makes it once; a pass never looks at a schema's keywords to choose a type, and never
//! invents a name.

mod item;
mod operation;
mod paging;
mod types;

pub use item::{
    Additional, Array, Enumeration, Field, Map, Object, Scalar, Selection, Union, Variant,
    format_is_enforced,
};
pub use operation::{Body, Media, MediaKind, Operation, Parameter, Response};
pub use paging::PagedOperation;
pub use types::{Primitive, TypeDef, TypeId, TypeKind, TypeRef};

use contract::Contract;
use contract::model::SecurityKind;

/// An API, ready to be written as Rust.
#[derive(Debug)]
pub struct Api<'c> {
    /// The contract it came from: descriptions, servers, the document itself.
    pub contract: &'c Contract,
    /// What the crates are called.
    pub names: CrateNames,
    /// Groups of operations, declared order first. Each is a module and a cargo feature.
    pub tags: Vec<Tag>,
    /// Every item of the types crate: components in the document's order, then inline ones as they were met.
    pub types: Vec<TypeDef>,
    /// Every operation, in the document's order.
    pub operations: Vec<Operation>,
    /// Security schemes that some operation uses, in the document's order.
    pub security: Vec<SecurityScheme>,
    /// The type of every error body, when all 4XX, 5XX and default responses with a body agree on one JSON type.
    pub error: Option<TypeRef>,
}

impl Api<'_> {
    /// The item behind an index.
    #[must_use]
    pub fn type_def(&self, id: TypeId) -> &TypeDef {
        &self.types[id.0]
    }

    /// Whether some name in Rust is written in other letters than ASCII's.
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

    /// The operations of a tag, in the document's order.
    pub fn operations_of(&self, tag: usize) -> impl Iterator<Item = &Operation> {
        self.operations
            .iter()
            .filter(move |operation| operation.tag == tag)
    }
}

/// Names of the crates that belong together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct CrateNames {
    /// Such as `api`; kebab-case.
    pub prefix: String,
    /// Whether the operations are those that the API calls on its client's side.
    pub is_reversed: bool,
}

impl CrateNames {
    /// Package name of a part: `types`, `client`, `server`. Both directions share one types crate.
    #[must_use]
    pub fn package(&self, part: &str) -> String {
        let part = match part {
            "client" if self.is_reversed => "webhook-sender",
            "server" if self.is_reversed => "webhook-receiver",
            part => part,
        };
        format!("{}-{part}", self.prefix)
    }

    /// The same as an identifier.
    #[must_use]
    pub fn krate(&self, part: &str) -> String {
        self.package(part).replace('-', "_")
    }
}

/// A group of operations.
#[derive(Debug, Clone)]
pub struct Tag {
    /// The name in the document; none for operations without a tag.
    pub name: Option<String>,
    /// Module and file name, `snake_case`: `load_balancer`.
    pub module: String,
    /// Cargo feature: `load-balancer` would differ from the tag's own spelling, so it is the module's name.
    pub feature: String,
    /// The server's trait: `LoadBalancerApi`.
    pub server_trait: String,
    /// The client's trait: `ClientLoadBalancerExt`.
    pub client_trait: String,
    /// A description in `CommonMark`.
    pub description: Option<String>,
}

/// A security scheme in use.
#[derive(Debug, Clone)]
pub struct SecurityScheme {
    /// The name in the document.
    pub wire: String,
    /// Rust identifier: `bearer`.
    pub name: String,
    /// What kind.
    pub kind: SecurityKind,
    /// A description in `CommonMark`.
    pub description: Option<String>,
}
