//! Supervises the servers: starts those again that have crashed or that a restart of the machine has
//! ended, and replaces a primary that was killed by a standby.

use std::collections::{HashMap, HashSet};
use std::path::Path;
use std::time::Duration;

use tokio::task::{JoinError, JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::backup::{Keeper, is_log_ready};
use super::files::failed;
use super::folder::{self, Database, Record};
use super::member::{self, DATA, Member};
use super::places::{Place, Places};
use super::removal::TRASH;
use super::{Local, server, upgrade};
use crate::provision::ProvisionError;

/// How often the supervisor looks for servers that do not run.
const LOOK: Duration = Duration::from_millis(500);
/// The wait after the first failed start; each further failure doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait after failed starts.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// How long the servers of a database have to run, after the wait that follows an attempt, until their
/// earlier failures are forgotten.
const STEADY: Duration = Duration::from_secs(30);
/// How many databases are mended at the same time.
const AT_ONCE: usize = 16;

/// When the servers of a database may be started again.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    /// The number of starts that failed or did not last.
    failures: u32,
    /// When the last one ended.
    last: Instant,
}

impl Attempt {
    /// Returns when the servers may be started next.
    fn next(self) -> Instant {
        let doublings = self.failures.saturating_sub(1).min(16);
        self.last + FIRST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT)
    }
}

/// The projects of databases, by the ids of these.
pub(super) type Projects = HashMap<String, String>;

/// The ids of databases, as they are found.
#[derive(Default)]
pub(super) struct Looked {
    pub(super) all: Vec<String>,
    /// The project of each.
    pub(super) projects: Projects,
    /// Those of which a server does not run.
    broken: Vec<String>,
    /// Those whose primary waits for a part of its log to be archived.
    pub(super) log_ready: Vec<String>,
    /// Those that were upgraded, and whose statistics are not made yet.
    pub(super) unanalyzed: Vec<String>,
    /// Those that cannot be looked at, and why.
    unreadable: HashMap<String, String>,
}

/// Databases that are being mended, and earlier attempts.
struct Mending {
    tasks: JoinSet<(String, Result<bool, ProvisionError>)>,
    /// Each that is being mended, and its place.
    ids: HashMap<String, Place>,
    places: Places,
    /// When each that is broken had its last turn.
    turns: HashMap<String, Instant>,
    attempts: HashMap<String, Attempt>,
}

impl Local {
    /// Keeps the servers of all databases running, until it is stopped. The servers go on then.
    pub async fn supervise(self, stop: CancellationToken) {
        let (mut mending, mut keeper) = (Mending::default(), Keeper::default());
        let mut unreadable = HashMap::new();
        while !stop.is_cancelled() {
            while let Some(done) = mending.tasks.try_join_next() {
                mending.note(done);
            }
            match self.look().await {
                Ok(looked) => {
                    keeper.begin(&self, &looked);
                    warn(&unreadable, &looked.unreadable);
                    unreadable = looked.unreadable;
                    mending.begin(&self, looked.broken, &looked.projects);
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
                    looked.unreadable.insert(id, error.to_string());
                }
            }
            Ok(looked)
        };
        spawn_blocking(look).await.expect("it does not panic")
    }

