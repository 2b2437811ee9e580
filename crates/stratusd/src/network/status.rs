//! What is known of the networks on this machine: for the operator, health checks and metrics.

use std::fmt;
use std::future::ready;
use std::net::IpAddr;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use axum::Router;
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use http::{StatusCode, header};
use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, EncodeMetric, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;
use serde::Serialize;

use crate::log::LogQueue;
use crate::serve::management::{exposition, readiness};
use crate::watch::Reading;

/// What is known of the networks.
#[derive(Debug, Clone, Default, PartialEq, Eq, Serialize)]
pub(super) struct Status {
    /// Whether everything that was read is on this machine, other than what has a problem and rules that
    /// have changed again soon after they were loaded.
    pub is_in_force: bool,
    pub vms: Vec<VmStatus>,
    /// What cannot be made, and why.
    pub problems: Vec<String>,
    /// What projects have beyond their bounds, which is no problem of the others.
    pub left_out: Vec<String>,
}

/// What is known of a virtual machine.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub(super) struct VmStatus {
    pub project: String,
    pub id: String,
    pub name: String,
    /// The name of its namespace.
    pub namespace: String,
    pub public: Vec<IpAddr>,
    pub private: Vec<IpAddr>,
    /// Whether it is on this machine with all that it needs.
    pub is_up: bool,
}

/// The status, which the thread that makes networks writes and the management port reads.
#[derive(Debug, Default)]
pub(super) struct Shared {
    status: Mutex<Status>,
    pub reading: Arc<Reading>,
}

impl Shared {
    /// Writes the status, and logs each new problem and that there are none any more.
    pub(super) fn set(&self, status: Status) {
        let mut now = self.lock();
        let before = std::mem::replace(&mut *now, status);
        for problem in &now.problems {
            if !before.problems.contains(problem) {
                tracing::error!("{problem}");
            }
        }
        for left_out in &now.left_out {
            if !before.left_out.contains(left_out) {
                tracing::warn!("{left_out}");
            }
        }
        if now.problems.is_empty() && !before.problems.is_empty() {
            tracing::info!("the networks have no problems any more");
        }
        if now.is_in_force && !before.is_in_force {
            tracing::info!(vms = now.vms.len(), "the networks are as declared");
        }
    }

    fn lock(&self) -> MutexGuard<'_, Status> {
        self.status.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Checks that what the database says is in force.
    ///
    /// # Errors
    ///
    /// The reason why it is not, as the body of the response to the probe.
    fn check(&self) -> Result<(), String> {
        match self.reading.age() {
            None => return Err("the database was not read yet\n".to_owned()),
            Some(age) if !self.reading.is_current() => {
                return Err(format!(
                    "the database cannot be read: the networks are those of {} seconds ago\n",
                    age.as_secs()
                ));
            }
            Some(_) => {}
        }
        let status = self.lock();
        match status.problems.first() {
            Some(problem) => Err(format!("{problem}\n")),
            None if status.is_in_force => Ok(()),
            None => Err("a change is being made\n".to_owned()),
        }
    }

    fn json(&self) -> Response {
        match serde_json::to_vec(&*self.lock()) {
            Ok(body) => ([(header::CONTENT_TYPE, "application/json")], body).into_response(),
            Err(_) => StatusCode::INTERNAL_SERVER_ERROR.into_response(),
        }
    }
}

/// Returns the router of the management port.
pub(super) fn router(shared: &Arc<Shared>, log: Arc<LogQueue>) -> Router {
    let (checked, shown) = (Arc::clone(shared), Arc::clone(shared));
    let mut registry = Registry::with_prefix("stratus");
    registry.register_collector(Box::new(State {
        shared: Arc::clone(shared),
        log,
    }));
    let metrics = Arc::new(registry);
    Router::new()
        .route("/healthz", get(|| ready("alive\n")))
        .route("/readyz", get(move || ready(readiness(checked.check()))))
        .route("/networks", get(move || ready(shown.json())))
        .route(
            "/metrics",
            get(move || {
                let mut text = String::new();
                // Writing to a string cannot fail.
                let _ = encode(&mut text, &metrics);
                ready(exposition(text))
            }),
        )
}

struct State {
    shared: Arc<Shared>,
    log: Arc<LogQueue>,
}

impl fmt::Debug for State {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("State").finish_non_exhaustive()
    }
}

impl Collector for State {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let (vms, up, problems, left_out) = {
            let status = self.shared.lock();
            let up = status.vms.iter().filter(|vm| vm.is_up).count();
            (
                status.vms.len(),
                up,
                status.problems.len(),
                status.left_out.len(),
            )
        };
        let reading = &self.shared.reading;
        let is_current = usize::from(reading.is_current());
        for (name, help, number) in [
            (
                "network_store_readable",
                "Whether the database was read when that was tried last",
                is_current,
            ),
            (
                "network_vms",
                "Virtual machines that are to be on this machine",
                vms,
            ),
            (
                "network_vms_up",
                "Virtual machines that are on this machine",
                up,
            ),
            ("network_problems", "What cannot be made", problems),
            (
                "network_left_out",
                "Kinds of things of which projects have more than is made",
                left_out,
            ),
        ] {
            let number = i64::try_from(number).unwrap_or(i64::MAX);
            let metric = encoder.encode_descriptor(name, help, None, MetricType::Gauge);
            prometheus_client::metrics::gauge::ConstGauge::new(number).encode(metric?)?;
        }
        let help = "Log lines that were dropped because their reader did not keep up";
        let mut metric =
            encoder.encode_descriptor("log_lines_dropped", help, None, MetricType::Counter)?;
        metric.encode_counter::<NoLabelSet, u64, u64>(&self.log.dropped(), None)
    }
}
