//! A load balancer as the database declares it.

use std::net::IpAddr;
use std::sync::Arc;

use api_types::{LoadBalancerId, Name, ProjectId, VmId};

use crate::domain::allowed::Callers;
use crate::storage::balanced::Balanced;
use crate::storage::vm::Vm;

/// A load balancer with its virtual machines, as the database declares it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Declared {
    pub row: Balanced,
    pub hostname: String,
    /// The attached virtual machines, sorted by id.
    pub vms: Vec<DeclaredVm>,
    /// Who may connect, by the firewalls of the private subnet.
    pub callers: Arc<Callers>,
}

/// A virtual machine that is attached to a load balancer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeclaredVm {
    pub id: VmId,
    pub name: Name,
    /// The address to connect to, or `None` if the virtual machine has no public address.
    pub address: Option<IpAddr>,
}

impl From<Vm> for DeclaredVm {
    /// Takes the public address of IPv4, or else that of IPv6.
    ///
    /// Not an address of the private subnet: subnets of different projects may have the same
    /// addresses, so a process that serves all projects could not tell the virtual machines apart.
    fn from(vm: Vm) -> Self {
        let ip4 = vm.ip4.and_then(|ip4| ip4.as_str().parse().ok());
        let ip6 = || vm.ip6.and_then(|ip6| ip6.as_str().parse().ok());
        Self {
            id: vm.id,
            name: vm.name,
            address: ip4.or_else(ip6),
        }
    }
}

/// The ids of a project and of a load balancer in it.
pub(super) type Key = (ProjectId, LoadBalancerId);

impl Declared {
    pub(super) fn key(&self) -> Key {
        (self.row.project_id.clone(), self.row.id.clone())
    }
}
