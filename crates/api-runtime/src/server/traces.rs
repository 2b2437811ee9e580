//! The span of a request, and how it joins the trace of its caller.

use std::fmt::Write as _;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use http::request::Parts;
use tracing::Span;
use tracing::field::Empty;

use super::operation::Operation;
use super::request_id::RequestId;
use crate::trace_context::TraceContext;

/// A function that joins the span of a request to a trace, as
/// [`Config::traces`](super::Config::traces) describes it.
pub(super) type Join =
    Arc<dyn Fn(&Span, &Parts, Option<&TraceContext>) -> Option<TraceContext> + Send + Sync>;

/// The span of a request, and its trace context if traces are on.
pub(super) struct RequestSpan {
    pub(super) span: Span,
    pub(super) context: Option<TraceContext>,
}

impl RequestSpan {
    /// Creates the span of a request to an operation. Its fields are named as OpenTelemetry names
    /// the attributes of HTTP servers.
    pub(super) fn new(operation: &Operation, parts: &Parts, join: Option<&Join>) -> Self {
        let id = RequestId::current();
        // The fields `otel.…` are for tracing-opentelemetry alone, and would only lengthen logs.
        let name = join.map(|_| format!("{} {}", operation.method, operation.path));
        let span = tracing::info_span!(
            "request",
            operation.id = operation.id,
            http.request.method = operation.method.as_str(),
            http.route = operation.path,
            request.id = id.as_ref().map(RequestId::as_str),
            http.response.status_code = Empty,
            trace_id = Empty,
            otel.kind = join.map(|_| "server"),
            otel.name = name,
            otel.status_code = Empty,
        );
        let context = join.and_then(|join| {
            let caller = TraceContext::read(&parts.headers);
            // A trace is not worth a request: without a context, the request is in no trace.
            let joined = catch_unwind(AssertUnwindSafe(|| join(&span, parts, caller.as_ref())));
            joined.unwrap_or_else(|_| {
                span.in_scope(|| tracing::error!("the function that joins traces panicked"));
                None
            })
        });
        if let Some(context) = &context {
            let mut id = String::with_capacity(32);
            // Writing to a string cannot fail.
            let _ = write!(id, "{:032x}", context.trace_id());
            span.record("trace_id", id);
        }
        Self { span, context }
    }

    /// Notes the status of the response.
    pub(super) fn end(&self, status: http::StatusCode) {
        // tracing-opentelemetry takes only signed integers for numbers.
        let code = i64::from(status.as_u16());
        self.span.record("http.response.status_code", code);
        if status.is_server_error() {
            self.span.record("otel.status_code", "ERROR");
        }
    }
}
