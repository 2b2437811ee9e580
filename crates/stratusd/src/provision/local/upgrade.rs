//! Upgrades of a database to a later major version of PostgreSQL, by `pg_upgrade`.
//!
//! While the database runs, a new cluster is made beside it, and `pg_upgrade --check` looks at both. Then
//! the server ends, and `pg_upgrade` copies its data into the new cluster. It links no files: the old
//! data folder stays as it is until a server of the new version has started on the new one and has
//! answered, which clients cannot reach until then. So there is a way back that loses nothing as long as
//! nobody has written to the new cluster, and none afterwards.
//!
//! The stage is recorded before each step that cannot be repeated from the start, so that a service which
//! was killed continues there.

mod program;
mod task;

use std::fs;
use std::io;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use serde::{Deserialize, Serialize};
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::files::{failed, private, sync_folder};
use super::folder::{Database, Locked, Record};
use super::member::{DATA, Member};
use super::{Inner, backup, configuration, owner, server, session};
use crate::provision::ProvisionError;

pub(super) use program::analyze;
pub(super) use task::{During, PAUSE, Upgrades};

/// The folders beside that of the data of a server: the new cluster, the old one once the new one has
/// taken its place, and the one in which `pg_upgrade` works.
const UPGRADED: &str = "upgraded";
const OLD: &str = "old";
const WORK: &str = "upgrade";

/// How long an upgrade waits for the archive of the log.
const ARCHIVED: Duration = Duration::from_secs(30);
/// How often the archive is looked at.
const LOOK: Duration = Duration::from_millis(200);
/// How long an upgrade that has failed after its outage is not tried again.
const AGAIN: Duration = Duration::from_hours(1);

/// An upgrade that is in progress.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Upgrade {
    stage: Stage,
    /// The version of the old cluster, its timeline and its standbys, for the way back.
    version: String,
    timeline: u32,
    standbys: Vec<Member>,
}

/// An upgrade that has failed after its outage.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct FailedUpgrade {
    /// When, in milliseconds since 1970.
    at: i64,
    reason: String,
}

/// How far an upgrade is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Stage {
    /// The server ends, and its data is copied. The old data folder is in its place.
    Copying,
    /// The new cluster takes the place of the old one, and is started without clients.
    Trying,
    /// The new cluster has answered. What belongs to the old one is removed.
    Ending,
    /// The new cluster has not started. The old one takes its place again.
    Returning,
}

impl Inner {
    /// Upgrades a database. Sets `is_down` before its server ends.
    ///
    /// # Errors
    ///
    /// If it cannot be upgraded. Its server of the old version runs again then.
    async fn upgrade(
        &self,
        mut database: Database,
        to: &str,
        is_down: &AtomicBool,
    ) -> Result<(), ProvisionError> {
        if let Err(error) = self.prepare(&database, to).await {
            clear(&database.locked).await?;
            return Err(error);
        }
        is_down.store(true, Ordering::Relaxed);
        let record = &mut database.record;
        record.upgrade = Some(Upgrade {
            stage: Stage::Copying,
            version: record.shape.version.clone(),
            timeline: record.timeline,
            standbys: record.standbys.clone(),
        });
        database.write()?;
        server::stop(&database, database.record.primary).await?;
        let copied = async {
            program::pg_upgrade(self, &database, to, &[]).await?;
            program::keep_settings(self, &database, to).await
        };
        if let Err(error) = copied.await {
            let settled = self.settle(&mut database).await;
            // Also if the way back fails, for example since the disk is full.
            let error = self.postpone(&mut database, error)?;
            settled?;
            return Err(error);
        }
        to.clone_into(&mut database.record.shape.version);
        database.record.timeline = 1;
        // Their clusters are of the old version. The supervisor copies them anew.
        database.record.standbys.clear();
        database.record.commits_wait = false;
        reach(&mut database, Stage::Trying)?;
        if let Err(error) = self.settle(&mut database).await {
            return Err(self.postpone(&mut database, error)?);
        }
        tracing::info!(
            database = database.locked.id(),
            version = to,
            "the database is upgraded"
        );
        Ok(())
    }

