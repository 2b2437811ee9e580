//! A line of changes, in which those that their callers have withdrawn take no more room than the
//! others.

use std::collections::VecDeque;

use crate::storage::job::Job;

/// The length up to which a line is not looked through for withdrawn changes.
const SHORT: usize = 64;

/// Changes that wait, the oldest first. At most half of them, and [`SHORT`], are withdrawn.
pub(in crate::storage) struct Line {
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
    pub(in crate::storage) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Adds a change at the end. If the line is twice as long as after the last look, removes the
    /// withdrawn changes: so that adding a change costs the same on average, however long the line is.
    pub(in crate::storage) fn push(&mut self, job: Box<dyn Job>) {
        if self.jobs.len() >= self.full {
            self.jobs.retain(|job| !job.is_withdrawn());
            // A line that was long once gives its memory back.
            self.jobs.shrink_to(self.jobs.len() * 2);
            self.full = SHORT.max(self.jobs.len() * 2);
        }
        self.jobs.push_back(job);
    }

    /// Takes out the first change that is not withdrawn.
    pub(in crate::storage) fn pop(&mut self) -> Option<Box<dyn Job>> {
        while let Some(job) = self.jobs.pop_front() {
            if !job.is_withdrawn() {
                return Some(job);
            }
        }
        None
    }

    /// Takes out the first change that is not withdrawn, and claims it.
    pub(in crate::storage) fn claim(&mut self) -> Option<Box<dyn Job>> {
        while let Some(mut job) = self.jobs.pop_front() {
            if job.claim() {
                return Some(job);
            }
        }
        None
    }

    /// Takes out all changes.
    pub(in crate::storage) fn drain(&mut self) -> VecDeque<Box<dyn Job>> {
        std::mem::take(&mut self.jobs)
    }
}
