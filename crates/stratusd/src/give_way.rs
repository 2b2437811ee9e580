//! Threads that give way to others: their work takes milliseconds, in which a thread of other requests may
//! wait for the same processor.
//!
//! A lower priority alone does not help that thread. Linux lets a thread run on until it has had its share,
//! which it looks at every few milliseconds, even if one of a higher priority has woken up meanwhile.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

/// How long a thread works before it gives way. Others wait for it as long, and it loses the rest of its
/// share each time: about 4 ms of a processor that another thread wants too, if it is nicer by 5.
const EVERY: Duration = Duration::from_micros(500);

thread_local! {
    /// When this thread gave way last, if it is one that does.
    static LAST: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Makes the current thread one that gives way.
pub(crate) fn begin_to_give_way() {
    LAST.set(Some(Instant::now()));
}

/// Lets other threads run if this one gives way, and has worked for a while. Otherwise this costs some
/// nanoseconds, so that work can call it for each small part.
pub(crate) fn give_way() {
    if let Some(last) = LAST.get()
        && last.elapsed() >= EVERY
    {
        thread::yield_now();
        LAST.set(Some(Instant::now()));
    }
}
