//! Reads load balancers from the database: all of them at first, and then what has changed.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use api_types::{FirewallProtocol, PrivateSubnetId, ProjectId};
use tokio::time::Instant;

use super::declared::{Declared, Key};
use crate::domain::allowed::{Callers, MOST_ENFORCED, Network, Ports};
use crate::operations::load_balancer::hostname;
use crate::provision::authority::Authority;
use crate::seal::Sealer;
use crate::storage::balanced::{self, Balanced};
use crate::storage::networked::{self, AllowedRow, is_of_networks};
use crate::storage::{Connection, StorageError, load_balancer};
use crate::watch::{Found, Progress, Rounds};
use crate::world::World;

/// The number of load balancers that one statement reads at most.
const PAGE: i64 = 500;
/// How often to look for another certificate authority, once there is one.
const AUTHORITY: Duration = Duration::from_secs(10);

/// What was read from the database.
pub(super) enum Update {
    /// All load balancers that there are.
    All(Vec<Declared>),
    /// The load balancers that have changed: `None` for one that is gone.
    Changed(Vec<(Key, Option<Declared>)>),
    /// Who may connect to load balancers, of projects whose firewalls may have changed.
    Callers(Vec<(Key, Arc<Callers>)>),
    /// The certificate authority.
    Authority(Box<Authority>),
}

/// Reads load balancers, and what was read so far.
pub(super) struct Reads {
    pub service_domain: String,
    pub sealer: Option<Sealer>,
    pub world: World,
    pub known: Known,
}

impl Rounds for Reads {
    type Update = Update;

    async fn read(&mut self, c: &mut Connection<'_>) -> Result<Found<Update>> {
        let mut updates = self.known.read(c, &self.service_domain).await?;
        let authority = match &self.sealer {
            Some(sealer) if self.known.wants_authority() => {
                Authority::load(c, sealer, &self.world).await
            }
            _ => Ok(None),
        };
        // What was read before is in force although there is no authority.
        let failure = match authority {
            Ok(found) => {
                let new = found.filter(|found| self.known.is_new(found));
                let new = new.map(|it| Update::Authority(Box::new(it)));
                // First, so that those that need a certificate can have one at once.
                updates.splice(0..0, new);
                None
            }
            Err(error) => Some(error),
        };
        Ok(Found { updates, failure })
    }
}

/// What was read so far.
#[derive(Default)]
pub(super) struct Known {
    progress: Progress,
    /// The certificate of the authority, and when it was read.
    authority: Option<(String, Instant)>,
}

impl Known {
    /// Reads what has changed, or everything if changes may be missing.
    async fn read(&mut self, c: &mut Connection<'_>, domain: &str) -> Result<Vec<Update>> {
        let (changed, progress) = self.progress.changed(c).await?;
        let mut guards = Guards::default();
        let updates = match changed {
            None => vec![Update::All(all(c, domain, &mut guards).await?)],
            Some(keys) => {
                let (projects, keys): (HashSet<Key>, HashSet<Key>) =
                    keys.into_iter().partition(|(_, id)| is_of_networks(id));
                let mut updates = Vec::new();
                if !keys.is_empty() {
                    let found = lookup(c, keys, domain, &mut guards).await?;
                    updates.push(Update::Changed(found));
                }
                for (project, _) in projects {
                    updates.push(Update::Callers(callers(c, &project, &mut guards).await?));
                }
                updates
            }
        };
        self.progress = progress;
        Ok(updates)
    }

    fn wants_authority(&self) -> bool {
        let read = self.authority.as_ref();
        read.is_none_or(|(_, read)| read.elapsed() >= AUTHORITY)
    }

    /// Records the authority that was read, and returns whether it is another one than before.
    fn is_new(&mut self, authority: &Authority) -> bool {
        let certificate = authority.certificate().to_owned();
        let known = self.authority.as_ref().map(|(known, _)| known);
        let is_new = known != Some(&certificate);
        self.authority = Some((certificate, Instant::now()));
        is_new
    }
}

