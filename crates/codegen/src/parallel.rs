//! Runs a function on many items, on all processors.
//!
//! It is one loop, which every pass uses. rayon would do the same, but nothing else in this
//! workspace depends on it, and its pool of threads would outlive the call.

use std::sync::atomic::{AtomicUsize, Ordering};

/// Runs a function on every item, on all processors, and returns the results in order.
///
/// A thread takes the next item when it has finished one, because items differ much in size.
pub(crate) fn map<T: Sync, U: Send>(items: &[T], run: impl Fn(&T) -> U + Sync) -> Vec<U> {
    let next = AtomicUsize::new(0);
    let work = || {
        let mut done = Vec::new();
        loop {
            let at = next.fetch_add(1, Ordering::Relaxed);
            let Some(item) = items.get(at) else {
                return done;
            };
            done.push((at, run(item)));
        }
    };
    let threads = std::thread::available_parallelism()
        .map_or(1, usize::from)
        .min(items.len());
    let mut done: Vec<(usize, U)> = std::thread::scope(|scope| {
        let others: Vec<_> = (1..threads).map(|_| scope.spawn(work)).collect();
        // This thread works too, so that one item or one processor needs no other.
        let mut done = work();
        for other in others {
            match other.join() {
                Ok(results) => done.extend(results),
                // A panic is a fault of the pass, which the caller must see.
                Err(panic) => std::panic::resume_unwind(panic),
            }
        }
        done
    });
    done.sort_by_key(|(at, _)| *at);
    done.into_iter().map(|(_, result)| result).collect()
}
