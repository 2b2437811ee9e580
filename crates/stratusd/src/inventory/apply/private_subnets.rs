//! Private subnets and their network interfaces.

use api_types::PrivateSubnetState;
use serde_saphyr::Spanned;

use super::{Done, Ids, Run, inconsistent, is, key};
use crate::domain::World;
use crate::domain::id::Kind;
use crate::domain::network::{Net4, Net6};
use crate::domain::private_subnet::free_networks;
use crate::inventory::{NicEntry, PrivateSubnetEntry, StepKind};
use crate::storage::private_subnet::{Nic, PrivateSubnet};
use crate::storage::project::Project;
use crate::storage::{self, Aborted};

impl Run<'_, '_> {
    pub(super) async fn subnets(
        &mut self,
        project: &Project,
        entries: &[PrivateSubnetEntry],
        vms: &Ids,
        firewalls: &Ids,
    ) -> Done<Ids> {
        let existing = storage::private_subnet::of_project(self.tx, &project.id).await?;
        let mut ids = Ids::new();
        for entry in entries {
            let (location, name) = (&entry.location.value, &entry.name.value);
            let what = format!("project {}: private subnet {location}/{name}", project.name);
            let found = existing.iter().find(|subnet| subnet.location == *location && subnet.name == *name);
            let subnet = if let Some(found) = found {
                self.same_networks(project, found, entry, &what).await?
            } else {
                let made = self.new_subnet(project, entry, &what).await?;
                for firewall in &entry.firewalls {
                    let firewall = &firewalls[&key(location, &firewall.value)];
                    storage::firewall::attach(self.tx, &project.id, firewall, &made.id).await?;
                }
                made
            };
            self.nics(project, &subnet, entry, vms, &what).await?;
            ids.insert(key(location, name), subnet.id);
        }
        Ok(ids)
    }

    /// A subnet that there is: its networks stay.
    async fn same_networks(
        &mut self,
        project: &Project,
        found: &PrivateSubnet,
        entry: &PrivateSubnetEntry,
        what: &str,
    ) -> Done<PrivateSubnet> {
        let networks = [(&entry.net4, &found.net4), (&entry.net6, &found.net6)];
        if let Some((_, has)) =
            networks.iter().find(|(wanted, has)| wanted.as_ref().is_some_and(|it| it.value != **has))
        {
            return inconsistent(format!("{what} has the network {has}, which cannot change"));
        }
        if !found.is_declared {
            self.step(StepKind::Update, what.to_owned());
            storage::private_subnet::declare(self.tx, &project.id, &found.id).await?;
        }
        Ok(found.clone())
    }

    async fn new_subnet(&mut self, project: &Project, entry: &PrivateSubnetEntry, what: &str) -> Done<PrivateSubnet> {
        self.step(StepKind::Create, what.to_owned());
        let free = free_networks(self.tx, &project.id, self.world).await;
        let (net4, net6) = match free {
            Ok(free) => free,
            Err(Aborted::Refused(refusal)) => return inconsistent(format!("{what}: {refusal}")),
            Err(Aborted::Failed(error)) => return Err(error.into()),
        };
        let given = |given: &Option<Spanned<String>>, free: String| given.as_ref().map_or(free, |it| it.value.clone());
        let subnet = PrivateSubnet {
            id: Kind::PrivateSubnet.new_id(self.world),
            location: entry.location.value.clone(),
            name: entry.name.value.clone(),
            net4: given(&entry.net4, net4.to_string()),
            net6: given(&entry.net6, net6.to_string()),
            state: PrivateSubnetState::Available.as_str().to_owned(),
            is_declared: true,
        };
        let taken = storage::private_subnet::has_network(self.tx, &project.id, &subnet.net4, &subnet.net6).await?;
        if taken {
            return inconsistent(format!(
                "{what}: another subnet of the project has {} or {}",
                subnet.net4, subnet.net6
            ));
        }
        storage::private_subnet::insert(self.tx, &project.id, &subnet).await?;
        Ok(subnet)
    }

