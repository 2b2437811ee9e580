//! The lints that need the search for values: branches of a `oneOf` that accept the same value or of an
//! `anyOf` that add none, and schemas and properties that accept none.

use contract::{Contract, Diagnostic};

use crate::containment::Context;
use crate::excluded::impossible_properties;
use crate::impossible::impossible_schemas;
use crate::overlap::overlapping_branches;
use crate::redundant::redundant_branches;

/// The stack size in bytes of the thread that searches. Schemas may nest as deep as the reader of
/// documents allows.
const STACK_BYTES: usize = 256 << 20;

/// Returns the diagnostics of a contract that only a search for values finds. What `found` reports is
/// not reported again.
///
/// # Panics
///
/// If the system has no thread left.
#[must_use]
pub fn searched_lints(contract: &Contract, found: &[Diagnostic]) -> Vec<Diagnostic> {
    let search = || {
        let context = Context::new(contract, contract);
        let mut out = overlapping_branches(&context, found);
        out.extend(impossible_schemas(&context, found));
        out.extend(impossible_properties(&context));
        out.extend(redundant_branches(&context, found));
        out
    };
    std::thread::scope(|scope| {
        let searched = std::thread::Builder::new()
            .stack_size(STACK_BYTES)
            .spawn_scoped(scope, search)
            .expect("the system has a thread");
        searched.join().expect("no input makes the search panic")
    })
}
