//! The generated server with prepared responses.

use api_server::firewall::{
    FirewallApi, FirewallAttachSubnetError, FirewallAttachSubnetOk, FirewallAttachSubnetRequest,
    FirewallAttachSubnetResponse, FirewallCreateError, FirewallCreateOk, FirewallCreateRequest,
    FirewallCreateResponse, FirewallDeleteError, FirewallDeleteRequest, FirewallDeleteResponse,
    FirewallDetachSubnetError, FirewallDetachSubnetOk, FirewallDetachSubnetRequest,
    FirewallDetachSubnetResponse, FirewallListError, FirewallListRequest, FirewallListResponse,
    FirewallRuleCreateError, FirewallRuleCreateOk, FirewallRuleCreateRequest,
    FirewallRuleCreateResponse, FirewallRuleDeleteError, FirewallRuleDeleteRequest,
    FirewallRuleDeleteResponse, FirewallViewError, FirewallViewOk, FirewallViewRequest,
    FirewallViewResponse,
};
use api_server::inference_api_key::{
    InferenceApiKeyApi, InferenceApiKeyCreateError, InferenceApiKeyCreateOk,
    InferenceApiKeyCreateRequest, InferenceApiKeyCreateResponse, InferenceApiKeyDeleteError,
    InferenceApiKeyDeleteRequest, InferenceApiKeyDeleteResponse, InferenceApiKeyListError,
    InferenceApiKeyListRequest, InferenceApiKeyListResponse, InferenceApiKeyViewError,
    InferenceApiKeyViewOk, InferenceApiKeyViewRequest, InferenceApiKeyViewResponse,
};
use api_server::load_balancer::{
    LoadBalancerApi, LoadBalancerAttachVmError, LoadBalancerAttachVmOk,
    LoadBalancerAttachVmRequest, LoadBalancerAttachVmResponse, LoadBalancerCreateError,
    LoadBalancerCreateOk, LoadBalancerCreateRequest, LoadBalancerCreateResponse,
    LoadBalancerDeleteError, LoadBalancerDeleteRequest, LoadBalancerDeleteResponse,
    LoadBalancerDetachVmError, LoadBalancerDetachVmOk, LoadBalancerDetachVmRequest,
    LoadBalancerDetachVmResponse, LoadBalancerListError, LoadBalancerListRequest,
    LoadBalancerListResponse, LoadBalancerUpdateError, LoadBalancerUpdateOk,
    LoadBalancerUpdateRequest, LoadBalancerUpdateResponse, LoadBalancerViewError,
    LoadBalancerViewOk, LoadBalancerViewRequest, LoadBalancerViewResponse,
    ProjectLoadBalancerListError, ProjectLoadBalancerListRequest, ProjectLoadBalancerListResponse,
};
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
use api_server::private_subnet::{
    PrivateSubnetApi, PrivateSubnetConnectError, PrivateSubnetConnectOk,
    PrivateSubnetConnectRequest, PrivateSubnetConnectResponse, PrivateSubnetCreateError,
    PrivateSubnetCreateOk, PrivateSubnetCreateRequest, PrivateSubnetCreateResponse,
    PrivateSubnetDeleteError, PrivateSubnetDeleteRequest, PrivateSubnetDeleteResponse,
    PrivateSubnetDisconnectError, PrivateSubnetDisconnectOk, PrivateSubnetDisconnectRequest,
    PrivateSubnetDisconnectResponse, PrivateSubnetListError, PrivateSubnetListRequest,
    PrivateSubnetListResponse, PrivateSubnetViewError, PrivateSubnetViewOk,
    PrivateSubnetViewRequest, PrivateSubnetViewResponse, ProjectPrivateSubnetListError,
    ProjectPrivateSubnetListRequest, ProjectPrivateSubnetListResponse,
};
use api_server::server::Config;
use api_server::vm::{
    VmApi, VmListError, VmListRequest, VmListResponse, VmViewError, VmViewOk, VmViewRequest,
    VmViewResponse,
};
use api_types::{
    Count, FirewallPage, InferenceApiKeyPage, LoadBalancerPage, NoStore, PostgresBackupPage,
    PostgresFirewallRule, PostgresFirewallRulePage, PostgresPage, PrivateSubnetPage, VmPage,
};
use tests::memory::{Caller, ContractErrors, Gate, State, entity_tag, vm_details, without_details};
use tests::seed;

