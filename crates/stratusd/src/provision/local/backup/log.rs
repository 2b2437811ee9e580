//! The archive of the log. A server names the parts that are ready, and waits until they are copied.

use std::fs;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

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

/// The number of parts that are copied before other databases have their turn.
const AT_ONCE: usize = 8;
/// How long a database may take for them.
const TURN: Duration = Duration::from_secs(20);
/// The number of files that a server may have about parts of its log, of which it removes those that
/// are archived at the next checkpoint. Parts of 16 MiB, so a log of this length is 1.5 TiB.
const MOST_LISTED: usize = 100_000;
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
    let status = data.join("pg_wal/archive_status");
    let mut ready = Vec::new();
    for (count, entry) in status.read_dir()?.enumerate() {
        if count == MOST_LISTED {
            return Err(io::Error::other(format!(
                "its archive_status has more than {MOST_LISTED} files"
            )));
        }
        let name = entry?.file_name();
        let name = name.to_str().and_then(|name| name.strip_suffix(".ready"));
        // Any other name would be a path that the owner of the database chooses.
        let name = name.filter(|name| is_part(name));
        let is_known = |of: u32| (2..=timeline).contains(&of);
        let name = name.filter(|name| timeline::number(name).is_none_or(is_known));
        ready.extend(name.map(ToOwned::to_owned));
    }
    ready.sort_unstable();
    let log = archive.log();
    ready.retain(|name| !log.join(format!("{name}.gz")).exists());
    Ok(ready)
}

/// Copies parts of the log of a server.
pub(super) async fn collect(
    data: &Path,
    user: User,
    archive: &Archive,
    timeline: u32,
) -> Result<(), ProvisionError> {
    let ready = ready(data, archive, timeline).map_err(|error| failed("the log", &error))?;
    // Here, where nothing else of this process writes into the folder.
    remove_unfinished(archive)?;
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
        pack(cat, user, &path, LONGEST, &[0]).await?;
    }
    Ok(())
}

/// Removes what a service that was killed has left.
fn remove_unfinished(archive: &Archive) -> Result<(), ProvisionError> {
    for name in names(&archive.log())? {
        if name.ends_with(".new") {
            let removed = fs::remove_file(archive.log().join(name));
            removed.map_err(|error| failed("the folder of backups", &error))?;
        }
    }
    Ok(())
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
