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
mod surface;
mod tag;
mod text;

pub use error::ClientError;
pub use progenitor::writes_request;
pub(crate) use surface::surface;

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
    for (tag, text) in api.tags.iter().zip(tags(api, &names, &common)?) {
        files.push(File {
            path: format!("{folder}/{}.rs", tag.file),
            text,
        });
    }
    Ok(files)
}

/// Returns the text of each tag's file, in the order of the tags. Syntax trees cannot leave their
/// thread, so each thread returns the text of some builders.
fn tags(
    api: &Api<'_>,
    names: &ClientNames,
    common: &CommonResponses,
) -> Result<Vec<String>, ClientError> {
    let mut jobs: Vec<(usize, Vec<&Operation>)> = Vec::new();
    for at in 0..api.tags.len() {
        let operations: Vec<&Operation> = api.operations_of(at).collect();
        let parts = operations.chunks(AT_A_TIME);
        jobs.extend(parts.map(|part| (at, part.to_vec())));
    }
    let parts = parallel::map(&jobs, |(_, operations)| {
        part(api, names, common, operations)
    });
    let mut rests = vec![String::new(); api.tags.len()];
    let mut name_types = vec![false; api.tags.len()];
    for ((at, _), part) in jobs.iter().zip(parts) {
        let (text, names_types) = part?;
        rests[*at].push_str(&text);
        name_types[*at] |= names_types;
    }
    let rests = rests.into_iter().zip(name_types).enumerate();
    let texts = rests
        .map(|(at, (rest, names_types))| rust_file(tag::head(api, names, at, names_types)) + &rest);
    Ok(texts.collect())
}

/// The maximum number of operations whose builders are in the memory of a thread as syntax trees at
/// once.
const AT_A_TIME: usize = 32;

/// Returns the text of some builders of a tag, and whether it names the module of the types.
fn part(
    api: &Api<'_>,
    names: &ClientNames,
    common: &CommonResponses,
    operations: &[&Operation],
) -> Result<(String, bool), ClientError> {
    let tokens = builders(api, names, common, operations)?;
    let names_types = mentions(&tokens, &names.modules[0]);
    let mut text = RustFile::rest();
    text.add(tokens);
    Ok((text.finish(), names_types))
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
