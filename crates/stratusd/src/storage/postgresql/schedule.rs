//! The order in which changes run, so that a project with many of them, and those that wait for a
//! lock, leave connections to the others.
//!
//! Changes wait in a line for each project, and the lines are served in turn (`lines.rs`). While other
//! projects are active, a project has at most a quarter of the workers: the server computes what all of
//! them ask for, and a change that comes then would wait for that. The service itself has all.
//!
//! A statement that waits for a lock of another transaction holds its connection. So such a wait is
//! short. Then the change gives its connection back and runs again later, and its [`Group`], the
//! changes of its type in its project, is held: its new changes run one at a time, and so do those
//! that have met the lock. They do not count towards the quarter of their project: all held groups
//! together have a number of places, half as many as there are workers, and a place rests after a
//! change that has met a lock for about as long as that has waited. New changes wait for a lock for a
//! shorter time, and each of the two kinds has the places for half of the time, so that a new change
//! which does not need the lock gets through soon. Other changes of the project belong to other groups.
//!
//! A change that conflicts with concurrent ones for as long gives its connection back too, and goes to
//! the end of its line; it waits for no lock, so its group is not held.
//!
//! A group is free again once a change that has met a lock gets through, or some time after the last
//! one has met a lock. A new change that gets through says nothing: it may be about something else.

mod due;
mod held;
#[cfg(test)]
mod tests;

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};
use std::pin::pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use tokio::sync::Notify;
use tokio::time::{Instant, timeout_at};

use super::RUNS;
use super::active::Active;
use crate::storage::StorageError;
use crate::storage::job::{Group, Job, Met, Owner};
use crate::storage::lines::Lines;
use due::Due;
use held::{Held, Kind, Stage};

/// How long the next new change of a held group waits at least after one has met a lock.
const REST: Duration = Duration::from_millis(250);
/// How often the groups are looked through for those that need not be held any longer.
const SWEEP: Duration = Duration::from_secs(1);
/// What the wait of a change for a lock is divided by if it has not met one, but a group is held:
/// locks are held at the moment, and there may be many such groups.
const HASTE: u32 = 10;

/// The changes that wait for a worker.
pub(super) struct Schedule {
    /// How long a change may wait for a lock before it gives its connection back.
    lock_wait: Duration,
    active: Arc<Active>,
    /// How many changes of a project, of groups that are not held, may run at a time while other projects
    /// are active.
    share: usize,
    state: Mutex<State>,
    /// Wakes workers that wait for a change.
    come: Notify,
}

struct State {
    /// Changes of groups that were not held when they were added.
    free: Lines,
    /// How many of them run, for each owner of which some do.
    running: HashMap<Owner, usize>,
    held: HashMap<Group, Held>,
    due: Due,
    /// The free places, by the time until which they rest.
    places: BinaryHeap<Reverse<Instant>>,
    /// Whether the change that was taken last belongs to a held group.
    was_held: bool,
    /// When the groups were last looked through.
    swept: Instant,
    /// The last number that was given to a group.
    number: u64,
    is_closed: bool,
}

/// A change that a worker runs.
pub(super) struct Admitted {
    /// The change, which is claimed.
    pub job: Box<dyn Job>,
    /// How long all its statements together may wait for locks.
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
    begun: Instant,
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
    /// connection back after it has waited for a lock for `lock_wait`. Notes which projects submit
    /// changes.
    pub(super) fn new(workers: u32, lock_wait: Duration, active: Arc<Active>) -> Self {
        let now = Instant::now();
        let places = (workers / 2).max(1);
        let state = State {
            free: Lines::default(),
            running: HashMap::new(),
            held: HashMap::new(),
            due: Due::default(),
            places: (0..places).map(|_| Reverse(now)).collect(),
            was_held: false,
            swept: now,
            number: 0,
            is_closed: false,
        };
        Self {
            lock_wait,
            active,
            share: usize::try_from(workers.div_ceil(4)).unwrap_or(usize::MAX),
            state: Mutex::new(state),
            come: Notify::new(),
        }
    }

