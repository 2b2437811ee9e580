//! The disk of the machine: what a power cut leaves of the files of a database.

use std::path::{Path, PathBuf};

use super::Host;
use crate::cloud::Leases;

/// The size of the pieces in which a disk writes.
const SECTOR: usize = 512;

/// The length of the header of the log, which SQLite writes and syncs before what comes after it.
const LOG_HEADER: usize = 32;

impl Host {
    /// Writes files as the disk has them, and moves to them.
    pub(super) fn write(&self, image: &Image) {
        let number = self.files.get();
        self.files.set(number + 1);
        let file = self.folder.path().join(format!("{number}.db"));
        std::fs::write(&file, &image.database).expect("the folder is writable");
        if !image.log.is_empty() {
            std::fs::write(log_of(&file), &image.log).expect("the folder is writable");
        }
        self.ground.move_to(file);
        // A power cut takes commits back.
        self.leases.replace(Leases::of(&self.ground));
    }

    /// Cuts the power, after which the disk has an image.
    pub(super) fn cut_power(&self, image: &Image) {
        self.ground.trace(format_args!("the power is cut"));
        self.drop_all();
        self.write(image);
    }

    /// Returns a log of whose last writes the disk has only some.
    pub(super) fn tear(&self, before: &[u8], after: &[u8]) -> Vec<u8> {
        let mut torn = before.to_vec();
        torn.resize(after.len().max(before.len()), 0);
        if before.get(..LOG_HEADER) != after.get(..LOG_HEADER) {
            if self.once_in(3) || after.len() < LOG_HEADER {
                return before.to_vec();
            }
            torn[..LOG_HEADER].copy_from_slice(&after[..LOG_HEADER]);
        }
        // Mostly all or most of it, so that single sectors are what is missing.
        let most = [2, 4, 50][usize::try_from(self.below(3)).unwrap_or_default()];
        for (number, sector) in after.chunks(SECTOR).enumerate() {
            let is_header = number == 0;
            if is_header || !self.once_in(most) {
                let at = number * SECTOR;
                torn[at..at + sector.len()].copy_from_slice(sector);
            }
        }
        if self.once_in(3) {
            let new = torn.len() - before.len().min(torn.len());
            let gone = self.below(i64::try_from(new + 1).unwrap_or(1));
            torn.truncate(torn.len() - usize::try_from(gone).unwrap_or_default());
        }
        torn
    }
}

/// The database and its log.
pub(super) struct Image {
    pub(super) database: Vec<u8>,
    pub(super) log: Vec<u8>,
}

impl Image {
    pub(super) fn of(file: &Path) -> Self {
        Self {
            database: std::fs::read(file).expect("the file can be read"),
            log: std::fs::read(log_of(file)).unwrap_or_default(),
        }
    }
}

pub(super) fn log_of(file: &Path) -> PathBuf {
    let mut path = file.as_os_str().to_owned();
    path.push("-wal");
    path.into()
}
