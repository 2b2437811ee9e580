//! The folder with the backups of a database.
//!
//! ```text
//! pg…/base/20260301T090000Z.tar.gz          all files of the database, at a time
//! pg…/base/20260301T090000Z.json            what the copy is; written last, so it is complete if it exists
//! pg…/log/000000010000000000000002.gz       a part of the log
//! ```

use std::fs;
use std::io;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::super::files::{self, failed, open_to_servers, private, replace};
use super::log;
use super::timeline::History;
use crate::provision::{Backup, ProvisionError};

/// The size in bytes that a file counts as at least: the share of the disk for which common file systems
/// have one entry, so that no owner of a database uses up all entries by empty parts of a log.
const LEAST_SIZE: u64 = 16 << 10;
/// How many files take all the room that backups may have, if all are small. They are listed often.
const MOST_FILES: u64 = 100_000;
/// How many copies of a database are kept.
const KEPT: usize = 8;
/// The size of a part of the log in bytes, with which `initdb` makes all databases.
const PART: i64 = 16 << 20;
/// The number of parts after which the first of the two numbers in a part's name is one more.
const PARTS: i64 = (4 << 30) / PART;

/// The backups of a database.
#[derive(Debug, Clone)]
pub(in super::super) struct Archive {
    folder: PathBuf,
}

/// A copy of all files of a database.
///
/// Copies are in the order of the log, and not of their times: the clock may have been wrong when one of
/// them was made.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub(super) struct Base {
    /// The part of the log at which the copy begins.
    pub(super) begins: String,
    /// The content of the file `backup_label` that a server needs to begin there.
    pub(super) label: String,
    /// The position in the log at which it ends.
    #[serde(default)]
    pub(super) ends: i64,
    /// The time at which the copy was complete, in seconds since 1970. The database can be restored to
    /// this time and later ones.
    pub(super) ended_at: i64,
    /// Whether that time is known to be wrong: it was yet to come when the copy was looked at later.
    #[serde(default)]
    pub(super) is_time_wrong: bool,
}

impl Base {
    /// Returns whether a part of the log has changes since the copy.
    ///
    /// The part after the last one of the copy does not count: a server that does nothing writes it too,
    /// at its next checkpoint. Nor do parts that a killed primary has left on an earlier timeline.
    fn is_before(&self, part: &str) -> bool {
        let timeline = |name: &str| name.get(..8).map(ToOwned::to_owned);
        let position = log::position(part);
        let last = match self.ends {
            // Not recorded by programs before this one.
            0 => log::position(&self.begins).map(ToOwned::to_owned),
            ends => Some(position_of((ends - 1).saturating_add(PART))),
        };
        timeline(part) >= timeline(&self.begins) && position > last.as_deref()
    }
}

/// Returns the position of the part of the log that has a byte, as its name has it.
fn position_of(byte: i64) -> String {
    let part = byte / PART;
    format!("{:08X}{:08X}", part / PARTS, part % PARTS)
}

impl Archive {
    /// Returns the backups in a folder, which need not exist.
    pub(in super::super) fn new(folder: PathBuf) -> Self {
        Self { folder }
    }

    /// Creates the folder.
    pub(in super::super) fn make(&self) -> Result<(), ProvisionError> {
        let make = || {
            open_to_servers(&self.folder)?;
            open_to_servers(&self.log())?;
            // Copies have all data of the database, and servers need not see them as they see the
            // log.
            private(&self.base())
        };
        make().map_err(|error| failed("the folder of backups", &error))
    }

    /// Removes the folder.
    pub(in super::super) fn remove(&self) -> io::Result<()> {
        match fs::remove_dir_all(&self.folder) {
            Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(()),
            removed => removed,
        }
    }

    /// Returns whether the folder exists.
    pub(super) fn exists(&self) -> bool {
        self.folder.is_dir()
    }

    /// Returns the folder of the log. Servers can see whether it has a file whose name they know.
    pub(in super::super) fn log(&self) -> PathBuf {
        self.folder.join("log")
    }

    /// Returns the path of the copy with a key.
    pub(super) fn file(&self, key: &str) -> PathBuf {
        self.base().join(format!("{key}.tar.gz"))
    }

    fn base(&self) -> PathBuf {
        self.folder.join("base")
    }

    /// Records what the copy with a key is, which is complete by that.
    pub(super) fn add(&self, key: &str, base: &Base) -> Result<(), ProvisionError> {
        let text = serde_json::to_vec_pretty(base).expect("a record is JSON");
        replace(&self.base().join(format!("{key}.json")), &text, None)
    }

    /// Returns whether a part of the log is archived.
    pub(super) fn has_part(&self, name: &str) -> bool {
        self.log().join(format!("{name}.gz")).exists()
    }

    /// Returns the complete copies with their keys, the oldest first.
    pub(super) fn copies(&self) -> Result<Vec<(String, Base)>, ProvisionError> {
        let mut copies = Vec::new();
        for name in names(&self.base())? {
            if let Some(key) = name.strip_suffix(".json") {
                copies.push((key.to_owned(), self.read(key)?));
            }
        }
        copies.sort_by(|(key, base), (other, than)| {
            let (order, than) = ((&base.begins, base.ends), (&than.begins, than.ends));
            order.cmp(&than).then_with(|| key.cmp(other))
        });
        Ok(copies)
    }

    /// Returns what the copy with a key is.
    fn read(&self, key: &str) -> Result<Base, ProvisionError> {
        let path = self.base().join(format!("{key}.json"));
        let text = fs::read(&path).map_err(|error| failed(&path.display().to_string(), &error))?;
        let base = serde_json::from_slice(&text);
        base.map_err(|error| ProvisionError::Failed(format!("{}: {error}", path.display())))
    }

