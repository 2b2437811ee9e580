//! Handlers of the tag `postgres`.

use api_server::postgres::{
    POSTGRES_CREATE, POSTGRES_DELETE, POSTGRES_FIREWALL_RULE_CREATE, POSTGRES_FIREWALL_RULE_DELETE,
    POSTGRES_PROMOTE, POSTGRES_RESET_SUPERUSER_PASSWORD, POSTGRES_RESTART, POSTGRES_RESTORE,
    POSTGRES_SET_MAINTENANCE_WINDOW, POSTGRES_UPDATE, PostgresApi, PostgresBackupListError,
    PostgresBackupListRequest, PostgresBackupListResponse, PostgresCreateError, PostgresCreateOk,
    PostgresCreateRequest, PostgresCreateResponse, PostgresDeleteError, PostgresDeleteRequest,
    PostgresDeleteResponse, PostgresFirewallRuleCreateError, PostgresFirewallRuleCreateOk,
    PostgresFirewallRuleCreateRequest, PostgresFirewallRuleCreateResponse,
    PostgresFirewallRuleDeleteError, PostgresFirewallRuleDeleteRequest,
    PostgresFirewallRuleDeleteResponse, PostgresFirewallRuleListError,
    PostgresFirewallRuleListRequest, PostgresFirewallRuleListResponse, PostgresListError,
    PostgresListRequest, PostgresListResponse, PostgresPromoteError, PostgresPromoteOk,
    PostgresPromoteRequest, PostgresPromoteResponse, PostgresResetSuperuserPasswordError,
    PostgresResetSuperuserPasswordOk, PostgresResetSuperuserPasswordRequest,
    PostgresResetSuperuserPasswordResponse, PostgresRestartError, PostgresRestartOk,
    PostgresRestartRequest, PostgresRestartResponse, PostgresRestoreError, PostgresRestoreOk,
    PostgresRestoreRequest, PostgresRestoreResponse, PostgresSetMaintenanceWindowError,
    PostgresSetMaintenanceWindowOk, PostgresSetMaintenanceWindowRequest,
    PostgresSetMaintenanceWindowResponse, PostgresUpdateError, PostgresUpdateOk,
    PostgresUpdateRequest, PostgresUpdateResponse, PostgresViewError, PostgresViewOk,
    PostgresViewRequest, PostgresViewResponse, ProjectPostgresListError,
    ProjectPostgresListRequest, ProjectPostgresListResponse,
};
use api_types::{NoStore, PostgresPage};

use super::Service;
use crate::domain::entity_tag::Tagged;
use crate::domain::list::ListQuery;
use crate::domain::{Caller, ensure_project};
use crate::operations::postgres::{self, Create, ResetSuperuserPassword, Update, offered_in};
use crate::operations::postgres_delete::Delete;
use crate::operations::postgres_firewall_rule;
use crate::operations::postgres_maintenance::{Promote, Restart, SetMaintenanceWindow};
use crate::operations::postgres_restore::{self, BackupQuery, Restore};
use crate::operations::{self, Scope};

