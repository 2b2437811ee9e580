//! Turns: how many requests of one token are in progress at a time.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use http::{HeaderMap, header};
use tokio::sync::{OwnedSemaphorePermit, Semaphore};

/// The turns of all tokens.
///
/// A token is identified by what the caller sends, before it is checked: a request with a token that
/// does not exist ends as soon as the check has failed. What is kept is a hash, only while a request
/// has a turn or waits for one.
#[derive(Debug)]
pub(super) struct Turns {
    /// How many turns a token has.
    each: usize,
    tokens: Mutex<HashMap<u64, Arc<Semaphore>>>,
    hasher: RandomState,
}

impl Turns {
    /// Creates turns, of which each token has this many.
    pub(super) fn new(each: usize) -> Self {
        Self {
            each,
            tokens: Mutex::default(),
            hasher: RandomState::new(),
        }
    }

    /// Waits for a turn of the token in these headers. Returns `None` if there is no token.
    pub(super) fn wait(
        self: &Arc<Self>,
        headers: &HeaderMap,
    ) -> impl Future<Output = Option<Turn>> + Send + use<> {
        let key = token(headers).map(|token| self.hasher.hash_one(token));
        let turns = Arc::clone(self);
        async move { Some(turns.turn(key?).await) }
    }

    async fn turn(self: Arc<Self>, key: u64) -> Turn {
        let semaphore = {
            let mut tokens = self.tokens();
            let semaphore = tokens.entry(key);
            Arc::clone(semaphore.or_insert_with(|| Arc::new(Semaphore::new(self.each))))
        };
        // Before the wait, so that the entry is removed also if the wait is abandoned.
        let mut turn = Turn {
            turns: Arc::clone(&self),
            key,
            semaphore: Some(Arc::clone(&semaphore)),
            permit: None,
        };
        // It is never closed, so this does not fail.
        turn.permit = semaphore.acquire_owned().await.ok();
        turn
    }

    fn tokens(&self) -> MutexGuard<'_, HashMap<u64, Arc<Semaphore>>> {
        self.tokens.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// A turn, or a request that waits for one.
#[derive(Debug)]
pub(super) struct Turn {
    turns: Arc<Turns>,
    key: u64,
    /// `None` only while it is dropped.
    semaphore: Option<Arc<Semaphore>>,
    permit: Option<OwnedSemaphorePermit>,
}

impl Drop for Turn {
    fn drop(&mut self) {
        let mut tokens = self.turns.tokens();
        // Both are dropped while the map is locked, so that of two that end at the same time, the
        // last one finds that it is the last. A permit holds the semaphore too.
        self.permit = None;
        self.semaphore = None;
        if tokens
            .get(&self.key)
            .is_some_and(|kept| Arc::strong_count(kept) == 1)
        {
            tokens.remove(&self.key);
        }
    }
}

/// Returns the token of a request: what comes last in `Authorization`, however the scheme before it
/// is written. A token has no blanks and no colons.
fn token(headers: &HeaderMap) -> Option<&str> {
    let value = headers.get(header::AUTHORIZATION)?.to_str().ok()?;
    value.trim().rsplit([' ', '\t', ':']).next()
}
