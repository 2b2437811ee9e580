//! The file in which the addresses of load balancers are kept over restarts. It is written in the
//! background.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Context, Result};

use super::addresses::Given;
use super::background::Background;

/// How long to wait after a failure before the file is written again, unless there is something new
/// to write.
const PAUSE: Duration = Duration::from_secs(5);

/// The addresses of load balancers, by the ids of project and load balancer, separated by a slash.
pub(super) type Contents = BTreeMap<String, Given>;

/// The file, with the thread that writes it.
#[derive(Debug)]
pub(super) struct StateFile {
    /// The contents that the thread writes next, if they have changed.
    next: Arc<Mutex<Option<Contents>>>,
    writing: Background,
}

impl StateFile {
    /// Reads the file, if there is one, and starts the thread that writes it.
    ///
    /// # Errors
    ///
    /// If the file cannot be read, or is not one that the data plane has written.
    pub(super) fn open(path: &Path) -> Result<(Self, Contents)> {
        let contents = match fs::read(path) {
            Ok(bytes) => serde_json::from_slice(&bytes).with_context(|| {
                format!("{} does not hold the addresses of load balancers: move it away, or set another `balance_state`", path.display())
            })?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => Contents::new(),
            Err(error) => {
                return Err(error).with_context(|| format!("failed to read {}", path.display()));
            }
        };
        let next = Arc::default();
        let mut writer = Writer {
            path: path.to_owned(),
            next: Arc::clone(&next),
            failure: None,
        };
        let writing = Background::start("state-file", PAUSE, move || writer.write_next())
            .context("failed to start the thread that saves the addresses of load balancers")?;
        Ok((Self { next, writing }, contents))
    }

    /// Has the file written, in place of what was to be written before.
    pub(super) fn save(&self, contents: Contents) {
        *self.next.lock().unwrap_or_else(PoisonError::into_inner) = Some(contents);
        self.writing.tell();
    }

    /// Waits until the last contents are written, for a time.
    pub(super) async fn close(self) {
        self.writing.close().await;
    }
}

/// The thread that writes the file.
struct Writer {
    path: PathBuf,
    next: Arc<Mutex<Option<Contents>>>,
    /// Why the file could not be written the last time.
    failure: Option<String>,
}

impl Writer {
    /// Writes the next contents, if there are some. A failure is logged once for each reason, since
    /// the addresses in force stay in force.
    fn write_next(&mut self) -> Result<(), ()> {
        let Some(contents) = self.next().take() else {
            return Ok(());
        };
        let Err(error) = write(&self.path, &contents) else {
            if self.failure.take().is_some() {
                tracing::info!("the addresses of load balancers can be saved again");
            }
            return Ok(());
        };
        // Unless there is something newer by now.
        self.next().get_or_insert(contents);
        let failure = error.to_string();
        if self.failure.as_ref() != Some(&failure) {
            tracing::error!(
                failure,
                file = %self.path.display(),
                "the addresses of load balancers cannot be saved, and some may get others after a restart: the data \
                 plane tries again"
            );
        }
        self.failure = Some(failure);
        Err(())
    }

    fn next(&self) -> std::sync::MutexGuard<'_, Option<Contents>> {
        self.next.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Writes a file in place of the one before at once, so that no crash leaves half of it.
fn write(file: &Path, contents: &Contents) -> io::Result<()> {
    let mut beside = file.as_os_str().to_owned();
    beside.push(".new");
    let mut new = io::BufWriter::new(File::create(&beside)?);
    serde_json::to_writer_pretty(&mut new, contents)?;
    new.write_all(b"\n")?;
    new.into_inner()?.sync_all()?;
    fs::rename(&beside, file)
}
