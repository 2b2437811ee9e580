//! Runs the passes over a contract, at the same time where they do not need each other.

use std::thread;

use contract::Contract;

use crate::client::{self, ClientError};
use crate::file::File;
use crate::ir::Api;
use crate::lower::lower_both;
use crate::options::Options;
use crate::{cli, manifest, mock, server, types};

/// Generates every file of every crate of a contract, sorted by path.
///
/// # Errors
///
/// Returns an error if the names of crates cannot begin with the prefix, if the command line cannot
/// have its name, if progenitor rejects the document that was made for it, or if two files have the
/// same path.
pub fn generate(contract: &Contract, options: &Options) -> Result<Vec<File>, Error> {
    check_prefix(&options.prefix)?;
    if let Some(program) = &options.cli {
        check_program(program)?;
    }
    let reversed = contract::reversed(contract);
    let (api, events) = lower_both(contract, reversed.as_ref(), &options.prefix);
    // The passes only read the API, so they can run at the same time.
    let (sides, types, around) = thread::scope(|scope| {
        let sides = scope.spawn(|| both_sides(&api));
        // With the copy of the run time, which is most of what a small document's crates have.
        let around = scope.spawn(|| manifest::files(&api, events.as_ref(), options));
        let types = types::files(&api);
        (joined(sides), types, joined(around))
    });
    let mut files = sides?;
    files.extend(types);
    files.extend(around);
    if let Some(events) = &events {
        files.extend(both_sides(events)?);
    }
    if options.cli.is_some() {
        files.extend(cli::files(&api));
    }
    if options.mock {
        files.extend(mock::files(&api));
    }
    files.sort_by(|a, b| a.path.cmp(&b.path));
    // One of two files with the same path would silently replace the other.
    match files.windows(2).find(|pair| pair[0].path == pair[1].path) {
        Some([file, _]) => Err(Error::Twice(file.path.clone())),
        _ => Ok(files),
    }
}

/// Generates the sources of the client and of the server of an API.
fn both_sides(api: &Api<'_>) -> Result<Vec<File>, ClientError> {
    let (client, server) = thread::scope(|scope| {
        let client = scope.spawn(|| client::files(api));
        let server = server::files(api);
        (joined(client), server)
    });
    let mut files = client?;
    files.extend(server);
    Ok(files)
}

/// Waits for a pass and returns its files. A panic of the pass goes on in the calling thread.
fn joined<T>(pass: thread::ScopedJoinHandle<'_, T>) -> T {
    pass.join()
        .unwrap_or_else(|panic| std::panic::resume_unwind(panic))
}

/// The names that cargo gives to no program, because it has folders of these names.
const FOLDERS: [&str; 4] = ["build", "deps", "examples", "incremental"];

/// Checks that a program can have a name, which has to be in kebab-case.
pub fn check_program(name: &str) -> Result<(), Error> {
    if check_prefix(name).is_ok() && !FOLDERS.contains(&name) {
        Ok(())
    } else {
        Err(Error::Program(name.to_owned()))
    }
}

/// The reasons why crates cannot be generated from a contract.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// The prefix cannot begin the name of a crate.
    #[error(
        "`{0}` cannot begin a crate's name: write lower-case letters, digits and single hyphens, \
         a letter first, at most {LONGEST_PREFIX} of them"
    )]
    Prefix(String),
    /// A program cannot have this name.
    #[error(
        "`{0}` cannot be the name of a program: write lower-case letters, digits and single \
         hyphens, a letter first, at most {LONGEST_PREFIX} of them, and not one of {folders}",
        folders = FOLDERS.join(", ")
    )]
    Program(String),
    /// The client cannot be generated.
    #[error(transparent)]
    Client(#[from] ClientError),
    /// Two files have the same path. This is a fault of the generator, never of the contract.
    #[error("two files have the path `{0}`: this is a fault of the generator, please report it")]
    Twice(String),
}

/// The maximum number of characters of a prefix. A crate's name has at most 64 on crates.io, of
/// which `-webhook-receiver` takes 17.
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
