//! Reads load balancers from the database: all of them at first, and then what has changed.
//!
//! What is due is read in turns of projects, so that the load balancers of one never wait for all
//! firewall rules of another.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use anyhow::Result;
use api_types::{FirewallProtocol, PrivateSubnetId, ProjectId};
use tokio::time::Instant;

use super::declared::{Declared, Key};
use super::due::{Due, Turn};
use crate::domain::allowed::{Callers, MOST_ENFORCED, Network, Ports};
use crate::operations::load_balancer::hostname;
use crate::provision::authority::Authority;
use crate::seal::Sealer;
use crate::storage::balanced;
use crate::storage::networked::{self, AllowedRow, is_of_networks};
use crate::storage::{Connection, StorageError, load_balancer};
use crate::watch::{Found, Progress, Rounds};
use crate::world::World;

/// The number of load balancers that one statement reads at most.
const PAGE: i64 = 500;
/// The number of load balancers whose callers one statement reads at most, in the turn of a project.
const PART: i64 = 100;
/// After how many rows the turn of a project ends. The load balancer that brings it to them is read to
/// its end: its virtual machines, and at most `MOST_ENFORCED` rules.
const TURN: usize = 2_500;
/// The number of rows as which a statement counts, about as many as can be read in its time.
const STATEMENT: usize = 20;
/// After how many rows a round ends. What is left is read in the next one.
const ROUND: usize = 50_000;
/// How often to look for another certificate authority, once there is one.
const AUTHORITY: Duration = Duration::from_secs(10);

/// What was read from the database.
pub(super) enum Update {
    /// Which load balancers there are: others are gone, and these are read anew from now on.
    Begin(HashSet<Key>),
    /// The load balancers that were read: `None` for one that is gone.
    Changed(Vec<(Key, Option<Declared>)>),
    /// Who may connect to load balancers, of projects whose firewalls may have changed.
    Callers(Vec<(Key, Arc<Callers>)>),
    /// All load balancers of the last `Begin` were read.
    Complete,
    /// The certificate authority.
    Authority(Box<Authority>),
}

/// Reads load balancers, and what was read so far.
pub(super) struct Reads {
    service_domain: String,
    sealer: Option<Sealer>,
    world: World,
    progress: Progress,
    due: Due,
    /// Whether all load balancers of the last `Update::Begin` were read.
    is_complete: bool,
    /// The certificate of the authority, and when it was read.
    authority: Option<(String, Instant)>,
}

impl Rounds for Reads {
    type Update = Update;

    async fn read(&mut self, c: &mut Connection<'_>) -> Result<Found<Update>> {
        let (mut updates, gone) = self.changes(c).await?;
        let mut round = Round::new(c, &self.service_domain, gone);
        let read = round.turns(&mut self.due).await;
        // What was read before is in force although something failed.
        updates.extend(round.updates());
        if self.due.is_complete() && !self.is_complete {
            self.is_complete = true;
            updates.push(Update::Complete);
        }
        let authority = match read {
            Ok(()) => self.authority(c).await,
            Err(error) => Err(error.into()),
        };
        let failure = match authority {
            Ok(new) => {
                // First, so that those that need a certificate can have one at once.
                updates.splice(0..0, new.map(Update::Authority));
                None
            }
            Err(error) => Some(error),
        };
        Ok(Found {
            updates,
            is_complete: self.is_complete,
            failure,
        })
    }
}

impl Reads {
    /// Creates what reads for an engine that has nothing yet.
    pub(super) fn new(service_domain: String, sealer: Option<Sealer>, world: World) -> Self {
        Self {
            service_domain,
            sealer,
            world,
            progress: Progress::default(),
            due: Due::default(),
            is_complete: false,
            authority: None,
        }
    }

    /// Adds what has changed to what is due, or everything if changes may be missing. Returns what an
    /// engine must know before, and which load balancers are gone.
    async fn changes(
        &mut self,
        c: &mut Connection<'_>,
    ) -> Result<(Vec<Update>, Vec<Key>), StorageError> {
        let (changed, progress) = self.progress.changed(c).await?;
        let (mut begin, mut gone) = (Vec::new(), Vec::new());
        match changed {
            None => {
                let keys = keys(c).await?;
                self.due = Due::begin(&keys);
                self.is_complete = false;
                begin.push(Update::Begin(keys));
            }
            Some(keys) => {
                for key in keys {
                    if is_of_networks(&key.1) {
                        self.due.add_callers(&key.0);
                    } else if balanced::exists(c, &key.0, &key.1).await? {
                        self.due.add(key);
                    } else {
                        // Not in a turn, so that no more is due than there is.
                        self.due.remove(&key);
                        gone.push(key);
                    }
                }
            }
        }
        self.progress = progress;
        Ok((begin, gone))
    }

