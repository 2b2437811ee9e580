//! The operations tagged `postgres`.

use api_server::postgres::{
    PostgresApi, PostgresBackupListError, PostgresBackupListRequest, PostgresBackupListResponse,
    PostgresCreateError, PostgresCreateOk, PostgresCreateRequest, PostgresCreateResponse,
    PostgresDeleteError, PostgresDeleteRequest, PostgresDeleteResponse,
    PostgresFirewallRuleCreateError, PostgresFirewallRuleCreateOk,
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
use api_server::responses;
use api_types::{
    Name, NoStore, OrderColumn, PageSize, PostgresBackup, PostgresBackupPage, PostgresFields,
    PostgresFirewallRule, PostgresFirewallRulePage, PostgresPage, PostgresSize, PostgresState,
    PostgresSummary, PostgresSummaryFields, Reference, StartAfter, StorageSizeGib, Tag, TagInputs,
};

use super::{
    Caller, Memory, State, admit, admit_change, admit_conditional, admit_delete,
    admit_guarded_delete, entity_tag, invalid, not_found, page,
};
use crate::seed::POSTGRES_FIREWALL_RULE;

/// The keys and the times of the backups of each database.
const BACKUPS: [(&str, &str); 2] = [
    ("20260301T090000Z", "2026-03-01T09:00:04Z"),
    ("20260302T090000Z", "2026-03-02T09:00:05Z"),
];

impl PostgresApi<Caller> for Memory {
    async fn project_postgres_list(
        &self,
        caller: Caller,
        request: ProjectPostgresListRequest,
    ) -> Result<ProjectPostgresListResponse, ProjectPostgresListError> {
        admit::<ProjectPostgresListError>(&caller, request.project_id.as_str(), None)?;
        let (order, after) = (&request.order_column, request.start_after.as_ref());
        Ok(listed(&self.state(), order, after, request.page_size)?.into())
    }

    async fn postgres_list(
        &self,
        caller: Caller,
        request: PostgresListRequest,
    ) -> Result<PostgresListResponse, PostgresListError> {
        let location = Some(request.location.as_str());
        admit::<PostgresListError>(&caller, request.project_id.as_str(), location)?;
        let (order, after) = (&request.order_column, request.start_after.as_ref());
        Ok(listed(&self.state(), order, after, request.page_size)?.into())
    }

    async fn postgres_delete(
        &self,
        caller: Caller,
        request: PostgresDeleteRequest,
    ) -> Result<PostgresDeleteResponse, PostgresDeleteError> {
        let location = Some(request.location.as_str());
        admit_guarded_delete::<PostgresDeleteError>(
            &caller,
            request.project_id.as_str(),
            location,
        )?;
        let mut state = self.state();
        let found = find(&mut state, &request.postgres_database_reference).ok();
        let found = found.map(|found| found.id.clone());
        state
            .databases
            .retain(|database| Some(&database.id) != found.as_ref());
        Ok(PostgresDeleteResponse::NoContent)
    }

    async fn postgres_restart(
        &self,
        caller: Caller,
        request: PostgresRestartRequest,
    ) -> Result<PostgresRestartResponse, PostgresRestartError> {
        let location = Some(request.location.as_str());
        let project = request.project_id.as_str();
        admit_delete::<PostgresRestartError>(&caller, project, location)?;
        let mut state = self.state();
        let found = find(&mut state, &request.postgres_database_reference)?;
        Ok(PostgresRestartOk::new(found.clone(), NoStore::NoStore, entity_tag()).into())
    }

    async fn postgres_promote(
        &self,
        caller: Caller,
        request: PostgresPromoteRequest,
    ) -> Result<PostgresPromoteResponse, PostgresPromoteError> {
        let location = Some(request.location.as_str());
        let project = request.project_id.as_str();
        admit_delete::<PostgresPromoteError>(&caller, project, location)?;
        let mut state = self.state();
        let found = find(&mut state, &request.postgres_database_reference)?;
        Ok(PostgresPromoteOk::new(found.clone(), NoStore::NoStore, entity_tag()).into())
    }

    async fn postgres_backup_list(
        &self,
        caller: Caller,
        request: PostgresBackupListRequest,
    ) -> Result<PostgresBackupListResponse, PostgresBackupListError> {
        let location = Some(request.location.as_str());
        let project = request.project_id.as_str();
        admit::<PostgresBackupListError>(&caller, project, location)?;
        find(&mut self.state(), &request.postgres_database_reference)?;
        let after = request.start_after.as_ref().map_or("", StartAfter::as_str);
        let all = BACKUPS.map(|(key, last_modified)| {
            let key = key.parse().expect("the text is a key");
            PostgresBackup::new(key, last_modified.parse().expect("the text is a time"))
        });
        let count = 2.try_into().expect("2 is a count");
        let size = usize::try_from(request.page_size.get()).unwrap_or(usize::MAX);
        let later = all.into_iter().filter(|backup| backup.key.as_str() > after);
        Ok(PostgresBackupPage::new(count, later.take(size).collect()).into())
    }

    async fn postgres_restore(
        &self,
        caller: Caller,
        request: PostgresRestoreRequest,
    ) -> Result<PostgresRestoreResponse, PostgresRestoreError> {
        let location = Some(request.location.as_str());
        admit_change::<PostgresRestoreError>(&caller, request.project_id.as_str(), location)?;
        let mut state = self.state();
        let number = state.databases.len() + 1;
        let found = find(&mut state, &request.postgres_database_reference)?;
        let mut made = found.clone();
        made.id = format!("pg{number:024}")
            .parse()
            .expect("digits make an id");
        made.name = request.body.name;
        made.state = PostgresState::Creating;
        made.tags = tags(request.body.tags);
        state.databases.push(made.clone());
        Ok(PostgresRestoreOk::new(made, NoStore::NoStore, entity_tag()).into())
    }

    async fn postgres_set_maintenance_window(
        &self,
        caller: Caller,
        request: PostgresSetMaintenanceWindowRequest,
    ) -> Result<PostgresSetMaintenanceWindowResponse, PostgresSetMaintenanceWindowError> {
        let location = Some(request.location.as_str());
        let project = request.project_id.as_str();
        admit_conditional::<PostgresSetMaintenanceWindowError>(&caller, project, location)?;
        let mut state = self.state();
        let found = find(&mut state, &request.postgres_database_reference)?;
        let asked = request.body.unwrap_or_default();
        let midnight = 0.try_into().expect("0 is an hour of a day");
        let hour = asked.maintenance_window_start_at.flatten();
        found.maintenance_window_start_at = hour.unwrap_or(midnight);
        let ok = PostgresSetMaintenanceWindowOk::new(found.clone(), NoStore::NoStore, entity_tag());
        Ok(ok.into())
    }

    async fn postgres_firewall_rule_list(
        &self,
        caller: Caller,
        request: PostgresFirewallRuleListRequest,
    ) -> Result<PostgresFirewallRuleListResponse, PostgresFirewallRuleListError> {
        let location = Some(request.location.as_str());
        let project = request.project_id.as_str();
        admit::<PostgresFirewallRuleListError>(&caller, project, location)?;
        let mut state = self.state();
        let found = find(&mut state, &request.postgres_database_reference)?;
        let key = |rule: &PostgresFirewallRule, _: bool| rule.id.to_string();
        let after = request.start_after.as_ref();
        let (order, size) = (&request.order_column, request.page_size);
        let (count, items) = page(&found.firewall_rules, key, order, after, size)?;
        Ok(PostgresFirewallRulePage::new(count, items).into())
    }

    async fn postgres_firewall_rule_create(
        &self,
        caller: Caller,
        request: PostgresFirewallRuleCreateRequest,
    ) -> Result<PostgresFirewallRuleCreateResponse, PostgresFirewallRuleCreateError> {
        let location = Some(request.location.as_str());
        let project = request.project_id.as_str();
        admit_change::<PostgresFirewallRuleCreateError>(&caller, project, location)?;
        let mut state = self.state();
        let found = find(&mut state, &request.postgres_database_reference)?;
        let id = POSTGRES_FIREWALL_RULE.parse().expect("the text is an id");
        let body = request.body;
        let rule = PostgresFirewallRule::new(body.cidr, body.description.to_string(), id);
        found.firewall_rules.push(rule.clone());
        Ok(PostgresFirewallRuleCreateOk::new(rule).into())
    }

    async fn postgres_firewall_rule_delete(
        &self,
        caller: Caller,
        request: PostgresFirewallRuleDeleteRequest,
    ) -> Result<PostgresFirewallRuleDeleteResponse, PostgresFirewallRuleDeleteError> {
        let location = Some(request.location.as_str());
        let project = request.project_id.as_str();
        admit_delete::<PostgresFirewallRuleDeleteError>(&caller, project, location)?;
        let mut state = self.state();
        if let Ok(found) = find(&mut state, &request.postgres_database_reference) {
            let rules = &mut found.firewall_rules;
            rules.retain(|rule| rule.id != request.firewall_rule_id);
        }
        Ok(PostgresFirewallRuleDeleteResponse::NoContent)
    }

    async fn postgres_view(
        &self,
        caller: Caller,
        request: PostgresViewRequest,
    ) -> Result<PostgresViewResponse, PostgresViewError> {
        admit::<PostgresViewError>(
            &caller,
            request.project_id.as_str(),
            Some(request.location.as_str()),
        )?;
        let mut state = self.state();
        let found = find(&mut state, &request.postgres_database_reference)?;
        Ok(PostgresViewOk::new(found.clone(), NoStore::NoStore, entity_tag()).into())
    }

    async fn postgres_create(
        &self,
        caller: Caller,
        request: PostgresCreateRequest,
    ) -> Result<PostgresCreateResponse, PostgresCreateError> {
        let location = Some(request.location.as_str());
        admit_change::<PostgresCreateError>(&caller, request.project_id.as_str(), location)?;
        let name = Name::try_from(request.postgres_database_reference.as_str())
            .map_err(|_| invalid("name", "is not the name of a database"))?;
        let mut state = self.state();
        if find(&mut state, &request.postgres_database_reference).is_ok() {
            return Err(invalid("name", "there is a database of this name already").into());
        }
        let storage = storage(request.body.storage_size.get())?;
        let number = state.databases.len() + 1;
        let made = api_types::Postgres::from(PostgresFields {
            flavor: request.body.flavor,
            ha_type: request.body.ha_type,
            id: format!("pg{number:024}")
                .parse()
                .expect("digits make an id"),
            location: request.location,
            name,
            state: PostgresState::Creating,
            storage_size_gib: storage,
            version: request.body.version.clone(),
            target_version: request.body.version,
            vm_size: size(request.body.size.as_str())?,
            maintenance_window_start_at: 3.try_into().expect("3 is an hour of a day"),
            read_replica: false,
            tags: tags(request.body.tags),
            connection_string: None,
            earliest_restore_time: None,
            latest_restore_time: "2026-03-02T17:42:10Z"
                .parse()
                .expect("the text is a date and time"),
            firewall_rules: Vec::new(),
            primary: true,
        });
        state.databases.push(made.clone());
        Ok(PostgresCreateOk::new(made, NoStore::NoStore, entity_tag()).into())
    }

    async fn postgres_update(
        &self,
        caller: Caller,
        request: PostgresUpdateRequest,
    ) -> Result<PostgresUpdateResponse, PostgresUpdateError> {
        let location = Some(request.location.as_str());
        admit_conditional::<PostgresUpdateError>(&caller, request.project_id.as_str(), location)?;
        let mut state = self.state();
        let found = find(&mut state, &request.postgres_database_reference)?;
        let body = request.body.unwrap_or_default();
        if let Some(size_asked) = body.size {
            found.target_vm_size = Some(size(size_asked.as_str())?);
        }
        if let Some(asked) = body.storage_size {
            found.target_storage_size_gib = Some(storage(asked.get())?);
        }
        if let Some(ha_type) = body.ha_type {
            found.ha_type = ha_type;
        }
        if body.tags.is_some() {
            found.tags = tags(body.tags);
        }
        Ok(PostgresUpdateOk::new(found.clone(), NoStore::NoStore, entity_tag()).into())
    }

    async fn postgres_reset_superuser_password(
        &self,
        caller: Caller,
        request: PostgresResetSuperuserPasswordRequest,
    ) -> Result<PostgresResetSuperuserPasswordResponse, PostgresResetSuperuserPasswordError> {
        let location = Some(request.location.as_str());
        admit_conditional::<PostgresResetSuperuserPasswordError>(
            &caller,
            request.project_id.as_str(),
            location,
        )?;
        if request.body.password.expose().len() < 12 {
            return Err(invalid("password", "must be at least 12 characters long").into());
        }
        let mut state = self.state();
        let found = find(&mut state, &request.postgres_database_reference)?;
        Ok(
            PostgresResetSuperuserPasswordOk::new(found.clone(), NoStore::NoStore, entity_tag())
                .into(),
        )
    }
}

/// Returns a page of all databases.
fn listed(
    state: &State,
    order: &OrderColumn,
    after: Option<&StartAfter>,
    size: PageSize,
) -> Result<PostgresPage, responses::BadRequest> {
    let key = |item: &api_types::Postgres, by_name: bool| {
        if by_name {
            item.name.to_string()
        } else {
            item.id.to_string()
        }
    };
    let (count, items) = page(&state.databases, key, order, after, size)?;
    Ok(PostgresPage::new(
        count,
        items.into_iter().map(summary).collect(),
    ))
}

fn find<'s>(
    state: &'s mut State,
    reference: &Reference,
) -> Result<&'s mut api_types::Postgres, responses::NotFound> {
    let reference = reference.as_str();
    let mut all = state.databases.iter_mut();
    all.find(|found| found.id.as_str() == reference || found.name.as_str() == reference)
        .ok_or_else(not_found)
}

