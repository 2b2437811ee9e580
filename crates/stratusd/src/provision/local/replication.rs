//! The standbys of a database. Each begins as a copy of the primary, and then reads the primary's
//! log as it is written. If the primary is killed, a standby becomes the primary.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::sync::PoisonError;
use std::time::Duration;

use rustix::process::Pid;
use tokio::process::Command;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep, timeout};

use super::files::{User, failed, open_to_servers, private};
use super::folder::{self, Database, Record};
use super::member::{self, DATA, Member, SOCKET};
use super::session::Session;
use super::{Inner, cluster, configuration, control, owner, server, session};
use crate::provision::{Progress, ProvisionError};

/// The pause before a switch is tried again for which there is no standby yet.
const NO_STANDBY: Duration = Duration::from_secs(2);

/// How long a standby may run without reading the log of the primary.
const SILENT: Duration = Duration::from_mins(1);
/// How long standbys have to read what a primary has sent before it ended.
const LAST_READ: Duration = Duration::from_secs(5);
/// How often a standby that reads is looked at.
const LOOK: Duration = Duration::from_millis(10);
/// How long the copy of a small cluster may take.
const LEAST_COPY_TIME: Duration = Duration::from_mins(2);
/// The number of bytes that are copied in a second at least.
const LEAST_COPIED: u64 = 16 << 20;
/// How often a database whose primary is copied is looked at.
const COPY_LOOK: Duration = Duration::from_millis(200);
/// How long a copy that is complete waits for other steps of its database.
const COPY_WAIT: Duration = Duration::from_mins(2);

