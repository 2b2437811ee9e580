//! Supervises the servers: starts those again that have crashed or that a restart of the machine has
//! ended, and replaces a primary that was killed by a standby.

use std::collections::HashMap;
use std::path::Path;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::backup::{Keeper, is_log_ready};
use super::files::failed;
use super::folder::{self, Database, Record};
use super::member::{self, DATA, Member};
use super::removal::TRASH;
use super::{Local, server, upgrade};
use crate::provision::ProvisionError;

/// How often the supervisor looks for servers that do not run.
const LOOK: Duration = Duration::from_millis(500);
/// The wait after the first failed start; each further failure doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait after failed starts.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// How long the servers of a database have to run until their earlier failures are forgotten.
const STEADY: Duration = Duration::from_secs(30);
/// How many databases are mended at the same time.
const AT_ONCE: usize = 8;

/// When the servers of a database may be started again.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    /// The number of starts that failed or did not last.
    failures: u32,
    /// When the last one ended.
    last: Instant,
    /// Whether it failed, so that the servers have not run since.
    has_failed: bool,
}

impl Attempt {
    /// Returns when the servers may be started next.
    fn next(self) -> Instant {
        let doublings = self.failures.saturating_sub(1).min(16);
        self.last + FIRST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT)
    }
}

/// The ids of databases, as they are found.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) all: Vec<String>,
    /// Those of which a server does not run.
    broken: Vec<String>,
    /// Those whose primary waits for a part of its log to be archived.
    pub(super) log_ready: Vec<String>,
    /// Those that were upgraded, and whose statistics are not made yet.
    pub(super) unanalyzed: Vec<String>,
}

/// Databases that are being mended, and earlier attempts.
#[derive(Default)]
struct Mending {
    tasks: JoinSet<(String, Result<bool, ProvisionError>)>,
    /// Those that are being mended, and since when.
    begun: HashMap<String, Instant>,
    attempts: HashMap<String, Attempt>,
}

impl Local {
    /// Keeps the servers of all databases running, until it is stopped. The servers go on then.
    pub async fn supervise(self, stop: CancellationToken) {
        let (mut mending, mut keeper) = (Mending::default(), Keeper::default());
        while !stop.is_cancelled() {
            while let Some(done) = mending.tasks.try_join_next() {
                mending.note(done);
            }
            match self.look().await {
                Ok(looked) => {
                    keeper.begin(&self, &looked);
                    mending.begin(&self, looked.broken);
                }
                Err(error) => tracing::warn!("the servers cannot be listed: {error}"),
            }
            tokio::select! {
                () = sleep(LOOK) => {}
                () = stop.cancelled() => {}
            }
        }
        // What is interrupted is continued after the next start.
        mending.tasks.shutdown().await;
        keeper.end().await;
    }

    /// Looks at all databases. Cuts long logs of servers, too.
    async fn look(&self) -> Result<Looked, ProvisionError> {
        let this = self.clone();
        let look = move || {
            let ids = this.0.folder.ids();
            let ids = ids.map_err(|error| failed("the databases", &error))?;
            let mut looked = Looked::default();
            for id in ids {
                if let Err(error) = this.look_at(&id, &mut looked) {
                    tracing::warn!(database = id, "the servers cannot be looked at: {error}");
                }
            }
            Ok(looked)
        };
        spawn_blocking(look).await.expect("it does not panic")
    }

    fn look_at(&self, id: &str, looked: &mut Looked) -> Result<(), ProvisionError> {
        let folder = self.0.folder.path(id)?;
        let Some(record) = folder::read(&folder)?.filter(|record| record.is_created) else {
            return Ok(());
        };
        looked.all.push(id.to_owned());
        if record.is_unanalyzed {
            looked.unanalyzed.push(id.to_owned());
        }
        if is_broken(&folder, &record)? {
            looked.broken.push(id.to_owned());
        }
        if is_log_ready(&folder, &record, &self.0.archive(id)?) {
            looked.log_ready.push(id.to_owned());
        }
        Ok(())
    }

    /// Makes the servers of a database run again, unless a step is at work on the database. Returns
    /// whether the primary had ended.
    async fn mend(&self, id: &str) -> Result<bool, ProvisionError> {
        // It may have been deleted meanwhile.
        if !self.0.folder.has(id)? {
            return Ok(false);
        }
        let Some(locked) = self.0.folder.lock(id)? else {
            return Ok(false);
        };
        let Some(record) = locked.read()?.filter(|record| record.is_created) else {
            return Ok(false);
        };
        let mut database = Database { locked, record };
        self.0.settle(&mut database).await?;
        let data = database.record.primary.path(&database.locked, DATA);
        let has_ended = database.record.promoted.is_some() || server::pid(&data)?.is_none();
        if has_ended {
            tracing::warn!(database = id, "the server has ended");
            self.0.tell(id);
            let recovered = self.0.recover(&mut database).await;
            // Before the standbys, which may take long to copy.
            self.0.tell(id);
            recovered?;
        }
        self.0.ensure_standbys(database).await?;
        Ok(has_ended)
    }
}

/// Returns whether the servers of a database, in a folder, are not as its record says. Cuts long
/// logs, too.
fn is_broken(folder: &Path, record: &Record) -> Result<bool, ProvisionError> {
    let mut is_broken = record.promoted.is_some()
        || record.upgrade.is_some()
        || upgrade::is_left(folder)
        || member::standbys(&record.shape.ha_type)
            .is_some_and(|wanted| record.standbys.len() != wanted)
        || record.shape.ha_type == "sync" && !record.commits_wait
        || has_others(folder, record)
        || folder.join(TRASH).exists();
    for member in std::iter::once(&record.primary).chain(&record.standbys) {
        let folder = folder.join(member.name());
        is_broken |= server::pid(&folder.join(DATA))?.is_none();
        let bounded = server::bound_log(&folder.join("log"));
        bounded.map_err(|error| failed("the log", &error))?;
    }
    Ok(is_broken)
}

