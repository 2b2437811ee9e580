//! Operations on load balancers.

use std::collections::{HashMap, HashSet};

use api_types::{
    Hostname, IfMatch, LoadBalancer, LoadBalancerDetachVm, LoadBalancerFields, LoadBalancerPage,
    LoadBalancerSummary, LoadBalancerSummaryFields, LoadBalancerUpdate, Location, ObjectIdInput,
    ProjectId, Reference,
};

use super::{Result, Scope, vm};
use crate::domain::entity_tag::{Tagged, ensure_match};
use crate::domain::id::{Kind, Referred};
use crate::domain::list::ListQuery;
use crate::domain::{Caller, Refusal, ensure_project};
use crate::storage::{self, Change, Connection, Corrupt, StorageError};

/// The message about an id in a request body that is not the id of a virtual machine in the project
/// and location.
const VM_ID: &str = "must be the id of a virtual machine in this project and location";
/// The maximum number of invalid entries of `vms` that a refusal lists.
const MOST_REPORTED: usize = 20;

/// A row of the table `load_balancer`, with the name of its private subnet.
type Row = storage::load_balancer::LoadBalancer;

/// The query `load_balancer_list`: returns a page of the load balancers of a location.
pub async fn list(
    c: &mut Connection<'_>,
    scope: &Scope,
    query: &ListQuery,
    service_domain: &str,
) -> Result<LoadBalancerPage> {
    page(
        c,
        (&scope.project, Some(&scope.location)),
        query,
        service_domain,
    )
    .await
}

/// The query `project_load_balancer_list`: returns a page of the load balancers of a project.
pub async fn list_of_project(
    c: &mut Connection<'_>,
    caller: &Caller,
    project: &ProjectId,
    query: &ListQuery,
    service_domain: &str,
) -> Result<LoadBalancerPage> {
    ensure_project(caller, project)?;
    page(c, (&caller.project_id, None), query, service_domain).await
}

async fn page(
    c: &mut Connection<'_>,
    (project, location): (&ProjectId, Option<&Location>),
    query: &ListQuery,
    service_domain: &str,
) -> Result<LoadBalancerPage> {
    let page = query.page(Kind::LoadBalancer)?;
    let (size, items) = storage::load_balancer::page(c, project, location, &page).await?;
    let items = items.into_iter().map(|item| summary(item, service_domain));
    Ok(LoadBalancerPage::new(
        size,
        items.collect::<std::result::Result<_, _>>()?,
    ))
}

/// The change `load_balancer_update`: sets the properties of a load balancer that the API can
/// change, and replaces the list of its virtual machines.
#[derive(Debug)]
pub struct Update {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the load balancer.
    pub reference: Reference,
    /// The request body, with the new values.
    pub body: LoadBalancerUpdate,
    /// The `If-Match` of the request: the entity tags that the load balancer may have, or `None`
    /// for any.
    pub if_match: Option<IfMatch>,
    /// The domain that the host names of load balancers end in.
    pub service_domain: String,
}

