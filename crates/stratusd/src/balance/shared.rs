//! What all parts of the engine that forwards connections itself share: its times and its limits.

use std::sync::Arc;
use std::time::Duration;

use tokio_util::sync::CancellationToken;
use tokio_util::task::TaskTracker;

use super::limits::{Limits, Room};
use crate::serve::accept::AcceptFailures;
use crate::settings::{BalanceSettings, ProxyProtocol};

/// The times and numbers of the settings, except the limits.
#[derive(Debug, Clone)]
pub(super) struct Timing {
    pub connect: Duration,
    pub idle: Duration,
    pub drain: Duration,
    pub check_every: Duration,
    pub check: Duration,
    pub rise: u32,
    pub fall: u32,
    pub proxy_protocol: ProxyProtocol,
    pub certificate_lifetime: Duration,
}

impl Timing {
    pub(super) fn of(settings: &BalanceSettings) -> Self {
        Self {
            connect: settings.balance_connect_timeout.get(),
            idle: settings.balance_idle_timeout.get(),
            drain: settings.balance_drain_timeout.get(),
            check_every: settings.balance_check_every.get(),
            check: settings.balance_check_timeout.get(),
            rise: settings.balance_check_rise.get(),
            fall: settings.balance_check_fall.get(),
            proxy_protocol: settings.balance_proxy_protocol,
            certificate_lifetime: settings.balance_certificate_lifetime.get(),
        }
    }
}

/// What all parts of the engine share.
#[derive(Debug)]
pub(super) struct Shared {
    pub timing: Timing,
    pub limits: Limits,
    pub room: Room,
    /// The tasks of open connections.
    pub tasks: TaskTracker,
    /// Cancelled when open connections have had their time to end.
    pub closing: CancellationToken,
    pub accept_failures: Arc<AcceptFailures>,
}

impl Shared {
    /// Creates what is shared before there are load balancers.
    pub(super) fn new(
        timing: Timing,
        limits: Limits,
        accept_failures: Arc<AcceptFailures>,
    ) -> Self {
        Self {
            timing,
            limits,
            room: Room::new(&limits),
            tasks: TaskTracker::new(),
            closing: CancellationToken::new(),
            accept_failures,
        }
    }

    /// Waits until all connections have ended, for the time to drain, and then closes them.
    pub(super) async fn drain(&self) {
        self.tasks.close();
        let drained = tokio::time::timeout(self.timing.drain, self.tasks.wait()).await;
        if drained.is_err() {
            let open = self.tasks.len();
            tracing::warn!(open, "closing connections that have not ended in time");
            self.closing.cancel();
            self.tasks.wait().await;
        }
    }
}
