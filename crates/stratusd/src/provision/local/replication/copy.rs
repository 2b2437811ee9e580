//! A copy of a primary while that runs, which becomes a standby. Other steps of the database go on
//! meanwhile.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use rustix::process::Pid;
use tokio::process::Command;
use tokio::time::{Instant, sleep, timeout};

use super::super::files::{User, failed, open_to_servers, private};
use super::super::folder::{self, Database, Record};
use super::super::member::{DATA, Member, SOCKET};
use super::super::session::Session;
use super::super::{Inner, cluster, owner, server, session};
use super::{LOOK, standbys};
use crate::provision::ProvisionError;

/// How long the copy of a small cluster may take.
const LEAST_COPY_TIME: Duration = Duration::from_mins(2);
/// The number of bytes that are copied in a second at least.
const LEAST_COPIED: u64 = 16 << 20;
/// How often a database whose primary is copied is looked at.
const WATCH: Duration = Duration::from_millis(200);
/// How long a copy that is complete waits for other steps of its database.
const COPY_WAIT: Duration = Duration::from_mins(2);

impl Inner {
    /// Makes a standby: a copy of the primary while that runs. The database is not locked meanwhile.
    /// Returns it, locked again, or `None` if the copy is given up, because the database has changed. The
    /// supervisor then removes what is left of the copy when it comes again.
    pub(super) async fn copy(
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
        let (user, most) = (database.user(), copy_time(self.storage(&database.record)));
        // Others may change the database from here on.
        let copy = StandbyCopy::begin(database, member)?;
        let made = async {
            copy_cluster(user, copying, &from, &new, most).await?;
            let label = client.end_backup().await?;
            cluster::finish(&new, user, cluster::STANDBY, &label).map_err(io)
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
            sleep(WATCH).await;
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

/// Returns how long the copy of a cluster may take: its owner can stop the programs that make it.
pub(in crate::provision::local) fn copy_time(storage: u64) -> Duration {
    // It may have more than its storage for a moment.
    let bytes = storage.saturating_mul(2);
    LEAST_COPY_TIME + Duration::from_secs(bytes / LEAST_COPIED)
}

/// Makes a command that copies a cluster run as the user of its servers. It ends if it is given up.
fn theirs(user: User, mut command: Command) -> Command {
    command.stderr(Stdio::null()).kill_on_drop(true);
    server::as_user(&mut command, user);
    command
}
