//! Generates Rust crates from a contract: one for the types, one for the client and one for the
//! server, and one for a command line and one for a mock if they are asked for. For webhooks and
//! callbacks there are a sender and a receiver as well.
//!
//! Start at [`generate`](generate()). [`lower`](lower()) decides every name and type once and
//! returns the [`ir`], a pass per crate turns that into files, and [`emit`] writes the files or
//! compares them with a folder. Passes are pure: they use no file system, clock or environment.
//!
//! Deliberately not here: reading documents (see `contract`) and what generated code calls when it
//! runs (see `api-runtime`).

pub mod emit;
pub mod file;
pub mod ir;
pub mod surface;

mod cli;
mod client;
mod generate;
mod lower;
mod manifest;
mod mock;
mod names;
mod options;
mod parallel;
mod positions;
mod preview;
mod server;
mod tokens;
mod types;

pub use client::{ClientError, writes_request};
pub use file::File;
pub use generate::{Error, check_prefix, check_program, generate};
pub use lower::{lower, lower_both};
pub use manifest::DEFAULT_VERSION;
pub use options::{Options, Runtime, RuntimeError};
pub use preview::Preview;
pub use server::{challenge, form_fields, guards_unknown_routes, property_names};
pub use tokens::type_path;
