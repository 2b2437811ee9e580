//! Keeps the backups of all databases: archives their logs, and copies them now and then.

use std::collections::{HashMap, HashSet};
use std::fs::File;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::PoisonError;
use std::time::Duration;

use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::Instant;

use super::super::folder::{Database, Record};
use super::super::member::{DATA, Member};
use super::super::places::{Place, Places};
use super::super::supervisor::{Looked, Projects};
use super::super::{Inner, Local, folder, upgrade};
use super::{Archive, log};
use crate::provision::ProvisionError;

/// The number of databases whose logs are archived at the same time.
const LOGS: usize = 4;
/// The number of databases that are copied at the same time.
pub(in super::super) const COPIES: usize = 2;
/// The number of databases that are copied, or looked at for whether they should be, at the same time.
const LOOKS: usize = COPIES * 3;
/// The number of databases that are analyzed at the same time.
const ANALYSES: usize = 2;
/// How often a database is looked at for whether it should be copied.
const LOOK: Duration = Duration::from_secs(30);
/// How often it is looked at while another step holds it, or while copies are taken every few seconds.
const FIRST_LOOK: Duration = Duration::from_secs(1);
/// How long a database waits for a place to be copied, before it is looked at again.
const NO_PLACE: Duration = Duration::from_secs(5);
/// How long a database waits after a failure, and twice as long after each further one, up to
/// [`LONGEST_WAIT`].
const FAILED: Duration = Duration::from_secs(10);
/// How long a database waits at most after a failure.
const LONGEST_WAIT: Duration = Duration::from_mins(5);

/// The work on backups that is in progress.
pub(in super::super) struct Keeper {
    /// The lock by which one replica of the service keeps the backups, and no other one beside it.
    turn: Option<File>,
    logs: Tasks,
    copies: Tasks,
    analyses: Tasks,
}

impl Default for Keeper {
    fn default() -> Self {
        Self {
            turn: None,
            logs: Tasks::new(LOGS, LOGS - 1, "the log cannot be archived"),
            copies: Tasks::new(LOOKS, COPIES - 1, "the database cannot be backed up"),
            analyses: Tasks::new(ANALYSES, ANALYSES - 1, "the database cannot be analyzed"),
        }
    }
}

impl Keeper {
    /// Begins what is to do for databases. Does nothing while another replica of the service keeps the
    /// backups.
    pub(in super::super) fn begin(&mut self, local: &Local, looked: &Looked) {
        let all = &looked.all;
        if self.turn.is_none() {
            match local.0.folder.lock_backups() {
                Ok(turn) => self.turn = turn,
                Err(error) => tracing::warn!("the backups cannot be locked: {error}"),
            }
        }
        if self.turn.is_none() {
            return;
        }
        let kept: HashSet<&str> = all.iter().map(String::as_str).collect();
        self.copies.note(&kept);
        let projects = &looked.projects;
        self.copies
            .begin(all, projects, |id| local.clone().keep(id));
        self.logs.note(&kept);
        self.logs.begin(&looked.log_ready, projects, |id| {
            local.clone().archive_log(id)
        });
        self.analyses.note(&kept);
        self.analyses
            .begin(&looked.unanalyzed, projects, |id| local.clone().analyze(id));
    }

    /// Ends what is in progress, which is begun again after the next start.
    pub(in super::super) async fn end(&mut self) {
        self.logs.set.shutdown().await;
        self.copies.set.shutdown().await;
        self.analyses.set.shutdown().await;
    }
}

/// When a database has its turn again.
enum Next {
    /// After its task has done what there was to do.
    Done(Duration),
    /// After its task could not do anything yet, which says nothing about whether it would fail.
    Untried(Duration),
}

/// Tasks, one at a time for each database.
struct Tasks {
    set: JoinSet<(String, Result<Next, ProvisionError>)>,
    /// Each database with a task, and the place of the task.
    ids: HashMap<String, Place>,
    places: Places,
    /// The number of tasks at the same time of databases that have failed.
    most_failing: usize,
    /// When each database has its turn next.
    next: HashMap<String, Instant>,
    /// How often in a row the tasks of databases have failed, if they have.
    failures: HashMap<String, u32>,
    /// What to log of a failure.
    failure: &'static str,
}

