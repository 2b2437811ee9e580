//! What the data plane sees of each load balancer, for the operator's command.

use std::net::SocketAddr;

use serde::{Deserialize, Serialize};

use super::balancer::Balancer;
use super::listener::Listener;
use super::target::{Health, Target};

/// What the data plane sees of a load balancer.
#[derive(Debug, Serialize, Deserialize)]
pub struct BalancerStatus {
    /// The id of the project.
    pub project: String,
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The host name.
    pub hostname: String,
    /// How a virtual machine is chosen.
    pub algorithm: String,
    /// The port of the virtual machines.
    pub dst_port: i32,
    /// The addresses that the load balancer listens on, or is to.
    pub listeners: Vec<ListenerStatus>,
    /// When its certificate ends, in milliseconds since 1970, or `None` without one.
    pub certificate_ends: Option<i64>,
    /// The number of open connections.
    pub connections: usize,
    /// The virtual machines, also those that are being detached.
    pub vms: Vec<VmStatus>,
}

/// An address of a load balancer.
#[derive(Debug, Serialize, Deserialize)]
pub struct ListenerStatus {
    /// The address with the port.
    pub address: SocketAddr,
    /// Why the load balancer does not listen there, or `None` if it does.
    pub problem: Option<String>,
}

/// What the data plane sees of a virtual machine.
#[derive(Debug, Serialize, Deserialize)]
pub struct VmStatus {
    /// The id.
    pub id: String,
    /// The name.
    pub name: String,
    /// The address with the port, or `None` if it has no public address.
    pub address: Option<SocketAddr>,
    /// `up`, `down`, `detaching`, or `unknown` while an Envoy that forwards the connections does not
    /// respond.
    pub state: String,
    /// The number of open connections.
    pub connections: usize,
}

/// Returns the status of a load balancer of the engine that forwards connections itself.
pub(super) fn of(balancer: &Balancer) -> BalancerStatus {
    let declared = balancer.declared();
    let mut listeners: Vec<ListenerStatus> = balancer
        .listeners()
        .iter()
        .map(|(address, listener)| ListenerStatus {
            address: *address,
            problem: match listener {
                Listener::Open(_) => None,
                Listener::Failed(reason) => Some(reason.clone()),
            },
        })
        .collect();
    listeners.sort_by_key(|listener| listener.address);
    let attached = balancer.routing();
    let attached = attached
        .targets
        .iter()
        .map(|target| vm(target, state(target)));
    let detaching = balancer.detaching();
    let detaching = detaching.iter().map(|target| vm(target, "detaching"));
    BalancerStatus {
        project: balancer.key.0.to_string(),
        id: balancer.key.1.to_string(),
        name: declared.row.name.to_string(),
        hostname: declared.hostname.clone(),
        algorithm: declared.row.algorithm.as_str().to_owned(),
        dst_port: declared.row.dst_port.get(),
        listeners,
        certificate_ends: balancer
            .certificate_ends()
            .filter(|_| declared.row.cert_enabled),
        connections: balancer.open(),
        vms: attached.chain(detaching).collect(),
    }
}

/// Returns the state of an attached virtual machine. One that was not checked yet gets no connections,
/// and so counts as down.
fn state(target: &Target) -> &'static str {
    match target.health() {
        Health::Up => "up",
        Health::Down | Health::Unchecked => "down",
    }
}

fn vm(target: &Target, state: &str) -> VmStatus {
    VmStatus {
        id: target.vm.to_string(),
        name: target.name.to_string(),
        address: target.address,
        state: state.to_owned(),
        connections: target.open(),
    }
}
