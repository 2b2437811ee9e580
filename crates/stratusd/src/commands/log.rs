//! The log of the commands that run until they are stopped.

use std::io::IsTerminal;
use std::sync::Arc;
use std::time::Duration;

use stratusd::log::LogQueue;
use stratusd::settings::{LogFormat, ProcessSettings};
use stratusd::traces::Traces;
use tracing::{Metadata, Subscriber};
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{FilterExt as _, filter_fn};
use tracing_subscriber::layer::SubscriberExt;
use tracing_subscriber::registry::LookupSpan;
use tracing_subscriber::util::SubscriberInitExt;

/// The maximum time that the process waits, before it exits, for its last log lines to be written.
const LOG_PATIENCE: Duration = Duration::from_secs(1);
/// The target of the log events in which tokio-postgres shows statements with their parameters. The
/// parameters may be secrets, so events of this target are never logged.
const PARAMETERS: &str = "tokio_postgres::query";

/// A guard that waits, when it is dropped, until the log lines have been written, but at most for
/// [`LOG_PATIENCE`]. A panic of the service drops it too.
pub(super) struct Flush(Arc<LogQueue>);

impl Flush {
    pub(super) fn of(log: &Arc<LogQueue>) -> Self {
        Self(Arc::clone(log))
    }
}

impl Drop for Flush {
    fn drop(&mut self) {
        self.0.flush(LOG_PATIENCE);
    }
}

/// Sends all log events of the process to `log`, filtered and formatted by the settings. A panic is
/// logged with its location only.
///
/// Nothing is logged to standard output, which has only the line with the addresses of the service.
pub(super) fn init_log(settings: &ProcessSettings, log: &Arc<LogQueue>, traces: Option<&Traces>) {
    let (filter, is_logged) = (settings.log.filter(), filter_fn(is_logged));
    let registry = tracing_subscriber::registry();
    match traces {
        None => registry
            .with(filter)
            .with(is_logged)
            .with(lines(settings, log))
            .init(),
        // The directives are for the log alone: with `warn`, spans are still exported.
        Some(traces) => registry
            .with(traces.layer())
            .with(lines(settings, log).with_filter(filter.and(is_logged)))
            .init(),
    }
    std::panic::set_hook(Box::new(|panic| {
        // Only the location: the message may contain data from a request.
        let location = panic
            .location()
            .map(ToString::to_string)
            .unwrap_or_default();
        tracing::error!(location, "panicked, which is a bug in stratusd");
    }));
}

/// Returns the layer that writes log events as lines.
fn lines<S>(settings: &ProcessSettings, log: &Arc<LogQueue>) -> Box<dyn Layer<S> + Send + Sync>
where
    S: Subscriber + for<'span> LookupSpan<'span>,
{
    let is_terminal = std::io::stderr().is_terminal();
    let layer = tracing_subscriber::fmt::layer()
        .with_writer(Arc::clone(log))
        .with_ansi(is_terminal);
    match settings.log_format {
        LogFormat::Human => layer.boxed(),
        LogFormat::Json => layer.json().boxed(),
    }
}

fn is_logged(metadata: &Metadata<'_>) -> bool {
    metadata.target() != PARAMETERS
}
