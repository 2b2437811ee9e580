//! The steps of a creation: a new cluster takes about a second, and is made at once; one with the data of
//! another database may take hours, and is made by a task that goes on between the steps.

use std::collections::HashMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep};

use super::folder::Database;
use super::member::DATA;
use super::places::Places;
use super::{Local, server};
use crate::provision::{Progress, ProvisionError, Wanted};

/// How long a step waits for a restoration, before it lets other databases have their turn.
const PATIENCE: Duration = Duration::from_secs(1);
/// When a step looks at it again.
const PAUSE: Duration = Duration::from_secs(3);
/// The number of restorations at the same time. Each reads and writes as fast as the disk can, and has a
/// thread while it copies the log.
const RESTORATIONS: usize = 8;
/// How often a restoration is looked at.
const LOOK: Duration = Duration::from_millis(50);

/// The tasks that unpack backups.
pub(super) struct Restorations {
    /// By the id of the database that is created from the backup.
    tasks: Mutex<Tasks>,
    places: Places,
}

type Tasks = HashMap<String, JoinHandle<Result<(), ProvisionError>>>;

impl Default for Restorations {
    fn default() -> Self {
        Self {
            tasks: Mutex::default(),
            places: Places::new(RESTORATIONS),
        }
    }
}

impl Local {
    /// Creates a database, empty or with the data of another one, as `wanted` says.
    pub(super) async fn create_or_restore(
        &self,
        wanted: &Wanted,
    ) -> Result<Progress, ProvisionError> {
        if !self.await_restoration(&wanted.id).await? {
            return Ok(Progress::Pending(PAUSE));
        }
        self.0.folder.make(&wanted.id)?;
        let locked = self.0.lock(&wanted.id).await?;
        let mut database = match locked.read()? {
            Some(record) => Database { locked, record },
            None if wanted.restored.is_some() => {
                let Some(place) = self.0.restorations.places.take(&wanted.project_id) else {
                    return Ok(Progress::Pending(PAUSE));
                };
                let (local, wanted) = (self.clone(), wanted.clone());
                let id = wanted.id.clone();
                let restore = async move {
                    let place = Some(Arc::new(place));
                    local.0.make(locked, &wanted, place).await.map(drop)
                };
                let mut restorations = self.restorations();
                restorations.insert(id, tokio::spawn(restore));
                return Ok(Progress::Pending(LOOK));
            }
            None => self.0.make(locked, wanted, None).await?,
        };
        if database.record.restored_until.is_some() {
            match self.0.recover_until(&mut database).await {
                Ok(Progress::Done) => {}
                Ok(pending @ Progress::Pending(_)) => return Ok(pending),
                Err(error) => {
                    let data = database.record.primary.path(&database.locked, DATA);
                    if server::pid(&data)?.is_none() {
                        // Begun anew at the next step, by what is archived then.
                        self.0.remove(database.locked).await?;
                    }
                    return Err(error);
                }
            }
        }
        if let Err(error) = self.0.start(&database, database.record.primary).await {
            if !database.record.is_created {
                // Begun anew at the next step, with another address: another program may have taken
                // this one meanwhile.
                self.0.remove(database.locked).await?;
            }
            return Err(error);
        }
        database.record.is_created = true;
        database.write()?;
        Ok(Progress::Done)
    }

    /// Waits a short time for the task that unpacks a backup for a database. Returns whether there is
    /// none any more.
    ///
    /// # Errors
    ///
    /// If it has failed.
    async fn await_restoration(&self, id: &str) -> Result<bool, ProvisionError> {
        let begun = Instant::now();
        loop {
            let ended = match self.restorations().get(id) {
                None => return Ok(true),
                Some(task) => task.is_finished(),
            };
            if ended {
                break;
            }
            if begun.elapsed() > PATIENCE {
                return Ok(false);
            }
            sleep(LOOK).await;
        }
        let task = self.restorations().remove(id);
        match task {
            // Another panic than that of the task would hide where it was.
            Some(task) => task.await.expect("it does not panic").map(|()| true),
            None => Ok(true),
        }
    }

    /// Returns whether a task of this process unpacks a backup for a database.
    pub(super) fn is_being_restored(&self, id: &str) -> bool {
        let restorations = self.restorations();
        restorations.get(id).is_some_and(|task| !task.is_finished())
    }

    /// Ends the task that unpacks a backup for a database, if there is one.
    pub(super) async fn end_restoration(&self, id: &str) {
        let task = self.restorations().remove(id);
        if let Some(task) = task {
            task.abort();
            // What it has made is removed with the database.
            let _ = task.await;
        }
    }

    fn restorations(&self) -> MutexGuard<'_, Tasks> {
        let restorations = self.0.restorations.tasks.lock();
        restorations.unwrap_or_else(PoisonError::into_inner)
    }
}
