//! The change by which the operator gives a database another major version of PostgreSQL.

use api_types::{PostgresId, PostgresState, PostgresVersion, ProjectId};
use thiserror::Error;

use crate::domain::audit::OPERATOR;
use crate::provision::local::{Binaries, CannotUpgrade};
use crate::serve::runs_here;
use crate::storage::audit::{NewEntry, insert};
use crate::storage::database::Part;
use crate::storage::{self, Aborted, Change, Connection};
use crate::world::World;

/// The change that records the version that a database is to have, to which the reconciler then brings it.
/// Its output is the version that it has.
#[derive(Debug)]
pub struct Upgrade {
    /// The project of the database.
    pub project: ProjectId,
    /// The id of the database.
    pub id: PostgresId,
    /// The version. That which the database has takes an upgrade back that has not been made.
    pub to: PostgresVersion,
    /// The programs of PostgreSQL on this machine, for databases that are servers here.
    pub programs: Binaries,
    /// The source of time.
    pub world: World,
}

/// Why a database is not upgraded. Nothing is recorded.
#[derive(Debug, Error)]
pub enum UpgradeRefused {
    /// There is no such database.
    #[error("the project has no database with this id: the API lists them with their ids")]
    NotFound,
    /// The database is not complete.
    #[error("the database is being created: wait until it runs")]
    Creating,
    /// PostgreSQL cannot do it.
    #[error("the database has version {0}, and PostgreSQL cannot go back to an older one")]
    Older(PostgresVersion),
    /// Another database is being made out of its backups.
    #[error("a database is being restored from it: wait until that runs")]
    Restored,
    /// The databases are servers on this machine, which lacks what an upgrade needs.
    #[error(transparent)]
    Programs(#[from] CannotUpgrade),
}

impl From<UpgradeRefused> for Aborted<UpgradeRefused> {
    fn from(refused: UpgradeRefused) -> Self {
        Self::Refused(refused)
    }
}

impl Change for Upgrade {
    type Output = PostgresVersion;
    type Refusal = UpgradeRefused;

    async fn apply(
        &self,
        tx: &mut Connection<'_>,
    ) -> Result<PostgresVersion, Aborted<UpgradeRefused>> {
        storage::lock::database(tx, &self.project, &self.id).await?;
        let found = storage::database::lookup_anywhere(tx, &self.project, &self.id).await?;
        let found = found.filter(|it| it.state != PostgresState::Deleting);
        let mut found = found.ok_or(UpgradeRefused::NotFound)?;
        if found.state == PostgresState::Creating {
            return Err(UpgradeRefused::Creating.into());
        }
        if is_older(&self.to, &found.version) {
            return Err(UpgradeRefused::Older(found.version).into());
        }
        let restored = storage::database::restoring_from(tx, &self.project, &self.id, 1).await?;
        if self.to != found.version && !restored.is_empty() {
            return Err(UpgradeRefused::Restored.into());
        }
        if self.to != found.version && runs_here(tx).await? {
            let (from, to) = (found.version.to_string(), self.to.to_string());
            let possible = self.programs.ensure_upgrade(&from, &to);
            possible.map_err(UpgradeRefused::from)?;
        }
        if found.target_version != self.to {
            found.target_version = self.to.clone();
            let now = storage::clock::now(tx, &self.world).await?;
            storage::database::set(tx, &self.project, &found, Part::TargetVersion, now).await?;
            let entry = NewEntry {
                project_id: self.project.clone(),
                principal: OPERATOR.to_owned(),
                operation: "postgres_upgrade".to_owned(),
                resource: self.id.as_str().to_owned(),
                request_id: None,
            };
            insert(tx, &entry, &self.world).await?;
        }
        Ok(found.version)
    }
}

fn is_older(one: &PostgresVersion, other: &PostgresVersion) -> bool {
    let number = |version: &PostgresVersion| version.to_string().parse::<u32>().ok();
    number(one) < number(other)
}
