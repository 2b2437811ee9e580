//! The operations tagged `vm`.

use api_server::vm::{VmApi, VmListError, VmListRequest, VmListResponse};
use api_types::VmPage;

use super::{Caller, Memory, admit, page};

impl VmApi<Caller> for Memory {
    async fn vm_list(
        &self,
        caller: Caller,
        request: VmListRequest,
    ) -> Result<VmListResponse, VmListError> {
        admit::<VmListError>(
            &caller,
            request.project_id.as_str(),
            Some(request.location.as_str()),
        )?;
        let key = |vm: &api_types::Vm, by_name: bool| {
            if by_name {
                vm.name.to_string()
            } else {
                vm.id.to_string()
            }
        };
        let after = request.start_after.as_ref();
        let (count, items) = page(
            &self.state().vms,
            key,
            &request.order_column,
            after,
            request.page_size,
        )?;
        Ok(VmPage::new(count, items).into())
    }
}
