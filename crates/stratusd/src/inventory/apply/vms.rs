//! Virtual machines.

use api_types::{StorageSizeGib, VmId, VmState};

use super::key::{Ids, Keyed, by_key, key};
use super::{Applied, Run, checked};
use crate::domain::id::Id;
use crate::domain::quota::Kind;
use crate::inventory::{StepKind, VmEntry};
use crate::storage;
use crate::storage::project::Project;
use crate::storage::vm::Vm;

impl Run<'_, '_> {
    /// Creates and updates virtual machines. Returns the ids of all virtual machines of the
    /// project.
    pub(super) async fn vms(
        &mut self,
        project: &Project,
        entries: &[VmEntry],
    ) -> Applied<Ids<VmId>> {
        let existing = storage::vm::of_project(self.tx, &project.id).await?;
        let mut ids: Ids<VmId> = existing
            .iter()
            .map(|vm| (key(vm.location.as_str(), vm.name.as_str()), vm.id.clone()))
            .collect();
        let by_key = by_key(&existing);
        for entry in entries {
            let existing = by_key.get(&entry.key());
            let id = existing.map_or_else(|| VmId::generate(self.world), |vm| vm.id.clone());
            let wanted = row(entry, id);
            ids.insert(
                key(wanted.location.as_str(), wanted.name.as_str()),
                wanted.id.clone(),
            );
            let what = describe(project, &wanted);
            match existing {
                Some(existing) if **existing == wanted => {}
                Some(_) => {
                    self.step(StepKind::Update, what);
                    self.audit(StepKind::Update, project, wanted.id.as_str());
                    storage::vm::update(self.tx, &project.id, &wanted).await?;
                }
                None => {
                    self.step(StepKind::Create, what);
                    self.audit(StepKind::Create, project, wanted.id.as_str());
                    self.created(Kind::Vm);
                    storage::vm::insert(self.tx, &project.id, &wanted).await?;
                }
            }
        }
        Ok(ids)
    }

    pub(super) async fn prune_vms(
        &mut self,
        project: &Project,
        entries: &[VmEntry],
    ) -> Applied<()> {
        let wanted = by_key(entries);
        for vm in storage::vm::of_project(self.tx, &project.id).await? {
            if !wanted.contains_key(&vm.key()) && self.prunes(describe(project, &vm)) {
                self.audit(StepKind::Delete, project, vm.id.as_str());
                storage::vm::delete(self.tx, &project.id, &vm).await?;
            }
        }
        Ok(())
    }
}

fn describe(project: &Project, vm: &Vm) -> String {
    format!("project {}: vm {}/{}", project.name, vm.location, vm.name)
}

/// Returns the row of an entry.
fn row(entry: &VmEntry, id: VmId) -> Vm {
    Vm {
        id,
        location: checked(&entry.location),
        name: checked(&entry.name),
        ip4: entry.ip4.as_ref().map(checked),
        ip4_enabled: entry.ip4_enabled.unwrap_or(entry.ip4.is_some()),
        ip6: entry.ip6.as_ref().map(checked),
        size: checked(&entry.size),
        state: entry.state.as_ref().map_or(VmState::Running, checked),
        storage_size_gib: StorageSizeGib::try_from(entry.storage_size_gib.value)
            .expect("the inventory has been checked"),
        unix_user: entry.unix_user.value.clone(),
        boot_image: entry.boot_image.as_ref().map(|image| image.value.clone()),
    }
}
