//! Reads an OpenAPI 3.0, 3.1 or 3.2 document into a [`Contract`] that keeps the span of every node.
//!
//! Start at [`load()`], which runs these steps: [`read`] turns JSON or YAML into [`node::Node`]s,
//! [`overlay`] changes them by the overlays that the caller names,
//! `syntax` checks every object by the tables of the standard, `gather` makes one document of
//! several files, `build` makes the [`model`], `normalise` applies the changes that the standard or
//! an error requires, and `lint` checks what the parts say together. [`bundle`] then writes the
//! schemas for a validator.
//!
//! Every problem is a [`diagnostic::Diagnostic`], and one run reports all of them. No input makes
//! this crate panic. Deliberately not here: anything about Rust code (see `codegen`).

mod build;
pub mod bundle;
mod circles;
mod declared;
pub mod diagnostic;
mod documents;
mod events;
mod expression;
pub mod fix;
mod foreign;
pub mod format;
mod gather;
mod keys;
mod linked;
mod lint;
mod load;
mod mapping;
mod media_type;
pub mod model;
mod moment;
pub mod node;
mod node_ref;
mod normalise;
pub mod number;
pub mod overlay;
mod pattern;
pub mod place;
pub mod pointer;
pub mod positions;
mod reach;
pub mod read;
mod resolve;
mod reverse;
pub mod rules;
pub mod source;
mod spelling;
mod stability;
mod syntax;
mod uri;
mod validate;

pub use diagnostic::{Diagnostic, Severity, render};
pub use foreign::{READINGS, Reading, Repair};
pub use lint::LintSet;
pub use load::{
    Loaded, NotInContract, OpenFiles, Options, Revision, draft_overlay, identity, load, load_text,
    load_text_with, load_with,
};
pub use mapping::{LocalCopy, Mapping, WrongLocalCopy};
pub use model::Contract;
pub use moment::Moment;
pub use reverse::{reversed, reversed_count};
pub use source::Sources;
pub use spelling::nearest;
pub use stability::Stability;
pub use uri::local_file;
