//! Writes a contract as Rust: a types crate, a client crate and a server crate; where the API calls its clients,
//! a crate that sends such calls and one that receives them.
//!
//! Start at [`generate`]. `lower` decides every name and type once ([`ir`]), a pass per crate turns that
//! into files, [`emit`] writes or checks them. Passes are pure: no file system, no clock, no environment.
//! Deliberately not here: reading documents (see `contract`) and what generated code calls when it runs
//! (see `api-runtime`).

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

pub use client::{Carrier, ClientError, Reason, carrier, carriers};
pub use file::File;
pub use lower::{lower, lower_both};

use std::thread;

use contract::Contract;

/// Every file of every crate of a contract, sorted by path.
///
/// # Errors
///
/// If the name cannot be a crate's, progenitor refuses the view that was made for it, or two files have one path.
pub fn generate(contract: &Contract, options: &Options) -> Result<Vec<File>, Error> {
    check_prefix(&options.prefix)?;
    let reversed = contract::reversed(contract);
    let (api, events) = lower_both(contract, reversed.as_ref(), &options.prefix);
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

/// The sources of those who call and of those who are called.
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

/// What a contract's crates are called and what they lean on.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Options {
    /// What the crates' names begin with, such as `api`.
    pub prefix: String,
    /// Where the run-time crates are.
    pub runtime: Runtime,
}

impl Options {
    /// Crates that stand alone, with the run time beside them.
    #[must_use]
    pub fn new(prefix: impl Into<String>) -> Self {
        Self {
            prefix: prefix.into(),
            runtime: Runtime::Copy,
        }
    }
}

/// Where generated crates find `api-runtime`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Runtime {
    /// At this path, as seen from a generated crate.
    Path(String),
    /// Beside the generated crates: it is written there too, with a workspace around all of them.
    Copy,
}

/// Why a contract could not be generated.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The crates cannot be called that.
    #[error(
        "`{0}` cannot begin a crate's name: write lower-case letters, digits and single hyphens, \
         a letter first, at most {LONGEST_PREFIX} of them"
    )]
    Prefix(String),
    /// The client cannot be written.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Two files would be one. It is a fault of the generator, never of the contract.
    #[error("two files are called `{0}`: this is a fault of the generator")]
    Twice(String),
}

/// A crate's name has at most 64 characters on crates.io; this leaves room for `-webhook-receiver`.
const LONGEST_PREFIX: usize = 47;

/// Whether crates may be called that: kebab-case.
pub fn check_prefix(prefix: &str) -> Result<(), Error> {
    let is_word = |word: &str| {
        !word.is_empty()
            && word
                .chars()
                .all(|sign| sign.is_ascii_lowercase() || sign.is_ascii_digit())
    };
    let starts_well = prefix.starts_with(|first: char| first.is_ascii_lowercase());
    if starts_well && prefix.len() <= LONGEST_PREFIX && prefix.split('-').all(is_word) {
        Ok(())
    } else {
        Err(Error::Prefix(prefix.to_owned()))
    }
}

/// What a pass made; a panic in it is ours, and goes on here.
fn joined<T>(pass: thread::ScopedJoinHandle<'_, T>) -> T {
    pass.join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}
