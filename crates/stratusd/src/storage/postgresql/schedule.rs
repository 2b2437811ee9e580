//! The order in which changes run, so that those that wait for a lock leave connections to the
//! others.
//!
//! A statement that waits for a lock of another transaction holds its connection. So such a wait is
//! short. Then the change gives its connection back and runs again later, and its [`Group`], the
//! changes of its type in its project, is held: its new changes run one at a time, and so do those
//! that have met the lock. All held groups together have a number of places, half as many as there
//! are workers, and a place rests after a change that has met a lock for about as long as that has
//! waited. Other changes of the project belong to other groups.
//!
//! A group is free again once a change that has met a lock gets through, or some time after the last
//! one has met a lock. A new change that gets through says nothing: it may be about something else.

mod line;

use std::cmp::Reverse;
use std::collections::{BTreeMap, BinaryHeap, HashMap};
use std::pin::pin;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use crate::storage::StorageError;
use crate::storage::job::{Group, Job};
use line::Line;

/// How long a place rests after a change that has met a lock, and how long the next new change of
/// its group waits at least.
const REST: Duration = Duration::from_millis(250);
/// How long a change that has met a lock waits at least before it runs again. Longer than [`REST`],
/// so that new changes of the group run in between, also where there is one place.
const RETRY: Duration = Duration::from_millis(500);
/// How long a group is held after a change has met a lock, if no change of it waits.
const MEMORY: Duration = Duration::from_secs(10);
/// How often the groups are looked through for those that need not be held any longer.
const SWEEP: Duration = Duration::from_secs(1);
/// What the wait of a change for a lock is divided by if its group is not held, but another one is:
/// locks are held at the moment, and there may be many such groups.
const HASTE: u32 = 10;

/// The changes that wait for a worker.
pub(super) struct Schedule {
    /// How long a change may wait for a lock before it gives its connection back.
    lock_wait: Duration,
    state: Mutex<State>,
    /// Wakes workers that wait for a change.
    come: Notify,
}

struct State {
    /// Changes of groups that were not held when they were added.
    free: Line,
    held: HashMap<Group, Held>,
    /// The flows of held groups whose next change waits for a place, by the time from which it may
    /// run.
    due: BTreeMap<(Instant, u64), (Group, Kind)>,
    /// The free places, by the time until which they rest.
    places: BinaryHeap<Reverse<Instant>>,
    /// Whether the change that was taken last belongs to a held group.
    was_held: bool,
    /// When the groups were last looked through.
    swept: Instant,
    /// The last number that was given to a group or to an entry of `due`.
    number: u64,
    is_closed: bool,
}

/// The state of a held group. It is removed when a change that has met a lock succeeds, or [`MEMORY`]
/// after a change last met a lock if no change of the group waits or runs.
struct Held {
    /// Another number each time that the group is held, so that a change which began before then
    /// does not end the turn of another one.
    number: u64,
    new: Flow,
    locked: Flow,
    /// When a change has last met a lock.
    met: Instant,
}

/// Which changes of a held group.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Kind {
    /// Those that have not met a lock.
    New,
    /// Those that have.
    Locked,
}

/// Changes that run one after the other.
struct Flow {
    line: Line,
    stage: Stage,
    /// The next change runs no sooner.
    rests_until: Instant,
}

/// What becomes of the next change of a flow.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// There is none.
    Empty,
    /// It has the entry of `due` with this key.
    Due((Instant, u64)),
    /// It waits for the change before it, which runs.
    Running,
}

/// A change that a worker runs.
pub(super) struct Admitted {
    /// The change, which is claimed.
    pub job: Box<dyn Job>,
    /// How long it may wait for a lock.
    pub lock_wait: Duration,
    /// Its turn, if its group is held.
    turn: Option<Turn>,
}

/// The turn of a change in a held group, which has one of the places.
#[derive(Clone, Copy)]
struct Turn {
    kind: Kind,
    /// The number of the group.
    number: u64,
}

/// Why there is no change to run at the moment.
enum Idle {
    /// There are none, or no place for them.
    Wait,
    /// None may run before then.
    Until(Instant),
    /// There will be no more.
    Closed,
}

impl Schedule {
    /// Creates an empty schedule for the changes that this many workers run. A change gives its
    /// connection back after it has waited for a lock for `lock_wait`.
    pub(super) fn new(workers: u32, lock_wait: Duration) -> Self {
        let now = Instant::now();
        let places = (workers / 2).max(1);
        let state = State {
            free: Line::default(),
            held: HashMap::new(),
            due: BTreeMap::new(),
            places: (0..places).map(|_| Reverse(now)).collect(),
            was_held: false,
            swept: now,
            number: 0,
            is_closed: false,
        };
        Self {
            lock_wait,
            state: Mutex::new(state),
            come: Notify::new(),
        }
    }

