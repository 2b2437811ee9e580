//! Inventories: the projects, locations and resources that the operator declares in a YAML file.
//!
//! Of these, the API can create only private subnets, and a firewall for a subnet without one.
//! [`Inventory::read`] reports all errors in a file at once, with line and column. [`Apply`]
//! changes the database to match the inventory.

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