struct Ready {
    state: State,
    page: VmPage,
}

pub fn router() -> axum::Router {
    let state = seed::state(100);
    let page = VmPage::new(
        Count::try_from(100).expect("100 is a count"),
        state.vms.clone(),
    );
    api_server::router(
        Ready { state, page },
        Gate,
        ContractErrors,
        Config::default(),
    )
}

fn none() -> Count {
    Count::try_from(0).expect("0 is a count")
}

impl VmApi<Caller> for Ready {
    async fn vm_list(&self, _: Caller, _: VmListRequest) -> Result<VmListResponse, VmListError> {
        Ok(self.page.clone().into())
    }

    async fn vm_view(&self, _: Caller, _: VmViewRequest) -> Result<VmViewResponse, VmViewError> {
        Ok(VmViewOk::new(vm_details(self.state.vms[0].clone()), entity_tag()).into())
    }
}

impl PrivateSubnetApi<Caller> for Ready {
    async fn private_subnet_view(
        &self,
        _: Caller,
        _: PrivateSubnetViewRequest,
    ) -> Result<PrivateSubnetViewResponse, PrivateSubnetViewError> {
        Ok(PrivateSubnetViewOk::new(self.state.subnets[0].clone(), entity_tag()).into())
    }

    async fn private_subnet_create(
        &self,
        _: Caller,
        _: PrivateSubnetCreateRequest,
    ) -> Result<PrivateSubnetCreateResponse, PrivateSubnetCreateError> {
        Ok(PrivateSubnetCreateOk::new(self.state.subnets[0].clone(), entity_tag()).into())
    }

    async fn private_subnet_connect(
        &self,
        _: Caller,
        _: PrivateSubnetConnectRequest,
    ) -> Result<PrivateSubnetConnectResponse, PrivateSubnetConnectError> {
        Ok(PrivateSubnetConnectOk::new(self.state.subnets[0].clone(), entity_tag()).into())
    }

    async fn private_subnet_list(
        &self,
        _: Caller,
        _: PrivateSubnetListRequest,
    ) -> Result<PrivateSubnetListResponse, PrivateSubnetListError> {
        Ok(PrivateSubnetPage::new(none(), Vec::new()).into())
    }

    async fn project_private_subnet_list(
        &self,
        _: Caller,
        _: ProjectPrivateSubnetListRequest,
    ) -> Result<ProjectPrivateSubnetListResponse, ProjectPrivateSubnetListError> {
        Ok(PrivateSubnetPage::new(none(), Vec::new()).into())
    }

    async fn private_subnet_disconnect(
        &self,
        _: Caller,
        _: PrivateSubnetDisconnectRequest,
    ) -> Result<PrivateSubnetDisconnectResponse, PrivateSubnetDisconnectError> {
        Ok(PrivateSubnetDisconnectOk::new(self.state.subnets[0].clone(), entity_tag()).into())
    }

    async fn private_subnet_delete(
        &self,
        _: Caller,
        _: PrivateSubnetDeleteRequest,
    ) -> Result<PrivateSubnetDeleteResponse, PrivateSubnetDeleteError> {
        Ok(PrivateSubnetDeleteResponse::NoContent)
    }
}

impl PostgresApi<Caller> for Ready {
    async fn postgres_list(
        &self,
        _: Caller,
        _: PostgresListRequest,
    ) -> Result<PostgresListResponse, PostgresListError> {
        Ok(PostgresPage::new(none(), Vec::new()).into())
    }

