//! The steps of applying an inventory.

use std::fmt;

/// A step of applying an inventory, printed as one line.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// The kind of change.
    pub kind: StepKind,
    /// The changed project or resource, such as `project shop: vm eu-central-h1/app-1`.
    pub what: String,
}

/// The kind of change that a step makes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// Creates something.
    Create,
    /// Changes something that exists.
    Update,
    /// Removes something that is not in the inventory.
    Delete,
    /// Changes nothing: reports something that is not in the inventory, and that `--prune` would
    /// remove.
    Keep,
    /// Changes nothing: reports a difference from the inventory in a property that only the API
    /// changes.
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