    /// Returns the copies with their keys from which the log leads to now, the oldest first.
    pub(super) fn usable(&self) -> Result<Vec<(String, Base)>, ProvisionError> {
        let history = History::read(self)?;
        let mut copies = self.copies()?;
        copies.retain(|(_, base)| history.continues(base));
        Ok(copies)
    }

    /// Returns the usable copies with their keys whose times can be relied on, the oldest first. `now` is in
    /// seconds since 1970.
    ///
    /// A copy whose time is before that of an earlier one is left out: the clock was set back in between, so
    /// it may have what was written after its time. So are copies whose time is yet to come.
    pub(super) fn timed(&self, now: i64) -> Result<Vec<(String, Base)>, ProvisionError> {
        let mut usable = self.usable()?;
        let mut newest = i64::MIN;
        usable.retain(|(_, base)| {
            // The time of a copy is rounded up.
            let is_in_order = (newest..=now.saturating_add(1)).contains(&base.ended_at);
            let is_right = is_in_order && !base.is_time_wrong;
            if is_right {
                newest = base.ended_at;
            }
            is_right
        });
        Ok(usable)
    }

    /// Returns the times of the first copy and of the last, in seconds since 1970, between which the
    /// database can be restored if its log is archived. `now` is the present time.
    pub(in super::super) fn times(&self, now: i64) -> Result<Option<(i64, i64)>, ProvisionError> {
        if !self.exists() {
            return Ok(None);
        }
        let timed = self.timed(now)?;
        let times = timed.first().zip(timed.last());
        Ok(times.map(|((_, first), (_, last))| (first.ended_at, last.ended_at)))
    }

    /// Returns the backups as the service shows them, the oldest first.
    pub(in super::super) fn shown(&self) -> Result<Vec<Backup>, ProvisionError> {
        if !self.exists() {
            return Ok(Vec::new());
        }
        let shown = |(key, base): (String, Base)| Backup {
            key,
            last_modified: base.ended_at,
        };
        Ok(self.usable()?.into_iter().map(shown).collect())
    }

    /// Removes the oldest copies: those beyond [`KEPT`], and as many as it takes until all files have
    /// at most `most` bytes, but never the last one. Copies from which the log does not lead to now go
    /// first. Removes the parts of the log and the unfinished files that no copy needs.
    pub(super) fn prune(&self, most: u64) -> Result<(), ProvisionError> {
        let io = |error| failed("the folder of backups", &error);
        let history = History::read(self)?;
        let mut copies = self.copies()?;
        while copies.len() > 1 && (copies.len() > KEPT || self.size(most)? > most) {
            let first = copies.iter().position(|(_, base)| !history.continues(base));
            let (key, _) = copies.remove(first.unwrap_or(0));
            // In this order, so that a copy is complete as long as it is listed.
            fs::remove_file(self.base().join(format!("{key}.json"))).map_err(io)?;
            self.prune_to(&copies)?;
        }
        self.prune_to(&copies)
    }

    /// Removes what none of these copies needs.
    fn prune_to(&self, copies: &[(String, Base)]) -> Result<(), ProvisionError> {
        let firsts = copies.iter().map(|(_, base)| base.begins.as_str());
        if let Some(first) = firsts.min_by_key(|begins| log::position(begins)) {
            self.prune_log(first)?;
        }
        self.prune_base(copies)
    }

    /// Removes the parts of the log before one.
    fn prune_log(&self, first: &str) -> Result<(), ProvisionError> {
        let is_before = |name: &str| {
            // A history of timelines has no position, and is kept.
            log::position(name).is_some_and(|position| Some(position) < log::position(first))
        };
        for name in names(&self.log())? {
            if is_before(&name) {
                let removed = fs::remove_file(self.log().join(name));
                removed.map_err(|error| failed("the folder of backups", &error))?;
            }
        }
        Ok(())
    }

    /// Removes the files that belong to none of these copies.
    fn prune_base(&self, copies: &[(String, Base)]) -> Result<(), ProvisionError> {
        for name in names(&self.base())? {
            let key = name.split('.').next().unwrap_or_default();
            if !copies.iter().any(|(kept, _)| kept == key) {
                let removed = fs::remove_file(self.base().join(name));
                removed.map_err(|error| failed("the folder of backups", &error))?;
            }
        }
        Ok(())
    }

    /// Returns the size of all files in bytes, as they count if all may have `most`.
    pub(super) fn size(&self, most: u64) -> Result<u64, ProvisionError> {
        let mut sum = 0;
        for folder in [self.base(), self.log()] {
            for name in names(&folder)? {
                // It may be renamed meanwhile.
                sum += fs::metadata(folder.join(name)).map_or(0, |file| counted(&file, most));
            }
        }
        Ok(sum)
    }

    /// Returns how many bytes of the log with changes since a copy are archived, as they count if all
    /// files may have `most`.
    pub(super) fn logged_after(&self, base: &Base, most: u64) -> Result<u64, ProvisionError> {
        let mut sum = 0;
        for name in names(&self.log())? {
            if base.is_before(&name) {
                // It may be removed meanwhile.
                sum += fs::metadata(self.log().join(name)).map_or(0, |file| counted(&file, most));
            }
        }
        Ok(sum)
    }
}

/// Returns the size that a file counts as, in bytes, if all may have `most`.
fn counted(file: &fs::Metadata, most: u64) -> u64 {
    file.len().max(LEAST_SIZE).max(most / MOST_FILES)
}

/// Returns the names of the files in a folder.
pub(super) fn names(folder: &Path) -> Result<Vec<String>, ProvisionError> {
    files::names(folder).map_err(|error| failed(&folder.display().to_string(), &error))
}
