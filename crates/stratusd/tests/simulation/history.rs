//! A checker of histories: whether the responses of concurrent operations can be those of operations
//! that took effect one after the other, each between its call and its response (linearizability,
//! by the algorithm of Wing and Gong, with the memory of Lowe).
//!
//! An operation whose response was lost may have taken effect at any moment after its call, or not
//! at all.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fmt::Debug;
use std::hash::Hash;

/// What a register does by itself, without concurrency.
pub trait Model: Clone + Eq + Hash + Debug {
    /// An operation with its response, or without one.
    type Action: Debug;

    /// Returns the state after an action, or `None` if the action cannot have this response in this
    /// state. An action without a response that is refused leaves the state as it is.
    fn after(&self, action: &Self::Action) -> Option<Self>;
}

/// An operation of a history.
#[derive(Debug)]
pub struct Entry<A> {
    /// The moment of the call.
    pub call: u64,
    /// The moment of the response, or `None` if it was lost.
    pub back: Option<u64>,
    /// The operation and its response.
    pub action: A,
}

/// Returns the states in which a history may end that begins in one of some states: none if it is
/// not linearizable.
///
/// A lost operation takes effect within the history or never, so the histories before and after a
/// restart can be checked one after the other.
pub fn outcomes<M: Model>(starts: HashSet<M>, entries: &[Entry<M::Action>]) -> HashSet<M> {
    let mut ends = HashSet::new();
    search(starts, entries, |state| {
        ends.insert(state.clone());
        false
    });
    ends
}

/// Calls `found` with the state after all operations with a response and some without, for each
/// order in which they may have taken effect, until `found` returns true.
pub fn search<M: Model>(
    starts: impl IntoIterator<Item = M>,
    entries: &[Entry<M::Action>],
    mut found: impl FnMut(&M) -> bool,
) {
    let mut entries: Vec<&Entry<M::Action>> = entries.iter().collect();
    entries.sort_by_key(|entry| entry.call);
    let start = |state| Place {
        taken: vec![0; entries.len().div_ceil(64)],
        state,
    };
    let mut open: Vec<_> = starts.into_iter().map(start).collect();
    let mut known: HashSet<_> = open.iter().cloned().collect();
    while let Some(place) = open.pop() {
        let left = |at: &usize| !place.has(*at);
        // An operation that was called after the first of these responses came after that one.
        let until = (0..entries.len())
            .filter(left)
            .filter_map(|at| entries[at].back)
            .min();
        if until.is_none() && found(&place.state) {
            return;
        }
        let until = until.unwrap_or(u64::MAX);
        let next = (0..entries.len())
            .take_while(|at| entries[*at].call < until)
            .filter(left);
        // Those with a response last, so that they are tried first: operations without one matter
        // only where nothing else explains a response.
        let (with, without): (Vec<_>, Vec<_>) = next.partition(|at| entries[*at].back.is_some());
        for at in without.into_iter().chain(with.into_iter().rev()) {
            let Some(state) = place.state.after(&entries[at].action) else {
                continue;
            };
            // A lost operation without an effect is one that did not happen.
            if entries[at].back.is_none() && state == place.state {
                continue;
            }
            let place = place.with(at, state);
            if known.insert(place.clone()) {
                open.push(place);
            }
        }
    }
}

/// A set of operations that have taken effect, and the state after them.
#[derive(Clone, PartialEq, Eq, Hash)]
struct Place<M> {
    taken: Vec<u64>,
    state: M,
}

impl<M: Clone> Place<M> {
    fn has(&self, at: usize) -> bool {
        self.taken[at / 64] >> (at % 64) & 1 == 1
    }

    fn with(&self, at: usize, state: M) -> Self {
        let mut taken = self.taken.clone();
        taken[at / 64] |= 1 << (at % 64);
        Self { taken, state }
    }
}

/// A name that at most one resource has at a time.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub enum Name {
    /// Nothing has the name.
    Free,
    /// A resource has the name, whose id may be unknown because the response was lost.
    Taken(Option<String>),
}

