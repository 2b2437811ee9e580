//! Load balancers.

use std::collections::{HashMap, HashSet};

use api_types::{
    LoadBalancer, LoadBalancerDetachVm, LoadBalancerFields, LoadBalancerPage, LoadBalancerSummary,
    LoadBalancerSummaryFields, LoadBalancerUpdate, ObjectIdInput, ProjectId, Reference,
};

use super::count;
use super::{Outcome, Scope, stored, stored_number, vm};
use crate::domain::id::{Kind, Referred};
use crate::domain::list::ListQuery;
use crate::domain::{Caller, Refusal, ensure_project};
use crate::storage::{self, Change, Connection, StorageError};

/// What the id of a virtual machine in a body must be.
const VM_ID: &str = "must be the id of a virtual machine in this project and location";
/// The most entries of `vms` that a refusal reports.
const MOST_REPORTED: usize = 20;

/// A page of the load balancers of a location.
pub async fn list(
    c: &mut Connection<'_>,
    scope: &Scope,
    query: &ListQuery,
    service_domain: &str,
) -> Outcome<LoadBalancerPage> {
    page(
        c,
        (&scope.project, Some(scope.location.as_str())),
        query,
        service_domain,
    )
    .await
}

/// A page of the load balancers of a project.
pub async fn list_of_project(
    c: &mut Connection<'_>,
    caller: &Caller,
    project: &ProjectId,
    query: &ListQuery,
    service_domain: &str,
) -> Outcome<LoadBalancerPage> {
    ensure_project(caller, project)?;
    page(c, (&caller.project_id, None), query, service_domain).await
}

async fn page(
    c: &mut Connection<'_>,
    (project, location): (&str, Option<&str>),
    query: &ListQuery,
    service_domain: &str,
) -> Outcome<LoadBalancerPage> {
    let page = query.page(Kind::LoadBalancer)?;
    let (size, items) = storage::load_balancer::page(c, project, location, &page).await?;
    let items: Result<Vec<_>, _> = items
        .iter()
        .map(|item| summary(item, service_domain))
        .collect();
    Ok(LoadBalancerPage::new(count(size)?, items?))
}

/// Sets how a load balancer works and what it serves.
#[derive(Debug)]
pub struct Update {
    /// Where.
    pub scope: Scope,
    /// The load balancer.
    pub reference: Reference,
    /// What it shall be like.
    pub body: LoadBalancerUpdate,
    /// The domain that host names end in.
    pub service_domain: String,
}

