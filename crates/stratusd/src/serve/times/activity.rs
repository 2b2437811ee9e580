//! What happens on a connection: its open requests, whether it waits for its caller, and whether it is to
//! be closed for another one.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};
use std::time::Duration;

use futures_util::task::AtomicWaker;
use tokio::time::Instant;

/// What happens on a connection, which those who read from it, write to it and serve its requests note
/// here.
#[derive(Debug)]
pub(in crate::serve) struct Activity {
    /// The number of requests whose head has arrived. It grows while `state` is locked.
    begun: AtomicUsize,
    /// The number of requests whose body has arrived, or is not wanted, and whose response has been
    /// sent.
    ended: AtomicUsize,
    /// The number of open requests that wait for the caller.
    waiting: AtomicUsize,
    /// The responses that wait for the caller on HTTP/2: since when, by their number.
    unread: Mutex<BTreeMap<u64, Instant>>,
    state: Mutex<State>,
    /// Whether the connection is to be closed. It becomes so while `state` is locked.
    is_closed: AtomicBool,
    /// Whether requests are multiplexed with each other and with other frames, as in HTTP/2.
    are_multiplexed: AtomicBool,
    /// Wakes the task of the connection when it is to be closed.
    task: AtomicWaker,
}

/// How long after the last request on HTTP/2 bytes that are sent may be of its response. Later they may be of
/// anything, such as what answers a ping.
const SENDS_ON: Duration = Duration::from_secs(5);

#[derive(Debug)]
struct State {
    /// When the last request ended, or else when the connection was opened.
    idle_since: Instant,
    /// When bytes were last sent: hyper may have those of a response for a while after its request has
    /// ended.
    sent_at: Instant,
    /// When something last went on between the caller and an open request that waits for the caller now.
    moved_at: Instant,
    /// Since when bytes that are to be sent wait for the caller to read those before them.
    blocked_since: Option<Instant>,
}

/// For how long a connection has waited for its caller.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(in crate::serve) enum Rest {
    /// It has had no request.
    Unused(Duration),
    /// No request is open, and everything is sent.
    Idle(Duration),
    /// The caller does not read its response, or does not send the rest of a request body.
    Stalled(Duration),
}

impl Rest {
    /// Returns how long that is.
    pub(in crate::serve) fn time(self) -> Duration {
        match self {
            Self::Unused(time) | Self::Idle(time) | Self::Stalled(time) => time,
        }
    }
}

impl Activity {
    pub(in crate::serve) fn new() -> Self {
        let now = Instant::now();
        Self {
            begun: AtomicUsize::new(0),
            ended: AtomicUsize::new(0),
            waiting: AtomicUsize::new(0),
            unread: Mutex::default(),
            state: Mutex::new(State {
                idle_since: now,
                sent_at: now,
                moved_at: now,
                blocked_since: None,
            }),
            is_closed: AtomicBool::new(false),
            are_multiplexed: AtomicBool::new(false),
            task: AtomicWaker::new(),
        }
    }

    /// Closes the connection if it waits for its caller for long enough, and returns whether it does.
    /// No request begins on it then.
    pub(in crate::serve) fn close_if(&self, is_enough: impl Fn(Rest) -> bool) -> bool {
        let state = self.state();
        let closes = self.rest_in(&state).is_some_and(is_enough);
        if closes {
            self.is_closed.store(true, Ordering::Release);
        }
        drop(state);
        if closes {
            self.task.wake();
        }
        closes
    }

    /// Returns whether the connection is to be closed.
    pub(in crate::serve) fn is_closed(&self) -> bool {
        self.is_closed.load(Ordering::Acquire)
    }

    /// Waits until the connection is to be closed. Only the last task that polls this is woken.
    pub(super) fn poll_closed(&self, cx: &Context<'_>) -> Poll<()> {
        self.task.register(cx.waker());
        if self.is_closed() {
            Poll::Ready(())
        } else {
            Poll::Pending
        }
    }

    /// Returns for how long the connection has waited for its caller, or `None` if it does not: a request
    /// is being served, or bytes come and go.
    pub(in crate::serve) fn rest(&self) -> Option<Rest> {
        self.rest_in(&self.state())
    }

    fn rest_in(&self, state: &State) -> Option<Rest> {
        let begun = self.begun();
        let open = begun.wrapping_sub(self.ended());
        let all_wait = open > 0 && self.waiting.load(Ordering::Relaxed) >= open;
        let stalled_since = [all_wait.then_some(state.moved_at), state.blocked_since];
        // The one that lasts longest. Also after the last request, of whose response a part may be left.
        if let Some(since) = stalled_since.into_iter().flatten().min() {
            return Some(Rest::Stalled(since.elapsed()));
        }
        if open > 0 {
            return None;
        }
        Some(if begun == 0 {
            Rest::Unused(state.idle_since.elapsed())
        } else {
            let mut sent_at = state.sent_at;
            if self.are_multiplexed() {
                sent_at = sent_at.min(state.idle_since + SENDS_ON);
            }
            Rest::Idle(state.idle_since.max(sent_at).elapsed())
        })
    }

