//! The place in a JSON value at which decoding fails, as a JSON pointer (RFC 6901).
//!
//! serde's errors have a line and a column, and inside a union not even these. While a thread
//! [locates](located) an error, the code that passes the error on records its step of the path: the
//! name of a property, the key of a map or the index of an item. Only code that is about to fail
//! looks at the thread-local, as for the [mode](crate::is_lenient), so a value that fits costs the
//! same. Only clients and servers locate errors, so nothing is recorded without these features.

#[cfg(any(feature = "client", feature = "server"))]
use std::cell::RefCell;
use std::fmt::Display;

/// How the message of an error about bytes that are not UTF-8 begins.
pub(crate) const NOT_UTF8: &str = "the text is not UTF-8";

/// A step of the path from a whole value to the part of it that caused an error.
#[cfg(any(feature = "client", feature = "server"))]
struct Step {
    token: String,
    /// Whether the schema does not name the token, so that it is data of the caller, as the key of
    /// a map is. Such a token may be a secret.
    #[cfg_attr(
        not(feature = "client"),
        expect(dead_code, reason = "servers log no places")
    )]
    is_data: bool,
}

#[cfg(any(feature = "client", feature = "server"))]
thread_local! {
    /// The steps of the path, the innermost first, or `None` while no error is located.
    static STEPS: RefCell<Option<Vec<Step>>> = const { RefCell::new(None) };
}

/// The place of an error.
#[cfg(any(feature = "client", feature = "server"))]
#[derive(Default)]
pub(crate) struct Place {
    /// The JSON pointer to the part of the value that caused the error.
    pub(crate) pointer: String,
    /// The pointer for the logs of clients. `*` replaces the tokens that are data, because they may
    /// be secrets.
    #[cfg(feature = "client")]
    pub(crate) printed: String,
}

/// Runs `read`, and returns its error with the place of the part of the value that caused it.
/// Returns `None` if `read` succeeds.
#[cfg(any(feature = "client", feature = "server"))]
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
    for step in steps.iter().rev() {
        let token = crate::pointer::escape(&step.token);
        place.pointer.push('/');
        place.pointer.push_str(&token);
        #[cfg(feature = "client")]
        {
            place.printed.push('/');
            place
                .printed
                .push_str(if step.is_data { "*" } else { &token });
        }
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
    #[cfg(not(any(feature = "client", feature = "server")))]
    let _ = (token, is_data);
    #[cfg(any(feature = "client", feature = "server"))]
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
    #[cfg(any(feature = "client", feature = "server"))]
    STEPS.with_borrow_mut(|steps| {
        if let Some(steps) = steps {
            steps.clear();
        }
    });
}

/// Returns the part of an error's message that does not quote the body, or `None` if the message
/// has no such part.
#[cfg(any(feature = "client", feature = "server"))]
pub(crate) fn rule(error: &serde_json::Error) -> Option<String> {
    let text = error.to_string();
    // The position is no part of the rule: the pointer says more.
    let text = match text.rsplit_once(" at line ") {
        Some((text, _)) if error.line() > 0 => text,
        _ => &text,
    };
    if error.is_eof() {
        return Some("ends before its JSON does".to_owned());
    }
    if error.is_syntax() {
        return Some(match text {
            "recursion limit exceeded" => "is nested too deeply".to_owned(),
            _ => "is not JSON".to_owned(),
        });
    }
    if text.starts_with(NOT_UTF8) {
        return Some("is not UTF-8".to_owned());
    }
    if text.starts_with("missing required property `") {
        return Some("is required".to_owned());
    }
    if text.starts_with("unknown property `") {
        return Some("is not a known property".to_owned());
    }
    if text.starts_with("duplicate property `") {
        return Some("is there twice".to_owned());
    }
    // Messages of the derives, which have only words of the contract.
    if ["must ", "property `", "missing field `"]
        .iter()
        .any(|start| text.starts_with(start))
    {
        return Some(text.to_owned());
    }
    // serde quotes the value of the body before these words, and only what it expected after them.
    let (_, expected) = text.rsplit_once(", expected ")?;
    Some(format!("must be {expected}"))
}
