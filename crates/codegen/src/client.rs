//! The client crate: a builder per operation, a file per tag.
//!
//! Builders and responses are ours, the request in the middle of a builder is progenitor's where
//! progenitor loses nothing of the contract ([`writes_request`]), and ours elsewhere. Callers
//! cannot see the difference.

mod builder;
pub(crate) mod names;
mod paging;
mod parts;
mod progenitor;
mod responses;
mod root;
mod tag;
mod text;

pub use progenitor::writes_request;

use std::collections::HashMap;

use proc_macro2::TokenStream;

use crate::file::File;
use crate::ir::{Api, Operation};
use crate::parallel;
use crate::tokens::{RustFile, rust_file};

/// Why a client could not be written: a fault of the generator, never of the contract.
#[derive(Debug, thiserror::Error)]
pub enum ClientError {
    /// progenitor has rejected the document that was made for it.
    #[error("progenitor rejects the document that codegen made for it: {0}")]
    Rejected(#[from] progenitor_impl::Error),
    /// The output of progenitor is not Rust.
    #[error("progenitor's output is not valid Rust: {0}")]
    Unreadable(#[from] syn::Error),
    /// The output of progenitor has another form than that of the version that this crate was
    /// written for.
    #[error("progenitor's output has a new form: expected {0}")]
    Progenitor(&'static str),
}

/// Returns the sources of the client crate.
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

/// Returns the file of each tag. Syntax trees cannot leave their thread, so each thread writes
/// whole files.
fn tags(api: &Api<'_>, names: &names::ClientNames) -> Vec<Result<String, ClientError>> {
    let tags: Vec<usize> = (0..api.tags.len()).collect();
    parallel::map(&tags, |at| tag_file(api, names, *at))
}

/// How many builders are syntax trees at a time, to bound memory.
const AT_A_TIME: usize = 64;

fn tag_file(api: &Api<'_>, names: &names::ClientNames, at: usize) -> Result<String, ClientError> {
    let mut file = RustFile::new();
    file.add(tag::head(api, names, at));
    let operations: Vec<&Operation> = api.operations_of(at).collect();
    for operations in operations.chunks(AT_A_TIME) {
        file.add(builders(api, names, operations)?);
    }
    Ok(file.finish())
}

/// Returns the builders of some operations, in their order.
fn builders(
    api: &Api<'_>,
    names: &names::ClientNames,
    operations: &[&Operation],
) -> Result<TokenStream, ClientError> {
    let progenitors: Vec<&Operation> = operations
        .iter()
        .copied()
        .filter(|operation| writes_request(api, operation))
        .collect();
    let requests = progenitor::requests(names, &progenitors)?;
    let mut requests: HashMap<usize, progenitor::Request> = progenitors
        .iter()
        .map(|operation| operation.index)
        .zip(requests)
        .collect();
    Ok(operations
        .iter()
        .map(|operation| builder::builder(api, names, operation, requests.remove(&operation.index)))
        .collect())
}