    /// Adds a change. If the schedule is closed, sends [`StorageError::Closed`] to the caller of the
    /// change instead.
    pub(super) fn submit(&self, job: Box<dyn Job>) {
        let mut state = self.state();
        if state.is_closed {
            drop(state);
            job.send(Err(StorageError::Closed));
        } else {
            state.free.push(job);
            drop(state);
            self.come.notify_one();
        }
    }

    /// Waits for the next change, and claims it. Returns `None` if the schedule is closed and no
    /// change is left.
    pub(super) async fn next(&self) -> Option<Admitted> {
        loop {
            let mut come = pin!(self.come.notified());
            // Before the look, so that this worker is woken by what comes after it.
            come.as_mut().enable();
            match self.take() {
                Ok(admitted) => return Some(admitted),
                Err(Idle::Closed) => return None,
                Err(Idle::Wait) => come.await,
                Err(Idle::Until(due)) => {
                    // This worker looks again, whichever has woken it.
                    let _ = timeout_at(due, come).await;
                }
            }
        }
    }

    /// Ends the run of a change. Keeps a change that has met a lock for later, unless its caller has
    /// waited long enough; otherwise sends the result to its caller.
    pub(super) fn end(&self, admitted: Admitted, committed: Result<(), StorageError>) {
        let Admitted { mut job, turn, .. } = admitted;
        let has_met = matches!(committed, Err(StorageError::Locked(_)));
        let is_kept = has_met && job.offer_again();
        let mut state = self.state();
        let is_freed = if has_met {
            state.holds(job.group(), turn);
            false
        } else {
            state.passes(job.group(), turn, committed.is_ok())
        };
        if is_freed {
            self.come.notify_waiters();
        } else if !state.held.is_empty() {
            // For what may run in the place that is free now, or from an earlier time on.
            self.come.notify_one();
        }
        if is_kept && !state.is_closed {
            state.keep(job);
        } else {
            drop(state);
            job.send(committed);
        }
    }

    /// Closes the schedule to further changes. Workers still run those that wait, except changes
    /// that have met a lock, whose callers get [`StorageError::Locked`].
    pub(super) fn close(&self) {
        let mut refused = Vec::new();
        {
            let mut state = self.state();
            state.is_closed = true;
            state.due.clear();
            for (_, held) in std::mem::take(&mut state.held) {
                state.free.append(held.new.line);
                refused.extend(held.locked.line);
            }
        }
        self.come.notify_waiters();
        for job in refused {
            job.send(Err(StorageError::Locked("the store is closed".into())));
        }
    }

