//! The client crate: builders by progenitor where it can carry an operation, by this crate where it cannot, one
//! file per tag, all on the same run time.
//!
//! Every type comes from the types crate. A caller cannot tell who wrote a builder; [`carrier`] says so, and why.

mod carrier;
mod fixups;
pub(crate) mod names;
mod own;
mod paging;
mod parts;
mod responses;
mod root;
mod tag;
mod text;
mod view;

pub use carrier::{Carrier, Reason, carrier};

use std::collections::HashMap;

use crate::file::File;
use crate::ir::{Api, Operation};
use crate::parallel;
use crate::tokens::{RustFile, rust_file};

/// A client that cannot be written. It is a fault of the generator, never of the contract.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// progenitor refuses the view that was made for it.
    #[error("progenitor refuses its view of the contract: {0}")]
    Refused(#[from] progenitor_impl::Error),
    /// progenitor's output is not Rust as it was.
    #[error("progenitor's output cannot be read: {0}")]
    Unreadable(#[from] syn::Error),
    /// progenitor's output has another form.
    #[error("progenitor's output has changed its form: {0}")]
    Progenitor(&'static str),
    /// A fix-up found less or more to mend than it should.
    #[error(
        "fix-up `{fixup}` applied {applied} times to the builder of `{operation}`, not {expected} times"
    )]
    Fixup {
        /// What it mends.
        fixup: &'static str,
        /// The operation's name.
        operation: String,
        /// How often it applied.
        applied: usize,
        /// How often it should have.
        expected: usize,
    },
}

/// The sources of the client crate.
pub(crate) fn files(api: &Api<'_>) -> Result<Vec<File>, ClientError> {
    let names = names::ClientNames::new(api);
    let folder = format!("{}/src", api.names.package("client"));
    let mut files = vec![File {
        path: format!("{folder}/lib.rs"),
        text: rust_file(root::tokens(api, &names)),
    }];
    for (tag, text) in api.tags.iter().zip(tags(api, &names)) {
        files.push(File {
            path: format!("{folder}/{}.rs", tag.module),
            text: text?,
        });
    }
    Ok(files)
}

/// The file of each tag. Syntax trees stay in the thread that made them, and tags share none.
fn tags(api: &Api<'_>, names: &names::ClientNames) -> Vec<Result<String, ClientError>> {
    let tags: Vec<usize> = (0..api.tags.len()).collect();
    parallel::map(&tags, |at| tag_file(api, names, *at))
}

/// How many builders are syntax trees at a time.
const AT_A_TIME: usize = 64;

fn tag_file(api: &Api<'_>, names: &names::ClientNames, at: usize) -> Result<String, ClientError> {
    let mut file = RustFile::new();
    file.add(tag::head(api, names, at));
    let operations: Vec<&Operation> = api.operations_of(at).collect();
    for operations in operations.chunks(AT_A_TIME) {
        file.add_items(builders(api, names, operations)?);
    }
    Ok(file.finish())
}

/// Who writes each operation's builder, in the document's order.
#[must_use]
pub fn carriers<'a>(api: &'a Api<'_>) -> Vec<(&'a Operation, Carrier)> {
    api.operations
        .iter()
        .map(|operation| (operation, carrier(api, operation)))
        .collect()
}

/// The builders of some operations, in their order.
fn builders(
    api: &Api<'_>,
    names: &names::ClientNames,
    operations: &[&Operation],
) -> Result<Vec<syn::Item>, ClientError> {
    let (progenitors, own): (Vec<&Operation>, Vec<&Operation>) = operations
        .iter()
        .partition(|operation| carrier(api, operation) == Carrier::Progenitor);
    let mut builders = HashMap::new();
    for operation in own {
        let file: syn::File = syn::parse2(own::builder(api, names, operation))?;
        builders.insert(operation.index, file.items);
    }
    let output = view::builders(api, &progenitors)?;
    let types = fixups::types(api, &output.types);
    for (operation, builder) in progenitors.into_iter().zip(output.builders) {
        let items = fixups::mend(api, names, operation, &types, builder)?;
        builders.insert(operation.index, items);
    }
    Ok(operations
        .iter()
        .filter_map(|operation| builders.remove(&operation.index))
        .flatten()
        .collect())
}
