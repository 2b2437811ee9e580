//! What owners share, such as connections or bytes of memory: each has a part, and those that want more
//! than there is wait in a line for each owner. The lines are served in turn.

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::hash::Hash;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::oneshot;

/// An amount of something, and who has which part of it.
#[derive(Debug)]
pub(crate) struct Shares<K: Eq + Hash + Clone> {
    state: Mutex<State<K>>,
}

/// How much an owner may have.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Most {
    /// The amount of all owners together.
    pub all: usize,
    /// The amount of one owner.
    pub each: usize,
    /// Whether an owner may have no more than it leaves for others. So `n` owners that want much have
    /// an equal share of `n + 1`, and one share is left.
    pub leaves_as_much: bool,
}

#[derive(Debug)]
struct State<K: Eq + Hash + Clone> {
    most: Most,
    /// The owner that is served before all others, and may have all.
    first: Option<K>,
    /// What all owners have together, without what they owe.
    used: usize,
    by_owner: HashMap<K, usize>,
    /// What each owner owes, beside what it has.
    owed: HashMap<K, usize>,
    /// Those that wait, in a line for each owner. A line stays, also if it is empty, until its turn
    /// comes.
    lines: HashMap<K, BTreeMap<Number, Waiting<K>>>,
    /// The owners of all lines, the next one to be served first.
    turns: VecDeque<K>,
    /// The number of the next one that waits.
    next: u64,
}

/// Where one waits in its line: after those that come first, and after those that came before it.
type Number = (bool, u64);

/// One that waits.
#[derive(Debug)]
struct Waiting<K: Eq + Hash + Clone> {
    wanted: Wanted,
    sender: oneshot::Sender<Part<K>>,
}

/// An amount that is wanted.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Wanted {
    pub amount: usize,
    /// What the same request has already. If its owner has nothing else, it may have all that is free,
    /// so that a request which needs more than an equal share is served at some time.
    pub beside: usize,
}

impl<K: Eq + Hash + Clone> Shares<K> {
    pub(crate) fn new(most: Most) -> Self {
        Self {
            state: Mutex::new(State {
                most,
                first: None,
                used: 0,
                by_owner: HashMap::new(),
                owed: HashMap::new(),
                lines: HashMap::new(),
                turns: VecDeque::new(),
                next: 0,
            }),
        }
    }

    /// Serves an owner before all others, and lets it have all.
    pub(crate) fn with_first(mut self, owner: K) -> Self {
        let state = self.state.get_mut();
        state.unwrap_or_else(PoisonError::into_inner).first = Some(owner);
        self
    }

    /// Takes an amount if its owner may have it at once.
    pub(crate) fn try_take(self: &Arc<Self>, owner: &K, amount: usize) -> Option<Part<K>> {
        let wanted = Wanted { amount, beside: 0 };
        let mut state = self.state();
        state
            .may_take(owner, wanted)
            .then(|| self.part(&mut state, owner, amount))
    }

    /// Takes an amount in any case. What it is beyond that which its owner may have, the owner owes: it is
    /// missing to nobody else, and the owner may have no more until that much is given back.
    pub(crate) fn take(self: &Arc<Self>, owner: &K, amount: usize) -> Part<K> {
        let mut state = self.state();
        let counted = amount.min(state.most_of(owner, 0));
        let mut part = self.part(&mut state, owner, counted);
        part.owed = amount - counted;
        if part.owed > 0 {
            *state.owed.entry(owner.clone()).or_default() += part.owed;
        }
        part
    }

    /// Returns whether an owner owes anything.
    pub(crate) fn owes(&self, owner: &K) -> bool {
        self.state().owed.contains_key(owner)
    }

    /// Waits until the owner may take an amount, and takes it.
    pub(crate) async fn wait(self: &Arc<Self>, owner: &K, wanted: Wanted) -> Part<K> {
        let waited = self.wait_in_line(owner, wanted, false, usize::MAX).await;
        waited.expect("a line without a bound is never full")
    }

    /// Waits as [`Shares::wait`] does, or returns `None` at once if a number of others wait in the line of
    /// the owner already.
    pub(crate) async fn wait_behind(
        self: &Arc<Self>,
        owner: &K,
        wanted: Wanted,
        others: usize,
    ) -> Option<Part<K>> {
        self.wait_in_line(owner, wanted, false, others).await
    }

