//! The expectations of a mock and what it has received, which the test and the server share.

use std::any::Any;
use std::fmt;
use std::panic::Location;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::credential::Credential;
use super::received::Received;
use super::sequence::Sequence;
use super::times::{Times, counted};
use super::unmet::Unmet;
use crate::server::{AuthError, Operation};

/// The number of requests that are remembered. Further ones are counted.
const MOST_REMEMBERED: usize = 1000;

/// A check of credentials.
pub(super) type CheckCredentials =
    Arc<dyn Fn(&[Credential], &'static Operation) -> Result<(), AuthError> + Send + Sync>;

/// What the test and the server share.
#[derive(Default)]
pub(super) struct Shared(Mutex<State>);

#[derive(Default)]
struct State {
    entries: Vec<Entry>,
    received: Vec<Received>,
    /// The number of requests that were received after [`MOST_REMEMBERED`], and how many of them
    /// have met no expectation.
    forgotten: (usize, usize),
    allows_unexpected: bool,
    credentials: Option<CheckCredentials>,
}

/// A complete expectation.
pub(super) struct Entry {
    pub(super) operation: &'static Operation,
    /// The place in the test that states the expectation.
    pub(super) place: &'static Location<'static>,
    pub(super) times: Times,
    pub(super) received: usize,
    pub(super) sequence: Option<Sequence>,
    /// A `Behaviour` of the operation's types.
    pub(super) behaviour: Arc<dyn Any + Send + Sync>,
}

impl Shared {
    /// Locks the state. No code of the test runs meanwhile, so a panic never leaves it half changed.
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Adds an expectation and returns its position.
    pub(super) fn add(&self, entry: Entry) -> usize {
        let mut state = self.state();
        state.entries.push(entry);
        state.entries.len() - 1
    }

    /// Returns the behaviour of each expectation of an operation, with its position.
    pub(super) fn of<B: Send + Sync + 'static>(
        &self,
        operation: &Operation,
    ) -> Vec<(usize, Arc<B>)> {
        let state = self.state();
        let entries = state.entries.iter().enumerate();
        entries
            .filter(|(_, entry)| entry.operation.id == operation.id)
            .filter_map(|(at, entry)| Some((at, Arc::clone(&entry.behaviour).downcast().ok()?)))
            .collect()
    }

    /// Counts a request for the first of these expectations that is due and has room, and returns
    /// its position. Returns `None` if there is none, and remembers why.
    pub(super) fn take(&self, accepting: &[usize], request: Received) -> Option<usize> {
        let mut state = self.state();
        let is_free = |at: &&usize| state.entries[**at].is_never() || state.has_room(**at);
        let chosen = accepting.iter().find(is_free).copied();
        let why = match chosen {
            Some(at) if state.entries[at].is_never() => Some("it was never expected"),
            Some(_) => None,
            None => Some(state.reason(request.operation(), accepting)),
        };
        if let Some(at) = chosen {
            state.entries[at].received += 1;
        }
        state.remember(match why {
            Some(why) => request.without_expectation(why),
            None => request,
        });
        chosen
    }

    /// Remembers a request that was rejected.
    pub(super) fn remember(&self, request: Received) {
        self.state().remember(request);
    }

    /// Returns how many requests the expectation at a position has had.
    pub(super) fn received_by(&self, at: usize) -> usize {
        self.state().entries[at].received
    }

    /// Returns the requests that are remembered.
    pub(super) fn received(&self) -> Vec<Received> {
        self.state().received.clone()
    }

    pub(super) fn allow_unexpected(&self) {
        self.state().allows_unexpected = true;
    }

    pub(super) fn set_credentials(&self, check: CheckCredentials) {
        self.state().credentials = Some(check);
    }

    pub(super) fn credentials(&self) -> Option<CheckCredentials> {
        self.state().credentials.clone()
    }

    /// Returns an error that lists the expectations that are not met and, unless they are allowed,
    /// the requests that met none.
    pub(super) fn check(&self) -> Result<(), Unmet> {
        let state = self.state();
        let unmet = state.entries.iter().filter(|entry| !entry.is_met());
        let expectations = unmet.map(Entry::complaint).collect();
        let unexpected = state.received.iter().filter(|it| it.unmet().is_some());
        let unmet = if state.allows_unexpected {
            Unmet::new(expectations, Vec::new(), 0)
        } else {
            let requests = unexpected.map(ToString::to_string).collect();
            Unmet::new(expectations, requests, state.forgotten.1)
        };
        if unmet.is_empty() { Ok(()) } else { Err(unmet) }
    }
}

impl State {
    /// Returns whether the expectation at a position takes one more request now.
    fn has_room(&self, at: usize) -> bool {
        let entry = &self.entries[at];
        entry.times.has_room(entry.received) && self.is_due(at)
    }

    /// Returns whether the expectation at a position has its turn in its sequence.
    fn is_due(&self, at: usize) -> bool {
        let Some(sequence) = &self.entries[at].sequence else {
            return true;
        };
        let others = self.entries.iter().enumerate();
        let mut others = others.filter(|(_, other)| other.is_of(sequence));
        others.all(|(other_at, other)| {
            if other_at < at {
                other.times.is_enough(other.received)
            } else {
                other_at == at || other.received == 0
            }
        })
    }

    /// Returns the reason why no expectation takes a request of an operation. `accepting` are the
    /// positions of the expectations whose checks the request passes.
    fn reason(&self, operation: Option<&'static Operation>, accepting: &[usize]) -> &'static str {
        let id = operation.map(|operation| operation.id);
        if accepting.iter().any(|at| !self.is_due(*at)) {
            "not its turn in the sequence"
        } else if !accepting.is_empty() {
            "the expectations that accept it have had all their requests"
        } else if self.entries.iter().any(|it| Some(it.operation.id) == id) {
            "no expectation of the operation accepts it"
        } else {
            "the operation has no expectation"
        }
    }

    fn remember(&mut self, request: Received) {
        if self.received.len() < MOST_REMEMBERED {
            self.received.push(request);
        } else {
            self.forgotten.0 += 1;
            self.forgotten.1 += usize::from(request.unmet().is_some());
        }
    }
}

impl Entry {
    fn is_never(&self) -> bool {
        self.times == Times::NEVER
    }

    fn is_of(&self, sequence: &Sequence) -> bool {
        self.sequence.as_ref().is_some_and(|own| own.is(sequence))
    }

    fn is_met(&self) -> bool {
        self.times.has(self.received)
    }

    /// Returns what was expected, what was received, and where the test says so.
    fn complaint(&self) -> String {
        format!(
            "{}: expected {}, received {} ({}:{})",
            self.operation.id,
            self.times,
            counted(self.received),
            self.place.file(),
            self.place.line()
        )
    }
}

impl fmt::Debug for Shared {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let state = self.state();
        f.debug_struct("Shared")
            .field("expectations", &state.entries.len())
            .field("received", &(state.received.len() + state.forgotten.0))
            .finish_non_exhaustive()
    }
}
