//! Operations tagged `vm`.

use api_server::vm::{VmApi, VmListError, VmListRequest, VmListResponse};
use api_types::VmPage;

use super::{Service, error};
use crate::domain::Caller;
use crate::domain::list::ListQuery;
use crate::operations::{self, Outcome};

impl VmApi<Caller> for Service {
    async fn vm_list(
        &self,
        caller: Caller,
        request: VmListRequest,
    ) -> Result<VmListResponse, VmListError> {
        Ok(self
            .vms(caller, request)
            .await
            .map_err(error::of_view::<VmListError>)?
            .into())
    }
}

impl Service {
    async fn vms(&self, caller: Caller, request: VmListRequest) -> Outcome<VmPage> {
        let VmListRequest {
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
        operations::vm::list(&mut reader.connection(), &scope, &query).await
    }
}
