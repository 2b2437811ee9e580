//! HTTP servers in place of virtual machines, for demonstrations.
//!
//! A virtual machine whose public address is a loopback address can only be a program on this
//! machine. For the ports of `balance_http_ports`, the data plane is that program.

use std::collections::{HashMap, HashSet};
use std::net::SocketAddr;
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

    /// Starts the servers of the virtual machines that have none, and stops those of others.
    pub(super) fn bring<'v>(&mut self, vms: impl Iterator<Item = &'v DeclaredVm>) {
        let mut wanted: HashMap<SocketAddr, &str> = HashMap::new();
        for vm in vms {
            let Some(address) = vm.address.filter(|address| address.is_loopback()) else {
                continue;
            };
            for port in &self.ports {
                if wanted.len() < MOST_SERVERS {
                    wanted.insert((address, *port).into(), vm.name.as_str());
                }
            }
        }
        self.running
            .retain(|address, running| wanted.get(address) == Some(&&*running.name));
        self.failed.retain(|address| wanted.contains_key(address));
        for (address, name) in wanted {
            if self.running.contains_key(&address) {
                continue;
            }
            match self.start(address, name) {
                Ok(server) => {
                    self.failed.remove(&address);
                    let name = name.to_owned();
                    let _server = server;
                    self.running.insert(address, Running { name, _server });
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

    fn start(&self, address: SocketAddr, name: &str) -> Result<Management> {
        let listener = listen(bind(address)?)?;
        Management::respond(listener, format!("{name}\n"), Arc::clone(&self.failures))
    }
}
