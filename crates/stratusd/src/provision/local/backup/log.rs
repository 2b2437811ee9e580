//! The archive of the log. A server names the parts that are ready, and waits until they are copied.

use std::fs::{self, DirEntry};
use std::io;
use std::path::Path;
use std::time::{Duration, Instant, SystemTime};

use tokio::task::spawn_blocking;

use super::super::files::{User, failed};
use super::super::server;
use super::Archive;
use super::archive::names;
use super::pack::pack;
use super::timeline;
use crate::provision::ProvisionError;

/// The name of the variable by which a server knows the folder of its archived log.
pub(in super::super) const FOLDER: &str = "STRATUS_ARCHIVE";
/// The command by which a server asks whether a part of its log is archived. It waits for a short
/// time, because a server logs each negative result, and asks again after a second or later.
const COMMAND: &str = "n=0; until test -f \"$STRATUS_ARCHIVE/%f.gz\"; do \
                                            test $n -lt 30 || exit 1; n=$((n+1)); sleep 0.1; done";
/// The number of seconds after which a server archives what it has written, even if it is little.
const TIMEOUT: u32 = 60;

/// The folder within that of a server's data in which it names the parts of its log.
const STATUS: &str = "pg_wal/archive_status";
/// How long a part of a log that is archived waits for its turn, in seconds.
const WAITS: i64 = 5;

/// The number of parts that are copied before other databases have their turn.
const AT_ONCE: usize = 8;
/// How long a database may take for them.
const TURN: Duration = Duration::from_secs(20);
/// The number of files that a server may have about parts of its log, of which it removes those that
/// are archived at the next checkpoint. Parts of 16 MiB, so a log of this length is 1.5 TiB.
const MOST_LISTED: usize = 100_000;
/// How many of these files the supervisor reads, which looks at all databases one after the other.
const LOOKED_AT: usize = 1000;
/// The size of a part of the log at most, in bytes: that of the default, with room for others.
const LONGEST: u64 = 64 << 20;

