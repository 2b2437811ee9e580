//! Says on a terminal what a command is doing, while that takes long.

use std::io::{IsTerminal as _, Write as _, stderr};
use std::sync::mpsc::{RecvTimeoutError, Sender, channel};
use std::thread::{self, JoinHandle};
use std::time::{Duration, Instant};

/// The time after which a step is shown: a shorter one would only flicker.
const PATIENCE: Duration = Duration::from_millis(500);
/// The time between two updates of the line.
const PAUSE: Duration = Duration::from_millis(250);

/// A line on standard error that says what is being done and for how long, until it is dropped.
/// Where standard error is not a terminal, nothing is written.
#[derive(Debug)]
pub struct Progress {
    /// The end of a channel that ends with the step, and the thread that shows the line; `None` if
    /// nothing is shown.
    shown: Option<(Sender<()>, JoinHandle<()>)>,
}

impl Progress {
    /// Begins a step, such as `reading openapi.yaml`.
    #[must_use]
    pub fn start(words: String) -> Self {
        if !stderr().is_terminal() {
            return Self { shown: None };
        }
        let (sender, receiver) = channel();
        let show = move || {
            let start = Instant::now();
            let mut pause = PATIENCE;
            while receiver.recv_timeout(pause) == Err(RecvTimeoutError::Timeout) {
                line(&format!("{words}, {} s", start.elapsed().as_secs()));
                pause = PAUSE;
            }
            // The line was shown at least once, so it must be removed.
            if pause == PAUSE {
                line("");
            }
        };
        // Without another thread there is no line, and the work is done all the same.
        let thread = thread::Builder::new().spawn(show);
        Self {
            shown: thread.ok().map(|thread| (sender, thread)),
        }
    }

    /// Ends the step, and removes its line.
    pub fn end(self) {
        drop(self);
    }
}

impl Drop for Progress {
    fn drop(&mut self) {
        if let Some((sender, thread)) = self.shown.take() {
            drop(sender);
            // A panic of the thread has been reported by itself.
            let _ = thread.join();
        }
    }
}

/// Replaces the line of the terminal. Control characters, which a terminal would obey, are left out.
fn line(words: &str) {
    let words: String = words
        .chars()
        .filter(|character| !character.is_control())
        // A line that wraps would take several rows, of which only the last is replaced.
        .take(78)
        .collect();
    // Standard error may be closed; progress is not worth failing for.
    let _ = write!(stderr(), "\r\x1b[2K{words}").and_then(|()| stderr().flush());
}
