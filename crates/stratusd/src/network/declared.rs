//! The networks of a project as the database declares them.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::net::{Ipv4Addr, Ipv6Addr};

use api_types::{Name, NicId, PrivateSubnetId, ProjectId, VmId};

use crate::domain::allowed::{Network, Ports};
use crate::domain::network::{Net4, Net6};

/// The networks of a project, as far as virtual machines that run are in them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Declared {
    pub project: ProjectId,
    /// The virtual machines, sorted by id.
    pub vms: Vec<DeclaredVm>,
    /// The private subnets in which one of them has a network interface.
    pub subnets: BTreeMap<PrivateSubnetId, DeclaredSubnet>,
    /// What was left out in part, because there is too much of it.
    pub left_out: BTreeSet<LeftOut>,
}

/// Something of which a project may have too much.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum LeftOut {
    Vms,
    Nics,
    Links,
    Rules,
}

impl LeftOut {
    /// What is bounded in each project for itself.
    pub(super) const IN_PROJECTS: [Self; 3] = [Self::Nics, Self::Links, Self::Rules];
}

impl fmt::Display for LeftOut {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Vms => "virtual machines",
            Self::Nics => "network interfaces",
            Self::Links => "connections of private subnets",
            Self::Rules => "firewall rules",
        })
    }
}

/// A virtual machine that runs.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeclaredVm {
    pub id: VmId,
    pub name: Name,
    pub ip4: Option<Ipv4Addr>,
    pub ip6: Option<Ipv6Addr>,
    /// The network interfaces, sorted by subnet and address.
    pub nics: Vec<DeclaredNic>,
    /// The port to which a load balancer forwards.
    pub balanced: Option<u16>,
}

/// A network interface of a virtual machine.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct DeclaredNic {
    pub subnet: PrivateSubnetId,
    pub ip4: Ipv4Addr,
    pub ip6: Ipv6Addr,
    pub id: NicId,
}

/// A private subnet.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct DeclaredSubnet {
    pub net4: Net4,
    pub net6: Net6,
    /// The subnets with a higher id that it is connected to.
    pub links: Vec<PrivateSubnetId>,
    /// What its firewalls allow.
    pub allowed: Vec<Allowed>,
}

/// What a firewall rule allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Allowed {
    pub from: Network,
    pub protocol: Protocol,
    pub ports: Ports,
}

/// A protocol that a firewall rule can be for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Protocol {
    Tcp,
    Udp,
}
