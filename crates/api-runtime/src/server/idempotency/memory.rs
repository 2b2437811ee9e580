//! [`MemoryStore`]: outcomes in the memory of one process.

use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use futures_util::future::BoxFuture;
use tokio::time::Instant;

use super::{Begun, Claim, IdempotencyStore, KeyedRequest, Outcome, StoreError, of_unknown};

/// How long an outcome is kept by default.
const LIFETIME: Duration = Duration::from_secs(24 * 60 * 60);
/// The longest time that can be set, about 136 years: more could not be added to the time of a clock.
const LONGEST: Duration = Duration::from_secs(u32::MAX as u64);
/// The number of keys that are kept by default. With responses of up to 16 KiB they take 64 MiB at most.
const KEYS: usize = 4096;
/// The number of keys of one caller that are kept by default.
const KEYS_OF_CALLER: usize = 256;
/// The number of expired outcomes that a request deletes: more than the one that it adds, so that
/// expired ones become fewer, and few enough that no request waits for a long sweep.
const SWEPT: usize = 8;

/// Keeps outcomes in the memory of this process, within bounds: for a day, 4096 as a whole, 256 of one
/// caller, and 2048 of all callers whose credentials were not checked.
///
/// A restart forgets them all, and no other process knows them, so a request may then be done again.
/// A service with a database keeps them there, best in the transaction of the change.
pub struct MemoryStore {
    lifetime: Duration,
    keys: usize,
    keys_of_caller: usize,
    held: Mutex<Held>,
}

#[derive(Default)]
struct Held {
    entries: HashMap<[u8; 32], Entry>,
    /// When outcomes expire, with their ids.
    ends: BTreeSet<(Instant, [u8; 32])>,
    scopes: HashMap<[u8; 32], Scope>,
    /// The keys of all callers who are not known.
    unknown: Scope,
    /// The number of the last claim.
    claims: u64,
}

struct Entry {
    scope: [u8; 32],
    /// Whether the caller is known.
    is_known: bool,
    digest: [u8; 32],
    claim: Claim,
    /// The outcome and when it expires, unless the request is in progress.
    done: Option<(Instant, Outcome)>,
}

/// The keys of a caller, or of several.
#[derive(Default)]
struct Scope {
    keys: usize,
    ends: BTreeSet<(Instant, [u8; 32])>,
}

impl MemoryStore {
    /// Creates a store that keeps outcomes for a day, 4096 as a whole, 256 of one caller, and 2048 of all
    /// callers whose credentials were not checked.
    #[must_use]
    pub fn new() -> Self {
        Self {
            lifetime: LIFETIME,
            keys: KEYS,
            keys_of_caller: KEYS_OF_CALLER,
            held: Mutex::default(),
        }
    }

    /// Sets how long an outcome is kept, from the end of its request on.
    #[must_use]
    pub fn lifetime(mut self, time: Duration) -> Self {
        self.lifetime = time.min(LONGEST);
        self
    }

    /// Sets how many keys are kept, as a whole and of one caller. A new key above that is rejected, by
    /// 503 and 429: to forget one earlier than promised would let its request be done twice. Callers
    /// whose credentials were not checked have half of the whole together.
    #[must_use]
    pub fn keys(mut self, of_all: usize, of_one: usize) -> Self {
        self.keys = of_all;
        self.keys_of_caller = of_one;
        self
    }

    fn lock(&self) -> MutexGuard<'_, Held> {
        self.held.lock().unwrap_or_else(PoisonError::into_inner)
    }

    fn claim(&self, request: &KeyedRequest, now: Instant) -> Begun {
        let mut held = self.lock();
        held.sweep(now);
        if let Some(entry) = held.entries.get(&request.id) {
            match &entry.done {
                None => return Begun::InProgress,
                Some((end, outcome)) if *end > now => {
                    return Begun::Done {
                        digest: entry.digest,
                        outcome: outcome.clone(),
                    };
                }
                // The sweep has not come to it yet.
                Some(_) => held.remove(&request.id),
            }
        }
        let wait = |ends: &BTreeSet<(Instant, [u8; 32])>| {
            let (end, _) = ends.first()?;
            Some(end.saturating_duration_since(now))
        };
        let scope = held.scopes.get(&request.scope);
        if let Some(scope) = scope.filter(|scope| scope.keys >= self.keys_of_caller) {
            return Begun::ScopeFull(wait(&scope.ends));
        }
        if !request.is_known && held.unknown.keys >= of_unknown(self.keys) {
            return Begun::StoreFull(wait(&held.unknown.ends));
        }
        if held.entries.len() >= self.keys {
            return Begun::StoreFull(wait(&held.ends));
        }
        held.insert(request)
    }
}