    fn take(&self) -> Result<Admitted, Idle> {
        let now = Instant::now();
        let mut state = self.state();
        state.sweep(now);
        // In turn, so that neither keep the others waiting where there is one worker.
        let admitted = if state.was_held {
            let free = state.take_free(now, self.lock_wait);
            free.or_else(|| state.take_held(now, self.lock_wait))
        } else {
            let held = state.take_held(now, self.lock_wait);
            held.or_else(|| state.take_free(now, self.lock_wait))
        };
        if admitted.is_some() && !state.due.is_empty() {
            // This worker may have waited for what is due.
            self.come.notify_one();
        }
        admitted.ok_or_else(|| state.idle())
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Takes the next change of the groups that are not held. Those of groups that have been held
    /// meanwhile get into line there.
    fn take_free(&mut self, now: Instant, lock_wait: Duration) -> Option<Admitted> {
        while let Some(mut job) = self.free.pop() {
            if let Some(held) = self.held.get_mut(job.group()) {
                let group = job.group().clone();
                held.new.line.push(job);
                self.make_due(&group, Kind::New, now);
            } else if job.claim() {
                self.was_held = false;
                let haste = if self.held.is_empty() { 1 } else { HASTE };
                return Some(Admitted {
                    job,
                    lock_wait: lock_wait / haste,
                    turn: None,
                });
            }
        }
        None
    }

    /// Takes the next change of the held groups, if there is a place for it.
    fn take_held(&mut self, now: Instant, lock_wait: Duration) -> Option<Admitted> {
        while self.places.peek().is_some_and(|rest| rest.0 <= now) {
            let next = self.due.first_entry().filter(|next| next.key().0 <= now)?;
            let (group, kind) = next.remove();
            let held = self.held.get_mut(&group)?;
            let turn = Turn {
                kind,
                number: held.number,
            };
            let flow = held.flow(kind);
            if let Some(job) = flow.line.claim() {
                flow.stage = Stage::Running;
                self.places.pop();
                self.was_held = true;
                return Some(Admitted {
                    job,
                    lock_wait,
                    turn: Some(turn),
                });
            }
            flow.stage = Stage::Empty;
        }
        None
    }

    /// Holds the group of a change that has met a lock, and ends the turn of the change.
    fn holds(&mut self, group: &Group, turn: Option<Turn>) {
        let now = Instant::now();
        if turn.is_some() {
            self.places.push(Reverse(now + REST));
        }
        if self.is_closed {
            return;
        }
        self.number += 1;
        let number = self.number;
        let held = self.held.entry(group.clone());
        let held = held.or_insert_with(|| Held::new(number, now));
        held.met = now;
        if let Some(turn) = turn.filter(|turn| turn.number == held.number) {
            let flow = held.flow(turn.kind);
            flow.stage = Stage::Empty;
            flow.rests_until = now + if turn.kind == Kind::New { REST } else { RETRY };
            self.make_due(group, turn.kind, now);
        }
    }

    /// Keeps a change that has met a lock, whose group is held, until its turn comes.
    fn keep(&mut self, job: Box<dyn Job>) {
        let now = Instant::now();
        let group = job.group().clone();
        if let Some(held) = self.held.get_mut(&group) {
            held.locked.line.push(job);
            self.make_due(&group, Kind::Locked, now + RETRY);
        }
    }

    /// Ends the turn of a change that has met no lock. If it had met one before and is made, frees its
    /// group; returns whether it did. A change that fails for another reason says nothing about the
    /// lock.
    fn passes(&mut self, group: &Group, turn: Option<Turn>, is_made: bool) -> bool {
        let Some(turn) = turn else { return false };
        let now = Instant::now();
        self.places.push(Reverse(now));
        let held = self.held.get_mut(group);
        let Some(held) = held.filter(|held| held.number == turn.number) else {
            return false;
        };
        if turn.kind == Kind::New || !is_made {
            held.flow(turn.kind).stage = Stage::Empty;
            self.make_due(group, turn.kind, now);
            return false;
        }
        if let Some(held) = self.held.remove(group) {
            for flow in [held.locked, held.new] {
                if let Stage::Due(key) = flow.stage {
                    self.due.remove(&key);
                }
                self.free.append(flow.line);
            }
        }
        true
    }

    /// Lets the next change of a held group run from a time on, unless there is none, or it has its
    /// time already.
    fn make_due(&mut self, group: &Group, kind: Kind, from: Instant) {
        let Some(held) = self.held.get_mut(group) else {
            return;
        };
        let flow = held.flow(kind);
        if flow.stage != Stage::Empty || flow.line.is_empty() {
            return;
        }
        self.number += 1;
        let key = (from.max(flow.rests_until), self.number);
        flow.stage = Stage::Due(key);
        self.due.insert(key, (group.clone(), kind));
    }

    /// Forgets the groups in which nothing waits, and no change has met a lock lately.
    fn sweep(&mut self, now: Instant) {
        if self.held.is_empty() || now < self.swept + SWEEP {
            return;
        }
        self.swept = now;
        self.held.retain(|_, held| {
            let is_empty = [&held.new, &held.locked].map(|flow| flow.stage == Stage::Empty);
            is_empty != [true, true] || now < held.met + MEMORY
        });
    }

    /// Returns why there is no change to run.
    fn idle(&self) -> Idle {
        if self.is_closed {
            return Idle::Closed;
        }
        match (self.places.peek(), self.due.first_key_value()) {
            (Some(rest), Some(((due, _), _))) => Idle::Until(rest.0.max(*due)),
            _ => Idle::Wait,
        }
    }
}

impl Held {
    fn new(number: u64, now: Instant) -> Self {
        let flow = |rests_until| Flow {
            line: Line::default(),
            stage: Stage::Empty,
            rests_until,
        };
        Self {
            number,
            new: flow(now + REST),
            locked: flow(now + RETRY),
            met: now,
        }
    }

    fn flow(&mut self, kind: Kind) -> &mut Flow {
        match kind {
            Kind::New => &mut self.new,
            Kind::Locked => &mut self.locked,
        }
    }
}
