//! Private subnets and their network interfaces.

use std::collections::HashSet;

use api_types::{FirewallId, NicId, PrivateSubnetId, PrivateSubnetState, VmId};
use serde_saphyr::Spanned;

use super::{
    Done, Ids, Placed, Run, by_place, checked, checked_text, in_the_way, inconsistent, key,
};
use crate::domain::id::Id;
use crate::domain::network::{Net4, Net6};
use crate::inventory::{NicEntry, PrivateSubnetEntry, StepKind};
use crate::operations::private_subnet::free_networks;
use crate::storage::firewall::Firewall;
use crate::storage::private_subnet::{Nic, PrivateSubnet};
use crate::storage::project::Project;
use crate::storage::{self, Aborted};

impl Run<'_, '_> {
    pub(super) async fn subnets(
        &mut self,
        project: &Project,
        entries: &[PrivateSubnetEntry],
        vms: &Ids<VmId>,
        firewalls: &Ids<FirewallId>,
    ) -> Done<Ids<PrivateSubnetId>> {
        let existing = storage::private_subnet::of_project(self.tx, &project.id).await?;
        self.free_networks_of_those_that_go(project, entries, &existing)
            .await?;
        let by_name = by_place(&existing);
        let promised = asked_networks(entries);
        let mut ids = Ids::new();
        for entry in entries {
            let (location, name) = (&entry.location.value, &entry.name.value);
            let what = format!("project {}: private subnet {location}/{name}", project.name);
            let guards: Vec<&FirewallId> = entry
                .firewalls
                .iter()
                .map(|firewall| &firewalls[&key(location, &firewall.value)])
                .collect();
            let subnet = if let Some(&found) = by_name.get(&entry.known()) {
                let subnet = self.same_networks(project, found, entry, &what).await?;
                self.new_guards(project, &subnet, &guards, firewalls, &what)
                    .await?;
                subnet
            } else {
                let made = self.new_subnet(project, entry, &promised, &what).await?;
                for firewall in guards {
                    storage::firewall::attach(self.tx, &project.id, firewall, &made.id).await?;
                }
                made
            };
            self.nics(project, &subnet, entry, vms, &what).await?;
            ids.insert(key(location, name), subnet.id);
        }
        Ok(ids)
    }

    /// A subnet that will be removed gives its networks up for one of another name, which is made before: whatever is
    /// in the one may have to move to the other.
    async fn free_networks_of_those_that_go(
        &mut self,
        project: &Project,
        entries: &[PrivateSubnetEntry],
        existing: &[PrivateSubnet],
    ) -> Done<()> {
        let (wanted, asked) = (by_place(entries), asked_networks(entries));
        let goes =
            |subnet: &&PrivateSubnet| subnet.is_declared && !wanted.contains_key(&subnet.known());
        let is_asked = |it: &&PrivateSubnet| {
            asked.contains(&*it.net4.to_string()) || asked.contains(&*it.net6.to_string())
        };
        for subnet in existing
            .iter()
            .filter(goes)
            .filter(is_asked)
            .filter(|_| self.mode.prunes)
        {
            let networks = match free_networks(self.tx, &project.id, self.world, &asked).await {
                Ok(free) => free,
                Err(Aborted::Refused(refusal)) => {
                    return in_the_way(format!("project {}: {refusal}", project.name));
                }
                Err(Aborted::Failed(error)) => return Err(error.into()),
            };
            storage::private_subnet::renumber(self.tx, &project.id, &subnet.id, networks).await?;
        }
        Ok(())
    }

    /// A subnet that there is: its networks stay.
    async fn same_networks(
        &mut self,
        project: &Project,
        found: &PrivateSubnet,
        entry: &PrivateSubnetEntry,
        what: &str,
    ) -> Done<PrivateSubnet> {
        let networks = [
            (&entry.net4, found.net4.to_string()),
            (&entry.net6, found.net6.to_string()),
        ];
        for (wanted, has) in networks {
            if let Some(wanted) = wanted.as_ref().filter(|wanted| wanted.value != has) {
                return inconsistent(
                    wanted,
                    format!("{what} has the network {has}, which cannot change"),
                );
            }
        }
        if !found.is_declared {
            self.step(StepKind::Update, what.to_owned());
            storage::private_subnet::declare(self.tx, &project.id, &found.id).await?;
        }
        Ok(found.clone())
    }

