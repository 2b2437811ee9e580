//! The stored results of an earlier run: a line `name operations result` for each document.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};

use super::report::{Outcome, Row};

/// The stored result of a document.
struct Entry {
    /// The number of operations of the server or of the client, whichever had fewer, see
    /// [`Row::carried`].
    carried: usize,
    /// The outcome, without details.
    result: String,
}

/// The stored results of all documents, by name.
pub(super) struct Known(BTreeMap<String, Entry>);

impl Known {
    /// Returns the text of the file that stores these results.
    pub(super) fn text(rows: &[Row]) -> String {
        rows.iter()
            .map(|row| format!("{} {} {}\n", row.name, row.carried(), result(&row.outcome)))
            .collect()
    }

    /// Parses the file that [`text`](Self::text) returns.
    pub(super) fn read(text: &str) -> anyhow::Result<Self> {
        let mut entries = BTreeMap::new();
        for (at, line) in text.lines().enumerate() {
            let mut words = line.splitn(3, ' ');
            let (Some(name), Some(carried), Some(result)) =
                (words.next(), words.next(), words.next())
            else {
                bail!("line {}: write `name operations result`", at + 1);
            };
            let carried = carried
                .parse()
                .with_context(|| format!("line {}: `{carried}` is no number", at + 1))?;
            entries.insert(
                name.to_owned(),
                Entry {
                    carried,
                    result: result.to_owned(),
                },
            );
        }
        Ok(Self(entries))
    }

    /// Returns a message for each result that is worse than the stored one, or that has no stored
    /// one.
    ///
    /// With `all`, the rows are those of the whole folder, so a stored document without a row has
    /// disappeared, which is worse too.
    pub(super) fn worse(&self, rows: &[Row], all: bool) -> Vec<String> {
        let mut worse = Vec::new();
        for row in rows {
            let now = result(&row.outcome);
            let Some(before) = self.0.get(&row.name) else {
                worse.push(format!(
                    "{} is new, and {now}: keep what it is with --update",
                    row.name
                ));
                continue;
            };
            if rank(&now) > rank(&before.result) {
                worse.push(format!(
                    "{} was `{}` and is `{}`",
                    row.name, before.result, row.outcome
                ));
            }
            if row.carried() < before.carried {
                worse.push(format!(
                    "{} had {} operations and has {}",
                    row.name,
                    before.carried,
                    row.carried()
                ));
            }
        }
        if all {
            let is_gone = |name: &&String| rows.iter().all(|row| row.name != **name);
            worse.extend(
                self.0
                    .keys()
                    .filter(is_gone)
                    .map(|name| format!("{name} is gone")),
            );
        }
        worse
    }
}

/// Returns an outcome without its details, which may change without being better or worse.
fn result(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Compiles => "compiles".to_owned(),
        Outcome::Warns(_) => "warns".to_owned(),
        Outcome::Broken(_) => "broken".to_owned(),
        Outcome::Invalid(code) => format!("invalid: {code}"),
    }
}

/// Returns how bad a stored result is, from 0 for the best, which is `compiles`.
fn rank(result: &str) -> usize {
    // An invalid document counts as better than broken crates: the generator has said what is
    // wrong.
    ["compiles", "warns", "invalid", "broken"]
        .iter()
        .position(|known| result.starts_with(known))
        .unwrap_or(0)
}