/// Makes a copied cluster a standby. The script gets the content of the file `backup_label`.
const FINISH: &str = "cat > backup_label && : > standby.signal";

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
            let Ok(turn) = self.copying.try_acquire() else {
                // The supervisor comes again.
                return Ok(());
            };
            let Some(copied) = self.copy(database, member, copying).await? else {
                return Ok(());
            };
            drop(turn);
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

    /// Makes a standby: a copy of the primary while that runs. The database is not locked meanwhile.
    /// Returns it, locked again, or `None` if the copy is given up, because the database has changed. The
    /// supervisor then removes what is left of the copy when it comes again.
    async fn copy(
        &self,
        database: Database,
        member: Member,
        copying: &File,
    ) -> Result<Option<Database>, ProvisionError> {
        let io = |error| failed("the folder of a standby", &error);
        self.remove_member(&database, member).await?;
        let primary = database.record.primary;
        let client = session::connect(&database, primary).await?;
        if client.has_tablespaces().await? {
            let wrong = "a database with tablespaces cannot have standbys";
            return Err(ProvisionError::Failed(wrong.to_owned()));
        }
        let (folder, socket, new, data) = (
            database.locked.path(member.name()),
            member.path(&database.locked, SOCKET),
            member.path(&database.locked, "new"),
            member.path(&database.locked, DATA),
        );
        // Before the slot, so that the supervisor finds what a copy which was cut off has left.
        open_to_servers(&folder).map_err(io)?;
        for folder in [&new, &socket] {
            private(folder)
                .and_then(|()| owner::give(folder, database.user()))
                .map_err(io)?;
        }
        // The primary keeps its log from now on until the standby has it.
        client.make_slot(member.name()).await?;
        client.begin_backup().await?;
        let from = primary.path(&database.locked, DATA);
        let (user, most) = (database.user(), copy_time(self.storage(&database)));
        // Others may change the database from here on.
        let copy = StandbyCopy::begin(database, member)?;
        let made = async {
            copy_cluster(user, copying, &from, &new, most).await?;
            let label = client.end_backup().await?;
            cluster::finish(&new, user, FINISH, &label).await
        };
        let made = tokio::select! {
            made = made => made,
            ended = copy.watch(&client) => ended,
        };
        if copy.is_of_use()? {
            made?;
        } else {
            copy.note_end();
            return Ok(None);
        }
        let Some(mut database) = self.lock_again(&copy).await? else {
            copy.note_end();
            return Ok(None);
        };
        // Named last, so that a copy which was cut off is not taken for the data of a server.
        fs::rename(&new, &data).map_err(io)?;
        database.record.standbys.push(member);
        database.record.commits_wait = false;
        database.write()?;
        self.start(&database, member).await?;
        Ok(Some(database))
    }

    /// Locks a database again whose primary was copied. Returns `None` if the copy cannot become a
    /// standby of it any more.
    async fn lock_again(&self, copy: &StandbyCopy) -> Result<Option<Database>, ProvisionError> {
        let begun = Instant::now();
        while copy.read()?.is_some() {
            if let Some(locked) = self.folder.lock(&copy.id)? {
                let record = copy.read()?;
                let data = copy.record.primary.path(&locked, DATA);
                // Without a primary, the standby would never have enough of its log to start.
                let is_up = server::pid(&data)?.is_some();
                let record = record.filter(|_| is_up);
                return Ok(record.map(|record| Database { locked, record }));
            }
            if begun.elapsed() > COPY_WAIT {
                let wrong = "another step takes so long that the copy of a standby is given up";
                return Err(ProvisionError::Failed(wrong.to_owned()));
            }
            sleep(LOOK).await;
        }
        Ok(None)
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
        let lock = database.locked.inherited()?;
        let removed = spawn_blocking(move || {
            let removed = if folder.exists() {
                fs::remove_dir_all(folder)
            } else {
                Ok(())
            };
            drop(lock);
            removed
        });
        let removed = removed.await.expect("it does not panic");
        removed.map_err(|error| failed("the folder of a standby", &error))
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
            if data.join("standby.signal").exists() {
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

/// A copy of a primary that is to become a standby, of a database that is not locked.
struct StandbyCopy {
    id: String,
    /// The folder of the database.
    folder: PathBuf,
    /// The database when the copy began.
    record: Record,
    /// The process of its primary then.
    primary: Pid,
    /// The server that the copy is for.
    member: Member,
}

impl StandbyCopy {
    /// Begins a copy for a member. Unlocks the database.
    fn begin(database: Database, member: Member) -> Result<Self, ProvisionError> {
        let Database { locked, record } = database;
        let primary = server::pid(&record.primary.path(&locked, DATA))?;
        let gone = || ProvisionError::Failed("the server has ended".to_owned());
        Ok(Self {
            id: locked.id().to_owned(),
            folder: locked.path(""),
            primary: primary.ok_or_else(gone)?,
            record,
            member,
        })
    }

    /// Returns what is recorded of the database now, or `None` if the copy cannot become a standby of it
    /// any more: if it is deleted, has another primary, was upgraded or has standbys enough.
    fn read(&self) -> Result<Option<Record>, ProvisionError> {
        let (then, now) = (&self.record, folder::read(&self.folder)?);
        Ok(now.filter(|now| {
            now.primary == then.primary
                && now.timeline == then.timeline
                && now.shape.version == then.shape.version
                && now.promoted.is_none()
                && now.upgrade.is_none()
                && !now.standbys.contains(&self.member)
                && now.standbys.len() < standbys(now)
        }))
    }

    /// Returns whether going on is of use: not if a server of the database has ended either, which the
    /// supervisor starts again or replaces once the copy has ended.
    fn is_of_use(&self) -> Result<bool, ProvisionError> {
        let Some(now) = self.read()? else {
            return Ok(false);
        };
        let pid = |member: Member| server::pid(&self.folder.join(member.name()).join(DATA));
        for standby in &now.standbys {
            if pid(*standby)?.is_none() {
                return Ok(false);
            }
        }
        // A server that was started again knows nothing of the copy.
        Ok(pid(now.primary)? == Some(self.primary))
    }

    /// Watches the database until going on is of no use.
    ///
    /// # Errors
    ///
    /// If the session in which the copy was begun has ended, as the owner of the database can have it.
    async fn watch(&self, session: &Session) -> Result<(), ProvisionError> {
        while self.is_of_use()? {
            if session.is_closed() {
                let wrong = "the server has ended the session in which a standby was copied";
                return Err(ProvisionError::Failed(wrong.to_owned()));
            }
            sleep(COPY_LOOK).await;
        }
        Ok(())
    }

    /// Logs that the copy is given up.
    fn note_end(&self) {
        tracing::info!(
            database = self.id,
            "the copy of a standby is given up, since the database has changed meanwhile"
        );
    }
}

/// Copies a cluster while its server runs. Both commands run as the user of the server: in a
/// folder that the owner of the database can change, a copy by the service could be led
/// elsewhere by links.
async fn copy_cluster(
    user: User,
    copying: &File,
    from: &Path,
    to: &Path,
    most: Duration,
) -> Result<(), ProvisionError> {
    let io = |error| failed("tar", &error);
    let lock = || copying.try_clone().map_err(io);
    let mut pack = theirs(user, cluster::pack(from));
    let pack = pack.stdin(lock()?).stdout(Stdio::piped());
    let mut pack = pack.spawn().map_err(io)?;
    let packed = pack.stdout.take().map(TryInto::<Stdio>::try_into);
    let packed = packed.ok_or_else(|| ProvisionError::Failed("tar has no output".to_owned()))?;
    let mut unpack = theirs(user, cluster::unpack(to));
    unpack.stdin(packed.map_err(io)?).stdout(lock()?);
    let mut unpacking = unpack.spawn().map_err(io)?;
    // With it the reading end of the pipe, so that one program ends with the other.
    drop(unpack);
    let copied = timeout(most, async { tokio::join!(pack.wait(), unpacking.wait()) }).await;
    let late = |_| ProvisionError::Failed("the copy of the cluster stands still".to_owned());
    let (packed, unpacked) = copied.map_err(late)?;
    // 1: a file has changed or was removed meanwhile, which the log of the primary has.
    let is_packed = matches!(packed.map_err(io)?.code(), Some(0 | 1));
    if is_packed && unpacked.map_err(io)?.success() {
        Ok(())
    } else {
        Err(ProvisionError::Failed(
            "the cluster cannot be copied".to_owned(),
        ))
    }
}

/// Returns how many standbys a database is to have.
fn standbys(record: &Record) -> usize {
    let wanted = member::standbys(&record.shape.ha_type);
    // One of an earlier version, which took kinds that it did not know.
    wanted.unwrap_or(record.standbys.len())
}

/// Returns how long the copy of a cluster may take: its owner can stop the programs that make it.
pub(super) fn copy_time(storage: u64) -> Duration {
    // It may have more than its storage for a moment.
    let bytes = storage.saturating_mul(2);
    LEAST_COPY_TIME + Duration::from_secs(bytes / LEAST_COPIED)
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

/// Makes a command that copies a cluster run as the user of its servers. It ends if it is given up.
fn theirs(user: User, mut command: Command) -> Command {
    command.stderr(Stdio::null()).kill_on_drop(true);
    server::as_user(&mut command, user);
    command
}
