//! Brings the store to an inventory, in one transaction: all of it or nothing.
//!
//! The plan is what that transaction did; a dry run undoes it. Things are known by their names. What the API can
//! change (how a load balancer works, what is attached to it, which firewalls guard a subnet) is taken from the
//! inventory when a thing is made, and left to the API from then on.

use std::collections::HashMap;

use api_types::{HealthCheckProtocol, LoadBalancerAlgorithm, NetworkStack, PrivateSubnetState, VmState};
use serde_saphyr::Spanned;

use super::{
    FirewallEntry, Inventory, LoadBalancerEntry, NicEntry, PrivateSubnetEntry, ProjectEntry, Step, StepKind, VmEntry,
};
use crate::domain::World;
use crate::domain::id::Kind;
use crate::domain::network::{Net4, Net6};
use crate::domain::private_subnet::free_networks;
use crate::storage::firewall::{Firewall, Rule};
use crate::storage::load_balancer::LoadBalancer;
use crate::storage::location::Location;
use crate::storage::private_subnet::{Nic, PrivateSubnet};
use crate::storage::project::Project;
use crate::storage::vm::Vm;
use crate::storage::{self, Aborted, Change, Connection, StorageError};

/// What to do with the plan, and with what is in the way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// Whether the plan is shown only.
    pub is_dry_run: bool,
    /// Whether what is not in the inventory is removed.
    pub prunes: bool,
}

/// Brings the store to an inventory.
#[derive(Debug)]
pub struct Apply {
    /// The inventory.
    pub inventory: Inventory,
    /// How.
    pub mode: Mode,
    /// Time and randomness for what is made.
    pub world: World,
}

/// Why an inventory was not applied.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Refused {
    /// Nobody asked for more than the plan.
    DryRun(Vec<Step>),
    /// It does not go with what there is.
    Inconsistent(String),
}

type Done<T> = Result<T, Aborted<Refused>>;

impl Change for Apply {
    type Answer = Vec<Step>;
    type Refusal = Refused;

    async fn make(&self, tx: &mut Connection<'_>) -> Done<Vec<Step>> {
        let mut run = Run { tx, world: &self.world, mode: self.mode, steps: Vec::new() };
        run.locations(&self.inventory).await?;
        let existing = storage::project::all(run.tx).await?;
        for entry in &self.inventory.projects {
            let project = run.project(entry, &existing).await?;
            run.resources(&project, entry).await?;
        }
        for project in existing {
            if !self.inventory.projects.iter().any(|entry| entry.name.value == project.name) {
                run.prune_project(&project).await?;
            }
        }
        run.prune_locations(&self.inventory).await?;
        let steps = run.steps;
        if self.mode.is_dry_run { Err(Aborted::Refused(Refused::DryRun(steps))) } else { Ok(steps) }
    }
}

/// An inventory on its way.
struct Run<'r, 'c> {
    tx: &'r mut Connection<'c>,
    world: &'r World,
    mode: Mode,
    steps: Vec<Step>,
}

fn inconsistent<T>(message: String) -> Done<T> {
    Err(Aborted::Refused(Refused::Inconsistent(message)))
}

impl Run<'_, '_> {
    fn step(&mut self, kind: StepKind, what: String) {
        self.steps.push(Step { kind, what });
    }

    /// Notes that something is not in the inventory; tells whether it shall go.
    fn prunes(&mut self, what: String) -> bool {
        self.step(if self.mode.prunes { StepKind::Delete } else { StepKind::Keep }, what);
        self.mode.prunes
    }

    async fn locations(&mut self, inventory: &Inventory) -> Done<()> {
        let existing = storage::location::all(self.tx).await?;
        for entry in &inventory.locations {
            let wanted = Location { name: entry.name.value.clone(), offers_postgres: entry.postgres };
            let kind = match existing.iter().find(|location| location.name == wanted.name) {
                Some(location) if *location == wanted => continue,
                Some(_) => StepKind::Update,
                None => StepKind::Create,
            };
            self.step(kind, format!("location {}", wanted.name));
            storage::location::put(self.tx, &wanted).await?;
        }
        Ok(())
    }

