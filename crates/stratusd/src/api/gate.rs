//! Authentication: finds the caller that a token belongs to, and limits the rate of requests of
//! each token.

use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use api_server::{Security, server};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use subtle::ConstantTimeEq;
use tokio::sync::{Semaphore, SemaphorePermit};

use super::cache::Cache;
use crate::causes::Causes;
use crate::domain::token::Presented;
use crate::domain::{Access, Caller};
use crate::storage::token::Token;
use crate::storage::{self, StorageError, Store};
use crate::world::World;

/// The hash of a whole token.
type Hash = [u8; 32];

/// What the hash of a token is compared with whose id does not exist.
const NO_HASH: Hash = [0; 32];
/// How long a token is cached; a revoked one works at most this long.
const LIFETIME: Duration = Duration::from_secs(1);
/// The number of tokens that are cached or counted at most.
const CAPACITY: usize = 10_000;
/// The tokens that are looked up at a time of those that were never found before.
const NEWCOMERS: usize = 4;
/// The requests with such tokens that may wait for a lookup.
const MOST_WAITING: usize = 256;
/// The minimum time between two sweeps, in which the rate limiter forgets the tokens that may make
/// their whole burst of requests again.
const SWEEP: Duration = Duration::from_secs(10);

/// The number of requests that a token may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests per second.
    pub per_second: NonZeroU32,
    /// Requests at once, after a pause.
    pub burst: NonZeroU32,
}

impl RateLimit {
    /// Returns the time after which a token that has used up its burst may make all of it again.
    fn window(self) -> Duration {
        Duration::from_secs(1) * self.burst.get() / self.per_second.get()
    }
}

/// Checks tokens, and returns the callers that they belong to.
#[derive(Debug)]
pub struct Gate {
    store: Store,
    world: World,
    /// Tokens by the hash of what the caller presents, so that not every request reads the store. A
    /// cache by id would show by its speed which ids exist.
    tokens: Cache<Hash, Token>,
    newcomers: Newcomers,
    limiter: Option<Limiter>,
}

/// The lookups of tokens that were never found before. Anybody can invent tokens, so these must not
/// take the connections of requests whose tokens are known.
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

    /// Waits until a token may be looked up. Returns `None` if too many wait already.
    async fn wait(&self) -> Option<SemaphorePermit<'_>> {
        let _place = self.waiting.try_acquire().ok()?;
        // It is never closed, so this does not fail.
        self.lookups.acquire().await.ok()
    }
}

/// Why a token cannot be checked.
#[derive(Debug)]
enum Unchecked {
    /// Too many tokens that were never found before wait for their lookup.
    Busy,
    Storage(StorageError),
}

impl From<StorageError> for Unchecked {
    fn from(error: StorageError) -> Self {
        Self::Storage(error)
    }
}

/// Limits the requests of each token.
#[derive(Debug)]
struct Limiter {
    limit: RateLimit,
    tokens: DefaultKeyedRateLimiter<String>,
    /// The time of the last sweep.
    swept: Mutex<Instant>,
}

impl Gate {
    /// Creates the gate of a store, with a rate limit if there is one.
    #[must_use]
    pub fn new(store: Store, world: World, limit: Option<RateLimit>) -> Self {
        let limiter = limit.map(|limit| Limiter {
            limit,
            tokens: RateLimiter::keyed(
                Quota::per_second(limit.per_second).allow_burst(limit.burst),
            ),
            swept: Mutex::new(Instant::now()),
        });
        Self {
            store,
            world,
            tokens: Cache::new(LIFETIME, CAPACITY),
            newcomers: Newcomers::new(),
            limiter,
        }
    }

    /// Looks up the stored token that a caller presents; `None` if there is none with its secret.
    ///
    /// What is done, and so the time, does not depend on whether the id exists: a token that is not
    /// cached is read, and a hash is compared.
    async fn lookup(&self, presented: Presented<'_>) -> Result<Option<Token>, Unchecked> {
        let hash = presented.hash();
        if let Some(token) = self.tokens.get(&hash) {
            return Ok(Some(token));
        }
        let _turn = if self.tokens.knows(&hash) {
            None
        } else {
            Some(self.newcomers.wait().await.ok_or(Unchecked::Busy)?)
        };
        let mut reader = self.store.reader().await?;
        let found = storage::token::lookup(&mut reader.connection(), presented.id()).await?;
        let stored = found.as_ref().map_or(&NO_HASH[..], |token| &token.hash);
        // In constant time, so that the time says nothing about the hash.
        let is_same: bool = stored.ct_eq(&hash).into();
        let found = found.filter(|_| is_same);
        // Tokens that do not exist are not cached: callers could fill the cache with invented ones,
        // and a new token would not work at once.
        if let Some(token) = &found {
            self.tokens.insert(hash, token.clone());
        }
        Ok(found)
    }

    /// Rejects a token that makes too many requests.
    fn ensure_rate(&self, id: &str) -> Result<(), server::AuthError> {
        let Some(limiter) = &self.limiter else {
            return Ok(());
        };
        limiter.sweep();
        limiter
            .tokens
            .check_key(&id.to_owned())
            .map_err(|rejected| {
                server::AuthError::TooManyRequests(server::RateLimit {
                    wait: rejected.wait_time_from(DefaultClock::default().now()),
                    policy: Some(server::RatePolicy {
                        quota: limiter.limit.burst.get(),
                        window: limiter.limit.window(),
                    }),
                })
            })
    }
}

impl Limiter {
    /// Forgets the tokens that may make their whole burst again, once there are many tokens. Not at
    /// each request, since this looks at all of them.
    fn sweep(&self) {
        // If the lock is taken, another request sweeps at the moment.
        let Ok(mut swept) = self.swept.try_lock() else {
            return;
        };
        if swept.elapsed() >= SWEEP && self.tokens.len() > CAPACITY {
            self.tokens.retain_recent();
            *swept = Instant::now();
        }
    }
}

impl Security for Gate {
    type Principal = Caller;

    async fn bearer(
        &self,
        credential: server::Bearer,
        _: &'static server::Operation,
    ) -> Result<Caller, server::AuthError> {
        let presented =
            Presented::parse(credential.token.expose()).ok_or(server::AuthError::Invalid)?;
        let found = self.lookup(presented).await.map_err(|unchecked| {
            // Not if too many wait: a log line for each would be one more thing to flood.
            if let Unchecked::Storage(error) = unchecked {
                tracing::warn!(error = %Causes(&error), "a token cannot be checked");
            }
            server::AuthError::Unavailable(Some(Duration::from_secs(1)))
        })?;
        // A cached token is checked too: it may have expired since it was cached.
        let token = found.filter(|token| is_valid(token, self.world.now()));
        let token = token.ok_or(server::AuthError::Invalid)?;
        // After the check of the secret: an id is not secret, so otherwise anybody could use up the
        // allowance of another caller's token.
        self.ensure_rate(&token.id)?;
        let access = if token.read_only {
            Access::ReadOnly
        } else {
            Access::Full
        };
        Ok(Caller {
            project_id: token.project_id,
            access,
            token_id: token.id,
        })
    }
}

/// Returns whether a stored token is neither expired nor revoked.
fn is_valid(stored: &Token, now: i64) -> bool {
    stored.revoked_at.is_none() && stored.expires_at.is_none_or(|end| now < end)
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
