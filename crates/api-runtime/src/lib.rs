//! What generated API crates call when they run.
//!
//! Generated types need no feature: [`Wire`] reads and writes them as JSON, the derives (`Object`,
//! `Scalar`, …) turn the contract's keywords into code, and [`ConstraintError`] says which keyword
//! a value violates. The feature `server` adds what a generated router calls, `client` what a
//! generated client calls, `mock` what a generated mock calls. Nothing here knows a particular
//! contract. Start with `wire.rs`.

pub use api_macros::{Array, Enumeration, Json, Map, Object, Scalar, Union, text};

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod alternatives;
mod components;
mod constrained;
mod constraint;
pub mod described;
mod entity_tags;
mod expansion;
#[cfg(feature = "fake")]
pub mod fake;
pub mod format;
#[cfg(any(feature = "client", feature = "server"))]
mod items;
pub mod json;
mod json_text;
#[cfg(any(feature = "client", feature = "server"))]
mod media_type;
mod mode;
mod object;
#[cfg(feature = "routing")]
mod pairs;
#[cfg(any(feature = "client", feature = "server"))]
pub mod parts;
mod pattern;
mod place;
pub mod pointer;
#[cfg(feature = "routing")]
pub mod routing;
mod rule;
#[cfg(feature = "jsonschema")]
mod schemas;
#[cfg(any(feature = "client", feature = "server"))]
mod trace_context;
mod violation;
mod wire;

#[cfg(feature = "cli")]
pub mod cli;
#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "mock")]
pub mod mock;
#[cfg(feature = "server")]
pub mod server;

#[doc(inline)]
pub use components::components;
pub use constrained::{Text, TextRules};
pub use constraint::ConstraintError;
pub use described::Described;
pub use entity_tags::EntityTags;
pub use mode::{is_lenient, lenient, strict};
pub use pattern::{Pattern, translate as translate_pattern};
/// The version of `schemars` whose `JsonSchema` the types implement.
#[cfg(feature = "schemars")]
#[doc(no_inline)]
pub use schemars;
#[cfg(feature = "jsonschema")]
pub use schemas::Schemas;
/// The version of `serde_json` whose `Value` is used where a schema accepts any JSON.
#[doc(no_inline)]
pub use serde_json;
/// The version of `utoipa` whose `ToSchema` the types implement.
#[cfg(feature = "utoipa")]
#[doc(no_inline)]
pub use utoipa;
pub use violation::Violation;
pub use wire::Wire;