/// An operation on a name.
#[derive(Debug, Clone)]
pub enum OnName {
    /// A create, with the id of the new resource.
    Made(String),
    /// A create that was refused because the name is taken.
    Refused,
    /// A create whose response was lost.
    Lost,
    /// A view, with the id of what was found.
    Seen(Option<String>),
    /// A delete, acknowledged or lost.
    #[allow(dead_code, reason = "only the simulation deletes what has a name")]
    Removed,
}

impl Model for Name {
    type Action = OnName;

    fn after(&self, action: &OnName) -> Option<Self> {
        let is = |id: &Option<String>, seen: &String| id.as_ref().is_none_or(|id| id == seen);
        match (self, action) {
            (Self::Free, OnName::Made(id)) => Some(Self::Taken(Some(id.clone()))),
            (Self::Free, OnName::Lost) => Some(Self::Taken(None)),
            (Self::Free, OnName::Seen(None)) | (Self::Taken(_), OnName::Refused | OnName::Lost) => {
                Some(self.clone())
            }
            (_, OnName::Removed) => Some(Self::Free),
            (Self::Taken(id), OnName::Seen(Some(seen))) if is(id, seen) => {
                Some(Self::Taken(Some(seen.clone())))
            }
            _ => None,
        }
    }
}

/// A value that is replaced as a whole. `None` is the value from before the first write.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub struct Value(pub Option<String>);

/// An operation on a value.
#[derive(Debug, Clone)]
pub enum OnValue {
    /// A write, acknowledged or lost.
    Write(String),
    /// A read; `None` is the value from before the first write.
    Read(Option<String>),
}

impl Model for Value {
    type Action = OnValue;

    fn after(&self, action: &OnValue) -> Option<Self> {
        match action {
            OnValue::Write(value) => Some(Self(Some(value.clone()))),
            OnValue::Read(value) => (*value == self.0).then(|| self.clone()),
        }
    }
}

/// The load balancers of a location: a value of each, and the virtual machines that are attached to
/// it. A virtual machine is attached to at most one.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Balancers(pub BTreeMap<String, Balancer>);

/// A load balancer.
#[derive(Debug, Clone, PartialEq, Eq, Hash, Default)]
pub struct Balancer {
    pub value: i64,
    pub vms: BTreeSet<String>,
}

/// An operation on load balancers.
#[derive(Debug, Clone)]
pub enum OnBalancers {
    /// Sets a load balancer.
    Set {
        name: String,
        to: Balancer,
        outcome: Outcome,
    },
    /// Detaches a virtual machine, and shows those that stay.
    Detach {
        name: String,
        vm: String,
        stay: Option<BTreeSet<String>>,
    },
    /// Reads the values of all load balancers.
    Values(BTreeMap<String, i64>),
    /// Reads everything.
    All(Balancers),
}

/// How a change ended.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Outcome {
    Done,
    Refused,
    Lost,
}

impl Model for Balancers {
    type Action = OnBalancers;

    fn after(&self, action: &OnBalancers) -> Option<Self> {
        match action {
            OnBalancers::Set { name, to, outcome } => {
                let is_free = self
                    .0
                    .iter()
                    .all(|(other, of)| other == name || of.vms.is_disjoint(&to.vms));
                match (is_free, outcome) {
                    (true, Outcome::Done | Outcome::Lost) => {
                        let mut after = self.clone();
                        after.0.insert(name.clone(), to.clone());
                        Some(after)
                    }
                    (false, Outcome::Refused | Outcome::Lost) => Some(self.clone()),
                    (true, Outcome::Refused) | (false, Outcome::Done) => None,
                }
            }
            OnBalancers::Detach { name, vm, stay } => {
                let mut after = self.clone();
                let of = after.0.entry(name.clone()).or_default();
                of.vms.remove(vm);
                let is_shown = stay.as_ref().is_none_or(|stay| *stay == of.vms);
                is_shown.then_some(after)
            }
            OnBalancers::Values(values) => {
                let are_these = self.0.len() == values.len()
                    && self
                        .0
                        .iter()
                        .all(|(name, of)| values.get(name) == Some(&of.value));
                are_these.then(|| self.clone())
            }
            OnBalancers::All(all) => (all == self).then(|| self.clone()),
        }
    }
}
