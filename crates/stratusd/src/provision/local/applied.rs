//! Files of the service that servers read: what is in them, and what servers were last made to read.

use std::fs;
use std::path::Path;

use super::files::{User, failed, remove_file, replace};
use super::folder::Database;
use super::server;
use crate::provision::ProvisionError;

/// How the name of the file ends that has what servers were made to read.
const DONE: &str = "done";

/// Makes the servers of a database read a file with this content, unless they were made to.
pub(super) fn apply(database: &Database, name: &str, content: &str) -> Result<(), ProvisionError> {
    let folder = database.locked.path("");
    apply_by(&folder, database.user(), name, content, || {
        server::reload(database)
    })
}

fn apply_by(
    folder: &Path,
    reader: User,
    name: &str,
    content: &str,
    reload: impl FnOnce() -> Result<(), ProvisionError>,
) -> Result<(), ProvisionError> {
    let path = folder.join(name);
    let done = path.with_extension(DONE);
    let has = |path: &Path| fs::read_to_string(path).is_ok_and(|there| there == content);
    // Both: an earlier version of the service changed the file first.
    if has(&done) && has(&path) {
        return Ok(());
    }
    write(folder, reader, name, content)?;
    reload()?;
    // Last, so that a service which is killed in between does it again.
    replace(&done, content.as_bytes(), None)
}

/// Writes a file in the folder of a database for servers that start later, which [`apply`] counts as not
/// read by any.
pub(super) fn write(
    folder: &Path,
    reader: User,
    name: &str,
    content: &str,
) -> Result<(), ProvisionError> {
    let path = folder.join(name);
    let done = path.with_extension(DONE);
    // First: once the file has changed, servers may read it at any time.
    remove_file(&done).map_err(|error| failed(&done.display().to_string(), &error))?;
    replace(&path, content.as_bytes(), reader)
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAME: &str = "pg_hba.conf";

    /// Applies a content, and returns whether servers were made to read it.
    fn apply(folder: &Path, content: &str) -> bool {
        let mut is_read = false;
        let reload = || {
            is_read = true;
            Ok(())
        };
        apply_by(folder, None, NAME, content, reload).expect("it can be written");
        assert_eq!(
            fs::read_to_string(folder.join(NAME)).ok().as_deref(),
            Some(content)
        );
        is_read
    }

    #[test]
    fn servers_read_a_file_once() {
        let folder = tempfile::tempdir().expect("a folder can be created");
        let folder = folder.path();
        assert!(apply(folder, "one"));
        assert!(!apply(folder, "one"));
        assert!(apply(folder, "two"));
    }

    #[test]
    fn a_change_that_servers_may_have_read_is_taken_back() {
        let folder = tempfile::tempdir().expect("a folder can be created");
        let folder = folder.path();
        apply(folder, "one");
        write(folder, None, NAME, "two").expect("it can be written");
        assert!(
            apply(folder, "one"),
            "after a file for a server that starts"
        );
        let fails = || Err(ProvisionError::Failed("no signal can be sent".to_owned()));
        apply_by(folder, None, NAME, "two", fails).expect_err("no server is told");
        assert!(apply(folder, "one"), "after a change that was cut off");
        fs::write(folder.join(NAME), "two").expect("it can be written");
        assert!(
            apply(folder, "one"),
            "after an earlier version of the service"
        );
    }
}
