//! The builder of an expectation.

use std::fmt;
use std::future::ready;
use std::marker::PhantomData;
use std::panic::Location;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use super::behaviour::{Behaviour, Check, Respond};
use super::sequence::Sequence;
use super::state::{Entry, Shared};
use super::times::Times;
use crate::server::Operation;

/// An expectation of requests of one operation, which a response completes: until then it does
/// nothing.
///
/// Of several expectations that accept a request, the first one responds that has not had its
/// number of requests. So `times(1)` before another expectation is the response to the first
/// request.
///
/// `R` is the request, and `T` and `E` are the responses and the errors that the contract lists for
/// the operation.
#[must_use = "an expectation does nothing until it has a response"]
pub struct Expectation<'m, R, T, E> {
    shared: &'m Arc<Shared>,
    operation: &'static Operation,
    times: Option<Times>,
    sequence: Option<Sequence>,
    checks: Vec<Check<R>>,
    delay: Duration,
    responses: PhantomData<fn() -> (T, E)>,
}

impl<'m, R, T, E> Expectation<'m, R, T, E> {
    pub(super) fn new(shared: &'m Arc<Shared>, operation: &'static Operation) -> Self {
        Self {
            shared,
            operation,
            times: None,
            sequence: None,
            checks: Vec::new(),
            delay: Duration::ZERO,
            responses: PhantomData,
        }
    }

    /// Accepts only requests for which a check returns true. Several checks must all do.
    ///
    /// The request is valid by the contract. A check that panics, as by `assert_eq!`, makes the
    /// response a 500, and the verification fails.
    pub fn when(mut self, check: impl Fn(&R) -> bool + Send + Sync + 'static) -> Self {
        self.checks.push(Arc::new(check));
        self
    }

    /// Sets how many requests are expected: `2`, `1..`, `..=3`. By default, any number.
    pub fn times(mut self, times: impl Into<Times>) -> Self {
        self.times = Some(times.into());
        self
    }

    /// Expects this number of requests, or more.
    pub fn at_least(self, number: usize) -> Self {
        self.times(number..)
    }

    /// Expects this number of requests, or less.
    pub fn at_most(self, number: usize) -> Self {
        self.times(..=number)
    }

    /// Puts the expectation at the end of a sequence.
    pub fn in_sequence(mut self, sequence: &Sequence) -> Self {
        self.sequence = Some(sequence.clone());
        self
    }

    /// Waits before each response, for tests of time limits.
    pub fn delay(mut self, time: Duration) -> Self {
        self.delay = time;
        self
    }
}

impl<R, T, E> Expectation<'_, R, T, E>
where
    R: Send + 'static,
    T: Send + 'static,
    E: Send + 'static,
{
    /// Responds to each request with this value: the body where a response has nothing else, or a
    /// variant of the operation's responses.
    #[track_caller]
    pub fn respond(self, response: impl Into<T>) -> Expected
    where
        T: Clone + Sync,
    {
        let response = response.into();
        self.respond_with(move |_| Ok(response.clone()))
    }

    /// Responds to one request with this value, which need not be cloned, such as a stream. The
    /// requests after it are for other expectations.
    #[track_caller]
    pub fn respond_once(mut self, response: impl Into<T>) -> Expected {
        let times = self.times.unwrap_or(Times::ANY).at_most_once();
        self.times = Some(match self.sequence {
            Some(_) => Times::ONCE,
            None => times,
        });
        let response = Mutex::new(Some(response.into()));
        self.complete(Arc::new(move |_| {
            let mut response = response.lock().unwrap_or_else(PoisonError::into_inner);
            let response = response.take()?;
            Some(Box::pin(ready(Ok(response))))
        }))
    }

    /// Responds to each request with this error of the contract: a response such as `NotFound`, or a
    /// variant of the operation's errors.
    #[track_caller]
    pub fn fail(self, error: impl Into<E>) -> Expected
    where
        E: Clone + Sync,
    {
        let error = error.into();
        self.respond_with(move |_| Err(error.clone()))
    }

    /// Responds to each request with what a function makes of it.
    #[track_caller]
    pub fn respond_with(
        self,
        respond: impl Fn(R) -> Result<T, E> + Send + Sync + 'static,
    ) -> Expected {
        self.complete(Arc::new(move |request| {
            Some(Box::pin(ready(respond(request))))
        }))
    }

    /// Responds to each request with what an asynchronous function makes of it, such as one that
    /// reads a body that is a stream, or waits for the test.
    #[track_caller]
    pub fn respond_async<F>(self, respond: impl Fn(R) -> F + Send + Sync + 'static) -> Expected
    where
        F: Future<Output = Result<T, E>> + Send + 'static,
    {
        self.complete(Arc::new(move |request| Some(Box::pin(respond(request)))))
    }

    /// Expects no request. One that the checks accept is not for a later expectation: it has the
    /// response 501, and the verification fails.
    #[expect(clippy::must_use_candidate, reason = "what it returns only counts")]
    #[track_caller]
    pub fn never(mut self) -> Expected {
        self.times = Some(Times::NEVER);
        self.complete(Arc::new(|_| None))
    }

    #[track_caller]
    fn complete(self, respond: Respond<R, T, E>) -> Expected {
        let usual = match self.sequence {
            Some(_) => Times::ONCE,
            None => Times::ANY,
        };
        let at = self.shared.add(Entry {
            operation: self.operation,
            place: Location::caller(),
            times: self.times.unwrap_or(usual),
            received: 0,
            sequence: self.sequence,
            behaviour: Arc::new(Behaviour {
                checks: self.checks,
                delay: self.delay,
                respond,
            }),
        });
        Expected {
            shared: Arc::clone(self.shared),
            at,
        }
    }
}

impl<R, T, E> fmt::Debug for Expectation<'_, R, T, E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expectation")
            .field("operation", &self.operation.id)
            .field("times", &self.times)
            .finish_non_exhaustive()
    }
}

/// An expectation that has a response.
#[derive(Clone)]
pub struct Expected {
    shared: Arc<Shared>,
    at: usize,
}

impl Expected {
    /// Returns how many requests it has had.
    #[must_use]
    pub fn received(&self) -> usize {
        self.shared.received_by(self.at)
    }
}

impl fmt::Debug for Expected {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Expected")
            .field("received", &self.received())
            .finish_non_exhaustive()
    }
}
