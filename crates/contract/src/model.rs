//! The contract: an OpenAPI document of either dialect, resolved, with a position for every part.
//!
//! Lowering has happened here once and for all: references are followed, 3.0 schemas are written in
//! the keywords of JSON Schema 2020-12 (as 3.1 has them), path-level parameters are merged into their
//! operations, document-level security and servers are filled in. Passes never look at the syntax.

mod body;
mod contract;
mod operation;
mod paging;
mod parameter;
mod response;
mod schema;
mod security;
mod server;
mod subschemas;
mod types;

pub use body::{MediaType, PropertyEncoding, RequestBody};
pub use contract::{Contract, Dialect, Formats, Info, Tag};
pub use operation::{Method, Operation, PathPart};
pub use paging::Paging;
pub use parameter::{Location, Parameter, ParameterEncoding, Style};
pub use response::{Response, StatusKey};
pub use schema::{Discriminator, Keywords, Schema, SchemaId, SchemaKind};
pub use security::{Security, SecurityKind, SecurityRequirement, SecurityScheme};
pub use server::{Server, ServerVariable};
pub use types::Types;
