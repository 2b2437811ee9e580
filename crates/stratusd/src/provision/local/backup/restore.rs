//! The creation of a database with the data that another one had at a time.

use std::fs::{self, Permissions};
use std::io;
use std::os::unix::fs::{PermissionsExt as _, chown};
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::time::Duration;

use jiff::Timestamp;
use tokio::task::spawn_blocking;
use tokio::time::{Instant, sleep};

use super::super::files::{User, failed, names, open_to_servers};
use super::super::folder::{Database, Locked};
use super::super::member::DATA;
use super::super::places::Place;
use super::super::{Inner, cluster, server, session};
use super::archive::Base;
use super::{Archive, log};
use crate::provision::{Progress, ProvisionError, Restored};

/// The folder within that of a database with the log that it is restored from.
const LOG: &str = "restore";
/// How long a step waits for a server that recovers, before it lets other databases have their turn.
const PATIENCE: Duration = Duration::from_secs(5);
/// How often such a server is looked at.
const LOOK: Duration = Duration::from_millis(50);
/// How long the log of the other database may take until it is archived.
const ARCHIVED: Duration = Duration::from_secs(20);

impl Inner {
    /// Unpacks a copy of another database into a folder of a user, and puts the log since into the
    /// folder of the database.
    pub(in super::super) async fn unpack(
        &self,
        locked: &Locked,
        restored: &Restored,
        to: &Path,
        user: User,
        place: Option<Arc<Place>>,
    ) -> Result<(), ProvisionError> {
        let io = |error| failed("the folder of a database", &error);
        let archive = self.archive(&restored.from)?;
        // Asked first, since a failover may change which copies are of use.
        self.archive_until_now(&restored.from, &archive).await?;
        let (key, base) = latest(&archive, Some(restored.until), self.world.now() / 1000)?;
        // Open, so that it can be read even if it is not kept any longer. The log is copied before it is
        // unpacked, as the log may not be kept either.
        let file = fs::File::open(archive.file(&key)).map_err(io)?;
        let (to_log, begins) = (locked.path(LOG), base.begins.clone());
        // It goes on if this step is cancelled, and a deletion waits for the lock. It keeps its place then.
        let held = (locked.inherited()?, place.clone());
        let copy = move || {
            let copied = copy_log(&archive, &begins, &to_log, user);
            drop(held);
            copied
        };
        let copied = spawn_blocking(copy).await;
        copied.expect("it does not panic").map_err(io)?;
        let mut tar = cluster::unpack(to);
        tar.arg("--gzip")
            .stdin(file)
            // Holds the lock for as long as it runs, also if this process is killed.
            .stdout(locked.inherited()?)
            .stderr(Stdio::null())
            .kill_on_drop(true);
        server::as_user(&mut tar, user);
        if !tar.status().await.map_err(io)?.success() {
            return Err(ProvisionError::Failed(
                "a backup cannot be unpacked".to_owned(),
            ));
        }
        cluster::finish(to, user, cluster::RECOVERY, &base.label).map_err(io)
    }

    /// Makes the archive of a database have everything that was committed until now, if its server
    /// runs.
    async fn archive_until_now(&self, id: &str, archive: &Archive) -> Result<(), ProvisionError> {
        let gone =
            || ProvisionError::Failed("the database that it is restored from is gone".to_owned());
        if !self.folder.has(id)? {
            return Err(gone());
        }
        // Held for a moment: what is read must not change before the server is asked.
        let locked = self.lock(id).await?;
        let record = locked.read()?.ok_or_else(gone)?;
        if record.upgrade.is_some() {
            let wrong = "the database that it is restored from is being upgraded";
            return Err(ProvisionError::Failed(wrong.to_owned()));
        }
        let other = Database { locked, record };
        let session = session::connect(&other, other.record.primary).await?;
        drop(other);
        let part = session.switch_log().await?;
        let begun = Instant::now();
        while !archive.has_part(&part) {
            if begun.elapsed() > ARCHIVED {
                let wrong = "the log of the other database is not archived in time";
                return Err(ProvisionError::Failed(wrong.to_owned()));
            }
            sleep(LOOK).await;
        }
        Ok(())
    }

