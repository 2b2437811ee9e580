//! The place in a JSON value at which decoding fails, as a JSON pointer (RFC 6901).
//!
//! serde's errors have a line and a column, and inside a union not even these. While a thread
//! [locates](located) an error, the code that passes the error on records its step of the path: the
//! name of a property or the index of an item. Only code that is about to fail looks at the
//! thread-local, as for the [mode](crate::is_lenient), so a value that fits costs the same.

use std::cell::RefCell;
use std::fmt::Display;

thread_local! {
    /// The steps of the path, the innermost first, or `None` while no error is located.
    static STEPS: RefCell<Option<Vec<String>>> = const { RefCell::new(None) };
}

/// Runs `read`, and returns its error with the pointer to the part of the value that caused it.
/// Returns `None` if `read` succeeds.
#[cfg(feature = "client")]
pub(crate) fn located<T, E>(read: impl FnOnce() -> Result<T, E>) -> Option<(String, E)> {
    // Restored on drop, so that a panic in `read` does not leave the thread recording.
    struct Restore(Option<Vec<String>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            STEPS.replace(self.0.take());
        }
    }
    let _restore = Restore(STEPS.replace(Some(Vec::new())));
    let error = read().err()?;
    let steps = STEPS.take().unwrap_or_default();
    let tokens = steps.iter().rev();
    let pointer =
        tokens.flat_map(|step| ["/".to_owned(), crate::pointer::escape(step).into_owned()]);
    Some((pointer.collect(), error))
}

/// Records that the error in flight comes from the value of this property, or from the item at this
/// index.
#[cold]
#[inline(never)]
pub(crate) fn step(step: impl Display) {
    STEPS.with_borrow_mut(|steps| {
        if let Some(steps) = steps {
            steps.push(step.to_string());
        }
    });
}

/// Forgets the steps of an error that ends here, such as that of an alternative that does not fit.
#[cold]
pub(crate) fn forget() {
    STEPS.with_borrow_mut(|steps| {
        if let Some(steps) = steps {
            steps.clear();
        }
    });
}
