//! What is counted: requests by operation and status, how long they take, connections, and the reconciler's steps.

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

/// Upper bounds of the buckets of durations, in seconds.
const BUCKETS: [f64; 11] = [
    0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 5.0,
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Answered {
    operation: &'static str,
    status: u16,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct Operation {
    operation: &'static str,
}

/// Everything that is counted.
pub(super) struct Metrics {
    registry: Registry,
    requests: Family<Answered, Counter>,
    durations: Family<Operation, Histogram, fn() -> Histogram>,
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
            "Time to answer",
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

    /// The count of open connections.
    pub(super) fn connections(&self) -> Gauge {
        self.connections.clone()
    }

    /// Counts an answer and the time that it took.
    pub(super) fn count(&self, operation: &'static str, status: StatusCode, time: Duration) {
        self.requests
            .get_or_create(&Answered {
                operation,
                status: status.as_u16(),
            })
            .inc();
        self.durations
            .get_or_create(&Operation { operation })
            .observe(time.as_secs_f64());
    }

    /// Everything in Prometheus' text format.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string does not fail.
        let _ = encode(&mut text, &self.registry);
        text
    }
}

/// The reconciler's counts, read when they are asked for.
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
                "Steps of the reconciler that went well",
                done,
            ),
            (
                "reconcile_steps_failed",
                "Steps of the reconciler that failed, to be tried again",
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
