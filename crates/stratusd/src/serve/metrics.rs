//! The metrics: requests by operation and status, their durations, open connections, and steps of
//! the reconciler.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::encoding::text::encode;
use prometheus_client::metrics::counter::{ConstCounter, Counter};
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use crate::reconcile::Steps;

/// The upper bounds of the histogram of durations, in seconds.
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
    connections: Gauge,
}

impl fmt::Debug for Metrics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Metrics").finish_non_exhaustive()
    }
}

impl Metrics {
    pub(super) fn new(steps: Arc<Steps>) -> Self {
        let mut registry = Registry::with_prefix("stratus");
        let requests = Family::default();
        let durations: Family<_, _, fn() -> Histogram> =
            Family::new_with_constructor(|| Histogram::new(BUCKETS));
        let connections = Gauge::default();
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
        registry.register("connections", "Open connections", connections.clone());
        registry.register_collector(Box::new(StepsCollector(steps)));
        Self {
            registry,
            requests,
            durations,
            connections,
        }
    }

    /// Returns the gauge of open connections.
    pub(super) fn connections(&self) -> Gauge {
        self.connections.clone()
    }

    /// Counts a response and the time that it took.
    pub(super) fn count(&self, operation: &'static str, status: StatusCode, time: Duration) {
        self.requests
            .get_or_create(&RequestLabels {
                operation,
                status: status.as_u16(),
            })
            .inc();
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

/// A collector of the counts of the reconciler, which keeps them itself.
#[derive(Debug)]
struct StepsCollector(Arc<Steps>);

impl prometheus_client::collector::Collector for StepsCollector {
    fn encode(
        &self,
        mut encoder: prometheus_client::encoding::DescriptorEncoder<'_>,
    ) -> Result<(), fmt::Error> {
        let Steps { done, failed, lost } = &*self.0;
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
        ];
        for (name, help, count) in counts {
            use prometheus_client::encoding::EncodeMetric;
            let counter = ConstCounter::new(count.load(Ordering::Relaxed));
            counter.encode(encoder.encode_descriptor(
                name,
                help,
                None,
                counter.metric_type(),
            )?)?;
        }
        Ok(())
    }
}