/// Returns whether a database, in a folder, has what is left of a server that is no member of it.
fn has_others(folder: &Path, record: &Record) -> bool {
    let is_member = |member| record.primary == member || record.standbys.contains(&member);
    let mut others = Member::ALL.into_iter().filter(|member| !is_member(*member));
    others.any(|other| folder.join(other.name()).exists())
}

impl Mending {
    /// Begins to mend databases that are not being mended and that have waited long enough since
    /// the last attempt, some at the same time.
    fn begin(&mut self, local: &Local, broken: Vec<String>) {
        let now = Instant::now();
        self.attempts.retain(|id, attempt| {
            // It may wait for its turn for long.
            attempt.last + STEADY > now || self.begun.contains_key(id) || broken.contains(id)
        });
        for id in self.due(broken, now) {
            self.begun.insert(id.clone(), now);
            let local = local.clone();
            self.tasks.spawn(async move {
                let done = local.mend(&id).await;
                (id, done)
            });
        }
    }

    /// Returns the databases that are to be mended now: those first that have waited longest, so that a
    /// few which fail again and again do not keep others waiting.
    fn due(&self, broken: Vec<String>, now: Instant) -> Vec<String> {
        let is_early = |id: &String| {
            let attempt = self.attempts.get(id);
            attempt.is_some_and(|attempt| now < attempt.next())
        };
        let mut due = broken;
        due.retain(|id| !self.begun.contains_key(id) && !is_early(id));
        // `None` is the least, so a database of which no attempt has failed comes first.
        due.sort_by_key(|id| self.attempts.get(id).map(|attempt| attempt.last));
        due.truncate(AT_ONCE.saturating_sub(self.begun.len()));
        due
    }

    /// Records an attempt, so that servers which end again and again wait longer each time.
    fn note(&mut self, done: Result<(String, Result<bool, ProvisionError>), JoinError>) {
        let Ok((id, done)) = done else {
            // A panic was logged. Its database is not known, so all may be mended again.
            self.begun.clear();
            return;
        };
        let begun = self.begun.remove(&id);
        match &done {
            Ok(false) => return,
            Ok(true) => {}
            Err(error) => tracing::warn!(database = id, "its servers do not run: {error}"),
        }
        let (last, has_failed) = (Instant::now(), done.is_err());
        let is_steady = |earlier: &Attempt| {
            let ended = begun.unwrap_or(last);
            !earlier.has_failed && ended.duration_since(earlier.last) >= STEADY
        };
        let failures = match self.attempts.get(&id) {
            Some(earlier) if !is_steady(earlier) => earlier.failures.saturating_add(1),
            _ => u32::from(has_failed),
        };
        let attempt = Attempt {
            failures,
            last,
            has_failed,
        };
        self.attempts.insert(id, attempt);
    }
}

#[cfg(test)]
mod tests {
    use tokio::time::advance;

    use super::*;

    #[test]
    fn waits_double_up_to_the_longest() {
        let last = Instant::now();
        let waits = [0, 1, 2, 3, 4, 5, 6, 7, 8, 40, u32::MAX].map(|failures| {
            let attempt = Attempt {
                failures,
                last,
                has_failed: true,
            };
            attempt.next().duration_since(last).as_secs()
        });
        assert_eq!(waits, [1, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
    }

    /// Makes an attempt that takes a time. Returns the wait after it, in seconds.
    async fn attempt(mending: &mut Mending, id: &str, time: Duration, succeeds: bool) -> u64 {
        mending.begun.insert(id.to_owned(), Instant::now());
        advance(time).await;
        let failed = || ProvisionError::Failed("it does not start".to_owned());
        let done = if succeeds { Ok(true) } else { Err(failed()) };
        mending.note(Ok((id.to_owned(), done)));
        let attempt = mending.attempts[id];
        attempt.next().duration_since(attempt.last).as_secs()
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_forgotten_once_servers_have_run() {
        let (mut mending, long) = (Mending::default(), Duration::from_mins(1));
        for expected in [1, 2, 4, 8, 16, 32, 60, 60] {
            let wait = attempt(&mut mending, "pg1", long, false).await;
            assert_eq!(wait, expected);
            advance(Duration::from_secs(wait)).await;
        }
        // It starts, and does not last.
        assert_eq!(attempt(&mut mending, "pg1", long, true).await, 60);
        advance(STEADY / 2).await;
        assert_eq!(attempt(&mut mending, "pg1", long, true).await, 60);
        advance(STEADY).await;
        assert_eq!(attempt(&mut mending, "pg1", long, false).await, 1);
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_have_waited_longest_come_first() {
        let mut mending = Mending::default();
        let ids: Vec<String> = (0..20).map(|number| format!("pg{number:02}")).collect();
        for id in &ids[..19] {
            attempt(&mut mending, id, Duration::from_millis(10), false).await;
        }
        assert_eq!(mending.due(ids.clone(), Instant::now()), ["pg19"]);
        advance(FIRST_WAIT).await;
        let due = mending.due(ids.clone(), Instant::now());
        assert_eq!(due[0], "pg19", "it has not been tried yet");
        assert_eq!(due[1..], ids[..AT_ONCE - 1]);
        mending.begun.insert(ids[0].clone(), Instant::now());
        let due = mending.due(ids.clone(), Instant::now());
        assert_eq!(due[1..], ids[1..AT_ONCE - 1]);
    }
}
