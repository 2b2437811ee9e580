//! A step of a database: what is asked of the provisioner, in which order, and what is written about
//! it.

use std::sync::atomic::Ordering;
use std::time::Duration;

use api_types::{CaCertificates, PostgresSize, PostgresState, PostgresVersion};

use super::failure::Failure;
use super::record::{backups, state, unchanged, unfit, wanted};
use super::{FIRST_WAIT, Reconciler};
use crate::domain::postgres::{fits, is_nearly_full, sealed_for};
use crate::provision::{Observed, Password, Progress, ProvisionError, Provisioner, Wanted};
use crate::storage::lease::{Due, StepRecord};

impl<P: Provisioner> Reconciler<P> {
    /// Asks the provisioner for the next step, and returns what to write about it, or `None` if the
    /// database is deleted.
    pub(super) async fn step(&self, due: &Due) -> Result<Option<StepRecord>, Failure> {
        let wanted = wanted(due);
        if due.database.state == PostgresState::Deleting {
            return Ok(match self.provisioner.delete(&wanted).await? {
                Progress::Done => None,
                pending @ Progress::Pending(_) => Some(Self::unfinished(due, pending)),
            });
        }
        self.approach(due, &wanted).await.map(Some)
    }

    /// Brings a database nearer to its targets, and returns what to write about it.
    async fn approach(&self, due: &Due, wanted: &Wanted) -> Result<StepRecord, Failure> {
        // The provisioner is asked, not the store: an earlier step may have created the database
        // and ended before that was recorded.
        let Some(observed) = self.provisioner.observe(wanted).await? else {
            // A new database in its place would be empty, and look as if nothing had happened.
            if wanted.known.is_some() {
                return Err(ProvisionError::no_database().into());
            }
            let progress = self.provisioner.create(wanted).await?;
            let mut record = Self::unfinished(due, progress);
            // A provisioner that has created what it does not show must not be asked all the time.
            if progress == Progress::Done && self.provisioner.observe(wanted).await?.is_none() {
                record.wait = FIRST_WAIT;
            }
            return Ok(record);
        };
        // First, so that nobody is let in longer than needed.
        let is_down = !observed.is_available;
        let let_in = match self.let_in(due, wanted).await {
            // A restart or a resize may be what starts the server again.
            Err(ProvisionError::Failed(reason)) if is_down => {
                tracing::warn!(
                    database = wanted.id,
                    "a database that is down keeps its networks and its password for now: {reason}"
                );
                false
            }
            let_in => let_in.map(|()| true)?,
        };
        let connection = self.provisioner.connection(wanted).await?;
        let restart = self.restarted(wanted, due).await?;
        // Before a promotion, which is of the standbys of the wanted shape. The rest of a resize may
        // wait for hours.
        let shaped = match restart {
            Progress::Done => self.shaped(wanted, observed).await?,
            // A database that restarts is not resized at the same time.
            Progress::Pending(wait) => Shaped::changing(observed, wait),
        };
        let has_standbys = shaped.observed.shape.ha_type == wanted.shape.ha_type;
        let promotion = match shaped.progress {
            Progress::Pending(_) if restart != Progress::Done || !has_standbys => shaped.progress,
            _ => self.promoted(wanted, due).await?,
        };
        let (observed, wait) = match promotion {
            Progress::Done => (shaped.observed, shaped.wait),
            Progress::Pending(wait) => {
                let observed = self.provisioner.observe(wanted).await?;
                (observed.unwrap_or(shaped.observed), wait)
            }
        };
        let is_changing = restart != Progress::Done || promotion != Progress::Done;
        let let_in = if let_in || is_changing {
            let_in
        } else {
            let let_in = self.let_in(due, wanted).await;
            let_in.map_err(|error| Failure::of(error, state(&observed)))?;
            true
        };
        if is_nearly_full(observed.used_bytes, observed.shape.storage_size_gib) {
            self.steps.nearly_full.fetch_add(1, Ordering::Relaxed);
        }
        Ok(StepRecord {
            state: state(&observed),
            storage_size_gib: i32::try_from(observed.shape.storage_size_gib)
                .ok()
                .and_then(|gib| gib.try_into().ok())
                .ok_or_else(|| unfit("storage size"))?,
            version: PostgresVersion::from(&*observed.shape.version),
            vm_size: PostgresSize::from(&*observed.shape.vm_size),
            password_is_set: let_in || due.password_is_set,
            // A restart counts once it has ended, so that a crash in between asks for it again.
            restarts: match restart {
                Progress::Done => due.target_restarts,
                Progress::Pending(_) => due.restarts,
            },
            promotions: match promotion {
                Progress::Done => due.target_promotions,
                Progress::Pending(_) => due.promotions,
            },
            backups: Some(backups(&observed.backups)?),
            host: Some(connection.host),
            ca_certificates: Some(
                CaCertificates::try_from(connection.ca_certificates)
                    .map_err(|_| unfit("certificate"))?,
            ),
            earliest_restore_time: observed.earliest_restore_time,
            latest_restore_time: observed.latest_restore_time,
            used_bytes: observed.used_bytes,
            attempts: 0,
            failure: None,
            wait,
        })
    }

