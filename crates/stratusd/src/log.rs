//! The way of log lines to standard error: a bounded queue and a thread that writes it.
//!
//! Nobody who logs waits for the reader of the log. A line that does not fit into the queue is
//! dropped and counted, and once the reader reads again, a line says how many were dropped.
//!
//! The queue is our own. The one of tracing-appender is bounded in lines, not in bytes, and its
//! guard prints to standard error if the reader is stalled, which never returns.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The maximum size of the lines that wait for the reader. As many again may be on their way into
/// the pipe.
const CAPACITY: usize = 4 << 20;
/// The size that the buffers of the queue keep when they are empty.
const RESTING: usize = 64 << 10;

/// A queue of log lines, which a thread writes.
///
/// Each write to a reference of it is one line, which is taken whole or dropped.
#[derive(Debug, Default)]
pub struct LogQueue {
    lines: Mutex<Lines>,
    /// Notified when there are lines to write.
    filled: Condvar,
    /// Notified when all lines have been written.
    emptied: Condvar,
    dropped: AtomicU64,
}

/// The lines that wait for the thread.
#[derive(Debug, Default)]
struct Lines {
    text: Vec<u8>,
    count: u64,
    is_thread_writing: bool,
}

impl LogQueue {
    /// Starts a thread that writes the lines to `output`.
    ///
    /// # Errors
    ///
    /// If the thread cannot be started.
    pub fn start(output: impl Write + Send + 'static) -> io::Result<Arc<Self>> {
        let queue = Arc::new(Self::default());
        let writing = Arc::clone(&queue);
        std::thread::Builder::new()
            .name("log".to_owned())
            .spawn(move || writing.run(output))?;
        Ok(queue)
    }

    /// Returns how many lines have been dropped since the start.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until all lines have been written, but at most for `patience`.
    pub fn flush(&self, patience: Duration) {
        let is_busy = |lines: &mut Lines| lines.is_thread_writing || lines.count > 0;
        // Whether the time is over or not, there is nothing left to do.
        drop(
            self.emptied
                .wait_timeout_while(self.lock(), patience, is_busy),
        );
    }

    /// Writes lines as they come, for as long as the process runs.
    fn run(&self, mut output: impl Write) {
        let mut batch = Vec::new();
        let mut is_read = true;
        let mut reported = 0;
        loop {
            let count = self.take(&mut batch);
            let dropped = self.dropped();
            // Now the queue is empty, so this line fits, and it stands where the dropped lines are
            // missing. Nobody would read it after a failure, and it would be the next to fail.
            if is_read && dropped > reported {
                tracing::warn!(
                    dropped = dropped - reported,
                    "log lines were dropped: their reader did not keep up"
                );
                reported = dropped;
            }
            is_read = output
                .write_all(&batch)
                .and_then(|()| output.flush())
                .is_ok();
            if !is_read {
                self.dropped.fetch_add(count, Ordering::Relaxed);
            }
            batch.clear();
            batch.shrink_to(RESTING);
        }
    }

    /// Waits for lines and moves them into an empty buffer. Returns how many there are.
    fn take(&self, batch: &mut Vec<u8>) -> u64 {
        let mut lines = self.lock();
        lines.is_thread_writing = false;
        while lines.count == 0 {
            self.emptied.notify_all();
            lines = self
                .filled
                .wait(lines)
                .unwrap_or_else(PoisonError::into_inner);
        }
        lines.is_thread_writing = true;
        std::mem::swap(&mut lines.text, batch);
        std::mem::take(&mut lines.count)
    }

    fn lock(&self) -> MutexGuard<'_, Lines> {
        self.lines.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Write for &LogQueue {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        let mut lines = self.lock();
        if lines.text.len() + line.len() > CAPACITY {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        } else {
            lines.text.extend_from_slice(line);
            lines.count += 1;
            self.filled.notify_one();
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}
