//! The bound on the entries that a project has in the audit trail. Otherwise a project that makes changes
//! all the time would fill the disk before its entries are too old.

use std::convert::Infallible;
use std::time::Instant;

use api_types::ProjectId;

use super::BATCH;
use crate::storage::audit::{passing, sweep_of};
use crate::storage::{Aborted, Change, Connection, StorageError, Store, project};

/// The number of entries that one query reads.
const STEP: i64 = 10_000;
/// The part of the entries that a project may have, which it must have made before they are counted again.
const PART: u64 = 10;

/// The projects whose entries are counted.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Counted {
    /// All projects: nothing is known of what was written before this process.
    All,
    /// Those that have made a tenth of the entries that they may have by changes of this process, since
    /// they were counted.
    Busy,
}

/// Deletes the oldest entries of each project that has more than `most`.
///
/// # Errors
///
/// If the database fails. The other projects are shortened all the same.
pub async fn shorten(store: &Store, counted: Counted, most: u32) -> Result<usize, StorageError> {
    let mut count = 0;
    let projects = match counted {
        Counted::All => {
            let all = project::all(&mut store.reader().await?.connection()).await?;
            all.into_iter().map(|project| project.id).collect()
        }
        Counted::Busy => store.busy(u64::from(most) / PART),
    };
    let mut failed = Ok(());
    for project in projects {
        match shorten_one(store, &project, most).await {
            Ok(rows) => {
                count += rows;
                store.rest(&project);
            }
            Err(error) => failed = Err(error),
        }
    }
    failed.map(|()| count)
}

/// Deletes the oldest entries of a project if it has more than `most`, and returns their number.
async fn shorten_one(store: &Store, project: &ProjectId, most: u32) -> Result<usize, StorageError> {
    let Some(kept_from) = newest_from(store, project, most.into()).await? else {
        return Ok(0);
    };
    let rows = delete(store, project, kept_from).await?;
    if rows > 0 {
        tracing::warn!(
            %project,
            rows,
            audit_entries = most,
            "the oldest entries of a project were deleted from the audit trail, as it has more than it may have"
        );
    }
    Ok(rows)
}

/// Returns the time of the oldest one of the `most` newest entries of a project. Returns `None` if it has
/// fewer. The number may be a little larger, by entries of the same time.
async fn newest_from(
    store: &Store,
    project: &ProjectId,
    most: i64,
) -> Result<Option<i64>, StorageError> {
    let mut time = i64::MAX;
    let mut counted = 0;
    while counted < most {
        let passed = STEP.min(most - counted) - 1;
        let begun = Instant::now();
        let mut reader = store.reader().await?;
        let found = passing(&mut reader.connection(), project, time, passed).await?;
        drop(reader);
        let Some(found) = found else {
            return Ok(None);
        };
        time = found;
        counted += passed + 1;
        // On SQLite, the query keeps a thread of the runtime busy.
        tokio::time::sleep(begun.elapsed()).await;
    }
    Ok(Some(time))
}

/// Deletes the entries of a project from before a time, and returns their number.
async fn delete(store: &Store, project: &ProjectId, before: i64) -> Result<usize, StorageError> {
    let mut count = 0;
    loop {
        let begun = Instant::now();
        let oldest = Oldest {
            project: project.clone(),
            before,
        };
        let rows = store.change(oldest).await.map_err(Aborted::failure)?;
        count += rows;
        if i64::try_from(rows).is_ok_and(|rows| rows < BATCH) {
            return Ok(count);
        }
        // As in other sweeps.
        tokio::time::sleep(begun.elapsed()).await;
    }
}

/// The change that deletes the oldest entries of a project.
struct Oldest {
    project: ProjectId,
    before: i64,
}

impl Change for Oldest {
    type Output = usize;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<usize, Aborted<Infallible>> {
        Ok(sweep_of(tx, &self.project, self.before, BATCH).await?)
    }
}
