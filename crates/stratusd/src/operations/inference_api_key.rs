//! Inference API keys.

use api_types::{InferenceApiKey, ProjectId};

use super::{Outcome, Surroundings, stored};
use crate::domain::id::Kind;
use crate::domain::token::hash;
use crate::domain::{Caller, Refusal, ensure_project};
use crate::storage::{self, Change, Connection};

/// Makes a key, whose secret is told this once.
#[derive(Debug)]
pub struct Create {
    caller: Caller,
    around: Surroundings,
}

impl Create {
    /// Makes a key in the caller's project.
    ///
    /// # Errors
    ///
    /// If it is another one.
    pub fn new(caller: Caller, project: &ProjectId, around: Surroundings) -> Result<Self, Refusal> {
        ensure_project(&caller, project)?;
        Ok(Self { caller, around })
    }
}

impl Change for Create {
    type Answer = InferenceApiKey;
    type Refusal = Refusal;

    async fn make(&self, tx: &mut Connection<'_>) -> Outcome<InferenceApiKey> {
        self.caller.access.ensure_full()?;
        let world = &self.around.world;
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
