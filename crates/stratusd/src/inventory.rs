//! Inventories: the projects, locations and resources that the operator declares in a YAML file.
//!
//! The API has no operations that create these. [`Inventory::read`] reports everything that is
//! wrong with a file at once, with line and column. [`Apply`] changes the database to match the
//! inventory.

mod apply;
mod check;
mod diagnostic;
mod entries;
mod steps;

use std::path::Path;

use schemars::JsonSchema;
use serde::Deserialize;

pub use apply::{Apply, ApplyRefusal, Mode};
pub use diagnostic::{Diagnostic, Diagnostics};
pub use entries::{
    FirewallEntry, LoadBalancerEntry, LocationEntry, NicEntry, PrivateSubnetEntry, ProjectEntry,
    RuleEntry, VmEntry,
};
pub use steps::{Step, StepKind};

/// Everything that the operator declares.
#[derive(Debug, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields)]
pub struct Inventory {
    /// The locations (regions) that exist. If not set: `eu-central-h1`, `eu-north-h1` without
    /// Postgres, and `us-east-a2`.
    #[serde(default = "entries::default_locations")]
    pub locations: Vec<LocationEntry>,
    /// The projects and their resources.
    #[serde(default)]
    pub projects: Vec<ProjectEntry>,
}

impl Inventory {
    /// Parses an inventory and checks it.
    ///
    /// # Errors
    ///
    /// Everything that is wrong with the inventory. A file that cannot be parsed gets one
    /// diagnostic.
    pub fn read(path: &Path, bytes: &[u8]) -> Result<Self, Diagnostics> {
        let text = std::str::from_utf8(bytes)
            .map_err(|error| Diagnostics::of_invalid_utf8(path, bytes, error))?;
        let options = serde_saphyr::options! {
            with_snippet: false,
            // Accept what the published JSON Schema accepts, so that an editor and this program
            // agree.
            strict_booleans: true,
            no_schema: true,
            // Enough for the largest file that `stratusd apply` reads. No entry is nested 32 levels
            // deep.
            budget: serde_saphyr::budget! { max_nodes: 20_000_000, max_events: 50_000_000, max_depth: 32 },
        };
        let parsed: Option<Self> = serde_saphyr::from_str_with_options(text, options)
            .map_err(|error| Diagnostics::of_yaml(path, &error))?;
        // Refuse an empty file, which with `--prune` would delete everything. It is more likely a
        // mistake, such as a redirection that failed.
        let inventory = parsed.ok_or_else(|| Diagnostics::of_empty_file(path))?;
        let diagnostics = check::check(&inventory);
        if diagnostics.is_empty() {
            Ok(inventory)
        } else {
            Err(Diagnostics::new(path, diagnostics))
        }
    }

    /// Returns the JSON Schema of inventories, for editors.
    #[must_use]
    pub fn schema() -> serde_json::Value {
        let mut schema = schemars::schema_for!(Self);
        schema.insert("title".to_owned(), "Inventory of Stratus".into());
        schema.to_value()
    }
}
