//! The standbys of a database. Each begins as a copy of the primary, and then reads the primary's
//! log as it is written. If the primary is killed, a standby becomes the primary.

mod copy;

use std::sync::PoisonError;
use std::time::Duration;

use tokio::time::{Instant, sleep};

use super::files::failed;
use super::folder::{Database, Record};
use super::member::{self, DATA, Member};
use super::{Inner, cluster, configuration, control, server, session};
use crate::provision::{Progress, ProvisionError};

pub(super) use copy::copy_time;

/// The pause before a switch is tried again for which there is no standby yet.
const NO_STANDBY: Duration = Duration::from_secs(2);

/// How long a standby may run without reading the log of the primary.
const SILENT: Duration = Duration::from_mins(1);
/// How long standbys have to read what a primary has sent before it ended.
const LAST_READ: Duration = Duration::from_secs(5);
/// How often a standby that reads is looked at.
const LOOK: Duration = Duration::from_millis(10);

impl Inner {
    /// Makes a database have as many standbys as its kind of high availability asks for, all
    /// running. While a standby is copied, the database is not locked, and other steps for it go on.
    pub(super) async fn ensure_standbys(
        &self,
        mut database: Database,
    ) -> Result<(), ProvisionError> {
        let wanted = standbys(&database.record);
        if database.record.standbys.len() > wanted {
            database.record.standbys.truncate(wanted);
            change_members(&mut database)?;
        }
        // `None` while another replica of the service copies a standby, or programs of an earlier
        // process do.
        let copying = database.locked.lock_copies()?;
        if copying.is_some() {
            self.remove_others(&database).await?;
        }
        for member in database.record.standbys.clone() {
            if let Err(error) = self.start(&database, member).await {
                tracing::warn!(
                    database = database.locked.id(),
                    "a standby does not start, and is copied anew: {error}"
                );
                database.record.standbys.retain(|other| *other != member);
                change_members(&mut database)?;
            }
        }
        while let Some(copying) = &copying
            && database.record.standbys.len() < standbys(&database.record)
        {
            let is_free = |member: &Member| database.members().all(|other| other != *member);
            let Some(member) = Member::ALL.into_iter().find(is_free) else {
                break;
            };
            let Some(place) = self.copying.take(database.project()) else {
                // The supervisor comes again.
                return Ok(());
            };
            let Some(copied) = self.copy(database, member, copying).await? else {
                return Ok(());
            };
            drop(place);
            database = copied;
        }
        // Last, so that no commit waits for a standby that is not there yet.
        configuration::apply(&database)?;
        if database.record.shape.ha_type == "sync" && !database.record.commits_wait {
            let client = session::connect(&database, database.record.primary).await?;
            if client.commits_wait(standbys(&database.record)).await? {
                database.record.commits_wait = true;
                database.write()?;
            }
        }
        Ok(())
    }

    /// Forgets standbys whose part of the log the primary does not have any more, or that have not read
    /// it for [`SILENT`]. The supervisor then copies them anew.
    pub(super) async fn forget_lost(&self, database: &mut Database) -> Result<(), ProvisionError> {
        if database.record.standbys.is_empty() {
            return Ok(());
        }
        let client = session::connect(database, database.record.primary).await?;
        let mut lost = client.lost_slots().await?;
        let mut unread = client.unread_slots().await?;
        // One that is still being copied is not a standby yet.
        unread.retain(|name| {
            let mut standbys = database.record.standbys.iter();
            standbys.any(|member| name == member.name())
        });
        lost.extend(self.silent(database.locked.id(), unread));
        let is_lost = |member: &Member| lost.iter().any(|name| name == member.name());
        if database.record.standbys.iter().any(is_lost) {
            database.record.standbys.retain(|member| !is_lost(member));
            change_members(database)?;
        }
        Ok(())
    }

