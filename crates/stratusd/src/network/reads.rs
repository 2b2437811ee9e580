//! Reads the networks of projects from the database: of all projects at first, and then of those that
//! have changed.

use std::collections::{BTreeMap, BTreeSet, HashMap};

use anyhow::Result;
use api_types::{FirewallProtocol, PrivateSubnetId, ProjectId, VmId};

use super::declared::{
    Allowed, Declared, DeclaredNic, DeclaredSubnet, DeclaredVm, LeftOut, Protocol,
};
use crate::domain::allowed::{MOST_ENFORCED, Network, Ports};
use crate::storage::networked::{self, AllowedRow};
use crate::storage::{Connection, StorageError, project};
use crate::watch::{Found, Progress, Rounds};

/// The maximum number of network interfaces of a virtual machine that are made.
const NICS_OF_VM: usize = 16;
/// The maximum number of firewall rules of a project that are enforced. Rules only allow, so those beyond
/// let nobody in.
const RULES_OF_PROJECT: i64 = 50_000;
/// The maximum number of connections of a private subnet to those of higher ids that are made.
const LINKS_OF_SUBNET: i64 = 1_000;
/// The maximum number of connections between private subnets of a project that are made.
const LINKS_OF_PROJECT: i64 = 50_000;

/// What was read from the database.
pub(super) enum Update {
    /// The networks of all projects.
    All(Vec<Declared>),
    /// The networks of the projects that have changed.
    Changed(Vec<Declared>),
}

/// Reads networks, and what was read so far.
pub(super) struct Reads {
    /// The maximum number of virtual machines that are made.
    pub vms: u32,
    pub progress: Progress,
}

impl Rounds for Reads {
    type Update = Update;

    async fn read(&mut self, c: &mut Connection<'_>) -> Result<Found<Update>> {
        let (changed, progress) = self.progress.changed(c).await?;
        let mut found = Vec::new();
        let update = match changed {
            None => {
                for row in project::all(c).await? {
                    found.push(declared(c, row.id, self.vms).await?);
                }
                found.retain(|of| !of.vms.is_empty());
                Some(Update::All(found))
            }
            Some(keys) => {
                let projects: BTreeSet<ProjectId> = keys.into_iter().map(|(id, _)| id).collect();
                for id in projects {
                    found.push(declared(c, id, self.vms).await?);
                }
                (!found.is_empty()).then_some(Update::Changed(found))
            }
        };
        self.progress = progress;
        Ok(Found {
            updates: update.into_iter().collect(),
            is_complete: true,
            failure: None,
        })
    }
}

/// Reads the networks of a project, with at most `most` virtual machines.
async fn declared(
    c: &mut Connection<'_>,
    project: ProjectId,
    most: u32,
) -> Result<Declared, StorageError> {
    // One more, to see whether there are more.
    let mut vms = networked::vms_after(c, &project, "", i64::from(most) + 1).await?;
    let mut left_out = BTreeSet::new();
    if vms.len() > most as usize {
        left_out.insert(LeftOut::Vms);
    }
    vms.truncate(most as usize);
    if vms.is_empty() {
        return Ok(Declared {
            project,
            vms: Vec::new(),
            subnets: BTreeMap::new(),
            left_out,
        });
    }
    let (mut nics, is_all) = nics(c, &project, most).await?;
    if !is_all {
        left_out.insert(LeftOut::Nics);
    }
    let most_ports = i64::from(most) * 2;
    let ports = networked::balanced_ports(c, &project, most_ports).await?;
    if i64::try_from(ports.len()).is_ok_and(|count| count == most_ports) {
        left_out.insert(LeftOut::Vms);
    }
    let ports: HashMap<VmId, u16> = ports
        .into_iter()
        .filter_map(|row| Some((row.vm_id, u16::try_from(row.dst_port.get()).ok()?)))
        .collect();
    let vms: Vec<DeclaredVm> = vms
        .into_iter()
        .map(|row| DeclaredVm {
            ip4: row.ip4.and_then(|ip4| ip4.as_str().parse().ok()),
            ip6: row.ip6.and_then(|ip6| ip6.as_str().parse().ok()),
            nics: nics.remove(&row.id).unwrap_or_default(),
            balanced: ports.get(&row.id).copied(),
            name: row.name,
            id: row.id,
        })
        .collect();
    let used: BTreeSet<PrivateSubnetId> = vms
        .iter()
        .flat_map(|vm| vm.nics.iter().map(|nic| nic.subnet.clone()))
        .collect();
    let mut subnets = BTreeMap::new();
    let mut room = Room {
        rules: RULES_OF_PROJECT,
        links: LINKS_OF_PROJECT,
        left_out,
    };
    for id in used {
        if let Some(subnet) = room.subnet(c, &project, &id).await? {
            subnets.insert(id, subnet);
        }
    }
    Ok(Declared {
        project,
        vms,
        subnets,
        left_out: room.left_out,
    })
}

