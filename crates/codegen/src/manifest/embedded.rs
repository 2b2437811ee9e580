//! The sources of the run time, as they were when the generator was built. A test compares these
//! lists with the folders.

/// Returns the path and the text of each source of a crate.
macro_rules! embedded {
    ($krate:literal: $($path:literal),* $(,)?) => {
        &[$(($path, include_str!(concat!("../../../", $krate, "/", $path)))),*]
    };
}

/// The sources of `api-macros`.
pub(super) const MACROS: &[(&str, &str)] = embedded!(
    "api-macros":
    "src/array.rs",
    "src/enumeration.rs",
    "src/enumeration/strings.rs",
    "src/enumeration/values.rs",
    "src/impls.rs",
    "src/json.rs",
    "src/lib.rs",
    "src/map.rs",
    "src/media.rs",
    "src/object.rs",
    "src/object/construct.rs",
    "src/parameter.rs",
    "src/request.rs",
    "src/response_parts.rs",
    "src/responses.rs",
    "src/scalar.rs",
    "src/scalar/access.rs",
    "src/scalar/conversions.rs",
    "src/schema.rs",
    "src/union.rs",
);

/// The sources of `api-runtime`.
pub(super) const RUNTIME: &[(&str, &str)] = embedded!(
    "api-runtime":
    "src/alternatives.rs",
    "src/client.rs",
    "src/client/argument.rs",
    "src/client/body.rs",
    "src/client/config.rs",
    "src/client/credential.rs",
    "src/client/decode.rs",
    "src/client/error.rs",
    "src/client/events.rs",
    "src/client/pages.rs",
    "src/client/path.rs",
    "src/client/retry.rs",
    "src/client/retry_after.rs",
    "src/client/server.rs",
    "src/client/stream.rs",
    "src/client/style.rs",
    "src/client/tls.rs",
    "src/client/transport.rs",
    "src/components.rs",
    "src/constraint.rs",
    "src/described.rs",
    "src/format.rs",
    "src/format/moment.rs",
    "src/json.rs",
    "src/lib.rs",
    "src/mode.rs",
    "src/object.rs",
    "src/pattern.rs",
    "src/pattern/fixed.rs",
    "src/pointer.rs",
    "src/private.rs",
    "src/rule.rs",
    "src/schemas.rs",
    "src/server.rs",
    "src/server/body.rs",
    "src/server/call.rs",
    "src/server/credentials.rs",
    "src/server/inputs.rs",
    "src/server/messages.rs",
    "src/server/openapi.rs",
    "src/server/operation.rs",
    "src/server/pairs.rs",
    "src/server/path.rs",
    "src/server/problem.rs",
    "src/server/rejection.rs",
    "src/server/request_id.rs",
    "src/server/response.rs",
    "src/server/router.rs",
    "src/server/status.rs",
    "src/server/streams.rs",
    "src/server/text.rs",
    "src/server/tree.rs",
    "src/server/violations.rs",
    "src/server/written.rs",
    "src/violation.rs",
    "src/wire.rs",
);
