//! Inference API keys.

use api_types::{InferenceApiKey, ProjectId};

use super::{Context, Outcome, stored};
use crate::domain::id::Kind;
use crate::domain::token::hash;
use crate::domain::{Caller, Refusal, ensure_project};
use crate::storage::{self, Change, Connection};

/// Makes a key, whose secret is told this once.
#[derive(Debug)]
pub struct Create {
    caller: Caller,
    context: Context,
}

impl Create {
    /// Makes a key in the caller's project.
    ///
    /// # Errors
    ///
    /// If it is another one.
    pub fn new(caller: Caller, project: &ProjectId, context: Context) -> Result<Self, Refusal> {
        ensure_project(&caller, project)?;
        Ok(Self { caller, context })
    }
}

impl Change for Create {
    type Output = InferenceApiKey;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Outcome<InferenceApiKey> {
        self.caller.access.ensure_full()?;
        let world = &self.context.world;
        let id = Kind::InferenceApiKey.new_id(world);
        let key = world.letters_and_digits(32);
        storage::inference_api_key::insert(
            tx,
            &self.caller.project_id,
            &id,
            &hash(&key),
            world.now(),
        )
        .await?;
        Ok(InferenceApiKey::new(
            stored(&id, "an id")?,
            stored(&key, "a key")?,
        ))
    }
}