    /// Reads the certificate authority from time to time. Returns it if it is another one than before.
    async fn authority(&mut self, c: &mut Connection<'_>) -> Result<Option<Box<Authority>>> {
        let read = self.authority.as_ref();
        let is_due = read.is_none_or(|(_, read)| read.elapsed() >= AUTHORITY);
        let Some(sealer) = self.sealer.as_ref().filter(|_| is_due) else {
            return Ok(None);
        };
        let Some(found) = Authority::load(c, sealer, &self.world).await? else {
            return Ok(None);
        };
        let certificate = found.certificate().to_owned();
        let known = self.authority.as_ref().map(|(known, _)| known);
        let is_new = known != Some(&certificate);
        self.authority = Some((certificate, Instant::now()));
        Ok(is_new.then(|| Box::new(found)))
    }
}

/// Reads which load balancers there are.
async fn keys(c: &mut Connection<'_>) -> Result<HashSet<Key>, StorageError> {
    let mut keys = HashSet::new();
    let mut last: Option<Key> = None;
    loop {
        let after = last
            .as_ref()
            .map_or(("", ""), |(project, id)| (project.as_str(), id.as_str()));
        let page = balanced::keys_after(c, after, PAGE).await?;
        let is_last = i64::try_from(page.len()).is_ok_and(|count| count < PAGE);
        let found = page.into_iter().map(|row| (row.project_id, row.id));
        let found: Vec<Key> = found.collect();
        last = found.last().cloned();
        keys.extend(found);
        if is_last {
            return Ok(keys);
        }
    }
}

/// A round of reading, in one transaction.
struct Round<'r, 'c> {
    c: &'r mut Connection<'c>,
    /// The domain of the host names of load balancers.
    domain: &'r str,
    /// The number of rows that were read, with what statements count as.
    rows: usize,
    /// The firewalls of private subnets that were read, each of them once: the rules for TCP, or `None`
    /// for a subnet without a firewall.
    guards: HashMap<(ProjectId, PrivateSubnetId), Option<Vec<(Network, Ports)>>>,
    /// The load balancers that were read: `None` for one that is gone.
    changed: Vec<(Key, Option<Declared>)>,
    /// Who may connect to other load balancers.
    callers: Vec<(Key, Arc<Callers>)>,
}

impl<'r, 'c> Round<'r, 'c> {
    /// Creates a round that has read which load balancers are gone.
    fn new(c: &'r mut Connection<'c>, domain: &'r str, gone: Vec<Key>) -> Self {
        Self {
            c,
            domain,
            rows: 0,
            guards: HashMap::new(),
            changed: gone.into_iter().map(|key| (key, None)).collect(),
            callers: Vec::new(),
        }
    }

    /// Returns what was read: no more than one update of a kind, since an engine may write all that it has
    /// at each of them.
    fn updates(self) -> impl Iterator<Item = Update> {
        let changed = (!self.changed.is_empty()).then_some(Update::Changed(self.changed));
        let callers = (!self.callers.is_empty()).then_some(Update::Callers(self.callers));
        changed.into_iter().chain(callers)
    }

    /// Reads what is due in the turns of projects, until nothing is left or the round has read enough.
    async fn turns(&mut self, due: &mut Due) -> Result<(), StorageError> {
        while self.rows < ROUND
            && let Some(mut turn) = due.turn()
        {
            let read = self.turn(&mut turn).await;
            due.end_turn();
            read?;
        }
        Ok(())
    }

