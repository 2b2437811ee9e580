//! A held group: the changes of it that wait, and when its next ones may run.

use std::time::Duration;

use tokio::time::Instant;

use super::REST;
use crate::storage::lines::Line;

/// How long a change that has met a lock waits at least before it runs again. Longer than [`REST`],
/// so that new changes of the group run in between, also where there is one place.
const RETRY: Duration = Duration::from_millis(500);
/// How long a group is held after a change has met a lock, if no change of it waits.
const MEMORY: Duration = Duration::from_secs(10);

/// The state of a held group. It is removed when a change that has met a lock succeeds, or [`MEMORY`]
/// after a change last met a lock if no change of the group waits or runs.
pub(super) struct Held {
    /// Another number each time that the group is held, so that a change which began before then
    /// does not end the turn of another one.
    pub number: u64,
    pub new: Flow,
    pub locked: Flow,
    /// When a change has last met a lock.
    pub met: Instant,
}

/// A kind of changes of a held group.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Changes that have not met a lock.
    New,
    /// Changes that have met a lock.
    Locked,
}

/// Changes that run one after the other.
pub(super) struct Flow {
    pub line: Line,
    pub stage: Stage,
    /// The next change runs no sooner.
    pub rests_until: Instant,
}

/// What becomes of the next change of a flow.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Stage {
    /// There is none.
    Empty,
    /// It is due, with this key.
    Due((Instant, u64)),
    /// It waits for the change before it, which runs.
    Running,
}

impl Kind {
    /// Returns how long the next change of a flow waits at least after one that has met a lock.
    pub(super) fn rest(self) -> Duration {
        match self {
            Self::New => REST,
            Self::Locked => RETRY,
        }
    }
}

impl Held {
    pub(super) fn new(number: u64, now: Instant) -> Self {
        let flow = |kind: Kind| Flow {
            line: Line::default(),
            stage: Stage::Empty,
            rests_until: now + kind.rest(),
        };
        Self {
            number,
            new: flow(Kind::New),
            locked: flow(Kind::Locked),
            met: now,
        }
    }

    pub(super) fn flow(&mut self, kind: Kind) -> &mut Flow {
        match kind {
            Kind::New => &mut self.new,
            Kind::Locked => &mut self.locked,
        }
    }

    /// Returns whether the group need not be held any longer, although no change has got through.
    pub(super) fn is_over(&self, now: Instant) -> bool {
        let is_empty = [&self.new, &self.locked].map(|flow| flow.stage == Stage::Empty);
        is_empty == [true, true] && now >= self.met + MEMORY
    }
}
