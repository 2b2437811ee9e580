//! Inference API keys. Only a hash of each key's secret is stored.

use api_types::{InferenceApiKeyId, ProjectId};

use super::statement::statement;
use super::{Connection, StorageError, count};

/// Inserts an inference API key. `hash` is the hash of its secret, and `now` the time of its
/// creation in milliseconds since 1970.
pub async fn insert(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &InferenceApiKeyId,
    hash: &[u8],
    now: i64,
) -> Result<(), StorageError> {
    let sql = statement!(
        "INSERT INTO inference_api_key (project_id, id, hash, created_at) VALUES ($1, $2, $3, $4)"
    );
    c.execute(sql, &[&project, &id.as_str(), &hash, &now])
        .await?;
    count::add(
        c,
        count::Kind::InferenceApiKey,
        (project, "", id.as_str()),
        1,
    )
    .await
}