impl Tasks {
    fn new(most: usize, most_failing: usize, failure: &'static str) -> Self {
        Self {
            set: JoinSet::new(),
            ids: HashMap::new(),
            places: Places::new(most),
            most_failing,
            next: HashMap::new(),
            failures: HashMap::new(),
            failure,
        }
    }

    /// Begins tasks for databases whose turn it is: those first that have waited longest, so that a
    /// few with much to do do not keep others waiting. Of those that have failed, only a few have one at a
    /// time, since an owner may hold up each task until it fails.
    fn begin<F>(&mut self, ids: &[String], projects: &Projects, work: impl Fn(String) -> F)
    where
        F: Future<Output = Result<Next, ProvisionError>> + Send + 'static,
    {
        let now = Instant::now();
        let waits = |id: &&String| self.next.get(*id).is_none_or(|next| *next <= now);
        let waiting = ids.iter().filter(waits);
        let mut waiting: Vec<&String> = waiting.filter(|id| !self.ids.contains_key(*id)).collect();
        // `None` is the least, so a database that has not had a turn yet comes first.
        waiting.sort_by_key(|id| self.next.get(*id));
        let has_failed = |id: &&String| self.failures.contains_key(*id);
        let mut failing = self.ids.keys().filter(has_failed).count();
        for id in waiting {
            if has_failed(&id) && failing >= self.most_failing {
                continue;
            }
            let Some(place) = self.places.take(projects.get(id).unwrap_or(id)) else {
                continue;
            };
            failing += usize::from(has_failed(&id));
            self.ids.insert(id.clone(), place);
            let (id, work) = (id.clone(), work(id.clone()));
            self.set.spawn(async move { (id, work.await) });
        }
    }

    /// Notes which tasks have ended, and when their databases have their turn again. A failure is
    /// logged. Forgets databases that are not among `all`.
    fn note(&mut self, all: &HashSet<&str>) {
        while let Some(done) = self.set.try_join_next() {
            let Ok((id, done)) = done else {
                // A panic was logged. Its database is not known, so all may be begun again.
                self.ids.clear();
                continue;
            };
            self.ids.remove(&id);
            let wait = match done {
                Ok(Next::Done(wait)) => {
                    self.failures.remove(&id);
                    wait
                }
                Ok(Next::Untried(wait)) => wait,
                Err(error) => {
                    tracing::warn!(database = id, "{}: {error}", self.failure);
                    let failures = self.failures.entry(id.clone()).or_default();
                    let wait = FAILED.saturating_mul(1 << (*failures).min(16));
                    *failures = failures.saturating_add(1);
                    wait.min(LONGEST_WAIT)
                }
            };
            self.next.insert(id, Instant::now() + wait);
        }
        self.next.retain(|id, _| all.contains(&**id));
        self.failures.retain(|id, _| all.contains(&**id));
    }
}

impl Local {
    /// Copies a database if it is time to. Returns when to look again.
    async fn keep(self, id: String) -> Result<Next, ProvisionError> {
        let Some(locked) = self.0.folder.lock(&id)? else {
            return Ok(Next::Untried(FIRST_LOOK));
        };
        let record = locked.read()?.filter(|record| record.is_created);
        let is_settled = |record: &Record| record.promoted.is_none() && record.upgrade.is_none();
        let Some(record) = record.filter(is_settled) else {
            return Ok(Next::Untried(FIRST_LOOK));
        };
        let database = Database { locked, record };
        let local = self.clone();
        let look = move || {
            let archive = local.0.archive(database.locked.id())?;
            // A database of an earlier version of the service has no folder before its server starts again.
            archive.make()?;
            // Before files are read that the owner may have damaged: an error must not skip the bound.
            let has_reserve = local.0.note_size(&database, &archive)?;
            let is_due = local.0.is_copy_due(&database, &archive)?;
            Ok((database, is_due, has_reserve))
        };
        let looked = spawn_blocking(look).await.expect("it does not panic");
        let (database, is_due, has_reserve) = looked?;
        if is_due {
            // A copy ends once its log is archived, and is what makes room. Only up to twice the bound:
            // the copies of a database may fail for ever.
            if has_reserve {
                self.0.allow_archive(&id);
            }
            let Some(_place) = self.0.backing_up.take(database.project()) else {
                return Ok(Next::Untried(NO_PLACE));
            };
            match self.0.back_up(database).await {
                // It was deleted meanwhile.
                Err(_) if !self.0.archive(&id)?.exists() => {}
                done => done?,
            }
        }
        Ok(Next::Done(
            self.0.config.backup_every.clamp(FIRST_LOOK, LOOK),
        ))
    }

