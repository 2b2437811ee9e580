//! The tasks that upgrade databases, which go on between the steps: the data of a database may take long to
//! copy.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::super::folder::Database;
use super::super::places::Places;
use super::super::{LOCK_WAIT, Local};
use crate::provision::{Progress, ProvisionError};

/// How long a step waits for an upgrade that copies, before it lets other databases have their turn.
const PATIENCE: Duration = Duration::from_secs(1);
/// How long it waits for the check: a check that fails is to fail the step, so that it is tried again after
/// growing pauses.
const CHECK_PATIENCE: Duration = Duration::from_secs(45);
/// When a step looks at it again.
pub(in super::super) const PAUSE: Duration = Duration::from_secs(3);
/// How often an upgrade is looked at.
const LOOK: Duration = Duration::from_millis(20);

/// The number of upgrades at the same time. Each copies all data of its database.
const UPGRADES: usize = 4;

/// The upgrades that go on between the steps.
pub(in super::super) struct Upgrades {
    /// By the ids of their databases.
    tasks: Mutex<HashMap<String, Upgrading>>,
    places: Places,
}

impl Default for Upgrades {
    fn default() -> Self {
        Self {
            tasks: Mutex::default(),
            places: Places::new(UPGRADES),
        }
    }
}

/// An upgrade that is in progress, or whose result has not been asked for.
#[derive(Debug)]
struct Upgrading {
    task: JoinHandle<Result<(), ProvisionError>>,
    is_down: Arc<AtomicBool>,
}

/// What an upgrade that is in progress means for clients.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in super::super) enum During {
    /// The database runs, and is checked.
    Check,
    /// The database is down.
    Outage,
}

impl Local {
    /// Begins to upgrade a database, and waits for a short time.
    pub(in super::super) async fn begin_upgrade(
        &self,
        database: Database,
        to: &str,
    ) -> Result<Progress, ProvisionError> {
        let from = &database.record.shape.version;
        let programs = &self.0.config.binaries;
        programs
            .ensure_upgrade(from, to)
            .map_err(|missing| ProvisionError::Failed(missing.to_string()))?;
        let Some(place) = self.0.upgrades.places.take(database.project()) else {
            return Ok(Progress::Pending(PAUSE));
        };
        let (local, to, id) = (self.clone(), to.to_owned(), database.locked.id().to_owned());
        let is_down = Arc::new(AtomicBool::new(false));
        let goes_down = Arc::clone(&is_down);
        let task = async move {
            let upgraded = local.0.upgrade(database, &to, &goes_down).await;
            drop(place);
            upgraded
        };
        let task = tokio::spawn(task);
        self.upgrades()
            .insert(id.clone(), Upgrading { task, is_down });
        let progress = self.await_upgrade(&id).await?;
        Ok(progress.unwrap_or(Progress::Done))
    }

    /// Waits a short time for the upgrade of a database. Returns `None` if there is none.
    ///
    /// # Errors
    ///
    /// If it has failed, once.
    pub(in super::super) async fn await_upgrade(
        &self,
        id: &str,
    ) -> Result<Option<Progress>, ProvisionError> {
        let begun = Instant::now();
        loop {
            let ended = match self.upgrades().get(id) {
                None => return Ok(None),
                Some(upgrade) => upgrade.task.is_finished(),
            };
            if ended {
                break;
            }
            let patience = match self.upgrading(id) {
                Some(During::Check) => CHECK_PATIENCE,
                Some(During::Outage) | None => PATIENCE,
            };
            if begun.elapsed() > patience {
                return Ok(Some(Progress::Pending(PAUSE)));
            }
            sleep(LOOK).await;
        }
        let upgrade = self.upgrades().remove(id);
        match upgrade {
            // Another panic than that of the task would hide where it was.
            Some(upgrade) => upgrade
                .task
                .await
                .expect("it does not panic")
                .map(|()| Some(Progress::Done)),
            None => Ok(None),
        }
    }

    /// Returns what the upgrade of a database that is in progress means, or `None` if there is none.
    pub(in super::super) fn upgrading(&self, id: &str) -> Option<During> {
        let upgrades = self.upgrades();
        let upgrade = upgrades.get(id)?;
        if upgrade.task.is_finished() {
            return None;
        }
        Some(if upgrade.is_down.load(Ordering::Relaxed) {
            During::Outage
        } else {
            During::Check
        })
    }

    /// Waits until a database that is to be upgraded is checked.
    ///
    /// # Errors
    ///
    /// If that takes long, or if the database is down.
    pub(in super::super) async fn await_check(&self, id: &str) -> Result<(), ProvisionError> {
        let begun = Instant::now();
        while let Some(during) = self.upgrading(id) {
            if during == During::Outage || begun.elapsed() > LOCK_WAIT {
                let wrong = "the database is being upgraded";
                return Err(ProvisionError::Failed(wrong.to_owned()));
            }
            sleep(LOOK).await;
        }
        Ok(())
    }

    /// Ends the upgrade of a database that is to be deleted.
    pub(in super::super) async fn end_upgrade(&self, id: &str) {
        let upgrade = self.upgrades().remove(id);
        if let Some(upgrade) = upgrade {
            upgrade.task.abort();
            // What it has made is removed with the database.
            let _ = upgrade.task.await;
        }
    }

    fn upgrades(&self) -> MutexGuard<'_, HashMap<String, Upgrading>> {
        let upgrades = self.0.upgrades.tasks.lock();
        upgrades.unwrap_or_else(PoisonError::into_inner)
    }
}
