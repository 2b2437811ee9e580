//! The span of a call, and the headers that pass its trace on.

use std::sync::Arc;

use reqwest::Request;
use tracing::Span;
use tracing::field::Empty;

use super::around::Attempt;
use crate::trace_context::TraceContext;

/// The operation that a call is of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Operation {
    /// The id of the operation.
    pub(super) id: &'static str,
    /// The path template of the operation.
    pub(super) path: &'static str,
}

/// A function that returns the context of a call's span, as
/// [`Config::traces`](super::Config::traces) describes it.
pub(super) type Context = Arc<dyn Fn(&Span) -> Option<TraceContext> + Send + Sync>;

/// Creates the span of a call, and writes its context into the headers of the request, unless they
/// have one.
///
/// The fields of the span are named as OpenTelemetry names the attributes of HTTP clients. The URL
/// is not among them, because it may contain secrets.
pub(super) fn start(
    operation: Operation,
    request: &mut Request,
    context: Option<&Context>,
) -> Span {
    let url = request.url();
    // The fields `otel.…` are for tracing-opentelemetry alone, and would only lengthen logs.
    let name = context.map(|_| format!("{} {}", request.method(), operation.path));
    let span = tracing::info_span!(
        "call",
        operation.id = operation.id,
        http.request.method = request.method().as_str(),
        url.template = operation.path,
        server.address = url.host_str(),
        server.port = url.port_or_known_default().map(i64::from),
        http.response.status_code = Empty,
        error.type = Empty,
        otel.kind = context.map(|_| "client"),
        otel.name = name,
        otel.status_code = Empty,
    );
    if let Some(context) = context.and_then(|context| context(&span)) {
        context.write(request.headers_mut());
    }
    span
}

/// Notes the status of the response, or why there is none.
pub(super) fn end(span: &Span, result: &Attempt) {
    // `record` would look for the field by its name even so.
    if span.is_disabled() {
        return;
    }
    let is_error = match result {
        Ok(response) => {
            let status = response.status();
            // tracing-opentelemetry takes only signed integers for numbers.
            span.record("http.response.status_code", i64::from(status.as_u16()));
            status.is_client_error() || status.is_server_error()
        }
        Err(error) => {
            span.record("error.type", error.downcast_ref().map_or("program", kind));
            true
        }
    };
    if is_error {
        span.record("otel.status_code", "ERROR");
    }
}

fn kind(error: &reqwest::Error) -> &'static str {
    if error.is_timeout() {
        "timeout"
    } else if error.is_connect() {
        "connect"
    } else {
        "request"
    }
}
