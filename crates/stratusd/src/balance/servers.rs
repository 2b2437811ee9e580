//! HTTP servers in place of virtual machines, for demonstrations.
//!
//! A virtual machine whose public address is a loopback address can only be a program on this
//! machine. For the ports of `balance_http_ports`, the data plane is that program.

use std::collections::{HashMap, HashSet};
use std::net::{IpAddr, SocketAddr};
use std::sync::Arc;

use anyhow::Result;

use super::declared::DeclaredVm;
use crate::serve::accept::AcceptFailures;
use crate::serve::listen::{bind, listen};
use crate::serve::management::Management;

/// The maximum number of servers. Further virtual machines have none.
const MOST_SERVERS: usize = 64;

/// The servers that run.
pub(super) struct Servers {
    ports: Vec<u16>,
    failures: Arc<AcceptFailures>,
    running: HashMap<SocketAddr, Running>,
    /// The addresses that could not be listened on, so that each is logged once.
    failed: HashSet<SocketAddr>,
}

/// A server. Dropping it stops it.
struct Running {
    /// The name that it responds with.
    name: String,
    _server: Management,
}

impl Servers {
    pub(super) fn new(ports: &[u16], failures: Arc<AcceptFailures>) -> Self {
        Self {
            ports: ports.to_vec(),
            failures,
            running: HashMap::new(),
            failed: HashSet::new(),
        }
    }

    /// Returns whether there may be servers at all.
    pub(super) fn are_on(&self) -> bool {
        !self.ports.is_empty()
    }

    /// Starts the servers that virtual machines lack. Those that cannot listen are tried again at the
    /// next call.
    pub(super) fn start(&mut self, vms: &[DeclaredVm]) {
        for (address, name) in wanted(vms, &self.ports) {
            let is_full = self.running.len() + self.failed.len() >= MOST_SERVERS;
            if self.running.contains_key(&address) || is_full && !self.failed.contains(&address) {
                continue;
            }
            match self.listen(address, name) {
                Ok(server) => {
                    self.failed.remove(&address);
                    let running = Running {
                        name: name.to_owned(),
                        _server: server,
                    };
                    self.running.insert(address, running);
                }
                Err(error) => {
                    if self.failed.insert(address) {
                        tracing::error!(
                            %address,
                            error = format!("{error:#}"),
                            "a server in place of a virtual machine cannot listen, and tries again"
                        );
                    }
                }
            }
        }
    }

    /// Stops the servers of all other virtual machines, and those whose virtual machine has another
    /// name now.
    pub(super) fn keep<'v>(&mut self, vms: impl Iterator<Item = &'v DeclaredVm>) {
        let kept: HashMap<SocketAddr, &str> = wanted(vms, &self.ports).collect();
        self.running
            .retain(|address, running| kept.get(address) == Some(&&*running.name));
        self.failed.retain(|address| kept.contains_key(address));
    }

    fn listen(&self, address: SocketAddr, name: &str) -> Result<Management> {
        let listener = listen(bind(address)?)?;
        Management::respond(listener, format!("{name}\n"), Arc::clone(&self.failures))
    }
}

/// Returns the addresses at which virtual machines need a server, with their names.
fn wanted<'v>(
    vms: impl IntoIterator<Item = &'v DeclaredVm>,
    ports: &[u16],
) -> impl Iterator<Item = (SocketAddr, &'v str)> {
    let address_of = |vm: &DeclaredVm| vm.address.filter(IpAddr::is_loopback);
    vms.into_iter()
        .filter_map(move |vm| Some((address_of(vm)?, vm.name.as_str())))
        .flat_map(move |(address, name)| {
            ports
                .iter()
                .map(move |port| ((address, *port).into(), name))
        })
}
