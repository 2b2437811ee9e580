//! The changes that the reconciler applies to the store.

use std::convert::Infallible;
use std::time::Duration;

use api_types::PostgresId;

use super::millis;
use super::room::{self, Crowds, Room};
use crate::domain::audit::{POSTGRES_RECONCILE, RECONCILER};
use crate::storage::audit::{NewEntry, insert};
use crate::storage::lease::{
    Due, Lane, Lease, StepRecord, bring_forward, delete, free_all, make_due, prolong, put_off,
    settle, take_due,
};
use crate::storage::{self, Aborted, Change, Connection, Corrupt, StorageError};
use crate::world::World;

/// Makes databases of a lane due now that are due later than any wait.
pub(super) struct BringForward {
    pub(super) lane: Lane,
    pub(super) world: World,
    pub(super) longest: Duration,
}

impl Change for BringForward {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        let now = storage::clock::now(tx, &self.world).await?;
        let latest = now.saturating_add(millis(self.longest));
        Ok(bring_forward(tx, self.lane, latest, now).await?)
    }
}

/// The change that leases up to `limit` databases of a lane that are due, and puts off those of projects
/// that have no room.
pub(super) struct TakeDue {
    pub(super) lane: Lane,
    pub(super) lease: String,
    pub(super) world: World,
    /// How long the lease is.
    pub(super) time: Duration,
    pub(super) limit: usize,
    /// What the projects of the lane have room for.
    pub(super) room: Room,
    /// How many workers each project has, if databases of those that have many come last.
    pub(super) crowds: Option<Crowds>,
}

impl TakeDue {
    /// Leases the databases that have been due for longest, but those of projects that have many workers last.
    /// Returns also whether there were such projects, and nothing of another one.
    async fn take(
        &self,
        tx: &mut Connection<'_>,
        lease: Lease<'_>,
    ) -> Result<(Vec<Result<Due, Corrupt>>, bool), StorageError> {
        let Some(mut crowds) = self.crowds.clone() else {
            let due = take_due(tx, self.lane, lease, self.limit, &[]).await?;
            return Ok((due, false));
        };
        let mut all = Vec::new();
        while all.len() < self.limit {
            let limit = crowds.most().min(self.limit - all.len());
            let large = crowds.large();
            let has_large = !large.is_empty();
            let found = take_due(tx, self.lane, lease, limit, &large).await?;
            if found.len() < limit {
                let is_vain = has_large && found.is_empty();
                all.extend(found);
                if has_large {
                    let left = self.limit - all.len();
                    all.extend(take_due(tx, self.lane, lease, left, &[]).await?);
                }
                return Ok((all, is_vain));
            }
            for due in found.iter().flatten() {
                crowds.add(&due.project_id);
            }
            all.extend(found);
        }
        Ok((all, false))
    }
}

/// What [`TakeDue`] has found.
pub(super) struct Found {
    /// The leased databases.
    pub(super) leased: Vec<Result<Due, Corrupt>>,
    /// The number of databases that were due and are put off.
    pub(super) put_off: usize,
    /// Whether nothing of another project than those with many workers was due.
    pub(super) is_vain: bool,
}

impl Change for TakeDue {
    type Output = Found;
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Found, Aborted<Infallible>> {
        let now = storage::clock::now(tx, &self.world).await?;
        let lease = Lease {
            name: &self.lease,
            now,
            until: now.saturating_add(millis(self.time)),
        };
        let (due, is_vain) = self.take(tx, lease).await?;
        // The change may be applied again.
        let mut room = self.room.clone();
        let mut found = Found {
            leased: Vec::with_capacity(due.len()),
            put_off: 0,
            is_vain,
        };
        for one in due {
            match one {
                Ok(due) if !room.admit(&due.project_id) => {
                    let due_at = now.saturating_add(millis(room::pause(&self.world)));
                    put_off(tx, &due, &self.lease, due_at).await?;
                    found.put_off += 1;
                }
                one => found.leased.push(one),
            }
        }
        Ok(found)
    }
}

/// The change that writes the result of a step and releases the lease. Its output is false, and
/// nothing is written, if the worker had lost the lease.
pub(super) struct Settle {
    pub(super) due: Due,
    pub(super) lease: String,
    /// The state of the database after the step, or `None` if the provisioner has deleted it.
    pub(super) record: Option<StepRecord>,
    pub(super) world: World,
}

impl Change for Settle {
    type Output = bool;
    type Refusal = Infallible;

    const IS_OF_CALLER: bool = false;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<bool, Aborted<Infallible>> {
        let now = storage::clock::now(tx, &self.world).await?;
        let is_settled = match &self.record {
            Some(record) => settle(tx, &self.due, &self.lease, record, now).await?,
            None => delete(tx, &self.due, &self.lease).await?,
        };
        if is_settled && self.is_change() {
            let entry = NewEntry {
                project_id: self.due.project_id.clone(),
                principal: RECONCILER.to_owned(),
                operation: POSTGRES_RECONCILE.to_owned(),
                resource: self.due.database.id.to_string(),
                request_id: None,
            };
            insert(tx, &entry, &self.world).await?;
        }
        Ok(is_settled)
    }
}

impl Settle {
    /// Returns whether the step has changed what callers see of the database, other than the times
    /// that it can be restored to, which change at every look.
    fn is_change(&self) -> bool {
        let Some(is) = &self.record else {
            return true;
        };
        let was = &self.due.database;
        was.state != is.state
            || was.storage_size_gib != is.storage_size_gib
            || was.version != is.version
            || was.vm_size != is.vm_size
            || was.host != is.host
            || was.ca_certificates != is.ca_certificates
    }
}

/// The change that prolongs a lease. Its output is false if the worker had lost the lease.
pub(super) struct Prolong {
    pub(super) due: Due,
    pub(super) lease: String,
    pub(super) world: World,
    /// How long the lease is from now on.
    pub(super) time: Duration,
}

impl Change for Prolong {
    type Output = bool;
    type Refusal = Infallible;

    const IS_OF_CALLER: bool = false;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<bool, Aborted<Infallible>> {
        let now = storage::clock::now(tx, &self.world).await?;
        let until = now.saturating_add(millis(self.time));
        Ok(prolong(tx, &self.due, &self.lease, until).await?)
    }
}

/// The change that makes databases due now, of which some may not exist.
pub(super) struct MakeDue {
    pub(super) ids: Vec<PostgresId>,
    pub(super) world: World,
}

impl Change for MakeDue {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        let now = storage::clock::now(tx, &self.world).await?;
        for id in &self.ids {
            make_due(tx, id, now).await?;
        }
        Ok(())
    }
}

/// The change that releases all leases of databases.
pub(super) struct FreeAll;

impl Change for FreeAll {
    type Output = ();
    type Refusal = Infallible;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<(), Aborted<Infallible>> {
        Ok(free_all(tx).await?)
    }
}
