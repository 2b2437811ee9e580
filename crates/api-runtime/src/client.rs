//! What a generated client calls when it runs: the transport with its credentials, time-outs and retries,
//! typed answers and errors, and the walk over the pages of a list.
//!
//! [`ResponseValue`] and [`QueryParam`] are progenitor's, whose builders the generated code is made of. The
//! [`Error`] is our own: it keeps status and headers of every answer, and nothing secret shows when it is printed.

mod body;
mod config;
mod credential;
mod decode;
mod error;
mod events;
mod pages;
mod path;
mod retry;
mod retry_after;
mod server;
mod stream;
mod style;
#[cfg(feature = "rustls")]
mod tls;
mod transport;

pub use body::{Multipart, Payload};
pub use config::{BuildError, Config};
pub use credential::{Scheme, Secret};
pub use decode::{content_type, decode, decode_text, empty, events, map, stream, upgrade};
pub use error::{Error, InterruptedResponse, InvalidResponse};
pub use events::{Event, EventStream};
pub use futures_core::Stream;
pub use pages::{Page, Paging, cursor, number, pages, text};
pub use path::{InvalidSegment, encode_path, encode_segment};
pub use progenitor_client::{QueryParam, ResponseValue};
pub use reqwest;
pub use retry::Retries;
pub use serde_json;
pub use server::{Server, Variable};
pub use stream::ByteStream;
pub use style::{
    Cookies, InvalidValue, Query, Style, content, header_text, path_content, path_text,
};
pub use transport::{OperationInfo, Transport};
