//! Between the reader and what puts load balancers in force: an engine gets updates, and shows what
//! it sees.
//!
//! The reader (`watch`) knows nothing of sockets, and an engine nothing of the database. An engine may
//! forward connections itself, as `director` does, or write the configuration of a program that
//! forwards them, as `envoy` does.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use prometheus_client::encoding::DescriptorEncoder;
use tokio::sync::mpsc;
use tokio_util::sync::CancellationToken;

use super::status::BalancerStatus;
use super::watch::Update;

/// How often an engine looks for what changes without an update: listeners that have failed,
/// certificates to renew, and virtual machines whose connections have ended.
const TICK: Duration = Duration::from_millis(500);

/// What puts load balancers in force.
///
/// The first update says which load balancers there are, the next ones what each of them is, and each
/// later one what has changed. So an engine needs no database, and one that is started again gets
/// everything again.
pub(super) trait Engine {
    /// Puts an update in force for new connections. Open ones go on.
    ///
    /// Does not wait for a disk or a network: the next update waits meanwhile.
    fn apply(&mut self, update: Update);

    /// Does what is due without an update.
    fn tick(&mut self);

    /// Returns what the engine sees, for the management port.
    fn view(&self) -> Arc<dyn View>;

    /// Ends what ends with the process, and saves what outlives it.
    async fn stop(self);
}

/// What an engine sees of the load balancers.
pub(super) trait View: fmt::Debug + Send + Sync + 'static {
    /// Returns the status of all load balancers, sorted by project and id.
    fn balancers(&self) -> Vec<BalancerStatus>;

    /// Returns why the engine does not put in force what it gets, if it does not.
    fn problem(&self) -> Option<String>;

    /// Encodes the metrics that this engine alone has.
    fn encode(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error>;
}

/// Logs that all load balancers were read.
pub(super) fn log_complete(load_balancers: usize) {
    tracing::info!(load_balancers, "all load balancers are read");
}

/// Gives updates to an engine until `stop`, or until nobody sends any more, and then stops it.
pub(super) async fn run(
    mut engine: impl Engine,
    mut updates: mpsc::Receiver<Update>,
    stop: &CancellationToken,
) {
    let mut ticks = tokio::time::interval(TICK);
    ticks.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
    loop {
        tokio::select! {
            () = stop.cancelled() => break,
            update = updates.recv() => match update {
                Some(update) => engine.apply(update),
                None => break,
            },
            _ = ticks.tick() => engine.tick(),
        }
    }
    engine.stop().await;
}
