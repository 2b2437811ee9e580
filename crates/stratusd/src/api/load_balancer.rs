//! Handlers of the tag `load_balancer`.

use api_server::load_balancer::{
    LOAD_BALANCER_DETACH_VM, LOAD_BALANCER_UPDATE, LoadBalancerApi, LoadBalancerDetachVmError,
    LoadBalancerDetachVmOk, LoadBalancerDetachVmRequest, LoadBalancerDetachVmResponse,
    LoadBalancerListError, LoadBalancerListRequest, LoadBalancerListResponse,
    LoadBalancerUpdateError, LoadBalancerUpdateOk, LoadBalancerUpdateRequest,
    LoadBalancerUpdateResponse, ProjectLoadBalancerListError, ProjectLoadBalancerListRequest,
    ProjectLoadBalancerListResponse,
};

use super::Service;
use crate::domain::Caller;
use crate::domain::entity_tag::Tagged;
use crate::domain::list::ListQuery;
use crate::operations::load_balancer::{self, DetachVm, Update};

impl LoadBalancerApi<Caller> for Service {
    async fn load_balancer_list(
        &self,
        caller: Caller,
        request: LoadBalancerListRequest,
    ) -> Result<LoadBalancerListResponse, LoadBalancerListError> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let query = ListQuery {
            start_after: request.start_after,
            page_size: request.page_size,
            order_column: request.order_column,
        };
        let mut reader = self.store.reader().await?;
        let page = load_balancer::list(
            &mut reader.connection(),
            &scope,
            &query,
            &self.context.service_domain,
        )
        .await?;
        Ok(page.into())
    }

    async fn project_load_balancer_list(
        &self,
        caller: Caller,
        request: ProjectLoadBalancerListRequest,
    ) -> Result<ProjectLoadBalancerListResponse, ProjectLoadBalancerListError> {
        let query = ListQuery {
            start_after: request.start_after,
            page_size: request.page_size,
            order_column: request.order_column,
        };
        let mut reader = self.store.reader().await?;
        let page = load_balancer::list_of_project(
            &mut reader.connection(),
            &caller,
            &request.project_id,
            &query,
            &self.context.service_domain,
        )
        .await?;
        Ok(page.into())
    }

    async fn load_balancer_update(
        &self,
        caller: Caller,
        request: LoadBalancerUpdateRequest,
    ) -> Result<LoadBalancerUpdateResponse, LoadBalancerUpdateError> {
        let author = Self::author(&caller, &LOAD_BALANCER_UPDATE);
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let update = Update {
            scope,
            reference: request.load_balancer_reference,
            body: request.body,
            if_match: request.if_match,
            service_domain: self.context.service_domain.clone(),
        };
        let Tagged { shown, tag } = self.change(author, update).await?;
        Ok(LoadBalancerUpdateOk::new(shown, tag).into())
    }

    async fn load_balancer_detach_vm(
        &self,
        caller: Caller,
        request: LoadBalancerDetachVmRequest,
    ) -> Result<LoadBalancerDetachVmResponse, LoadBalancerDetachVmError> {
        let author = Self::author(&caller, &LOAD_BALANCER_DETACH_VM);
        let key = self.key(
            &author,
            request.idempotency_key.as_ref(),
            &(
                &request.location,
                &request.load_balancer_reference,
                &request.body,
            ),
        );
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let detach = DetachVm {
            scope,
            reference: request.load_balancer_reference,
            body: request.body,
            if_match: request.if_match,
            service_domain: self.context.service_domain.clone(),
        };
        let (Tagged { shown, tag }, replayed) = self.once(author, detach, key).await?;
        let mut ok = LoadBalancerDetachVmOk::new(shown, tag);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }
}