    /// Lets the server of a database read the log up to the time that the database is restored to.
    pub(in super::super) async fn recover_until(
        &self,
        database: &mut Database,
    ) -> Result<Progress, ProvisionError> {
        let begun = Instant::now();
        let member = database.record.primary;
        let data = member.path(&database.locked, DATA);
        let mut child = match server::pid(&data)? {
            Some(_) => None,
            None if database.record.is_recovering => return Err(server::ended(database, member)),
            None => {
                // First, so that one that ends between two steps is not taken for one that never began.
                database.record.is_recovering = true;
                database.write()?;
                Some(self.launch(database, member)?)
            }
        };
        // It refuses connections until it has recovered.
        while !session::is_ready(database, member).await {
            if let Some(child) = &mut child {
                server::ensure_runs(child, database, member)?;
            } else if server::pid(&data)?.is_none() {
                return Err(server::ended(database, member));
            }
            if begun.elapsed() > PATIENCE {
                return Ok(Progress::Pending(PATIENCE));
            }
            sleep(LOOK).await;
        }
        let session = session::connect(database, member).await?;
        database.record.timeline = session.timeline().await?;
        drop(session);
        server::stop(database, member).await?;
        let log = database.locked.path(LOG);
        let remove = move || {
            if log.exists() {
                fs::remove_dir_all(log)
            } else {
                Ok(())
            }
        };
        let removed = spawn_blocking(remove).await.expect("it does not panic");
        removed.map_err(|error| failed("the folder of a database", &error))?;
        database.record.restored_until = None;
        database.record.is_recovering = false;
        database.write()?;
        Ok(Progress::Done)
    }
}

/// Returns the settings of a server that recovers until a time, in microseconds since 1970.
pub(in super::super) fn recovery(
    until: i64,
) -> Result<Vec<(&'static str, String)>, ProvisionError> {
    Ok(vec![
        (
            "restore_command",
            format!("gzip -dc \"../../{LOG}/%f.gz\" > \"%p\""),
        ),
        ("recovery_target_action", "promote".to_owned()),
        ("recovery_target_timeline", "latest".to_owned()),
        ("recovery_target_inclusive", "on".to_owned()),
        // The other database may have set these, beside which a time is refused. Unset before it.
        ("recovery_target", String::new()),
        ("recovery_target_lsn", String::new()),
        ("recovery_target_name", String::new()),
        ("recovery_target_xid", String::new()),
        ("recovery_target_time", target_time(until)?),
        // It would wait for this long before each commit.
        ("recovery_min_apply_delay", "0".to_owned()),
        ("hot_standby", "off".to_owned()),
        ("archive_mode", "off".to_owned()),
    ])
}

/// Returns a time, in microseconds since 1970, as a setting of a server has it. The offset is in digits,
/// since names of zones are not known yet when a server reads the setting.
pub(super) fn target_time(until: i64) -> Result<String, ProvisionError> {
    let until = Timestamp::from_microsecond(until);
    let until = until.map_err(|error| ProvisionError::Failed(format!("the time: {error}")))?;
    Ok(until.strftime("%Y-%m-%d %H:%M:%S%.6f+00").to_string())
}

/// Returns the last copy that was complete at a time, in microseconds since 1970, or at the end of the
/// log, with its key. `now` is in seconds since 1970.
pub(super) fn latest(
    archive: &Archive,
    until: Option<i64>,
    now: i64,
) -> Result<(String, Base), ProvisionError> {
    let latest = match until {
        None => archive.usable()?.pop(),
        Some(until) => {
            let is_complete = |base: &Base| base.ended_at.saturating_mul(1_000_000) <= until;
            let timed = archive.timed(now)?;
            timed.into_iter().rfind(|(_, base)| is_complete(base))
        }
    };
    let wrong = "there is no backup any more that was complete at the time to restore to";
    latest.ok_or_else(|| ProvisionError::Failed(wrong.to_owned()))
}

