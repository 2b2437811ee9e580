//! The servers of virtual machines, for demonstrations: each responds to HTTP with the name of its virtual
//! machine. They are tasks of this process, whose sockets were opened in the namespaces.

use std::collections::BTreeMap;
use std::net::{Ipv6Addr, SocketAddr, TcpListener};
use std::sync::Arc;

use anyhow::{Context, Result};
use api_types::VmId;
use socket2::{Domain, Socket, Type};
use tokio::runtime::Handle;

use super::maker::Maker;
use super::names::Place;
use super::plan::{Plan, PlannedVm};
use crate::serve::accept::AcceptFailures;
use crate::serve::management::Management;

/// The maximum number of connections that the kernel queues before they are accepted.
const BACKLOG: i32 = 128;

/// The servers that run.
pub(super) struct Servers {
    ports: Vec<u16>,
    runtime: Handle,
    failures: Arc<AcceptFailures>,
    running: BTreeMap<VmId, Running>,
}

/// The servers of a virtual machine.
struct Running {
    /// The number of the namespace in which the sockets are.
    namespace: u64,
    name: String,
    /// Dropping them stops them.
    _servers: Vec<Management>,
}

impl Servers {
    pub(super) fn new(ports: &[u16], runtime: Handle, failures: Arc<AcceptFailures>) -> Self {
        Self {
            ports: ports.to_vec(),
            runtime,
            failures,
            running: BTreeMap::new(),
        }
    }

    /// Starts the servers of virtual machines that have none, and stops those of others. Returns what has
    /// failed.
    pub(super) fn bring(&mut self, plan: &Plan, maker: &Maker) -> BTreeMap<Place, String> {
        let mut failures = BTreeMap::new();
        if self.ports.is_empty() {
            return failures;
        }
        let planned: BTreeMap<&VmId, &PlannedVm> = plan.vms.iter().map(|vm| (&vm.id, vm)).collect();
        self.running.retain(|id, running| {
            let place = Place::Vm(id.clone());
            planned
                .get(id)
                .is_some_and(|vm| vm.name.as_str() == running.name)
                && maker.number(&place) == Some(running.namespace)
        });
        for (id, vm) in planned {
            let place = Place::Vm(id.clone());
            let Some(namespace) = maker.number(&place).filter(|_| maker.has(&place)) else {
                continue;
            };
            if self.running.contains_key(id) {
                continue;
            }
            match self.start(vm, &place, maker) {
                Ok(servers) => {
                    let name = vm.name.as_str().to_owned();
                    let running = Running {
                        namespace,
                        name,
                        _servers: servers,
                    };
                    self.running.insert(id.clone(), running);
                }
                Err(error) => {
                    failures.insert(place, format!("{error:#}"));
                }
            }
        }
        failures
    }

    fn start(&self, vm: &PlannedVm, place: &Place, maker: &Maker) -> Result<Vec<Management>> {
        let _runtime = self.runtime.enter();
        let mut servers = Vec::new();
        for port in &self.ports {
            let listener = maker.programs().inside(place, || listen(*port))?;
            let listener = listener
                .with_context(|| format!("failed to listen on port {port} of a virtual machine"))?;
            servers.push(Management::respond(
                listener,
                format!("{}\n", vm.name),
                Arc::clone(&self.failures),
            )?);
        }
        Ok(servers)
    }
}

/// Listens on a port of all addresses of both versions of IP.
fn listen(port: u16) -> std::io::Result<TcpListener> {
    let socket = Socket::new(Domain::IPV6, Type::STREAM, None)?;
    socket.set_only_v6(false)?;
    socket.set_reuse_address(true)?;
    socket.set_nonblocking(true)?;
    socket.bind(&SocketAddr::from((Ipv6Addr::UNSPECIFIED, port)).into())?;
    socket.listen(BACKLOG)?;
    Ok(socket.into())
}