    async fn postgres_delete(
        &self,
        _: Caller,
        _: PostgresDeleteRequest,
    ) -> Result<PostgresDeleteResponse, PostgresDeleteError> {
        Ok(PostgresDeleteResponse::NoContent)
    }

    async fn postgres_restart(
        &self,
        _: Caller,
        _: PostgresRestartRequest,
    ) -> Result<PostgresRestartResponse, PostgresRestartError> {
        let shown = self.state.databases[0].clone();
        Ok(PostgresRestartOk::new(shown, NoStore::NoStore, entity_tag()).into())
    }

    async fn postgres_promote(
        &self,
        _: Caller,
        _: PostgresPromoteRequest,
    ) -> Result<PostgresPromoteResponse, PostgresPromoteError> {
        let shown = self.state.databases[0].clone();
        Ok(PostgresPromoteOk::new(shown, NoStore::NoStore, entity_tag()).into())
    }

    async fn postgres_backup_list(
        &self,
        _: Caller,
        _: PostgresBackupListRequest,
    ) -> Result<PostgresBackupListResponse, PostgresBackupListError> {
        Ok(PostgresBackupPage::new(none(), Vec::new()).into())
    }

    async fn postgres_restore(
        &self,
        _: Caller,
        _: PostgresRestoreRequest,
    ) -> Result<PostgresRestoreResponse, PostgresRestoreError> {
        let shown = self.state.databases[0].clone();
        Ok(PostgresRestoreOk::new(shown, NoStore::NoStore, entity_tag()).into())
    }

    async fn postgres_set_maintenance_window(
        &self,
        _: Caller,
        _: PostgresSetMaintenanceWindowRequest,
    ) -> Result<PostgresSetMaintenanceWindowResponse, PostgresSetMaintenanceWindowError> {
        Ok(PostgresSetMaintenanceWindowOk::new(
            self.state.databases[0].clone(),
            NoStore::NoStore,
            entity_tag(),
        )
        .into())
    }

    async fn postgres_firewall_rule_list(
        &self,
        _: Caller,
        _: PostgresFirewallRuleListRequest,
    ) -> Result<PostgresFirewallRuleListResponse, PostgresFirewallRuleListError> {
        Ok(PostgresFirewallRulePage::new(none(), Vec::new()).into())
    }

    async fn postgres_firewall_rule_create(
        &self,
        _: Caller,
        request: PostgresFirewallRuleCreateRequest,
    ) -> Result<PostgresFirewallRuleCreateResponse, PostgresFirewallRuleCreateError> {
        let id = seed::POSTGRES_FIREWALL_RULE
            .parse()
            .expect("the text is an id");
        let rule = PostgresFirewallRule::new(request.body.cidr, String::new(), id);
        Ok(PostgresFirewallRuleCreateOk::new(rule).into())
    }

    async fn postgres_firewall_rule_delete(
        &self,
        _: Caller,
        _: PostgresFirewallRuleDeleteRequest,
    ) -> Result<PostgresFirewallRuleDeleteResponse, PostgresFirewallRuleDeleteError> {
        Ok(PostgresFirewallRuleDeleteResponse::NoContent)
    }

    async fn project_postgres_list(
        &self,
        _: Caller,
        _: ProjectPostgresListRequest,
    ) -> Result<ProjectPostgresListResponse, ProjectPostgresListError> {
        Ok(PostgresPage::new(none(), Vec::new()).into())
    }

    async fn postgres_view(
        &self,
        _: Caller,
        _: PostgresViewRequest,
    ) -> Result<PostgresViewResponse, PostgresViewError> {
        Ok(PostgresViewOk::new(
            self.state.databases[0].clone(),
            NoStore::NoStore,
            entity_tag(),
        )
        .into())
    }

