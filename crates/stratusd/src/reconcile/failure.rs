//! Steps that fail: what is logged, counted and written about them.

use std::sync::atomic::Ordering;
use std::time::Duration;

use api_types::PostgresState;

use super::record::{unchanged, wanted};
use super::{LONGEST_WAIT, Reconciler, doubled};
use crate::provision::{ProvisionError, Provisioner, line};
use crate::storage::lease::{Due, StepRecord};

/// The failure of a step, with what it has found out about the database.
#[derive(Debug)]
pub(super) struct Failure {
    error: ProvisionError,
    /// The state that was observed, if any was.
    state: Option<PostgresState>,
}

impl From<ProvisionError> for Failure {
    fn from(error: ProvisionError) -> Self {
        Self { error, state: None }
    }
}

impl Failure {
    /// Returns the failure of a step after a database was observed in a state.
    pub(super) fn of(error: ProvisionError, state: PostgresState) -> Self {
        Self {
            error,
            state: Some(state),
        }
    }
}

impl<P: Provisioner> Reconciler<P> {
    /// Logs and counts the failure of a step, and returns what to write about it.
    pub(super) fn fail(&self, due: &Due, failure: Failure) -> StepRecord {
        let Failure { error, state } = failure;
        let id = due.database.id.as_str();
        let attempts = due.attempts + 1;
        let is_deleting = due.database.state == PostgresState::Deleting;
        let state = match &error {
            ProvisionError::Busy { wait, .. } => {
                self.steps.postponed.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(database = id, ?wait, "a step is postponed: {error}");
                return StepRecord {
                    wait: (*wait).min(LONGEST_WAIT),
                    ..unchanged(due)
                };
            }
            // Created again, it would be empty.
            ProvisionError::NoDatabase(_) if wanted(due).known.is_some() && !is_deleting => {
                self.steps.failed.fetch_add(1, Ordering::Relaxed);
                self.steps.missing.fetch_add(1, Ordering::Relaxed);
                tracing::error!(
                    database = id,
                    project = due.project_id.as_str(),
                    attempts,
                    "the provisioner has lost a database, which is not created again, since it would be empty: \
                     bring it back, or have its owner delete it: {error}"
                );
                Some(PostgresState::Unavailable)
            }
            ProvisionError::NoDatabase(_) | ProvisionError::Failed(_) => {
                self.steps.failed.fetch_add(1, Ordering::Relaxed);
                tracing::warn!(database = id, attempts, "a step failed: {error}");
                state
            }
        };
        StepRecord {
            state: state.unwrap_or_else(|| due.database.state.clone()),
            attempts,
            wait: wait(due),
            failure: Some(line(&error.to_string())),
            ..unchanged(due)
        }
    }
}

/// Returns how long a database waits whose step has failed. It waits longer after each failure, so that a
/// provisioner that is down is not asked all the time.
fn wait(due: &Due) -> Duration {
    doubled(
        u32::try_from(due.attempts).unwrap_or(u32::MAX),
        LONGEST_WAIT,
    )
}
