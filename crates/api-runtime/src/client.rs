//! The run time of generated clients: the transport with its credentials, time-outs and retries,
//! typed responses and errors, and the stream over the pages of a list.
//!
//! [`ResponseValue`] and [`QueryParam`] are those of progenitor, which writes the requests.
//! [`Error`] is our own: it keeps the status and the headers of every response, and prints no
//! secrets.

mod argument;
mod body;
mod call;
mod config;
mod credential;
mod decode;
mod error;
mod events;
mod items;
mod lenient;
mod misfit;
mod pages;
mod path;
mod retry;
mod retry_after;
mod server;
mod stream;
mod style;
#[cfg(feature = "rustls")]
mod tls;
mod traces;
mod transport;

pub use crate::Violation;
pub use crate::items::{InvalidItem, ItemBody, MAX_ITEM_BYTES, TypedEvent};
pub use crate::trace_context::TraceContext;
pub use argument::{Argument, InvalidArgument, argument, missing, optional};
pub use body::{Multipart, Payload};
pub use call::Call;
pub use config::{BuildError, Config};
pub use credential::{Scheme, Secret};
pub use decode::{content_type, decode, decode_text, empty, events, map, stream, upgrade};
pub use error::{Error, InterruptedResponse, InvalidResponse, OversizedResponse, Result};
pub use events::{Event, EventStream};
pub use futures_core::Stream;
pub use items::{ItemError, ItemStream, items};
pub use lenient::{Lenient, LenientCall, LenientExt, Partial};
pub use misfit::Misfit;
pub use pages::{Items, LenientItems, Page, Paging, count, cursor, text};
pub use path::escaped_url;
pub use progenitor_client::{QueryParam, ResponseValue};
pub use reqwest;
pub use retry::Retries;
pub use serde_json;
pub use server::{Server, Variable};
pub use stream::ByteStream;
pub use style::{
    Cookies, Query, Style, content, content_header, exploded_header, header, path_content,
    path_text,
};
pub use tracing::Span;
pub use transport::{Security, Transport, method};
