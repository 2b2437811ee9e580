//! What generated API crates call when they run.
//!
//! The types side needs no feature: [`Wire`] is how values travel, [`ConstraintError`] why one is refused, and the
//! derives (`Object`, `Scalar`, …) turn the contract's keywords into code. `server` holds what a generated router
//! calls, `client` what a generated client calls. Deliberately not here: anything that knows one contract.

pub use api_macros::{Array, Enumeration, Json, Map, Object, Scalar, Union};

#[doc(hidden)]
#[path = "private.rs"]
pub mod __private;
mod alternatives;
mod components;
mod constraint;
pub mod described;
pub mod format;
pub mod json;
mod mode;
mod object;
mod pattern;
#[cfg(feature = "jsonschema")]
mod schemas;
mod violation;
mod wire;

#[cfg(feature = "client")]
pub mod client;
#[cfg(feature = "server")]
pub mod server;

#[doc(inline)]
pub use components::components;
pub use constraint::ConstraintError;
pub use described::Described;
pub use mode::{is_lenient, lenient, strict};
pub use pattern::Pattern;
/// The `schemars` that the types implement `JsonSchema` of.
#[cfg(feature = "schemars")]
#[doc(no_inline)]
pub use schemars;
#[cfg(feature = "jsonschema")]
pub use schemas::Schemas;
/// The `serde_json` whose values stand where a schema allows anything.
#[doc(no_inline)]
pub use serde_json;
/// The `utoipa` that the types implement `ToSchema` of.
#[cfg(feature = "utoipa")]
#[doc(no_inline)]
pub use utoipa;
pub use violation::Violation;
pub use wire::Wire;
