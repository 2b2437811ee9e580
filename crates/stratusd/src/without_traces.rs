//! Traces of a build without the feature `traces`: nothing is exported.
//!
//! It takes the place of the module `traces`, whose dependencies are an eighth of what the service
//! compiles.

use std::convert::Infallible;
use std::sync::Arc;

use anyhow::{Result, bail};
use api_server::server::TraceContext;
use http::request::Parts;
use tracing::Span;
use tracing_subscriber::layer::Identity;

use crate::settings::ServiceSettings;

/// The counts of spans, for the metrics.
#[derive(Debug, Default)]
pub struct SpanCounts;

impl SpanCounts {
    /// Returns how many spans the collector has accepted: none.
    #[must_use]
    pub fn exported(&self) -> u64 {
        0
    }

    /// Returns how many spans have been lost: none.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        0
    }
}

/// The export of spans to a collector, which this build cannot start.
#[derive(Debug)]
pub struct Traces(Infallible);

impl Traces {
    /// Returns no export.
    ///
    /// # Errors
    ///
    /// If the settings name a collector.
    pub fn start(settings: &ServiceSettings, _: &Arc<SpanCounts>) -> Result<Option<Self>> {
        if settings.otlp_endpoint.is_some() {
            bail!(
                "the settings name a collector of traces, and this program was built without the feature `traces`: \
                 build it with that feature, or remove the collector"
            );
        }
        Ok(None)
    }

    /// Returns a layer of `tracing` that does nothing.
    #[must_use]
    pub fn layer(&self) -> Identity {
        match self.0 {}
    }
}

/// Returns the context of the caller, whose trace id is then in the log.
#[must_use]
pub fn join(_: &Span, _: &Parts, caller: Option<&TraceContext>) -> Option<TraceContext> {
    caller.cloned()
}
