//! The run time of generated clients: the transport with its credentials, time-outs and retries,
//! typed responses and errors, and the stream over the pages of a list.
//!
//! [`QueryParam`] is that of progenitor, which writes the requests. [`ResponseValue`] and [`Error`]
//! are our own: they name the operation, and the error keeps the status and the headers of every
//! response, and prints no secrets.

mod argument;
mod around;
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
mod parts;
mod path;
mod raw;
mod received;
mod response;
mod retry;
mod retry_after;
mod secret_source;
mod segment;
mod server;
mod settings;
mod stream;
mod style;
#[cfg(feature = "rustls")]
mod tls;
mod traces;
mod transport;

pub use crate::Violation;
pub use crate::items::{InvalidItem, ItemBody, MAX_ITEM_BYTES, TypedEvent};
pub use crate::parts::{
    Encoding, Encodings, Json, MAX_PART_BYTES, MAX_PARTS, NoPart, Part, PartBody, PartError,
    PartHeader, Parts, Text, fits, fits_json,
};
pub use crate::trace_context::TraceContext;
pub use argument::{Argument, InvalidArgument, Value};
pub use around::{Around, Next};
pub use body::{Multipart, Payload};
pub use bytes::Bytes;
pub use call::Call;
pub use config::{BuildError, Config, http_builder};
pub use credential::{Scheme, Secret};
pub use decode::{
    content_type, decode, decode_if_json, decode_text, empty, events, is_closest, stream, upgrade,
};
pub use error::{
    Error, InterruptedResponse, InvalidResponse, NoResponse, OversizedResponse, OwnError, Result,
};
pub use events::{Event, EventStream};
pub use futures_core::Stream;
pub use items::{ItemError, ItemStream, items};
pub use lenient::{Lenient, LenientCall, LenientExt, Partial};
pub use misfit::Misfit;
pub use pages::{Items, LenientItems, Page, Paging, count, cursor, text};
pub use parts::{PartStream, StreamedPart, part_stream, parts};
pub use path::escaped_url;
pub use progenitor_client::QueryParam;
pub use received::Received;
pub use reqwest;
pub use response::{ResponseValue, map};
pub use retry::Retries;
pub use secret_source::SecretSource;
pub use serde_json;
pub use server::{Server, Variable};
pub use stream::ByteStream;
pub use style::{
    Cookies, Query, Style, content, content_header, exploded_header, header, path_content,
    path_text, single,
};
pub use tracing::Span;
pub use transport::{Security, Transport, method};

/// The error of a function of the program.
type BoxError = Box<dyn std::error::Error + Send + Sync>;
