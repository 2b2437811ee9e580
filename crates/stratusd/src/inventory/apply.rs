//! Brings the store to an inventory, in one transaction: all of it or nothing.
//!
//! The plan is what that transaction did; a dry run undoes it. Things are known by their names. What the API can
//! change (how a load balancer works, what is attached to it, which firewalls guard a subnet) is taken from the
//! inventory when a thing is made, and left to the API from then on.

mod firewalls;
mod load_balancers;
mod private_subnets;
mod vms;

use std::collections::{HashMap, HashSet};
use std::str::FromStr;

use api_types::{FirewallId, ProjectId};
use serde_saphyr::Spanned;

use super::{
    Finding, FirewallEntry, Inventory, LoadBalancerEntry, PrivateSubnetEntry, ProjectEntry, Step,
    StepKind, VmEntry,
};
use crate::domain::id::Id;
use crate::storage::firewall::Firewall;
use crate::storage::load_balancer::LoadBalancer;
use crate::storage::location::Location;
use crate::storage::private_subnet::PrivateSubnet;
use crate::storage::project::Project;
use crate::storage::vm::Vm;
use crate::storage::{self, Aborted, Change, Connection, StorageError};
use crate::world::World;

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
    /// An entry does not go with what there is.
    Inconsistent(Finding),
    /// What is not in the inventory cannot be removed.
    InTheWay(String),
}

type Done<T> = Result<T, Aborted<Refused>>;

impl Change for Apply {
    type Output = Vec<Step>;
    type Refusal = Refused;

    async fn apply(&self, tx: &mut Connection<'_>) -> Done<Vec<Step>> {
        storage::inventory::lock(tx).await?;
        let (steps, new_firewalls) = (Vec::new(), HashSet::new());
        let mut run = Run {
            tx,
            world: &self.world,
            mode: self.mode,
            steps,
            new_firewalls,
        };
        run.locations(&self.inventory).await?;
        let existing = storage::project::all(run.tx).await?;
        let known = Projects::of(&existing);
        for entry in &self.inventory.projects {
            let project = run.project(entry, &known).await?;
            run.resources(&project, entry).await?;
        }
        let wanted: HashSet<&str> = self
            .inventory
            .projects
            .iter()
            .map(|entry| &*entry.name.value)
            .collect();
        for project in existing
            .iter()
            .filter(|project| !wanted.contains(project.name.as_str()))
        {
            run.prune_project(project).await?;
        }
        run.prune_locations(&self.inventory).await?;
        let steps = run.steps;
        if self.mode.is_dry_run {
            Err(Aborted::Refused(Refused::DryRun(steps)))
        } else {
            Ok(steps)
        }
    }
}

/// The projects that there are, by what they are known by.
struct Projects<'p> {
    by_name: HashMap<&'p str, &'p Project>,
    by_id: HashMap<&'p str, &'p Project>,
}

impl<'p> Projects<'p> {
    fn of(projects: &'p [Project]) -> Self {
        Self {
            by_name: projects
                .iter()
                .map(|project| (project.name.as_str(), project))
                .collect(),
            by_id: projects
                .iter()
                .map(|project| (project.id.as_str(), project))
                .collect(),
        }
    }
}

/// An inventory on its way.
struct Run<'r, 'c> {
    tx: &'r mut Connection<'c>,
    world: &'r World,
    mode: Mode,
    steps: Vec<Step>,
    /// The ids of firewalls that were made: no caller can have decided about them.
    new_firewalls: HashSet<FirewallId>,
}

fn inconsistent<T, V>(value: &Spanned<V>, message: String) -> Done<T> {
    Err(Aborted::Refused(Refused::Inconsistent(Finding::at(
        value, message,
    ))))
}

fn in_the_way<T>(message: String) -> Done<T> {
    Err(Aborted::Refused(Refused::InTheWay(message)))
}

impl Run<'_, '_> {
    fn step(&mut self, kind: StepKind, what: String) {
        self.steps.push(Step { kind, what });
    }

    /// Notes what of something is not as in the inventory, and is for the API to decide.
    fn leaves(&mut self, what: &str, differing: &[&str]) {
        if !differing.is_empty() {
            self.step(
                StepKind::Leave,
                format!("{what} ({})", differing.join(", ")),
            );
        }
    }

    /// Notes that something is not in the inventory; tells whether it shall go.
    fn prunes(&mut self, what: String) -> bool {
        self.step(
            if self.mode.prunes {
                StepKind::Delete
            } else {
                StepKind::Keep
            },
            what,
        );
        self.mode.prunes
    }

    async fn locations(&mut self, inventory: &Inventory) -> Done<()> {
        let existing = storage::location::all(self.tx).await?;
        let existing: HashMap<&str, &Location> = existing
            .iter()
            .map(|location| (location.name.as_str(), location))
            .collect();
        for entry in &inventory.locations {
            let wanted = Location {
                name: checked(&entry.name),
                offers_postgres: entry.postgres,
            };
            let kind = match existing.get(wanted.name.as_str()) {
                Some(location) if **location == wanted => continue,
                Some(_) => StepKind::Update,
                None => StepKind::Create,
            };
            self.step(kind, format!("location {}", wanted.name));
            storage::location::put(self.tx, &wanted).await?;
        }
        Ok(())
    }

