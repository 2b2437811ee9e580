//! Operations on load balancers.

use std::collections::{HashMap, HashSet};

use api_types::{
    Hostname, IfMatch, LoadBalancer, LoadBalancerCreate, LoadBalancerFields, LoadBalancerId,
    LoadBalancerPage, LoadBalancerSummary, LoadBalancerSummaryFields, LoadBalancerUpdate, Location,
    Name, ObjectIdInput, PrivateSubnetId, ProjectId, Reference,
};

use super::audit::Deleted;
use super::firewall::find_subnet;
use super::{Context, Result, Scope, ensure_room, vm};
use crate::domain::entity_tag::{Tagged, ensure_match};
use crate::domain::id::{Id, Kind, Referred, name_of};
use crate::domain::list::ListQuery;
use crate::domain::load_balancer::{ensure_endpoint, ensure_few_vms};
use crate::domain::{Caller, Refusal, ensure_project, quota};
use crate::storage::{self, Change, Connection, Corrupt, StorageError};

/// The message about an id in a request body that is not the id of a virtual machine in the project
/// and location.
pub(super) const VM_ID: &str = "must be the id of a virtual machine in this project and location";
/// The maximum number of invalid entries of `vms` that a refusal lists.
const MOST_REPORTED: usize = 20;

/// A row of the table `load_balancer`, with the name of its private subnet.
pub(super) type Row = storage::load_balancer::LoadBalancer;

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

/// The query `load_balancer_view`: returns everything about a load balancer.
pub async fn view(
    c: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
    service_domain: &str,
) -> Result<Tagged<LoadBalancer>> {
    let found = load(c, scope, reference).await?;
    let vms = storage::load_balancer::vms(c, &scope.project, &found.id).await?;
    Ok(shown(found, vms, service_domain)?)
}

/// The change `load_balancer_create`: creates a load balancer without virtual machines.
#[derive(Debug)]
pub struct Create {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The name of the new load balancer.
    pub reference: Reference,
    /// The request body, with the settings of the new load balancer.
    pub body: LoadBalancerCreate,
    /// The source of randomness for the id, the default quotas, and the domain of host names.
    pub context: Context,
}

impl Change for Create {
    type Output = Tagged<LoadBalancer>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<LoadBalancer>> {
        self.scope.access.ensure_full()?;
        let Referred::Name(name) = Referred::of(Kind::LoadBalancer, &self.reference) else {
            let wrong = "must not have the form of a load balancer's id";
            return Err(Refusal::invalid("name", wrong).into());
        };
        ensure_endpoint(self.body.health_check_endpoint.as_str())?;
        let (field, subnet) = ("private_subnet_id", self.body.private_subnet_id.as_str());
        let subnet = find_subnet(tx, &self.scope, field, subnet).await?;
        // The unique key would reject the name too, but could not say why.
        let existing = storage::load_balancer::lookup_name(tx, self.scope.key(), name).await?;
        if existing.is_some() {
            let wrong = "is already the name of a load balancer in this location";
            return Err(Refusal::invalid("name", wrong).into());
        }
        let project = &self.scope.project;
        let quotas = &self.context.quotas;
        ensure_room(tx, project, quota::Kind::LoadBalancer, quotas).await?;
        let made = self.made(subnet);
        storage::load_balancer::insert(tx, project, &made).await?;
        Ok(shown(made, Vec::new(), &self.context.service_domain)?)
    }
}

impl Create {
    /// Returns the row of the new load balancer, with a generated id.
    fn made(&self, subnet: storage::private_subnet::PrivateSubnet) -> Row {
        let body = &self.body;
        Row {
            id: LoadBalancerId::generate(&self.context.world),
            location: self.scope.location.clone(),
            name: name_of(&self.reference),
            algorithm: body.algorithm.clone(),
            src_port: body.src_port,
            dst_port: body.dst_port,
            health_check_endpoint: body.health_check_endpoint.clone(),
            health_check_protocol: body.health_check_protocol.clone(),
            stack: body.stack.clone(),
            cert_enabled: body.cert_enabled,
            subnet_id: subnet.id,
            subnet: subnet.name,
            is_declared: false,
            revision: 0,
        }
    }
}

/// The change `load_balancer_delete`: deletes a load balancer and detaches its virtual machines. A
/// load balancer that does not exist is not an error.
#[derive(Debug)]
pub struct Delete {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the load balancer.
    pub reference: Reference,
    /// The `If-Match` of the request: the entity tags that the load balancer may have, or `None`
    /// for any.
    pub if_match: Option<IfMatch>,
    /// The domain that the host names of load balancers end in.
    pub service_domain: String,
}

