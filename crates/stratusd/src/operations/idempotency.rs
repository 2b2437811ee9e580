//! Idempotency keys: a request that is sent again with the same key gets the response to the first,
//! and changes nothing.
//!
//! The response is stored by the transaction of the change itself, so there is a response if and
//! only if there is a change. A refusal changes nothing, so it is not stored: a request that was
//! refused may be sent again with the same key.

use std::time::Duration;

use api_types::{IdempotencyKey, ProjectId};
use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::{Context, Result};
use crate::domain::refusal::KeysInUse;
use crate::domain::{Caller, Refusal};
use crate::storage::idempotency::{self, Stored};
use crate::storage::{Change, Connection, Corrupt, StorageError};
use crate::sweep::PAUSE;

/// How long a response is kept.
pub const LIFETIME: Duration = Duration::from_hours(24);

/// A key as one caller uses it for one operation, and the request that it stands for.
#[derive(Debug)]
pub struct Key {
    project: ProjectId,
    id: [u8; 32],
    request: String,
    context: Context,
}

impl Key {
    /// Creates the key of a request. `request` is everything of it that the effect depends on, other
    /// than the project.
    ///
    /// # Panics
    ///
    /// Never: values of the contract can be written as JSON.
    #[must_use]
    pub fn new(
        caller: &Caller,
        operation: &str,
        key: &IdempotencyKey,
        request: &impl Serialize,
        context: &Context,
    ) -> Self {
        // The names of tokens and operations have no slash, so no two keys have the same text. The
        // hash has one length, and does not show what callers write into their keys.
        let of = format!("{}/{operation}/{}", caller.token_id, key.as_str());
        let request = serde_json::to_vec(request).expect("it can be written as JSON");
        Self {
            project: caller.project_id.clone(),
            id: Sha256::digest(of).into(),
            request: URL_SAFE_NO_PAD.encode(Sha256::digest(request)),
            context: context.clone(),
        }
    }

    /// Returns the stored response, if it is one to the same request.
    fn replay<T: DeserializeOwned>(&self, stored: &Stored) -> Result<T> {
        let corrupt = || {
            StorageError::Corrupt(Corrupt {
                table: "idempotency",
                column: "sealed",
            })
        };
        let owner = sealed_for(&stored.project_id, &stored.id);
        let text = self.context.sealer.open(&stored.sealed, &owner);
        let text = text.map_err(|_| corrupt())?;
        let kept: Kept<T> = serde_json::from_str(&text).map_err(|_| corrupt())?;
        if kept.request == self.request {
            Ok(kept.response)
        } else {
            Err(Refusal::KeyReused.into())
        }
    }

    /// Returns the row that keeps a response.
    fn keep<T: Serialize>(&self, response: &T, now: i64) -> Stored {
        let kept = Kept {
            request: self.request.clone(),
            response,
        };
        let text = serde_json::to_string(&kept).expect("it can be written as JSON");
        let Context { world, sealer, .. } = &self.context;
        let sealed = sealer.seal(&text, world, &sealed_for(&self.project, &self.id));
        Stored {
            project_id: self.project.clone(),
            id: self.id.to_vec(),
            parts: idempotency::parts(&sealed),
            sealed,
            expires_at: now.saturating_add(milliseconds(LIFETIME)),
        }
    }
}

/// What is sealed in a row: the hash of the request, which may be that of a password, and the
/// response, which may show a secret.
#[derive(Serialize, Deserialize)]
struct Kept<T> {
    request: String,
    response: T,
}

/// Returns what a stored response is sealed for, so that it opens in no other row.
pub(crate) fn sealed_for(project: &ProjectId, id: &[u8]) -> String {
    format!("idempotency/{project}/{}", URL_SAFE_NO_PAD.encode(id))
}

fn milliseconds(time: Duration) -> i64 {
    i64::try_from(time.as_millis()).unwrap_or(i64::MAX)
}

/// A change that is made once for each key, however often it is applied.
#[derive(Debug)]
pub struct Once<C> {
    /// The change.
    pub change: C,
    /// The key, if the caller has sent one.
    pub key: Option<Key>,
}

/// The output of a change, made now or before.
#[derive(Debug)]
pub struct Answer<T> {
    /// The output.
    pub output: T,
    /// Whether the change was made by an earlier request with the same key.
    pub is_replayed: bool,
}

impl<C> Change for Once<C>
where
    C: Change<Refusal = Refusal>,
    C::Output: Serialize + DeserializeOwned,
{
    type Output = Answer<C::Output>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Answer<C::Output>> {
        let Some(key) = &self.key else {
            return self.change.apply(tx).await.map(Answer::new);
        };
        // A repeat while the first request is in progress waits for it here, and then finds its
        // response.
        let now = idempotency::lock(tx, &key.id, &key.context.world).await?;
        let stored = idempotency::lookup(tx, &key.project, &key.id).await?;
        if let Some(stored) = stored.as_ref().filter(|stored| now < stored.expires_at) {
            let output = key.replay(stored)?;
            idempotency::confirm(tx, stored).await?;
            return Ok(Answer {
                output,
                is_replayed: true,
            });
        }
        // Before the change, which must not have written if this refuses.
        let most = key.context.idempotency_keys;
        // An expired response with this id makes room for the new one.
        let room = stored.as_ref().map_or(0, |old| old.parts);
        if idempotency::count(tx, &key.project).await? - room >= i64::from(most) {
            let oldest = idempotency::first_expiry(tx, &key.project).await?;
            let left = oldest.unwrap_or(now).saturating_sub(now);
            let left = Duration::from_millis(u64::try_from(left).unwrap_or(0));
            // Once it has expired, the next sweep deletes it.
            let wait = left.min(LIFETIME) + PAUSE;
            return Err(Refusal::TooManyKeys(KeysInUse { most, wait }).into());
        }
        let output = self.change.apply(tx).await?;
        let kept = key.keep(&output, now);
        match &stored {
            Some(old) => idempotency::replace(tx, old, &kept).await?,
            None => idempotency::insert(tx, &kept).await?,
        }
        Ok(Answer::new(output))
    }
}

impl<T> Answer<T> {
    fn new(output: T) -> Self {
        Self {
            output,
            is_replayed: false,
        }
    }
}
