//! What this process has written: when it last did, and how many changes of each project it has made.

use std::collections::HashMap;
use std::sync::{Mutex, MutexGuard, PoisonError};

use api_types::ProjectId;
use tokio::time::Instant;

/// What has been written, as the jobs note it that have committed.
#[derive(Debug, Default)]
pub(super) struct Written {
    last: Mutex<Option<Instant>>,
    /// The number of changes of each project since [`Written::rest`].
    by_project: Mutex<HashMap<ProjectId, u64>>,
}

impl Written {
    /// Notes a commit that has changed rows. One that writes nothing does not show that the disk, or the
    /// server, takes writes.
    pub(super) fn note(&self, project: Option<ProjectId>) {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner) = Some(Instant::now());
        if let Some(project) = project {
            *self.by_project().entry(project).or_default() += 1;
        }
    }

    /// Returns when something was last written, or `None` if nothing was.
    pub(super) fn last(&self) -> Option<Instant> {
        *self.last.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns the projects that have made at least a number of changes.
    pub(super) fn busy(&self, at_least: u64) -> Vec<ProjectId> {
        let made = self.by_project();
        let busy = made.iter().filter(|(_, made)| **made >= at_least);
        busy.map(|(project, _)| project.clone()).collect()
    }

    /// Counts the changes of a project anew.
    pub(super) fn rest(&self, project: &ProjectId) {
        self.by_project().remove(project);
    }

    fn by_project(&self) -> MutexGuard<'_, HashMap<ProjectId, u64>> {
        self.by_project
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}
