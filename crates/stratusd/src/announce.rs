//! The line by which a process tells scripts the addresses that it listens on.

use std::io::{self, Write};
use std::thread;

/// Prints a line to standard output. It is fine if standard output is closed, and on a thread of its own,
/// also if nobody reads it.
pub(crate) fn announce(line: String) {
    let printing = thread::Builder::new().spawn(move || {
        let mut output = io::stdout();
        let _ = output.write_all(line.as_bytes());
        let _ = output.flush();
    });
    if let Err(error) = printing {
        tracing::warn!(%error, "failed to print the addresses");
    }
}
