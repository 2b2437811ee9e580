//! The quotas of single projects, and how much of a quota is used.

use api_types::ProjectId;

use super::count::Counted;
use super::record::record;
use super::statement::{Parameter, statement};
use super::{Connection, Corrupt, StorageError};
use crate::domain::quota::{Kind, Quotas, Usage};

record! {
    /// A quota and its use.
    struct Room in "project_quota" {
        most: i64,
        items: i64,
    }
}

record! {
    /// A quota that an inventory sets.
    struct Quota in "project_quota" {
        most: i64,
    }
}

/// Returns the use of a quota, with what this transaction has written, for a transaction that makes
/// resources of this kind. `defaults` are the quotas of projects without their own.
///
/// Until the transaction ends, no other one can use up the quota beside it. On SQLite one
/// transaction runs at a time. On PostgreSQL those that are far from the quota run beside each
/// other, and near it they run one after the other, by a lock (see the migration).
pub async fn usage(
    c: &mut Connection<'_>,
    project: &ProjectId,
    kind: Kind,
    defaults: &Quotas,
) -> Result<Usage, StorageError> {
    let sql = statement! {
        sqlite: "SELECT COALESCE((SELECT most FROM project_quota WHERE project_id = $1 AND kind = $2), $3) AS most, \
                 CAST(COALESCE(SUM(items), 0) AS BIGINT) AS items \
                 FROM resource_count WHERE project_id = $1 AND kind = $2",
        postgres: "SELECT most, items FROM stratus_quota_usage($1, $2, $3)",
    };
    let parameters: [&dyn Parameter; 3] = [&project, &kind.text(), &defaults.of(kind)];
    let room = c.fetch_optional::<Room>(sql, &parameters).await?;
    // Each statement has a row, even if the project has nothing.
    let missing = Corrupt {
        table: "project_quota",
        column: "most",
    };
    let Room { most, items } = room.ok_or(missing)?;
    Ok(Usage { kind, most, items })
}

/// Keeps other transactions from creating resources of a kind in a project until this one ends, and
/// waits for those that do. On SQLite one transaction runs at a time.
///
/// Only a transaction that creates many resources of a kind needs this lock: far from the quota,
/// [`usage`] lets as many transactions run beside each other as there can be, as if each created
/// one resource. A transaction that locks several kinds does so in the order of [`Kind::ALL`], as
/// creates do, and before it writes.
pub async fn lock(
    c: &mut Connection<'_>,
    project: &ProjectId,
    kind: Kind,
) -> Result<(), StorageError> {
    // The lock of the function that `usage` calls.
    let sql = statement! {
        sqlite: "SELECT 1 WHERE $1 IS NULL AND $2 IS NULL",
        postgres: "SELECT 1 FROM pg_advisory_xact_lock(hashtextextended($1 || ' ' || $2, 7597127))",
    };
    c.exists(sql, &[&project, &kind.text()]).await?;
    Ok(())
}

/// Returns the quota that a project has of its own.
pub async fn own(
    c: &mut Connection<'_>,
    project: &ProjectId,
    kind: Kind,
) -> Result<Option<i64>, StorageError> {
    let sql = "SELECT most FROM project_quota WHERE project_id = $1 AND kind = $2";
    let found = c
        .fetch_optional::<Quota>(sql, &[&project, &kind.text()])
        .await?;
    Ok(found.map(|quota| quota.most))
}

/// Sets the quota that a project has of its own, or removes it.
pub async fn set(
    c: &mut Connection<'_>,
    project: &ProjectId,
    kind: Kind,
    most: Option<i64>,
) -> Result<(), StorageError> {
    if let Some(most) = most {
        let sql = "INSERT INTO project_quota (project_id, kind, most) VALUES ($1, $2, $3) \
                   ON CONFLICT (project_id, kind) DO UPDATE SET most = $3";
        c.execute(sql, &[&project, &kind.text(), &most]).await?;
    } else {
        let sql = "DELETE FROM project_quota WHERE project_id = $1 AND kind = $2";
        c.execute(sql, &[&project, &kind.text()]).await?;
    }
    Ok(())
}
