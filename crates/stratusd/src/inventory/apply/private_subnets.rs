//! Private subnets: their networks, and the firewalls attached to them.

use std::collections::HashSet;

use api_types::{FirewallId, PrivateSubnetId, PrivateSubnetState, VmId};

use super::key::{Ids, Keyed, by_key, key};
use super::{Applied, Run, blocked, checked, inconsistent};
use crate::domain::id::Id;
use crate::domain::network::{Net4, Net6};
use crate::domain::quota::Kind;
use crate::inventory::{PrivateSubnetEntry, StepKind};
use crate::operations::private_subnet::free_networks;
use crate::storage::firewall::Firewall;
use crate::storage::private_subnet::PrivateSubnet;
use crate::storage::project::Project;
use crate::storage::{self, Aborted};

impl Run<'_, '_> {
    /// Creates and updates private subnets and their network interfaces. Returns the ids of the
    /// subnets in the inventory.
    pub(super) async fn subnets(
        &mut self,
        project: &Project,
        entries: &[PrivateSubnetEntry],
        vms: &Ids<VmId>,
        firewalls: &Ids<FirewallId>,
    ) -> Applied<Ids<PrivateSubnetId>> {
        let existing = storage::private_subnet::of_project(self.tx, &project.id).await?;
        self.renumber_pruned(project, entries, &existing).await?;
        let by_key = by_key(&existing);
        let reserved = declared_networks(entries);
        let mut ids = Ids::new();
        for entry in entries {
            let (location, name) = (&entry.location.value, &entry.name.value);
            let what = format!("project {}: private subnet {location}/{name}", project.name);
            let wanted: Vec<&FirewallId> = entry
                .firewalls
                .iter()
                .map(|firewall| &firewalls[&key(location, &firewall.value)])
                .collect();
            let subnet = if let Some(&found) = by_key.get(&entry.key()) {
                self.update_subnet(project, found, entry, &what).await?;
                self.attach_new_firewalls(project, found, &wanted, firewalls, &what)
                    .await?;
                found.clone()
            } else {
                let created = self.create_subnet(project, entry, &reserved, &what).await?;
                for firewall in wanted {
                    storage::firewall::attach(self.tx, &project.id, firewall, &created.id).await?;
                }
                created
            };
            self.nics(project, &subnet, entry, vms, &what).await?;
            ids.insert(key(location, name), subnet.id);
        }
        Ok(ids)
    }

    /// Gives other networks to the subnets that will be pruned and have a network that an entry
    /// declares.
    ///
    /// They cannot be deleted yet: load balancers may have to move from them to the new subnets
    /// first. But the new subnets cannot be created while these have their networks.
    async fn renumber_pruned(
        &mut self,
        project: &Project,
        entries: &[PrivateSubnetEntry],
        existing: &[PrivateSubnet],
    ) -> Applied<()> {
        if !self.mode.prunes {
            return Ok(());
        }
        let (wanted, reserved) = (by_key(entries), declared_networks(entries));
        let is_pruned =
            |subnet: &&PrivateSubnet| subnet.is_declared && !wanted.contains_key(&subnet.key());
        let is_in_the_way = |it: &&PrivateSubnet| {
            reserved.contains(it.net4.as_str()) || reserved.contains(it.net6.as_str())
        };
        for subnet in existing.iter().filter(is_pruned).filter(is_in_the_way) {
            let networks = match self.free_networks(project, &reserved).await? {
                Ok(networks) => networks,
                Err(refusal) => return blocked(format!("project {}: {refusal}", project.name)),
            };
            storage::private_subnet::renumber(self.tx, &project.id, &subnet.id, networks).await?;
        }
        Ok(())
    }

    /// Returns a free IPv4 and IPv6 network of a project, or the reason why there is none.
    async fn free_networks(
        &mut self,
        project: &Project,
        reserved: &HashSet<&str>,
    ) -> Applied<Result<(Net4, Net6), String>> {
        match free_networks(self.tx, &project.id, self.world, reserved).await {
            Ok(networks) => Ok(Ok(networks)),
            Err(Aborted::Refused(refusal)) => Ok(Err(refusal.to_string())),
            Err(Aborted::Failed(error)) => Err(error.into()),
        }
    }

    /// Marks an existing subnet as declared. Its networks cannot change.
    async fn update_subnet(
        &mut self,
        project: &Project,
        found: &PrivateSubnet,
        entry: &PrivateSubnetEntry,
        what: &str,
    ) -> Applied<()> {
        let networks = [
            (&entry.net4, found.net4.as_str()),
            (&entry.net6, found.net6.as_str()),
        ];
        for (wanted, has) in networks {
            if let Some(wanted) = wanted.as_ref().filter(|wanted| wanted.value != has) {
                let message = format!("{what} has the network {has}, which cannot change");
                return inconsistent(wanted, message);
            }
        }
        // A subnet that was created through the API belongs to the inventory once it is listed
        // there.
        if !found.is_declared {
            self.step(StepKind::Update, what.to_owned());
            self.audit(StepKind::Update, project, found.id.as_str());
            storage::private_subnet::declare(self.tx, &project.id, &found.id).await?;
        }
        Ok(())
    }

