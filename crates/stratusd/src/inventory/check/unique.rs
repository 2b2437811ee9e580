//! Values that may occur once.

use std::collections::HashMap;

use serde_saphyr::Spanned;

use super::Check;

/// Values that may occur once in each scope, such as names in a location.
pub(super) struct Unique {
    /// The word for the entry that has the value, for messages.
    what: &'static str,
    /// The line of each value, by scope and value.
    lines: HashMap<(String, String), u64>,
}

impl Unique {
    pub(super) fn new(what: &'static str) -> Self {
        Self {
            what,
            lines: HashMap::new(),
        }
    }

    /// Adds a value, and reports it if the scope has it already.
    pub(super) fn add(&mut self, check: &mut Check, scope: &str, value: &Spanned<String>) {
        self.add_as(check, scope, value.value.clone(), value);
    }

    /// Adds a value by its canonical form, for values that can be written in several ways.
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
