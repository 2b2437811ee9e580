//! Applies the network interfaces of private subnets, and assigns their addresses.

use std::collections::HashSet;

use api_types::{NicId, VmId};
use serde_saphyr::Spanned;

use super::key::{Ids, key};
use super::{Applied, Run, checked, checked_text, inconsistent};
use crate::domain::id::Id;
use crate::domain::network::{Net4, Net6};
use crate::inventory::{NicEntry, PrivateSubnetEntry, StepKind};
use crate::storage::private_subnet::{Nic, PrivateSubnet};
use crate::storage::project::Project;
use crate::storage::{self, Corrupt, StorageError};

impl Run<'_, '_> {
    /// Creates, updates and prunes the network interfaces of a subnet.
    pub(super) async fn nics(
        &mut self,
        project: &Project,
        subnet: &PrivateSubnet,
        entry: &PrivateSubnetEntry,
        vms: &Ids<VmId>,
        what: &str,
    ) -> Applied<()> {
        let mut existing = storage::private_subnet::nics(self.tx, &project.id, &subnet.id).await?;
        // By name, so that the steps are in the same order in every database.
        existing.sort_by(|one, other| one.name.cmp(&other.name));
        let unlisted: Vec<Nic> = existing
            .extract_if(.., |nic| {
                !entry.nics.iter().any(|it| nic.name == *it.name.value)
            })
            .collect();
        let kept = self.prune_nics(project, unlisted, what).await?;
        let mut addresses = Addresses::new(subnet, &entry.nics, &existing, &kept)?;
        let mut changed = Vec::new();
        for nic_entry in &entry.nics {
            let what = format!("{what}: nic {}", nic_entry.name.value);
            let found = existing
                .iter()
                .find(|nic| nic.name == *nic_entry.name.value);
            let Some(pair) = addresses.assign(nic_entry, found) else {
                let message = format!("{what}: the subnet has no free address left");
                return inconsistent(&nic_entry.name, message);
            };
            let id = found.map_or_else(|| NicId::generate(self.world), |nic| nic.id.clone());
            let nic = row(nic_entry, subnet, id, pair, vms);
            if found == Some(&nic) {
                continue;
            }
            let kind = if found.is_some() {
                StepKind::Update
            } else {
                StepKind::Create
            };
            self.step(kind, what);
            self.audit(StepKind::Update, project, subnet.id.as_str());
            // Two interfaces may swap their addresses, which are unique: delete all that change
            // before any is inserted.
            if let Some(found) = found {
                storage::private_subnet::delete_nic(self.tx, &project.id, found).await?;
            }
            changed.push(nic);
        }
        for nic in changed {
            storage::private_subnet::insert_nic(self.tx, &project.id, &nic).await?;
        }
        Ok(())
    }

    /// Removes the interfaces that are not in the inventory. Returns those that are kept because
    /// the mode does not prune.
    async fn prune_nics(
        &mut self,
        project: &Project,
        unlisted: Vec<Nic>,
        what: &str,
    ) -> Applied<Vec<Nic>> {
        let mut kept = Vec::new();
        for nic in unlisted {
            if self.prunes(format!("{what}: nic {}", nic.name)) {
                self.audit(StepKind::Update, project, nic.subnet_id.as_str());
                storage::private_subnet::delete_nic(self.tx, &project.id, &nic).await?;
            } else {
                kept.push(nic);
            }
        }
        Ok(kept)
    }
}

/// Returns the row for an entry, with the addresses that were assigned to it.
fn row(
    entry: &NicEntry,
    subnet: &PrivateSubnet,
    id: NicId,
    (private_ipv4, private_ipv6): (String, String),
    vms: &Ids<VmId>,
) -> Nic {
    Nic {
        subnet_id: subnet.id.clone(),
        id,
        name: checked(&entry.name),
        private_ipv4: checked_text(&private_ipv4),
        private_ipv6: checked_text(&private_ipv6),
        vm_id: entry
            .vm
            .as_ref()
            .map(|vm| vms[&key(subnet.location.as_str(), &vm.value)].clone()),
        vm_name: entry.vm.as_ref().map(checked),
    }
}

/// The assignment of addresses in a subnet.
struct Addresses {
    net4: Net4,
    net6: Net6,
    /// The addresses that entries declare. No other interface may get them.
    declared: HashSet<String>,
    /// The addresses that interfaces have, or have been assigned.
    taken: HashSet<String>,
}

impl Addresses {
    /// Creates an assignment from the entries of a subnet, their existing interfaces, and the
    /// interfaces that are kept without an entry, which keep their addresses. An entry that
    /// declares such an address is an error.
    fn new(
        subnet: &PrivateSubnet,
        entries: &[NicEntry],
        existing: &[Nic],
        kept: &[Nic],
    ) -> Applied<Self> {
        let corrupt = |column| {
            let table = "private_subnet";
            StorageError::from(Corrupt { table, column })
        };
        let declared = entries
            .iter()
            .flat_map(|entry| [entry.private_ipv4.as_ref(), entry.private_ipv6.as_ref()])
            .flatten();
        for address in declared.clone() {
            let has = |nic: &&Nic| addresses_of(nic).contains(&address.value);
            if let Some(nic) = kept.iter().find(has) {
                let message = format!(
                    "the network interface {} has this address and is not in the inventory; use --prune to remove it",
                    nic.name
                );
                return inconsistent(address, message);
            }
        }
        let taken = existing.iter().chain(kept).flat_map(addresses_of);
        Ok(Self {
            net4: Net4::parse(subnet.net4.as_str()).ok_or_else(|| corrupt("net4"))?,
            net6: Net6::parse(subnet.net6.as_str()).ok_or_else(|| corrupt("net6"))?,
            declared: declared.map(|address| address.value.clone()).collect(),
            taken: taken.collect(),
        })
    }

    /// Returns the IPv4 and IPv6 addresses of an entry's interface, or `None` if no free address is
    /// left.
    fn assign(&mut self, entry: &NicEntry, found: Option<&Nic>) -> Option<(String, String)> {
        let (net4, net6) = (self.net4, self.net6);
        let ipv4 = self.assign_one(
            entry.private_ipv4.as_ref(),
            found.map(|nic| nic.private_ipv4.as_str()),
            net4.hosts().map(|host| host.to_string()),
        )?;
        let ipv6 = self.assign_one(
            entry.private_ipv6.as_ref(),
            found.map(|nic| nic.private_ipv6.as_str()),
            // The numbers 0 to 3 are reserved, as in IPv4 networks.
            (4..).map(|number| net6.host(number).to_string()),
        )?;
        Some((ipv4, ipv6))
    }

    /// Returns the declared address, else the current one unless another entry declares it, else
    /// the first free one.
    fn assign_one(
        &mut self,
        declared: Option<&Spanned<String>>,
        current: Option<&str>,
        mut hosts: impl Iterator<Item = String>,
    ) -> Option<String> {
        let address = declared.map(|declared| declared.value.clone());
        let address = address.or_else(|| {
            current
                .filter(|it| !self.declared.contains(*it))
                .map(str::to_owned)
        });
        let address = address.or_else(|| {
            hosts.find(|host| !self.declared.contains(host) && !self.taken.contains(host))
        })?;
        self.taken.insert(address.clone());
        Some(address)
    }
}

fn addresses_of(nic: &Nic) -> [String; 2] {
    [nic.private_ipv4.to_string(), nic.private_ipv6.to_string()]
}
