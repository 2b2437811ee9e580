//! Operations tagged `load_balancer`.

use api_server::load_balancer::{
    LoadBalancerApi, LoadBalancerDetachVmError, LoadBalancerDetachVmRequest,
    LoadBalancerDetachVmResponse, LoadBalancerListError, LoadBalancerListRequest,
    LoadBalancerListResponse, LoadBalancerUpdateError, LoadBalancerUpdateRequest,
    LoadBalancerUpdateResponse, ProjectLoadBalancerListError, ProjectLoadBalancerListRequest,
    ProjectLoadBalancerListResponse,
};
use api_types::LoadBalancerPage;

use super::{Service, error};
use crate::domain::Caller;
use crate::domain::list::ListQuery;
use crate::operations::load_balancer::{DetachVm, Update};
use crate::operations::{self, Outcome};

impl LoadBalancerApi<Caller> for Service {
    async fn load_balancer_list(
        &self,
        caller: Caller,
        request: LoadBalancerListRequest,
    ) -> Result<LoadBalancerListResponse, LoadBalancerListError> {
        Ok(self
            .load_balancers(caller, request)
            .await
            .map_err(error::of_view::<LoadBalancerListError>)?
            .into())
    }

    async fn project_load_balancer_list(
        &self,
        caller: Caller,
        request: ProjectLoadBalancerListRequest,
    ) -> Result<ProjectLoadBalancerListResponse, ProjectLoadBalancerListError> {
        let found = self.load_balancers_of_project(caller, request).await;
        Ok(found
            .map_err(error::of_view::<ProjectLoadBalancerListError>)?
            .into())
    }

    async fn load_balancer_update(
        &self,
        caller: Caller,
        request: LoadBalancerUpdateRequest,
    ) -> Result<LoadBalancerUpdateResponse, LoadBalancerUpdateError> {
        let updated = self.update_load_balancer(caller, request).await;
        Ok(updated
            .map_err(error::of_change::<LoadBalancerUpdateError>)?
            .into())
    }

    async fn load_balancer_detach_vm(
        &self,
        caller: Caller,
        request: LoadBalancerDetachVmRequest,
    ) -> Result<LoadBalancerDetachVmResponse, LoadBalancerDetachVmError> {
        Ok(self
            .detach_vm(caller, request)
            .await
            .map_err(error::of_change::<LoadBalancerDetachVmError>)?
            .into())
    }
}

impl Service {
    async fn load_balancers(
        &self,
        caller: Caller,
        request: LoadBalancerListRequest,
    ) -> Outcome<LoadBalancerPage> {
        let LoadBalancerListRequest {
            project_id,
            location,
            start_after,
            page_size,
            order_column,
        } = request;
        let scope = self.scope(&caller, &project_id, location).await?;
        let mut reader = self.store.reader().await?;
        let query = ListQuery {
            start_after,
            page_size,
            order_column,
        };
        operations::load_balancer::list(
            &mut reader.connection(),
            &scope,
            &query,
            &self.context.service_domain,
        )
        .await
    }

    async fn load_balancers_of_project(
        &self,
        caller: Caller,
        request: ProjectLoadBalancerListRequest,
    ) -> Outcome<LoadBalancerPage> {
        let ProjectLoadBalancerListRequest {
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
        let service_domain = &self.context.service_domain;
        let c = &mut reader.connection();
        operations::load_balancer::list_of_project(c, &caller, &project_id, &query, service_domain)
            .await
    }

    async fn update_load_balancer(
        &self,
        caller: Caller,
        request: LoadBalancerUpdateRequest,
    ) -> Outcome<api_types::LoadBalancer> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let LoadBalancerUpdateRequest {
            load_balancer_reference: reference,
            body,
            ..
        } = request;
        let service_domain = self.context.service_domain.clone();
        self.store
            .change(Update {
                scope,
                reference,
                body,
                service_domain,
            })
            .await
    }

    async fn detach_vm(
        &self,
        caller: Caller,
        request: LoadBalancerDetachVmRequest,
    ) -> Outcome<api_types::LoadBalancer> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let LoadBalancerDetachVmRequest {
            load_balancer_reference: reference,
            body,
            ..
        } = request;
        let service_domain = self.context.service_domain.clone();
        self.store
            .change(DetachVm {
                scope,
                reference,
                body,
                service_domain,
            })
            .await
    }
}