    /// Adds a change. If the schedule is closed or the line of the project is full, sends an error to
    /// the caller of the change instead.
    pub(super) fn submit(&self, job: Box<dyn Job>) {
        self.active.note(job.group().owner());
        let mut state = self.state();
        let added = if state.is_closed {
            Err((job, StorageError::Closed))
        } else {
            state.free.push(job)
        };
        drop(state);
        match added {
            Ok(()) => self.come.notify_one(),
            Err((job, error)) => job.send(Err(error)),
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

    /// Ends the run of a change. Keeps a change that has met a lock, or that conflicts with concurrent
    /// ones and has runs left, for later, unless its caller has waited long enough; otherwise sends
    /// the result to its caller.
    pub(super) fn end(&self, admitted: Admitted, committed: Result<(), StorageError>) {
        let Admitted {
            mut job,
            turn,
            lock_wait,
        } = admitted;
        let met = match &committed {
            Err(StorageError::Locked(_)) => Some(Met::Lock),
            Err(StorageError::Conflict) if job.failures() < RUNS => Some(Met::Conflict),
            _ => None,
        };
        let kept = met.filter(|met| job.offer_again(*met));
        let mut state = self.state();
        if turn.is_none() {
            state.note_end(job.group().owner());
            if !state.free.is_empty() {
                // A change of the same project may have waited for this.
                self.come.notify_one();
            }
        }
        let is_freed = if met == Some(Met::Lock) {
            state.holds(job.group(), turn, lock_wait);
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
        let ended = match kept {
            Some(Met::Lock) if !state.is_closed => {
                state.keep(job);
                None
            }
            Some(Met::Conflict) => {
                state.free.put(job);
                self.come.notify_one();
                None
            }
            _ => Some(job),
        };
        drop(state);
        if let Some(job) = ended {
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
            state.due = Due::default();
            for (_, mut held) in std::mem::take(&mut state.held) {
                for job in held.new.line.drain() {
                    state.free.put(job);
                }
                refused.extend(held.locked.line.drain());
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
        // In turn, so that with one worker the held changes and the others both get on.
        let admitted = if state.was_held {
            let free = self.take_free(&mut state, now);
            free.or_else(|| state.take_held(now, self.lock_wait))
        } else {
            let held = state.take_held(now, self.lock_wait);
            held.or_else(|| self.take_free(&mut state, now))
        };
        if admitted.is_some() && !state.due.is_empty() {
            // This worker may have waited for what is due.
            self.come.notify_one();
        }
        admitted.ok_or_else(|| state.idle())
    }

    /// Takes the next change of the groups that are not held, of a project that may have one more. Those
    /// of groups that have been held meanwhile get into line there.
    fn take_free(&self, state: &mut State, now: Instant) -> Option<Admitted> {
        loop {
            let (running, is_closed) = (&state.running, state.is_closed);
            let may = |owner: &Owner| {
                let has = running.get(owner).copied().unwrap_or_default();
                let is_limited = matches!(owner, Owner::Project(_));
                // Once the schedule is closed, workers end when nothing can be taken.
                !is_limited || has < self.share || is_closed || self.active.is_alone(owner)
            };
            let mut job = state.free.pop_of(may)?;
            if let Some(held) = state.held.get_mut(job.group()) {
                let group = job.group().clone();
                held.new.line.push(job);
                state.make_due(&group, Kind::New, now);
            } else if job.claim() {
                state.was_held = false;
                let owner = job.group().owner().clone();
                *state.running.entry(owner).or_default() += 1;
                let haste = if state.held.is_empty() { 1 } else { HASTE };
                return Some(Admitted {
                    job,
                    lock_wait: self.lock_wait / haste,
                    turn: None,
                });
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl State {
    /// Notes that a change of a group that is not held has ended.
    fn note_end(&mut self, owner: &Owner) {
        if let Some(running) = self.running.get_mut(owner) {
            *running -= 1;
            if *running == 0 {
                self.running.remove(owner);
            }
        }
    }

    /// Takes the next change of the held groups, if there is a place for it.
    fn take_held(&mut self, now: Instant, lock_wait: Duration) -> Option<Admitted> {
        while self.places.peek().is_some_and(|rest| rest.0 <= now) {
            let (kind, group) = self.due.next(now)?;
            let held = self.held.get_mut(&group)?;
            let turn = Turn {
                kind,
                number: held.number,
                begun: now,
            };
            let flow = held.flow(kind);
            if let Some(job) = flow.line.claim() {
                flow.stage = Stage::Running;
                self.places.pop();
                self.was_held = true;
                let haste = if kind == Kind::New { HASTE } else { 1 };
                return Some(Admitted {
                    job,
                    lock_wait: lock_wait / haste,
                    turn: Some(turn),
                });
            }
            flow.stage = Stage::Empty;
        }
        None
    }

    /// Holds the group of a change that has met a lock, and ends the turn of the change, which has
    /// waited for the lock for `waited`.
    fn holds(&mut self, group: &Group, turn: Option<Turn>, waited: Duration) {
        let now = Instant::now();
        if let Some(turn) = turn {
            self.free_place(turn, now, waited);
        }
        if self.is_closed {
            return;
        }
        // A turn of a group that was freed and is held again must not count for the new one.
        self.number += 1;
        let number = self.number;
        let held = self.held.entry(group.clone());
        let held = held.or_insert_with(|| Held::new(number, now));
        held.met = now;
        if let Some(turn) = turn.filter(|turn| turn.number == held.number) {
            let flow = held.flow(turn.kind);
            flow.stage = Stage::Empty;
            flow.rests_until = now + turn.kind.rest();
            self.make_due(group, turn.kind, now);
        }
    }

    /// Keeps a change that has met a lock, whose group is held, until its turn comes.
    fn keep(&mut self, job: Box<dyn Job>) {
        let now = Instant::now();
        let group = job.group().clone();
        match self.held.get_mut(&group) {
            Some(held) => held.locked.line.push(job),
            None => self.free.put(job),
        }
        self.make_due(&group, Kind::Locked, now + Kind::Locked.rest());
    }

    /// Ends the turn of a change that has met no lock. If it had met one before and is made, frees its
    /// group; returns whether it did. A change that fails for another reason says nothing about the
    /// lock.
    fn passes(&mut self, group: &Group, turn: Option<Turn>, is_made: bool) -> bool {
        let Some(turn) = turn else { return false };
        let now = Instant::now();
        self.free_place(turn, now, Duration::ZERO);
        let held = self.held.get_mut(group);
        let Some(held) = held.filter(|held| held.number == turn.number) else {
            return false;
        };
        if turn.kind == Kind::New || !is_made {
            held.flow(turn.kind).stage = Stage::Empty;
            self.make_due(group, turn.kind, now);
            return false;
        }
        if let Some(mut held) = self.held.remove(group) {
            for kind in [Kind::Locked, Kind::New] {
                let flow = held.flow(kind);
                if let Stage::Due(key) = flow.stage {
                    self.due.remove(kind, &key);
                }
                for job in flow.line.drain() {
                    self.free.put(job);
                }
            }
        }
        true
    }

    /// Frees the place of a turn, after a rest.
    fn free_place(&mut self, turn: Turn, now: Instant, rest: Duration) {
        self.places.push(Reverse(now + rest));
        let ran = now.saturating_duration_since(turn.begun);
        self.due.note(turn.kind, ran + rest);
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
        let from = from.max(flow.rests_until);
        flow.stage = Stage::Due(self.due.insert(kind, from, group.clone()));
    }

    /// Forgets the groups in which nothing waits, and no change has met a lock lately.
    fn sweep(&mut self, now: Instant) {
        if self.held.is_empty() || now < self.swept + SWEEP {
            return;
        }
        self.swept = now;
        self.held.retain(|_, held| !held.is_over(now));
    }

    /// Returns why there is no change to run.
    fn idle(&self) -> Idle {
        if self.is_closed {
            return Idle::Closed;
        }
        let held = match (self.places.peek(), self.due.first()) {
            (Some(rest), Some(due)) => Some(rest.0.max(due)),
            _ => None,
        };
        // Those of a project that has its share may run once it is alone.
        let free = (!self.free.is_empty()).then(|| Instant::now() + SWEEP);
        held.into_iter()
            .chain(free)
            .min()
            .map_or(Idle::Wait, Idle::Until)
    }
}
