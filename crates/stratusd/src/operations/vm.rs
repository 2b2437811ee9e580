//! Operations on virtual machines.

use api_types::{Reference, VmDetails, VmDetailsFields, VmFields, VmPage};

use super::{Result, Scope, private_subnet};
use crate::domain::Refusal;
use crate::domain::entity_tag::Tagged;
use crate::domain::id::{Kind, Referred};
use crate::domain::list::ListQuery;
use crate::storage::vm::Vm;
use crate::storage::{self, Connection};

/// The query `vm_list`: returns a page of the virtual machines of a location.
pub async fn list(c: &mut Connection<'_>, scope: &Scope, query: &ListQuery) -> Result<VmPage> {
    let page = query.page(Kind::Vm)?;
    let (size, items) = storage::vm::page(c, &scope.project, &scope.location, &page).await?;
    Ok(VmPage::new(size, items.into_iter().map(shown).collect()))
}

/// The query `vm_view`: returns everything about a virtual machine.
pub async fn view(
    c: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
) -> Result<Tagged<VmDetails>> {
    let found = match Referred::of(Kind::Vm, reference) {
        Referred::Id(id) => storage::vm::lookup_id(c, scope.key(), id).await?,
        Referred::Name(name) => storage::vm::lookup_name(c, scope.key(), name).await?,
    };
    let vm = found.ok_or(Refusal::NotFound)?;
    let project = &scope.project;
    let addresses = storage::private_subnet::addresses(c, project, &vm.id).await?;
    let address = addresses.into_iter().next();
    let firewalls = match &address {
        Some(address) => private_subnet::firewalls(c, project, &address.subnet_id).await?,
        None => Vec::new(),
    };
    let mut details = VmDetails::from(VmDetailsFields {
        firewalls,
        id: vm.id,
        ip4_enabled: vm.ip4_enabled,
        location: vm.location,
        name: vm.name,
        size: vm.size,
        state: vm.state,
        storage_size_gib: vm.storage_size_gib,
        unix_user: vm.unix_user,
    });
    details.boot_image = vm.boot_image;
    details.ip4 = vm.ip4;
    details.ip6 = vm.ip6;
    if let Some(address) = address {
        details.private_ipv4 = Some(address.private_ipv4);
        details.private_ipv6 = Some(address.private_ipv6);
        details.subnet = Some(address.subnet);
    }
    Ok(Tagged::of(details))
}

/// Returns a virtual machine as responses show it.
pub(super) fn shown(vm: Vm) -> api_types::Vm {
    let mut shown = api_types::Vm::from(VmFields {
        id: vm.id,
        ip4_enabled: vm.ip4_enabled,
        location: vm.location,
        name: vm.name,
        size: vm.size,
        state: vm.state,
        storage_size_gib: vm.storage_size_gib,
        unix_user: vm.unix_user,
    });
    shown.ip4 = vm.ip4;
    shown.ip6 = vm.ip6;
    shown
}
