//! The signals of the process.

use std::sync::atomic::{AtomicBool, Ordering};

use anyhow::{Context, Result};
use tokio::signal::unix::{Signal, SignalKind, signal};
use tokio_util::sync::CancellationToken;

/// The exit code after a second signal to stop, as shells report a process that SIGINT has ended.
const INTERRUPTED: i32 = 130;

/// The signals that the process handles. Once it listens for them, none of them ends the process by
/// default.
#[derive(Debug)]
pub struct Signals {
    /// Cancelled on the first SIGTERM or SIGINT.
    pub(crate) stop: CancellationToken,
    /// SIGHUP, on which the certificate is reloaded.
    pub(crate) hang_up: Signal,
}

impl Signals {
    /// Listens for signals from now on, in a Tokio runtime. What starts later and must end by a signal needs
    /// them before: a signal is not kept for it.
    ///
    /// # Errors
    ///
    /// If the operating system refuses to tell them.
    pub fn listen() -> Result<Self> {
        let hang_up = signal(SignalKind::hangup()).context("failed to listen for SIGHUP")?;
        Ok(Self {
            stop: stop_token()?,
            hang_up,
        })
    }
}

/// Returns a token that the first SIGTERM or SIGINT cancels. The second one exits the process at
/// once.
fn stop_token() -> Result<CancellationToken> {
    let stop = CancellationToken::new();
    let canceller = stop.clone();
    let mut terminate = signal(SignalKind::terminate()).context("failed to listen for SIGTERM")?;
    let mut interrupt = signal(SignalKind::interrupt()).context("failed to listen for SIGINT")?;
    // Not whether the token is cancelled: that also happens when the listener fails.
    let is_second = AtomicBool::new(false);
    tokio::spawn(async move {
        loop {
            tokio::select! {
                _ = terminate.recv() => {}
                _ = interrupt.recv() => {}
            }
            if is_second.swap(true, Ordering::Relaxed) {
                std::process::exit(INTERRUPTED);
            }
            canceller.cancel();
        }
    });
    Ok(stop)
}
