//! The generated server over answers that are there already.

use api_server::firewall::{
    Firewall, FirewallDetachSubnetAnswer, FirewallDetachSubnetError, FirewallDetachSubnetRequest,
};
use api_server::inference_api_key::{
    InferenceApiKey, InferenceApiKeyCreateAnswer, InferenceApiKeyCreateError, InferenceApiKeyCreateOk,
    InferenceApiKeyCreateRequest,
};
use api_server::load_balancer::{
    LoadBalancer, LoadBalancerDetachVmAnswer, LoadBalancerDetachVmError, LoadBalancerDetachVmRequest,
    LoadBalancerListAnswer, LoadBalancerListError, LoadBalancerListRequest, LoadBalancerUpdateAnswer,
    LoadBalancerUpdateError, LoadBalancerUpdateRequest, ProjectLoadBalancerListAnswer, ProjectLoadBalancerListError,
    ProjectLoadBalancerListRequest,
};
use api_server::postgres::{
    Postgres, PostgresCreateAnswer, PostgresCreateError, PostgresCreateOk, PostgresCreateRequest,
    PostgresResetSuperuserPasswordAnswer, PostgresResetSuperuserPasswordError, PostgresResetSuperuserPasswordOk,
    PostgresResetSuperuserPasswordRequest, PostgresUpdateAnswer, PostgresUpdateError, PostgresUpdateOk,
    PostgresUpdateRequest, PostgresViewAnswer, PostgresViewError, PostgresViewOk, PostgresViewRequest,
    ProjectPostgresListAnswer, ProjectPostgresListError, ProjectPostgresListRequest,
};
use api_server::private_subnet::{
    PrivateSubnet, PrivateSubnetConnectAnswer, PrivateSubnetConnectError, PrivateSubnetConnectRequest,
    PrivateSubnetCreateAnswer, PrivateSubnetCreateError, PrivateSubnetCreateRequest, PrivateSubnetViewAnswer,
    PrivateSubnetViewError, PrivateSubnetViewRequest,
};
use api_server::server::Config;
use api_server::vm::{Vm, VmListAnswer, VmListError, VmListRequest};
use api_types::{Count, LoadBalancerPage, NoStore, PostgresPage, VmPage};
use tests::memory::{Caller, ContractErrors, Gate, State};
use tests::seed;

struct Ready {
    state: State,
    page: VmPage,
}

pub fn router() -> axum::Router {
    let state = seed::state(100);
    let page = VmPage::new(Count::try_from(100).expect("it is a count"), state.vms.clone());
    api_server::router(Ready { state, page }, Gate, ContractErrors, Config::default())
}

fn none() -> Count {
    Count::try_from(0).expect("it is a count")
}

impl Vm<Caller> for Ready {
    async fn vm_list(&self, _: Caller, _: VmListRequest) -> Result<VmListAnswer, VmListError> {
        Ok(self.page.clone().into())
    }
}

impl PrivateSubnet<Caller> for Ready {
    async fn private_subnet_view(
        &self,
        _: Caller,
        _: PrivateSubnetViewRequest,
    ) -> Result<PrivateSubnetViewAnswer, PrivateSubnetViewError> {
        Ok(self.state.subnets[0].clone().into())
    }

    async fn private_subnet_create(
        &self,
        _: Caller,
        _: PrivateSubnetCreateRequest,
    ) -> Result<PrivateSubnetCreateAnswer, PrivateSubnetCreateError> {
        Ok(self.state.subnets[0].clone().into())
    }

    async fn private_subnet_connect(
        &self,
        _: Caller,
        _: PrivateSubnetConnectRequest,
    ) -> Result<PrivateSubnetConnectAnswer, PrivateSubnetConnectError> {
        Ok(self.state.subnets[0].clone().into())
    }
}

impl Postgres<Caller> for Ready {
    async fn project_postgres_list(
        &self,
        _: Caller,
        _: ProjectPostgresListRequest,
    ) -> Result<ProjectPostgresListAnswer, ProjectPostgresListError> {
        Ok(PostgresPage::new(none(), Vec::new()).into())
    }

    async fn postgres_view(&self, _: Caller, _: PostgresViewRequest) -> Result<PostgresViewAnswer, PostgresViewError> {
        Ok(PostgresViewOk::new(self.state.databases[0].clone(), NoStore::NoStore).into())
    }

    async fn postgres_create(
        &self,
        _: Caller,
        request: PostgresCreateRequest,
    ) -> Result<PostgresCreateAnswer, PostgresCreateError> {
        let mut made = self.state.databases[0].clone();
        made.flavor = request.body.flavor;
        Ok(PostgresCreateOk::new(made, NoStore::NoStore).into())
    }

    async fn postgres_update(
        &self,
        _: Caller,
        _: PostgresUpdateRequest,
    ) -> Result<PostgresUpdateAnswer, PostgresUpdateError> {
        Ok(PostgresUpdateOk::new(self.state.databases[0].clone(), NoStore::NoStore).into())
    }

    async fn postgres_reset_superuser_password(
        &self,
        _: Caller,
        _: PostgresResetSuperuserPasswordRequest,
    ) -> Result<PostgresResetSuperuserPasswordAnswer, PostgresResetSuperuserPasswordError> {
        Ok(PostgresResetSuperuserPasswordOk::new(self.state.databases[0].clone(), NoStore::NoStore).into())
    }
}

impl LoadBalancer<Caller> for Ready {
    async fn load_balancer_list(
        &self,
        _: Caller,
        _: LoadBalancerListRequest,
    ) -> Result<LoadBalancerListAnswer, LoadBalancerListError> {
        Ok(LoadBalancerPage::new(none(), Vec::new()).into())
    }

    async fn project_load_balancer_list(
        &self,
        _: Caller,
        _: ProjectLoadBalancerListRequest,
    ) -> Result<ProjectLoadBalancerListAnswer, ProjectLoadBalancerListError> {
        Ok(LoadBalancerPage::new(none(), Vec::new()).into())
    }

    async fn load_balancer_update(
        &self,
        _: Caller,
        _: LoadBalancerUpdateRequest,
    ) -> Result<LoadBalancerUpdateAnswer, LoadBalancerUpdateError> {
        Ok(self.state.load_balancers[0].clone().into())
    }

    async fn load_balancer_detach_vm(
        &self,
        _: Caller,
        _: LoadBalancerDetachVmRequest,
    ) -> Result<LoadBalancerDetachVmAnswer, LoadBalancerDetachVmError> {
        Ok(self.state.load_balancers[0].clone().into())
    }
}

impl Firewall<Caller> for Ready {
    async fn firewall_detach_subnet(
        &self,
        _: Caller,
        _: FirewallDetachSubnetRequest,
    ) -> Result<FirewallDetachSubnetAnswer, FirewallDetachSubnetError> {
        Ok(self.state.firewalls[0].clone().into())
    }
}

impl InferenceApiKey<Caller> for Ready {
    async fn inference_api_key_create(
        &self,
        _: Caller,
        _: InferenceApiKeyCreateRequest,
    ) -> Result<InferenceApiKeyCreateAnswer, InferenceApiKeyCreateError> {
        let id = "akmagvrjz7cptgqmw5121gqp0c".parse().expect("it is an id");
        let key = "0123456789abcdefghijABCDEFGHIJ01".parse().expect("it is a key");
        Ok(InferenceApiKeyCreateOk::new(api_types::InferenceApiKey::new(id, key), NoStore::NoStore).into())
    }
}