    async fn prune_locations(&mut self, inventory: &Inventory) -> Done<()> {
        for location in storage::location::all(self.tx).await? {
            let is_wanted = inventory.locations.iter().any(|entry| entry.name.value == location.name);
            if is_wanted || !self.prunes(format!("location {}", location.name)) {
                continue;
            }
            match storage::location::delete(self.tx, &location.name).await {
                Err(StorageError::Conflict) => {
                    return inconsistent(format!("location {} is not empty: something is in it still", location.name));
                }
                deleted => deleted?,
            }
        }
        Ok(())
    }

    async fn project(&mut self, entry: &ProjectEntry, existing: &[Project]) -> Done<Project> {
        let wanted_id = entry.id.as_ref().map(|id| id.value.as_str());
        if let Some(project) = existing.iter().find(|project| project.name == entry.name.value) {
            if wanted_id.is_some_and(|id| id != project.id) {
                let message =
                    format!("project {} exists with the id {}, which cannot change", project.name, project.id);
                return inconsistent(message);
            }
            return Ok(project.clone());
        }
        if let Some(other) = existing.iter().find(|project| Some(project.id.as_str()) == wanted_id) {
            let message = format!("the id of project {} belongs to project {}", entry.name.value, other.name);
            return inconsistent(message);
        }
        let id = wanted_id.map_or_else(|| Kind::Project.new_id(self.world), str::to_owned);
        let project = Project { id, name: entry.name.value.clone() };
        // An id that is made now would not be the one that a dry run has shown.
        let told = if self.mode.is_dry_run && wanted_id.is_none() {
            "a new id".to_owned()
        } else {
            format!("the id {}", project.id)
        };
        self.step(StepKind::Create, format!("project {} with {told}", project.name));
        storage::project::insert(self.tx, &project, self.world.now()).await?;
        Ok(project)
    }

    async fn resources(&mut self, project: &Project, entry: &ProjectEntry) -> Done<()> {
        let vms = self.vms(project, &entry.vms).await?;
        let firewalls = self.firewalls(project, &entry.firewalls).await?;
        let subnets = self.subnets(project, &entry.private_subnets, &vms, &firewalls).await?;
        self.load_balancers(project, &entry.load_balancers, &vms, &subnets).await?;
        // What others refer to goes last.
        self.prune_subnets(project, &entry.private_subnets).await?;
        self.prune_firewalls(project, &entry.firewalls).await?;
        self.prune_vms(project, &entry.vms).await
    }

    /// Ids by location and name.
    async fn vms(&mut self, project: &Project, entries: &[VmEntry]) -> Done<Ids> {
        let existing = storage::vm::of_project(self.tx, &project.id).await?;
        let mut ids: Ids = existing.iter().map(|vm| (key(&vm.location, &vm.name), vm.id.clone())).collect();
        let by_name: HashMap<(&str, &str), &Vm> = existing.iter().map(|vm| ((&*vm.location, &*vm.name), vm)).collect();
        for entry in entries {
            let existing = by_name.get(&(&*entry.location.value, &*entry.name.value));
            let id = existing.map_or_else(|| Kind::Vm.new_id(self.world), |vm| vm.id.clone());
            let wanted = vm(entry, id);
            ids.insert(key(&wanted.location, &wanted.name), wanted.id.clone());
            let what = format!("project {}: vm {}/{}", project.name, wanted.location, wanted.name);
            match existing {
                Some(existing) if **existing == wanted => {}
                Some(_) => {
                    self.step(StepKind::Update, what);
                    storage::vm::update(self.tx, &project.id, &wanted).await?;
                }
                None => {
                    self.step(StepKind::Create, what);
                    storage::vm::insert(self.tx, &project.id, &wanted).await?;
                }
            }
        }
        Ok(ids)
    }

    async fn prune_vms(&mut self, project: &Project, entries: &[VmEntry]) -> Done<()> {
        for vm in storage::vm::of_project(self.tx, &project.id).await? {
            let is_wanted = entries.iter().any(|entry| is(&entry.location, &entry.name, &vm.location, &vm.name));
            if !is_wanted && self.prunes(format!("project {}: vm {}/{}", project.name, vm.location, vm.name)) {
                storage::vm::delete(self.tx, &project.id, &vm).await?;
            }
        }
        Ok(())
    }

