//! A load balancer that runs: what is declared of it, its listeners and its virtual machines.

use std::collections::HashMap;
use std::net::{Ipv6Addr, SocketAddr};
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};

use tokio::sync::{Notify, Semaphore};
use tokio::time::Instant;
use tokio_rustls::TlsAcceptor;

use super::addresses::Given;
use super::certificate::Certificate;
use super::choose::Routing;
use super::declared::{Declared, DeclaredVm, Key};
use super::limits::Share;
use super::listener::Listener;
use super::shared::Shared;
use super::target::Target;
use crate::domain::allowed::Callers;

/// Why a load balancer for IPv6 alone does not listen if there are no addresses of IPv6.
pub(super) const LACKING_IPV6: &str =
    "load balancers have no addresses of IPv6: set balance_addresses_v6";

/// A load balancer that runs.
#[derive(Debug)]
pub(super) struct Balancer {
    pub key: Key,
    pub shared: Arc<Shared>,
    /// What the load balancers of the project may have together.
    pub share: Arc<Share>,
    /// A permit for each open connection.
    pub connections: Arc<Semaphore>,
    /// Notified when the health of a virtual machine changes, or another set of them is attached.
    pub changed: Notify,
    /// The number of connections that were accepted, by which `round_robin` chooses.
    pub accepted: AtomicUsize,
    pub refused: Refused,
    declared: RwLock<Arc<Declared>>,
    routing: RwLock<Arc<Routing>>,
    detaching: Mutex<Vec<Detaching>>,
    certificate: RwLock<Option<Certificate>>,
    /// The listeners by address, which the director alone changes.
    pub listeners: Mutex<HashMap<SocketAddr, Listener>>,
}

/// The numbers of connections that were closed at once, by reason.
#[derive(Debug, Default)]
pub(super) struct Refused {
    /// The firewalls of the private subnet do not allow the caller.
    pub firewall: AtomicU64,
    /// Too many connections were open.
    pub limit: AtomicU64,
    /// The TLS handshake failed or took too long.
    pub handshake: AtomicU64,
    /// No virtual machine is up, or all that are have refused.
    pub no_vm: AtomicU64,
}

/// A virtual machine that is not attached any more, and whose connections go on.
#[derive(Debug)]
struct Detaching {
    target: Arc<Target>,
    /// When the connections are closed.
    until: Instant,
}

impl Balancer {
    /// Creates a load balancer without virtual machines and listeners.
    pub(super) fn new(shared: Arc<Shared>, share: Arc<Share>, declared: Declared) -> Self {
        let routing = Routing {
            algorithm: declared.row.algorithm.clone(),
            targets: Vec::new(),
        };
        let key = declared.key();
        Self {
            connections: Arc::new(Semaphore::new(shared.limits.each)),
            share,
            key,
            shared,
            changed: Notify::new(),
            accepted: AtomicUsize::new(0),
            refused: Refused::default(),
            declared: RwLock::new(Arc::new(declared)),
            routing: RwLock::new(Arc::new(routing)),
            detaching: Mutex::default(),
            certificate: RwLock::default(),
            listeners: Mutex::default(),
        }
    }

    pub(super) fn declared(&self) -> Arc<Declared> {
        let declared = self.declared.read();
        Arc::clone(&declared.unwrap_or_else(PoisonError::into_inner))
    }

    pub(super) fn routing(&self) -> Arc<Routing> {
        let routing = self.routing.read();
        Arc::clone(&routing.unwrap_or_else(PoisonError::into_inner))
    }

    /// Returns what accepts TLS with the certificate in force, or `None` without one.
    pub(super) fn tls(&self) -> Option<TlsAcceptor> {
        let certificate = self.certificate.read();
        let certificate = certificate.unwrap_or_else(PoisonError::into_inner);
        certificate
            .as_ref()
            .map(|certificate| certificate.acceptor.clone())
    }

    /// Returns when the certificate ends, in milliseconds since 1970, or `None` without one.
    pub(super) fn certificate_ends(&self) -> Option<i64> {
        let certificate = self.certificate.read();
        let certificate = certificate.unwrap_or_else(PoisonError::into_inner);
        certificate
            .as_ref()
            .map(|certificate| certificate.term.ends)
    }

    /// Returns whether the certificate in force is for the host name and need not be renewed yet.
    pub(super) fn has_certificate(&self, hostname: &str, now: i64) -> bool {
        let certificate = self.certificate.read();
        let certificate = certificate.unwrap_or_else(PoisonError::into_inner);
        let in_force = certificate.as_ref();
        in_force.is_some_and(|it| it.term.is_good(hostname, now))
    }

    /// Puts a certificate in force for new connections.
    pub(super) fn set_certificate(&self, certificate: Certificate) {
        let in_force = self.certificate.write();
        *in_force.unwrap_or_else(PoisonError::into_inner) = Some(certificate);
    }

