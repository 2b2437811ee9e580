//! Handlers of the tag `load_balancer`.

use api_server::load_balancer::{
    LOAD_BALANCER_ATTACH_VM, LOAD_BALANCER_CREATE, LOAD_BALANCER_DELETE, LOAD_BALANCER_DETACH_VM,
    LOAD_BALANCER_UPDATE, LoadBalancerApi, LoadBalancerAttachVmError, LoadBalancerAttachVmOk,
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

use super::Service;
use crate::domain::Caller;
use crate::domain::entity_tag::Tagged;
use crate::domain::list::ListQuery;
use crate::operations::load_balancer::{self, Create, Delete, Update};
use crate::operations::load_balancer_vm::{AttachVm, DetachVm};

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
        let mut reader = self.page_reader(&caller, &query).await?;
        let page = load_balancer::list(
            &mut reader.connection(),
            &scope,
            &query,
            &self.context.service_domain,
        )
        .await?;
        reader.end().await?;
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
        let mut reader = self.page_reader(&caller, &query).await?;
        let page = load_balancer::list_of_project(
            &mut reader.connection(),
            &caller,
            &request.project_id,
            &query,
            &self.context.service_domain,
        )
        .await?;
        reader.end().await?;
        Ok(page.into())
    }

    async fn load_balancer_view(
        &self,
        caller: Caller,
        request: LoadBalancerViewRequest,
    ) -> Result<LoadBalancerViewResponse, LoadBalancerViewError> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        // The view takes several statements, which must all see the same state.
        let mut snapshot = self.snapshot(&caller).await?;
        let Tagged { shown, tag } = load_balancer::view(
            &mut snapshot.connection(),
            &scope,
            &request.load_balancer_reference,
            &self.context.service_domain,
        )
        .await?;
        Ok(LoadBalancerViewOk::new(shown, tag).into())
    }

    async fn load_balancer_create(
        &self,
        caller: Caller,
        request: LoadBalancerCreateRequest,
    ) -> Result<LoadBalancerCreateResponse, LoadBalancerCreateError> {
        let author = Self::author(&caller, &LOAD_BALANCER_CREATE);
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
        let create = Create {
            scope,
            reference: request.load_balancer_reference,
            body: request.body,
            context: self.context.clone(),
        };
        let (Tagged { shown, tag }, replayed) = self.once(author, create, key).await?;
        let mut ok = LoadBalancerCreateOk::new(shown, tag);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
    }

    async fn load_balancer_delete(
        &self,
        caller: Caller,
        request: LoadBalancerDeleteRequest,
    ) -> Result<LoadBalancerDeleteResponse, LoadBalancerDeleteError> {
        let author = Self::author(&caller, &LOAD_BALANCER_DELETE);
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let delete = Delete {
            scope,
            reference: request.load_balancer_reference,
            if_match: request.if_match,
            service_domain: self.context.service_domain.clone(),
        };
        self.change(author, delete).await?;
        Ok(LoadBalancerDeleteResponse::NoContent)
    }

    async fn load_balancer_attach_vm(
        &self,
        caller: Caller,
        request: LoadBalancerAttachVmRequest,
    ) -> Result<LoadBalancerAttachVmResponse, LoadBalancerAttachVmError> {
        let author = Self::author(&caller, &LOAD_BALANCER_ATTACH_VM);
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
        let attach = AttachVm {
            scope,
            reference: request.load_balancer_reference,
            body: request.body,
            if_match: request.if_match,
            service_domain: self.context.service_domain.clone(),
        };
        let (Tagged { shown, tag }, replayed) = self.once(author, attach, key).await?;
        let mut ok = LoadBalancerAttachVmOk::new(shown, tag);
        ok.idempotency_replayed = replayed;
        Ok(ok.into())
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