impl Change for Update {
    type Output = Tagged<LoadBalancer>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<LoadBalancer>> {
        let found = lookup(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let mut found = matching(
            tx,
            &self.scope,
            self.if_match.as_ref(),
            found,
            &self.service_domain,
        )
        .await?;
        if self
            .body
            .health_check_endpoint
            .as_str()
            .chars()
            .any(char::is_control)
        {
            return Err(Refusal::invalid(
                "health_check_endpoint",
                "must not have control characters",
            )
            .into());
        }
        // Checked before the first write: on SQLite, a change that refuses after it has written
        // makes the others of its batch run again.
        let vms = self.vms(tx, &found).await?;
        found.algorithm = self.body.algorithm.clone();
        found.src_port = self.body.src_port;
        found.dst_port = self.body.dst_port;
        found.health_check_endpoint = self.body.health_check_endpoint.clone();
        if let Some(stack) = &self.body.stack {
            found.stack = stack.clone();
        }
        // Null leaves the value as it is, like an absent property.
        if let Some(Some(cert_enabled)) = self.body.cert_enabled {
            found.cert_enabled = cert_enabled;
        }
        let project = &self.scope.project;
        storage::load_balancer::update(tx, project, &found).await?;
        let ids: Vec<_> = vms.iter().map(|vm| &vm.id).collect();
        storage::load_balancer::attach_only(tx, project, &found.id, &ids).await?;
        Ok(shown(found, vms, &self.service_domain)?)
    }
}

impl Update {
    /// Returns the virtual machines that the request body lists, which are to be attached to `of`.
    ///
    /// # Errors
    ///
    /// If an id is listed twice, is not the id of a virtual machine in the project and location, or
    /// identifies one that is attached to another load balancer. The refusal lists at most
    /// [`MOST_REPORTED`] such ids, each with the reason.
    async fn vms(&self, tx: &mut Connection<'_>, of: &Row) -> Result<Vec<storage::vm::Vm>> {
        let asked = self.body.vms.iter().map(ObjectIdInput::as_str);
        let ids: HashSet<&str> = asked.clone().filter(|id| Kind::Vm.is_id(id)).collect();
        let ids: Vec<&str> = ids.into_iter().collect();
        let (project, location) = self.scope.key();
        // One statement for all ids, however many the body names.
        let found = storage::vm::of_ids(tx, project, location, &ids).await?;
        let by_id: HashMap<&str, &storage::vm::AttachedVm> = found
            .iter()
            .map(|found| (found.vm.id.as_str(), found))
            .collect();
        let (mut seen, mut wrong) = (HashSet::new(), Vec::new());
        for (index, id) in asked.enumerate() {
            let other = by_id.get(id).map(|found| &found.load_balancer_id);
            let text = match other {
                _ if !seen.insert(id) => "is listed twice".to_owned(),
                None => VM_ID.to_owned(),
                Some(Some(other)) if *other != of.id => self.taken(tx, other.as_str()).await?,
                Some(_) => continue,
            };
            wrong.push(format!("vms[{index}]: {text}"));
            // A body may name many virtual machines, and each wrong one may cost a statement.
            if wrong.len() == MOST_REPORTED {
                break;
            }
        }
        match wrong.len() {
            0 => Ok(found.into_iter().map(|attached| attached.vm).collect()),
            1 => Err(Refusal::invalid("vms", wrong.remove(0)).into()),
            _ => Err(Refusal::failed_rules("vms", "`vms` is not valid", wrong).into()),
        }
    }

