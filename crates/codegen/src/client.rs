//! The client crate: a builder per operation, a file per tag.
//!
//! This pass writes builders and responses itself. The request in the middle of a builder is taken
//! from progenitor if that loses nothing of the contract ([`writes_request`]), and is written here
//! otherwise. Callers cannot see the difference.

mod builder;
mod common;
mod error;
pub(crate) mod names;
mod paging;
mod parts;
mod progenitor;
mod responses;
mod root;
mod tag;
mod text;

pub use error::ClientError;
pub use progenitor::writes_request;

use std::collections::HashMap;

use proc_macro2::{Spacing, TokenStream, TokenTree};

use crate::file::File;
use crate::ir::{Api, Operation};
use crate::parallel;
use crate::tokens::{RustFile, rust_file};
use common::CommonResponses;
use names::ClientNames;

/// Generates the sources of the client crate.
pub(crate) fn files(api: &Api<'_>) -> Result<Vec<File>, ClientError> {
    let names = names::ClientNames::new(api);
    let common = CommonResponses::new(api);
    let folder = format!("{}/src", api.names.package("client"));
    let mut files = vec![File {
        path: format!("{folder}/lib.rs"),
        text: rust_file(root::tokens(api, &names, &common)),
    }];
    for (tag, text) in api.tags.iter().zip(tags(api, &names, &common)) {
        files.push(File {
            path: format!("{folder}/{}.rs", tag.file),
            text: text?,
        });
    }
    Ok(files)
}

/// Returns the text of each tag's file, in the order of the tags. Syntax trees cannot leave their
/// thread, so each thread returns the text of a whole file.
fn tags(
    api: &Api<'_>,
    names: &ClientNames,
    common: &CommonResponses,
) -> Vec<Result<String, ClientError>> {
    let tags: Vec<usize> = (0..api.tags.len()).collect();
    parallel::map(&tags, |at| tag_file(api, names, common, *at))
}

/// The most operations whose builders are in memory as syntax trees at once, to bound memory.
const AT_A_TIME: usize = 64;

/// Generates the text of the file of the tag at index `at`.
fn tag_file(
    api: &Api<'_>,
    names: &ClientNames,
    common: &CommonResponses,
    at: usize,
) -> Result<String, ClientError> {
    let mut rest = RustFile::rest();
    let mut names_types = false;
    let operations: Vec<&Operation> = api.operations_of(at).collect();
    for operations in operations.chunks(AT_A_TIME) {
        let tokens = builders(api, names, common, operations)?;
        names_types |= mentions(&tokens, &names.modules[0]);
        rest.add(tokens);
    }
    let mut file = RustFile::new();
    file.add(tag::head(api, names, at, names_types));
    Ok(file.finish() + &rest.finish())
}

/// Returns whether tokens have a path that begins with the name of a module.
fn mentions(tokens: &TokenStream, module: &str) -> bool {
    let mut follows = false;
    tokens.clone().into_iter().any(|token| {
        // A colon alone follows the name of a field.
        let is_path = follows
            && matches!(&token, TokenTree::Punct(colon)
                if colon.as_char() == ':' && colon.spacing() == Spacing::Joint);
        follows = matches!(&token, TokenTree::Ident(name) if name == module);
        is_path || matches!(&token, TokenTree::Group(group) if mentions(&group.stream(), module))
    })
}

/// Returns the source of the builders of the given operations, in their order.
fn builders(
    api: &Api<'_>,
    names: &ClientNames,
    common: &CommonResponses,
    operations: &[&Operation],
) -> Result<TokenStream, ClientError> {
    let progenitors: Vec<&Operation> = operations
        .iter()
        .copied()
        .filter(|operation| writes_request(api, operation))
        .collect();
    let requests = progenitor::requests(names, &progenitors)?;
    let mut requests: HashMap<usize, syn::Expr> = progenitors
        .iter()
        .map(|operation| operation.index)
        .zip(requests)
        .collect();
    Ok(operations
        .iter()
        .map(|operation| {
            let request = requests.remove(&operation.index);
            builder::builder(api, names, common, operation, request)
        })
        .collect())
}
