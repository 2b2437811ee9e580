//! The place in a JSON value at which decoding fails, as a JSON pointer (RFC 6901).
//!
//! serde's errors have a line and a column, and inside a union not even these. While a thread
//! [locates](located) an error, the code that passes the error on records its step of the path: the
//! name of a property, the key of a map or the index of an item. Only code that is about to fail
//! looks at the thread-local, as for the [mode](crate::is_lenient), so a value that fits costs the
//! same. Only clients locate errors, so nothing is recorded without that feature.

#[cfg(feature = "client")]
use std::cell::RefCell;
use std::fmt::Display;

/// A step of a path.
#[cfg(feature = "client")]
struct Step {
    token: String,
    /// Whether the token is a part of the value, such as the key of a map, and not of the schema.
    is_data: bool,
}

#[cfg(feature = "client")]
thread_local! {
    /// The steps of the path, the innermost first, or `None` while no error is located.
    static STEPS: RefCell<Option<Vec<Step>>> = const { RefCell::new(None) };
}

/// The place of an error.
#[cfg(feature = "client")]
#[derive(Default)]
pub(crate) struct Place {
    /// The JSON pointer to the part of the value that caused the error.
    pub(crate) pointer: String,
    /// The pointer with `*` in place of what is a part of the value, which may be a secret: for
    /// logs.
    pub(crate) printed: String,
}

/// Runs `read`, and returns its error with the place of the part of the value that caused it.
/// Returns `None` if `read` succeeds.
#[cfg(feature = "client")]
pub(crate) fn located<T, E>(read: impl FnOnce() -> Result<T, E>) -> Option<(Place, E)> {
    // Restored on drop, so that a panic in `read` does not leave the thread recording.
    struct Restore(Option<Vec<Step>>);
    impl Drop for Restore {
        fn drop(&mut self) {
            STEPS.replace(self.0.take());
        }
    }
    let _restore = Restore(STEPS.replace(Some(Vec::new())));
    let error = read().err()?;
    let steps = STEPS.take().unwrap_or_default();
    let mut place = Place::default();
    for Step { token, is_data } in steps.iter().rev() {
        let token = crate::pointer::escape(token);
        place.pointer.push('/');
        place.pointer.push_str(&token);
        place.printed.push('/');
        place.printed.push_str(if *is_data { "*" } else { &token });
    }
    Some((place, error))
}

/// Records that the error in flight comes from the value of this property, which the schema
/// declares, or from the item at this index.
pub(crate) fn step(token: impl Display) {
    record(&token, false);
}

/// Records that the error in flight comes from the value of this key, which the schema does not
/// declare.
pub(crate) fn key(token: &str) {
    record(&token, true);
}

#[cold]
#[inline(never)]
fn record(token: &dyn Display, is_data: bool) {
    #[cfg(not(feature = "client"))]
    let _ = (token, is_data);
    #[cfg(feature = "client")]
    STEPS.with_borrow_mut(|steps| {
        if let Some(steps) = steps {
            steps.push(Step {
                token: token.to_string(),
                is_data,
            });
        }
    });
}

/// Forgets the steps of an error that ends here, such as that of an alternative that does not fit.
#[cold]
pub(crate) fn forget() {
    #[cfg(feature = "client")]
    STEPS.with_borrow_mut(|steps| {
        if let Some(steps) = steps {
            steps.clear();
        }
    });
}