    /// Records that an upgrade has failed after its outage, so that there is no other one soon. Returns the
    /// error.
    fn postpone(
        &self,
        database: &mut Database,
        error: ProvisionError,
    ) -> Result<ProvisionError, ProvisionError> {
        database.record.failed_upgrade = Some(FailedUpgrade {
            at: self.world.now(),
            reason: error.to_string(),
        });
        database.write()?;
        Ok(error)
    }

    /// Checks that no upgrade of a database has failed after its outage a short time ago.
    ///
    /// # Errors
    ///
    /// If one has, with its reason.
    pub(super) fn ensure_not_postponed(&self, record: &Record) -> Result<(), ProvisionError> {
        let failed = record.failed_upgrade.as_ref();
        let is_recent = |failed: &&FailedUpgrade| {
            let since = self.world.now().saturating_sub(failed.at);
            u64::try_from(since).is_ok_and(|since| Duration::from_millis(since) < AGAIN)
        };
        match failed.filter(is_recent) {
            None => Ok(()),
            Some(failed) => Err(ProvisionError::Failed(format!(
                "{} (tried again after an hour, or after a restart that its owner asks for)",
                failed.reason
            ))),
        }
    }

    /// Makes the new cluster of a database that runs, and checks that it can get the data.
    async fn prepare(&self, database: &Database, to: &str) -> Result<(), ProvisionError> {
        let member = database.record.primary;
        self.start(database, member).await?;
        let session = session::connect(database, member).await?;
        if session.has_tablespaces().await? {
            let wrong = "a database with tablespaces cannot be upgraded: move what is in them to `pg_default`, and \
                         drop them";
            return Err(ProvisionError::Failed(wrong.to_owned()));
        }
        drop(session);
        clear(&database.locked).await?;
        let (new, work) = (
            member.path(&database.locked, UPGRADED),
            member.path(&database.locked, WORK),
        );
        let io = |error| failed("the folder of an upgrade", &error);
        private(&new).map_err(io)?;
        private(&work)
            .and_then(|()| owner::give(&work, database.user()))
            .map_err(io)?;
        self.initdb(&database.locked, to, &new).await?;
        let user = database.user();
        let finish = move || -> io::Result<()> {
            configuration::include(&new.join("postgresql.conf"))?;
            owner::give(&new, user)
        };
        let finished = spawn_blocking(finish).await;
        finished.expect("it does not panic").map_err(io)?;
        // A server that an earlier version of the service has started cannot be asked while it runs. What
        // is checked then is checked once it has ended.
        if !server::has_absolute_socket(&member.path(&database.locked, DATA))? {
            return Ok(());
        }
        program::pg_upgrade(self, database, to, &["--check"]).await?;
        self.await_archive(database).await
    }

    /// Waits a short time until the log of a database is archived, for which its server would otherwise
    /// wait when it ends, while nobody can connect.
    async fn await_archive(&self, database: &Database) -> Result<(), ProvisionError> {
        let begun = Instant::now();
        let (folder, archive) = (
            database.locked.path(""),
            self.archive(database.locked.id())?,
        );
        while backup::is_log_ready(&folder, &database.record, &archive)
            && begun.elapsed() < ARCHIVED
        {
            sleep(LOOK).await;
        }
        Ok(())
    }

