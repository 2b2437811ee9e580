//! Inference API keys. Only a hash of each key's secret is stored, and its last four characters.

use api_types::{Count, InferenceApiKeyEnding, InferenceApiKeyId, ProjectId};

use super::page::{PageSql, fetch, page_sql};
use super::record::record;
use super::statement::{Parameter, statement};
use super::{Connection, StorageError, count};
use crate::domain::list::Page;

record! {
    /// An inference API key, without the hash of its secret.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct InferenceApiKey in "inference_api_key" {
        /// The id of the key.
        pub id: InferenceApiKeyId,
        /// The last four characters of the secret, or `None` if a version of the service that
        /// stored only the hash has created the key.
        pub ending: Option<InferenceApiKeyEnding>,
    }
    columns key_columns;
}

record! {
    /// An inference API key with the hash of its secret.
    #[derive(Debug, Clone, PartialEq, Eq)]
    pub struct HashedKey in "inference_api_key" {
        /// The project of the key.
        pub project_id: ProjectId,
        /// The id of the key.
        pub id: InferenceApiKeyId,
        /// SHA-256 of the secret.
        pub hash: Vec<u8>,
    }
    columns hashed_columns;
}

/// Returns a page of the inference API keys of a project, sorted by id, and the size of the whole
/// list.
pub async fn page(
    c: &mut Connection<'_>,
    project: &ProjectId,
    page: &Page,
) -> Result<(Count, Vec<InferenceApiKey>), StorageError> {
    let sql = page_sql!(
        key_columns!(),
        of_project: "inference_api_key",
        "inference_api_key",
        after: "id",
        order: "id",
        bytes: "0"
    );
    let parameters: [&dyn Parameter; 3] = [&project, &page.after, &page.size];
    fetch(c, sql, &parameters).await
}

/// Looks up an inference API key of a project.
pub async fn lookup(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &InferenceApiKeyId,
) -> Result<Option<InferenceApiKey>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        key_columns!(),
        " FROM inference_api_key AS t WHERE t.project_id = $1 AND t.id = $2"
    ));
    c.fetch_optional::<InferenceApiKey>(sql, &[&project, &id])
        .await
}

/// Looks up an inference API key of any project by the hash of its secret.
pub async fn lookup_by_hash(
    c: &mut Connection<'_>,
    hash: &[u8],
) -> Result<Option<HashedKey>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        hashed_columns!(),
        " FROM inference_api_key AS t WHERE t.hash = $1"
    ));
    c.fetch_optional::<HashedKey>(sql, &[&hash]).await
}

/// Inserts an inference API key. `hash` is the hash of its secret, and `now` the time of its
/// creation in milliseconds since 1970.
pub async fn insert(
    c: &mut Connection<'_>,
    project: &ProjectId,
    new: &InferenceApiKey,
    hash: &[u8],
    now: i64,
) -> Result<(), StorageError> {
    let sql = statement!(
        "INSERT INTO inference_api_key (project_id, id, hash, created_at, ending) VALUES ($1, $2, $3, $4, $5)"
    );
    c.insert(sql, &[&project, &new.id, &hash, &now, &new.ending])
        .await?;
    count_of(c, project, &new.id, 1).await
}

/// Deletes an inference API key, if it exists.
pub async fn delete(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &InferenceApiKeyId,
) -> Result<(), StorageError> {
    let sql = statement!("DELETE FROM inference_api_key WHERE project_id = $1 AND id = $2");
    // Of two changes that delete the same key at the same time, only one may count it.
    if c.execute(sql, &[&project, &id]).await? > 0 {
        count_of(c, project, id, -1).await?;
    }
    Ok(())
}

async fn count_of(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &InferenceApiKeyId,
    items: i64,
) -> Result<(), StorageError> {
    let kind = count::Kind::InferenceApiKey;
    count::add(c, kind, (project, "", id.as_str()), items).await
}
