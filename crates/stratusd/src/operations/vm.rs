//! Virtual machines.

use api_types::VmPage;

use super::count;
use super::{Outcome, Scope, owned, stored, stored_number};
use crate::domain::id::Kind;
use crate::domain::list::ListQuery;
use crate::storage::{self, Connection, StorageError};

/// A page of the virtual machines of a location.
pub async fn list(c: &mut Connection<'_>, scope: &Scope, query: &ListQuery) -> Outcome<VmPage> {
    let page = query.page(Kind::Vm)?;
    let (size, items) =
        storage::vm::page(c, &scope.project, scope.location.as_str(), &page).await?;
    let items: Result<Vec<_>, _> = items.into_iter().map(shown).collect();
    Ok(VmPage::new(count(size)?, items?))
}

/// A virtual machine as answers show it.
pub(super) fn shown(vm: storage::vm::Vm) -> Result<api_types::Vm, StorageError> {
    let mut shown = api_types::Vm::from(api_types::VmFields {
        id: owned(vm.id, "an id")?,
        ip4_enabled: vm.ip4_enabled,
        location: owned(vm.location, "a location")?,
        name: owned(vm.name, "a name")?,
        size: stored(&vm.size, "a size")?,
        state: stored(&vm.state, "a state")?,
        storage_size_gib: stored_number(vm.storage_size_gib, "a storage size")?,
        unix_user: vm.unix_user,
    });
    shown.ip4 = vm.ip4.map(|ip4| owned(ip4, "an address")).transpose()?;
    shown.ip6 = vm.ip6.map(|ip6| owned(ip6, "an address")).transpose()?;
    Ok(shown)
}
