//! The metrics of the data plane, which are taken from its state when they are asked for.

use std::fmt;
use std::sync::Arc;
use std::sync::atomic::Ordering;

use prometheus_client::collector::Collector;
use prometheus_client::encoding::text::encode;
use prometheus_client::encoding::{DescriptorEncoder, MetricEncoder, NoLabelSet};
use prometheus_client::metrics::MetricType;
use prometheus_client::registry::Registry;

use super::balancer::Balancer;
use super::engine::View;
use super::status::BalancerStatus;
use crate::log::LogQueue;
use crate::watch::Reading;

/// The metrics of a data plane.
#[derive(Debug)]
pub(super) struct Metrics(Registry);

impl Metrics {
    pub(super) fn new(reading: Arc<Reading>, view: Arc<dyn View>, log: Arc<LogQueue>) -> Self {
        let mut registry = Registry::with_prefix("stratus");
        registry.register_collector(Box::new(State { reading, view, log }));
        Self(registry)
    }

    /// Returns all metrics in the `OpenMetrics` text format.
    pub(super) fn text(&self) -> String {
        let mut text = String::new();
        // Writing to a string cannot fail.
        let _ = encode(&mut text, &self.0);
        text
    }
}

#[derive(Debug)]
struct State {
    reading: Arc<Reading>,
    view: Arc<dyn View>,
    log: Arc<LogQueue>,
}

impl Collector for State {
    fn encode(&self, mut encoder: DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        self.store(&mut encoder)?;
        let all = self.view.balancers();
        vms(&all, &mut encoder)?;
        connections(&all, &mut encoder)?;
        self.view.encode(&mut encoder)
    }
}

impl State {
    /// Encodes what is known of the database, and the lost lines of the log.
    fn store(&self, encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
        let reading = &self.reading;
        let help = "Whether the database was read when that was tried last";
        let is_current = i64::from(reading.is_current());
        gauge(encoder, "balance_store_readable", help)?.encode_gauge(&is_current)?;
        if let Some(age) = reading.age() {
            let help = "Seconds since the database was read";
            gauge(encoder, "balance_store_age_seconds", help)?.encode_gauge(&age.as_secs_f64())?;
        }
        let help = "Log lines that were dropped because their reader did not keep up";
        counter(encoder, "log_lines_dropped", help)?
            .encode_counter::<NoLabelSet, u64, u64>(&self.log.dropped(), None)
    }
}

/// Encodes the state of each virtual machine and of each address.
fn vms(all: &[BalancerStatus], encoder: &mut DescriptorEncoder<'_>) -> Result<(), fmt::Error> {
    let help = "The state of a virtual machine of a load balancer: up, down or detaching";
    let mut states = gauge(encoder, "balancer_vm_state", help)?;
    for (balancer, vm) in all
        .iter()
        .flat_map(|it| it.vms.iter().map(move |vm| (it, vm)))
    {
        let labels = [
            ("project", balancer.project.as_str()),
            ("load_balancer", &balancer.id),
            ("vm", &vm.id),
            ("state", &vm.state),
        ];
        states.encode_family(&labels)?.encode_gauge(&1_i64)?;
    }
    let help = "Whether a load balancer listens on an address";
    let mut listening = gauge(encoder, "balancer_listening", help)?;
    for (balancer, listener) in all
        .iter()
        .flat_map(|it| it.listeners.iter().map(move |listener| (it, listener)))
    {
        let address = listener.address.to_string();
        let labels = [
            ("project", balancer.project.as_str()),
            ("load_balancer", &balancer.id),
            ("address", &address),
        ];
        let is_open = i64::from(listener.problem.is_none());
        listening.encode_family(&labels)?.encode_gauge(&is_open)?;
    }
    Ok(())
}

/// Encodes the number of open connections of each load balancer.
fn connections(
    all: &[BalancerStatus],
    encoder: &mut DescriptorEncoder<'_>,
) -> Result<(), fmt::Error> {
    let help = "Open connections of a load balancer";
    let mut open = gauge(encoder, "balancer_connections", help)?;
    for balancer in all {
        let number = i64::try_from(balancer.connections).unwrap_or(i64::MAX);
        let labels = [
            ("project", balancer.project.as_str()),
            ("load_balancer", &balancer.id),
        ];
        open.encode_family(&labels)?.encode_gauge(&number)?;
    }
    Ok(())
}

/// Encodes the connections that the engine itself has counted of each load balancer: all that were
/// accepted, and those that were closed at once.
pub(super) fn counts(
    all: &[Arc<Balancer>],
    encoder: &mut DescriptorEncoder<'_>,
) -> Result<(), fmt::Error> {
    let help = "Connections of a load balancer that a virtual machine was looked for";
    let mut accepted = counter(encoder, "balancer_accepted", help)?;
    for balancer in all {
        let number = balancer.accepted.load(Ordering::Relaxed) as u64;
        let labels = labels(balancer);
        let mut metric = accepted.encode_family(&labels)?;
        metric.encode_counter::<NoLabelSet, u64, u64>(&number, None)?;
    }
    let help = "Connections of a load balancer that were closed at once, by reason";
    let mut refused = counter(encoder, "balancer_refused", help)?;
    for balancer in all {
        let of = &balancer.refused;
        for (reason, number) in [
            ("firewall", &of.firewall),
            ("limit", &of.limit),
            ("handshake", &of.handshake),
            ("no_vm", &of.no_vm),
        ] {
            let [project, id] = labels(balancer);
            let labels = [project, id, ("reason", reason)];
            let mut metric = refused.encode_family(&labels)?;
            let number = number.load(Ordering::Relaxed);
            metric.encode_counter::<NoLabelSet, u64, u64>(&number, None)?;
        }
    }
    Ok(())
}

fn labels(balancer: &Balancer) -> [(&'static str, &str); 2] {
    let (project, id) = &balancer.key;
    [
        ("project", project.as_str()),
        ("load_balancer", id.as_str()),
    ]
}

pub(super) fn gauge<'e>(
    encoder: &'e mut DescriptorEncoder<'_>,
    name: &'e str,
    help: &str,
) -> Result<MetricEncoder<'e>, fmt::Error> {
    encoder.encode_descriptor(name, help, None, MetricType::Gauge)
}

fn counter<'e>(
    encoder: &'e mut DescriptorEncoder<'_>,
    name: &'e str,
    help: &str,
) -> Result<MetricEncoder<'e>, fmt::Error> {
    encoder.encode_descriptor(name, help, None, MetricType::Counter)
}
