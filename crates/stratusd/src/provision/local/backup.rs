//! Backups: copies of all files of a database, and its whole log since the first of them, from which
//! it can be restored to any time in between.
//!
//! The server of a database waits with each part of its log until this service has copied it, so a log
//! that cannot be archived fills the storage of its database, and nobody else's. Nothing of a backup
//! belongs to the user of a server, so the owner of a database cannot change its backups.

mod archive;
mod base;
mod keeper;
mod log;
mod offline;
mod pack;
mod restore;
mod timeline;

pub(super) use archive::Archive;
pub(super) use keeper::{COPIES, Keeper, is_log_ready};
pub(super) use log::{FOLDER, archived_until, archiving};
pub use offline::restore_files;
pub(super) use restore::recovery;

use tokio::task::spawn_blocking;

use super::Inner;
use super::files::failed;
use super::folder::name;
use crate::provision::ProvisionError;

impl Inner {
    /// Returns the backups of a database.
    pub(super) fn archive(&self, id: &str) -> Result<Archive, ProvisionError> {
        Ok(Archive::new(self.config.backup_folder.join(name(id)?)))
    }

    /// Removes the backups of a database.
    pub(super) async fn remove_archive(&self, id: &str) -> Result<(), ProvisionError> {
        let archive = self.archive(id)?;
        let removed = spawn_blocking(move || archive.remove()).await;
        let removed = removed.expect("it does not panic");
        removed.map_err(|error| failed("the folder of backups", &error))
    }
}
