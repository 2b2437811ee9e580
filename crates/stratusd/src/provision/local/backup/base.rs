//! Copies of all files of a database, taken while its server runs.

use jiff::civil::DateTime;
use jiff::tz::TimeZone;
use jiff::{Timestamp, ToSpan as _};

use super::super::folder::{Database, Record};
use super::super::member::DATA;
use super::super::{Inner, cluster, session};
use super::archive::{Archive, Base};
use super::pack::pack;
use crate::provision::ProvisionError;

/// The key of a copy: the time at which it begins, in UTC.
const KEY: &str = "%Y%m%dT%H%M%SZ";
/// The size of the log, in bytes, that a small database may have before it is copied again.
const LEAST_LOG: u64 = 64 << 20;

impl Inner {
    /// Returns whether a database should be copied: if there is no copy of the timeline that it is on, if
    /// the time of the last copy is wrong, if the database has changed and the last copy is old, or if its
    /// log is larger than its storage. Removes backups that are not kept.
    pub(super) fn is_copy_due(
        &self,
        database: &Database,
        archive: &Archive,
    ) -> Result<bool, ProvisionError> {
        let most = self.most_archived(&database.record);
        archive.prune(most)?;
        let (newest, usable) = (archive.copies()?.pop(), archive.usable()?);
        let Some((key, base)) = usable.last() else {
            return Ok(true);
        };
        // Rounded up, as the time of a copy is.
        let age = self.world.now().saturating_add(999) / 1000 - base.ended_at;
        let is_time_wrong = age < 0 || base.is_time_wrong;
        if age < 0 && !base.is_time_wrong {
            let wrong = Base {
                is_time_wrong: true,
                ..base.clone()
            };
            archive.add(key, &wrong)?;
        }
        // After a failover, the newest copy may have what was lost, so the log has a long way to go.
        let timeline = format!("{:08X}", database.record.timeline);
        let is_copied = |(_, base): &(String, Base)| base.begins.starts_with(&timeline);
        let is_newest = newest.is_some_and(|(newest, _)| newest == *key);
        if !is_newest && !usable.iter().any(is_copied) {
            return Ok(true);
        }
        let logged = archive.logged_after(base, most)?;
        let every = i64::try_from(self.config.backup_every.as_secs()).unwrap_or(i64::MAX);
        let is_large = logged > self.storage(&database.record).max(LEAST_LOG);
        // The database may have no other copy from which it can be restored to a time.
        Ok(is_time_wrong || is_large || logged > 0 && age >= every)
    }

    /// Returns how many bytes the backups of a database may have: four times its storage, and what a
    /// small database needs.
    pub(super) fn most_archived(&self, record: &Record) -> u64 {
        self.storage(record)
            .saturating_mul(4)
            .saturating_add(LEAST_LOG)
    }

    /// Returns the storage of a database in bytes.
    pub(in super::super) fn storage(&self, record: &Record) -> u64 {
        let gib = u64::try_from(record.shape.storage_size_gib).unwrap_or_default();
        gib.saturating_mul(self.config.bytes_per_gib)
    }

    /// Copies all files of a database. Other steps for it go on as soon as its server knows of the
    /// copy.
    pub(super) async fn back_up(&self, database: Database) -> Result<(), ProvisionError> {
        let archive = self.archive(database.locked.id())?;
        let primary = database.record.primary;
        let session = session::connect(&database, primary).await?;
        // Servers that were started by an earlier version of the service do so after their next start.
        if !session.archives().await? {
            return Ok(());
        }
        if session.has_tablespaces().await? {
            let wrong = "a database with tablespaces cannot be backed up";
            return Err(ProvisionError::Failed(wrong.to_owned()));
        }
        session.begin_backup().await?;
        let key = self.key(&archive)?;
        // Twice its storage: what is full stops growing, and the service looks now and then only.
        let most = self
            .storage(&database.record)
            .saturating_mul(2)
            .max(LEAST_LOG);
        let (user, data) = (database.user(), primary.path(&database.locked, DATA));
        drop(database);
        pack(
            cluster::pack(&data),
            user,
            &archive.file(&key),
            most,
            // tar ends with 1 if a file has changed while it was read, and the log has such
            // changes.
            &[0, 1],
        )
        .await?;
        let (label, ends) = session.end_backup_archived().await?;
        let begins = begins(&label);
        let begins =
            begins.ok_or_else(|| ProvisionError::Failed("a backup has no beginning".to_owned()))?;
        let base = Base {
            begins: begins.to_owned(),
            // Rounded up, so that the copy is complete at this time.
            ended_at: self.world.now().saturating_add(999) / 1000,
            label,
            ends,
            is_time_wrong: false,
        };
        archive.add(&key, &base)
    }

    /// Returns the key of a copy that begins now. It is greater than those of earlier copies, also if the
    /// clock is behind what it was then.
    fn key(&self, archive: &Archive) -> Result<String, ProvisionError> {
        let copies = archive.copies()?;
        let times = copies
            .iter()
            .filter_map(|(key, _)| DateTime::strptime(KEY, key).ok());
        let clock = |error| ProvisionError::Failed(format!("the clock: {error}"));
        let now = Timestamp::from_millisecond(self.world.now()).map_err(clock)?;
        let mut time = TimeZone::UTC.to_datetime(now);
        if let Some(last) = times.max() {
            time = time.max(last.checked_add(1.second()).map_err(clock)?);
        }
        Ok(time.strftime(KEY).to_string())
    }
}

/// Returns the part of the log at which a backup begins, by its label.
fn begins(label: &str) -> Option<&str> {
    let line = label
        .lines()
        .find(|line| line.starts_with("START WAL LOCATION: "))?;
    let (_, file) = line.split_once("(file ")?;
    file.strip_suffix(')').filter(|file| file.len() == 24)
}