    /// Firewalls of a subnet that there is. Those that are new are put before it, since the API can only take one away;
    /// about the others it decides.
    async fn new_guards(
        &mut self,
        project: &Project,
        subnet: &PrivateSubnet,
        wanted: &[&FirewallId],
        declared: &Ids<FirewallId>,
        what: &str,
    ) -> Done<()> {
        let attached = storage::firewall::of_subnet(self.tx, &project.id, &subnet.id).await?;
        let mut differs = false;
        for id in wanted
            .iter()
            .filter(|id| attached.iter().all(|firewall| firewall.id != ***id))
        {
            if self.new_firewalls.contains(*id) {
                self.step(StepKind::Update, format!("{what}: another firewall"));
                storage::firewall::attach(self.tx, &project.id, id, &subnet.id).await?;
            } else {
                differs = true;
            }
        }
        // One that is about to go is no difference, and a subnet that lists none leaves all to the API.
        let goes = |firewall: &Firewall| {
            self.mode.prunes
                && firewall.is_declared
                && declared.values().all(|id| *id != firewall.id)
        };
        let is_other = |firewall: &Firewall| !wanted.contains(&&firewall.id) && !goes(firewall);
        differs |= !wanted.is_empty() && attached.iter().any(is_other);
        self.leaves(what, if differs { &["firewalls"] } else { &[] });
        Ok(())
    }

    async fn new_subnet(
        &mut self,
        project: &Project,
        entry: &PrivateSubnetEntry,
        promised: &HashSet<&str>,
        what: &str,
    ) -> Done<PrivateSubnet> {
        self.step(StepKind::Create, what.to_owned());
        let free = free_networks(self.tx, &project.id, self.world, promised).await;
        let (net4, net6) = match free {
            Ok(free) => free,
            Err(Aborted::Refused(refusal)) => {
                return inconsistent(&entry.name, format!("{what}: {refusal}"));
            }
            Err(Aborted::Failed(error)) => return Err(error.into()),
        };
        let given4 = entry.net4.as_ref().and_then(|it| Net4::parse(&it.value));
        let given6 = entry.net6.as_ref().and_then(|it| Net6::parse(&it.value));
        let subnet = PrivateSubnet {
            id: PrivateSubnetId::generate(self.world),
            location: checked(&entry.location),
            name: checked(&entry.name),
            net4: given4.unwrap_or(net4),
            net6: given6.unwrap_or(net6),
            state: PrivateSubnetState::Available,
            is_declared: true,
        };
        for network in [&entry.net4, &entry.net6].into_iter().flatten() {
            let other =
                storage::private_subnet::name_of_network(self.tx, &project.id, &network.value)
                    .await?;
            if let Some(other) = other {
                let message = format!("{what}: private subnet {} has {}", other, network.value);
                return inconsistent(network, message);
            }
        }
        storage::private_subnet::insert(self.tx, &project.id, &subnet).await?;
        Ok(subnet)
    }

    async fn nics(
        &mut self,
        project: &Project,
        subnet: &PrivateSubnet,
        entry: &PrivateSubnetEntry,
        vms: &Ids<VmId>,
        what: &str,
    ) -> Done<()> {
        let mut existing = storage::private_subnet::nics(self.tx, &project.id, &subnet.id).await?;
        existing.sort_by(|one, other| one.name.cmp(&other.name));
        let mut standing = Vec::new();
        for nic in existing.extract_if(.., |nic| {
            !entry.nics.iter().any(|it| nic.name == *it.name.value)
        }) {
            if self.prunes(format!("{what}: nic {}", nic.name)) {
                storage::private_subnet::delete_nic(self.tx, &project.id, &nic).await?;
            } else {
                standing.push(nic);
            }
        }
        let mut addresses = Addresses::of(subnet, &entry.nics, &existing, &standing)?;
        let mut placed = Vec::new();
        for wanted in &entry.nics {
            let what = format!("{what}: nic {}", wanted.name.value);
            let found = existing.iter().find(|nic| nic.name == *wanted.name.value);
            let Some((private_ipv4, private_ipv6)) = addresses.next(wanted, found) else {
                return inconsistent(
                    &wanted.name,
                    format!("{what}: the subnet has no free address left"),
                );
            };
            let nic = Nic {
                subnet_id: subnet.id.clone(),
                id: found.map_or_else(|| NicId::generate(self.world), |nic| nic.id.clone()),
                name: checked(&wanted.name),
                private_ipv4: checked_text(&private_ipv4),
                private_ipv6: checked_text(&private_ipv6),
                vm_id: wanted
                    .vm
                    .as_ref()
                    .map(|vm| vms[&key(subnet.location.as_str(), &vm.value)].clone()),
                vm_name: wanted.vm.as_ref().map(checked),
            };
            if found == Some(&nic) {
                continue;
            }
            self.step(
                if found.is_some() {
                    StepKind::Update
                } else {
                    StepKind::Create
                },
                what,
            );
            // Two may swap their addresses, so all that change leave theirs before any takes another.
            if let Some(found) = found {
                storage::private_subnet::delete_nic(self.tx, &project.id, found).await?;
            }
            placed.push(nic);
        }
        for nic in placed {
            storage::private_subnet::insert_nic(self.tx, &project.id, &nic).await?;
        }
        Ok(())
    }