impl Change for Update {
    type Output = LoadBalancer;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Outcome<LoadBalancer> {
        let mut found = lookup(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
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
        let vms = self.vms(tx, &found.id).await?;
        self.body
            .algorithm
            .as_str()
            .clone_into(&mut found.algorithm);
        found.src_port = i64::from(self.body.src_port.get());
        found.dst_port = i64::from(self.body.dst_port.get());
        self.body
            .health_check_endpoint
            .as_str()
            .clone_into(&mut found.health_check_endpoint);
        if let Some(stack) = &self.body.stack {
            stack.as_str().clone_into(&mut found.stack);
        }
        // Null asks for what is the case already.
        if let Some(Some(cert_enabled)) = self.body.cert_enabled {
            found.cert_enabled = cert_enabled;
        }
        let project = &self.scope.project;
        storage::load_balancer::update(tx, project, &found).await?;
        storage::load_balancer::attach_only(tx, project, &found.id, &ids(&self.body.vms)).await?;
        Ok(shown(&found, vms, &self.service_domain)?)
    }
}

impl Update {
    /// Returns the virtual machines to attach, if each of them can be attached.
    async fn vms(
        &self,
        tx: &mut Connection<'_>,
        load_balancer: &str,
    ) -> Outcome<Vec<storage::vm::Vm>> {
        let asked = self
            .body
            .vms
            .iter()
            .filter(|id| Kind::Vm.is_id(id.as_str()));
        let asked: Vec<ObjectIdInput> = asked.cloned().collect();
        let (project, location) = self.scope.key();
        let found = storage::vm::of_ids(tx, project, location, &ids(&asked)).await?;
        let by_id: HashMap<&str, &storage::vm::AttachedVm> =
            found.iter().map(|found| (&*found.vm.id, found)).collect();
        let (mut seen, mut wrong) = (HashSet::new(), Vec::new());
        for (index, id) in self.body.vms.iter().map(ObjectIdInput::as_str).enumerate() {
            let other = by_id.get(id).map(|found| &found.load_balancer_id);
            let text = match other {
                _ if !seen.insert(id) => "is listed twice".to_owned(),
                None => VM_ID.to_owned(),
                Some(Some(other)) if other != load_balancer => self.taken(tx, other).await?,
                Some(_) => continue,
            };
            wrong.push(format!("vms[{index}]: {text}"));
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

    /// Returns what is wrong with a virtual machine that is attached to another load balancer.
    async fn taken(&self, tx: &mut Connection<'_>, other: &str) -> Outcome<String> {
        let other = storage::load_balancer::lookup_id(tx, self.scope.key(), other).await?;
        Ok(match other {
            Some(other) => format!("is attached to the load balancer `{}`", other.name),
            None => "is attached to another load balancer".to_owned(),
        })
    }
}

/// Takes a virtual machine out of a load balancer.
#[derive(Debug)]
pub struct DetachVm {
    /// Where.
    pub scope: Scope,
    /// The load balancer.
    pub reference: Reference,
    /// The virtual machine.
    pub body: LoadBalancerDetachVm,
    /// The domain that host names end in.
    pub service_domain: String,
}

impl Change for DetachVm {
    type Output = LoadBalancer;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Outcome<LoadBalancer> {
        let found = lookup(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let vm = self.body.vm_id.as_str();
        let (project, location) = self.scope.key();
        let is_known = Kind::Vm.is_id(vm)
            && !storage::vm::of_ids(
                tx,
                project,
                location,
                &ids(std::slice::from_ref(&self.body.vm_id)),
            )
            .await?
            .is_empty();
        if !is_known {
            return Err(Refusal::invalid("vm_id", VM_ID).into());
        }
        storage::load_balancer::detach(tx, project, &found, vm).await?;
        let vms = storage::load_balancer::vms(tx, project, &found.id).await?;
        Ok(shown(&found, vms, &self.service_domain)?)
    }
}

async fn lookup(
    tx: &mut Connection<'_>,
    scope: &Scope,
    reference: &Reference,
) -> Outcome<storage::load_balancer::LoadBalancer> {
    let found = match Referred::of(Kind::LoadBalancer, reference) {
        Referred::Id(id) => storage::load_balancer::lookup_id(tx, scope.key(), id).await?,
        Referred::Name(name) => storage::load_balancer::lookup_name(tx, scope.key(), name).await?,
    };
    Ok(found.ok_or(Refusal::NotFound)?)
}

/// Ids as a JSON array, the form in which a statement takes many.
fn ids(ids: &[ObjectIdInput]) -> String {
    let ids: serde_json::Value = ids.iter().map(ObjectIdInput::as_str).collect();
    ids.to_string()
}

fn hostname(of: &storage::load_balancer::LoadBalancer, service_domain: &str) -> String {
    let tail = of
        .subnet_id
        .get(of.subnet_id.len().saturating_sub(5)..)
        .unwrap_or_default();
    format!("{}.{tail}.{service_domain}", of.name)
}

fn summary(
    of: &storage::load_balancer::LoadBalancer,
    service_domain: &str,
) -> Result<LoadBalancerSummary, StorageError> {
    let mut summary = LoadBalancerSummary::from(LoadBalancerSummaryFields {
        algorithm: stored(&of.algorithm, "an algorithm")?,
        dst_port: stored_number(of.dst_port, "a port")?,
        health_check_endpoint: stored(&of.health_check_endpoint, "an endpoint")?,
        health_check_protocol: stored(&of.health_check_protocol, "a protocol")?,
        hostname: stored(&hostname(of, service_domain), "a host name")?,
        id: stored(&of.id, "an id")?,
        location: stored(&of.location, "a location")?,
        name: stored(&of.name, "a name")?,
        src_port: stored_number(of.src_port, "a port")?,
    });
    summary.stack = Some(stored(&of.stack, "a stack")?);
    summary.cert_enabled = Some(of.cert_enabled);
    Ok(summary)
}

fn shown(
    of: &storage::load_balancer::LoadBalancer,
    vms: Vec<storage::vm::Vm>,
    service_domain: &str,
) -> Result<LoadBalancer, StorageError> {
    let vms: Result<Vec<_>, _> = vms.into_iter().map(vm::shown).collect();
    let mut shown = LoadBalancer::from(LoadBalancerFields {
        algorithm: stored(&of.algorithm, "an algorithm")?,
        dst_port: stored_number(of.dst_port, "a port")?,
        health_check_endpoint: stored(&of.health_check_endpoint, "an endpoint")?,
        health_check_protocol: stored(&of.health_check_protocol, "a protocol")?,
        hostname: stored(&hostname(of, service_domain), "a host name")?,
        id: stored(&of.id, "an id")?,
        location: stored(&of.location, "a location")?,
        name: stored(&of.name, "a name")?,
        src_port: stored_number(of.src_port, "a port")?,
        subnet: stored(&of.subnet, "a name")?,
        vms: vms?,
    });
    shown.stack = Some(stored(&of.stack, "a stack")?);
    shown.cert_enabled = Some(of.cert_enabled);
    Ok(shown)
}
