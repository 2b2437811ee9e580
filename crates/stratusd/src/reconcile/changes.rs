//! The changes that the reconciler applies to the store.

use std::convert::Infallible;

use crate::storage::lease::{Due, StepRecord, free_all, prolong, settle, take_due};
use crate::storage::{Aborted, Change, Connection, Corrupt};

/// Leases databases that are due.
pub(super) struct TakeDue {
    pub(super) lease: String,
    pub(super) now: i64,
    pub(super) until: i64,
    pub(super) limit: i64,
}

impl Change for TakeDue {
    type Output = Vec<Result<Due, Corrupt>>;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Self::Output, Aborted<Infallible>> {
        Ok(take_due(tx, &self.lease, self.now, self.until, self.limit).await?)
    }
}

/// Writes the result of a step and releases the lease; false if the worker had lost it.
pub(super) struct Settle {
    pub(super) due: Due,
    pub(super) lease: String,
    pub(super) record: StepRecord,
}

impl Change for Settle {
    type Output = bool;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<bool, Aborted<Infallible>> {
        Ok(settle(tx, &self.due, &self.lease, &self.record).await?)
    }
}

/// Prolongs a lease; false if the worker had lost it.
pub(super) struct Prolong {
    pub(super) due: Due,
    pub(super) lease: String,
    pub(super) until: i64,
}

impl Change for Prolong {
    type Output = bool;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<bool, Aborted<Infallible>> {
        Ok(prolong(tx, &self.due, &self.lease, self.until).await?)
    }
}

/// Releases all leases.
pub(super) struct FreeAll;

impl Change for FreeAll {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        Ok(free_all(tx).await?)
    }
}
