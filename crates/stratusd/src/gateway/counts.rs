//! The counts of the gateway, which are metrics by project.
//!
//! Tenants decide how many keys there are, and metrics of each would cost the monitoring system
//! memory for each key that ever was. So the metrics of the service have totals and projects, which
//! the operator declares, and the counts of keys ([`KeyTable`]) are a text of their own, which an
//! operator who wants them collects from another path.

use std::collections::HashSet;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use http::StatusCode;
use prometheus_client::encoding::EncodeLabelSet;
use prometheus_client::metrics::counter::Counter;
use prometheus_client::metrics::family::Family;
use prometheus_client::metrics::gauge::Gauge;
use prometheus_client::metrics::histogram::Histogram;
use prometheus_client::registry::Registry;

use super::error::GatewayError;
use super::key_counts::KeyTable;
use super::keys::Key;
use crate::serve::connections::ConnectionCounts;

/// The number of projects that have metrics of their own: the first ones since the start. The
/// others are counted together.
const MOST_PROJECTS: usize = 1_000;
/// The name of the projects and keys that are counted together.
pub(super) const OTHER: &str = "other";

/// The upper bounds of the buckets of the histogram of times to a response, in seconds. A model
/// takes longer than a database.
const BUCKETS: [f64; 11] = [
    0.005, 0.025, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 15.0, 60.0, 300.0,
];

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RequestLabels {
    project: String,
    route: &'static str,
    status: &'static str,
}

#[derive(Debug, Clone, PartialEq, Eq, Hash, EncodeLabelSet)]
struct RefusalLabels {
    reason: &'static str,
}

/// The counts of the gateway.
#[derive(Debug)]
pub struct Counts {
    requests: Family<RequestLabels, Counter>,
    refusals: Family<RefusalLabels, Counter>,
    in_progress: Gauge,
    connections: ConnectionCounts,
    times: Histogram,
    /// The projects that have metrics of their own.
    projects: Mutex<HashSet<String>>,
    keys: KeyTable,
}

impl Default for Counts {
    fn default() -> Self {
        Self {
            requests: Family::default(),
            refusals: Family::default(),
            in_progress: Gauge::default(),
            connections: ConnectionCounts::default(),
            times: Histogram::new(BUCKETS),
            projects: Mutex::default(),
            keys: KeyTable::default(),
        }
    }
}

impl Counts {
    /// Adds the metrics to those of the service.
    pub(crate) fn register(&self, registry: &mut Registry) {
        registry.register(
            "gateway_requests",
            "Requests with a valid inference key, by project, route and class of status",
            self.requests.clone(),
        );
        registry.register(
            "gateway_refusals",
            "Requests to which the gateway has responded with an error of its own, by reason",
            self.refusals.clone(),
        );
        registry.register(
            "gateway_requests_in_progress",
            "Requests that are forwarded at the moment",
            self.in_progress.clone(),
        );
        self.connections.register(
            registry,
            [
                "gateway_connections",
                "gateway_connections_closed",
                "gateway_connections_refused",
            ],
        );
        registry.register(
            "gateway_response_seconds",
            "Time from a request to the beginning of the upstream's response",
            self.times.clone(),
        );
    }

    /// Returns what is counted about connections to the gateway.
    pub(crate) fn connections(&self) -> ConnectionCounts {
        self.connections.clone()
    }

    /// Returns the requests of each key, in the `OpenMetrics` text format.
    pub(crate) fn keys_text(&self) -> String {
        self.keys.text()
    }

    /// Counts a request in progress, until what this returns is dropped.
    pub(super) fn begin(&self) -> InProgress {
        self.in_progress.inc();
        InProgress(self.in_progress.clone())
    }

    /// Records the time from a request to the beginning of the upstream's response.
    pub(super) fn observe(&self, time: Duration) {
        self.times.observe(time.as_secs_f64());
    }

    /// Counts a response of the gateway.
    pub(super) fn count(
        &self,
        key: Option<&Key>,
        route: &'static str,
        status: StatusCode,
        refusal: Option<GatewayError>,
    ) {
        if let Some(refusal) = refusal {
            let reason = refusal.code();
            self.refusals.get_or_create(&RefusalLabels { reason }).inc();
        }
        let Some(key) = key else { return };
        let labels = RequestLabels {
            project: self.project_label(key.project.as_str()),
            route,
            status: class(status),
        };
        self.requests.get_or_create(&labels).inc();
        let (project, id) = (key.project.as_str(), key.id.as_str());
        self.keys.count(project, id, refusal.is_some());
    }

    /// Returns the id of a project, or [`OTHER`] if too many others have metrics of their own.
    fn project_label(&self, project: &str) -> String {
        let mut projects = self.projects.lock().unwrap_or_else(PoisonError::into_inner);
        if !projects.contains(project) {
            if projects.len() >= MOST_PROJECTS {
                return OTHER.to_owned();
            }
            projects.insert(project.to_owned());
        }
        project.to_owned()
    }
}

/// A request that is forwarded.
#[derive(Debug)]
pub(super) struct InProgress(Gauge);

impl Drop for InProgress {
    fn drop(&mut self) {
        self.0.dec();
    }
}

/// Returns the class of a status. An upstream decides on the status, so each status as a label would
/// have no small bound.
fn class(status: StatusCode) -> &'static str {
    match status.as_u16() {
        0..300 => "2xx",
        300..400 => "3xx",
        400..500 => "4xx",
        _ => "5xx",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_so_many_projects_have_metrics_of_their_own() {
        let counts = Counts::default();
        for number in 0..MOST_PROJECTS {
            let project = number.to_string();
            assert_eq!(counts.project_label(&project), project);
        }
        assert_eq!(counts.project_label("one more"), OTHER);
        assert_eq!(counts.project_label("0"), "0");
    }
}
