//! A virtual machine as the data plane sees it.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicU8, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use api_types::{Name, VmId};
use tokio_util::sync::CancellationToken;

use super::choose::vm_hash;

/// The health of a virtual machine, by its last checks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Health {
    /// No check has ended yet. A connection waits for the first result rather than fail.
    Unchecked,
    /// It gets connections.
    Up,
    /// It gets no connections.
    Down,
}

/// A virtual machine at an address, with the port that a load balancer forwards to.
#[derive(Debug)]
pub(super) struct Target {
    pub vm: VmId,
    pub name: Name,
    /// Where to connect to, or `None` if the virtual machine has no public address. It is down then.
    pub address: Option<SocketAddr>,
    /// The hash of the virtual machine's id, by which callers are spread.
    pub hash: u64,
    health: AtomicU8,
    open: AtomicUsize,
    /// Cancelled when the virtual machine is detached.
    checks: Mutex<CancellationToken>,
    /// Cancelled to close its open connections.
    pub closing: CancellationToken,
}

impl Target {
    /// Creates a virtual machine whose health is not known. Cancelling `closing` closes its
    /// connections.
    pub(super) fn new(
        vm: VmId,
        name: Name,
        address: Option<SocketAddr>,
        closing: &CancellationToken,
    ) -> Self {
        let health = match address {
            Some(_) => Health::Unchecked,
            None => Health::Down,
        };
        Self {
            hash: vm_hash(vm.as_str()),
            vm,
            name,
            address,
            health: AtomicU8::new(health as u8),
            open: AtomicUsize::new(0),
            checks: Mutex::default(),
            closing: closing.child_token(),
        }
    }

    pub(super) fn health(&self) -> Health {
        match self.health.load(Ordering::Relaxed) {
            health if health == Health::Up as u8 => Health::Up,
            health if health == Health::Down as u8 => Health::Down,
            _ => Health::Unchecked,
        }
    }

    pub(super) fn set_health(&self, health: Health) {
        self.health.store(health as u8, Ordering::Relaxed);
    }

    /// Returns a new token for health checks that begin now. It is cancelled when the virtual
    /// machine is detached.
    pub(super) fn begin_checks(&self) -> CancellationToken {
        let token = CancellationToken::new();
        *self.checks.lock().unwrap_or_else(PoisonError::into_inner) = token.clone();
        token
    }

    /// Ends the health checks.
    pub(super) fn end_checks(&self) {
        let checks = self.checks.lock();
        checks.unwrap_or_else(PoisonError::into_inner).cancel();
    }

    /// Returns the number of open connections.
    pub(super) fn open(&self) -> usize {
        self.open.load(Ordering::Relaxed)
    }

    /// Counts a connection until what this returns is dropped.
    pub(super) fn count(self: &Arc<Self>) -> Counted {
        self.open.fetch_add(1, Ordering::Relaxed);
        Counted(Arc::clone(self))
    }
}

/// An open connection of a virtual machine, which counts until this is dropped.
#[derive(Debug)]
pub(super) struct Counted(Arc<Target>);

impl Counted {
    pub(super) fn target(&self) -> &Target {
        &self.0
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.open.fetch_sub(1, Ordering::Relaxed);
    }
}