    /// Lets those in who may connect: by the networks, in each step, since rules change at any time, and by
    /// the password, before the shape is compared, since a reset must not wait for a resize.
    async fn let_in(&self, due: &Due, wanted: &Wanted) -> Result<(), ProvisionError> {
        self.provisioner.restrict(wanted).await?;
        if due.password_is_set {
            return Ok(());
        }
        let sealed_for = sealed_for(&due.project_id, &due.database.id);
        let password = self
            .context
            .sealer
            .open(&due.database.password, &sealed_for);
        let password =
            password.map_err(|error| ProvisionError::Failed(format!("the password: {error}")))?;
        self.provisioner
            .set_password(wanted, &Password::new(password))
            .await
    }

    /// Restarts a database that its owner has asked to restart since it was last restarted. Restarts
    /// that were asked for meanwhile are one.
    async fn restarted(&self, wanted: &Wanted, due: &Due) -> Result<Progress, ProvisionError> {
        if due.restarts >= due.target_restarts {
            return Ok(Progress::Done);
        }
        self.provisioner.restart(wanted, due.target_restarts).await
    }

    /// Promotes a standby of a database whose owner has asked for it since the last promotion.
    /// Promotions that were asked for meanwhile are one.
    async fn promoted(&self, wanted: &Wanted, due: &Due) -> Result<Progress, ProvisionError> {
        if due.promotions >= due.target_promotions {
            return Ok(Progress::Done);
        }
        self.provisioner
            .promote(wanted, due.target_promotions)
            .await
    }

    /// Resizes a database that does not have its wanted shape.
    async fn shaped(&self, wanted: &Wanted, observed: Observed) -> Result<Shaped, ProvisionError> {
        let mut wanted = wanted.clone();
        if wanted.shape.is_older_than(&observed.shape) {
            // An upgrade that was taken back after it had begun: there is no way back.
            wanted.shape.version.clone_from(&observed.shape.version);
        }
        let wanted = &wanted;
        if observed.shape == wanted.shape {
            return Ok(self.unchanging(observed));
        }
        let (now, later) = (
            observed.shape.storage_size_gib,
            wanted.shape.storage_size_gib,
        );
        if later < now && !fits(observed.used_bytes, later) {
            // More is in use than when the owner asked for the smaller storage.
            tracing::warn!(
                database = wanted.id,
                "too much is in use to shrink the storage from {now} to {later} GiB"
            );
            return Ok(self.unchanging(observed));
        }
        match self.provisioner.resize(wanted).await? {
            Progress::Pending(wait) => {
                let wait = wait.min(self.config.observe_every);
                Ok(Shaped::changing(observed, wait))
            }
            Progress::Done => {
                let observed = self.provisioner.observe(wanted).await?.unwrap_or(observed);
                let mut shaped = self.unchanging(observed);
                if shaped.observed.shape != wanted.shape {
                    shaped.wait = FIRST_WAIT;
                }
                Ok(shaped)
            }
        }
    }

    /// Returns what is observed of a database that is not being resized.
    fn unchanging(&self, observed: Observed) -> Shaped {
        Shaped {
            observed,
            progress: Progress::Done,
            wait: self.config.observe_every,
        }
    }

    /// Returns the record of a database that is still being created or deleted.
    fn unfinished(due: &Due, progress: Progress) -> StepRecord {
        let wait = match progress {
            // Due at once: the next step sets the password and records the host.
            Progress::Done => Duration::ZERO,
            Progress::Pending(wait) => wait,
        };
        StepRecord {
            attempts: 0,
            wait,
            ..unchanged(due)
        }
    }
}

/// What is observed of a database after it was brought nearer to its wanted shape.
struct Shaped {
    observed: Observed,
    progress: Progress,
    /// When to look again.
    wait: Duration,
}

impl Shaped {
    fn changing(observed: Observed, wait: Duration) -> Self {
        Self {
            observed,
            progress: Progress::Pending(wait),
            wait,
        }
    }
}