impl Default for MemoryStore {
    fn default() -> Self {
        Self::new()
    }
}

impl IdempotencyStore for MemoryStore {
    fn begin<'a>(&'a self, request: &'a KeyedRequest) -> BoxFuture<'a, Result<Begun, StoreError>> {
        Box::pin(async { Ok(self.claim(request, Instant::now())) })
    }

    fn finish<'a>(
        &'a self,
        request: &'a KeyedRequest,
        claim: Claim,
        outcome: Outcome,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let end = Instant::now() + self.lifetime;
            let mut held = self.lock();
            let Held {
                entries,
                ends,
                scopes,
                unknown,
                ..
            } = &mut *held;
            let entry = entries.get_mut(&request.id);
            if let Some(entry) = entry.filter(|entry| entry.is(claim)) {
                entry.done = Some((end, outcome));
                ends.insert((end, request.id));
                let scope = scopes.entry(entry.scope).or_default();
                scope.ends.insert((end, request.id));
                if !entry.is_known {
                    unknown.ends.insert((end, request.id));
                }
            }
            Ok(())
        })
    }

    fn abandon<'a>(
        &'a self,
        request: &'a KeyedRequest,
        claim: Claim,
    ) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let mut held = self.lock();
            let entry = held.entries.get(&request.id);
            if entry.is_some_and(|entry| entry.is(claim)) {
                held.remove(&request.id);
            }
            Ok(())
        })
    }
}

impl Entry {
    /// Returns whether the request with this claim is in progress.
    fn is(&self, claim: Claim) -> bool {
        self.claim == claim && self.done.is_none()
    }
}

impl Scope {
    /// Removes a key, and when it expires if its request has ended.
    fn remove(&mut self, end: Option<&(Instant, [u8; 32])>) {
        self.keys -= 1;
        if let Some(end) = end {
            self.ends.remove(end);
        }
    }
}

impl Held {
    fn insert(&mut self, request: &KeyedRequest) -> Begun {
        self.claims += 1;
        let claim = Claim(self.claims);
        let entry = Entry {
            scope: request.scope,
            is_known: request.is_known,
            digest: request.digest,
            claim,
            done: None,
        };
        self.entries.insert(request.id, entry);
        self.scopes.entry(request.scope).or_default().keys += 1;
        if !request.is_known {
            self.unknown.keys += 1;
        }
        Begun::Claimed(claim)
    }

    fn remove(&mut self, id: &[u8; 32]) {
        let Some(entry) = self.entries.remove(id) else {
            return;
        };
        let end = entry.done.map(|(end, _)| (end, *id));
        if let Some(end) = &end {
            self.ends.remove(end);
        }
        if !entry.is_known {
            self.unknown.remove(end.as_ref());
        }
        let Some(scope) = self.scopes.get_mut(&entry.scope) else {
            return;
        };
        scope.remove(end.as_ref());
        if scope.keys == 0 {
            self.scopes.remove(&entry.scope);
        }
    }

    /// Deletes some of the outcomes that have expired.
    fn sweep(&mut self, now: Instant) {
        for _ in 0..SWEPT {
            match self.ends.first() {
                Some(&(end, id)) if end <= now => self.remove(&id),
                _ => return,
            }
        }
    }
}

impl fmt::Debug for MemoryStore {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("MemoryStore")
            .field("lifetime", &self.lifetime)
            .field("keys", &self.keys)
            .field("keys_of_caller", &self.keys_of_caller)
            .finish_non_exhaustive()
    }
}
