//! The metrics: requests by operation and status, their durations, open connections, steps of the
//! reconciler, dropped log lines, and exported and dropped spans.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeLabelSet, EncodeMetric};
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::Telemetry;
use super::connections::ConnectionCounts;
use crate::gateway::Counts;
use crate::log::LogQueue;
use crate::reconcile::Steps;
use crate::traces::SpanCounts;

/// The upper bounds of the buckets of the histogram of request durations, in seconds.
const BUCKETS: [f64; 11] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0,
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    operation: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct DurationLabels {
    operation: &'static str,
}

/// All metrics of the service.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<RequestLabels, Counter>,
    durations: Family<DurationLabels, Histogram, fn() -> Histogram>,
    connections: ConnectionCounts,
    body_bytes: Gauge,
    body_refusals: Counter,
    gateway: Option<Arc<Counts>>,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    pub(super) fn new(steps: Arc<Steps>, telemetry: Telemetry) -> Self {
        let mut registry = Registry::with_prefix("stratus");
        let requests = Family::default();
        let durations: Family<_, _, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(BUCKETS));
        let connections = ConnectionCounts::default();
        let body_bytes = Gauge::default();
        let body_refusals = Counter::default();
        registry.register(
            "requests",
            "Requests by operation and status",
            requests.clone(),
        );
        registry.register(
            "request_duration_seconds",
            "Time from a request to its response",
            durations.clone(),
        );
        connections.register(
            &mut registry,
            ["connections", "connections_closed", "connections_refused"],
        );
        registry.register(
            "body_bytes",
            "Bytes of large bodies in progress, beyond the 16 KiB that each request has",
            body_bytes.clone(),
        );
        registry.register(
            "body_refusals",
            "Requests rejected because too many bytes of bodies were in progress",
            body_refusals.clone(),
        );
        registry.register_collector(Box::new(StepsCollector(steps)));
        registry.register_collector(Box::new(LogCollector(telemetry.log)));
        registry.register_collector(Box::new(SpansCollector(telemetry.spans)));
        Self {
            registry,
            requests,
            durations,
            connections,
            body_bytes,
            body_refusals,
            gateway: None,
        }
    }

    /// Adds the metrics of the gateway.
    pub(super) fn with_gateway(mut self, counts: Arc<Counts>) -> Self {
        counts.register(&mut self.registry);
        self.gateway = Some(counts);
        self
    }

    /// Returns the requests of each inference key in the `OpenMetrics` text format, or `None` if
    /// there is no gateway.
    pub(super) fn keys_text(&self) -> Option<String> {
        self.gateway.as_ref().map(|counts| counts.keys_text())
    }

    /// Returns what is counted about connections to the API.
    pub(super) fn connections(&self) -> ConnectionCounts {
        self.connections.clone()
    }

    /// Returns the gauge of the bytes that the bodies in progress have beyond the 16 KiB that are
    /// reserved for each request.
    pub(super) fn body_bytes(&self) -> Gauge {
        self.body_bytes.clone()
    }

    /// Returns the counter of requests that were rejected because their bodies did not fit into the
    /// body budget.
    pub(super) fn body_refusals(&self) -> Counter {
        self.body_refusals.clone()
    }

    /// Counts a request of an operation with the status of its response.
    pub(super) fn count(&self, operation: &'static str, status: u16) {
        self.requests
            .get_or_create(&RequestLabels { operation, status })
            .inc();
    }

    /// Records the time from a request of an operation to its response.
    pub(super) fn record(&self, operation: &'static str, time: Duration) {
        self.durations
            .get_or_create(&DurationLabels { operation })
            .observe(time.as_secs_f64());
    }

    /// Returns all metrics in the `OpenMetrics` text format.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// A collector that reports the numbers of steps that the reconciler counts in a [`Steps`].
#[derive(Debug)]
struct StepsCollector(Arc<Steps>);

impl Collector for StepsCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let Steps {
            done,
            failed,
            lost,
            postponed,
            missing,
            nearly_full,
            put_off,
            events,
            event_streams,
        } = &*self.0;
        let counts = [
            (
                "reconcile_steps_done",
                "Steps of the reconciler that succeeded",
                done,
            ),
            (
                "reconcile_steps_failed",
                "Steps of the reconciler that failed and will be retried",
                failed,
            ),
            (
                "reconcile_steps_lost",
                "Steps of the reconciler that another worker took over",
                lost,
            ),
            (
                "reconcile_steps_postponed",
                "Steps of the reconciler that the provisioner could not make at the time",
                postponed,
            ),
            (
                "reconcile_steps_missing",
                "Steps of the reconciler that failed because the provisioner has lost the database",
                missing,
            ),
            (
                "reconcile_steps_nearly_full",
                "Steps of the reconciler that found a database which uses at least 90 % of its storage",
                nearly_full,
            ),
            (
                "reconcile_steps_put_off",
                "Steps of the reconciler that began later because others of their project are slow or fail",
                put_off,
            ),
            (
                "reconcile_events",
                "Databases that events of the provisioner have named",
                events,
            ),
            (
                "reconcile_event_streams",
                "Streams of events that the provisioner has begun to send",
                event_streams,
            ),
        ];
        for (name, help, count) in counts {
            encode_counter(&mut encoder, name, help, count.load(Ordering::Relaxed))?;
        }
        Ok(())
    }
}

/// A collector that reports the number of dropped log lines, which a [`LogQueue`] counts.
#[derive(Debug)]
struct LogCollector(Arc<LogQueue>);

impl Collector for LogCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "Log lines that were dropped because their reader did not keep up";
        encode_counter(&mut encoder, "log_lines_dropped", help, self.0.dropped())
    }
}

/// A collector that reports the numbers of exported and dropped spans, which a [`SpanCounts`] has.
#[derive(Debug)]
struct SpansCollector(Arc<SpanCounts>);

impl Collector for SpansCollector {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let help = "Spans that the collector of traces has accepted";
        encode_counter(&mut encoder, "spans_exported", help, self.0.exported())?;
        let help =
            "Spans that were dropped because the collector did not accept them, or not in time";
        encode_counter(&mut encoder, "spans_dropped", help, self.0.dropped())
    }
}

fn encode_counter(
    encoder: &mut DescriptorEncoder<'_>,
    name: &str,
    help: &str,
    count: u64,
) -> Result<(), fmt::Error> {
    let counter = ConstCounter::new(count);
    counter.encode(encoder.encode_descriptor(name, help, None, counter.metric_type())?)
}
