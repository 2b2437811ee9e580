//! Responses by idempotency key, so that a repeated request gets the response to the first.
//!
//! The number of a project's responses is kept in `resource_count`, as that of its other resources. A long
//! response counts as several: one for each 4 KiB that it begins.

use api_types::ProjectId;

use super::clock::{Time, postgres_now};
use super::count::{self, Responses};
use super::record::record;
use super::statement::statement;
use super::{Connection, StorageError};
use crate::world::World;

/// The size in bytes up to which a stored response counts as one.
const PART: usize = 4 << 10;

record! {
    /// A stored response.
    #[derive(Debug, Clone)]
    pub struct Stored in "idempotency" {
        /// The project.
        pub project_id: ProjectId,
        /// The hash of the token's id, the operation and the key.
        pub id: Vec<u8>,
        /// The request and the response, sealed.
        pub sealed: Vec<u8>,
        /// When the response is forgotten, in milliseconds since 1970.
        pub expires_at: i64,
        /// The number of responses that this one counts as.
        pub parts: i64,
    }
    columns stored_columns;
}

/// Returns the number of responses that one counts as, by its sealed form.
#[must_use]
pub fn parts(sealed: &[u8]) -> i64 {
    i64::try_from(sealed.len().div_ceil(PART)).unwrap_or(i64::MAX)
}

record! {
    /// The key of a row that is gone.
    struct Gone in "idempotency" {
        project_id: ProjectId,
        id: Vec<u8>,
        parts: i64,
    }
}

/// What a transaction of a sweep has deleted.
#[derive(Debug, Clone, Copy)]
pub struct Deleted {
    /// The number of rows.
    pub rows: usize,
    /// Whether there may be more to delete.
    pub has_more: bool,
}

record! {
    struct Expiry in "idempotency" {
        expires_at: i64,
    }
}

/// Waits until no other change with this id is running, and keeps others out until the change ends.
/// On SQLite one change runs at a time. Returns the time of the database after the wait, as
/// [`clock::now`](super::clock::now) does, without another statement.
pub async fn lock(
    c: &mut Connection<'_>,
    id: &[u8; 32],
    world: &World,
) -> Result<i64, StorageError> {
    let sql = statement! {
        sqlite: "SELECT $2 AS now WHERE $1 IS NOT NULL",
        postgres: concat!("SELECT ", postgres_now!(), " AS now FROM pg_advisory_xact_lock($1)"),
    };
    // Two ids that begin with the same bytes only wait for each other.
    let number = i64::from_be_bytes(std::array::from_fn(|at| id[at]));
    let time = c
        .fetch_optional::<Time>(sql, &[&number, &world.database_now()])
        .await?;
    Ok(time.map_or_else(|| world.database_now(), |time| time.now))
}

/// Looks up a response, which may have expired.
pub async fn lookup(
    c: &mut Connection<'_>,
    project: &ProjectId,
    id: &[u8; 32],
) -> Result<Option<Stored>, StorageError> {
    let sql = statement!(concat!(
        "SELECT ",
        stored_columns!(),
        " FROM idempotency AS t WHERE t.project_id = $1 AND t.id = $2"
    ));
    c.fetch_optional::<Stored>(sql, &[&project, &&id[..]]).await
}

/// Writes a stored response again, unchanged, so that the commit of this transaction waits for all
/// that its first one should have waited for. Does nothing on SQLite.
///
/// With synchronous standbys, PostgreSQL keeps a transaction whose commit is cancelled while it waits
/// for them: others see it, although a standby may not have it. A transaction that only reads waits
/// for no standby, and one that writes waits until they have everything before it.
pub async fn confirm(c: &mut Connection<'_>, stored: &Stored) -> Result<(), StorageError> {
    if c.is_postgres() {
        let rows = c
            .touch(
                statement!(
                    "UPDATE idempotency SET expires_at = expires_at WHERE project_id = $1 AND id = $2"
                ),
                &[&stored.project_id, &stored.id],
            )
            .await?;
        // The response has expired since it was read.
        if rows == 0 {
            return Err(StorageError::Conflict);
        }
    }
    Ok(())
}

/// Returns what a project's responses count as, including those that have expired since the last
/// [`sweep`].
pub async fn count(c: &mut Connection<'_>, project: &ProjectId) -> Result<i64, StorageError> {
    count::total(c, Responses, project).await
}

/// Returns when the first of a project's responses expires or has expired, in milliseconds since
/// 1970.
pub async fn first_expiry(
    c: &mut Connection<'_>,
    project: &ProjectId,
) -> Result<Option<i64>, StorageError> {
    let sql = statement!(
        "SELECT expires_at FROM idempotency WHERE project_id = $1 ORDER BY expires_at LIMIT 1"
    );
    let first = c.fetch_optional::<Expiry>(sql, &[&project]).await?;
    Ok(first.map(|first| first.expires_at))
}