/// Returns the settings of a server that archives its log. A standby asks for parts that its primary
/// may not have archived, and names them once it is the primary.
pub(in super::super) fn archiving() -> [(&'static str, String); 3] {
    [
        ("archive_mode", "always".to_owned()),
        ("archive_command", COMMAND.to_owned()),
        ("archive_timeout", TIMEOUT.to_string()),
    ]
}

/// Returns the parts of the log that a server has ready, the oldest first, as the folder of its data
/// says. Histories of timelines count up to the one that it is on, since those of later ones would be
/// its owner's inventions, which a later restoration would follow.
pub(super) fn ready(data: &Path, archive: &Archive, timeline: u32) -> io::Result<Vec<String>> {
    let status = data.join(STATUS);
    let mut ready = Vec::new();
    for (count, entry) in status.read_dir()?.enumerate() {
        if count == MOST_LISTED {
            return Err(io::Error::other(format!(
                "its archive_status has more than {MOST_LISTED} files"
            )));
        }
        ready.extend(ready_part(&entry?, timeline));
    }
    ready.sort_unstable();
    ready.retain(|name| !archive.has_part(name));
    Ok(ready)
}

/// Returns whether a server has a part of its log ready, or so many files about it that [`ready`] has to
/// look.
pub(super) fn may_be_ready(data: &Path, archive: &Archive, timeline: u32) -> io::Result<bool> {
    for (count, entry) in data.join(STATUS).read_dir()?.enumerate() {
        let part = ready_part(&entry?, timeline);
        if count == LOOKED_AT || part.is_some_and(|part| !archive.has_part(&part)) {
            return Ok(true);
        }
    }
    Ok(false)
}

/// Returns the part of a log that a file in the folder of [`STATUS`] says is ready.
fn ready_part(file: &DirEntry, timeline: u32) -> Option<String> {
    let name = file.file_name();
    let name = name.to_str()?.strip_suffix(".ready")?;
    let is_known = |of: u32| (2..=timeline).contains(&of);
    // Any other name would be a path that the owner of the database chooses.
    let is_ours = is_part(name) && timeline::number(name).is_none_or(is_known);
    is_ours.then(|| name.to_owned())
}

/// Returns the time, in seconds since 1970, up to which everything that was committed can be restored. That
/// is `now`, since a restoration asks the server for the rest, unless a part of its log has waited for
/// longer than [`WAITS`] to be archived: then it is the end of what is archived.
///
/// Read from the files, so that each replica of the service says the same: only one of them keeps the
/// backups, and the others do not know whether it can.
pub(in super::super) fn archived_until(
    data: &Path,
    archive: &Archive,
    now: i64,
) -> Result<i64, ProvisionError> {
    let is_waiting = match fs::read_dir(data.join(STATUS)) {
        // A server that has never run has no log.
        Err(error) if error.kind() == io::ErrorKind::NotFound => false,
        _ => waits(data, archive, now),
    };
    if !is_waiting || !archive.exists() {
        return Ok(now);
    }
    let mut end = 0;
    for name in names(&archive.log())? {
        if name
            .strip_suffix(".gz")
            .is_some_and(|part| position(part).is_some())
        {
            end = end.max(modified(&archive.log().join(name)).unwrap_or_default());
        }
    }
    Ok(end.min(now))
}

/// Returns whether a part of the log waits for longer than [`WAITS`], or whether that cannot be read.
fn waits(data: &Path, archive: &Archive, now: i64) -> bool {
    // Histories are left out: they hold no commits.
    let Ok(ready) = ready(data, archive, 0) else {
        return true;
    };
    let waits_since = |name: &String| modified(&data.join(STATUS).join(format!("{name}.ready")));
    let mut since = ready.iter().filter_map(waits_since);
    since.any(|since| now.saturating_sub(since) > WAITS)
}

/// Returns the time at which a file was changed, in seconds since 1970, or `None` if it is not there.
fn modified(path: &Path) -> Option<i64> {
    let modified = fs::symlink_metadata(path).ok()?.modified().ok()?;
    let since = modified.duration_since(std::time::UNIX_EPOCH).ok()?;
    i64::try_from(since.as_secs()).ok()
}

/// Copies parts of the log of a server.
pub(super) async fn collect(
    data: &Path,
    user: User,
    archive: &Archive,
    timeline: u32,
) -> Result<(), ProvisionError> {
    // Its owner may have made many files.
    let (to_list, known) = (data.to_owned(), archive.clone());
    let list = move || ready(&to_list, &known, timeline);
    let ready = spawn_blocking(list).await.expect("it does not panic");
    let ready = ready.map_err(|error| failed("the log", &error))?;
    let begun = Instant::now();
    for name in ready.into_iter().take(AT_ONCE) {
        // Its owner may hold up each part.
        if begun.elapsed() > TURN {
            break;
        }
        // As the user of the server: a link in its folder may lead elsewhere.
        let mut cat = server::tool("cat");
        // Elsewhere than a server, whose programs end with it.
        cat.args(["--", &name]).current_dir(data.join("pg_wal"));
        let path = archive.log().join(format!("{name}.gz"));
        // Before the copy, after which the server soon calls the part archived.
        let since = fs::symlink_metadata(data.join(STATUS).join(format!("{name}.ready")));
        let since = since.and_then(|ready| ready.modified());
        pack(cat, user, &path, LONGEST, &[0]).await?;
        keep_time(&path, since);
    }
    Ok(())
}

/// Gives an archived part the time since which the server had it ready, as it has no later commits. A part
/// whose time is not kept has that of its copy.
fn keep_time(part: &Path, time: io::Result<SystemTime>) {
    let keep = |time| {
        fs::File::options()
            .append(true)
            .open(part)?
            .set_modified(time)
    };
    if let Err(error) = time.and_then(keep) {
        tracing::debug!(
            "{}: the time of its log is not kept: {error}",
            part.display()
        );
    }
}

/// Returns whether a text is the name of a part of a log, of a history of timelines, or of what
/// PostgreSQL writes about a backup.
fn is_part(name: &str) -> bool {
    let mut pieces = name.split('.');
    let is_hex = |piece: Option<&str>, length: usize| {
        let is_hex = |piece: &str| {
            piece.len() == length
                && piece
                    .bytes()
                    .all(|byte| matches!(byte, b'0'..=b'9' | b'A'..=b'F'))
        };
        piece.is_some_and(is_hex)
    };
    let (first, second, third) = (pieces.next(), pieces.next(), pieces.next());
    if pieces.next().is_some() {
        return false;
    }
    match (second, third) {
        (None | Some("partial"), None) => is_hex(first, 24),
        (Some("history"), None) => is_hex(first, 8),
        (second, Some("backup")) => is_hex(first, 24) && is_hex(second, 8),
        _ => false,
    }
}

/// Returns the position of a part in the log, the same on all timelines, or `None` for a history of
/// timelines, which is kept.
pub(super) fn position(name: &str) -> Option<&str> {
    let part = name.split('.').next().filter(|part| part.len() == 24)?;
    part.get(8..)
}
