//! Reads an OpenAPI 3.0 or 3.1 document into a [`Contract`], with a position for every node.
//!
//! Start at [`load()`]. The readers ([`read`]) turn JSON or YAML into [`node::Node`]s, `build` turns
//! those into the [`model`], `lint` judges the result, [`bundle`] writes the schemas for a validator.
//! Findings are [`diagnostic::Diagnostic`]s, all of them in one run; no input makes this crate panic.
//! Deliberately not here: Rust (see `codegen`).

mod build;
pub mod bundle;
mod circles;
pub mod diagnostic;
mod documents;
pub mod format;
mod gather;
mod lint;
mod load;
mod mapping;
pub mod model;
pub mod node;
mod node_ref;
mod normalise;
pub mod number;
pub mod pointer;
pub mod read;
mod resolve;
mod reverse;
pub mod source;
mod spelling;
mod syntax;
mod uri;
mod validate;

pub use diagnostic::{Diagnostic, Severity, render};
pub use load::{Loaded, Options, load, load_text, load_text_with, load_with};
pub use mapping::{LocalCopy, Mapping, WrongLocalCopy};
pub use model::Contract;
pub use reverse::reversed;
pub use source::Sources;
