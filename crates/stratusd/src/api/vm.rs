//! Handlers of the tag `vm`.

use api_server::vm::{
    VmApi, VmListError, VmListRequest, VmListResponse, VmViewError, VmViewOk, VmViewRequest,
    VmViewResponse,
};

use super::Service;
use crate::domain::Caller;
use crate::domain::entity_tag::Tagged;
use crate::domain::list::ListQuery;
use crate::operations::vm;

impl VmApi<Caller> for Service {
    async fn vm_list(
        &self,
        caller: Caller,
        request: VmListRequest,
    ) -> Result<VmListResponse, VmListError> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        let query = ListQuery {
            start_after: request.start_after,
            page_size: request.page_size,
            order_column: request.order_column,
        };
        let mut reader = self.page_reader(&caller, &query).await?;
        let page = vm::list(&mut reader.connection(), &scope, &query).await?;
        reader.end().await?;
        Ok(page.into())
    }

    async fn vm_view(
        &self,
        caller: Caller,
        request: VmViewRequest,
    ) -> Result<VmViewResponse, VmViewError> {
        let scope = self
            .scope(&caller, &request.project_id, request.location)
            .await?;
        // The view takes several statements, which must all see the same state.
        let mut snapshot = self.snapshot(&caller).await?;
        let Tagged { shown, tag } =
            vm::view(&mut snapshot.connection(), &scope, &request.vm_reference).await?;
        Ok(VmViewOk::new(shown, tag).into())
    }
}
