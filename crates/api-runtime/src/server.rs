//! What a generated server calls: routing, credentials, requests, responses, rejections.
//!
//! A generated crate has a struct for each request and an enum for the responses of each operation,
//! with derives ([`Request`], [`Responses`], [`ResponseParts`]) that describe them ([`Parameter`],
//! [`Body`], [`ListedResponse`]) and read or write them. An [`Operation`] puts the descriptions
//! together; [`router`] turns the operations into an [`axum::Router`], and the re-derived document
//! is a loop over the same operations. A response that the framework makes by itself is a
//! [`Rejection`], whose body a [`RenderRejection`] writes in the contract's error schema.
//!
//! # Order of checks
//!
//! The rules of HTTP for heads (400) and their size (431), [`Config::around`], credentials (401), then the route (404, 405), then path, query, header and cookie parameters,
//! the content type (415), the body's size (413) and the body itself (400). An unknown route asks
//! for the credentials that the document demands as a whole, so that nobody can map the routes from
//! outside. With [`Config::idempotency`](Config), an idempotency key comes last: a request that does
//! not fit the contract claims none.
//!
//! # Bodies that nobody reads
//!
//! If a response is complete before the body of its HTTP/1 request has arrived (401, 404, 413), up
//! to 4 MiB more of the body are received and dropped, for up to 5 seconds, so that the caller can
//! read the response and use the connection again.
//!
//! # Metrics
//!
//! Each response of an operation has an [`OperationId`] in its extensions, so that a layer around
//! the router can label its metrics without parsing paths:
//!
//! ```
//! # use api_runtime::server::OperationId;
//! # use axum::response::Response;
//! fn label(response: &Response) -> &'static str {
//!     response.extensions().get::<OperationId>().map_or("none", |id| id.0)
//! }
//! # assert_eq!(label(&Response::default()), "none");
//! ```
//!
//! A request that ends before its response, such as because its caller has gone away, leaves its
//! operation in an [`OperationSlot`].

mod absent;
mod body;
mod busy;
mod call;
mod conditional;
mod config;
mod connection_headers;
mod contract_texts;
mod credentials;
mod cross_origin;
#[cfg(feature = "docs")]
mod docs;
mod form;
mod head;
#[cfg(feature = "idempotency")]
mod idempotency;
mod inputs;
mod json_writer;
mod messages;
mod mount;
mod next;
mod operation;
mod operation_id;
mod problem;
mod rate_limit;
mod reasons;
mod rejection;
mod remainder;
mod request_head;
mod request_id;
mod response;
mod route;
mod router;
#[cfg(feature = "utoipa")]
mod schema_source;
mod status;
mod streams;
mod text;
mod traces;
mod tree;
#[cfg(feature = "jsonschema")]
mod violations;
mod written;

#[cfg(feature = "utoipa")]
pub mod openapi;

pub use crate::EntityTags;
pub use crate::trace_context::TraceContext;
pub use crate::{default_status, range_status};
pub use api_macros::{Request, RequestBody, ResponseParts, Responses, api};
pub use axum::Router;
#[cfg(feature = "multipart")]
pub use axum::extract::Multipart;
pub use axum::response::{IntoResponse, Response};
pub use busy::call_while_busy;
pub use bytes::Bytes;
pub use call::Call;
pub use conditional::{IfMatch, IfNoneMatch};
pub use config::Config;
pub use connection_headers::remove_connection_headers;
pub use contract_texts::ContractTexts;
pub use credentials::{ApiKey, AuthError, Authorization, Basic, Bearer, ClientCertificate, Secret};
pub use cross_origin::{OriginError, Origins};
pub use http::StatusCode;
#[cfg(feature = "idempotency")]
pub use idempotency::{
    Begun, Claim, Idempotency, IdempotencyStore, KeptResponse, KeyedRequest, MemoryStore, Outcome,
    StoreError, idempotency_scope,
};
pub use inputs::{Chosen, Inputs};
pub use messages::{Request, RequestBody, ResponseParts, Responses};
pub use next::Next;
pub use operation::{
    Body, ListedResponse, Location, Media, Method, Operation, Parameter, Scheme,
    SecurityRequirements, Status, Style,
};
pub use operation_id::{OperationId, OperationSlot};
pub use problem::{Problem, ProblemBody};
pub use rate_limit::{RateLimit, RatePolicy};
pub use reasons::{FirstViolation, Reasons};
pub use rejection::{Rejected, Rejection, RejectionKind, RenderRejection, Violation};
pub use request_head::{RequestHead, not_implemented};
pub use request_id::RequestId;
pub use response::with_header;
pub use route::{App, Route, RouteFuture, RouteResult};
pub use router::{Blueprint, router};
#[doc(no_inline)]
pub use serde_json;
pub use status::{
    CheckedNumber, DefaultStatus, RangeStatus, Statuses, UnlistedStatusError, status_digit,
};
pub use streams::{
    ByteStream, Event, EventStream, Handshake, ItemError, ItemStream, PartStream, StreamError,
    StreamedPart, Upgrade,
};

pub use crate::items::{InvalidItem, ItemBody, MAX_ITEM_BYTES, TypedEvent};
pub use crate::parts::{
    Encoding, Encodings, Json, MAX_PART_BYTES, MAX_PARTS, NoPart, Part, PartBody, PartError,
    PartHeader, Parts, Text, fits, fits_json,
};
