//! Traces: the spans of requests, which a collector gets by OTLP over HTTP.
//!
//! Nothing waits for the collector: spans that have ended wait in a bounded queue, from which a
//! thread exports them in batches. Spans that do not fit, or cannot be exported, are dropped and
//! counted.

use std::fmt;
use std::str::FromStr as _;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, AtomicUsize, Ordering};
use std::time::Duration;

use anyhow::{Context as _, Result, bail};
use api_server::server::TraceContext;
use bytes::Bytes;
use futures_util::future::BoxFuture;
use http::request::Parts;
use http::{HeaderMap, HeaderName, HeaderValue, Request, Response};
use opentelemetry::trace::{
    SpanContext, SpanId, TraceContextExt as _, TraceFlags, TraceId, TraceState, TracerProvider as _,
};
use opentelemetry::{Context, KeyValue};
use opentelemetry_http::{HttpClient, HttpError};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::error::OTelSdkResult;
use opentelemetry_sdk::trace::{
    BatchConfigBuilder, BatchSpanProcessor, Sampler, SdkTracerProvider, Span as SdkSpan, SpanData,
    SpanProcessor,
};
use rustls::ClientConfig;
use rustls_native_certs::load_native_certs;
use tracing::{Span, Subscriber};
use tracing_opentelemetry::OpenTelemetrySpanExt as _;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::{LevelFilter, filter_fn};
use tracing_subscriber::registry::LookupSpan;

use crate::settings::{Percent, SecretText, ServiceSettings};

/// The maximum number of ended spans that wait to be exported. Further ones are dropped.
const QUEUE: usize = 2048;
/// The maximum number of spans that are exported together.
const BATCH: usize = 512;
/// How long a span waits for others, to be exported with them.
const DELAY: Duration = Duration::from_secs(1);
/// How long the collector may take for an attempt to export a batch. The exporter begins no further
/// attempt after this time, so a batch takes at most twice as long.
const ATTEMPT_TIMEOUT: Duration = Duration::from_secs(5);
/// How long the process waits, before it exits, for its last spans to be exported.
const PATIENCE: Duration = Duration::from_secs(3);
/// The maximum length of the attribute `url.path`, in bytes.
const MAX_PATH: usize = 1024;
/// The target of the spans of requests. No other span is exported, and no log event, so that nothing
/// leaves the process that is not meant to.
const TARGET: &str = "api_runtime::server";

/// The counts of spans, for the metrics.
#[derive(Debug, Default)]
pub struct SpanCounts {
    /// The number of spans in the queue.
    queued: AtomicUsize,
    exported: AtomicU64,
    dropped: AtomicU64,
}

impl SpanCounts {
    /// Returns how many spans the collector has accepted.
    #[must_use]
    pub fn exported(&self) -> u64 {
        self.exported.load(Ordering::Relaxed)
    }

    /// Returns how many spans have been lost: spans that did not fit into the queue, and spans of a
    /// batch that the collector has not accepted.
    #[must_use]
    pub fn dropped(&self) -> u64 {
        self.dropped.load(Ordering::Relaxed)
    }

    /// Takes a place in the queue. Returns whether there is one.
    fn enter(&self) -> bool {
        let entered = self
            .queued
            .fetch_update(Ordering::Relaxed, Ordering::Relaxed, |queued| {
                (queued < QUEUE).then_some(queued + 1)
            });
        if entered.is_err() {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        entered.is_ok()
    }
}

/// The export of spans to a collector. Dropping it exports the last ones, for at most three seconds.
#[derive(Debug)]
pub struct Traces {
    provider: SdkTracerProvider,
}

impl Traces {
    /// Starts the export, if the settings name a collector. Call this outside of tokio.
    ///
    /// # Errors
    ///
    /// If a header is invalid, or TLS cannot be set up.
    pub fn start(settings: &ServiceSettings, counts: &Arc<SpanCounts>) -> Result<Option<Self>> {
        let Some(collector) = &settings.otlp_endpoint else {
            return Ok(None);
        };
        let exporter = SpanExporter::builder()
            .with_http()
            .with_http_client(Collector {
                client: http_client()?,
                headers: headers(settings.otlp_headers.as_ref())?,
            })
            .with_endpoint(format!("{}/v1/traces", collector.as_str()))
            .with_timeout(ATTEMPT_TIMEOUT)
            .build()
            .context("failed to set up the export of traces")?;
        let batches = BatchConfigBuilder::default()
            .with_max_queue_size(QUEUE)
            .with_max_export_batch_size(BATCH)
            .with_scheduled_delay(DELAY)
            .build();
        let exporter = Counted {
            exporter,
            counts: Arc::clone(counts),
            is_failing: AtomicBool::new(false),
        };
        let processor = Bounded {
            batches: BatchSpanProcessor::builder(exporter)
                .with_batch_config(batches)
                .build(),
            counts: Arc::clone(counts),
        };
        let resource = Resource::builder()
            .with_service_name("stratusd")
            .with_attribute(KeyValue::new("service.version", env!("CARGO_PKG_VERSION")))
            .build();
        let provider = SdkTracerProvider::builder()
            .with_span_processor(processor)
            .with_sampler(sampler(settings.otlp_sample))
            .with_resource(resource)
            .build();
        Ok(Some(Self { provider }))
    }