    /// Notes that a request has begun, on a connection whose requests are multiplexed or not. The
    /// request ends when what this returns is dropped. Returns `None` if the connection is to be closed.
    pub(in crate::serve) fn begin(self: &Arc<Self>, is_multiplexed: bool) -> Option<OpenRequest> {
        let state = self.state();
        if self.is_closed() {
            return None;
        }
        self.begun.fetch_add(1, Ordering::Relaxed);
        drop(state);
        self.are_multiplexed
            .store(is_multiplexed, Ordering::Relaxed);
        Some(OpenRequest {
            activity: Arc::clone(self),
            waits: AtomicUsize::new(0),
        })
    }

    /// Notes whether bytes wait to be sent until the caller reads those before them.
    pub(super) fn note_blocked(&self, is_blocked: bool) {
        self.state().blocked_since = is_blocked.then(Instant::now);
    }

    /// Notes that bytes were sent.
    pub(in crate::serve) fn note_sent(&self) {
        self.state().sent_at = Instant::now();
    }

    /// Returns how long no request has been open, or `None` if one is open.
    pub(super) fn idle(&self) -> Option<Duration> {
        let since = self.state().idle_since;
        (!self.is_one_open()).then(|| since.elapsed())
    }

    /// Returns the number of requests whose head has arrived.
    pub(super) fn begun(&self) -> usize {
        self.begun.load(Ordering::Relaxed)
    }

    /// Returns the number of requests that have ended.
    pub(super) fn ended(&self) -> usize {
        self.ended.load(Ordering::Relaxed)
    }

    /// Returns whether a response has waited for the caller for longer than a time.
    pub(super) fn is_unread_for(&self, time: Duration) -> bool {
        // The first one has waited for the longest time.
        let unread = self.unread();
        let oldest = unread.first_key_value().map(|(_, since)| since.elapsed());
        oldest.is_some_and(|waited| waited > time)
    }

    fn unread(&self) -> MutexGuard<'_, BTreeMap<u64, Instant>> {
        self.unread.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Returns whether a request is open on HTTP/1. The caller may then be silent, as it may be
    /// waiting for the response. Always false on HTTP/2, where a caller can send other frames
    /// meanwhile.
    pub(super) fn may_be_silent(&self) -> bool {
        self.is_one_open() && !self.are_multiplexed()
    }

    pub(super) fn are_multiplexed(&self) -> bool {
        self.are_multiplexed.load(Ordering::Relaxed)
    }

    pub(in crate::serve) fn is_one_open(&self) -> bool {
        self.begun() != self.ended()
    }
}

/// An open request, which ends when the guard is dropped: when the bodies of the request and of the
/// response are.
#[derive(Debug)]
pub(in crate::serve) struct OpenRequest {
    activity: Arc<Activity>,
    /// The number of its waits for the caller.
    waits: AtomicUsize,
}

impl OpenRequest {
    /// Notes that the request waits for more of its body, until what this returns ends. It goes on waiting
    /// as before unless much has arrived meanwhile: or a caller could keep its connection by a byte now
    /// and then.
    pub(in crate::serve) fn await_body(self: &Arc<Self>, has_moved: bool) -> Wait {
        if has_moved {
            self.activity.state().moved_at = Instant::now();
        }
        if self.waits.fetch_add(1, Ordering::Relaxed) == 0 {
            self.activity.waiting.fetch_add(1, Ordering::Relaxed);
        }
        Wait {
            request: Arc::clone(self),
        }
    }

    /// Notes that the response waits for the caller, until what this returns is dropped.
    pub(in crate::serve) fn await_reader(self: &Arc<Self>) -> Unread {
        let wait = self.await_body(true);
        let mut unread = self.activity.unread();
        let number = unread.last_key_value().map_or(0, |(last, _)| last + 1);
        unread.insert(number, Instant::now());
        Unread { wait, number }
    }
}

impl Drop for OpenRequest {
    fn drop(&mut self) {
        self.activity.state().idle_since = Instant::now();
        self.activity.ended.fetch_add(1, Ordering::Relaxed);
    }
}

/// A request that waits for its caller, until this is dropped.
#[derive(Debug)]
pub(in crate::serve) struct Wait {
    request: Arc<OpenRequest>,
}

impl Wait {
    /// Ends the wait, and returns whether the request may go on: not if the connection is to be closed.
    pub(in crate::serve) fn end(self) -> bool {
        let activity = Arc::clone(&self.request.activity);
        let state = activity.state();
        let may = !activity.is_closed();
        // While it is locked, so that the connection is not closed as one that waits.
        drop(self);
        drop(state);
        may
    }
}

impl Drop for Wait {
    fn drop(&mut self) {
        let OpenRequest { activity, waits } = &*self.request;
        if waits.fetch_sub(1, Ordering::Relaxed) == 1 {
            activity.waiting.fetch_sub(1, Ordering::Relaxed);
        }
    }
}

/// A response that waits for its caller, until this is dropped.
#[derive(Debug)]
pub(in crate::serve) struct Unread {
    wait: Wait,
    number: u64,
}

impl Drop for Unread {
    fn drop(&mut self) {
        let activity = &self.wait.request.activity;
        activity.unread().remove(&self.number);
    }
}