/// Copies the parts of a log from one on, for a user to read.
pub(super) fn copy_log(archive: &Archive, first: &str, to: &Path, user: User) -> io::Result<()> {
    if to.exists() {
        fs::remove_dir_all(to)?;
    }
    open_to_servers(to)?;
    for name in names(&archive.log())? {
        let part = name.strip_suffix(".gz");
        let is_needed = part.is_some_and(|part| {
            log::position(part).is_none_or(|position| Some(position) >= log::position(first))
        });
        if !is_needed {
            continue;
        }
        let copy = to.join(&name);
        fs::copy(archive.log().join(&name), &copy)?;
        if let Some((_, group)) = user {
            chown(&copy, None, Some(group))?;
        }
        fs::set_permissions(&copy, Permissions::from_mode(0o640))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Copies in the order of the log, each with its name and the second at which it was complete.
    fn archive(copies: &[(&str, i64)]) -> (tempfile::TempDir, Archive) {
        let folder = tempfile::tempdir().expect("there is room");
        let archive = Archive::new(folder.path().join("backups"));
        archive.make().expect("it can be made");
        for (number, (key, ended_at)) in (1..).zip(copies) {
            let base = Base {
                begins: format!("0000000100000000{number:08X}"),
                label: String::new(),
                ends: (number << 24) + 100,
                ended_at: *ended_at,
                is_time_wrong: false,
            };
            archive.add(key, &base).expect("it can be added");
        }
        (folder, archive)
    }

    #[test]
    fn a_copy_of_a_wrong_clock_is_not_taken_for_an_earlier_one() {
        // The third was made after the clock was set back, and the last by a clock that is ahead.
        let copies = [("c", 100), ("b", 200), ("a", 150), ("d", 300), ("e", 9_000)];
        let (_folder, archive) = archive(&copies);
        let chosen = |until: i64| {
            let latest = latest(&archive, Some(until * 1_000_000), 400);
            latest.map(|(key, _)| key).ok()
        };
        for (until, key) in [
            (99, None),
            (100, Some("c")),
            (160, Some("c")),
            (250, Some("b")),
            (300, Some("d")),
            (400, Some("d")),
        ] {
            assert_eq!(chosen(until).as_deref(), key, "{until}");
        }
        assert_eq!(
            archive.times(400).expect("it can be read"),
            Some((100, 300))
        );
        let (end, mut base) = latest(&archive, None, 400).expect("there is one");
        assert_eq!(end, "e");
        // Its time is not right when it has come, either.
        base.is_time_wrong = true;
        archive.add(&end, &base).expect("it can be added");
        let later = latest(&archive, Some(9_500 * 1_000_000), 9_900);
        assert_eq!(later.expect("there is one").0, "d");
    }

    #[test]
    fn only_changes_after_a_copy_count() {
        let (_folder, archive) = archive(&[("a", 100)]);
        let (_, base) = latest(&archive, None, 400).expect("there is one");
        // Sizes in that which each file counts as at least.
        let write = |name: &str, size: usize| {
            let part = archive.log().join(format!("{name}.gz"));
            fs::write(part, vec![0; size << 14]).expect("there is room");
        };
        let logged = || {
            archive
                .logged_after(&base, 1 << 30)
                .expect("it can be read")
                >> 14
        };
        // The parts of the copy, the one after it that always comes, a history, and what a killed
        // primary has left.
        write("000000010000000000000001", 1);
        write("000000010000000000000001.00000028.backup", 2);
        write("000000010000000000000002", 4);
        write("00000002.history", 8);
        write("000000000000000000000009", 16);
        assert_eq!(logged(), 0);
        write("000000010000000000000003", 32);
        write("000000020000000100000000", 64);
        assert_eq!(logged(), 96);
    }

    #[test]
    fn many_small_files_take_all_room() {
        let (_folder, archive) = archive(&[("a", 100)]);
        let (_, base) = latest(&archive, None, 400).expect("there is one");
        for part in 3..10 {
            let part = format!("0000000100000000{part:08X}.gz");
            fs::write(archive.log().join(part), [0]).expect("there is room");
        }
        // The record of the copy is a file, too.
        for (most, least) in [(1 << 30, 16 << 10), (100_000 << 20, 1 << 20)] {
            assert_eq!(archive.size(most).expect("it can be read"), 8 * least);
            let logged = archive.logged_after(&base, most);
            assert_eq!(logged.expect("it can be read"), 7 * least);
        }
    }
}
