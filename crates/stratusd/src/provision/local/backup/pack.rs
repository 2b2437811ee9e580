//! Files of backups: the output of a program that runs as the user of a server, compressed.
//!
//! The owner of the database can stop that program, or keep its output open after its end, so what is
//! read is bounded in bytes and in time.

use std::fs::{self, File};
use std::io::{self, PipeReader, Read, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::Path;
use std::process::{ExitStatus, Stdio};
use std::time::{Duration, Instant};

use flate2::Compression;
use flate2::write::GzEncoder;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use tokio::process::{Child, Command};
use tokio::task::spawn_blocking;
use tokio::time::timeout;

use super::super::files::{User, failed, sync_folder};
use super::super::server;
use crate::provision::ProvisionError;

/// How long a copy has for its next [`LEAST`] bytes.
const WINDOW: Duration = Duration::from_secs(30);
/// The number of bytes that a copy reads in each [`WINDOW`] at least, so that the copy of a database
/// lets another one have its turn after a time that its size bounds.
const LEAST: u64 = 128 << 20;
/// How long a program has to end after its last output.
const END: Duration = Duration::from_secs(5);

/// Writes the output of a command to a file, compressed, which exists as soon as it is complete. The
/// command runs as a user.
///
/// # Errors
///
/// If the output has more than `most` bytes, if it stands still, or if the command ends with another
/// code than `codes`.
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
    let written = {
        let new = new.clone();
        spawn_blocking(move || compress(Paced::new(reader), &new, most))
    };
    let written = written.await.expect("it does not panic");
    let status = end(&mut child, written.is_ok()).await.map_err(io)?;
    written.map_err(io)?;
    if !status.code().is_some_and(|code| codes.contains(&code)) {
        return Err(ProvisionError::Failed(format!(
            "a backup: the copy ends with {status}"
        )));
    }
    fs::rename(&new, path).map_err(io)?;
    sync_folder(path).map_err(io)
}

/// Waits until a program has ended, which it does by itself if its output was read to the end.
async fn end(child: &mut Child, is_read: bool) -> io::Result<ExitStatus> {
    if is_read && let Ok(status) = timeout(END, child.wait()).await {
        return status;
    }
    child.kill().await?;
    child.wait().await
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

/// The output of a program, which fails if it stands still: if fewer than [`LEAST`] bytes come in a
/// [`WINDOW`], and the end does not either.
struct Paced {
    inner: PipeReader,
    window_ends: Instant,
    /// The bytes of this window so far.
    read: u64,
}

impl Paced {
    fn new(inner: PipeReader) -> Self {
        Self {
            inner,
            window_ends: Instant::now() + WINDOW,
            read: 0,
        }
    }

    /// Waits until there is something to read, for as long as the window lasts.
    fn wait(&mut self) -> io::Result<()> {
        loop {
            let now = Instant::now();
            if now >= self.window_ends {
                if self.read < LEAST {
                    return Err(io::Error::other("the copy stands still"));
                }
                (self.window_ends, self.read) = (now + WINDOW, 0);
            }
            let left = Timespec::try_from(self.window_ends - now).map_err(io::Error::other)?;
            let mut pipe = [PollFd::new(&self.inner, PollFlags::IN)];
            match poll(&mut pipe, Some(&left)) {
                Ok(0) | Err(rustix::io::Errno::INTR) => {}
                Ok(_) => return Ok(()),
                Err(error) => return Err(error.into()),
            }
        }
    }
}

impl Read for Paced {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.wait()?;
        let read = self.inner.read(buffer)?;
        self.read += u64::try_from(read).unwrap_or_default();
        Ok(read)
    }
}
