//! Operations on inference API keys.

use api_types::{InferenceApiKey, InferenceApiKeyId, InferenceApiKeySecret, ProjectId};

use super::{Context, Result, ensure_room};
use crate::domain::id::Id;
use crate::domain::quota::Kind;
use crate::domain::token::hash;
use crate::domain::{Caller, Refusal, ensure_project};
use crate::storage::{self, Change, Connection};

/// The change `inference_api_key_create`: creates an inference API key. Only the output of this
/// change shows the secret: the table of keys has a hash of it.
#[derive(Debug)]
pub struct Create {
    caller: Caller,
    context: Context,
}

impl Create {
    /// Creates the change, for a key in the caller's project.
    ///
    /// # Errors
    ///
    /// If `project` is not the caller's project.
    pub fn new(
        caller: Caller,
        project: &ProjectId,
        context: Context,
    ) -> std::result::Result<Self, Refusal> {
        ensure_project(&caller, project)?;
        Ok(Self { caller, context })
    }
}

impl Change for Create {
    type Output = InferenceApiKey;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<InferenceApiKey> {
        self.caller.access.ensure_full()?;
        let world = &self.context.world;
        let id = InferenceApiKeyId::generate(world);
        let key = world.letters_and_digits(32);
        let project = &self.caller.project_id;
        ensure_room(tx, project, Kind::InferenceApiKey, &self.context.quotas).await?;
        // Only the hash is stored, so nobody can read a key from the database.
        storage::inference_api_key::insert(tx, project, &id, &hash(&key), world.now()).await?;
        let key = InferenceApiKeySecret::try_from(key).expect("32 letters and digits are a secret");
        Ok(InferenceApiKey::new(id, key))
    }
}