    /// Reads what is due of a project, until nothing is left or its turn ends.
    async fn turn(&mut self, turn: &mut Turn<'_>) -> Result<(), StorageError> {
        let end = self.rows + TURN;
        let project = turn.project;
        while self.rows < end
            && let Some(id) = turn.next_changed()
        {
            let key = (project.clone(), id.clone());
            if let Some(declared) = readable(&key, self.declared(&key).await)? {
                self.changed.push((key, declared));
            }
            turn.note_read();
        }
        while self.rows < end
            && let Some(after) = turn.callers_after()
        {
            self.rows += STATEMENT;
            let page = match balanced::guarded_after(self.c, project, after, PART).await {
                Err(StorageError::Corrupt(_)) => {
                    self.read_one_by_one(turn).await?;
                    continue;
                }
                page => page?,
            };
            let mut is_last = i64::try_from(page.len()).is_ok_and(|count| count < PART);
            for row in page {
                if self.rows >= end {
                    is_last = false;
                    break;
                }
                self.rows += 1;
                let key = (project.clone(), row.id.clone());
                let callers = self
                    .callers(project, &row.subnet_id, row.src_port.get())
                    .await;
                if let Some(callers) = readable(&key, callers)? {
                    self.callers.push((key, callers));
                }
                turn.note_callers_read(row.id);
            }
            if is_last {
                turn.end_callers();
            }
        }
        Ok(())
    }

    /// Adds the next load balancers of a project to those that are to be read, since one of them cannot be
    /// read with the others.
    async fn read_one_by_one(&mut self, turn: &mut Turn<'_>) -> Result<(), StorageError> {
        let after = (
            turn.project.as_str(),
            turn.callers_after().unwrap_or_default(),
        );
        let mut page = balanced::keys_after(self.c, after, PART).await?;
        // Those of other projects come after them.
        page.retain(|row| row.project_id == *turn.project);
        let is_last = i64::try_from(page.len()).is_ok_and(|count| count < PART);
        for row in page {
            turn.add(row.id.clone());
            turn.note_callers_read(row.id);
        }
        if is_last {
            turn.end_callers();
        }
        Ok(())
    }

    /// Reads a load balancer. Returns `None` if it is gone.
    async fn declared(&mut self, (project, id): &Key) -> Result<Option<Declared>, StorageError> {
        self.rows += 2 * STATEMENT;
        let Some(row) = balanced::lookup(self.c, project, id).await? else {
            return Ok(None);
        };
        let vms = load_balancer::vms(self.c, &row.project_id, &row.id).await?;
        self.rows += vms.len();
        let callers = self
            .callers(&row.project_id, &row.subnet_id, row.src_port.get())
            .await?;
        let hostname = hostname(&row.name, &row.subnet_id, self.domain)?;
        Ok(Some(Declared {
            hostname: hostname.as_str().to_owned(),
            vms: vms.into_iter().map(Into::into).collect(),
            callers,
            row,
        }))
    }

    /// Returns who may connect to a port of a load balancer in a private subnet: everybody, if it has no
    /// firewall.
    async fn callers(
        &mut self,
        project: &ProjectId,
        subnet: &PrivateSubnetId,
        port: i32,
    ) -> Result<Arc<Callers>, StorageError> {
        let key = (project.clone(), subnet.clone());
        if !self.guards.contains_key(&key) {
            self.rows += 2 * STATEMENT;
            let rules = if networked::is_guarded(self.c, project, subnet).await? {
                let rows = networked::allowed(self.c, project, subnet, MOST_ENFORCED).await?;
                self.rows += rows.len();
                Some(rows.iter().filter_map(rule).collect())
            } else {
                None
            };
            self.guards.insert(key.clone(), rules);
        }
        let port = u16::try_from(port).unwrap_or_default();
        let callers = match &self.guards[&key] {
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

/// Returns what was read of a load balancer, or `None` if the database holds something of it that nothing
/// can be made of, which is logged: it must not stop others.
fn readable<T>(key: &Key, read: Result<T, StorageError>) -> Result<Option<T>, StorageError> {
    match read {
        Ok(read) => Ok(Some(read)),
        Err(StorageError::Corrupt(error)) => {
            tracing::error!(
                %error,
                project = %key.0,
                load_balancer = %key.1,
                "a load balancer cannot be read: it stays as it was read last, or is left out"
            );
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

/// Returns the network and the ports of a rule, or `None` if it is not for TCP.
fn rule(row: &AllowedRow) -> Option<(Network, Ports)> {
    if row.protocol != FirewallProtocol::Tcp {
        return None;
    }
    Network::parse(row.cidr.as_str()).zip(Ports::parse(row.port_range.as_str()))
}
