//! How much may be open at a time: of all load balancers, of those of a project, and of one.

use std::sync::Arc;

use tokio::sync::Semaphore;

use crate::serve::accept::open_files;
use crate::settings::BalanceSettings;

/// The number of health checks that are made at the same time. Others wait for their turn.
const CHECKS: u32 = 256;
/// The number of these that the virtual machines of one project have. Those that do not respond keep
/// a check until its time is over, and must not keep the checks of other projects waiting.
const CHECKS_OF_PROJECT: usize = 32;

/// The part of the addresses that the load balancers of one project may have: one of so many.
pub(super) const LISTENERS_OF_PROJECT: usize = 4;

/// The numbers of connections and addresses that may be open at a time.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// Connections of all load balancers.
    pub connections: usize,
    /// Connections of the load balancers of a project.
    pub of_project: usize,
    /// Connections of a load balancer.
    pub each: usize,
    /// Addresses that are listened on.
    pub listeners: usize,
}

impl Limits {
    /// Raises the limit of open files as far as the system allows, and returns the limits of the
    /// settings, or lower ones if so many files cannot be open: all in the same proportion, so that
    /// the share of a project remains one.
    pub(super) fn within_open_files(settings: &BalanceSettings) -> Self {
        let connections = settings.balance_connections.get();
        let listeners = settings.balance_listeners.get();
        // A connection is two: that of the caller and that to the virtual machine.
        let wanted = 2 * u64::from(connections) + u64::from(listeners);
        // A health check is one.
        let possible = open_files(CHECKS.into()).min(wanted);
        let limited = |limit: u32| {
            let limit = u64::from(limit) * possible / wanted;
            let limit = usize::try_from(limit.max(1)).unwrap_or(usize::MAX);
            limit.min(Semaphore::MAX_PERMITS)
        };
        let limits = Self {
            connections: limited(connections),
            of_project: limited(settings.balance_connections_project.get()),
            each: limited(settings.balance_connections_each.get()),
            listeners: limited(listeners),
        };
        if possible < wanted {
            tracing::warn!(
                connections = limits.connections,
                listeners = limits.listeners,
                "the limit of open files allows fewer connections and listeners: raise it, or lower \
                 balance_connections or balance_listeners"
            );
        }
        limits
    }
}

/// What is left for the load balancers of all projects together.
#[derive(Debug)]
pub(super) struct Room {
    /// A permit for each open connection.
    pub connections: Arc<Semaphore>,
    /// A permit for each address that is listened on.
    pub listeners: Arc<Semaphore>,
    /// A permit for each health check that is being made.
    pub checks: Semaphore,
}

impl Room {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            connections: Arc::new(Semaphore::new(limits.connections)),
            listeners: Arc::new(Semaphore::new(limits.listeners)),
            checks: Semaphore::new(usize::try_from(CHECKS).unwrap_or(usize::MAX)),
        }
    }
}

/// What is left for the load balancers of one project. They take a permit here and one of [`Room`], so
/// that no project takes everything.
#[derive(Debug)]
pub(super) struct Share {
    /// A permit for each open connection.
    pub connections: Arc<Semaphore>,
    /// A permit for each address that is listened on.
    pub listeners: Arc<Semaphore>,
    /// A permit for each health check that is being made, or is the next one in the line of all.
    pub checks: Semaphore,
}

impl Share {
    pub(super) fn new(limits: &Limits) -> Self {
        Self {
            connections: Arc::new(Semaphore::new(limits.of_project)),
            listeners: Arc::new(Semaphore::new(
                limits.listeners.div_ceil(LISTENERS_OF_PROJECT),
            )),
            checks: Semaphore::new(CHECKS_OF_PROJECT),
        }
    }
}
