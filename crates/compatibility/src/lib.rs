//! Decides whether a changed contract still serves those who rely on the old one.
//!
//! Start at [`compare()`], which compares two contracts and returns a [`Report`]: its findings, each
//! with a message that shows it where there is one, and the next version of the contract.
//! Underneath, [`contain`] decides whether every value that fits one schema fits another, by
//! meaning and not by text.
//!
//! [`compare_rust`] does the same for Rust programs: it compares what the generated crates of two
//! contracts offer, as `codegen` says it.
//!
//! [`searched_lints`] runs two lints that ask the same search: for values that two branches of a
//! `oneOf` accept, and for schemas that accept none. They are here because the search is.
//!
//! Deliberately not here: how findings are printed.

mod compare;
mod containment;
mod excluded;
mod finding;
mod impossible;
mod lints;
mod overlap;
mod pair;
mod redundant;
mod rust;

pub use compare::compare;
pub use containment::{Containment, MOST_SAMPLES, Reading, contain, example};
pub use finding::{BREAKING_RULES, Finding, Kind, Report, Step, Version, Witness};
pub use lints::searched_lints;
pub use pair::Side;
pub use rust::{RustFinding, RustReport, Who, compare_rust};
