//! What applying an inventory does, step by step, as the plan shows it.

use std::fmt;

/// One step.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Step {
    /// What happens.
    pub kind: StepKind,
    /// To what, such as `project shop: vm eu-central-h1/app-1`.
    pub what: String,
}

/// What happens to something.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum StepKind {
    /// It is made.
    Create,
    /// It is changed.
    Update,
    /// It is removed.
    Delete,
    /// It is not in the inventory, and is kept for want of `--prune`.
    Keep,
    /// It is not as the inventory has it, but the API decides about that.
    Leave,
}

impl fmt::Display for Step {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.kind {
            StepKind::Create => write!(f, "+ {}", self.what),
            StepKind::Update => write!(f, "~ {}", self.what),
            StepKind::Delete => write!(f, "- {}", self.what),
            StepKind::Leave => write!(
                f,
                "  {}: not as in the inventory, left to the API",
                self.what
            ),
            StepKind::Keep => write!(
                f,
                "  {} (not in the inventory, kept without --prune)",
                self.what
            ),
        }
    }
}
