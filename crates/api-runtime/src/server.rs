//! What a generated server leans on: routing, credentials, requests in, answers out, refusals.
//!
//! A generated crate describes each operation ([`Operation`], [`Parameter`], [`Body`], [`ListedResponse`]) and reads its
//! request through [`Inputs`]; [`router`] turns the operations into an [`axum::Router`]. What the framework
//! refuses by itself is a [`Refusal`], put into the contract's own error schema by one [`Refuse`].
//!
//! # Order of checks
//!
//! Credentials (401), then the route (404, 405), then path, query, header and cookie parameters, the content
//! type (415), the body's size (413) and the body itself (400). An unknown route asks for the credentials that
//! the document demands as a whole, so that nobody can map the routes from outside.
//!
//! # Metrics
//!
//! Each answer of an operation carries an [`OperationId`] in its extensions, so that a layer around the router
//! can label what it counts without looking at paths:
//!
//! ```
//! # use api_runtime::server::OperationId;
//! # use axum::response::Response;
//! fn label(response: &Response) -> &'static str {
//!     response.extensions().get::<OperationId>().map_or("none", |id| id.0)
//! }
//! # assert_eq!(label(&Response::default()), "none");
//! ```

mod body;
mod call;
mod credentials;
mod inputs;
mod operation;
mod pairs;
mod path;
mod problem;
mod refusal;
mod request_id;
mod response;
mod router;
mod status;
mod streams;
mod text;
mod tree;
mod violations;
mod written;

#[cfg(feature = "utoipa")]
pub mod openapi;

#[doc(inline)]
pub use crate::__from_status as from_status;
pub use axum::Router;
pub use axum::extract::Multipart;
pub use axum::response::{IntoResponse, Response};
pub use call::Call;
pub use credentials::{ApiKey, AuthError, Authorization, Basic, Bearer, ClientCertificate, Secret};
pub use http::{Method, StatusCode};
pub use inputs::{Chosen, Inputs};
pub use operation::{
    Body, ListedResponse, Location, Media, Operation, Parameter, Scheme, Status, Style,
};
pub use problem::{Problem, ProblemBody};
pub use refusal::{Refusal, RefusalKind, Refuse, Refused, Violation};
pub use request_id::RequestId;
pub use response::with_header;
pub use router::{
    App, Blueprint, Config, ContractTexts, OperationId, Outcome, OutcomeFuture, Route, router,
};
#[doc(no_inline)]
pub use serde_json;
pub use status::{DefaultStatus, RangeStatus, Statuses, UnlistedStatusError};
pub use streams::{ByteStream, Event, EventStream, Handshake, StreamError, Upgrade};
