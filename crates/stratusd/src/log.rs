//! A bounded queue of log lines, and a thread that writes them to standard error.
//!
//! Standard error may be a pipe whose reader is slow or has stopped, and a task that logs must not
//! wait for it. A line that does not fit into the queue is dropped and counted. Once the reader
//! reads again, a line in the log says how many were dropped.
//!
//! We do not use tracing-appender: its queue is bounded in lines, not in bytes, and its guard
//! prints to standard error if the reader has stopped, which never returns.

use std::io::{self, Write};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

/// The maximum size of the lines in the queue, in bytes. The batch that the thread is writing may
/// have as many again.
const CAPACITY: usize = 4 << 20;
/// The maximum capacity in bytes that a buffer of lines keeps after its lines have been written.
const RESTING: usize = 64 << 10;

/// A bounded queue of log lines, which a thread writes to an output.
///
/// `&LogQueue` implements [`Write`]. Each call of `write` adds one whole line, or drops and counts
/// it if the queue is full. It never fails, and does not wait for the output.
#[derive(Debug, Default)]
pub struct LogQueue {
    lines: Mutex<Lines>,
    /// Notified when there are lines to write.
    filled: Condvar,
    /// Notified when the queue is empty and the thread has finished writing.
    emptied: Condvar,
    dropped: AtomicU64,
}

/// The lines in the queue, and whether the thread is writing a batch.
#[derive(Debug, Default)]
struct Lines {
    text: Vec<u8>,
    count: u64,
    is_thread_writing: bool,
}

impl LogQueue {
    /// Creates a queue, and starts the thread that writes its lines to `output`.
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

    /// Returns how many lines have been lost since the start: lines that did not fit into the
    /// queue, and lines of a batch that could not be written.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Waits until the thread has written all lines of the queue, but at most for `patience`.
    pub fn flush(&self, patience: Duration) {
        let is_busy = |lines: &mut Lines| lines.is_thread_writing || lines.count > 0;
        // The result does not matter: nothing else can be done for lines that are not written yet.
        drop(
            self.emptied
                .wait_timeout_while(self.lock(), patience, is_busy),
        );
    }

    /// Writes the lines of the queue to `output`, for as long as the process runs. Lines that
    /// cannot be written count as dropped.
    fn run(&self, mut output: impl Write) {
        let mut batch = Vec::new();
        let mut is_read = true;
        let mut reported = 0;
        loop {
            let count = self.take(&mut batch);
            let dropped = self.dropped();
            // The queue is empty now, so this line fits, and it follows the last line before the
            // dropped ones. After a failed write it is left out: it would be lost as well.
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

    /// Waits until the queue has lines, and moves all of them into `batch`, which must be empty.
    /// Returns how many there are.
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