    /// Returns the layer of `tracing` that passes the spans of requests on.
    #[must_use]
    pub fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: Subscriber + for<'span> LookupSpan<'span>,
    {
        tracing_opentelemetry::layer()
            .with_tracer(self.provider.tracer("stratusd"))
            // Where in the code a span was made would be sent with each, and says nothing of a
            // request.
            .with_location(false)
            .with_threads(false)
            .with_level(false)
            .with_target(false)
            .with_tracked_inactivity(false)
            .with_filter(
                filter_fn(|metadata| metadata.is_span() && metadata.target().starts_with(TARGET))
                    .with_max_level_hint(LevelFilter::INFO),
            )
    }
}

impl Drop for Traces {
    fn drop(&mut self) {
        // Nothing else can be done for spans that are not exported in time.
        let _ = self.provider.shutdown_with_timeout(PATIENCE);
    }
}

/// Makes the span of a request the child of its caller's, and returns its context.
#[must_use]
pub fn join(span: &Span, head: &Parts, caller: Option<&TraceContext>) -> Option<TraceContext> {
    if let Some(caller) = caller {
        let parent = SpanContext::new(
            TraceId::from(caller.trace_id()),
            SpanId::from(caller.span_id()),
            TraceFlags::new(caller.flags()),
            true,
            TraceState::from_str(caller.state()).unwrap_or_default(),
        );
        // Fails only if no layer exports this span.
        let _ = span.set_parent(Context::new().with_remote_span_context(parent));
    }
    // Not fields of the span, which the log would show: paths may contain personal data.
    let path = head.uri.path();
    let path = &path[..path.floor_char_boundary(MAX_PATH)];
    span.set_attribute("url.path", path.to_owned());
    let context = span.context();
    let own = context.span().span_context().clone();
    TraceContext::new(
        u128::from_be_bytes(own.trace_id().to_bytes()),
        u64::from_be_bytes(own.span_id().to_bytes()),
        own.trace_flags().to_u8(),
    )
    .map(|context| context.with_state(&own.trace_state().header()))
}

/// Returns the sampler: the caller's flag decides, and without a caller a share of the traces.
fn sampler(share: Percent) -> Sampler {
    let ratio = f64::from(share.get()) / 100.0;
    // A caller that samples its trace wants our part of it too, and one that does not, none.
    Sampler::ParentBased(Box::new(Sampler::TraceIdRatioBased(ratio)))
}

/// Builds the HTTP client, which trusts the authorities that the system trusts.
fn http_client() -> Result<reqwest::blocking::Client> {
    let provider = Arc::new(rustls::crypto::ring::default_provider());
    let mut roots = rustls::RootCertStore::empty();
    // Systems trust some certificates that rustls cannot parse, and the collector hardly needs
    // those.
    roots.add_parsable_certificates(load_native_certs().certs);
    let tls = ClientConfig::builder_with_provider(provider)
        .with_safe_default_protocol_versions()
        .context("failed to set up TLS to the collector")?
        .with_root_certificates(roots)
        .with_no_client_auth();
    reqwest::blocking::Client::builder()
        .tls_backend_preconfigured(tls)
        // A redirect would send the headers, which are secret, to another server.
        .redirect(reqwest::redirect::Policy::none())
        .timeout(ATTEMPT_TIMEOUT)
        .build()
        .context("failed to set up the HTTP client of the export of traces")
}

/// Parses the headers of the export: `name=value`, separated by commas.
///
/// # Errors
///
/// If one is not a header. The error does not show it, since it may be a secret.
fn headers(text: Option<&SecretText>) -> Result<HeaderMap> {
    let text = text.map_or("", SecretText::expose).trim();
    let mut headers = HeaderMap::new();
    if text.is_empty() {
        return Ok(headers);
    }
    for (at, pair) in text.split(',').enumerate() {
        let header = pair.split_once('=').and_then(|(name, value)| {
            let name = HeaderName::from_str(name.trim()).ok()?;
            Some((name, value_of(value.trim())?))
        });
        let Some((name, value)) = header else {
            bail!(
                "otlp_headers must be `name=value`, separated by commas, such as \
                 authorization=Basic 123: header {} is not",
                at + 1
            );
        };
        headers.insert(name, value);
    }
    Ok(headers)
}

/// Returns the value of a header, which may be percent-encoded, as in OpenTelemetry's own variable.
fn value_of(text: &str) -> Option<HeaderValue> {
    let decoded = percent_encoding::percent_decode_str(text).decode_utf8();
    let mut value = HeaderValue::from_str(&decoded.unwrap_or(text.into())).ok()?;
    value.set_sensitive(true);
    Some(value)
}

/// The client of the collector. It sets the headers of the settings itself: the exporter would let
/// variables of OpenTelemetry in the environment replace them.
struct Collector {
    client: reqwest::blocking::Client,
    headers: HeaderMap,
}

impl fmt::Debug for Collector {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Collector").finish_non_exhaustive()
    }
}

