//! Work that takes milliseconds, which a server may interrupt now and then for something else.

use std::cell::Cell;

thread_local! {
    static WHILE_BUSY: Cell<Option<fn()>> = const { Cell::new(None) };
}

/// Has the current thread call a function now and then while it is busy: each time that it has written
/// 64 KiB of a response as JSON, or read 1,024 values of a request that is rejected, to name what is wrong
/// with it. Either takes some 0.1 ms.
///
/// A response is written as a whole, and its thread does nothing else meanwhile. A server that makes long
/// responses on threads of their own can let these give way to its other threads, for example by
/// [`std::thread::yield_now`]. A rejected request of more than 16 KiB is read on a thread of its runtime
/// that may block, which is one of these if the request runs there.
///
/// ```
/// use api_runtime::server::call_while_busy;
///
/// let long_work = tokio::runtime::Builder::new_multi_thread()
///     .on_thread_start(|| call_while_busy(std::thread::yield_now))
///     .build();
/// # long_work.unwrap();
/// ```
pub fn call_while_busy(call: fn()) {
    WHILE_BUSY.set(Some(call));
}

/// Calls the function of the current thread, if there is one.
#[cold]
pub(super) fn call() {
    if let Some(call) = WHILE_BUSY.get() {
        call();
    }
}

#[cfg(test)]
pub(super) mod counting {
    use super::*;

    thread_local! {
        static CALLS: Cell<usize> = const { Cell::new(0) };
    }

    /// Returns how often the function of this thread is called meanwhile.
    pub(in crate::server) fn calls(work: impl FnOnce()) -> usize {
        call_while_busy(|| CALLS.set(CALLS.get() + 1));
        CALLS.set(0);
        work();
        CALLS.get()
    }
}
