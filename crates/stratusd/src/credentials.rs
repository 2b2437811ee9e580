//! Lookups of credentials, of which the store has only hashes: what is the same for tokens of the
//! API and for inference keys.

use std::time::Duration;

use subtle::ConstantTimeEq;
use tokio::sync::{Semaphore, SemaphorePermit};
use tokio::time::Instant;

use crate::cache::Cache;
use crate::storage::StorageError;

/// The hash of a whole credential.
pub(crate) type Hash = [u8; 32];

/// What the hash of a credential is compared with if none is stored.
const NO_HASH: Hash = [0; 32];
/// The number of credentials that are cached at most.
pub(crate) const CAPACITY: usize = 10_000;
/// The most lookups at a time of credentials that were never found before.
const NEWCOMERS: usize = 4;
/// The most requests that wait for the lookup of a credential which was never found before.
const MOST_WAITING: usize = 256;

/// A credential as it is stored.
pub(crate) trait Stored: Clone {
    /// Returns the hash of the whole credential.
    fn hash(&self) -> &[u8];
}

/// Looks up credentials, and caches those that are found.
#[derive(Debug)]
pub(crate) struct Lookups<S> {
    /// Credentials by the hash of what the caller presents, so that not every request reads the
    /// store. A cache by id would show by its speed which ids exist.
    found: Cache<Hash, S>,
    newcomers: Newcomers,
}

/// Why a credential cannot be looked up.
#[derive(Debug)]
pub(crate) enum Unchecked {
    /// Too many credentials that were never found before wait for their lookup.
    Busy,
    Storage(StorageError),
}

impl From<StorageError> for Unchecked {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

impl<S: Stored> Lookups<S> {
    /// Creates lookups whose results are cached for `lifetime`. One that is revoked works at most
    /// this long.
    pub(crate) fn new(lifetime: Duration) -> Self {
        Self {
            found: Cache::new(lifetime, CAPACITY),
            newcomers: Newcomers::new(),
        }
    }

    /// Looks up the credential that has a hash; `None` if there is none. `read` reads it from the
    /// store, and may return another one.
    ///
    /// What is done, and so the time, does not depend on what is stored: a credential that is not
    /// cached is read, and a hash is compared.
    pub(crate) async fn lookup(
        &self,
        hash: Hash,
        read: impl Future<Output = Result<Option<S>, StorageError>>,
    ) -> Result<Option<S>, Unchecked> {
        if let Some(found) = self.found.get(&hash) {
            return Ok(Some(found));
        }
        let _turn = if self.found.knows(&hash) {
            None
        } else {
            Some(self.newcomers.wait().await.ok_or(Unchecked::Busy)?)
        };
        // Before the read: what is revoked while the result is on its way must not work for longer.
        let since = Instant::now();
        let read = read.await?;
        let stored = read.as_ref().map_or(&NO_HASH[..], Stored::hash);
        // In constant time, so that the time says nothing about the hash.
        let is_same: bool = stored.ct_eq(&hash).into();
        let found = read.filter(|_| is_same);
        // Credentials that do not exist are not cached: callers could fill the cache with invented
        // ones, and a new credential would not work at once.
        if let Some(found) = &found {
            self.found.insert_since(since, hash, found.clone());
        }
        Ok(found)
    }
}

/// The lookups of credentials that were never found before. Anybody can invent credentials, so these
/// must not take the connections of requests whose credentials are known.
#[derive(Debug)]
struct Newcomers {
    lookups: Semaphore,
    waiting: Semaphore,
}

impl Newcomers {
    fn new() -> Self {
        Self {
            lookups: Semaphore::new(NEWCOMERS),
            waiting: Semaphore::new(MOST_WAITING),
        }
    }

    /// Waits until a credential may be looked up. Returns `None` if too many wait already.
    async fn wait(&self) -> Option<SemaphorePermit<'_>> {
        let _place = self.waiting.try_acquire().ok()?;
        // It is never closed, so this does not fail.
        self.lookups.acquire().await.ok()
    }
}

#[cfg(test)]
mod tests {
    use futures_util::FutureExt;

    use super::*;

    #[test]
    fn few_newcomers_are_looked_up_and_not_many_wait() {
        let newcomers = Newcomers::new();
        let mut looked_up: Vec<_> = (0..NEWCOMERS)
            .map(|_| newcomers.wait().now_or_never().flatten().expect("a turn"))
            .collect();
        let mut waiting: Vec<_> = (0..MOST_WAITING)
            .map(|_| Box::pin(newcomers.wait()))
            .collect();
        for wait in &mut waiting {
            assert!(wait.as_mut().now_or_never().is_none());
        }
        let refused = newcomers.wait().now_or_never();
        assert!(refused.is_some_and(|refused| refused.is_none()));
        looked_up.pop();
        assert!(waiting[0].as_mut().now_or_never().flatten().is_some());
        // Its place is free again.
        assert!(newcomers.wait().now_or_never().is_none());
    }
}
