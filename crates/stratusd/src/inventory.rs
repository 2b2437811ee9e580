//! Inventories: the projects, locations and resources that the operator declares in a YAML file.
//!
//! The API has no operations that create these. [`Inventory::read`] reports everything that is
//! wrong with a file at once, with line and column. [`Apply`] changes the database to match the
//! inventory.

mod apply;
mod check;
mod diagnostic;
mod entries;
mod read;
mod steps;

pub use apply::{Apply, ApplyRefusal, Mode};
pub use diagnostic::{Diagnostic, Diagnostics};
pub use entries::{
    FirewallEntry, Inventory, LoadBalancerEntry, LocationEntry, NicEntry, PrivateSubnetEntry,
    ProjectEntry, QuotaEntries, RuleEntry, VmEntry,
};
pub use steps::{Step, StepKind};