    async fn postgres_create(
        &self,
        _: Caller,
        request: PostgresCreateRequest,
    ) -> Result<PostgresCreateResponse, PostgresCreateError> {
        let mut made = self.state.databases[0].clone();
        made.flavor = request.body.flavor;
        Ok(PostgresCreateOk::new(made, NoStore::NoStore, entity_tag()).into())
    }

    async fn postgres_update(
        &self,
        _: Caller,
        _: PostgresUpdateRequest,
    ) -> Result<PostgresUpdateResponse, PostgresUpdateError> {
        Ok(PostgresUpdateOk::new(
            self.state.databases[0].clone(),
            NoStore::NoStore,
            entity_tag(),
        )
        .into())
    }

    async fn postgres_reset_superuser_password(
        &self,
        _: Caller,
        _: PostgresResetSuperuserPasswordRequest,
    ) -> Result<PostgresResetSuperuserPasswordResponse, PostgresResetSuperuserPasswordError> {
        Ok(PostgresResetSuperuserPasswordOk::new(
            self.state.databases[0].clone(),
            NoStore::NoStore,
            entity_tag(),
        )
        .into())
    }
}

impl LoadBalancerApi<Caller> for Ready {
    async fn load_balancer_list(
        &self,
        _: Caller,
        _: LoadBalancerListRequest,
    ) -> Result<LoadBalancerListResponse, LoadBalancerListError> {
        Ok(LoadBalancerPage::new(none(), Vec::new()).into())
    }

    async fn project_load_balancer_list(
        &self,
        _: Caller,
        _: ProjectLoadBalancerListRequest,
    ) -> Result<ProjectLoadBalancerListResponse, ProjectLoadBalancerListError> {
        Ok(LoadBalancerPage::new(none(), Vec::new()).into())
    }

    async fn load_balancer_view(
        &self,
        _: Caller,
        _: LoadBalancerViewRequest,
    ) -> Result<LoadBalancerViewResponse, LoadBalancerViewError> {
        Ok(LoadBalancerViewOk::new(self.state.load_balancers[0].clone(), entity_tag()).into())
    }

    async fn load_balancer_create(
        &self,
        _: Caller,
        _: LoadBalancerCreateRequest,
    ) -> Result<LoadBalancerCreateResponse, LoadBalancerCreateError> {
        Ok(LoadBalancerCreateOk::new(self.state.load_balancers[0].clone(), entity_tag()).into())
    }

    async fn load_balancer_delete(
        &self,
        _: Caller,
        _: LoadBalancerDeleteRequest,
    ) -> Result<LoadBalancerDeleteResponse, LoadBalancerDeleteError> {
        Ok(LoadBalancerDeleteResponse::NoContent)
    }

    async fn load_balancer_attach_vm(
        &self,
        _: Caller,
        _: LoadBalancerAttachVmRequest,
    ) -> Result<LoadBalancerAttachVmResponse, LoadBalancerAttachVmError> {
        Ok(LoadBalancerAttachVmOk::new(self.state.load_balancers[0].clone(), entity_tag()).into())
    }

    async fn load_balancer_update(
        &self,
        _: Caller,
        _: LoadBalancerUpdateRequest,
    ) -> Result<LoadBalancerUpdateResponse, LoadBalancerUpdateError> {
        Ok(LoadBalancerUpdateOk::new(self.state.load_balancers[0].clone(), entity_tag()).into())
    }

    async fn load_balancer_detach_vm(
        &self,
        _: Caller,
        _: LoadBalancerDetachVmRequest,
    ) -> Result<LoadBalancerDetachVmResponse, LoadBalancerDetachVmError> {
        Ok(LoadBalancerDetachVmOk::new(self.state.load_balancers[0].clone(), entity_tag()).into())
    }
}

impl FirewallApi<Caller> for Ready {
    async fn firewall_detach_subnet(
        &self,
        _: Caller,
        _: FirewallDetachSubnetRequest,
    ) -> Result<FirewallDetachSubnetResponse, FirewallDetachSubnetError> {
        let firewall = without_details(self.state.firewalls[0].clone());
        Ok(FirewallDetachSubnetOk::new(firewall, entity_tag()).into())
    }

