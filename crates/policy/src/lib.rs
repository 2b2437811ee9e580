//! Reads `contract.toml`: contracts with the crates that are generated from them, and the policy of
//! contracts: which findings of `lint` and `diff` count, and which are accepted, by whom and until
//! when.
//!
//! Start at [`Policy::find`], which looks for the file, and [`Policy::lint`], which applies it to
//! diagnostics, and [`Judge`], which applies it to changes. The commands and the language server use the same functions. Deliberately not here:
//! anything that reads a clock; the date comes in as an argument.

mod apply;
mod approvals;
mod changes;
mod contracts;
mod file;
mod lookup;
mod names;
mod own;
mod places;
mod read;
mod rules;

pub use approvals::Approval;
pub use changes::{Change, Judge, Judged};
pub use contracts::Listed;
pub use file::{Formats, schema};
pub use lookup::{FILE, NotFound};
pub use places::Places;
pub use read::{Policy, Wrong};
pub use rules::{RULES, explain};
/// A date, as TOML writes it.
pub use toml::value::Date;

/// Parses a date such as `2026-12-31`. Returns `None` for anything else, with a time for instance.
#[must_use]
pub fn date(text: &str) -> Option<Date> {
    let moment: toml::value::Datetime = text.parse().ok()?;
    moment
        .date
        .filter(|_| moment.time.is_none() && moment.offset.is_none())
}
