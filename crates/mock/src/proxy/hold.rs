//! Bodies that are held until they are complete, or else passed on as they arrive.

use std::io::Read as _;
use std::time::Duration;

use axum::body::{Body, BodyDataStream, Bytes};
use futures_util::stream::{self, StreamExt as _};
use http::{HeaderMap, header};
use http_body::Body as _;
use tokio::time::{Instant, timeout, timeout_at};

use super::upstream::Pulse;
use crate::bounds::MOST_JUDGED;

/// A body.
pub(super) enum Held {
    /// The whole body.
    Whole(Bytes),
    /// A body that is passed on as it arrives.
    Passing(Body),
}

/// Reads a body up to a bound of bytes and time. A body beyond that must be passed on as it
/// arrives.
///
/// # Errors
///
/// If the body ends before it is complete.
pub(super) async fn hold(body: Body, most: usize, time: Duration) -> Result<Held, axum::Error> {
    // A declared length beyond the bound needs no wait.
    if usize::try_from(body.size_hint().lower()).map_or(true, |length| length > most) {
        return Ok(Held::Passing(body));
    }
    let deadline = Instant::now() + time;
    let mut stream = body.into_data_stream();
    let mut read: Vec<u8> = Vec::new();
    loop {
        match timeout_at(deadline, stream.next()).await {
            Ok(None) => return Ok(Held::Whole(Bytes::from(read))),
            Ok(Some(Err(error))) => return Err(error),
            // The difference is not negative, since no more is kept.
            Ok(Some(Ok(bytes))) if bytes.len() <= most - read.len() => {
                read.extend_from_slice(&bytes);
            }
            Ok(Some(Ok(bytes))) => return Ok(resumed(vec![Bytes::from(read), bytes], stream)),
            Err(_) => return Ok(resumed(vec![Bytes::from(read)], stream)),
        }
    }
}

/// Returns a body of what has been read and the rest.
fn resumed(read: Vec<Bytes>, rest: BodyDataStream) -> Held {
    let read = stream::iter(read.into_iter().map(Ok));
    Held::Passing(Body::from_stream(read.chain(rest)))
}

impl Held {
    /// Returns the body, which ends with an error if its next bytes take longer than `idle`.
    pub(super) fn into_body(self, idle: Duration, pulse: &Pulse) -> Body {
        match self {
            Self::Whole(bytes) => Body::from(bytes),
            Self::Passing(body) if body.is_end_stream() => Body::empty(),
            Self::Passing(body) => {
                let start = (body.into_data_stream(), pulse.clone());
                Body::from_stream(stream::unfold(Some(start), move |state| async move {
                    let (mut stream, pulse) = state?;
                    let next = match timeout(idle, stream.next()).await {
                        Ok(next) => next?,
                        Err(late) => return Some((Err(axum::Error::new(late)), None)),
                    };
                    pulse.beat();
                    Some((next, Some((stream, pulse))))
                }))
            }
        }
    }
}

/// Returns the bytes of a body without its content coding, or `None` if the coding is unknown, or
/// the bytes are more than are judged.
pub(super) fn decoded(headers: &HeaderMap, bytes: &Bytes) -> Option<Bytes> {
    let Some(coding) = headers.get(header::CONTENT_ENCODING) else {
        return Some(bytes.clone());
    };
    match coding.as_bytes().to_ascii_lowercase().as_slice() {
        b"identity" => Some(bytes.clone()),
        b"gzip" | b"x-gzip" => {
            let mut plain = Vec::new();
            let most = u64::try_from(MOST_JUDGED).unwrap_or(u64::MAX);
            // One more than the bound, so that a body beyond it is seen.
            flate2::read::GzDecoder::new(&**bytes)
                .take(most.saturating_add(1))
                .read_to_end(&mut plain)
                .ok()?;
            (plain.len() <= MOST_JUDGED).then(|| Bytes::from(plain))
        }
        _ => None,
    }
}
