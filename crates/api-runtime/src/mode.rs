//! How strictly values are read: exactly by the schema, or as a client reads answers of a newer server.

use std::cell::Cell;

thread_local! {
    static LENIENT: Cell<bool> = const { Cell::new(false) };
}

/// Whether unknown properties of closed objects are skipped and unlisted values of extensible enumerations kept.
#[must_use]
pub fn is_lenient() -> bool {
    LENIENT.get()
}

/// Runs `read` leniently on this thread. Nothing else differs: types, bounds and required properties hold.
pub fn lenient<T>(read: impl FnOnce() -> T) -> T {
    within(true, read)
}

/// Runs `read` strictly on this thread, whatever surrounds it.
pub fn strict<T>(read: impl FnOnce() -> T) -> T {
    within(false, read)
}

fn within<T>(lenient: bool, read: impl FnOnce() -> T) -> T {
    struct Restore(bool);
    impl Drop for Restore {
        fn drop(&mut self) {
            LENIENT.set(self.0);
        }
    }
    let _restore = Restore(LENIENT.replace(lenient));
    read()
}
