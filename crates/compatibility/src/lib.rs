//! Decides whether a changed contract still serves those who rely on the old one.
//!
//! Start at [`compare()`], which compares two contracts and returns a [`Report`]: its findings, each
//! with a message that shows it where there is one, and the next version of the contract.
//! Underneath, [`contain`] decides whether every value that fits one schema fits another, by
//! meaning and not by text.
//!
//! Deliberately not here: what a change means for Rust code, and how findings are printed.

mod compare;
mod containment;
mod finding;
mod pair;

pub use compare::compare;
pub use containment::{Containment, MOST_SAMPLES, Reading, contain};
pub use finding::{Finding, Kind, Report, Version, Witness};
pub use pair::Side;
