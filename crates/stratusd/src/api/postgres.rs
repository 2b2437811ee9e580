//! Operations tagged `postgres`.

use api_server::postgres::{
    PostgresApi, PostgresCreateError, PostgresCreateOk, PostgresCreateRequest,
    PostgresCreateResponse, PostgresResetSuperuserPasswordError, PostgresResetSuperuserPasswordOk,
    PostgresResetSuperuserPasswordRequest, PostgresResetSuperuserPasswordResponse,
    PostgresUpdateError, PostgresUpdateOk, PostgresUpdateRequest, PostgresUpdateResponse,
    PostgresViewError, PostgresViewOk, PostgresViewRequest, PostgresViewResponse,
    ProjectPostgresListError, ProjectPostgresListRequest, ProjectPostgresListResponse,
};
use api_types::{NoStore, PostgresPage};

use super::{Service, error};
use crate::domain::Caller;
use crate::domain::list::ListQuery;
use crate::operations::postgres::{Create, ResetSuperuserPassword, Update, offered_in};
use crate::operations::{self, Outcome};

impl PostgresApi<Caller> for Service {
    async fn project_postgres_list(
        &self,
        caller: Caller,
        request: ProjectPostgresListRequest,
    ) -> Result<ProjectPostgresListResponse, ProjectPostgresListError> {
        Ok(self
            .databases(caller, request)
            .await
            .map_err(error::of_view::<ProjectPostgresListError>)?
            .into())
    }

    async fn postgres_view(
        &self,
        caller: Caller,
        request: PostgresViewRequest,
    ) -> Result<PostgresViewResponse, PostgresViewError> {
        let found = self
            .database(caller, request)
            .await
            .map_err(error::of_view::<PostgresViewError>)?;
        Ok(PostgresViewOk::new(found, NoStore::NoStore).into())
    }

    async fn postgres_create(
        &self,
        caller: Caller,
        request: PostgresCreateRequest,
    ) -> Result<PostgresCreateResponse, PostgresCreateError> {
        let made = self
            .create_database(caller, request)
            .await
            .map_err(error::of_change::<PostgresCreateError>)?;
        Ok(PostgresCreateOk::new(made, NoStore::NoStore).into())
    }

    async fn postgres_update(
        &self,
        caller: Caller,
        request: PostgresUpdateRequest,
    ) -> Result<PostgresUpdateResponse, PostgresUpdateError> {
        let updated = self
            .update_database(caller, request)
            .await
            .map_err(error::of_change::<PostgresUpdateError>)?;
        Ok(PostgresUpdateOk::new(updated, NoStore::NoStore).into())
    }

    async fn postgres_reset_superuser_password(
        &self,
        caller: Caller,
        request: PostgresResetSuperuserPasswordRequest,
    ) -> Result<PostgresResetSuperuserPasswordResponse, PostgresResetSuperuserPasswordError> {
        let reset = self.reset_superuser_password(caller, request).await;
        let reset = reset.map_err(error::of_change::<PostgresResetSuperuserPasswordError>)?;
        Ok(PostgresResetSuperuserPasswordOk::new(reset, NoStore::NoStore).into())
    }
}

impl Service {
    async fn databases(
        &self,
        caller: Caller,
        request: ProjectPostgresListRequest,
    ) -> Outcome<PostgresPage> {
        let ProjectPostgresListRequest {
            project_id,
            start_after,
            page_size,
            order_column,
        } = request;
        let mut reader = self.store.reader().await?;
        let query = ListQuery {
            start_after,
            page_size,
            order_column,
        };
        operations::postgres::list_of_project(
            &mut reader.connection(),
            &caller,
            &project_id,
            &query,
        )
        .await
    }

    async fn database(
        &self,
        caller: Caller,
        request: PostgresViewRequest,
    ) -> Outcome<api_types::Postgres> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let mut reader = self.store.reader().await?;
        let reference = &request.postgres_database_reference;
        operations::postgres::view(
            &mut reader.connection(),
            &scope,
            reference,
            &self.context.sealer,
        )
        .await
    }

    async fn create_database(
        &self,
        caller: Caller,
        request: PostgresCreateRequest,
    ) -> Outcome<api_types::Postgres> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let PostgresCreateRequest {
            postgres_database_reference: reference,
            body,
            ..
        } = request;
        let offered_in = offered_in(&self.locations().await?);
        self.store
            .change(Create {
                scope,
                reference,
                body,
                offered_in,
                context: self.context.clone(),
            })
            .await
    }

    async fn update_database(
        &self,
        caller: Caller,
        request: PostgresUpdateRequest,
    ) -> Outcome<api_types::Postgres> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let PostgresUpdateRequest {
            postgres_database_reference: reference,
            body,
            ..
        } = request;
        self.store
            .change(Update {
                scope,
                reference,
                body,
                context: self.context.clone(),
            })
            .await
    }

    async fn reset_superuser_password(
        &self,
        caller: Caller,
        request: PostgresResetSuperuserPasswordRequest,
    ) -> Outcome<api_types::Postgres> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let PostgresResetSuperuserPasswordRequest {
            postgres_database_reference: reference,
            body,
            ..
        } = request;
        self.store
            .change(ResetSuperuserPassword {
                scope,
                reference,
                body,
                context: self.context.clone(),
            })
            .await
    }
}