    /// Copies the parts of a database's log that its server has ready.
    async fn archive_log(self, id: String) -> Result<Next, ProvisionError> {
        // Without the lock: a step that stops the server waits for it.
        let Some(record) = folder::read(&self.0.folder.path(&id)?)? else {
            return Ok(Next::Done(Duration::ZERO));
        };
        if self.0.is_archive_full(&id) {
            return Ok(Next::Done(Duration::ZERO));
        }
        let path = self.0.folder.path(&id)?;
        let user = record.user.map(|user| (user, user));
        let archive = self.0.archive(&id)?;
        // Here too: the backups are not looked at while a copy is made, which its owner can make last.
        // Such a copy counts too, which may have half as much as all backups.
        let most = self.0.most_archived(&record);
        let look = move || (archive.size(most), archive);
        let (size, archive) = spawn_blocking(look).await.expect("it does not panic");
        match size {
            Ok(size) if size < most.saturating_mul(2).saturating_add(most / 2) => {}
            Ok(_) => {
                self.0.refuse_archive(&id);
                return Ok(Next::Done(Duration::ZERO));
            }
            // It was deleted meanwhile.
            Err(_) if !archive.exists() => return Ok(Next::Done(Duration::ZERO)),
            Err(error) => return Err(error),
        }
        for data in datas(&path) {
            match log::collect(&data, user, &archive, record.timeline).await {
                // It was deleted meanwhile.
                Err(_) if !archive.exists() => break,
                done => done?,
            }
        }
        Ok(Next::Done(Duration::ZERO))
    }
}

impl Local {
    /// Makes the statistics of a database that was upgraded. A failure is logged, and not tried again,
    /// since the database works without them, and its owner can make them by `ANALYZE`.
    async fn analyze(self, id: String) -> Result<Next, ProvisionError> {
        let locked = self.0.lock(&id).await?;
        let record = locked.read()?.filter(|record| record.is_unanalyzed);
        let Some(record) = record.filter(|record| record.upgrade.is_none()) else {
            return Ok(Next::Untried(FIRST_LOOK));
        };
        let database = Database { locked, record };
        let analyzed = upgrade::analyze(&self.0, database).await;
        // It may have been deleted meanwhile.
        if !self.0.folder.has(&id)? {
            return Ok(Next::Untried(FIRST_LOOK));
        }
        if let Err(error) = analyzed {
            tracing::warn!(
                database = id,
                "the statistics of a database that was upgraded are not made: {error}"
            );
        }
        let locked = self.0.lock(&id).await?;
        if let Some(record) = locked.read()? {
            let mut database = Database { locked, record };
            database.record.is_unanalyzed = false;
            database.write()?;
        }
        Ok(Next::Done(FIRST_LOOK))
    }
}

impl Inner {
    /// Notes whether the backups of a database take more room than they may. As long as they do, its
    /// log is not archived, and fills its own storage. Returns whether they take less than twice as
    /// much.
    fn note_size(&self, database: &Database, archive: &Archive) -> Result<bool, ProvisionError> {
        let id = database.locked.id();
        let most = self.most_archived(&database.record);
        let size = archive.size(most)?;
        if size > most {
            self.refuse_archive(id);
        } else {
            self.allow_archive(id);
        }
        Ok(size < most.saturating_mul(2))
    }

    /// Lets the log of a database be archived until its backups are looked at again.
    fn allow_archive(&self, id: &str) {
        let full = self.full_archives.lock();
        full.unwrap_or_else(PoisonError::into_inner).remove(id);
    }

    /// Lets the log of a database not be archived until its backups are looked at again.
    fn refuse_archive(&self, id: &str) {
        let full = self.full_archives.lock();
        let mut full = full.unwrap_or_else(PoisonError::into_inner);
        if full.insert(id.to_owned()) {
            tracing::warn!(
                database = id,
                "the backups take too much room, so the log is not archived"
            );
        }
    }