impl PostgresApi<Caller> for Service {
    async fn postgres_list(
        &self,
        caller: Caller,
        request: PostgresListRequest,
    ) -> Result<PostgresListResponse, PostgresListError> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let query = ListQuery {
            start_after: request.start_after,
            page_size: request.page_size,
            order_column: request.order_column,
        };
        let page = self.postgres_page(&caller, &query, Some(&scope)).await?;
        Ok(page.into())
    }

    async fn project_postgres_list(
        &self,
        caller: Caller,
        request: ProjectPostgresListRequest,
    ) -> Result<ProjectPostgresListResponse, ProjectPostgresListError> {
        let query = ListQuery {
            start_after: request.start_after,
            page_size: request.page_size,
            order_column: request.order_column,
        };
        ensure_project(&caller, &request.project_id)?;
        let page = self.postgres_page(&caller, &query, None).await?;
        Ok(page.into())
    }

    async fn postgres_view(
        &self,
        caller: Caller,
        request: PostgresViewRequest,
    ) -> Result<PostgresViewResponse, PostgresViewError> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let mut reader = self.reader(&caller).await?;
        let Tagged { shown, tag } = postgres::view(
            &mut reader.connection(),
            &scope,
            &request.postgres_database_reference,
            &self.context.sealer,
        )
        .await?;
        Ok(PostgresViewOk::new(shown, NoStore::NoStore, tag).into())
    }

    async fn postgres_create(
        &self,
        caller: Caller,
        request: PostgresCreateRequest,
    ) -> Result<PostgresCreateResponse, PostgresCreateError> {
        let author = Self::author(&caller, &POSTGRES_CREATE);
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &(
                &request.location,
                &request.postgres_database_reference,
                &request.body,
            ),
        );
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let create = Create {
            scope,
            reference: request.postgres_database_reference,
            body: request.body,
            offered_in: offered_in(&self.locations(&caller).await?),
            context: self.context.clone(),
        };
        let (Tagged { shown, tag }, replayed) = self.once(author, create, key).await?;
        let mut ok = PostgresCreateOk::new(shown, NoStore::NoStore, tag);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }

    async fn postgres_update(
        &self,
        caller: Caller,
        request: PostgresUpdateRequest,
    ) -> Result<PostgresUpdateResponse, PostgresUpdateError> {
        let author = Self::author(&caller, &POSTGRES_UPDATE);
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let update = Update {
            scope,
            reference: request.postgres_database_reference,
            body: request.body,
            if_match: request.if_match,
            context: self.context.clone(),
        };
        let Tagged { shown, tag } = self.change(author, update).await?;
        Ok(PostgresUpdateOk::new(shown, NoStore::NoStore, tag).into())
    }

    async fn postgres_reset_superuser_password(
        &self,
        caller: Caller,
        request: PostgresResetSuperuserPasswordRequest,
    ) -> Result<PostgresResetSuperuserPasswordResponse, PostgresResetSuperuserPasswordError> {
        let author = Self::author(&caller, &POSTGRES_RESET_SUPERUSER_PASSWORD);
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &(
                &request.location,
                &request.postgres_database_reference,
                &request.body,
            ),
        );
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let reset = ResetSuperuserPassword {
            scope,
            reference: request.postgres_database_reference,
            body: request.body,
            if_match: request.if_match,
            context: self.context.clone(),
        };
        let (Tagged { shown, tag }, replayed) = self.once(author, reset, key).await?;
        let mut ok = PostgresResetSuperuserPasswordOk::new(shown, NoStore::NoStore, tag);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }

    async fn postgres_set_maintenance_window(
        &self,
        caller: Caller,
        request: PostgresSetMaintenanceWindowRequest,
    ) -> Result<PostgresSetMaintenanceWindowResponse, PostgresSetMaintenanceWindowError> {
        let author = Self::author(&caller, &POSTGRES_SET_MAINTENANCE_WINDOW);
        let body = request.body.unwrap_or_default();
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &(
                &request.location,
                &request.postgres_database_reference,
                &body,
            ),
        );
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let set = SetMaintenanceWindow {
            scope,
            reference: request.postgres_database_reference,
            body,
            if_match: request.if_match,
            context: self.context.clone(),
        };
        let (Tagged { shown, tag }, replayed) = self.once(author, set, key).await?;
        let mut ok = PostgresSetMaintenanceWindowOk::new(shown, NoStore::NoStore, tag);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }

    async fn postgres_delete(
        &self,
        caller: Caller,
        request: PostgresDeleteRequest,
    ) -> Result<PostgresDeleteResponse, PostgresDeleteError> {
        let author = Self::author(&caller, &POSTGRES_DELETE);
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let delete = Delete {
            scope,
            reference: request.postgres_database_reference,
            if_match: request.if_match,
            context: self.context.clone(),
        };
        self.change(author, delete).await?;
        Ok(PostgresDeleteResponse::NoContent)
    }

    async fn postgres_restart(
        &self,
        caller: Caller,
        request: PostgresRestartRequest,
    ) -> Result<PostgresRestartResponse, PostgresRestartError> {
        let author = Self::author(&caller, &POSTGRES_RESTART);
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &(&request.location, &request.postgres_database_reference),
        );
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let restart = Restart {
            scope,
            reference: request.postgres_database_reference,
            if_match: request.if_match,
            context: self.context.clone(),
        };
        let (Tagged { shown, tag }, replayed) = self.once(author, restart, key).await?;
        let mut ok = PostgresRestartOk::new(shown, NoStore::NoStore, tag);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }

    async fn postgres_promote(
        &self,
        caller: Caller,
        request: PostgresPromoteRequest,
    ) -> Result<PostgresPromoteResponse, PostgresPromoteError> {
        let author = Self::author(&caller, &POSTGRES_PROMOTE);
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &(&request.location, &request.postgres_database_reference),
        );
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let promote = Promote {
            scope,
            reference: request.postgres_database_reference,
            if_match: request.if_match,
            context: self.context.clone(),
        };
        let (Tagged { shown, tag }, replayed) = self.once(author, promote, key).await?;
        let mut ok = PostgresPromoteOk::new(shown, NoStore::NoStore, tag);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }

    async fn postgres_backup_list(
        &self,
        caller: Caller,
        request: PostgresBackupListRequest,
    ) -> Result<PostgresBackupListResponse, PostgresBackupListError> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let query = BackupQuery {
            start_after: request.start_after,
            page_size: request.page_size,
            order_column: request.order_column,
        };
        let mut reader = self.reader(&caller).await?;
        let page = postgres_restore::list(
            &mut reader.connection(),
            &scope,
            &request.postgres_database_reference,
            &query,
        )
        .await?;
        Ok(page.into())
    }

    async fn postgres_restore(
        &self,
        caller: Caller,
        request: PostgresRestoreRequest,
    ) -> Result<PostgresRestoreResponse, PostgresRestoreError> {
        let author = Self::author(&caller, &POSTGRES_RESTORE);
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &(
                &request.location,
                &request.postgres_database_reference,
                &request.body,
            ),
        );
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let restore = Restore {
            scope,
            reference: request.postgres_database_reference,
            body: request.body,
            offered_in: offered_in(&self.locations(&caller).await?),
            context: self.context.clone(),
        };
        let (Tagged { shown, tag }, replayed) = self.once(author, restore, key).await?;
        let mut ok = PostgresRestoreOk::new(shown, NoStore::NoStore, tag);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }

    async fn postgres_firewall_rule_list(
        &self,
        caller: Caller,
        request: PostgresFirewallRuleListRequest,
    ) -> Result<PostgresFirewallRuleListResponse, PostgresFirewallRuleListError> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let query = ListQuery {
            start_after: request.start_after,
            page_size: request.page_size,
            order_column: request.order_column,
        };
        let mut reader = self.reader(&caller).await?;
        let page = postgres_firewall_rule::list(
            &mut reader.connection(),
            &scope,
            &request.postgres_database_reference,
            &query,
        )
        .await?;
        Ok(page.into())
    }

    async fn postgres_firewall_rule_create(
        &self,
        caller: Caller,
        request: PostgresFirewallRuleCreateRequest,
    ) -> Result<PostgresFirewallRuleCreateResponse, PostgresFirewallRuleCreateError> {
        let author = Self::author(&caller, &POSTGRES_FIREWALL_RULE_CREATE);
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &(
                &request.location,
                &request.postgres_database_reference,
                &request.body,
            ),
        );
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let create = postgres_firewall_rule::Create {
            scope,
            reference: request.postgres_database_reference,
            body: request.body,
            context: self.context.clone(),
        };
        let (rule, replayed) = self.once(author, create, key).await?;
        let mut ok = PostgresFirewallRuleCreateOk::new(rule);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }

    async fn postgres_firewall_rule_delete(
        &self,
        caller: Caller,
        request: PostgresFirewallRuleDeleteRequest,
    ) -> Result<PostgresFirewallRuleDeleteResponse, PostgresFirewallRuleDeleteError> {
        let author = Self::author(&caller, &POSTGRES_FIREWALL_RULE_DELETE);
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let delete = postgres_firewall_rule::Delete {
            scope,
            reference: request.postgres_database_reference,
            rule: request.firewall_rule_id,
            if_match: request.if_match,
            context: self.context.clone(),
        };
        self.change(author, delete).await?;
        Ok(PostgresFirewallRuleDeleteResponse::NoContent)
    }
}

impl Service {
    /// Returns a page of the databases of a location, or of the caller's project. One that is large is
    /// read again as a long page.
    async fn postgres_page(
        &self,
        caller: &Caller,
        query: &ListQuery,
        scope: Option<&Scope>,
    ) -> operations::Result<PostgresPage> {
        let mut reader = self.page_reader(caller, query).await?;
        loop {
            let c = &mut reader.short_connection();
            let page = match scope {
                Some(scope) => postgres::list(c, scope, query).await?,
                None => postgres::list_of_project(c, caller, query).await?,
            };
            if !c.has_cut_a_page() {
                reader.end().await?;
                return Ok(page);
            }
            // Not held while the long page waits for its turn.
            drop(reader);
            reader = self.long_page_reader(caller).await?;
        }
    }
}