    /// Returns those of the slots of a database that nobody has read for [`SILENT`], as far as this process
    /// has seen. `unread` are those that nobody reads now.
    fn silent(&self, id: &str, unread: Vec<String>) -> Vec<String> {
        let all = self.unread_slots.lock();
        let mut all = all.unwrap_or_else(PoisonError::into_inner);
        let mut before = all.remove(id).unwrap_or_default();
        before.retain(|name, _| unread.contains(name));
        for name in unread {
            before.entry(name).or_insert_with(Instant::now);
        }
        let is_silent = |(_, since): &(&String, &Instant)| since.elapsed() > SILENT;
        let silent = before.iter().filter(is_silent);
        let silent = silent.map(|(name, _)| name.clone()).collect();
        if !before.is_empty() {
            all.insert(id.to_owned(), before);
        }
        silent
    }

    /// Removes the folders and the replication slots of servers that are no members any more.
    async fn remove_others(&self, database: &Database) -> Result<(), ProvisionError> {
        for member in Member::ALL {
            let is_member = database.members().any(|other| other == member);
            if !is_member && database.locked.path(member.name()).exists() {
                self.remove_member(database, member).await?;
            }
        }
        Ok(())
    }

    /// Removes a server that is no member of the database, with its replication slot.
    async fn remove_member(
        &self,
        database: &Database,
        member: Member,
    ) -> Result<(), ProvisionError> {
        server::halt(&member.path(&database.locked, DATA)).await?;
        // Before the folder, by which the supervisor finds what is left.
        let client = session::connect(database, database.record.primary).await?;
        client.drop_slot(member.name()).await?;
        let folder = database.locked.path(member.name());
        database.locked.remove_tree(folder).await
    }

    /// Replaces a primary that does not run by a standby. If none can replace it without losing a
    /// commit that was to be safe, starts the primary again.
    pub(super) async fn recover(&self, database: &mut Database) -> Result<(), ProvisionError> {
        if database.record.promoted.is_none() {
            // It was stopped, by a switch that was interrupted or by its owner, so it has more than a
            // standby could have.
            let data = database.record.primary.path(&database.locked, DATA);
            if control::end(&data).is_ok_and(|end| end.is_some())
                && self.start(database, database.record.primary).await.is_ok()
            {
                return Ok(());
            }
            // What is left of the primary may still send, and a standby may still have to read what was
            // sent: another one would be behind it after the choice, and could not follow it.
            server::halt(&data).await?;
            await_end_of_log(database).await;
            if let Some(successor) = self.successor(database).await {
                database.record.promoted = Some(successor);
                database.write()?;
            }
        }
        let Some(member) = database.record.promoted else {
            return self.start(database, database.record.primary).await;
        };
        let promoted = self.promote(database, member).await;
        if let Err(error) = &promoted
            && !database.is_primary(member)
        {
            // Before the primary starts: what was asked of it late must not happen any more.
            let data = member.path(&database.locked, DATA);
            server::halt(&data).await?;
            if data.join(cluster::STANDBY).exists() {
                tracing::warn!(
                    database = database.locked.id(),
                    "a standby cannot take over, so the primary is started again: {error}"
                );
                database.record.promoted = None;
                database.record.switching = None;
                database.record.standbys.retain(|other| *other != member);
                database.record.commits_wait = false;
                database.write()?;
                return self.start(database, database.record.primary).await;
            }
        }
        promoted
    }

    /// Makes a standby the primary while both run, unless the switch with this number was made. Nothing
    /// is lost: the primary ends in order, which sends its whole log to its standbys.
    pub(super) async fn switch(
        &self,
        database: &mut Database,
        number: i64,
    ) -> Result<Progress, ProvisionError> {
        if database.record.promotions < number && database.record.promoted.is_none() {
            if member::standbys(&database.record.shape.ha_type).is_some_and(|wanted| wanted > 0) {
                let Some(successor) = self.successor(database).await else {
                    // The supervisor makes it.
                    return Ok(Progress::Pending(NO_STANDBY));
                };
                let primary = database.record.primary;
                server::stop(database, primary).await?;
                if let Err(error) = ensure_received(database, successor).await {
                    self.start(database, primary).await?;
                    return Err(error);
                }
                database.record.promoted = Some(successor);
                database.record.switching = Some(number);
            } else {
                database.record.promotions = number;
            }
            database.write()?;
        }
        if let Some(successor) = database.record.promoted {
            self.promote(database, successor).await?;
        }
        if database.record.promotions < number {
            // What was in progress was the failover of a primary that had ended.
            return Ok(Progress::Pending(NO_STANDBY));
        }
        Ok(Progress::Done)
    }