    pub(super) fn listeners(&self) -> MutexGuard<'_, HashMap<SocketAddr, Listener>> {
        self.listeners
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts what is declared in force for new connections, and returns the virtual machines that were
    /// not attached before at their address.
    ///
    /// A virtual machine that is detached, or whose address or port is another one, gets no more
    /// connections, and its open ones go on.
    pub(super) fn declare(&self, declared: Declared) -> Vec<Arc<Target>> {
        let port = u16::try_from(declared.row.dst_port.get()).unwrap_or_default();
        let mut before = self.routing().targets.clone();
        let mut detaching = self.lock_detaching();
        let mut new = Vec::new();
        let mut targets = Vec::with_capacity(declared.vms.len());
        for vm in &declared.vms {
            let address = vm.address.map(|address| SocketAddr::new(address, port));
            let is_same = |target: &Target| target.vm == vm.id && target.address == address;
            let kept = before.iter().position(|target| is_same(target));
            if let Some(at) = kept {
                targets.push(before.swap_remove(at));
                continue;
            }
            // One that is attached again keeps its open connections, and its health until the next
            // check.
            let is_back = |it: &Detaching| is_same(&it.target) && !it.target.closing.is_cancelled();
            let target = match detaching.iter().position(is_back) {
                Some(at) => detaching.swap_remove(at).target,
                None => Arc::new(self.target(vm, address)),
            };
            new.push(Arc::clone(&target));
            targets.push(target);
        }
        let until = Instant::now() + self.shared.timing.drain;
        for target in before {
            target.end_checks();
            detaching.push(Detaching { target, until });
        }
        drop(detaching);
        let routing = Routing {
            algorithm: declared.row.algorithm.clone(),
            targets,
        };
        set(&self.routing, routing);
        set(&self.declared, declared);
        self.changed.notify_waiters();
        new
    }

    /// Puts in force who may connect from now on. Open connections go on.
    pub(super) fn admit(&self, callers: Arc<Callers>) {
        let declared = self.declared();
        if declared.callers != callers {
            let declared = (*declared).clone();
            set(
                &self.declared,
                Declared {
                    callers,
                    ..declared
                },
            );
        }
    }

    /// Detaches all virtual machines, because the load balancer is gone.
    pub(super) fn withdraw(&self) {
        let declared = Declared {
            vms: Vec::new(),
            ..(*self.declared()).clone()
        };
        self.declare(declared);
    }

    /// Forgets detached virtual machines that have no open connections any more, and closes the
    /// connections of those that have had their time. Returns whether there are none left.
    pub(super) fn drain(&self) -> bool {
        let now = Instant::now();
        let mut detaching = self.lock_detaching();
        for it in detaching.iter().filter(|it| it.until <= now) {
            it.target.closing.cancel();
        }
        detaching.retain(|it| it.target.open() > 0);
        detaching.is_empty()
    }

    /// Returns the virtual machines whose connections go on although they are not attached any more.
    pub(super) fn detaching(&self) -> Vec<Arc<Target>> {
        let detaching = self.lock_detaching();
        let open = detaching.iter().filter(|it| it.target.open() > 0);
        open.map(|it| Arc::clone(&it.target)).collect()
    }

    /// Returns the number of open connections.
    pub(super) fn open(&self) -> usize {
        self.shared.limits.each - self.connections.available_permits()
    }

    /// Returns the number of the next connection.
    pub(super) fn turn(&self) -> usize {
        self.accepted.fetch_add(1, Ordering::Relaxed)
    }

    fn target(&self, vm: &DeclaredVm, address: Option<SocketAddr>) -> Target {
        let closing = &self.shared.closing;
        Target::new(vm.id.clone(), vm.name.clone(), address, closing)
    }

    fn lock_detaching(&self) -> MutexGuard<'_, Vec<Detaching>> {
        self.detaching
            .lock()
            .unwrap_or_else(PoisonError::into_inner)
    }
}

/// Replaces a value that others may hold.
fn set<T>(place: &RwLock<Arc<T>>, value: T) {
    *place.write().unwrap_or_else(PoisonError::into_inner) = Arc::new(value);
}

/// Returns the addresses that a load balancer is to listen on, of those that it was given. One for IPv6 alone
/// that was given none of it has the unspecified address ([`LACKING_IPV6`]).
pub(super) fn addresses(declared: &Declared, given: Given) -> Vec<SocketAddr> {
    use api_types::NetworkStack::{Dual, Ipv4, Ipv6};
    let Given { ipv4, ipv6 } = given;
    let given = match declared.row.stack {
        Ipv4 => [Some(ipv4), None],
        Ipv6 => [ipv6.or(Some(Ipv6Addr::UNSPECIFIED.into())), None],
        Dual => [Some(ipv4), ipv6],
        // Clients accept stacks that they do not know, but the service stores none.
        _ => [None, None],
    };
    let port = u16::try_from(declared.row.src_port.get()).unwrap_or_default();
    given
        .into_iter()
        .flatten()
        .map(|address| SocketAddr::new(address, port))
        .collect()
}