/// Reads the network interfaces of a project's virtual machines, and whether these are all.
async fn nics(
    c: &mut Connection<'_>,
    project: &ProjectId,
    vms: u32,
) -> Result<(HashMap<VmId, Vec<DeclaredNic>>, bool), StorageError> {
    let most = i64::from(vms) * 4;
    let rows = networked::nics(c, project, most).await?;
    let mut is_all = i64::try_from(rows.len()).is_ok_and(|count| count < most);
    let mut found: HashMap<VmId, Vec<DeclaredNic>> = HashMap::new();
    for row in rows {
        let addresses = (
            row.private_ipv4.as_str().parse(),
            row.private_ipv6.as_str().parse(),
        );
        let (Ok(ip4), Ok(ip6)) = addresses else {
            continue;
        };
        found.entry(row.vm_id).or_default().push(DeclaredNic {
            subnet: row.subnet_id,
            ip4,
            ip6,
            id: row.id,
        });
    }
    for nics in found.values_mut() {
        nics.sort();
        is_all &= nics.len() <= NICS_OF_VM;
        nics.truncate(NICS_OF_VM);
    }
    Ok((found, is_all))
}

/// What may still be read of a project, and what was left out.
struct Room {
    rules: i64,
    links: i64,
    left_out: BTreeSet<LeftOut>,
}

impl Room {
    /// Reads a private subnet, as far as there is room. Returns `None` if it is gone.
    async fn subnet(
        &mut self,
        c: &mut Connection<'_>,
        project: &ProjectId,
        id: &PrivateSubnetId,
    ) -> Result<Option<DeclaredSubnet>, StorageError> {
        let Some(networks) = networked::networks(c, project, id).await? else {
            return Ok(None);
        };
        let most = LINKS_OF_SUBNET.min(self.links);
        // One more, to see whether there are more.
        let mut links = networked::links(c, project, id, most + 1).await?;
        if cut(&mut links, most) {
            self.left_out.insert(LeftOut::Links);
        }
        self.links -= i64::try_from(links.len()).unwrap_or(most);
        let most = MOST_ENFORCED.min(self.rules);
        let mut rows = networked::allowed(c, project, id, most + 1).await?;
        if cut(&mut rows, most) {
            self.left_out.insert(LeftOut::Rules);
        }
        self.rules -= i64::try_from(rows.len()).unwrap_or(most);
        let mut allowed: Vec<Allowed> = rows.iter().filter_map(rule).collect();
        allowed.sort_unstable();
        allowed.dedup();
        Ok(Some(DeclaredSubnet {
            net4: networks.net4,
            net6: networks.net6,
            links: links.into_iter().map(|link| link.high_id).collect(),
            allowed,
        }))
    }
}

/// Removes the items of a list beyond a number, and returns whether there were any.
fn cut<T>(items: &mut Vec<T>, most: i64) -> bool {
    let most = usize::try_from(most).unwrap_or_default();
    let is_cut = items.len() > most;
    items.truncate(most);
    is_cut
}

/// Returns what a rule allows, or `None` if that is not known: rules only allow.
fn rule(row: &AllowedRow) -> Option<Allowed> {
    let protocol = match row.protocol {
        FirewallProtocol::Tcp => Protocol::Tcp,
        FirewallProtocol::Udp => Protocol::Udp,
        // Clients accept protocols that they do not know, but the service stores none.
        _ => return None,
    };
    Some(Allowed {
        from: Network::parse(row.cidr.as_str())?,
        protocol,
        ports: Ports::parse(row.port_range.as_str())?,
    })
}
