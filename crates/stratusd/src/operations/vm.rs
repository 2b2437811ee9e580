//! Operations on virtual machines.

use api_types::{VmFields, VmPage};

use super::{Result, Scope};
use crate::domain::id::Kind;
use crate::domain::list::ListQuery;
use crate::storage::vm::Vm;
use crate::storage::{self, Connection};

/// The query `vm_list`: returns a page of the virtual machines of a location.
pub async fn list(c: &mut Connection<'_>, scope: &Scope, query: &ListQuery) -> Result<VmPage> {
    let page = query.page(Kind::Vm)?;
    let (size, items) = storage::vm::page(c, &scope.project, &scope.location, &page).await?;
    Ok(VmPage::new(size, items.into_iter().map(shown).collect()))
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
