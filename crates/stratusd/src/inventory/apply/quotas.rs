//! Quotas of projects.

use super::key::{Keyed, by_key};
use super::{Applied, Run, blocked};
use crate::domain::quota::{Kind, Usage};
use crate::inventory::{ProjectEntry, StepKind};
use crate::storage;
use crate::storage::project::Project;

impl Run<'_, '_> {
    /// Locks the quotas of the kinds of which this run will create or remove resources in a project,
    /// so that creates of the API see what it has done. They lock the quota before they write to
    /// tables, so this must too, or the two could wait for each other.
    pub(super) async fn lock_quotas(
        &mut self,
        project: &Project,
        entry: &ProjectEntry,
    ) -> Applied<()> {
        if !self.tx.is_postgres() {
            return Ok(());
        }
        let (id, prunes) = (&project.id, self.mode.prunes);
        let vms = storage::vm::of_project(self.tx, id).await?;
        let load_balancers = storage::load_balancer::of_project(self.tx, id).await?;
        let subnets = storage::private_subnet::of_project(self.tx, id).await?;
        let firewalls = storage::firewall::of_project(self.tx, id).await?;
        for kind in Kind::ALL {
            let is_changed = match kind {
                Kind::Vm => differ(&entry.vms, &vms, |_| prunes),
                Kind::LoadBalancer => differ(&entry.load_balancers, &load_balancers, |_| prunes),
                // What was created through the API is never pruned.
                Kind::PrivateSubnet => differ(&entry.private_subnets, &subnets, |subnet| {
                    prunes && subnet.is_declared
                }),
                Kind::Firewall => differ(&entry.firewalls, &firewalls, |firewall| {
                    prunes && firewall.is_declared
                }),
                // Inventories have none.
                Kind::Postgres | Kind::InferenceApiKey => false,
            };
            if is_changed {
                storage::quota::lock(self.tx, id, kind).await?;
            }
        }
        Ok(())
    }

    /// Sets the quotas that an entry lists, and removes those that it no longer lists.
    pub(super) async fn quotas(&mut self, project: &Project, entry: &ProjectEntry) -> Applied<()> {
        for kind in Kind::ALL {
            let wanted = entry.quotas.of(kind).map(|quota| quota.value);
            let found = storage::quota::own(self.tx, &project.id, kind).await?;
            if wanted == found {
                continue;
            }
            let quota = match wanted {
                Some(most) => most.to_string(),
                None => "the one of the settings".to_owned(),
            };
            let what = format!(
                "project {}: the quota of {} is {quota}",
                project.name,
                kind.plural()
            );
            self.step(StepKind::Update, what);
            self.audit(StepKind::Update, project, project.id.as_str());
            storage::quota::set(self.tx, &project.id, kind, wanted).await?;
        }
        Ok(())
    }

    /// Checks that what this run has created fits into the quotas of the project.
    ///
    /// Called when everything is created and pruned: the transaction can still be rolled back. Kinds
    /// of which nothing was created are not checked, because a quota may be below what a project
    /// has.
    pub(super) async fn ensure_within_quotas(
        &mut self,
        project: &Project,
        created: &[Kind],
    ) -> Applied<()> {
        // In the order of creates in the API, which may lock each other out otherwise.
        for kind in Kind::ALL.into_iter().filter(|kind| created.contains(kind)) {
            let usage = storage::quota::usage(self.tx, &project.id, kind, self.quotas).await?;
            let Usage { kind, most, items } = usage;
            if items > most {
                let kind = kind.plural();
                return blocked(format!(
                    "project {} would have {items} {kind}, and its quota is {most}: raise the quota, or remove some",
                    project.name
                ));
            }
        }
        Ok(())
    }
}

/// Returns whether there are entries without a row, or rows without an entry for which `is_pruned`
/// returns true.
fn differ<R: Keyed>(entries: &[impl Keyed], rows: &[R], is_pruned: impl Fn(&R) -> bool) -> bool {
    let (entries, rows) = (by_key(entries), by_key(rows));
    entries.keys().any(|key| !rows.contains_key(key))
        || rows
            .iter()
            .any(|(key, row)| !entries.contains_key(key) && is_pruned(row))
}
