//! The pass that writes the mock of an API, for tests of its callers: for each operation a method
//! that begins an expectation, and an implementation of the server's traits that asks the
//! expectations.
//!
//! All that the mock does is in `api_runtime::mock`.

mod library;
mod tag;

use crate::file::File;
use crate::ir::{Api, Operation};
pub(crate) use library::makes_errors;

/// Generates the sources of the mock of an API.
pub(crate) fn files(api: &Api<'_>) -> Vec<File> {
    let folder = format!("{}/src", api.names.package("mock"));
    let mut files = vec![File {
        path: format!("{folder}/lib.rs"),
        text: library::file(api),
    }];
    files.extend((0..api.tags.len()).map(|at| File {
        path: format!("{folder}/operations/{}.rs", api.tags[at].file),
        text: tag::file(api, at),
    }));
    files
}

/// The methods that a mock has beside those of the operations.
const METHODS: [&str; 11] = [
    "new",
    "with_errors",
    "router",
    "router_with",
    "serve",
    "check_credentials",
    "allow_unexpected",
    "received",
    "check",
    "verify",
    "default",
];

/// Returns the name of the method that begins an expectation of an operation: that of the operation,
/// with `_` behind it as long as a method of every mock or another operation has it.
pub(crate) fn method(api: &Api<'_>, operation: &Operation) -> String {
    let mut name = operation.name.clone();
    let is_taken = |name: &str| {
        METHODS.contains(&name)
            || api
                .operations
                .iter()
                .any(|other| other.index != operation.index && other.name == name)
    };
    while is_taken(&name) {
        name.push('_');
    }
    name
}
