//! The body of a request: its media type, and its bytes within the limits.

use std::pin::pin;
use std::time::Duration;

use axum::body::Body as HttpBody;
use bytes::{Bytes, BytesMut};
use futures_util::FutureExt;
use http_body::Body as _;
use http_body_util::BodyExt;

use super::operation::Media;
use super::rejection::{Rejected, Rejection, RejectionKind};
use crate::media_type::closest;

/// The media type of bytes without a content type (RFC 9110, 8.3).
const UNKNOWN: &[u8] = b"application/octet-stream";

/// The limits of a request body.
#[derive(Debug, Clone, Copy)]
pub(super) struct Limits {
    /// The maximum number of bytes that the body may have.
    pub(super) bytes: usize,
    /// The time in which the whole body must arrive; none for any time.
    pub(super) time: Option<Duration>,
}

/// Returns whether the request certainly has no body.
pub(super) fn is_empty(body: &HttpBody) -> bool {
    body.is_end_stream() || body.size_hint().exact() == Some(0)
}

/// Returns whether the body declares more bytes than the limit.
pub(super) fn is_surely_over(body: &HttpBody, limit: usize) -> bool {
    usize::try_from(body.size_hint().lower()).map_or(true, |length| length > limit)
}

/// Returns the listed media type of a content type: the same one, of several the one with most of its
/// parameters, else a range that includes it.
pub(super) fn matching(media: &[Media], content_type: Option<&[u8]>) -> Option<usize> {
    let written = content_type.unwrap_or(UNKNOWN);
    // Most requests name the only media type exactly as the contract does, so nothing is parsed.
    if let [only] = media
        && only.name.as_bytes() == written
    {
        return Some(0);
    }
    // What is no text is a media type that no contract lists, unless it lists all.
    let name = str::from_utf8(written).unwrap_or_default();
    closest(media.iter().map(|media| media.name), name)
}

/// Reads all bytes of a body.
pub(super) async fn read(body: HttpBody, limits: Limits) -> Result<Bytes, Rejected> {
    // One time for the whole body: a time for each piece would let a caller keep the connection by
    // sending a byte now and then.
    let mut collecting = pin!(collect(body, limits.bytes));
    let Some(time) = limits.time else {
        return collecting.await;
    };
    // A body that is here needs no timer, nor the runtime that has one.
    if let Some(collected) = collecting.as_mut().now_or_never() {
        return collected;
    }
    tokio::time::timeout(time, collecting)
        .await
        .unwrap_or_else(|_| {
            Err(Box::new(Rejection::new(
                RejectionKind::RequestTimeout,
                "the body did not arrive in time",
            )))
        })
}

async fn collect(mut body: HttpBody, limit: usize) -> Result<Bytes, Rejected> {
    if is_surely_over(&body, limit) {
        return Err(too_large(limit));
    }
    let Some(first) = next(&mut body).await? else {
        return Ok(Bytes::new());
    };
    if first.len() > limit {
        return Err(too_large(limit));
    }
    // Most bodies arrive in one piece, which needs no copy.
    if body.is_end_stream() {
        return Ok(first);
    }
    // The declared length is within the limit (see above), so it is safe to reserve.
    let more = usize::try_from(body.size_hint().lower()).unwrap_or(0);
    let mut all = BytesMut::with_capacity(first.len() + more);
    all.extend_from_slice(&first);
    while let Some(bytes) = next(&mut body).await? {
        if bytes.len() > limit - all.len() {
            return Err(too_large(limit));
        }
        all.extend_from_slice(&bytes);
    }
    Ok(all.freeze())
}

/// Reads the next bytes and skips trailers.
async fn next(body: &mut HttpBody) -> Result<Option<Bytes>, Rejected> {
    while let Some(frame) = body.frame().await {
        let Ok(frame) = frame else {
            let message = "the body could not be read to its end";
            return Err(Box::new(Rejection::new(
                RejectionKind::InvalidBody,
                message,
            )));
        };
        if let Ok(bytes) = frame.into_data() {
            return Ok(Some(bytes));
        }
    }
    Ok(None)
}

pub(super) fn too_large(limit: usize) -> Rejected {
    let message = format!("the body is too large: send at most {limit} bytes");
    Box::new(Rejection::new(RejectionKind::PayloadTooLarge, message))
}

#[cfg(test)]
mod tests {
    use super::*;

    const MEDIA: &[Media] = &[
        Media::new("*/*"),
        Media::new("image/*"),
        Media::new("application/json"),
        Media::new("application/vnd.a+json; version=2"),
        Media::new("application/vnd.a+json; version=3"),
    ];

    #[test]
    fn the_closest_media_type_is_chosen() {
        for (name, at) in [
            ("application/json", 2),
            ("Application/JSON; charset=utf-8", 2),
            ("image/png", 1),
            ("text/plain", 0),
            ("application/vnd.a+json", 3),
            ("application/vnd.a+json;Version=\"3\"", 4),
        ] {
            assert_eq!(matching(MEDIA, Some(name.as_bytes())), Some(at), "{name}");
        }
        assert_eq!(matching(&MEDIA[2..], Some(b"text/plain")), None);
        assert_eq!(matching(&MEDIA[2..], None), None);
        assert_eq!(
            matching(&[Media::new("application/octet-stream")], None),
            Some(0)
        );
    }
}