    /// Waits as [`Shares::wait`] does, but first in the line of its owner: for those that hold something
    /// meanwhile which other owners wait for.
    pub(crate) async fn wait_first(self: &Arc<Self>, owner: &K, wanted: Wanted) -> Part<K> {
        let waited = self.wait_in_line(owner, wanted, true, usize::MAX).await;
        waited.expect("a line without a bound is never full")
    }

    async fn wait_in_line(
        self: &Arc<Self>,
        owner: &K,
        wanted: Wanted,
        is_first: bool,
        others: usize,
    ) -> Option<Part<K>> {
        let (receiver, number) = {
            let mut state = self.state();
            // Those of others that wait may not take what is free, or they would have it.
            if !state.waits(owner) && state.may_take(owner, wanted) {
                return Some(self.part(&mut state, owner, wanted.amount));
            }
            if state.lines.get(owner).map_or(0, BTreeMap::len) >= others {
                return None;
            }
            let (sender, receiver) = oneshot::channel();
            (
                receiver,
                state.push(owner, is_first, Waiting { wanted, sender }),
            )
        };
        let _line = InLine {
            shares: self,
            owner,
            number,
        };
        let part = receiver.await;
        Some(part.expect("a sender stays in its line until it is used"))
    }

    fn part(self: &Arc<Self>, state: &mut State<K>, owner: &K, amount: usize) -> Part<K> {
        state.used += amount;
        // What has nothing is no owner.
        if amount > 0 {
            *state.by_owner.entry(owner.clone()).or_default() += amount;
        }
        Part {
            shares: Arc::clone(self),
            owner: owner.clone(),
            amount,
            owed: 0,
        }
    }