    async fn prune_locations(&mut self, inventory: &Inventory) -> Done<()> {
        let wanted: HashSet<&str> = inventory
            .locations
            .iter()
            .map(|entry| &*entry.name.value)
            .collect();
        for location in storage::location::all(self.tx).await? {
            if wanted.contains(location.name.as_str())
                || !self.prunes(format!("location {}", location.name))
            {
                continue;
            }
            match storage::location::delete(self.tx, &location.name).await {
                Err(StorageError::Conflict) => {
                    return in_the_way(format!(
                        "location {} is not empty: something is in it still",
                        location.name
                    ));
                }
                deleted => deleted?,
            }
        }
        Ok(())
    }

    async fn project(&mut self, entry: &ProjectEntry, existing: &Projects<'_>) -> Done<Project> {
        let wanted_id = entry.id.as_ref().map(|id| id.value.as_str());
        if let Some(&project) = existing.by_name.get(&*entry.name.value) {
            if wanted_id.is_some_and(|id| project.id != *id) {
                let message = format!(
                    "project {} exists with the id {}, which cannot change",
                    project.name, project.id
                );
                return inconsistent(entry.id.as_ref().unwrap_or(&entry.name), message);
            }
            return Ok(project.clone());
        }
        if let Some(other) = wanted_id.and_then(|id| existing.by_id.get(id)) {
            let message = format!(
                "the id of project {} belongs to project {}",
                entry.name.value, other.name
            );
            return inconsistent(entry.id.as_ref().unwrap_or(&entry.name), message);
        }
        let id = entry.id.as_ref();
        let project = Project {
            id: id.map_or_else(|| ProjectId::generate(self.world), checked),
            name: checked(&entry.name),
        };
        // An id that is made now would not be the one that a dry run has shown.
        let told = if self.mode.is_dry_run && wanted_id.is_none() {
            "a new id".to_owned()
        } else {
            format!("the id {}", project.id)
        };
        self.step(
            StepKind::Create,
            format!("project {} with {told}", project.name),
        );
        storage::project::insert(self.tx, &project, self.world.now()).await?;
        Ok(project)
    }

    async fn resources(&mut self, project: &Project, entry: &ProjectEntry) -> Done<()> {
        let vms = self.vms(project, &entry.vms).await?;
        let firewalls = self.firewalls(project, &entry.firewalls).await?;
        let subnets = self
            .subnets(project, &entry.private_subnets, &vms, &firewalls)
            .await?;
        self.load_balancers(project, &entry.load_balancers, &vms, &subnets)
            .await?;
        // What others refer to goes last.
        self.prune_subnets(project, &entry.private_subnets).await?;
        self.prune_firewalls(project, &entry.firewalls).await?;
        self.prune_vms(project, &entry.vms).await
    }

    async fn prune_project(&mut self, project: &Project) -> Done<()> {
        if !self.prunes(format!("project {} with everything in it", project.name)) {
            return Ok(());
        }
        if storage::project::has_databases(self.tx, &project.id).await? {
            let message = format!(
                "project {} has Postgres databases, so it cannot be removed",
                project.name
            );
            return in_the_way(message);
        }
        storage::project::delete(self.tx, &project.id).await?;
        Ok(())
    }
}

/// Ids by location and name.
type Ids<I> = HashMap<(String, String), I>;

fn key(location: &str, name: &str) -> (String, String) {
    (location.to_owned(), name.to_owned())
}

/// Where something is and what it is called there, which is what it is known by.
type Known<'e> = (&'e str, &'e str);

/// Whatever is known by a location and a name.
trait Placed {
    fn known(&self) -> Known<'_>;
}

macro_rules! placed {
    ($($entry:ty),*; $($thing:ty),*) => {
        $(impl Placed for $entry {
            fn known(&self) -> Known<'_> {
                (&self.location.value, &self.name.value)
            }
        })*
        $(impl Placed for $thing {
            fn known(&self) -> Known<'_> {
                (self.location.as_str(), self.name.as_str())
            }
        })*
    };
}

placed!(VmEntry, FirewallEntry, PrivateSubnetEntry, LoadBalancerEntry; Vm, Firewall, PrivateSubnet, LoadBalancer);

/// Things by what they are known by: an inventory is too large to look at each of them for each of its entries.
fn by_place<T: Placed>(things: &[T]) -> HashMap<Known<'_>, &T> {
    things.iter().map(|thing| (thing.known(), thing)).collect()
}

fn or<'v>(given: Option<&'v Spanned<String>>, default: &'v str) -> &'v str {
    given.map_or(default, |given| given.value.as_str())
}

/// Returns a value of the inventory in the contract's type.
fn checked<T: FromStr>(value: &Spanned<String>) -> T {
    checked_text(&value.value)
}

fn checked_text<T: FromStr>(text: &str) -> T {
    let Ok(value) = text.parse() else {
        unreachable!("the inventory has been checked")
    };
    value
}
