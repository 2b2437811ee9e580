//! A line of changes, in which those that their callers have withdrawn take no more room than the
//! others.

use std::collections::VecDeque;
use std::collections::vec_deque::IntoIter;

use crate::storage::job::Job;

/// The length up to which a line is not looked through for withdrawn changes.
const SHORT: usize = 64;

/// Changes that wait, the oldest first. At most half of them, and [`SHORT`], are withdrawn.
pub(super) struct Line {
    jobs: VecDeque<Box<dyn Job>>,
    /// The length at which withdrawn changes are removed.
    full: usize,
}

impl Default for Line {
    fn default() -> Self {
        Self {
            jobs: VecDeque::new(),
            full: SHORT,
        }
    }
}

impl Line {
    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Adds a change at the end. If the line is twice as long as after the last look, removes the
    /// withdrawn changes.
    pub(super) fn push(&mut self, job: Box<dyn Job>) {
        if self.jobs.len() >= self.full {
            self.jobs.retain(|job| !job.is_withdrawn());
            self.jobs.shrink_to(self.jobs.len() * 2);
            self.full = SHORT.max(self.jobs.len() * 2);
        }
        self.jobs.push_back(job);
    }

    /// Adds all changes of another line at the end.
    pub(super) fn append(&mut self, other: Self) {
        for job in other {
            self.push(job);
        }
    }

    /// Takes out the first change.
    pub(super) fn pop(&mut self) -> Option<Box<dyn Job>> {
        self.jobs.pop_front()
    }

    /// Takes out the first change that is not withdrawn, and claims it.
    pub(super) fn claim(&mut self) -> Option<Box<dyn Job>> {
        while let Some(mut job) = self.pop() {
            if job.claim() {
                return Some(job);
            }
        }
        None
    }
}

impl IntoIterator for Line {
    type Item = Box<dyn Job>;
    type IntoIter = IntoIter<Box<dyn Job>>;

    fn into_iter(self) -> Self::IntoIter {
        self.jobs.into_iter()
    }
}