    async fn firewalls(&mut self, project: &Project, entries: &[FirewallEntry]) -> Done<Ids> {
        let existing = storage::firewall::of_project(self.tx, &project.id).await?;
        let mut ids = Ids::new();
        for entry in entries {
            let (location, name) = (&entry.location.value, &entry.name.value);
            let what = format!("project {}: firewall {location}/{name}", project.name);
            let found = existing.iter().find(|firewall| firewall.location == *location && firewall.name == *name);
            let id = if let Some(found) = found {
                if !found.is_declared || found.description != entry.description {
                    self.step(StepKind::Update, what.clone());
                    let described = Firewall { description: entry.description.clone(), ..found.clone() };
                    storage::firewall::declare(self.tx, &project.id, &described).await?;
                }
                found.id.clone()
            } else {
                self.step(StepKind::Create, what.clone());
                let firewall = Firewall {
                    id: Kind::Firewall.new_id(self.world),
                    location: location.clone(),
                    name: name.clone(),
                    description: entry.description.clone(),
                    is_declared: true,
                };
                storage::firewall::insert(self.tx, &project.id, &firewall).await?;
                firewall.id
            };
            self.rules(project, &id, entry, &what).await?;
            ids.insert(key(location, name), id);
        }
        Ok(ids)
    }

    async fn rules(&mut self, project: &Project, firewall: &str, entry: &FirewallEntry, what: &str) -> Done<()> {
        let existing = storage::firewall::rules(self.tx, &project.id, firewall).await?;
        for wanted in &entry.rules {
            let (cidr, port_range) = (&wanted.cidr.value, &wanted.port_range.value);
            if existing.iter().any(|rule| rule.cidr == *cidr && rule.port_range == *port_range) {
                continue;
            }
            self.step(StepKind::Create, format!("{what}: rule {cidr} {port_range}"));
            let rule = Rule {
                firewall_id: firewall.to_owned(),
                id: Kind::FirewallRule.new_id(self.world),
                cidr: cidr.clone(),
                port_range: port_range.clone(),
            };
            storage::firewall::insert_rule(self.tx, &project.id, &rule).await?;
        }
        for rule in existing {
            let is_wanted =
                entry.rules.iter().any(|it| it.cidr.value == rule.cidr && it.port_range.value == rule.port_range);
            if !is_wanted && self.prunes(format!("{what}: rule {} {}", rule.cidr, rule.port_range)) {
                storage::firewall::delete_rule(self.tx, &project.id, &rule).await?;
            }
        }
        Ok(())
    }

    async fn prune_firewalls(&mut self, project: &Project, entries: &[FirewallEntry]) -> Done<()> {
        for firewall in storage::firewall::of_project(self.tx, &project.id).await? {
            let Firewall { location, name, .. } = &firewall;
            let is_wanted = entries.iter().any(|entry| is(&entry.location, &entry.name, location, name));
            let is_ours = firewall.is_declared && !is_wanted;
            if is_ours && self.prunes(format!("project {}: firewall {location}/{name}", project.name)) {
                storage::firewall::delete(self.tx, &project.id, &firewall.id).await?;
            }
        }
        Ok(())
    }

