//! Calls whose responses are read as [`Lenient`].
//!
//! The generated `send` has one result, so that it stays short. While a [`LenientCall`] polls it,
//! the function that decodes the body also leaves the body in a thread-local, from which the
//! `LenientCall` takes it. Without one, decoding looks once at the thread-local and keeps nothing.

use std::cell::RefCell;
use std::future::{Future, poll_fn};
use std::mem;
use std::pin::{Pin, pin};
use std::task::{Context, Poll};

use bytes::Bytes;
use http::StatusCode;

use super::super::{Error, InvalidResponse, ResponseValue, Result, map};
use super::Lenient;

/// A response body that was read into memory.
#[derive(Clone)]
pub(in super::super) struct Body {
    pub(in super::super) bytes: Bytes,
    /// Decodes bytes as the type of the body.
    pub(in super::super) check: fn(&[u8]) -> serde_json::Result<()>,
    pub(in super::super) operation: Option<&'static str>,
    /// Whether the body is a single value as text, and not JSON.
    pub(in super::super) is_text: bool,
}

/// What a thread keeps of the call that it polls.
enum Kept {
    /// Nothing, because no [`LenientCall`] polls.
    Off,
    /// Nothing yet.
    Waiting,
    Body(Body),
}

thread_local! {
    static KEPT: RefCell<Kept> = const { RefCell::new(Kept::Off) };
}

/// What a thread has kept before. Put back on drop, so that a panic leaves no thread keeping bodies.
struct Restore(Kept);

impl Drop for Restore {
    fn drop(&mut self) {
        KEPT.replace(mem::replace(&mut self.0, Kept::Off));
    }
}

/// Keeps the body of a response, if a [`LenientCall`] waits for it.
pub(in super::super) fn keep(body: impl FnOnce() -> Body) {
    KEPT.with_borrow_mut(|kept| {
        if !matches!(kept, Kept::Off) {
            *kept = Kept::Body(body());
        }
    });
}

/// Runs `poll`, and returns its result and the body that was [kept](keep) meanwhile.
pub(in super::super) fn keeping<P>(poll: impl FnOnce() -> P) -> (P, Option<Body>) {
    let _restore = Restore(KEPT.replace(Kept::Waiting));
    let result = poll();
    match KEPT.replace(Kept::Off) {
        Kept::Body(body) => (result, Some(body)),
        Kept::Off | Kept::Waiting => (result, None),
    }
}

/// Runs what the program does within a call, such as to ask for a secret: the bodies of other calls that it
/// makes are not kept.
pub(in super::super) async fn apart<F: Future>(within: F) -> F::Output {
    let mut within = pin!(within);
    poll_fn(|cx| {
        let _restore = Restore(KEPT.replace(Kept::Off));
        within.as_mut().poll(cx)
    })
    .await
}

/// A call of an operation, whose response may be read leniently. Implemented by what `send()`
/// returns.
pub trait LenientExt<T, E>: Future<Output = Result<T, E>> + Sized {
    /// Makes the call return [`Lenient`] bodies, of successes and of listed errors.
    ///
    /// A listed response is then never [`Error::InvalidResponse`]: a body that does not fit its
    /// type, or is no JSON at all, is there as it was received. Other errors stay as they are, such
    /// as a status that the contract does not list, or a body that ends early.
    fn lenient(self) -> LenientCall<Self> {
        LenientCall {
            call: Box::pin(self),
            body: None,
        }
    }
}

impl<T, E, F: Future<Output = Result<T, E>>> LenientExt<T, E> for F {}

/// A call whose response is read leniently, see [`LenientExt::lenient`].
#[must_use = "a call does nothing unless it is awaited"]
pub struct LenientCall<F> {
    call: Pin<Box<F>>,
    body: Option<Body>,
}

impl<T, E, F: Future<Output = Result<T, E>>> Future for LenientCall<F> {
    type Output = Result<Lenient<T>, Lenient<E>>;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let (poll, body) = keeping(|| self.call.as_mut().poll(cx));
        // The poll that reads the body need not be the one that ends the call.
        self.body = body.or(self.body.take());
        poll.map(|result| leniently(result, self.body.take()))
    }
}

/// Returns the lenient form of a result, of which `body` is the body.
fn leniently<T, E>(result: Result<T, E>, body: Option<Body>) -> Result<Lenient<T>, Lenient<E>> {
    match result {
        Ok(response) => Ok(map(response, |value| Lenient::new(Ok(value), body))),
        Err(Error::InvalidResponse(invalid)) if !is_error(invalid.status()) => {
            Ok(misfitting(*invalid, body))
        }
        Err(error) => Err(failed(error, body)),
    }
}

/// Returns the lenient form of an error, of which `body` is the body. An error that the contract
/// lists is [`Error::ErrorResponse`] also if its body does not fit.
pub(in super::super) fn failed<E>(error: Error<E>, body: Option<Body>) -> Error<Lenient<E>> {
    match error {
        Error::InvalidResponse(invalid) if is_error(invalid.status()) => {
            Error::listed(misfitting(*invalid, body))
        }
        error => {
            error.map_response(|response| map(response, |value| Lenient::new(Ok(value), body)))
        }
    }
}

/// Returns a response whose body does not fit.
fn misfitting<T>(invalid: InvalidResponse, body: Option<Body>) -> ResponseValue<Lenient<T>> {
    let (status, headers, misfit) = invalid.into_parts();
    let operation = misfit.operation();
    ResponseValue::new(Lenient::new(Err(misfit), body), status, headers).of(operation)
}

/// Returns whether a status that the contract lists is that of an error.
fn is_error(status: StatusCode) -> bool {
    status.is_client_error() || status.is_server_error()
}

impl<F> std::fmt::Debug for LenientCall<F> {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("LenientCall").finish_non_exhaustive()
    }
}
