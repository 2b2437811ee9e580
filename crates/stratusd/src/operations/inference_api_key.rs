//! Operations on inference API keys.

use api_types::{
    IfMatch, InferenceApiKey, InferenceApiKeyEnding, InferenceApiKeyId, InferenceApiKeyPage,
    InferenceApiKeySecret, InferenceApiKeySummary, ProjectId,
};

use super::audit::Deleted;
use super::{Context, Result, ensure_room};
use crate::domain::entity_tag::{Tagged, ensure_match};
use crate::domain::id::{self, Id};
use crate::domain::list::ListQuery;
use crate::domain::quota::Kind;
use crate::domain::token::hash;
use crate::domain::{Caller, Refusal, ensure_project};
use crate::storage::{self, Change, Connection};

/// A row of the table `inference_api_key`, without the hash.
type Row = storage::inference_api_key::InferenceApiKey;

/// The number of characters at the end of a key by which callers tell it from others. The 28 before
/// them cannot be guessed.
const ENDING: usize = 4;

/// The query `inference_api_key_list`: returns a page of the inference API keys of a project.
pub async fn list(
    c: &mut Connection<'_>,
    caller: &Caller,
    project: &ProjectId,
    query: &ListQuery,
) -> Result<InferenceApiKeyPage> {
    ensure_project(caller, project)?;
    let page = query.page_by_id(id::Kind::InferenceApiKey)?;
    let (size, keys) = storage::inference_api_key::page(c, project, &page).await?;
    let items = keys.into_iter().map(shown).collect();
    Ok(InferenceApiKeyPage::new(size, items))
}

/// The query `inference_api_key_view`: returns an inference API key, with its entity tag.
pub async fn view(
    c: &mut Connection<'_>,
    caller: &Caller,
    project: &ProjectId,
    id: &InferenceApiKeyId,
) -> Result<Tagged<InferenceApiKeySummary>> {
    ensure_project(caller, project)?;
    let found = storage::inference_api_key::lookup(c, project, id).await?;
    Ok(Tagged::of(shown(found.ok_or(Refusal::NotFound)?)))
}

/// Returns an inference API key as responses show it, except the one that creates it.
fn shown(key: Row) -> InferenceApiKeySummary {
    InferenceApiKeySummary::new(key.id, key.ending)
}

/// The change `inference_api_key_create`: creates an inference API key. Only the output of this
/// change shows the secret: the table of keys has a hash of it, and its last characters.
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
        let ending = InferenceApiKeyEnding::try_from(&key[key.len() - ENDING..])
            .expect("the last four of 32 letters and digits are an ending");
        let row = Row {
            id: id.clone(),
            ending: Some(ending),
        };
        // Of the rest, only the hash is stored, so nobody can read a key from the database.
        storage::inference_api_key::insert(tx, project, &row, &hash(&key), world.now()).await?;
        let key = InferenceApiKeySecret::try_from(key).expect("32 letters and digits are a secret");
        Ok(InferenceApiKey::new(id, key))
    }
}

/// The change `inference_api_key_delete`: deletes an inference API key. A key that does not exist is
/// not an error.
#[derive(Debug)]
pub struct Delete {
    caller: Caller,
    id: InferenceApiKeyId,
    if_match: Option<IfMatch>,
}

impl Delete {
    /// Creates the change, for a key in the caller's project. `if_match` are the entity tags that
    /// the key may have, or `None` for any.
    ///
    /// # Errors
    ///
    /// If `project` is not the caller's project.
    pub fn new(
        caller: Caller,
        project: &ProjectId,
        id: InferenceApiKeyId,
        if_match: Option<IfMatch>,
    ) -> std::result::Result<Self, Refusal> {
        ensure_project(&caller, project)?;
        Ok(Self {
            caller,
            id,
            if_match,
        })
    }
}

impl Change for Delete {
    type Output = Deleted;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Deleted> {
        self.caller.access.ensure_full()?;
        let project = &self.caller.project_id;
        if let Some(if_match) = &self.if_match
            && let Some(found) = storage::inference_api_key::lookup(tx, project, &self.id).await?
        {
            // No lock: a key is never changed, so it has this tag until it is deleted.
            ensure_match(if_match, &Tagged::of(shown(found)).tag)?;
        }
        storage::inference_api_key::delete(tx, project, &self.id).await?;
        Ok(Deleted(self.id.to_string()))
    }
}