    /// Returns the message about a virtual machine that cannot be attached, because it is attached
    /// to the load balancer with the id `other`.
    async fn taken(&self, tx: &mut Connection<'_>, other: &str) -> Result<String> {
        let other = storage::load_balancer::lookup_id(tx, self.scope.key(), other).await?;
        Ok(match other {
            Some(other) => format!("is attached to the load balancer `{}`", other.name),
            None => "is attached to another load balancer".to_owned(),
        })
    }
}

/// The change `load_balancer_detach_vm`: detaches a virtual machine from a load balancer. A virtual
/// machine that is not attached is not an error.
#[derive(Debug)]
pub struct DetachVm {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the load balancer.
    pub reference: Reference,
    /// The request body, with the id of the virtual machine.
    pub body: LoadBalancerDetachVm,
    /// The `If-Match` of the request: the entity tags that the load balancer may have, or `None`
    /// for any.
    pub if_match: Option<IfMatch>,
    /// The domain that the host names of load balancers end in.
    pub service_domain: String,
}

impl Change for DetachVm {
    type Output = Tagged<LoadBalancer>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<LoadBalancer>> {
        let found = lookup(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let found = matching(
            tx,
            &self.scope,
            self.if_match.as_ref(),
            found,
            &self.service_domain,
        )
        .await?;
        let (project, location) = self.scope.key();
        let vm = self.body.vm_id.as_str();
        let vms = if Kind::Vm.is_id(vm) {
            storage::vm::of_ids(tx, project, location, &[vm]).await?
        } else {
            Vec::new()
        };
        let Some(attached) = vms.first() else {
            return Err(Refusal::invalid("vm_id", VM_ID).into());
        };
        storage::load_balancer::detach(tx, project, &found, &attached.vm.id).await?;
        let vms = storage::load_balancer::vms(tx, project, &found.id).await?;
        Ok(shown(found, vms, &self.service_domain)?)
    }
}

async fn lookup(tx: &mut Connection<'_>, scope: &Scope, reference: &Reference) -> Result<Row> {
    let found = match Referred::of(Kind::LoadBalancer, reference) {
        Referred::Id(id) => storage::load_balancer::lookup_id(tx, scope.key(), id).await?,
        Referred::Name(name) => storage::load_balancer::lookup_name(tx, scope.key(), name).await?,
    };
    Ok(found.ok_or(Refusal::NotFound)?)
}

/// Locks a load balancer until the end of the change, reads it again, and checks that it has one of
/// the entity tags in `if_match`. Without `if_match`, returns `found` unchecked and unlocked.
///
/// # Errors
///
/// Refuses the change if the load balancer has none of the tags, or does not exist any more.
async fn matching(
    tx: &mut Connection<'_>,
    scope: &Scope,
    if_match: Option<&IfMatch>,
    found: Row,
    service_domain: &str,
) -> Result<Row> {
    let Some(if_match) = if_match else {
        return Ok(found);
    };
    storage::lock::load_balancer(tx, &scope.project, &found.id).await?;
    let locked = storage::load_balancer::lookup_id(tx, scope.key(), found.id.as_str()).await?;
    let locked = locked.ok_or(Refusal::NotFound)?;
    let vms = storage::load_balancer::vms(tx, &scope.project, &locked.id).await?;
    ensure_match(if_match, &shown(locked.clone(), vms, service_domain)?.tag)?;
    Ok(locked)
}

/// Returns the host name of a load balancer: its name, the last five characters of its subnet's id,
/// and `service_domain`, separated by dots.
fn hostname(of: &Row, service_domain: &str) -> std::result::Result<Hostname, StorageError> {
    let subnet = of.subnet_id.as_str();
    let tail = subnet
        .get(subnet.len().saturating_sub(5)..)
        .unwrap_or_default();
    let hostname = Hostname::try_from(format!("{}.{tail}.{service_domain}", of.name));
    hostname.map_err(|_| {
        StorageError::Corrupt(Corrupt {
            table: "load_balancer",
            column: "name",
        })
    })
}

fn summary(
    of: Row,
    service_domain: &str,
) -> std::result::Result<LoadBalancerSummary, StorageError> {
    let mut summary = LoadBalancerSummary::from(LoadBalancerSummaryFields {
        hostname: hostname(&of, service_domain)?,
        algorithm: of.algorithm,
        dst_port: of.dst_port,
        health_check_endpoint: of.health_check_endpoint,
        health_check_protocol: of.health_check_protocol,
        id: of.id,
        location: of.location,
        name: of.name,
        src_port: of.src_port,
    });
    summary.stack = Some(of.stack);
    summary.cert_enabled = Some(of.cert_enabled);
    Ok(summary)
}

fn shown(
    of: Row,
    vms: Vec<storage::vm::Vm>,
    service_domain: &str,
) -> std::result::Result<Tagged<LoadBalancer>, StorageError> {
    let mut shown = LoadBalancer::from(LoadBalancerFields {
        hostname: hostname(&of, service_domain)?,
        algorithm: of.algorithm,
        dst_port: of.dst_port,
        health_check_endpoint: of.health_check_endpoint,
        health_check_protocol: of.health_check_protocol,
        id: of.id,
        location: of.location,
        name: of.name,
        src_port: of.src_port,
        subnet: of.subnet,
        vms: vms.into_iter().map(vm::shown).collect(),
    });
    shown.stack = Some(of.stack);
    shown.cert_enabled = Some(of.cert_enabled);
    Ok(Tagged::of(shown))
}
