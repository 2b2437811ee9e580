//! The flows of held groups whose next change waits for a place, and which of them gets the next one.

use std::collections::BTreeMap;
use std::time::Duration;

use tokio::time::Instant;

use super::held::Kind;
use crate::storage::job::Group;

/// The flows whose next change waits for a place: those of new changes apart from those of changes
/// that have met a lock. Each kind has the places for half of the time, if it needs them, so that new
/// changes do not wait for all that have met a lock: these take long, and the new ones may not need
/// the lock at all.
#[derive(Default)]
pub(super) struct Due {
    new: Class,
    locked: Class,
    /// The last number that was given to a key.
    number: u64,
}

/// The flows of one kind.
#[derive(Default)]
struct Class {
    /// The groups, by the time from which their change may run.
    groups: BTreeMap<(Instant, u64), Group>,
    /// How long changes of this kind have had the places since both kinds began to wait for them.
    had: Duration,
}

impl Class {
    /// Returns whether a change of this kind may run.
    fn is_due(&self, now: Instant) -> bool {
        self.first().is_some_and(|first| first <= now)
    }

    fn first(&self) -> Option<Instant> {
        self.groups.first_key_value().map(|((from, _), _)| *from)
    }
}

impl Due {
    pub(super) fn is_empty(&self) -> bool {
        self.new.groups.is_empty() && self.locked.groups.is_empty()
    }

    /// Returns the earliest time from which a change may run.
    pub(super) fn first(&self) -> Option<Instant> {
        [&self.new, &self.locked]
            .into_iter()
            .filter_map(Class::first)
            .min()
    }

    /// Adds a flow, whose next change may run from a time on. Returns its key.
    pub(super) fn insert(&mut self, kind: Kind, from: Instant, group: Group) -> (Instant, u64) {
        self.number += 1;
        let key = (from, self.number);
        self.class(kind).groups.insert(key, group);
        key
    }

    pub(super) fn remove(&mut self, kind: Kind, key: &(Instant, u64)) {
        self.class(kind).groups.remove(key);
    }

    /// Takes out the flow whose change gets the next place. Returns `None` if none may run yet.
    pub(super) fn next(&mut self, now: Instant) -> Option<(Kind, Group)> {
        let kind = match (self.new.is_due(now), self.locked.is_due(now)) {
            (false, false) => return None,
            (true, true) if self.new.had <= self.locked.had => Kind::New,
            (true, true) => Kind::Locked,
            (is_new, _) => {
                // What one kind has had while the other did not wait is not made up for.
                self.new.had = Duration::ZERO;
                self.locked.had = Duration::ZERO;
                if is_new { Kind::New } else { Kind::Locked }
            }
        };
        let (_, group) = self.class(kind).groups.pop_first()?;
        Some((kind, group))
    }

    /// Notes that a change has had a place for a time.
    pub(super) fn note(&mut self, kind: Kind, had: Duration) {
        self.class(kind).had += had;
    }

    fn class(&mut self, kind: Kind) -> &mut Class {
        match kind {
            Kind::New => &mut self.new,
            Kind::Locked => &mut self.locked,
        }
    }
}
