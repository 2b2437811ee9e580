//! The supervisor of the servers: starts again those that have crashed, and at its start those that
//! a restart of the machine has ended.

use std::collections::HashMap;
use std::time::Duration;

use tokio::task::{JoinSet, spawn_blocking};
use tokio::time::{Instant, sleep};
use tokio_util::sync::CancellationToken;

use super::folder::{Database, failed};
use super::{Local, server};
use crate::provision::ProvisionError;

/// How often the supervisor looks for servers that do not run.
const LOOK: Duration = Duration::from_millis(500);
/// The wait after the first failed start of a server; each further failure doubles it.
const FIRST_WAIT: Duration = Duration::from_secs(1);
/// The longest wait after failed starts.
const LONGEST_WAIT: Duration = Duration::from_mins(1);
/// How long a server has to run until its earlier failures are forgotten.
const STEADY: Duration = Duration::from_secs(30);
/// How many servers are started at the same time.
const STARTS: usize = 8;

/// When a server may be started again.
#[derive(Debug, Clone, Copy)]
struct Attempt {
    /// The number of starts that failed or did not last.
    failures: u32,
    last: Instant,
}

impl Attempt {
    fn next(self) -> Instant {
        let doublings = self.failures.saturating_sub(1).min(16);
        self.last + FIRST_WAIT.saturating_mul(1 << doublings).min(LONGEST_WAIT)
    }
}

impl Local {
    /// Keeps the servers of all databases running, until it is stopped. The servers go on then.
    pub async fn supervise(self, stop: CancellationToken) {
        let mut attempts: HashMap<String, Attempt> = HashMap::new();
        while !stop.is_cancelled() {
            match self.ended().await {
                Ok(ended) => {
                    attempts.retain(|_, attempt| attempt.last.elapsed() < STEADY + LONGEST_WAIT);
                    self.start_all(ended, &mut attempts).await;
                }
                Err(error) => tracing::warn!("the servers cannot be listed: {error}"),
            }
            tokio::select! {
                () = sleep(LOOK) => {}
                () = stop.cancelled() => {}
            }
        }
    }

    /// Returns the ids of the databases whose servers do not run. Cuts long logs, too.
    async fn ended(&self) -> Result<Vec<String>, ProvisionError> {
        let this = self.clone();
        let look = move || {
            let folder = &this.0.folder;
            let ids = folder
                .ids()
                .map_err(|error| failed("the databases", &error))?;
            let mut ended = Vec::new();
            for id in ids {
                let path = folder.path(&id)?;
                if server::pid(&path.join("data")).is_none() {
                    ended.push(id);
                } else if let Err(error) = server::bound_log(&path.join("log")) {
                    tracing::warn!(database = id, "the log cannot be cut: {error}");
                }
            }
            Ok(ended)
        };
        spawn_blocking(look).await.expect("it does not panic")
    }

    /// Starts servers whose time has come, a few at a time.
    async fn start_all(&self, ids: Vec<String>, attempts: &mut HashMap<String, Attempt>) {
        let mut starts = JoinSet::new();
        for id in ids {
            let is_early = |attempt: &Attempt| Instant::now() < attempt.next();
            if attempts.get(&id).is_some_and(is_early) {
                continue;
            }
            if starts.len() >= STARTS {
                note(starts.join_next().await, attempts);
            }
            let this = self.clone();
            starts.spawn(async move {
                let started = this.start_again(&id).await;
                (id, started)
            });
        }
        while let Some(started) = starts.join_next().await {
            note(Some(started), attempts);
        }
    }

    /// Starts the server of a database again, unless a step is at work on the database. Returns
    /// whether it has started it.
    async fn start_again(&self, id: &str) -> Result<bool, ProvisionError> {
        // Not by `lock`, which would make the folder of a database that was deleted meanwhile.
        if !self.0.folder.has(id)? {
            return Ok(false);
        }
        let Some(locked) = self.0.folder.lock(id)? else {
            return Ok(false);
        };
        let Some(record) = locked.read()?.filter(|record| record.is_created) else {
            return Ok(false);
        };
        if server::pid(&locked.path("data")).is_some() {
            return Ok(false);
        }
        tracing::warn!(database = id, "the server has ended, and is started again");
        self.0.start(&Database { locked, record }).await?;
        Ok(true)
    }
}

/// Remembers a start, so that a server which ends again and again waits longer each time.
fn note(
    started: Option<Result<(String, Result<bool, ProvisionError>), tokio::task::JoinError>>,
    attempts: &mut HashMap<String, Attempt>,
) {
    let Some(Ok((id, started))) = started else {
        return;
    };
    match &started {
        Ok(false) => return,
        Ok(true) => {}
        Err(error) => tracing::warn!(database = id, "the server cannot be started: {error}"),
    }
    let failures = match attempts.get(&id) {
        Some(earlier) if earlier.last.elapsed() < STEADY => earlier.failures + 1,
        _ => u32::from(started.is_err()),
    };
    let last = Instant::now();
    attempts.insert(id, Attempt { failures, last });
}
