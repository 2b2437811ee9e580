//! Generates Rust crates from a contract: one for the types, one for the client and one for the
//! server. For webhooks and callbacks there are a sender and a receiver as well.
//!
//! Start at [`generate`]. [`lower`](lower()) decides every name and type once and returns the
//! [`ir`], a pass per crate turns that into files, and [`emit`] writes the files or compares them
//! with a folder. Passes are pure: they use no file system, clock or environment.
//!
//! Deliberately not here: reading documents (see `contract`) and what generated code calls when it
//! runs (see `api-runtime`).

pub mod emit;
pub mod file;
pub mod ir;

mod client;
mod lower;
mod manifest;
mod names;
mod parallel;
mod server;
mod tokens;
mod types;

pub use client::{ClientError, writes_request};
pub use file::File;
pub use lower::{lower, lower_both};

use std::thread;

use contract::Contract;

/// Generates every file of every crate of a contract, sorted by path.
///
/// # Errors
///
/// Returns an error if a crate cannot have the name, if progenitor refuses the view that was made
/// for it, or if two files have the same path.
pub fn generate(contract: &Contract, options: &Options) -> Result<Vec<File>, Error> {
    check_prefix(&options.prefix)?;
    let reversed = contract::reversed(contract);
    let (api, events) = lower_both(contract, reversed.as_ref(), &options.prefix);
    // The passes only read the API, so they can run at the same time.
    let (sides, types) = thread::scope(|scope| {
        let sides = scope.spawn(|| both_sides(&api));
        let types = types::files(&api);
        (joined(sides), types)
    });
    let mut files = sides?;
    files.extend(types);
    if let Some(events) = &events {
        files.extend(both_sides(events)?);
    }
    files.extend(manifest::files(&api, events.as_ref(), &options.runtime));
    files.sort_by(|a, b| a.path.cmp(&b.path));
    match files.windows(2).find(|pair| pair[0].path == pair[1].path) {
        Some([file, _]) => Err(Error::Twice(file.path.clone())),
        _ => Ok(files),
    }
}

/// Generates the sources of the client and of the server of an API.
fn both_sides(api: &ir::Api<'_>) -> Result<Vec<File>, ClientError> {
    let (client, server) = thread::scope(|scope| {
        let client = scope.spawn(|| client::files(api));
        let server = server::files(api);
        (joined(client), server)
    });
    let mut files = client?;
    files.extend(server);
    Ok(files)
}

/// The names of the generated crates, and the run time that they depend on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What the names of the crates begin with, such as `api`.
    pub prefix: String,
    /// Where the generated crates find the run-time crates.
    pub runtime: Runtime,
}

impl Options {
    /// Creates options for crates that stand alone, with a copy of the run time beside them.
    #[must_use]
    pub fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            runtime: Runtime::Copy,
        }
    }
}

/// Where generated crates find `api-runtime` and `api-macros`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runtime {
    /// At this path, relative to the folder of a generated crate.
    Path(String),
    /// Beside the generated crates, where a copy is generated as well, with a workspace around all
    /// of them.
    Copy,
}

/// The reasons why crates cannot be generated from a contract.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The names of crates cannot begin with this.
    #[error(
        "`{0}` cannot begin a crate's name: write lower-case letters, digits and single hyphens, \
         a letter first, at most {LONGEST_PREFIX} of them"
    )]
    Prefix(String),
    /// The client cannot be generated.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Two files have the same path. This is a fault of the generator, never of the contract.
    #[error("two files have the path `{0}`: this is a fault of the generator, please report it")]
    Twice(String),
}

/// The most characters of a prefix. A crate's name has at most 64 on crates.io, of which
/// `-webhook-receiver` takes 17.
const LONGEST_PREFIX: usize = 47;

/// Checks that the names of crates can begin with `prefix`, which has to be in kebab-case.
pub fn check_prefix(prefix: &str) -> Result<(), Error> {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .chars()
                .all(|character| character.is_ascii_lowercase() || character.is_ascii_digit())
    };
    let starts_well = prefix.starts_with(|first: char| first.is_ascii_lowercase());
    if starts_well && prefix.len() <= LONGEST_PREFIX && prefix.split('-').all(is_word) {
        Ok(())
    } else {
        Err(Error::Prefix(prefix.to_owned()))
    }
}

/// Waits for a pass and returns its files. A panic of the pass goes on in the calling thread.
fn joined<T>(pass: thread::ScopedJoinHandle<'_, T>) -> T {
    pass.join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
