//! Threads that give way to others: each works for half a millisecond at most while another one waits for
//! the same processor.
//!
//! Linux lets a thread run on until it has had its share, even if one of a higher priority has woken up
//! meanwhile. It looks at that at each tick, every few milliseconds, and at whether another processor has
//! less to do. So without this, requests that keep a thread busy delay those of another thread by as much.

use std::cell::Cell;
use std::thread;
use std::time::{Duration, Instant};

use tokio::runtime::Builder;

/// How long a thread works before it gives way. Others wait for it as long, and it loses the rest of its
/// share each time, which is a few milliseconds of a processor that another thread wants too.
const EVERY: Duration = Duration::from_micros(500);
/// How long a thread rests at least before it counts as one that has slept. Others had its processor then.
const SLEEP: Duration = Duration::from_micros(20);

thread_local! {
    /// Since when this thread has worked without a rest, if it is one that gives way.
    static SINCE: Cell<Option<Instant>> = const { Cell::new(None) };
    /// When this thread began to rest.
    static RESTS: Cell<Option<Instant>> = const { Cell::new(None) };
}

/// Makes the threads of a runtime give way, but not its blocking threads.
pub fn have_give_way(runtime: &mut Builder) -> &mut Builder {
    runtime
        .on_thread_park(|| RESTS.set(Some(Instant::now())))
        .on_thread_unpark(|| {
            let now = Instant::now();
            let has_slept = RESTS.get().is_none_or(|rests| now - rests >= SLEEP);
            if has_slept || SINCE.get().is_none() {
                SINCE.set(Some(now));
            }
        })
}

/// Makes the current thread one that gives way.
pub(crate) fn begin_to_give_way() {
    SINCE.set(Some(Instant::now()));
}

/// Lets other threads run if this one gives way, and has worked for a while. Otherwise this costs some
/// nanoseconds, so that work can call it for each small part.
pub(crate) fn give_way() {
    if let Some(since) = SINCE.get()
        && since.elapsed() >= EVERY
    {
        thread::yield_now();
        SINCE.set(Some(Instant::now()));
    }
}

/// Returns whether the current thread is one that gives way.
#[cfg(test)]
pub(crate) fn gives_way() -> bool {
    SINCE.get().is_some()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_thread_has_worked_since_it_slept_or_gave_way() {
        assert!(SINCE.get().is_none());
        let mut runtime = Builder::new_current_thread();
        let runtime = have_give_way(&mut runtime).enable_time().build();
        runtime.expect("it starts").block_on(async {
            tokio::time::sleep(SLEEP * 100).await;
            let woken = SINCE.get().expect("it is one that gives way");
            while woken.elapsed() < EVERY {}
            give_way();
            let gave_way = SINCE.get().expect("it still is");
            assert!(gave_way > woken);
            tokio::time::sleep(SLEEP * 100).await;
            assert!(SINCE.get().expect("it still is") > gave_way);
        });
    }
}
