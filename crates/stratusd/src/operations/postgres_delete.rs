//! The deletion of Postgres databases.

use api_types::{IfMatch, PostgresId, Reference};

use super::audit::Deleted;
use super::postgres::{locked, lookup};
use super::{Context, Result, Scope};
use crate::domain::Refusal;
use crate::domain::refusal::{MOST_USERS, named};
use crate::storage::{self, Change, Connection};

/// The change `postgres_delete`: sets the state of a database to `deleting`. The reconciler then
/// deletes it. A database that does not exist is not an error, and one that others are being restored
/// from is.
#[derive(Debug)]
pub struct Delete {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the database.
    pub reference: Reference,
    /// The `If-Match` of the request: the entity tags that the database may have, or `None` for
    /// any.
    pub if_match: Option<IfMatch>,
    /// The source of time, and the sealer that opens the password.
    pub context: Context,
}

impl Change for Delete {
    type Output = Deleted;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Deleted> {
        let found = lookup(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let Some(found) = found else {
            return Ok(Deleted(self.reference.to_string()));
        };
        // Locked, so that another change cannot make the tag stale before the write.
        let (if_match, sealer) = (self.if_match.as_ref(), &self.context.sealer);
        if locked(tx, &self.scope, if_match, &found.id, sealer)
            .await?
            .is_some()
        {
            ensure_no_source(tx, &self.scope, &found.id).await?;
            let now = storage::clock::now(tx, &self.context.world).await?;
            storage::database::begin_delete(tx, &self.scope.project, &found.id, now).await?;
        }
        Ok(Deleted(found.id.to_string()))
    }
}

/// Checks that no database is being restored from the backups of another one.
///
/// # Errors
///
/// Refuses the change if databases are, and names them.
async fn ensure_no_source(tx: &mut Connection<'_>, scope: &Scope, id: &PostgresId) -> Result<()> {
    let project = &scope.project;
    let found = storage::database::restoring_from(tx, project, id, MOST_USERS + 1).await?;
    let Some((names, is_one)) = named(found) else {
        return Ok(());
    };
    let by = if is_one {
        format!("the database {names} is being restored from it")
    } else {
        format!("the databases {names} are being restored from it")
    };
    Err(Refusal::InUse {
        field: "postgres_database_reference",
        by: vec![by],
    }
    .into())
}