/// Reads load balancers by their ids: `None` for one that is gone.
async fn lookup(
    c: &mut Connection<'_>,
    keys: HashSet<Key>,
    domain: &str,
    guards: &mut Guards,
) -> Result<Vec<(Key, Option<Declared>)>, StorageError> {
    let mut found = Vec::with_capacity(keys.len());
    for key in keys {
        let declared = match balanced::lookup(c, &key.0, &key.1).await? {
            Some(row) => Some(declared(c, row, domain, guards).await?),
            None => None,
        };
        found.push((key, declared));
    }
    Ok(found)
}

/// Reads all load balancers.
async fn all(
    c: &mut Connection<'_>,
    domain: &str,
    guards: &mut Guards,
) -> Result<Vec<Declared>, StorageError> {
    let mut found: Vec<Declared> = Vec::new();
    loop {
        let last = found.last().map(Declared::key);
        let after = last
            .as_ref()
            .map_or(("", ""), |(project, id)| (project.as_str(), id.as_str()));
        let rows = balanced::after(c, after, PAGE).await?;
        let is_last = i64::try_from(rows.len()).is_ok_and(|count| count < PAGE);
        for row in rows {
            found.push(declared(c, row, domain, guards).await?);
        }
        if is_last {
            return Ok(found);
        }
    }
}

async fn declared(
    c: &mut Connection<'_>,
    row: Balanced,
    domain: &str,
    guards: &mut Guards,
) -> Result<Declared, StorageError> {
    let vms = load_balancer::vms(c, &row.project_id, &row.id).await?;
    let callers = guards
        .callers(c, &row.project_id, &row.subnet_id, row.src_port.get())
        .await?;
    let hostname = hostname(&row.name, &row.subnet_id, domain)?;
    Ok(Declared {
        hostname: hostname.as_str().to_owned(),
        vms: vms.into_iter().map(Into::into).collect(),
        callers,
        row,
    })
}

/// Reads who may connect to each load balancer of a project.
async fn callers(
    c: &mut Connection<'_>,
    project: &ProjectId,
    guards: &mut Guards,
) -> Result<Vec<(Key, Arc<Callers>)>, StorageError> {
    let mut found: Vec<(Key, Arc<Callers>)> = Vec::new();
    loop {
        let after = found.last().map_or("", |((_, id), _)| id.as_str());
        let page = balanced::guarded_after(c, project, after, PAGE).await?;
        let is_last = i64::try_from(page.len()).is_ok_and(|count| count < PAGE);
        for row in page {
            let callers = guards
                .callers(c, project, &row.subnet_id, row.src_port.get())
                .await?;
            found.push(((project.clone(), row.id), callers));
        }
        if is_last {
            return Ok(found);
        }
    }
}

/// The firewalls of private subnets that were read in a round, each of them once.
#[derive(Default)]
struct Guards {
    /// The rules for TCP, or `None` for a subnet without a firewall.
    of_subnets: HashMap<(ProjectId, PrivateSubnetId), Option<Vec<(Network, Ports)>>>,
}

impl Guards {
    /// Returns who may connect to a port of a load balancer in a private subnet: everybody, if it has no
    /// firewall.
    async fn callers(
        &mut self,
        c: &mut Connection<'_>,
        project: &ProjectId,
        subnet: &PrivateSubnetId,
        port: i32,
    ) -> Result<Arc<Callers>, StorageError> {
        let key = (project.clone(), subnet.clone());
        if !self.of_subnets.contains_key(&key) {
            let rules = if networked::is_guarded(c, project, subnet).await? {
                let rows = networked::allowed(c, project, subnet, MOST_ENFORCED).await?;
                Some(rows.iter().filter_map(rule).collect())
            } else {
                None
            };
            self.of_subnets.insert(key.clone(), rules);
        }
        let port = u16::try_from(port).unwrap_or_default();
        let callers = match &self.of_subnets[&key] {
            None => Callers::All,
            Some(rules) => rules
                .iter()
                .filter(|(_, ports)| ports.contains(port))
                .map(|(network, _)| *network)
                .collect(),
        };
        Ok(Arc::new(callers))
    }
}

/// Returns the network and the ports of a rule, or `None` if it is not for TCP.
fn rule(row: &AllowedRow) -> Option<(Network, Ports)> {
    if row.protocol != FirewallProtocol::Tcp {
        return None;
    }
    Network::parse(row.cidr.as_str()).zip(Ports::parse(row.port_range.as_str()))
}
