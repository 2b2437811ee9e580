//! The archive of the log. A server names the parts that are ready, and waits until they are copied.

use std::fs::{self, File};
use std::io::{self, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::Stdio;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use flate2::Compression;
use flate2::write::GzEncoder;
use tokio::process::Command;
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::super::files::{User, failed, sync_folder};
use super::super::server;
use super::Archive;
use super::archive::names;
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
/// The number of files that a server may have about parts of its log, of which it removes those that
/// are archived at the next checkpoint.
const MOST_LISTED: usize = 10_000;
/// How long a copy has for its next [`LEAST`] bytes.
const WINDOW: Duration = Duration::from_secs(30);
/// The number of bytes that a copy reads in each [`WINDOW`] at least.
const LEAST: u64 = 1 << 20;
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
/// says.
pub(super) fn ready(data: &Path, archive: &Archive) -> io::Result<Vec<String>> {
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
) -> Result<(), ProvisionError> {
    let ready = ready(data, archive).map_err(|error| failed("the log", &error))?;
    for name in ready.into_iter().take(AT_ONCE) {
        // As the user of the server: a link in its folder may lead elsewhere.
        let mut cat = server::tool("cat");
        // Elsewhere than a server, whose programs end with it.
        cat.args(["--", &name]).current_dir(data.join("pg_wal"));
        let path = archive.log().join(format!("{name}.gz"));
        pack(cat, user, &path, LONGEST, &[0]).await?;
    }
    Ok(())
}

/// Writes the output of a command to a file, compressed, which exists as soon as it is complete. The
/// command runs as a user.
///
/// # Errors
///
/// If the output has more than `most` bytes, or if the command ends with another code than `codes`.
pub(super) async fn pack(
    mut command: Command,
    user: User,
    path: &Path,
    most: u64,
    codes: &[i32],
) -> Result<(), ProvisionError> {
    let io = |error| failed("a backup", &error);
    let (reader, writer) = io::pipe().map_err(io)?;
    command
        .stdin(Stdio::null())
        .stdout(writer)
        .stderr(Stdio::null())
        .kill_on_drop(true);
    server::as_user(&mut command, user);
    let mut child = command.spawn().map_err(io)?;
    // With it the writing end, without which the reader would wait for ever.
    drop(command);
    let new = path.with_extension("new");
    let count = Arc::new(AtomicU64::new(0));
    let mut written = {
        let (new, count) = (new.clone(), Arc::clone(&count));
        let reader = Counted {
            inner: reader,
            count,
        };
        spawn_blocking(move || compress(reader, &new, most))
    };
    let mut before = 0;
    let written = loop {
        if let Ok(written) = timeout(WINDOW, &mut written).await {
            break written.expect("it does not panic");
        }
        let now = count.load(Ordering::Relaxed);
        if now - before < LEAST {
            // The owner of the database has stopped it, or put a pipe in place of a file.
            let _ = child.kill().await;
            return Err(ProvisionError("a backup: the copy stands still".to_owned()));
        }
        before = now;
    };
    if written.is_err() {
        // It may write for ever.
        let _ = child.kill().await;
    }
    let status = child.wait().await.map_err(io)?;
    written.map_err(io)?;
    if !status.code().is_some_and(|code| codes.contains(&code)) {
        return Err(ProvisionError(format!(
            "a backup: the copy ends with {status}"
        )));
    }
    fs::rename(&new, path).map_err(io)?;
    sync_folder(path).map_err(io)
}

fn compress(reader: impl Read, path: &Path, most: u64) -> io::Result<()> {
    let mut encoder = GzEncoder::new(create(path)?, Compression::fast());
    let mut limited = reader.take(most.saturating_add(1));
    if io::copy(&mut limited, &mut encoder)? > most {
        return Err(io::Error::other(format!("it has more than {most} bytes")));
    }
    let mut file = encoder.finish()?;
    file.flush()?;
    file.sync_all()
}

/// Creates a file that only this service can read.
fn create(path: &Path) -> io::Result<File> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true).mode(0o600);
    options.open(path)
}

/// A reader that counts what is read.
struct Counted<R> {
    inner: R,
    count: Arc<AtomicU64>,
}

impl<R: Read> Read for Counted<R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.inner.read(buffer)?;
        let more = u64::try_from(read).unwrap_or_default();
        self.count.fetch_add(more, Ordering::Relaxed);
        Ok(read)
    }
}

/// Removes what a service that was killed has left.
pub(super) fn remove_unfinished(archive: &Archive) -> Result<(), ProvisionError> {
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
