//! The restoration of a database from its backups alone, for an operator.

use std::fs::{self, File};
use std::io::Write as _;
use std::path::Path;
use std::process::{Command, Stdio};

use super::super::files::{failed, private};
use super::Archive;
use super::restore::{copy_log, latest, target_time};
use crate::provision::ProvisionError;

/// The rules by which the operator connects: over the socket in a folder of one user.
const RULES: &str = "local all all trust\n";

/// Makes a folder with the data of a database at a time, in microseconds since 1970, or at the end of
/// its log. A server of PostgreSQL that is started on it reads the log. Returns the major version of
/// PostgreSQL that it needs.
///
/// # Errors
///
/// If the folder exists, if there is no backup that was complete at the time, or if the files cannot be
/// read or written.
pub fn restore_files(
    backups: &Path,
    into: &Path,
    until: Option<i64>,
) -> Result<String, ProvisionError> {
    let io = |error| failed(&into.display().to_string(), &error);
    let archive = Archive::new(backups.to_owned());
    let key = latest(&archive, until.unwrap_or(i64::MAX))?;
    let base = archive.read(&key)?;
    if into.exists() {
        let wrong = format!("{} exists: name a folder that does not", into.display());
        return Err(ProvisionError(wrong));
    }
    let data = into.join("data");
    private(into).and_then(|()| private(&data)).map_err(io)?;
    let copy = File::open(archive.file(&key)).map_err(|error| failed("a backup", &error))?;
    let mut tar = Command::new("tar");
    tar.args(["--extract", "--gzip", "--file=-"])
        .current_dir(&data)
        .stdin(copy)
        .stdout(Stdio::null());
    let unpacked = tar.status().map_err(|error| failed("tar", &error))?;
    if !unpacked.success() {
        return Err(ProvisionError("a backup cannot be unpacked".to_owned()));
    }
    copy_log(&archive, &base.begins, &into.join("log"), None).map_err(io)?;
    let mut settings = String::from("\nrestore_command = 'gzip -dc \"../log/%f.gz\" > \"%p\"'\n");
    settings.push_str("recovery_target_timeline = 'latest'\nrecovery_target_action = 'promote'\n");
    if let Some(until) = until {
        settings.push_str(&format!(
            "recovery_target_time = '{}'\n",
            target_time(until)?
        ));
    }
    // The last of the files with settings that a server reads, so that they count.
    let mut last = File::options()
        .append(true)
        .create(true)
        .open(data.join("postgresql.auto.conf"))
        .map_err(io)?;
    last.write_all(settings.as_bytes()).map_err(io)?;
    for (name, content) in [
        ("pg_hba.conf", RULES),
        ("backup_label", &base.label),
        ("recovery.signal", ""),
    ] {
        fs::write(data.join(name), content).map_err(io)?;
    }
    let version = fs::read_to_string(data.join("PG_VERSION")).map_err(io)?;
    Ok(version.trim().to_owned())
}