fn size(asked: &str) -> Result<PostgresSize, responses::BadRequest> {
    asked
        .parse()
        .map_err(|_| invalid("size", "is no size of a database"))
}

fn storage(gib: i64) -> Result<StorageSizeGib, responses::BadRequest> {
    let gib = i32::try_from(gib)
        .ok()
        .and_then(|gib| StorageSizeGib::try_from(gib).ok());
    gib.ok_or_else(|| invalid("storage_size", "does not go with the size"))
}

fn tags(asked: Option<TagInputs>) -> Vec<Tag> {
    asked
        .into_iter()
        .flatten()
        .map(|tag| Tag::new(tag.key, tag.value))
        .collect()
}

fn summary(full: api_types::Postgres) -> PostgresSummary {
    let mut summary = PostgresSummary::from(PostgresSummaryFields {
        flavor: full.flavor,
        ha_type: full.ha_type,
        id: full.id,
        location: full.location,
        name: full.name,
        state: full.state,
        storage_size_gib: full.storage_size_gib,
        version: full.version,
        target_version: full.target_version,
        vm_size: full.vm_size,
        maintenance_window_start_at: full.maintenance_window_start_at,
        read_replica: full.read_replica,
        tags: full.tags,
    });
    summary.target_storage_size_gib = full.target_storage_size_gib;
    summary.target_vm_size = full.target_vm_size;
    summary
}
