//! The model of a contract: an OpenAPI document of any dialect, with references followed.
//!
//! What later steps would otherwise have to decide again and again is decided here: 3.0 schemas are
//! in the keywords of JSON Schema 2020-12 (as 3.1 has them), path-level parameters are merged into
//! the operations, and document-level security and servers are filled in. Later steps never look at
//! the document's syntax.

mod body;
mod clash;
mod contract;
mod document;
mod operation;
mod paging;
mod parameter;
mod response;
mod schema;
mod schemas;
mod security;
mod server;
mod subschemas;
mod types;

pub use body::{JSON_LINES, MediaType, PropertyEncoding, RequestBody, is_sequential};
pub(crate) use clash::shape;
pub use clash::{Clash, clashes};
pub use contract::{Contract, Dialect, Formats, Info, Tag};
pub use document::Document;
pub use operation::{Method, Operation, PathPart, split_label};
pub(crate) use operation::{label_parameters, label_query};
pub use paging::Paging;
pub use parameter::{Location, Parameter, ParameterEncoding, Style};
pub use response::{Response, StatusKey};
pub use schema::{Discriminator, Keywords, MOST_LINKS, Raw, Schema, SchemaId, SchemaKind};
pub use schemas::Schemas;
pub use security::{Security, SecurityKind, SecurityRequirement, SecurityScheme};
pub use server::{Server, ServerVariable};
pub use types::Types;