    fn look_at(&self, id: &str, looked: &mut Looked) -> Result<(), ProvisionError> {
        let folder = self.0.folder.path(id)?;
        let Some(record) = folder::read(&folder)? else {
            return Ok(());
        };
        // Before files are read that the owner may have damaged: an error must not skip the bound. A database
        // that is being restored has a log too.
        let bounded = bound_logs(&folder, &record);
        if !record.is_created {
            return bounded;
        }
        looked.all.push(id.to_owned());
        let project = record.project(id).to_owned();
        looked.projects.insert(id.to_owned(), project);
        if record.is_unanalyzed {
            looked.unanalyzed.push(id.to_owned());
        }
        bounded?;
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
        // First, since it makes room, without which nothing else may succeed.
        database.locked.go_on_removing().await;
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

/// Logs which databases cannot be looked at: once, and again if the reason is another.
fn warn(before: &HashMap<String, String>, now: &HashMap<String, String>) {
    for (id, wrong) in now {
        if before.get(id) != Some(wrong) {
            tracing::warn!(database = id, "the servers cannot be looked at: {wrong}");
        }
    }
}

/// Cuts the logs of the servers of a database, in a folder, that are too long.
fn bound_logs(folder: &Path, record: &Record) -> Result<(), ProvisionError> {
    for member in members(record) {
        let bounded = server::bound_log(&folder.join(member.name()).join("log"));
        bounded.map_err(|error| failed("the log", &error))?;
    }
    Ok(())
}

/// Returns the servers of a database, the primary first.
fn members(record: &Record) -> impl Iterator<Item = &Member> {
    std::iter::once(&record.primary).chain(&record.standbys)
}

/// Returns whether the servers of a database, in a folder, are not as its record says.
fn is_broken(folder: &Path, record: &Record) -> Result<bool, ProvisionError> {
    let mut is_broken = record.promoted.is_some()
        || record.upgrade.is_some()
        || upgrade::is_left(folder)
        || member::standbys(&record.shape.ha_type)
            .is_some_and(|wanted| record.standbys.len() != wanted)
        || record.shape.ha_type == "sync" && !record.commits_wait
        || has_others(folder, record)
        || folder.join(TRASH).exists();
    for member in members(record) {
        is_broken |= server::pid(&folder.join(member.name()).join(DATA))?.is_none();
    }
    Ok(is_broken)
}

/// Returns whether a database, in a folder, has what is left of a server that is no member of it.
fn has_others(folder: &Path, record: &Record) -> bool {
    let is_member = |member| record.primary == member || record.standbys.contains(&member);
    let mut others = Member::ALL.into_iter().filter(|member| !is_member(*member));
    others.any(|other| folder.join(other.name()).exists())
}

impl Default for Mending {
    fn default() -> Self {
        Self {
            tasks: JoinSet::new(),
            ids: HashMap::new(),
            places: Places::new(AT_ONCE),
            turns: HashMap::new(),
            attempts: HashMap::new(),
        }
    }
}

impl Mending {
    /// Begins to mend databases that are not being mended and that have waited long enough since
    /// the last attempt, some at the same time.
    fn begin(&mut self, local: &Local, broken: Vec<String>, projects: &Projects) {
        for id in self.take_turns(broken, projects) {
            let local = local.clone();
            self.tasks.spawn(async move {
                let done = local.mend(&id).await;
                (id, done)
            });
        }
    }

    /// Returns the databases whose turn it is now: those first that have waited longest, so that a few which
    /// are broken again and again do not keep others waiting.
    fn take_turns(&mut self, broken: Vec<String>, projects: &Projects) -> Vec<String> {
        let now = Instant::now();
        let is_broken: HashSet<&String> = broken.iter().collect();
        let ids = &self.ids;
        self.turns
            .retain(|id, _| is_broken.contains(id) || ids.contains_key(id));
        let turns = &self.turns;
        self.attempts.retain(|id, attempt| {
            let had_turn = turns.get(id).is_some_and(|turn| *turn >= attempt.next());
            let waits = is_broken.contains(id) && !had_turn;
            waits || ids.contains_key(id) || attempt.next() + STEADY > now
        });
        let mut due = broken;
        due.retain(|id| {
            let attempt = self.attempts.get(id);
            !self.ids.contains_key(id) && attempt.is_none_or(|attempt| attempt.next() <= now)
        });
        // `None` is the least, so a database that has had no turn comes first.
        due.sort_by_key(|id| self.turns.get(id));
        due.retain(|id| {
            let Some(place) = self.places.take(projects.get(id).unwrap_or(id)) else {
                return false;
            };
            self.ids.insert(id.clone(), place);
            self.turns.insert(id.clone(), now);
            true
        });
        due
    }

    /// Records an attempt, so that servers which end again and again wait longer each time.
    fn note(&mut self, done: Result<(String, Result<bool, ProvisionError>), JoinError>) {
        let Ok((id, done)) = done else {
            // A panic was logged. Its database is not known, so all may be mended again.
            self.ids.clear();
            return;
        };
        self.ids.remove(&id);
        match &done {
            Ok(false) => return,
            Ok(true) => {}
            Err(error) => tracing::warn!(database = id, "its servers do not run: {error}"),
        }
        let failures = match self.attempts.get(&id) {
            Some(earlier) => earlier.failures.saturating_add(1),
            None => u32::from(done.is_err()),
        };
        let last = Instant::now();
        self.attempts.insert(id, Attempt { failures, last });
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
            let attempt = Attempt { failures, last };
            attempt.next().duration_since(last).as_secs()
        });
        assert_eq!(waits, [1, 1, 2, 4, 8, 16, 32, 60, 60, 60, 60]);
    }

