//! The restoration of a database from its backups alone, for an operator.

use std::fs::{self, File};
use std::io::{self, Read as _, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::super::files::{failed, open_regular, private};
use super::Archive;
use super::restore::{copy_log, latest, target_time};
use crate::provision::ProvisionError;

/// The size of the file that names the version, in bytes, at most.
const LONGEST_VERSION: u64 = 64;
/// The rules by which the operator connects: over the socket in a folder of one user.
const RULES: &str = "local all all trust\n";

/// Makes a folder with the data of a database at a time, in microseconds since 1970, or at the end of
/// its log. A server of PostgreSQL that is started on it reads the log. Returns the major version of
/// PostgreSQL that it needs. `now` is the present time in seconds since 1970.
///
/// # Errors
///
/// If the folder exists, if there is no backup that was complete at the time, or if the files cannot be
/// read or written.
pub fn restore_files(
    backups: &Path,
    into: &Path,
    until: Option<i64>,
    now: i64,
) -> Result<String, ProvisionError> {
    let io = |error| failed(&into.display().to_string(), &error);
    let archive = Archive::new(backups.to_owned());
    let (key, base) = latest(&archive, until, now)?;
    if into.exists() {
        let wrong = format!("{} exists: name a folder that does not", into.display());
        return Err(ProvisionError::Failed(wrong));
    }
    let data = into.join("data");
    private(into).and_then(|()| private(&data)).map_err(io)?;
    let copy = File::open(archive.file(&key)).map_err(|error| failed("a backup", &error))?;
    let mut tar = Command::new("tar");
    // Files of the operator, also if that is root: their owners have no accounts here.
    tar.args(["--extract", "--gzip", "--no-same-owner", "--file=-"])
        .current_dir(&data)
        .stdin(copy)
        .stdout(Stdio::null());
    let unpacked = tar.status().map_err(|error| failed("tar", &error))?;
    if !unpacked.success() {
        return Err(ProvisionError::Failed(
            "a backup cannot be unpacked".to_owned(),
        ));
    }
    copy_log(&archive, &base.begins, &into.join("log"), None).map_err(io)?;
    let mut settings =
        String::from("hot_standby = off\nrestore_command = 'gzip -dc \"../log/%f.gz\" > \"%p\"'\n");
    settings.push_str("recovery_target_timeline = 'latest'\nrecovery_target_action = 'promote'\n");
    // Recovery fails if the log has more prepared transactions at a time.
    settings.push_str("max_prepared_transactions = 1000\n");
    if let Some(until) = until {
        settings.push_str(&format!(
            "recovery_target_time = '{}'\n",
            target_time(until)?
        ));
    }
    // Not with the owner's settings, which can name programs that the server runs.
    for (name, content) in [
        ("postgresql.conf", &*settings),
        ("postgresql.auto.conf", ""),
        ("pg_hba.conf", RULES),
        ("backup_label", &base.label),
        ("recovery.signal", ""),
    ] {
        replace(&data.join(name), content).map_err(io)?;
    }
    let mut version = String::new();
    let file = open_regular(&data.join("PG_VERSION")).map_err(io)?;
    file.take(LONGEST_VERSION)
        .read_to_string(&mut version)
        .map_err(io)?;
    Ok(version.trim().to_owned())
}

/// Replaces a file of the copy, which may be a link to somewhere else, by a new one. One that was there
/// is kept beside it.
fn replace(path: &Path, content: &str) -> io::Result<()> {
    if fs::symlink_metadata(path).is_ok() {
        fs::rename(path, path.with_added_extension("owner"))?;
    }
    let mut options = File::options();
    let mut file = options
        .write(true)
        .create_new(true)
        .mode(0o600)
        .open(path)?;
    file.write_all(content.as_bytes())
}
