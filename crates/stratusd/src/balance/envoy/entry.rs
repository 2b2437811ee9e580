//! A load balancer as Envoy should have it.

use std::net::SocketAddr;

use api_types::{Name, VmId};
use tokio::time::{Duration, Instant};

use super::super::certificate::Term;
use super::super::declared::{Declared, DeclaredVm};
use super::board::Answer;
use super::resources::Endpoint;

/// How long Envoy may take to read a file. Only what it says later is about what the file has.
const READ: Duration = Duration::from_secs(1);

/// Why an address is not listened on before it was decided whether it may be.
const NEW: &str = "it is about to be opened";

/// A load balancer as Envoy should have it.
#[derive(Debug)]
pub(super) struct Entry {
    pub declared: Declared,
    pub listeners: Vec<Address>,
    /// When the certificate that was written last ends.
    pub certificate: Option<Term>,
    pub detaching: Vec<Detaching>,
}

/// An address of a load balancer.
#[derive(Debug)]
pub(super) struct Address {
    pub address: SocketAddr,
    /// Why Envoy is not told to listen there, or `None` if it is.
    pub lack: Option<&'static str>,
}

/// A virtual machine that is not attached any more, and whose connections go on.
#[derive(Debug)]
pub(super) struct Detaching {
    pub vm: VmId,
    pub name: Name,
    pub address: SocketAddr,
    since: Instant,
    /// Whether it was logged that its time is over.
    is_late: bool,
}

impl Entry {
    /// Creates a load balancer without addresses and certificate.
    pub(super) fn new(declared: Declared) -> Self {
        Self {
            declared,
            listeners: Vec::new(),
            certificate: None,
            detaching: Vec::new(),
        }
    }

    /// Returns the address of a virtual machine, with the port that connections are forwarded to.
    pub(super) fn address_of(&self, vm: &DeclaredVm) -> Option<SocketAddr> {
        address_of(&self.declared, vm)
    }

    /// Replaces what is declared. Returns what was.
    ///
    /// A virtual machine that is detached, or whose address or port is another one, gets no more
    /// connections, and its open ones go on.
    pub(super) fn declare(&mut self, declared: Declared) -> Declared {
        let before = std::mem::replace(&mut self.declared, declared);
        let since = Instant::now();
        let detached = before.vms.iter().filter_map(|vm| {
            Some(Detaching {
                vm: vm.id.clone(),
                name: vm.name.clone(),
                address: address_of(&before, vm)?,
                since,
                is_late: false,
            })
        });
        self.detaching.extend(detached);
        // Those that are attached, and those whose address another one has now: Envoy knows an address
        // once.
        let declared = &self.declared;
        self.detaching.retain(|it| {
            let mut attached = declared.vms.iter();
            !attached.any(|vm| address_of(declared, vm) == Some(it.address))
        });
        before
    }

    /// Sets the addresses to listen on. Those that were there before stay as they are.
    pub(super) fn listen(&mut self, addresses: Vec<SocketAddr>) {
        let before = std::mem::take(&mut self.listeners);
        let lack = |address| {
            let mut before = before.iter();
            let same = before.find(|it| it.address == address);
            same.map_or(Some(NEW), |it| it.lack)
        };
        let addresses = addresses.into_iter().map(|address| Address {
            address,
            lack: lack(address),
        });
        self.listeners = addresses.collect();
    }

    /// Returns the addresses that Envoy is told to listen on.
    pub(super) fn open(&self) -> impl Iterator<Item = SocketAddr> {
        let open = self.listeners.iter().filter(|it| it.lack.is_none());
        open.map(|it| it.address)
    }

    /// Returns the virtual machines as Envoy should have them.
    pub(super) fn endpoints(&self) -> Vec<Endpoint> {
        let attached = self.declared.vms.iter().filter_map(|vm| {
            Some(Endpoint {
                vm: vm.id.to_string(),
                address: self.address_of(vm)?,
                is_detaching: false,
            })
        });
        let detaching = self.detaching.iter().map(|it| Endpoint {
            vm: it.vm.to_string(),
            address: it.address,
            is_detaching: true,
        });
        attached.chain(detaching).collect()
    }

    /// Forgets detached virtual machines whose connections have ended. Returns whether there were some.
    ///
    /// Envoy closes no connection because a virtual machine is detached, so those that go on after
    /// `drain` are logged. While it does not say how many there are, they count as ended after that.
    pub(super) fn drain(&mut self, cluster: &str, answer: &Answer, drain: Duration) -> bool {
        let number = self.detaching.len();
        let balancer = &self.declared.row.id;
        self.detaching.retain_mut(|it| {
            let age = it.since.elapsed();
            let Answer::Seen(seen) = answer else {
                return age < drain;
            };
            let host = seen.host(cluster, it.address).unwrap_or_default();
            let is_over = host.connections == 0 && age >= READ;
            if !is_over && age >= drain && !std::mem::replace(&mut it.is_late, true) {
                tracing::warn!(
                    load_balancer = %balancer,
                    vm = %it.vm,
                    connections = host.connections,
                    "connections of a detached virtual machine go on after balance_drain_timeout: Envoy ends none \
                     because of a change, so they last until a side ends them or balance_idle_timeout is over"
                );
            }
            !is_over
        });
        self.detaching.len() < number
    }
}

fn address_of(declared: &Declared, vm: &DeclaredVm) -> Option<SocketAddr> {
    let port = u16::try_from(declared.row.dst_port.get()).unwrap_or_default();
    vm.address.map(|address| SocketAddr::new(address, port))
}