    pub(super) async fn prune_subnets(
        &mut self,
        project: &Project,
        entries: &[PrivateSubnetEntry],
    ) -> Done<()> {
        let wanted = by_place(entries);
        for subnet in storage::private_subnet::of_project(self.tx, &project.id).await? {
            let PrivateSubnet { location, name, .. } = &subnet;
            let is_ours = subnet.is_declared && !wanted.contains_key(&subnet.known());
            if is_ours
                && self.prunes(format!(
                    "project {}: private subnet {location}/{name}",
                    project.name
                ))
            {
                storage::private_subnet::delete(self.tx, &project.id, &subnet.id).await?;
            }
        }
        Ok(())
    }
}

/// The networks that an inventory asks for. They are for nobody else.
fn asked_networks(entries: &[PrivateSubnetEntry]) -> HashSet<&str> {
    let asked = entries
        .iter()
        .flat_map(|entry| [entry.net4.as_ref(), entry.net6.as_ref()])
        .flatten();
    asked.map(|network| network.value.as_str()).collect()
}

/// The addresses of a subnet's network interfaces.
struct Addresses {
    net4: Net4,
    net6: Net6,
    /// Those that an entry asks for. They are for nobody else.
    asked: HashSet<String>,
    /// Those that somebody has.
    taken: HashSet<String>,
}

impl Addresses {
    /// Before anything is given away. Interfaces that stand, though no entry is theirs, keep what they have.
    fn of(
        subnet: &PrivateSubnet,
        entries: &[NicEntry],
        existing: &[Nic],
        standing: &[Nic],
    ) -> Done<Self> {
        let given = |entry: &NicEntry| {
            [entry.private_ipv4.clone(), entry.private_ipv6.clone()]
                .into_iter()
                .flatten()
        };
        for address in entries.iter().flat_map(given) {
            let has = |nic: &&Nic| addresses_of(nic).contains(&address.value);
            if let Some(nic) = standing.iter().find(has) {
                let message = format!(
                    "the network interface {} has this address, and is not in the inventory; --prune removes it",
                    nic.name
                );
                return inconsistent(&address, message);
            }
        }
        let asked: HashSet<String> = entries
            .iter()
            .flat_map(given)
            .map(|address| address.value)
            .collect();
        let all = existing.iter().chain(standing);
        let taken = all.flat_map(addresses_of).collect();
        Ok(Self {
            net4: subnet.net4,
            net6: subnet.net6,
            asked,
            taken,
        })
    }

    /// The addresses that an entry asks for, that its interface has, or that are free; `None` if none is.
    fn next(&mut self, entry: &NicEntry, found: Option<&Nic>) -> Option<(String, String)> {
        let (net4, net6) = (self.net4, self.net6);
        let hosts4 = net4.hosts().map(|host| host.to_string());
        let ipv4 = self.one(
            entry.private_ipv4.as_ref(),
            found.map(|nic| nic.private_ipv4.as_str()),
            hosts4,
        )?;
        let hosts6 = (4..).map(|number| net6.host(number).to_string());
        let ipv6 = self.one(
            entry.private_ipv6.as_ref(),
            found.map(|nic| nic.private_ipv6.as_str()),
            hosts6,
        )?;
        Some((ipv4, ipv6))
    }

    fn one(
        &mut self,
        given: Option<&Spanned<String>>,
        has: Option<&str>,
        mut hosts: impl Iterator<Item = String>,
    ) -> Option<String> {
        let address = given.map(|given| given.value.clone());
        let address = address.or_else(|| {
            has.filter(|has| !self.asked.contains(*has))
                .map(str::to_owned)
        });
        let address = address.or_else(|| {
            hosts.find(|host| !self.asked.contains(host) && !self.taken.contains(host))
        })?;
        self.taken.insert(address.clone());
        Some(address)
    }
}

fn addresses_of(nic: &Nic) -> [String; 2] {
    [nic.private_ipv4.to_string(), nic.private_ipv6.to_string()]
}
