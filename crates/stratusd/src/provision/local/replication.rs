//! The standbys of a database: they are copied from its primary, read its log as it is written, and
//! one of them takes its place when it is killed.

use std::fs;
use std::io;
use std::path::Path;

use tokio::task::spawn_blocking;

use super::folder::{Database, failed, open_to_servers, replace};
use super::member::{self, DATA, Member, SOCKET};
use super::{Inner, configuration, owner, server, session, setup};
use crate::provision::ProvisionError;

/// Folders of a cluster whose content a copy must not have: it belongs to the running server.
const EMPTY: [&str; 8] = [
    "pg_wal",
    "pg_replslot",
    "pg_dynshmem",
    "pg_notify",
    "pg_serial",
    "pg_snapshots",
    "pg_stat_tmp",
    "pg_subtrans",
];
/// Files of a cluster that a copy must not have.
const LEFT_OUT: [&str; 4] = [
    "postmaster.pid",
    "postmaster.opts",
    "backup_label",
    "standby.signal",
];

impl Inner {
    /// Makes a database have as many standbys as its kind of high availability asks for, all
    /// running.
    pub(super) async fn ensure_standbys(
        &self,
        database: &mut Database,
    ) -> Result<(), ProvisionError> {
        let wanted = member::standbys(&database.record.shape.ha_type);
        while database.record.standbys.len() > wanted {
            let Some(member) = database.record.standbys.pop() else {
                break;
            };
            // First, so that no commit waits for it.
            configuration::apply(database)?;
            database.write()?;
            self.remove_member(database, member).await?;
        }
        if !database.record.standbys.is_empty() {
            let client = session::connect(database, database.record.primary).await?;
            let lost = client.lost_slots().await?;
            // Copied anew below.
            let is_lost = |member: &Member| lost.iter().any(|name| name == member.name());
            database.record.standbys.retain(|member| !is_lost(member));
        }
        for index in 0..database.record.standbys.len() {
            self.start(database, database.record.standbys[index])
                .await?;
        }
        while database.record.standbys.len() < wanted {
            let is_free = |member: &Member| database.members().all(|other| other != *member);
            let Some(member) = Member::ALL.into_iter().find(is_free) else {
                break;
            };
            self.copy(database, member).await?;
            database.record.standbys.push(member);
            database.write()?;
            self.start(database, member).await?;
        }
        // Last, so that no commit waits for a standby that is not there yet.
        configuration::apply(database)
    }

    /// Makes the folder of a standby: a copy of the primary while that runs.
    async fn copy(&self, database: &Database, member: Member) -> Result<(), ProvisionError> {
        let io = |error| failed("the folder of a standby", &error);
        // What is left of an earlier attempt, or of a primary that was killed.
        self.remove_member(database, member).await?;
        let primary = database.record.primary;
        let client = session::connect(database, primary).await?;
        // The primary keeps its log from now on until the standby has it.
        client.make_slot(member.name()).await?;
        client.begin_backup().await?;
        let from = primary.path(&database.locked, DATA);
        let new = member.path(&database.locked, "new");
        let folder = database.locked.path(member.name());
        open_to_servers(&folder)
            .and_then(|()| setup::private(&new))
            .map_err(io)?;
        let to = new.clone();
        let copied = spawn_blocking(move || copy(&from, &to)).await;
        copied.expect("it does not panic").map_err(io)?;
        let label = client.end_backup().await?;
        replace(&new.join("backup_label"), label.as_bytes())?;
        replace(&new.join("standby.signal"), b"")?;
        let user = self.user(database);
        let (socket, data) = (
            member.path(&database.locked, SOCKET),
            member.path(&database.locked, DATA),
        );
        setup::private(&socket)
            .and_then(|()| owner::give(&socket, user))
            .map_err(io)?;
        let finish = move || owner::give(&new, user).and_then(|()| fs::rename(&new, &data));
        let finished = spawn_blocking(finish).await;
        finished.expect("it does not panic").map_err(io)
    }