    /// Attaches the firewalls that this run has created to an existing subnet that lists them.
    ///
    /// Other differences are left to the API and reported. New firewalls are an exception because
    /// the API can detach a firewall, but has no operation to attach one to an existing subnet.
    async fn attach_new_firewalls(
        &mut self,
        project: &Project,
        subnet: &PrivateSubnet,
        wanted: &[&FirewallId],
        declared: &Ids<FirewallId>,
        what: &str,
    ) -> Applied<()> {
        let attached = storage::firewall::of_subnet(self.tx, &project.id, &subnet.id).await?;
        let mut differs = false;
        for id in wanted
            .iter()
            .filter(|id| attached.iter().all(|firewall| firewall.id != ***id))
        {
            if self.new_firewalls.contains(*id) {
                self.step(StepKind::Update, format!("{what}: attach a new firewall"));
                self.audit(StepKind::Update, project, subnet.id.as_str());
                storage::firewall::attach(self.tx, &project.id, id, &subnet.id).await?;
            } else {
                differs = true;
            }
        }
        // A firewall that will be pruned is not a difference. An entry without firewalls leaves
        // them all to the API.
        let is_pruned = |firewall: &Firewall| {
            self.mode.prunes
                && firewall.is_declared
                && declared.values().all(|id| *id != firewall.id)
        };
        let is_other =
            |firewall: &Firewall| !wanted.contains(&&firewall.id) && !is_pruned(firewall);
        differs |= !wanted.is_empty() && attached.iter().any(is_other);
        self.report_differences(what, if differs { &["firewalls"] } else { &[] });
        Ok(())
    }

    async fn create_subnet(
        &mut self,
        project: &Project,
        entry: &PrivateSubnetEntry,
        reserved: &HashSet<&str>,
        what: &str,
    ) -> Applied<PrivateSubnet> {
        self.step(StepKind::Create, what.to_owned());
        let (net4, net6) = match self.free_networks(project, reserved).await? {
            Ok(networks) => networks,
            Err(refusal) => return inconsistent(&entry.name, format!("{what}: {refusal}")),
        };
        let given4 = entry.net4.as_ref().and_then(|it| Net4::parse(&it.value));
        let given6 = entry.net6.as_ref().and_then(|it| Net6::parse(&it.value));
        let subnet = PrivateSubnet {
            id: PrivateSubnetId::generate(self.world),
            location: checked(&entry.location),
            name: checked(&entry.name),
            net4: given4.unwrap_or(net4).into(),
            net6: given6.unwrap_or(net6).into(),
            state: PrivateSubnetState::Available,
            is_declared: true,
        };
        // The unique key would reject a taken network too, but could not name the line.
        for network in [&entry.net4, &entry.net6].into_iter().flatten() {
            let other =
                storage::private_subnet::name_of_network(self.tx, &project.id, &network.value)
                    .await?;
            if let Some(other) = other {
                let message = format!("{what}: private subnet {other} has {}", network.value);
                return inconsistent(network, message);
            }
        }
        self.audit(StepKind::Create, project, subnet.id.as_str());
        self.created(Kind::PrivateSubnet);
        storage::private_subnet::insert(self.tx, &project.id, &subnet).await?;
        Ok(subnet)
    }

    /// Removes the private subnets that are no longer in the inventory. Subnets of the API that
    /// were never in an inventory stay.
    pub(super) async fn prune_subnets(
        &mut self,
        project: &Project,
        entries: &[PrivateSubnetEntry],
    ) -> Applied<()> {
        let wanted = by_key(entries);
        for subnet in storage::private_subnet::of_project(self.tx, &project.id).await? {
            let PrivateSubnet { location, name, .. } = &subnet;
            let is_pruned = subnet.is_declared && !wanted.contains_key(&subnet.key());
            if is_pruned
                && self.prunes(format!(
                    "project {}: private subnet {location}/{name}",
                    project.name
                ))
            {
                // So that callers use it for nothing meanwhile.
                storage::lock::private_subnet(self.tx, &project.id, &subnet.id).await?;
                self.ensure_unused(project, &subnet).await?;
                self.audit(StepKind::Delete, project, subnet.id.as_str());
                storage::private_subnet::delete(self.tx, &project.id, &subnet).await?;
            }
        }
        Ok(())
    }

    /// Checks that no load balancer uses a subnet that is to be removed. Those of the inventory
    /// have left it before, so they are those of callers.
    async fn ensure_unused(&mut self, project: &Project, subnet: &PrivateSubnet) -> Applied<()> {
        let users =
            storage::private_subnet::load_balancer_names(self.tx, &project.id, &subnet.id, 1)
                .await?;
        let Some(user) = users.first() else {
            return Ok(());
        };
        let PrivateSubnet { location, name, .. } = subnet;
        blocked(format!(
            "project {}: private subnet {location}/{name} cannot be removed: load balancer {location}/{user}, which \
             is not in the inventory, uses it",
            project.name
        ))
    }
}

/// Returns the networks that entries declare. No other subnet may get them.
fn declared_networks(entries: &[PrivateSubnetEntry]) -> HashSet<&str> {
    let declared = entries
        .iter()
        .flat_map(|entry| [entry.net4.as_ref(), entry.net6.as_ref()])
        .flatten();
    declared.map(|network| network.value.as_str()).collect()
}
