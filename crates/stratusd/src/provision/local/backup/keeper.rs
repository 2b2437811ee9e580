//! Keeps the backups of all databases: archives their logs, and copies them now and then.

use std::collections::{HashMap, HashSet};
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::Instant;

use super::super::folder::Database;
use super::super::member::{DATA, Member};
use super::super::{Inner, Local, folder};
use super::{Archive, log};
use crate::provision::ProvisionError;

/// The number of databases whose logs are archived at the same time.
const LOGS: usize = 4;
/// The number of databases that are copied at the same time.
const COPIES: usize = 2;
/// How often a database is looked at for whether it should be copied.
const LOOK: Duration = Duration::from_secs(30);
/// How often it is looked at while another step holds it, or while copies are taken every few seconds.
const FIRST_LOOK: Duration = Duration::from_secs(1);

/// The work on backups that is in progress.
pub(in super::super) struct Keeper {
    logs: Tasks,
    copies: Tasks,
    /// When each database is looked at next.
    next: HashMap<String, Instant>,
}

impl Default for Keeper {
    fn default() -> Self {
        Self {
            logs: Tasks::new(LOGS, "the log cannot be archived"),
            copies: Tasks::new(COPIES, "the database cannot be backed up"),
            next: HashMap::new(),
        }
    }
}

impl Keeper {
    /// Begins what is to do for databases: `all`, of which servers of those in `ready` wait for a part
    /// of their log.
    pub(in super::super) fn begin(&mut self, local: &Local, all: &[String], ready: &[String]) {
        self.next.retain(|id, _| all.contains(id));
        for (id, wait) in self.copies.ended() {
            self.next.insert(id, Instant::now() + wait.unwrap_or(LOOK));
        }
        for id in all {
            let is_due = self.next.get(id).is_none_or(|next| *next <= Instant::now());
            if is_due && self.copies.has_room_for(id) {
                self.copies.begin(id, local.clone().keep(id.clone()));
            }
        }
        // A failure is logged, and tried again at once: its server waits.
        self.logs.ended();
        for id in ready {
            if self.logs.has_room_for(id) {
                self.logs.begin(id, local.clone().archive_log(id.clone()));
            }
        }
    }

    /// Ends what is in progress, which is begun again after the next start.
    pub(in super::super) async fn end(&mut self) {
        self.logs.set.shutdown().await;
        self.copies.set.shutdown().await;
    }
}

/// Tasks, one for each database.
struct Tasks {
    set: JoinSet<(String, Result<Duration, ProvisionError>)>,
    ids: HashSet<String>,
    /// The number of tasks at the same time.
    most: usize,
    /// What to log of a failure.
    failure: &'static str,
}

impl Tasks {
    fn new(most: usize, failure: &'static str) -> Self {
        Self {
            set: JoinSet::new(),
            ids: HashSet::new(),
            most,
            failure,
        }
    }

    fn has_room_for(&self, id: &str) -> bool {
        self.ids.len() < self.most && !self.ids.contains(id)
    }

    fn begin(
        &mut self,
        id: &str,
        work: impl Future<Output = Result<Duration, ProvisionError>> + Send + 'static,
    ) {
        self.ids.insert(id.to_owned());
        let id = id.to_owned();
        self.set.spawn(async move { (id, work.await) });
    }

    /// Returns the databases whose tasks have ended, and when to look at them again, or `None` after a
    /// failure, which is logged.
    fn ended(&mut self) -> Vec<(String, Option<Duration>)> {
        let mut ended = Vec::new();
        while let Some(done) = self.set.try_join_next() {
            let Ok((id, done)) = done else {
                // A panic was logged. Its database is not known, so all may be begun again.
                self.ids.clear();
                continue;
            };
            self.ids.remove(&id);
            if let Err(error) = &done {
                tracing::warn!(database = id, "{}: {error}", self.failure);
            }
            ended.push((id, done.ok()));
        }
        ended
    }
}

impl Local {
    /// Copies a database if it is time to. Returns when to look again.
    async fn keep(self, id: String) -> Result<Duration, ProvisionError> {
        let Some(locked) = self.0.folder.lock(&id)? else {
            return Ok(FIRST_LOOK);
        };
        let record = locked.read()?.filter(|record| record.is_created);
        let Some(record) = record.filter(|record| record.promoted.is_none()) else {
            return Ok(FIRST_LOOK);
        };
        let database = Database { locked, record };
        let local = self.clone();
        let look = move || {
            let archive = local.0.archive(database.locked.id())?;
            let is_due = local.0.is_copy_due(&database, &archive)?;
            local.0.note_size(&database, &archive)?;
            Ok((database, is_due))
        };
        let (database, is_due) = spawn_blocking(look).await.expect("it does not panic")?;
        if is_due {
            match self.0.back_up(database).await {
                // It was deleted meanwhile.
                Err(_) if !self.0.archive(&id)?.exists() => {}
                done => done?,
            }
        }
        Ok(self.0.config.backup_every.clamp(FIRST_LOOK, LOOK))
    }

    /// Copies the parts of a database's log that its server has ready.
    async fn archive_log(self, id: String) -> Result<Duration, ProvisionError> {
        // Without the lock: a step that stops the server waits for it.
        let Some(record) = folder::read(&self.0.folder.path(&id)?)? else {
            return Ok(Duration::ZERO);
        };
        if self.0.is_archive_full(&id) {
            return Ok(Duration::ZERO);
        }
        let path = self.0.folder.path(&id)?;
        let user = record.user.map(|user| (user, user));
        let archive = self.0.archive(&id)?;
        for data in datas(&path) {
            match log::collect(&data, user, &archive).await {
                // It was deleted meanwhile.
                Err(_) if !archive.exists() => break,
                done => done?,
            }
        }
        Ok(Duration::ZERO)
    }
}

impl Inner {
    /// Notes whether the backups of a database take more room than they may. As long as they do, its
    /// log is not archived, and fills its own storage.
    fn note_size(&self, database: &Database, archive: &Archive) -> Result<(), ProvisionError> {
        let id = database.locked.id();
        let is_full = archive.size()? > self.most_archived(database);
        let mut full = self
            .full_archives
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if is_full && full.insert(id.to_owned()) {
            tracing::warn!(
                database = id,
                "the backups take too much room, so the log is not archived"
            );
        } else if !is_full {
            full.remove(id);
        }
        Ok(())
    }

    fn is_archive_full(&self, id: &str) -> bool {
        let full = self.full_archives.lock();
        full.unwrap_or_else(PoisonError::into_inner).contains(id)
    }
}

/// Returns whether a server of a database, in a folder, waits for a part of its log. Not only of the
/// primary: a standby that takes its place ends in between, and waits then too.
pub(in super::super) fn is_log_ready(folder: &Path, archive: &Archive) -> bool {
    let is_ready = |data| {
        // A server that has never run has no log.
        log::ready(data, archive).is_ok_and(|ready| !ready.is_empty())
    };
    datas(folder).iter().any(|data| is_ready(data))
}

/// Returns the data folders of the servers of a database.
fn datas(folder: &Path) -> Vec<PathBuf> {
    let datas = Member::ALL.map(|member| folder.join(member.name()).join(DATA));
    datas.into_iter().filter(|data| data.is_dir()).collect()
}