    /// Removes a server that is no member of the database any more, with its replication slot.
    async fn remove_member(
        &self,
        database: &Database,
        member: Member,
    ) -> Result<(), ProvisionError> {
        server::halt(&member.path(&database.locked, DATA)).await?;
        let folder = database.locked.path(member.name());
        let removed = spawn_blocking(move || match fs::remove_dir_all(folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        });
        let removed = removed.await.expect("it does not panic");
        removed.map_err(|error| failed("the folder of a standby", &error))?;
        let client = session::connect(database, database.record.primary).await?;
        client.drop_slot(member.name()).await
    }

    /// Replaces a primary that does not run: by a standby if one has all that was acknowledged, or
    /// else by itself, started again.
    pub(super) async fn recover(&self, database: &mut Database) -> Result<(), ProvisionError> {
        if database.record.promoted.is_none() {
            database.record.promoted = self.successor(database).await;
            database.write()?;
        }
        match database.record.promoted {
            Some(member) => self.promote(database, member).await,
            None => self.start(database, database.record.primary).await,
        }
    }

    /// Returns the standby that has received most of the primary's log. With synchronous
    /// replication a commit waits for any one of the standbys, so only the furthest of all of them
    /// has certainly each commit: `None` if one of them does not run.
    async fn successor(&self, database: &Database) -> Option<Member> {
        let mut furthest = None;
        for member in &database.record.standbys {
            let received = async {
                let client = session::connect(database, *member).await?;
                client.received().await
            };
            match received.await {
                Ok(received) => furthest = furthest.max(Some((received, *member))),
                Err(_) if database.record.shape.ha_type == "sync" => return None,
                Err(_) => {}
            }
        }
        furthest.map(|(_, member)| member)
    }

    /// Makes a standby the primary. Can be repeated if it was interrupted.
    pub(super) async fn promote(
        &self,
        database: &mut Database,
        member: Member,
    ) -> Result<(), ProvisionError> {
        let before = database.record.primary;
        if before != member {
            // It must not accept anything any more, also if it is only slow.
            server::halt(&before.path(&database.locked, DATA)).await?;
            self.start(database, member).await?;
            session::connect(database, member).await?.promote().await?;
            // Started again as the primary, at the address that clients know.
            server::stop(database, member).await?;
            database.record.primary = member;
            // The one before may have written what the new one does not have, so it is no standby
            // until it is copied anew.
            database.record.standbys.retain(|other| *other != member);
            database.write()?;
        }
        self.start(database, member).await?;
        // The others read the log of the new primary, which keeps it for them from now on.
        for index in 0..database.record.standbys.len() {
            let standby = database.record.standbys[index];
            let client = session::connect(database, member).await?;
            client.make_slot(standby.name()).await?;
            server::stop(database, standby).await?;
        }
        configuration::apply(database)?;
        database.record.promoted = None;
        database.write()?;
        tracing::warn!(
            database = database.locked.id(),
            "a standby has taken the place of the primary"
        );
        Ok(())
    }
}

/// Copies a cluster, without what belongs to the running server. What is removed meanwhile is not
/// missed: the log has it.
fn copy(from: &Path, to: &Path) -> io::Result<()> {
    let mut folders = vec![(from.to_owned(), to.to_owned(), true)];
    while let Some((from, to, is_root)) = folders.pop() {
        for entry in fs::read_dir(&from)? {
            let entry = entry?;
            let name = entry.file_name();
            let text = name.to_str().unwrap_or_default();
            if is_root && LEFT_OUT.contains(&text) {
                continue;
            }
            let (source, target) = (entry.path(), to.join(&name));
            let kind = entry.file_type()?;
            if kind.is_dir() {
                setup::private(&target)?;
                if is_root && EMPTY.contains(&text) {
                    if text == "pg_wal" {
                        setup::private(&target.join("archive_status"))?;
                    }
                } else {
                    folders.push((source, target, false));
                }
            } else if kind.is_file() {
                match fs::copy(&source, &target) {
                    Err(error) if error.kind() == io::ErrorKind::NotFound => {}
                    copied => {
                        copied?;
                    }
                }
            }
        }
    }
    Ok(())
}