    /// Continues the upgrade of a database that was interrupted. Returns once there is none.
    ///
    /// # Errors
    ///
    /// If the new cluster does not start, after the way back to the old one.
    pub(super) async fn settle(&self, database: &mut Database) -> Result<(), ProvisionError> {
        let member = database.record.primary;
        let data = member.path(&database.locked, DATA);
        let mut unfit = None;
        while let Some(upgrade) = database.record.upgrade.clone() {
            match upgrade.stage {
                Stage::Copying => {
                    // `pg_upgrade` may have left a server that it has started.
                    server::stop(database, member).await?;
                    clear(&database.locked).await?;
                    database.record.upgrade = None;
                    database.write()?;
                    self.start(database, member).await?;
                }
                Stage::Trying => {
                    swap(&database.locked, member)?;
                    configuration::apply(database)?;
                    match self.start(database, member).await {
                        Ok(()) => {
                            server::stop(database, member).await?;
                            reach(database, Stage::Ending)?;
                        }
                        Err(error) => {
                            unfit = Some(error);
                            database.record.shape.version = upgrade.version;
                            database.record.timeline = upgrade.timeline;
                            database.record.standbys = upgrade.standbys;
                            reach(database, Stage::Returning)?;
                        }
                    }
                }
                Stage::Ending => {
                    // Before the server archives the first part of its own log: the log of the old cluster
                    // does not lead to the new one, so the backups begin anew.
                    self.remove_archive(database.locked.id()).await?;
                    let old = member.path(&database.locked, OLD);
                    database.locked.remove_tree(old).await?;
                    clear(&database.locked).await?;
                    database.record.upgrade = None;
                    database.record.failed_upgrade = None;
                    database.record.is_unanalyzed = true;
                    database.write()?;
                    self.start(database, member).await?;
                }
                Stage::Returning => {
                    if member.path(&database.locked, OLD).exists() {
                        server::halt(&data).await?;
                        database.locked.remove_tree(data.clone()).await?;
                        rename(member, &database.locked, OLD, DATA)?;
                    }
                    clear(&database.locked).await?;
                    database.record.upgrade = None;
                    database.write()?;
                    configuration::apply(database)?;
                    self.start(database, member).await?;
                }
            }
        }
        if is_left(database.locked.path("").as_path()) {
            clear(&database.locked).await?;
        }
        match unfit {
            None => Ok(()),
            Some(error) => Err(ProvisionError::Failed(format!(
                "the upgraded database does not start, so it has its version before again: {error}"
            ))),
        }
    }
}

/// Records the next stage of an upgrade.
fn reach(database: &mut Database, stage: Stage) -> Result<(), ProvisionError> {
    if let Some(upgrade) = &mut database.record.upgrade {
        upgrade.stage = stage;
    }
    database.write()
}

/// Puts the new cluster in the place of the old one, unless it is there.
fn swap(locked: &Locked, member: Member) -> Result<(), ProvisionError> {
    if !member.path(locked, UPGRADED).exists() {
        return Ok(());
    }
    if member.path(locked, DATA).exists() {
        rename(member, locked, DATA, OLD)?;
    }
    rename(member, locked, UPGRADED, DATA)
}

fn rename(member: Member, locked: &Locked, from: &str, to: &str) -> Result<(), ProvisionError> {
    let (from, to) = (member.path(locked, from), member.path(locked, to));
    let renamed = fs::rename(from, &to).and_then(|()| sync_folder(&to));
    renamed.map_err(|error| failed("the folder of an upgrade", &error))
}

/// Returns whether a database, in a folder, has what an upgrade has left.
pub(super) fn is_left(folder: &Path) -> bool {
    Member::ALL.into_iter().any(|member| {
        let folder = folder.join(member.name());
        [UPGRADED, WORK]
            .iter()
            .any(|name| folder.join(name).exists())
    })
}

/// Ends the servers that `pg_upgrade` has started on new clusters.
pub(super) async fn halt(locked: &Locked) -> Result<(), ProvisionError> {
    for member in Member::ALL {
        server::halt(&member.path(locked, UPGRADED)).await?;
    }
    Ok(())
}

/// Removes new clusters that have not taken the place of the old one, and what belongs to them.
async fn clear(locked: &Locked) -> Result<(), ProvisionError> {
    halt(locked).await?;
    for member in Member::ALL {
        for name in [UPGRADED, WORK] {
            locked.remove_tree(member.path(locked, name)).await?;
        }
    }
    Ok(())
}
