//! Operations that attach virtual machines to load balancers and detach them.

use api_types::{IfMatch, LoadBalancer, LoadBalancerAttachVm, LoadBalancerDetachVm, Reference};

use super::load_balancer::{Row, VM_ID, load, matching, shown, taken};
use super::{Result, Scope};
use crate::domain::Refusal;
use crate::domain::entity_tag::Tagged;
use crate::domain::id::Kind;
use crate::domain::load_balancer::MOST_VMS;
use crate::storage::{self, Change, Connection};

/// The change `load_balancer_attach_vm`: attaches a virtual machine to a load balancer. A virtual
/// machine that is attached to it already is not an error.
#[derive(Debug)]
pub struct AttachVm {
    /// The project and the location of the request, and the access of its caller.
    pub scope: Scope,
    /// The id or the name of the load balancer.
    pub reference: Reference,
    /// The request body, with the id of the virtual machine.
    pub body: LoadBalancerAttachVm,
    /// The `If-Match` of the request: the entity tags that the load balancer may have, or `None`
    /// for any.
    pub if_match: Option<IfMatch>,
    /// The domain that the host names of load balancers end in.
    pub service_domain: String,
}

impl Change for AttachVm {
    type Output = Tagged<LoadBalancer>;
    type Refusal = Refusal;

    async fn apply(&self, tx: &mut Connection<'_>) -> Result<Tagged<LoadBalancer>> {
        let found = load(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let (if_match, domain) = (self.if_match.as_ref(), &self.service_domain);
        let found = matching(tx, &self.scope, if_match, found, domain).await?;
        let vm = find_vm(tx, &self.scope, self.body.vm_id.as_str()).await?;
        let project = &self.scope.project;
        match &vm.load_balancer_id {
            // The virtual machines are read after the row, and belong to it only if no change of the
            // load balancer has been made in between.
            Some(other) if *other == found.id => {
                storage::load_balancer::advance(tx, project, &found).await?;
            }
            Some(other) => {
                let wrong = taken(tx, &self.scope, other.as_str()).await?;
                return Err(Refusal::invalid("vm_id", wrong).into());
            }
            None => {
                self.ensure_near(tx, &found, &vm.vm).await?;
                let attached = storage::load_balancer::vms(tx, project, &found.id).await?;
                if attached.len() >= MOST_VMS {
                    let wrong = format!(
                        "the load balancer has {} virtual machines, and may have {MOST_VMS}",
                        attached.len()
                    );
                    return Err(Refusal::invalid("vm_id", wrong).into());
                }
                storage::load_balancer::attach(tx, project, &found, &vm.vm.id).await?;
            }
        }
        let vms = storage::load_balancer::vms(tx, project, &found.id).await?;
        Ok(shown(found, vms, domain)?)
    }
}

impl AttachVm {
    /// Checks that a virtual machine is in the subnet of a load balancer, or in none.
    async fn ensure_near(
        &self,
        tx: &mut Connection<'_>,
        of: &Row,
        vm: &storage::vm::Vm,
    ) -> Result<()> {
        let project = &self.scope.project;
        let addresses = storage::private_subnet::addresses(tx, project, &vm.id).await?;
        let is_near = addresses
            .iter()
            .any(|address| address.subnet_id == of.subnet_id);
        let Some(address) = addresses.first().filter(|_| !is_near) else {
            return Ok(());
        };
        let wrong = format!(
            "is in the private subnet `{}`, and the load balancer in `{}`",
            address.subnet, of.subnet
        );
        Err(Refusal::invalid("vm_id", wrong).into())
    }
}

/// Returns the virtual machine with an id that a request body has in `vm_id`.
///
/// # Errors
///
/// Refuses the request if there is no such virtual machine in the project and location.
async fn find_vm(
    tx: &mut Connection<'_>,
    scope: &Scope,
    id: &str,
) -> Result<storage::vm::AttachedVm> {
    let (project, location) = scope.key();
    let found = if Kind::Vm.is_id(id) {
        storage::vm::of_ids(tx, project, location, &[id]).await?
    } else {
        Vec::new()
    };
    let found = found.into_iter().next();
    Ok(found.ok_or_else(|| Refusal::invalid("vm_id", VM_ID))?)
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
        let found = load(tx, &self.scope, &self.reference).await?;
        self.scope.access.ensure_full()?;
        let found = matching(
            tx,
            &self.scope,
            self.if_match.as_ref(),
            found,
            &self.service_domain,
        )
        .await?;
        let attached = find_vm(tx, &self.scope, self.body.vm_id.as_str()).await?;
        let project = &self.scope.project;
        storage::load_balancer::detach(tx, project, &found, &attached.vm.id).await?;
        let vms = storage::load_balancer::vms(tx, project, &found.id).await?;
        Ok(shown(found, vms, &self.service_domain)?)
    }
}
