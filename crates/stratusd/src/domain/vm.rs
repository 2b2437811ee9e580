//! Virtual machines.

use api_types::VmPage;

use super::id::Kind;
use super::list::{ListQuery, count};
use super::{Outcome, Place, stored, stored_number};
use crate::storage::{self, Connection, StorageError};

/// A page of the virtual machines of a location.
pub async fn list(c: &mut Connection<'_>, place: &Place, query: &ListQuery) -> Outcome<VmPage> {
    let page = query.page(Kind::Vm)?;
    let (size, items) = storage::vm::page(c, &place.project, place.location.as_str(), &page).await?;
    let items: Result<Vec<_>, _> = items.iter().map(shown).collect();
    Ok(VmPage::new(count(size)?, items?))
}

/// A virtual machine as answers show it.
pub(super) fn shown(vm: &storage::vm::Vm) -> Result<api_types::Vm, StorageError> {
    let mut shown = api_types::Vm::from(api_types::VmFields {
        id: stored(&vm.id, "an id")?,
        ip4_enabled: vm.ip4_enabled,
        location: stored(&vm.location, "a location")?,
        name: stored(&vm.name, "a name")?,
        size: stored(&vm.size, "a size")?,
        state: stored(&vm.state, "a state")?,
        storage_size_gib: stored_number(vm.storage_size_gib, "a storage size")?,
        unix_user: vm.unix_user.clone(),
    });
    shown.ip4 = vm.ip4.as_deref().map(|ip4| stored(ip4, "an address")).transpose()?;
    shown.ip6 = vm.ip6.as_deref().map(|ip6| stored(ip6, "an address")).transpose()?;
    Ok(shown)
}
