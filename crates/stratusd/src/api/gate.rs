//! Authentication: makes the caller out of a token, and limits the rate of requests of each token.

use std::num::NonZeroU32;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use api_server::{Security, server};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use subtle::ConstantTimeEq;

use super::cache::Cache;
use crate::causes::Causes;
use crate::domain::token::Presented;
use crate::domain::{Access, Caller};
use crate::storage::token::Token;
use crate::storage::{self, StorageError, Store};
use crate::world::World;

/// How long a token is cached; a revoked one works at most this long.
const LIFETIME: Duration = Duration::from_secs(1);
/// The number of tokens that are cached or counted at most.
const CAPACITY: usize = 10_000;
/// How often the rate limiter drops the tokens whose allowance is whole again.
const SWEEP: Duration = Duration::from_secs(10);

/// The number of requests that a token may make.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests per second.
    pub per_second: NonZeroU32,
    /// Requests at once, after a pause.
    pub burst: NonZeroU32,
}

/// Makes callers out of tokens.
#[derive(Debug)]
pub struct Gate {
    store: Store,
    world: World,
    /// Tokens by id, so that not every request reads the store.
    tokens: Cache<String, Token>,
    limiter: Option<Limiter>,
}

/// Limits the requests of each token.
#[derive(Debug)]
struct Limiter {
    tokens: DefaultKeyedRateLimiter<String>,
    /// When tokens were last dropped.
    swept: Mutex<Instant>,
}

impl Gate {
    /// Creates the gate of a store, with a rate limit if there is one.
    #[must_use]
    pub fn new(store: Store, world: World, limit: Option<RateLimit>) -> Self {
        let limiter = limit.map(|limit| Limiter {
            tokens: RateLimiter::keyed(
                Quota::per_second(limit.per_second).allow_burst(limit.burst),
            ),
            swept: Mutex::new(Instant::now()),
        });
        Self {
            store,
            world,
            tokens: Cache::new(LIFETIME, CAPACITY),
            limiter,
        }
    }

    async fn lookup(&self, id: &str) -> Result<Option<Token>, StorageError> {
        if let Some(token) = self.tokens.get(id) {
            return Ok(Some(token));
        }
        let mut reader = self.store.reader().await?;
        let found = storage::token::lookup(&mut reader.connection(), id).await?;
        if let Some(token) = &found {
            self.tokens.insert(token.id.clone(), token.clone());
        }
        Ok(found)
    }

    /// Rejects a token that makes too many requests.
    fn ensure_rate(&self, id: &str) -> Result<(), server::AuthError> {
        let Some(limiter) = &self.limiter else {
            return Ok(());
        };
        limiter.sweep();
        limiter.tokens.check_key(&id.to_owned()).map_err(|refused| {
            server::AuthError::TooManyRequests(
                refused.wait_time_from(DefaultClock::default().now()),
            )
        })
    }
}

impl Limiter {
    /// Drops the tokens whose allowance is whole again, once there are many. Not at each request, since this looks at
    /// all of them.
    fn sweep(&self) {
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
        let found = self.lookup(presented.id()).await.map_err(|error| {
            tracing::warn!(error = %Causes(&error), "a token cannot be checked");
            server::AuthError::Unavailable(Some(Duration::from_secs(1)))
        })?;
        let token = found.filter(|token| is_good(token, &presented.hash(), self.world.now()));
        let token = token.ok_or(server::AuthError::Invalid)?;
        self.ensure_rate(&token.id)?;
        let access = if token.read_only {
            Access::ReadOnly
        } else {
            Access::Full
        };
        Ok(Caller {
            project_id: token.project_id,
            access,
        })
    }
}

/// Returns whether a stored token has a hash and is neither expired nor revoked. The hashes are compared in constant
/// time, so that the time says nothing about them.
fn is_good(stored: &Token, hash: &[u8; 32], now: i64) -> bool {
    let is_same: bool = stored.hash.ct_eq(hash.as_slice()).into();
    is_same && stored.revoked_at.is_none() && stored.expires_at.is_none_or(|end| now < end)
}