    /// Returns the standby that has received most of the primary's log. With synchronous
    /// replication a commit waits for any one of the standbys, so only the furthest of all of them
    /// has certainly each commit: `None` if one of them cannot be asked, or if commits did not wait
    /// yet.
    async fn successor(&self, database: &Database) -> Option<Member> {
        let is_sync = database.record.shape.ha_type == "sync";
        if is_sync && !database.record.commits_wait {
            return None;
        }
        let mut furthest = None;
        for member in &database.record.standbys {
            let received = async {
                let client = session::connect(database, *member).await?;
                client.received().await
            };
            match received.await {
                Ok(received) => furthest = furthest.max(Some((received, *member))),
                Err(_) if is_sync => return None,
                Err(_) => {}
            }
        }
        furthest.map(|(_, member)| member)
    }

    /// Makes a standby the primary. Can be repeated if it was interrupted.
    async fn promote(&self, database: &mut Database, member: Member) -> Result<(), ProvisionError> {
        let before = database.record.primary;
        if before != member {
            // So that it accepts nothing any more, even if it has not ended.
            server::halt(&before.path(&database.locked, DATA)).await?;
            self.start(database, member).await?;
            let client = session::connect(database, member).await?;
            client.promote().await?;
            // At once: before it ends, it waits until the history of its timeline is archived.
            database.record.timeline = client.timeline().await?;
            database.write()?;
            // Started again as the primary, at the address that clients know.
            server::stop(database, member).await?;
            database.record.primary = member;
            // The primary before may have what the new one does not have, so it is no standby until
            // it is copied anew.
            database.record.standbys.retain(|other| *other != member);
            database.record.commits_wait = false;
            database.write()?;
        }
        self.start(database, member).await?;
        // The new primary keeps its log for the other standbys, which start again to read it.
        for standby in database.record.standbys.clone() {
            let client = session::connect(database, member).await?;
            client.make_slot(standby.name()).await?;
            server::stop(database, standby).await?;
        }
        configuration::apply(database)?;
        database.record.promoted = None;
        if let Some(number) = database.record.switching.take() {
            database.record.promotions = number;
        }
        database.write()?;
        tracing::warn!(
            database = database.locked.id(),
            "a standby has become the primary"
        );
        Ok(())
    }
}

/// Returns how many standbys a database is to have.
fn standbys(record: &Record) -> usize {
    let wanted = member::standbys(&record.shape.ha_type);
    // One of an earlier version, which took kinds that it did not know.
    wanted.unwrap_or(record.standbys.len())
}

/// Waits until no standby reads from a primary that has ended, for at most [`LAST_READ`]. One that cannot be
/// asked is not waited for.
async fn await_end_of_log(database: &Database) {
    let begun = Instant::now();
    for member in &database.record.standbys {
        let Ok(client) = session::connect(database, *member).await else {
            continue;
        };
        while begun.elapsed() < LAST_READ && client.is_receiving().await.unwrap_or(false) {
            sleep(LOOK).await;
        }
    }
}

/// Checks that a standby has the whole log of a primary that has ended.
///
/// # Errors
///
/// If it does not, or if the primary has not ended in order.
async fn ensure_received(database: &Database, member: Member) -> Result<(), ProvisionError> {
    let data = database.record.primary.path(&database.locked, DATA);
    let end = control::end(&data).map_err(|error| failed("pg_control", &error))?;
    let received = session::connect(database, member).await?.received().await?;
    if end.is_some_and(|end| received > end) {
        Ok(())
    } else {
        let wrong = "the standby does not have everything, so the primary is started again";
        Err(ProvisionError::Failed(wrong.to_owned()))
    }
}

/// Writes a record with fewer standbys, after which no commit waits for the others.
fn change_members(database: &mut Database) -> Result<(), ProvisionError> {
    database.record.commits_wait = false;
    database.write()?;
    configuration::apply(database)
}