    const ID: &str = "pg1";

    fn failed<T>() -> Result<T, ProvisionError> {
        Err(ProvisionError::Failed("it does not start".to_owned()))
    }

    /// Mends a database in a time, as soon as it is its turn. Returns how long it waited for that, in seconds.
    async fn mend(
        mending: &mut Mending,
        time: Duration,
        done: Result<bool, ProvisionError>,
    ) -> u64 {
        let begun = Instant::now();
        while mending
            .take_turns(vec![ID.to_owned()], &Projects::new())
            .is_empty()
        {
            advance(LOOK).await;
        }
        let waited = begun.elapsed().as_secs();
        advance(time).await;
        mending.note(Ok((ID.to_owned(), done)));
        waited
    }

    #[tokio::test(start_paused = true)]
    async fn failures_are_forgotten_once_servers_have_run() {
        for time in [Duration::ZERO, STEADY * 2] {
            let mut mending = Mending::default();
            for expected in [0, 1, 2, 4, 8, 16, 32, 60, 60] {
                assert_eq!(mend(&mut mending, time, failed()).await, expected);
            }
            // They start, and do not last.
            assert_eq!(mend(&mut mending, time, Ok(true)).await, 60);
            assert_eq!(mend(&mut mending, time, Ok(true)).await, 60);
            // They run for a time.
            advance(LONGEST_WAIT + STEADY).await;
            assert!(mending.take_turns(Vec::new(), &Projects::new()).is_empty());
            assert_eq!(mend(&mut mending, time, failed()).await, 0);
            assert_eq!(mend(&mut mending, time, failed()).await, 1);
            // They run, and a standby is waited for.
            let begun = Instant::now();
            while begun.elapsed() < LONGEST_WAIT + STEADY {
                mend(&mut mending, LOOK, Ok(false)).await;
            }
            assert_eq!(mend(&mut mending, time, failed()).await, 0);
            assert_eq!(mend(&mut mending, time, failed()).await, 1);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn those_that_have_waited_longest_come_first() {
        let mut mending = Mending::default();
        let ids: Vec<String> = (0..2 * AT_ONCE + 4)
            .map(|number| format!("pg{number:02}"))
            .collect();
        assert_eq!(
            mending.take_turns(ids.clone(), &Projects::new()),
            ids[..AT_ONCE]
        );
        assert!(
            mending.take_turns(ids.clone(), &Projects::new()).is_empty(),
            "all are busy"
        );
        // The turns of three end, two by a failure. Those that have had no turn still come before them.
        for id in &ids[..2] {
            mending.note(Ok((id.clone(), failed())));
        }
        mending.note(Ok((ids[2].clone(), Ok(false))));
        advance(LOOK).await;
        assert_eq!(
            mending.take_turns(ids.clone(), &Projects::new()),
            ids[AT_ONCE..AT_ONCE + 3]
        );
        for id in &ids[3..AT_ONCE + 3] {
            mending.note(Ok((id.clone(), Ok(false))));
        }
        advance(FIRST_WAIT).await;
        assert_eq!(
            mending.take_turns(ids.clone(), &Projects::new()),
            ids[AT_ONCE + 3..2 * AT_ONCE + 3]
        );
        for id in &ids[AT_ONCE + 3..2 * AT_ONCE + 3] {
            mending.note(Ok((id.clone(), Ok(false))));
        }
        let turns = mending.take_turns(ids.clone(), &Projects::new());
        assert_eq!(turns[..1], ids[2 * AT_ONCE + 3..]);
        assert_eq!(turns[1..], ids[..AT_ONCE - 1]);
    }
}
