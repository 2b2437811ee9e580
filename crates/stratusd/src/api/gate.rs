//! Who calls: tokens, and how often each may come.

use std::collections::HashMap;
use std::num::NonZeroU32;
use std::sync::{Mutex, PoisonError};
use std::time::{Duration, Instant};

use api_server::{Security, server};
use governor::clock::{Clock, DefaultClock};
use governor::{DefaultKeyedRateLimiter, Quota, RateLimiter};
use subtle::ConstantTimeEq;

use crate::causes::Causes;
use crate::domain::token::Presented;
use crate::domain::{Access, Caller};
use crate::storage::{self, StorageError, Store};
use crate::world::World;

/// How long a token is believed to be as it was: so long a revoked one may still pass.
const FRESH: Duration = Duration::from_secs(1);
/// Tokens that are remembered at most.
const REMEMBERED: usize = 10_000;
/// How often the rate limit forgets tokens that have rested.
const SWEEP: Duration = Duration::from_secs(10);

/// How often a token may come.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateLimit {
    /// Requests per second.
    pub per_second: NonZeroU32,
    /// Requests at once after a rest.
    pub burst: NonZeroU32,
}

/// Turns a token into whoever it belongs to.
#[derive(Debug)]
pub struct Gate {
    store: Store,
    world: World,
    remembered: Mutex<HashMap<String, (Instant, storage::token::Token)>>,
    limiter: Option<Limiter>,
}

/// Counts requests by token.
#[derive(Debug)]
struct Limiter {
    tokens: DefaultKeyedRateLimiter<String>,
    /// When tokens that have rested were last forgotten.
    swept: Mutex<Instant>,
}

impl Gate {
    /// Knows the tokens of a store.
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
            remembered: Mutex::default(),
            limiter,
        }
    }

    async fn lookup(&self, id: &str) -> Result<Option<storage::token::Token>, StorageError> {
        if let Some(token) = self.remembered(id) {
            return Ok(Some(token));
        }
        let mut reader = self.store.reader().await?;
        let found = storage::token::lookup(&mut reader.connection(), id).await?;
        if let Some(token) = &found {
            self.remember(token.clone());
        }
        Ok(found)
    }

    fn remembered(&self, id: &str) -> Option<storage::token::Token> {
        let remembered = self
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        remembered
            .get(id)
            .filter(|(since, _)| since.elapsed() < FRESH)
            .map(|(_, token)| token.clone())
    }

    fn remember(&self, token: storage::token::Token) {
        let mut remembered = self
            .remembered
            .lock()
            .unwrap_or_else(PoisonError::into_inner);
        if remembered.len() >= REMEMBERED {
            remembered.retain(|_, (since, _)| since.elapsed() < FRESH);
            if remembered.len() >= REMEMBERED {
                remembered.clear();
            }
        }
        remembered.insert(token.id.clone(), (Instant::now(), token));
    }

    /// Refuses a token that comes too often.
    fn ensure_calm(&self, id: &str) -> Result<(), server::AuthError> {
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
    /// Forgets tokens that have rested, once there are many; not at each request, since all are looked at.
    fn sweep(&self) {
        let Ok(mut swept) = self.swept.try_lock() else {
            return;
        };
        if swept.elapsed() >= SWEEP && self.tokens.len() > REMEMBERED {
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
        self.ensure_calm(&token.id)?;
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

/// Whether a kept token is the one whose hash this is, and good at a time.
fn is_good(kept: &storage::token::Token, hash: &[u8; 32], now: i64) -> bool {
    let is_same: bool = kept.hash.ct_eq(hash.as_slice()).into();
    is_same && kept.revoked_at.is_none() && kept.expires_at.is_none_or(|end| now < end)
}