    /// Gives what is free to those whose turn it is.
    fn serve(self: &Arc<Self>) {
        loop {
            let (part, sender) = {
                let mut state = self.state();
                let Some((owner, Waiting { wanted, sender })) = state.pop() else {
                    return;
                };
                (self.part(&mut state, &owner, wanted.amount), sender)
            };
            // Not locked any more: a part that is not wanted any more is given back.
            if let Err(part) = sender.send(part) {
                self.state().give_back(part);
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State<K>> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl<K: Eq + Hash + Clone> State<K> {
    fn may_take(&self, owner: &K, wanted: Wanted) -> bool {
        let Wanted { amount, beside } = wanted;
        amount == 0 || amount <= self.most_of(owner, beside)
    }

    /// Returns how much more an owner may have for a request that has some of it already.
    fn most_of(&self, owner: &K, beside: usize) -> usize {
        let free = self.most.all.saturating_sub(self.used);
        if self.first.as_ref() == Some(owner) {
            return free;
        }
        if self.owed.contains_key(owner) {
            return 0;
        }
        let has = self.by_owner.get(owner).copied().unwrap_or_default();
        if has == beside {
            return free;
        }
        let left = self.most.each.saturating_sub(has).min(free);
        if self.most.leaves_as_much {
            left.min(free.saturating_sub(has) / 2)
        } else {
            left
        }
    }

    fn waits(&self, owner: &K) -> bool {
        self.lines.get(owner).is_some_and(|line| !line.is_empty())
    }

    /// Adds one to the line of its owner, and returns its number in there.
    fn push(&mut self, owner: &K, is_first: bool, waiting: Waiting<K>) -> Number {
        self.next += 1;
        let number = (!is_first, self.next);
        if let Some(line) = self.lines.get_mut(owner) {
            line.insert(number, waiting);
        } else {
            let line = BTreeMap::from([(number, waiting)]);
            self.lines.insert(owner.clone(), line);
            self.queue(owner.clone());
        }
        number
    }

    /// Gives an owner a turn: the last one, or the first one if it is served before all others.
    fn queue(&mut self, owner: K) {
        if self.first.as_ref() == Some(&owner) {
            self.turns.push_front(owner);
        } else {
            self.turns.push_back(owner);
        }
    }

    /// Takes out the next one that may take what it wants.
    fn pop(&mut self) -> Option<(K, Waiting<K>)> {
        // Nothing is free, and there may be many lines.
        if self.used >= self.most.all {
            return None;
        }
        let mut at = 0;
        while let Some(owner) = self.turns.get(at) {
            let first = self.lines.get(owner).and_then(BTreeMap::first_key_value);
            let Some((_, Waiting { wanted, .. })) = first else {
                let owner = self.turns.remove(at)?;
                self.lines.remove(&owner);
                continue;
            };
            if !self.may_take(owner, *wanted) {
                at += 1;
                continue;
            }
            let owner = self.turns.remove(at)?;
            let (_, waiting) = self.lines.get_mut(&owner)?.pop_first()?;
            // An empty line goes when its turn comes.
            self.queue(owner.clone());
            return Some((owner, waiting));
        }
        None
    }

    fn give_back(&mut self, mut part: Part<K>) {
        self.free(&part.owner, part.amount, part.owed);
        // So that its drop gives nothing back, for which it would need the lock.
        (part.amount, part.owed) = (0, 0);
    }

    fn free(&mut self, owner: &K, amount: usize, owed: usize) {
        self.used -= amount;
        for (all, amount) in [(&mut self.by_owner, amount), (&mut self.owed, owed)] {
            if let Some(has) = all.get_mut(owner) {
                *has -= amount;
                if *has == 0 {
                    all.remove(owner);
                }
            }
        }
    }
}

/// A part, which is given back when this is dropped.
#[derive(Debug)]
pub(crate) struct Part<K: Eq + Hash + Clone> {
    shares: Arc<Shares<K>>,
    owner: K,
    /// What is missing to others.
    amount: usize,
    /// What its owner owes besides.
    owed: usize,
}

impl<K: Eq + Hash + Clone> Part<K> {
    /// Returns the whole amount, with what is owed.
    pub(crate) fn amount(&self) -> usize {
        self.amount + self.owed
    }

    /// Adds another part of the same owner.
    pub(crate) fn join(&mut self, mut other: Self) {
        self.amount += std::mem::take(&mut other.amount);
        self.owed += std::mem::take(&mut other.owed);
    }
}

impl<K: Eq + Hash + Clone> Drop for Part<K> {
    fn drop(&mut self) {
        if self.amount() > 0 {
            let mut state = self.shares.state();
            state.free(&self.owner, self.amount, self.owed);
            drop(state);
            self.shares.serve();
        }
    }
}

/// One that waits in line, and leaves it when this is dropped.
struct InLine<'s, K: Eq + Hash + Clone> {
    shares: &'s Arc<Shares<K>>,
    owner: &'s K,
    number: Number,
}

impl<K: Eq + Hash + Clone> Drop for InLine<'_, K> {
    fn drop(&mut self) {
        let mut state = self.shares.state();
        let line = state.lines.get_mut(self.owner);
        let left = line.and_then(|line| line.remove(&self.number));
        drop(state);
        // The next one in this line may want less.
        if left.is_some() {
            self.shares.serve();
        }
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    fn one() -> Wanted {
        wanted(1)
    }

    fn wanted(amount: usize) -> Wanted {
        Wanted { amount, beside: 0 }
    }

    #[test]
    fn a_line_may_have_a_bound() {
        let shares = Arc::new(Shares::new(Most {
            all: 1,
            each: 1,
            leaves_as_much: false,
        }));
        let held = shares.try_take(&"shop", 1).expect("it is free");
        let waits = [(); 3].map(|()| Box::pin(shares.wait_behind(&"shop", one(), 2)));
        let [mut first, mut second, third] = waits;
        assert!((&mut first).now_or_never().is_none());
        assert!((&mut second).now_or_never().is_none());
        let refused = third.now_or_never().expect("it does not wait");
        assert!(refused.is_none());
        // The line of another owner has room.
        let mut rival = Box::pin(shares.wait_behind(&"rival", one(), 2));
        assert!((&mut rival).now_or_never().is_none());
        // And so has this one again.
        drop(held);
        drop(rival);
        drop(first.now_or_never().flatten().expect("it is its turn"));
        let last = Box::pin(shares.wait_behind(&"shop", one(), 2)).now_or_never();
        assert!(last.is_none());
    }

    #[test]
    fn owners_are_served_in_turn_and_those_that_go_away_leave_their_line() {
        let shares = Arc::new(Shares::new(Most {
            all: 1,
            each: 1,
            leaves_as_much: false,
        }));
        let held = shares.try_take(&"shop", 1).expect("it is free");
        let mut shop: Vec<_> = (0..3)
            .map(|_| Box::pin(shares.wait(&"shop", one())))
            .collect();
        for wait in &mut shop {
            assert!(wait.now_or_never().is_none());
        }
        let mut rival = Box::pin(shares.wait(&"rival", one()));
        assert!((&mut rival).now_or_never().is_none());
        drop(shop.remove(0));
        drop(held);
        let second = (&mut shop[0]).now_or_never().expect("it is its turn");
        assert!((&mut shop[1]).now_or_never().is_none());
        assert!((&mut rival).now_or_never().is_none());
        drop(second);
        // Before the other one of the shop.
        // Nothing can be had at any time.
        let nothing = shares.try_take(&"fourth", 0).expect("it is nothing");
        assert!(!shares.state().by_owner.contains_key(&"fourth"));
        drop(nothing);
        let third = rival.now_or_never().expect("it is its turn");
        assert!((&mut shop[1]).now_or_never().is_none());
        drop(third);
        drop(shop.remove(1).now_or_never().expect("it is its turn"));
        // One that goes away with what it was given gives it back.
        drop(shop);
        let held = shares.try_take(&"shop", 1).expect("it is free");
        let mut leaving = Box::pin(shares.wait(&"shop", one()));
        assert!((&mut leaving).now_or_never().is_none());
        drop(held);
        drop(leaving);
        assert!(shares.try_take(&"rival", 1).is_some());
        let state = shares.state();
        assert!((state.used, state.by_owner.len()) == (0, 0) && state.lines.len() < 3);
    }

    #[test]
    fn who_comes_first_waits_for_none_of_its_owner() {
        let shares = Arc::new(Shares::new(Most {
            all: 1,
            each: 1,
            leaves_as_much: false,
        }));
        let part = shares.wait(&"a", one()).now_or_never();
        let mut waiting: Vec<_> = (0..3).map(|_| Box::pin(shares.wait(&"a", one()))).collect();
        for wait in &mut waiting {
            assert!(wait.as_mut().now_or_never().is_none());
        }
        let mut first = Box::pin(shares.wait_first(&"a", one()));
        assert!(first.as_mut().now_or_never().is_none());
        let mut other = Box::pin(shares.wait(&"b", one()));
        assert!(other.as_mut().now_or_never().is_none());
        drop(part);
        let part = first.as_mut().now_or_never();
        assert!(part.is_some());
        // Other owners have their turns as before.
        drop(part);
        assert!(other.as_mut().now_or_never().is_some());
    }

    #[test]
    fn an_owner_has_no_more_than_it_leaves_for_others() {
        let shares = Arc::new(Shares::new(Most {
            all: 12,
            each: 5,
            leaves_as_much: true,
        }));
        let take = |owner: &'static str| {
            let parts: Vec<_> = std::iter::from_fn(|| shares.try_take(&owner, 1)).collect();
            parts
        };
        let shop = take("shop");
        assert_eq!(shop.len(), 5);
        let rival = take("rival");
        assert_eq!(rival.len(), 3);
        // What is alone in its owner may have all that is left, and no more.
        assert!(shares.try_take(&"third", 5).is_none());
        let mut third = shares.try_take(&"third", 1).expect("it is free");
        assert!(shares.try_take(&"third", 3).is_none());
        let rest = shares.wait(
            &"third",
            Wanted {
                amount: 3,
                beside: 1,
            },
        );
        third.join(rest.now_or_never().expect("it has nothing else"));
        assert_eq!(third.amount(), 4);
        // What is taken in any case, and is too much, is missing to its owner alone, until it is back.
        let beyond = shares.take(&"shop", 10);
        drop((third, rival));
        assert!(shares.owes(&"shop") && !shares.owes(&"third"));
        assert!(shares.try_take(&"third", 7).is_some());
        drop(shop);
        assert!(shares.try_take(&"shop", 1).is_none());
        assert_eq!(beyond.amount(), 10);
        drop(beyond);
        // The first 12 are free, and the others are owed.
        let all = shares.take(&"shop", 20);
        assert!(shares.try_take(&"third", 1).is_none());
        drop(all);
        assert!(shares.try_take(&"third", 12).is_some());
        let state = shares.state();
        assert!(state.used == 0 && state.by_owner.is_empty() && state.owed.is_empty());
    }

    #[test]
    fn the_first_owner_comes_before_all_others_and_is_not_bounded() {
        let most = Most {
            all: 2,
            each: 1,
            leaves_as_much: false,
        };
        let shares = Arc::new(Shares::new(most).with_first("probe"));
        let held = [shares.try_take(&"probe", 1), shares.try_take(&"probe", 1)];
        assert!(held.iter().all(Option::is_some));
        let mut shop = Box::pin(shares.wait(&"shop", one()));
        assert!((&mut shop).now_or_never().is_none());
        let mut probe = Box::pin(shares.wait(&"probe", one()));
        assert!((&mut probe).now_or_never().is_none());
        let [held, other] = held;
        drop(held);
        assert!((&mut shop).now_or_never().is_none());
        assert!(probe.now_or_never().is_some());
        drop(other);
        assert!(shop.now_or_never().is_some());
    }
}
