//! The names of own rules, as diagnostics hold them.

use std::collections::BTreeSet;
use std::sync::{Mutex, PoisonError};

/// The names that were asked for. They live as long as the program, since a diagnostic names its
/// rule by a `&'static str`; each name is kept once, however often a file is read again.
static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());

/// Returns a name that lives as long as the program.
pub(crate) fn intern(name: &str) -> &'static str {
    let mut names = NAMES.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(known) = names.get(name) {
        return known;
    }
    let name: &'static str = Box::leak(name.to_owned().into_boxed_str());
    names.insert(name);
    name
}
