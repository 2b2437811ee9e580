//! The steps of applying an inventory: changes, and reports of what is left unchanged.

use std::fmt;

/// A change that applying an inventory makes, or a difference that it only reports. Printed as one
/// line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The kind of step.
    pub kind: StepKind,
    /// What the step changes or reports, such as `project shop: vm eu-central-h1/app-1`.
    pub what: String,
}

/// The kind of a [`Step`]: a change, or a report without a change.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// Creates a location, a project or a resource.
    Create,
    /// Changes an existing location, project or resource.
    Update,
    /// Deletes a location, a project or a resource that is not in the inventory.
    Delete,
    /// Changes nothing: reports a location, a project or a resource that is not in the inventory,
    /// and that `--prune` would delete.
    Keep,
    /// Changes nothing: reports properties that differ from the inventory and that, once the
    /// resource exists, only the API changes.
    Leave,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, what } = self;
        match kind {
            StepKind::Create => write!(f, "+ {what}"),
            StepKind::Update => write!(f, "~ {what}"),
            StepKind::Delete => write!(f, "- {what}"),
            StepKind::Leave => write!(f, "  {what}: differs from the inventory, left unchanged"),
            StepKind::Keep => write!(
                f,
                "  {what}: not in the inventory, kept; use --prune to remove it"
            ),
        }
    }
}
