//! Authentication: finds the caller that a token belongs to, limits the rate of requests of each
//! token, and has each request wait for its place among those of its project.

use std::sync::Arc;
use std::time::Duration;

use api_server::server::RequestHead;
use api_server::{Security, server};
use api_types::ProjectId;

use super::admission::{Admitted, Overload};
use crate::causes::Causes;
use crate::credentials::{Lookups, Stored, Unchecked};
use crate::domain::token::Presented;
use crate::domain::{Access, Caller};
use crate::rate::{Limiter, RateLimit};
use crate::storage::token::Token;
use crate::storage::{self, Owner, Store};
use crate::world::World;

/// How long a token is cached; a revoked one works at most this long.
const LIFETIME: Duration = Duration::from_secs(1);

/// Checks tokens, and returns the callers that they belong to.
#[derive(Debug)]
pub struct Gate {
    store: Store,
    world: World,
    tokens: Lookups<Arc<Token>>,
    limiter: Option<Limiter>,
}

impl Stored for Arc<Token> {
    fn hash(&self) -> &[u8] {
        &self.hash
    }

    fn project(&self) -> &ProjectId {
        &self.project_id
    }
}

impl Gate {
    /// Creates the gate of a store, with a rate limit if there is one.
    #[must_use]
    pub fn new(store: Store, world: World, limit: Option<RateLimit>) -> Self {
        Self {
            store,
            world,
            tokens: Lookups::new(LIFETIME),
            limiter: limit.map(Limiter::new),
        }
    }

    /// Looks up the stored token that a caller presents; `None` if there is none with its secret.
    async fn lookup(&self, presented: Presented<'_>) -> Result<Option<Arc<Token>>, Unchecked> {
        let read = async |owner: Owner| {
            let mut reader = self.store.reader_for(&owner).await?;
            let found = storage::token::lookup(&mut reader.connection(), presented.id()).await?;
            // One that is revoked is looked up as one that never existed, and not in the turn of its project.
            let now = self.world.now();
            Ok(found.filter(|token| is_valid(token, now)).map(Arc::new))
        };
        let site = RequestHead::current().and_then(|head| head.extensions().get().copied());
        self.tokens.lookup(presented.hash(), site, read).await
    }

    /// Rejects a token that makes too many requests.
    fn ensure_rate(&self, id: &str) -> Result<(), server::AuthError> {
        let Some(limiter) = &self.limiter else {
            return Ok(());
        };
        let limit = limiter.limit();
        limiter.check(id).map_err(|wait| {
            server::AuthError::TooManyRequests(server::RateLimit {
                wait,
                policy: Some(server::RatePolicy {
                    quota: limit.burst.get(),
                    window: limit.window(),
                }),
            })
        })
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
        if let Some(Admitted(admission)) = Admitted::current() {
            let admitted = admission.admit(&token.project_id).await;
            // The layer that has not admitted the request says why.
            admitted.map_err(|Overload| server::AuthError::Unavailable(None))?;
        }
        let access = if token.read_only {
            Access::ReadOnly
        } else {
            Access::Full
        };
        Ok(Caller {
            project_id: token.project_id.clone(),
            access,
            token_id: token.id.clone(),
        })
    }
}

/// Returns whether a stored token has not expired and is not revoked.
fn is_valid(stored: &Token, now: i64) -> bool {
    stored.revoked_at.is_none() && stored.expires_at.is_none_or(|end| now < end)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_token_is_valid_until_it_expires_or_is_revoked() {
        let project_id = "pjj99grz61ddttq24cf6gc6atm".to_owned();
        let project_id = project_id.try_into().expect("it is an id");
        let mut token = Token {
            id: String::new(),
            project_id,
            hash: Vec::new(),
            read_only: false,
            description: String::new(),
            created_at: 0,
            expires_at: None,
            revoked_at: None,
        };
        assert!(is_valid(&token, i64::MAX));
        token.expires_at = Some(1000);
        assert!(is_valid(&token, 999));
        assert!(!is_valid(&token, 1000));
        token.revoked_at = Some(500);
        assert!(!is_valid(&token, 999));
    }
}