impl HttpClient for Collector {
    fn send_bytes<'c, 'f>(
        &'c self,
        mut request: Request<Bytes>,
    ) -> BoxFuture<'f, Result<Response<Bytes>, HttpError>>
    where
        'c: 'f,
        Self: 'f,
    {
        for (name, value) in &self.headers {
            request.headers_mut().insert(name, value.clone());
        }
        self.client.send_bytes(request)
    }
}

/// A processor that passes spans on to batches as long as the queue has room.
///
/// The queue of [`BatchSpanProcessor`] has the same bound, but does not tell what it has dropped.
#[derive(Debug)]
struct Bounded {
    batches: BatchSpanProcessor,
    counts: Arc<SpanCounts>,
}

impl SpanProcessor for Bounded {
    fn on_start(&self, span: &mut SdkSpan, context: &Context) {
        self.batches.on_start(span, context);
    }

    fn on_end(&self, span: SpanData) {
        if span.span_context.is_sampled() && self.counts.enter() {
            self.batches.on_end(span);
        }
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.batches.force_flush()
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.batches.shutdown_with_timeout(timeout)
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.batches.set_resource(resource);
    }
}

/// An exporter that counts what becomes of the spans, and logs when it begins to fail and when it
/// works again.
#[derive(Debug)]
struct Counted {
    exporter: SpanExporter,
    counts: Arc<SpanCounts>,
    is_failing: AtomicBool,
}

impl opentelemetry_sdk::trace::SpanExporter for Counted {
    async fn export(&self, batch: Vec<SpanData>) -> OTelSdkResult {
        let count = batch.len();
        self.counts.queued.fetch_sub(count, Ordering::Relaxed);
        let result = self.exporter.export(batch).await;
        let outcome = if result.is_ok() {
            &self.counts.exported
        } else {
            &self.counts.dropped
        };
        outcome.fetch_add(u64::try_from(count).unwrap_or(u64::MAX), Ordering::Relaxed);
        let was_failing = self.is_failing.swap(result.is_err(), Ordering::Relaxed);
        match &result {
            Err(error) if !was_failing => {
                tracing::warn!(%error, "spans cannot be exported, and are dropped until they can");
            }
            Ok(()) if was_failing => tracing::info!("spans are exported again"),
            _ => {}
        }
        result
    }

    fn shutdown_with_timeout(&self, timeout: Duration) -> OTelSdkResult {
        self.exporter.shutdown_with_timeout(timeout)
    }

    fn force_flush(&self) -> OTelSdkResult {
        self.exporter.force_flush()
    }

    fn set_resource(&mut self, resource: &Resource) {
        self.exporter.set_resource(resource);
    }
}