    async fn nics(
        &mut self,
        project: &Project,
        subnet: &PrivateSubnet,
        entry: &PrivateSubnetEntry,
        vms: &Ids,
        what: &str,
    ) -> Done<()> {
        let mut existing = storage::private_subnet::nics(self.tx, &project.id, &subnet.id).await?;
        existing.sort_by(|one, other| one.name.cmp(&other.name));
        for wanted in &entry.nics {
            let what = format!("{what}: nic {}", wanted.name.value);
            let vm_id = wanted.vm.as_ref().map(|vm| vms[&key(&subnet.location, &vm.value)].clone());
            let found = existing.iter().position(|nic| nic.name == wanted.name.value);
            let Some(mut nic) = nic(self.world, subnet, wanted, vm_id, found.map(|at| &existing[at]), &existing) else {
                return inconsistent(format!("{what}: the subnet has no free address left"));
            };
            match found {
                Some(at)
                    if existing[at].vm_id == nic.vm_id
                        && existing[at].private_ipv4 == nic.private_ipv4
                        && existing[at].private_ipv6 == nic.private_ipv6 => {}
                Some(at) => {
                    self.step(StepKind::Update, what);
                    storage::private_subnet::update_nic(self.tx, &project.id, &nic).await?;
                    std::mem::swap(&mut existing[at], &mut nic);
                }
                None => {
                    self.step(StepKind::Create, what);
                    storage::private_subnet::insert_nic(self.tx, &project.id, &nic).await?;
                    existing.push(nic);
                }
            }
        }
        for nic in existing {
            let is_wanted = entry.nics.iter().any(|it| it.name.value == nic.name);
            if !is_wanted && self.prunes(format!("{what}: nic {}", nic.name)) {
                storage::private_subnet::delete_nic(self.tx, &project.id, &nic).await?;
            }
        }
        Ok(())
    }

    pub(super) async fn prune_subnets(&mut self, project: &Project, entries: &[PrivateSubnetEntry]) -> Done<()> {
        for subnet in storage::private_subnet::of_project(self.tx, &project.id).await? {
            let PrivateSubnet { location, name, .. } = &subnet;
            let is_wanted = entries.iter().any(|entry| is(&entry.location, &entry.name, location, name));
            let is_ours = subnet.is_declared && !is_wanted;
            if is_ours && self.prunes(format!("project {}: private subnet {location}/{name}", project.name)) {
                storage::private_subnet::delete(self.tx, &project.id, &subnet.id).await?;
            }
        }
        Ok(())
    }
}

/// A network interface with the addresses that were given, that it has, or that are free; `None` if none is.
fn nic(
    world: &World,
    subnet: &PrivateSubnet,
    entry: &NicEntry,
    vm_id: Option<String>,
    found: Option<&Nic>,
    others: &[Nic],
) -> Option<Nic> {
    let (net4, net6) = (Net4::parse(&subnet.net4)?, Net6::parse(&subnet.net6)?);
    let given = |given: &Option<Spanned<String>>| given.as_ref().map(|given| given.value.clone());
    let free4 = || {
        let mut hosts = net4.hosts().map(|host| host.to_string());
        hosts.find(|host| !others.iter().any(|nic| nic.private_ipv4 == *host))
    };
    let free6 = || {
        let mut hosts = (4..).map(|number| net6.host(number).to_string());
        hosts.find(|host| !others.iter().any(|nic| nic.private_ipv6 == *host))
    };
    Some(Nic {
        subnet_id: subnet.id.clone(),
        id: found.map_or_else(|| Kind::Nic.new_id(world), |nic| nic.id.clone()),
        name: entry.name.value.clone(),
        private_ipv4: given(&entry.private_ipv4)
            .or_else(|| found.map(|nic| nic.private_ipv4.clone()))
            .or_else(free4)?,
        private_ipv6: given(&entry.private_ipv6)
            .or_else(|| found.map(|nic| nic.private_ipv6.clone()))
            .or_else(free6)?,
        vm_id,
        vm_name: entry.vm.as_ref().map(|vm| vm.value.clone()),
    })
}