    async fn subnets(
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

    async fn prune_subnets(&mut self, project: &Project, entries: &[PrivateSubnetEntry]) -> Done<()> {
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

    async fn load_balancers(
        &mut self,
        project: &Project,
        entries: &[LoadBalancerEntry],
        vms: &Ids,
        subnets: &Ids,
    ) -> Done<()> {
        let existing = storage::load_balancer::of_project(self.tx, &project.id).await?;
        for found in &existing {
            let LoadBalancer { location, name, .. } = found;
            let is_wanted = entries.iter().any(|entry| is(&entry.location, &entry.name, location, name));
            if !is_wanted && self.prunes(format!("project {}: load balancer {location}/{name}", project.name)) {
                storage::load_balancer::delete(self.tx, &project.id, found).await?;
            }
        }
        for entry in entries {
            let (location, name) = (&entry.location.value, &entry.name.value);
            let what = format!("project {}: load balancer {location}/{name}", project.name);
            let subnet = &subnets[&key(location, &entry.subnet.value)];
            if let Some(found) = existing.iter().find(|found| found.location == *location && found.name == *name) {
                self.same_load_balancer(project, found, entry, subnet, what).await?;
            } else {
                self.step(StepKind::Create, what.clone());
                self.new_load_balancer(project, entry, vms, subnet, &what).await?;
            }
        }
        Ok(())
    }

    /// A load balancer that there is: only what the API cannot change follows the inventory.
    async fn same_load_balancer(
        &mut self,
        project: &Project,
        found: &LoadBalancer,
        entry: &LoadBalancerEntry,
        subnet: &str,
        what: String,
    ) -> Done<()> {
        let protocol = or(entry.health_check_protocol.as_ref(), HealthCheckProtocol::Http.as_str());
        if found.subnet_id != subnet || found.health_check_protocol != protocol {
            self.step(StepKind::Update, what);
            let changed = LoadBalancer {
                subnet_id: subnet.to_owned(),
                health_check_protocol: protocol.to_owned(),
                ..found.clone()
            };
            storage::load_balancer::update(self.tx, &project.id, &changed).await?;
        }
        Ok(())
    }

    async fn new_load_balancer(
        &mut self,
        project: &Project,
        entry: &LoadBalancerEntry,
        vms: &Ids,
        subnet: &str,
        what: &str,
    ) -> Done<()> {
        let made = LoadBalancer {
            id: Kind::LoadBalancer.new_id(self.world),
            location: entry.location.value.clone(),
            name: entry.name.value.clone(),
            algorithm: or(entry.algorithm.as_ref(), LoadBalancerAlgorithm::RoundRobin.as_str()).to_owned(),
            src_port: i64::from(entry.src_port.value),
            dst_port: i64::from(entry.dst_port.value),
            health_check_endpoint: entry.health_check_endpoint.value.clone(),
            health_check_protocol: or(entry.health_check_protocol.as_ref(), HealthCheckProtocol::Http.as_str())
                .to_owned(),
            stack: or(entry.stack.as_ref(), NetworkStack::Dual.as_str()).to_owned(),
            cert_enabled: entry.cert_enabled,
            subnet_id: subnet.to_owned(),
            subnet: entry.subnet.value.clone(),
            revision: 0,
        };
        storage::load_balancer::insert(self.tx, &project.id, &made).await?;
        let attached = entry.vms.iter().map(|vm| vms[&key(&entry.location.value, &vm.value)].as_str());
        let attached = attached.collect::<serde_json::Value>().to_string();
        let found = storage::vm::of_ids(self.tx, &project.id, &made.location, &attached).await?;
        if let Some(vm) = found.iter().find(|vm| vm.load_balancer_id.is_some()) {
            return inconsistent(format!("{what}: vm {} is attached to another load balancer by now", vm.vm.name));
        }
        storage::load_balancer::attach_only(self.tx, &project.id, &made.id, &attached).await?;
        Ok(())
    }

    async fn prune_project(&mut self, project: &Project) -> Done<()> {
        if !self.prunes(format!("project {} with everything in it", project.name)) {
            return Ok(());
        }
        if storage::project::has_databases(self.tx, &project.id).await? {
            let message = format!("project {} has Postgres databases, so it cannot be removed", project.name);
            return inconsistent(message);
        }
        storage::project::delete(self.tx, &project.id).await?;
        Ok(())
    }
}

/// Ids by location and name.
type Ids = HashMap<(String, String), String>;

fn key(location: &str, name: &str) -> (String, String) {
    (location.to_owned(), name.to_owned())
}

/// Whether an entry is the thing of a location and a name.
fn is(entry_location: &Spanned<String>, entry_name: &Spanned<String>, location: &str, name: &str) -> bool {
    entry_location.value == location && entry_name.value == name
}

fn or<'v>(given: Option<&'v Spanned<String>>, default: &'v str) -> &'v str {
    given.map_or(default, |given| given.value.as_str())
}

fn vm(entry: &VmEntry, id: String) -> Vm {
    Vm {
        id,
        location: entry.location.value.clone(),
        name: entry.name.value.clone(),
        ip4: entry.ip4.as_ref().map(|ip4| ip4.value.clone()),
        ip4_enabled: entry.ip4_enabled.unwrap_or(entry.ip4.is_some()),
        ip6: entry.ip6.as_ref().map(|ip6| ip6.value.clone()),
        size: entry.size.value.clone(),
        state: or(entry.state.as_ref(), VmState::Running.as_str()).to_owned(),
        storage_size_gib: i64::from(entry.storage_size_gib.value),
        unix_user: entry.unix_user.clone(),
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
