//! The inference keys that callers present.

use std::time::Duration;

use api_types::{InferenceApiKeyId, ProjectId};
use http::request::Parts;
use http::{HeaderMap, header};

use super::error::GatewayError;
use super::headers::X_API_KEY;
use crate::causes::Causes;
use crate::credentials::{Hash, Lookups, Stored, Unchecked};
use crate::domain::token::hash;
use crate::storage::inference_api_key::{HashedKey, lookup_by_hash};
use crate::storage::{Owner, StorageError, Store};

/// How long a key is cached. A deleted one works at most this long.
const LIFETIME: Duration = Duration::from_millis(400);
/// How often the key of a request in progress is looked up again. With [`LIFETIME`], a request of a
/// deleted key ends within a second.
const RECHECK: Duration = Duration::from_millis(400);
/// The number of letters and digits of a key.
const LENGTH: usize = 32;

/// A key that exists.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Key {
    pub(super) project: ProjectId,
    pub(super) id: InferenceApiKeyId,
    hash: Hash,
}

impl Stored for HashedKey {
    fn hash(&self) -> &[u8] {
        &self.hash
    }

    fn project(&self) -> &ProjectId {
        &self.project_id
    }
}

/// The keys of a store.
#[derive(Debug)]
pub(super) struct Keys {
    store: Store,
    lookups: Lookups<HashedKey>,
}

impl Keys {
    pub(super) fn new(store: Store) -> Self {
        Self {
            store,
            lookups: Lookups::new(LIFETIME),
        }
    }

    /// Returns the key that a request presents.
    ///
    /// A wrong key of the right form takes the same time for all keys that are stored. One that is missing or
    /// has another form is refused at once, which says nothing that its caller does not know.
    ///
    /// # Errors
    ///
    /// If there is no key, it does not exist, or that cannot be found out.
    pub(super) async fn check(&self, parts: &Parts) -> Result<Key, GatewayError> {
        let presented = presented(&parts.headers).ok_or(GatewayError::MissingKey)?;
        let is_key =
            presented.len() == LENGTH && presented.bytes().all(|byte| byte.is_ascii_alphanumeric());
        if !is_key {
            return Err(GatewayError::InvalidKey);
        }
        let hash = hash(presented);
        let found = self
            .lookups
            .lookup(hash, parts.extensions.get().copied(), |owner| {
                self.read(&hash, owner)
            })
            .await;
        let found = found.map_err(|unchecked| {
            // Not if too many wait: a log line for each would be one more thing to flood.
            if let Unchecked::Storage(error) = unchecked {
                tracing::warn!(error = %Causes(&error), "an inference key cannot be checked");
            }
            GatewayError::Unavailable
        })?;
        let found = found.ok_or(GatewayError::InvalidKey)?;
        Ok(Key {
            project: found.project_id,
            id: found.id,
            hash,
        })
    }

    /// Waits until a key is deleted. While the store cannot be read, the key counts as it was.
    pub(super) async fn until_deleted(&self, key: &Key) {
        loop {
            tokio::time::sleep(RECHECK).await;
            let owner = Owner::Project(key.project.clone());
            let found = self
                .lookups
                .look_again(key.hash, self.read(&key.hash, owner));
            if matches!(found.await, Ok(None)) {
                return;
            }
        }
    }

    async fn read(&self, hash: &Hash, owner: Owner) -> Result<Option<HashedKey>, StorageError> {
        let mut reader = self.store.reader_for(&owner).await?;
        lookup_by_hash(&mut reader.connection(), hash).await
    }
}

/// Returns the credential in the headers of a request: that of `Authorization` with the scheme
/// `Bearer`, or else `x-api-key`.
fn presented(headers: &HeaderMap) -> Option<&str> {
    let bearer = headers
        .get(header::AUTHORIZATION)
        .and_then(|value| value.to_str().ok())
        .and_then(|value| value.split_once(' '))
        .filter(|(scheme, _)| scheme.eq_ignore_ascii_case("bearer"))
        .map(|(_, token)| token.trim());
    bearer.or_else(|| headers.get(X_API_KEY)?.to_str().ok())
}
