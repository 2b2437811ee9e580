//! Operations on the maintenance of Postgres databases.

use api_types::{
    IfMatch, MaintenanceHour, Postgres, PostgresHaType, PostgresSetMaintenanceWindow,
    PostgresState, Reference,
};

use super::postgres::{load_matching, shown};
use super::{Context, Result, Scope};
use crate::domain::Refusal;
use crate::domain::entity_tag::Tagged;
use crate::storage::database::Part;
use crate::storage::{self, Change, Connection};

/// The change `postgres_set_maintenance_window`: stores the hour at which the maintenance window of
/// a database starts.
#[derive(Debug)]
pub struct SetMaintenanceWindow {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the database.
    pub reference: Reference,
    /// The request body, with the hour, or without one if there is to be no window.
    pub body: PostgresSetMaintenanceWindow,
    /// The `If-Match` of the request: the entity tags that the database may have, or `None` for
    /// any.
    pub if_match: Option<IfMatch>,
    /// The source of time, and the sealer that opens the password.
    pub context: Context,
}

impl Change for SetMaintenanceWindow {
    type Output = Tagged<Postgres>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<Postgres>> {
        let (world, sealer) = (&self.context.world, &self.context.sealer);
        let mut found = load_matching(
            tx,
            &self.scope,
            &self.reference,
            self.if_match.as_ref(),
            sealer,
        )
        .await?;
        let asked = self.body.maintenance_window_start_at.flatten();
        let hour = match asked {
            Some(hour) => hour,
            // As responses show that there is none.
            None => MaintenanceHour::try_from(0).expect("midnight is an hour"),
        };
        let is_same = found.maintenance_window_start_at == hour
            && found.maintenance_window_is_set == asked.is_some();
        if !is_same {
            found.maintenance_window_start_at = hour;
            found.maintenance_window_is_set = asked.is_some();
            let (project, now) = (&self.scope.project, storage::clock::now(tx, world).await?);
            storage::database::set(tx, project, &found, Part::MaintenanceWindow, now).await?;
            found.revision += 1;
        }
        Ok(shown(found, &self.scope, sealer)?)
    }
}

/// The change `postgres_restart`: counts a restart of a database, which the reconciler then makes. A
/// database that is being created stays as it is.
#[derive(Debug)]
pub struct Restart {
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

impl Change for Restart {
    type Output = Tagged<Postgres>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<Postgres>> {
        let (world, sealer) = (&self.context.world, &self.context.sealer);
        let mut found = load_matching(
            tx,
            &self.scope,
            &self.reference,
            self.if_match.as_ref(),
            sealer,
        )
        .await?;
        if found.state != PostgresState::Creating {
            let now = storage::clock::now(tx, world).await?;
            storage::database::restart(tx, &self.scope.project, &found, now).await?;
            found.revision += 1;
        }
        Ok(shown(found, &self.scope, sealer)?)
    }
}

/// The change `postgres_promote`: counts a promotion of a standby of a database, which the reconciler
/// then makes. A database that is being created stays as it is.
#[derive(Debug)]
pub struct Promote {
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

impl Change for Promote {
    type Output = Tagged<Postgres>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<Postgres>> {
        let (world, sealer) = (&self.context.world, &self.context.sealer);
        let mut found = load_matching(
            tx,
            &self.scope,
            &self.reference,
            self.if_match.as_ref(),
            sealer,
        )
        .await?;
        if found.ha_type == PostgresHaType::None {
            let wrong = "the database has no standby, since its `ha_type` is `none`";
            return Err(Refusal::invalid("postgres_database_reference", wrong).into());
        }
        if found.state != PostgresState::Creating {
            let now = storage::clock::now(tx, world).await?;
            storage::database::promote(tx, &self.scope.project, &found, now).await?;
            found.revision += 1;
        }
        Ok(shown(found, &self.scope, sealer)?)
    }
}
