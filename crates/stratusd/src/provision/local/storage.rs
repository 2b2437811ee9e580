//! The storage of a database: how much it uses, and what happens when it is full.
//!
//! A folder cannot refuse to grow, so a database that has used its storage becomes read-only by
//! default. Its owner can switch that off in a session, to delete what is not needed.

use std::fs;
use std::io;
use std::os::unix::fs::MetadataExt as _;
use std::path::PathBuf;

use tokio::task::spawn_blocking;

use super::configuration;
use super::files::failed;
use super::folder::Database;
use super::member::DATA;
use crate::domain::postgres::{FULL, NEARLY_FULL};
use crate::provision::ProvisionError;

/// The number of files of a database that are counted at most: about a hundred for each table.
const MOST_FILES: u32 = 1_000_000;
/// How many bytes the paths of its folders have at most that are still to be counted: those of about
/// 100,000 folders, of which PostgreSQL makes one for each database.
const MOST_PATHS: usize = 16 << 20;

/// Returns how many bytes of the disk a database uses.
pub(super) async fn used(database: &Database) -> Result<u64, ProvisionError> {
    let data = database.record.primary.path(&database.locked, DATA);
    let size = spawn_blocking(move || size(data)).await;
    let size = size.expect("it does not panic");
    size.map_err(|error| failed("the size of a database", &error))
}

/// Returns the bytes that a database would use if a GiB of its size were one of this machine's.
pub(super) fn shown(used: u64, bytes_per_gib: u64) -> i64 {
    let scaled = (u128::from(used) << 30) / u128::from(bytes_per_gib.max(1));
    i64::try_from(scaled).unwrap_or(i64::MAX)
}

/// Makes a database read-only by default if it is full, and ends this once it has room.
pub(super) fn limit(
    database: &mut Database,
    used: u64,
    bytes_per_gib: u64,
) -> Result<(), ProvisionError> {
    let gib = u128::try_from(database.record.shape.storage_size_gib).unwrap_or_default();
    let all = gib * u128::from(bytes_per_gib);
    let was_full = database.record.is_full;
    let bound = if was_full { NEARLY_FULL } else { FULL };
    let is_full = u128::from(used) * 100 >= all * u128::from(bound);
    if is_full && !was_full {
        tracing::warn!(
            database = database.locked.id(),
            "the storage is full, so the database is read-only until it has room"
        );
    } else if was_full && !is_full {
        tracing::info!(
            database = database.locked.id(),
            "the database has room again"
        );
    }
    if is_full != was_full {
        database.record.is_full = is_full;
        database.write()?;
    }
    configuration::apply(database)
}

/// Returns how many bytes of the disk a folder takes. Files that are removed meanwhile do not count.
fn size(folder: PathBuf) -> io::Result<u64> {
    let (mut sum, mut count) = (0, 0);
    let length = |folder: &PathBuf| folder.as_os_str().len();
    let mut paths = length(&folder);
    let mut folders = vec![folder];
    while let Some(folder) = folders.pop() {
        paths -= length(&folder);
        for entry in gone(fs::read_dir(&folder))?.into_iter().flatten() {
            let entry = entry?;
            let Some(metadata) = gone(entry.metadata())? else {
                continue;
            };
            count += 1;
            if count > MOST_FILES {
                return Err(io::Error::other(format!(
                    "it has more than {MOST_FILES} files"
                )));
            }
            // Blocks of 512 bytes on every file system.
            sum += metadata.blocks() * 512;
            // Tablespaces are links to folders elsewhere; they are not followed.
            if metadata.is_dir() {
                let folder = entry.path();
                paths += length(&folder);
                if paths > MOST_PATHS {
                    return Err(io::Error::other("it has too many folders"));
                }
                folders.push(folder);
            }
        }
    }
    Ok(sum)
}

/// Returns `None` for what is not there any more.
fn gone<T>(result: io::Result<T>) -> io::Result<Option<T>> {
    match result {
        Err(error) if error.kind() == io::ErrorKind::NotFound => Ok(None),
        result => result.map(Some),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn folders_with_long_paths_take_bounded_memory() {
        let folder = tempfile::tempdir().expect("a folder can be created");
        let mut deep = folder.path().to_owned();
        while deep.as_os_str().len() < 3_500 {
            deep.push("x".repeat(250));
        }
        fs::create_dir_all(&deep).expect("a folder can be created");
        let made = |count: usize| {
            for number in 0..count {
                fs::create_dir_all(deep.join(number.to_string())).expect("it can be created");
            }
            size(folder.path().to_owned())
        };
        made(1000).expect("few are counted");
        let wrong = made(MOST_PATHS / 3_500).expect_err("there are too many");
        assert_eq!(wrong.to_string(), "it has too many folders");
    }
}