    async fn firewall_list(
        &self,
        _: Caller,
        _: FirewallListRequest,
    ) -> Result<FirewallListResponse, FirewallListError> {
        Ok(FirewallPage::new(none(), Vec::new()).into())
    }

    async fn firewall_view(
        &self,
        _: Caller,
        _: FirewallViewRequest,
    ) -> Result<FirewallViewResponse, FirewallViewError> {
        Ok(FirewallViewOk::new(self.state.firewalls[0].clone(), entity_tag()).into())
    }

    async fn firewall_create(
        &self,
        _: Caller,
        _: FirewallCreateRequest,
    ) -> Result<FirewallCreateResponse, FirewallCreateError> {
        Ok(FirewallCreateOk::new(self.state.firewalls[0].clone(), entity_tag()).into())
    }

    async fn firewall_delete(
        &self,
        _: Caller,
        _: FirewallDeleteRequest,
    ) -> Result<FirewallDeleteResponse, FirewallDeleteError> {
        Ok(FirewallDeleteResponse::NoContent)
    }

    async fn firewall_attach_subnet(
        &self,
        _: Caller,
        _: FirewallAttachSubnetRequest,
    ) -> Result<FirewallAttachSubnetResponse, FirewallAttachSubnetError> {
        Ok(FirewallAttachSubnetOk::new(self.state.firewalls[0].clone(), entity_tag()).into())
    }

    async fn firewall_rule_create(
        &self,
        _: Caller,
        _: FirewallRuleCreateRequest,
    ) -> Result<FirewallRuleCreateResponse, FirewallRuleCreateError> {
        let rule = self.state.firewalls[0].firewall_rules[0].clone();
        Ok(FirewallRuleCreateOk::new(rule).into())
    }

    async fn firewall_rule_delete(
        &self,
        _: Caller,
        _: FirewallRuleDeleteRequest,
    ) -> Result<FirewallRuleDeleteResponse, FirewallRuleDeleteError> {
        Ok(FirewallRuleDeleteResponse::NoContent)
    }
}

impl InferenceApiKeyApi<Caller> for Ready {
    async fn inference_api_key_list(
        &self,
        _: Caller,
        _: InferenceApiKeyListRequest,
    ) -> Result<InferenceApiKeyListResponse, InferenceApiKeyListError> {
        Ok(InferenceApiKeyPage::new(none(), Vec::new()).into())
    }

    async fn inference_api_key_view(
        &self,
        _: Caller,
        _: InferenceApiKeyViewRequest,
    ) -> Result<InferenceApiKeyViewResponse, InferenceApiKeyViewError> {
        let key = self.state.inference_api_keys[0].clone();
        Ok(InferenceApiKeyViewOk::new(key, entity_tag()).into())
    }

    async fn inference_api_key_delete(
        &self,
        _: Caller,
        _: InferenceApiKeyDeleteRequest,
    ) -> Result<InferenceApiKeyDeleteResponse, InferenceApiKeyDeleteError> {
        Ok(InferenceApiKeyDeleteResponse::NoContent)
    }

    async fn inference_api_key_create(
        &self,
        _: Caller,
        _: InferenceApiKeyCreateRequest,
    ) -> Result<InferenceApiKeyCreateResponse, InferenceApiKeyCreateError> {
        let id = "akmagvrjz7cptgqmw5121gqp0c"
            .parse()
            .expect("the text is an id");
        let key = "0123456789abcdefghijABCDEFGHIJ01"
            .parse()
            .expect("the text is an API key");
        Ok(
            InferenceApiKeyCreateOk::new(
                api_types::InferenceApiKey::new(id, key),
                NoStore::NoStore,
            )
            .into(),
        )
    }
}