/// Inserts a response.
pub async fn insert(c: &mut Connection<'_>, new: &Stored) -> Result<(), StorageError> {
    c.insert(
        statement!(
            "INSERT INTO idempotency (project_id, id, sealed, expires_at, parts) VALUES ($1, $2, $3, $4, $5)"
        ),
        &[
            &new.project_id,
            &new.id,
            &new.sealed,
            &new.expires_at,
            &new.parts,
        ],
    )
    .await?;
    count::add_hash(c, Responses, (&new.project_id, &new.id), new.parts).await
}

/// Replaces an expired response by a new one with the same id, or inserts the new one if a sweep has
/// deleted the other meanwhile.
pub async fn replace(
    c: &mut Connection<'_>,
    old: &Stored,
    new: &Stored,
) -> Result<(), StorageError> {
    let replaced = c
        .execute(
            "UPDATE idempotency SET sealed = $3, expires_at = $4, parts = $5 WHERE project_id = $1 AND id = $2",
            &[
                &new.project_id,
                &new.id,
                &new.sealed,
                &new.expires_at,
                &new.parts,
            ],
        )
        .await?;
    if replaced == 0 {
        return insert(c, new).await;
    }
    let more = new.parts - old.parts;
    if more != 0 {
        count::add_hash(c, Responses, (&new.project_id, &new.id), more).await?;
    }
    Ok(())
}

/// Deletes responses that have expired, in all projects: up to `limit`, and no further one once they
/// count as `limit`. `now` is in milliseconds since 1970.
pub async fn sweep(c: &mut Connection<'_>, now: i64, limit: i64) -> Result<Deleted, StorageError> {
    c.wrote = true;
    // As for leases, PostgreSQL skips rows that another replica is deleting, and the subquery is
    // materialized, or the planner could run it again for each row and exceed the limit. In one statement, SQLite
    // may search for the keys by their project alone, and read all of its rows for each of them.
    let sql = statement! {
        sqlite: "SELECT project_id, id, parts FROM idempotency WHERE expires_at <= $1 \
                 ORDER BY expires_at LIMIT CAST($2 AS BIGINT)",
        postgres: "WITH first AS MATERIALIZED (SELECT project_id, id, parts FROM idempotency \
                   WHERE expires_at <= $1 ORDER BY expires_at LIMIT CAST($2 AS BIGINT) FOR UPDATE SKIP LOCKED), \
                   gone AS MATERIALIZED (SELECT project_id, id, \
                   CAST(SUM(parts) OVER (ROWS UNBOUNDED PRECEDING) AS BIGINT) - parts AS before FROM first) \
                   DELETE FROM idempotency AS t USING gone \
                   WHERE gone.before < $2 AND t.project_id = gone.project_id AND t.id = gone.id \
                   RETURNING t.project_id, t.id, t.parts",
    };
    let mut gone = c.fetch_all::<Gone>(sql, &[&now, &limit]).await?;
    if !c.is_postgres() {
        let mut before = 0;
        gone.retain(|row| {
            let is_first = before < limit;
            before += row.parts;
            is_first
        });
        let delete = statement!("DELETE FROM idempotency WHERE project_id = $1 AND id = $2");
        for Gone { project_id, id, .. } in &gone {
            c.execute(delete, &[project_id, id]).await?;
        }
    }
    let rows = gone
        .iter()
        .map(|row| (&row.project_id, &row.id[..], row.parts));
    count::subtract_hashes(c, Responses, rows).await?;
    // Each counts as one or more, so that less than the limit is all there was.
    let parts: i64 = gone.iter().map(|row| row.parts).sum();
    Ok(Deleted {
        rows: gone.len(),
        has_more: parts >= limit,
    })
}

/// Returns the next responses after one, in all projects.
pub async fn after(
    c: &mut Connection<'_>,
    (project, id): (&str, &[u8]),
    limit: i64,
) -> Result<Vec<Stored>, StorageError> {
    let sql = concat!(
        "SELECT ",
        stored_columns!(),
        " FROM idempotency AS t WHERE (t.project_id, t.id) > ($1, $2) ORDER BY t.project_id, t.id LIMIT $3"
    );
    c.fetch_all::<Stored>(sql, &[&project, &id, &limit]).await
}

/// Replaces the sealed form of a response, unless it was replaced meanwhile.
pub async fn reseal(
    c: &mut Connection<'_>,
    old: &Stored,
    sealed: &[u8],
) -> Result<(), StorageError> {
    let sql =
        "UPDATE idempotency SET sealed = $4 WHERE project_id = $1 AND id = $2 AND sealed = $3";
    c.execute(sql, &[&old.project_id, &old.id, &old.sealed, &sealed])
        .await?;
    Ok(())
}