    /// Returns whether the backups of a database take more room than they may.
    fn is_archive_full(&self, id: &str) -> bool {
        let full = self.full_archives.lock();
        full.unwrap_or_else(PoisonError::into_inner).contains(id)
    }
}

/// Returns whether a server of a database, in a folder, waits for a part of its log. Not only of the
/// primary: a standby that takes its place ends in between, and waits then too.
pub(in super::super) fn is_log_ready(folder: &Path, record: &Record, archive: &Archive) -> bool {
    let is_ready = |data: &Path| {
        match log::may_be_ready(data, archive, record.timeline) {
            Ok(is_ready) => is_ready,
            // A server that has never run has no log. Any other error is then logged.
            Err(error) => error.kind() != io::ErrorKind::NotFound,
        }
    };
    datas(folder).iter().any(|data| is_ready(data))
}

/// Returns the data folders of the servers of a database.
fn datas(folder: &Path) -> Vec<PathBuf> {
    let datas = Member::ALL.map(|member| folder.join(member.name()).join(DATA));
    datas.into_iter().filter(|data| data.is_dir()).collect()
}

#[cfg(test)]
mod tests {
    use std::future::{pending, ready};

    use super::*;

    const QUIET: &str = "quiet";

    fn ids(all: &[&str]) -> Vec<String> {
        all.iter().map(|id| (*id).to_owned()).collect()
    }

    /// Waits until the tasks that are begun have ended, and notes that.
    async fn end(tasks: &mut Tasks, all: &[&str]) {
        while !tasks.ids.is_empty() {
            tokio::task::yield_now().await;
            tasks.note(&all.iter().copied().collect());
        }
    }

    #[tokio::test(start_paused = true)]
    async fn databases_that_fail_leave_a_place_to_others_and_wait_longer_each_time() {
        let all = ["first", "second", "third", QUIET];
        let hostile = ids(&all[..3]);
        // Each database is one of a project of its own.
        let none = Projects::new();
        let fail = |_| ready(Err(ProvisionError::Failed("it is held up".to_owned())));
        let mut tasks = Tasks::new(2, 1, "it fails");
        // Whose tasks have not failed yet may have all places.
        for _ in 0..2 {
            tasks.begin(&hostile, &none, fail);
            end(&mut tasks, &all).await;
        }
        assert_eq!(tasks.failures.len(), 3);
        tokio::time::advance(FAILED).await;
        tasks.begin(&hostile, &none, |_| pending());
        assert_eq!(tasks.ids.len(), 1);
        tasks.begin(&ids(&all), &none, |_| pending());
        assert!(tasks.ids.len() == 2 && tasks.ids.contains_key(QUIET));

        let mut tasks = Tasks::new(2, 1, "it fails");
        for pause in [10, 20, 40, 80, 160, 300, 300] {
            tasks.begin(&hostile[..1], &none, fail);
            end(&mut tasks, &all).await;
            tokio::time::advance(Duration::from_secs(pause - 1)).await;
            tasks.begin(&hostile[..1], &none, fail);
            assert!(tasks.ids.is_empty(), "it waits less than {pause} s");
            tokio::time::advance(Duration::from_secs(1)).await;
        }
        // One that succeeds is as one that has never failed.
        tasks.begin(&hostile[..1], &none, |_| {
            ready(Ok(Next::Done(Duration::ZERO)))
        });
        end(&mut tasks, &all).await;
        assert!(tasks.failures.is_empty());
    }

    #[tokio::test(start_paused = true)]
    async fn the_databases_of_a_project_leave_places_to_others() {
        let all = ["first", "second", "third", QUIET];
        let hostile = all[..3]
            .iter()
            .map(|id| ((*id).to_owned(), "rival".to_owned()));
        let projects: Projects = hostile.collect();
        let mut tasks = Tasks::new(2, 1, "it fails");
        tasks.begin(&ids(&all[..3]), &projects, |_| pending());
        assert_eq!(tasks.ids.len(), 1);
        tasks.begin(&ids(&all), &projects, |_| pending());
        assert!(tasks.ids.len() == 2 && tasks.ids.contains_key(QUIET));
    }
}
