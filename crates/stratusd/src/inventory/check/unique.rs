//! Checks that values which must be unique occur only once.

use std::collections::HashMap;

use serde_saphyr::Spanned;

use super::Check;

/// The values checked so far of those that must be unique in their scope, such as names in a
/// location.
pub(super) struct Unique {
    /// The words before the value in messages, such as `a firewall`.
    what: &'static str,
    /// The line of the last occurrence of each value, by scope and canonical form.
    lines: HashMap<(String, String), u64>,
}

impl Unique {
    pub(super) fn new(what: &'static str) -> Self {
        Self {
            what,
            lines: HashMap::new(),
        }
    }

    /// Adds a value, and reports it to `check` if it is already in the scope.
    pub(super) fn add(&mut self, check: &mut Check, scope: &str, value: &Spanned<String>) {
        self.add_as(check, scope, value.value.clone(), value);
    }

    /// Adds a value that can be written in several ways, and reports it to `check` if a value with
    /// the same canonical form is already in the scope.
    pub(super) fn add_as(
        &mut self,
        check: &mut Check,
        scope: &str,
        canonical: String,
        value: &Spanned<String>,
    ) {
        let line = value.referenced.line();
        if let Some(first) = self.lines.insert((scope.to_owned(), canonical), line) {
            let message = format!(
                "line {first} already has {} `{}`",
                self.what,
                value.value.escape_debug()
            );
            check.report(value, message);
        }
    }
}
