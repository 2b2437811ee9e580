//! The results that are checked in: one line for each document, `name operations result`.

use std::collections::BTreeMap;

use anyhow::{Context as _, bail};

use super::report::{Outcome, Row};

/// What a document was when the results were kept.
struct Entry {
    carried: usize,
    result: String,
}

/// All of them, by name.
pub(super) struct Known(BTreeMap<String, Entry>);

impl Known {
    /// The text to keep.
    pub(super) fn text(rows: &[Row]) -> String {
        rows.iter()
            .map(|row| format!("{} {} {}\n", row.name, row.carried(), result(&row.outcome)))
            .collect()
    }

    /// Reads what was kept.
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

    /// What is worse than it was; a document that is gone is, unless only some were asked for.
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

/// A result without its details.
fn result(outcome: &Outcome) -> String {
    match outcome {
        Outcome::Compiles => "compiles".to_owned(),
        Outcome::Warns(_) => "warns".to_owned(),
        Outcome::Broken(_) => "broken".to_owned(),
        Outcome::Refused(code) => format!("refused: {code}"),
    }
}

/// How bad a result is.
fn rank(result: &str) -> usize {
    ["compiles", "warns", "refused", "broken"]
        .iter()
        .position(|known| result.starts_with(known))
        .unwrap_or(0)
}