impl Change for Delete {
    type Output = Deleted;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Deleted> {
        let found = lookup(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let Some(found) = found else {
            return Ok(Deleted(self.reference.to_string()));
        };
        // Locked, so that no virtual machine is attached before it is deleted.
        let (if_match, domain) = (self.if_match.as_ref(), &self.service_domain);
        if let Some(locked) = locked(tx, &self.scope, if_match, &found.id, domain).await? {
            storage::load_balancer::delete(tx, &self.scope.project, &locked).await?;
        }
        Ok(Deleted(found.id.to_string()))
    }
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
        let found = load(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let mut found = matching(
            tx,
            &self.scope,
            self.if_match.as_ref(),
            found,
            &self.service_domain,
        )
        .await?;
        ensure_endpoint(self.body.health_check_endpoint.as_str())?;
        // Before the search for them, so that a list of many ids costs no more than one of few.
        ensure_few_vms(self.body.vms.len())?;
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
    /// Returns the virtual machines that the request body lists, which the caller attaches to `of`. They may be
    /// in other private subnets, which contract 0.1.0 has never refused.
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
                Some(Some(other)) if *other != of.id => {
                    taken(tx, &self.scope, other.as_str()).await?
                }
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
}

/// Returns the message about a virtual machine that cannot be attached, because it is attached to
/// the load balancer with the id `other`.
pub(super) async fn taken(tx: &mut Connection<'_>, scope: &Scope, other: &str) -> Result<String> {
    let other = storage::load_balancer::lookup_id(tx, scope.key(), other).await?;
    Ok(match other {
        Some(other) => format!("is attached to the load balancer `{}`", other.name),
        None => "is attached to another load balancer".to_owned(),
    })
}

async fn lookup(
    tx: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
) -> Result<Option<Row>> {
    Ok(match Referred::of(Kind::LoadBalancer, reference) {
        Referred::Id(id) => storage::load_balancer::lookup_id(tx, scope.key(), id).await?,
        Referred::Name(name) => storage::load_balancer::lookup_name(tx, scope.key(), name).await?,
    })
}

/// Returns the load balancer that a request refers to.
///
/// # Errors
///
/// Refuses the request if there is no such load balancer.
pub(super) async fn load(
    tx: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
) -> Result<Row> {
    let found = lookup(tx, scope, reference).await?;
    Ok(found.ok_or(Refusal::NotFound)?)
}

/// Locks a load balancer until the end of the change, reads it again, and checks that it has one of
/// the entity tags in `if_match`, if that is set. Returns `None` if it does not exist any more.
///
/// # Errors
///
/// Refuses the change if the load balancer has none of the tags.
async fn locked(
    tx: &mut Connection<'_>,
    scope: &Scope,
    if_match: Option<&IfMatch>,
    id: &LoadBalancerId,
    service_domain: &str,
) -> Result<Option<Row>> {
    storage::lock::load_balancer(tx, &scope.project, id).await?;
    let locked = storage::load_balancer::lookup_id(tx, scope.key(), id.as_str()).await?;
    if let (Some(locked), Some(if_match)) = (&locked, if_match) {
        let vms = storage::load_balancer::vms(tx, &scope.project, id).await?;
        ensure_match(if_match, &shown(locked.clone(), vms, service_domain)?.tag)?;
    }
    Ok(locked)
}

/// Locks a load balancer and checks its entity tag, as [`locked`] does. Without `if_match`, returns
/// `found` unchecked and unlocked.
///
/// # Errors
///
/// Refuses the change if the load balancer has none of the tags, or does not exist any more.
pub(super) async fn matching(
    tx: &mut Connection<'_>,
    scope: &Scope,
    if_match: Option<&IfMatch>,
    found: Row,
    service_domain: &str,
) -> Result<Row> {
    if if_match.is_none() {
        return Ok(found);
    }
    let locked = locked(tx, scope, if_match, &found.id, service_domain).await?;
    Ok(locked.ok_or(Refusal::NotFound)?)
}

/// Returns the host name of a load balancer: its name, the last five characters of its subnet's id,
/// and `service_domain`, separated by dots.
pub(crate) fn hostname(
    name: &Name,
    subnet_id: &PrivateSubnetId,
    service_domain: &str,
) -> std::result::Result<Hostname, StorageError> {
    let subnet = subnet_id.as_str();
    let tail = subnet
        .get(subnet.len().saturating_sub(5)..)
        .unwrap_or_default();
    let hostname = Hostname::try_from(format!("{name}.{tail}.{service_domain}"));
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
        hostname: hostname(&of.name, &of.subnet_id, service_domain)?,
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

/// Returns a load balancer as responses show it, with its virtual machines and its entity tag.
pub(super) fn shown(
    of: Row,
    vms: Vec<storage::vm::Vm>,
    service_domain: &str,
) -> std::result::Result<Tagged<LoadBalancer>, StorageError> {
    let mut shown = LoadBalancer::from(LoadBalancerFields {
        hostname: hostname(&of.name, &of.subnet_id, service_domain)?,
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
