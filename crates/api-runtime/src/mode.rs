//! Strict and lenient decoding: exactly by the schema, or as a client reads responses of a newer
//! server.
//!
//! The mode is a thread-local and not a parameter of [`Wire::decode`](crate::Wire::decode), because
//! decoding passes through serde's traits, which have no room for one. Only code that is about to
//! fail reads it, so a value that fits its schema costs the same in both modes.

use std::cell::Cell;

thread_local! {
    static LENIENT: Cell<bool> = const { Cell::new(false) };
}

/// Returns whether this thread decodes leniently: unknown properties of closed objects are skipped,
/// and unlisted values of extensible enumerations are kept.
#[must_use]
pub fn is_lenient() -> bool {
    LENIENT.get()
}

/// Runs `read` in lenient mode on this thread.
///
/// Types, constraints and required properties are checked as in strict mode.
pub fn lenient<T>(read: impl FnOnce() -> T) -> T {
    within(true, read)
}

/// Runs `read` in strict mode on this thread, also inside [`lenient`].
pub fn strict<T>(read: impl FnOnce() -> T) -> T {
    within(false, read)
}

fn within<T>(lenient: bool, read: impl FnOnce() -> T) -> T {
    // Restored on drop, so that a panic in `read` does not leave the thread in the other mode.
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            LENIENT.set(self.0);
        }
    }
    let _restore = Restore(LENIENT.replace(lenient));
    read()
}
