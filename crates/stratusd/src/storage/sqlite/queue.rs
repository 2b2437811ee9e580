//! The queue of changes between their callers and the writer: a line for each project.

use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};

use crate::storage::StorageError;
use crate::storage::job::Job;
use crate::storage::lines::Lines;

/// The end of the queue at which changes are added.
pub(super) struct Queue(Arc<Shared>);

/// The end of the queue from which the writer takes changes. When it is dropped, the callers of the
/// changes that wait get [`StorageError::Closed`].
pub(super) struct Waiting(Arc<Shared>);

#[derive(Default)]
struct Shared {
    state: Mutex<State>,
    /// Wakes the writer.
    come: Condvar,
}

#[derive(Default)]
struct State {
    lines: Lines,
    is_closed: bool,
    /// Whether the writer waits, so that only then it costs a system call to wake it.
    is_idle: bool,
}

impl Shared {
    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Queue {
    pub(super) fn new() -> (Self, Waiting) {
        let shared = Arc::<Shared>::default();
        (Self(Arc::clone(&shared)), Waiting(shared))
    }

    /// Adds a change. If the queue is closed or the line of the project is full, sends an error to the
    /// caller of the change instead.
    pub(super) fn submit(&self, job: Box<dyn Job>) {
        let mut state = self.0.state();
        let added = if state.is_closed {
            Err((job, StorageError::Closed))
        } else {
            state.lines.push(job)
        };
        // Taken, so that of several changes only the first wakes the writer, which then takes them
        // all.
        let is_awaited = added.is_ok() && std::mem::take(&mut state.is_idle);
        drop(state);
        if is_awaited {
            self.0.come.notify_one();
        }
        if let Err((job, error)) = added {
            job.send(Err(error));
        }
    }

    /// Closes the queue to further changes. The writer still runs those that wait.
    pub(super) fn close(&self) {
        self.0.state().is_closed = true;
        self.0.come.notify_one();
    }
}

impl Waiting {
    /// Takes the next change; `None` if none waits.
    pub(super) fn try_next(&self) -> Option<Box<dyn Job>> {
        self.0.state().lines.pop()
    }

    /// Waits for the next change, and takes it. Returns `None` if the queue is closed and empty.
    pub(super) fn next(&self) -> Option<Box<dyn Job>> {
        let mut state = self.0.state();
        loop {
            let next = state.lines.pop();
            if next.is_some() || state.is_closed {
                return next;
            }
            state.is_idle = true;
            let woken = self.0.come.wait(state);
            state = woken.unwrap_or_else(PoisonError::into_inner);
        }
    }
}

impl Drop for Waiting {
    fn drop(&mut self) {
        let left: Vec<_> = {
            let mut state = self.0.state();
            state.is_closed = true;
            std::iter::from_fn(|| state.lines.pop()).collect()
        };
        for job in left {
            job.send(Err(StorageError::Closed));
        }
    }
}
