//! The operations tagged `vm`.

use api_server::vm::{
    VmApi, VmListError, VmListRequest, VmListResponse, VmViewError, VmViewOk, VmViewRequest,
    VmViewResponse,
};
use api_types::{VmDetails, VmDetailsFields, VmPage};

use super::{Caller, Memory, admit, entity_tag, not_found, page};

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

    async fn vm_view(
        &self,
        caller: Caller,
        request: VmViewRequest,
    ) -> Result<VmViewResponse, VmViewError> {
        let location = Some(request.location.as_str());
        admit::<VmViewError>(&caller, request.project_id.as_str(), location)?;
        let reference = request.vm_reference.as_str();
        let state = self.state();
        let mut vms = state.vms.iter();
        let found = vms.find(|vm| vm.id.as_str() == reference || vm.name.as_str() == reference);
        let found = found.ok_or_else(not_found)?;
        Ok(VmViewOk::new(vm_details(found.clone()), entity_tag()).into())
    }
}

/// Returns a virtual machine that is in no private subnet, with all details.
#[must_use]
pub fn vm_details(vm: api_types::Vm) -> VmDetails {
    let mut details = VmDetails::from(VmDetailsFields {
        firewalls: Vec::new(),
        id: vm.id,
        ip4_enabled: vm.ip4_enabled,
        location: vm.location,
        name: vm.name,
        size: vm.size,
        state: vm.state,
        storage_size_gib: vm.storage_size_gib,
        unix_user: vm.unix_user,
    });
    details.ip4 = vm.ip4;
    details.ip6 = vm.ip6;
    details
}
