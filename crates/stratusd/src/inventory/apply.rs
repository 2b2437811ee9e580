//! Changes the database to match an inventory, in one transaction.
//!
//! Resources are matched by name. What the API can change (how a load balancer works, what is
//! attached to it, which firewalls are attached to a subnet) is set from the inventory when a
//! resource is created. Afterwards the API owns it, and a difference is only reported.
//!
//! There is no separate planning: the plan is the list of steps that the transaction made. A dry
//! run makes the same changes and rolls them back, so that it reports exactly what a real run would
//! do, conflicts included.

mod entries;
mod firewalls;
mod key;
mod load_balancers;
mod locations;
mod nics;
mod private_subnets;
mod projects;
mod quotas;
mod vms;

use std::collections::HashSet;
use std::str::FromStr;

use api_types::FirewallId;
use serde_saphyr::Spanned;

use super::{Diagnostic, Inventory, ProjectEntry, Step, StepKind};
use crate::domain::quota::{Kind, Quotas};
use crate::storage::project::Project;
use crate::storage::{self, Aborted, Change, Connection};
use crate::world::World;
use entries::Entries;
use projects::Projects;

/// Whether to keep the changes, and whether to remove what is not in the inventory.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Mode {
    /// Whether to report the changes without making them.
    pub is_dry_run: bool,
    /// Whether to remove what is not in the inventory.
    pub prunes: bool,
}

/// Applies an inventory. Returns the steps that it took.
#[derive(Debug)]
pub struct Apply {
    /// The inventory.
    pub inventory: Inventory,
    /// The mode.
    pub mode: Mode,
    /// The source of time, and of randomness for ids and networks.
    pub world: World,
    /// The quotas of projects without their own.
    pub quotas: Quotas,
}

/// The reason why an inventory was not applied. The transaction is rolled back.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum ApplyRefusal {
    /// The run was a dry run, with these steps.
    DryRun(Vec<Step>),
    /// An entry contradicts what is in the database.
    Inconsistent(Diagnostic),
    /// A project or resource that cannot be removed or changed, for this reason.
    Blocked(String),
}

type Applied<T> = Result<T, Aborted<ApplyRefusal>>;

impl Change for Apply {
    type Output = Vec<Step>;
    type Refusal = ApplyRefusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Applied<Vec<Step>> {
        // One run at a time: two at once would both create what is missing, and one would fail
        // late.
        storage::inventory::lock(tx).await?;
        let mut run = Run {
            tx,
            world: &self.world,
            quotas: &self.quotas,
            mode: self.mode,
            steps: Vec::new(),
            entries: Entries::default(),
            created: Vec::new(),
            new_firewalls: HashSet::new(),
        };
        run.locations(&self.inventory).await?;
        let existing = storage::project::all(run.tx).await?;
        let by_key = Projects::of(&existing);
        for entry in &self.inventory.projects {
            let project = run.project(entry, &by_key).await?;
            run.resources(&project, entry).await?;
        }
        // Prune in the opposite order: a location can be deleted only once no project has anything
        // in it.
        run.prune_projects(&self.inventory, &existing).await?;
        run.prune_locations(&self.inventory).await?;
        let Run { steps, entries, .. } = run;
        entries.insert(tx, &self.world).await?;
        if self.mode.is_dry_run {
            Err(Aborted::Refused(ApplyRefusal::DryRun(steps)))
        } else {
            Ok(steps)
        }
    }
}

/// The state of applying an inventory.
struct Run<'r, 'c> {
    tx: &'r mut Connection<'c>,
    world: &'r World,
    quotas: &'r Quotas,
    mode: Mode,
    steps: Vec<Step>,
    /// The entries of the audit trail.
    entries: Entries,
    /// The kinds of which resources were created in the project.
    created: Vec<Kind>,
    /// The ids of the firewalls that this run has created. Only these are attached to existing
    /// subnets: one that existed before may have been detached through the API.
    new_firewalls: HashSet<FirewallId>,
}

fn inconsistent<T, V>(value: &Spanned<V>, message: String) -> Applied<T> {
    let diagnostic = Diagnostic::at(value, message);
    Err(Aborted::Refused(ApplyRefusal::Inconsistent(diagnostic)))
}

fn blocked<T>(message: String) -> Applied<T> {
    Err(Aborted::Refused(ApplyRefusal::Blocked(message)))
}

impl Run<'_, '_> {
    /// Creates, updates and prunes the resources of a project.
    async fn resources(&mut self, project: &Project, entry: &ProjectEntry) -> Applied<()> {
        self.lock_quotas(project, entry).await?;
        self.quotas(project, entry).await?;
        // Create what others refer to first: subnets refer to virtual machines and firewalls, load
        // balancers to virtual machines and subnets.
        let vms = self.vms(project, &entry.vms).await?;
        let firewalls = self.firewalls(project, &entry.firewalls).await?;
        let subnets = self
            .subnets(project, &entry.private_subnets, &vms, &firewalls)
            .await?;
        self.load_balancers(project, &entry.load_balancers, &vms, &subnets)
            .await?;
        // Prune what others refer to last: load balancers (pruned above) refer to subnets, network
        // interfaces to virtual machines.
        self.prune_subnets(project, &entry.private_subnets).await?;
        self.prune_firewalls(project, &entry.firewalls).await?;
        self.prune_vms(project, &entry.vms).await?;
        let created = std::mem::take(&mut self.created);
        self.ensure_within_quotas(project, &created).await
    }

    /// Notes that a resource of a kind was created.
    fn created(&mut self, kind: Kind) {
        if !self.created.contains(&kind) {
            self.created.push(kind);
        }
    }

    fn step(&mut self, kind: StepKind, what: String) {
        self.steps.push(Step { kind, what });
    }

    /// Reports the properties of a resource that differ from the inventory and are left to the API.
    fn report_differences(&mut self, what: &str, properties: &[&str]) {
        if !properties.is_empty() {
            let what = format!("{what} ({})", properties.join(", "));
            self.step(StepKind::Leave, what);
        }
    }

    /// Reports something that is not in the inventory. Returns whether to remove it.
    fn prunes(&mut self, what: String) -> bool {
        let kind = if self.mode.prunes {
            StepKind::Delete
        } else {
            StepKind::Keep
        };
        self.step(kind, what);
        self.mode.prunes
    }
}

/// Returns the value that an entry gives, or else the default.
fn or<'v>(given: Option<&'v Spanned<String>>, default: &'v str) -> &'v str {
    given.map_or(default, |given| given.value.as_str())
}

/// Returns a value of an entry in the contract's type. Values are checked before an inventory is
/// applied.
fn checked<T: FromStr>(value: &Spanned<String>) -> T {
    checked_text(&value.value)
}

fn checked_text<T: FromStr>(text: &str) -> T {
    let Ok(value) = text.parse() else {
        unreachable!("the inventory has been checked")
    };
    value
}
